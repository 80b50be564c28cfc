// Settings: read, judged, shown as fields, and kept in the address.

import { count, grouped } from "./numbers.js";
import { escape } from "./svg.js";

// The rows that matrices start with, where a figure has no others.
export const THREE_TOKENS = [
  [1, 0, 1, 0],
  [0, 1, 0, 1],
  [1, 1, 0, 0],
];

// Numbers as readers paste them: with the minus of print, as Python's lists
// or NumPy's rows. What is no number stays text, to be named in the message.
const number = (word) => (Number.isNaN(Number(word)) ? word : Number(word));
const matrix = (text) => {
  const rows = text.replaceAll("−", "-").replaceAll("[", " ").replaceAll("]", ";").split(/[\n;]/);
  // Between blanks a comma inside a number is a decimal comma, and refused.
  const words = rows.map((row) =>
    row
      .trim()
      .split(/\d,\d/.test(row) && /\d\s+\S/.test(row) ? /\s+/ : /[\s,]+/)
      .filter(Boolean),
  );
  return words.filter((row) => row.length).map((row) => row.map(number));
};
// What a control holds, from the text that a reader or an address gives.
const parse = (control, text) => {
  if (control.kind === "choice") return text;
  if (control.kind === "flag")
    return String(text) === "true" || (String(text) === "false" ? false : text);
  if (control.kind === "matrix") return matrix(String(text));
  if (control.kind === "symbols") return String(text).replace(/[\s,]/g, "").toUpperCase();
  if (control.kind === "words" || control.kind === "text")
    return String(text).trim().replace(/\s+/g, " ");
  const plain = String(text).trim().replace("−", "-");
  return plain === "" ? NaN : Number(plain);
};
export const show = (control, value) => {
  if (control.kind === "matrix") return value.map((row) => row.join(" ")).join("\n");
  return String(value);
};

const within = (x, { min, max, step }) =>
  Number.isFinite(x) && x >= min && x <= max && (step !== 1 || Number.isInteger(x));
const wanted = ({ min, max, step }) =>
  `${step === 1 ? "a whole number" : "a number"} from ${grouped(min)} to ${grouped(max)}`;
// What a control of a number takes, in words.
export const ruleOf = (control) => {
  const { kind, min, max, stops } = control;
  if (kind === "stops") return `one of ${stops.join(", ")}`;
  if (kind === "power") return `a power of two from ${min} to ${grouped(max)}`;
  return wanted(control);
};
export const shorten = (text) =>
  String(text).length > 40 ? `${String(text).slice(0, 40)}…` : String(text);
const span = ([least, most]) => (least === most ? least : `${least} to ${most}`);
// A list that is too long for a message ends early.
const optionsIn = (options) =>
  options.length > 12
    ? `${options.slice(0, 6).join(", ")} and ${options.length - 6} more`
    : options.join(", ");
// A control as the page calls it, and its key where that is another word.
const called = ({ key, label }) => (label.split(" ").includes(key) ? label : `${label} (${key})`);

