// Programs and checks: what each check finds in each program, and what it
// expects.

import { fixed, matmul, softmax, transpose } from "./numbers.js";
import { escape } from "./svg.js";
import { figureModule, say } from "./common.js";
import { grip } from "./handles.js";

// The tokens of a demo, and other tokens that share none of their symmetries.
const DEMO = {
  Q: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  K: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  V: [
    [10, 0],
    [0, 5],
    [0, 0],
  ],
};
const OTHER = {
  Q: [
    [2, 0, 1],
    [0, 3, 0],
    [1, 1, 0],
  ],
  K: [
    [0, 1, -1],
    [1, -1, 2],
    [-1, 0, 1],
  ],
  V: [
    [1, 4],
    [-2, 0],
    [3, 1],
  ],
};
const T = 3;
const between = (t) => (key) =>
  DEMO[key].map((row, i) => row.map((x, j) => x + t * (OTHER[key][i][j] - x)));

// --- programs ------------------------------------------------------------

const ROOT = Math.sqrt(T); // queries and keys are as wide as the number of tokens
const anyKey = () => true;
const upTo = (i, j) => j <= i;
const weigh = (Q, K, may, root = ROOT) =>
  matmul(Q, transpose(K)).map((row, i) =>
    softmax(
      row.map((x) => x / root),
      row.map((_, j) => may(i, j)),
    ),
  );
// A program takes the mask `may` and returns its weights and its output.
const mixed = (A, V) => ({ weights: A, output: matmul(A, V) });
const PROGRAMS = {
  right: (Q, K, V, may) => mixed(weigh(Q, K, may), V),
  "no 1/√d_k": (Q, K, V, may) => mixed(weigh(Q, K, may, 1), V),
  "softmax over the queries": (Q, K, V, may) =>
    mixed(transpose(weigh(K, Q, (j, i) => may(i, j))), V),
  "A.T @ V": (Q, K, V, may) => {
    const A = weigh(Q, K, may);
    return { weights: A, output: matmul(transpose(A), V) };
  },
  "V returned unchanged": (Q, K, V, may) => ({ weights: weigh(Q, K, may), output: V }),
  "Q and K swapped": (Q, K, V, may) => mixed(weigh(K, Q, may), V),
  "no mask": (Q, K, V) => mixed(weigh(Q, K, anyKey), V),
  "mask off by one": (Q, K, V, may) =>
    mixed(
      weigh(Q, K, (i, j) => may(i, j - 1)),
      V,
    ),
  "mask after the softmax": (Q, K, V, may) =>
    mixed(
      weigh(Q, K, anyKey).map((row, i) => row.map((w, j) => (may(i, j) ? w : 0))),
      V,
    ),
};
const NAMES = Object.keys(PROGRAMS);

// --- checks --------------------------------------------------------------

// A second program in loops, which shares no code with the others.
const byLoops = (Q, K, V, may) =>
  Q.map((q, i) => {
    const exps = K.map((k, j) =>
      may(i, j) ? Math.exp(k.reduce((sum, x, c) => sum + x * q[c], 0) / ROOT) : 0,
    );
    const sum = exps.reduce((a, b) => a + b, 0);
    return V[0].map((_, c) => exps.reduce((mix, e, j) => mix + (e / sum) * V[j][c], 0));
  });
// A check lists pairs of what it finds and what it expects.
const pairs = (found, wanted) => found.flat().map((x, i) => [x, wanted.flat()[i]]);
const CHECKS = {
  "rows sum to 1": (run, { Q, K, V }) =>
    run(Q, K, V, anyKey).weights.map((row) => [row.reduce((a, b) => a + b, 0), 1]),
  "no later key": (run, { Q, K, V }) =>
    run(Q, K, V, upTo).weights.flatMap((row, i) => row.slice(i + 1).map((w) => [w, 0])),
  "size of the output": (run, { Q, K, V }) => [
    [run(Q, K, V, upTo).output.flat().length, T * V[0].length],
  ],
  "output by loops": (run, { Q, K, V }) =>
    pairs(run(Q, K, V, anyKey).output, byLoops(Q, K, V, anyKey)),
  "masked, by loops": (run, { Q, K, V }) =>
    pairs(run(Q, K, V, upTo).output, byLoops(Q, K, V, upTo)),
  "values of 1 give 1": (run, { Q, K, V }) => {
    const ones = V.map(() => [1]);
    return pairs(run(Q, K, ones, upTo).output, ones);
  },
};
const KINDS = Object.keys(CHECKS);
const differs = ([x, y]) => Math.abs(x - y) > 1e-12 + 1e-9 * Math.abs(y);

// --- drawing -------------------------------------------------------------

