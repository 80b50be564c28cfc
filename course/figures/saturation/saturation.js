// Saturation: how the width d_k spreads the scores and saturates the softmax.

import { entropy, fixed, range, softmax } from "../kit/numbers.js";
import { chart, frameOf, textAt } from "../kit/svg.js";
import { uniform } from "../kit/random.js";
import { figureModule, say } from "../kit/common.js";

const QUERIES = 32;
const MOST_KEYS = 64;
const WIDEST = 1024;
const EDGE = 64; // the histogram runs from -EDGE to EDGE
const BIN = 4; // the width of its bins, so that a wide one is still seen

// Standard normal numbers, two at a time, by the Box-Muller transform.
const normals = (seed, first) => {
  const row = new Float64Array(WIDEST);
  for (let c = 0; c < WIDEST; c += 2) {
    const radius = Math.sqrt(-2 * Math.log(uniform(seed, first + c)));
    const angle = 2 * Math.PI * uniform(seed, first + c + 1);
    row[c] = radius * Math.cos(angle);
    row[c + 1] = radius * Math.sin(angle);
  }
  return row;
};
// All numbers drawn from a seed, kept until the seed changes. Narrower vectors
// are the first columns of these.
const drawn = { seed: NaN, rows: [] };
const rowsOf = (seed) => {
  if (drawn.seed !== seed) {
    drawn.rows = range(QUERIES + MOST_KEYS).map((i) => normals(seed, i * WIDEST));
    drawn.seed = seed;
  }
  return drawn.rows;
};
// The dot products of two queries with each key, two keys at a time: there are two
// million products, and each number that is read serves two of them.
const dotsOf = ([q, r], keys, d_k) => {
  const rows = [[], []];
  for (let k = 0; k < keys.length; k += 2) {
    const [a, b] = [keys[k], keys[k + 1] ?? q];
    let qa = 0;
    let qb = 0;
    let ra = 0;
    let rb = 0;
    for (let i = 0; i < d_k; i += 1) {
      qa += q[i] * a[i];
      qb += q[i] * b[i];
      ra += r[i] * a[i];
      rb += r[i] * b[i];
    }
    rows[0].push(qa, qb);
    rows[1].push(ra, rb);
  }
  return rows.map((row) => row.slice(0, keys.length));
};
const mean = (numbers) => numbers.reduce((a, b) => a + b, 0) / numbers.length;

// The outline of adjacent bars, from `start`.
const bars = (heights, start, width) => [
  [start, 0],
  ...heights.flatMap((h, k) => [
    [start + k * width, h],
    [start + (k + 1) * width, h],
  ]),
  [start + heights.length * width, 0],
];
const sizeOf = (narrow) =>
  narrow ? { width: 360, height: 196, right: 42 } : { width: 306, height: 300, right: 42 };
// The number of scores in each bin; scores beyond the edge are not counted.
const histogram = (flat) => {
  const counts = Array((2 * EDGE) / BIN).fill(0);
  for (const s of flat) if (Math.abs(s) < EDGE) counts[Math.floor((s + EDGE) / BIN)] += 1;
  return counts;
};
// The axis is fixed while a slider moves. With few keys a bar may be higher than
// the axis; then the bar is cut off, and the text says so.
const TOP = 0.6;
// One standard deviation on both sides, and what is not in the picture.
const spreadMarks = (spread, notes, axes) => {
  const { px, py, left, top } = frameOf(axes);
  const [a, b] = [-spread, spread].map((s) => +px(s).toFixed(1));
  const [foot, head] = [py(0), py(TOP)];
  return (
    `<path class="av-of-spread" d="M${a} ${foot}V${head}M${b} ${foot}V${head}"/>` +
    notes
      .map((words, k) => textAt(words, left + 4, top + 16 + 17 * k, "start", "av-note-in"))
      .join("")
  );
};
const rule = ({ d_k, scale }) => `${scale ? "scaled" : "not scaled"}, d_k = ${d_k}`;
const sharesOf = ({ counts }, { S }) => counts.map((n) => n / (QUERIES * S));
const cut = (shares) => shares.map((share) => Math.min(share, TOP));
const descending = (row) => [...row].sort((a, b) => b - a);
const isSame = (a, b) => figure.controls.every(({ key }) => a[key] === b[key]);

