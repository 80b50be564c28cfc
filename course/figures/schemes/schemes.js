// Position schemes beyond the trained length: what a distance meets in each of
// them, and the stored answers of every seed.

import { fixed, range, whole } from "../kit/numbers.js";
import { CIRCLE, PAIRS, TRAINED, power, slowed } from "../kit/rotations.js";
import { escape } from "../kit/svg.js";
import { grip } from "../kit/handles.js";
import { figureModule, known, say } from "../kit/common.js";

const LENGTHS = [32, 64, 128, 256]; // tokens; the first is the trained one
const LONGEST = LENGTHS.at(-1);
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

// --- what a distance meets -----------------------------------------------------

const BUCKETS = 16; // of T5's bias; its trained numbers, one for each bucket
const bucketOf = (distance) => {
  const exact = BUCKETS / 2;
  if (distance < exact) return distance;
  const factor = TRAINED / exact; // the last bucket would end at the trained length
  const share = Math.log(distance / exact) / Math.log(factor);
  return Math.min(exact + Math.floor(share * exact), BUCKETS - 1);
};
const SLOPES = [1 / 16, 1 / 256]; // of ALiBi's two heads

const rotations = ({ base, pairs, yarn }, factor) => {
  const theta = power(base, pairs);
  return yarn ? slowed(theta, factor, base) : theta;
};
// The rotary schemes by their stored names.
const ROTARY = {
  "RoPE, base 10,000": { base: 1e4, pairs: 8 },
  "RoPE, base 10,000, YaRN": { base: 1e4, pairs: 8, yarn: true },
  "RoPE, base 500,000": { base: 5e5, pairs: 8 },
  "RoPE, base 500,000, YaRN": { base: 5e5, pairs: 8, yarn: true },
  "RoPE, half of the columns": { base: 1e4, pairs: 4 },
};
// The pairs of schemes in which the one with more weight on far keys has fewer right
// answers.
const opposed = (medians, weights) =>
  medians.reduce(
    (sum, a, i) => sum + medians.filter((b, j) => a < b && weights[i][1] > weights[j][1]).length,
    0,
  );
const pairsOf = (n) => (n * (n - 1)) / 2;

// The places of the rows, which no answer changes.
const ROWS = ["T5's bias", "ALiBi", "no positions", ...Object.keys(ROTARY)];
const anglesAt = (name, length) =>
  name in ROTARY
    ? rotations(ROTARY[name], length / TRAINED).map((theta) => theta * (length - 1))
    : Array(PAIRS).fill(0);

// --- drawing -----------------------------------------------------------------

const place = (x) => +x.toFixed(2);
const text = (words, x, y, anchor = "middle", kind = "") =>
  `<text${kind && ` class="${kind}"`} x="${place(x)}" y="${place(y)}" ` +
  `text-anchor="${anchor}">${escape(words)}</text>`;
const BOX = { left: 178, right: 282, top: 96, row: 48, width: 340, edge: 336 };
const ACROSS = BOX.right - BOX.left;
const px = (share) => BOX.left + share * ACROSS;
const topOf = (n) => BOX.top + n * BOX.row;
const TRACK = 50; // the distance of the lengths below the axis
const END = 320; // of the lengths
const spotOf = (length) =>
  BOX.left + (LENGTHS.indexOf(length) / (LENGTHS.length - 1)) * (END - BOX.left);

// The pictures of what a distance meets, from 0 to the longest, each as wide.
const SEEN = { left: 8, width: 142, top: 16, high: 22 };
const along = (distance) => SEEN.left + (distance / (LONGEST - 1)) * SEEN.width;
const line = (kind, points) =>
  `<path class="${kind}" d="M${points.map(([x, y]) => `${place(x)} ${place(y)}`).join("L")}"/>`;
const zone = (y) =>
  `<rect class="av-reached" x="${SEEN.left}" y="${y + SEEN.top - 2}" ` +
  `width="${place(along(TRAINED - 1) - SEEN.left)}" height="${SEEN.high + 4}"/>`;
// What T5 and ALiBi add to a score, on one axis; its ends hold all that is stored.
const ADDED = { most: 2, least: -16 };
const level = (added, y) =>
  y + SEEN.top + (SEEN.high * (ADDED.most - added)) / (ADDED.most - ADDED.least);
