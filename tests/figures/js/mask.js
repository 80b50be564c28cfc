export async function chooseReadyMask() {
  give("preset", "causal and padding");
  await frame();
  const named = [field("preset").value, el.values.padding];
  el.querySelector("[data-handle=cell-0-0]").dispatchEvent(
    new MouseEvent("click", { bubbles: true, detail: 0 }),
  );
  await frame();
  return [named, field("preset").value, el.values.empty];
}
