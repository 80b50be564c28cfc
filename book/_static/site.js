// Sort a ledger table by the column whose heading was pressed.
document.addEventListener("click", (event) => {
  const button = event.target.closest("table.ledger th button");
  if (!button) return;
  const th = button.closest("th");
  const body = th.closest("table").tBodies[0];
  const order = th.getAttribute("aria-sort") === "ascending" ? -1 : 1;
  const text = (row) => row.cells[th.cellIndex].textContent.trim();
  const rows = [...body.rows].sort(
    (a, b) => order * text(a).localeCompare(text(b), "en", { numeric: true }),
  );
  for (const other of th.parentNode.cells) other.removeAttribute("aria-sort");
  th.setAttribute("aria-sort", order === 1 ? "ascending" : "descending");
  body.append(...rows);
});

// The ledger as a tool: a search, filters, and how many entries are shown.
// The page is a whole table without them.
const filterLedger = (table) => {
  const rows = [...table.tBodies[0].rows];
  const causeOf = (row) => row.querySelector("td:last-child b")?.textContent ?? "";
  const facets = {
    source: (row) => row.cells[0].textContent,
    verdict: (row) => row.cells[3].textContent.split(":")[0],
    cause: causeOf,
  };
  const form = document.createElement("form");
  form.className = "ledger-filter";
  form.addEventListener("submit", (event) => event.preventDefault());
  const labelled = (text, field) => {
    const label = document.createElement("label");
    label.append(`${text} `, field);
    form.append(label);
    return field;
  };
  const words = document.createElement("input");
  words.type = "search";
  labelled("search", words);
  const selects = Object.entries(facets).map(([name, of]) => {
    const select = labelled(name, document.createElement("select"));
    const found = [...new Set(rows.map(of))].filter(Boolean).sort();
    for (const value of ["all", ...found]) select.add(new Option(value));
    return { select, of };
  });
  const count = document.createElement("output");
  form.append(count);
  const texts = rows.map((row) => row.textContent.toLowerCase());
  const show = () => {
    const asked = words.value.toLowerCase().split(/\s+/);
    let shown = 0;
    rows.forEach((row, i) => {
      const fits =
        asked.every((word) => texts[i].includes(word)) &&
        selects.every(({ select, of }) => !select.selectedIndex || of(row) === select.value);
      row.hidden = !fits;
      shown += fits;
    });
    count.textContent = `${shown} of ${rows.length} entries`;
  };
  form.addEventListener("input", show);
  show();
  table.parentNode.before(form);
};
document.querySelectorAll("table.entries").forEach(filterLedger);

// What scrolls sideways can be reached and scrolled with the keyboard.
const reach = () => {
  const boxes = [
    ...document.querySelectorAll(
      ".figure, .math-display, .highlight pre, .ledger-box, .printed, .av-result, " +
        ".pst-scrollable-table-container",
    ),
  ];
  // All reads first: a write in between would make the browser lay out anew.
  const wide = boxes.map((box) => box.scrollWidth > box.clientWidth);
  const tall = boxes.map((box) => box.scrollHeight > box.clientHeight + 1);
  boxes.forEach((box, i) => {
    box.classList.toggle("scrolls", wide[i]);
    box.classList.toggle("scrolls-down", tall[i] && box.matches(".ledger-box"));
    if (wide[i] || tall[i]) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  });
};
addEventListener("load", reach);
addEventListener("resize", reach);

// On paper everything is open.
addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("details")) details.open = true;
});

// Interactive figures: load a figure's script when it comes into view, and
// give it a model that keeps the settings in the page instead of a kernel.
// A script and no module: a page opened from a folder may not load modules.
const pageModel = (state) => {
  const listeners = {};
  return {
    get: (key) => state[key],
    set: (key, value) => {
      state[key] = value;
      for (const listener of listeners[`change:${key}`] ?? []) listener();
    },
    save_changes: () => {},
    on: (event, listener) => (listeners[event] ??= []).push(listener),
    off: () => {},
  };
};
const siteRoot = document.currentScript.src;
const load = (name) =>
  new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = new URL(`figures/${name}.js`, siteRoot);
    script.onload = resolve;
    script.onerror = reject;
    document.head.append(script);
  });
const loaded = {};
const start = async (el) => {
  const { figure: name, state } = el.dataset;
  await (loaded[name] ??= load(name)).catch(() => null);
  const figure = globalThis.attentionFigures?.[name];
  if (figure) figure.render({ model: pageModel(JSON.parse(state)), el, load });
  else
    el.querySelector(".av-error").textContent =
      "The script of this figure did not load. The figure shows its first state.";
};
const seen = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      seen.unobserve(target);
      start(target);
    }
  },
  { rootMargin: "400px" },
);
// A link to a state leads to its figure, which starts at once; others wait.
const asked = [...new URLSearchParams(location.search).keys()].map((key) => key.split(".")[0]);
for (const el of document.querySelectorAll("[data-figure]")) {
  if (asked.includes(el.dataset.figure)) start(el);
  else seen.observe(el);
}
const [visit] = performance.getEntriesByType("navigation");
if (visit?.type === "navigate" && !location.hash && asked.length) {
  // Not before the fonts have come: they move what is below.
  const first = document.querySelector(
    asked.map((name) => `[data-figure="${CSS.escape(name)}"]`).join(),
  );
  addEventListener("load", () => first?.scrollIntoView({ behavior: "instant" }));
}