const figure = {
  name: "saturation",
  lead: ["d_k", "scale"],
  card: { part: ".av-of-weights", box: "44 8 228 254" },
  controls: [
    {
      key: "d_k",
      kind: "power",
      label: "width d_k",
      first: 64,
      about: "Width of queries and keys",
      min: 1,
      max: WIDEST,
    },
    {
      key: "scale",
      kind: "flag",
      label: "divide by √d_k",
      first: false,
      about: "Divide the scores by the root of d_k",
    },
    {
      key: "S",
      kind: "range",
      label: "keys S",
      first: 32,
      about: "Keys",
      min: 2,
      max: MOST_KEYS,
      step: 1,
    },
    {
      key: "seed",
      kind: "number",
      label: "seed",
      first: 0,
      about: "Which random numbers",
      min: 0,
      max: 9999,
      step: 1,
    },
  ],
  compute: ({ d_k, scale, S, seed }) => {
    const Q = rowsOf(seed).slice(0, QUERIES);
    const K = rowsOf(seed).slice(QUERIES, QUERIES + S);
    const dots = range(QUERIES / 2).flatMap((i) => dotsOf(Q.slice(2 * i, 2 * i + 2), K, d_k));
    const divided = dots.map((row) => row.map((x) => x / Math.sqrt(d_k)));
    const scores = scale ? divided : dots;
    const flat = scores.flat();
    const middle = mean(flat);
    const weights = scores.map((row) => softmax(row));
    return {
      counts: histogram(flat),
      spread: Math.sqrt(mean(flat.map((s) => (s - middle) ** 2))),
      weights: weights[0],
      largest: mean(weights.map((row) => Math.max(...row))),
      entropy: mean(weights.map(entropy)),
    };
  },
  view: (state, values, own, narrow) => {
    const size = sizeOf(narrow);
    const { d_k, scale, S: keys } = state;
    const { counts, spread, weights, largest } = values;
    const last = own?.ghost && !isSame(own.ghost.state, state) ? own.ghost : null;
    const all = QUERIES * keys;
    const shares = sharesOf(values, state);
    const highest = Math.max(...shares);
    const beyond = all - counts.reduce((a, b) => a + b, 0);
    const axes = { x: [-EDGE, EDGE], y: [0, TOP], ...size };
    const notes = [
      highest > TOP && `cut: ${fixed(highest, 3)}`,
      beyond && `outside: ${fixed((100 * beyond) / all, 1)}%`,
    ].filter(Boolean);
    const ghost = (points) => ({ points, name: "", dash: "3 3", ghost: true });
    const scores = chart({
      label:
        `Distribution of the scores of ${QUERIES} queries and ${keys} keys: standard deviation ` +
        `${fixed(spread)}`,
      lines: [
        { points: bars(cut(shares), -EDGE, BIN), name: "", filled: true },
        ...(last ? [ghost(bars(cut(sharesOf(last.values, last.state)), -EDGE, BIN))] : []),
      ],
      xlabel: "score",
      ylabel: "share of the scores",
      over: spreadMarks(spread, notes, axes),
      ...axes,
    });
    const sorted = descending(weights);
    const across = 4 * Math.ceil(Math.max(keys, last?.state.S ?? 0) / 4);
    const one = chart({
      kind: " av-of-weights",
      label: `The weights of the first query, largest first: ${sorted
        .slice(0, 3)
        .map((w) => fixed(w))
        .join(", ")}${keys > 3 ? " and so on" : ""}`,
      x: [0, across],
      y: [0, 1],
      lines: [
        { points: bars(sorted, 0, 1), name: "", filled: true },
        {
          points: [
            [0, 1 / keys],
            [across, 1 / keys],
          ],
          name: "even",
          dash: "6 4",
        },
        ...(last ? [ghost(bars(descending(last.values.weights), 0, 1))] : []),
      ],
      xlabel: "keys of the first query, by weight",
      ylabel: "weight",
      ...size,
    });
    const before = last
      ? `Dashed: the last state (${rule(last.state)}), largest weight ` +
        `${fixed(last.values.largest, 3)}`
      : "";
    const text =
      `${scale ? "Scaled" : "Not scaled"}, d_k = ${d_k}: the scores have standard deviation ` +
      `${fixed(spread)}. The largest weight is ${fixed(largest, 3)} on average over ${QUERIES} ` +
      `queries (even would be ${fixed(1 / keys, 3)}).`;
    return (
      `<div class="av-row av-pair"><div>${scores}</div><div>${one}</div></div>` +
      `<p class="av-caption av-last-state">${before}</p>${say(text)}`
    );
  },
  // From narrow vectors to wide ones, and then to the width of the page.
  opening: { from: [{ d_k: 1 }, { d_k: WIDEST }], ms: 4800 },
  // The previous state stays as a ghost; a whole drag of a slider counts as one
  // change.
  live: ({ form, model }) => {
    const read = () => Object.fromEntries(figure.controls.map(({ key }) => [key, model.get(key)]));
    let painted; // the state that was drawn last
    let ghost;
    let moving = false;
    form.addEventListener("input", () => {
      if (!moving) ghost = { state: painted, values: figure.compute(painted) };
      moving = true;
    });
    form.addEventListener("change", () => (moving = false));
    return {
      own: () => {
        painted = read();
        return ghost && { ghost };
      },
    };
  },
};

export default figureModule(figure);
