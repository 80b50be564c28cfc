// Latent: what is cached per token, and what two equivalent forms multiply.

import { count, fixed, inUnits, range, whole } from "../kit/numbers.js";
import { grip } from "../kit/handles.js";
import { folded } from "../kit/tables.js";
import { figureModule, say } from "../kit/common.js";

const KINDS = ["multi-head", "grouped", "multi-query", "latent"];
const GROUPS = 8;

// --- counts, all of them whole numbers -------------------------------------------

const asked = ({ queries, tokens }) => Math.min(queries, tokens);
// Multiply-adds of T queries over the cached tokens, in all heads.
const stages = ({ latent, rotated, heads, width, tokens }, absorbed, T) => {
  const projections = heads * (absorbed ? T : tokens) * latent * 2 * width;
  const scores = heads * T * tokens * ((absorbed ? latent : width) + rotated);
  const values = heads * T * tokens * (absorbed ? latent : width);
  return { projections, scores, values, total: projections + scores + values };
};
const totalOf = (state, form, T) => stages(state, form === "absorbed", T).total;
// The number of queries from which the plain form needs fewer; 0 if it never
// does.
const turning = ({ latent, width, tokens }) => {
  const up = latent * 2 * width;
  const rest = up + tokens * 2 * (latent - width);
  const first = rest > 0 ? Math.floor((tokens * up) / rest) + 1 : Infinity;
  return first <= tokens ? first : 0;
};
const compute = (state) => {
  const { latent, rotated, heads, width } = state;
  const pair = 2 * width;
  const kept = [heads * pair, Math.min(GROUPS, heads) * pair, pair, latent + rotated];
  return {
    kept,
    heads: kept.at(-1) / pair,
    plain: stages(state, false, asked(state)),
    absorbed: stages(state, true, asked(state)),
    from: turning(state),
  };
};

// --- the vectors of one token, each as high as it is wide ----------------------------

const FOOT = 150; // the lower edge of the vectors
const HIGH = 0.11; // the height of one number
const GAP = 2;
const ROW = 136; // the height of a token's row, above all that may be kept of it
// A step of the heads is twice as wide for twice the heads.
const WIDE = {
  width: 470,
  arrows: [32, 84],
  KEPT: { left: 92, right: 122 },
  HEADS: { left: 184, step: 32 },
  BAR: { left: 104, right: 396 },
  PLOT: { left: 62, right: 446 },
};
const NARROW = {
  width: 360,
  arrows: [28, 68],
  KEPT: { left: 72, right: 98 },
  HEADS: { left: 148, step: 25 },
  BAR: { left: 92, right: 300 },
  PLOT: { left: 54, right: 344 },
};
const shapeOf = (narrow) => (narrow ? NARROW : WIDE);
const at = (x) => +x.toFixed(2);

const words = (text, x, y, anchor = "start", kind = "") =>
  `<text${kind && ` class="${kind}"`} x="${at(x)}" y="${at(y)}" text-anchor="${anchor}">` +
  `${text}</text>`;
const arrow = (from, to, y) => `<path class="av-leads" d="M${from} ${y}H${to}m-6 -4l6 4l-6 4"/>`;
const area = (H, { HEADS }) => HEADS.step * (1 + Math.log2(H));
// One column for each head.
const columns = (kind, H, foot, high, shape) => {
  const { HEADS } = shape;
  const step = area(H, shape) / H;
  const wide = at(step * (H > 32 ? 0.75 : 0.9));
  const d = range(H).map(
    (h) => `M${at(HEADS.left + h * step)} ${at(foot)}h${wide}v${-at(high)}h${-wide}z`,
  );
  return `<path class="${kind}" d="${d.join("")}"/>`;
};
const box = (kind, x, foot, wide, high) =>
  `<rect class="${kind}" x="${at(x)}" y="${at(foot - high)}" width="${at(wide)}" ` +
  `height="${at(high)}"/>`;
