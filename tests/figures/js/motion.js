export const strip = () => el.querySelector(".av-stills").outerHTML;

export async function printStrip() {
  const first = strip();
  give("words", "one two three");
  give("query", 1);
  await frame();
  const before = strip();
  dispatchEvent(new Event("beforeprint"));
  const again = strip();
  close();
  m.state.query = 2;
  dispatchEvent(new Event("beforeprint"));
  return [first, before, again, strip()];
}
