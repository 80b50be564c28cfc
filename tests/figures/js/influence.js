export async function pressTokens() {
  const token = (k) => el.querySelector(`[data-handle=token-${k}]`);
  const before = token(3).getAttribute("aria-pressed");
  press(token(3), "ArrowLeft");
  press(document.activeElement, "Enter");
  await frame();
  const cat = { ...m.state };
  pointer(token(0), "click", { detail: 0 });
  await frame();
  return [before, cat.token, m.state.token, token(0).getAttribute("aria-label"), said()];
}
