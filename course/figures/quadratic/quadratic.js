// One layer's FLOPs as areas: a square for the pairs of tokens, and a strip for
// the work on each token alone.

import { count, fixed, range, whole } from "../kit/numbers.js";
import { folded } from "../kit/tables.js";
import { figureModule, say } from "../kit/common.js";
import { grip } from "../kit/handles.js";

const LONGEST = 10240;
const WIDEST = 1024;
const MATRICES = { none: 0, "two matrices": 2, "three matrices": 3 };
const PARTS = ["projections", "feed_forward", "products"];
const NAMES = ["projections", "feed-forward", "two products"];

// A token's FLOPs are 4d for each unit of length: 2d units for the projections,
// 2d for each matrix of the feed-forward network, and one for each key.
const sides = ({ d, network }) => ({
  projections: 2 * d,
  feed_forward: 2 * MATRICES[network] * d,
});
const flopsOf = ({ T, d, network, skipped }) => ({
  projections: 8 * T * d * d,
  feed_forward: 8 * MATRICES[network] * T * d * d,
  products: skipped ? 2 * T * (T + 1) * d : 4 * T * T * d,
});
const sumOf = (parts) => PARTS.reduce((sum, key) => sum + parts[key], 0);

const compute = (state) => {
  const flops = flopsOf(state);
  const total = sumOf(flops);
  const { projections, feed_forward } = sides(state);
  const rest = projections + feed_forward;
  return {
    flops,
    total,
    shares: PARTS.map((key) => flops[key] / total),
    // The first length at which the two products take as much as the rest.
    crossing: state.skipped ? 2 * rest - 1 : rest,
    doubled: sumOf(flopsOf({ ...state, T: 2 * state.T })) / total,
  };
};

// --- drawing -------------------------------------------------------------

const MOST = 2 + 2 * 3; // the most widths that the strip may take
const drawnIn = (width) => {
  const [left, top, across] = [8, 30, width - 34];
  const unit = across / (MOST * WIDEST + LONGEST);
  const foot = top + LONGEST * unit;
  const zero = left + MOST * WIDEST * unit;
  return { width, left, top, across, unit, zero, foot, bar: { top: foot + 46, high: 24 } };
};
const [WIDE, NARROW] = [drawnIn(484), drawnIn(360)];
const boxIn = (narrow) => (narrow ? NARROW : WIDE);
const at = (x) => +x.toFixed(2);
const words = (text, x, y, anchor = "middle", kind = "") =>
  `<text${kind && ` class="${kind}"`} x="${at(x)}" y="${at(y)}" text-anchor="${anchor}">` +
  `${text}</text>`;
const box = (kind, x, y, wide, high) =>
  `<rect class="${kind}" x="${at(x)}" y="${at(y)}" width="${at(wide)}" height="${at(high)}"/>`;

const axis = ({ zero, foot, top, unit }, narrow) =>
  `<path class="av-scale" d="M${at(zero)} ${at(foot)}H${at(zero + LONGEST * unit)}` +
  `M${at(zero)} ${top - 6}V${at(foot)}"/>` +
  range(LONGEST / 2048 + 1)
    .filter((k) => !narrow || [0, 2, 5].includes(k))
    .map((k) => {
      const x = zero + 2048 * k * unit;
      return (
        `<path class="av-scale" d="M${at(x)} ${at(foot)}v5"/>` +
        words(whole(2048 * k), x, foot + 18, "middle", "av-ticked")
      );
    })
    .join("") +
  words("tokens T", zero + (LONGEST / 2) * unit, foot + 34);
const knob = '<circle class="av-cost-knob" r="7"/>';

