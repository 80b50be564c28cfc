// KV cache: the bytes that the keys and values of all positions take, in a tank of
// memory beside the weights.

import { count, grouped, tick, whole } from "../kit/numbers.js";
import { escape } from "../kit/svg.js";
import { folded } from "../kit/tables.js";
import { OWN } from "../kit/controls.js";
import { figureModule, say } from "../kit/common.js";
import { grip } from "../kit/handles.js";
import {
  bandsIn,
  inBytes,
  LINE_BREAK,
  pickHandles,
  picks,
  scrub,
  scrubHandle,
  sign,
  strideOf,
  surfaceKnob,
  surfaceOf,
  tankDrawing,
  tankOf,
  wallKnob,
  wallOf,
} from "../kit/tank.js";

const ITEMSIZE = { float32: 4, "float16 or bfloat16": 2, "8 bits": 1 };
const WIDEST = ITEMSIZE.float32;
const MOST = 2 ** 50; // 1 PiB; every count below is exact
const KIB = 2 ** 10;
const MIB = 2 ** 20;
const GIB = 2 ** 30;
const TIB = 2 ** 40;
const GB = 1e9; // the unit in which memories are sold
const LONGEST = 1e7;

// Sizes from the models' own configurations. Weights are the model's parameters, by its
// name or its paper, at two bytes each, or one where it is released so; memories are
// machines of 80 GB that hold them.
const model = (n_layers, n_kv_heads, d_k, d_v, weights, memory) => ({
  ...{ n_layers, n_kv_heads, d_k, d_v, weights, memory },
});
const LATENT = "DeepSeek-V3";
const MODELS = {
  "GPT-2 small": model(12, 12, 64, 64, 0.25, 80),
  "GPT-3": model(96, 96, 128, 128, 350, 640),
  "Llama 2 7B": model(32, 32, 128, 128, 14, 80),
  "Llama 2 13B": model(40, 40, 128, 128, 26, 80),
  "Llama 3 8B": model(32, 8, 128, 128, 16, 80),
  "Mistral 7B": model(32, 8, 128, 128, 14, 80),
  "Llama 2 70B, Llama 3 70B": model(80, 8, 128, 128, 140, 160),
  "Qwen2.5 72B": model(80, 8, 128, 128, 144, 160),
  "Llama 3.1 405B": model(126, 8, 128, 128, 810, 1280),
  [LATENT]: model(61, 1, 512, 64, 671, 1280),
};
// In sight; the others are in the menu.
const SHOWN = [
  ...["Llama 2 7B", "Llama 3 8B", "Llama 2 70B, Llama 3 70B"],
  ...["Llama 3.1 405B", "GPT-3", LATENT],
];
const shortName = (name) => name.split(", ").at(-1);
// A model is itself in any memory.
const nameOf = (state) =>
  Object.keys(MODELS).find((name) =>
    Object.entries(MODELS[name]).every(([key, x]) => key === "memory" || state[key] === x),
  ) ?? OWN;
const perToken = ({ n_layers, n_kv_heads, d_k, d_v }, itemsize) =>
  n_layers * n_kv_heads * (d_k + d_v) * itemsize;
const bytes = (state) => perToken(state, ITEMSIZE[state.dtype]) * state.S * state.batch;

const short = (x) => grouped(+x.toFixed(3));
const size = (n) => {
  const [unit, name] =
    n >= TIB ? [TIB, "TiB"] : n >= GIB ? [GIB, "GiB"] : n >= MIB ? [MIB, "MiB"] : [KIB, "KiB"];
  return `${short(n / unit)} ${name}`;
};

