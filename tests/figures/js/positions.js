export async function pressPair() {
  const third = el.querySelector("[data-handle=pair-2]");
  press(third, "Enter");
  await frame();
  return [m.state.pair, el.querySelectorAll(".av-followed").length];
}