const axis = (y) => {
  const end = SEEN.left + SEEN.width;
  const [zero, low] = [0, ADDED.least].map((added) => place(level(added, y)));
  return (
    `<path class="av-rule" d="M${SEEN.left} ${zero}H${end}M${end} ${zero}V${low}"/>` +
    text("0", end + 3, zero + 4, "start") +
    text(fixed(ADDED.least, 0), end + 3, low + 2, "start")
  );
};
// T5: the trained numbers of each head and seed, each as wide as its bucket.
const stairs = (length, { biases, buckets }, y) => {
  const starts = buckets.flatMap((bucket, d) => (bucket === buckets[d - 1] ? [] : [d]));
  const steps = (bias) =>
    starts.flatMap((d, k) =>
      [d, starts[k + 1] ?? length - 1].map((x) => [along(x), level(bias[buckets[d]], y)]),
    );
  return (
    zone(y) +
    axis(y) +
    biases.map((bias) => line("av-met av-of-seed", steps(bias))).join("") +
    text("added to the score", SEEN.left + 28, y + SEEN.top + 19, "start")
  );
};
// ALiBi: a line of each head, which goes on where training ended.
const falling = (length, y) => {
  const down = (slope, d) => [along(d), level(-slope * d, y)];
  const lines = SLOPES.map((slope) => {
    const [start, middle, end] = [0, TRAINED - 1, length - 1].map((d) => down(slope, d));
    return line("av-met", [start, middle]) + line("av-unmet", [middle, end]);
  });
  return zone(y) + axis(y) + lines.join("");
};
// No positions: the mean share of a key, beside the share in training.
const shrinking = (length, y) => {
  const [top, high] = [y + SEEN.top + 4, SEEN.high - 8];
  return (
    `<rect class="av-key-share" x="${SEEN.left}" y="${top}" ` +
    `width="${place((SEEN.width * TRAINED) / length)}" height="${high}"/>` +
    `<rect class="av-outline" x="${SEEN.left}" y="${top}" width="${SEEN.width}" height="${high}"/>`
  );
};
// RoPE: the angles of each pair that rotates, in training and past it.
const sector = (kind, [x, y], r, from, to) => {
  const spot = (a) => `${place(x + r * Math.cos(a))} ${place(y - r * Math.sin(a))}`;
  if (to - from >= CIRCLE - 1e-9)
    return `<circle class="${kind}" cx="${place(x)}" cy="${place(y)}" r="${r}"/>`;
  const wide = to - from > Math.PI ? 1 : 0;
  return (
    `<path class="${kind}" d="M${place(x)} ${place(y)}L${spot(from)}` +
    `A${r} ${r} 0 ${wide} 0 ${spot(to)}z"/>`
  );
};
const dials = (pairs, trained, angles, y) =>
  range(PAIRS)
    .map((i) => {
      const [r, at] = [8, [SEEN.left + ((i + 0.5) * SEEN.width) / PAIRS, y + SEEN.top + 11]];
      const still = i >= pairs;
      const [learned, now] = [trained[i], angles[i]].map((a) => Math.min(a, CIRCLE));
      return (
        `<circle class="${still ? "av-unturned" : "av-dial"}" cx="${place(at[0])}" ` +
        `cy="${at[1]}" r="${r}"/>` +
        (still ? "" : sector("av-met av-solid", at, r, 0, learned)) +
        (now > learned ? sector("av-unmet av-solid", at, r, learned, now) : "")
      );
    })
    .join("");

