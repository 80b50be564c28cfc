// How many numbers plain attention and tiled attention move between two memories.

import { count, range, sum, tick, whole } from "../kit/numbers.js";
import { textAt } from "../kit/svg.js";
import { folded } from "../kit/tables.js";
import { figureModule, say } from "../kit/common.js";
import { grip } from "../kit/handles.js";

const [LEAST, MOST] = [2 ** 10, 2 ** 18]; // the capacity of the on-chip memory, in numbers
const BYTES = 2; // per number, in 16 bits

// Four blocks of b rows and d columns fill the on-chip memory.
const rowsOf = (d, M) => Math.ceil(M / (4 * d));
const blocksOf = (N, d, M) => Math.ceil(N / rowsOf(d, M));

// The numbers that each program moves: inputs and output, scores and weights,
// running states.
const standard = (N, d) => [4 * N * d, 4 * N * N, 0];
const keysOutside = (N, d, M) => {
  const passes = blocksOf(N, d, M);
  return [2 * N * d + passes * N * d, 0, passes * (2 * N * d + 4 * N)];
};
const queriesOutside = (N, d, M) => [2 * N * d + blocksOf(N, d, M) * 2 * N * d, 0, 0];
const PROGRAMS = [standard, keysOutside, queriesOutside];
const NAMES = ["standard", "tiles, keys outside", "tiles, queries outside"];

// The least memory with which tiles, keys outside, move less than the standard
// program. It follows from the largest number of key blocks for which they do.
const turnOf = (N, d) => {
  const room = (sum(standard(N, d)) - 2 * N * d) / (3 * N * d + 4 * N);
  const least = Math.ceil(N / (Math.ceil(room) - 1)); // rows of a block
  return 4 * d * (least - 1) + 1;
};
const compute = ({ N, d, M }) => {
  const parts = PROGRAMS.map((program) => program(N, d, M));
  const moved = parts.map(sum);
  return {
    parts,
    moved,
    ratios: moved.map((n) => n / moved[0]),
    rows: rowsOf(d, M),
    blocks: blocksOf(N, d, M),
    turn: turnOf(N, d),
  };
};

// --- drawing: the counts over the memory, and the blocks of the keys -----------------

// On a phone the blocks stand below the chart.
const Y = [1e4, 1e11];
const at = (x) => +x.toFixed(1);
const along = (v, [low, high]) => Math.log(v / low) / Math.log(high / low);
const drawnIn = (size) => {
  const { left, right, top, foot } = size;
  const [across, high] = [right - left, foot - top];
  return {
    ...size,
    px: (M) => left + along(M, [LEAST, MOST]) * across,
    py: (n) => foot - along(n, Y) * high,
    memoryAt: (x) => LEAST * (MOST / LEAST) ** ((x - left) / across),
    movedAt: (y) => Y[0] * (Y[1] / Y[0]) ** ((foot - y) / high),
  };
};
const WIDE = drawnIn({
  ...{ width: 484, height: 304, left: 62, right: 336, top: 26, foot: 250 },
  square: { left: 368, top: 58, side: 112 },
});
const NARROW = drawnIn({
  ...{ width: 360, height: 388, left: 61, right: 330, top: 26, foot: 230 },
  square: { left: 61, top: 290, side: 92 },
});
const boxIn = (narrow) => (narrow ? NARROW : WIDE);

const POWERS = [5, 6, 7, 8, 9, 10, 11];
const UP = ["0.1", "1", "10", "100", "1,000", "10,000", "100,000"];
const axes = ({ left, right, foot, px, py }) =>
  POWERS.map(
    (power, k) =>
      `<path class="av-rule" d="M${left} ${at(py(10 ** power))}H${right}"/>` +
      textAt(UP[k], left - 6, py(10 ** power) + 4, "end", "av-up"),
  ).join("") +
  range(5)
    .map((k) => LEAST * 4 ** k)
    .map((M) => textAt(whole(M), px(M), foot + 28, "middle", "av-across"))
    .join("") +
  textAt("M, numbers in on-chip memory", (left + right) / 2, foot + 46) +
  textAt("numbers moved, in millions", 4, 12, "start");
