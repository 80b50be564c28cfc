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
