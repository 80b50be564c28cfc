export async function dragHandles() {
  await drag("score-1", 50);
  const one = { ...m.state };
  await drag("shift", -60);
  return [one, { ...m.state }];
}
