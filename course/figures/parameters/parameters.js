// The parameters of a transformer, each part as an area.

import { count, fixed, range, whole } from "../kit/numbers.js";
import { folded } from "../kit/tables.js";
import { OWN, preset } from "../kit/controls.js";
import { figureModule, say } from "../kit/common.js";
import { grip } from "../kit/handles.js";

// As in GPT-2: layer norm, biases, learned positions, heads of 64 columns.
const HEAD = 64;
const CONTEXT = 1024;
const gpt2 = (n_layers, heads) => ({
  ...{ heads, n_layers, shared: 1, ratio: 4, vocab: 50257, tied: true },
});
const MODELS = {
  "GPT-2 small": gpt2(12, 12),
  "GPT-2 medium": gpt2(24, 16),
  "GPT-2 large": gpt2(36, 20),
  "GPT-2 XL": gpt2(48, 25),
};

const partsOf = ({ heads, n_layers, shared, ratio, vocab, tied }) => {
  const d = HEAD * heads;
  const kv = d / shared;
  const d_ff = ratio * d;
  return {
    embedding: vocab * d,
    positions: CONTEXT * d,
    attention: n_layers * (2 * (d * d + d) + 2 * (d * kv + kv)),
    feed_forward: n_layers * (d * d_ff + d_ff + d_ff * d + d),
    norms: n_layers * 4 * d + 2 * d,
    output: tied ? 0 : d * vocab + vocab,
  };
};
const NAMES = {
  embedding: "embedding",
  positions: "positions",
  attention: "attention",
  feed_forward: "feed-forward",
  norms: "norms",
  output: "output matrix",
};
const KEYS = Object.keys(NAMES);
const sumOf = (parts) => KEYS.reduce((sum, key) => sum + parts[key], 0);
// The numbers of heads that can share their keys and values.
const SHARES = [1, 2, 4, 8, 16, 32];
const divisors = (heads) => SHARES.filter((n) => heads % n === 0);

// --- drawing -------------------------------------------------------------

const WIDEST = 96;
const BOX = { width: 400, top: 28, high: 170 };
const END = BOX.top + BOX.high;
const AXIS = { y: END + 42, from: 1e6, to: 1e11 };
const at = (x) => +x.toFixed(2);
// The left edge of each part, and the right edge of the last.
const edgesOf = (parts) => {
  const unit = BOX.width / sumOf(parts);
  return KEYS.reduce((edges, key) => [...edges, edges.at(-1) + unit * parts[key]], [0]);
};
const along = (n) => (BOX.width * Math.log(n / AXIS.from)) / Math.log(AXIS.to / AXIS.from);

const kindOf = (key) => `av-part-${key.replace("_", "-")}`;
const words = (text, x, y, anchor = "middle") =>
  `<text x="${at(x)}" y="${at(y)}" text-anchor="${anchor}">${text}</text>`;

const SIZES = [
  [1e6, "1 M"],
  [1e7, "10 M"],
  [1e8, "100 M"],
  [1e9, "1 B"],
  [1e10, "10 B"],
  [1e11, "100 B"],
];
const axis = () =>
  `<path class="av-scale" d="M0 ${AXIS.y}H${BOX.width}"/>` +
  SIZES.map(([n, name], k) => {
    const anchor = k === 0 ? "start" : k === SIZES.length - 1 ? "end" : "middle";
    return (
      `<path class="av-scale" d="M${at(along(n))} ${AXIS.y - 4}v8"/>` +
      words(name, along(n), AXIS.y + 20, anchor)
    );
  }).join("");

