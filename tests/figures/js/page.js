export async function compareStates(figure, given) {
  // The keyboard's place and the longest sentence are remembered.
  const picture = () => {
    const copy = el.querySelector(".av-result").cloneNode(true);
    copy.querySelector(".av-say").removeAttribute("style");
    for (const part of copy.querySelectorAll("*"))
      for (const key of ["tabindex", "data-lm-suppress-shortcuts"]) part.removeAttribute(key);
    // A figure that has just been opened is not laid out yet.
    for (const area of copy.querySelectorAll(".av-hit")) area.removeAttribute("r");
    return copy;
  };
  const anew = (state) => {
    const kept = { el, m, close };
    open(figure, state);
    const copy = picture();
    close();
    el.parentNode.remove();
    Object.assign(globalThis, kept);
    return copy;
  };
  const difference = (a, b) => {
    if (a.isEqualNode(b)) return "";
    const [all, others] = [a, b].map((it) => [...it.childNodes]);
    const k = all.findIndex((it, i) => !it.isEqualNode(others[i]));
    const inside = all.length === others.length && k >= 0 && all[k].nodeName === others[k].nodeName;
    return inside ? difference(all[k], others[k]) : `${a.outerHTML} ${b.outerHTML}`;
  };
  const markup = (state) => {
    const box = document.createElement("template");
    box.innerHTML = attentionFigures[figure].shell(state);
    return box.content.querySelector(".av-result");
  };
  // A page wraps the picture and adds to it; a handle changes a role.
  const lacks = (live, read) => {
    if (live?.nodeName !== read.nodeName || live.data !== read.data)
      return `${live?.outerHTML} ${read.outerHTML}`;
    for (const { name, value } of read.attributes ?? [])
      if (name !== "role" && live.getAttribute(name) !== value)
        return `${name} ${live.outerHTML} ${read.outerHTML}`;
    const inside = [...live.childNodes].flatMap((it) =>
      it.matches?.(".av-wide") ? [...it.childNodes] : [it],
    );
    return [...read.childNodes].map((it, k) => lacks(inside[k], it)).find(Boolean) ?? "";
  };
  const found = [];
  for (const state of given) {
    await become(state);
    const differs =
      difference(picture(), anew(m.state)) ||
      lacks(el.querySelector(".av-result"), markup(m.state));
    found.push([el.values, shown(), error(), differs]);
  }
  return found;
}

export const attached = () => [
  el.querySelectorAll("form").length,
  el.querySelector("form").hidden,
  location.search,
  [...el.querySelectorAll("form [name], .av-result, [tabindex='0']")].every(
    (part) => part.dataset.lmSuppressShortcuts === "true",
  ),
];

export async function moveSlider() {
  const output = field("T").closest("div").querySelector("output");
  field("T").focus();
  give("T", 6);
  const before = [m.state.T, el.values.weights.length, output.value];
  await frame();
  const after = [el.values.weights.length, [...m.sets], m.saves, error()];
  // Several moves are painted once.
  let painted = 0;
  new MutationObserver(() => (painted += 1)).observe(el.querySelector(".av-result"), {
    attributes: true,
    childList: true,
    subtree: true,
  });
  for (const T of [5, 7, 9]) give("T", T);
  await frame();
  return [before, after, painted, el.values.weights.length];
}

export function sendForm() {
  const event = new Event("submit", { cancelable: true });
  el.querySelector("form").dispatchEvent(event);
  return event.defaultPrevented;
}

export function fieldsOfSaturation() {
  give("d_k", 3);
  const f = field("d_k");
  const power = () => [
    f.value,
    f.getAttribute("aria-valuetext"),
    f.closest("div").querySelector("output").value,
  ];
  const read = [m.state.d_k, ...power()];
  give("scale", true);
  give("seed", "12");
  const typed = [m.state.scale, m.state.seed];
  m.set("d_k", 256);
  m.set("scale", false);
  m.set("seed", 7);
  return [read, typed, power(), field("scale").checked, field("seed").value];
}

export function fieldsOfCausal() {
  const slope = () => [field("slope").value, field("slope").step];
  const between = [field("mask").value, ...slope()];
  give("slope", field("slope").value);
  const stepped = [field("slope").step, m.state.slope % 0.0625];
  m.set("slope", 0.03);
  const again = slope();
  m.set("slope", 0.25);
  give("mask", "none");
  const mask = m.state.mask;
  m.set("mask", "padding");
  return [between, stepped, again, slope(), mask, field("mask").value];
}

