// --- the entries of a chain

const openedNow = () => ["step", "row", "column"].map((key) => m.state[key]);

export async function openByKeys(start, keys) {
  handle(start).focus();
  return keys.map((key) => {
    press(document.activeElement, key);
    return [document.activeElement.dataset.handle, openedNow()];
  });
}

export async function pointAt(ids, kind) {
  const seen = [];
  for (const [n, id] of ids.entries()) {
    const more = { pointerType: kind, screenX: n + 1 };
    pointer(handle(id), "pointerover", more);
    await frame();
    seen.push(openedNow());
  }
  // The page scrolls under a pointer that rests.
  pointer(handle("dots,0,0"), "pointerover", { pointerType: kind, screenX: ids.length });
  return [seen, openedNow()];
}

export async function pressOutputs(ids) {
  const seen = [];
  for (const id of ids) {
    handle(id).dispatchEvent(new MouseEvent("click", { bubbles: true }));
    await frame();
    const { loss } = el.values;
    seen.push([m.state.alone, m.state.entry, loss, handle(id).getAttribute("aria-pressed")]);
  }
  return seen;
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