// A handle on an edge asks for the setting that moves the edge there.
const handles = (state, { parts }) => {
  const edges = edgesOf(parts);
  const d = HEAD * state.heads;
  const rest = sumOf(parts) - parts.embedding - parts.output;
  return [
    {
      id: "vocab",
      name: "vocabulary",
      keys: ["vocab"],
      at: [edges[1], BOX.top + 0.3 * BOX.high],
      // share = V d / (V d + output + rest), where the output grows with V too.
      read: ([x]) => {
        const most = 0.9999 * (state.tied ? 1 : d / (2 * d + 1));
        const share = Math.min(Math.max(x / BOX.width, 0), most);
        const others = state.tied ? 0 : share * (d + 1);
        return { vocab: (share * rest) / (d - share * d - others) };
      },
    },
    {
      id: "ratio",
      name: "width of the feed-forward network",
      keys: ["ratio"],
      at: [edges[3], BOX.top + 0.7 * BOX.high],
      read: ([x]) => {
        const before = parts.embedding + parts.positions + parts.attention;
        const total = (before * BOX.width) / Math.max(x, 1);
        const wanted = total - before - parts.norms - parts.output;
        return { ratio: (wanted / state.n_layers - d) / (2 * d * d + d) };
      },
    },
    {
      id: "layers",
      name: "blocks",
      keys: ["n_layers"],
      // At the right, where more blocks do not move it sideways.
      at: [edges[5], BOX.top + BOX.high / state.n_layers],
      read: ([, y]) => ({ n_layers: BOX.high / Math.max(y - BOX.top, 0.5) }),
    },
    {
      id: "heads",
      name: "width, in heads",
      keys: ["heads"],
      at: [along(sumOf(parts)), AXIS.y],
      read: ([x]) => {
        const far = (heads) => Math.abs(along(sumOf(partsOf({ ...state, heads }))) - x);
        return {
          heads: range(WIDEST)
            .map((k) => k + 1)
            .reduce((a, b) => (far(b) < far(a) ? b : a)),
        };
      },
    },
  ];
};

const picture = (state, { parts, total }) => {
  const edges = edgesOf(parts);
  const areas = KEYS.map((key, k) => {
    const [x, w] = [edges[k], edges[k + 1] - edges[k]];
    if (!w) return "";
    const room = w > 7.5 * NAMES[key].length;
    return (
      `<rect class="${kindOf(key)}" x="${at(x)}" y="${BOX.top}" ` +
      `width="${at(w)}" height="${BOX.high}"/>` +
      (room ? words(NAMES[key], x + w / 2, BOX.top - 10) : "") +
      (w > 44 ? words(percent(parts[key] / total), x + w / 2, BOX.top + BOX.high / 2 + 4) : "")
    );
  });
  const [from, to] = [edges[2], edges[5]];
  const rows = range(state.n_layers - 1).map(
    (k) => `M${at(from)} ${at(BOX.top + (BOX.high * (k + 1)) / state.n_layers)}H${at(to)}`,
  );
  const knob = '<circle class="av-area-knob" r="6"/>';
  const label =
    `${whole(total)} parameters by area: ` +
    KEYS.filter((key) => parts[key])
      .map((key) => `${NAMES[key]} ${percent(parts[key] / total)}`)
      .join(", ");
  return (
    `<svg class="av-areas" role="img" aria-label="${label}" viewBox="-8 0 ${BOX.width + 16} ` +
    `${AXIS.y + 26}">${areas.join("")}<path class="av-layers" ` +
    // Many lines together do not darken the colours.
    `stroke-opacity="${at(Math.min(0.5, 6 / state.n_layers))}" d="${rows.join("")}"/>` +
    words(
      `the whole rectangle: ${whole(Math.round(total / 1e6))} M parameters`,
      BOX.width / 2,
      END + 20,
    ) +
    axis() +
    handles(state, { parts })
      .map(({ id, at: [x, y] }) => grip(id, [at(x), at(y)], knob))
      .join("") +
    "</svg>"
  );
};

// --- in words ------------------------------------------------------------

