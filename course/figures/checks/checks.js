// Programs and checks: what each check finds in each program, and what it
// expects.

import { count, fixed, matmul, softmax, transpose } from "../kit/numbers.js";
import { colorOf, escape } from "../kit/svg.js";
import { figureModule, say } from "../kit/common.js";
import { grip } from "../kit/handles.js";

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
  "no 1/√dₖ": (Q, K, V, may) => mixed(weigh(Q, K, may, 1), V),
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
  "masked, ones give 1": (run, { Q, K, V }) => {
    const ones = V.map(() => [1]);
    return pairs(run(Q, K, ones, upTo).output, ones);
  },
};
const KINDS = Object.keys(CHECKS);
const dataAt = (tokens) => {
  const given = between(tokens);
  return { Q: given("Q"), K: given("K"), V: given("V") };
};
// For each program and check: the first pair that differs, or else the first pair.
const compared = (tokens) =>
  NAMES.map((name) =>
    KINDS.map((kind) => {
      const all = CHECKS[kind](PROGRAMS[name], dataAt(tokens));
      return all.find(differs) ?? all[0];
    }),
  );
const differs = ([x, y]) => Math.abs(x - y) > 1e-12 + 1e-9 * Math.abs(y);

// --- drawing -------------------------------------------------------------

const WAY = { width: 360, height: 40, left: 112, right: 258, y: 20 };
const placeOf = (t) => +(WAY.left + t * (WAY.right - WAY.left)).toFixed(2);
const write = (words, x, y, anchor = "middle", kind = "") =>
  `<text${kind && ` class="${kind}"`} x="${x}" y="${y}" text-anchor="${anchor}">${words}</text>`;
const way = ({ tokens }) =>
  `<svg class="av-way" role="img" aria-label="From the tokens of the demo to others" ` +
  `viewBox="0 0 ${WAY.width} ${WAY.height}">` +
  write("demo’s tokens", WAY.left - 12, WAY.y + 4, "end") +
  write("other tokens", WAY.right + 12, WAY.y + 4, "start") +
  `<path class="av-track" d="M${WAY.left} ${WAY.y}H${WAY.right}"/>` +
  `${grip("tokens", [placeOf(tokens), WAY.y], '<circle class="av-check-mark" r="7"/>')}</svg>`;

// Scores and weights beside their transposes: where they are alike, a program may
// confuse them unseen.
const CELL = 18;
const mirror = ({ scores, weights, symmetric }) => {
  const cells = (M, x, most) =>
    M.map((row, i) =>
      row
        .map(
          (v, j) =>
            `<rect fill="${colorOf(v / most)}" x="${x + j * CELL}" y="${22 + i * CELL}" ` +
            `width="${CELL - 1}" height="${CELL - 1}"/>`,
        )
        .join(""),
    ).join("");
  const side = T * CELL;
  const pair = (x, [name, turned], M, most) =>
    write(name, x + side / 2, 14) +
    cells(M, x, most) +
    write(
      symmetric ? "=" : "≠",
      x + side + 16,
      22 + side / 2 + 6,
      "middle",
      symmetric ? "av-alike" : "av-unlike",
    ) +
    write(turned, x + 32 + 1.5 * side, 14) +
    cells(transpose(M), x + side + 32, most);
  const label = `Scores and weights ${symmetric ? "equal" : "differ from"} their transposes`;
  const most = Math.max(...scores.flat().map(Math.abs));
  return (
    `<svg class="av-mirror" role="img" aria-label="${label}" viewBox="0 0 360 80">` +
    pair(20, ["Q Kᵀ", "K Qᵀ"], scores, most) +
    `${pair(200, ["A", "Aᵀ"], weights, 1)}</svg>`
  );
};