// What is wrong with one control's value, or "".
export const complaint = (control, value) => {
  const { key, kind } = control;
  const name = called(control);
  if (kind === "choice")
    return control.options.includes(value)
      ? ""
      : `${name} must be one of ${optionsIn(control.options)}; got ${shorten(value)}`;
  if (kind === "flag")
    return typeof value === "boolean" ? "" : `${name} must be true or false; got ${shorten(value)}`;
  if (kind === "matrix") {
    const { rows, columns } = control;
    const sizes =
      Array.isArray(value) && value.every(Array.isArray) ? value.map((r) => r.length) : [];
    const among = (n, [least, most]) => n >= least && n <= most;
    if (!among(sizes.length, rows) || !sizes.every((n) => n === sizes[0] && among(n, columns)))
      return (
        `${key} must have ${span(rows)} rows of ${span(columns)} numbers, all ` +
        `rows equally long; got ${count(sizes.length, "row")}` +
        `${sizes.length ? ` of ${[...new Set(sizes)].slice(0, 4).join(" and ")}` : ""}`
      );
    const wrong = value.flat().find((x) => !within(x, control));
    return wrong === undefined
      ? ""
      : `each number of ${key} must be ${wanted(control)}` +
          `${control.step === 1 ? "" : ", with a decimal point"}; got ${shorten(wrong)}`;
  }
  if (kind === "symbols") {
    const { letters, min, max } = control;
    const rule = `${name} must be ${min} to ${max} letters from ${letters[0]} to ${letters.at(-1)}`;
    const strange = [...String(value)].find((letter) => !letters.includes(letter));
    if (typeof value !== "string" || strange !== undefined)
      return `${rule}; got ${shorten(strange ?? value)}`;
    return value.length >= min && value.length <= max
      ? ""
      : `${rule}; got ${value ? count(value.length, "letter") : "no letter"}`;
  }
  if (kind === "words") {
    const { letters, min, max } = control;
    const rule = `${name} must be ${min} to ${max} of at most ${letters} letters, a blank between`;
    const found = typeof value === "string" ? value.split(" ") : [];
    const strange = found.find((word) => !word || word.length > letters || /\s/.test(word));
    if (strange !== undefined) return `${rule}; got ${strange ? shorten(strange) : "no word"}`;
    return found.length >= min && found.length <= max
      ? ""
      : `${rule}; got ${typeof value === "string" ? count(found.length, "word") : shorten(value)}`;
  }
  if (kind === "text") {
    const long = typeof value === "string" ? count(value.length, "character") : shorten(value);
    return typeof value === "string" && value.length <= control.max
      ? ""
      : `${name} must be a text of at most ${count(control.max, "character")}; got ${long}`;
  }
  if (kind === "stops")
    return control.stops.includes(value)
      ? ""
      : `${name} must be ${ruleOf(control)}; got ${Number.isNaN(value) ? "no number" : value}`;
  if (kind === "power")
    return within(value, control) && Number.isInteger(Math.log2(value))
      ? ""
      : `${name} must be ${ruleOf(control)}; got ${grouped(value)}`;
  return within(value, control)
    ? ""
    : `${name} must be ${wanted(control)}; got ` +
        `${Number.isNaN(value) ? "no number" : grouped(value)}`;
};
export const problem = (figure, state) =>
  figure.controls.map((c) => complaint(c, state[c.key])).find(Boolean) ||
  figure.check?.(state) ||
  "";

// --- page ----------------------------------------------------------------

// A slider holds a value between its steps only if it has none.
const stepTo = ({ min, step }, value) =>
  step && Number.isInteger(+((value - min) / step).toFixed(9)) ? step : "any";

// A slider of powers of two moves in exponents, one of stops from stop to stop.
export const PLACES = {
  power: {
    first: ({ min }) => Math.log2(min),
    last: ({ max }) => Math.log2(max),
    of: (_, value) => Math.log2(value),
    at: (_, place) => 2 ** place,
  },
  stops: {
    first: () => 0,
    last: ({ stops }) => stops.length - 1,
    of: ({ stops }, value) => stops.indexOf(value),
    at: ({ stops }, place) => stops[place],
  },
};

const input = (figure, control, value) => {
  const name = `name="${control.key}"`;
  // Inside its label a field needs no id, which two figures could share.
  const row = (field, shown = "") =>
    `<div><label>${escape(control.label)} ${field}</label>${shown}</div>`;
  if (control.kind === "choice") {
    const options = control.options.map(
      (o) => `<option${o === value ? " selected" : ""}>${escape(o)}</option>`,
    );
    return row(`<select ${name}>${options.join("")}</select>`);
  }
  if (control.kind === "flag")
    return row(`<input type="checkbox" ${name}${value ? " checked" : ""}>`);
  if (control.kind === "matrix")
    return row(
      `<textarea ${name} rows="${value.length}" ` +
        `cols="${show(control, value).indexOf("\n") + 4}" spellcheck="false">` +
        `${escape(show(control, value))}</textarea>`,
    );
  if (control.kind === "text")
    return row(
      `<textarea ${name} rows="7" cols="42" spellcheck="false">${escape(value)}</textarea>`,
    );
  if (control.kind === "symbols")
    return row(
      `<input type="text" ${name} value="${escape(value)}" size="${control.max}" ` +
        `spellcheck="false" autocomplete="off" autocapitalize="characters">`,
    );
  if (control.kind === "words")
    return row(
      `<input type="text" ${name} value="${escape(value)}" ` +
        `size="${control.max * control.letters}" spellcheck="false" autocomplete="off">`,
    );
  const limits =
    `min="${control.min}" max="${control.max}" step="${stepTo(control, value)}" ` +
    `value="${value}"`;
  if (control.kind === "number")
    return row(`<input type="number" inputmode="decimal" ${name} ${limits}>`);
  const places = PLACES[control.kind];
  const ends =
    places &&
    `min="${places.first(control)}" max="${places.last(control)}" step="1" ` +
      `value="${places.of(control, value)}" aria-valuetext="${value}"`;
  return row(
    `<input type="range" ${name} ${ends ?? limits}>`,
    `<output aria-hidden="true">${grouped(value)}</output>`,
  );
};

