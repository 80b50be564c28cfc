export async function addRuns() {
  const part = (id) => el.querySelector(`[data-handle="${id}"]`);
  const seen = [];
  const look = async () => {
    await frame();
    seen.push([m.state.n, m.state.reader, el.values.chosen]);
  };
  press(part("reader-13"), "Enter");
  await look();
  for (const id of ["more", "more", "less", "more", "more", "more"]) {
    press(part(id), "Enter");
    await look();
  }
  return [...seen, part("more") === null];
}