const WAY = { width: 340, height: 62, left: 118, right: 244, y: 20 };
const placeOf = (t) => +(WAY.left + t * (WAY.right - WAY.left)).toFixed(2);
const way = ({ tokens }, { symmetric }) => {
  const text = (words, x, anchor) =>
    `<text x="${x}" y="${WAY.y + 4}" text-anchor="${anchor}">${words}</text>`;
  return (
    `<svg class="av-way" role="img" aria-label="From the tokens of the demo to others" ` +
    `viewBox="0 0 ${WAY.width} ${WAY.height}">` +
    text("demo’s tokens", WAY.left - 12, "end") +
    text("other tokens", WAY.right + 12, "start") +
    `<text class="av-alike" x="${WAY.width / 2}" y="54" text-anchor="middle">` +
    `here scores and weights ${symmetric ? "equal" : "differ from"} their transpose</text>` +
    `<path class="av-track" d="M${WAY.left} ${WAY.y}H${WAY.right}"/>` +
    `${grip("tokens", [placeOf(tokens), WAY.y], '<circle class="av-check-mark" r="7"/>')}</svg>`
  );
};

const YES = ["av-yes", "✓", "light-dark(#cdeadc,#0d4a33)"];
const NO = ["av-no", "✗", "light-dark(#ffd0c2,#7a2408)"];
const matrixOf = (state, { refused }) => {
  const head = KINDS.map((name) => `<th scope="col">${escape(name)}</th>`).join("");
  const body = NAMES.map((name, i) => {
    const cells = KINDS.map((kind, j) => {
      const here = name === state.program && kind === state.check ? " av-picked" : "";
      const [word, sign, ground] = refused[i][j] ? NO : YES;
      return (
        `<td style="background:${ground}" class="${word}${here}">` +
        `<span data-handle="c${i}-${j}">${sign}</span></td>`
      );
    });
    return `<tr><th scope="row">${escape(name)}</th>${cells.join("")}</tr>`;
  });
  return (
    '<table class="av-grid av-verdicts"><caption>Programs (rows) and checks (columns): ✓ passes, ' +
    `✗ refuses; only the first program is right</caption><thead><tr><td></td>${head}</tr></thead>` +
    `<tbody>${body.join("")}</tbody></table>`
  );
};

const choice = (key, label, first, about, options) => ({
  key,
  kind: "choice",
  label,
  first,
  about,
  options,
});

const figure = {
  name: "checks",
  card: { part: "table" },
  controls: [
    choice("program", "program", "A.T @ V", "The program that is checked", NAMES),
    choice("check", "check", "rows sum to 1", "The check that is made", KINDS),
    {
      key: "tokens",
      kind: "range",
      label: "tokens",
      first: 1,
      about: "How far the tokens are from those of the demo, at 0, to others, at 1",
      min: 0,
      max: 1,
      step: 0.05,
    },
  ],

  opening: { from: [{ tokens: 0 }, { tokens: 0 }], ms: 4000 },
  handles: (state, { refused }) => [
    {
      id: "tokens",
      name: "how far the tokens are from the demo’s",
      keys: ["tokens"],
      at: [placeOf(state.tokens), WAY.y],
      read: ([u]) => ({ tokens: (u - WAY.left) / (WAY.right - WAY.left) }),
    },
    ...NAMES.flatMap((program, i) =>
      KINDS.map((check, j) => ({
        id: `c${i}-${j}`,
        name: `${check}, ${program}: ${refused[i][j] ? "refused" : "passed"}`,
        group: "cells",
        on: program === state.program && check === state.check,
        press: () => ({ program, check }),
      })),
    ),
  ],
  // For each program and check: the first pair that differs, or else the first
  // pair.
  compute: ({ tokens }) => {
    const given = between(tokens);
    const data = { Q: given("Q"), K: given("K"), V: given("V") };
    const made = NAMES.map((name) =>
      KINDS.map((kind) => {
        const all = CHECKS[kind](PROGRAMS[name], data);
        return all.find(differs) ?? all[0];
      }),
    );
    const scores = matmul(data.Q, transpose(data.K));
    const each = (of) => made.map((row) => row.map(of));
    return {
      found: each(([x]) => x),
      expected: each(([, y]) => y),
      refused: each((pair) => Number(differs(pair))),
      symmetric: Number(
        ![scores, weigh(data.Q, data.K, anyKey)].some((of) =>
          pairs(of, transpose(of)).some(differs),
        ),
      ),
    };
  },

  view: (state, values) => {
    const [i, j] = [NAMES.indexOf(state.program), KINDS.indexOf(state.check)];
    const { found, expected, refused } = values;
    const [x, y] = [fixed(found[i][j], 4), fixed(expected[i][j], 4)];
    const of = refused.slice(1).reduce((sum, row) => sum + row[j], 0);
    const slips = refused.slice(1).filter((row) => !row.some(Boolean)).length;
    const wrong = NAMES.length - 1;
    const compared = refused[i][j]
      ? `it finds ${x} where ${y} is expected`
      : `it finds ${x}, and ${y} is expected`;
    return (
      `${matrixOf(state, values)}${way(state, values)}` +
      say(
        `The check “${state.check}” ${refused[i][j] ? "refuses" : "passes"} the ` +
          `${i ? "wrong " : ""}program “${state.program}”: ${compared}. It refuses ${of} of ` +
          `${wrong} wrong programs; all ${KINDS.length} checks together let ` +
          `${slips} pass.`,
      )
    );
  },
};

export default figureModule(figure);
