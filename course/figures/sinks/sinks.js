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

// Shares of 100 coins in whole coins: the largest remainders get what rounding down
// leaves.
const inCoins = (shares) => {
  const exact = shares.map((share) => 100 * share);
  const coins = exact.map((x) => Math.floor(x + 1e-9));
  const rest = (j) => +(exact[j] - coins[j]).toFixed(9);
  const first = range(shares.length).sort((a, b) => rest(b) - rest(a) || a - b);
  for (const j of first.slice(0, 100 - sum(coins))) coins[j] += 1;
  return coins;
};
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
  const spent = WAYS.map((way) => factor(way) * sum(weights[way]));
  return {
    scores,
    weights: WAYS.map((way) => weights[way]),
    spent,
    coins: WAYS.map((way, i) =>
      inCoins([...weights[way].map((w) => factor(way) * w), Math.max(1 - spent[i], 0)]),
    ),
    answers: WAYS.map((way) => factor(way) * dot(weights[way], VALUES)),
    taken: withSink.at(-1),
  };
};

// --- drawing: the scores above, the coins below them, and what the row answers ------

const WIDE = { width: 640, left: 70, chip: 36, rest: 8, coin: 12.4, abreast: 7, bar: 34 };
const NARROW = { width: 360, left: 36, chip: 44, rest: 4, coin: 9.4, abreast: 5, bar: 26 };
const BAND = { top: 76, foot: 190 }; // of the scores
const FLOOR = 428; // of the coins
const LINE = 512; // of the answer
const TALL = 556;
const at = (x) => +x.toFixed(1);
const BIN = VALUES.length; // the column behind those of the keys
const WORTH = Math.max(...VALUES);

const boxOf = (narrow) => {
  const box = narrow ? NARROW : WIDE;
  const column = (box.width - box.left - 4) / (BIN + 1);
  return { ...box, column, across: (j) => at(box.left + (j + 0.5) * column) };
};
const py = (s) => at(BAND.foot - ((s - LOW) / (HIGH - LOW)) * (BAND.foot - BAND.top));
const scoreAt = (y) => LOW + ((BAND.foot - y) / (BAND.foot - BAND.top)) * (HIGH - LOW);
const gateY = (gate) => at(BAND.foot - gate * (BAND.foot - BAND.top));
const gateAt = (y) => (BAND.foot - y) / (BAND.foot - BAND.top);
const seen = (yes) => (yes ? "" : ' opacity="0"');
const said = (text, x, y, { anchor = "middle", kind = "", shown = true } = {}) =>
  textAt(text, x, y, anchor, kind).replace("<text", `<text${seen(shown)}`);

// The column of each coin, and how many of it are below. What a row without help
// has in place stays, so that only the others move.
const placesOfCoins = (coins, way) => {
  const [plain, now] = [coins[0], coins[WAYS.indexOf(way)]];
  const missing = now.flatMap((n, j) =>
    range(Math.max(n - plain[j], 0)).map((k) => [j, plain[j] + k]),
  );
  return plain.flatMap((n, j) => range(n).map((k) => (k < now[j] ? [j, k] : missing.shift())));
};
// A row of coins grows from its middle: 0, -1, 1, -2, 2.
const fromMiddle = (m) => Math.ceil(m / 2) * (m % 2 ? -1 : 1);
const coinsOf = (box, coins, way) =>
  placesOfCoins(coins, way)
    .map(([j, k]) => {
      const x = box.across(j) + fromMiddle(k % box.abreast) * box.coin;
      const y = FLOOR - (Math.floor(k / box.abreast) + 0.5) * box.coin;
      return (
        `<circle class="av-coin${j === BIN ? " av-withheld" : ""}" cx="${at(x)}" cy="${at(y)}" ` +
        `r="${at(box.coin / 2 - 0.7)}"/>`
      );
    })
    .join("");
const topOf = (box, n) => FLOOR - Math.ceil(n / box.abreast) * box.coin;

const bar = (box, kind, j, s, shown = true) => {
  const [a, b] = [py(0), py(s)];
  return (
    `<rect class="${kind}"${seen(shown)} x="${at(box.across(j) - box.bar / 2)}" ` +
    `y="${Math.min(a, b)}" width="${box.bar}" height="${at(Math.abs(a - b))}"/>`
  );
};
// What the way makes of the scores.
const inEffect = (state, { scores }) =>
  ({
    cap: scores.map((s) => capped(s, state.cap)),
    norm: fitsOf(state).map((fit) => GAIN * fit),
  })[state.way] ?? scores;

