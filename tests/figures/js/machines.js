export async function changePlans() {
  const seen = [];
  const look = async () => {
    await frame();
    seen.push(m.state.step);
  };
  give("machines", 2);
  await look();
  give("plan", "ring");
  await look();
  give("step", 3);
  await look();
  give("machines", 1);
  await look();
  return seen;
}

export async function moveHandles() {
  const it = (id) => el.querySelector(`[data-handle=${id}]`);
  const seen = [];
  const look = async () => {
    await frame();
    const { sent, totals } = el.values;
    seen.push([m.state.T, m.state.step, sent.results, totals.tree]);
  };
  press(it("queries"), "ArrowRight");
  await look();
  press(it("queries"), "ArrowRight", { shiftKey: true });
  await look();
  press(it("step"), "ArrowLeft");
  await look();
  press(it("step"), "Home");
  await look();
  return seen;
}
