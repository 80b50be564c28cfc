// A mask to paint: which word may attend to which, and what follows.

import { fixed, inWords, matmul, range, softmax } from "../kit/numbers.js";
import { colorOf, escape, inkOn } from "../kit/svg.js";
import { grip } from "../kit/handles.js";
import { figureModule, say } from "../kit/common.js";

// The second sentence of the lesson: two words and two padding tokens. Its keys
// are twice the unit vectors of width four, so the scores are its queries.
const WORDS = ["dogs", "bark", "pad", "pad"];
const REAL = 2;
const SCORES = [
  [1, 0, 5, 5],
  [2, 1, 6, 5],
  [0, 1, 4, 4],
  [1, 1, 4, 4],
];
const VALUES = [
  [1, 0],
  [0, 1],
  [100, 100],
  [100, 100],
];
const N = WORDS.length;

const maskOf = (rule) => range(N).map((i) => range(N).map((j) => (rule(i, j) ? 1 : 0)));
const RULES = {
  none: () => true,
  causal: (i, j) => j <= i,
  "window of 2": (i, j) => j <= i && i - j < 2,
  padding: (_, j) => j < REAL,
  "causal and padding": (i, j) => j <= i && j < REAL,
};
const toggled = (may, i, j) =>
  may.map((row, a) => row.map((x, b) => (a === i && b === j ? 1 - x : x)));
const pairs = range(N).flatMap((i) => range(N).map((j) => [i, j]));

// --- drawing -----------------------------------------------------------------

const TOP = 44;
const GAP = 4;
const WIDE = { width: 480, left: 56, wide: 76, high: 48, out: 422 };
const NARROW = { width: 360, left: 46, wide: 52, high: 48, out: 308 };
const cornerIn = ({ left, wide, high }, i, j) => [left + j * wide, TOP + i * high];
const write = (text, x, y, anchor = "middle", kind = "") =>
  `<text${kind && ` class="${kind}"`} x="${x}" y="${y}" text-anchor="${anchor}">${escape(text)}` +
  `</text>`;
const middleIn = (paper, i, j) => {
  const [x, y] = cornerIn(paper, i, j);
  return [x + (paper.wide - GAP) / 2, y + (paper.high - GAP) / 2 + 5];
};

// A cell is pressed as a whole, so its own corner is the origin of its drawing. What an
// open or a closed cell lacks is not seen, so that it can fade in.
const cellOf = (paper, i, j, open, weight) => {
  const [wide, high] = [paper.wide - GAP, paper.high - GAP];
  const box = `x="0" y="0" width="${wide}" height="${high}"`;
  const [x, y] = [wide / 2, high / 2 + 5];
  const hatch = range(3).map((k) => {
    const long = Math.min(high - 8, wide - 8 - 11 * k);
    return `M${4 + 11 * k} ${high - 4}l${long} ${-long}`;
  });
  const seen = (is) => `style="opacity:${+is}`;
  const drawn =
    `<rect class="av-may${open ? "" : " av-may-not"}" ` +
    `style="fill:${open ? colorOf(weight) : "var(--av-ground)"}" ${box}/>` +
    `<text ${seen(open)};fill:${inkOn(weight)}" x="${x}" y="${y}" text-anchor="middle">` +
    `${fixed(weight)}</text><path class="av-hatch" ${seen(!open)}" d="${hatch.join("")}"/>`;
  return grip(`cell-${i}-${j}`, cornerIn(paper, i, j), drawn);
};
const row = (numbers, digits) => `(${numbers.map((x) => fixed(x, digits)).join(", ")})`;

// --- in words ----------------------------------------------------------------

const tokenOf = (i) => (i < REAL ? WORDS[i] : `pad ${i - REAL + 1}`);
const sentence = ({ padding, later, empty }) => {
  const shares = range(REAL).map((i) => `${WORDS[i]} gives ${fixed(padding[i])} to padding`);
  const leaks = later.map((w, i) => (w > 0 ? tokenOf(i) : "")).filter(Boolean);
  return (
    `Of its weight, ${shares.join(", and ")}. ` +
    (leaks.length ? `A later token is read by ${inWords(leaks)}.` : "No later token is read.") +
    (empty.length
      ? ` ${inWords(empty.map(tokenOf))} may attend to nothing, so the weights and the output ` +
        `are exactly zero.`
      : "")
  );
};

