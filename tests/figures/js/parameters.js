export async function dragEdges() {
  const start = { ...m.state };
  const seen = [];
  for (const [id, dx, dy] of [
    ["vocab", 30, 0],
    ["ratio", -30, 0],
    ["layers", 0, 30],
    ["heads", 60, 0],
  ]) {
    await drag(id, dx, dy);
    seen.push({ ...m.state });
    await become({ ...start });
  }
  return [start, ...seen];
}
