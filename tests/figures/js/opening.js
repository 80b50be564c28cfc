export const seen = () => [
  shown(),
  ...["x", "y"].map((key) => [
    field(key).value,
    field(key).closest("div").querySelector("output").value,
  ]),
];

export async function watchTurn(times) {
  const sets = m.sets.length; // of the address
  const look = () => [seen(), frames.length > 0];
  const all = await watch(times, look);
  const silent = timers.length;
  await frame(1);
  all.push(look());
  await pause(600);
  return [
    all,
    silent,
    spoken() === said(),
    m.sets.length - sets,
    m.saves,
    field("sentence").selectedIndex,
  ];
}

export const ways = {
  pointer: () => pointer(el, "pointerdown"),
  key: () => press(el, "x"),
  input: () => el.dispatchEvent(new Event("input")),
  back: () => dispatchEvent(new PopStateEvent("popstate")),
  close: () => close(),
  hide: () => Object.defineProperty(document, "hidden", { value: true }),
  calm: () => {}, // before this, by the settings of the browser
};

export async function takeOver(way) {
  const moved = shown();
  ways[way]();
  await frame(16);
  await frame(16);
  dispatchEvent(new PopStateEvent("popstate"));
  return [moved !== shown(), ...seen(), frames.length];
}

export async function wait() {
  const waits = frames.length;
  await frame(1800);
  return [waits, shown(), frames.length];
}
