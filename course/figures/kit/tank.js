// A memory as a tank that bytes fill from the bottom, and the numbers of a formula
// that a hand takes.

import { inUnits, sum } from "./numbers.js";
import { escape, textAt } from "./svg.js";

// Decimal units, as memories are sold: 4.84 GB, 40 MB.
export const inBytes = (n) =>
  inUnits(n).replace(/ ?([A-Z]?)$/, (_, unit) => ` ${unit.replace("K", "k")}B`);

// The scale of a tank is that of its memory. It ends a fifth beyond the rim, where
// more is cut.
const BEYOND = 1.2;
const TANKS = [
  { width: 640, height: 412, left: 30, right: 390, top: 24, base: 396, names: 420, grip: 210 },
  { width: 360, height: 304, left: 16, right: 144, top: 24, base: 290, names: 167, grip: 108 },
];
export const tankOf = (memory, narrow) => {
  const size = TANKS[narrow ? 1 : 0];
  const unit = (size.base - size.top) / (BEYOND * memory);
  return {
    ...size,
    memory,
    unit,
    y: (n) => size.base - Math.min(n * unit, size.base - size.top),
    bytesAt: (y) => (size.base - y) / unit,
  };
};

// Where a handle of a tank is drawn: on the surface, and another at the wall. They stand
// beside each other, since both may be at one height.
export const surfaceOf = ({ grip, y }, n) => [grip, y(n)];
export const wallOf = ({ left, y }, n) => [left, y(n)];
const knob = (name, x, wide) =>
  `<rect class="av-knob" x="${x}" y="-10" width="${wide}" height="20" rx="10"/>` +
  `<path class="av-knob-mark" d="M${x + 6} -2l3 -4l3 4m0 4l-3 4l-3 -4"/>` +
  `<text class="av-knob-name" x="${x + 15}" y="4">${name}</text>`;
export const surfaceKnob = ({ left, right, grip }) =>
  `<path class="av-surface" d="M${left - grip} 0H${right - grip}"/>${knob("positions", -38, 76)}`;
export const wallKnob = knob("weights", -14, 67);

const LINE = 17;
// What the line of the surface covers.
const THIN = 2;
// Move names apart where they would touch, and keep them inside the tank's height.
const apart = (names, { top, base }) => {
  const high = names.map(({ lines }) => LINE * lines.length + 8);
  const at = names.map(({ y }, i) => y - high[i] / 2);
  for (let i = 0; i < at.length; i++)
    at[i] = Math.max(at[i], i ? at[i - 1] + high[i - 1] : top - 20);
  for (let i = at.length - 1; i >= 0; i--)
    at[i] = Math.min(at[i], (i + 1 < at.length ? at[i + 1] : base + 14) - high[i]);
  return at.map((y, i) => y + high[i] / 2);
};

// Bands that are too thin to be told apart, or all above the rim, are not drawn.
export const bandsIn = ({ unit, memory }, low, bytes, n) =>
  (bytes * unit) / n < 4 || low + bytes / n >= memory ? 1 : n;

/**
 * A tank. `contents`, from the bottom up, have a `kind` for their colour, `bytes`, and
 * the `lines` of their name. `split` divides them across, into a kind, a share of the
 * width and a name each; `bands` says how many equal ones lie on each other (`bandsIn`).
 *
 * @param {object} tank - what `tankOf` returns
 * @param {{label: string, contents: object[], rim: string[], more?: string}} given -
 *   `rim` names the memory; `more` is drawn on top
 */
