// The influence test: change a token, and see which outputs change.

import { count, dot, fixed, inWords, range, softmax, transpose } from "../kit/numbers.js";
import { escape } from "../kit/svg.js";
import { grid } from "../kit/tables.js";
import { figureModule, say } from "../kit/common.js";
import { grip } from "../kit/handles.js";

const NAMES = ["the", "cat", "sat", "down"];
const ROWS = range(NAMES.length);
const Q = [
  [1, 0, 2, 1],
  [0, 1, 1, 2],
  [0, 2, 1, 3],
  [1, 0, 2, 1],
];
const K = ROWS.map((j) => ROWS.map((c) => (c === j ? 2 : 0)));
const V = [
  [1, 0],
  [0, 1],
  [1, 1],
  [2, 0],
];
// The change of the key, and of the query, of the changed token.
const STEP = [1, -1, 0.5, 1.5];
const TOLERANCE = 1e-9; // smaller changes are rounding

const causal = ROWS.map((i) => ROWS.map((j) => j <= i));
const both = (A, f) => A.map((row, i) => row.map((x, j) => f(x, i, j)));
const masked = (mask) => (x) => x.map((row, i) => softmax(row, mask[i]));
const divided = (row) => {
  const total = row.reduce((a, b) => a + b, 0);
  return row.map((w) => w / total);
};
// A softmax that knows no mask and passes NaN on.
const plain = (x) => x.map((row) => divided(row.map((s) => Math.exp(s - Math.max(...row)))));
// Programs: from a mask and a list of real keys to a function from scores to
// weights.
const PROGRAMS = {
  right: (mask) => masked(mask),
  transposed: (mask) => masked(transpose(mask)),
  "off by one": (_, real) => masked(both(causal, (x, i, j) => j <= i + 1 && real[j])),
  opposite: (mask) => masked(both(mask, (may) => !may)),
  "or for and": (_, real) => masked(both(causal, (x, i, j) => x || real[j])),
  "scores × mask": (mask) => (x) => plain(both(x, (s, i, j) => s * mask[i][j])),
  "weights × mask": (mask) => (x) => both(plain(x), (w, i, j) => w * mask[i][j]),
  "weights × mask ÷ sum": (mask) => (x) => both(plain(x), (w, i, j) => w * mask[i][j]).map(divided),
  "fill −1e9": (mask) => (x) => plain(both(x, (s, i, j) => (mask[i][j] ? s : -1e9))),
  "0 × −inf": (mask) => (x) => plain(both(x, (s, i, j) => s + (1 - mask[i][j]) * -Infinity)),
  "wrong axis": (mask) => (x) =>
    transpose(
      transpose(x).map((column, j) =>
        softmax(
          column,
          ROWS.map((i) => mask[i][j]),
        ),
      ),
    ),
};

const attend = (weightsOf, q, k, v) => {
  const scores = q.map((row) => k.map((key) => dot(row, key) / Math.sqrt(k[0].length)));
  const weights = weightsOf(scores);
  const columns = transpose(v);
  return { weights, output: weights.map((row) => columns.map((column) => dot(row, column))) };
};
const maskOf = ({ padding }) => both(causal, (x, i, j) => x && !(padding && j === 0));
const compute = (state) => {
  const mask = maskOf(state);
  const real = ROWS.map((j) => !(state.padding && j === 0));
  const weightsOf = PROGRAMS[state.program](mask, real);
  const { weights, output } = attend(weightsOf, Q, K, V);
  const changed = ROWS.map((j) => {
    const more = (X, step) => X.map((row, i) => (i === j ? row.map((x, c) => x + step[c]) : row));
    const q = state.queries ? more(Q, STEP) : Q;
    return attend(weightsOf, q, more(K, STEP), more(V, [1, 1])).output;
  });
  // NaN is near nothing, so it counts as a change.
  const near = (a, b) => a.every((x, c) => Math.abs(x - b[c]) <= TOLERANCE);
  const influence = ROWS.map((i) => ROWS.map((j) => !near(changed[j][i], output[i])));
  const tally = (moves, may) =>
    influence
      .flatMap((row, i) => row.map((x, j) => x === moves && mask[i][j] === may))
      .filter(Boolean).length;
  return {
    mask,
    weights,
    output,
    after: changed[NAMES.indexOf(state.token)],
    influence,
    leaks: tally(true, false),
    misses: tally(false, true),
  };
};
const kindOf = ({ mask, influence }, i, j) =>
  influence[i][j] ? (mask[i][j] ? "moves" : "leak") : mask[i][j] ? "miss" : "still";

// --- drawing: tokens above, outputs below, and a line for each influence ---------------

const WIDE = { width: 484, wide: 96, first: 62, pitch: 120 };
const NARROW = { width: 360, wide: 82, first: 48, pitch: 88 };
const BOX = { token: 44, output: 150, high: 34 };
const at = (x) => +x.toFixed(1);
const text = (words, x, y, kind = "") =>
  `<text${kind && ` class="${kind}"`} x="${at(x)}" y="${at(y)}" text-anchor="middle">` +
  `${escape(words)}</text>`;
const plate = (kind, x, y, wide) =>
  `<rect class="${kind}" x="${at(x - wide / 2)}" y="${at(y - BOX.high / 2)}" ` +
  `width="${wide}" height="${BOX.high}" rx="6"/>`;
const numbers = (row) =>
  row.some(Number.isNaN) ? "not a number" : row.map((x) => fixed(x)).join("  ");

