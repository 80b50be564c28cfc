// The kinds of settings. Each has a text form, a rule for its values, and a field.

import { count, grouped, setting } from "./numbers.js";
import { escape } from "./svg.js";

export const shorten = (text) =>
  String(text).length > 40 ? `${String(text).slice(0, 40)}…` : String(text);

// --- numbers ---------------------------------------------------------------

const within = (x, { min, max, step }) =>
  Number.isFinite(x) && x >= min && x <= max && (step !== 1 || Number.isInteger(x));
const wanted = ({ min, max, step }) => {
  if (step === 1 && max - min === 1) return `${min} or ${max}`;
  return `${step === 1 ? "a whole number" : "a number"} from ${grouped(min)} to ${grouped(max)}`;
};
// The label of a control in a sentence. A label with a stop of its own is quoted.
export const called = ({ label }) => (/[,:]/.test(label) ? `“${label}”` : label);
// A slider accepts a value between its steps only if its step is "any".
export const stepTo = ({ min, step }, value) =>
  step && Number.isInteger(+((value - min) / step).toFixed(9)) ? step : "any";
const sliderLimits = (control, value) =>
  `min="${control.min}" max="${control.max}" step="${stepTo(control, value)}" value="${value}"`;
const slider = (name, limits, value) => [
  `<input type="range" ${name} ${limits}>`,
  `<output aria-hidden="true">${setting(value)}</output>`,
];
const NUMERIC = {
  parse: (text) => {
    const plain = text.trim().replace("−", "-");
    return plain === "" ? NaN : Number(plain);
  },
  rule: wanted,
  fault: (control, value) => {
    if (within(value, control)) return null;
    return Number.isNaN(value) ? "no number" : grouped(value);
  },
  field: (control, name, value) => slider(name, sliderLimits(control, value), value),
};
// A slider whose places are not its values: `of` gives the place of a value, and
// `at` the value of a place.
const placed = (places, kind) => ({
  ...NUMERIC,
  ...kind,
  places,
  field: (control, name, value) => {
    const ends = `min="${places.first(control)}" max="${places.last(control)}" step="1"`;
    const here = `value="${places.of(control, value)}" aria-valuetext="${value}"`;
    return slider(name, `${ends} ${here}`, value);
  },
});

// --- rows of numbers -------------------------------------------------------

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
const span = ([least, most]) => (least === most ? least : `${least} to ${most}`);
const among = (n, [least, most]) => n >= least && n <= most;
const rowsComplaint = (control, value) => {
  const { rows, columns } = control;
  const sizes =
    Array.isArray(value) && value.every(Array.isArray) ? value.map((r) => r.length) : [];
  if (!among(sizes.length, rows) || !sizes.every((n) => n === sizes[0] && among(n, columns)))
    return (
      `${called(control)} must have ${span(rows)} rows of ${span(columns)} numbers, all ` +
      `rows equally long; got ${count(sizes.length, "row")}` +
      `${sizes.length ? ` of ${[...new Set(sizes)].slice(0, 4).join(" and ")}` : ""}`
    );
  const wrong = value.flat().find((x) => !within(x, control));
  return wrong === undefined
    ? ""
    : `each number of ${called(control)} must be ${wanted(control)}` +
        `${control.step === 1 ? "" : ", with a decimal point"}; got ${shorten(wrong)}`;
};

// --- texts -----------------------------------------------------------------

const textarea = (name, size, text) => [
  `<textarea ${name} ${size} spellcheck="false">${escape(text)}</textarea>`,
];
const textLine = (name, value, size, more = "") => [
  `<input type="text" ${name} value="${escape(value)}" size="${size}" ` +
    `spellcheck="false" autocomplete="off"${more}>`,
];
const oneBlank = (text) => text.trim().replace(/\s+/g, " ");
const lengthFault = (n, { min, max }, what) => {
  if (n >= min && n <= max) return null;
  return n ? count(n, what) : `no ${what}`;
};
// A list that is too long for a message is cut short.
const optionsIn = (options) =>
  options.length > 12
    ? `${options.slice(0, 6).join(", ")} and ${options.length - 6} more`
    : options.join(", ");

