// Position schemes beyond the trained length: the stored answers of every seed.

import { fixed, range, whole } from "./numbers.js";
import { escape } from "./svg.js";
import { grip } from "./handles.js";
import { figureModule, known, say } from "./common.js";

const LENGTHS = [32, 64, 128, 256]; // tokens; the first is the trained one
const QUESTIONS = ["near", "far"];
const rowsOf = ({ yarn }) => known("schemes").filter(({ rescaled }) => yarn || !rescaled);

const ascending = (numbers) => [...numbers].sort((a, b) => a - b);
const median = (numbers) => {
  const sorted = ascending(numbers);
  const half = sorted.length / 2;
  return (sorted[Math.ceil(half) - 1] + sorted[Math.floor(half)]) / 2;
};
// From the highest median to the lowest; equal medians keep the stored order.
const ranked = (medians) => range(medians.length).sort((a, b) => medians[b] - medians[a]);
// The number of pairs of schemes in which each seed of one beats each seed of the
// other.
const clearly = (seeds) =>
  seeds.reduce((sum, a) => sum + seeds.filter((b) => Math.min(...a) > Math.max(...b)).length, 0);

// --- drawing -----------------------------------------------------------------

const place = (x) => +x.toFixed(2);
const text = (words, x, y, anchor = "middle", kind = "") =>
  `<text${kind && ` class="${kind}"`} x="${place(x)}" y="${place(y)}" ` +
  `text-anchor="${anchor}">${escape(words)}</text>`;
const BOX = { left: 168, right: 22, top: 22, row: 21, width: 340 };
const ACROSS = BOX.width - BOX.left - BOX.right;
const px = (share) => BOX.left + share * ACROSS;
const floorOf = (n) => BOX.top + n * BOX.row;
const TRACK = 50; // the distance of the lengths below the axis
const spotOf = (length) => px(LENGTHS.indexOf(length) / (LENGTHS.length - 1));

const rowOf = ({ name, seeds, now, start, y }) =>
  text(name, BOX.left - 10, y + 4, "end") +
  `<path class="av-rule" d="M${BOX.left} ${y}H${BOX.width - BOX.right}"/>` +
  `<path class="av-fell" d="M${place(px(start))} ${y}H${place(px(now))}"/>` +
  `<path class="av-middle" d="M${place(px(now))} ${y - 7}v14"/>` +
  seeds.map((x) => `<circle class="av-seed" cx="${place(px(x))}" cy="${y}" r="4"/>`).join("");

const drawing = ({ length }, rows, { seeds, medians, trained, order }) => {
  const floor = floorOf(order.length);
  const lines = order.map((k, rank) =>
    rowOf({
      name: rows[k].name,
      seeds: seeds[k],
      now: medians[k],
      start: trained[k],
      y: BOX.top + (rank + 0.5) * BOX.row,
    }),
  );
  // What the marks are, above the rows, drawn as in them.
  const key =
    `<circle class="av-seed" cx="8" cy="9" r="4"/>${text("one seed", 16, 13, "start")}` +
    `<path class="av-middle" d="M84 2v14"/>${text("median", 91, 13, "start")}` +
    `<path class="av-fell" d="M148 9h24"/>` +
    text(`from the median at ${LENGTHS[0]} tokens`, 178, 13, "start");
  const ticks = [0, 0.5, 1].map((x) => text(`${100 * x}%`, px(x), floor + 14));
  const y = floor + TRACK;
  const lengths = LENGTHS.map(
    (n) =>
      `<path class="av-rule" d="M${place(spotOf(n))} ${y - 4}v8"/>` + text(n, spotOf(n), y + 22),
  );
  return (
    key +
    text("share of right answers", px(0.5), floor + 27) +
    lines.join("") +
    ticks.join("") +
    text("tokens read", BOX.left - 16, y + 4, "end") +
    // Training had the first length; the others are bracketed.
    text("trained", spotOf(LENGTHS[0]), y + 44, "middle", "av-trained") +
    `<path class="av-scheme-track" d="M${place(spotOf(LENGTHS[1]) - 10)} ${y + 27}v4` +
    `H${place(px(1) + 12)}v-4"/>` +
    text("longer than trained", px(2 / 3), y + 44, "middle", "av-longer") +
    `<path class="av-scheme-track" d="M${px(0)} ${y}H${px(1)}"/>${lengths.join("")}` +
    grip("length", [place(spotOf(length)), y], '<circle class="av-knob" r="7"/>')
  );
};

// --- in words --------------------------------------------------------------------

const percent = (x) => `${fixed(100 * x, 1)}%`;
const sentence = ({ length, questions }, rows, { medians, order, better, moved }) => {
  const [first, last] = [order[0], order.at(-1)];
  const n = rows.length;
  return (
    `${questions === "near" ? "Near" : "Far"} questions in texts of ${whole(length)} tokens: ` +
    `the highest median is ${percent(medians[first])} (${rows[first].name}), the lowest ` +
    `${percent(medians[last])} (${rows[last].name}). In ${better} of ` +
    `${(n * (n - 1)) / 2} pairs of schemes each seed of one beats each seed of the other. ` +
    `${moved} of ${n} schemes have another rank than at ${LENGTHS[0]} tokens.`
  );
};

const figure = {
  name: "schemes",
  controls: [
    {
      key: "length",
      kind: "stops",
      label: "tokens read",
      first: 256,
      about: "Tokens of the texts; training had 32",
      stops: LENGTHS,
    },
    {
      key: "questions",
      kind: "choice",
      label: "questions",
      first: "near",
      about: "Whether the right key is near or far",
      options: QUESTIONS,
    },
    {
      key: "yarn",
      kind: "flag",
      label: "show RoPE with YaRN too",
      first: false,
      about: "Show both bases of RoPE with the frequencies of YaRN, too",
    },
  ],
  compute: (state) => {
    const at = LENGTHS.indexOf(state.length);
    const found = rowsOf(state).map((row) => row[state.questions]);
    const seeds = found.map((lengths) => lengths[at]);
    const medians = seeds.map(median);
    const trained = found.map((lengths) => median(lengths[0]));
    const order = ranked(medians);
    const before = ranked(trained);
    return {
      seeds,
      medians,
      trained,
      order,
      better: clearly(seeds),
      moved: order.filter((k, rank) => before[rank] !== k).length,
    };
  },
  view: (state, values) => {
    const rows = rowsOf(state);
    const label =
      `Right answers of four seeds for each of ${rows.length} schemes, ${state.questions} ` +
      `questions in ${whole(state.length)} tokens, by their medians`;
    const high = floorOf(rows.length) + TRACK + 50;
    return (
      `<svg class="av-schemes" role="img" aria-label="${label}" viewBox="0 0 ${BOX.width} ` +
      `${high}">${drawing(state, rows, values)}</svg>${say(sentence(state, rows, values))}`
    );
  },
  handles: ({ length, yarn }) => [
    {
      id: "length",
      name: "tokens read",
      at: [spotOf(length), floorOf(rowsOf({ yarn }).length) + TRACK],
      keys: ["length"],
      read: ([x]) => {
        const k = Math.round(((x - BOX.left) / ACROSS) * (LENGTHS.length - 1));
        return { length: LENGTHS[Math.min(Math.max(k, 0), LENGTHS.length - 1)] };
      },
    },
  ],
  opening: { from: [{ length: 32 }, { length: 32 }], ms: 4000 },
};

export default figureModule(figure);
