const bring = (address) =>
  new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = address;
    script.onload = resolve;
    script.onerror = reject;
    document.head.append(script);
  });

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

// The ledger as a tool: a search and filters, which open the folds of what they
// find, and how many entries there are. The page has all entries without them.
const filterLedger = (folds) => {
  const rowsOf = (fold) => [...fold.querySelector("tbody").rows];
  const rows = folds.flatMap(rowsOf);
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
        // An erratum whose cause is conjectured is an erratum.
        selects.every(
          ({ select: { selectedIndex, value }, of }) =>
            !selectedIndex || `${of(row)},`.startsWith(`${value},`),
        );
      row.hidden = !fits;
      shown += fits;
    });
    const isAsked = words.value.trim() || selects.some(({ select }) => select.selectedIndex);
    for (const fold of folds) {
      fold.open = isAsked && rowsOf(fold).some((row) => !row.hidden);
      fold.hidden = isAsked && !fold.open;
    }
    count.textContent = `${shown} of ${rows.length} entries`;
  };
  form.addEventListener("input", show);
  show();
  folds[0].before(form);
};
const ledgerFolds = [...document.querySelectorAll("details:has(> div > table.entries)")];
if (ledgerFolds.length) filterLedger(ledgerFolds);

// Make every box that scrolls reachable with the tab key, so that its content can
// be scrolled from the keyboard. The theme's script would measure the whole page
// again after each picture of a figure.
const reach = () => {
  const boxes = [
    ...document.querySelectorAll(
      "pre, .cell_output .output:not(:has(.av-figure)), .figure, .math-display, " +
        ".ledger-box, .pst-scrollable-table-container",
    ),
    // Measuring inside closed folds would make the browser lay out each of them.
  ].filter((box) => !box.closest("details:not([open])"));
  // All reads come first, because a write in between would force another layout.
  const wide = boxes.map((box) => box.scrollWidth > box.clientWidth);
  const tall = boxes.map((box) => box.scrollHeight > box.clientHeight + 1);
  boxes.forEach((box, i) => {
    box.classList.toggle("scrolls", wide[i]);
    box.classList.toggle("scrolls-down", tall[i] && box.matches(".ledger-box"));
    if (wide[i] || tall[i]) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  });
};
addEventListener("load", () => {
  reach();
  addEventListener("resize", reach);
  // A fold's toggle event does not bubble, so the listener captures it. Folds
  // that the page opens are measured at once.
  addEventListener("toggle", reach, true);
});

// Open every fold before printing, and close those again afterwards.
const forPrint = [];
addEventListener("beforeprint", () => {
  const closed = document.querySelectorAll("details:not([open])");
  forPrint.push(...closed);
  for (const details of closed) details.open = true;
});
addEventListener("afterprint", () => {
  for (const details of forPrint.splice(0)) details.open = false;
});

// The menus of the header, and below the mark of the current section in the
// table of contents. The theme loads Bootstrap's script for both.
const MENU = '[data-bs-toggle="dropdown"]';
const menus = [...document.querySelectorAll(MENU)];
const openOnly = (open) => {
  for (const button of menus) {
    button.classList.toggle("show", button === open);
    button.setAttribute("aria-expanded", button === open);
  }
};
document.addEventListener("click", ({ target }) => {
  const button = target.closest(MENU);
  openOnly(button?.getAttribute("aria-expanded") === "true" ? null : button);
});
document.addEventListener("keydown", ({ key, target }) => {
  if (key !== "Escape") return;
  target.closest(".dropdown")?.querySelector(MENU)?.focus();
  openOnly(null);
});

// Give each block of code a button that copies it.
const copied = async (text) => {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Without https there is no clipboard, but the browser still has its own copy
    // command.
    const give = (event) => {
      event.clipboardData.setData("text/plain", text);
      event.preventDefault();
    };
    document.addEventListener("copy", give);
    const done = document.execCommand("copy");
    document.removeEventListener("copy", give);
    return done;
  }
};
const icon = (title, paths) =>
  `<svg viewBox="0 0 24 24" stroke-width="1.5" fill="none"><title>${title}</title>${paths}</svg>`;