const vectors = (state, shape) => {
  const { arrows, KEPT, HEADS } = shape;
  const [before, after] = [KEPT.right + 8, HEADS.left - 8];
  const { latent, rotated, heads: H, width, form } = state;
  const [c, r, d] = [latent, rotated, width].map((n) => n * HIGH);
  const line = FOOT - Math.max(d, 16) - 6; // where the name of the values is written
  const keys = line - 18;
  const made =
    form === "plain"
      ? columns("av-made-key", H, keys, d, shape) +
        columns("av-made-key av-turned", H, keys - d - GAP, r, shape) +
        columns("av-made-value", H, FOOT, d, shape) +
        words(`keys of ${count(H, "head")}`, HEADS.left, keys - d - r - 8) +
        words(`values of ${count(H, "head")}`, HEADS.left, line) +
        words(`made for each of ${whole(state.tokens)} tokens`, HEADS.left, FOOT + 16)
      : columns("av-made-query", H, FOOT, c, shape) +
        columns("av-made-query av-turned", H, FOOT - c - GAP, r, shape) +
        words(`queries of ${count(H, "head")}`, HEADS.left, FOOT - c - r - 10) +
        words("made as long as what is kept", HEADS.left, FOOT + 16);
  const middle = FOOT - 40;
  return (
    `<rect class="av-row-of" x="6" y="${FOOT - ROW}" width="18" height="${ROW}"/>` +
    words("one token", 6, FOOT + 16) +
    arrow(...arrows, middle) +
    words("down", (arrows[0] + arrows[1]) / 2, middle - 8, "middle") +
    box("av-kept", KEPT.left, FOOT, KEPT.right - KEPT.left, c) +
    box("av-kept av-turned", KEPT.left, FOOT - c - GAP, KEPT.right - KEPT.left, r) +
    words("kept", (KEPT.left + KEPT.right) / 2, FOOT + 16, "middle", "av-strong") +
    (form === "plain"
      ? arrow(before, after, middle) + words("up", (before + after) / 2, middle - 8, "middle")
      : `<path class="av-leads" d="M${after} ${middle}H${before}m6 -4l-6 4l6 4"/>` +
        words("read", (before + after) / 2, middle - 8, "middle")) +
    made
  );
};

// --- the cache, as bars -------------------------------------------------------------

const ROWS = { top: 200, step: 20, high: 14 };
const named = (H) => [KINDS[0], `grouped, ${Math.min(GROUPS, H)}`, KINDS[2], KINDS[3]];
// The axis ends at the numbers of as many heads as there may be, so it stays while
// the number of heads changes.
const MOST_HEADS = 128;
const bars = ({ heads, width }, { kept }, { BAR, width: end }) => {
  const most = MOST_HEADS * 2 * width;
  const row = (name, i) => {
    const y = ROWS.top + i * ROWS.step;
    const wide = ((BAR.right - BAR.left) * kept[i]) / most;
    return (
      words(name, BAR.left - 8, y + 12, "end", i === 3 ? "av-strong" : "") +
      `<rect class="${i === 3 ? "av-kept" : "av-other"}" x="${BAR.left}" y="${y}" ` +
      `width="${at(wide)}" height="${ROWS.high}"/>` +
      words(whole(kept[i]), end - 6, y + 12, "end", "av-kept-number")
    );
  };
  const foot = ROWS.top + KINDS.length * ROWS.step;
  return (
    words("numbers kept per token, one layer", BAR.left, ROWS.top - 8) +
    `<path class="av-leads" d="M${BAR.left} ${foot - 4}v6M${BAR.right} ${foot - 4}v6"/>` +
    words("0", BAR.left, foot + 12, "middle") +
    words(`${whole(most)}: multi-head, ${MOST_HEADS} heads`, BAR.right + 8, foot + 13, "end") +
    named(heads).map(row).join("")
  );
};

// --- the multiply-adds of both forms ----------------------------------------------------

