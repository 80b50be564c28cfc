export const runs = () => el.classList.contains("av-runs");
export const running = () =>
  el
    .getAnimations({ subtree: true })
    .filter((it) => it instanceof CSSAnimation)
    .map((it) => it.effect.target.className.baseVal ?? it.effect.target.className);

export async function replaceWord() {
  give("text", "the qeen drank");
  const before = [error(), m.state.text];
  const [first, ...others] = el.querySelectorAll("[data-word]");
  const offered = [first, ...others].map((it) => it.textContent);
  first.click();
  await frame();
  return [
    ...before,
    offered,
    m.state.text,
    error(),
    [...el.querySelectorAll(".av-word")].map((it) => it.textContent),
  ];
}

export async function numbersFit(style, width) {
  document.head.insertAdjacentHTML("beforeend", style);
  el.style.width = `${width}px`;
  el.style.fontFamily = "Site";
  await document.fonts.ready;
  await frame();
  const text = document.createRange();
  return [...el.querySelectorAll(".av-within .av-num")].map((it) => {
    text.selectNodeContents(it);
    return text.getBoundingClientRect().width <= it.clientWidth;
  });
}

export async function pressAndGoBack() {
  const part = (id) => el.querySelector(`[data-handle="${id}"]`);
  const back = el.querySelector("[data-back]");
  const [texts, steps] = [[], []];
  const note = async () => {
    await frame();
    texts.push(m.state.text);
    steps.push([m.state.step, m.state.key, back.disabled]);
  };
  await note();
  press(part("add-0"), "Enter");
  await note();
  part("from-1").focus();
  press(part("from-1"), " ");
  await note();
  part("by-0").focus();
  press(part("by-0"), "Enter");
  await note();
  const focused = document.activeElement.dataset.handle;
  for (let k = 0; k < 3; k += 1) {
    back.click();
    await note();
  }
  press(part("less"), "Enter");
  await frame();
  return [texts, steps, focused, m.state.text];
}

export async function dragTemperature() {
  const first = () => el.querySelector(".av-chance").style.width;
  const box = handle("temperature").getBoundingClientRect();
  const shares = [[1, first()]];
  await drag("temperature", -60);
  shares.push([m.state.temperature, first()]);
  press(handle("temperature"), "ArrowRight");
  await frame();
  shares.push([m.state.temperature, first()]);
  press(handle("temperature"), "ArrowRight", { shiftKey: true });
  await frame();
  shares.push([m.state.temperature, first()]);
  const told = [
    box.width,
    box.height,
    ...["aria-valuenow", "aria-valuetext", "role"].map((name) =>
      handle("temperature").getAttribute(name),
    ),
  ];
  const states = [];
  for (let k = 0; k < 3; k += 1) {
    press(handle("draw"), "Enter");
    await frame();
    states.push({ ...m.state });
  }
  return [shares, states, told];
}

export async function goTheWay() {
  const stops = [];
  handle("way-on").focus();
  for (let k = 0; k < 13; k += 1) {
    press(document.activeElement, k % 2 ? "Enter" : " ");
    await frame();
    stops.push([m.state.step, el.querySelector(".av-along").innerText]);
  }
  return [stops, document.activeElement.dataset.handle];
}

export async function addWord() {
  press(handle("add-0"), "Enter");
  await frame();
  const seen = [
    runs(),
    el.querySelectorAll(".av-word").length,
    said() === el.querySelector(".av-say").textContent,
  ];
  const moving = running();
  const ends = el
    .getAnimations({ subtree: true })
    .filter((it) => it instanceof CSSAnimation)
    .map((it) => it.effect.getComputedTiming().endTime);
  await pause(1500);
  const after = [runs(), running().length];
  const others = [];
  for (const id of ["less", "other", "add-0", "word-1", "way-on"]) {
    press(handle(id), "Enter");
    await frame();
    others.push(runs());
  }
  m.set("word", 10);
  for (const text of ["the old king ate", "the queen drank the tea"]) {
    m.set("text", text);
    await frame();
    others.push(runs());
  }
  return [seen, moving, ends, after, others];
}

export async function addWordAtRest() {
  press(handle("add-0"), "Enter");
  await frame();
  return [el.querySelectorAll(".av-word").length, [runs(), running()]];
}

export function nextWords() {
  const options = [...el.querySelectorAll(".av-candidate")];
  return [
    options.map((it) => it.textContent),
    options.filter((it) => it.scrollWidth > it.clientWidth).length,
  ];
}