const COPY = icon(
  "Copy to clipboard",
  '<rect x="8" y="8" width="12" height="12" rx="2"/><path d="M16 8V6a2 2 0 0 0-2-2H6a2 2 0 0 0-2 2v8a2 2 0 0 0 2 2h2"/>',
);
const DONE = icon("Copied!", '<path d="m5 12 5 5L20 7"/>');
const addCopyButton = (pre) => {
  const button = document.createElement("button");
  button.className = "copybtn o-tooltip--left";
  const show = (text, drawn, done) => {
    button.dataset.tooltip = text;
    button.innerHTML = drawn;
    button.classList.toggle("success", done);
  };
  const wait = () => show("Copy", COPY, false);
  button.addEventListener("click", async () => {
    if (await copied(pre.textContent.replace(/\n$/, ""))) show("Copied!", DONE, true);
    else show("Failed to copy", COPY, false);
    setTimeout(wait, 2000);
  });
  wait();
  pre.after(button);
};
document.querySelectorAll("div.highlight pre").forEach(addCopyButton);

// The buttons of the header that print the page, and show it on the full screen.
const onPress = (selector, doing) =>
  document.querySelector(selector)?.addEventListener("click", doing);
onPress(".btn-download-pdf-button", () => print());
onPress(".btn-fullscreen-button", () => {
  if (document.fullscreenElement) document.exitFullscreen();
  else document.documentElement.requestFullscreen();
});

// Scroll the menu to the current page. The theme keeps the menu's scroll position
// from page to page, and on a phone the menu opens at its top.
const showEntry = () => {
  const entry = document.querySelector(".bd-docs-nav a.current");
  const menu = entry?.closest(".bd-sidebar-primary");
  if (!menu) return;
  const [box, { top, bottom, height }] = [entry, menu].map((it) => it.getBoundingClientRect());
  if (box.top < top || box.bottom > bottom) menu.scrollTop += box.top - top - height / 3;
};
document.addEventListener("DOMContentLoaded", showEntry);
const opened = ({ target }) => {
  // Wait until the theme, which stops the event, has moved the menu into its
  // dialog.
  if (target.closest(".primary-toggle")) setTimeout(showEntry);
};
document.addEventListener("click", opened, true);

// The element to which a hash leads. A reader may type one that is no encoding.
const targetOf = (hash) => {
  let name = hash.slice(1);
  try {
    name = decodeURIComponent(name);
  } catch {
    // The name is taken as it stands, as the browser does.
  }
  return document.getElementById(name);
};

// The deeper sections of a lesson are folds, which the switch below its title
// opens and closes, in each lesson until it is set back.
const DEPTH = "depth/everything";
const switches = [...document.querySelectorAll(".av-depth button")];
const showDepth = () => {
  const everything = Boolean(localStorage.getItem(DEPTH));
  for (const fold of document.querySelectorAll("details.more")) fold.open = everything;
  switches.forEach((button, i) => button.setAttribute("aria-pressed", everything === (i === 1)));
};
switches.forEach((button, i) =>
  button.addEventListener("click", () => {
    if (i === 1) localStorage.setItem(DEPTH, "1");
    else localStorage.removeItem(DEPTH);
    showDepth();
    showProgress();
  }),
);
if (switches.length && localStorage.getItem(DEPTH)) showDepth();
// A reader who comes back, or loads the page again, finds the folds as they were:
// the browser goes to the same height of the page.
const [visit] = performance.getEntriesByType("navigation");
{
  const key = `folds${location.pathname}`;
  const folds = [...document.querySelectorAll("article details")];
  addEventListener("pagehide", () => {
    sessionStorage.setItem(key, folds.map((fold) => Number(fold.open)).join(""));
  });
  const kept = visit?.type === "navigate" ? "" : (sessionStorage.getItem(key) ?? "");
  if (kept.length === folds.length) folds.forEach((fold, i) => (fold.open = kept[i] === "1"));
}
// Open the folds around an element, and the fold of a section; whether any was
// closed.
const unfold = (element) => {
  const closed = [...(element?.querySelectorAll(":scope > details.deeper:not([open])") ?? [])];
  for (let el = element; el; el = el.parentElement)
    if (el.matches("details:not([open])")) closed.push(el);
  for (const fold of closed) fold.open = true;
  return closed.length > 0;
};
// Figures above a target appear once it is reached and would push it away, so it
// is held until the reader acts or the page has come to rest.
const hold = (target) => {
  const place = () => target.scrollIntoView({ behavior: "instant" });
  const growth = new ResizeObserver(place);
  const release = () => growth.disconnect();
  growth.observe(document.body);
  for (const act of ["wheel", "touchstart", "pointerdown", "keydown"])
    addEventListener(act, release, { once: true, passive: true });
  setTimeout(release, 3000);
};
const lead = (always) => {
  const target = targetOf(location.hash);
  if (!target?.closest("article")) return;
  if (unfold(target) || always) hold(target);
};
addEventListener("hashchange", () => lead(false));
// Where a reader comes back to a page, the browser knows the place.
addEventListener("load", () => lead(visit?.type === "navigate"));
document.addEventListener("click", ({ target }) => {
  const link = target.closest?.("a[href*='#']");
  if (link?.hash && link.pathname === location.pathname) setTimeout(lead, 0, true);
});

