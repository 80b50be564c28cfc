// Attention as a chain of small heat maps, and the numbers that meet in each entry.

import { fixed, matmul, range, softmax, transpose } from "../kit/numbers.js";
import { chain, mostOf, signed, numeral } from "../kit/chain.js";
import { THREE_TOKENS } from "../kit/controls.js";
import { figureModule, say } from "../kit/common.js";

const NUMBERS = {
  kind: "matrix",
  first: THREE_TOKENS,
  rows: [1, 6],
  columns: [1, 6],
  min: -100,
  max: 100,
};
const ONE = "X";
const THREE = "Q, K, V";

// The number of decimals that write a number exactly; undefined if five do not
// suffice.
const exact = (x) => range(6).find((digits) => Math.abs(x - x.toFixed(digits)) < 1e-12);
const brief = (x) => fixed(x, exact(x) ?? 4);
const factor = (x) => (x < 0 ? `(${brief(x)})` : brief(x));
const equals = (x) => `${exact(x) === undefined ? "≈" : "="} ${brief(x)}`;
// The value of a sum of products whose factors may have been rounded too.
const makes = (x, factors) =>
  factors.some((f) => exact(f) === undefined) ? `≈ ${brief(x)}` : equals(x);
// A weight among several is neither zero nor one, even if it rounds to that.
const share = (w, alone) => (!alone && (w < 1e-12 || w > 1 - 1e-12) ? `≈ ${brief(w)}` : equals(w));
const product = (a, b) => a.map((x, i) => `${factor(x)}×${factor(b[i])}`).join(" + ");
const given = (state) =>
  state.what === ONE ? [state.X, state.X, state.X] : [state.Q, state.K, state.V];
// Words name the rows where each key has one; the last of them are the queries'.
const wordsOf = (state) => {
  const [Q, K] = given(state);
  const words = state.words.split(" ");
  return words.length === K.length && Q.length <= K.length
    ? { asks: words.slice(K.length - Q.length), keys: words }
    : null;
};
const shape = (A) => `(${A.length}, ${A[0].length})`;
// The queries are the last of the positions, as in helpers.masks.
const sees = (state, i, j) => {
  const [Q, K] = given(state);
  return !state.causal || j <= i + K.length - Q.length;
};

// Those who ask and those who are asked, by name; `quoted` writes a word.
const namesOf = (state, quoted = String) => {
  const [Q, K] = given(state);
  const words = wordsOf(state);
  return {
    asks: words?.asks.map(quoted) ?? Q.map((_, i) => `q${i}`),
    keys: words?.keys.map(quoted) ?? K.map((_, j) => `k${j}`),
  };
};

