"""Each figure for each reader: zoomed in, in two colours, at rest, on paper.

One figure of each kind is taken from its page, in the elements around it, and
some share a page of the same site. Its one tab then plays every part: a window
of 1280 pixels at 400 %, which is 320 by 256 (WCAG 1.4.10), a reader who asked
for less motion, one who chose two colours for everything, axe, a printer.
"""

import copy

import pytest
from lxml import html

from tests.site import accessibility
from tools import website

ZOOMED = {"width": 320, "height": 256}
PHONE = {"width": 390, "height": 844}
WIDE = {"width": 1280, "height": 900}
PAPER = {"width": 718, "height": 1047}  # A4 with the browser's margins

# What the checks share. Each returns sentences on what is wrong with a figure.
TOOLS = """
const frame = () => new Promise((done) => requestAnimationFrame(() => done()));
const name = (it) => {
  const said = it.name || it.getAttribute("class") || it.textContent;
  return `${it.localName} ${said}`.trim();
};
const shown = (it) => it.checkVisibility({ visibilityProperty: true });
const all = (el, parts) => [...el.querySelectorAll(parts)].filter(shown);
// A field that is disabled takes no focus.
const FIELDS =
  ":is(input, select, textarea, button):not(:disabled), td[tabindex='0']";
const SHAPES = "path, circle, rect, line, ellipse, polygon, polyline, text";
const brush = document.createElement("canvas").getContext("2d", {
  willReadFrequently: true });
const seen = new Map();
const rgba = (colour) => {
  if (!seen.has(colour)) {
    brush.clearRect(0, 0, 1, 1);
    brush.fillStyle = colour;
    brush.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = brush.getImageData(0, 0, 1, 1).data;
    seen.set(colour, [r, g, b, a / 255]);
  }
  return seen.get(colour);
};
const luminance = (rgb) => {
  const [r, g, b] = rgb.map((v) => (v / 255 <= 0.04045
    ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const contrast = (colour, ground, opacity = 1) => {
  const [below, [r, g, b, a]] = [rgba(ground), rgba(colour)];
  const mixed = [r, g, b].map(
    (v, i) => v * a * opacity + below[i] * (1 - a * opacity));
  const [x, y] = [luminance(mixed), luminance(below.slice(0, 3))];
  return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
};
// The colour of the page, behind everything.
const page = () => {
  const box = document.createElement("div");
  box.style.background = "Canvas";
  document.body.append(box);
  const canvas = getComputedStyle(box).backgroundColor;
  box.remove();
  const own = getComputedStyle(document.body).backgroundColor;
  return matchMedia("(forced-colors: active)").matches || !rgba(own)[3]
    ? canvas : own;
};
"""

# Nothing is wider than the window, what has the focus is in view, and the
# sentence leaves room for it.
REFLOW = """(el) => {
  const wrong = [];
  if (document.documentElement.scrollWidth > innerWidth)
    wrong.push("the page scrolls sideways");
  const scrolls = (it) => it && it !== el.parentElement &&
    (/auto|scroll/.test(getComputedStyle(it).overflowX) ||
      scrolls(it.parentElement));
  for (const it of all(el, "svg, p, label, table, " + FIELDS)) {
    const { left, right } = it.getBoundingClientRect();
    if ((left < -1 || right > innerWidth + 1) && !scrolls(it.parentElement))
      wrong.push(`${name(it)} sticks out of the window`);
  }
  // A few words that have a line each are squeezed by what is beside them.
  for (const it of all(el, "span, b, label, button, output")) {
    const { lineHeight, fontSize } = getComputedStyle(it);
    const line = parseFloat(lineHeight) || 1.5 * parseFloat(fontSize);
    const text = document.createRange();
    text.selectNodeContents(it);
    const { height } = text.getBoundingClientRect();
    if (!it.children.length && it.textContent.length < 24 && height > 3 * line)
      wrong.push(`${name(it)} is squeezed`);
  }
  for (const it of all(el, FIELDS)) {
    it.focus();
    const box = it.getBoundingClientRect();
    const top = Math.max(box.top, 0);
    const bottom = Math.min(box.bottom, innerHeight);
    const there = document.elementFromPoint(
      (box.left + box.right) / 2, (top + bottom) / 2);
    const own = it.closest("label") ?? it;
    if (!(bottom > top && own.contains(there)))
      wrong.push(`${name(it)} has the focus and is not in view`);
  }
  const say = el.querySelector(".av-result .av-say");
  const height = say.getBoundingClientRect().height;
  if (getComputedStyle(say).position !== "static" && height > innerHeight / 2)
    wrong.push(`the sentence stays, and takes ${Math.round(height)} px`);
  if (say.scrollWidth > say.clientWidth) wrong.push("the sentence is cut");
  return wrong;
}"""