const picture = (state, values, { wide, first, pitch }) => {
  const across = (k) => first + pitch * k;
  const j = NAMES.indexOf(state.token);
  const lines = ROWS.map((i) => {
    const kind = kindOf(values, i, j);
    const [x, y] = [across(j), BOX.token + BOX.high / 2];
    const [u, v] = [across(i), BOX.output - BOX.high / 2];
    return `<path class="av-touch av-touch-${kind}" d="M${x} ${y}L${u} ${v}"/>`;
  });
  const tokens = NAMES.map((name, k) =>
    grip(
      `token-${k}`,
      [across(k), BOX.token],
      plate(k === j ? "av-given-token av-changed" : "av-given-token", 0, 0, wide) +
        text(name, 0, 5),
    ),
  );
  const outputs = NAMES.map((name, i) => {
    const kind = kindOf(values, i, j);
    const x = across(i);
    const moved = values.influence[i][j];
    return (
      plate(`av-out av-out-${kind}`, x, BOX.output, wide) +
      text(kind === "moves" || kind === "still" ? name : `${name}: ${kind}`, x, BOX.output + 5) +
      text(numbers(values.output[i]), x, BOX.output + 36, "av-before") +
      (moved ? text(numbers(values.after[i]), x, BOX.output + 54, "av-after") : "")
    );
  });
  return (
    `<text x="${at(first - wide / 2)}" y="15">press a token: its key and value change` +
    `${state.queries ? ", and its query" : ""}</text>` +
    `${lines.join("")}${tokens.join("")}${outputs.join("")}`
  );
};
const WORDS = { moves: "x", still: "·", leak: "leak", miss: "miss" };
const influenceTable = (state, values) => {
  const head = NAMES.map(
    (name) => `<th scope="col"${name === state.token ? ' class="av-asked"' : ""}>${name}</th>`,
  );
  const rows = NAMES.map((name, i) => {
    const cells = ROWS.map((j) => {
      const kind = kindOf(values, i, j);
      return `<td class="av-infl av-infl-${kind}">${WORDS[kind]}</td>`;
    });
    return `<tr><th scope="row">${name}</th>${cells.join("")}</tr>`;
  });
  return (
    `<table class="av-grid av-influences"><caption>which output (row) changes with which ` +
    `token</caption><thead><tr><td></td>${head.join("")}</tr></thead>` +
    `<tbody>${rows.join("")}</tbody></table>`
  );
};
const listed = (some) => inWords(some.map((name) => `“${name}”`));
const sentence = (state, values) => {
  const j = NAMES.indexOf(state.token);
  const touched = NAMES.filter((_, i) => values.influence[i][j]);
  const leaks = NAMES.filter((_, i) => kindOf(values, i, j) === "leak");
  const right = !values.leaks && !values.misses;
  const moved = `the output${touched.length === 1 ? "" : "s"} of ${listed(touched)}`;
  const wrong = leaks.length
    ? `; ${leaks.length === 1 ? "that" : "those"} of ${listed(leaks)} must not move`
    : "";
  return (
    `Changing “${state.token}” moves ${touched.length ? moved : "no output"}${wrong}. With all ` +
    `tokens the test finds ${count(values.leaks, "leak")} and ${values.misses} ` +
    `${values.misses === 1 ? "miss" : "misses"}: this program ` +
    `${right ? "passes it" : "fails it"}.`
  );
};

const figure = {
  name: "influence",
  card: { part: ".av-test", box: "8 22 468 150" },
  controls: [
    {
      key: "program",
      kind: "choice",
      label: "program",
      first: "off by one",
      about: "How the program applies the mask",
      options: Object.keys(PROGRAMS),
    },
    {
      key: "token",
      kind: "choice",
      label: "token that is changed",
      first: "down",
      about: "The token whose key and value are changed",
      options: NAMES,
    },
    {
      key: "padding",
      kind: "flag",
      label: "the first token is padding",
      first: false,
      about: "Hide the first token from all queries, which leaves it a fully masked row",
    },
    {
      key: "queries",
      kind: "flag",
      label: "its query changes too",
      first: false,
      about: "Change the query of the token with its key and value",
    },
  ],
  // Two tokens in the correct program, and then the last of them in a wrong one.
  opening: {
    from: [
      { program: "right", token: "cat" },
      { program: "right", token: "down" },
    ],
    ms: 4600,
  },
  compute,
  view: (state, values, own, narrow) => {
    const box = narrow ? NARROW : WIDE;
    const label =
      `Tokens above, outputs below: lines lead from ${state.token} to the outputs that change ` +
      `with it`;
    const open = (i, j) => !Number.isNaN(values.weights[i][j]);
    const numeric = values.weights.flat().every((w) => !Number.isNaN(w));
    return (
      `<svg class="av-test" role="img" aria-label="${label}" viewBox="0 0 ${box.width} 212">` +
      `${picture(state, values, box)}</svg>` +
      say(sentence(state, values)) +
      `<div class="av-row">${influenceTable(state, values)}` +
      grid({
        label: numeric ? "weights, before the change" : "weights (· is not a number)",
        rows: NAMES,
        columns: NAMES,
        values: values.weights,
        open,
      }) +
      "</div>"
    );
  },
  handles: (state) =>
    NAMES.map((name, k) => ({
      id: `token-${k}`,
      name: `change ${name}`,
      group: "tokens",
      once: true,
      on: name === state.token,
      press: () => ({ token: name }),
    })),
};

export default figureModule(figure);
