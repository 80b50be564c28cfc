// The opening of a figure: when the reader presses, or once the page has been still
// on the figure, it plays from some settings to the state of the page.

import { sliderPlaces } from "./controls.js";
import { labelled } from "./tools.js";
import { snapped } from "./handles.js";

// How long the page has to be still, in milliseconds.
const STILL_FOR = 1000;

// Ease in and out.
export const softly = (p) => p * p * (3 - 2 * p);

// The value of a setting on the way from `a` to `b`: numbers move in steps that
// the control takes, and other values change halfway.
const onTheWay = (control, state, a, b, p) => {
  if (p <= 0 || a === b) return a;
  if (p >= 1) return b;
  const places = sliderPlaces(control);
  if (places) {
    const [from, to] = [a, b].map((value) => places.of(control, value));
    return places.at(control, Math.round(from + p * (to - from)));
  }
  if (typeof b !== "number") return p < 0.5 ? a : b;
  return snapped(control, state, a + p * (b - a));
};
/**
 * The state that an opening shows `ms` after its start. It depends only on the state
 * that it leads to and on the time. If `still`, for readers who prefer reduced motion,
 * each state is held until the next one.
 */
export const stagedAt = (figure, state, ms, still = false) => {
  const { from, ms: length } = figure.opening;
  const states = [...from.map((settings) => ({ ...state, ...settings })), state];
  const each = length / from.length;
  const k = Math.min(Math.floor(ms / each), from.length - 1);
  const share = Math.min(ms / each - k, 1);
  const p = still ? Math.floor(share) : softly(share);
  const [a, b] = [states[k], states[k + 1]];
  return Object.fromEntries(
    figure.controls.map((c) => [c.key, onTheWay(c, state, a[c.key], b[c.key], p)]),
  );
};

// Plays an opening. `show(state)` draws a state without changing the settings,
// `show(null)` draws the settings again, and `set(state)` changes the settings.
export const stageOf = (figure, { el, read, set, show }) => {
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  const button = document.createElement("button");
  button.type = "button";
  let begun = null; // the start, less the time played before a pause
  let played = 0;
  let goal; // the state at the end of the opening
  let shown;
  const name = () => {
    if (begun !== null) labelled(button, "pause", "Pause");
    else if (played >= figure.opening.ms) labelled(button, "replay", "Replay");
    else labelled(button, "play", played ? "Play on" : "Play");
  };
  const halt = (state) => {
    begun = null;
    name();
    if (state) set(state);
    show(null);
  };
  const finish = () => {
    played = figure.opening.ms;
    halt(goal);
  };
  const advance = (now) => {
    if (begun === null) return;
    played = Math.max(now - begun, 0); // a frame may have begun before the press
    if (played >= figure.opening.ms || document.hidden) {
      finish();
      return;
    }
    shown = stagedAt(figure, goal, played, calm.matches);
    show(shown);
    requestAnimationFrame(advance);
  };
  const play = () => {
    if (!(played > 0 && played < figure.opening.ms)) [played, goal] = [0, read()];
    shown = goal;
    begun = performance.now() - played;
    name();
    requestAnimationFrame(advance);
  };
  // Touching the figure stops the opening for good. What is dragged is taken where
  // it is; a press acts on the state that the page speaks of.
  const taken = ({ target, type }) => {
    forget();
    if (button.contains(target) || begun === null) return;
    if (type !== "input") {
      halt(target.closest?.('[role="slider"], [type="range"]') ? shown : goal);
      return;
    }
    played = 0;
    halt(null); // the setting has already been set
  };
  let inView = false;
  let settling; // until the page has been still
  const settle = () => {
    clearTimeout(settling);
    if (!inView || begun !== null || calm.matches) return;
    settling = setTimeout(() => {
      forget();
      play();
      seen.observe(el);
    }, STILL_FOR);
  };
  const seen = new IntersectionObserver(
    ([{ isIntersecting }]) => {
      inView = isIntersecting;
      settle();
      if (inView || begun === null) return;
      forget();
      finish();
    },
    { threshold: 0.5 },
  );
  const forget = () => {
    seen.disconnect();
    clearTimeout(settling);
    removeEventListener("scroll", settle);
  };
  button.addEventListener("click", () => {
    forget();
    if (begun === null) play();
    else halt(shown);
  });
  for (const kind of ["pointerdown", "keydown"]) el.addEventListener(kind, taken, true);
  el.addEventListener("input", taken);
  name();
  return {
    button,
    wait: () => {
      seen.observe(el);
      addEventListener("scroll", settle, { passive: true });
    },
    playing: () => begun !== null,
    // Something else has changed the settings.
    drop: () => {
      forget();
      played = 0;
      if (begun !== null) halt(null);
    },
    close: () => {
      forget();
      begun = null;
    },
  };
};