const drawn = (state, { total, room }, narrow) => {
  const { memory, weights, batch, d_k, d_v } = state;
  const tank = tankOf(memory * GB, narrow);
  const held = weights * GB;
  const over = held + total - memory * GB;
  const [first, second] =
    nameOf(state) === LATENT ? ["latent vectors", "rotary keys"] : ["keys", "values"];
  const share = d_k / (d_k + d_v);
  const rim = [
    `memory ${whole(memory)} GB`,
    room > LONGEST
      ? `full beyond ${whole(LONGEST)} positions`
      : `full at ${count(room, "position")}`,
    ...(over > 0 ? [`${inBytes(over)} too much`] : []),
  ];
  return tankDrawing(tank, {
    label:
      `A memory of ${whole(memory)} GB with ${inBytes(held)} of weights and ` +
      `${inBytes(total)} of cache`,
    contents: [
      {
        kind: "weights",
        bytes: held,
        lines: [weights ? `weights ${inBytes(held)}` : "no weights"],
      },
      {
        kind: "cache",
        bytes: total,
        bands: batch,
        lines: [
          `cache ${inBytes(total)}`,
          bandsIn(tank, held, total, batch) > 1
            ? `${whole(batch)} bands, one per sequence`
            : count(batch, "sequence"),
        ],
        split: [
          { kind: "key", share, name: first },
          { kind: "value", share: 1 - share, name: second },
        ],
      },
    ],
    rim,
    more:
      grip("cache", surfaceOf(tank, held + total), surfaceKnob(tank)) +
      grip("weights", wallOf(tank, held), wallKnob),
  });
};

// The bytes as a product whose numbers are dragged.
const formula = ({ n_layers, n_kv_heads, d_k, d_v, S, batch, dtype }, { total }, narrow) =>
  '<div class="av-factors" role="group" aria-label="the formula">' +
  scrub("n_layers", "attention", n_layers, "layers") +
  sign("×") +
  scrub("n_kv_heads", "attention", n_kv_heads, "KV heads") +
  sign("× (") +
  scrub("d_k", "key", d_k, "key width") +
  sign("+") +
  scrub("d_v", "value", d_v, "value width") +
  (narrow ? `${sign(")")}${LINE_BREAK}${sign("×")}` : sign(") ×")) +
  scrub("dtype", "", ITEMSIZE[dtype], dtype === "8 bits" ? "byte each" : "bytes each") +
  sign("×") +
  scrub("S", "new", whole(S), S === 1 ? "position" : "positions") +
  sign("×") +
  scrub("batch", "new", whole(batch), batch === 1 ? "sequence" : "sequences") +
  `<span class="av-result-of">= ${whole(total)} bytes<small>drag a number ↔</small></span></div>`;

const tables = (state, values, name) => {
  const { n_layers, n_kv_heads, d_k, d_v, S, batch, dtype } = state;
  const line = (what, n) =>
    `<tr><th scope="row">${what}</th><td>${whole(n)}</td><td>${size(n)}</td></tr>`;
  const own =
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
  const others = name === OWN ? [[OWN, values.per_token]] : [];
  // The bars keep their scale when the type changes.
  const widest = Math.max(...Object.values(MODELS).map((sizes) => perToken(sizes, WIDEST)));
  const most = Math.max(widest, values.per_token);
  const bars = [...others, ...Object.entries(values.models)].map(([other, n]) => {
    const label = other === name ? `▸ <b>${escape(other)}</b>` : escape(other);
    return (
      `<tr><th scope="row">${label}</th><td>${whole(n)}</td><td class="av-bar">` +
      `<i style="width:${((100 * n) / most).toFixed(2)}%"></i></td></tr>`
    );
  });
  return (
    `${own}<table class="av-grid av-bars"><caption>Bytes of one position in all layers, ` +
    `${escape(dtype)}</caption>` +
    `<thead><tr><td></td><th scope="col">bytes</th><td></td></tr></thead><tbody>` +
    `${bars.join("")}</tbody></table>`
  );
};