// What each step computes, in order. For each entry: the sum that makes it, and what it is
// for, in words.
const steps = (state, { dots, scores, weights, output }) => {
  const [Q, K, V] = given(state);
  const [q, k, v] = state.what === ONE ? ["X", "X", "X"] : ["Q", "K", "V"];
  const { asks, keys } = namesOf(state, (word) => `“${word}”`);
  const logits = scores.map((row, i) => row.map((x, j) => (sees(state, i, j) ? x : -Infinity)));
  const root = Math.sqrt(Q[0].length);
  const list = [
    {
      name: "dots",
      values: dots,
      made: (i, j) =>
        `${q}[${i}] · ${k}[${j}] = ${product(Q[i], K[j])} ${makes(dots[i][j], Q[i].concat(K[j]))}`,
      says: (i, j) =>
        `how well the query of ${asks[i]} and the key of ${keys[j]} agree: multiply number by ` +
        "number, then add.",
    },
    {
      name: "scores",
      values: scores,
      made: (i, j) =>
        state.scale
          ? `dots[${i}][${j}] / √${Q[0].length} = ${brief(dots[i][j])} / ${brief(root)} ` +
            `${equals(scores[i][j])}`
          : `dots[${i}][${j}] ${equals(scores[i][j])}`,
      says: () =>
        state.scale
          ? `the dot product, divided by √${Q[0].length}. All shades fade alike, and the order stays.`
          : "the dot product as it is, since the division is off.",
    },
  ];
  if (state.causal)
    list.push({
      name: "masked",
      values: logits,
      made: (i, j) =>
        sees(state, i, j)
          ? `scores[${i}][${j}] = ${brief(scores[i][j])}, since query ${i} may attend to ` +
            `key ${j}`
          : `−∞, since key ${j} comes after query ${i}`,
      says: (i, j) =>
        sees(state, i, j)
          ? `the score as it was, since ${keys[j]} does not come after ${asks[i]}.`
          : `what hides ${keys[j]} from ${asks[i]}, which comes before it: no weight is left.`,
    });
  const before = list.at(-1).name;
  const powers = (i) => logits[i].map((x) => `exp(${brief(x)})`);
  // Exponentials are written out if a few digits suffice.
  const written = (x) => x > 1e-3 && x < 1e5;
  const ratio = (i, j) => {
    const total = logits[i].reduce((sum, x) => sum + Math.exp(x), 0);
    const top = Math.exp(logits[i][j]);
    const sign = [top, total].some((x) => exact(x) === undefined) ? "≈" : "=";
    return written(total) && (top === 0 || written(top))
      ? `${sign} ${brief(top)} / ${brief(total)} `
      : "";
  };
  const may = (i, j) => logits[i][j] > -Infinity;
  const alone = (i, j) =>
    !may(i, j) || logits[i].every((_, other) => other === j || !may(i, other));
  list.push(
    {
      name: "weights",
      values: weights,
      made: (i, j) =>
        `${powers(i)[j]} / (${powers(i).join(" + ")}) ${ratio(i, j)}` +
        `${share(weights[i][j], alone(i, j))}`,
      says: (i, j) =>
        `the share of ${asks[i]} that goes to ${keys[j]}. The shares of a row add up to one.`,
    },
    {
      name: "output",
      values: output,
      made: (i, c) =>
        `weights[${i}] · column ${c} of ${v} = ${product(
          weights[i],
          V.map((row) => row[c]),
        )} ${makes(output[i][c], weights[i])}`,
      says: (i, c) =>
        `number ${c} of what ${asks[i]} gets: the values in column ${c}, mixed by its weights.`,
    },
  );
  return { list, before, logits };
};
// The entry that is opened. A step, a row or a column beyond the last counts as the last.
const openedOf = (state, list) => {
  const { name, values } = list[Math.min(state.step, list.length) - 1];
  return [
    name,
    Math.min(state.row, values.length - 1),
    Math.min(state.column, values[0].length - 1),
  ];
};

