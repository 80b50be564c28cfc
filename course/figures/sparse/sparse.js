// Sparse: one query and sixteen tokens, of which it reads a subset.

import { count, dot, fixed, range, softmax } from "../kit/numbers.js";
import { textAt } from "../kit/svg.js";
import { grip } from "../kit/handles.js";
import { figureModule, say } from "../kit/common.js";

const VALUES = [3, 5, 2, 9, 4, 6, 1, 7, 2, 8, 5, 3, 6, 4, 7, 2];
const S = VALUES.length;
const TOKENS = range(S);
// The attention scores of three queries.
const QUERIES = {
  "a name far back": [
    0.21, -0.52, 0.63, 4.5, 0.94, -0.33, 0.12, -0.81, 0.45, 0.72, -0.24, 0.36, -0.67, 0.54, 1.07,
    1.42,
  ],
  "the last few words": [
    -0.51, 0.13, -0.22, 0.44, -0.65, 0.02, 0.31, -0.14, 0.25, 0.63, 1.06, 0.82, 1.64, 2.21, 2.73,
    3.25,
  ],
  "the whole text": [
    0.31, -0.22, 0.16, 0.24, -0.37, 0.42, 0.03, -0.14, 0.22, -0.26, 0.37, 0.11, -0.33, 0.18, -0.02,
    0.09,
  ],
};
// A second column of the indexer's keys, which attention does not use.
const DISTURBANCE = [
  1.131, 0.463, -0.717, -1.279, 1.623, 0.247, -0.436, 1.349, 0.938, -0.557, 0.691, -1.066, 1.472,
  0.385, -0.829, 0.573,
];
const WAYS = ["indexer", "blocks", "window", "exact scores"];
// FLOPs per token with the sizes of DeepSeek-V3.2: a score and a value of 128
// heads with widths of 576 and 512, and an index score of 64 heads of width 128.
const SCORE = 2 * 128 * 576;
const VALUE = 2 * 128 * 512;
const INDEX = 2 * 64 * 128;

// --- which tokens are read ------------------------------------------------------

// The keys in descending order of their numbers; of equal numbers, the earlier
// comes first.
const ordered = (numbers) => range(numbers.length).sort((a, b) => numbers[b] - numbers[a] || a - b);
const meansOf = (scores, length) =>
  range(S / length).map((i) => {
    const block = scores.slice(i * length, (i + 1) * length);
    return block.reduce((a, b) => a + b, 0) / length;
  });
// The number by which each token is ranked.
const picksOf = (state, scores) =>
  ({
    indexer: () => scores.map((s, j) => Math.max(s + state.error * DISTURBANCE[j], 0)),
    blocks: () => {
      const means = meansOf(scores, state.length);
      return TOKENS.map((j) => means[Math.floor(j / state.length)]);
    },
    window: () => TOKENS.map((j) => j + 1),
    "exact scores": () => scores,
  })[state.way]();
// The tokens that are read with a budget of k: as many blocks as fit, but at
// least one.
const readWith = (k, state, order) => {
  const whole = state.way === "blocks" ? state.length : 1;
  return order.slice(0, Math.max(1, Math.floor(k / whole)) * whole);
};
const choosingOf = ({ way, length }) =>
  ({ indexer: S * INDEX, blocks: (S / length) * SCORE, window: 0, "exact scores": S * SCORE })[way];

const compute = (state) => {
  const scores = QUERIES[state.query];
  const weights = softmax(scores);
  const picks = picksOf(state, scores);
  const order = ordered(picks);
  const weightOf = (tokens) => tokens.reduce((sum, j) => sum + weights[j], 0);
  const sets = TOKENS.map((i) => readWith(i + 1, state, order));
  const read = sets[state.k - 1];
  const chosen = TOKENS.map((j) => read.includes(j));
  const best = ordered(scores);
  const answer = dot(softmax(scores, chosen), VALUES);
  const whole = dot(weights, VALUES);
  const scored = state.way === "exact scores";
  return {
    weights,
    picks,
    chosen,
    answer,
    whole,
    missed: weightOf(TOKENS.filter((j) => !chosen[j])),
    covered: sets.map(weightOf),
    best: TOKENS.map((i) => weightOf(best.slice(0, i + 1))),
    choosing: choosingOf(state),
    reading: read.length * (scored ? VALUE : SCORE + VALUE),
    all: S * (SCORE + VALUE),
  };
};

// --- drawing ------------------------------------------------------------------------

