// Handles: parts of a picture that a mouse, a finger or the keys can move.
//
// A figure lists its handles in `handles(state, values, own)`, and its view marks
// each with `data-handle`. This module does the rest: it announces names and
// values, makes room for a finger, handles keys, and snaps settings to the values
// that a control takes.

import { limited, sliderPlaces, ruleOf } from "./controls.js";
import { grouped } from "./numbers.js";

// The reach of a finger, in CSS pixels: a circle 44 pixels wide.
const FINGER = 22;

/**
 * A handle to drag has `at`, `keys` and `read`; a handle to press has `press`.
 *
 * @typedef {object} Handle
 * @property {string} id - the value of `data-handle` in the drawing
 * @property {string} name - what it is, such as "query of cat"
 * @property {[number, number]} [at] - where it is drawn, in units of its drawing
 * @property {string[]} [keys] - the setting that it moves, or one for each axis, x first.
 *   "W.0.1" is the number of the matrix W in row 0 and column 1, which moves in tenths
 * @property {(at: [number, number]) => object} [read] - the settings for a
 *   position in the same units; they need not be valid
 * @property {number} [stride] - the steps of the control that an arrow key takes, by default one
 * @property {string} [value] - its value in words; by default, the values of its settings
 * @property {(now: State) => object} [press] - the settings after a press, from the current ones
 * @property {boolean} [on] - whether it is pressed, for a toggle
 * @property {string} [group] - the handles of a group are one tab stop. The arrow keys
 *   move between them, and a drag presses those that are in the same state as the first
 * @property {boolean} [heir] - it takes the focus when the focused handle has gone
 * @property {boolean} [once] - a drag presses only the first handle of its group
 * @property {boolean} [eager] - to point at it, or to reach it with the arrow keys, presses it
 */

// A handle in an SVG. Its drawing has the handle's position as its origin.
export const grip = (id, [u, v], drawing) =>
  `<g class="av-grip" data-handle="${id}" transform="translate(${u} ${v})">${drawing}</g>`;

// The value nearest to `wished` that a control takes.
export const snapped = (control, state, wished, own) => {
  const { kind, min, max, step, stops } = limited(control, state, own);
  if (kind === "stops")
    return stops.reduce((a, b) => (Math.abs(b - wished) < Math.abs(a - wished) ? b : a));
  const within = Math.min(Math.max(wished, min), max);
  if (kind === "power") return 2 ** Math.round(Math.log2(within));
  if (!step) return within;
  const last = Math.floor((max - min) / step + 1e-9);
  return +(min + Math.min(Math.round((within - min) / step), last) * step).toFixed(9);
};
// The value of a control, moved by a number of steps.
const stepped = (control, state, by, own) => {
  const places = sliderPlaces(control);
  const value = state[control.key];
  if (!places) return snapped(control, state, value + by * (control.step ?? 1), own);
  const end = limited(control, state, own);
  const place = places.of(end, value) + by;
  return places.at(end, Math.min(Math.max(place, places.first(end)), places.last(end)));
};
// A message if a drag asked for a value that the control does not take. Rounding
// to a fine step gets no message.
const snapWords = (control, state, wished, own) => {
  const end = limited(control, state, own);
  const given = snapped(control, state, wished, own);
  const coarse = sliderPlaces(control) || control.step === 1;
  const beyond = wished < end.min || wished > end.max;
  if (Math.abs(given - wished) < 1e-9 || !(coarse || beyond)) return "";
  return `${control.label} must be ${ruleOf(end)}, so it is ${grouped(given)}.`;
};

// Small handles get a hit area for a finger.
const hitArea = (radius) => {
  const area = document.createElementNS("http://www.w3.org/2000/svg", "circle");
  area.setAttribute("class", "av-hit");
  if (radius) area.setAttribute("r", radius);
  return area;
};

const ARROWS = {
  ArrowRight: [1, 0],
  ArrowLeft: [-1, 0],
  ArrowUp: [0, 1],
  ArrowDown: [0, -1],
};
// The index of the nearest box in a direction, preferring boxes straight ahead.
const nextOf = (boxes, from, [dx, dy]) => {
  const far = ({ x, y, width, height }) => {
    const right = x + width / 2 - (from.x + from.width / 2);
    const up = from.y + from.height / 2 - (y + height / 2);
    const ahead = right * dx + up * dy;
    return ahead > 1 ? ahead + 2 * Math.abs(right * dy + up * dx) : Infinity;
  };
  const all = boxes.map(far);
  const least = Math.min(...all);
  return least === Infinity ? -1 : all.indexOf(least);
};

// Each number of a matrix as a setting of its own, and back into matrices.
const TENTH = 0.1;
const entriesOf = (state) => {
  const numbers = Object.entries(state).flatMap(([key, A]) =>
    Array.isArray(A?.[0]) ? A.flatMap((row, i) => row.map((x, j) => [`${key}.${i}.${j}`, x])) : [],
  );
  return { ...state, ...Object.fromEntries(numbers) };
};
const matricesOf = (settings, state) => {
  const all = {};
  for (const [key, value] of Object.entries(settings)) {
    const [name, i, j] = key.split(".");
    if (i) (all[name] ??= state[name].map((row) => [...row]))[i][j] = value;
    else all[key] = value;
  }
  return all;
};

