// The tools below every figure: reset, a link to this state, and full screen.

import { addressOf, matters } from "./controls.js";

const asPython = (value) =>
  typeof value === "boolean" ? (value ? "True" : "False") : JSON.stringify(value);
// In Jupyter a state has no address, so its settings are copied as a Python call.
const callOf = (figure, state) =>
  figure.controls
    .filter((control) => matters(control, state))
    .map(({ key }) => `${key}=${asPython(state[key])}`)
    .join(", ");

const TOLD = 2000;

// `linked` says whether the address holds the state; `first` lists the figure's
// own buttons.
export const toolRow = (figure, { el, linked, read, reset, tell, first = [] }) => {
  const row = document.createElement("div");
  row.className = "av-tools";
  row.setAttribute("role", "group");
  row.setAttribute("aria-label", "this figure");
  const button = (text, act) => {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = text;
    made.addEventListener("click", () => act(made));
    return made;
  };
  const what = linked ? "link" : "settings";
  let told;
  const copy = async (made) => {
    if (!read()) {
      tell(`There is no ${what} to a state that was refused.`, true);
      return;
    }
    const text = linked ? addressOf(figure, read()).href : callOf(figure, read());
    made.style.minWidth = `${made.offsetWidth}px`; // so that its neighbours do not move
    try {
      await navigator.clipboard.writeText(text);
      made.textContent = "Copied";
      tell(`The ${what} is copied.`);
    } catch {
      tell(`This browser copies nothing. The ${what}: ${text}`, true);
    }
    clearTimeout(told);
    told = setTimeout(() => (made.textContent = `Copy ${what}`), TOLD);
  };
  row.append(...first, button("Reset", reset), button(`Copy ${what}`, copy));
  const whole = () => document.fullscreenElement === el;
  const name = () => (screen.textContent = whole() ? "Leave full screen" : "Full screen");
  const screen = button("Full screen", () =>
    whole() ? document.exitFullscreen() : el.requestFullscreen(),
  );
  if (document.fullscreenEnabled) row.append(screen);
  document.addEventListener("fullscreenchange", name);
  el.append(row);
  return {
    row,
    close: () => {
      clearTimeout(told);
      document.removeEventListener("fullscreenchange", name);
      row.remove();
    },
  };
};