const sized = (key, label, first, about, max, min = 1) => ({
  ...{ key, kind: "number", label, first, about, min, max, step: 1 },
});
const figure = {
  name: "kvcache",
  card: { part: ".av-tank", box: "14 70 392 334", state: { S: 150000, batch: 2 } },
  presetLabel: "model",
  presets: MODELS,
  lead: [],
  controls: [
    sized("n_layers", "layers L", 32, "Layers", 256),
    sized("n_kv_heads", "key/value heads H_kv", 8, "Key/value heads", 256),
    sized("d_k", "width of a key d_k", 128, "Width of a key in one head", 1024),
    sized("d_v", "width of a value d_v", 128, "Width of a value in one head", 1024),
    sized("S", "positions S", 8192, "Positions", LONGEST),
    sized("batch", "sequences B", 1, "Sequences", 4096),
    {
      key: "weights",
      kind: "number",
      label: "GB taken by weights",
      first: 16,
      about: "Gigabytes that the weights of the whole model take",
      min: 0,
      max: 10000,
      step: 0.25,
    },
    sized("memory", "memory in GB", 80, "What the memory holds, in GB of 10**9 bytes", 10000),
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
  opening: { from: [{ S: 1000 }, { S: 530000 }], ms: 4800 },
  check: (state) =>
    bytes(state) > MOST
      ? "the cache would take more than 1 PiB, where the figure stops; " +
        "lower positions S or sequences B"
      : "",

  compute: (state) => {
    const itemsize = ITEMSIZE[state.dtype];
    const token = perToken(state, itemsize);
    const total = bytes(state);
    const each = total / (state.d_k + state.d_v);
    return {
      per_layer: token / state.n_layers,
      per_token: token,
      per_sequence: token * state.S,
      total,
      mib: total / MIB,
      gib: total / GIB,
      tokens_per_gib: Math.floor(GIB / token),
      halves: [each * state.d_k, each * state.d_v],
      room: Math.max(Math.floor(((state.memory - state.weights) * GB) / (token * state.batch)), 0),
      models: Object.fromEntries(
        Object.entries(MODELS).map(([name, m]) => [name, perToken(m, itemsize)]),
      ),
    };
  },

  view: (state, values, own, narrow) => {
    const { batch, weights } = state;
    const name = nameOf(state);
    const note =
      name === LATENT
        ? " It keeps one latent vector of 512 numbers per layer, entered as the key, and a " +
          "rotary key of 64, entered as the value."
        : "";
    const times = values.total / (weights * GB);
    const beside = weights
      ? `The cache takes ${times < 0.01 ? "less than 0.01" : tick(times)} times the bytes of the weights.`
      : "The weights are not counted.";
    return (
      picks(SHOWN.map(shortName)) +
      drawn(state, values, narrow) +
      formula(state, values, narrow) +
      say(
        `${name === OWN ? "These sizes" : shortName(name)}: each position takes ` +
          `${count(values.per_token, "byte")}${batch > 1 ? " in each sequence" : ""}. ${beside}${note}`,
      ) +
      folded("Binary units and other models", tables(state, values, name))
    );
  },
};
const dtypes = Object.keys(ITEMSIZE);
// A press never asks for more than the figure counts: the text gets shorter.
const asked = (now, settings) => {
  const next = { ...now, ...settings };
  const most = Math.floor(MOST / (perToken(next, ITEMSIZE[next.dtype]) * next.batch));
  return next.S > most ? { ...settings, S: most } : settings;
};
figure.handles = (state, { total, per_token }, own, narrow) => {
  const { weights, batch, S, dtype } = state;
  const tank = tankOf(state.memory * GB, narrow);
  const held = weights * GB;
  const factor = (key, name) => scrubHandle(key, name, state[key], narrow);
  return [
    ...pickHandles(SHOWN, SHOWN.indexOf(nameOf(state)), (name, now) => asked(now, MODELS[name])),
    {
      id: "weights",
      name: "top of the weights",
      keys: ["weights"],
      at: wallOf(tank, held),
      // At the end of the scale, what is more keeps its size.
      read: ([, y]) => ({
        weights: Math.max(tank.bytesAt(y) / GB, y > tank.top ? 0 : weights),
      }),
    },
    {
      id: "cache",
      name: "surface of the cache, by its positions",
      keys: ["S"],
      at: surfaceOf(tank, held + total),
      read: ([, y]) => {
        const wished = Math.round((tank.bytesAt(y) - held) / (per_token * batch));
        return { S: y > tank.top ? wished : Math.max(wished, S) };
      },
      stride: strideOf(S),
    },
    factor("n_layers", "layers"),
    factor("n_kv_heads", "key/value heads"),
    factor("d_k", "width of a key"),
    factor("d_v", "width of a value"),
    {
      id: "dtype",
      name: `${count(ITEMSIZE[dtype], "byte")} for a number: press for another`,
      press: (now) =>
        asked(now, { dtype: dtypes[(dtypes.indexOf(now.dtype) + 1) % dtypes.length] }),
    },
    factor("S", "positions"),
    factor("batch", "sequences"),
  ];
};

export default figureModule(figure);
