// A softmax in a floating-point type: where exponentials overflow, where they
// underflow to zero, and how far apart the representable numbers are.

import { fixed, grouped, range, setting, softmax, tick } from "../kit/numbers.js";
import { textAt } from "../kit/svg.js";
import { figureModule, say } from "../kit/common.js";
import { grip } from "../kit/handles.js";

// The bits of the fraction, and the least exponent of a normal number.
const TYPES = {
  float16: { digits: 10, least: -14, top: 15 },
  bfloat16: { digits: 7, least: -126, top: 127 },
  float32: { digits: 23, least: -126, top: 127 },
};
const KEYS = range(4);
const SCORES = [0, 0.75, 0.5, -0.75];
const REACH = 3; // the largest distance of a score from the shift
const FAR = 110; // the largest shift

// The exponent of the largest power of two that is at most |x|.
const exponentOf = (x) => {
  const near = Math.floor(Math.log2(Math.abs(x)));
  if (2 ** near > Math.abs(x)) return near - 1;
  return 2 ** (near + 1) <= Math.abs(x) ? near + 1 : near;
};
const spacingAt = (x, { digits, least }) => {
  const exponent = x === 0 ? least : Math.max(exponentOf(x), least);
  return 2 ** (exponent - digits);
};
// Round to the nearest whole number, and halves to the even one.
const toEven = (x) => {
  const low = Math.floor(x);
  if (x - low !== 0.5) return Math.round(x);
  return low % 2 ? low + 1 : low;
};
const largestOf = ({ digits, top }) => 2 ** top * (2 - 2 ** -digits);
const stored = (x, type) => {
  if (!Number.isFinite(x) || x === 0) return x;
  const unit = spacingAt(x, type);
  const found = toEven(x / unit) * unit;
  return Math.abs(found) > largestOf(type) ? Math.sign(x) * Infinity : found;
};
const limitsOf = (type) => ({
  over: Math.log(largestOf(type)),
  under: Math.log(2 ** (type.least - type.digits - 1)), // half of the smallest
});

// NaN and infinities become null.
const finite = (x) => (Number.isFinite(x) ? x : null);
const compute = (state) => {
  const type = TYPES[state.type];
  const scores = KEYS.map((j) => state.shift + state[`score${j}`]);
  const kept = scores.map((s) => stored(s, type));
  const top = Math.max(...kept);
  const exponents = kept.map((z) => (state.subtract ? stored(z - top, type) : z));
  const exps = exponents.map((z) => stored(Math.exp(z), type));
  // Summed in float32 and rounded once to the type, as NumPy does.
  const total = stored(
    exps.reduce((a, b) => Math.fround(a + b), 0),
    type,
  );
  const weights = exps.map((e) => stored(e / total, type));
  const exact = softmax(scores);
  return {
    stored: kept,
    exponents,
    exps: exps.map(finite),
    total: finite(total),
    weights: weights.map(finite),
    exact,
    error: weights.some(Number.isNaN)
      ? null
      : Math.max(...weights.map((w, j) => Math.abs(w - exact[j]))),
    spacing: spacingAt(top, type),
  };
};

// --- drawing: the scores, magnified; below, their exponentials ---------------------------

const FARTHEST = 120;
const placesOf = ({ left, right, line, lane, ...rest }) => {
  const [middle, unit] = [(left + right) / 2, (right - left) / (2 * REACH)];
  const [zero, half] = [(line.left + line.right) / 2, (line.right - line.left) / 2];
  return {
    ...{ ...rest, left, right, line, lane, unit },
    rule: lane.top + 4 * lane.step - 4,
    laneAt: (j) => lane.top + j * lane.step,
    sx: (offset) => middle + offset * unit,
    offsetAt: (x) => (x - middle) / unit,
    px: (z) => zero + (z / FARTHEST) * half,
    shiftAt: (x) => ((x - zero) / half) * FARTHEST,
  };
};
const WIDE = placesOf({
  ...{ width: 640, left: 70, right: 358, weight: { left: 390, wide: 230 } },
  lane: { top: 62, step: 26 },
  line: { left: 76, right: 618, top: 232, foot: 288 },
});
const NARROW = placesOf({
  ...{ width: 360, left: 56, right: 242, weight: { left: 262, wide: 92 } },
  lane: { top: 62, step: 30 },
  line: { left: 68, right: 342, top: 244, foot: 300 },
});
const at = (x) => +x.toFixed(1);

