// The backward pass: a gradient of the output, and the gradients that follow from
// it.

import { dot, fixed, matmul, range, setting, softmax, transpose } from "../kit/numbers.js";
import { colorOf, escape } from "../kit/svg.js";
import { grid } from "../kit/tables.js";
import { show } from "../kit/controls.js";
import { grip } from "../kit/handles.js";
import { figureModule, say } from "../kit/common.js";

const NUDGE = 0.1;
const MOST = 10;
const spotOf = ({ dY, entry }) => {
  const wide = dY[0].length;
  const k = Math.min(entry, dY.length * wide - 1);
  return [Math.floor(k / wide), k % wide];
};
const rootOf = ({ Q }) => Math.sqrt(Q[0].length);

// Which keys each query may see. With a mask, the queries are the last positions.
const openOf = ({ Q, K, causal }) => {
  const late = K.length - Q.length;
  return Q.map((_, i) => K.map((_key, j) => !causal || j <= i + late));
};
const shrunk = (A, divisor) => A.map((row) => row.map((x) => x / divisor));

// The first of the largest entries: with two keys, the gradients are equal and
// opposite except in their last bits.
const largest = (row) => {
  const sizes = row.map(Math.abs);
  return sizes.findIndex((x) => x >= Math.max(...sizes) * (1 - 1e-9));
};
const three = (x) => fixed(x, 3);
const factor = (x) => (x < 0 ? `(${three(x)})` : three(x));
const sentence = (state, { weights, dA, dS, means }) => {
  const [i, c] = spotOf(state);
  const j = largest(dS[i]);
  const way =
    dS[i][j] === 0
      ? "does not move"
      : Math.abs(dS[i][j]) < 5e-4
        ? "hardly moves"
        : dS[i][j] > 0
          ? "raises"
          : "lowers";
  const which =
    dS[i][j] === 0
      ? `No score there has a gradient. For key ${j},`
      : `The score of key ${j} has the largest gradient there:`;
  return (
    `dY[${i}][${c}] = ${setting(state.dY[i][c])}. In row ${i} the mean of dA under the weights ` +
    `is ${three(means[i])}. ${which} ` +
    `dS[${i}][${j}] = A × (dA − mean) = ${three(weights[i][j])} × (${three(dA[i][j])} − ` +
    `${factor(means[i])}) ≈ ` +
    `${three(dS[i][j])}: a higher score ${way} the loss.`
  );
};

// The entry that is stepped, as a bar to drag, and the gradients of the scores in
// its row. The axis holds all that dY may be: logarithmic on either side, and
// straight in the hundredths around zero.
const AXIS = { width: 400, middle: 240, half: 120, top: 30, row: 24, straight: 0.01 };
const decades = (x) => Math.log10(1 + x / AXIS.straight);
const across = (x) =>
  AXIS.middle + Math.sign(x) * AXIS.half * Math.min(decades(Math.abs(x)) / decades(MOST), 1);
const valueAt = (u) => {
  const far = (u - AXIS.middle) / AXIS.half;
  return Math.sign(far) * AXIS.straight * (10 ** (Math.abs(far) * decades(MOST)) - 1);
};
const bars = (state, { dS }) => {
  const { width, middle, half, top, row } = AXIS;
  const [i, c] = spotOf(state);
  const at = (x) => x.toFixed(2);
  const open = openOf(state)[i];
  const lines = [
    [`dY[${i}][${c}]`, state.dY[i][c], setting(state.dY[i][c])],
    ...dS[i].map((x, j) => [`dS[${i}][${j}]`, x, open[j] ? three(x) : "·"]),
  ];
  const end = top + row * lines.length;
  const ticks = [-10, -1, -0.1, 0, 0.1, 1, 10].map(
    (x) =>
      `<path class="av-rule" d="M${at(across(x))} ${top}V${end}"/>` +
      `<text x="${at(across(x))}" y="${top - 8}" text-anchor="middle">${setting(x)}</text>`,
  );
  const drawn = lines.map(([name, x, number], k) => {
    const y = top + row * k + 4;
    const [a, b] = [middle, across(x)].sort((p, q) => p - q);
    return (
      `<rect x="${at(a)}" y="${y}" width="${at(b - a)}" height="${row - 8}" ` +
      `fill="${colorOf(0.67 * Math.sign(x))}"/>` +
      `<text x="2" y="${y + 12}">${name}</text>` +
      `<text x="${middle - half - 8}" y="${y + 12}" text-anchor="end">${number}</text>`
    );
  });
  const knob = '<circle r="8" style="fill:var(--av-ground);stroke:currentColor;stroke-width:2.5"/>';
  const label =
    `The gradient dY[${i}][${c}], ${setting(state.dY[i][c])}, and those of the scores in its ` +
    `row: ${dS[i]
      .filter((_, j) => open[j])
      .map(three)
      .join(", ")}`;
  return (
    `<svg class="av-chart av-pull" role="img" aria-label="${escape(label)}" ` +
    `viewBox="0 0 ${width} ${end + 4}">${ticks.join("")}` +
    `<path d="M${middle} ${top}V${end}" stroke="currentColor"/>${drawn.join("")}` +
    grip("given", [at(across(state.dY[i][c])), top + row / 2], knob) +
    "</svg>"
  );
};

