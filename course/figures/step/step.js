// Step through attention: every intermediate matrix, and the origin of each
// entry.

import { fixed, matmul, range, softmax, transpose } from "../kit/numbers.js";
import { grid } from "../kit/tables.js";
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
// The decimals for the numbers of one matrix: as many as are exact, else three.
const places = (numbers) => {
  const needed = numbers.map(exact);
  return needed.includes(undefined) ? 3 : Math.max(...needed);
};

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

// The matrices in order. For each entry: the sentence that computes it, and the
// entries that it depends on, as [matrix, row or null, column or null].
const steps = (state, { dots, scores, weights, output }) => {
  const [Q, K, V] = given(state);
  const [q, k, v] = state.what === ONE ? ["X", "X", "X"] : ["Q", "K", "V"];
  const named = (letter, rows) => rows.map((_, i) => `${letter}${i}`);
  const words = wordsOf(state);
  const [queries, keys] = [words?.asks ?? named("q", Q), words?.keys ?? named("k", K)];
  const columns = V[0].map((_, c) => c);
  const inputs =
    state.what === ONE
      ? [{ name: "X", title: "Q = K = V", rows: words?.keys ?? named("", Q), values: Q }]
      : [
          { name: "Q", title: "queries", rows: queries, values: Q },
          { name: "K", title: "keys", rows: keys, values: K },
          { name: "V", title: "values", rows: keys, values: V },
        ];
  const list = inputs.map((A) => ({ ...A, columns: A.values[0].map((_, c) => c) }));
  const step = (name, title, values, made, from, more) =>
    list.push({
      name,
      title,
      rows: queries,
      columns: keys,
      values,
      made,
      from,
      shaded: true,
      who: (i, j) => words && `Query ${words.asks[i]}, key ${words.keys[j]}`,
      ...more,
    });

  const root = Math.sqrt(Q[0].length);
  step(
    "dots",
    `${q} ${k}ᵀ`,
    dots,
    (i, j) =>
      `${q}[${i}] · ${k}[${j}] = ${product(Q[i], K[j])} ${makes(dots[i][j], Q[i].concat(K[j]))}`,
    (i, j) => [
      [q, i, null],
      [k, j, null],
    ],
  );
  step(
    "scores",
    state.scale ? `dots / √${Q[0].length}` : "dots, not divided",
    scores,
    (i, j) =>
      state.scale
        ? `dots[${i}][${j}] / √${Q[0].length} = ${brief(dots[i][j])} / ${brief(root)} ` +
          `${equals(scores[i][j])}`
        : `dots[${i}][${j}] ${equals(scores[i][j])}`,
    (i, j) => [["dots", i, j]],
  );
  let before = "scores";
  const logits = scores.map((row, i) => row.map((x, j) => (sees(state, i, j) ? x : -Infinity)));
  if (state.causal) {
    step(
      "masked",
      "no later key",
      logits,
      (i, j) =>
        sees(state, i, j)
          ? `scores[${i}][${j}] = ${brief(scores[i][j])}, since query ${i} may attend to ` +
            `key ${j}`
          : `−∞, since key ${j} comes after query ${i}`,
      (i, j) => [["scores", i, j]],
    );
    before = "masked";
  }
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
  const source = before;
  step(
    "weights",
    "softmax by row",
    weights,
    (i, j) =>
      `${powers(i)[j]} / (${powers(i).join(" + ")}) ${ratio(i, j)}` +
      `${share(weights[i][j], alone(i, j))}`,
    (i) => [[source, i, null]],
    { low: 0, high: 1 },
  );
  step(
    "output",
    `weights ${v}`,
    output,
    (i, c) =>
      `weights[${i}] · column ${c} of ${v} = ${product(
        weights[i],
        V.map((row) => row[c]),
      )} ${makes(output[i][c], weights[i])}`,
    (i, c) => [
      ["weights", i, null],
      [v, null, c],
    ],
    { columns, shaded: false, who: (i) => words && `Query ${words.asks[i]}` },
  );
  return list;
};

