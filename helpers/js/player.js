// A player: back, play or pause, and next. They move the bar of one control,
// and the bar is the film: what is drawn follows from the settings alone.
//
// `at(state, ms)` of the figure says where the bar is so long after it was
// where the state says. With `tween` next plays one step, else it jumps there;
// `still` is the picture that stands for a moment where motion is not wanted.
export const player =
  (figure, key, { tween = false, still = (state, at) => Math.floor(at) } = {}) =>
  ({ form, model, paint }) => {
    const box = document.createElement("div");
    box.className = "av-panel av-keys";
    box.innerHTML = ["Back", "Play", "Next"]
      .map((name) => `<button type="button">${name}</button>`)
      .join("");
    form.before(box);
    const [back, play, next] = box.children;
    const bar = form.elements.namedItem(key);
    const calm = matchMedia("(prefers-reduced-motion: reduce)");
    let begun = null; // when, from which state and place, to where
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
      const shown = calm.matches ? Math.max(still(begun.state, reached), begun.from) : reached;
      move(shown);
      paint(); // in the frame in which the bar moves
      if (reached >= begun.to || document.hidden) stop();
      else requestAnimationFrame(advance);
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
