// A batch: what one decoding step of a whole model reads and computes for many
// texts.

import { fixed, range, whole } from "../kit/numbers.js";
import { grip } from "../kit/handles.js";
import { figureModule, say } from "../kit/common.js";

// Llama 3 8B in 16 bits on an A100, with the published peak and bandwidth.
const LAYERS = 32;
const HEADS = 32;
const HEADS_KV = 8;
const COLUMNS = 128; // of a head
const WIDTH = HEADS * COLUMNS;
const HIDDEN = 14336;
const VOCAB = 128256;
const ITEM = 2; // bytes of a number
const PEAK = 312e12;
const BANDWIDTH = 2e12;

// The numbers in the matrices of a step: those of each layer, and the output's.
// The embedding is left out, because a step reads only one of its rows per token.
const MATRICES =
  LAYERS * (2 * WIDTH * WIDTH + 2 * WIDTH * HEADS_KV * COLUMNS + 3 * WIDTH * HIDDEN) +
  VOCAB * WIDTH;
const NORMS = (2 * LAYERS + 1) * WIDTH;
const WEIGHTS = ITEM * (MATRICES + NORMS);
const cacheOf = (S) => ITEM * LAYERS * HEADS_KV * 2 * COLUMNS * S;
const flopsOf = (S) => 2 * MATRICES + LAYERS * HEADS * 4 * COLUMNS * S;
const intensityOf = (B, S) => (B * flopsOf(S)) / (WEIGHTS + B * cacheOf(S));

const MOST = 512;
const LENGTHS = [512, 1024, 2048, 4096, 8192];
const POWERS = range(10).map((k) => 2 ** k);

// --- drawing --------------------------------------------------------------

const place = (x) => +x.toFixed(2);
const text = (words, x, y, anchor = "middle", kind = "") =>
  `<text${kind && ` class="${kind}"`} x="${place(x)}" y="${place(y)}" ` +
  `text-anchor="${anchor}">${words}</text>`;

// The bytes of one step as one bar: the weights, and one part for each cache.
const BAR = { left: 4, width: 332, top: 22, high: 30 };
// Its scale ends at one of a few sizes, which is printed, with a mark at each quarter.
const GB = 1e9;
const SCALES = [40, 160, 640];
const gb = (bytes) => `${fixed(bytes / 1e9, bytes < 1e11 ? 1 : 0)} GB`;
const read = (B, { weights, caches }) => {
  const end = SCALES.find((n) => weights + caches <= n * GB);
  const unit = BAR.width / (end * GB);
  const edge = BAR.left + unit * weights;
  const rest = unit * caches;
  const base = BAR.top + BAR.high;
  const ticks = range(5).map((k) => `M${place(BAR.left + (k * BAR.width) / 4)} ${base}v5`);
  // Parts that are thinner than their outlines are merged into one.
  const many = rest / B > 3 ? range(B - 1) : [];
  const lines = many.map((k) => `M${place(edge + ((k + 1) * rest) / B)} ${BAR.top}V${base}`);
  return (
    text(`one step reads ${gb(weights + caches)}`, BAR.left, 13, "start") +
    `<rect class="av-shared" x="${BAR.left}" y="${BAR.top}" width="${place(edge - BAR.left)}" ` +
    `height="${BAR.high}"/>` +
    `<rect class="av-own" x="${place(edge)}" y="${BAR.top}" width="${place(rest)}" ` +
    `height="${BAR.high}"/>` +
    (lines.length ? `<path class="av-parts" d="${lines.join("")}"/>` : "") +
    `<path class="av-bar-end" d="M${BAR.left} ${base}h${BAR.width}${ticks.join("")}"/>` +
    text(`scale: ${end} GB, a mark every ${end / 4}`, BAR.left + BAR.width, 13, "end", "av-mine") +
    text(`weights ${gb(weights)}, for all texts`, BAR.left, base + 18, "start") +
    text(`caches ${gb(caches)}, one per text`, BAR.left + BAR.width, base + 18, "end")
  );
};