// What a field holds, and the other way round.
export const held = (control, field) => {
  if (PLACES[control.kind]) return PLACES[control.kind].at(control, field.value);
  return parse(control, control.kind === "flag" ? field.checked : field.value);
};
export const tell = (control, field, value) => {
  if (field.type === "range") field.closest("div").querySelector("output").value = grouped(value);
  if (PLACES[control.kind]) field.setAttribute("aria-valuetext", value);
};
export const put = (control, field, value) => {
  const places = PLACES[control.kind];
  if (field.type === "range" && !places) field.step = stepTo(control, value);
  if (control.kind === "flag") field.checked = value;
  else field.value = places ? places.of(control, value) : show(control, value);
  tell(control, field, value);
};

// Some controls end where others say (`upTo`) or matter only for some states
// (`when`). What is beyond such an end counts as the end.
export const limited = (control, state, own) =>
  control.upTo ? { ...control, max: control.upTo(state, own) } : control;
// What a figure has of its own beside its settings may make one idle too.
export const matters = (control, state, own) => !control.when || control.when(state, own);

// Presets set several controls at once; the name shown follows from the state.
export const OWN = "own numbers";
export const preset = (figure, state) =>
  Object.keys(figure.presets).find((name) =>
    Object.entries(figure.presets[name]).every(([k, v]) => String(state[k]) === String(v)),
  ) ?? OWN;
const presetInput = (figure, state) => {
  const options = [OWN, ...Object.keys(figure.presets)];
  return input(
    figure,
    { key: "preset", kind: "choice", label: figure.presetLabel, options },
    preset(figure, state),
  );
};

export const shell = (figure, state, own) => {
  const wrong = problem(figure, state);
  const controls = figure.controls.map((c) => {
    // A state that cannot be shown says nothing of where a slider ends.
    const { max } = wrong ? c : limited(c, state, own);
    const html = input(figure, { ...c, max }, c.upTo ? Math.min(state[c.key], max) : state[c.key]);
    return matters(c, state, own) ? html : html.replace("<div>", "<div hidden>");
  });
  if (figure.presets) controls.unshift(presetInput(figure, state));
  return (
    `<form class="av-controls" hidden>${controls.join("")}</form>` +
    `<p class="av-error" role="alert">${escape(wrong)}</p>` +
    `<div class="av-result">${wrong ? "" : figure.view(state, figure.compute(state, own), own)}</div>` +
    `<p class="av-spoken" role="status"></p>` +
    // A film in stills, which is shown where no script makes it move.
    `${(!wrong && figure.strip?.(state)) || ""}`
  );
};

// Settings in the address: ?causal.window=3, so that a state can be linked to.
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
// The address of a state; without one, of the figure as the page has it.
export const addressOf = (figure, state) => {
  const url = new URL(location.href);
  // What a stale address has besides would be refused when it is opened.
  for (const key of [...url.searchParams.keys()].filter(isOf(figure))) url.searchParams.delete(key);
  for (const c of state ? figure.controls : []) {
    const name = `${figure.name}.${c.key}`;
    const between = c.kind === "text" ? " " : ";";
    if (matters(c, state))
      url.searchParams.set(name, show(c, state[c.key]).replaceAll("\n", between));
  }
  return url;
};
export const toAddress = (figure, state) =>
  history.replaceState(history.state, "", addressOf(figure, state));