const figure = {
  name: "mask",
  lead: ["preset"],
  presetLabel: "mask",
  presets: Object.fromEntries(
    Object.entries(RULES).map(([name, rule]) => [name, { may: maskOf(rule) }]),
  ),
  controls: [
    {
      key: "may",
      kind: "matrix",
      label: "may attend: 1 or 0",
      first: maskOf(RULES.none),
      shape: "(T, S)",
      about: "A row per query, with 1 where it may attend to the key",
      rows: [N, N],
      columns: [N, N],
      min: 0,
      max: 1,
      step: 1,
    },
  ],
  compute: ({ may }) => {
    const weights = SCORES.map((scores, i) =>
      softmax(
        scores,
        may[i].map((x) => x === 1),
      ),
    );
    const sum = (some) => some.reduce((a, b) => a + b, 0);
    return {
      weights,
      output: matmul(weights, VALUES),
      padding: weights.map((w) => sum(w.slice(REAL))),
      later: weights.map((w, i) => sum(w.slice(i + 1))),
      empty: range(N).filter((i) => !may[i].includes(1)),
    };
  },
  view: ({ may }, values, own, narrow) => {
    const { weights, output, empty } = values;
    const paper = narrow ? NARROW : WIDE;
    const middle = (i, j) => middleIn(paper, i, j);
    const [end, foot] = cornerIn(paper, N, N);
    const label =
      `Weights of ${WORDS.join(" ")}: a row per query, a column per key, hatched where the query ` +
      `may not attend; on the right the output of each query`;
    const cells = pairs.map(([i, j]) => cellOf(paper, i, j, may[i][j] === 1, weights[i][j]));
    const heads = WORDS.map((_, k) => {
      const [x, y] = [middle(0, k)[0], middle(k, 0)[1]];
      // On a phone the numbers of a value are below each other.
      const value = narrow
        ? `<text class="av-of-value" text-anchor="middle">` +
          VALUES[k]
            .map((v, c) => `<tspan x="${x}" y="${foot + 18 + 16 * c}">${v} </tspan>`)
            .join("") +
          "</text>"
        : write(row(VALUES[k], 0), x, foot + 18, "middle", "av-of-value");
      return (
        write(tokenOf(k), x, TOP - 10, "middle", "av-of-key") +
        write(tokenOf(k), paper.left - 8, y, "end", "av-of-query") +
        value +
        write(row(output[k], 1), paper.out, y, "middle", empty.includes(k) ? "av-none" : "av-sum")
      );
    });
    const hint = foot + (narrow ? 60 : 44);
    return (
      `<svg class="av-paint" role="img" aria-label="${label}" viewBox="0 0 ${paper.width} ` +
      `${hint + 8}">` +
      write("queries ↓", 2, 14, "start", "av-title") +
      write("keys →", end, 14, "end", "av-title") +
      write("output", paper.out, TOP - 10, "middle", "av-title") +
      write("values", paper.left - 8, foot + 18, "end", "av-title") +
      write(
        "Press a cell to forbid it, or drag over several.",
        narrow ? 2 : paper.left,
        hint,
        "start",
        "av-hint",
      ) +
      `${heads.join("")}${cells.join("")}</svg>${say(sentence(values))}`
    );
  },
  // A press toggles a pair, and a drag sets the pairs it crosses to the same
  // value.
  handles: ({ may }) =>
    pairs.map(([i, j]) => ({
      id: `cell-${i}-${j}`,
      name: `query ${tokenOf(i)}, key ${tokenOf(j)}: may attend`,
      group: "cells",
      on: may[i][j] === 1,
      press: (now) => ({ may: toggled(now.may, i, j) }),
    })),
};

export default figureModule(figure);
