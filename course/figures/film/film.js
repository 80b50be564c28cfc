// Attention as a film: one query, from its words to its output. Either the rows
// of X serve as queries, keys and values at once, or three matrices project them
// first.

import {
  count,
  dot,
  fixed,
  grouped,
  matmul,
  range,
  setting,
  softmax,
  tick,
  transpose,
} from "../kit/numbers.js";
import { escape } from "../kit/svg.js";
import { THREE_TOKENS } from "../kit/controls.js";
import { shorten } from "../kit/kinds.js";
import { figureModule, say } from "../kit/common.js";
import { player } from "../kit/player.js";

const WIDTH = 360;
const NAME = 60; // where the words end
const START = NAME + 8; // and numbers begin
const CHIP = { width: 30, height: 17 };
const TOP = 28; // the query's height before it moves
const BAR = 9;
const COLUMNS = ["q·k", "÷√d", "exp", "weight"];
// Each step takes this long and is followed by a pause. A row that passes through
// a matrix visits each of its columns, which takes longer.
const MOVE = 900;
const VISIT = 1600;
const STAND = 500;

const ONE = "X";
const THREE = "X, W_Q, W_K, W_V";
const MADE = [
  {
    key: "W_Q",
    first: [
      [1, 0],
      [0, 1],
      [1, 0],
      [0, 1],
    ],
    shape: "(d, d_k)",
    about: "Makes queries; it and the other two have as many rows as `X` has columns",
  },
  {
    key: "W_K",
    first: [
      [1, 1],
      [1, 0],
      [0, 1],
      [1, 0],
    ],
    shape: "(d, d_k)",
    about: "Makes keys",
  },
  {
    key: "W_V",
    first: [
      [1, 0],
      [0, 1],
      [1, 1],
      [0, 1],
    ],
    shape: "(d, d_v)",
    about: "Makes values",
  },
];
const MATRICES = MADE.map(({ key }) => key);
const NUMBERS = { kind: "matrix", rows: [1, 4], columns: [1, 3], min: -2, max: 2 };

const through = ({ what }) => what === THREE;
const wordsOf = ({ words }) => words.split(" ");
const rowOf = ({ X, query }) => Math.min(query, X.length - 1);
const total = (row) => row.reduce((a, b) => a + b, 0);
const shape = (A) => `(${A.length}, ${A[0].length})`;
// The steps that project rows, one row per step: one query, all keys, all values.
// One more step moves all of them to where the query meets the keys.
const madeIn = (state) => (through(state) ? 2 * state.X.length + 1 : 0);
const ahead = (state) => (through(state) ? madeIn(state) + 1 : 0);
const lengthOf = (state) => ahead(state) + state.X.length + 4;

// The position of the film in steps, `ms` after it was at `state.at`.
const at = (state, ms) => {
  const end = lengthOf(state);
  const lasts = (time) => (time < madeIn(state) ? VISIT : MOVE);
  let [time, left] = [state.at, Math.max(ms, 0)];
  while (time < end && left >= lasts(time) + STAND) {
    left -= lasts(time) + STAND;
    time += 1;
  }
  return { at: Math.min(time + Math.min(left / lasts(time), 1), end) };
};

// --- the state at a time -------------------------------------------------

const smooth = (p) => p * p * (3 - 2 * p);
const clip = (x) => Math.min(Math.max(x, 0), 1);
const between = (a, b, p) => a + p * (b - a);
// The fraction of the way from `a` to `b` that `x` has covered, smoothed.
const part = (x, a, b) => smooth(clip((x - a) / (b - a)));
// The progress of a step, from 0 to 1. Steps count from 1.
const done = (time, step) => clip(time - (step - 1));
// In the first part of a step something moves; in the second, its number appears.
const moved = (time, step) => part(done(time, step), 0, 0.6);
const told = (time, step) => part(done(time, step), 0.6, 1);