// The sentence and the sources of an entry named as in "dots,0,2"; if there is no
// such entry, those of the last entry in the first row of dots.
const worked = (list, entry) => {
  const [name, i, j] = String(entry).split(",");
  const found = list.find((A) => A.made && A.name === name && A.values[i]?.[j] !== undefined);
  if (!found) return worked(list, `dots,0,${list.find((A) => A.made).columns.length - 1}`);
  const who = found.who(+i, +j);
  const text = `${who ? `${who}: ` : ""}${name}[${i}][${j}] = ${found.made(+i, +j)}`;
  return { entry, text, from: found.from(+i, +j) };
};
const role = ({ entry, from }, name, i, j) => {
  if (entry === `${name},${i},${j}`) return "av-picked";
  return from.some(([n, row, column]) => n === name && (row ?? i) === i && (column ?? j) === j)
    ? "av-source"
    : "";
};

const figure = {
  name: "step",
  card: { part: "table", which: 3 },
  controls: [
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
  view: (state, values, own) => {
    const list = steps(state, values);
    const shown = worked(list, own?.entry);
    const drawn = list.map(({ name, title, rows, columns, values: A, shaded, made, ...limits }) => {
      const finite = A.flat().filter(Number.isFinite);
      const {
        low = Math.min(0, ...finite),
        high = shaded ? Math.max(low + 1e-9, ...finite) : Infinity,
      } = limits;
      // Each matrix is one tab stop: the entry that was focused last.
      const asked = own?.stops[name];
      const [, a, b] = asked?.split(",") ?? [];
      const stop = A[a]?.[b] === undefined ? `${name},0,0` : asked;
      const attributes = (i, j) => {
        const at = `${name},${i},${j}`;
        const tab = own && made ? ` tabindex="${at === stop ? 0 : -1}"` : "";
        return `data-at="${at}" class="${role(shown, name, i, j)}"${tab}`;
      };
      const label = `${name} ${shape(A)}\n${title}`;
      const digits = places(finite);
      const table = grid({ label, rows, columns, values: A, digits, low, high, attributes });
      const kind = own && made ? '<table role="grid"' : "<table";
      return `<div>${table.replace("<table", kind)}</div>`;
    });
    return `<div class="av-row av-step">${drawn.join("")}</div>${say(shown.text)}`;
  },

  // Pointing at an entry, or moving to it with the arrow keys, explains it.
  live: ({ el, paint }) => {
    const result = el.querySelector(".av-result");
    const own = { entry: "", stops: {} };
    const pick = (cell, focused) => {
      if (!cell?.hasAttribute("tabindex")) return;
      const { at } = cell.dataset;
      if (at === own.entry && !focused) return;
      if (focused) own.stops[at.split(",")[0]] = at;
      own.entry = at;
      paint();
    };
    const cellOf = ({ target }) => target.closest("[data-at]");
    result.addEventListener("pointerover", (event) => pick(cellOf(event), false));
    result.addEventListener("focusin", (event) => pick(cellOf(event), true));
    result.addEventListener("keydown", (event) => {
      const cell = cellOf(event);
      if (!cell || event.altKey || event.ctrlKey || event.metaKey) return;
      const [name, ...at] = cell.dataset.at.split(",");
      const [i, j] = at.map(Number);
      const last = cell.parentNode.children.length - 2; // after the name of the row
      const to = {
        ArrowUp: [i - 1, j],
        ArrowDown: [i + 1, j],
        ArrowLeft: [i, j - 1],
        ArrowRight: [i, j + 1],
        Home: [i, 0],
        End: [i, last],
      }[event.key];
      if (!to) return;
      event.preventDefault();
      result.querySelector(`[data-at="${name},${to}"]`)?.focus();
    });
    return { own: () => own };
  },
};

export default figureModule(figure);
