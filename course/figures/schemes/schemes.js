// Position schemes beyond the trained length: a race of their stored answers, and the
// mechanism of one of them.

import { fixed, range } from "../kit/numbers.js";
import { CIRCLE, PAIRS, TRAINED, power, slowed } from "../kit/rotations.js";
import { escape, textAt } from "../kit/svg.js";
import { grip } from "../kit/handles.js";
import { figureModule, known, say } from "../kit/common.js";

const LENGTHS = [32, 64, 128, 256]; // tokens; the first is the trained one
const LONGEST = LENGTHS.at(-1);

const median = (numbers) => {
  const sorted = [...numbers].sort((a, b) => a - b);
  const half = sorted.length / 2;
  return (sorted[Math.ceil(half) - 1] + sorted[Math.floor(half)]) / 2;
};

// --- mechanisms ----------------------------------------------------------------

const BUCKETS = 16; // of T5's bias; its trained numbers, one for each bucket
const bucketOf = (distance) => {
  const exact = BUCKETS / 2;
  if (distance < exact) return distance;
  const factor = TRAINED / exact; // the last bucket would end at the trained length
  const share = Math.log(distance / exact) / Math.log(factor);
  return Math.min(exact + Math.floor(share * exact), BUCKETS - 1);
};
const SLOPES = [1 / 16, 1 / 256]; // of ALiBi's two heads

// Each scheme by its name in the picture: its stored name, what it does, and why answers are kept or
// lost in longer texts.
const LOST = "so far keys take weight from the answer.";
const SLOW = `Slow pairs reach angles that no training text had, ${LOST}`;
const SLOWED = `Slow pairs are slowed, so hardly any angle is new. But many far keys share the weight.`;
const SCHEMES = {
  "T5 bias": {
    stored: "T5's bias",
    does: "adds to a score a number that each head learned",
    bias: (head, bucket, _, biases) => biases[head][bucket],
    least: -2,
    why: "All far keys share one learned number, so no distance is new.",
  },
  ALiBi: {
    stored: "ALiBi",
    does: "lowers a score the more, the farther back its key is",
    bias: (head, _, distance) => -SLOPES[head % 2] * distance,
    least: -16, // the axis holds all that is added
    fresh: true,
    why: "Far keys are lowered, so they take little weight from a near answer.",
    whyFar: "Far keys are lowered, and so is the answer, which is a far key itself.",
  },
  "no positions": {
    stored: "no positions",
    does: "leaves a score the same at any distance",
    bias: () => 0,
    least: -2,
    why: `No far key is lowered, ${LOST}`,
  },
  "RoPE 10k": {
    stored: "RoPE, base 10,000",
    does: "rotates each pair of columns with the distance",
    rotates: { base: 1e4, pairs: 8 },
    why: SLOW,
  },
  "YaRN 10k": {
    stored: "RoPE, base 10,000, YaRN",
    does: "slows the slow pairs of RoPE in longer texts",
    rotates: { base: 1e4, pairs: 8, yarn: true },
    why: SLOWED,
  },
  "RoPE 500k": {
    stored: "RoPE, base 500,000",
    does: "rotates slow pairs even more slowly",
    rotates: { base: 5e5, pairs: 8 },
    why: SLOW,
  },
  "YaRN 500k": {
    stored: "RoPE, base 500,000, YaRN",
    does: "slows the slow pairs of RoPE in longer texts",
    rotates: { base: 5e5, pairs: 8, yarn: true },
    why: SLOWED,
  },
  "RoPE on half": {
    stored: "RoPE, half of the columns",
    does: "rotates only four of the eight pairs",
    rotates: { base: 1e4, pairs: 4 },
    why: `Rotated pairs reach angles that no training text had, ${LOST}`,
  },
};
const NAMES = Object.keys(SCHEMES);
// The stored results, in the order of the names.
const rowsOf = () =>
  NAMES.map((name) => known("schemes").find((row) => row.name === SCHEMES[name].stored));
const anglesAt = ({ rotates }, length) => {
  if (!rotates) return Array(PAIRS).fill(0);
  const theta = power(rotates.base, rotates.pairs);
  const rotations = rotates.yarn ? slowed(theta, length / TRAINED, rotates.base) : theta;
  return rotations.map((x) => x * (length - 1));
};

