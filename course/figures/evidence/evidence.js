// Evidence: two designs, a few runs of each, and what they would have shown.

import { count, fixed, range } from "../kit/numbers.js";
import { escape } from "../kit/svg.js";
import { figureModule, known, say } from "../kit/common.js";

// The accuracies of trained models, one per random seed, by design.
const RUNS = known("evidence");
const DESIGNS = Object.keys(RUNS);
const SEEDS = 5;

// All choices of n seeds, in lexicographic order.
const choices = (n, from = 0) =>
  n === 0
    ? [[]]
    : range(SEEDS - from).flatMap((k) =>
        choices(n - 1, from + k + 1).map((rest) => [from + k, ...rest]),
      );
const pick = (runs, choice) => choice.map((seed) => runs[seed]);
// Positive if each run of x beats each run of y, negative if the reverse holds,
// else 0.
const conclude = (x, y) =>
  Math.min(...x) > Math.max(...y) ? 1 : Math.max(...x) < Math.min(...y) ? -1 : 0;
const median = (runs) => [...runs].sort((a, b) => a - b)[(SEEDS - 1) / 2];

// Readers are numbered row by row: a choice for the first design, then for the
// other.
const readersOf = (n) => choices(n).length ** 2;
const choicesOf = ({ n, reader }) => {
  const all = choices(n);
  const number = Math.min(reader, all.length ** 2 - 1);
  return [all[Math.floor(number / all.length)], all[number % all.length]];
};
// The reader who has one more run of each design, or one fewer.
const grown = (state, by) => {
  const next = choicesOf(state).map((choice) => {
    const other = range(SEEDS).find((seed) => !choice.includes(seed));
    return (by > 0 ? [...choice, other] : choice.slice(0, -1)).sort((a, b) => a - b);
  });
  const n = state.n + by;
  const all = choices(n).map(String);
  const [i, j] = next.map((choice) => all.indexOf(String(choice)));
  return { n, reader: i * all.length + j };
};

// --- drawing -------------------------------------------------------------

const BOX = { left: 12, right: 12, strips: [46, 104], axis: 132, top: 176, side: 150 };
const widthOf = (narrow) => (narrow ? 360 : 400);
const LANE = 7;
const at = (x) => +x.toFixed(2);
// The axis starts where the runs of both designs start, and is the same for every
// reader.
const STARTS = [0, 0.2, 0.4, 0.6, 0.8];
const startOf = ({ a, b }) => {
  const least = Math.min(...RUNS[a], ...RUNS[b]);
  return STARTS.filter((start) => start <= least).at(-1);
};
const place = (state, narrow) => {
  const start = startOf(state);
  const wide = widthOf(narrow) - BOX.left - BOX.right;
  return (share) => BOX.left + ((share - start) / (1 - start)) * wide;
};
const words = (text, x, y, anchor = "start", kind = "") =>
  `<text${kind && ` class="${kind}"`} x="${at(x)}" y="${at(y)}" text-anchor="${anchor}">` +
  `${escape(text)}</text>`;
const MARKS = ["first", "none", "second"]; // for 1, 0 and -1

const strip = (state, values, k, px) => {
  const runs = RUNS[k ? state.b : state.a];
  const [low, high] = values.ranges[k].map(px);
  const y = BOX.strips[k];
  const dots = runs.map((share, seed) => {
    const run = values.chosen[k].includes(seed);
    return (
      `<circle class="av-run${run ? ` av-run-${MARKS[2 * k]}` : ""}" cx="${at(px(share))}" ` +
      `cy="${y + LANE * (seed - 2)}" r="${run ? 4.5 : 3}"/>`
    );
  });
  return (
    words(k ? state.b : state.a, BOX.left, y - 21) +
    `<path class="av-span av-span-${MARKS[2 * k]}" d="M${at(low)} ${y}H${at(high)}"/>` +
    dots.join("")
  );
};
const overlap = ({ ranges }, px) => {
  const [[a, b], [c, d]] = ranges.map((ends) => ends.map(px));
  const [from, to] = [Math.max(a, c), Math.min(b, d)];
  if (to < from) return "";
  return (
    `<rect class="av-both" x="${at(from - 1)}" y="${BOX.strips[0] - 18}" ` +
    `width="${at(to - from + 2)}" height="${BOX.axis - BOX.strips[0] + 18}"/>`
  );
};
const axis = (state, px) => {
  const start = startOf(state);
  const ticks = range(5).map((k) => {
    const share = start + ((1 - start) * k) / 4;
    const anchor = k === 0 ? "start" : k === 4 ? "end" : "middle";
    return (
      `<path class="av-scale" d="M${at(px(share))} ${BOX.axis}v4"/>` +
      words(`${fixed(100 * share, 0)}%`, px(share), BOX.axis + 16, anchor)
    );
  });
  return (
    `<path class="av-scale" d="M${px(start)} ${BOX.axis}H${px(1)}"/>${ticks.join("")}` +
    words("share of right answers", px(1), 12, "end")
  );
};

// The colour of a square shows which design is ahead, and so does a stroke.
const square = (conclusion, x, y, side, kind = "") =>
  `<rect class="av-says-${MARKS[1 - conclusion]}${kind}" x="${at(x)}" y="${at(y)}" ` +
  `width="${at(side)}" height="${at(side)}"/>` +
  (conclusion < 0
    ? `<path class="av-slash" d="M${at(x)} ${at(y + side)}l${at(side)} ${at(-side)}"/>`
    : "");