export const tankDrawing = (tank, { label, contents, rim, more = "" }) => {
  const { width, height, left, right, top, base, names, memory, unit, y } = tank;
  const place = (x) => +x.toFixed(2);
  const inside = (n) => y(Math.min(n, memory));
  const box = (kind, x, from, wide, to) =>
    `<rect class="av-${kind}" x="${place(x)}" y="${place(to)}" width="${place(wide)}" ` +
    `height="${place(from - to)}"/>`;
  const across = right - left;
  const text = (words, x, at, wide, kind) =>
    words.length * 7 < wide ? textAt(escape(words), x, at + 4.5, "middle", kind) : "";
  let filled = 0;
  const drawn = contents.map(({ kind, bytes, split = [{ kind, share: 1 }], bands = 1 }) => {
    const [low, high] = [filled, filled + bytes];
    filled = high;
    const [from, to] = [inside(low), inside(high)];
    let x = left;
    const parts = split.map((part) => {
      const wide = across * part.share;
      const middle = x + wide / 2;
      x += wide;
      return (
        box(`in-tank av-${part.kind}`, x - wide, from, wide, to) +
        (part.name && from - to > 40 ? text(part.name, middle, (from + to) / 2, wide, "av-on") : "")
      );
    });
    const many = bandsIn(tank, low, bytes, bands);
    const lines = Array.from({ length: many - 1 }, (_, k) => low + (bytes * (k + 1)) / bands)
      .filter((n) => n < memory)
      .map((n) => `M${left} ${place(y(n))}H${right}`);
    return `${parts.join("")}<path class="av-bands" d="${lines.join("") || "M0 0"}"/>`;
  });
  const [edge, surface] = [y(memory), y(filled)];
  const over = filled > memory;
  const free = [
    `${inBytes(memory - filled)} free`,
    ...(contents[0].bytes ? [] : ["without weights"]),
  ];
  const spill =
    `<g class="av-spill" opacity="${over ? 1 : 0}">` +
    box("spilt", left - 12, edge, across + 24, Math.min(surface, edge)) +
    box("spilt", left - 12, edge + (over ? 44 : 0), 10.5, edge) +
    box("spilt", right + 1.5, edge + (over ? 44 : 0), 10.5, edge) +
    `${filled > BEYOND * memory ? `<path class="av-torn" d="M${left - 14} ${top + 9}l${across / 2 + 14} 5l${across / 2 + 14} -5"/>` : ""}</g>`;
  const lie = contents.map(({ lines, kind, bytes }, i) => {
    const low = sum(contents.slice(0, i).map((it) => it.bytes));
    const thin = bytes && bytes * unit < THIN ? ["too thin to be seen"] : [];
    return {
      y: (inside(low) + inside(low + bytes)) / 2,
      lines: [...lines, ...thin],
      kind,
    };
  });
  const all = [{ y: edge, lines: rim, kind: over ? "spilt" : "rim" }, ...lie.toReversed()];
  const at = apart(all, tank);
  const named = all.map(({ y: from, lines, kind }, i) => {
    const first = at[i] - (LINE * (lines.length - 1)) / 2 + 4.5;
    // A line to what is named, in its colour, which may lie too thin to be seen.
    const lead = `M${right + (over ? 14 : 5)} ${place(from)}L${names - 7} ${place(at[i])}`;
    const beside = `M${names - 7} ${place(first - 12)}V${place(first + LINE * (lines.length - 1) + 4)}`;
    return (
      `<path class="av-lead av-${kind}" d="${lead}${beside}"/>` +
      lines
        .map((words, k) =>
          textAt(
            escape(words),
            names,
            first + LINE * k,
            "start",
            `av-${k ? "note" : "name"}-of av-${kind}`,
          ),
        )
        .join("")
    );
  });
  return (
    `<svg class="av-tank" role="img" aria-label="${escape(label)}" viewBox="0 0 ${width} ${height}">` +
    drawn.join("") +
    (surface - edge > 29 + LINE * free.length
      ? free
          .map((words, k) =>
            textAt(words, (left + right) / 2, edge + 20 + LINE * k, "middle", "av-note-of"),
          )
          .join("")
      : "") +
    spill +
    `<path class="av-glass" d="M${left} ${place(edge)}V${base}H${right}V${place(edge)}"/>` +
    `${named.join("")}${more}</svg>`
  );
};

// --- models to press ----------------------------------------------------------

export const picks = (names) =>
  `<div class="av-models">${names
    .map((name, k) => `<span class="av-model" data-handle="pick-${k}">${escape(name)}</span>`)
    .join("")}</div>`;
export const pickHandles = (names, chosen, settings) =>
  names.map((name, k) => ({
    id: `pick-${k}`,
    name,
    group: "models",
    once: true,
    on: k === chosen,
    press: (now) => settings(name, now),
  }));

// --- numbers that are dragged -------------------------------------------------

// A number of a formula. To the right it grows: it doubles each `DOUBLES` of the
// formula's width, or on a phone each `NARROWLY`.
const [DOUBLES, NARROWLY] = [0.07, 0.12];
export const scrub = (id, role, shown, name) =>
  `<span class="av-scrub${role && ` av-of-${role}`}" data-handle="${id}"><b>${shown}</b>` +
  `<small>${name}</small></span>`;
export const LINE_BREAK = '<span class="av-break"></span>';
export const sign = (text) => `<span class="av-times">${text}</span>`;
// The step of an arrow key: an eighth of a number, or less.
export const strideOf = (value) => Math.max(2 ** Math.floor(Math.log2(value) - 3), 1);
export const scrubHandle = (key, name, value, narrow, more = {}) => {
  const unit = narrow ? NARROWLY : DOUBLES;
  return {
    id: key,
    name,
    keys: [key],
    at: [unit * Math.log2(value), 0],
    read: ([x]) => ({ [key]: Math.round(2 ** (x / unit)) }),
    stride: strideOf(value),
    ...more,
  };
};
