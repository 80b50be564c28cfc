// The contract of every interactive figure, and what a page adds to it.
//
// A figure is a pure function from its state to HTML. Python calls it in a small
// engine for the static page, and the browser calls it again when a control
// moves. So the page shows the same with and without scripts.

import { lettered } from "./svg.js";
import { complaint, fromAddress, isAsked, problem, shell, toAddress } from "./controls.js";
import { handsOf } from "./handles.js";
import { redraw, treeOf } from "./redraw.js";
import { stagedAt, stageOf } from "./opening.js";
import { layoutOf } from "./layout.js";
import { toolRow } from "./tools.js";
import { addSteppers, typingOf } from "./typing.js";

/**
 * A setting. Python derives the trait and its documentation from this one statement.
 *
 * @typedef {object} Control
 * @property {string} key - the setting's name, in Python and in addresses
 * @property {"range"|"number"|"power"|"stops"|"flag"|"choice"|"matrix"|"symbols"|"words"|"text"} kind
 * @property {string} label - its label on the page, unique in the figure
 * @property {number|boolean|string|number[][]} first - the value to start with
 * @property {string} about - what it sets, for the docs, without limits
 * @property {number} [min] - for a number, for each entry of a matrix, or for a length
 * @property {number} [max]
 * @property {number} [step] - for a slider; 1 makes the setting a whole number
 * @property {number[]} [stops] - the values of a slider of kind "stops"
 * @property {string[]} [options] - for a choice
 * @property {[number, number]} [rows] - for a matrix, the least and the most
 * @property {[number, number]} [columns]
 * @property {string} [shape] - for a matrix, in dimension letters, for the docs
 * @property {string|number} [letters] - which letters "symbols" take, or how many a word may have
 * @property {(state: State, own?: object) => number} [upTo] - where the slider ends
 * @property {(state: State, own?: object) => boolean} [when] - whether the setting has an effect
 */
/** @typedef {Object<string, number|boolean|string|number[][]>} State */
/**
 * What `figureModule` takes. Only the first four are needed.
 *
 * @typedef {object} Figure
 * @property {string} name - the name of its file
 * @property {Control[]} controls - in the order of the page
 * @property {(state: State, own?: object) => object} compute - the numbers; pure
 * @property {(state: State, values: object, own?: object, narrow?: boolean) => string} view -
 *   HTML; pure. `narrow` asks for a drawing 360 units wide, as a phone has them
 * @property {{part: string, which?: number, box?: string, state?: State}} [card]
 * @property {(state: State) => string} [check] - the settings that contradict each other, or ""
 * @property {(wrong: string) => string} [refused] - HTML instead of the last state, where its numbers would be
 *   taken for those of a state that `check` refuses
 * @property {(state: State, moved: string, before: State) =>
 *   ?{settings: State, says: string}} [fit] - settings that fit the one just moved
 * @property {string[]} [lead] - the settings in sight, at most two, "preset" among them; by
 *   default the first control's. All others are folded
 * @property {Object<string, State>} [presets] - ready-made settings by name
 * @property {string} [presetLabel]
 * @property {(state: State, ms: number) => object} [at] - the settings
 *   that differ after a time, passed on as `own`
 * @property {(state: State) => string} [strip] - stills, for print and for pages without scripts
 * @property {(state: State) => ?string} [later] - data to load before it is drawn
 * @property {(result: Element, state: State, values: object,
 *   set: (key: string, value: any) => void) => void} [enhance] - runs after each drawing, which
 *   keeps the elements that stay the same
 * @property {(state: State, values: object, own?: object, narrow?: boolean) => Handle[]} [handles] - parts of
 *   the picture that are dragged or pressed; pure; see `handles.js`
 * @property {{from: State[], ms: number}} [opening] - the figure plays once from these
 *   settings, in turn, to its first state, in at most 5,000 ms
 * @property {(context: object) => {own?: Function, busy?: Function, reset?: Function,
 *   close?: Function}} [live] - runs once; see `live` below
 */

// The sentence of a figure, which screen readers announce.
export const say = (text) => `<p class="av-say">${lettered(text)}</p>`;