export function fieldsOfStep() {
  give("X", "1 2\n3 −4");
  const read = m.state.X;
  m.set("X", [
    [1, 2],
    [3, 5],
  ]);
  return [read, field("X").value];
}

export function fieldsOfInduction() {
  give("symbols", "cafe, cafe");
  give("step", 0);
  const read = [m.state.symbols, m.state.step];
  m.set("symbols", "BAD");
  m.set("step", 150);
  const f = field("step");
  return [
    read,
    field("symbols").value,
    f.getAttribute("aria-valuetext"),
    f.closest("div").querySelector("output").value,
  ];
}

export function fieldsOfFilm() {
  give("words", " one  two three ");
  const read = m.state.words;
  m.set("words", "a b c");
  return [read, field("words").value];
}

export async function typeWrong(key, text) {
  give(key, text);
  await frame();
  return [error(), marked(), shown(), m.sets];
}

export function typeRight(key, right) {
  give(key, right);
  return [error(), marked()];
}

export async function twoWrongNumbers() {
  give("n_layers", "0");
  give("S", "0");
  const both = marked();
  give("n_layers", "4");
  const rest = [marked(), m.state.n_layers];
  give("S", "5");
  await frame();
  return [both, rest, error(), marked(), m.state.n_layers, m.state.S];
}

export async function wrongMatrices() {
  const result = el.querySelector(".av-result");
  const stale = () => [
    el.classList.contains("av-stale"),
    getComputedStyle(result, "::before").content,
  ];
  const before = stale();
  give("Q", "1 2 3");
  await frame();
  const first = [error().slice(0, 38), marked(), m.state.Q, stale()];
  give("scale", false);
  const second = [marked(), m.state.scale, stale()[0]];
  give("K", "4 5 6");
  await frame();
  return [before, first, second, error(), marked(), m.state.Q, m.state.K, m.state.scale, stale()];
}

export function forgetHiddenEntry() {
  give("K", "abc");
  give("V", "7");
  const before = [marked(), m.state.V];
  give("what", "X");
  return [
    before,
    error(),
    marked(),
    m.state.what,
    m.state.V,
    field("K").value,
    field("V").value,
    m.state.K,
  ];
}

export function forgetWhileWrong() {
  const before = field("W_Q").value;
  give("words", "a b");
  give("W_Q", "abc");
  give("what", "X");
  const first = [field("W_Q").value === before, error().slice(0, 13), m.sets.length];
  give("words", "a b c");
  give("what", "X, W_Q, W_K, W_V");
  return [first, error(), marked(), m.state.what];
}

export async function fitHeads(H, H_kv, key, value) {
  document.activeElement.blur();
  await become({ H, H_kv });
  field(key).focus(); // it is moved although it is held
  give(key, value);
  await frame();
  return [
    m.state.H,
    m.state.H_kv,
    +field("H_kv").value,
    new Set(el.values.kv_head).size,
    marked(),
    el.classList.contains("av-stale"),
    el.querySelector(".av-note") !== null,
    error(),
  ];
}

export async function choosePreset(preset, keys) {
  give("preset", preset);
  await frame();
  return [
    keys.map((key) => +field(key).value),
    keys.map((key) => m.state[key]),
    field("preset").value,
    el.values,
  ];
}

export async function ownNumbers() {
  give("d_v", "63");
  await frame();
  const shown = field("preset").value;
  give("preset", "own numbers");
  return [shown, m.state.d_v];
}

export function presetThatWaits(keys) {
  give("preset", "GPT-2 small");
  const values = () => keys.map((key) => field(key).value);
  const first = [
    values(),
    m.sets.length,
    error().startsWith("the cache would take more than 1 PiB"),
  ];
  give("batch", "1");
  return [...first, values(), error(), m.state.n_layers];
}

export async function adjustPositions() {
  const hidden = (key) => field(key).closest("div").hidden;
  const before = [hidden("pair"), hidden("heads"), field("pair").max];
  give("pairs", 3);
  await frame();
  const f = field("pair");
  const cut = [f.max, f.value, f.closest("div").querySelector("output").value, m.state.pair];
  give("kind", "ALiBi");
  await frame();
  const after = [hidden("pair"), hidden("heads")];
  m.set("kind", "sinusoid");
  m.set("pairs", 16);
  await frame();
  return [before, cut, after, f.max, f.value];
}

export async function adjustRoof() {
  const f = field("shared");
  const told = () => [
    f.max,
    f.value,
    f.getAttribute("aria-valuetext"),
    f.closest("div").querySelector("output").value,
  ];
  const before = told();
  give("heads", 1);
  await frame();
  const cut = [...told(), m.state.shared];
  give("heads", 5);
  await frame();
  return [before, cut, told()];
}