NO_WIDER = """() => document.documentElement.scrollWidth > innerWidth
  ? ["the page scrolls sideways"] : []"""

# Whether anything changes by itself, or would not change at once.
STILL = """async (el) => {
  const wrong = [];
  let changes = 0;
  // What a screen reader is told comes half a second later, and is not seen.
  const seen = ({ target }) =>
    !(target.closest ? target : target.parentElement)?.closest(".av-spoken");
  const watch = new MutationObserver(
    (found) => (changes += found.filter(seen).length));
  watch.observe(el, {
    subtree: true, childList: true, attributes: true, characterData: true });
  for (const it of [el, ...el.querySelectorAll("*")]) {
    const { animationName, transitionDuration } = getComputedStyle(it);
    if (animationName !== "none") wrong.push(`${name(it)} is animated`);
    if (/[1-9]/.test(transitionDuration)) wrong.push(`${name(it)} glides`);
  }
  await new Promise((done) => setTimeout(done, 400));
  watch.disconnect();
  if (changes) wrong.push(`${changes} changes by themselves`);
  return wrong;
}"""

# How far each mark and each text stands out from what it lies on, with the
# least that WCAG asks of its kind, and what each shade is. A shade drawn from
# data is read against the other shades, and a text on it counts with it.
MARKS = """(el) => {
  const ground = page();
  const opacity = (it) => it === el ? 1
    : getComputedStyle(it).opacity * opacity(it.parentElement);
  const ofShape = (it) => {
    const style = getComputedStyle(it);
    const of = (paint) => style[paint] === "none" ? 1 : contrast(
      style[paint], ground, opacity(it) * style[`${paint}Opacity`]);
    return Math.max(of("fill"), parseFloat(style.strokeWidth) && of("stroke"));
  };
  const ofText = (it) => {
    const { color, backgroundColor } = getComputedStyle(it);
    const own = rgba(backgroundColor)[3] ? backgroundColor : ground;
    return contrast(color, own, opacity(it));
  };
  const measured = (parts, of, least) =>
    [...el.querySelectorAll(parts)].map((it) => [name(it), of(it), least]);
  const shades = all(el, "td[style], td.av-closed, .av-bar i");
  return {
    marks: [
      ...measured(`svg :is(${SHAPES}):not([fill^=light-dark])`, ofShape, 3),
      ...measured(".av-result :is(p, th, td, caption, li)", ofText, 4.5),
    ],
    shades: shades.map((it) => {
      const { backgroundColor, backgroundImage } = getComputedStyle(it);
      return [name(it), `${backgroundColor} ${backgroundImage}`];
    }),
  };
}"""

# What a glance misses where it is wrong: lines that run together, words on
# their frame, and points that nobody sees.
CLEAR = """(el) => {
  const wrong = [];
  // Sections out of sight have no inner text while another has the focus.
  document.activeElement.blur();
  for (const it of all(el, "caption"))
    if (it.innerText.trim() !== it.textContent.trim())
      wrong.push(`the lines of ${name(it)} run together`);
  for (const it of all(el, "[class=av-grid]")) {
    const cells = [...it.querySelectorAll("tbody td")];
    const widths = cells.map((td) => td.getBoundingClientRect().width);
    if (Math.max(...widths) > 2 * Math.min(...widths))
      wrong.push(`the columns of ${name(it)} are not equally wide`);
  }
  for (const it of all(el, "input[type=text], textarea, button")) {
    const { borderLeftWidth, paddingLeft } = getComputedStyle(it);
    if (parseFloat(borderLeftWidth) && parseFloat(paddingLeft) < 2)
      wrong.push(`the words of ${name(it)} touch its frame`);
  }
  for (const it of all(el, "svg circle")) {
    // A larger circle is an area, a dial or room for a finger.
    if (it.getBoundingClientRect().width > 14) continue;
    const style = getComputedStyle(it);
    const of = (paint) => style[paint] === "none" ? 1
      : contrast(style[paint], page(), style[`${paint}Opacity`]);
    const stroke = parseFloat(style.strokeWidth) && of("stroke");
    const seen = Math.max(of("fill"), stroke);
    if (seen < 3) wrong.push(`the point ${name(it)} is faint: ${seen}`);
  }
  return wrong;
}"""

