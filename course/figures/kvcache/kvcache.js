// KV-cache calculator: the bytes that the keys and values of all positions take.

import { count, grouped, whole } from "../kit/numbers.js";
import { escape } from "../kit/svg.js";
import { OWN, preset } from "../kit/controls.js";
import { figureModule, say } from "../kit/common.js";
import { grip } from "../kit/handles.js";
import { player } from "../kit/player.js";

const ITEMSIZE = { float32: 4, "float16 or bfloat16": 2, "8 bits": 1 };
const WIDEST = ITEMSIZE.float32;
const MOST = 2 ** 50; // 1 PiB; every count below is exact
const KIB = 2 ** 10;
const MIB = 2 ** 20;
const GIB = 2 ** 30;
const TIB = 2 ** 40;

// Sizes from the models' own configurations. One line may serve several models,
// because the cache depends on nothing else.
const model = (n_layers, n_kv_heads, d_k, d_v) => ({ n_layers, n_kv_heads, d_k, d_v });
const LATENT = "DeepSeek-V3";
const MODELS = {
  "GPT-2 small": model(12, 12, 64, 64),
  "GPT-3": model(96, 96, 128, 128),
  "Llama 2 7B": model(32, 32, 128, 128),
  "Llama 2 13B": model(40, 40, 128, 128),
  "Llama 3 8B, Mistral 7B": model(32, 8, 128, 128),
  "Llama 2 70B, Llama 3 70B, Qwen2.5 72B": model(80, 8, 128, 128),
  "Llama 3.1 405B": model(126, 8, 128, 128),
  [LATENT]: model(61, 1, 512, 64),
};
const perToken = ({ n_layers, n_kv_heads, d_k, d_v }, itemsize) =>
  n_layers * n_kv_heads * (d_k + d_v) * itemsize;
const bytes = (state) => perToken(state, ITEMSIZE[state.dtype]) * state.S * state.batch;

const GB = 1e9; // the unit in which memories are sold
const LENGTH = 6000; // milliseconds from the first position to the last

// The number of positions, `ms` after there were `filled`.
const at = ({ filled, S }, ms) => ({
  filled: Math.min(filled + Math.floor((Math.max(ms, 0) * S) / LENGTH), S),
});

const short = (x) => grouped(+x.toFixed(3));
const size = (n) => {
  const [unit, name] =
    n >= TIB ? [TIB, "TiB"] : n >= GIB ? [GIB, "GiB"] : n >= MIB ? [MIB, "MiB"] : [KIB, "KiB"];
  return `${short(n / unit)} ${name}`;
};

// One sequence on its own scale, and all sequences on the scale of the memory.
// That scale is fixed while a cache grows: it ends a quarter beyond the memory,
// and a longer cache is cut off there.
const STORE = { width: 346, left: 6, across: 332, high: 22, top: 110 };
const BEYOND = 1.25;
const EDGE_AT = STORE.left + STORE.across / BEYOND;
const alongMemory = (n, { memory }) => STORE.across * Math.min(n / (BEYOND * memory * GB), 1);
const store = (state, { now, total, filled }) => {
  const { S, batch, memory, d_k, d_v } = state;
  const { width, left, across, high, top } = STORE;
  const place = (x) => +x.toFixed(2);
  const edge = place(EDGE_AT);
  const held = now[0] + now[1];
  const over = held - memory * GB;
  const box = (kind, x, y, w, h, name) =>
    `<rect class="av-${kind}" x="${place(x)}" y="${place(y)}" width="${place(w)}" ` +
    `height="${place(h)}"/>` +
    (w > 6 + 6 * name.length && h > 14
      ? `<text class="av-chip-${kind}" x="${place(x + w / 2)}" y="${place(y + h / 2 + 5)}" ` +
        `text-anchor="middle">${name}</text>`
      : "");
  const [first, second] =
    preset(figure, state) === LATENT ? ["latent", "rotary"] : ["keys", "values"];
  const above = (2 * high * d_k) / (d_k + d_v);
  const title = (text, y) => `<text x="${left}" y="${y}">${text}</text>`;
  const long = (across * filled) / S;
  const keys = alongMemory(now[0], state);
  const values = alongMemory(held, state) - keys;
  const frame = (y, h, w) =>
    `<path class="av-frame" d="M${left} ${y}h${place(w)}v${h}h-${place(w)}z"/>`;
  const gb = (n) => `${held < 1000 * GB ? short(n / GB) : whole(Math.round(n / GB))} GB`;
  const label =
    `${whole(filled)} of ${count(S, "position")}; ${gb(held)} in a memory of ` +
    `${whole(memory)} GB`;
  // A cache that does not fit bursts the edge of the memory.
  const burst =
    over > 0
      ? `<path class="av-burst" d="M${edge} ${top - 5}l6 6l-10 6l12 7l-14 7l12 7l-8 6"/>`
      : "";
  const knob = '<path class="av-store-knob" d="M-4 -14h8v28h-8z"/>';
  return (
    `<svg class="av-store" role="img" aria-label="${label}" viewBox="0 0 ${width} 162">` +
    title(`one sequence: ${whole(filled)} of ${count(S, "position")}`, 14) +
    `<text x="${left + across}" y="79" text-anchor="end">scale: ${whole(S)}</text>` +
    box("key", left, 22, long, above, first) +
    box("value", left, 22 + above, long, 2 * high - above, second) +
    frame(22, 2 * high, across) +
    title(
      `${count(batch, "sequence")}: ${gb(held)}${over > 0 ? `, ${gb(over)} too many` : ""}`,
      top - 10,
    ) +
    box("key", left, top, keys, high, first) +
    box("value", left + keys, top, values, high, second) +
    frame(top, high, edge - left) +
    `<path class="av-edge" d="M${edge} ${top - 6}V${top + 30}"/>${burst}` +
    `<text x="${edge + 4}" y="${top + 46}" text-anchor="end">memory: ${whole(memory)} GB</text>` +
    `<text x="${left + across}" y="${top + 46}" text-anchor="end">${short(BEYOND * memory)} GB</text>` +
    grip("cache", [place(left + alongMemory(total, state)), top + high / 2], knob) +
    "</svg>"
  );
};