// The axis of the tokens, and of the budgets, in each of the two drawings.
const axisOf = (width) => {
  const [left, right] = [62, width - 10];
  const unit = (right - left) / S;
  return {
    ...{ width, left, right, unit },
    middle: (j) => left + (j + 0.5) * unit,
    kAt: (k) => left + k * unit,
    // The longest bar leaves room for its number.
    costAt: (flops) => left + (flops / MOST) * (right - left - 40),
  };
};
// The bars keep one scale in all states: the highest bars are 0.79 and 6.06.
const WEIGHT = { top: 26, foot: 106, most: 0.8 };
const PICK = { top: 158, zero: 206, foot: 214, mostOf: { score: 6, position: S } };
const COVER = { top: 254, foot: 344 };
const COST = { top: 404, step: 28, high: 18 };
// The cost of choosing blocks of two and then reading all of them, beside reading
// all.
const MOST = S * (SCORE + VALUE) + (S / 2) * SCORE;
const at = (x) => +x.toFixed(1);
const coverAt = (share) => COVER.foot - share * (COVER.foot - COVER.top);
const [WIDE, NARROW] = [640, 360].map(axisOf);

const bar = (kind, j, from, to, { middle, unit }) =>
  `<rect class="${kind}" x="${at(middle(j) - 0.36 * unit)}" ` +
  `y="${at(Math.min(from, to))}" width="${at(0.72 * unit)}" ` +
  `height="${at(Math.abs(from - to))}"/>`;
// Bars from a line of zero, and the two numbers of their axis.
const barsOn = (kind, numbers, chosen, { zero, top, most }, axis) => {
  const { left, right } = axis;
  const y = (x) => zero - (x / most) * (zero - top);
  const tick = (x) => textAt(x, left - 8, y(x) + 4, "end", `${kind}-tick`);
  const rule = (x) => `<path class="av-rule" d="M${left} ${at(y(x))}H${right}"/>`;
  const bars = numbers.map((x, j) =>
    bar(`${kind}${chosen[j] ? "" : " av-skipped"}`, j, zero, y(x), axis),
  );
  return [0, most].map((x) => rule(x) + tick(x)).join("") + bars.join("");
};
const weightBars = ({ weights, chosen }, axis) =>
  barsOn("av-share", weights, chosen, { ...WEIGHT, zero: WEIGHT.foot }, axis);
const pickBars = ({ way }, { picks, chosen }, axis) => {
  const most = PICK.mostOf[way === "window" ? "position" : "score"];
  return barsOn("av-pick", picks, chosen, { ...PICK, most }, axis);
};
const columns = ({ chosen }, { kAt, unit }) =>
  TOKENS.map(
    (j) =>
      `<rect class="av-token-read" opacity="${chosen[j] ? 1 : 0}" x="${at(kAt(j) + 1)}" ` +
      `y="${WEIGHT.top - 6}" width="${at(unit - 2)}" height="${PICK.foot - WEIGHT.top + 12}" rx="4"/>`,
  );
const curveOf = (kind, shares, { kAt }) =>
  `<path class="${kind}" d="${[0, ...shares]
    .map((share, k) => `${k ? "L" : "M"}${at(kAt(k))} ${at(coverAt(share))}`)
    .join("")}"/>`;
const NAMES = {
  indexer: "index score",
  blocks: "mean score of the block",
  window: "position",
  "exact scores": "score of attention",
};
// The position of the line's name, clear of the curve and the knob. The curve
// does not fall, so to the right of a high knob there is room below it.
const besideLine = (k, y, { kAt }) => {
  const low = y > coverAt(0.4);
  const left = k > (low ? 3 : 9);
  const beside = left ? COVER.foot - 10 : y + 28;
  return [kAt(k) + (left ? -12 : 12), low ? coverAt(0.6) : beside, left ? "end" : "start"];
};
const knob = '<circle class="av-knob" r="8"/>';
const drawing = (state, values, axis) => {
  const { left, right, middle, kAt, costAt } = axis;
  const { chosen, covered, best, missed, choosing, reading, all } = values;
  const [x, y] = [kAt(state.k), coverAt(covered[state.k - 1])];
  const percent = (flops) => `${fixed((100 * flops) / all, 0)}%`;
  const rows = [
    ["all", 0, all],
    ["a part", choosing, reading],
  ];
  return (
    columns(values, axis).join("") +
    textAt("weight", left - 8, (WEIGHT.top + WEIGHT.foot) / 2, "end", "av-sparse-label") +
    weightBars(values, axis) +
    textAt("value", left - 8, WEIGHT.foot + 20, "end", "av-sparse-label") +
    VALUES.map((v, j) =>
      textAt(
        v,
        middle(j),
        WEIGHT.foot + 20,
        "middle",
        `av-sparse-value${chosen[j] ? "" : " av-skipped"}`,
      ),
    ).join("") +
    textAt(`chosen by: ${NAMES[state.way]}`, left, PICK.top - 10, "start", "av-sparse-label") +
    pickBars(state, values, axis) +
    textAt(
      "weight that is read, with a budget of",
      left,
      COVER.top - 12,
      "start",
      "av-sparse-label",
    ) +
    [0, 1]
      .map(
        (share) =>
          textAt(share, left - 8, coverAt(share) + 4, "end", "av-sparse-label") +
          `<path class="av-rule" d="M${left} ${at(coverAt(share))}H${right}"/>`,
      )
      .join("") +
    [1, 4, 8, 12, 16]
      .map((k) => textAt(k, kAt(k), COVER.foot + 18, "middle", "av-budget"))
      .join("") +
    curveOf("av-cover av-cover-best", best, axis) +
    curveOf("av-cover", covered, axis) +
    `<path class="av-missing" d="M${at(x)} ${at(y)}V${COVER.top}"/>` +
    textAt(`missed ${fixed(missed)}`, ...besideLine(state.k, y, axis), "av-loss") +
    grip("k", [at(x), at(y)], knob) +
    textAt("FLOPs to read", left, COST.top - 12, "start", "av-sparse-label") +
    rows
      .map(([name, choose, read], i) => {
        const top = COST.top + i * COST.step;
        const [a, b, c] = [costAt(0), costAt(choose), costAt(choose + read)];
        const piece = (kind, from, to) =>
          `<rect class="${kind}" x="${at(from)}" y="${top}" width="${at(to - from)}" ` +
          `height="${COST.high}"/>`;
        return (
          textAt(name, left - 8, top + 14, "end", "av-sparse-label") +
          (choose ? piece("av-choosing", a, b) : "") +
          piece("av-reading", b, c) +
          textAt(percent(choose + read), c + 6, top + 14, "start", "av-percent")
        );
      })
      .join("")
  );
};

