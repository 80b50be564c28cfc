export async function moveEnd() {
  const part = () => el.querySelector("[data-handle=share]");
  const seen = [];
  for (const key of ["ArrowLeft", "ArrowLeft", "ArrowLeft", "ArrowLeft"]) {
    press(part(), key);
    await frame();
    seen.push([m.state.H_kv, error().slice(0, 15)]);
  }
  return seen;
}
