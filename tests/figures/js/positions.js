export async function pressPair() {
  const third = el.querySelector("[data-handle=pair-2]");
  press(third, "Enter");
  await frame();
  return [m.state.pair, el.querySelectorAll(".av-followed").length];
}

export async function heightsBySize() {
  const heights = [];
  for (const T of [2, 8, 12, 13, 40]) {
    m.set("T", T);
    await frame();
    heights.push(el.querySelector(".av-sizes").offsetHeight);
  }
  return heights;
}