# Words of a picture that leave it or lie on others, and numbers that are wider
# than their cell, in states that a seed draws.
LABELS = """async (el) => {
  const wrong = new Map(); // a fault, and the first state that has it
  const fields = all(el, "form :is(input, select)");
  const note = (fault) => wrong.has(fault) || wrong.set(fault, fields.map(
    (it) => `${it.name}=${it.type === "checkbox" ? it.checked : it.value}`));
  const plain = (it) => it.textContent.replace(/[\\d.,]+/g, "#").trim();
  const upright = (it) => it.getScreenCTM().b === 0;
  const look = () => {
    for (const svg of all(el, ".av-result svg")) {
      const box = svg.getBoundingClientRect();
      const cuts = getComputedStyle(svg).overflow !== "visible";
      const texts = [...svg.querySelectorAll("text")].filter(
        (it) => shown(it) && it.textContent.trim() && upright(it));
      const boxes = texts.map((it) => it.getBoundingClientRect());
      boxes.forEach((a, i) => {
        if (cuts && (a.left < box.left - 1 || a.right > box.right + 1 ||
            a.top < box.top - 2 || a.bottom > box.bottom + 2))
          note(`${plain(texts[i])} leaves its picture`);
        for (const [k, b] of boxes.entries()) {
          const x = Math.min(a.right, b.right) - Math.max(a.left, b.left);
          const y = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
          if (k < i && x > 3 && y > 0.4 * Math.min(a.height, b.height))
            note(`${plain(texts[k])} lies on ${plain(texts[i])}`);
        }
      });
    }
    for (const it of all(el, ".av-result :is(td, .av-num)")) {
      const text = document.createRange();
      text.selectNodeContents(it);
      if (text.getBoundingClientRect().width > it.clientWidth + 0.5)
        note(`${plain(it)} is wider than its cell`);
    }
  };
  look();
  let seed = 20261127;
  const draw = (n) => (seed = (seed * 16807) % 2147483647) % n;
  for (let k = 0; k < 4; k++) {
    for (const field of fields) {
      if (field.options) field.selectedIndex = draw(field.options.length);
      else if (field.type === "checkbox") field.checked = draw(2) === 1;
      else if (field.type === "range") {
        const steps = Math.round((field.max - field.min) / (field.step || 1));
        field.value = +field.min + draw(steps + 1) * (field.step || 1);
        // Between two steps of a film, numbers are on their way.
        if (steps > 4 && field.step < 1) field.value = Math.floor(field.value);
      } else continue;
      field.dispatchEvent(new Event("input", { bubbles: true }));
    }
    await frame();
    await frame();
    look();
  }
  [...el.querySelectorAll(".av-tools button")]
    .find((it) => it.textContent.trim() === "Reset").click();
  await frame();
  await frame();
  return [...wrong].map(([fault, state]) => `${fault} in ${state.join(" ")}`);
}"""

# What a reader who chose two colours must still see of the controls.
CONTROLS = """(el) => {
  const wrong = [];
  const ground = page();
  for (const it of all(el, FIELDS)) {
    const own = getComputedStyle(it);
    const framed = parseFloat(own.borderTopWidth) >= 1 &&
      contrast(own.borderTopColor, ground) >= 3;
    const drawn = it.matches("[type=range], [type=checkbox]") &&
      own.appearance === "auto"; // by the browser, with a frame
    if (!framed && !drawn && !it.matches("td"))
      wrong.push(`${name(it)} has no frame`);
    it.focus();
    const style = getComputedStyle(it);
    if (style.outlineStyle === "none" || parseFloat(style.outlineWidth) < 1 ||
        (style.outlineStyle !== "auto" &&
          contrast(style.outlineColor, ground) < 3))
      wrong.push(`${name(it)} does not show that it has the focus`);
  }
  return wrong;
}"""

