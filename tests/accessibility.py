"""axe's rules of WCAG 2.2 AA, each where its answer can differ.

Two of its rules look at colours (`COLOURS`): they run in both schemes and at
both widths. What the others look at (names, roles, places, sizes, languages)
is the same in the dark, which `GEOMETRY` proves on every page: they run at
both widths, in the light.

Contrast is slow, and a chapter has thousands of texts of a few dozen looks:
one of each look is judged. Two texts have one look if axe would compute the
same from them: the colour, size and weight of the letters; all that is painted
from the nearest opaque box around them up to them; whether axe can judge such
characters; whether they stand in a picture, or scrolled out of sight. A text
whose ground is not sure from its ancestors (it is moved, it lets something
through, it sticks out of its box, something lies across it) is judged by
itself.
"""

from axe_playwright_python.base import AXE_SCRIPT

WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
COLOURS = ["color-contrast", "link-in-text-block"]

# Marks one text of each look with data-look, and returns how many there are.
MARK_LOOKS = r"""() => {
  const paint = (style) => style.backgroundColor + style.backgroundImage;
  const nothing = "rgba(0, 0, 0, 0)none";
  const mixes = (style) => style.opacity !== "1" || style.filter !== "none" ||
    style.mixBlendMode !== "normal";
  const still = (inset) => inset === "auto" || parseFloat(inset) === 0;
  const flows = (style) => style.float === "none" &&
    style.transform === "none" && (style.position === "static" ||
      style.position === "relative" && still(style.top) && still(style.left));
  const inside = (a, b) => a.left >= b.left - 1 && a.right <= b.right + 1 &&
    a.top >= b.top - 1 && a.bottom <= b.bottom + 1;
  const meets = (a, b) => a.left < b.right && b.left < a.right &&
    a.top < b.bottom && b.top < a.bottom;

  // What lies behind the text of an element: `look`, what is painted there;
  // `ground`, the nearest opaque box; `window`, the box that it scrolls in;
  // `mixed`, whether its colours are mixed with what lies below.
  const scenes = new Map();
  const across = [];
  const scene = (element) => {
    if (scenes.has(element)) return scenes.get(element);
    const style = getComputedStyle(element);
    const box = element.getBoundingClientRect();
    const around = element.parentElement ? scene(element.parentElement)
      : { look: "", ground: box, window: null, hidden: false, mixed: false };
    const seen = { ...around };
    seen.mixed ||= mixes(style);
    // What axe says of a text in a picture does not depend on its place.
    if (!flows(style) && !element.ownerSVGElement) {
      seen.ground = null;
      if (paint(style) !== nothing) across.push([element, box]);
    }
    if (paint(style) !== nothing) seen.look += `/${paint(style)}`;
    if (/^rgb\(/.test(style.backgroundColor)) {
      seen.look = paint(style);
      seen.ground = box;
      seen.window = null;
    }
    if (style.overflowX !== "visible") {
      seen.hidden ||= seen.window !== null && !inside(box, seen.window);
      seen.window = box;
    }
    if (element.matches("svg, math, img, a, button")) {
      seen.look += element.localName;
    }
    scenes.set(element, seen);
    return seen;
  };

  const signs = /[\u1d00-\u1d7f\u2000-\u2bff\u{10000}-\u{10ffff}]/gu;
  const elements = [...document.body.querySelectorAll("*")];
  elements.forEach(scene);
  const taken = new Set();
  for (const element of elements) {
    const own = [...element.childNodes].filter((node) => node.nodeType === 3);
    const text = own.map((node) => node.data.trim()).join("");
    const field = element.matches("input, select, textarea");
    if (!text && !field) continue;
    const style = getComputedStyle(element);
    const range = document.createRange();
    range.selectNodeContents(element);
    const box = range.getBoundingClientRect();
    const { look, ground, window, hidden, mixed } = scene(element);
    const sure = !field && !mixed && ground && inside(window ?? box, ground) &&
      !across.some(([other, there]) =>
        !other.contains(element) && meets(box, there));
    const words = text.replace(signs, "").trim();
    const letters = [text.length === 1, words === "", words === text];
    const key = sure ? [look, style.color, style.fontSize, style.fontWeight,
      style.textShadow, style.visibility, style.textIndent, letters,
      hidden || (window !== null && !inside(box, window))].join("|") : element;
    if (!taken.has(key)) element.dataset.look = taken.size;
    taken.add(key);
  }
  return taken.size;
}"""

# Where every element stands, and whether it is shown, at the top of the page
# and once all stands still: the menu of a page follows its reader.
GEOMETRY = """async () => {
  const frame = () => new Promise((done) => {
    requestAnimationFrame(done);
    setTimeout(done, 500);  // a busy machine may leave a frame out for good
  });
  const places = () => [...document.querySelectorAll("body *")].map((it) => {
    const { x, y, width, height } = it.getBoundingClientRect();
    const shown = it.checkVisibility({ visibilityProperty: true });
    const copy = it.cloneNode();
    copy.removeAttribute("data-look");
    copy.classList.remove("dropdown-menu-dark");  // the theme's, of colours
    const name = copy.outerHTML;
    return `${shown} ${[x, y, width, height].map(Math.round)} ${name}`;
  });
  scrollTo({ top: 0, behavior: "instant" });
  for (let last = "", now = null; ; last = now.join()) {
    for (let i = 0; i < 3; i++) await frame();
    now = places();
    if (now.join() === last) return now;
  }
}"""


def problems(tab, rules):
    """What axe finds on the page as it stands, by `rules` or by tags."""
    tab.evaluate(AXE_SCRIPT)
    assert tab.evaluate(MARK_LOOKS) > 0, "a page without any text"
    found = tab.evaluate(
        """rules => {
          axe.configure({ rules: [
            { id: "color-contrast", selector: "[data-look]" }] });
          return axe.run(document, { runOnly: rules, preload: false,
            resultTypes: ["violations"] });
        }""",
        rules,
    )
    assert found["passes"], "axe ran and looked at something"
    return [
        f"{violation['id']}: {node['html'][:200]} {node['failureSummary']}"
        for violation in found["violations"]
        for node in violation["nodes"]
    ]