/**
 * What a kind of control does with its values.
 *
 * @typedef {object} Kind
 * @property {(text: string) => any} parse - a value, from what a reader or an address gives
 * @property {(value: any) => string} [show] - the inverse
 * @property {(control: Control) => string} rule - the values that it takes, in words
 * @property {(control: Control, value: any) => ?string} fault - what is wrong with a value, or null
 * @property {(control: Control, value: any) => string} [complaint] - instead of rule and fault
 * @property {(control: Control, name: string, value: any) => string[]} field - its HTML, and what
 *   stands beside its label
 * @property {object} [places] - the places of a slider, unless they are its values
 */
/** @type {Object<string, Kind>} */
export const CONTROL_KINDS = {
  range: NUMERIC,
  number: {
    ...NUMERIC,
    field: (control, name, value) => [
      `<input type="number" inputmode="decimal" ${name} ${sliderLimits(control, value)}>`,
    ],
  },
  power: placed(
    {
      first: ({ min }) => Math.log2(min),
      last: ({ max }) => Math.log2(max),
      of: (_, value) => Math.log2(value),
      at: (_, place) => 2 ** place,
    },
    {
      rule: ({ min, max }) => `a power of two from ${min} to ${grouped(max)}`,
      fault: (control, value) =>
        within(value, control) && Number.isInteger(Math.log2(value)) ? null : grouped(value),
    },
  ),
  stops: placed(
    {
      first: () => 0,
      last: ({ stops }) => stops.length - 1,
      of: ({ stops }, value) => stops.indexOf(value),
      at: ({ stops }, place) => stops[place],
    },
    {
      rule: ({ stops }) => `one of ${stops.join(", ")}`,
      fault: ({ stops }, value) => {
        if (stops.includes(value)) return null;
        return Number.isNaN(value) ? "no number" : String(value);
      },
    },
  ),
  flag: {
    parse: (text) => text === "true" || (text === "false" ? false : text),
    rule: () => "true or false",
    fault: (_, value) => (typeof value === "boolean" ? null : shorten(value)),
    field: (_, name, value) => [`<input type="checkbox" ${name}${value ? " checked" : ""}>`],
  },
  choice: {
    parse: (text) => text,
    rule: ({ options }) => `one of ${optionsIn(options)}`,
    fault: ({ options }, value) => (options.includes(value) ? null : shorten(value)),
    field: ({ options }, name, value) => {
      const chosen = (option) => (option === value ? " selected" : "");
      const listed = options.map((o) => `<option${chosen(o)}>${escape(o)}</option>`);
      return [`<select ${name}>${listed.join("")}</select>`];
    },
  },
  symbols: {
    parse: (text) => text.replace(/[\s,]/g, "").toUpperCase(),
    rule: ({ letters, min, max }) =>
      `${min} to ${max} letters from ${letters[0]} to ${letters.at(-1)}`,
    fault: (control, value) => {
      const strange = [...String(value)].find((letter) => !control.letters.includes(letter));
      if (typeof value !== "string" || strange !== undefined) return shorten(strange ?? value);
      return lengthFault(value.length, control, "letter");
    },
    field: ({ max }, name, value) => textLine(name, value, max, ' autocapitalize="characters"'),
  },
  words: {
    parse: oneBlank,
    rule: ({ letters, min, max }) =>
      `${min} to ${count(max, "word")} of at most ${letters} letters each`,
    fault: (control, value) => {
      if (typeof value !== "string") return shorten(value);
      const found = value.split(" ");
      const { letters } = control;
      const strange = found.find((word) => !word || word.length > letters || /\s/.test(word));
      if (strange !== undefined) return strange ? `“${shorten(strange)}”` : "no word";
      return lengthFault(found.length, control, "word");
    },
    field: ({ max, letters }, name, value) => textLine(name, value, max * letters),
  },
  text: {
    parse: oneBlank,
    rule: ({ max }) => `a text of at most ${count(max, "character")}`,
    fault: ({ max }, value) => {
      if (typeof value !== "string") return shorten(value);
      return value.length <= max ? null : count(value.length, "character");
    },
    field: (_, name, value) => textarea(name, 'rows="7" cols="42"', value),
  },
  matrix: {
    parse: matrix,
    show: (value) => value.map((row) => row.join(" ")).join("\n"),
    complaint: rowsComplaint,
    field: (_, name, value) => {
      const text = CONTROL_KINDS.matrix.show(value);
      return textarea(name, `rows="${value.length}" cols="${text.indexOf("\n") + 4}"`, text);
    },
  },
};