// The handles of a figure on a page. `steer(settings)` applies settings,
// `note(text)` shows a message, and `first` holds the settings that the Home key
// restores.
export const handsOf = (figure, { result, read: current, steer: apply, note, first: start }) => {
  const read = () => entriesOf(current());
  const steer = (settings, moved) => apply(matricesOf(settings, current()), moved?.split(".")[0]);
  const first = entriesOf(start);
  let known = {};
  let mine; // the figure's own data
  let held = null; // the dragged handle, its offset from the pointer, and the settings it asks for
  let brush = null; // the handle on which a press began, and the handles it has pressed
  const radii = {}; // of the hit areas, by handle, as last measured
  const told = new WeakMap(); // of the parts, the names and values last written
  const stops = {}; // for each group, the handle that the tab key reaches
  const controlOf = (key) => {
    const [name, ...at] = key.split(".");
    const control = figure.controls.find((c) => c.key === name);
    const entry = { key, kind: "range", label: `${name}[${at.join("][")}]`, step: TENTH };
    return at.length ? { ...control, ...entry } : control;
  };
  const parts = () => [...result.querySelectorAll("[data-handle]")];
  const partOf = (id) => parts().find((part) => part.dataset.handle === id);
  const handleOf = (part) => part && known[part.getAttribute("data-handle")];

  // To write what is there costs as much as a change.
  const write = (part, given) => {
    const before = told.get(part) ?? {};
    for (const key in before) if (!(key in given)) part.removeAttribute(key);
    for (const key in given) if (given[key] !== before[key]) part.setAttribute(key, given[key]);
    told.set(part, given);
  };
  const announce = (part, handle, state) => {
    const { name, keys, press, on, group } = handle;
    const given = { "aria-label": name, role: press ? "button" : "slider" };
    if (press && on !== undefined) given["aria-pressed"] = on;
    if (!press) {
      const main = limited(controlOf(keys[0]), state, mine);
      const said = keys.map((key) => `${controlOf(key).label} ${grouped(state[key])}`);
      const ends = main.stops ?? [main.min, main.max];
      given["aria-valuemin"] = ends[0];
      given["aria-valuemax"] = ends.at(-1);
      given["aria-valuenow"] = Math.min(state[keys[0]], ends.at(-1));
      given["aria-valuetext"] = handle.value ?? (keys.length > 1 ? said.join(", ") : said[0]);
    }
    if (group && !known[stops[group]]) stops[group] = handle.id;
    given.tabindex = group && stops[group] !== handle.id ? -1 : 0;
    write(part, given);
  };
  // After each drawing: set names and values, and restore the focus.
  const show = (whole, values, own, { narrow, focused }) => {
    const state = entriesOf(whole);
    mine = own;
    const all = figure.handles(state, values, own, narrow);
    known = Object.fromEntries(all.map((handle) => [handle.id, handle]));
    for (const part of parts()) {
      const handle = handleOf(part);
      announce(part, handle, state);
      if (part.matches(".av-grip") && !handle.group && !part.querySelector(":scope > .av-hit"))
        part.append(hitArea(radii[handle.id]));
    }
    // An SVG with the role of an image hides its content from screen readers; a
    // group does not.
    for (const svg of result.querySelectorAll("svg[role]"))
      write(svg, { role: svg.querySelector("[data-handle]") ? "group" : "img" });
    if (!focused) return;
    const heir = parts().find((part) => handleOf(part).heir);
    (partOf(focused) ?? heir)?.focus({ preventScroll: true });
  };
  // Measure the drawings, and return what makes each hit area as wide as a finger.
  const widen = () => {
    const areas = [...result.querySelectorAll(".av-hit")];
    const scales = areas.map((area) => area.getScreenCTM()?.a);
    return () => {
      areas.forEach((area, i) => {
        const { handle } = area.parentNode.dataset;
        const radius = (FINGER / scales[i]).toFixed(3);
        if (!scales[i] || radius === area.getAttribute("r")) return;
        radii[handle] = radius;
        area.setAttribute("r", radius);
      });
    };
  };
  // The position of a pointer in units of the drawing, or outside an SVG as
  // fractions of the box.
  const placeOf = (part, { clientX, clientY }) => {
    const svg = part.closest("svg");
    if (svg) {
      const { x, y } = new DOMPoint(clientX, clientY).matrixTransform(svg.getScreenCTM().inverse());
      return [x, y];
    }
    const { left, top, width, height } = part.parentNode.getBoundingClientRect();
    return [(clientX - left) / width, (clientY - top) / height];
  };
  // Where the hit areas of two handles overlap, take the nearer handle.
  const nearest = (event, part) => {
    const far = (it) => {
      const { x, y, width, height } = it.getBoundingClientRect();
      return Math.hypot(x + width / 2 - event.clientX, y + height / 2 - event.clientY);
    };
    return parts()
      .filter((it) => handleOf(it)?.read && far(it) <= FINGER)
      .reduce((a, b) => (far(b) < far(a) ? b : a), part);
  };
  const ask = (wished) => {
    const state = read();
    const given = Object.entries(wished).map(([key, value]) => [
      key,
      snapped(controlOf(key), state, value, mine),
    ]);
    steer(Object.fromEntries(given), given[0][0]);
  };
  const press = (handle) => steer(handle.press(current()));

  const take = (event) => {
    let part = event.target.closest("[data-handle]");
    if (!part || event.button) return;
    if (handleOf(part)?.read) part = nearest(event, part);
    const handle = handleOf(part);
    if (!handle) return;
    event.preventDefault(); // so that dragging selects no text
    result.setPointerCapture(event.pointerId);
    part.focus({ preventScroll: true });
    if (handle.group) stops[handle.group] = handle.id;
    if (handle.press) {
      brush = { handle, done: [] };
      return;
    }
    const [u, v] = placeOf(part, event);
    held = { id: handle.id, off: [handle.at[0] - u, handle.at[1] - v], wished: {} };
    result.classList.add("av-held");
  };
  const drag = (event) => {
    const part = held && partOf(held.id); // it may go while it is held
    if (part) {
      const [u, v] = placeOf(part, event);
      held.wished = known[held.id].read([u + held.off[0], v + held.off[1]]);
      ask(held.wished);
    }
    if (!brush?.handle.group || brush.handle.once) return;
    const under = result.getRootNode().elementFromPoint(event.clientX, event.clientY);
    const over = handleOf(under?.closest("[data-handle]"));
    const { handle, done } = brush;
    if (!over || (over.id === handle.id && !done.length)) return;
    // The picture may be redrawn between two moves, so press each handle only
    // once.
    for (const one of [handle, over])
      if (one.group === handle.group && one.on === handle.on && !done.includes(one.id)) {
        done.push(one.id);
        press(known[one.id]);
      }
  };
  const drop = ({ type }) => {
    const [was, pressed] = [held, brush];
    held = brush = null;
    result.classList.remove("av-held");
    if (type === "pointercancel") return; // the page scrolls instead
    if (pressed && !pressed.done.length) press(pressed.handle);
    if (!was) return;
    const state = read();
    const words = Object.entries(was.wished).map(([key, value]) =>
      snapWords(controlOf(key), state, value, mine),
    );
    if (words.some(Boolean)) note(words.filter(Boolean).join(" "));
  };
  const onKey = (event) => {
    const handle = handleOf(event.target.closest?.("[data-handle]"));
    if (!handle || event.altKey || event.ctrlKey || event.metaKey) return;
    const way = ARROWS[event.key];
    if (handle.press && [" ", "Enter"].includes(event.key)) press(handle);
    else if (handle.press && handle.group && way) {
      const others = parts().filter((it) => handleOf(it)?.group === handle.group);
      const boxes = others.map((it) => it.getBoundingClientRect());
      const next = others[nextOf(boxes, event.target.getBoundingClientRect(), way)];
      if (next) {
        stops[handle.group] = next.dataset.handle;
        for (const it of others) write(it, { ...told.get(it), tabindex: it === next ? 0 : -1 });
        next.focus();
        if (handleOf(next).eager) press(handleOf(next));
      }
    } else if (handle.keys && event.key === "Home")
      steer(
        Object.fromEntries(handle.keys.map((key) => [key, first[key] ?? read()[key]])),
        handle.keys[0],
      );
    else if (handle.keys && way) {
      const by = way.map((x) => x * (event.shiftKey ? 10 : 1));
      const [across, up] = handle.keys;
      const key = up && way[1] ? up : across;
      const state = read();
      const many = up ? by[way[1] ? 1 : 0] : by[0] + by[1];
      steer({ [key]: stepped(controlOf(key), state, many * (handle.stride ?? 1), mine) }, key);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  // A pointer at rest under a page that scrolls points at nothing.
  let last = "";
  const point = (event) => {
    const part = event.target.closest("[data-handle]");
    const spot = `${event.screenX},${event.screenY}`;
    const moved = spot !== last;
    last = spot;
    if (!moved || event.pointerType !== "mouse" || event.buttons) return;
    const handle = handleOf(part);
    if (handle?.eager) press(handle);
  };
  result.addEventListener("pointerover", point);
  result.addEventListener("pointerdown", take);
  result.addEventListener("pointermove", drag);
  for (const kind of ["pointerup", "pointercancel"]) result.addEventListener(kind, drop);
  result.addEventListener("keydown", onKey);
  // Screen readers click without a pointer.
  result.addEventListener("click", ({ target, detail }) => {
    const handle = handleOf(target.closest("[data-handle]"));
    if (handle?.press && detail === 0) press(handle);
  });
  return { show, widen };
};