const wordsOf = (name, length, { buckets, biases, penalties, share }) => {
  const far = length - 1;
  const longer = length > TRAINED;
  if (name === ROWS[0]) {
    const first = buckets.indexOf(BUCKETS - 1);
    const last = ascending(biases.map((bias) => bias.at(-1)));
    const [least, most] = [last[0], last.at(-1)].map((x) => fixed(x, 1));
    return longer
      ? `far keys count as ${first} to ${TRAINED - 1} back: ${least} to ${most}`
      : `keys ${first} to ${far} back get ${least} to ${most}`;
  }
  if (name === ROWS[1]) {
    const least = penalties.map((x) => fixed(x, 1)).join(" and ");
    const lowered = penalties.map((x) => `up to ${fixed(-x, 1)}`).join(" and ");
    return longer ? `far keys are lowered, by ${lowered}` : `keys ${far} back get ${least}`;
  }
  if (name === ROWS[2]) {
    const mean = `a mean share is 1/${Math.round(1 / share)}`;
    return `no ${longer ? "far " : ""}key is lowered; ${mean}`;
  }
  const pairs = `${ROTARY[name].pairs} pairs`;
  if (!longer) return `${pairs}, all angles trained`;
  return ROTARY[name].yarn
    ? `${pairs}, slowed: hardly any new angle`
    : `${pairs}: far keys at some new angles`;
};
const meets = (name, values, k, length, y) => {
  if (name === ROWS[0]) return stairs(length, values, y);
  if (name === ROWS[1]) return falling(length, y);
  if (name === ROWS[2]) return shrinking(length, y);
  return dials(ROTARY[name].pairs, values.trainedAngles[k], values.angles[k], y);
};
// Where the weight of the last block goes, on the axis of the right answers: to
// right keys, to others, and to those of the others that are too far back.
const bar = ([right, far], y) => {
  const part = (kind, from, to) =>
    `<rect class="av-goes-${kind}" x="${place(px(from))}" y="${y}" ` +
    `width="${place(px(to) - px(from))}" height="7"/>`;
  const [answer, away] = [right, far].map((x) => `${fixed(100 * x, 0)}%`);
  return (
    part("right", 0, right) +
    part("near", right, 1 - far) +
    part("far", 1 - far, 1) +
    `<text x="${BOX.edge}" y="${y + 8}" text-anchor="end"><tspan class="av-is-answer">${answer}` +
    `</tspan>, <tspan class="av-is-far">${away}</tspan></text>`
  );
};
const rowOf = (rows, values, length, k, y) => {
  const { name } = rows[k];
  const middle = y + SEEN.top + 6;
  const [now, start] = [values.medians[k], values.trained[k]].map(px);
  // Without positions there is no number that training could have left out.
  const fresh = length > TRAINED && name !== ROWS[0];
  const kind = name === ROWS[2] ? "" : ` class="${fresh ? "av-is-new" : "av-is-known"}"`;
  const [rank, before] = [values.order, values.ranks].map((order) => order.indexOf(k) + 1);
  return (
    `<text x="${SEEN.left}" y="${y + 9}"><tspan class="av-scheme">${escape(name)}</tspan>` +
    `<tspan${kind} dx="6">` +
    `${escape(wordsOf(name, length, values))}</tspan></text>` +
    meets(name, values, k, length, y) +
    `<path class="av-rule" d="M${BOX.left} ${middle}H${BOX.right}"/>` +
    `<path class="av-fell" d="M${place(start)} ${middle}H${place(now)}"/>` +
    `<path class="av-middle" d="M${place(now)} ${middle - 7}v14"/>` +
    values.seeds[k]
      .map((x) => `<circle class="av-seed" cx="${place(px(x))}" cy="${middle}" r="4"/>`)
      .join("") +
    bar(values.weights[k], middle + 10) +
    text(rank === before ? rank : `${before} → ${rank}`, BOX.edge, middle + 4, "end", "av-rank")
  );
};
// What the marks are, above the rows, drawn as in them.
const swatch = (kind, x, y) =>
  `<rect class="${kind}" x="${x}" y="${y - 9}" width="12" height="9"/>`;
const KEY =
  swatch("av-met av-solid", 8, 12) +
  text("trained", 24, 12, "start") +
  swatch("av-unmet av-solid", 70, 12) +
  text("never trained", 86, 12, "start") +
  swatch("av-reached", 8, 28) +
  text(`0 to ${TRAINED - 1} back, trained`, 24, 28, "start") +
  `<path class="av-met" d="M8 44L20 36"/>${text("bias of a head", 24, 44, "start")}` +
  swatch("av-key-share", 95, 44) +
  text("mean share", 110, 44, "start") +
  `<circle class="av-dial" cx="14" cy="56" r="5"/>${text("a pair’s angles", 24, 60, "start")}` +
  `<circle class="av-unturned" cx="108" cy="56" r="5"/>${text("not rotated", 116, 60, "start")}` +
  `<circle class="av-seed" cx="186" cy="8" r="4"/>${text("one seed", 194, 12, "start")}` +
  `<path class="av-middle" d="M254 2v12"/>${text("median", 260, 12, "start")}` +
  `<path class="av-fell" d="M178 24h16"/>` +
  text(`from the median at ${TRAINED}`, 199, 28, "start") +
  text("weight on:", 178, 44, "start") +
  swatch("av-goes-right", 234, 44) +
  text("the answer", 250, 44, "start") +
  swatch("av-goes-near", 178, 60) +
  text("others", 194, 60, "start") +
  swatch("av-goes-far", 234, 60) +
  text(`far: over ${TRAINED - 1} back`, 250, 60, "start") +
  text("right answers", (BOX.left + BOX.right) / 2, 77, "middle", "av-scheme") +
  text("rank", BOX.edge, 77, "end", "av-scheme") +
  `<text class="av-scheme" x="${BOX.edge}" y="90" text-anchor="end">weight: ` +
  '<tspan class="av-is-answer">answer</tspan>, <tspan class="av-is-far">other far keys</tspan></text>';