const YES = ["av-yes", "✓", "light-dark(#cdeadc,#0d4a33)"];
const NO = ["av-no", "✗", "light-dark(#ffd0c2,#7a2408)"];
// Programs whose mistake is not seen where scores and weights equal their transposes.
const REASONS = {
  "softmax over the queries": ["unmasked Aᵀ", "A"],
  "A.T @ V": ["unmasked Aᵀ", "A"],
  "Q and K swapped": ["K Qᵀ", "Q Kᵀ"],
};
const matrixOf = (state, { refused, others, symmetric }) => {
  const head = KINDS.map((name) => `<th scope="col">${escape(name)}</th>`).join("");
  const flips = refused.map((row, i) => row.map((x, j) => x !== others[i][j]));
  const body = NAMES.map((name, i) => {
    const cells = KINDS.map((kind, j) => {
      const here = name === state.program && kind === state.check ? " av-picked" : "";
      const flipped = flips[i][j] ? " av-flipped" : "";
      const [word, sign, ground] = refused[i][j] ? NO : YES;
      const was = flipped && `<i>${refused[i][j] ? YES[1] : NO[1]}→</i>`;
      return (
        `<td style="background:${ground}" class="${word}${flipped}${here}">` +
        `<span data-handle="c${i}-${j}">${was}${sign}</span></td>`
      );
    });
    const why = REASONS[name]
      ? `<small class="${symmetric ? "av-alike" : "av-unlike"}">` +
        `${REASONS[name].join(symmetric ? " = " : " ≠ ")}</small>`
      : "";
    return `<tr><th scope="row">${escape(name)}${why}</th>${cells.join("")}</tr>`;
  });
  const many = flips.flat().filter(Boolean).length;
  const marked = many ? `; ${count(many, "framed verdict")} changed` : "";
  return (
    '<table class="av-grid av-verdicts"><caption>✓ passes, ✗ refuses' +
    `${marked}</caption><thead><tr><td></td>${head}</tr></thead>` +
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

let others; // of other tokens, the same in each state
const figure = {
  name: "checks",
  card: { part: "table" },
  lead: [],
  controls: [
    choice("program", "program", "A.T @ V", "The program that is checked", NAMES),
    choice("check", "check", "output by loops", "The check that is made", KINDS),
    {
      key: "tokens",
      kind: "range",
      label: "tokens: 0 demo’s, 1 other",
      first: 1,
      about: "How far the tokens are from those of the demo, at 0, to others, at 1",
      min: 0,
      max: 1,
      step: 0.05,
    },
  ],

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
  compute: ({ tokens }) => {
    const made = compared(tokens);
    const { Q, K } = dataAt(tokens);
    const [scores, weights] = [matmul(Q, transpose(K)), weigh(Q, K, anyKey)];
    const each = (of, all = made) => all.map((row) => row.map(of));
    const differ = (pair) => Number(differs(pair));
    return {
      found: each(([x]) => x),
      expected: each(([, y]) => y),
      refused: each(differ),
      others: each(differ, (others ??= compared(1))),
      scores,
      weights,
      symmetric: Number(![scores, weights].some((of) => pairs(of, transpose(of)).some(differs))),
    };
  },

  view: (state, values) => {
    const [i, j] = [NAMES.indexOf(state.program), KINDS.indexOf(state.check)];
    const { found, expected, refused } = values;
    const [x, y] = [fixed(found[i][j], 4), fixed(expected[i][j], 4)];
    const of = refused.slice(1).reduce((sum, row) => sum + row[j], 0);
    const slips = refused.slice(1).filter((row) => !row.some(Boolean)).length;
    const wrong = NAMES.length - 1;
    const both = refused[i][j]
      ? `it finds ${x} where ${y} is expected`
      : `it finds ${x}, and ${y} is expected`;
    return (
      `${matrixOf(state, values)}${way(state)}${mirror(values)}` +
      say(
        `The check “${state.check}” ${refused[i][j] ? "refuses" : "passes"} the ` +
          `${i ? "wrong " : ""}program “${state.program}”: ${both}. It refuses ${of} of ` +
          `${wrong} wrong programs; all ${KINDS.length} checks together let ` +
          `${slips} pass.`,
      )
    );
  },
};

export default figureModule(figure);