const cells = ({ n, reader }, { conclusions }) => {
  const m = conclusions.length;
  const side = BOX.side / m;
  const here = Math.min(reader, readersOf(n) - 1);
  return conclusions
    .flat()
    .map((conclusion, number) => {
      const x = BOX.left + (number % m) * side + 1;
      const y = BOX.top + Math.floor(number / m) * side + 1;
      const drawn = square(conclusion, x, y, side - 2, number === here ? " av-me" : "");
      return `<g data-handle="reader-${number}">${drawn}</g>`;
    })
    .join("");
};
const legend = (state, { counts }) => {
  const x = BOX.left + BOX.side + 24;
  const [a, b] = [state.a, state.b].map((name) => name.split(": ")[1]);
  return [a, "neither: overlap", b]
    .map((text, k) => {
      const y = BOX.top + 12 + 24 * k;
      return (
        square(1 - k, x, y - 11, 14) +
        words(`${counts[k]}`, x + 44, y + 1, "end", "av-readers-count") +
        words(text, x + 52, y + 1)
      );
    })
    .join("");
};
const buttons = ({ n }) => [
  { id: "less", name: "one run less of each", text: "− 1 run", to: -1, on: n > 1 },
  { id: "more", name: "one run more of each", text: "+ 1 run", to: 1, on: n < SEEDS },
];
const places = () => range(2).map((k) => [BOX.left + BOX.side + 24 + 86 * k, BOX.top + 92, 80, 44]);
const drawButtons = (state) =>
  buttons(state)
    .map(({ id, text, on }, k) => {
      const [x, y, w, h] = places()[k];
      return on
        ? `<g data-handle="${id}"><rect class="av-readers-press" x="${x}" y="${y}" width="${w}" ` +
            `height="${h}" rx="4"/>${words(text, x + w / 2, y + 26, "middle")}</g>`
        : "";
    })
    .join("");

const picture = (state, values, narrow) => {
  const px = place(state, narrow);
  const named = [state.a, state.b].map(
    (name, k) => `${name} ${pick(RUNS[name], values.chosen[k]).map(percent).join(", ")}`,
  );
  const label = `Runs of this reader: ${named.join("; ")}`;
  return (
    `<svg class="av-evidence" role="img" aria-label="${escape(label)}" ` +
    `viewBox="0 0 ${widthOf(narrow)} ${BOX.top + BOX.side + 4}">${overlap(values, px)}` +
    `${strip(state, values, 0, px)}${strip(state, values, 1, px)}${axis(state, px)}` +
    words(
      `Who is ahead, for each of ${count(values.readers, "reader")}: press one`,
      BOX.left,
      BOX.top - 8,
    ) +
    `${cells(state, values)}${legend(state, values)}${drawButtons(state)}</svg>`
  );
};

// --- in words ------------------------------------------------------------

const percent = (share) => `${fixed(100 * share, 1)}%`;
const sentence = ({ a, b }, { readers, whole, medians, against }) => {
  const [ahead, behind] = whole > 0 ? [a, b] : [b, a];
  if (whole !== 0)
    return `Each of the five runs of ${ahead} beats each of ${behind}, so no reader says the opposite.`;
  const [x, y] = medians.map(percent);
  const open = `The ranges of all five runs overlap (medians ${x} and ${y}): it is open. `;
  return medians[0] === medians[1]
    ? `${open}The medians are equal.`
    : `${open}Of ${count(readers, "reader")}, ${against} contradict the medians.`;
};

const design = (key, label, first) => ({
  key,
  kind: "choice",
  label,
  first,
  about: "A design, by its group and its name",
  options: DESIGNS,
});

const figure = {
  name: "evidence",
  card: { part: ".av-evidence", box: "0 168 400 162" },
  lead: ["a", "b"],
  controls: [
    design("a", "design a", "positions: sinusoidal"),
    design("b", "design b", "positions: ALiBi"),
    {
      key: "n",
      kind: "range",
      label: "runs of each",
      first: 1,
      about: "Runs of each design that a reader has",
      min: 1,
      max: SEEDS,
      step: 1,
    },
    {
      key: "reader",
      kind: "range",
      label: "reader",
      first: 0,
      about: "Which runs: the number of the choice, counted row by row",
      min: 0,
      max: 99,
      step: 1,
      upTo: ({ n }) => readersOf(n) - 1,
    },
  ],
  compute: (state) => {
    const [A, B] = [RUNS[state.a], RUNS[state.b]];
    const all = choices(state.n);
    const conclusions = all.map((i) => all.map((j) => conclude(pick(A, i), pick(B, j))));
    const flat = conclusions.flat();
    const counts = [1, 0, -1].map((c) => flat.filter((x) => x === c).length);
    const chosen = choicesOf(state);
    const medians = [A, B].map(median);
    const sign = Math.sign(medians[0] - medians[1]);
    return {
      chosen,
      ranges: [A, B].map((runs, k) => {
        const seen = pick(runs, chosen[k]);
        return [Math.min(...seen), Math.max(...seen)];
      }),
      conclusions,
      counts,
      readers: flat.length,
      whole: conclude(A, B),
      medians,
      against: sign === 0 ? 0 : counts[1 + sign],
    };
  },
  view: (state, values, own, narrow) =>
    picture(state, values, narrow) + say(sentence(state, values)),
  handles: (state) => [
    ...range(readersOf(state.n)).map((number) => ({
      id: `reader-${number}`,
      name: `reader ${number}`,
      group: "readers",
      on: number === Math.min(state.reader, readersOf(state.n) - 1),
      press: () => ({ reader: number }),
    })),
    ...buttons(state)
      .filter(({ on }) => on)
      .map(({ id, name, to }) => ({ id, name, group: "runs", press: () => grown(state, to) })),
  ],
};

export default figureModule(figure);
