// Settings: parsed, checked, shown as fields, and kept in the address.

import { CONTROL_KINDS, called, shorten, stepTo } from "./kinds.js";
import { setting } from "./numbers.js";
import { escape, lettered } from "./svg.js";

// The default rows of a matrix.
export const THREE_TOKENS = [
  [1, 0, 1, 0],
  [0, 1, 0, 1],
  [1, 1, 0, 0],
];

// The value of a control, from the text that a reader or an address gives.
const parse = ({ kind }, text) => CONTROL_KINDS[kind].parse(text);
const show = ({ kind }, value) => (CONTROL_KINDS[kind].show ?? String)(value);
// The rule for the values of a control, in words.
export const ruleOf = (control) => CONTROL_KINDS[control.kind].rule(control);

// What is wrong with the value of one control, or "".
export const complaint = (control, value) => {
  const kind = CONTROL_KINDS[control.kind];
  if (kind.complaint) return kind.complaint(control, value);
  const fault = kind.fault(control, value);
  return fault === null ? "" : `${called(control)} must be ${kind.rule(control)}; got ${fault}`;
};
export const problem = (figure, state) =>
  figure.controls.map((c) => complaint(c, state[c.key])).find(Boolean) ||
  figure.check?.(state) ||
  "";

// --- page ----------------------------------------------------------------

// The places of a control's slider, unless they are its values.
export const sliderPlaces = (control) => CONTROL_KINDS[control.kind].places;

// A field inside its label needs no id, which two figures on a page could share.
const input = (control, value) => {
  const [field, beside = ""] = CONTROL_KINDS[control.kind].field(
    control,
    `name="${control.key}"`,
    value,
  );
  return (
    `<div data-kind="${control.kind}"><label><span>${lettered(control.label)}</span> ${field}</label>` +
    `${beside}</div>`
  );
};

// The value of a field; `put` is the inverse.
export const held = (control, field) => {
  const places = sliderPlaces(control);
  if (places) return places.at(control, field.value);
  return control.kind === "flag" ? field.checked : parse(control, field.value);
};
export const tell = (control, field, value) => {
  if (field.type === "range") field.closest("div").querySelector("output").value = setting(+value);
  if (sliderPlaces(control)) field.setAttribute("aria-valuetext", value);
};
export const put = (control, field, value) => {
  const places = sliderPlaces(control);
  if (field.type === "range" && !places) field.step = stepTo(control, value);
  if (control.kind === "flag") field.checked = value;
  else field.value = places ? places.of(control, value) : show(control, value);
  tell(control, field, value);
};

// Some controls have an end that depends on the state (`upTo`), and some have an
// effect only in some states (`when`). A value beyond such an end counts as the
// end.
export const limited = (control, state, own) =>
  control.upTo ? { ...control, max: control.upTo(state, own) } : control;
// A figure's own data may make a control irrelevant, too.
export const matters = (control, state, own) => !control.when || control.when(state, own);

// The settings in sight, at most two; all others are folded.
const leadOf = (figure) => figure.lead ?? [figure.controls[0].key];

// A preset sets several controls at once. Its name is shown when the state equals
// it.
export const OWN = "own numbers";
export const preset = (figure, state) =>
  Object.keys(figure.presets).find((name) =>
    Object.entries(figure.presets[name]).every(([k, v]) => String(state[k]) === String(v)),
  ) ?? OWN;
const presetInput = (figure, state) => {
  const options = [OWN, ...Object.keys(figure.presets)];
  return input(
    { key: "preset", kind: "choice", label: figure.presetLabel, options },
    preset(figure, state),
  );
};

export const shell = (figure, state, own) => {
  const wrong = problem(figure, state);
  const controls = figure.controls.map((c) => {
    // An invalid state does not determine where a slider ends.
    const { max } = wrong ? c : limited(c, state, own);
    const html = input({ ...c, max }, c.upTo ? Math.min(state[c.key], max) : state[c.key]);
    return [c.key, matters(c, state, own) ? html : html.replace("<div ", "<div hidden ")];
  });
  if (figure.presets) controls.unshift(["preset", presetInput(figure, state)]);
  const isLead = ([key]) => leadOf(figure).includes(key);
  const some = (kept) => controls.filter(kept).map(([, html]) => html);
  const folded = some((it) => !isLead(it)).join("");
  return (
    `<div class="av-body"><form class="av-controls" hidden>${some(isLead).join("")}` +
    `${folded && `<details class="av-settings"><summary>Settings</summary>${folded}</details>`}` +
    "</form>" +
    `<p class="av-error" role="alert">${escape(wrong)}</p>` +
    `<div class="av-result">${wrong ? "" : figure.view(state, figure.compute(state, own), own)}</div>` +
    `<p class="av-spoken" role="status"></p>` +
    // A film as stills, shown where no script makes it move.
    `${(!wrong && figure.strip?.(state)) || ""}</div>`
  );
};

// Keep settings in the address, as in ?causal.window=3, so that a state can be
// linked to.
export const fromAddress = (figure, state) => {
  const query = new URLSearchParams(location.search);
  const found = { ...state };
  for (const control of figure.controls) {
    const text = query.get(`${figure.name}.${control.key}`);
    if (text !== null) found[control.key] = parse(control, text);
  }
  const unknown = [...query.keys()]
    .filter(isOf(figure))
    .filter((k) => !figure.controls.some((c) => k === `${figure.name}.${c.key}`));
  const wrong = unknown.length
    ? `the address has an unknown setting ${shorten(unknown[0])}`
    : problem(figure, found);
  return wrong
    ? { state, wrong: `${wrong}. The figure shows its first state.` }
    : { state: found, wrong: "" };
};
const isOf = (figure) => (key) => key.startsWith(`${figure.name}.`);
export const isAsked = (figure) =>
  [...new URLSearchParams(location.search).keys()].some(isOf(figure));
// Longer texts than this are no part of an address.
const LINKED = 6000;
const linked = (control, value) => {
  const text = show(control, value);
  if (text.length <= LINKED) return text.replaceAll("\n", control.kind === "text" ? " " : ";");
  const brief = control.brief(text);
  return brief.length <= LINKED ? brief : null;
};
// The address of a state, or without a state, that of the figure's defaults.
export const addressOf = (figure, state) => {
  const url = new URL(location.href);
  // Remove the other keys of a stale address, which would be refused when it is
  // opened.
  for (const key of [...url.searchParams.keys()].filter(isOf(figure))) url.searchParams.delete(key);
  const shown = state ? figure.controls.filter((c) => matters(c, state)) : [];
  const texts = shown.map((c) => [`${figure.name}.${c.key}`, linked(c, state[c.key])]);
  // A state that no address can hold has the address of the figure.
  if (texts.some(([, text]) => text === null)) return url;
  for (const [key, text] of texts) url.searchParams.set(key, text);
  return url;
};
export const toAddress = (figure, state) =>
  history.replaceState(history.state, "", addressOf(figure, state));
