// Saturation: how the width d_k spreads the scores and hardens the softmax.

const QUERIES = 32;
const MOST_KEYS = 64;
const WIDEST = 1024;
const EDGE = 64; // the histogram runs from -EDGE to EDGE, one score a bin

// Number k of a stream, from 0 to 1: mulberry32, whose state only counts.
const uniform = (seed, k) => {
  let t = seed + Math.imul(k + 1, 0x6d2b79f5);
  t = Math.imul(t ^ (t >>> 15), t | 1);
  t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
  return (((t ^ (t >>> 14)) >>> 0) + 0.5) / 2 ** 32;
};
// Standard normal numbers, two at a time, by Box and Muller.
const normals = (seed, first, n) => {
  const row = new Float64Array(n);
  for (let c = 0; c < n; c += 2) {
    const radius = Math.sqrt(-2 * Math.log(uniform(seed, first + c)));
    const angle = 2 * Math.PI * uniform(seed, first + c + 1);
    row[c] = radius * Math.cos(angle);
    row[c + 1] = radius * Math.sin(angle); // left out where the row ends before
  }
  return row;
};
// Wider vectors keep the numbers of the narrower ones and add more.
const vectors = (seed, first, n, d_k) =>
  range(n).map((i) => normals(seed, (first + i) * WIDEST, d_k));
const mean = (numbers) => numbers.reduce((a, b) => a + b, 0) / numbers.length;

// The outline of bars of width one, the first of which starts at `start`.
const bars = (heights, start) => [
  [start, 0],
  ...heights.flatMap((h, k) => [
    [start + k, h],
    [start + k + 1, h],
  ]),
  [start + heights.length, 0],
];
const SIZE = { width: 320, height: 220, right: 36 };
const nice = (x) => [0.02, 0.05, 0.1, 0.2, 0.5].find((top) => x <= top) ?? 1;

const figure = {
  name: "saturation",
  controls: [
    { key: "d_k", kind: "power", label: "width d_k", min: 1, max: WIDEST },
    { key: "scale", kind: "flag", label: "divide by √d_k" },
    { key: "S", kind: "range", label: "keys S", min: 2, max: MOST_KEYS, step: 1 },
    { key: "seed", kind: "number", label: "seed", min: 0, max: 9999, step: 1 },
  ],
  compute: ({ d_k, scale, S, seed }) => {
    const Q = vectors(seed, 0, QUERIES, d_k);
    const K = vectors(seed, QUERIES, S, d_k);
    const divisor = scale ? Math.sqrt(d_k) : 1;
    const scores = Q.map((q) => K.map((k) => dot(q, k) / divisor));
    const flat = scores.flat();
    const middle = mean(flat);
    const counts = Array(2 * EDGE).fill(0);
    for (const s of flat) if (Math.abs(s) < EDGE) counts[Math.floor(s + EDGE)] += 1;
    const weights = scores.map((row) => softmax(row));
    return {
      counts,
      spread: Math.sqrt(mean(flat.map((s) => (s - middle) ** 2))),
      weights: weights[0],
      largest: mean(weights.map((row) => Math.max(...row))),
      entropy: mean(weights.map(entropy)),
    };
  },
  view: ({ d_k, scale, S: keys }, { counts, spread, weights, largest, entropy: nats }) => {
    const all = QUERIES * keys;
    const shares = counts.map((n) => n / all);
    const beyond = all - counts.reduce((a, b) => a + b, 0);
    const scores = chart({
      label:
        `Distribution of the scores of ${QUERIES} queries and ${keys} keys: standard deviation ` +
        `${fixed(spread)}`,
      x: [-EDGE, EDGE],
      y: [0, nice(Math.max(...shares))],
      lines: [{ points: bars(shares, -EDGE), name: "", filled: true }],
      xlabel: "score",
      ylabel: "share of the scores",
      ...SIZE,
    });
    const sorted = [...weights].sort((a, b) => b - a);
    const one = chart({
      label: `The weights of the first query, largest first: ${sorted
        .slice(0, 3)
        .map((w) => fixed(w))
        .join(", ")}${keys > 3 ? " and so on" : ""}`,
      x: [0, 4 * Math.ceil(keys / 4)],
      y: [0, 1],
      lines: [
        { points: bars(sorted, 0), name: "", filled: true },
        {
          points: [
            [0, 1 / keys],
            [keys, 1 / keys],
          ],
          name: "even",
          dash: "6 4",
        },
      ],
      xlabel: "keys of the first query, by weight",
      ylabel: "weight",
      ...SIZE,
    });
    const outside = beyond
      ? ` ${fixed((100 * beyond) / all, 1)}% of them lie outside the picture.`
      : "";
    const text =
      `${scale ? "Scaled" : "Not scaled"}, d_k = ${d_k}, √d_k = ${fixed(Math.sqrt(d_k))}: ` +
      `the scores have standard deviation ${fixed(spread)}.${outside}` +
      ` Mean over ${QUERIES} queries: largest weight ${fixed(largest, 3)} (even would be ` +
      `${fixed(1 / keys, 3)}), entropy ${fixed(nats, 3)} nats of at most ` +
      `${fixed(Math.log(keys), 3)}.`;
    return `<div class="av-row av-pair"><div>${scores}</div><div>${one}</div></div>${say(text)}`;
  },
};

export default figureModule(figure);