# Another state than the first, and what the figure then says.
MOVE = r"""async (el) => {
  const before = el.querySelector(".av-result").innerHTML;
  const kinds = ["[type=range]", "[type=checkbox]", "select", "[type=text]"];
  const field = kinds.map((kind) => all(el, kind)[0]).find(Boolean);
  if (field.type === "checkbox") field.checked = !field.checked;
  else if (field.type === "text") // the same text without its last word
    field.value = field.value.trim().replace(/ \S+$/, "");
  else if (field.options) // the next of a menu, whose first sets nothing
    field.selectedIndex = (field.selectedIndex + 1) % field.options.length;
  else {
    const at = field.value;
    field.stepDown();
    if (field.value === at) field.stepUp();
  }
  field.dispatchEvent(new Event("input", { bubbles: true }));
  while (el.querySelector(".av-result").innerHTML === before) await frame();
  return el.querySelector(".av-result .av-say").textContent;
}"""

# On paper: this state, whole, dark on white, and nothing to press.
PRINTED = """(el, told) => {
  const wrong = [];
  for (const it of all(el, "form, .av-panel, input, button, select, textarea"))
    wrong.push(`${name(it)} is printed`);
  const say = el.querySelector(".av-result .av-say");
  // A film is printed as its stills, which have sentences of their own.
  const film = el.querySelector(".av-stills");
  if (!film && (!shown(say) || say.textContent !== told))
    wrong.push("another sentence is printed");
  if (getComputedStyle(say).position !== "static")
    wrong.push("the sentence lies on the picture");
  const printed = film ? ".av-stills" : ".av-result";
  if (!all(el, `${printed} :is(svg, table)`).length)
    wrong.push("no picture is printed");
  for (const it of all(el, `${printed} :is(svg, table, p)`))
    if (it.getBoundingClientRect().right > innerWidth)
      wrong.push(`${name(it)} sticks out of the page`);
  for (const it of all(el, "td[style], .av-bar i, svg :is([fill], path)"))
    if (getComputedStyle(it).printColorAdjust !== "exact")
      wrong.push(`${name(it)} loses its shade`);
  return wrong;
}"""


def fainter(before, after):
    """The marks that stood out, and do not any more."""
    return [
        f"{name} does not stand out: {now:.2f}"
        for (name, then, least), (_, now, _) in zip(
            before["marks"], after["marks"], strict=True
        )
        if then >= least > now
    ]