export async function fillWhileTyping() {
  field("S").focus();
  give("S", "");
  m.set("n_layers", 5);
  const typing = [field("S").value, field("n_layers").value, error() !== ""];
  m.set("S", 77);
  const own = [field("S").value, error()];
  field("n_layers").focus();
  m.set("S", 78);
  await frame();
  // A state that cannot be shown is named, and the picture stays.
  const before = shown();
  m.set("S", 0);
  await frame();
  const named = [field("S").value, error(), shown() === before];
  m.set("S", 5);
  await frame();
  return [typing, own, named, error(), el.values.per_sequence / el.values.per_token];
}

export function pressSteppers() {
  const of = (key, name) =>
    [...field(key).closest("div").querySelectorAll("button")].find((b) =>
      b.ariaLabel.endsWith(name),
    );
  const step = (key, name) => {
    of(key, name).click();
    return m.state[key];
  };
  const events = [];
  for (const kind of ["change", "input"])
    el.querySelector("form").addEventListener(kind, () => events.push(kind));
  const more = of("T", "more");
  return [
    more.ariaLabel,
    more.tabIndex,
    more.type,
    getComputedStyle(more).display,
    step("T", "more"),
    step("T", "more"),
    m.saves,
    step("T", "less"),
    events,
    step("slope", "more"),
    step("temperature", "less"),
    el.querySelectorAll(".av-stepper").length / el.querySelectorAll("input[type=range]").length,
  ];
}

export async function speakAfterRest() {
  await frame();
  await pause(600);
  const silent = spoken();
  give("T", 4);
  await frame();
  await pause(300);
  give("T", 5);
  await frame();
  await pause(499);
  const still = spoken();
  await pause(1);
  return [
    silent,
    still,
    spoken() === said(),
    spoken().includes("Query 4,"),
    el.querySelector(".av-spoken").getAttribute("role"),
    el.querySelector(".av-result [role=status]"),
  ];
}

export async function speakOfEntry() {
  handle("output,0,0").focus();
  press(document.activeElement, "ArrowDown");
  await frame();
  await pause(650);
  return [spoken() === said(), spoken().slice(0, 6)];
}

export async function closeFigure() {
  give("T", 9);
  await frame();
  close();
  await pause(600);
  const silent = spoken();
  m.state.T = 3;
  dispatchEvent(new PopStateEvent("popstate"));
  el.querySelector(".av-say").textContent = "changed";
  el.style.width = "20px";
  await layout();
  await pause(600);
  return [
    silent,
    m.listeners.length,
    m.state.T,
    spoken(),
    el.querySelector(".av-wide").classList.contains("scrolls"),
  ];
}

// --- data that comes later: a page that brings it when the test says so

export const reopen = () => {
  globalThis.asked = [];
  const load = (name) =>
    new Promise((come, fail) => {
      asked.push(name);
      Object.assign(globalThis, { come, fail });
    });
  close();
  el.classList.remove("av-live");
  globalThis.close = attentionFigures.induction.render({ model: m, el, load });
};
export const waiting = () => [
  error(),
  el.querySelector(".av-result").getAttribute("aria-busy"),
  el.classList.contains("av-live"),
  asked.length,
];

export async function askForData() {
  reopen();
  const first = shown();
  await become({ step: 80 });
  const waits = waiting();
  await become({ step: 60 });
  return [waits, waiting(), shown() === first, asked];
}

export async function failToLoad() {
  reopen();
  const first = shown();
  await become({ step: 80 });
  fail();
  await settle();
  return [first, shown(), waiting()];
}

export function readAddress() {
  return [
    m.state.T,
    m.state.slope,
    m.state.mask,
    error(),
    field("T").value,
    field("mask").value,
    el.values.weights.length,
  ];
}

export async function keepAddress() {
  give("slope", 0.5);
  await pause(200);
  return [m.state.T, location.search];
}

export async function visitAddress(query) {
  history.replaceState(null, "", query);
  dispatchEvent(new PopStateEvent("popstate"));
  await frame();
  return [error(), m.state, el.values, shown()];
}

export async function writeAddress() {
  give("mask", "sliding");
  give("T", 6);
  await pause(50);
  give("slope", 0.5);
  await pause(99);
  const still = location.search;
  await pause(1);
  return [still, Object.fromEntries(new URLSearchParams(location.search)), location.hash];
}

export async function writeMatrix() {
  history.replaceState({ mine: 1 }, "");
  const length = history.length;
  give("X", "1 2\n3 4");
  await pause(200);
  return [
    new URLSearchParams(location.search).get("step.X"),
    history.state,
    history.length === length,
    [...new URLSearchParams(location.search).keys()],
  ];
}

