// The backward pass: a gradient of the output, and the gradients that flow back from it
// along the chain.

import { dot, fixed, matmul, softmax, transpose } from "../kit/numbers.js";
import { chain, flowing, mostOf, signed } from "../kit/chain.js";
import { figureModule, say } from "../kit/common.js";

const MOST = 10;
const spotOf = ({ dY, entry }) => {
  const wide = dY[0].length;
  const k = Math.min(entry, dY.length * wide - 1);
  return [Math.floor(k / wide), k % wide];
};
// Where one number of the output is the loss, its gradient is 1 there and 0 elsewhere.
const lossOf = (state) => {
  const [i, c] = spotOf(state);
  const one = state.dY.map((row, k) => row.map((_, d) => +(k === i && d === c)));
  return state.alone ? one : state.dY;
};
const rootOf = ({ Q }) => Math.sqrt(Q[0].length);

// Which keys each query may see. With a mask, the queries are the last positions.
const openOf = ({ Q, K, causal }) => {
  const late = K.length - Q.length;
  return Q.map((_, i) => K.map((_key, j) => !causal || j <= i + late));
};
const shrunk = (A, divisor) => A.map((row) => row.map((x) => x / divisor));
const scoresOf = (state) => shrunk(matmul(state.Q, transpose(state.K)), rootOf(state));

// The gradients in the order in which they follow from that of the output.
const GRADIENTS = ["dV", "dA", "dS", "dQ", "dK"];
// The entry that is opened. A row or a column beyond the last counts as the last.
const openedOf = (state, values) => {
  const name = GRADIENTS[state.step - 1];
  const A = values[name];
  return [name, Math.min(state.row, A.length - 1), Math.min(state.column, A[0].length - 1)];
};

const brief = (x) => (Math.abs(x) < 0.1 ? fixed(x, 4) : fixed(x, 3)).replace(/\.?0+$/, "");
const wayOfLoss = (x) =>
  x === 0 ? "does not move" : Math.abs(x) < 5e-4 ? "hardly moves" : x > 0 ? "raises" : "lowers";
const sentence = (state, values) => {
  const [name, i, j] = openedOf(state, values);
  const x = values[name][i][j];
  const [up, open] = [wayOfLoss(x), openOf(state)];
  if ((name === "dA" || name === "dS") && !open[i][j])
    return `The score of k${j} is hidden from q${i}: no gradient passes.`;
  return {
    dV: `${name}[${i}][${j}] = ${brief(x)}: a larger V[${i}][${j}] ${up} the loss, through every query that gives k${i} weight.`,
    dA: `${name}[${i}][${j}] = ${brief(x)}: more weight of q${i} on k${j} ${up} the loss. What counts next is its distance from the mean of the row.`,
    dS: `${name}[${i}][${j}] = ${brief(x)}: a higher score ${up} the loss. It is the weight, times what dA has above its row’s mean.`,
    dQ: `${name}[${i}][${j}] = ${brief(x)}: a larger Q[${i}][${j}] ${up} the loss, through all scores of q${i}.`,
    dK: `${name}[${i}][${j}] = ${brief(x)}: a larger K[${i}][${j}] ${up} the loss, through the scores of k${i} with every query.`,
  }[name];
};

