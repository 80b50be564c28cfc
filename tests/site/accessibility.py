"""axe's rules of WCAG 2.2 AA, each where its answer can differ.

Two of its rules look at colours (`COLOURS`): they run in both schemes and at
both widths. What the others look at (names, roles, places, sizes, languages)
is the same in the dark, which `GEOMETRY` proves on every page: they run at
both widths, in the light.

Contrast is slow, and a book has tens of thousands of texts of a few hundred
looks: `looks.js` marks one of each look for axe, and a look that axe has found
good is not judged again in another scheme, at another width or on another
page. Two texts have one look if axe would compute the same from them: the
colour of the letters, and whether they are large; all that is painted from the
nearest opaque box around them up to them; whether axe can judge such
characters; whether they stand in a picture. Two links have one look if that is
so of them and of their sentences, with all that sets them apart from those. A
text whose ground is not sure from its ancestors (it is moved onto something,
it lets something through, it sticks out of its box, something lies across it)
is judged by itself, on every page.
"""

import re
from pathlib import Path

from axe_playwright_python.base import AXE_SCRIPT

WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
COLOURS = ["color-contrast", "link-in-text-block"]

LOOKS = Path(__file__).with_name("looks.js").read_text("utf-8")
MARK_LOOKS = f"known => {{ {LOOKS}\nreturn markLooks(known); }}"

# Where every element stands, and whether it is shown, at the top of the page
# and once all stands still: the menu of a page follows its reader.
GEOMETRY = """async () => {
  const frame = () => new Promise((done) => {
    requestAnimationFrame(done);
    setTimeout(done, 500);  // a busy machine may leave a frame out for good
  });
  const all = [...document.querySelectorAll("body *")];
  const places = () => all.map((it) => {
    // What a closed fold holds stands nowhere: it keeps some old place.
    if (!it.checkVisibility({ visibilityProperty: true })) return "hidden";
    const { x, y, width, height } = it.getBoundingClientRect();
    return `${[x, y, width, height].map(Math.round)}`;
  });
  // What axe reads of an element beside its place. Looks and marks of scripts
  // are none of it, and come when they come.
  const name = (it) => {
    const copy = it.cloneNode();
    for (const { name } of it.attributes)
      if (/^(class|style|data-.*)$/.test(name)) copy.removeAttribute(name);
    return copy.outerHTML;
  };
  // The menu beside the text is scrolled to the page's own entry, to the pixel
  // where that stood before the faces came.
  for (const it of all) if (it.scrollTop) it.scrollTop = 0;
  scrollTo({ top: 0, behavior: "instant" });
  await document.fonts.ready;  // a face that comes late moves the lines
  for (let last = "", now = null; ; last = now.join()) {
    for (let i = 0; i < 3; i++) await frame();
    now = places();
    if (now.join() !== last) continue;
    return now.map((at, i) => `${at} ${name(all[i])}`);
  }
}"""

RUN = """rules => {
  axe.configure({ rules: [
    { id: "color-contrast", selector: "[data-look]" },
    { id: "link-in-text-block", selector: "[data-link]" }] });
  return axe.run(document, { runOnly: rules, preload: false,
    resultTypes: ["violations", "incomplete"] });
}"""


# Where axe says so, something is in the way of a text: its look stays unknown.
IN_THE_WAY = {"bgOverlap", "elmPartiallyObscured", "elmPartiallyObscuring"}
IN_THE_WAY |= {"outsideViewport"}


def unclear(found):
    """The marks of the texts that axe could not judge where they stand."""
    return {
        re.search(r'data-look="(\d+)"', node["html"])[1]
        for result in found["incomplete"]
        if result["id"] == "color-contrast"
        for node in result["nodes"]
        if (node["any"][0]["data"] or {}).get("messageKey") in IN_THE_WAY
    }


def problems(tab, rules, known=None):
    """What axe finds on the page as it stands, by `rules` or by tags.

    `known` is a set of looks that axe has judged and found good; those of this
    page join it once they are.
    """
    known = set() if known is None else known
    seen = tab.evaluate(MARK_LOOKS, sorted(known))
    assert seen["texts"] > 0, "a page without any text"
    if rules == COLOURS and not seen["marked"]:
        return []
    tab.evaluate(AXE_SCRIPT)
    found = tab.evaluate(RUN, rules)
    ways = ("passes", "incomplete", "inapplicable", "violations")
    ran = {result["id"] for way in ways for result in found[way]}
    assert ran.issuperset(COLOURS), "axe ran"
    if not found["violations"]:
        left = unclear(found)
        known |= {k for i, k in seen["looks"].items() if i not in left}
    return [
        f"{violation['id']}: {node['html'][:200]} {node['failureSummary']}"
        for violation in found["violations"]
        for node in violation["nodes"]
    ]