const SHAPE = { kind: "matrix", rows: [1, 4], columns: [1, 4], min: -MOST, max: MOST };
const figure = {
  name: "backward",
  card: { part: "table", which: 1 },
  controls: [
    {
      key: "entry",
      kind: "range",
      label: "entry of dY",
      first: 4,
      about:
        "The entry of `dY` that is stepped, row by row; one beyond the last counts as the last",
      min: 0,
      max: 15,
      step: 1,
      upTo: ({ dY }) => dY.length * dY[0].length - 1,
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
    const { Q, K, V, dY } = state;
    const open = openOf(state);
    const root = rootOf(state);
    const weights = shrunk(matmul(Q, transpose(K)), root).map((row, i) => softmax(row, open[i]));
    const dA = matmul(dY, transpose(V));
    const means = weights.map((row, i) => dot(row, dA[i]));
    const dS = weights.map((row, i) => row.map((w, j) => w * (dA[i][j] - means[i])));
    return {
      weights,
      dA,
      means,
      dS,
      dV: matmul(transpose(weights), dY),
      dQ: shrunk(matmul(dS, K), root),
      dK: shrunk(matmul(transpose(dS), Q), root),
    };
  },
  view: (state, values) => {
    const { weights, dA, dS, dV, dQ, dK } = values;
    const open = openOf(state);
    const [i, c] = spotOf(state);
    const spot = (row, column) =>
      `data-at="dY,${row},${column}" class="av-given-cell` +
      `${row === i && column === c ? " av-picked" : ""}"`;
    const inRow = (row) => (row === i ? 'class="av-source"' : "");
    const queries = state.Q.map((_, k) => `q${k}`);
    const keys = state.K.map((_, k) => `k${k}`);
    const table = (kind, name, formula, A, rows, more = {}) =>
      `<div${kind && ` class="av-of-${kind}"`}>` +
      grid({
        label: `${name} (${A.length}, ${A[0].length})\n${formula}`,
        rows,
        columns: range(A[0].length),
        values: A,
        digits: 4,
        ...more,
      }) +
      `</div>`;
    // Orange is negative and blue positive, on one scale for all gradients.
    const sizes = [state.dY, dA, dS, dV, dQ, dK].flat(2).map(Math.abs);
    const most = Math.max(...sizes, 1e-9);
    const sized = (attributes) => ({ part: (x) => x / most, attributes });
    const seen = (row, column) => open[row][column];
    const tables = [
      table("", "dY", "you give it", state.dY, queries, { ...sized(spot), digits: 3 }),
      table("weight", "A", "the weights", weights, queries, {
        digits: 3,
        open: seen,
        columns: keys,
        attributes: inRow,
      }),
      table("value", "dV", "Aᵀ dY", dV, keys, sized()),
      table("weight", "dA", "dY Vᵀ", dA, queries, { ...sized(inRow), columns: keys }),
      table("", "dS", "A × (dA − mean)", dS, queries, {
        ...sized(inRow),
        columns: keys,
        open: seen,
      }),
      table("query", "dQ", `dS K / √${state.Q[0].length}`, dQ, queries, sized()),
      table("key", "dK", `dSᵀ Q / √${state.Q[0].length}`, dK, keys, sized()),
    ];
    return `${bars(state, values)}<div class="av-row av-step">${tables.join("")}</div>${say(sentence(state, values))}`;
  },

  handles: (state) => {
    const [i, c] = spotOf(state);
    const key = `dY.${i}.${c}`;
    return [
      {
        id: "given",
        name: `entry ${c} of the gradient of output ${i}`,
        keys: [key],
        at: [across(state.dY[i][c]), AXIS.top + AXIS.row / 2],
        read: ([u]) => ({ [key]: valueAt(u) }),
      },
    ];
  },
  // The buttons step the entry of dY that was pressed.
  enhance: (result, state, values, set) => {
    result.onclick = ({ target }) => {
      const at = target.closest("[data-at]")?.dataset.at.split(",");
      if (at) set("entry", at[1] * state.dY[0].length + +at[2]);
    };
  },
  live: ({ form, model }) => {
    const box = document.createElement("div");
    box.className = "av-panel av-keys";
    box.innerHTML = ["−", "+"]
      .map((sign) => `<button type="button">dY ${sign} ${NUDGE}</button>`)
      .join("");
    form.before(box);
    const field = form.elements.namedItem("dY");
    box.addEventListener("click", ({ target }) => {
      const way = [...box.children].indexOf(target);
      if (way < 0) return;
      const state = { dY: model.get("dY"), entry: model.get("entry") };
      const [i, c] = spotOf(state);
      const dY = state.dY.map((row) => [...row]);
      dY[i][c] = +(dY[i][c] + (way ? NUDGE : -NUDGE)).toFixed(6);
      field.value = show({ kind: "matrix" }, dY);
      field.dispatchEvent(new Event("input", { bubbles: true }));
    });
  },
};

export default figureModule(figure);