const areas = (state, values, { zero, top, unit }) => {
  const { T, skipped } = state;
  const high = T * unit;
  const { projections, feed_forward } = sides(state);
  const [near, far] = [feed_forward * unit, (projections + feed_forward) * unit];
  const edge = values.crossing * unit;
  const meets = skipped
    ? `M${at(zero)} ${top}V${at(top + high)}H${at(zero + high)}z`
    : `M${at(zero)} ${top}h${at(high)}v${at(high)}h${at(-high)}z`;
  return (
    box("av-cost-projections", zero - far, top, far - near, high) +
    (feed_forward ? box("av-cost-feed_forward", zero - near, top, near, high) : "") +
    `<path class="av-cost-products" d="${meets}"/>` +
    (values.crossing <= LONGEST ? box("av-crossing", zero, top, edge, edge) : "") +
    grip("width", [at(zero - far), at(top + high / 2)], knob) +
    grip("length", [at(zero + high), at(top + high)], knob)
  );
};
const percent = (share) => `${fixed(100 * share, 1)}%`;
// The same parts as one bar, whose length is the whole layer. Narrow parts have
// their names too, because a line leads from each part to its name.
const barOf = ({ shares }, { left, across, bar }) => {
  let from = 0;
  return shares
    .map((share, k) => {
      const [x, wide] = [left + across * from, across * share];
      from += share;
      const foot = bar.top + bar.high;
      const middle = left + (across / 3) * (k + 0.5);
      const named =
        `<path class="av-scale" d="M${at(x + wide / 2)} ${at(foot)}L${at(middle)} ${at(foot + 10)}"/>` +
        words(NAMES[k], middle, foot + 25) +
        words(percent(share), middle, foot + 42);
      return box(`av-cost-${PARTS[k]}`, x, bar.top, wide, bar.high) + (share ? named : "");
    })
    .join("");
};
const formulas = ({ network, skipped }) => [
  "8 T d²",
  `${8 * MATRICES[network]} T d²`,
  skipped ? "2 T (T + 1) d" : "4 T² d",
];
const table = (state, { flops, total, shares }) => {
  const row = (name, formula, n, share) =>
    `<tr><th scope="row">${name}</th><td>${formula}</td><td>${whole(n)}</td>` +
    `<td>${percent(share)}</td></tr>`;
  const signs = formulas(state);
  return (
    `<table class="av-grid av-of-layer"><caption>FLOPs of one layer</caption><thead><tr><td></td>` +
    `<th scope="col">formula</th><th scope="col">FLOPs</th><th scope="col">share</th></tr></thead>` +
    `<tbody>${PARTS.map((key, k) =>
      row(
        `<span class="av-swatch av-cost-${key}" aria-hidden="true"></span>${NAMES[k]}`,
        signs[k],
        flops[key],
        shares[k],
      ),
    ).join("")}${row("layer", "sum", total, 1)}</tbody></table>`
  );
};

const figure = {
  name: "quadratic",
  card: { part: ".av-cost", box: "54 14 300 130" },
  controls: [
    {
      key: "T",
      kind: "range",
      label: "tokens T",
      first: 4096,
      about: "Tokens of the text",
      min: 1,
      max: LONGEST,
      step: 1,
    },
    {
      key: "d",
      kind: "stops",
      label: "width d",
      first: 768,
      about: "Width of the model",
      stops: range(WIDEST / 128).map((k) => 128 * (k + 1)),
    },
    {
      key: "network",
      kind: "choice",
      label: "feed-forward network",
      first: "two matrices",
      about: "The feed-forward network, whose matrices are d by 4 d",
      options: Object.keys(MATRICES),
    },
    {
      key: "skipped",
      kind: "flag",
      label: "skip the hidden half",
      first: false,
      about: "Leave out the pairs that a causal mask hides",
    },
  ],
  lead: ["preset"],
  presetLabel: "a text",
  presets: {
    "GPT-2 small, its longest": { T: 1024, d: 768, network: "two matrices" },
    "GPT-2 medium, its longest": { T: 1024, d: 1024, network: "two matrices" },
    "six widths long": { T: 4608, d: 768, network: "two matrices" },
    "very long": { T: 10240, d: 768, network: "two matrices" },
  },
  // A short text, a very long one, and the length at which both are nearly equal.
  opening: { from: [{ T: 256 }, { T: 10240 }], ms: 4800 },
  compute,
  view: (state, values, own, narrow) => {
    const { T, d } = state;
    const shape = boxIn(narrow);
    const { width, zero, top, bar } = shape;
    const label =
      `FLOPs of one layer as areas: one row for each of ${count(T, "token")}; on the left what the ` +
      `token takes alone, on the right a unit for each key`;
    return (
      `<svg class="av-cost" role="img" aria-label="${label}" viewBox="0 0 ${width} ` +
      `${at(bar.top + bar.high + 48)}">` +
      words(`alone: ${2 + 2 * MATRICES[state.network]} d`, zero - 8, top - 10, "end") +
      words(`with others: ${state.skipped ? "up to " : ""}T`, zero + 8, top - 10, "start") +
      areas(state, values, shape) +
      `${axis(shape, narrow)}${barOf(values, shape)}</svg>` +
      say(
        `With ${count(T, "token")} and width ${whole(d)}, the two products take ` +
          `${percent(values.shares[2])} of the FLOPs: half or more from ` +
          `${whole(values.crossing)} tokens upward. Twice the tokens take ` +
          `${fixed(values.doubled)} times the FLOPs.`,
      ) +
      folded("FLOPs of one layer", table(state, values))
    );
  },
  handles: (state, values, own, narrow) => {
    const { projections, feed_forward } = sides(state);
    const widths = (projections + feed_forward) / state.d;
    const { zero, top, unit } = boxIn(narrow);
    return [
      {
        id: "length",
        name: "length of the text",
        keys: ["T"],
        at: [zero + state.T * unit, top + state.T * unit],
        read: ([x, y]) => ({ T: (x - zero + y - top) / (2 * unit) }),
      },
      {
        id: "width",
        name: "width of the model",
        keys: ["d"],
        at: [zero - widths * state.d * unit, top + (state.T * unit) / 2],
        read: ([x]) => ({ d: (zero - x) / (widths * unit) }),
      },
    ];
  },
};

export default figureModule(figure);