// The rows of keys, below each other. Projected values stand below their keys,
// and between two rows there is room for the query.
const rowY = (state, j) => 88 + (through(state) ? 58 : 41) * j;

// The query visits each key and goes back up.
const queryY = (state, time) => {
  const n = state.X.length;
  const places = [TOP, ...range(n).map((j) => rowY(state, j) - CHIP.height), TOP];
  return range(n + 1).reduce(
    (y, k) => y + moved(time, k + 1) * (places[k + 1] - places[k]),
    places[0],
  );
};

// --- drawing -------------------------------------------------------------

// At most two decimals, and at most five characters.
const short = (x) => String(+x.toFixed(Math.abs(x) < 9.995 ? 2 : 1)).replace("-", "−");
const twice = (x) => fixed(x, Math.abs(x) < 9.995 ? 2 : 1);
// The number of decimals that fit into a column.
const digitsOf = (x) => [100, 10].filter((y) => Math.abs(x) < y).length + 1;
const place = (x) => +x.toFixed(1);
const seen = (opacity) => (opacity < 1 ? ` opacity="${+opacity.toFixed(2)}"` : "");
const label = (text, x, y, { kind = "", anchor = "middle", opacity = 1 } = {}) =>
  opacity > 0.05
    ? `<text class="av-${kind || "plain"}" x="${place(x)}" y="${place(y)}" ` +
      `text-anchor="${anchor}"${seen(opacity)}>${escape(text)}</text>`
    : "";
// A chip that passes over other numbers is an outline, so that they stay
// readable.
const chip = (text, x, y, kind, { opacity = 1, width = CHIP.width, passing = false } = {}) =>
  opacity > 0.05
    ? `<rect class="av-${kind}${passing ? " av-passing" : ""}" x="${place(x)}" y="${place(y)}" ` +
      `width="${place(width - 2)}" height="${CHIP.height}"${seen(opacity)}/>` +
      (passing ? "" : label(text, x + width / 2 - 1, y + 13, { kind: `chip-${kind}`, opacity }))
    : "";
const vector = (numbers, x, y, kind, { write = short, width = CHIP.width, ...more } = {}) =>
  numbers
    .map((entry, c) => chip(write(entry), x + c * width, y, kind, { width, ...more }))
    .join("");

// Exponentials of large scores are written in scientific notation, as 1.6e48.
const isFar = (x) => x >= 1e5 || x < 1e-3;
const powered = (x) => x.toExponential(1).replace("+", "").replace("-", "−");
const big = (x) => {
  if (isFar(x)) return powered(x);
  return x >= 1000 ? fixed(x, 0) : grouped(+x.toPrecision(4));
};
// All numbers of a column get the same number of decimals: as many as the longest
// needs, but no more than fit.
const alike = (numbers, room) => {
  const needed = range(room).find((k) => numbers.every((x) => Math.abs(x - x.toFixed(k)) < 1e-9));
  return numbers.map((x) => fixed(x, needed ?? room));
};
const exponentialsOf = (numbers) =>
  numbers.some(isFar)
    ? numbers.map(powered)
    : numbers.map((x) =>
        fixed(x, Math.max(...numbers) >= 1000 ? 0 : digitsOf(Math.max(...numbers))),
      );
const middleOf = (d) => {
  const left = START + 6 + d * CHIP.width;
  const wide = (WIDTH - left) / COLUMNS.length;
  return { wide, at: (c) => left + (c + 0.5) * wide };
};