// The matrices and their gradients below them, and the rows of numbers that meet in an
// entry of a gradient. Each gradient has its own scale, or the last would be too faint.
const pictureOf = (state, values, narrow) => {
  const { weights, dA, means, dS, dV, dQ, dK, loss } = values;
  const { Q, K, V } = state;
  const [name, i, j] = openedOf(state, values);
  const scores = scoresOf(state);
  const open = openOf(state);
  const seen = (row, column) => open[row][column];
  const queries = Q.map((_, k) => `q${k}`);
  const keys = K.map((_, k) => `k${k}`);
  const mixed = signed(mostOf(V));
  const back = (A, rows, more = {}) => ({
    kind: "gradient",
    values: A,
    rows,
    paint: flowing(mostOf(A)),
    ...more,
  });
  const maps = {
    Q: { kind: "query", values: Q, rows: queries, paint: signed(mostOf(Q)), sign: "·" },
    K: { kind: "key", values: K, rows: keys, paint: signed(mostOf(K)), sign: "→" },
    S: { values: scores, rows: queries, paint: signed(mostOf(scores)), sign: "→", open: seen },
    A: { kind: "weight", values: weights, rows: queries, paint: signed(1), sign: "·", open: seen },
    V: { kind: "value", values: V, rows: keys, paint: mixed, sign: "→" },
    Y: { values: matmul(weights, V), rows: queries, paint: mixed },
    dQ: back(dQ, queries),
    dK: back(dK, keys, { sign: "←" }),
    dS: back(dS, queries, { sign: "←", open: seen, leads: "dQ" }),
    dA: back(dA, queries, { open: seen }),
    dV: back(dV, keys, { sign: "←" }),
    dY: back(loss, queries, { leads: "dA" }),
  };
  const words = (long, short) => (narrow ? short : long);
  const plain = () => ["#8882", ""];
  const column = (A, k) => A.map((row) => row[k]);
  const line = (label, id, numbers, paint = maps[id].paint) => ({
    ...{ label, kind: maps[id].kind, values: numbers, paint },
  });
  // The sum of products of two rows of numbers, and the row that it is in.
  const products = (a, b, from, how = "sum") => ({
    from,
    lines: [
      a,
      b,
      line(
        "products",
        name,
        a.values.map((x, k) => x * b.values[k]),
        plain,
      ),
    ].concat({
      ...line(words(`row ${i} of ${name}`, name), name, values[name][i]),
      mark: j,
    }),
    how,
  });
  const rooted = words(`sum ÷ √${Q[0].length}`, `÷ √${Q[0].length}`);
  const opened = {
    dV: () =>
      products(
        line(words(`column ${i} of A`, `A, ${i}`), "A", column(weights, i)),
        line(words(`× column ${j} of dY`, `× dY, ${j}`), "dY", column(loss, j)),
        [
          ["A", null, i],
          ["dY", null, j],
        ],
      ),
    dA: () =>
      products(
        line(words(`row ${i} of dY`, "dY"), "dY", loss[i]),
        line(words(`× row ${j} of V`, `× V, ${j}`), "V", V[j]),
        [
          ["dY", i, null],
          ["V", j, null],
        ],
      ),
    dS: () => ({
      from: [
        ["A", i, null],
        ["dA", i, null],
      ],
      lines: [
        line(words(`row ${i} of A`, "A"), "A", weights[i]),
        line(words(`row ${i} of dA`, "dA"), "dA", dA[i]),
        line(
          words(`− mean ${brief(means[i])}`, "− mean"),
          "dA",
          dA[i].map((x) => x - means[i]),
        ),
        { ...line("× A", "dS", dS[i]), mark: j },
      ],
      how: "product",
    }),
    dQ: () =>
      products(
        line(words(`row ${i} of dS`, "dS"), "dS", dS[i]),
        line(words(`× column ${j} of K`, `× K, ${j}`), "K", column(K, j)),
        [
          ["dS", i, null],
          ["K", null, j],
        ],
        rooted,
      ),
    dK: () =>
      products(
        line(words(`column ${i} of dS`, `dS, ${i}`), "dS", column(dS, i)),
        line(words(`× column ${j} of Q`, `× Q, ${j}`), "Q", column(Q, j)),
        [
          ["dS", null, i],
          ["Q", null, j],
        ],
        rooted,
      ),
  }[name]();
  const row = (...ids) => ids.map((id) => ({ id, title: id, ...maps[id] }));
  return {
    lines: narrow
      ? [row("Q", "K", "S"), row("dQ", "dK", "dS"), row("A", "V", "Y"), row("dA", "dV", "dY")]
      : [row("Q", "K", "S", "A", "V", "Y"), row("dQ", "dK", "dS", "dA", "dV", "dY")],
    opened: { cell: [name, i, j], ...opened },
    note: words(
      "d: gradient of the loss, each in shades of its own. Press a number of dY: that output becomes the loss.",
      "d: gradient of the loss. Press a number of dY.",
    ),
    ...(state.alone && { chosen: ["dY", ...spotOf(state)] }),
    narrow,
  };
};