// Both axes hold every setting, so they stay; the curves end where all tokens ask.
const AXES = { top: 328, foot: 468 };
const MOST_TOKENS = 131072;
const [LEAST, MOST] = [4, 16]; // powers of ten
const unitOf = ({ PLOT }) => (PLOT.right - PLOT.left) / Math.log2(MOST_TOKENS);
const pxOf = (shape) => (T) => shape.PLOT.left + unitOf(shape) * Math.log2(T);
const queriesAt = (u, shape) => 2 ** ((u - shape.PLOT.left) / unitOf(shape));
const py = (y) => AXES.foot - ((AXES.foot - AXES.top) * (Math.log10(y) - LEAST)) / (MOST - LEAST);
const plot = (state, values, shape) => {
  const { PLOT } = shape;
  const px = pxOf(shape);
  const up = range((MOST - LEAST) / 2 + 1).map((k) => {
    const n = 10 ** (LEAST + 2 * k);
    return (
      `<path class="av-rule" d="M${PLOT.left} ${at(py(n))}H${PLOT.right}"/>` +
      words(inUnits(n), PLOT.left - 12, py(n) + 4, "end", "av-up")
    );
  });
  const across = range(5).map((k) =>
    words(whole(16 ** k), px(16 ** k), AXES.foot + 16, "middle", "av-across"),
  );
  const last = Math.log2(state.tokens);
  const curve = (form) => {
    const d = range(last + 1).map(
      (k) => `${at(px(2 ** k))} ${at(py(totalOf(state, form, 2 ** k)))}`,
    );
    const kind = `av-form av-form-${form}${form === state.form ? " av-this-form" : ""}`;
    return `<path class="${kind}" d="M${d.join("L")}"/>`;
  };
  const cross = values.from
    ? `<circle class="av-cross" cx="${at(px(values.from))}" ` +
      `cy="${at(py(totalOf(state, "plain", values.from)))}" r="4"/>`
    : "";
  const x = at(px(asked(state)));
  const side = x > PLOT.right - 66 ? [-8, "end"] : [8, "start"];
  // The names of the curves stand clear of the handle and its line.
  const clear = (near, far, least) =>
    asked(state) >= least && asked(state) <= 4 * least ? far : near;
  const [plain, absorbed] = [clear(6, 64, 2), clear(16, 128, 16)];
  return (
    words("multiply-adds, one layer", PLOT.left, AXES.top - 8) +
    up.join("") +
    across.join("") +
    words("queries in one call", PLOT.right, AXES.foot + 32, "end") +
    `<path class="av-asked" d="M${x} ${AXES.top}V${AXES.foot}"/>` +
    curve("plain") +
    curve("absorbed") +
    cross +
    words("plain", px(plain), py(totalOf(state, "plain", plain)) - 6, "middle", "av-name-of") +
    words(
      "absorbed",
      px(absorbed) + 6,
      py(totalOf(state, "absorbed", absorbed)) + 14,
      "start",
      "av-name-of",
    ) +
    grip(
      "queries",
      [x, at(py(totalOf(state, state.form, asked(state))))],
      `<circle class="av-knob" r="8"/>` +
        words(whole(asked(state)), side[0] * 1.5, -10, side[1], "av-strong av-name-of"),
    )
  );
};

// --- in words ----------------------------------------------------------------------------

const sentence = (state, { kept, heads, from }) => {
  const few = from
    ? `From ${whole(from)} queries upward, the plain form takes fewer multiply-adds.`
    : "No number of queries makes the plain form cheaper.";
  return (
    `Latent attention keeps ${whole(kept[3])} numbers per token, as many as ${fixed(heads)} heads ` +
    `with keys and values of their own. ${few}`
  );
};
const table = (state, { plain, absorbed }) => {
  const T = asked(state);
  const row = (name, one) =>
    `<tr><th scope="row">${name}</th>${["projections", "scores", "values", "total"]
      .map((key) => `<td>${inUnits(one[key])}</td>`)
      .join("")}</tr>`;
  return (
    `<table class="av-grid av-both-forms"><caption>Multiply-adds of ${T === 1 ? "1 query" : `${whole(T)} queries`} over ` +
    `${whole(state.tokens)} tokens, one layer</caption><thead><tr><td></td>` +
    `${["projections", "scores", "values", "all"].map((name) => `<th scope="col">${name}</th>`).join("")}` +
    `</tr></thead><tbody>${row("plain", plain)}${row("absorbed", absorbed)}</tbody></table>`
  );
};

