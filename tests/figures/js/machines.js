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
