export async function choose() {
  const at = (id) => el.querySelector(`[data-handle=${id}]`);
  const seen = [];
  const see = () => seen.push([m.state.at, m.state.code]);
  press(at("b4"), " ");
  await frame();
  see();
  press(at("p20"), " ");
  await frame();
  see();
  press(at("code"), "ArrowUp");
  await frame();
  see();
  give("at", 3);
  await frame();
  see();
  seen.push(el.querySelector(".av-error").textContent);
  give("block", "W_1 of layer 0");
  await frame();
  see();
  return seen;
}
