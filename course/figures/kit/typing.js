// The form of a figure: what a reader types, slides or chooses.

import {
  complaint,
  held,
  limited,
  matters,
  preset,
  problem,
  put,
  sliderPlaces,
  tell,
} from "./controls.js";

// Add a step back and a step forward to each slider, for fingers. They are not
// tab stops, because the arrow keys already move the slider.
export const addSteppers = (form, steps) => {
  for (const field of form.querySelectorAll("input[type=range]")) {
    const name = field.labels[0].textContent.trim();
    const button = (sign, word, way) => {
      const made = document.createElement("button");
      Object.assign(made, { type: "button", className: "av-stepper", tabIndex: -1 });
      made.textContent = sign;
      made.setAttribute("aria-label", `${name}: ${word}`);
      made.onclick = () => {
        if (field.step === "any") field.step = steps[field.name]; // back to whole steps
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

/**
 * @param {Figure} figure
 * @param {HTMLFormElement} form
 * @param {{read: () => State, refuse: (wrong: string, state: State) => void,
 *   accept: (settings: State, says: string) => void}} page - what happens to settings that do not
 *   fit, or that do; `says` tells which others were adjusted
 */
export const typingOf = (figure, form, { read, refuse, accept }) => {
  const draft = {}; // typed values that wait for another value to fit
  const fieldOf = (key) => form.elements.namedItem(key);
  const clear = () => {
    for (const key of Object.keys(draft)) delete draft[key];
  };
  // Show in the fields what the draft has for some settings.
  const showDraft = (settings) => {
    for (const c of figure.controls) if (c.key in settings) put(c, fieldOf(c.key), draft[c.key]);
  };

  // Take what a field has now into the draft.
  const take = (field, control) => {
    if (!control) {
      Object.assign(draft, figure.presets[field.value]);
      showDraft(draft);
      return;
    }
    if (control.step) field.step = control.step; // even from between its steps
    draft[control.key] = held(control, field);
    tell(control, field, draft[control.key]);
  };
  // Adjust the settings that no longer fit the control that was moved.
  const fitOthers = (control) => {
    const fitted = figure.fit?.({ ...read(), ...draft }, control?.key, read());
    if (fitted) {
      Object.assign(draft, fitted.settings);
      showDraft(fitted.settings);
    }
    return fitted?.says ?? "";
  };
  // Discard an invalid draft that another choice has made irrelevant.
  const discard = () => {
    const wished = { ...read(), ...draft };
    for (const c of figure.controls) {
      if (!(c.key in draft) || matters(c, wished) || !complaint(c, draft[c.key])) continue;
      delete draft[c.key];
      put(c, fieldOf(c.key), read()[c.key]);
    }
  };
  // Blame the fields that are invalid by themselves, or else the first that did
  // not fit.
  const blame = (wrong, field) => {
    const marked = [...form.elements].filter((f) => f.hasAttribute("aria-invalid"));
    for (const other of marked) other.removeAttribute("aria-invalid");
    if (!wrong) return;
    const alone = figure.controls.filter((c) => c.key in draft && complaint(c, draft[c.key]));
    const fields = alone.map(({ key }) => fieldOf(key));
    const blamed = [fields, marked, [field]].find((some) => some.length);
    for (const other of blamed) other.setAttribute("aria-invalid", "true");
  };
  const change = ({ target: field }) => {
    const control = figure.controls.find((c) => c.key === field.name);
    take(field, control);
    const says = fitOthers(control);
    discard();
    const asked = { ...read(), ...draft };
    const wrong = problem(figure, asked);
    blame(wrong, field);
    if (wrong) {
      refuse(wrong, asked);
      return;
    }
    const settings = { ...draft };
    clear();
    accept(settings, says);
  };

  return {
    change,
    // Update the fields, except the one being typed in, unless `all` is set.
    fill: (all, state = read()) => {
      for (const control of figure.controls) {
        const field = fieldOf(control.key);
        if (all || field !== document.activeElement) put(control, field, state[control.key]);
      }
    },
    // Hide the fields without effect, and end sliders where the state ends them.
    adjust: (state, own) => {
      for (const control of figure.controls) {
        const field = fieldOf(control.key);
        field.closest("div").hidden = !matters(control, state, own);
        if (!control.upTo) continue;
        const end = limited(control, state, own);
        const places = sliderPlaces(control);
        field.max = places ? places.last(end) : end.max;
        field.value = places ? places.of(end, state[control.key]) : state[control.key];
        tell(control, field, places ? places.at(end, field.value) : field.value);
      }
      if (figure.presets) fieldOf("preset").value = preset(figure, state);
    },
    // Whether nothing waits once a setting was set elsewhere.
    isDone: (key) => {
      delete draft[key];
      return !Object.keys(draft).length;
    },
    reset: () => {
      clear();
      for (const field of form.elements) field.removeAttribute("aria-invalid");
    },
  };
};