// --- the race --------------------------------------------------------------------

const WIDE = { width: 640, left: 54, right: 492, top: 62, floor: 342, gap: 25 };
WIDE.below = { title: 420, phrase: 0, top: 440, high: 104, radius: 35 };
const NARROW = { width: 360, left: 52, right: 216, top: 62, floor: 282, gap: 27 };
NARROW.below = { title: 350, phrase: 18, top: 384, high: 76, radius: 20 };

const place = (x) => +x.toFixed(2);
const line = (points) => `M${points.map(([x, y]) => `${place(x)} ${place(y)}`).join("L")}`;
const spotOf = ({ left, right }, length) =>
  left + (LENGTHS.indexOf(length) / (LENGTHS.length - 1)) * (right - left);
const heightOf = ({ top, floor }, share) => floor - share * (floor - top);
// A line over all lengths: the part that is yet to come waits at its head.
const course = (box, shares, at) =>
  range(LENGTHS.length).map((k) => {
    const here = Math.min(k, at);
    return [spotOf(box, LENGTHS[here]), heightOf(box, shares[here])];
  });
// Heights near the wished ones, at least a gap apart, from the top to the floor.
const apart = (wished, { top, floor, gap }) => {
  const order = range(wished.length).sort((a, b) => wished[a] - wished[b]);
  const heights = [...wished];
  let edge = top;
  for (const k of order) edge = (heights[k] = Math.max(heights[k], edge)) + gap;
  edge = floor - 6;
  order.sort((a, b) => heights[b] - heights[a]);
  for (const k of order) edge = (heights[k] = Math.min(heights[k], edge)) - gap;
  return heights;
};

// How far back the nearest right key is: rows of 6 to 12 tokens repeat, or a row of
// 6 tokens stands at both ends of the text.
const BACK = { near: () => "5 to 11", far: (length) => length - 6 };
const axes = (box, { length, scheme, questions }, narrow) => {
  const { left, right, top, floor } = box;
  const head =
    `<text x="4" y="16" text-anchor="start"><tspan class="av-scheme">right answers</tspan>` +
    `${narrow ? "" : ` to ${questions} questions`}, median of four runs</text>` +
    textAt(
      narrow
        ? `${questions}: ${BACK[questions](length)} tokens back; thin: runs of ${scheme}`
        : `the answer is ${BACK[questions](length)} tokens back; thin lines: the four runs of ${scheme}`,
      4,
      35,
      "start",
    );
  const shares = [0, 0.5, 1].map((x) => {
    const y = place(heightOf(box, x));
    return (
      `<path class="av-rule" d="M${left} ${y}H${right}"/>` +
      textAt(`${100 * x}%`, left - 14, y + 4, "end")
    );
  });
  const lengths = LENGTHS.map((n) => {
    const x = place(spotOf(box, n));
    return (
      `<path class="av-rule" d="M${x} ${top}V${floor}"/>` +
      textAt(n, x, floor + 28, "middle", n === length ? "av-scheme" : "")
    );
  });
  return (
    head +
    shares.join("") +
    lengths.join("") +
    textAt("tokens", right + 18, floor + 28, "start") +
    textAt("as trained", left, floor + 45) +
    textAt("longer than in training", (spotOf(box, LENGTHS[1]) + right) / 2, floor + 45)
  );
};
const isShown = (name, { scheme, yarn }) => !SCHEMES[name].rotates?.yarn || yarn || name === scheme;
const runner = ({ name, share, points, at, isOn, isOut }, k, box) => {
  const [x, y] = points.at(-1);
  const drawn =
    `<rect class="av-reach" x="15" y="${3 - box.gap / 2}" width="${box.width - box.right - 16}" ` +
    `height="${box.gap - 6}" rx="${box.gap / 2 - 3}"/>` +
    `<text x="23" y="4.5">${name} ${fixed(100 * share, 0)}%</text>`;
  const handle = isOut ? "" : ` data-handle="scheme-${k}"`;
  return (
    `<g opacity="${isOut ? 0 : 1}"${isOut ? ' aria-hidden="true"' : ""}>` +
    `<path class="av-run" d="${line(points)}"/>` +
    `<path class="av-lead" d="${line([
      [x, y],
      [x + 15, at],
    ])}"/>` +
    `<circle class="av-head" cx="${place(x)}" cy="${place(y)}" r="3.5"/>` +
    `<g class="av-runner${isOn ? " av-is-on" : ""}"${handle} ` +
    `transform="translate(${place(x)} ${place(at)})">${drawn}</g></g>`
  );
};
const race = (state, { medians, seeds }, box) => {
  const at = LENGTHS.indexOf(state.length);
  const wished = medians.map((shares) => heightOf(box, shares[at]));
  const shown = range(NAMES.length).filter((k) => isShown(NAMES[k], state));
  const heights = apart(
    shown.map((k) => wished[k]),
    box,
  );
  const chosen = NAMES.indexOf(state.scheme);
  const runners = NAMES.map((name, k) => {
    const points = course(box, medians[k], at);
    const isOut = !shown.includes(k);
    const height = heights[shown.indexOf(k)] ?? wished[k];
    return runner(
      { name, share: medians[k][at], points, at: height, isOn: k === chosen, isOut },
      k,
      box,
    );
  });
  const own = range(seeds[chosen][0].length).map((s) => {
    const shares = seeds[chosen].map((all) => all[s]);
    return `<path class="av-seed-run" d="${line(course(box, shares, at))}"/>`;
  });
  const raced = course(box, medians[chosen], at);
  const [x, y] = raced.at(-1);
  return (
    runners.join("") +
    own.join("") +
    `<path class="av-raced" d="${line(raced)}"/>` +
    `<circle class="av-raced-head" cx="${place(x)}" cy="${place(y)}" r="5"/>`
  );
};