// As many values as the eye can distinguish: rounded blocks make a fine
// staircase.
const MEMORIES = range(33).map((k) => LEAST * 2 ** (k / 4));
const curve = (program, k, { N, d }, { px, py }) => {
  const places = k ? MEMORIES : [LEAST, MOST];
  const line = places.map((M) => `${at(px(M))} ${at(py(sum(program(N, d, M))))}`);
  return `<path class="av-moves av-moves-${k}" d="M${line.join("L")}"/>`;
};
const mark = (k, x, y) =>
  k === 1
    ? `<circle class="av-traffic-mark av-moves-1" cx="${at(x)}" cy="${at(y)}" r="5"/>`
    : `<rect class="av-traffic-mark av-moves-${k}" x="${at(x - 4.5)}" y="${at(y - 4.5)}" width="9" ` +
      `height="9"/>`;
const knob = '<circle class="av-traffic-knob" r="7"/>';
// The names of the lines stand where no line falls into them: the upper curve has
// its own above its start, and the lower one below its end.
const namesOf = ({ N, d }, { moved }, { left, right, px, py }) => {
  const first = px(2 * LEAST);
  const ends = PROGRAMS.map((program) => [2 * LEAST, MOST].map((M) => sum(program(N, d, M))));
  const name = (k, x, y, anchor) => textAt(NAMES[k], x, y, anchor, `av-line-name av-moves-${k}`);
  return (
    name(0, right - 14, py(moved[0]) - 7, "end") +
    name(1, Math.max(first, left + 8), py(ends[1][0]) - 12, "start") +
    name(2, right - 8, py(ends[2][1]) + 21, "end")
  );
};
const chartOf = (state, values, box) => {
  const { moved, turn } = values;
  const { N, d, M } = state;
  const { left, right, top, foot, px, py } = box;
  const high = py(sum(keysOutside(N, d, LEAST))) < top + 60; // the curves are at the top
  return (
    axes(box) +
    `<path class="av-turn" d="M${at(px(turn))} ${top}V${foot}"/>` +
    `<path class="av-here" d="M${at(px(M))} ${top}V${foot}"/>` +
    PROGRAMS.map((program, k) => curve(program, k, { N, d }, box)).join("") +
    [1, 2].map((k) => mark(k, px(M), py(moved[k]))).join("") +
    `<path class="av-floor" d="M${left} ${foot}H${right}"/>` +
    textAt(`M = ${whole(turn)}`, px(turn) + 6, high ? foot - 8 : top + 12, "start", "av-of-turn") +
    namesOf(state, values, box) +
    grip("memory", [at(px(M)), foot], knob) +
    grip("length", [right, at(py(moved[0]))], knob)
  );
};
// The square of pairs, cut into the blocks of keys that all queries visit.
const blocksIn = ({ N }, { rows, blocks }, { width, square }) => {
  const { left, top, side } = square;
  const unit = (side * rows) / N;
  const cuts = range(blocks - 1).map((k) => `M${at(left + unit * (k + 1))} ${top}v${side}`);
  const beside = width < 400;
  const [x, anchor] = beside ? [left + side + 14, "start"] : [left + side / 2, "middle"];
  const lines = [top - 22, top - 6, top + side + 18, top + side + 35, top + side + 52];
  const words = [
    "keys in blocks",
    `of ${count(rows, "row")}`,
    `${count(blocks, "block")}:`,
    "so often do all",
    "queries pass by",
  ].map((text, k) => textAt(text, x, beside ? top + 16 + 17 * k : lines[k], anchor));
  return (
    `<rect class="av-all-pairs" x="${left}" y="${top}" width="${side}" height="${side}"/>` +
    // Lines closer than this cannot be distinguished, so the whole area is
    // shaded.
    (unit < 1.5
      ? `<rect class="av-dense" x="${left}" y="${top}" width="${side}" height="${side}"/>`
      : `<path class="av-parted" d="${cuts.join("")}"/>`) +
    `<rect class="av-block av-moves-1" x="${left}" y="${top}" width="${at(Math.min(unit, side))}" ` +
    `height="${side}"/>${words.join("")}`
  );
};

