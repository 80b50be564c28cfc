export async function dragState(key, dx, dy) {
  const svg = el.querySelector(".av-result svg");
  const grip = handle(key);
  const { e, f } = grip.transform.baseVal.consolidate().matrix;
  const scale = svg.getScreenCTM().a;
  await drag(key, dx, dy);
  return [[e, f], scale, m.state[key]];
}