// Mark the last section in the upper two fifths of the window, and the sections
// that contain it.
const contents = [...document.querySelectorAll(".page-toc a")]
  .map((link) => [link, targetOf(link.hash)])
  .filter(([, part]) => part);
const inView = new Set();
const spy = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries)
      inView[isIntersecting ? "add" : "delete"](target);
    const [, read] = contents.findLast(([, part]) => inView.has(part)) ?? [];
    for (const [link, part] of contents) {
      const reads = Boolean(read) && part.contains(read);
      link.classList.toggle("active", reads);
      link.parentNode.classList.toggle("active", reads);
    }
  },
  { rootMargin: "0px 0px -60%" },
);
for (const [link, part] of contents) {
  spy.observe(part);
  link.classList.toggle("deeper", Boolean(part.querySelector(":scope > details.deeper")));
}

// --- the reader's progress ---------------------------------------------------

// Everything stays in this browser: `practice.js` stores the answers and the
// number of right answers per page, and each lesson stores that it was read last.
// The first script of a page, mode.js, sees to it that the storage never fails.
const bookRoot = new URL("..", document.currentScript.src);
const pageOf = (link) =>
  link.href.startsWith(bookRoot.href)
    ? link.href.slice(bookRoot.href.length).replace(/\.html([?#].*)?$/, "")
    : null;
const OWN_KEYS = /^(practice|progress|reading|code|depth|read|way)\//;
const ownKeys = () => Object.keys(localStorage).filter((key) => OWN_KEYS.test(key));

// What is kept as a file, and such a file read back: texts under our own keys, and
// nothing else of it.
const COURSE = "Attention, Verified";
const LARGEST = 4_000_000;
const saveKept = () => {
  const kept = Object.fromEntries(ownKeys().map((key) => [key, localStorage.getItem(key)]));
  const text = JSON.stringify({ course: COURSE, kept }, null, 1);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  link.download = "attention-verified-progress.json";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
};
const keptIn = (text) => {
  const { course, kept } = JSON.parse(text);
  if (course !== COURSE) throw new Error("another file");
  return Object.entries(kept).filter(
    ([key, value]) => OWN_KEYS.test(key) && typeof value === "string",
  );
};
const readKept = async ({ target }) => {
  const [file] = target.files;
  if (!file) return;
  try {
    if (file.size > LARGEST) throw new Error("too large");
    const found = keptIn(await file.text());
    if (!found.length) throw new Error("nothing in it");
    for (const [key, value] of found) localStorage.setItem(key, value);
    sessionStorage.setItem("told", "The progress of the file is added to what was here.");
    location.reload(); // fields show what is kept when a page loads
  } catch {
    target.value = "";
    target.nextElementSibling.textContent = "This file has no saved progress of this course.";
  }
};
const fileButtons = () => {
  const part = document.createElement("div");
  part.className = "keep-file";
  part.innerHTML =
    '<button type="button">Save my progress to a file</button>' +
    '<button type="button">Read it back from a file</button>' +
    '<input type="file" accept=".json,application/json" hidden aria-label="File of progress">' +
    '<p role="status"></p>';
  const [save, read, field, said] = part.children;
  said.textContent = sessionStorage.getItem("told") ?? "";
  sessionStorage.removeItem("told");
  save.addEventListener("click", saveKept);
  read.addEventListener("click", () => field.click());
  field.addEventListener("change", readKept);
  return part;
};

// The ways through the course. A stop is a lesson or one figure of it, and may be
// ticked; a lesson leads on along the way that the reader has chosen, or in the
// book's order. `book/_ext/attention_site/ways.py` writes the lists and the lines.
const wasRead = (stop) => Boolean(localStorage.getItem(`read/${stop}`));
const setRead = (stop, read) => {
  if (read) localStorage.setItem(`read/${stop}`, "1");
  else localStorage.removeItem(`read/${stop}`);
};
const setWay = (way) => {
  if (way) localStorage.setItem("way/chosen", way);
  else localStorage.removeItem("way/chosen");
};
const tickBox = (stop, name) => {
  const box = document.createElement("input");
  box.type = "checkbox";
  box.setAttribute("aria-label", `Read: ${name}`);
  box.addEventListener("change", () => {
    setRead(stop, box.checked);
    showProgress();
  });
  return box;
};
// Tick a page that was read, or whose questions are all answered correctly.
const showTick = (link, page) => {
  const [right, all] = (localStorage.getItem(`progress/${page}`) ?? "").split("/");
  const solved = all > 0 && right === all;
  link.querySelector(".done")?.remove();
  if (!solved && !wasRead(page)) return;
  const tick = document.createElement("span");
  tick.className = "done";
  tick.textContent = " ✓";
  tick.setAttribute("role", "img");
  tick.setAttribute("aria-label", solved ? "all questions right" : "read");
  link.append(tick);
};
// Ticks on the map; on a way's page boxes, and a button to its first stop without one.
const showStops = (list) => {
  const items = [...list.children];
  const { way } = list.dataset;
  for (const item of items) {
    const { stop } = item.dataset;
    const link = item.querySelector("a");
    if (way === undefined) showTick(link, stop);
    else {
      if (!item.querySelector("input")) item.prepend(tickBox(stop, link.textContent));
      item.firstChild.checked = wasRead(stop);
    }
  }
  if (way === undefined) return;
  const done = items.filter((item) => wasRead(item.dataset.stop)).length;
  const next = items.find((item) => !wasRead(item.dataset.stop))?.querySelector("a");
  let line = list.nextElementSibling;
  if (!line?.matches(".av-start")) {
    line = document.createElement("p");
    line.className = "av-start";
    line.dataset.way = way;
    list.after(line);
  }
  line.replaceChildren();
  if (next) {
    const go = document.createElement("a");
    go.href = next.href;
    go.textContent = `${done ? "Continue" : "Begin"}: ${next.textContent}`;
    line.append(go);
  } else {
    const after = document.querySelector(".bd-docs-nav li.current")?.nextElementSibling;
    const other = after?.querySelector("a").cloneNode(true);
    if (other) line.append(other);
  }
  if (done) line.append(` ${done} of ${items.length} read`);
};
const showOnward = (nav) => {
  const lines = [...nav.querySelectorAll("p")];
  const chosen = localStorage.getItem("way/chosen") ?? "";
  const own = chosen && lines.find((line) => line.dataset.way === chosen);
  // Off the chosen way, or without one, all are offered.
  for (const line of lines) line.hidden = Boolean(own) && line !== own;
  const on = own || lines[0];
  const { stop } = on.dataset;
  let label = nav.querySelector("label");
  if (!label && thisPage === stop.split("#")[0]) {
    label = document.createElement("label");
    label.append(tickBox(stop, nameOfPage()), " I have read this");
    nav.prepend(label);
  }
  if (label) label.firstChild.checked = wasRead(stop);
  // Where a figure is the stop, the way leads on below it, and not at the end of
  // the page.
  const figure = own && document.getElementById(`figure-${stop.split("#")[1]}`);
  const below = [...document.querySelectorAll("article > section > section")].find(
    (it) => figure && figure.compareDocumentPosition(it) === Node.DOCUMENT_POSITION_FOLLOWING,
  );
  below?.before(nav);
  // What way it is, at the top too.
  document.querySelector(".av-on")?.remove();
  const told = own && own.querySelector("span").cloneNode(true);
  if (!told) return;
  const line = document.createElement("p");
  line.className = "av-on";
  line.append(told);
  document.querySelector("article h1")?.after(line);
};
const showWays = () => {
  document.querySelectorAll(".av-stops").forEach(showStops);
  document.querySelectorAll(".av-onward").forEach(showOnward);
};
// A reader who follows a link of a way is on it; to go on is to have read.
document.addEventListener("click", ({ target }) => {
  const link = target.closest?.(".av-onward a, .av-stops[data-way] a, .av-start[data-way] a");
  if (!link) return;
  const from = link.closest("[data-way]").dataset;
  setWay(from.way);
  if (link.matches(".on") && thisPage === from.stop.split("#")[0]) setRead(from.stop, true);
});

// Tick the pages of the menu, and add buttons that save, read back and delete what is kept.
const showProgress = () => {
  const menu = document.querySelector(".bd-docs-nav");
  if (!menu) return;
  for (const link of menu.querySelectorAll("a.reference")) showTick(link, pageOf(link));
  showWays();
  if (!menu.querySelector(".keep-file")) menu.append(fileButtons());
  menu.querySelector(".keep-file button").hidden = !ownKeys().length;
  const old = menu.querySelector(".forget");
  if (!ownKeys().length) old?.remove();
  if (old || !ownKeys().length) return;
  const forget = document.createElement("button");
  forget.type = "button";
  forget.className = "forget";
  forget.textContent = "Forget my progress and answers";
  forget.addEventListener("click", () => {
    for (const key of ownKeys()) localStorage.removeItem(key);
    // Empty this page's fields as well; an empty form stores no answers.
    for (const one of document.querySelectorAll("form[data-question], [data-task]")) one.wipe?.();
    globalThis.attentionLive?.forget();
    if (switches.length) showDepth();
    for (const key of ownKeys()) localStorage.removeItem(key);
    document.querySelector(".continue")?.remove();
    showProgress();
  });
  menu.append(forget);
};
document.addEventListener("progress-changed", showProgress);
addEventListener("storage", showProgress);

const { page: thisPage } = document.body.dataset;
const nameOfPage = () => document.querySelector("h1")?.firstChild?.textContent.trim() ?? "";
const NUMBERED = /^\s*\d+\. /;
// Remember this page as the place to continue if it has a number in the menu.
const keepPlace = () => {
  const current = document.querySelector(".bd-docs-nav a.current");
  if (current && NUMBERED.test(current.textContent)) localStorage.setItem("reading/last", thisPage);
};
// The offer is the entry of the menu, because other pages of this host can
// write into the same storage.
const offerPlace = () => {
  const last = localStorage.getItem("reading/last");
  const entry = [...document.querySelectorAll(".bd-docs-nav a.reference")].find(
    (link) => NUMBERED.test(link.textContent) && pageOf(link) === last,
  );
  const start = document.querySelector("article .av-start");
  if (thisPage !== "index" || !entry || !start) return;
  const link = document.createElement("a");
  link.href = entry.href;
  link.className = "continue";
  link.textContent = `Continue: ${entry.firstChild.textContent.trim()}`;
  // One button is the first choice.
  start.prepend(link, " ");
};
document.addEventListener("DOMContentLoaded", () => {
  keepPlace();
  offerPlace();
  showProgress();
});

// N and P lead to the next and the previous page, unless the reader is typing,
// choosing or moving something, or has switched the keys off.
const KEYS = "keys off";
const TAKEN = "input, textarea, select, button, summary, [contenteditable], .av-figure, form";
document.addEventListener("keydown", (event) => {
  const way = { n: "next", p: "prev" }[event.key];
  if (!way || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (event.target.closest?.(TAKEN) || localStorage.getItem(KEYS)) return;
  document.querySelector(`.prev-next-area a.${way === "next" ? "right" : "left"}-${way}`)?.click();
});
const keySwitch = () => {
  const line = document.querySelector(".imprint");
  if (!line || !document.querySelector(".prev-next-area a")) return;
  const button = document.createElement("button");
  button.type = "button";
  const show = () => {
    const off = Boolean(localStorage.getItem(KEYS));
    button.textContent = `Keys N and P (next, previous): ${off ? "off" : "on"}`;
  };
  button.addEventListener("click", () => {
    if (localStorage.getItem(KEYS)) localStorage.removeItem(KEYS);
    else localStorage.setItem(KEYS, "1");
    show();
  });
  show();
  line.append(" · ", button);
};
document.addEventListener("DOMContentLoaded", keySwitch);

// Results while typing. What finds them is loaded with the first letter, and the
// arrows lead from the field through the results and back.
const SEARCHES = ["_static/searchtools.js", "_static/language_data.js", "searchindex.js"];
const searchField = document.querySelector("#pst-search-dialog input");
if (searchField) {
  const box = document.createElement("div");
  box.className = "av-found";
  box.innerHTML = '<p role="status"></p><ul></ul>';
  const [status, list] = box.children;
  searchField.form.after(box);
  let finder = null;
  // Sphinx puts the query of the address into every field when it loads.
  const restore = () => (searchField.value = latest);
  const seek = async () => {
    const typed = latest;
    if (typeof Search === "undefined")
      finder ??= SEARCHES.reduce(
        (before, name) => before.then(() => bring(new URL(name, bookRoot))).then(restore),
        Promise.resolve(),
      );
    await finder;
    if (latest === typed) await Search.suggest(typed, list, status);
  };
  let latest = "";
  searchField.addEventListener("input", () => {
    latest = searchField.value;
    seek().catch(() => {
      status.textContent = "The search did not load. Load the page again.";
    });
  });
  box.parentNode.addEventListener("keydown", (event) => {
    if (event.key === "Escape") box.parentNode.close();
    const way = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!way) return;
    const stops = [searchField, ...list.querySelectorAll("a")];
    stops[stops.indexOf(document.activeElement) + way]?.focus();
    event.preventDefault();
  });
}

// Tell a report which page, section and version it is about. The link at the end
// of each page passes them to the page of reports, whose links pass them to the
// host's forms.
const prepareReport = ({ target }) => {
  const link = target.closest?.("a[class^=report]");
  if (!link) return;
  const url = new URL(link.href);
  if (link.className === "report") {
    const [section] = contents.filter(([it]) => it.classList.contains("active")).slice(-1);
    url.searchParams.set("page", thisPage);
    url.searchParams.set("title", nameOfPage());
    if (section) url.searchParams.set("section", section[0].textContent.trim());
  } else {
    const about = new URLSearchParams(location.search);
    const version = document.querySelector(".imprint span")?.textContent ?? "";
    const section = about.has("section") ? `, section "${about.get("section")}"` : "";
    const where = `${about.get("page") ?? thisPage}${section}. ${version}`;
    const title = `${link.textContent}: ${about.get("title") ?? nameOfPage()}`;
    const fields =
      link.className === "report-github"
        ? { template: `${link.dataset.form}.yml`, title, where }
        : { "issue[title]": title, "issue[description]": `${where}\n\n` };
    for (const [name, text] of Object.entries(fields)) url.searchParams.set(name, text);
  }
  link.href = url;
};
for (const kind of ["pointerdown", "focusin", "click"])
  document.addEventListener(kind, prepareReport, true);

// Interactive figures: load a figure's script when it comes into view, and give
// it a model that keeps the settings in the page instead of a kernel. It is a
// classic script, because a page opened from a folder may not load modules.
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
const load = (name) => bring(new URL(`figures/${name}.js`, siteRoot));
// Each figure has a page of its own, which opens in the state that the reader
// sees.
const alone = document.body.classList.contains("alone");
const linkAlone = (el, name) => {
  const row = el.querySelector(".av-tools");
  if (!row || alone) return;
  const link = document.createElement("a");
  link.title = "Open alone";
  link.setAttribute("aria-label", link.title);
  link.innerHTML =
    '<svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">' +
    '<path d="M9.5 2.8h3.7v3.7M13.2 2.8 7.5 8.5M7 3.5H2.8v9.7h9.7V9"/></svg>';
  const aim = () => {
    const url = new URL(`../figure/${name}.html`, siteRoot);
    for (const [key, value] of new URLSearchParams(location.search))
      if (key.split(".")[0] === name) url.searchParams.set(key, value);
    link.href = url;
  };
  aim();
  for (const event of ["pointerdown", "focus"]) link.addEventListener(event, aim);
  row.append(link);
};
const loaded = {};
const figureOf = async (name) => {
  await (loaded[name] ??= load(name)).catch(() => null);
  return globalThis.attentionFigures?.[name];
};
const start = async (el) => {
  const { figure: name, state } = el.dataset;
  const figure = await figureOf(name);
  if (figure) {
    figure.render({ model: pageModel(JSON.parse(state)), el, load });
    linkAlone(el, name);
  } else
    el.querySelector(".av-error").textContent =
      "The script of this figure did not load. The figure shows its first state.";
};
// A lesson shows its figure again where the text sets its state. What the reader
// does there stays there.
const showAgain = async (place) => {
  const { again: name, set } = place.dataset;
  const original = document.querySelector(`[data-figure="${name}"][data-state]`);
  const figure = await figureOf(name);
  if (!figure) return; // the original says so
  const { preset, ...settings } = JSON.parse(set);
  const first = JSON.parse(original.dataset.state);
  const state = { ...first, ...figure.presets()[preset], ...settings };
  const later = figure.later(state);
  if (later) await load(later); // its first drawing needs the data
  const el = document.createElement("section");
  el.setAttribute("aria-label", `${original.getAttribute("aria-label")}, again`);
  place.append(el);
  figure.render({ model: pageModel(state), el, load });
};
// Questions work at once, because they compute nothing in advance.
if (document.querySelector("[data-question], .av-task"))
  load("practice").then(
    () => attentionFigures.practice.render({ el: document }),
    () => {
      for (const said of document.querySelectorAll(".av-reply"))
        said.textContent = "The script of the questions did not load.";
    },
  );
// Do something to each observed element, once, when it is nearly in view.
const whenNear = (doing) => {
  const observer = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) {
        if (!isIntersecting) continue;
        observer.unobserve(target);
        doing(target);
      }
    },
    { rootMargin: "400px" },
  );
  return observer;
};
const seen = whenNear(start);
const nearAgain = whenNear(showAgain);
for (const place of document.querySelectorAll("[data-again]")) nearAgain.observe(place);
// A link to a state leads to its figure, which starts at once; the others wait.
const asked = [...new URLSearchParams(location.search).keys()].map((key) => key.split(".")[0]);
for (const el of document.querySelectorAll("[data-figure]")) {
  if (asked.includes(el.dataset.figure)) {
    unfold(el);
    start(el);
  } else seen.observe(el);
}
if (visit?.type === "navigate" && !location.hash && asked.length) {
  // Wait for the fonts, because they move everything below them.
  const first = document.querySelector(
    asked.map((name) => `[data-figure="${CSS.escape(name)}"]`).join(),
  );
  addEventListener("load", () => first && hold(first));
}