// --- the mechanism of one scheme -------------------------------------------------

const alongOf = ({ left, width }, distance) =>
  left + (distance / (LONGEST - 1)) * (width - 30 - left);
const levelOf = ({ below: { top, high } }, least, score) =>
  top + (high * (2 - score)) / (2 - least);
// What is added to a score at each distance: a line of each head.
const added = ({ bias, least, fresh }, { length, buckets, biases }, box) => {
  const { top, high } = box.below;
  const starts = range(TRAINED).filter((d) => d === 0 || buckets[d] !== buckets[d - 1]);
  const spot = (head, d, bucket) => [
    alongOf(box, d),
    levelOf(box, least, bias(head, bucket, d, biases)),
  ];
  const lines = biases.map((_, head) => {
    const steps = starts.flatMap((d, k) =>
      [d, starts[k + 1] ?? TRAINED - 1].map((x) => spot(head, x, buckets[d])),
    );
    const far = [TRAINED - 1, length - 1].map((x) => spot(head, x, BUCKETS - 1));
    return (
      `<path class="av-met" d="${line(steps)}"/>` +
      `<path class="${fresh ? "av-unmet" : "av-met"}" d="${line(far)}"/>`
    );
  });
  // Up to where training had what is added.
  const edge = place(alongOf(box, (fresh ? TRAINED : length) - 1));
  const levels = [0, least].map((x) => {
    const y = place(levelOf(box, least, x));
    return (
      `<path class="av-rule" d="M${box.left} ${y}H${box.width - 30}"/>` +
      textAt(fixed(x, 0), box.left - 6, y + 4, "end")
    );
  });
  const far = length > TRAINED ? [TRAINED, length] : [TRAINED];
  const names = far.map((n) => textAt(`${n - 1} back`, alongOf(box, n - 1), top + high + 16));
  return (
    `<rect class="av-reached" x="${box.left}" y="${top}" width="${place(edge - box.left)}" ` +
    `height="${high}"/>${levels.join("")}${lines.join("")}${names.join("")}`
  );
};
// The angles of each pair, as shares of a circle: in training, and past it.
const turned = (angle) => Math.min(angle / CIRCLE, 1);
const dials = ({ rotates }, trained, angles, box) => {
  const { top, high, radius } = box.below;
  const [wide, y] = [box.width / PAIRS, top + high / 2];
  const pairs = rotates?.pairs ?? PAIRS;
  // A dash that ends with the circle is longer, or browsers leave a gap there.
  const part = (kind, from, to) =>
    `<circle class="${kind}" r="${radius / 2}" stroke-width="${radius}" pathLength="1" ` +
    `stroke-dasharray="${(to - from + (to === 1 && from < 1 ? 0.1 : 0)).toFixed(4)} 2" ` +
    `stroke-dashoffset="${(-from).toFixed(4)}"/>`;
  const all = range(PAIRS).map((i) => {
    const [met, now] = [trained[i], angles[i]].map(turned);
    return (
      `<g transform="translate(${place((i + 0.5) * wide)} ${y}) scale(1 -1)">` +
      part("av-angle-met", 0, met) +
      part("av-angle-new", met, now) +
      `<circle class="${i < pairs ? "av-dial" : "av-unturned"}" r="${radius}"/></g>`
    );
  });
  const names = [["fastest pair", 4, "start"]];
  if (pairs === PAIRS) names.push(["slowest pair", box.width - 4, "end"]);
  else names.push(["not rotated", (PAIRS + pairs) * 0.5 * wide, "middle"]);
  return (
    all.join("") +
    names.map(([words, x, anchor]) => textAt(words, x, top + high + 16, anchor)).join("")
  );
};
// What the colours of the drawing are.
const keyOf = ({ rotates, fresh }, name, { length, buckets, isNew }) => {
  const far = length > TRAINED ? `${TRAINED} to ${length - 1} back` : "";
  if (rotates) return ["angles met in training", isNew ? `new angles, ${far}` : ""];
  if (fresh) return [`met in training: up to ${TRAINED - 1} back`, far && `new: ${far}`];
  if (name === "no positions") return [`each of ${length} keys: a mean share of 1/${length}`, ""];
  const first = buckets.indexOf(BUCKETS - 1);
  return [`one number for all keys ${first} to ${length - 1} back`, ""];
};
// Where the weight of the last block goes.
const spent = ([right, far], { length, box, y, narrow }) => {
  const wide = box.width - 8;
  const part = (kind, from, to) =>
    `<rect class="av-goes-${kind}" x="${place(4 + from * wide)}" y="${y}" ` +
    `width="${place((to - from) * wide)}" height="12"/>`;
  const percent = (x) => `${fixed(100 * x, 0)}%`;
  const others = narrow ? "" : "on others ";
  return (
    part("right", 0, right) +
    part("near", right, 1 - far) +
    part("far", 1 - far, 1) +
    textAt("where the weight of the last block goes", 4, y - 6, "start") +
    textAt(
      `${narrow ? "" : "on the "}answer ${percent(right)}`,
      4,
      y + 29,
      "start",
      "av-is-answer",
    ) +
    textAt(
      `${others}up to ${TRAINED - 1} back ${percent(1 - right - far)}`,
      box.width * (narrow ? 0.43 : 0.48),
      y + 29,
      "middle",
      "av-is-met",
    ) +
    textAt(
      length > TRAINED
        ? `${others}${TRAINED} to ${length - 1} back ${percent(far)}`
        : `${others}farther back ${percent(far)}`,
      box.width - 4,
      y + 29,
      "end",
      "av-is-new",
    )
  );
};
const mechanism = (state, values, box, narrow) => {
  const { angles, trainedAngles, weights, buckets, biases } = values;
  const k = NAMES.indexOf(state.scheme);
  const scheme = SCHEMES[state.scheme];
  const { title, phrase, top, high } = box.below;
  // What is too narrow to be seen is not named.
  const isNew = angles[k].some((a, i) => turned(a) - turned(trainedAngles[k][i]) > 0.002);
  const [met, unmet] = keyOf(scheme, state.scheme, { length: state.length, buckets, isNew });
  const group = (kind, on, drawn) =>
    `<g class="${kind}" opacity="${on ? 1 : 0}"${on ? "" : ' aria-hidden="true"'}>${drawn}</g>`;
  const adds = scheme.bias ? scheme : SCHEMES["no positions"];
  const does = phrase
    ? textAt(scheme.does, 4, title + phrase, "start")
    : `<tspan dx="8">${scheme.does}</tspan>`;
  return (
    `<text x="4" y="${title}" text-anchor="start"><tspan class="av-scheme">` +
    `${escape(scheme.stored)}</tspan>${phrase ? "" : does}</text>${phrase ? does : ""}` +
    group("av-adds", scheme.bias, added(adds, { length: state.length, buckets, biases }, box)) +
    group("av-turns", scheme.rotates, dials(scheme, trainedAngles[k], angles[k], box)) +
    `<text class="av-key-line" x="4" y="${top + high + 38}" text-anchor="start">` +
    `<tspan class="av-is-met">${met}</tspan>` +
    `<tspan class="av-is-new" dx="14">${unmet}</tspan></text>` +
    spent(weights[k], { length: state.length, box, y: top + high + 70, narrow })
  );
};