// The numbers of one key, one per column, each shown once its step has come.
const columnsOf = (state, values, time, j) => {
  const { dots, scores, exponentials, weights, q } = values;
  const n = state.X.length;
  const { wide, at: middle } = middleOf(q.length);
  const y = rowY(state, j) + 13;
  const texts = [
    [alike(dots, through(state) ? Math.min(...dots.map(digitsOf)) : 4)[j], told(time, j + 1)],
    [fixed(scores[j], Math.min(...scores.map(digitsOf))), told(time, n + 1)],
    [exponentialsOf(exponentials)[j], told(time, n + 2)],
    [fixed(weights[j], 3), told(time, n + 3)],
  ];
  const grown = [
    [2, exponentials[j] / Math.max(...exponentials), moved(time, n + 2)],
    [3, weights[j], moved(time, n + 3)],
  ];
  return (
    texts
      .map(([text, opacity], c) =>
        label(text, middle(c), y, { kind: c === 3 ? "weight" : "number", opacity }),
      )
      .join("") +
    grown
      .map(([c, share, p]) =>
        p > 0
          ? `<rect class="av-grow" x="${place(middle(c) - wide / 2 + 3)}" y="${y + 4}" ` +
            `width="${place(share * p * (wide - 6))}" height="${BAR}"/>`
          : "",
      )
      .join("")
  );
};

// The values move down to the output, each as opaque as its weight.
const mixture = (state, { weights, output, q, V }, time) => {
  const n = state.X.length;
  const last = n + 4;
  const below = rowY(state, n) + 14;
  const p = moved(time, last);
  const falling = weights.map((w, j) => {
    if (p === 0 || p === 1) return "";
    const from = rowY(state, j) + (through(state) ? CHIP.height + 2 : 0);
    const opacity = 1 - p * (1 - w);
    return vector(V[j], START, between(from, below, p), "value", { opacity, passing: true });
  });
  const sum = told(time, last);
  const beside = START + 6 + Math.max(q.length, V[0].length) * CHIP.width;
  return (
    falling.join("") +
    (sum > 0.05
      ? vector(output, START, below, "value", { opacity: sum, write: twice }) +
        label("output", NAME, below + 13, { kind: "value", anchor: "end", opacity: sum }) +
        label("weights × values, summed", beside, below + 13, { anchor: "start", opacity: sum })
      : "")
  );
};

// --- projecting the rows -------------------------------------------------

const BENCH = 60; // where the current matrix is drawn
const LINE = 19;
const GAP = 10;
// The phases of such a step: a row of X arrives, visits the columns, and its sums
// leave.
const COME = 0.16;
const LEAVE = 0.78;

// The table of X, keys and values, shown during the projections.
const tableOf = ({ X }, { K, V }) => {
  const columns = X[0].length + K[0].length + V[0].length;
  const width = Math.min(CHIP.width, (WIDTH - START - 2 * GAP) / columns);
  const keys = START + X[0].length * width + GAP;
  const top = BENCH + LINE * (X[0].length + 1) + 24;
  return {
    width,
    keys,
    values: keys + K[0].length * width + GAP,
    y: (j) => top + 22 * j,
  };
};

// Each column of a matrix has the row of X on its left and the products on its
// right.
const benchOf = (W) => {
  const d = W[0].length;
  const width = d < 3 ? CHIP.width : 26;
  const wide = Math.min((WIDTH - START) / d, 112);
  return {
    width,
    d,
    left: (c) => START + c * wide,
    column: (c) => START + c * wide + width + 5,
    product: (c) => START + c * wide + 2 * width + 6,
    y: (a) => BENCH + LINE * a,
    sum: BENCH + LINE * W.length + 4,
    // The phases of a visit to column c: the row slides there, then the products
    // appear, then their sum.
    part: (p, c, from, to) => {
      const slot = (LEAVE - COME) / d;
      return part(p, COME + slot * (c + from), COME + slot * (c + to));
    },
  };
};

// The projected rows in the order of the film, and where each row goes.
const jobsOf = (state, values) => {
  const { keys, values: right, y } = tableOf(state, values);
  const job = (name, kind, row, made, x, top) => ({
    name,
    kind,
    row,
    made,
    x,
    y: top,
    W: state[name],
  });
  return [
    job("W_Q", "query", rowOf(state), values.q, START, TOP),
    ...values.K.map((k, j) => job("W_K", "key", j, k, keys, y(j))),
    ...values.V.map((v, j) => job("W_V", "value", j, v, right, y(j))),
  ];
};

