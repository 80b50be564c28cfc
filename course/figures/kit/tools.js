// The tools of every figure, a row of icons with names: play, reset, a link to this
// state, and full screen.

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
// Strokes in a square of 16 units.
const ICONS = {
  play: "M5 3v10l8-5z",
  pause: "M5.5 3v10M10.5 3v10",
  replay: "M3.2 8a4.8 4.8 0 1 0 1.6-3.6M3 2.4v3h3M7 6v4l3.4-2z",
  reset: "M3.2 8a4.8 4.8 0 1 0 1.6-3.6M3 2.4v3h3",
  link: "M7 9.2a2.6 2.6 0 0 0 3.7 0l2.4-2.4a2.6 2.6 0 0 0-3.7-3.7l-.8.8M9 6.8a2.6 2.6 0 0 0-3.7 0L2.9 9.2a2.6 2.6 0 0 0 3.7 3.7l.8-.8",
  done: "M3 8.5l3.3 3.3L13 4.8",
  full: "M2.8 6V2.8H6M10 2.8h3.2V6M13.2 10v3.2H10M6 13.2H2.8V10",
  leave: "M6 2.8V6H2.8M13.2 6H10V2.8M10 13.2V10h3.2M2.8 10H6v3.2",
};
// Give a button an icon and a name, which a pointer at rest shows too.
export const labelled = (button, icon, name) => {
  button.innerHTML =
    '<svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">' +
    `<path d="${ICONS[icon]}"/></svg>`;
  button.title = name;
  button.setAttribute("aria-label", name);
};

// `linked` says whether the address holds the state; `first` lists the figure's
// own buttons.
export const toolRow = (figure, { el, linked, read, reset, tell, resized, first = [] }) => {
  const row = document.createElement("div");
  row.className = "av-tools";
  row.setAttribute("role", "group");
  row.setAttribute("aria-label", "this figure");
  const button = (icon, name, act) => {
    const made = document.createElement("button");
    made.type = "button";
    labelled(made, icon, name);
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
    try {
      await navigator.clipboard.writeText(text);
      labelled(made, "done", "Copied");
      tell(`The ${what} is copied.`);
    } catch {
      tell(`This browser copies nothing. The ${what}: ${text}`, true);
    }
    clearTimeout(told);
    told = setTimeout(() => labelled(made, "link", `Copy ${what}`), TOLD);
  };
  row.append(...first, button("reset", "Reset", reset), button("link", `Copy ${what}`, copy));
  const whole = () => document.fullscreenElement === el;
  const screen = button("full", "Full screen", () =>
    whole() ? document.exitFullscreen() : el.requestFullscreen(),
  );
  const name = () => {
    labelled(screen, ...(whole() ? ["leave", "Leave full screen"] : ["full", "Full screen"]));
    resized();
  };
  if (document.fullscreenEnabled) row.append(screen);
  document.addEventListener("fullscreenchange", name);
  el.querySelector(".av-body").append(row);
  return {
    row,
    close: () => {
      clearTimeout(told);
      document.removeEventListener("fullscreenchange", name);
      row.remove();
    },
  };
};
