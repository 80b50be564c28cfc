// What every interactive figure is: the contract, and what a page adds to it.
//
// A figure is a pure function from its state to HTML. Python calls it in a
// small engine for the static page; the browser calls it again when a control
// moves. So the page reads the same with and without scripts.

import { escape } from "./svg.js";
import {
  complaint,
  fromAddress,
  held,
  isAsked,
  limited,
  matters,
  PLACES,
  preset,
  problem,
  put,
  shell,
  tell,
  toAddress,
} from "./controls.js";
import { handsOf } from "./handles.js";
import { stagedAt, stageOf } from "./opening.js";
import { toolRow } from "./tools.js";

/**
 * A setting, stated once: Python makes the trait and the docs of it.
 *
 * @typedef {object} Control
 * @property {string} key - the setting's name, in Python and in addresses
 * @property {"range"|"number"|"power"|"stops"|"flag"|"choice"|"matrix"|"symbols"|"words"|"text"} kind
 * @property {string} label - what the page calls it; each is there once
 * @property {number|boolean|string|number[][]} first - the value to start with
 * @property {string} about - what it sets, as the docs say it, without limits
 * @property {number} [min] - of a number, of each number of a matrix, of a length
 * @property {number} [max]
 * @property {number} [step] - of a slider; with 1 the setting is whole
 * @property {number[]} [stops] - the values of a slider of kind "stops"
 * @property {string[]} [options] - of a choice
 * @property {[number, number]} [rows] - of a matrix, the least and the most
 * @property {[number, number]} [columns]
 * @property {string} [shape] - of a matrix, in dimension letters, for the docs
 * @property {string|number} [letters] - of "symbols" which, of "words" how many
 * @property {(state: State, own?: object) => number} [upTo] - where the slider ends
 * @property {(state: State, own?: object) => boolean} [when] - whether it matters
 */
/** @typedef {Object<string, number|boolean|string|number[][]>} State */
/**
 * What `figureModule` takes. Only the first four are needed.
 *
 * @typedef {object} Figure
 * @property {string} name - as the file is called
 * @property {Control[]} controls - in the order of the page
 * @property {(state: State, own?: object) => object} compute - the numbers; pure
 * @property {(state: State, values: object, own?: object) => string} view - HTML; pure
 * @property {{part: string, which?: number, box?: string, state?: State}} [card]
 * @property {(state: State) => string} [check] - what does not fit together, or ""
 * @property {(state: State, moved: string, before: State) =>
 *   ?{settings: State, says: string}} [fit] - settings that fit the one just moved
 * @property {Object<string, State>} [presets] - ready-made settings by name
 * @property {string} [presetLabel]
 * @property {(state: State, ms: number) => object} [at] - what time changes: `own`
 * @property {(state: State) => string} [strip] - stills, for paper and without scripts
 * @property {(state: State) => ?string} [later] - data to load before it is drawn
 * @property {(result: Element, state: State, values: object,
 *   set: (key: string, value: any) => void) => void} [enhance] - after each drawing
 * @property {(state: State, values: object, own?: object) => Handle[]} [handles] - parts of
 *   the picture that are dragged or pressed; pure. `handles.js` says what each has
 * @property {{from: State[], ms: number}} [opening] - settings from which it plays, one after
 *   the other, to its first state, once and in at most 5,000 ms
 * @property {(context: object) => {own?: Function, busy?: Function, reset?: Function,
 *   close?: Function}} [live] - once: what changes beside the settings
 */

// A figure in one sentence, which a screen reader hears.
export const say = (text) => `<p class="av-say">${escape(text)}</p>`;

// What may scroll sideways stands apart from the sentence, which stays in view.
const setApart = (result) => {
  const said = result.querySelector(":scope > .av-say");
  const wide = document.createElement("div");
  wide.className = "av-wide";
  while (result.firstChild !== said) wide.append(result.firstChild);
  result.prepend(wide);
};
// Beside a slider, one step back and one step on: for a finger. Keys move the
// slider itself, so the tab key passes them by.
const addSteppers = (form, steps) => {
  for (const field of form.querySelectorAll("input[type=range]")) {
    const name = field.labels[0].textContent.trim();
    const button = (sign, word, way) => {
      const made = document.createElement("button");
      Object.assign(made, { type: "button", className: "av-stepper", tabIndex: -1 });
      made.textContent = sign;
      made.setAttribute("aria-label", `${name}: ${word}`);
      made.onclick = () => {
        if (field.step === "any") field.step = steps[field.name]; // back to the steps
        const before = field.value;
        field[way]();
        if (field.value === before) return;
        for (const kind of ["input", "change"])
          field.dispatchEvent(new Event(kind, { bubbles: true }));
      };
      return made;
    };
    const shown = field.closest("div").querySelector("output");
    shown.before(button("−", "less", "stepDown"));
    shown.after(button("+", "more", "stepUp"));
  }
};