const SHAPE = { kind: "matrix", rows: [1, 4], columns: [1, 4], min: -MOST, max: MOST };
const figure = {
  name: "backward",
  card: { part: "svg" },
  lead: ["step"],
  controls: [
    {
      key: "step",
      kind: "range",
      label: "step back",
      first: 3,
      about: "The gradient of which an entry is opened: dV, dA, dS, dQ, dK",
      min: 1,
      max: 5,
      step: 1,
    },
    ...[
      ["row", 2],
      ["column", 0],
    ].map(([key, first]) => ({
      ...{ key, kind: "range", label: key, first, min: 0, max: 3, step: 1 },
      about: `The ${key} of the opened entry; one beyond the last counts as the last`,
    })),
    {
      key: "alone",
      kind: "flag",
      label: "one output is the loss",
      first: false,
      about: "Take one number of the output as the loss, instead of what `dY` belongs to",
    },
    {
      key: "entry",
      kind: "range",
      label: "entry of Y",
      first: 4,
      about:
        "The number of the output that is the loss, row by row; one beyond the last counts as the last",
      min: 0,
      max: 15,
      step: 1,
      upTo: ({ dY }) => dY.length * dY[0].length - 1,
      when: ({ alone }) => alone,
    },
    {
      ...SHAPE,
      key: "dY",
      label: "dY",
      first: [
        [0, 0],
        [0, 0],
        [1, 0],
      ],
      shape: "(T, d_v)",
      about: "The gradient of the output",
    },
    {
      ...SHAPE,
      key: "Q",
      label: "Q",
      first: [
        [1, 0],
        [0, 1],
        [1, 1],
      ],
      shape: "(T, d_k)",
      about: "Queries",
    },
    {
      ...SHAPE,
      key: "K",
      label: "K",
      first: [
        [1, 0],
        [1, 1],
        [0, 1],
      ],
      shape: "(S, d_k)",
      about: "Keys",
    },
    {
      ...SHAPE,
      key: "V",
      label: "V",
      first: [
        [1, 0],
        [0, 2],
        [-1, 1],
      ],
      shape: "(S, d_v)",
      about: "Values",
    },
    {
      key: "causal",
      kind: "flag",
      label: "causal mask",
      first: true,
      about: "Hide later keys; the queries are the last of the positions",
    },
  ],
  check: ({ Q, K, V, dY, causal }) => {
    const shape = (A) => `(${A.length}, ${A[0].length})`;
    if (Q[0].length !== K[0].length)
      return `Q and K must have rows of one length; got Q ${shape(Q)} and K ${shape(K)}`;
    if (K.length !== V.length)
      return `K and V must have equally many rows; got K ${shape(K)} and V ${shape(V)}`;
    if (causal && Q.length > K.length)
      return (
        `with a causal mask Q has at most as many rows as K; got Q ${shape(Q)} and K ` +
        `${shape(K)}`
      );
    return dY.length === Q.length && dY[0].length === V[0].length
      ? ""
      : `dY must have a row for each of Q and a column for each of V; got dY ${shape(dY)}, Q ` +
          `${shape(Q)} and V ${shape(V)}`;
  },
  compute: (state) => {
    const { Q, K, V } = state;
    const loss = lossOf(state);
    const open = openOf(state);
    const root = rootOf(state);
    const weights = scoresOf(state).map((row, i) => softmax(row, open[i]));
    const dA = matmul(loss, transpose(V));
    const means = weights.map((row, i) => dot(row, dA[i]));
    const dS = weights.map((row, i) => row.map((w, j) => w * (dA[i][j] - means[i])));
    return {
      loss,
      weights,
      dA,
      means,
      dS,
      dV: matmul(transpose(weights), loss),
      dQ: shrunk(matmul(dS, K), root),
      dK: shrunk(matmul(transpose(dS), Q), root),
    };
  },
  view: (state, values, own, narrow) => {
    const label = sentence(state, values);
    return chain({ ...pictureOf(state, values, narrow), label }) + say(label);
  },

  // A number of the output is the loss that flows back. Each other entry opens its gradient.
  handles: (state, values) => {
    const [row, column] = spotOf(state);
    const { Q, K, V, dY } = state;
    const cells = (id, A, named, settings) =>
      A.flatMap((numbers, i) =>
        numbers.map((x, j) => ({ id: `${id},${i},${j}`, name: named(i, j), ...settings(i, j) })),
      );
    const opens = (id, A, name) =>
      cells(
        id,
        A,
        (i, j) => `${name}[${i}][${j}]: ${brief(values[name][i][j])}`,
        (i, j) => ({
          ...{ group: "entries", eager: true },
          press: () => ({ step: GRADIENTS.indexOf(name) + 1, row: i, column: j }),
        }),
      );
    const chooses = (id) =>
      cells(
        id,
        dY,
        (i, j) => `Y[${i}][${j}] as the loss`,
        (i, j) => {
          const on = state.alone && i === row && j === column;
          return {
            ...{ group: "outputs", once: true, on },
            // Its row is opened where rows are those of queries.
            press: ({ step }) => ({
              ...{ alone: !on, entry: i * dY[0].length + j },
              ...(["dA", "dS", "dQ"].includes(GRADIENTS[step - 1]) && { row: i }),
            }),
          };
        },
      );
    return [
      ...opens("Q", Q, "dQ"),
      ...opens("K", K, "dK"),
      ...opens("S", values.dS, "dS"),
      ...opens("A", values.dA, "dA"),
      ...opens("V", V, "dV"),
      ...chooses("Y"),
      ...GRADIENTS.flatMap((name) => opens(name, values[name], name)),
      ...chooses("dY"),
    ];
  },
};

export default figureModule(figure);
