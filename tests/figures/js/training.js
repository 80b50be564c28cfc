// The worker is the test's: it says what the test says.
export function startWorker(all) {
  globalThis.numbers = Float64Array.from(all);
  globalThis.workers = [];
  globalThis.Worker = class extends EventTarget {
    constructor(address) {
      super();
      Object.assign(this, { address, asked: [], ended: 0 });
      workers.push(this);
    }
    postMessage(data) {
      this.asked.push(data);
    }
    terminate() {
      this.ended += 1;
    }
  };
}

export const button = el.querySelector("[data-train]");
export const label = el.querySelector(".av-train label");
export const [box] = label.children;
export const guide = (name) => el.querySelector(`[data-guide=${name}]`).click();
export const told = () => el.querySelector(".av-told").textContent;
export const lines = () =>
  [...el.querySelectorAll(".av-below .av-line")].map((line) => line.getAttribute("d"));
export const yours = () => said().includes("your training");
export const tell = async (step, loss, right) => {
  const data = { step, loss, right, numbers: globalThis.numbers };
  workers.at(-1).dispatchEvent(new MessageEvent("message", { data }));
  await frame(0);
};

export async function train() {
  const look = () => [
    button.textContent,
    told().slice(0, 6),
    label.hidden,
    box.checked,
    yours(),
    field("step").closest("div").hidden,
  ];
  const all = [look()];
  button.click();
  all.push(look());
  await tell(1, 2.4849, 0.0804);
  all.push(look());
  await tell(2, 2.25, 0.5);
  all.push(look());
  await pause(600);
  const silent = spoken();
  button.click();
  await frame(0);
  all.push(look());
  await pause(600);
  const [worker] = workers;
  return [all, told(), silent, spoken() === said(), worker.asked, worker.ended, frames.length];
}

export async function askStored() {
  const seen = [];
  const look = async () => {
    await frame(0);
    seen.push(yours());
  };
  // Some browsers give a form back as it was before a reload.
  box.checked = true;
  m.set("query", 3);
  await look();
  button.click();
  await tell(1, 2.5, 0.1);
  box.click();
  await look();
  await tell(2, 2.4, 0.1);
  await look();
  box.click();
  await look();
  m.set("query", 2);
  await look();
  m.set("step", m.state.step);
  await look();
  m.set("step", 80);
  await look();
  const asked = box.checked;
  box.click();
  m.set("step", m.state.step);
  await look();
  box.click();
  await look();
  return [seen, asked];
}

export async function trainToTheEnd() {
  const look = () => [button.textContent, workers[0].ended, yours()];
  button.click();
  await tell(1, 2.5, 0.1);
  await tell(199, 0.5, 0.9);
  const all = [look()];
  await tell(200, 0.25, 0.95);
  all.push(look(), told());
  button.click();
  all.push(look(), told(), workers[1].asked[0].seed);
  await frame(0);
  all.push(yours());
  await tell(1, 2.5, 0.1);
  all.push(lines().map((d) => d.split("L").length));
  // The last step may be told after it was stopped.
  button.click();
  await tell(200, 0.25, 0.95);
  return [...all, look(), told().slice(0, 8)];
}

export async function guided(keys) {
  const look = async () => {
    await frame(0);
    return [m.state.step, keys.filter((key) => !m.state[key]), yours()];
  };
  // Untrained, so no head is known yet: the stored training has one.
  guide("previous");
  const all = [await look()];
  guide("untrained");
  all.push(await look());
  // What was trained here has a head of its own for it.
  button.click();
  await tell(1, 2.5, 0.1);
  guide("previous");
  all.push(await look());
  guide("untrained");
  all.push(await look());
  return all;
}

export async function timeLeft() {
  const before = told();
  button.click();
  await tell(1, 2.5, 0.1);
  const running = told();
  button.click();
  await frame(0);
  return [before, running, told()];
}

export async function runWorker() {
  const revoke = URL.revokeObjectURL;
  const gone = [];
  URL.revokeObjectURL = (address) => gone.push(address);
  button.click();
  const [{ address, ended }] = workers;
  const text = await (await fetch(address)).text();
  revoke(address);
  const posts = [];
  const scope = { postMessage: (data) => posts.push(data.step) };
  Function("self", text)(scope);
  scope.onmessage({ data: { seed: 1, steps: 2, size: 1 } });
  close();
  return [
    posts,
    gone.length === 1 && gone[0] === address,
    workers[0].ended - ended,
    m.listeners.length,
  ];
}

export function noWorker() {
  globalThis.Worker = function Worker() {
    throw Error("no");
  };
  button.click();
  return [button.textContent, told(), label.hidden, frames.length];
}

export async function lessMotion() {
  button.click();
  const seen = [];
  for (const step of [1, 49, 50, 51, 100]) {
    const data = { step, loss: 1, right: 0, numbers };
    workers[0].dispatchEvent(new MessageEvent("message", { data }));
    const asked = frames.length;
    await frame(0);
    seen.push([told().split(",")[0], lines().length, lines()[0]?.split("L").length, asked]);
  }
  return seen;
}
