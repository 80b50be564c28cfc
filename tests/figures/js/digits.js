export async function moveByKeys() {
  const it = () => el.querySelector("[data-handle=value]");
  const seen = [];
  for (const key of ["ArrowRight", "ArrowRight"]) {
    press(it(), key, { shiftKey: true });
    await frame();
    seen.push([m.state.shift, el.values.reproduced]);
  }
  give("shift", 50);
  await frame();
  seen.push([m.state.shift, el.values.reproduced]);
  press(it(), "ArrowRight");
  await frame();
  return [...seen, [m.state.shift, el.values.reproduced]];
}