// Within a quarter of a unit, numbers are equally spaced, or too close to draw.
const numbersOf = (state, { lane, rule, unit: wide, sx }) => {
  const type = TYPES[state.type];
  const [low, high] = [lane.top - 12, rule];
  const ticks = [];
  const dense = [];
  for (const k of range(8 * REACH)) {
    const from = k / 4 - REACH;
    const unit = spacingAt(state.shift + from + 0.125, type);
    if (unit * wide < 2.5)
      dense.push(`M${at(sx(from))} ${low}H${at(sx(from + 0.25))}V${high}H${at(sx(from))}z`);
    else
      for (let x = Math.ceil((state.shift + from) / unit) * unit; ; x += unit) {
        if (x >= state.shift + from + 0.25) break;
        ticks.push(`M${at(sx(x - state.shift))} ${low}V${high}`);
      }
  }
  return (
    (dense.length ? `<path class="av-dense-numbers" d="${dense.join("")}"/>` : "") +
    (ticks.length ? `<path class="av-each-number" d="${ticks.join("")}"/>` : "")
  );
};
const short = (x) => {
  if (x === 0 || (Math.abs(x) >= 1e-3 && Math.abs(x) < 1e5)) return tick(x);
  return x.toExponential(2).replace("e+", "e").replaceAll("-", "−");
};
const shown = (x, none) => (x === null ? none : short(x));
const knob = '<circle class="av-exact-score" r="7"/>';
const lanes = (state, values, { left, weight, laneAt, sx }) =>
  KEYS.map((j) => {
    const y = laneAt(j);
    const [w, e] = [values.weights[j], values.exact[j]];
    const kept = sx(values.stored[j] - state.shift);
    return (
      textAt(`key ${j + 1}`, left - 14, y + 4, "end") +
      `<circle class="av-stored-score" cx="${at(kept)}" cy="${y}" r="4"/>` +
      `<rect class="av-exact-weight" x="${weight.left}" y="${y - 8}" ` +
      `width="${at(e * weight.wide)}" height="16"/>` +
      (w === null
        ? textAt("no number", weight.left + 4, y + 4, "start", "av-lost")
        : `<rect class="av-typed-weight" x="${weight.left}" y="${y - 5}" ` +
          `width="${at(w * weight.wide)}" height="10"/>`) +
      grip(`score-${j}`, [at(sx(state[`score${j}`])), y], knob)
    );
  }).join("");
const strip = (state, { left, right, rule, sx, width }) =>
  range(2 * REACH + 1)
    .map((k) => k - REACH)
    .filter((k) => width > 360 || k % 2) // the others touch on a phone
    .map((k) => textAt(grouped(state.shift + k).replace("-", "−"), sx(k), rule + 18))
    .join("") + `<path class="av-float-axis" d="M${left} ${rule}H${right}"/>`;
const names = Object.keys(TYPES);
const bands = (state, { line, px }) =>
  names
    .map((name, k) => {
      const { over, under } = limitsOf(TYPES[name]);
      const y = line.foot + 56 + 15 * k;
      return (
        textAt(name, line.left - 4, y + 4, "end", name === state.type ? "av-this-type" : "") +
        `<rect class="av-type-band${name === state.type ? " av-of-this" : ""}" x="${at(px(under))}" ` +
        `y="${y - 4}" width="${at(px(over) - px(under))}" height="8"/>`
      );
    })
    .join("");
// Which part of the line below the scores are magnified from.
const magnified = ({ shift }, { left, right, width, rule, line, px }) => {
  const [from, to] = [px(shift - REACH), px(shift + REACH)].map(at);
  const [top, foot] = [rule + 24, line.top - 6];
  const beside = shift > 48 ? [line.left, foot - 6, "start"] : [width - 4, foot - 6, "end"];
  return (
    `<path class="av-magnified" d="M${left} ${top}L${from} ${foot}V${line.foot}H${to}V${foot}` +
    `L${right} ${top}z"/>` +
    textAt(`magnified: ${setting(shift - REACH)} to ${setting(shift + REACH)}`, ...beside)
  );
};
const exponentials = (state, values, place) => {
  const { line, px } = place;
  const { over, under } = limitsOf(TYPES[state.type]);
  const dots = KEYS.map((j) => {
    const [x, y] = [px(values.exponents[j]), line.top + 6 + 9 * j];
    if (values.exps[j] === null || values.exps[j] === 0)
      return `<path class="av-gone" d="M${at(x - 4)} ${y - 4}l8 8m0 -8l-8 8"/>`;
    return `<circle class="av-held-exp" cx="${at(x)}" cy="${y}" r="4"/>`;
  });
  return (
    `<rect class="av-can-hold" x="${at(px(under))}" y="${line.top - 6}" ` +
    `width="${at(px(over) - px(under))}" height="${line.foot - line.top + 6}"/>` +
    magnified(state, place) +
    textAt("0", line.left - 4, line.top + 24, "end") +
    textAt("∞", line.right + 4, line.top + 24, "start") +
    dots.join("") +
    `<path class="av-float-axis" d="M${line.left} ${line.foot}H${line.right}"/>` +
    [-100, -50, 0, 50, 100].map((z) => textAt(tick(z), px(z), line.foot + 23)).join("") +
    textAt(`exponents${state.subtract ? ", the maximum subtracted" : ""}`, px(0), line.foot + 40) +
    bands(state, place) +
    grip("shift", [at(px(state.shift)), line.foot], '<path class="av-shift" d="M-8 9L0 -7L8 9z"/>')
  );
};

