// Marks one text of each look that is not `known` with data-look, and one link
// of each look with data-link. Two texts have one look if axe would compute
// the same from them; a text whose ground is not sure from its ancestors is
// judged by itself. Returns how many texts there are, how many things were
// marked, and by their marks the looks that are sure.
globalThis.markLooks = (known) => {
  const paint = (style) => style.backgroundColor + style.backgroundImage;
  const nothing = "rgba(0, 0, 0, 0)none";
  const mixes = (style) =>
    style.opacity !== "1" || style.filter !== "none" || style.mixBlendMode !== "normal";
  const still = (inset) => inset === "auto" || parseFloat(inset) === 0;
  const flows = (style) =>
    style.float === "none" &&
    style.transform === "none" &&
    (style.position === "static" ||
      (style.position === "relative" && still(style.top) && still(style.left)));
  const inside = (a, b) =>
    a.left >= b.left - 1 &&
    a.right <= b.right + 1 &&
    a.top >= b.top - 1 &&
    a.bottom <= b.bottom + 1;
  const meets = (a, b) =>
    a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;

  // What lies behind the text of an element: `look`, what is painted there from
  // the nearest opaque box on; `boxes`, those that must hold the text; `sure`,
  // whether they hold all in between; `moved`, what left its place; `window`,
  // the box that it scrolls in; `hidden`, whether that is scrolled out of sight;
  // `mixed`, whether its colours are mixed with what lies below; `gone`, whether
  // it is transparent; `stays`, whether it stays while the page moves.
  const scenes = new Map();
  const painted = [];
  const across = [];
  const nowhere = {
    look: "",
    boxes: [document.documentElement.getBoundingClientRect()],
    sure: true,
    moved: [],
    window: null,
    hidden: false,
    mixed: false,
    gone: false,
    stays: false,
  };
  const scene = (element) => {
    if (scenes.has(element)) return scenes.get(element);
    const style = getComputedStyle(element);
    const box = element.getBoundingClientRect();
    const seen = { ...(element.parentElement ? scene(element.parentElement) : nowhere) };
    const held = () => seen.boxes.every((other) => inside(box, other));
    seen.mixed ||= mixes(style);
    seen.gone ||= style.opacity === "0";
    seen.stays ||= ["fixed", "sticky"].includes(style.position);
    const paints = paint(style) !== nothing && !seen.gone;
    // What axe says of a text in a picture does not depend on its place.
    if (!flows(style) && !element.ownerSVGElement) {
      seen.moved = [...seen.moved, [element, box]];
      seen.sure &&= held() && !style.zIndex.startsWith("-");
      if (paints && style.visibility === "visible") across.push([element, box, seen]);
    }
    if (paints) {
      // What lies in a closed fold has a box, and is not painted.
      if (element.checkVisibility()) painted.push([element, box]);
      seen.look += `/${paint(style)}`;
      seen.boxes = [...seen.boxes, box];
    }
    if (paints && style.backgroundColor.startsWith("rgb(")) {
      const ground = { look: paint(style), boxes: [box], sure: true, moved: [], window: null };
      Object.assign(seen, ground);
    }
    if (style.overflowX !== "visible") {
      seen.hidden ||= seen.window !== null && !inside(box, seen.window);
      seen.sure &&= held();
      Object.assign(seen, { boxes: [], window: box });
    }
    if (element.matches("svg, math, img, a, button")) seen.look += element.localName;
    scenes.set(element, seen);
    return seen;
  };

  // Whether nothing else is painted where an element was moved to.
  const isFree = ([element, box]) =>
    !painted.some(
      ([other, there]) => meets(box, there) && !other.contains(element) && !element.contains(other),
    );
  // What stays in the window covers a text only until the reader scrolls.
  const covers = (other, a, b) => {
    const seen = document.elementFromPoint(
      (Math.max(a.left, b.left) + Math.min(a.right, b.right)) / 2,
      (Math.max(a.top, b.top) + Math.min(a.bottom, b.bottom)) / 2,
    );
    return seen === null || other.contains(seen); // null: not in the window
  };
  const ground = (element, box) => {
    const seen = scene(element);
    const others = across.filter(([other, there]) => meets(box, there) && !other.contains(element));
    const sure =
      seen.sure &&
      !seen.mixed &&
      seen.boxes.every((other) => inside(box, other)) &&
      seen.moved.every(isFree) &&
      others.every(([other, there, { stays }]) => stays && covers(other, box, there));
    const cut = seen.hidden || (seen.window !== null && !inside(box, seen.window));
    return { sure, look: seen.look, open: !cut && !others.length };
  };

  // Of size and weight a text's contrast depends on one thing: WCAG asks less of
  // large letters, from 24 pixels on, or from 18 2/3 where they are bold.
  const isLarge = ({ fontSize, fontWeight }) =>
    Math.round(parseFloat(fontSize) * 72) / 96 >= (fontWeight >= 700 ? 14 : 18);
  const letters = (style) => [
    style.color,
    isLarge(style),
    style.textShadow === "none" || [style.textShadow, style.fontSize],
    style.textIndent,
  ];
  const signs = /[\u1d00-\u1d7f\u2000-\u2bff\u{10000}-\u{10ffff}]/gu;
  const lookOfText = (element) => {
    const own = [...element.childNodes].filter((node) => node.nodeType === 3);
    const text = own.map((node) => node.data.trim()).join("");
    const field = element.matches("input, select, textarea");
    if (!text && !field) return null;
    const range = document.createRange();
    if (field) range.selectNode(element);
    else range.selectNodeContents(element);
    const { sure, look, open } = ground(element, range.getBoundingClientRect());
    const words = text.replace(signs, "").trim();
    const kinds = [text.length === 1, words === "", words === text, field && element.localName];
    const all = [look, ...letters(getComputedStyle(element)), ...kinds];
    return { element, open, key: sure ? all.join("|") : element };
  };

  // A link in a sentence must differ from it: axe compares these of the two.
  const dress = (element) => {
    const style = getComputedStyle(element);
    const { sure, look } = ground(element, element.getBoundingClientRect());
    const more = ["fontFamily", "fontStyle", "fontSize", "fontWeight", "textDecoration"];
    more.push("borderTop", "borderBottom", "outline", "backgroundImage");
    return { sure, look: [look, ...letters(style), ...more.map((key) => style[key])] };
  };
  const lookOfLink = (element) => {
    let block = element.parentElement;
    while (getComputedStyle(block).display.startsWith("inline")) block = block.parentElement;
    const linked = [...block.querySelectorAll("a")].map((link) => link.textContent).join("");
    const rest = Math.sign(block.textContent.length - 2 * linked.length);
    const [own, around] = [dress(element), dress(block)];
    const added = ["::before", "::after"].map((part) => getComputedStyle(element, part).content);
    const all = ["link", ...own.look, ...around.look, rest, ...added];
    return { element, key: own.sure && around.sure ? all.join("|") : element };
  };

  const elements = [...document.body.querySelectorAll("*")];
  elements.forEach(scene);
  const visible = elements.filter((it) => it.checkVisibility({ visibilityProperty: true }));
  const texts = visible.map(lookOfText).filter(Boolean);
  const links = visible.filter((it) => it.matches("a[href], [role=link]")).map(lookOfLink);
  // A text stands for its look where nothing covers or cuts it, if it can.
  texts.sort((a, b) => b.open - a.open);
  const taken = new Set(known);
  const looks = {};
  let marked = 0;
  const mark =
    (name) =>
    ({ element, key }) => {
      if (taken.has(key)) return;
      taken.add(key);
      element.dataset[name] = marked;
      if (key !== element) looks[marked] = key;
      marked += 1;
    };
  texts.forEach(mark("look"));
  links.forEach(mark("link"));
  return { texts: texts.length, marked, looks };
};