// The content of a drawing. What may scroll sideways is wrapped, so that the
// sentence below stays in view.
const contentOf = (html) => {
  const { children } = treeOf(html);
  const said = children.findIndex(({ given }) => given?.includes('class="av-say'));
  const picture = children.slice(0, said);
  const source = picture.map((part) => part.source).join("");
  const wide = { source, tag: "div", given: ' class="av-wide"', children: picture };
  return { children: [wide, ...children.slice(said)] };
};
// Data that Python gives to a module, by name. A page loads some of it when a
// state needs it; a kernel sends all of it with the module.
export const known = (name) => globalThis.attentionData?.[name];

// `load` fetches data that is not known yet; a figure without such data needs no
// `load`.
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
  // Keep cause and effect on one screen: the controls go directly below the
  // picture.
  result.after(error, form);
  addSteppers(form, Object.fromEntries(figure.controls.map((c) => [c.key, c.step])));
  // In JupyterLab, give the arrow keys to the focused element instead of the
  // notebook, which looks for this attribute.
  const keepKeys = (parts) => {
    for (const part of parts) part.dataset.lmSuppressShortcuts = "true";
  };
  keepKeys([...form.elements, result]);
  let pending; // the requested frame; two timers follow
  let saving;
  let speaking;
  const layout = layoutOf(el, result, error);
  const reach = () => layout.settle(hands?.widen);
  let narrow; // which of the two drawings is shown
  // Move, rather than cut, to the state that a press asks for.
  let gently;
  const moveNext = () => {
    el.classList.add("av-moves");
    clearTimeout(gently);
    gently = setTimeout(() => el.classList.remove("av-moves"), 500);
  };

  // Keep the picture until the data of the next one has loaded.
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
  // Write a message above the picture. "stale" marks a picture that does not show
  // the current settings.
  const tellAbove = (text, kind = "") => {
    error.textContent = text;
    error.classList.toggle("av-note", kind === "note");
    el.classList.toggle("av-stale", kind === "stale");
  };
  // Announce the sentence to screen readers once it has stopped changing.
  const speak = () => {
    clearTimeout(speaking);
    if (live.busy() || staged) return; // a moving figure is announced when it stops
    speaking = setTimeout(
      () => (spoken.textContent = result.querySelector(".av-say").textContent),
      500,
    );
  };
  let staged = null; // the state that an opening shows
  let shown; // the content of the drawing on the page
  const draw = (html) => {
    const next = contentOf(html);
    if (!shown) result.replaceChildren(); // the static picture
    redraw(result, shown ?? { children: [] }, next);
    shown = next;
  };
  let refused = false; // whether the page shows that a state was refused
  // Say what is wrong, above the last state that fits or in its place.
  const refuse = (wrong, state) => {
    const settings = figure.controls.some((c) => complaint(c, state[c.key]));
    if (settings || !figure.refused) {
      tellAbove(`${wrong}. The figure shows the last state that fits.`, "stale");
      return;
    }
    tellAbove(`${wrong}.`);
    draw(figure.refused(wrong));
    refused = true;
    reach();
    speak();
  };
  const paint = () => {
    cancelAnimationFrame(pending);
    pending = undefined;
    const state = staged ?? read();
    const wrong = problem(figure, state);
    if (wrong) {
      refuse(wrong, state);
      return;
    }
    const own = staged ? undefined : live.own();
    typing.adjust(state, own);
    const name = own ? null : figure.later?.(state);
    if (name && !known(name)) {
      bring(name);
      return;
    }
    const values = figure.compute(state, own);
    el.values = values;
    const { activeElement } = el.getRootNode();
    const focused = result.contains(activeElement) && activeElement.dataset.handle;
    narrow = layout.narrow();
    draw(figure.view(state, values, own, narrow));
    refused = false;
    if (figure.enhance) figure.enhance(result, state, values, assign);
    hands?.show(state, values, own, { narrow, focused });
    keepKeys(result.querySelectorAll("[tabindex]:not([data-lm-suppress-shortcuts])"));
    reach();
    if (el.classList.contains("av-live")) speak(); // but not what a page opens with
  };
  const refresh = () => {
    if (!pending) pending = requestAnimationFrame(paint);
  };
  // Browsers refuse an address that changes too often, so wait for a pause.
  const save = () => {
    clearTimeout(saving);
    saving = setTimeout(() => toAddress(figure, read()), 100);
  };
  const assignAll = (settings) => {
    for (const [key, value] of Object.entries(settings)) model.set(key, value);
    model.save_changes();
    if (linked) save();
  };
  const assign = (key, value) => {
    moveNext();
    assignAll({ [key]: value });
  };
  // Apply the settings that a drag asks for. Settings that no longer fit are
  // adjusted, and a message says so.
  const steer = (wished, key) => {
    if (!key) moveNext(); // a press, where a drag names what it moves
    const before = read();
    const fitted = figure.fit?.({ ...before, ...wished }, key, before);
    const settings = { ...wished, ...fitted?.settings };
    const wrong = problem(figure, { ...before, ...settings });
    if (!wrong) assignAll(settings);
    if (wrong) tellAbove(`${wrong}. It stays where it was.`, "note");
    else if (fitted) tellAbove(fitted.says, "note");
  };
  const accept = (settings, says) => {
    tellAbove("");
    assignAll(settings);
    if (says) tellAbove(says, "note");
    refresh(); // what was refused may be back at the state before
  };
  const typing = typingOf(figure, form, { read, refuse, accept });

  const first = read();
  const restore = () => {
    const { state, wrong } = fromAddress(figure, first);
    for (const [key, value] of Object.entries(state)) model.set(key, value);
    tellAbove(wrong);
    typing.fill(true);
  };
  if (linked) {
    restore();
    addEventListener("popstate", restore);
  }
  form.addEventListener("input", (event) => {
    if (["checkbox", "select-one"].includes(event.target.type)) moveNext();
    typing.change(event);
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  const follow = figure.controls.map(({ key }) => [
    `change:${key}`,
    () => {
      if (staged) stage.drop();
      if (typing.isDone(key)) tellAbove("");
      typing.fill();
      refresh();
    },
  ]);
  for (const [event, listener] of follow) model.on(event, listener);
  // What changes beside the settings: the figure's own data, whether it is
  // moving, how it resets, and how it closes. Most figures have none or some of
  // these.
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
        typing.fill(true, state ?? undefined);
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
    typing.reset();
    typing.fill(true);
    layout.forget();
    reach();
  };
  const tools = toolRow(figure, {
    el,
    linked,
    read: () => (refused ? null : read()),
    reset,
    resized: () => layout.fit(),
    tell: (text, aloud) => {
      if (aloud) note(text);
      else spoken.textContent = text;
    },
    first: stage ? [stage.button] : [],
  });
  keepKeys(el.querySelectorAll(":is(.av-panel, .av-tools) :is(button, input)"));
  paint();
  if (stage && linked && !isAsked(figure)) stage.wait();
  const resized = new ResizeObserver(() => (layout.measure() === narrow ? reach() : refresh()));
  resized.observe(el);
  if (!result.hasAttribute("aria-busy")) el.classList.add("av-live");
  reach(); // what is live lies elsewhere
  return () => {
    live.close();
    stage?.close();
    tools.close();
    removeEventListener("popstate", restore);
    resized.disconnect();
    clearTimeout(speaking);
    clearTimeout(gently);
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
  // The state that an opening shows at a time.
  staged: ({ ms, ...state }) => stagedAt(figure, state, ms),
  // The settings that each handle asks for at its own position, or after a press.
  handles: (state) =>
    (figure.handles?.(state, figure.compute(state)) ?? []).map((handle) => ({
      ...handle,
      reads: handle.read?.(handle.at),
      presses: handle.press?.(state),
    })),
  problem: (state) => problem(figure, state),
  // The name of data that this state needs and a page loads later.
  later: (state) => figure.later?.(state) ?? null,
  // Python's own data comes with the settings.
  shell: ({ own, ...state }) => shell(figure, state, own),
  // The drawing for a phone.
  narrow: ({ own, ...state }) => figure.view(state, figure.compute(state, own), own, true),
  values: ({ own, ...state }) => figure.compute(state, own),
  // The drawing at a time of the film, which depends only on the settings and the
  // time.
  frame: ({ ms, ...state }) => {
    const own = figure.at(state, ms);
    const values = figure.compute(state, own);
    return { own, values, html: figure.view(state, values, own) };
  },
});
