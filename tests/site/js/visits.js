// What is wrong with the form of a page once all its folds are open.
export const form = async () => {
  const wrong = [];
  for (const fold of document.querySelectorAll("details")) fold.open = true;
  if (document.getAnimations().length)
    wrong.push("something moves for a reader who asked for rest");
  // A box is measured once its fold is open.
  await new Promise((done) => setTimeout(done, 20));
  const name = (it) => `${it.localName}.${it.className} ${it.textContent.trim().slice(0, 60)}`;
  const root = document.documentElement;
  if (root.scrollWidth > innerWidth)
    wrong.push(`${root.scrollWidth - innerWidth} px wider than the window`);
  const wide = (it) => it.scrollWidth > it.clientWidth;
  for (const it of document.querySelectorAll(".highlight pre, .math-display, .figure")) {
    const told = getComputedStyle(it).boxShadow.includes("inset");
    if (wide(it) !== told) wrong.push(`scrolls unseen: ${name(it)}`);
    if (wide(it) && it.matches(".figure")) wrong.push(`too wide: ${name(it)}`);
  }
  for (const it of document.querySelectorAll(".output:has(form[data-question]), .av-said pre"))
    if (wide(it)) wrong.push(`a question that is cut: ${name(it)}`);
  // Where they scroll sideways, something in them is too wide.
  for (const it of document.querySelectorAll(".bd-sidebar-primary, header"))
    if (it.checkVisibility() && wide(it)) wrong.push(`too wide: ${name(it)}`);
  for (const it of document.querySelectorAll("main a + a")) {
    const before = it.previousElementSibling;
    const [a, b] = [before, it].map((one) => one.getBoundingClientRect());
    const between = it.previousSibling.textContent.trim();
    if (it.previousSibling !== before && between) continue;
    if (a.bottom > b.top && b.left > a.left && b.left - a.right < 6)
      wrong.push(`runs into the link before it: ${name(it)}`);
  }
  const texts = ":is(p, li, summary, label, button, legend, td, th, .math)";
  for (const it of document.querySelectorAll(`main ${texts}`)) {
    const cut = it.clientWidth > 1 && it.scrollWidth > it.clientWidth + 1;
    if (cut && /hidden|clip/.test(getComputedStyle(it).overflowX))
      wrong.push(`cut off: ${name(it)}`);
  }
  return [wrong, document.querySelectorAll("*").length];
};

export const othersJudge = () => {
  for (const it of document.querySelectorAll("[data-figure]")) it.remove();
};