// A matrix: its name, and its entries in separate columns.
const matrixOf = ({ name, kind, W }, opacity) => {
  const { column, y, width } = benchOf(W);
  const cells = W.flatMap((row, a) =>
    row.map((w, c) => chip(short(w), column(c), y(a), `w-${kind}`, { opacity, width })),
  );
  return label(name, NAME, y(0) + 13, { kind, anchor: "end", opacity }) + cells.join("");
};

// A row of X stands upright, slides over the columns, and the products of each
// pair appear, and then their sums.
const work = (state, values, { row, kind, W, made }, p, opacity) => {
  if (p === 0) return "";
  const { left, product, y, sum, width, d, part: visit } = benchOf(W);
  const table = tableOf(state, values);
  const x = state.X[row];
  const come = part(p, 0, COME);
  const columns = range(d).reduce((c, k) => c + (k ? visit(p, k, 0, 0.4) : 0), 0);
  const copy = x.map((entry, a) =>
    chip(
      short(entry),
      between(START + a * table.width, left(columns), come),
      between(table.y(row), y(a), come),
      "token",
      { opacity, width: between(table.width, width, come) },
    ),
  );
  const products = range(d).map((c) => {
    const here = opacity * visit(p, c, 0.35, 0.65);
    const summed = opacity * visit(p, c, 0.65, 1);
    return (
      x
        .map((entry, a) =>
          label(`= ${short(entry * W[a][c])}`, product(c), y(a) + 13, {
            kind: "number",
            anchor: "start",
            opacity: here,
          }),
        )
        .join("") +
      label("sum", product(c) - 4, sum + 13, { anchor: "end", opacity: summed }) +
      chip(short(made[c]), product(c), sum, kind, { opacity: summed })
    );
  });
  // The row leaves a trace in each column, so that each product keeps both
  // factors.
  const traces = range(d - 1).map((c) => {
    const behind = 0.65 * opacity * visit(p, c + 1, 0, 0.4);
    return x
      .map((entry, a) => chip(short(entry), left(c), y(a), "token", { opacity: behind, width }))
      .join("");
  });
  return products.join("") + traces.join("") + copy.join("");
};

// The current projection, while the one before fades out.
const bench = (state, values, time) => {
  const jobs = jobsOf(state, values);
  const now = Math.min(Math.max(Math.ceil(time) - 1, 0), jobs.length);
  const p = clip(time - now);
  const fading = now ? 1 - clip(p / 0.12) : 0;
  const [before, here] = [jobs[now - 1], jobs[now]];
  const stays = before?.name === here?.name;
  return (
    (fading ? (stays ? "" : matrixOf(before, fading)) : "") +
    (here ? matrixOf(here, stays ? 1 : 1 - fading) : "") +
    (fading ? work(state, values, before, 1, fading) : "") +
    (here ? work(state, values, here, p, 1) : "")
  );
};

// Keys and values leave the matrix for the table, and later the table for the
// place where the query meets them.
const leaving = (state, values, time) => {
  const table = tableOf(state, values);
  const last = moved(time, ahead(state));
  return jobsOf(state, values).map(({ row, kind, made, W, x, y }, k) => {
    const { product, sum } = benchOf(W);
    const away = part(done(time, k + 1), LEAVE + 0.02, 1);
    if (away === 0) return "";
    const below = kind === "value" ? CHIP.height + 2 : 0;
    const to = kind === "query" ? TOP : between(y, rowY(state, row) + below, last);
    const width = between(kind === "query" ? CHIP.width : table.width, CHIP.width, last);
    return made
      .map((entry, c) =>
        chip(
          short(entry),
          between(product(c), between(x, START, last) + c * width, away),
          between(sum, to, away),
          kind,
          { width: between(CHIP.width, width, away), passing: away < 1 || (last > 0 && last < 1) },
        ),
      )
      .join("");
  });
};

