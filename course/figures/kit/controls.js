// Settings: parsed, checked, shown as fields, and kept in the address.

import { count, grouped, setting } from "./numbers.js";
import { escape } from "./svg.js";

// The default rows of a matrix.
export const THREE_TOKENS = [
  [1, 0, 1, 0],
  [0, 1, 0, 1],
  [1, 1, 0, 0],
];

// Numbers as readers paste them: with typographic minus signs, as lists of Python
// or as rows of NumPy. A word that is not a number stays text, so that the
// message can quote it.
const number = (word) => (Number.isNaN(Number(word)) ? word : Number(word));
const matrix = (text) => {
  const rows = text.replaceAll("−", "-").replaceAll("[", " ").replaceAll("]", ";").split(/[\n;]/);
  // In a row separated by spaces, a comma inside a number is a decimal comma;
  // such a number is refused.
  const words = rows.map((row) =>
    row
      .trim()
      .split(/\d,\d/.test(row) && /\d\s+\S/.test(row) ? /\s+/ : /[\s,]+/)
      .filter(Boolean),
  );
  return words.filter((row) => row.length).map((row) => row.map(number));
};
// The value of a control, from the text that a reader or an address gives.
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
// The rule for the values of a numeric control, in words.
export const ruleOf = (control) => {
  const { kind, min, max, stops } = control;
  if (kind === "stops") return `one of ${stops.join(", ")}`;
  if (kind === "power") return `a power of two from ${min} to ${grouped(max)}`;
  return wanted(control);
};
export const shorten = (text) =>
  String(text).length > 40 ? `${String(text).slice(0, 40)}…` : String(text);
const span = ([least, most]) => (least === most ? least : `${least} to ${most}`);
// A list that is too long for a message is cut short.
const optionsIn = (options) =>
  options.length > 12
    ? `${options.slice(0, 6).join(", ")} and ${options.length - 6} more`
    : options.join(", ");
// The label of a control, with its key if the label does not contain it.
const called = ({ key, label }) => (label.split(" ").includes(key) ? label : `${label} (${key})`);

// What is wrong with the value of one control, or "".
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

// A slider accepts a value between its steps only if its step is "any".
const stepTo = ({ min, step }, value) =>
  step && Number.isInteger(+((value - min) / step).toFixed(9)) ? step : "any";

// A slider of powers of two moves in exponents; a slider of stops moves in
// indices.
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
  // A field inside its label needs no id, which two figures on a page could
  // share.
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
    `<output aria-hidden="true">${setting(value)}</output>`,
  );
};

// The value of a field; `put` is the inverse.
export const held = (control, field) => {
  if (PLACES[control.kind]) return PLACES[control.kind].at(control, field.value);
  return parse(control, control.kind === "flag" ? field.checked : field.value);
};
export const tell = (control, field, value) => {
  if (field.type === "range") field.closest("div").querySelector("output").value = setting(+value);
  if (PLACES[control.kind]) field.setAttribute("aria-valuetext", value);
};
export const put = (control, field, value) => {
  const places = PLACES[control.kind];
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
    figure,
    { key: "preset", kind: "choice", label: figure.presetLabel, options },
    preset(figure, state),
  );
};

export const shell = (figure, state, own) => {
  const wrong = problem(figure, state);
  const controls = figure.controls.map((c) => {
    // An invalid state does not determine where a slider ends.
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
    // A film as stills, shown where no script makes it move.
    `${(!wrong && figure.strip?.(state)) || ""}`
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