const figure = {
  name: "latent",
  card: { part: ".av-latent", box: "0 14 470 158" },
  controls: [
    {
      key: "form",
      kind: "choice",
      label: "form",
      first: "plain",
      about: "Whether keys and values are made, or the up projections absorbed",
      options: ["plain", "absorbed"],
    },
    {
      key: "latent",
      kind: "stops",
      label: "width of the latent vector",
      first: 512,
      about: "d_c, the width of the latent vector",
      stops: [64, 128, 192, 256, 384, 512, 640, 768, 896, 1024],
    },
    {
      key: "heads",
      kind: "power",
      label: "heads",
      first: 128,
      about: "H, the number of heads",
      min: 1,
      max: MOST_HEADS,
    },
    {
      key: "queries",
      kind: "power",
      label: "queries",
      first: 1,
      about: "Queries in one call; more than `tokens` count as `tokens`",
      min: 1,
      max: 131072,
      upTo: ({ tokens }) => tokens,
    },
    {
      key: "tokens",
      kind: "power",
      label: "tokens kept",
      first: 4096,
      about: "Tokens of which something is kept",
      min: 256,
      max: 131072,
    },
    {
      key: "width",
      kind: "stops",
      label: "width of a head",
      first: 128,
      about: "Width of a head's keys, without the rotated part, and of its values",
      stops: [32, 64, 96, 128, 192, 256],
    },
    {
      key: "rotated",
      kind: "stops",
      label: "width of the rotated key",
      first: 64,
      about: "d_r, the width of the rotated key",
      stops: [16, 32, 64, 128],
    },
  ],
  presets: {
    "DeepSeek-V2 and V3": { latent: 512, rotated: 64, heads: 128, width: 128 },
    "DeepSeek-V2-Lite": { latent: 512, rotated: 64, heads: 16, width: 128 },
  },
  presetLabel: "model",
  compute,
  view: (state, values, own, narrow) => {
    const shape = shapeOf(narrow);
    const { width, KEPT, HEADS } = shape;
    const label =
      `One token is kept as a vector of ${whole(state.latent)} numbers and a rotated key of ` +
      `${whole(state.rotated)}; bars of the numbers kept by four kinds of attention; and the ` +
      "multiply-adds of both forms against the number of queries";
    return (
      `<svg class="av-latent" role="img" aria-label="${label}" viewBox="0 0 ${width} 504">` +
      vectors(state, shape) +
      grip(
        "latent",
        [(KEPT.left + KEPT.right) / 2, at(FOOT - state.latent * HIGH)],
        '<rect class="av-knob" x="-19" y="-4" width="38" height="8" rx="4"/>',
      ) +
      grip(
        "heads",
        [HEADS.left + area(state.heads, shape) + 6, FOOT - 9],
        '<rect class="av-knob" x="-4" y="-10" width="8" height="20" rx="4"/>',
      ) +
      `${bars(state, values, shape)}${plot(state, values, shape)}</svg>` +
      say(sentence(state, values)) +
      folded("Multiply-adds", table(state, values))
    );
  },
  handles: (state, values, own, narrow) => {
    const shape = shapeOf(narrow);
    const { KEPT, HEADS } = shape;
    return [
      {
        id: "latent",
        name: "width of the latent vector",
        keys: ["latent"],
        at: [(KEPT.left + KEPT.right) / 2, FOOT - state.latent * HIGH],
        read: ([, v]) => ({ latent: (FOOT - v) / HIGH }),
      },
      {
        id: "heads",
        name: "number of heads",
        keys: ["heads"],
        at: [HEADS.left + area(state.heads, shape) + 6, FOOT - 9],
        read: ([u]) => ({ heads: 2 ** ((u - 6 - HEADS.left) / HEADS.step - 1) }),
      },
      {
        id: "queries",
        name: "queries in one call",
        keys: ["queries"],
        at: [pxOf(shape)(asked(state)), py(totalOf(state, state.form, asked(state)))],
        read: ([u]) => ({ queries: queriesAt(u, shape) }),
      },
    ];
  },
  // More and more queries in one call.
  opening: { from: [{ queries: 4096 }], ms: 4000 },
};

export default figureModule(figure);