const millions = (n) => tick(n / 1e6);
const WHAT = ["Q, K, V and output", "scores and weights", "running states"];
const named = (name, k) =>
  `<span class="av-moved-entry"><span class="av-line-key av-moves-${k}" aria-hidden="true"></span>` +
  `${name}</span>`;
const table = ({ parts, moved, ratios }) => {
  const row = (name, cells) =>
    `<tr><th scope="row">${name}</th>${cells.map((text) => `<td>${text}</td>`).join("")}</tr>`;
  const head = NAMES.map((name, k) => `<th scope="col">${named(name, k)}</th>`);
  return (
    `<table class="av-grid av-moved"><caption>Numbers moved, in millions</caption><thead><tr>` +
    `<td></td>${head.join("")}</tr></thead><tbody>` +
    WHAT.map((name, i) =>
      row(
        name,
        parts.map((one) => millions(one[i])),
      ),
    ).join("") +
    row("all", moved.map(millions)) +
    row("of the standard", ratios.map(tick)) +
    `${row(
      "MB in 16 bits",
      moved.map((n) => tick((BYTES * n) / 1e6)),
    )}</tbody></table>`
  );
};

const figure = {
  name: "traffic",
  card: { part: ".av-travels", box: "56 24 290 240" },
  lead: ["N"],
  controls: [
    {
      key: "M",
      kind: "power",
      label: "on-chip memory M",
      first: 2 ** 16,
      about: "Numbers that the on-chip memory holds",
      min: LEAST,
      max: MOST,
    },
    {
      key: "N",
      kind: "power",
      label: "positions N",
      first: 4096,
      about: "Positions of the text",
      min: 512,
      max: 16384,
    },
    {
      key: "d",
      kind: "stops",
      label: "width d",
      first: 64,
      about: "Columns of the head",
      stops: [32, 64, 128],
    },
  ],
  // Too little memory, more than enough, and that of the lesson.
  opening: { from: [{ M: LEAST }, { M: MOST }], ms: 4800 },
  compute,
  view: (state, values, own, narrow) => {
    const { ratios, blocks, rows } = values;
    const box = boxIn(narrow);
    const label =
      `Numbers moved over the size of on-chip memory, for three programs; and the square of ` +
      `pairs in ${count(blocks, "block")} of keys`;
    return (
      `<svg class="av-travels" role="img" aria-label="${label}" viewBox="0 0 ${box.width} ` +
      `${box.height}">${chartOf(state, values, box)}${blocksIn(state, values, box)}</svg>` +
      say(
        `${whole(state.M)} numbers on the chip hold blocks of ${count(rows, "row")}. Of what the ` +
          `standard program moves, tiles move ${tick(ratios[1])} times with keys outside, and ` +
          `${tick(ratios[2])} times with queries outside.`,
      ) +
      folded("Numbers moved", table(values))
    );
  },
  handles: (state, { moved }, own, narrow) => {
    const { px, py, foot, right, memoryAt, movedAt } = boxIn(narrow);
    return [
      {
        id: "memory",
        name: "on-chip memory",
        keys: ["M"],
        at: [px(state.M), foot],
        read: ([x]) => ({ M: memoryAt(x) }),
      },
      {
        id: "length",
        name: "length of the text",
        keys: ["N"],
        at: [right, py(moved[0])],
        // 4 N N + 4 N d = the numbers moved
        read: ([, y]) => ({ N: (Math.sqrt(state.d ** 2 + movedAt(y)) - state.d) / 2 }),
      },
    ];
  },
};

export default figureModule(figure);