export async function goBack() {
  const back = async (query) => {
    history.replaceState(null, "", query);
    dispatchEvent(new PopStateEvent("popstate"));
    await frame();
    return [field("T").value, m.state.T, m.state.mask, el.values.weights.length];
  };
  give("T", 9);
  await pause(200);
  const moved = location.search.includes("causal.T=9");
  field("T").focus();
  return [moved, await back("?causal.T=4&causal.mask=none"), await back("?")];
}

export const reached = () => {
  const wide = el.querySelector(".av-wide");
  return [
    ...["tabindex", "role", "aria-label"].map((key) => wide.getAttribute(key)),
    wide.classList.contains("scrolls"),
  ];
};

export async function reachAtWidths() {
  const first = reached();
  el.style.width = "200px";
  await layout();
  await frame(); // the other drawing
  const narrow = reached();
  el.style.width = "900px";
  await layout();
  await frame(); // the other drawing
  return [first, narrow, reached()];
}

export async function reachGrown() {
  Object.assign(el.style, { width: "200px", height: "900px" });
  await layout();
  await frame(); // the other drawing
  const narrow = reached();
  await become({ T: 12 });
  return [narrow, reached()];
}

export async function keepHeights() {
  el.style.width = "300px"; // no font has it on one line
  await layout();
  const said = el.querySelector(".av-say");
  const error = el.querySelector(".av-error");
  const both = () => [said.offsetHeight, error.offsetHeight];
  const seen = [];
  const { offsetHeight: silent } = error;
  for (const written of [0, 1, 2, 3, 2, 1, 0]) {
    await become({ written });
    seen.push(said.offsetHeight);
  }
  const field = el.querySelector("form [name=angleA]");
  const type = async (value) => {
    field.type = "text";
    field.value = value;
    field.dispatchEvent(new Event("input", { bubbles: true }));
    await layout();
    return both();
  };
  const told = await type("no number");
  const right = await type("45");
  [...el.querySelectorAll(".av-tools button")].find((button) => button.title === "Reset").click();
  await layout();
  await layout();
  return { seen, silent, told, right, reset: both() };
}

export function inScheme(scheme, ground) {
  const root = document.documentElement;
  root.dataset.theme = scheme;
  root.style.setProperty("--pst-color-background", ground);
  root.style.setProperty("--pst-color-text-base", "rgb(1, 2, 3)");
  const sheet = document.createElement("style");
  sheet.textContent = `html[data-theme="${scheme}"] { color-scheme: ${scheme}; }`;
  document.head.prepend(sheet);
  return null;
}

export const shade = () => {
  const cell = el.querySelector("td[style]");
  const { backgroundColor, color } = getComputedStyle(cell);
  return [cell.textContent, backgroundColor, color];
};

export async function controlsOnPhone() {
  const parts = (what) => [...el.querySelectorAll(what)].filter((it) => it.checkVisibility());
  // The name of a switch is part of what a finger presses.
  const targets = parts(
    ".av-controls :is(input:not([type=checkbox]), select, textarea, summary, .av-stepper), " +
      ".av-controls label:has([type=checkbox]), .av-panel button, .av-tools :is(button, a)",
  ).map((it) => {
    const { width, height } = it.getBoundingClientRect();
    return [it.name || it.textContent || it.title, Math.round(width), Math.round(height)];
  });
  for (const fold of parts(".av-settings")) fold.open = false;
  await layout();
  document.body.style.padding = "900px 0";
  const sentence = el.querySelector(".av-say");
  const line = parseFloat(getComputedStyle(sentence).lineHeight);
  const leads = parts(".av-controls :is(input, select, textarea), .av-panel button");
  const places = leads.map((it) => {
    it.scrollIntoView({ block: "center", behavior: "instant" });
    const [a, b] = [it, sentence].map((x) => x.getBoundingClientRect());
    // A longer sentence goes on below: its first two lines are in view.
    return [
      it.name || it.textContent,
      b.top >= 0,
      Math.min(b.bottom, b.top + 2 * line) <= innerHeight + 0.5,
      a.bottom <= b.top || a.top >= b.bottom,
    ];
  });
  const picture = el.querySelector(".av-wide").getBoundingClientRect();
  const isFirst = leads.every((it) => it.getBoundingClientRect().top >= picture.top);
  const fields = parts(".av-controls div[data-kind]").length;
  return { targets, places, isFirst, fields, width: document.documentElement.scrollWidth };
}