const sentence = (state, { chosen, missed, answer, whole, choosing, reading, all }) => {
  const who = {
    indexer: "The indexer",
    blocks: `The choice of blocks of ${state.length}`,
    window: "The window",
    "exact scores": "The choice by exact scores",
  }[state.way];
  return (
    `${who} reads ${chosen.filter(Boolean).length} of ${count(S, "token")} and misses ` +
    `${fixed(missed)} of the weight: the answer is ${fixed(answer, 3)} instead of ` +
    `${fixed(whole, 3)}, for ${fixed((100 * (choosing + reading)) / all, 0)}% of the FLOPs.`
  );
};

const figure = {
  name: "sparse",
  lead: ["way", "query"],
  card: { part: ".av-sparse", box: "50 14 584 340" },
  controls: [
    {
      key: "k",
      kind: "range",
      label: "budget k",
      first: 4,
      about: "How many tokens the query may read",
      min: 1,
      max: S,
      step: 1,
    },
    {
      key: "way",
      kind: "choice",
      label: "chosen by",
      first: "indexer",
      about: "What decides which tokens are read",
      options: WAYS,
    },
    {
      key: "query",
      kind: "choice",
      label: "the query needs",
      first: "a name far back",
      about: "Which tokens the weights of full attention are on",
      options: Object.keys(QUERIES),
    },
    {
      key: "error",
      kind: "range",
      label: "error of the indexer",
      first: 1,
      about: "How strongly a second column disturbs the index scores",
      min: 0,
      max: 3,
      step: 0.1,
      when: ({ way }) => way === "indexer",
    },
    {
      key: "length",
      kind: "stops",
      label: "length of a block",
      first: 4,
      about: "How many tokens a block has",
      stops: [2, 4, 8],
      when: ({ way }) => way === "blocks",
    },
  ],
  compute,
  view: (state, values, own, narrow) => {
    const axis = narrow ? NARROW : WIDE;
    const label =
      "The weights of sixteen tokens, the numbers by which some are chosen, the weight that is " +
      "read with each budget, and the FLOPs beside those of reading all";
    return (
      `<svg class="av-sparse" role="img" aria-label="${label}" viewBox="0 0 ${axis.width} ` +
      `${COST.top + 2 * COST.step}">${drawing(state, values, axis)}</svg>${say(sentence(state, values))}`
    );
  },
  handles: (state, { covered }, own, narrow) => {
    const { kAt, left, unit } = narrow ? NARROW : WIDE;
    return [
      {
        id: "k",
        name: "budget k",
        keys: ["k"],
        value: `${count(state.k, "token")}, weight ${fixed(covered[state.k - 1])}`,
        at: [kAt(state.k), coverAt(covered[state.k - 1])],
        read: ([u]) => ({ k: (u - left) / unit }),
      },
    ];
  },
  // All tokens first, then fewer: most of the weight remains for long.
  opening: { from: [{ k: 16 }, { k: 9 }], ms: 4500 },
};

export default figureModule(figure);
