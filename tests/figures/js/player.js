// One frame later what moves has moved, and is painted: in that very frame, so
// that a slider and the picture are never two.
export const [back, play, next] = el.querySelectorAll(".av-keys button");
export const bar = ["at", "step"].find((key) => field(key));
// Where it is, what the button says, and whether it goes on.
export const seen = () => [m.state[bar], play.textContent, frames.length];
export const from = (place) => become({ [bar]: place });

export const keyNames = () => [back, play, next].map((it) => it.textContent);

export async function playNext(times) {
  next.click();
  const first = seen();
  const all = await watch(times, seen);
  await frame(5000);
  return [first, ...all, seen()];
}

export async function playNextFrom() {
  await from(1.4); // between two steps: to the following one
  next.click();
  await frame(0);
  const between = seen();
  await frame(5000);
  between.push(...seen());
  // A step that is reached but for a rounding error is reached.
  field("at").step = "any";
  give("at", 1.9999999999);
  next.click();
  await frame(5000);
  const rounded = seen();
  await from(2); // while it plays
  play.click();
  await frame(0);
  await frame(450);
  next.click();
  await frame(5000);
  const playing = seen();
  await from(7); // at the end
  next.click();
  return [between, rounded, playing, seen()];
}

export async function goBack() {
  const all = [];
  for (const place of [0, 1, 2.5, 7]) {
    await from(place);
    for (let k = 0; k < 3; k += 1) {
      back.click();
      await frame(0);
      all.push(seen());
    }
  }
  return all;
}

export async function playFrom(start, times) {
  await from(start);
  play.click();
  return watch(times, seen);
}

export async function changeWhilePlaying(words) {
  await become(words);
  play.click();
  await frame(0);
  await frame(20000);
  return seen();
}

export const ways = {
  play: () => play.click(),
  back: () => back.click(),
  pointer: () => pointer(field("query"), "pointerdown"),
  key: () => press(field("query"), "x"),
  panel: () => document.querySelector(".av-keys").click(),
};

export async function stop(way) {
  await from(2);
  play.click();
  await frame(0);
  await frame(450);
  const before = seen();
  ways[way]();
  const name = play.textContent;
  await frame(300);
  const stopped = seen();
  await frame(300);
  return [before, name, stopped, seen()];
}

export async function hideAndClose() {
  await from(2);
  play.click();
  await frame(0);
  Object.defineProperty(document, "hidden", { value: true, configurable: true });
  await frame(450);
  const hidden = seen();
  delete document.hidden;
  play.click();
  await frame(0);
  close();
  await frame(450);
  return [hidden, seen()];
}

export async function listen() {
  next.click();
  await frame(0);
  await frame(450);
  await pause(600);
  const silent = spoken();
  await frame(5000);
  await pause(600);
  return [silent, spoken() === said()];
}

export async function playStills(times) {
  play.click();
  const all = await watch(times, () => m.state[bar]);
  next.click();
  await frame(0);
  return [all, ...seen()];
}

export async function jump() {
  back.click();
  const before = m.state[bar];
  next.click();
  await frame(0);
  return [before, ...seen()];
}