class Figures:
    """The figures of a page, and what the checks of this file say of them.

    A window, a scheme and a printer are changed once for all of them.
    """

    def __init__(self, tab):
        self.tab = tab
        self.all = tab.locator("[data-figure]")
        self.names = self.all.evaluate_all(
            "all => all.map((it) => it.dataset.figure)"
        )

    def do(self, check, given=None):
        """What a check returns of each figure."""
        script = f"""(figures, given) => {{
          {TOOLS}
          const check = {check};
          return Promise.all(figures.map((el, k) => check(el, given?.[k])));
        }}"""
        return self.all.evaluate_all(script, given)

    def told(self, check, given=None):
        """The sentences of a check, each with its figure."""
        return self.named(self.do(check, given))

    def named(self, sentences):
        """Sentences on each figure in one list, with its name before each."""
        return [
            f"{name}: {sentence}"
            for name, some in zip(self.names, sentences, strict=True)
            for sentence in some
        ]

    def in_colours(self, scheme, **media):
        """Their marks in the light or in the dark, on a screen or not."""
        self.tab.emulate_media(color_scheme=scheme, **media)
        theme = "theme => { document.documentElement.dataset.theme = theme; }"
        self.tab.evaluate(theme, scheme)
        return self.do(MARKS)

    def fainter(self, before, after):
        """The marks that stood out, and do not any more."""
        return self.named(map(fainter, before, after))

    def zoomed(self):
        self.tab.set_viewport_size(ZOOMED)
        return self.told(REFLOW)

    def at_rest(self):
        return self.told(STILL)

    def clear(self):
        """What is wrong in the light and in the dark."""
        self.tab.set_viewport_size(WIDE)
        wrong = []
        for scheme in ("light", "dark"):
            self.in_colours(scheme)
            wrong += self.told(CLEAR)
        return wrong

    def in_two_colours(self):
        """What is lost under forced colours, on white and on black."""
        self.tab.set_viewport_size(WIDE)
        wrong = []
        for scheme in ("light", "dark"):
            before = self.in_colours(scheme, forced_colors="none")
            after = self.in_colours(scheme, forced_colors="active")
            wrong += self.fainter(before, after)
            wrong += [
                f"{name}: the shades are not those of the page"
                for name, was, now in zip(
                    self.names, before, after, strict=True
                )
                if was["shades"] != now["shades"]
            ]
            wrong += self.told(CONTROLS)
        wrong += self.told(NO_WIDER)
        self.tab.emulate_media(forced_colors="none")
        return wrong

    def on_paper(self):
        """What is wrong on paper, for a reader of the dark scheme."""
        told = self.do(MOVE)
        light = self.in_colours("light")
        self.tab.set_viewport_size(PAPER)
        paper = self.in_colours("dark", media="print")
        wrong = self.fainter(light, paper) + self.told(PRINTED, told)
        self.tab.emulate_media(media="screen", color_scheme="light")
        return wrong

    def labelled(self):
        self.tab.set_viewport_size(WIDE)
        return self.told(LABELS)


CHECKS = {
    "at rest": Figures.at_rest,  # first: a field that gets the focus is spoken
    "zoomed in": Figures.zoomed,
    "clear": Figures.clear,
    "in two colours": Figures.in_two_colours,
    "labelled": Figures.labelled,
    "on paper": Figures.on_paper,  # last: it leaves the first state
}


def judged(tab):
    """What axe finds in figures on a dark phone, and on a wide light screen.

    Nothing but the figures is on the page.
    """
    wrong = []
    for size, scheme in ((PHONE, "dark"), (WIDE, "light")):
        tab.set_viewport_size(size)
        tab.emulate_media(color_scheme=scheme)
        tab.wait_for_function(
            "now => document.documentElement.dataset.theme === now",
            arg=scheme,
        )
        wrong += accessibility.problems(tab, "article")
    return wrong


# The page of each kind of figure: the first of the book.
PAGE_OF = {
    name: page
    for page in reversed(website.pages_with_figures())
    for name in website.figures(page)
}
LOTS = 2  # pages that share the figures between them


def parsed(site, page):
    return html.parse(str(site / f"{page}.html")).getroot()


def alone(figure):
    """A figure in elements like those around it, without their contents."""
    inner = copy.deepcopy(figure)
    inner.tail = None
    for around in figure.iterancestors():
        if around.tag == "article":
            return inner
        outer = html.Element(around.tag, around.attrib)
        outer.attrib.pop("id", None)  # of a section of another page
        outer.append(inner)
        inner = outer
    raise AssertionError("a figure stands outside of the article")


def page_of_figures(site, names):
    """A page of the site whose article has some figures and nothing else."""
    page = parsed(site, website.LESSONS[0])
    (article,) = page.iter("article")
    article[:] = [
        alone(
            parsed(site, PAGE_OF[name]).xpath(f"//*[@data-figure='{name}']")[0]
        )
        for name in names
    ]
    article.text = None
    return html.tostring(page, doctype="<!DOCTYPE html>", encoding="unicode")


@pytest.fixture
def opened(host, site, browser):
    """Open a page of some figures, as wide as one that is zoomed in."""
    with browser.new_context(
        viewport=ZOOMED, reduced_motion="reduce"
    ) as context:

        def opened(names):
            tab = context.new_page()
            body = page_of_figures(site, names)
            address = f"{host.address}/book/figures-alone.html"
            tab.route(
                address,
                lambda route: route.fulfill(
                    body=body, content_type="text/html; charset=utf-8"
                ),
            )
            tab.goto(address)
            website.scroll_through(tab)
            return tab

        yield opened