// Data that Python gives a module, by name. Some of it a page loads when a state
// asks for it; a kernel sends all of it with the module.
export const known = (name) => globalThis.attentionData?.[name];

// `load` brings data that is not known yet; a figure without it does without.
const attach = (figure, { model, el, load }) => {
  const read = () => Object.fromEntries(figure.controls.map((c) => [c.key, model.get(c.key)]));
  const linked = el.dataset.state !== undefined;
  el.dataset.figure = figure.name; // for the style sheet, in Jupyter as well
  if (!el.querySelector(".av-result")) {
    el.classList.add("av-figure");
    el.innerHTML = shell(figure, read());
  }
  const [form, error, result, spoken] = ["form", ".av-error", ".av-result", ".av-spoken"].map((s) =>
    el.querySelector(s),
  );
  form.hidden = false;
  // Cause and effect share a screen: below the picture stands what moves it.
  result.after(error, form);
  addSteppers(form, Object.fromEntries(figure.controls.map((c) => [c.key, c.step])));
  const draft = {}; // what was typed and waits for something else to fit
  // In JupyterLab the arrow keys belong to what has the focus here, and not to
  // the notebook, which asks the focused element itself.
  const keepKeys = (parts) => {
    for (const part of parts) part.dataset.lmSuppressShortcuts = "true";
  };
  keepKeys([...form.elements, result]);
  let pending; // a picture that was asked for, and two timers
  let saving;
  let speaking;

  const adjust = (state, own) => {
    for (const control of figure.controls) {
      const field = form.elements.namedItem(control.key);
      field.closest("div").hidden = !matters(control, state, own);
      if (!control.upTo) continue;
      const end = limited(control, state, own);
      const places = PLACES[control.kind];
      field.max = places ? places.last(end) : end.max;
      field.value = places ? places.of(end, state[control.key]) : state[control.key];
      tell(control, field, places ? places.at(end, field.value) : field.value);
    }
    if (figure.presets) form.elements.namedItem("preset").value = preset(figure, state);
  };
  // What scrolls sideways can be reached and scrolled with the keyboard.
  const reach = () => {
    const given = { tabindex: 0, role: "group", "aria-label": "result, scrolls sideways" };
    for (const box of result.querySelectorAll(".av-wide, .av-step > div")) {
      const wide =
        box.scrollWidth > box.clientWidth && getComputedStyle(box).overflowX !== "visible";
      for (const [name, value] of Object.entries(given)) {
        if (wide) box.setAttribute(name, value);
        else box.removeAttribute(name);
      }
      box.classList.toggle("scrolls", wide);
    }
    // On a phone two lines of the sentence stay in sight, and the rest of it
    // below the edge until the reader is there.
    const sentence = result.querySelector(".av-say");
    const more = sentence.offsetHeight - 2.7 * parseFloat(getComputedStyle(sentence).fontSize);
    el.style.setProperty("--av-more", `${Math.max(more, 0).toFixed(1)}px`);
    hands?.widen();
  };
  // The picture stays until the data of the next one is there.
  const bring = async (name) => {
    if (result.hasAttribute("aria-busy")) return;
    result.setAttribute("aria-busy", "true");
    try {
      await load(name);
      paint();
    } catch {
      tellAbove(
        "The data of this state did not load. The figure shows the last state that it has.",
        "stale",
      );
    }
    result.removeAttribute("aria-busy");
    el.classList.add("av-live");
  };
  // What is said above the picture. A picture that is not of what the controls
  // say is marked as the last that was.
  const tellAbove = (text, kind = "") => {
    error.textContent = text;
    error.classList.toggle("av-note", kind === "note");
    el.classList.toggle("av-stale", kind === "stale");
  };
  let staged = null; // the state that an opening shows
  const paint = () => {
    cancelAnimationFrame(pending);
    pending = undefined;
    const state = staged ?? read();
    const wrong = problem(figure, state);
    if (wrong) {
      tellAbove(`${wrong}. The figure shows the last state that fits.`, "stale");
      return;
    }
    const own = staged ? undefined : live.own();
    adjust(state, own);
    const name = own ? null : figure.later?.(state);
    if (name && !known(name)) {
      bring(name);
      return;
    }
    const values = figure.compute(state, own);
    el.values = values;
    const { activeElement } = el.getRootNode();
    const focused = result.contains(activeElement) && activeElement.dataset.handle;
    result.innerHTML = figure.view(state, values, own);
    setApart(result);
    if (figure.enhance) figure.enhance(result, state, values, assign);
    hands?.show(state, values, own, focused);
    keepKeys(result.querySelectorAll("[tabindex]"));
    reach();
  };
  // A screen reader hears what the figure says once it stays as it is.
  const speak = () => {
    clearTimeout(speaking);
    if (live.busy() || staged) return; // what changes by itself speaks when it is done
    speaking = setTimeout(
      () => (spoken.textContent = result.querySelector(".av-say").textContent),
      500,
    );
  };
  const refresh = () => {
    if (!pending) pending = requestAnimationFrame(paint);
  };
  // Browsers refuse an address that changes too often: wait for a pause.
  const save = () => {
    clearTimeout(saving);
    saving = setTimeout(() => toAddress(figure, read()), 100);
  };
  const assignAll = (settings) => {
    for (const [key, value] of Object.entries(settings)) model.set(key, value);
    model.save_changes();
    if (linked) save();
  };
  const assign = (key, value) => assignAll({ [key]: value });
  // Settings that a hand asks for; others move to what fits them, and say so.
  const steer = (wished, key) => {
    const before = read();
    const fitted = figure.fit?.({ ...before, ...wished }, key, before);
    const settings = { ...wished, ...fitted?.settings };
    const wrong = problem(figure, { ...before, ...settings });
    if (!wrong) assignAll(settings);
    if (wrong) tellAbove(`${wrong}. It stays where it was.`, "note");
    else if (fitted) tellAbove(fitted.says, "note");
  };
  // What is being typed stays, unless `all` of the form is set anew.
  const fill = (all, state = read()) => {
    for (const control of figure.controls) {
      const field = form.elements.namedItem(control.key);
      if (all || field !== document.activeElement) put(control, field, state[control.key]);
    }
  };
  const change = (event) => {
    const field = event.target;
    const control = figure.controls.find((c) => c.key === field.name);
    if (control) {
      if (control.step) field.step = control.step; // from between its steps as well
      draft[control.key] = held(control, field);
      tell(control, field, draft[control.key]);
    } else {
      Object.assign(draft, figure.presets[field.value]);
      for (const c of figure.controls)
        if (c.key in draft) put(c, form.elements.namedItem(c.key), draft[c.key]);
    }
    // What does not fit the control that was moved moves to what does.
    const fitted = figure.fit?.({ ...read(), ...draft }, control?.key, read());
    if (fitted) {
      Object.assign(draft, fitted.settings);
      for (const c of figure.controls)
        if (c.key in fitted.settings) put(c, form.elements.namedItem(c.key), draft[c.key]);
    }
    // What was typed wrong and is put aside by another choice is forgotten.
    const wished = { ...read(), ...draft };
    for (const c of figure.controls) {
      if (!(c.key in draft) || matters(c, wished) || !complaint(c, draft[c.key])) continue;
      delete draft[c.key];
      put(c, form.elements.namedItem(c.key), model.get(c.key));
    }
    const wrong = problem(figure, { ...read(), ...draft });
    if (wrong) tellAbove(`${wrong}. The figure shows the last state that fits.`, "stale");
    else tellAbove("");
    const marked = [...form.elements].filter((f) => f.hasAttribute("aria-invalid"));
    for (const other of marked) other.removeAttribute("aria-invalid");
    if (wrong) {
      // The fields that are wrong alone, else the first that did not fit.
      const alone = figure.controls.filter((c) => c.key in draft && complaint(c, draft[c.key]));
      const fields = alone.map(({ key }) => form.elements.namedItem(key));
      const blamed = [fields, marked, [field]].find((some) => some.length);
      for (const other of blamed) other.setAttribute("aria-invalid", "true");
      return;
    }
    for (const [key, value] of Object.entries(draft)) {
      model.set(key, value);
      delete draft[key];
    }
    model.save_changes();
    if (linked) save();
    if (fitted) tellAbove(fitted.says, "note");
  };

  const first = read();
  const restore = () => {
    const { state, wrong } = fromAddress(figure, first);
    for (const [key, value] of Object.entries(state)) model.set(key, value);
    tellAbove(wrong);
    fill(true);
  };
  if (linked) {
    restore();
    addEventListener("popstate", restore);
  }
  form.addEventListener("input", change);
  form.addEventListener("submit", (event) => event.preventDefault());
  const follow = figure.controls.map(({ key }) => [
    `change:${key}`,
    () => {
      if (staged) stage.drop();
      delete draft[key];
      if (!Object.keys(draft).length) tellAbove("");
      fill();
      refresh();
    },
  ]);
  for (const [event, listener] of follow) model.on(event, listener);
  // What changes beside the settings: what of it is shown, whether it goes on by
  // itself, its start again, and its end. Most figures have some of these, or none.
  const live = {
    own: () => undefined,
    busy: () => false,
    reset: () => {},
    close: () => {},
    ...figure.live?.({ el, form, model, repaint: refresh, paint, set: assign }),
  };
  const note = (text) => tellAbove(text, "note");
  const hands = figure.handles && handsOf(figure, { result, read, steer, note, first });
  const stage =
    figure.opening &&
    stageOf(figure, {
      el,
      read,
      set: (state) => {
        staged = null;
        if (figure.controls.some(({ key }) => state[key] !== model.get(key))) assignAll(state);
      },
      show: (state) => {
        staged = state;
        fill(true, state ?? undefined);
        paint();
      },
    });
  const reset = () => {
    stage?.drop();
    live.reset();
    assignAll(first);
    clearTimeout(saving);
    if (linked) toAddress(figure, null);
    tellAbove("");
    for (const key of Object.keys(draft)) delete draft[key];
    for (const field of form.elements) field.removeAttribute("aria-invalid");
    fill(true);
  };
  const tools = toolRow(figure, {
    el,
    linked,
    read,
    reset,
    tell: (text, aloud) => {
      if (aloud) note(text);
      else spoken.textContent = text;
    },
    first: stage ? [stage.button] : [],
  });
  keepKeys(el.querySelectorAll(":is(.av-panel, .av-tools) :is(button, input)"));
  paint();
  if (stage && linked && !isAsked(figure)) stage.wait();
  const resized = new ResizeObserver(reach);
  const changed = new MutationObserver(speak);
  resized.observe(el);
  changed.observe(result, { childList: true, subtree: true });
  if (!result.hasAttribute("aria-busy")) el.classList.add("av-live");
  return () => {
    live.close();
    stage?.close();
    tools.close();
    removeEventListener("popstate", restore);
    resized.disconnect();
    changed.disconnect();
    clearTimeout(speaking);
    for (const [event, listener] of follow) model.off(event, listener);
  };
};

/** @param {Figure} figure */
export const figureModule = (figure) => ({
  render: (context) => attach(figure, context),
  controls: () => figure.controls,
  presets: () => figure.presets ?? {},
  card: () => figure.card ?? null,
  opening: () => figure.opening ?? null,
  // What an opening shows at a time, which leads to a state.
  staged: ({ ms, ...state }) => stagedAt(figure, state, ms),
  // What each handle asks for where it is drawn, or after a press.
  handles: (state) =>
    (figure.handles?.(state, figure.compute(state)) ?? []).map((handle) => ({
      ...handle,
      reads: handle.read?.(handle.at),
      presses: handle.press?.(state),
    })),
  problem: (state) => problem(figure, state),
  // What Python has of its own beside the settings comes with them.
  shell: ({ own, ...state }) => shell(figure, state, own),
  values: ({ own, ...state }) => figure.compute(state, own),
  // What is drawn at a time of its film: the data and the time decide it.
  frame: ({ ms, ...state }) => {
    const own = figure.at(state, ms);
    const values = figure.compute(state, own);
    return { own, values, html: figure.view(state, values, own) };
  },
});
