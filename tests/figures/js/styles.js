// Whether a rule of one figure's style sheet matches a part of another figure,
// of sheets that say in `data-of` whose they are; and the names of movements.
export const strays = () => {
  const moving = [];
  const selectorsOf = (rules) =>
    [...rules].flatMap((rule) => {
      if (rule instanceof CSSKeyframesRule) moving.push(rule.name);
      return rule.selectorText ?? selectorsOf(rule.cssRules ?? []);
    });
  const found = [...document.styleSheets].flatMap((sheet) => {
    const { of } = sheet.ownerNode.dataset;
    return selectorsOf(sheet.cssRules)
      .flatMap((selector) => [...document.querySelectorAll(selector.replace(/::[\w-]+/g, ""))])
      .map((it) => it.closest("[data-figure]")?.dataset.figure)
      .filter((figure) => figure !== of)
      .map((figure) => `${of} styles ${figure}`);
  });
  return [found, moving];
};