// --- the wall of the landing page ----------------------------------------------

// Each figure of the list is a square; a press shows it as printed, right, and why.
const showWall = (wall) => {
  wall.open = true;
  const says = document.createElement("div");
  says.className = "av-wall-says";
  says.innerHTML =
    '<p role="status"></p><button type="button">Previous wrong figure</button>' +
    '<button type="button">Next wrong figure</button>';
  const [said, back, on] = says.children;
  const wrong = [...wall.querySelectorAll("del")];
  let shown = null;
  const part = (name, text) => {
    const el = document.createElement(name);
    el.textContent = text;
    return el;
  };
  const show = (square) => {
    shown?.classList.remove("shown");
    shown = square;
    shown.classList.add("shown");
    const entry = square.closest("span");
    const link = entry.querySelector("a").cloneNode(true);
    link.textContent = link.textContent.replace(/:$/, "");
    const printed = part(square.localName, square.textContent);
    const why = entry.querySelector("small")?.textContent ?? "";
    said.replaceChildren(
      ...(square.matches("del")
        ? [printed, " → ", part("ins", square.nextElementSibling.textContent), ` ${why} `]
        : [printed, " ✓ The same was computed. "]),
      link,
    );
  };
  // A finger is wider than a square.
  const near = ({ clientX, clientY }) => {
    const far = (el) => {
      const { left, top, width, height } = el.getBoundingClientRect();
      return Math.hypot(clientX - left - width / 2, clientY - top - height / 2);
    };
    const [best] = wrong.map((el) => [far(el), el]).sort(([a], [b]) => a - b);
    return best[0] < 14 ? best[1] : null;
  };
  wall.addEventListener("click", (event) => {
    const square = event.target.closest("i, del");
    const touched = event.pointerType === "touch" && !square?.matches("del");
    const found = (touched && near(event)) || square;
    if (found && !says.contains(found)) show(found);
  });
  const step = (by) => () =>
    show(wrong.at((wrong.indexOf(shown) + (shown || by > 0 ? by : 0)) % wrong.length));
  back.addEventListener("click", step(-1));
  on.addEventListener("click", step(1));
  said.textContent = `${wrong.length} of these figures are wrong. Press a square.`;
  wall.append(says);
};
document.querySelectorAll("details.av-wall").forEach(showWall);

