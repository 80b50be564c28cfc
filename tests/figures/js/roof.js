export async function dragPoints() {
  await drag("write", 100, -65);
  const batched = { ...m.state };
  await drag("prefill", -120, 0);
  return [batched, { ...m.state }];
}