// How far back the nearest right key is: rows of 6 to 12 tokens repeat, or a row of
// 6 tokens stands at both ends of the text.
const BACK = { near: () => "5 to 11", far: (length) => length - 6 };
const drawing = ({ length, questions }, rows, values) => {
  const floor = topOf(rows.length);
  const met =
    questions === "near" || length === TRAINED ? "a trained distance" : "farther than trained";
  const shown = ROWS.map((name) => rows.findIndex((row) => row.name === name));
  const lines = shown
    .filter((k) => k >= 0)
    .map((k, at) => rowOf(rows, values, length, k, topOf(at)));
  const ticks = [0, 0.5, 1].map((x) => text(`${100 * x}%`, px(x), floor + 12));
  const y = floor + TRACK;
  const lengths = LENGTHS.map(
    (n) =>
      `<path class="av-rule" d="M${place(spotOf(n))} ${y - 4}v8"/>` + text(n, spotOf(n), y + 22),
  );
  return (
    KEY +
    text("what a distance meets", SEEN.left, 90, "start", "av-scheme") +
    lines.join("") +
    ticks.join("") +
    text(`${questions} questions`, SEEN.left, floor + 12, "start") +
    text(`answer: ${BACK[questions](length)} tokens back, ${met}`, SEEN.left, floor + 26, "start") +
    text("tokens read", BOX.left - 16, y + 4, "end") +
    // Training had the first length; the others are bracketed.
    text("trained", spotOf(TRAINED), y + 44, "middle", "av-trained") +
    `<path class="av-scheme-track" d="M${place(spotOf(LENGTHS[1]) - 10)} ${y + 27}v4` +
    `H${END + 12}v-4"/>` +
    text("longer than trained", spotOf(LENGTHS[2]) + 4, y + 44, "middle", "av-longer") +
    `<path class="av-scheme-track" d="M${BOX.left} ${y}H${END}"/>${lengths.join("")}` +
    grip("length", [place(spotOf(length)), y], '<circle class="av-knob" r="7"/>')
  );
};

const LOST = {
  near:
    "even to a near one. No training text had a key at a new angle, so nothing taught the model " +
    "to keep its score low",
  far: "which is a far key too. A scheme that lowers all far keys therefore lowers the answer as well",
};
// Why other far keys matter to the answer, and how far the stored numbers bear it out.
const why = ({ length, questions }, rows, { opposed: found }) => {
  const told =
    length === TRAINED
      ? `far keys would be lost to the answer. In texts of ${TRAINED} tokens there are none, ` +
        "because no key is farther back than the keys that training had"
      : `other far keys is lost to the answer, ${LOST[questions]}. In ${found} of ` +
        `${pairsOf(rows.length)} pairs of schemes, the one with more weight on other far keys ` +
        "has fewer right answers";
  return `<p class="av-caption"><b>All keys share one softmax</b>: weight on ${told}.</p>`;
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
    `${pairsOf(n)} pairs of schemes each seed of one beats each seed of the other. ` +
    `${moved} of ${n} schemes have another rank than at ${TRAINED} tokens.`
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
    const rows = rowsOf(state);
    const found = rows.map((row) => row[state.questions]);
    const seeds = found.map((lengths) => lengths[at]);
    const medians = seeds.map(median);
    const trained = found.map((lengths) => median(lengths[0]));
    const [order, ranks] = [medians, trained].map(ranked);
    const spread = rows.map((row) => row[`${state.questions}Weight`]);
    const weights = spread.map((lengths) => lengths[at]);
    const angles = (length) => rows.map(({ name }) => anglesAt(name, length));
    return {
      seeds,
      medians,
      trained,
      order,
      ranks,
      better: clearly(seeds),
      weights,
      opposed: opposed(medians, weights),
      moved: order.filter((k, rank) => ranks[rank] !== k).length,
      buckets: range(state.length).map(bucketOf),
      biases: rows.find(({ name }) => name === ROWS[0]).biases,
      penalties: SLOPES.map((slope) => -slope * (state.length - 1)),
      share: 1 / state.length,
      angles: angles(state.length),
      trainedAngles: angles(TRAINED),
    };
  },
  view: (state, values) => {
    const rows = rowsOf(state);
    const label =
      `What distances up to ${state.length - 1} meet in each of ${rows.length} schemes, and right ` +
      `answers of four seeds, ${state.questions} questions in ${whole(state.length)} tokens`;
    const high = topOf(rows.length) + TRACK + 50;
    return (
      `<svg class="av-schemes" role="img" aria-label="${label}" viewBox="0 0 ${BOX.width} ` +
      `${high}">${drawing(state, rows, values)}</svg>${why(state, rows, values)}` +
      say(sentence(state, rows, values))
    );
  },
  handles: ({ length, yarn }) => [
    {
      id: "length",
      name: "tokens read",
      at: [spotOf(length), topOf(rowsOf({ yarn }).length) + TRACK],
      keys: ["length"],
      read: ([x]) => {
        const k = Math.round(((x - BOX.left) / (END - BOX.left)) * (LENGTHS.length - 1));
        return { length: LENGTHS[Math.min(Math.max(k, 0), LENGTHS.length - 1)] };
      },
    },
  ],
  opening: { from: [{ length: 32 }, { length: 32 }], ms: 4000 },
};

export default figureModule(figure);
