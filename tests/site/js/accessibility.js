// A block, a row or an item goes if two of each of its elements stay, in the
// same place and dress and with the same attributes: a browser takes seconds
// for the contrast of them all. So does a part of a picture without a name.
export const thinned = () => {
  const looks = new Map([[document.body, ""]]);
  const look = (it) => {
    const own = ["class", "role", "style", "fill"].map((key) => it.getAttribute(key));
    if (!looks.has(it))
      looks.set(
        it,
        [look(it.parentElement), it.localName, ...it.getAttributeNames().sort(), ...own].join(),
      );
    return looks.get(it);
  };
  const counted = (all) => {
    const found = new Map();
    for (const it of all) {
      // What a picture or a formula is drawn with counts as one.
      if (it.parentElement.closest("svg, math")) continue;
      found.set(look(it), (found.get(look(it)) ?? 0) + 1);
    }
    return found;
  };
  const drawn = new Map();
  for (const it of document.querySelectorAll("svg *")) {
    if (it.children.length || it.matches("[role], [tabindex], title, desc")) continue;
    drawn.set(look(it), (drawn.get(look(it)) ?? 0) + 1);
    if (drawn.get(look(it)) > 2) it.remove();
  }
  const stay = counted(document.querySelectorAll("body *"));
  const described = (it) => {
    const own = [];
    for (let dd = it.nextElementSibling; dd?.matches("dd"); dd = dd.nextElementSibling)
      own.push(dd);
    return own;
  };
  for (const it of document.querySelectorAll("body :is(section > *, li, tr, dl, dt, pre > span)")) {
    if (!it.isConnected) continue;
    const gone = [it, ...(it.matches("dt") ? described(it) : [])];
    const own = counted(gone.flatMap((part) => [part, ...part.querySelectorAll("*")]));
    if (![...own].every(([key, n]) => stay.get(key) - n >= 2)) continue;
    for (const [key, n] of own) stay.set(key, stay.get(key) - n);
    for (const part of gone) part.remove();
  }
};

export const run = ([part, rules]) =>
  axe.run(part, { runOnly: rules, preload: false, resultTypes: ["violations"] });
