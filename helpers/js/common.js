// Shared by every interactive figure: numbers, drawing, controls, address.
//
// A figure is a pure function from its state to HTML. Python calls it in a
// small engine for the static page; the browser calls it again when a control
// moves. So the page reads the same with and without scripts.

/**
 * A setting, stated once: Python makes the trait and the docs of it.
 *
 * @typedef {object} Control
 * @property {string} key - the setting's name, in Python and in addresses
 * @property {"range"|"number"|"power"|"stops"|"flag"|"choice"|"matrix"|"symbols"|"words"} kind
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
 * @property {(state: State) => number} [upTo] - where the slider ends in a state
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
 * @property {(context: object) => {own?: Function, busy?: Function, close?: Function}}
 *   [live] - once: what changes beside the settings
 */

// --- numbers -------------------------------------------------------------

// Weights of one row; zeros where nothing is allowed, as in helpers.softmax.
export const softmax = (row, may = row.map(() => true)) => {
  const top = Math.max(...row.filter((x, i) => may[i]));
  if (!(top > -Infinity)) return row.map(() => 0);
  const exp = row.map((x, i) => (may[i] ? Math.exp(x - top) : 0));
  const total = exp.reduce((a, b) => a + b, 0);
  return exp.map((x) => x / total);
};
export const dot = (a, b) => {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
};
export const transpose = (A) => A[0].map((_, j) => A.map((row) => row[j]));
export const matmul = (A, B) => {
  const columns = transpose(B);
  return A.map((row) => columns.map((column) => dot(row, column)));
};
export const entropy = (row) => -row.reduce((sum, w) => sum + (w > 0 ? w * Math.log(w) : 0), 0);
export const range = (n) => Array.from({ length: n }, (_, i) => i);

// --- drawing -------------------------------------------------------------

export const escape = (text) =>
  String(text).replace(
    /[&<>"]/g,
    (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c],
  );
// Thousands are parted, before the decimal point.
export const grouped = (x) =>
  String(x).replace(/^(-?)(\d+)/, (_, sign, digits) => sign + whole(digits));
export const fixed = (x, digits = 2) =>
  x === -Infinity
    ? "−∞"
    : grouped(x.toFixed(digits))
        .replace(/^-(0(\.0*)?)$/, "$1")
        .replace("-", "−");
export const tick = (x) => grouped(+x.toPrecision(3)).replace("-", "−");
export const setting = (x) => grouped(+x.toFixed(4)).replace("-", "−");
export const whole = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ",");

