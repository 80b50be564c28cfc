export async function refuseAndRecover(wrong, right, long) {
  const before = shown();
  give("config", wrong);
  const refused = [shown(), error(), el.classList.contains("av-stale")];
  give("config", right);
  await frame();
  const again = shown();
  give("config", long);
  await frame();
  return [before, refused, again, [shown() === before, m.state.config.length]];
}

export async function dragLength() {
  const plot = el.querySelector(".av-card-plot").getBoundingClientRect();
  await drag("positions", (-96 * plot.width) / 400);
  return m.state.S;
}