const NAMES = { none: "nothing", sink: "a sink", gate: "a gate", cap: "a cap", norm: "a norm" };
const drawChips = (box, { way: chosen }) => {
  const wide = box.width / WAYS.length;
  return WAYS.map(
    (way, i) =>
      `<g data-handle="way-${way}"><rect class="av-help${way === chosen ? " av-taken" : ""}" ` +
      `x="${at(i * wide + 2)}" y="1" width="${at(wide - 4)}" height="${box.chip}" rx="9"/>` +
      `${said(NAMES[way], (i + 0.5) * wide, box.chip / 2 + 5.5)}</g>`,
  ).join("");
};
// The bin, whose lid is open for a sink and for a gate.
const drawBin = (box, open) => {
  const half = (box.abreast * box.coin) / 2 + 3;
  const [x, top] = [box.across(BIN), FLOOR - 206];
  const lid = open ? `l${at(-half * 0.7)} -13` : `l${at(-2 * half)} 0`;
  return (
    `<path class="av-bin${open ? "" : " av-shut-bin"}" ` +
    `d="M${at(x - half)} ${top}V${FLOOR}H${at(x + half)}V${top}"/>` +
    `<path class="av-flap${open ? "" : " av-shut-bin"}" d="M${at(x + half)} ${top}${lid}"/>`
  );
};
const drawScores = (box, state, values) => {
  const { way } = state;
  // What a way does not have begins from nothing.
  const [sink, gate, cap] = [
    ["sink", 0],
    ["gate", 0],
    ["cap", HIGH],
  ].map(([key, none]) => (key === way ? state[key] : none));
  const effect = inEffect(state, values);
  const right = box.across(BIN);
  const rules = [LOW, 0, HIGH].map(
    (s) =>
      `<path class="av-rule" d="M${box.left} ${py(s)}H${box.width}"/>` +
      said(tick(s), box.left - 6, py(s) + 4.5, { anchor: "end", kind: "av-scale" }),
  );
  const lines = [1, -1].map((sign) => `M${box.left} ${py(sign * cap)}H${right}`);
  const level =
    {
      sink: fixed(state.sink, 1),
      gate: `× ${fixed(state.gate)}`,
      cap: `cap ${setting(state.cap)}`,
    }[way] ?? "";
  return (
    rules.join("") +
    said("score", 0, BAND.top - 16, { anchor: "start", kind: "av-scale" }) +
    KEYS.map(
      (j) =>
        said(fixed(effect[j]), box.across(j), BAND.top - 16, { kind: "av-score" }) +
        bar(box, "av-scored", j, effect[j]) +
        `<rect class="av-tip" x="${at(box.across(j) - box.bar / 2)}" ` +
        `y="${at(py(effect[j]) - 1.5)}" width="${box.bar}" height="3"/>` +
        bar(box, "av-ghost", j, values.scores[j], Math.abs(effect[j] - values.scores[j]) > 1e-9),
    ).join("") +
    bar(box, "av-drain", BIN, sink, way === "sink") +
    `<path class="av-gauge"${seen(way === "gate")} d="M${right} ${BAND.foot}V${gateY(gate)}"/>` +
    `<path class="av-cap"${seen(way === "cap")} d="${lines.join("")}"/>` +
    said(level, right, BAND.top - 16, { kind: "av-said" })
  );
};
const drawAnswer = (box, answer) => {
  const x = (v) => at(box.left + 12 + (v / WORTH) * (box.width - box.left - 36));
  const text = `answer ${fixed(answer, 1)}`;
  const least = Math.min(...VALUES);
  const within = Math.min(Math.max(x(answer), box.left + 34), box.width - 44);
  return (
    `<rect class="av-lowest" x="${x(0)}" y="${LINE - 7}" width="${at(x(least) - x(0))}" height="14"/>` +
    `<path class="av-base" d="M${x(0)} ${LINE}H${x(WORTH)}"/>` +
    [0, ...VALUES]
      .map(
        (v) =>
          `<circle class="av-worth-at" cx="${x(v)}" cy="${LINE}" r="${v ? 3.5 : 2}"/>` +
          said(v, x(v), LINE + 20, { kind: v ? "av-worth" : "av-scale" }),
      )
      .join("") +
    `<path class="av-outcome" transform="translate(${x(answer)} ${LINE})" d="M0 -9L9 0L0 9L-9 0Z"/>` +
    said(text, within, LINE - 16, { kind: "av-said" }) +
    said("shaded: no mix of the values reaches here", x(0) - 4, LINE + 38, {
      ...{ anchor: "start", kind: "av-scale" },
    })
  );
};
// The one handle that a way has.
const knobsOf = (state, narrow) => {
  const x = boxOf(narrow).across(BIN);
  const all = {
    sink: { at: [x, py(state.sink)], read: ([, y]) => ({ sink: scoreAt(y) }) },
    gate: { at: [x, gateY(state.gate)], read: ([, y]) => ({ gate: gateAt(y) }) },
    cap: { at: [x, py(state.cap)], read: ([, y]) => ({ cap: scoreAt(y) }) },
  };
  return all[state.way] ? [{ id: state.way, keys: [state.way], ...all[state.way] }] : [];
};
const drawing = (state, values, narrow) => {
  const box = boxOf(narrow);
  const knob = `<rect class="av-knob" x="${-box.bar / 2 - 3}" y="-5" width="${box.bar + 6}" height="10" rx="5"/>`;
  const { way } = state;
  const i = WAYS.indexOf(way);
  const coins = values.coins[i];
  const open = ["sink", "gate"].includes(way);
  return (
    drawChips(box, state) +
    drawScores(box, state, values) +
    said("100 coins, one per percent of the weight, rounded", 0, BAND.foot + 24, {
      ...{ anchor: "start", kind: "av-scale" },
    }) +
    `<path class="av-base" d="M${box.left} ${FLOOR}H${box.width}"/>` +
    drawBin(box, open) +
    coinsOf(box, values.coins, way) +
    coins
      .map((n, j) =>
        said(n, box.across(j), topOf(box, n) - 6, { kind: "av-pile", shown: j < BIN || open }),
      )
      .join("") +
    said("value", 0, FLOOR + 36, { anchor: "start", kind: "av-scale" }) +
    [...VALUES, 0]
      .map(
        (v, j) =>
          said(j < BIN ? `key ${j}` : open ? way : "bin shut", box.across(j), FLOOR + 18) +
          said(v, box.across(j), FLOOR + 36, { kind: "av-worth", shown: j < BIN || open }),
      )
      .join("") +
    drawAnswer(box, values.answers[i]) +
    knobsOf(state, narrow)
      .map(({ id, at: place }) => grip(id, place, knob))
      .join("")
  );
};

