export async function pressCell() {
  const it = (id) => el.querySelector(`[data-handle=${id}]`);
  press(it("c6-1"), "Enter");
  await frame();
  const first = [m.state.program, m.state.check];
  press(it("tokens"), "ArrowLeft");
  await frame();
  return [...first, m.state.tokens];
}
