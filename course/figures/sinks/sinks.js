// Sinks: how one query distributes its weight, and what limits its scores.

import { dot, fixed, range, setting, softmax, sum, tick } from "../kit/numbers.js";
import { textAt } from "../kit/svg.js";
import { grip } from "../kit/handles.js";
import { figureModule, say } from "../kit/common.js";

const VALUES = [10, 40, 20, 30, 50];
const KEYS = range(VALUES.length);
const GAIN = 4; // the length of a query after its norm
const [LOW, HIGH] = [-10, 10];
const WAYS = ["none", "sink", "gate", "cap", "norm"];

const capped = (s, c) => c * Math.tanh(s / c);
const fitsOf = (state) => KEYS.map((j) => state[`fit${j}`]);
const compute = (state) => {
  const fits = fitsOf(state);
  const scores = fits.map((fit) => state.length * fit);
  const plain = softmax(scores);
  const withSink = softmax([...scores, state.sink]);
  const weights = {
    none: plain,
    sink: withSink.slice(0, -1),
    gate: plain,
    cap: softmax(scores.map((s) => capped(s, state.cap))),
    norm: softmax(fits.map((fit) => GAIN * fit)),
  };
  const factor = (way) => (way === "gate" ? state.gate : 1);
  return {
    scores,
    weights: WAYS.map((way) => weights[way]),
    spent: WAYS.map((way) => factor(way) * sum(weights[way])),
    answers: WAYS.map((way) => factor(way) * dot(weights[way], VALUES)),
    taken: withSink.at(-1),
  };
};

// --- drawing: the scores above, and below a bar for each way to spend the weight ------

const BOX = { width: 440, left: 62, right: 372 };
const SCORE = { top: 16, foot: 196 };
const ROW = { top: 272, step: 30, high: 20 };
const at = (x) => +x.toFixed(1);
const across = (j) => BOX.left + ((j + 0.5) / (KEYS.length + 1)) * (BOX.right - BOX.left);
const py = (s) => SCORE.foot - ((s - LOW) / (HIGH - LOW)) * (SCORE.foot - SCORE.top);
const scoreAt = (y) => LOW + ((SCORE.foot - y) / (SCORE.foot - SCORE.top)) * (HIGH - LOW);
const px = (share) => BOX.left + share * (BOX.right - BOX.left);
const shareAt = (u) => (u - BOX.left) / (BOX.right - BOX.left);
const rowAt = (i) => ROW.top + i * ROW.step;

const ticks = [-10, -5, 0, 5, 10]
  .map(
    (s) =>
      `<path class="av-rule" d="M${BOX.left} ${at(py(s))}H${BOX.right}"/>` +
      textAt(tick(s), BOX.left - 8, py(s) + 4, "end", "av-scale"),
  )
  .join("");
const column = (kind, j, s) => {
  const [a, b] = [py(0), py(s)];
  return (
    `<rect class="${kind}" x="${at(across(j) - 15)}" y="${at(Math.min(a, b))}" width="30" ` +
    `height="${at(Math.abs(a - b))}"/>`
  );
};
const knob = '<rect class="av-knob" x="-15" y="-4" width="30" height="8" rx="4"/>';
// A bar of length one: a piece for each key, and the weight that is not spent.
const bar = (way, i, { weights, spent }, state) => {
  const factor = way === "gate" ? state.gate : 1;
  let from = 0;
  const pieces = weights[i].map((w, j) => {
    const [a, b] = [px(from), px((from += factor * w))];
    const name = b - a > 15 ? textAt(j, (a + b) / 2, rowAt(i) + 15, "middle", "av-piece") : "";
    return (
      `<rect class="av-spent av-spent-${j % 2}" x="${at(a)}" y="${rowAt(i)}" ` +
      `width="${at(b - a)}" height="${ROW.high}"/>${name}`
    );
  });
  const rest = px(1) - px(spent[i]);
  return (
    pieces.join("") +
    (rest > 0.05
      ? `<rect class="av-rest" x="${at(px(spent[i]))}" y="${rowAt(i)}" width="${at(rest)}" ` +
        `height="${ROW.high}"/>`
      : "")
  );
};
const drawing = (state, values) => {
  const cap = (sign) => `M${BOX.left} ${at(py(sign * state.cap))}H${BOX.right}`;
  const columns = KEYS.map(
    (j) =>
      column("av-scored", j, values.scores[j]) +
      textAt(`key ${j}`, across(j), SCORE.foot + 20) +
      textAt(VALUES[j], across(j), SCORE.foot + 38, "middle", "av-worth") +
      grip(`fit-${j}`, [at(across(j)), at(py(values.scores[j]))], knob),
  );
  const rows = WAYS.map(
    (way, i) =>
      textAt(way, BOX.left - 8, rowAt(i) + 15, "end", way === state.way ? "av-picked" : "") +
      bar(way, i, values, state) +
      textAt(fixed(values.answers[i], 1), BOX.width - 6, rowAt(i) + 15, "end", "av-answer-is"),
  );
  const picked = WAYS.indexOf(state.way);
  const half = KEYS.length;
  return (
    ticks +
    `<path class="av-cap" d="${cap(1)}${cap(-1)}"/>` +
    textAt("score", 2, 12, "start", "av-scale") +
    textAt("value", BOX.left - 8, SCORE.foot + 38, "end", "av-scale") +
    columns.join("") +
    column("av-drain", half, state.sink) +
    textAt("sink", across(half), SCORE.foot + 20) +
    textAt(0, across(half), SCORE.foot + 38, "middle", "av-worth") +
    grip("sink", [at(across(half)), at(py(state.sink))], knob) +
    textAt("cap", BOX.right + 26, py(state.cap) + 4, "start", "av-scale") +
    grip("cap", [BOX.right + 12, at(py(state.cap))], '<path class="av-knob" d="M-9 0L7 -8V8Z"/>') +
    textAt(
      "weight, in the row of the gate times the gate",
      BOX.left,
      ROW.top - 8,
      "start",
      "av-scale",
    ) +
    textAt("answer", BOX.width - 6, ROW.top - 8, "end", "av-scale") +
    `<rect class="av-of-choice" x="2" y="${rowAt(picked) - 4}" width="${BOX.width - 4}" ` +
    `height="${ROW.high + 8}" rx="6"/>` +
    rows.join("") +
    grip(
      "gate",
      [at(px(state.gate)), rowAt(2) + ROW.high / 2],
      '<rect class="av-knob" x="-4" y="-12" width="8" height="24" rx="4"/>',
    )
  );
};

