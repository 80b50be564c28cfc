export async function dragHandles() {
  await drag("memory", -120, 0);
  const smaller = { ...m.state };
  await drag("length", 0, -25);
  return [smaller, { ...m.state }];
}
