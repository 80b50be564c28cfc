export async function dragCorner() {
  const map = el.querySelector(".av-tiles").getBoundingClientRect();
  const unit = map.width / (1.1 * 12);
  await drag("corner", 2 * unit, -unit);
  const changed = { ...m.state };
  await drag("corner", 40 * unit);
  return [changed, { ...m.state }, said()];
}
