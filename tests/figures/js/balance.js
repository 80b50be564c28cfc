export async function changePlans() {
  const seen = [];
  const look = async () => {
    await frame();
    seen.push(m.state.time);
  };
  give("machines", 0);
  await look();
  give("time", 50);
  await look();
  give("plan", "striped");
  await look();
  return seen;
}

export async function moveHandles() {
  const it = (id) => el.querySelector(`[data-handle=${id}]`);
  const seen = [];
  const look = async () => {
    await frame();
    seen.push([m.state.time, m.state.follow]);
  };
  press(it("time"), "ArrowLeft");
  await look();
  press(it("time"), "ArrowLeft", { shiftKey: true });
  await look();
  press(it("m2"), "Enter");
  await look();
  return seen;
}