export async function followLink() {
  const say = () => [m.state.text, m.state.step, m.state.block];
  document.body.insertAdjacentHTML(
    "beforeend",
    `<a href="?flow.text=the+old+king&flow.step=mix&flow.block=0">a</a>`,
  );
  const link = document.body.lastChild;
  link.click();
  const found = [location.search, say()];
  await frame();
  document.addEventListener("click", (e) => e.preventDefault());
  m.set("step", "key");
  link.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, ctrlKey: true }));
  return [...found, say(), el.querySelectorAll(".av-word").length];
}

const isInStage = (it) => {
  const [{ top, bottom }, box] = [it, el.querySelector(".av-within")].map((one) =>
    one.getBoundingClientRect(),
  );
  return top >= box.top && bottom <= box.bottom;
};

export async function seekSources() {
  const scrolled = scrollY;
  handle("value-10-0").scrollIntoView({ block: "nearest" });
  await layout();
  const seen = [];
  for (let k = 0; k < 3; k += 1) {
    seen.push(["query-0", "key-10-0"].map((id) => isInStage(handle(id))));
    el.querySelector(".av-seek").click();
    await layout();
  }
  return [seen, scrolled === scrollY];
}

// At each step: where the arrow is, how high the figure is, and whether the opened number
// can be seen.
export async function keepsItsPlace() {
  el.querySelector(".av-settings").open = false;
  const result = [];
  for (let k = 0; k < 13; k += 1) {
    const on = el.querySelector(".av-num-on[data-handle]");
    const { top, height } = el.getBoundingClientRect();
    const arrow = handle("way-on").getBoundingClientRect();
    result.push([arrow.left, arrow.top - top, height, !on || isInStage(on)]);
    press(handle("way-on"), "Enter");
    await frame();
    await layout();
  }
  return [result, document.documentElement.scrollWidth];
}

// Parts of a dense grid, and words that are as high as the rows of the flow.
const DENSE = ".av-num, .av-word, .av-candidate, .av-weighing";
export const targets = () =>
  [...el.querySelectorAll("[data-handle], button, input, select, summary")]
    .filter((it) => it.checkVisibility() && getComputedStyle(it).pointerEvents !== "none")
    .map((it) => ({
      it,
      id: it.dataset.handle ?? (it.name || it.textContent),
      dense: it.matches(DENSE),
      box: it.getBoundingClientRect(),
    }));
// What is pinned covers what scrolls.
const STILL = `
  .av-figure * { position: static !important; overflow: visible !important }
  :is(.av-within, .av-worked, .av-terms) { height: auto !important; flex: none !important }
  .av-station-head, .av-portion, .av-heat { position: relative !important }
  .av-station-name, .av-heat > * { position: absolute !important }`;

export async function targetsOfSteps(steps) {
  const still = document.createElement("style");
  still.textContent = STILL;
  document.body.append(still);
  el.querySelector(".av-settings").open = true;
  const shared = (a, b) =>
    Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
    Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1;
  const result = [];
  for (const step of steps) {
    await become({ step });
    const all = targets();
    const small = all.filter(
      ({ dense, box }) => box.height < 43.9 && !(dense && box.height > 23.9 && box.width > 23.9),
    );
    const covered = all.flatMap((a, k) =>
      all
        .slice(k + 1)
        .filter((b) => shared(a.box, b.box))
        .map((b) => [a.id, b.id]),
    );
    const title = el.querySelector(".av-worked-name").textContent;
    const sizes = small.map(({ id, box }) => [id, box.width, box.height]);
    result.push([title, sizes, covered, all.length]);
  }
  return result;
}

const choose = async (key, value) => {
  const it = field(key);
  if (!it.checkVisibility() || it.value === String(value)) return;
  give(key, value);
  await frame();
};

export async function openByFields() {
  const pressed = () => el.querySelector(".av-worked").textContent;
  el.querySelector(".av-settings").open = true;
  const first = { ...m.state };
  const small = targets()
    .filter(({ dense }) => dense)
    .map(({ id }) => id);
  const pairs = [];
  for (const id of small.filter((_, k) => k % 23 === 0)) {
    await become(first);
    press(handle(id), "Enter");
    await frame();
    const [asked, expected] = [{ ...m.state }, pressed()];
    await become(first);
    for (const key of ["step", "block", "head", "word", "key", "number", "rank"])
      await choose(key, asked[key]);
    pairs.push([id, expected, pressed()]);
  }
  return pairs;
}
