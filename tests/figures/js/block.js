export async function pressParts() {
  const part = (name, n = 0) => el.querySelectorAll(`.av-flow [aria-label="${name}"]`)[n];
  const pressed = (name) => part(name).ariaPressed;
  const seen = [];
  for (const [name, key, n] of [
    ["attention, block 0", "attention_0", 0],
    ["feed-forward, block 1", "feed_forward_1", 0],
    ["all norms", "norms", 2],
    ["all sums", "stream", 3],
  ]) {
    seen.push(pressed(name));
    part(name, n).focus();
    press(part(name, n), "Enter");
    await frame();
    seen.push(
      m.state[key],
      pressed(name),
      field(key).checked,
      document.activeElement === part(name, n),
    );
  }
  for (const name of ["attention, block 0", "post-norm", "follow sat", "number 1"])
    press(part(name), " ");
  await frame();
  return [
    ...seen,
    m.state.attention_0,
    m.state.place,
    m.state.token,
    m.state.column,
    pressed("follow sat"),
    pressed("follow cat"),
    field("place").value,
  ];
}