// Everything that is shown before the query meets the keys.
const making = (state, values, time) => {
  const { X } = state;
  const { width, keys, values: right, y } = tableOf(state, values);
  const gone = 1 - moved(time, ahead(state));
  const heads = [
    ["X", START, "plain"],
    ["keys", keys, "key"],
    ["values", right, "value"],
  ];
  return (
    heads
      .map(([text, x, kind]) => label(text, x, y(0) - 6, { kind, anchor: "start", opacity: gone }))
      .join("") +
    X.map((row, j) =>
      gone > 0.05 ? vector(row, START, y(j), "token", { width, opacity: gone }) : "",
    ).join("") +
    bench(state, values, time) +
    leaving(state, values, time).join("")
  );
};

// The products below a key that the query meets appear one after another, until
// the query moves on. Projected values stand there already, so then column W
// lists the products.
const products = (state, { q, K }, time, j) => {
  const stays = 1 - moved(time, j + 2);
  return q
    .map((x, c) => {
      const from = 0.6 + (0.25 * c) / q.length;
      const opacity = stays * part(done(time, j + 1), from, from + 0.1);
      const text = `${c ? "+ " : ""}${short(x * K[j][c])}`;
      const across = START + (c + 0.5) * CHIP.width - 1 - (c ? 5 : 0);
      return label(text, across, rowY(state, j) + CHIP.height + 13, { kind: "product", opacity });
    })
    .join("");
};

// --- the whole picture ---------------------------------------------------

const titleOf = (state, time) => {
  const { X } = state;
  const word = wordsOf(state)[rowOf(state)];
  const first = through(state) ? `Query, ${count(X.length, "key")} and values are made` : "";
  const then = `he query of ${word} meets ${first ? "the keys" : count(X.length, "key")}`;
  return `${first ? `${first}; t` : "T"}${then}; step ${tick(time)} of ${lengthOf(state)}`;
};

const scene = (state, values, now) => {
  const { X } = state;
  const [n, d, i] = [X.length, values.q.length, rowOf(state)];
  const made = through(state);
  const words = wordsOf(state);
  const { wide, at: middle } = middleOf(d);
  // From here, time counts from the moment when all rows are projected.
  const time = now - ahead(state);
  const opacity = made ? told(time, 0) : 1;
  const height = rowY(state, n) + 40;
  const down = queryY(state, time);
  const others = [TOP, ...X.map((_, j) => rowY(state, j))].map((y) => Math.abs(down - y));
  const passing = others.some((far) => far > 0.5 && far < CHIP.height - 0.5);
  // Long numbers are written in smaller type.
  const { W_Q, W_K, W_V } = state;
  const tight =
    made &&
    [X, W_Q, W_K, W_V, values.K, values.V, [values.q]].flat(2).some((x) => short(x).length > 4);
  const wordY = (j) =>
    made ? between(tableOf(state, values).y(j), rowY(state, j), moved(time, 0)) : rowY(state, j);
  const heads = COLUMNS.map((text, c) => label(text, middle(c), 78, { opacity }));
  const rows = X.map(
    (row, j) =>
      label(words[j], NAME, wordY(j) + 13, { kind: made ? "plain" : "key", anchor: "end" }) +
      (made
        ? label("value", NAME, rowY(state, j) + 32, { kind: "value", anchor: "end", opacity })
        : vector(row, START, rowY(state, j), "key") + products(state, values, time, j)) +
      columnsOf(state, values, time, j),
  );
  return (
    `<svg class="av-film${made ? " av-through" : ""}${tight ? " av-tight" : ""}" role="img" ` +
    `aria-label="${escape(titleOf(state, now))}" viewBox="0 0 ${WIDTH} ${height}">` +
    label("its query", START, 20, { anchor: "start" }) +
    label("keys", NAME, 78, { anchor: "end", opacity }) +
    label(words[i], NAME, TOP + 13, { kind: "query", anchor: "end" }) +
    `${heads.join("")}${rows.join("")}` +
    label(`sum ${big(total(values.exponentials))}`, middle(2) - wide / 2 + 3, rowY(state, n) + 6, {
      anchor: "start",
      opacity: told(time, n + 2),
    }) +
    (made ? making(state, values, now) : "") +
    mixture(state, values, time) +
    (made ? "" : vector(values.q, START, TOP, "query")) +
    `${time > 0 && time < n + 1 ? vector(values.q, START, down, "query", { passing }) : ""}</svg>`
  );
};