// FLOPs per byte against the batch size, both axes in powers of two.
const PLOT = { left: 34, right: 52, top: 96, high: 150 };
const FLOOR = PLOT.top + PLOT.high;
const HEIGHT = FLOOR + 38;
const Y = [0.5, 512];
const UNIT = (340 - PLOT.left - PLOT.right) / Math.log2(MOST);
const px = (B) => PLOT.left + Math.log2(B) * UNIT;
const py = (y) => FLOOR - (Math.log(y / Y[0]) / Math.log(Y[1] / Y[0])) * PLOT.high;
const END = 340 - PLOT.right;
const BESIDE = END + 11; // clear of the handle
const plot = ({ batch, S }, { balance, limit, intensity, curves }) => {
  const path = (row) =>
    row.map((y, k) => `${k ? "L" : "M"}${place(px(POWERS[k]))} ${place(py(y))}`).join("");
  const lines = curves.map((row, k) => {
    const here = LENGTHS[k] === S;
    const name = here || [0, LENGTHS.length - 1].includes(k) ? whole(LENGTHS[k]) : "";
    return (
      `<path class="av-climb${here ? " av-climbs" : ""}" d="${path(row)}"/>` +
      (name && text(name, BESIDE, py(row.at(-1)) + 4, "start", here ? "av-mine" : ""))
    );
  });
  const up = [1, 10, 100].map(
    (y) =>
      `<path class="av-rule" d="M${PLOT.left} ${place(py(y))}H${END}"/>` +
      text(y, PLOT.left - 12, py(y) + 4, "end"),
  );
  const across = [1, 4, 16, 64, 256].map((B) => text(B, px(B), FLOOR + 18));
  const wall = (kind, y) => `<path class="av-${kind}" d="M${PLOT.left} ${place(py(y))}H${END}"/>`;
  // Of two lines close together, the lower one has its name below.
  const close = Math.abs(py(balance) - py(limit)) < 16;
  const named = (words, y, other) =>
    text(words, PLOT.left + 4, py(y) + (close && y < other ? 12 : -4), "start", "av-on-lines");
  return (
    text("FLOPs per byte read", PLOT.left, PLOT.top - 5, "start") +
    up.join("") +
    across.join("") +
    wall("busy", balance) +
    wall("ceiling", limit) +
    lines.join("") +
    named(`the A100 needs ${fixed(balance, 0)}`, balance, limit) +
    named(`no batch reaches ${fixed(limit, 1)}`, limit, balance) +
    text("tokens", BESIDE, py(curves[0].at(-1)) - 10, "start") +
    text("texts in the batch", (PLOT.left + END) / 2, FLOOR + 33) +
    grip(
      "batch",
      [place(px(batch)), place(py(intensity))],
      `<path class="av-drop-line" d="M0 0V${place(FLOOR - py(intensity))}"/>` +
        '<circle class="av-knob" r="7"/>' +
        text(
          fixed(intensity, 1),
          batch > 128 ? -11 : 11,
          19,
          batch > 128 ? "end" : "start",
          "av-mine av-on-lines",
        ),
    )
  );
};

// --- in words ---------------------------------------------------------------

const sentence = ({ batch, S }, { crossing, seconds, per_second }) =>
  `${whole(batch)} ${batch === 1 ? "text" : "texts"} of ${whole(S)} tokens: the caches overtake ` +
  `the weights at ${whole(crossing)} texts. A step takes at least ${fixed(seconds * 1e3, 1)} ms, ` +
  `so the server writes at most ${whole(Math.round(per_second))} tokens per second, ` +
  `${fixed(per_second / batch, 1)} per text.`;

const figure = {
  name: "batch",
  lead: ["S"],
  controls: [
    {
      key: "batch",
      kind: "range",
      label: "texts in the batch",
      first: 14,
      about: "Texts that are continued together",
      min: 1,
      max: MOST,
      step: 1,
    },
    {
      key: "S",
      kind: "stops",
      label: "tokens per text",
      first: 8192,
      about: "Tokens that each text has so far",
      stops: LENGTHS,
    },
  ],
  compute: ({ batch, S }) => {
    const caches = batch * cacheOf(S);
    const flops = batch * flopsOf(S);
    const bytes = WEIGHTS + caches;
    const seconds = Math.max(flops / PEAK, bytes / BANDWIDTH);
    return {
      weights: WEIGHTS,
      caches,
      flops,
      intensity: flops / bytes,
      limit: flopsOf(S) / cacheOf(S),
      balance: PEAK / BANDWIDTH,
      crossing: Math.ceil(WEIGHTS / cacheOf(S)),
      seconds,
      per_second: batch / seconds,
      curves: LENGTHS.map((n) => POWERS.map((B) => intensityOf(B, n))),
    };
  },
  view: (state, values) => {
    const { batch, S } = state;
    const label =
      `FLOPs per byte over the batch: ${fixed(values.intensity, 1)} for ${whole(batch)} ` +
      `${batch === 1 ? "text" : "texts"} of ${whole(S)} tokens`;
    return (
      `<svg class="av-batch" role="img" aria-label="${label}" viewBox="0 0 340 ${HEIGHT}">` +
      `${read(batch, values)}${plot(state, values)}</svg>${say(sentence(state, values))}`
    );
  },
  handles: ({ batch }, { intensity }) => [
    {
      id: "batch",
      name: "texts in the batch",
      at: [px(batch), py(intensity)],
      keys: ["batch"],
      read: ([x]) => ({ batch: 2 ** ((x - PLOT.left) / UNIT) }),
    },
  ],
  opening: { from: [{ batch: 1 }], ms: 3000 },
};

export default figureModule(figure);