// --- code that runs in the page ----------------------------------------------

// A page of a notebook has a line for these buttons, if the site has Python for
// browsers. The first press loads live/page.js, which does the rest.
const runLine = document.querySelector(".av-python");
let liveLoads = null;
const live = async (what, ...given) => {
  try {
    await (liveLoads ??= bring(new URL(`live/page.js?v=${runLine.dataset.version}`, siteRoot)));
  } catch {
    liveLoads = null;
    runLine.querySelector("span").textContent = "What runs the code did not load. Try again.";
    return;
  }
  attentionLive[what](...given);
};
const pressed = (text, className, ...doing) => {
  const button = document.createElement("button");
  button.type = "button";
  button.className = className;
  button.textContent = text;
  button.addEventListener("click", () => live(...doing));
  return button;
};
const cellOf = (code) => Number(/ in-(\d+)/.exec(code.className)[1]);
// The buttons of a cell. Code in closed folds has none until it is seen, or until
// live/page.js has something to say below it.
const toolsOf = (code) => {
  const old = code.querySelector(".av-cell-tools");
  if (old) return old;
  const at = cellOf(code);
  const tools = document.createElement("div");
  tools.className = "av-cell-tools";
  const said = document.createElement("span");
  said.className = "av-cell-said";
  tools.append(pressed("Run", "", "run", at), pressed("Edit", "av-edit", "edit", at), said);
  code.append(tools);
  return tools;
};
const nearCode = whenNear(toolsOf);
// A click on code edits it there, with the caret where it was, unless the click
// selects, or ends a selection.
const afterCaret = (code, { clientX, clientY }) => {
  const here = document.caretPositionFromPoint?.(clientX, clientY);
  const there = here ? null : document.caretRangeFromPoint?.(clientX, clientY);
  const [node, at] = here
    ? [here.offsetNode, here.offset]
    : [there?.endContainer, there?.endOffset];
  if (!code.contains(node)) return undefined;
  const rest = document.createRange();
  rest.selectNodeContents(code);
  rest.setStart(node, at);
  return rest.toString().replace(/\n$/, "").length;
};
const isSelecting = () => !getSelection().isCollapsed;
let wasSelecting = false;
const noteSelection = () => {
  wasSelecting = isSelecting();
};
const editWhereClicked = (event) => {
  const code = event.target.closest('[class*=" in-"] pre');
  if (!code || wasSelecting || event.target.closest("a, button")) return;
  const end = afterCaret(code, event);
  const at = cellOf(code.closest('[class*=" in-"]'));
  // A second click, which selects a word, may follow.
  setTimeout(() => isSelecting() || live("edit", at, undefined, end), 250);
};
if (runLine) {
  const about = document.createElement("span");
  const { lacks } = runLine.dataset;
  if (location.protocol === "file:")
    about.textContent =
      "Opened from a folder, this page cannot run Python. In this folder: " +
      "python3 -m http.server, then open http://localhost:8000.";
  else {
    about.textContent = lacks
      ? `Runs here in part: some cells need ${lacks}. In Jupyter all of it runs.`
      : "Python runs here, in your browser (10 MB, loaded once). The check runs the page as published.";
    runLine.append(
      pressed("Check this page", "av-check", "check"),
      pressed("Run all", "", "runAll"),
      pressed("Save with my changes", "", "download"),
    );
    for (const code of document.querySelectorAll('[class*=" in-"]')) nearCode.observe(code);
    document.addEventListener("pointerdown", noteSelection, true);
    document.addEventListener("click", editWhereClicked);
    // Edits of an earlier visit are offered again.
    if (ownKeys().some((key) => key.startsWith(`code/${thisPage}/`))) live("offer");
  }
  runLine.append(about);
  // A link to the check shows its button. Only a press runs anything.
  if (location.hash === "#check")
    addEventListener("load", () => runLine.querySelector("button")?.focus());
}