// The effect of the chosen method on this row.
const told = (state, { scores, coins, answers }) => {
  const i = WAYS.indexOf(state.way);
  const most = Math.max(...scores);
  const answer = `The answer is ${fixed(answers[i], 1)}`;
  const below = answers[i] < Math.min(...VALUES) ? `${answer}, below every value.` : `${answer}.`;
  const all = "and all 100 coins are handed out to keys.";
  return {
    none: `The row must hand out all 100 coins, whatever its scores. ${below}`,
    sink: `${coins[i][BIN]} of 100 coins drop into the sink instead of going to keys. ${below}`,
    gate: `The row hands out all 100 coins, but the gate holds back ${coins[i][BIN]}. ${below}`,
    cap:
      `The cap turns the best score ${fixed(most, 2)} into ` +
      `${fixed(capped(most, state.cap), 2)}, ${all} ${below}`,
    norm:
      `The norm gives the query length ${GAIN} instead of ${fixed(state.length, 1)}, ` +
      `${all} ${below}`,
  }[state.way];
};

const nothing = [0.1, -0.05, 0.05, 0, -0.1];
const asFits = (fits) => Object.fromEntries(fits.map((fit, j) => [`fit${j}`, fit]));
const figure = {
  name: "sinks",
  card: { part: ".av-sinks", box: "60 190 590 250" },
  lead: ["preset"],
  controls: [
    {
      key: "way",
      kind: "choice",
      label: "what the row may do",
      first: "sink",
      about: "What the row is given, so that it need not spend all of its weight",
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
      when: ({ way }) => way === "sink",
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
      when: ({ way }) => way === "gate",
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
      when: ({ way }) => way === "cap",
    },
  ],
  presets: {
    "matches nothing": { ...asFits(nothing), length: 5 },
    "matches key 2": { ...asFits([-0.2, 0.1, 0.95, -0.1, 0]), length: 5 },
    "matches two keys": { ...asFits([-0.3, 0.8, 0, 0.8, -0.1]), length: 5 },
    "long and sure": { ...asFits([-0.2, 0.1, 0.95, 0.6, 0]), length: 10 },
  },
  presetLabel: "the query",
  // The sink's score rises, and coins drop into it.
  opening: { from: [{ way: "sink", sink: LOW }], ms: 4500 },
  compute,
  view: (state, values, own, narrow) => {
    const label =
      "The scores of five keys, and below them 100 coins: how a row spends its weight with " +
      NAMES[state.way];
    return (
      `<svg class="av-sinks" role="img" aria-label="${label}" viewBox="0 0 ` +
      `${boxOf(narrow).width} ${TALL}">${drawing(state, values, narrow)}</svg>` +
      say(told(state, values))
    );
  },
  handles: (state, values, own, narrow) => [
    ...WAYS.map((way) => ({
      ...{ id: `way-${way}`, group: "ways", once: true, on: way === state.way },
      name: `the row has ${NAMES[way]}`,
      press: () => ({ way }),
    })),
    ...knobsOf(state, narrow).map((knob) => ({
      ...knob,
      name: figure.controls.find(({ key }) => key === knob.id).label,
    })),
  ],
};

export default figureModule(figure);