const figure = {
  name: "kvcache",
  card: { part: ".av-store", box: "0 12 344 136", state: { S: 131072, batch: 4 } },
  presetLabel: "model",
  presets: MODELS,
  controls: [
    {
      key: "n_layers",
      kind: "number",
      label: "layers L",
      first: 32,
      about: "Layers",
      min: 1,
      max: 256,
      step: 1,
    },
    {
      key: "n_kv_heads",
      kind: "number",
      label: "key/value heads H_kv",
      first: 8,
      about: "Key/value heads",
      min: 1,
      max: 256,
      step: 1,
    },
    {
      key: "d_k",
      kind: "number",
      label: "width of a key d_k",
      first: 128,
      about: "Width of a key in one head",
      min: 1,
      max: 1024,
      step: 1,
    },
    {
      key: "d_v",
      kind: "number",
      label: "width of a value d_v",
      first: 128,
      about: "Width of a value in one head",
      min: 1,
      max: 1024,
      step: 1,
    },
    {
      key: "S",
      kind: "number",
      label: "positions S",
      first: 8192,
      about: "Positions",
      min: 1,
      max: 10000000,
      step: 1,
    },
    {
      key: "batch",
      kind: "number",
      label: "sequences B",
      first: 1,
      about: "Sequences",
      min: 1,
      max: 4096,
      step: 1,
    },
    {
      key: "filled",
      kind: "range",
      label: "positions so far",
      first: 10000000,
      about:
        "Positions that each sequence has by now; more than `S` count as `S`. The film moves them",
      min: 0,
      max: 10000000,
      step: 1,
      upTo: ({ S }) => S,
    },
    {
      key: "memory",
      kind: "number",
      label: "memory in GB",
      first: 80,
      about: "What the memory holds, in GB of 10**9 bytes",
      min: 1,
      max: 10000,
      step: 1,
    },
    {
      key: "dtype",
      kind: "choice",
      label: "numbers",
      first: "float16 or bfloat16",
      about: "The numbers that are stored",
      options: Object.keys(ITEMSIZE),
    },
  ],
  // One text that grows until the memory overflows, and then the text of the
  // page.
  opening: { from: [{ S: 16384 }, { S: 190000 }], ms: 4800 },
  at: (state, ms) => at({ ...state, filled: Math.min(state.filled, state.S) }, ms),
  check: (state) =>
    bytes(state) > MOST
      ? "the cache would take more than 1 PiB, where the figure stops; " +
        "lower positions S or sequences B"
      : "",

  compute: (settings, own) => {
    const state = { ...settings, ...own };
    const itemsize = ITEMSIZE[state.dtype];
    const filled = Math.min(state.filled, state.S);
    const written = state.n_layers * state.n_kv_heads * itemsize * filled * state.batch;
    const token = perToken(state, itemsize);
    const total = bytes(state);
    return {
      per_layer: token / state.n_layers,
      per_token: token,
      per_sequence: token * state.S,
      total,
      mib: total / MIB,
      gib: total / GIB,
      tokens_per_gib: Math.floor(GIB / token),
      filled,
      now: [written * state.d_k, written * state.d_v],
      room: Math.floor((state.memory * GB) / (token * state.batch)),
      models: Object.fromEntries(
        Object.entries(MODELS).map(([name, m]) => [name, perToken(m, itemsize)]),
      ),
    };
  },

  view: (state, values) => {
    const { n_layers, n_kv_heads, d_k, d_v, S, batch, memory, dtype } = state;
    const { filled, room } = values;
    const now = values.now[0] + values.now[1];
    const line = (name, n) =>
      `<tr><th scope="row">${name}</th><td>${whole(n)}</td><td>${size(n)}</td></tr>`;
    const table =
      `<table class="av-grid av-rows"><caption>Keys and values: ${n_layers} · ${n_kv_heads} ` +
      `· (${d_k} + ${d_v}) · ${ITEMSIZE[dtype]} · ${whole(S)} · ${whole(batch)} ` +
      "bytes</caption>" +
      `<thead><tr><td></td><th scope="col">bytes</th><th scope="col">binary ` +
      "units</th></tr></thead><tbody>" +
      line("one position, one layer", values.per_layer) +
      line("one position, all layers", values.per_token) +
      line("one full sequence", values.per_sequence) +
      line("all full sequences", values.total) +
      "</tbody></table>";

    const name = preset(figure, state);
    const others = name === OWN ? [[OWN, values.per_token]] : [];
    const shown = [...others, ...Object.entries(values.models)];
    // The bars keep their scale when the type changes.
    const widest = Math.max(...Object.values(MODELS).map((sizes) => perToken(sizes, WIDEST)));
    const most = Math.max(widest, values.per_token);
    const bars = shown.map(([other, n]) => {
      const label = other === name ? `▸ <b>${escape(other)}</b>` : escape(other);
      return (
        `<tr><th scope="row">${label}</th><td>${whole(n)}</td><td class="av-bar">` +
        `<i style="width:${((100 * n) / most).toFixed(2)}%"></i></td></tr>`
      );
    });
    const compared =
      `<table class="av-grid av-bars"><caption>Bytes of one position in all layers, ` +
      `${escape(dtype)}</caption>` +
      `<thead><tr><td></td><th scope="col">bytes</th><td></td></tr></thead><tbody>` +
      `${bars.join("")}</tbody></table>`;

    const note =
      name === LATENT
        ? " It keeps one latent vector of 512 numbers, entered as the key, from which " +
          "keys and values are made again, and a rotary key of 64, entered as the value."
        : "";
    const each = batch === 1 ? "one sequence" : `each of ${whole(batch)} sequences`;
    const verdict =
      room >= S
        ? `have room for all ${count(S, "position")}, and for ${count(room, "position")}`
        : `are full after ${whole(room)} of ${count(S, "position")}`;
    return (
      store(state, values) +
      say(
        `${name === OWN ? "These sizes" : name}: ${count(values.per_token, "byte")} per position. ` +
          `${count(filled, "position")} in ${each} take${filled * batch === 1 ? "s" : ""} ` +
          `${size(now)}${now >= GIB ? `, or ${short(now / GB)} GB` : ""}. ` +
          `${whole(memory)} GB ${verdict}${batch > 1 ? " in each sequence" : ""}.${note}`,
      ) +
      table +
      compared
    );
  },
};
figure.handles = (state, { total, per_token }) => [
  {
    id: "cache",
    name: "end of the cache, by its positions",
    keys: ["S"],
    at: [STORE.left + alongMemory(total, state), STORE.top + STORE.high / 2],
    read: ([x]) => {
      const bytesHere = ((x - STORE.left) / STORE.across) * BEYOND * state.memory * GB;
      const wished = bytesHere / (per_token * state.batch);
      // At the end of the scale, a longer cache keeps its length.
      return { S: x < STORE.left + STORE.across ? wished : Math.max(wished, state.S) };
    },
  },
];
// If the reader prefers reduced motion, eight pictures replace the film.
figure.live = player(figure, "filled", {
  still: ({ S }, here) => Math.floor((Math.floor((8 * here) / S) * S) / 8),
});

export default figureModule(figure);