@pytest.mark.parametrize("lot", range(LOTS))
def test_every_figure_is_for_every_reader(opened, lot):
    names = sorted(PAGE_OF)[lot::LOTS]
    tab = opened(names)
    figures = Figures(tab)
    assert figures.names == names
    wrong = judged(tab) + [
        f"{way}: {told}"
        for way, check in CHECKS.items()
        for told in check(figures)
    ]
    assert not wrong, "\n".join(wrong)


# A style or a script that takes something from one of these readers, and the
# sentence of the check that must refuse it.
SPOILT = [
    ("zoomed in", ".av-result { min-width: 30rem }", "scrolls sideways"),
    ("zoomed in", ".av-say { white-space: nowrap; overflow: hidden }",
     "is cut"),
    ("zoomed in", ".av-tools button { width: 1px !important; "
     "line-height: 0.5 !important }", "is squeezed"),
    ("zoomed in", ".av-result > .av-say { position: sticky !important; "
     "bottom: 0; height: 10rem }", "takes 1"),
    ("zoomed in", "article::after { content: ''; position: fixed; inset: 0; "
     "z-index: 9 }", "has the focus and is not in view"),
    ("at rest", ".av-say { transition: opacity 1s !important }", "glides"),
    ("at rest", "@keyframes spoilt { to { opacity: 0 } } "
     ".av-say { animation: spoilt 9s !important }", "is animated"),
    ("clear", ".av-step caption { white-space: normal !important }",
     "run together"),
    ("clear", ".av-grid td:last-child { min-width: 9rem !important }",
     "not equally wide"),
    ("clear", ".av-controls textarea { padding: 0 !important }",
     "touch its frame"),
    ("clear", "circle { fill: #ddd !important; stroke: #ddd !important }",
     "is faint"),
    ("in two colours", "@media (forced-colors: active) { "
     ".av-grid :is(td, th) { forced-color-adjust: none; color: #777; "
     "background: #666 !important } }", "does not stand out"),
    ("in two colours", "td { forced-color-adjust: auto !important }",
     "shades"),
    ("in two colours", ".av-controls :is(select, textarea) { border: 0 }",
     "has no frame"),
    ("in two colours", ".av-controls :focus { outline: none !important; "
     "box-shadow: 0 0 3px blue }", "does not show that it has the focus"),
    ("labelled", "svg text { font-size: 30px !important }", "lies on"),
    ("labelled", "svg text { transform: translateX(-3rem) }",
     "leaves its picture"),
    ("labelled", ".av-grid td { letter-spacing: 3rem; max-width: 2rem; "
     "overflow: hidden }", "is wider than its cell"),
    ("on paper", ".av-live .av-controls { display: flex !important }",
     "is printed"),
    ("on paper", ".av-say { display: none }", "another sentence"),
    ("on paper", ".av-result > .av-say { position: sticky !important }",
     "lies on the picture"),
    ("on paper", ".av-grid { width: 60rem }", "sticks out of the page"),
    ("on paper", "@media print { .av-say { color: #ddd !important } }",
     "does not stand out"),
    ("on paper", ".av-grid td { print-color-adjust: economy !important }",
     "loses its shade"),
]  # fmt: skip


def test_each_check_refuses_what_it_is_for(opened):
    tab = opened(["balance", "step"])
    figures = Figures(tab)
    assert not figures.at_rest()
    changing = "([el]) => setInterval(() => (el.title += 1), 50)"
    timer = figures.all.evaluate_all(changing)
    assert any("by themselves" in it for it in figures.at_rest())
    tab.evaluate("clearInterval", timer)
    pale = tab.add_style_tag(content=".av-say { color: #999 !important }")
    assert any("color-contrast" in it for it in judged(tab))
    pale.evaluate("style => style.remove()")
    for way, style, sentence in SPOILT:
        spoilt = tab.add_style_tag(content=style)
        said = CHECKS[way](figures)
        spoilt.evaluate("style => style.remove()")
        assert any(sentence in it for it in said), (style, said)