const percent = (share) => (share > 0 && share < 5e-4 ? "under 0.1%" : `${fixed(100 * share, 1)}%`);
const signOf = (key) => `<span class="av-part-sign ${kindOf(key)}" aria-hidden="true"></span>`;
const table = (state, { parts, total, d_model, d_ff, block }) => {
  const row = (name, n, sign = "") =>
    `<tr><th scope="row">${sign}${name}</th><td>${whole(n)}</td><td>${percent(n / total)}</td></tr>`;
  return (
    `<table class="av-grid av-counts"><caption>Parameters by part</caption><thead><tr><td></td>` +
    `<th scope="col">parameters</th><th scope="col">share</th></tr></thead><tbody>` +
    KEYS.map((key) => row(NAMES[key], parts[key], signOf(key))).join("") +
    `${row("all", total)}</tbody></table>` +
    `<p>Width ${whole(d_model)}, ${whole(state.n_layers)} × ${whole(block)} in blocks with ` +
    `d<sub>ff</sub> = ${whole(d_ff)}, and ${count(state.vocab, "token")}.</p>`
  );
};
const sentence = (state, { parts, total }) => {
  const name = preset(figure, state);
  const most = KEYS.reduce((a, b) => (parts[b] > parts[a] ? b : a));
  return (
    `${name === OWN ? "This model" : name} has ${whole(total)} parameters. The largest part is ` +
    `${most === "output" ? "the " : ""}${NAMES[most]}, with ${percent(parts[most] / total)}.`
  );
};

const figure = {
  name: "parameters",
  card: { part: ".av-areas", box: "0 26 400 174" },
  presetLabel: "model",
  presets: MODELS,
  // Blocks that are added, one after another.
  opening: { from: [{ n_layers: 1 }], ms: 3500 },
  lead: ["preset"],
  controls: [
    {
      key: "n_layers",
      kind: "range",
      label: "blocks L",
      first: 12,
      about: "Blocks",
      min: 1,
      max: 96,
      step: 1,
    },
    {
      key: "heads",
      kind: "range",
      label: "heads of 64 columns",
      first: 12,
      about: "Query heads of 64 columns each, which together are as wide as the model",
      min: 1,
      max: WIDEST,
      step: 1,
    },
    {
      key: "shared",
      kind: "stops",
      label: "heads that share keys",
      first: 1,
      about: "Query heads that share one key/value head; a divisor of `heads`",
      stops: SHARES,
    },
    {
      key: "ratio",
      kind: "range",
      label: "d_ff in widths d",
      first: 4,
      about: "Width of the feed-forward network, in widths of the model",
      min: 0.5,
      max: 8,
      step: 0.5,
    },
    {
      key: "vocab",
      kind: "number",
      label: "tokens |V|",
      first: 50257,
      about: "Tokens of the vocabulary",
      min: 1,
      max: 1000000,
      step: 1,
    },
    {
      key: "tied",
      kind: "flag",
      label: "tied",
      first: true,
      about: "Let the embedding, transposed, be the output matrix too",
    },
  ],
  check: ({ heads, shared }) =>
    heads % shared
      ? `heads that share keys must be one of ${divisors(heads).join(", ")}, which divide ${heads}; ` +
        `got ${shared}`
      : "",
  // The moved setting stays, and the sharing is adjusted to a divisor.
  fit: ({ heads, shared }) => {
    if (heads % shared === 0) return null;
    const fits = divisors(heads)
      .filter((n) => n < shared)
      .at(-1);
    return {
      settings: { shared: fits },
      says: `The number of heads that share keys must divide ${heads}: now ${fits}.`,
    };
  },
  compute: (state) => {
    const parts = partsOf(state);
    const { attention, feed_forward } = parts;
    const d_model = HEAD * state.heads;
    const block = (attention + feed_forward) / state.n_layers + 4 * d_model;
    return { parts, total: sumOf(parts), block, d_model, d_ff: state.ratio * d_model };
  },
  view: (state, values) =>
    picture(state, values) +
    say(sentence(state, values)) +
    folded("Parameters by part", table(state, values)),
  handles,
};

export default figureModule(figure);