// The heat maps, and the rows of numbers that meet in an entry. What is compared has one
// scale: the scores before and after they are divided, and the values and their mixtures.
const pictureOf = (state, { list, before, logits }, narrow) => {
  const [Q, K, V] = given(state);
  const { asks, keys } = namesOf(state);
  const byName = Object.fromEntries(list.map(({ name, values }) => [name, values]));
  const { dots, scores, weights, output } = byName;
  const paints = {
    Q: signed(mostOf(Q)),
    K: signed(mostOf(K)),
    V: signed(mostOf(V)),
    dots: signed(mostOf(dots)),
    weights: signed(1),
  };
  const of = (letter) => (state.what === ONE ? `${letter} = X` : letter);
  const root = `÷ √${Q[0].length}`;
  const seen = (i, j) => sees(state, i, j);
  const asked = { rows: asks, columns: keys, paint: paints.dots, sign: "→" };
  const maps = {
    Q: { title: of("Q"), kind: "query", values: Q, rows: asks, paint: paints.Q, sign: "·" },
    K: { title: of("K"), kind: "key", values: K, rows: keys, paint: paints.K, sign: "→" },
    dots: { ...asked, title: "QKᵀ", values: dots },
    scores: { ...asked, title: state.scale ? root : "÷ 1", values: scores },
    ...(state.causal && {
      masked: { ...asked, title: "mask", values: logits, open: seen },
    }),
    weights: {
      ...{ title: "softmax", kind: "weight", values: weights, rows: asks, columns: keys },
      ...{ paint: paints.weights, sign: "·" },
    },
    V: { title: of("V"), kind: "value", values: V, rows: keys, paint: paints.V, sign: "→" },
    output: { title: "Y", values: output, rows: asks, paint: paints.V },
  };
  const [name, i, j] = openedOf(state, list);
  const line = (label, id, values, mark, paint = maps[id].paint) => ({
    ...{ label, kind: maps[id].kind, values, paint },
    ...(mark !== null && { mark }),
  });
  const column = (A) => A.map((row) => row[j]);
  const words = (long, short) => (narrow ? short : long);
  const plain = () => ["#8882", ""];
  const times = (a, b) => a.map((x, n) => x * b[n]);
  const whole = (id, A, mark = j) =>
    line(words(`${maps[id].title} of ${asks[i]}`, maps[id].title), id, A[i], mark);
  const powers = (name === "weights" ? logits[i] : []).map(Math.exp);
  const total = numeral(
    powers.reduce((a, b) => a + b, 0),
    7,
  );
  const opened = {
    dots: () => ({
      from: [
        ["Q", i, null],
        ["K", j, null],
      ],
      lines: [
        line(words(`query of ${asks[i]}`, asks[i]), "Q", Q[i], null),
        line(words(`× key of ${keys[j]}`, `× ${keys[j]}`), "K", K[j], null),
        line("products", "dots", times(Q[i], K[j]), null, plain),
        whole("dots", dots),
      ],
      how: "sum",
    }),
    scores: () => ({
      from: [["dots", i, j]],
      lines: [whole("dots", dots), line(state.scale ? root : "÷ 1", "scores", scores[i], j)],
      how: state.scale ? root : "as it is",
    }),
    masked: () => ({
      from: [["scores", i, j]],
      lines: [whole("scores", scores), line("masked", "masked", logits[i], j)],
      how: seen(i, j) ? "kept" : "hidden",
    }),
    weights: () => ({
      from: [[before, i, null]],
      lines: [
        whole(before, byName[before]),
        line("exp", "weights", powers, j, plain),
        line(words(`÷ sum ${total}`, "÷ sum"), "weights", weights[i], j),
      ],
      how: words("share", `÷ ${total}`),
    }),
    output: () => ({
      from: [
        ["weights", i, null],
        ["V", null, j],
      ],
      lines: [
        line(words(`weights of ${asks[i]}`, "weights"), "weights", weights[i], null),
        line(words(`× column ${j} of V`, `× V, ${j}`), "V", column(V), null),
        line("products", "output", times(weights[i], column(V)), null, plain),
        whole("output", output),
      ],
      how: "sum",
    }),
  }[name]();
  const row = (...ids) => ids.filter((id) => maps[id]).map((id) => ({ id, ...maps[id] }));
  return {
    lines: narrow
      ? [row("Q", "K", "dots"), row("scores", "masked", "weights"), row("V", "output")]
      : [row("Q", "K", "dots", "scores", "masked", "weights", "V", "output")],
    opened: { cell: [name, i, j], ...opened },
    narrow,
  };
};

