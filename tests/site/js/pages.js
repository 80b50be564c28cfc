export const contrast = () => {
  const canvas = document.createElement("canvas").getContext("2d");
  const luminance = (colour) => {
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b] = canvas.getImageData(0, 0, 1, 1).data;
    return (0.2126 * r + 0.7152 * g + 0.0722 * b) / 255;
  };
  const ink = document.querySelector(".figure svg text, .figure svg tspan");
  return (
    luminance(getComputedStyle(ink).fill) -
    luminance(getComputedStyle(document.body).backgroundColor)
  );
};

// Choose in turn until the reply is that it is right.
export const giveNth = (n) => {
  const asked = [...document.querySelectorAll("form[data-question]")];
  const form = asked.filter((it) => it.querySelector("[type=radio]"))[n];
  for (const field of form.querySelectorAll("input")) {
    field.checked = true;
    form.requestSubmit();
    if (form.dataset.right === "true") break;
  }
};

// The text of each fold and its label, once it is open, and how many sheets of
// A4 a page would fill if each could break anywhere.
export const onPaper = () => {
  const bare = (text) => text.replace(/\s/g, "");
  const folds = [...document.querySelectorAll("details.hide")];
  for (const fold of document.querySelectorAll("details")) fold.open = true;
  const article = document.querySelector("article");
  return {
    title: bare(article.querySelector("h1").innerText.replace("#", "")),
    folds: folds.map((fold) => bare(fold.querySelector("pre").innerText)),
    labels: folds
      .map((fold) => bare(fold.querySelector(".expanded")?.textContent ?? ""))
      .filter(Boolean),
    tabs: folds
      .filter((fold) => fold.matches(".tab"))
      .map((fold) => bare(fold.querySelector("summary").dataset.paper)),
    sheets: article.offsetHeight / (((297 - 30) / 25.4) * 96),
  };
};

// How far the entry of the page stands out of its menu, above or below, and
// how far the page has moved.
export const outOfSight = () => {
  const entry = document.querySelector(".bd-docs-nav a.current");
  const [at, menu] = [entry, entry.closest(".bd-sidebar-primary")].map((it) =>
    it.getBoundingClientRect(),
  );
  return [Math.max(0, menu.top - at.top, at.bottom - menu.bottom), scrollY];
};

// What a reader without scripts sees of pictures, the first formulas, figures,
// questions (once their folds are open), and of folds after a prediction.
export const unscripted = () => {
  const all = (parts, within = document) => [...within.querySelectorAll(parts)];
  const shown = (it) =>
    Boolean(
      it?.checkVisibility({
        visibilityProperty: true,
      }),
    );
  const asks = (form) => {
    const fold = form.querySelector("noscript details");
    const summary = shown(fold?.querySelector("summary"));
    fold?.setAttribute("open", "");
    return (
      summary &&
      shown(form.querySelector("legend")) &&
      shown(form.querySelector(":is(input, li, .av-option)")) &&
      !shown(form.querySelector("button[type=submit]")) &&
      fold.querySelector("p").innerText.trim().endsWith(".")
    );
  };
  return {
    pictures: all(".figure svg").some(shown),
    formulas: all("article math")
      .filter(shown)
      .slice(0, 3)
      .map((it) => it.getBoundingClientRect().width),
    figures: all("[data-figure]").map((it) => [
      all(".av-result, .av-stills", it).some(shown),
      all(".av-controls", it).some(shown),
    ]),
    questions: all("form[data-question]").map((it) => [it.dataset.question, asks(it)]),
    folds: all("details.av-reveal").map((it) => [
      shown(it.querySelector(":scope > summary")),
      it.open,
    ]),
  };
};

// What the search says of each query, and how much it lists.
export const findAll = async (queries) => {
  const found = [];
  for (const query of queries) {
    Search.output.replaceChildren();
    await Search.query(query);
    found.push([query, Search.status.textContent, Search.output.childElementCount]);
  }
  return found;
};
