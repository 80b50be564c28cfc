export async function dragHandles() {
  await drag("length", 60, 60);
  const longer = { ...m.state };
  await drag("width", -60, 0);
  return [longer, { ...m.state }];
}