// --- in words --------------------------------------------------------------------

const percent = (x) => `${fixed(100 * x, 1)}%`;
const sentence = ({ length, scheme, questions }, { medians }) => {
  const k = NAMES.indexOf(scheme);
  const [start, now] = [medians[k][0], medians[k][LENGTHS.indexOf(length)]].map(percent);
  if (length === TRAINED)
    return `${start} right in texts as long as those of training. Drag the length, and press a name.`;
  const { why, whyFar } = SCHEMES[scheme];
  return `${now} right at ${length} tokens, ${start} at ${TRAINED}. ${(questions === "far" && whyFar) || why}`;
};

const figure = {
  name: "schemes",
  lead: [],
  controls: [
    {
      key: "length",
      kind: "stops",
      label: "length of the text",
      first: 256,
      about: "Tokens of the texts; training had 32",
      stops: LENGTHS,
    },
    {
      key: "scheme",
      kind: "choice",
      label: "scheme",
      first: "RoPE 10k",
      about: "The scheme whose mechanism is shown",
      options: NAMES,
    },
    {
      key: "questions",
      kind: "choice",
      label: "questions",
      first: "near",
      about: "Whether the right key is near or far",
      options: ["near", "far"],
    },
    {
      key: "yarn",
      kind: "flag",
      label: "show RoPE with YaRN too",
      first: false,
      about: "Show both bases of RoPE with the frequencies of YaRN, too",
    },
  ],
  compute: ({ length, questions }) => {
    const rows = rowsOf();
    const at = LENGTHS.indexOf(length);
    const angles = (far) => NAMES.map((name) => anglesAt(SCHEMES[name], far));
    return {
      seeds: rows.map((row) => row[questions]),
      medians: rows.map((row) => row[questions].map(median)),
      weights: rows.map((row) => row[`${questions}Weight`][at]),
      buckets: range(length).map(bucketOf),
      biases: rows.find((row) => row.biases).biases,
      angles: angles(length),
      trainedAngles: angles(TRAINED),
    };
  },
  view: (state, values, own, narrow) => {
    const box = narrow ? NARROW : WIDE;
    const { floor, below } = box;
    const label =
      `Right answers to ${state.questions} questions in texts of up to ${state.length} tokens, a ` +
      `line for each scheme, and the mechanism of ${state.scheme}`;
    const here = place(spotOf(box, state.length));
    return (
      `<svg class="av-schemes" role="img" aria-label="${escape(label)}" ` +
      `viewBox="0 0 ${box.width} ${below.top + below.high + 106}">` +
      axes(box, state, narrow) +
      `<path class="av-now" d="M${here} ${box.top}V${floor}"/>` +
      race(state, values, box) +
      mechanism(state, values, box, narrow) +
      grip(
        "length",
        [here, floor],
        '<circle class="av-knob" r="10"/><path class="av-ways" d="M-2.5 -3.5l-3.5 3.5l3.5 3.5M2.5 -3.5l3.5 3.5l-3.5 3.5"/>',
      ) +
      `</svg>${say(sentence(state, values))}`
    );
  },
  handles: (state, values, own, narrow) => {
    const box = narrow ? NARROW : WIDE;
    const names = NAMES.filter((name) => isShown(name, state)).map((name) => ({
      id: `scheme-${NAMES.indexOf(name)}`,
      name,
      group: "schemes",
      once: true,
      on: name === state.scheme,
      press: () => ({ scheme: name }),
    }));
    return [
      {
        id: "length",
        name: "length of the text",
        at: [spotOf(box, state.length), box.floor],
        keys: ["length"],
        read: ([x]) => {
          const k = Math.round(((x - box.left) / (box.right - box.left)) * (LENGTHS.length - 1));
          return { length: LENGTHS[Math.min(Math.max(k, 0), LENGTHS.length - 1)] };
        },
      },
      ...names,
    ];
  },
  opening: { from: [{ length: 32 }], ms: 3000 },
};

export default figureModule(figure);
