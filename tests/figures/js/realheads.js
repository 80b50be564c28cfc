export async function openOtherText(first, given) {
  close();
  const { state } = model(first);
  open("realheads", { ...state, _given: given });
  const grip = el.querySelector("[data-handle=A]");
  press(grip, "ArrowRight");
  await frame();
  const moved = [
    m.state.layer,
    el.querySelector(".av-real-side").textContent.includes("layer 2, head 1"),
  ];
  press(el.querySelector("[data-handle=A]"), "ArrowLeft");
  await frame();
  return [
    el.values.heads,
    field("text").closest("div").hidden,
    moved,
    m.state.layer,
    grip.getAttribute("aria-valuemax"),
  ];
}

export async function moveOnMap() {
  const all = [];
  for (const [id, key] of [
    ["A", "ArrowLeft"],
    ["A", "ArrowUp"],
    ["B", "ArrowRight"],
    ["B", "ArrowDown"],
  ]) {
    const grip = el.querySelector(`[data-handle=${id}]`);
    grip.focus();
    press(grip, key);
    await frame();
    all.push([el.values.heads, document.activeElement.dataset.handle]);
  }
  const grip = el.querySelector("[data-handle=A]");
  return [all, grip.getAttribute("role"), grip.tabIndex, grip.getAttribute("aria-valuetext")];
}

export function pressWords() {
  return ["w7", "w13"].map((id) =>
    el.querySelector(`[data-handle=${id}]`).getAttribute("aria-label"),
  );
}

export async function switchHeads() {
  const all = [];
  for (const name of ["A", "B", "B"]) {
    press(el.querySelector(`[data-handle=off-${name}]`), "Enter");
    await frame();
    const here = document.querySelector(`[data-handle=off-${name}]`);
    all.push([
      m.state.off,
      here.textContent,
      here.getAttribute("aria-pressed"),
      el.values.chances[0],
    ]);
  }
  return all;
}
