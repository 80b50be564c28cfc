export async function dragSpread() {
  const marks = el.querySelector(".av-of-spread").getBoundingClientRect();
  await drag("spread", marks.width / 2);
  const wide = m.state.d_k;
  await become({ scale: true });
  return [wide, el.querySelectorAll("[data-handle]").length];
}
