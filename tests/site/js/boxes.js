// How the boxes of a page look: borders, ground, corners and shadow of everything
// that has any of these, by what it is. Pictures, tables, code and what is
// pressed have a look of their own.
const APART =
  "svg, math, table, button, a, select, input, .av-figure, pre, code, .highlight, " +
  ".cell_input, .cell_output .output, .sd-card:not(details), .av-puzzle, .av-doors, .scrolls";
const SIDES = ["Top", "Right", "Bottom", "Left"];
const CLEAR = "rgba(0, 0, 0, 0)";
const look = (el, ground) => {
  const style = getComputedStyle(el);
  const sides = SIDES.map((side) => {
    const width = style[`border${side}Width`];
    return width === "0px" ? "0" : `${width} ${style[`border${side}Color`]}`;
  });
  const shown = [CLEAR, ground].includes(style.backgroundColor) ? "" : style.backgroundColor;
  const seen = shown || style.boxShadow !== "none" || sides.some((side) => side !== "0");
  return seen ? [...sides, shown, style.borderRadius, style.boxShadow].join(", ") : "";
};
export const boxes = () => {
  const ground = getComputedStyle(document.body).backgroundColor;
  for (const fold of document.querySelectorAll("article details")) fold.open = true;
  const found = {};
  for (const el of document.querySelectorAll("article *")) {
    if (el.closest(APART) || !el.checkVisibility()) continue;
    const name = `${el.localName}.${el.className}`;
    const seen = look(el, ground);
    if (seen) (found[seen] ??= new Set()).add(name);
  }
  // A fold has no frame, and one mark before its summary.
  for (const summary of document.querySelectorAll("article summary")) {
    if (summary.closest(".av-figure, .av-puzzle, table")) continue;
    const mark = getComputedStyle(summary, "::before").content;
    const key = `fold ${mark} ${getComputedStyle(summary).fontSize}`;
    (found[key] ??= new Set()).add(summary.parentElement.className);
  }
  return Object.entries(found).map(([seen, names]) => [seen, [...names]]);
};