// --- in words ------------------------------------------------------------

const list = (row, digits = 3) => row.map((x) => fixed(x, digits)).join(", ");
const factor = (x) => (x < 0 ? `(${setting(x)})` : setting(x));
const factors = (a, b) => a.map((x, c) => `${factor(x)}×${factor(b[c])}`).join(" + ");
// Four decimals are exact for a product of two numbers with two decimals each.
const equals = (x) => `${Math.abs(x - x.toFixed(4)) < 1e-12 ? "=" : "≈"} ${setting(x)}`;
const meeting = (state, values) => {
  const { X } = state;
  const [i, words] = [rowOf(state), wordsOf(state)];
  const { dots, scores, exponentials, weights, output, q, K } = values;
  return [
    `The query of ${words[i]} asks which keys fit it.`,
    ...X.map(
      (_, j) =>
        `Query of ${words[i]} · key of ${words[j]} = ${factors(q, K[j])} ${equals(dots[j])}.`,
    ),
    `Divided by √${q.length}: ${list(scores)}.`,
    `exp of each: ${exponentials.map(big).join(", ")}; their sum: ${big(total(exponentials))}.`,
    `Each over the sum is a weight: ${list(weights)}.`,
    `The values of ${words.join(", ")}, each times its weight, add up to the output ` +
      `(${list(output)}).`,
  ];
};
const sentences = (state, values) => {
  if (!through(state)) return meeting(state, values);
  const words = wordsOf(state);
  const made = jobsOf(state, values).map(({ name, kind, row, W }) => {
    const sums = transpose(W).map((column) => {
      const x = state.X[row];
      return `${factors(x, column)} ${equals(dot(x, column))}`;
    });
    const [Kind, columns] = [kind[0].toUpperCase() + kind.slice(1), W[0].length > 1];
    return (
      `${Kind} of ${words[row]} = its row of X times ${columns ? "each" : "the"} column of ` +
      `${name}: ${sums.join("; ")}.`
    );
  });
  const first =
    `Each word is a row of X. W_Q makes the query of ${words[rowOf(state)]}, W_K a key of each ` +
    "word, W_V a value.";
  return [first, ...made, ...meeting(state, values)];
};

// Stills for pages without scripts and for print: each picture with the steps
// since the last one.
const stillsOf = (state) => {
  const n = state.X.length;
  const [makes, from] = [madeIn(state), ahead(state)];
  const made = makes ? [1, n + 1, makes] : [1];
  return [...made, ...[n, n + 2, n + 3, n + 4].map((k) => from + k)];
};
const strip = (state) => {
  const values = computed(state);
  const said = sentences(state, values);
  let from = 0;
  const items = stillsOf(state).map((time) => {
    const texts = said.slice(from, time + 1).map((text) => `<li>${escape(text)}</li>`);
    const drawn =
      `<li>${scene(state, values, time)}` +
      `<ol class="av-steps" start="${from}">${texts.join("")}</ol></li>`;
    from = time + 1;
    return drawn;
  });
  return `<ul class="av-stills">${items.join("")}</ul>`;
};

