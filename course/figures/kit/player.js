// A player with Back, Play or Pause, and Next. They move the slider of one
// control, and the slider is the film: the drawing follows from the settings
// alone.
//
// The figure's `at(state, ms)` returns the slider's position `ms` after the given
// state. With `tween` Next plays one step, else it jumps there. When motion is
// reduced, whole steps replace what is between them.
export const player =
  (figure, key, { tween = false } = {}) =>
  ({ form, model, paint }) => {
    const box = document.createElement("div");
    box.className = "av-panel av-keys";
    box.innerHTML = ["Back", "Play", "Next"]
      .map((name) => `<button type="button">${name}</button>`)
      .join("");
    form.before(box);
    const [back, play, next] = box.children;
    const bar = form.elements.namedItem(key);
    const steppers = bar.closest("div").querySelectorAll(".av-stepper");
    for (const it of steppers) it.remove(); // Back and Next do the same
    const calm = matchMedia("(prefers-reduced-motion: reduce)");
    let begun = null; // the start time, the initial state and position, and the end
    const here = () => Number(bar.value);
    const end = () => Number(bar.max);
    const move = (to) => {
      if (to === here()) return;
      bar.value = to;
      bar.dispatchEvent(new Event("input", { bubbles: true }));
    };
    const stop = () => {
      begun = null;
      play.textContent = "Play";
    };
    const advance = (now) => {
      if (!begun) return;
      const reached = Math.min(figure.at(begun.state, now - begun.now)[key], begun.to);
      const shown = calm.matches ? Math.max(Math.floor(reached), begun.from) : reached;
      const over = reached >= begun.to || document.hidden;
      move(shown);
      if (over) stop(); // so that the last picture is announced
      paint(); // in the frame in which the slider moves
      if (!over) requestAnimationFrame(advance);
    };
    const run = (from, to) => {
      const state = Object.fromEntries(figure.controls.map((c) => [c.key, model.get(c.key)]));
      begun = { now: performance.now(), state: { ...state, [key]: from }, from, to };
      play.textContent = "Pause";
      requestAnimationFrame(advance);
    };
    box.addEventListener("click", ({ target }) => {
      const [busy, time] = [begun, here()];
      stop();
      if (target === back) move(Math.max(Math.ceil(time) - 1, 0));
      else if (target === next) {
        const to = Math.min(Math.floor(time + 1e-9) + 1, end());
        if (calm.matches || !tween) move(to);
        else if (time < end()) run(Math.floor(time), to);
      } else if (target === play && !busy) run(time >= end() ? 0 : Math.floor(time), end());
    });
    form.addEventListener("pointerdown", stop);
    form.addEventListener("keydown", stop);
    return { busy: () => begun !== null, reset: stop, close: stop };
  };
