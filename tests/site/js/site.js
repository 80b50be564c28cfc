// Small pages for the site's own script: `$` finds elements.
export const $ = (selector) => [...document.querySelectorAll(selector)];

// The first cells of a table in their order, and how its columns are marked.
export const sorted = () => [
  $(".ledger tbody tr")
    .map((row) => row.cells[0].textContent.trim())
    .join(""),
  ...$(".ledger th").map((th) => th.getAttribute("aria-sort")),
];
// What it shows after a cell, a heading of another table and some of its own
// headings were pressed.
export const sortBy = (columns) => {
  $("td")[0].click();
  $(".other button")[0].click();
  const seen = [sorted()];
  for (const column of columns) {
    $(".ledger th button")[column].click();
    seen.push(sorted());
  }
  return seen;
};

export const menuStates = () =>
  $("button").map((it) => [it.classList.contains("show"), it.getAttribute("aria-expanded")].join());
// The menuStates after each of some clicks: a selector, and which of its elements.
export const clicks = (steps) =>
  steps.map(([selector, k]) => {
    $(selector)[k].click();
    return menuStates();
  });
// The menuStates and the place of the focus after a key was typed at an element.
export const typeAt = (key, selector, k) => {
  const target = $(selector)[k];
  target.focus();
  target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  const { activeElement } = document;
  return [menuStates(), activeElement.tagName, $("button").indexOf(activeElement)];
};

// The entries of the contents that are marked, by their links and by their items.
export const marked = () => {
  const links = $("a.active").map((it) => it.textContent);
  const items = $("li.active").map((it) => it.firstElementChild.textContent);
  return [links.join(), items.join()];
};

// Class and tab stop of boxes whose contents have each of some sizes in turn.
export const boxes = (sizes) =>
  sizes.map(([width, height]) => {
    for (const { style } of $("p"))
      Object.assign(style, { width: `${width}px`, height: `${height}px` });
    dispatchEvent(new Event("resize"));
    return [...$("pre"), ...$("div:not(.cell_output)")].map((it) => [
      it.className,
      it.getAttribute("tabindex"),
    ]);
  });

// What figures were given, by their names and places on the page.
export const rendered = () =>
  (globalThis.figuresGiven ?? []).map(([name, { el }]) => [name, $("[data-figure]").indexOf(el)]);

// The pages of the menu that have a tick.
export const ticked = () =>
  $("a.reference")
    .filter((link) => link.querySelector(".done"))
    .map((link) => link.firstChild.textContent);
export const stored = () => Object.keys(localStorage).toSorted();
// Forget everything, on a page whose form keeps something while it is wiped.
export const forget = () => {
  $("form")[0].wipe = () => {
    globalThis.wiped = true;
    localStorage.setItem("progress/book/a", "0/1");
  };
  $(".forget")[0].click();
};

// Where the page is after a key was pressed at an element.
export const typeKey = (key, selector, more) => {
  location.hash = "here";
  document
    .querySelector(selector)
    .dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, ...more }));
  return location.hash;
};
// Where a link of a report leads once it is pressed, and what it tells.
export const pressReport = () => {
  const link = $("a[class^=report]")[0];
  link.addEventListener("click", (event) => event.preventDefault());
  link.dispatchEvent(new PointerEvent("pointerdown", { bubbles: true }));
  const { searchParams } = new URL(link.href);
  return [link.href, Object.fromEntries(searchParams)];
};