// --- the figure ----------------------------------------------------------

// The numbers of the query's row; the time decides which of them are shown.
const computed = (state, own) => {
  const { X } = state;
  const makes = (A, W) => (through(state) ? matmul(A, W) : A);
  const [q] = makes([X[rowOf(state)]], state.W_Q);
  const [K, V] = [makes(X, state.W_K), makes(X, state.W_V)];
  const dots = K.map((key) => dot(q, key));
  const scores = dots.map((x) => x / Math.sqrt(q.length));
  const weights = softmax(scores);
  const output = transpose(V).map((column) => dot(weights, column));
  const time = Math.min((own ?? state).at, lengthOf(state));
  return { q, K, V, dots, scores, exponentials: scores.map(Math.exp), weights, output, time };
};

const figure = {
  name: "film",
  card: { state: { at: 6 }, part: ".av-film", box: "60 22 296 175" },
  controls: [
    {
      key: "at",
      kind: "range",
      label: "step",
      first: 7,
      about:
        "Where the film is, in steps; past its end it stays there. With matrices it starts there",
      min: 0,
      max: 18,
      step: 0.01,
      upTo: lengthOf,
    },
    {
      key: "words",
      kind: "words",
      label: "words",
      first: "cat sat mat",
      about: "A word for each row of `X`",
      min: 2,
      max: 4,
      letters: 7,
    },
    {
      key: "X",
      label: "X, a row a word",
      first: THREE_TOKENS,
      shape: "(T, d)",
      about:
        "Queries, keys and values at once, or what they are made from; of at most two decimals",
      ...NUMBERS,
      rows: [2, 4],
      columns: [1, 4],
    },
    {
      key: "query",
      kind: "range",
      label: "query",
      first: 0,
      about: "The row that asks; one beyond the last counts as the last",
      min: 0,
      max: 3,
      step: 1,
      upTo: ({ X }) => X.length - 1,
    },
    {
      key: "what",
      kind: "choice",
      label: "start from",
      first: ONE,
      about: "What the film starts from",
      options: [ONE, THREE],
    },
    ...MADE.map((made) => ({ ...made, label: made.key, when: through, ...NUMBERS })),
  ],
  check: (state) => {
    const { words, X } = state;
    const used = through(state) ? MATRICES : [];
    for (const name of ["X", ...used]) {
      const long = state[name].flat().find((x) => Math.abs(x - x.toFixed(2)) > 1e-12);
      if (long !== undefined)
        return `each number of ${name} must have at most two decimals; got ${shorten(long)}`;
    }
    const n = words.split(" ").length;
    if (n !== X.length)
      return `X must have one row for each word; got ${count(n, "word")} and ${count(X.length, "row")}`;
    const odd = used.find((name) => state[name].length !== X[0].length);
    if (odd)
      return (
        `${odd} must have a row for each column of X; got X ${shape(X)} and ${odd} ` +
        `${shape(state[odd])}`
      );
    return used.length && state.W_Q[0].length !== state.W_K[0].length
      ? `W_Q and W_K must have equally many columns; got W_Q ${shape(state.W_Q)} and W_K ` +
          `${shape(state.W_K)}`
      : "";
  },
  at,
  compute: computed,
  view: (state, values) =>
    scene(state, values, values.time) + say(sentences(state, values)[Math.ceil(values.time)]),
  strip,
};
const play = player(figure, "at", { tween: true });
// A reader prints the film of the current settings.
figure.live = (parts) => {
  const live = play(parts);
  const redraw = () => {
    const state = Object.fromEntries(figure.controls.map(({ key }) => [key, parts.model.get(key)]));
    parts.el.querySelector(".av-stills").outerHTML = strip(state);
  };
  addEventListener("beforeprint", redraw);
  const close = () => {
    live.close();
    removeEventListener("beforeprint", redraw);
  };
  return { ...live, close };
};

export default figureModule(figure);
