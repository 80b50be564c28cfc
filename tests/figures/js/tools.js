export const button = (text) =>
  [...el.querySelectorAll(".av-tools button")].find((it) => it.title === text);
export const play = el.querySelector(".av-tools button");
export const view = () => [m.state.x, Number(field("x").value), said(), play.title, frames.length];
export const middle = (id) => {
  const { x, y, width, height } = handle(id).getBoundingClientRect();
  return [x + width / 2, y + height / 2];
};
export const cells = () => [0, 1, 2].map((k) => m.state[`cell${k}`]);

export function topsOf(parts) {
  return parts.map((what) => el.querySelector(what).getBoundingClientRect().top);
}

export function tabOrder() {
  return [...el.querySelectorAll("[data-handle], form input, .av-tools button")].map((it) =>
    it.dataset.handle ? "handle" : it.name || "tool",
  );
}

export function toolRow() {
  const row = el.querySelector(".av-tools");
  return [
    row.getAttribute("role"),
    row.getAttribute("aria-label"),
    ...[...row.children].map((it) => [it.title, it.type, it.dataset.lmSuppressShortcuts]),
  ];
}

export const clickCell = (id) => {
  handle(id).click();
  return cells();
};
export const viewAfter = async (ms) => {
  await frame(ms);
  return view();
};
export const replay = () => {
  play.click();
  return viewAfter(0);
};
const clipboard = (writeText) => {
  globalThis.clip = [];
  Object.defineProperty(navigator, "clipboard", { configurable: true, value: { writeText } });
};
export const holdClip = () => clipboard((text) => Promise.resolve(clip.push(text)));
export const refuseClip = () => clipboard(() => Promise.reject(Error()));

export async function reset() {
  const before = m.state.x;
  give("y", -2);
  give("cell1", true);
  await frame();
  field("n").setAttribute("aria-invalid", "true");
  button("Reset").click();
  await frame();
  await pause(500);
  return [
    before,
    m.state,
    field("x").value,
    field("cell1").checked,
    said(),
    location.search + location.hash,
    marked(),
    error(),
    globalThis.resets,
  ];
}

export function resetInJupyter() {
  give("x", 2);
  m.state.y = -1;
  button("Reset").click();
  return null;
}

export async function copyLink() {
  give("x", -2);
  give("cell2", true);
  await frame();
  const b = button("Copy link");
  b.click();
  await settle();
  const copied = [b.title, spoken()];
  await pause(1999);
  copied.push(b.title);
  await pause(1);
  return [...copied, b.title];
}

export async function copyRefused() {
  const b = button("Copy link");
  b.click();
  await settle();
  return [error(), b.title];
}

export async function copySettings() {
  give("cell0", true);
  await frame();
  button("Copy settings").click();
  await settle();
  return null;
}

export async function playOnce() {
  const all = [];
  for (const ms of [0, 1000, 1000, 500, 1500, 1]) {
    await frame(ms);
    all.push(view());
  }
  return [all, m.saves, location.search];
}

export async function earlyFrame() {
  await frame(-5);
  const first = view();
  await frame(1005);
  return [first[1], view()[1], frames.length];
}

export async function listen() {
  await frame(0);
  await frame(500);
  await pause(600);
  return spoken();
}

export async function pauseAndGoOn() {
  await frame(0);
  await frame(1000);
  const moving = view();
  pointer(play, "pointerdown");
  play.click();
  await frame(300);
  const paused = view();
  await frame(5000);
  const still = view();
  play.click();
  await frame(0);
  await frame(1000);
  const on = view();
  await frame(2001);
  return [moving, paused, still, on, view()];
}

// What ends a film: a hand takes a field, or a setting comes from elsewhere.
export const acts = {
  pointer: () => pointer(field("y"), "pointerdown"),
  key: () => press(field("y"), "a"),
  press: () => {
    el.querySelector(".av-result").setPointerCapture = () => null;
    pointer(handle("cell1"), "pointerdown");
  },
  give: () => give("y", 0),
  set: () => m.set("y", 0),
};

export async function endByHand(act) {
  await frame(0);
  await frame(1000);
  acts[act]();
  await frame(16);
  await frame(16);
  return [m.state, Number(field("y").value), ...view()];
}

export async function stills() {
  play.click();
  const all = [];
  for (const ms of [0, 1000, 999, 1, 1000, 999, 1]) {
    await frame(ms);
    all.push(view()[1]);
  }
  return all;
}

export const gripSizes = () =>
  [...el.querySelectorAll(".av-grip")].map((it) => {
    const { width, height } = it.getBoundingClientRect();
    return [Math.round(width), Math.round(height)];
  });
export const namesOf = (keys) =>
  ["dot", "size", "cell0", "cell1"].map((id) => keys.map((key) => handle(id).getAttribute(key)));

export async function resize(width) {
  el.querySelector("svg").style.width = `${width}px`;
  el.style.width = "600px";
  await layout();
  return null;
}

export function pressArrows() {
  const all = [];
  for (const [key, more] of [
    ["ArrowUp"],
    ["ArrowRight"],
    ["ArrowDown"],
    ["ArrowLeft"],
    ["a"],
    ["Tab"],
    ["ArrowUp", { altKey: true }],
    ["ArrowUp", { ctrlKey: true }],
    ["ArrowUp", { metaKey: true }],
  ])
    all.push([press(handle("size"), key, more), m.state.n]);
  return all;
}

export function groupStops() {
  return [...el.querySelectorAll("[data-handle^=cell]")].map((it) => it.tabIndex);
}

export function touchActions() {
  const touch = (it) => getComputedStyle(it).touchAction;
  return ["dot", "size", "cell0"]
    .map((id) => touch(handle(id)))
    .concat(touch(el.querySelector("svg")));
}

export function cancelSwipe() {
  el.querySelector(".av-result").setPointerCapture = () => null;
  const cell = handle("cell0");
  pointer(cell, "pointerdown", { pointerId: 7 });
  pointer(cell, "pointercancel", { pointerId: 7 });
  return cells();
}