// The book's colour map, from −1 over 0 to 1: nothing is near the page's ground,
// and much stands out from it. On white that is dark, and in the dark bright.
const STOPS = {
  light: [
    [83, 39, 0],
    [176, 94, 16],
    [236, 180, 130],
    [234, 241, 247],
    [143, 191, 224],
    [0, 110, 172],
    [0, 48, 77],
  ],
  dark: [
    [255, 233, 214],
    [224, 139, 62],
    [111, 58, 14],
    [28, 43, 58],
    [23, 82, 126],
    [74, 159, 220],
    [227, 242, 255],
  ],
};
const shade = (x, scheme) => {
  const stops = STOPS[scheme];
  const at = ((Math.min(Math.max(x, -1), 1) + 1) / 2) * (stops.length - 1);
  const i = Math.min(Math.floor(at), stops.length - 2);
  return stops[i].map((a, c) => Math.round(a + (at - i) * (stops[i + 1][c] - a)));
};
// Nearly black is taken a little lighter than it is: every ink stays readable.
const luminance = (rgb) => {
  const [r, g, b] = rgb.map((v) => ((v / 255 + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const ink = (rgb) => (luminance(rgb) > 0.179 ? "#000" : "#fff");
// The colour of x, and that of a number on it, each in both schemes.
const hexOf = (rgb) => `#${rgb.map((v) => v.toString(16).padStart(2, "0")).join("")}`;
const inBoth = (color) => `light-dark(${color("light")},${color("dark")})`;
const colorOf = (x) => inBoth((scheme) => hexOf(shade(x, scheme)));
export const inkOn = (x) => inBoth((scheme) => ink(shade(x, scheme)));

// A matrix as a table whose cells are shaded by value between low and high, or
// by the part of the colour map that a value has.
// A cell that is not `open` holds no number at all.
export const grid = ({
  label,
  rows,
  columns,
  values,
  digits = 2,
  low = 0,
  high = 1,
  part = (x) => Math.max((x - low) / (high - low), 0), // −∞ is nothing, too
  attributes = () => "",
  open = () => true,
  picked = [],
}) => {
  const head = columns.map((c) => `<th scope="col">${escape(c)}</th>`).join("");
  const body = values.map((row, i) => {
    const cells = row.map((x, j) => {
      const here = picked[0] === i && picked[1] === j;
      if (!open(i, j)) return `<td class="av-closed${here ? " av-picked" : ""}">·</td>`;
      return (
        `<td style="background:${colorOf(part(x))};color:${inkOn(part(x))}" ` +
        `${here ? 'class="av-picked"' : attributes(i, j)}>` +
        `${fixed(x, digits)}</td>`
      );
    });
    return `<tr><th scope="row">${escape(rows[i])}</th>${cells.join("")}</tr>`;
  });
  return (
    `<table class="av-grid"><caption>${escape(label)}</caption><thead><tr><td></td>${head}` +
    `</tr></thead><tbody>${body.join("")}</tbody></table>`
  );
};

// Cells that are shaded alike are one path, and shades are told apart in steps.
export const LEVELS = 24;
export const byLevel = () => {
  const found = {};
  return {
    add: (x, d) => (found[Math.round(x * LEVELS)] ??= []).push(d),
    paths: (draw) => Object.entries(found).map(([k, d]) => draw(colorOf(k / LEVELS), d.join(""))),
  };
};
// A large matrix as a picture: axes with their names, and a key below, for
// numbers that go from `low` to `high` in the colour map. What is not `open` is
// hatched.
const MAP = { width: 340, left: 40, top: 34, across: 294, least: 90, row: 22, key: 36 };
const highOf = (T, S) =>
  Math.min(Math.max(T * Math.min(MAP.across / S, MAP.row), MAP.least), MAP.across);
// Every how many rows or columns one is numbered, so that numbers stand apart.
export const stride = (unit, room) => [1, 2, 4, 8, 16].find((n) => n * unit >= room) ?? 32;
export const mosaic = ({
  label,
  values,
  open = () => true,
  rows,
  columns,
  low = 0,
  high = 1,
  ends = ["0", "1"],
  picked = null,
}) => {
  const [T, S] = [values.length, values[0].length];
  const { width, left, top, across, key } = MAP;
  const down = highOf(T, S);
  const [sx, sy] = [across / S, down / T];
  const cells = byLevel();
  const shut = [];
  values.forEach((row, i) =>
    row.forEach((x, j) =>
      open(i, j) ? cells.add(x, `M${j} ${i}h1v1h-1z`) : shut.push(`M${j} ${i + 1}l1 -1`),
    ),
  );
  const place = (x) => +x.toFixed(2);
  const drawn = cells.paths((color, d) => `<path fill="${color}" d="${d}"/>`);
  if (shut.length) drawn.push(`<path class="av-shut" d="${shut.join("")}"/>`);
  const text = (words, x, y, anchor, kind = "") =>
    `<text${kind && ` class="${kind}"`} x="${place(x)}" y="${place(y)}" ` +
    `text-anchor="${anchor}">${escape(words)}</text>`;
  // A number that is picked stands out, and the others keep away from it.
  const numbers = (n, unit, room, here, write) =>
    range(n)
      .filter((k) => k % stride(unit, room) === 0 || k === here)
      .filter((k) => here === undefined || k === here || Math.abs(k - here) * unit >= room)
      .map((k) => write(k, k === here ? "av-here" : ""))
      .join("");
  const [i, j] = picked ?? [];
  const frame = picked
    ? `M${place(left + j * sx - 1)} ${place(top + i * sy - 1)}h${place(sx + 2)}` +
      `v${place(sy + 2)}h${place(-sx - 2)}z`
    : "";
  const base = top + down + key - 8;
  const bar = range(LEVELS + 1).map(
    (k) =>
      `<rect fill="${colorOf(low + ((high - low) * k) / LEVELS)}" x="${left + 40 + 3 * k}" ` +
      `y="${place(base - 10)}" ` +
      'width="3" height="12"/>',
  );
  return (
    `<p class="av-caption" aria-hidden="true">${escape(label)}</p>` +
    `<svg class="av-mosaic" role="img" aria-label="${escape(label)}" ` +
    `viewBox="0 0 ${width} ${place(top + down + key)}">` +
    `<g shape-rendering="crispEdges" transform="matrix(${place(sx)} 0 0 ${place(sy)} ${left} ` +
    `${top})">${drawn.join("")}</g>` +
    text(`↓ ${rows}`, 2, 12, "start", "av-of-rows") +
    text(`${columns} →`, left + across, 12, "end", "av-of-columns") +
    numbers(S, sx, 22, j, (k, kind) => text(k, left + (k + 0.5) * sx, top - 6, "middle", kind)) +
    numbers(T, sy, 13, i, (k, kind) => text(k, left - 6, top + (k + 0.5) * sy + 4, "end", kind)) +
    (frame && `<path class="av-ring" d="${frame}"/><path class="av-ring-in" d="${frame}"/>`) +
    text(ends[0], left + 34, base, "end") +
    bar.join("") +
    text(ends[1], left + 121, base, "start") +
    "</svg>"
  );
};
// The row and the column under a pointer, or null.
export const cellAt = ({ target, clientX, clientY }, [T, S]) => {
  const cell = target.closest?.("td");
  if (cell && cell.cellIndex > 0 && cell.closest("tbody"))
    return [cell.parentNode.rowIndex - 1, cell.cellIndex - 1];
  const drawn = target.closest?.(".av-mosaic");
  if (!drawn) return null;
  const { left, top, width } = drawn.getBoundingClientRect();
  const unit = width / MAP.width;
  const j = Math.floor(((clientX - left) / unit - MAP.left) / (MAP.across / S));
  const i = Math.floor(((clientY - top) / unit - MAP.top) / (highOf(T, S) / T));
  return i >= 0 && i < T && j >= 0 && j < S ? [i, j] : null;
};

// Lines over a common x, each with a name written at its end; marked points.
// A ghost is the line of the last state.
export const chart = ({
  label,
  kind = "",
  x,
  y,
  lines,
  points: alone = [],
  marks = [],
  xlabel,
  ylabel,
  width = 340,
  height = 220,
  right = 80,
}) => {
  const ticks = (a, b) => range(5).map((k) => a + (k * (b - a)) / 4);
  const longest = Math.max(...ticks(...y).map((v) => tick(v).length));
  const [left, top, bottom] = [26 + 7 * Math.max(longest, 4), 12, 40];
  const px = (v) => left + ((v - x[0]) / (x[1] - x[0])) * (width - left - right);
  const py = (v) => height - bottom - ((v - y[0]) / (y[1] - y[0])) * (height - top - bottom);
  const axis =
    ticks(...x)
      .map(
        (v) =>
          `<text x="${px(v)}" y="${height - bottom + 16}" text-anchor="middle">${tick(v)}</text>`,
      )
      .join("") +
    ticks(...y)
      .map(
        (v) =>
          `<text x="${left - 6}" y="${py(v) + 4}" text-anchor="end">${tick(v)}</text>` +
          `<path class="av-rule" d="M${left} ${py(v)}H${width - right}"/>`,
      )
      .join("");
  // The names at the ends of two lines stand apart, in the lines' order.
  const ends = lines.map(({ points }) => py(points[points.length - 1][1]) + 4);
  if (ends.length === 2 && Math.abs(ends[0] - ends[1]) < 14) {
    const middle = Math.min(Math.max((ends[0] + ends[1]) / 2, top + 11), height - bottom);
    const [over, under] = ends[0] <= ends[1] ? [0, 1] : [1, 0];
    [ends[over], ends[under]] = [middle - 7, middle + 7];
  }
  const drawn = lines.map(({ points, name, dash = "", filled = false, ghost = false }, k) => {
    const looks = `${filled ? " av-filled" : ""}${ghost ? " av-ghost" : ""}`;
    const d = points
      .map(([a, b], i) => `${i ? "L" : "M"}${px(a).toFixed(1)} ${py(b).toFixed(1)}`)
      .join("");
    return (
      `<path class="av-line av-line-${k}${looks}" ` +
      `stroke-dasharray="${dash}" d="${d}"/>` +
      `<text class="av-name" x="${width - right + 6}" y="${ends[k].toFixed(1)}">` +
      `${escape(name)}</text>`
    );
  });
  const spots = alone.map(([a, b]) => `M${px(a).toFixed(1)} ${py(b).toFixed(1)}h0`).join("");
  // The name of a dot stays inside the frame, and away from those of lines.
  const dots = marks.map(([a, b, name]) => {
    const [side, anchor] = px(a) > width - right - 30 ? [-8, "end"] : [8, "start"];
    const beside = py(b) < top + 16 ? 18 : -8;
    return (
      `<circle class="av-dot" cx="${px(a).toFixed(1)}" cy="${py(b).toFixed(1)}" r="5"/>` +
      `<text class="av-name" text-anchor="${anchor}" x="${(px(a) + side).toFixed(1)}" ` +
      `y="${(py(b) + beside).toFixed(1)}">${escape(name)}</text>`
    );
  });
  return (
    `<svg class="av-chart${kind}" role="img" aria-label="${escape(label)}" ` +
    `viewBox="0 0 ${width} ${height}">${axis}${drawn.join("")}` +
    `${spots && `<path class="av-points" d="${spots}"/>`}${dots.join("")}` +
    `<text x="${(left + width - right) / 2}" y="${height - 4}" text-anchor="middle">` +
    `${escape(xlabel)}</text><text transform="translate(12 ${(top + height - bottom) / 2}) ` +
    `rotate(-90)" text-anchor="middle">${escape(ylabel)}</text></svg>`
  );
};

export const say = (text) => `<p class="av-say">${escape(text)}</p>`;

// --- state ---------------------------------------------------------------

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
  if (control.kind === "words") return String(text).trim().replace(/\s+/g, " ");
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
export const shorten = (text) =>
  String(text).length > 40 ? `${String(text).slice(0, 40)}…` : String(text);
export const count = (n, thing) => `${whole(n)} ${thing}${n === 1 ? "" : "s"}`;
const span = ([least, most]) => (least === most ? least : `${least} to ${most}`);
// A control as the page calls it, and its key where that is another word.
const called = ({ key, label }) => (label.split(" ").includes(key) ? label : `${label} (${key})`);

// What is wrong with one control's value, or "".
const complaint = (control, value) => {
  const { key, kind } = control;
  const name = called(control);
  if (kind === "choice")
    return control.options.includes(value)
      ? ""
      : `${name} must be one of ${control.options.join(", ")}; got ${shorten(value)}`;
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
      : `each number of ${key} must be ${wanted(control)}, with a decimal point; got ` +
          `${shorten(wrong)}`;
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
  if (kind === "stops")
    return control.stops.includes(value)
      ? ""
      : `${name} must be one of ${control.stops.join(", ")}; got ` +
          `${Number.isNaN(value) ? "no number" : value}`;
  if (kind === "power") {
    const { min, max } = control;
    return within(value, control) && Number.isInteger(Math.log2(value))
      ? ""
      : `${name} must be a power of two from ${min} to ${grouped(max)}; got ${grouped(value)}`;
  }
  return within(value, control)
    ? ""
    : `${name} must be ${wanted(control)}; got ` +
        `${Number.isNaN(value) ? "no number" : grouped(value)}`;
};
const problem = (figure, state) =>
  figure.controls.map((c) => complaint(c, state[c.key])).find(Boolean) ||
  figure.check?.(state) ||
  "";

// --- page ----------------------------------------------------------------

// A slider holds a value between its steps only if it has none.
const stepTo = ({ min, step }, value) =>
  step && Number.isInteger(+((value - min) / step).toFixed(9)) ? step : "any";

// A slider of powers of two moves in exponents, one of stops from stop to stop.
const PLACES = {
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
const held = (control, field) => {
  if (PLACES[control.kind]) return PLACES[control.kind].at(control, field.value);
  return parse(control, control.kind === "flag" ? field.checked : field.value);
};
export const tell = (control, field, value) => {
  if (field.type === "range") field.closest("div").querySelector("output").value = grouped(value);
  if (PLACES[control.kind]) field.setAttribute("aria-valuetext", value);
};
const put = (control, field, value) => {
  const places = PLACES[control.kind];
  if (field.type === "range" && !places) field.step = stepTo(control, value);
  if (control.kind === "flag") field.checked = value;
  else field.value = places ? places.of(control, value) : show(control, value);
  tell(control, field, value);
};

// Some controls end where others say (`upTo`) or matter only for some states
// (`when`). What is beyond such an end counts as the end.
const limited = (control, state) =>
  control.upTo ? { ...control, max: control.upTo(state) } : control;
// What a figure has of its own beside its settings may make one idle too.
const matters = (control, state, own) => !control.when || control.when(state, own);

// Presets set several controls at once; the name shown follows from the state.
export const OWN = "own numbers";
export const preset = (figure, state) =>
  Object.keys(figure.presets).find((name) =>
    Object.entries(figure.presets[name]).every(([k, v]) => state[k] === v),
  ) ?? OWN;
const presetInput = (figure, state) => {
  const options = [OWN, ...Object.keys(figure.presets)];
  return input(
    figure,
    { key: "preset", kind: "choice", label: figure.presetLabel, options },
    preset(figure, state),
  );
};

const shell = (figure, state) => {
  const wrong = problem(figure, state);
  const controls = figure.controls.map((c) => {
    // A state that cannot be shown says nothing of where a slider ends.
    const { max } = wrong ? c : limited(c, state);
    const html = input(figure, { ...c, max }, c.upTo ? Math.min(state[c.key], max) : state[c.key]);
    return matters(c, state) ? html : html.replace("<div>", "<div hidden>");
  });
  if (figure.presets) controls.unshift(presetInput(figure, state));
  return (
    `<form class="av-controls" hidden>${controls.join("")}</form>` +
    `<p class="av-error" role="alert">${escape(wrong)}</p>` +
    `<div class="av-result">${wrong ? "" : figure.view(state, figure.compute(state))}</div>` +
    `<p class="av-spoken" role="status"></p>` +
    // A film in stills, which is shown where no script makes it move.
    `${(!wrong && figure.strip?.(state)) || ""}`
  );
};

// Settings in the address: ?causal.window=3, so that a state can be linked to.
const fromAddress = (figure, state) => {
  const query = new URLSearchParams(location.search);
  const found = { ...state };
  for (const control of figure.controls) {
    const text = query.get(`${figure.name}.${control.key}`);
    if (text !== null) found[control.key] = parse(control, text);
  }
  const unknown = [...query.keys()].filter(
    (k) =>
      k.startsWith(`${figure.name}.`) &&
      !figure.controls.some((c) => k === `${figure.name}.${c.key}`),
  );
  const wrong = unknown.length
    ? `the address has an unknown setting ${shorten(unknown[0])}`
    : problem(figure, found);
  return wrong
    ? { state, wrong: `${wrong}. The figure shows its first state.` }
    : { state: found, wrong: "" };
};
const toAddress = (figure, state) => {
  const url = new URL(location.href);
  // What a stale address has besides would be refused when it is opened.
  for (const key of [...url.searchParams.keys()])
    if (key.startsWith(`${figure.name}.`)) url.searchParams.delete(key);
  for (const c of figure.controls) {
    const name = `${figure.name}.${c.key}`;
    if (matters(c, state)) url.searchParams.set(name, show(c, state[c.key]).replaceAll("\n", ";"));
  }
  history.replaceState(history.state, "", url);
};

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
      const end = limited(control, state);
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
  const paint = () => {
    cancelAnimationFrame(pending);
    pending = undefined;
    const state = read();
    const wrong = problem(figure, state);
    if (wrong) {
      tellAbove(`${wrong}. The figure shows the last state that fits.`, "stale");
      return;
    }
    const own = live.own();
    adjust(state, own);
    const name = own ? null : figure.later?.(state);
    if (name && !known(name)) {
      bring(name);
      return;
    }
    const values = figure.compute(state, own);
    el.values = values;
    result.innerHTML = figure.view(state, values, own);
    setApart(result);
    if (figure.enhance) figure.enhance(result, state, values, assign);
    keepKeys(result.querySelectorAll("[tabindex]"));
    reach();
  };
  // A screen reader hears what the figure says once it stays as it is.
  const speak = () => {
    clearTimeout(speaking);
    if (live.busy()) return; // what changes by itself speaks when it is done
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
  const assign = (key, value) => {
    model.set(key, value);
    model.save_changes();
    if (linked) save();
  };
  // What is being typed stays, unless `all` of the form is set anew.
  const fill = (all) => {
    for (const control of figure.controls) {
      const field = form.elements.namedItem(control.key);
      if (all || field !== document.activeElement) put(control, field, model.get(control.key));
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
      delete draft[key];
      if (!Object.keys(draft).length) tellAbove("");
      fill();
      refresh();
    },
  ]);
  for (const [event, listener] of follow) model.on(event, listener);
  // What changes beside the settings: what of it is shown, whether it goes on by
  // itself, and its end. Most figures have some of these, or none.
  const live = {
    own: () => undefined,
    busy: () => false,
    close: () => {},
    ...figure.live?.({ el, form, model, repaint: refresh, paint, set: assign }),
  };
  keepKeys(el.querySelectorAll(".av-panel :is(button, input)"));
  paint();
  const resized = new ResizeObserver(reach);
  const changed = new MutationObserver(speak);
  resized.observe(el);
  changed.observe(result, { childList: true, subtree: true });
  if (!result.hasAttribute("aria-busy")) el.classList.add("av-live");
  return () => {
    live.close();
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
  problem: (state) => problem(figure, state),
  shell: (state) => shell(figure, state),
  values: (state) => figure.compute(state),
  // What is drawn at a time of its film: the data and the time decide it.
  frame: ({ ms, ...state }) => {
    const own = figure.at(state, ms);
    const values = figure.compute(state, own);
    return { own, values, html: figure.view(state, values, own) };
  },
});