const outcome = (state, { exps, total, weights, error }) => {
  const lost = weights.filter((w) => w === null).length;
  const many = lost === 4 ? "All four weights are" : `${lost} of the four weights are`;
  if (lost && total === 0) return "All exponentials are 0, and 0 divided by 0 is not a number.";
  if (lost)
    return `${many.replace("1 of the four weights are", "1 of the four weights is")} not a number: infinity divided by infinity.`;
  if (total === null) return "No exponential overflows but their sum does, so all weights are 0.";
  const gone = exps.filter((e) => e === 0).length;
  return (
    `${gone ? `${gone} of the four exponentials ${gone === 1 ? "is" : "are"} 0. ` : ""}` +
    `No weight is off by more than ${short(error)}.`
  );
};
const sentence = (state, values) => {
  const { over, under } = limitsOf(TYPES[state.type]);
  return (
    `In ${state.type} an exponential overflows above ${fixed(over)} and becomes 0 below ` +
    `${fixed(under)}. ${outcome(state, values)}`
  );
};
const table = (state, values) => {
  const rows = KEYS.map((j) => {
    const cells = [
      setting(values.stored[j]),
      setting(values.exponents[j]),
      shown(values.exps[j], "∞"),
      shown(values.weights[j], "not a number"),
      short(values.exact[j]),
    ];
    return `<tr><th scope="row">key ${j + 1}</th>${cells.map((c) => `<td>${c}</td>`).join("")}</tr>`;
  });
  const head = ["stored score", "exponent", "exponential", "weight", "exact weight"];
  return (
    `<table class="av-grid av-in-type"><caption>The softmax in ${state.type}</caption><thead><tr>` +
    `<td></td>${head.map((text) => `<th scope="col">${text}</th>`).join("")}</tr></thead>` +
    `<tbody>${rows.join("")}</tbody></table>`
  );
};

const figure = {
  name: "floats",
  lead: ["type", "subtract"],
  card: { part: ".av-floats", box: "60 44 580 252" },
  controls: [
    {
      key: "type",
      kind: "choice",
      label: "type",
      first: "float16",
      about: "The floating-point type",
      options: names,
    },
    {
      key: "subtract",
      kind: "flag",
      label: "subtract the maximum",
      first: false,
      about: "Subtract the largest score from all scores first",
    },
    {
      key: "shift",
      kind: "range",
      label: "added to all scores",
      first: 12,
      about: "The number that is added to all scores",
      min: -FAR,
      max: FAR,
      step: 1,
    },
    ...KEYS.map((j) => ({
      key: `score${j}`,
      kind: "range",
      label: `score of key ${j + 1}`,
      first: SCORES[j],
      about: `The score of key ${j + 1} before the shift`,
      min: -REACH,
      max: REACH,
      step: 0.25,
    })),
  ],
  compute,
  view: (state, values, own, narrow) => {
    const place = narrow ? NARROW : WIDE;
    const label =
      `Four scores among the numbers of ${state.type}, their weights, and below where their ` +
      `exponentials are between 0 and infinity`;
    return (
      `<svg class="av-floats" role="img" aria-label="${label}" viewBox="0 0 ${place.width} ` +
      `${place.line.foot + 96}">` +
      textAt(`scores, among the numbers of ${state.type}`, 4, 16, "start") +
      textAt(`near the largest ${short(values.spacing)} apart`, 4, 35, "start") +
      textAt("weights", place.weight.left, place.lane.top - 18, "start") +
      numbersOf(state, place) +
      strip(state, place) +
      lanes(state, values, place) +
      `${exponentials(state, values, place)}</svg>` +
      `${say(sentence(state, values))}${table(state, values)}`
    );
  },
  handles: (state, values, own, narrow) => {
    const { sx, px, laneAt, offsetAt, shiftAt, line } = narrow ? NARROW : WIDE;
    const scores = KEYS.map((j) => ({
      id: `score-${j}`,
      name: `score of key ${j + 1}`,
      keys: [`score${j}`],
      value: `score ${setting(state.shift + state[`score${j}`])}`,
      at: [sx(state[`score${j}`]), laneAt(j)],
      read: ([x]) => ({ [`score${j}`]: offsetAt(x) }),
    }));
    const shift = {
      id: "shift",
      name: "what is added to all scores",
      keys: ["shift"],
      at: [px(state.shift), line.foot],
      read: ([x]) => ({ shift: shiftAt(x) }),
    };
    return [...scores, shift];
  },
};

export default figureModule(figure);
