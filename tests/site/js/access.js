// What the checks share. Each returns sentences on what is wrong with a figure.
const frame = () => new Promise((done) => requestAnimationFrame(() => done()));
const name = (it) => {
  const said = it.name || it.getAttribute("class") || it.textContent;
  return `${it.localName} ${said}`.trim();
};
const shown = (it) => it.checkVisibility({ visibilityProperty: true });
const all = (el, parts) => [...el.querySelectorAll(parts)].filter(shown);
// A field that is disabled takes no focus.
const FIELDS = ":is(input, select, textarea, button):not(:disabled), td[tabindex='0']";
const SHAPES = "path, circle, rect, line, ellipse, polygon, polyline, text";
const brush = document.createElement("canvas").getContext("2d", {
  willReadFrequently: true,
});
const colours = new Map();
const rgba = (colour) => {
  if (!colours.has(colour)) {
    brush.clearRect(0, 0, 1, 1);
    brush.fillStyle = colour;
    brush.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = brush.getImageData(0, 0, 1, 1).data;
    colours.set(colour, [r, g, b, a / 255]);
  }
  return colours.get(colour);
};
const luminance = (rgb) => {
  const [r, g, b] = rgb.map((v) =>
    v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4,
  );
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const contrast = (colour, ground, opacity = 1) => {
  const [below, [r, g, b, a]] = [rgba(ground), rgba(colour)];
  const mixed = [r, g, b].map((v, i) => v * a * opacity + below[i] * (1 - a * opacity));
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
  return matchMedia("(forced-colors: active)").matches || !rgba(own)[3] ? canvas : own;
};

// Nothing is wider than the window, what has the focus is in view, and the
// sentence leaves room for it.
export const reflow = (el) => {
  const wrong = [];
  if (document.documentElement.scrollWidth > innerWidth) wrong.push("the page scrolls sideways");
  const scrolls = (it) =>
    it &&
    it !== el.parentElement &&
    (/auto|scroll/.test(getComputedStyle(it).overflowX) || scrolls(it.parentElement));
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
    const there = document.elementFromPoint((box.left + box.right) / 2, (top + bottom) / 2);
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
};

export const noWider = () =>
  document.documentElement.scrollWidth > innerWidth ? ["the page scrolls sideways"] : [];

// Whether anything changes by itself, or would not change at once.
export const still = async (el) => {
  const wrong = [];
  let changes = 0;
  // What a screen reader is told comes half a second later, and is not seen.
  const seen = ({ target }) =>
    !(target.closest ? target : target.parentElement)?.closest(".av-spoken");
  const watch = new MutationObserver((found) => (changes += found.filter(seen).length));
  watch.observe(el, {
    subtree: true,
    childList: true,
    attributes: true,
    characterData: true,
  });
  for (const it of [el, ...el.querySelectorAll("*")]) {
    const { animationName, transitionDuration } = getComputedStyle(it);
    if (animationName !== "none") wrong.push(`${name(it)} is animated`);
    if (/[1-9]/.test(transitionDuration)) wrong.push(`${name(it)} glides`);
  }
  await new Promise((done) => setTimeout(done, 400));
  watch.disconnect();
  if (changes) wrong.push(`${changes} changes by themselves`);
  return wrong;
};

// How far each mark and each text stands out from what it lies on, with the
// least that WCAG asks of its kind, and what each shade is. A shade drawn from
// data is read against the other shades, and a text on it counts with it.
export const marks = (el) => {
  const ground = page();
  const opacity = (it) =>
    it === el ? 1 : getComputedStyle(it).opacity * opacity(it.parentElement);
  const ofShape = (it) => {
    const style = getComputedStyle(it);
    const of = (paint) =>
      style[paint] === "none"
        ? 1
        : contrast(style[paint], ground, opacity(it) * style[`${paint}Opacity`]);
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
};

// What a glance misses where it is wrong: lines that run together, words on
// their frame, and points that nobody sees.
export const clear = (el) => {
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
    const of = (paint) =>
      style[paint] === "none" ? 1 : contrast(style[paint], page(), style[`${paint}Opacity`]);
    const stroke = parseFloat(style.strokeWidth) && of("stroke");
    const seen = Math.max(of("fill"), stroke);
    if (seen < 3) wrong.push(`the point ${name(it)} is faint: ${seen}`);
  }
  return wrong;
};

// Words of a picture that leave it or lie on others, and numbers that are wider
// than their cell, in states that a seed draws.
export const labels = async (el) => {
  const wrong = new Map(); // a fault, and the first state that has it
  const fields = all(el, "form :is(input, select)");
  const note = (fault) =>
    wrong.has(fault) ||
    wrong.set(
      fault,
      fields.map((it) => `${it.name}=${it.type === "checkbox" ? it.checked : it.value}`),
    );
  const plain = (it) => it.textContent.replace(/[\d.,]+/g, "#").trim();
  const upright = (it) => it.getScreenCTM().b === 0;
  const look = () => {
    for (const svg of all(el, ".av-result svg")) {
      const box = svg.getBoundingClientRect();
      const cuts = getComputedStyle(svg).overflow !== "visible";
      const texts = [...svg.querySelectorAll("text")].filter(
        (it) =>
          shown(it) &&
          it.checkVisibility({ opacityProperty: true }) && // what has faded is not read
          it.textContent.trim() &&
          upright(it),
      );
      const boxes = texts.map((it) => it.getBoundingClientRect());
      boxes.forEach((a, i) => {
        if (
          cuts &&
          (a.left < box.left - 1 ||
            a.right > box.right + 1 ||
            a.top < box.top - 2 ||
            a.bottom > box.bottom + 2)
        )
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
  [...el.querySelectorAll(".av-tools button")].find((it) => it.title === "Reset").click();
  await frame();
  await frame();
  return [...wrong].map(([fault, state]) => `${fault} in ${state.join(" ")}`);
};

// What a reader who chose two colours must still see of the controls.
export const controls = (el) => {
  const wrong = [];
  const ground = page();
  for (const it of all(el, FIELDS)) {
    const own = getComputedStyle(it);
    const framed = parseFloat(own.borderTopWidth) >= 1 && contrast(own.borderTopColor, ground) >= 3;
    const drawn = it.matches("[type=range], [type=checkbox]") && own.appearance === "auto"; // by the browser, with a frame
    if (!framed && !drawn && !it.matches("td")) wrong.push(`${name(it)} has no frame`);
    it.focus();
    const style = getComputedStyle(it);
    if (
      style.outlineStyle === "none" ||
      parseFloat(style.outlineWidth) < 1 ||
      (style.outlineStyle !== "auto" && contrast(style.outlineColor, ground) < 3)
    )
      wrong.push(`${name(it)} does not show that it has the focus`);
  }
  return wrong;
};

// Another state than the first, and what the figure then says.
export const move = async (el) => {
  const before = el.querySelector(".av-result").innerHTML;
  const kinds = ["[type=range]", "[type=checkbox]", "select", "[type=text]"];
  const field = kinds.map((kind) => all(el, kind)[0]).find(Boolean);
  if (field.type === "checkbox") field.checked = !field.checked;
  else if (field.type === "text")
    // the same text without its last word
    field.value = field.value.trim().replace(/ \S+$/, "");
  else if (field.options)
    // the next of a menu, whose first sets nothing
    field.selectedIndex = (field.selectedIndex + 1) % field.options.length;
  else {
    const at = field.value;
    field.stepDown();
    if (field.value === at) field.stepUp();
  }
  field.dispatchEvent(new Event("input", { bubbles: true }));
  while (el.querySelector(".av-result").innerHTML === before) await frame();
  return el.querySelector(".av-result .av-say").textContent;
};

// On paper: this state, whole, dark on white, and nothing to press.
export const printed = (el, told) => {
  const wrong = [];
  for (const it of all(el, "form, .av-panel, input, button, select, textarea"))
    wrong.push(`${name(it)} is printed`);
  const say = el.querySelector(".av-result .av-say");
  // A film is printed as its stills, which have sentences of their own.
  const film = el.querySelector(".av-stills");
  if (!film && (!shown(say) || say.textContent !== told)) wrong.push("another sentence is printed");
  if (getComputedStyle(say).position !== "static") wrong.push("the sentence lies on the picture");
  const where = film ? ".av-stills" : ".av-result";
  if (!all(el, `${where} :is(svg, table)`).length) wrong.push("no picture is printed");
  for (const it of all(el, `${where} :is(svg, table, p)`))
    if (it.getBoundingClientRect().right > innerWidth)
      wrong.push(`${name(it)} sticks out of the page`);
  for (const it of all(el, "td[style], .av-bar i, svg :is([fill], path)"))
    if (getComputedStyle(it).printColorAdjust !== "exact")
      wrong.push(`${name(it)} loses its shade`);
  return wrong;
};

const CHECKS = { reflow, noWider, still, marks, clear, labels, controls, move, printed };
// What a check returns of each figure, to which it may be given something. All
// settings are unfolded, and the figure has taken its place.
export const each = (figures, [check, given]) =>
  Promise.all(
    figures.map(async (el, k) => {
      for (const fold of el.querySelectorAll(".av-settings:not([open])")) {
        fold.open = true;
        for (let n = 0; n < 3; n += 1) await frame();
      }
      return CHECKS[check](el, given?.[k]);
    }),
  );
