// A page's own hands: open a figure, work a field, let time pass. The test
// tells the time: no clock runs, so a busy machine changes nothing.
export let now = 1000;
export const timers = [];
export let frames = [];
globalThis.setTimeout = (f, ms) => timers.push({ at: now + ms, f });
globalThis.clearTimeout = (id) => {
  if (id) timers[id - 1] = null;
};
globalThis.requestAnimationFrame = (f) => {
  frames.push(f);
  return f;
};
globalThis.cancelAnimationFrame = (f) => {
  frames = frames.filter((other) => other !== f);
};
performance.now = () => now;
export const settle = async () => {
  for (let k = 0; k < 5; k += 1) await Promise.resolve();
};
export const pause = async (ms) => {
  await settle();
  now += ms;
  timers.forEach((timer, k) => {
    if (!timer || timer.at > now) return;
    timers[k] = null;
    timer.f();
  });
  await settle();
};
export const frame = async (ms = 0) => {
  now += ms;
  for (const f of frames.splice(0)) f(now);
  await settle();
};
export const model = (state) => ({
  state: { ...state },
  sets: [],
  saves: 0,
  listeners: [],
  get(key) {
    return this.state[key];
  },
  set(key, value) {
    this.sets.push([key, value]);
    this.state[key] = value;
    const told = this.listeners.filter(([e]) => e === `change:${key}`);
    for (const [, listener] of told) listener();
  },
  save_changes() {
    this.saves += 1;
  },
  on(event, f) {
    this.listeners.push([event, f]);
  },
  off(event, f) {
    this.listeners = this.listeners.filter(([e, g]) => e !== event || g !== f);
  },
});
export const open = (name, state, html = "") => {
  const box = document.createElement("main");
  box.innerHTML = html || "<div></div>";
  const el = box.firstElementChild;
  document.body.append(box);
  const m = model(state);
  const close = attentionFigures[name].render({ model: m, el });
  Object.assign(globalThis, { el, m, close });
};
export const become = async (state) => {
  Object.assign(m.state, state);
  m.set(...Object.entries(state)[0]);
  await frame();
};
export const field = (key) => el.querySelector(`form [name=${key}]`);
export const give = (key, value) => {
  const f = field(key);
  if (f.type === "checkbox") f.checked = value;
  else f.value = value;
  f.dispatchEvent(new Event("input", { bubbles: true }));
};
export const pointer = (target, kind, more = {}) =>
  target.dispatchEvent(new PointerEvent(kind, { bubbles: true, cancelable: true, ...more }));
export const press = (target, key, more = {}) => {
  const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more });
  target.dispatchEvent(event);
  return event.defaultPrevented;
};
export const handle = (id) => el.querySelector(`[data-handle="${id}"]`);
export const drag = async (id, dx, dy = 0) => {
  const grip = handle(id);
  const { x, y, width, height } = grip.getBoundingClientRect();
  const by = (u, v) => ({
    pointerId: 1,
    button: 0,
    clientX: x + width / 2 + u,
    clientY: y + height / 2 + v,
  });
  // No pointer is down that a browser could capture.
  el.querySelector(".av-result").setPointerCapture = () => {};
  pointer(grip, "pointerdown", by(0, 0));
  for (const kind of ["pointermove", "pointerup"]) pointer(grip, kind, by(dx, dy));
  await frame();
};
export const error = () => el.querySelector(".av-error").textContent;
export const spoken = () => el.querySelector(".av-spoken").textContent;
export const said = () => el.querySelector(".av-say").textContent;
export const shown = () => el.querySelector(".av-result").textContent;
export const marked = () => [...el.querySelectorAll("[aria-invalid]")].map((f) => f.name);
// What is seen at each of some times.
export const watch = async (times, look) => {
  const all = [];
  for (const [k, ms] of times.entries()) {
    await frame(ms - (times[k - 1] ?? 0));
    all.push(look());
  }
  return all;
};