const figure = {
  name: "step",
  card: { part: "svg" },
  controls: [
    {
      key: "step",
      kind: "range",
      label: "step",
      first: 1,
      about: "The step of which an entry is opened; one beyond the last counts as the last",
      min: 1,
      max: 5,
      step: 1,
      upTo: ({ causal }) => (causal ? 5 : 4),
    },
    ...[
      ["row", 0, "The query of the opened entry"],
      ["column", 2, "The key, or the number of a value, of the opened entry"],
    ].map(([key, first, about]) => ({
      ...{ key, kind: "range", label: key, first, min: 0, max: 5, step: 1 },
      about: `${about}; one beyond the last counts as the last`,
    })),
    {
      key: "what",
      kind: "choice",
      label: "start from",
      first: ONE,
      about: "What is shown",
      options: [ONE, THREE],
    },
    {
      key: "words",
      kind: "words",
      label: "words",
      first: "cat sat mat",
      about:
        "A word for each key, which names its row and column; with fewer or more of them, numbers do",
      min: 1,
      max: 6,
      letters: 7,
    },
    {
      key: "X",
      label: "X, a row a line",
      shape: "(T, d)",
      about: "Queries, keys and values at once",
      when: ({ what }) => what === ONE,
      ...NUMBERS,
    },
    ...[
      ["Q", "(T, d_k)", "Queries"],
      ["K", "(S, d_k)", "Keys"],
      ["V", "(S, d_v)", "Values"],
    ].map(([key, axes, about]) => ({
      key,
      label: key,
      shape: axes,
      about,
      when: ({ what }) => what === THREE,
      ...NUMBERS,
    })),
    {
      key: "scale",
      kind: "flag",
      label: "divide by √d_k",
      first: true,
      about: "Divide the scores by the root of d_k",
    },
    {
      key: "causal",
      kind: "flag",
      label: "causal mask",
      first: false,
      about: "Hide later keys; the queries are the last of the positions",
    },
  ],
  check: (state) => {
    const [Q, K, V] = given(state);
    if (Q[0].length !== K[0].length)
      return `Q and K must have rows of one length; got Q ${shape(Q)} and K ${shape(K)}`;
    if (K.length !== V.length)
      return `K and V must have equally many rows; got K ${shape(K)} and V ${shape(V)}`;
    if (state.causal && Q.length > K.length)
      return (
        `with a causal mask Q has at most as many rows as K; got Q ${shape(Q)} and K ` +
        `${shape(K)}`
      );
    return "";
  },
  compute: (state) => {
    const [Q, K, V] = given(state);
    const dots = matmul(Q, transpose(K));
    const scores = dots.map((row) =>
      row.map((x) => (state.scale ? x / Math.sqrt(Q[0].length) : x)),
    );
    const weights = scores.map((row, i) =>
      softmax(
        row,
        row.map((_, j) => sees(state, i, j)),
      ),
    );
    return { dots, scores, weights, output: matmul(weights, V) };
  },
  view: (state, values, own, narrow) => {
    const made = steps(state, values);
    const [name, i, j] = openedOf(state, made.list);
    const { made: sum, says, values: A } = made.list.find((it) => it.name === name);
    const label = `${name}[${i}][${j}] = ${sum(i, j)}`;
    const number = A[i][j];
    return (
      chain({ ...pictureOf(state, made, narrow), label }) + say(`${brief(number)} is ${says(i, j)}`)
    );
  },

  // Each entry opens itself, and each row or column of what is given the entry in which it
  // meets another.
  handles: (state, values) => {
    const { list } = steps(state, values);
    const [Q, K, V] = given(state);
    const { asks, keys } = namesOf(state);
    const [, row] = openedOf(state, list);
    const cells = (name, A, named, settings) =>
      A.flatMap((numbers, i) =>
        numbers.map((x, j) => ({
          id: `${name},${i},${j}`,
          name: `${named(i, j)}: ${brief(x)}`,
          group: "entries",
          eager: true,
          press: () => settings(i, j),
        })),
      );
    const last = list.length;
    return [
      ...cells(
        "Q",
        Q,
        (i) => `query of ${asks[i]}`,
        (i) => ({ step: 1, row: i }),
      ),
      ...cells(
        "K",
        K,
        (j) => `key of ${keys[j]}`,
        (j) => ({ step: 1, column: j }),
      ),
      ...list.flatMap(({ name, values: A }, k) =>
        cells(
          name,
          A,
          (i, j) => `${name}, row ${asks[i]}, column ${k + 1 < last ? keys[j] : j}`,
          (i, j) => ({ step: k + 1, row: i, column: j }),
        ),
      ),
      ...cells(
        "V",
        V,
        (j) => `value of ${keys[j]}`,
        (_, c) => ({ step: last, row, column: c }),
      ),
    ];
  },
};

export default figureModule(figure);
