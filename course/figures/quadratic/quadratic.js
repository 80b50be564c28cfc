// One layer's FLOPs as areas: a square for the pairs of tokens, and a strip for
// the work on each token alone.

import { count, fixed, range, whole } from "../kit/numbers.js";
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

const BOX = { width: 484, left: 8, top: 30 };
const MOST = 2 + 2 * 3; // the most widths that the strip may take
const UNIT = 450 / (MOST * WIDEST + LONGEST);
const ZERO = BOX.left + MOST * WIDEST * UNIT;
const FOOT = BOX.top + LONGEST * UNIT;
const BAR = { top: FOOT + 46, high: 24 };
const at = (x) => +x.toFixed(2);
const words = (text, x, y, anchor = "middle", kind = "") =>
  `<text${kind && ` class="${kind}"`} x="${at(x)}" y="${at(y)}" text-anchor="${anchor}">` +
  `${text}</text>`;
const box = (kind, x, wide, high) =>
  `<rect class="${kind}" x="${at(x)}" y="${BOX.top}" width="${at(wide)}" height="${at(high)}"/>`;

const axis = range(LONGEST / 2048 + 1)
  .map((k) => {
    const x = ZERO + 2048 * k * UNIT;
    return (
      `<path class="av-scale" d="M${at(x)} ${at(FOOT)}v5"/>` +
      words(whole(2048 * k), x, FOOT + 18, "middle", "av-ticked")
    );
  })
  .join("");
const knob = '<circle class="av-cost-knob" r="7"/>';

const areas = (state, values) => {
  const { T, skipped } = state;
  const high = T * UNIT;
  const { projections, feed_forward } = sides(state);
  const [near, far] = [feed_forward * UNIT, (projections + feed_forward) * UNIT];
  const edge = values.crossing * UNIT;
  const meets = skipped
    ? `M${at(ZERO)} ${BOX.top}V${at(BOX.top + high)}H${at(ZERO + high)}z`
    : `M${at(ZERO)} ${BOX.top}h${at(high)}v${at(high)}h${at(-high)}z`;
  return (
    box("av-cost-projections", ZERO - far, far - near, high) +
    (feed_forward ? box("av-cost-feed_forward", ZERO - near, near, high) : "") +
    `<path class="av-cost-products" d="${meets}"/>` +
    (values.crossing <= LONGEST ? box("av-crossing", ZERO, edge, edge) : "") +
    grip("width", [at(ZERO - far), at(BOX.top + high / 2)], knob) +
    grip("length", [at(ZERO + high), at(BOX.top + high)], knob)
  );
};
const percent = (share) => `${fixed(100 * share, 1)}%`;
// The same parts as one bar, whose length is the whole layer. Narrow parts have
// their names too, because a line leads from each part to its name.
const bar = ({ shares }) => {
  let from = 0;
  return shares
    .map((share, k) => {
      const [x, wide] = [BOX.left + 450 * from, 450 * share];
      from += share;
      const foot = BAR.top + BAR.high;
      const middle = BOX.left + 75 + 150 * k;
      const named =
        `<path class="av-scale" d="M${at(x + wide / 2)} ${at(foot)}L${middle} ${at(foot + 10)}"/>` +
        words(NAMES[k], middle, foot + 24) +
        words(percent(share), middle, foot + 40);
      return (
        `<rect class="av-cost-${PARTS[k]}" x="${at(x)}" y="${at(BAR.top)}" width="${at(wide)}" ` +
        `height="${BAR.high}"/>` +
        (share ? named : "")
      );
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
  view: (state, values) => {
    const { T, d } = state;
    const label =
      `FLOPs of one layer as areas: one row for each of ${count(T, "token")}; on the left what the ` +
      `token takes alone, on the right a unit for each key`;
    return (
      `<svg class="av-cost" role="img" aria-label="${label}" viewBox="0 0 ${BOX.width} ` +
      `${at(BAR.top + BAR.high + 46)}">` +
      words(`alone: ${2 + 2 * MATRICES[state.network]} d`, ZERO - 8, BOX.top - 10, "end") +
      words(`with others: ${state.skipped ? "up to " : ""}T`, ZERO + 8, BOX.top - 10, "start") +
      areas(state, values) +
      `<path class="av-scale" d="M${at(ZERO)} ${at(FOOT)}H${at(ZERO + LONGEST * UNIT)}` +
      `M${at(ZERO)} ${BOX.top - 6}V${at(FOOT)}"/>${axis}` +
      words("tokens T", ZERO + (LONGEST / 2) * UNIT, FOOT + 34) +
      `${bar(values)}</svg>` +
      say(
        `With ${count(T, "token")} and width ${whole(d)}, the two products take ` +
          `${percent(values.shares[2])} of the layer's FLOPs. They take at least as much as the rest from ` +
          `${whole(values.crossing)} tokens upward. Twice as many tokens take ` +
          `${fixed(values.doubled)} times the FLOPs.`,
      ) +
      table(state, values)
    );
  },
  handles: (state) => {
    const { projections, feed_forward } = sides(state);
    const widths = (projections + feed_forward) / state.d;
    return [
      {
        id: "length",
        name: "length of the text",
        keys: ["T"],
        at: [ZERO + state.T * UNIT, BOX.top + state.T * UNIT],
        read: ([x, y]) => ({ T: (x - ZERO + y - BOX.top) / (2 * UNIT) }),
      },
      {
        id: "width",
        name: "width of the model",
        keys: ["d"],
        at: [ZERO - widths * state.d * UNIT, BOX.top + (state.T * UNIT) / 2],
        read: ([x]) => ({ d: (ZERO - x) / (widths * UNIT) }),
      },
    ];
  },
};

export default figureModule(figure);
