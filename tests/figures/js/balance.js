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