// The effect of the chosen method on this row.
const told = (state, { taken, scores }) => {
  const most = Math.max(...scores);
  return {
    none: "A row without help spends all of its weight, whatever its scores.",
    sink: `The sink's score ${fixed(state.sink, 1)} takes weight ${fixed(taken)} from the keys.`,
    gate: `The gate multiplies the answer by ${fixed(state.gate)}; the weights stay.`,
    cap:
      `The cap ${setting(state.cap)} turns the best score ${fixed(most, 3)} into ` +
      `${fixed(capped(most, state.cap), 3)}.`,
    norm:
      `The norm gives the query length ${GAIN} instead of ${fixed(state.length, 1)}, so the best ` +
      `score ${fixed(most, 1)} becomes ${fixed((GAIN * most) / state.length, 1)}.`,
  }[state.way];
};

const nothing = [0.1, -0.05, 0.05, 0, -0.1];
const asFits = (fits) => Object.fromEntries(fits.map((fit, j) => [`fit${j}`, fit]));
const figure = {
  name: "sinks",
  card: { part: ".av-sinks", box: "54 256 330 160" },
  controls: [
    {
      key: "way",
      kind: "choice",
      label: "what the row may do",
      first: "sink",
      about: "The row of the picture that the sentence is about",
      options: WAYS,
    },
    ...KEYS.map((j) => ({
      key: `fit${j}`,
      kind: "range",
      label: `fit of key ${j}`,
      first: nothing[j],
      about: `The cosine of the query and key ${j}`,
      min: -1,
      max: 1,
      step: 0.05,
    })),
    {
      key: "length",
      kind: "range",
      label: "length of the query",
      first: 5,
      about: "Each score is this length times a fit",
      min: 0.5,
      max: 10,
      step: 0.5,
    },
    {
      key: "sink",
      kind: "range",
      label: "score of the sink",
      first: 3,
      about: "The sink's score",
      min: LOW,
      max: HIGH,
      step: 0.1,
    },
    {
      key: "gate",
      kind: "range",
      label: "gate",
      first: 0.3,
      about: "What the answer of the gated row is multiplied by",
      min: 0,
      max: 1,
      step: 0.05,
    },
    {
      key: "cap",
      kind: "range",
      label: "cap of the scores",
      first: 4,
      about: "The soft cap",
      min: 0.5,
      max: HIGH,
      step: 0.5,
    },
  ],
  presets: {
    "matches nothing": { ...asFits(nothing), length: 5 },
    "matches key 2": { ...asFits([-0.2, 0.1, 0.95, -0.1, 0]), length: 5 },
    "matches two keys": { ...asFits([-0.3, 0.8, 0, 0.8, -0.1]), length: 5 },
    "long and sure": { ...asFits([-0.2, 0.1, 0.95, 0.6, 0]), length: 10 },
  },
  presetLabel: "the query",
  // A query that matches a key, and then a query that matches no key.
  opening: {
    from: [
      { ...asFits([-0.2, 0.1, 0.95, -0.1, 0]), sink: -10 },
      { ...asFits([-0.2, 0.1, 0.95, -0.1, 0]), sink: 3 },
    ],
    ms: 4500,
  },
  compute,
  view: (state, values) => {
    const i = WAYS.indexOf(state.way);
    const label =
      "The scores of five keys and of a sink, and below five bars of length one: how a row " +
      "spends its weight with none, a sink, a gate, a cap and a norm";
    return (
      `<svg class="av-sinks" role="img" aria-label="${label}" viewBox="0 0 ${BOX.width} ` +
      `${rowAt(WAYS.length)}">${drawing(state, values)}</svg>` +
      say(
        `With ${state.way === "none" ? "nothing added" : `a ${state.way}`}, this row spends ` +
          `${fixed(sum(values.weights[i]))} and answers ${fixed(values.answers[i], 1)}. ` +
          told(state, values),
      )
    );
  },
  handles: (state, { scores }) => [
    ...KEYS.map((j) => ({
      id: `fit-${j}`,
      name: `score of key ${j}`,
      keys: [`fit${j}`],
      value: `score ${fixed(scores[j])}`,
      at: [across(j), py(scores[j])],
      read: ([, y]) => ({ [`fit${j}`]: scoreAt(y) / state.length }),
    })),
    {
      id: "sink",
      name: "score of the sink",
      keys: ["sink"],
      at: [across(KEYS.length), py(state.sink)],
      read: ([, y]) => ({ sink: scoreAt(y) }),
    },
    {
      id: "cap",
      name: "cap of the scores",
      keys: ["cap"],
      at: [BOX.right + 12, py(state.cap)],
      read: ([, y]) => ({ cap: scoreAt(y) }),
    },
    {
      id: "gate",
      name: "gate",
      keys: ["gate"],
      at: [px(state.gate), rowAt(2) + ROW.high / 2],
      read: ([u]) => ({ gate: shareAt(u) }),
    },
  ],
};

export default figureModule(figure);
