// --- the entries of step.js

export const cell = (at) => el.querySelector(`[data-at="${at}"]`);
export const typed = (key, more) => {
  const stopped = press(document.activeElement, key, more);
  return [document.activeElement.dataset.at, stopped];
};

export function moveByKeys(keys) {
  cell("dots,0,0").focus();
  return keys.map((key) => typed(key));
}

export function otherKeys() {
  return [
    typed("x"),
    typed("Tab"),
    typed("ArrowUp", { altKey: true }),
    typed("ArrowUp", { ctrlKey: true }),
    typed("ArrowUp", { metaKey: true }),
    typed("ArrowUp"),
  ];
}

export async function pointAtEntries() {
  const all = (kind) => [...el.querySelectorAll(`.av-${kind}`)].map((c) => c.dataset.at);
  const look = () => [said().split(" = ")[0], all("picked").join()];
  const point = (at) => {
    pointer(cell(at), "pointerover");
    return look();
  };
  const start = look();
  const first = [point("output,1,0"), all("source")];
  pointer(el.querySelector("caption"), "pointerover");
  const kept = point("X,0,0");
  const second = [point("dots,1,0"), all("source")];
  await settle();
  const waits = timers.length;
  point("dots,1,0");
  await settle();
  second.push(timers.length - waits); // nothing to be said anew
  give("scale", false);
  await frame();
  const third = look();
  cell("weights,0,1").focus();
  const focused = look();
  give("X", "1");
  await frame();
  return [start, first, kept, second, third, focused, look()];
}

export async function sentenceOf(state, entry) {
  await become(state);
  pointer(cell(entry), "pointerover");
  return said();
}

export async function readLarge() {
  const look = () => said().slice(0, said().indexOf(":"));
  const at = async (kind, i, j) => {
    const { left, top, width } = el.querySelector(".av-mosaic").getBoundingClientRect();
    const unit = width / 340;
    pointer(el.querySelector(".av-mosaic path"), kind, {
      pointerType: "mouse",
      clientX: left + unit * (40 + ((j + 0.5) * 294) / 64),
      clientY: top + unit * (34 + ((i + 0.5) * 294) / 64),
    });
    await frame();
    return look();
  };
  const seen = [look()];
  seen.push(await at("pointermove", 63, 0), m.sets.length);
  el.querySelector(".av-result").dispatchEvent(new PointerEvent("pointerleave"));
  await frame();
  seen.push(look(), await at("click", 20, 40));
  return [...seen, [m.state.query, m.state.key], el.values.picked, m.saves];
}

export async function pressTiles(places) {
  const { blocks } = el.values;
  const found = [];
  for (const [i, j] of places) {
    const map = el.querySelector(".av-tiles");
    const { left, top, width } = map.getBoundingClientRect();
    // The first or the last whole pixel of a row or column.
    const edge = (k) => ((k + 63 / 20) * width) / (1.1 * 63);
    const at = (from, k) =>
      i % 2 ? Math.floor(from + edge(k + 1) - 0.01) : Math.ceil(from + edge(k) + 0.01);
    pointer(map.querySelector("path"), "click", { clientX: at(left, j), clientY: at(top, i) });
    await frame();
    found.push([m.state.step, m.state.row, el.values.done]);
  }
  pointer(el.querySelector(".av-small"), "click");
  found.push([m.state.step, m.state.row, el.values.done]);
  return [blocks, found];
}

export async function stepEntry() {
  const [less, more] = el.querySelectorAll(".av-keys button");
  const at = (spot) => el.querySelector(`[data-at="dY,${spot}"]`);
  more.click();
  await frame();
  const first = [m.state.dY, field("dY").value.split("\n")[2]];
  at("0,1").click();
  await frame();
  const picked = el.querySelector(".av-picked").dataset.at;
  const entry = [m.state.entry, field("entry").value];
  less.click();
  less.click();
  await frame();
  const second = m.state.dY;
  at("2,1").click();
  const last = m.state.entry;
  at("0,1").click();
  el.querySelector(".av-keys").click();
  el.querySelector("caption").click();
  const still = [last, m.state.entry, m.state.dY === second];
  m.set("dY", [
    [10, 0],
    [0, 0],
    [0, 0],
  ]);
  at("0,0").click();
  await frame();
  more.click();
  const refused = error().slice(0, 54);
  // Digits that no reader sees are rounded away; a field that is being
  // typed in shows the number as a reader writes it.
  m.set("Q", [[1, 2]]);
  m.set("dY", [[0.12345678, 2]]);
  await frame();
  field("dY").focus();
  more.click();
  await frame();
  const rounded = [m.state.dY, field("dY").value];
  return [first, picked, entry, second, still, refused, ...rounded];
}

export async function typeSymbols() {
  const type = (symbol) => {
    el.querySelector(`[data-symbol="${symbol}"]`).click();
    return field("symbols").value;
  };
  const seen = [type("L"), type("back"), type("back")];
  el.querySelector(".av-keys").click();
  el.querySelector(".av-panel").click();
  await frame();
  const names = [...el.querySelectorAll(".av-keys button")].map(
    (it) => it.ariaLabel ?? it.textContent,
  );
  return [seen, m.state.symbols, el.values.logits.length, names];
}

export async function addAnswer(query) {
  await become({ symbols: "ABCDEFABC", query });
  const row = el.values.logits[query];
  const before = said();
  el.querySelector("[data-symbol=said]").click();
  await frame();
  return [row.indexOf(Math.max(...row)), before, m.state.symbols, m.state.query, el.values.query];
}

export async function pressArcs() {
  await become({ symbols: "ABCAB" });
  const arcs = el.querySelector(".av-arcs");
  const { left, width } = arcs.getBoundingClientRect();
  const sets = m.sets.length;
  const seen = [0.1, 1.9, 3.1, 5.1].map((place) => {
    pointer(arcs.firstElementChild, "click", { clientX: left + (place * width) / 12 });
    return m.state.query;
  });
  await frame();
  el.querySelector(".av-say").click();
  return [seen, m.state.query, m.sets.length - sets];
}

export function countCaptures() {
  globalThis.held = 0;
  el.addEventListener("gotpointercapture", () => {
    held += 1;
  });
  return null;
}

export function pressElsewhere() {
  el.querySelector(".av-say").click();
  pointer(el.querySelector(".av-sentence text"), "click");
  return [m.state.x, m.state.y, field("x").value, field("y").value];
}

// --- the ghost of saturation.js

export const ghost = () =>
  (el.querySelector(".av-caption")?.textContent ?? "")
    .replace(/, largest.*/, "")
    .replace(/.*last state /, "");
export const rest = (key) => field(key).dispatchEvent(new Event("change", { bubbles: true }));

export async function ghostOfDrag() {
  const seen = [ghost()];
  for (const power of [5, 6, 7]) {
    give("d_k", power);
    await frame();
    seen.push(ghost());
  }
  rest("d_k");
  give("scale", true);
  rest("scale");
  await frame();
  seen.push(ghost());
  give("seed", "-1");
  await frame();
  return [...seen, ghost()];
}

export async function ghostOfPython() {
  await become({ d_k: 64 });
  const first = ghost();
  give("seed", "3");
  await frame();
  return [first, ghost()];
}
