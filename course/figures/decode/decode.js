// Decoding: what each step computes, with a KV cache and without one.

import { count, dot, fixed, range, softmax, sum } from "../kit/numbers.js";
import { colorOf, inkOn } from "../kit/svg.js";
import { grip } from "../kit/handles.js";
import { figureModule, say } from "../kit/common.js";

// The lesson's text, repeated, and its rows. Queries of length √2 ln 2 make each
// weight a power of two over a sum of powers of two.
const WORDS = "a rose is a rose is a rose".split(" ");
const ROWS = { a: [1, 0], rose: [0, 1], is: [1, 1] };
const T = WORDS.length;
const KEYS = WORDS.map((word) => ROWS[word]);
const QUERIES = KEYS.map((row) => row.map((x) => x * Math.SQRT2 * Math.LN2));
const VALUES = KEYS.map(([a, rose]) => a + 2 * rose);

// How often steps 1 to `step` compute each score. A full pass computes all pairs
// of the tokens so far; with a cache only the newest query meets each key.
const countsOf = (step, cache) => {
  const counts = range(T).map(() => Array(T).fill(0));
  for (let t = 1; t <= step; t += 1)
    for (let i = cache ? t - 1 : 0; i < t; i += 1) for (let j = 0; j < t; j += 1) counts[i][j] += 1;
  return counts;
};
const keysOf = (step, cache) => (cache ? step : (step * (step + 1)) / 2);

// --- drawing --------------------------------------------------------------

const CELL = 25;
const [LEFT, TOP] = [50, 40];
const EDGE = LEFT + T * CELL;
const HANDLE = EDGE + 14;
const [STORE, WIDE] = [EDGE + 34, 30];
const SIZE = [STORE + WIDE + 8, TOP + T * CELL + 24];
const middle = (start, k) => start + (k + 0.5) * CELL;
const text = (words, x, y, anchor = "middle", kind = "") =>
  `<text${kind && ` class="${kind}"`} x="${x}" y="${y}" text-anchor="${anchor}">${words}</text>`;
const square = (i, j, looks) =>
  `<rect x="${LEFT + j * CELL}" y="${TOP + i * CELL}" width="${CELL}" height="${CELL}" ${looks}/>`;

const grid = ({ step, cache }, counts) =>
  counts.flatMap((row, i) =>
    row.map((n, j) => {
      const now = i < step && j < step && (!cache || i === step - 1);
      const shade = colorOf(n / T);
      const drawn = square(i, j, n ? `fill="${shade}"` : 'class="av-kv-none"');
      const ring = now ? square(i, j, 'class="av-in-step"') : "";
      const written = n
        ? `<text x="${middle(LEFT, j)}" y="${middle(TOP, i) + 4}" text-anchor="middle" ` +
          `style="fill:${inkOn(n / T)}">${n}</text>`
        : "";
      return [drawn + written, ring];
    }),
  );
// A box for the key and the value of each token: computed now, or read from the
// cache.
const store = ({ step, cache }) =>
  range(T).map((t) => {
    const kind = t >= step ? "kv-none" : cache && t < step - 1 ? "kept-row" : "decoded";
    const word = { "kv-none": "", "kept-row": "kept", decoded: "new" }[kind];
    const y = TOP + t * CELL + 3;
    return (
      `<rect class="av-${kind}" x="${STORE}" y="${y}" width="${WIDE}" height="${CELL - 6}"/>` +
      text(word, STORE + WIDE / 2, y + 13, "middle", "av-kv-small")
    );
  });

const picture = (state, { counts }) => {
  const { step } = state;
  const cells = grid(state, counts);
  const steps = step === 1 ? "step 1 computes" : `steps 1 to ${step} compute`;
  const label =
    `How often ${steps} the score of each query with each key, ` +
    `${state.cache ? "with" : "without"} a cache`;
  return (
    `<p class="av-caption" aria-hidden="true">How often each score is computed</p>` +
    `<svg class="av-decoding" role="img" aria-label="${label}" viewBox="0 0 ${SIZE.join(" ")}">` +
    text("queries", LEFT - 6, TOP - 6, "end", "av-kv-small av-query") +
    text("keys", (LEFT + EDGE) / 2, TOP - 22, "middle", "av-kv-small av-key") +
    text("K, V", STORE + WIDE / 2, TOP - 6, "middle", "av-kv-small") +
    WORDS.map((word, j) => text(word, middle(LEFT, j), TOP - 6, "middle", "av-kv-small")).join("") +
    WORDS.map((word, i) => {
      const kind = i === step - 1 ? "av-kv-reads" : "";
      return text(word, LEFT - 6, middle(TOP, i) + 4, "end", kind);
    }).join("") +
    cells.map(([drawn]) => drawn).join("") +
    cells.map(([, ring]) => ring).join("") +
    store(state).join("") +
    grip("step", [HANDLE, middle(TOP, step - 1)], '<path class="av-knob" d="M-8 0L6 -9V9Z"/>') +
    text("outlined: computed in this step", LEFT, SIZE[1] - 6, "start", "av-kv-small") +
    "</svg>"
  );
};

const sentence = ({ step, cache }, values) => {
  const { keys, scores, otherKeys, otherScores, output } = values;
  return (
    `${cache ? "With" : "Without"} a cache, ${step === 1 ? "the first step computes" : `${step} steps compute`} ` +
    `${count(keys, "key")} and ${count(scores, "score")}, against ${count(otherKeys, "key")} and ` +
    `${count(otherScores, "score")} ${cache ? "without" : "with"} one. ` +
    `The output is ${fixed(output, 3)} either way.`
  );
};

const figure = {
  name: "decode",
  lead: ["cache"],
  controls: [
    {
      key: "step",
      kind: "range",
      label: "step",
      first: T,
      about: "How many tokens have been read",
      min: 1,
      max: T,
      step: 1,
    },
    {
      key: "cache",
      kind: "flag",
      label: "keep keys and values",
      first: true,
      about: "Store keys and values from step to step",
    },
  ],
  compute: ({ step, cache }) => {
    const [counts, before, others] = [
      countsOf(step, cache),
      countsOf(step - 1, cache),
      countsOf(step, !cache),
    ];
    const [scores, earlier, otherScores] = [counts, before, others].map((rows) => sum(rows.flat()));
    const query = QUERIES[step - 1];
    const visible = KEYS.slice(0, step).map((key) => dot(query, key) / Math.SQRT2);
    const weights = softmax(visible);
    return {
      counts,
      keys: keysOf(step, cache),
      newKeys: keysOf(step, cache) - keysOf(step - 1, cache),
      otherKeys: keysOf(step, !cache),
      scores,
      newScores: scores - earlier,
      otherScores,
      output: dot(weights, VALUES.slice(0, step)),
    };
  },
  view: (state, values) => picture(state, values) + say(sentence(state, values)),
  handles: ({ step }) => [
    {
      id: "step",
      name: "the step",
      keys: ["step"],
      at: [HANDLE, middle(TOP, step - 1)],
      read: ([, v]) => ({ step: (v - TOP) / CELL + 0.5 }),
    },
  ],
  opening: { from: [{ step: 1, cache: false }, { cache: false }, { step: 1 }], ms: 5000 },
};

export default figureModule(figure);
