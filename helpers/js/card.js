// A model card: what attention stores and moves, from a model's configuration.

import { count, grouped, inUnits, sum, tick, whole } from "./numbers.js";
import { figureModule, known, say } from "./common.js";
import { grip } from "./handles.js";

// From helpers.cards: configurations, and which keys are read or refused.
const { models: MODELS, rules: RULES } = known("card");
const PASTED = "pasted configuration";
// FLOPs and bytes per second, and bytes of memory, as advertised.
const MACHINES = {
  A100: [312e12, 2e12, 80e9],
  "TPU v5e": [197e12, 820e9, 16e9],
  H100: [989e12, 3.35e12, 80e9],
};
const STATE_BYTES = 4;
const STATE_FLOPS = 7;
const GIB = 2 ** 30;

// --- from a configuration to layers, as in helpers.cards ------------------

const [FULL, SLIDING, CHUNKED, LINEAR] = RULES.types;
const isMap = (x) => x !== null && typeof x === "object" && !Array.isArray(x);
const own = (map, key) => (Object.hasOwn(map, key) ? map[key] : undefined) ?? null;
class Refused extends Error {}
const refuse = (rule, got) => {
  throw new Refused(`config must ${rule}; got ${got}`);
};
const inner = (config) => (isMap(own(config, "text_config")) ? config.text_config : config);

const sizeOf = (config, key, most = RULES.widest, otherwise = null) => {
  const value = own(config, key) ?? otherwise;
  if (value === null) refuse(`state ${key}`, "no such key");
  if (typeof value !== "number") refuse(`have a number as ${key}`, "something else");
  if (!(Number.isInteger(value) && value >= 1 && value <= most))
    refuse(`have ${key} from 1 to ${most}, whole`, value);
  return value;
};

const typesOf = (config) => {
  const L = sizeOf(config, "num_hidden_layers", RULES.longest);
  const each = (of) => Array.from({ length: L }, (_, i) => of(i + 1));
  const [types, linear] = [own(config, "layer_types"), own(config, "linear_attn_config")];
  if (types !== null) {
    if (!Array.isArray(types) || types.length !== L)
      refuse("have a name in layer_types for each layer", "others");
    if (types.some((type) => !RULES.types.includes(type)))
      refuse(`have ${RULES.types.join(", ")} in layer_types`, "another");
    return types;
  }
  if (linear !== null) {
    const places = isMap(linear) ? own(linear, "kda_layers") : null;
    if (!Array.isArray(places)) refuse("list kda_layers in linear_attn_config", "no list");
    if (places.some((place) => typeof place !== "number"))
      refuse("have numbers in kda_layers", "something else");
    return each((i) => (places.includes(i) ? LINEAR : FULL));
  }
  if (own(config, "full_attention_interval") !== null) {
    const n = sizeOf(config, "full_attention_interval", RULES.longest);
    return each((i) => (i % n ? LINEAR : FULL));
  }
  const slides =
    own(config, "sliding_window") !== null && own(config, "use_sliding_window") !== false;
  if (!slides && own(config, "attention_chunk_size") === null) return each(() => FULL);
  if (own(config, "sliding_window_pattern") !== null) {
    const n = sizeOf(config, "sliding_window_pattern", RULES.longest);
    return each((i) => (i % n ? SLIDING : FULL));
  }
  if (RULES.all_sliding.includes(own(config, "model_type"))) return each(() => SLIDING);
  return refuse("say in layer_types which layers have a window", "no list");
};

const plainOf = (config, type, shared) => {
  const d = sizeOf(config, "hidden_size");
  const H = sizeOf(config, "num_attention_heads", 1024);
  let n = sizeOf(config, "num_key_value_heads", 1024, H);
  const plain = own(config, "head_dim") === null ? d / H : null;
  if (plain !== null && d % H) refuse("state head_dim where heads do not divide the width", "none");
  let wide = sizeOf(config, "head_dim", 1024, plain);
  const alike = type === FULL && own(config, "attention_k_eq_v");
  if (type === FULL) {
    // Gemma 4 reads it only where keys are values; others have no such key.
    if (alike !== false) n = sizeOf(config, "num_global_key_value_heads", 1024, n);
    wide = sizeOf(config, "global_head_dim", 1024, wide);
  }
  if (H % n) refuse("have key/value heads that divide the query heads", n);
  const queries = RULES.gated.includes(own(config, "model_type")) ? 3 : 2;
  const key = { [SLIDING]: "sliding_window", [CHUNKED]: "attention_chunk_size" }[type];
  const reach = key ? sizeOf(config, key, 2 ** 24) : null;
  const values = shared ? 0 : alike === true ? 1 : 2;
  return {
    kind: shared ? "shared" : reach === null ? "global" : "window",
    parameters: d * wide * (queries * H + values * n),
    width: 2 * n * wide,
    reach,
    state: 0,
    pair: 4 * H * wide,
  };
};

const latentOf = (config) => {
  const d = sizeOf(config, "hidden_size");
  const H = sizeOf(config, "num_attention_heads", 1024);
  const r = sizeOf(config, "kv_lora_rank");
  const rope = sizeOf(config, "qk_rope_head_dim", 1024);
  const plain = sizeOf(config, "qk_nope_head_dim", 1024);
  const v = sizeOf(config, "v_head_dim", 1024);
  let queries = d * H * (plain + rope);
  if (own(config, "q_lora_rank") !== null)
    queries = sizeOf(config, "q_lora_rank") * (d + H * (plain + rope));
  return {
    kind: "latent",
    parameters: queries + d * (r + rope) + r * H * (plain + v) + H * v * d,
    width: r + rope,
    reach: null,
    state: 0,
    pair: 2 * H * (r + rope + r),
  };
};

const stateOf = (config) => {
  const d = sizeOf(config, "hidden_size");
  const type = own(config, "model_type");
  const made = (parameters, state) => ({
    ...{ kind: "state", parameters, width: 0, reach: null, state, pair: 0 },
  });
  if (RULES.delta.includes(type)) {
    const [keys, values, d_k, d_v] = RULES.state_keys.map((key) => sizeOf(config, key, 1024));
    return made(d * (2 * keys * d_k + 3 * values * d_v + 2 * values), values * d_k * d_v);
  }
  if (!RULES.kimi.includes(type))
    refuse(
      `be of ${[...RULES.delta, ...RULES.kimi].join(", ")} where a layer has a state`,
      "another",
    );
  const given = own(config, "linear_attn_config");
  const [map, one, two] =
    given === null
      ? [config, "linear_num_heads", "linear_head_dim"]
      : [isMap(given) ? given : {}, "num_heads", "head_dim"];
  const [heads, wide] = [sizeOf(map, one, 1024), sizeOf(map, two, 1024)];
  return made(
    4 * d * heads * wide + d * heads + 2 * wide * (d + heads * wide),
    heads * wide * wide,
  );
};

const layersOf = (whole_) => {
  const config = inner(whole_);
  for (const key of RULES.refused)
    if (![null, false].includes(own(config, key)))
      refuse(`be without ${key}, which is not counted here`, "it");
  const types = typesOf(config);
  const last = [null, 0, false].includes(own(config, "num_kv_shared_layers"))
    ? 0
    : sizeOf(config, "num_kv_shared_layers", types.length - 1);
  const latent = own(config, "kv_lora_rank") !== null;
  return types.map((type, i) => {
    const shared = i >= types.length - last;
    if (shared && (type === LINEAR || latent))
      refuse("share keys and values of plain layers", "another layer");
    if (type === LINEAR) return stateOf(config);
    if (type === FULL && latent) return latentOf(config);
    return plainOf(config, type, shared);
  });
};

const IDLE = new RegExp(`^(?:${RULES.idle.join("|")})$`);
const unreadOf = (config) =>
  Object.keys(inner(config)).filter(
    (key) => !RULES.read.includes(key) && !RULES.refused.includes(key) && !IDLE.test(key),
  );

// The pasted configuration, or the reason why it cannot be read. JSON may nest
// objects to any depth.
const parsed = (text) => {
  let config;
  try {
    config = JSON.parse(text);
  } catch {
    return refuse("be JSON, as a config.json is", "another text");
  }
  return isMap(config) ? config : refuse("be a JSON object, in braces", "another value");
};
const configOf = ({ model, config }) => (model === PASTED ? parsed(config) : MODELS[model]);

// --- costs, as in helpers.cost ----------------------------------------------

const seen = ({ reach }, S) => (reach === null ? S : Math.min(S, reach));
const keptBy = (layer, { S, batch, bits }) =>
  layer.kind === "shared"
    ? 0
    : batch * ((bits / 8) * layer.width * seen(layer, S) + STATE_BYTES * layer.state);
const flopsOf = (layer, { S, batch }) =>
  batch * (2 * layer.parameters + layer.pair * seen(layer, S) + STATE_FLOPS * layer.state);
const movedBy = (layer, { S, batch, bits }) =>
  (bits / 8) * (layer.parameters + batch * layer.width * seen(layer, S)) +
  batch * 2 * STATE_BYTES * layer.state;

// Groups of equal layers, in the order of their first layer.
const groupsOf = (layers) => {
  const found = new Map();
  for (const layer of layers) {
    const key = JSON.stringify(layer);
    found.set(key, { layer, n: (found.get(key)?.n ?? 0) + 1 });
  }
  return [...found.values()];
};

// --- drawing -------------------------------------------------------------

const KINDS = ["global", "window", "latent", "state", "shared"];
// Bytes of one layer and of all, on one logarithmic axis that stays.
const PLOT = { width: 400, left: 56, right: 392, top: 22, foot: 150, row: 17 };
const LENGTHS = [1, 1e7];
const SIZES = [1e2, 1e17];
const NAMED = [
  [1e3, "1 kB"],
  [1e6, "1 MB"],
  [1e9, "1 GB"],
  [1e12, "1 TB"],
  [1e15, "1 PB"],
];
const part = (v, [low, high]) => Math.log(v / low) / Math.log(high / low);
const plotX = (S) => PLOT.left + part(S, LENGTHS) * (PLOT.right - PLOT.left);
const plotY = (n) => PLOT.foot - Math.min(Math.max(part(n, SIZES), 0), 1) * (PLOT.foot - PLOT.top);
const at = (x) => +x.toFixed(2);
const inGib = (n) => `${grouped(+(n / GIB).toPrecision(4))} GiB`;
const size = (n) =>
  n >= GIB
    ? inGib(n)
    : n >= 2 ** 20
      ? `${grouped(+(n / 2 ** 20).toPrecision(4))} MiB`
      : `${grouped(+(n / 2 ** 10).toPrecision(4))} KiB`;

const sizes = () =>
  NAMED.map(
    ([n, name]) =>
      `<path class="av-rule" d="M${PLOT.left} ${at(plotY(n))}H${PLOT.right}"/>` +
      `<text x="${PLOT.left - 6}" y="${at(plotY(n) + 4)}" text-anchor="end">${name}</text>`,
  ).join("");

// The bytes of each layer, and below a mark in the row of its kind. On this axis
// lengths say nothing, so the end of a bar is what stands out.
const bars = (layers, kept) => {
  const { width, left, right, foot, row } = PLOT;
  const step = (right - left) / layers.length;
  const thick = at(Math.max(step * 0.8, 0.8));
  const most = Math.max(...kept);
  const there = KINDS.filter((kind) => layers.some((layer) => layer.kind === kind));
  const drawn = layers.map(({ kind }, i) => {
    const x = at(left + step * i + (step - thick) / 2);
    const y = foot + 10 + row * there.indexOf(kind);
    const end = at(plotY(kept[i]));
    return (
      (kept[i]
        ? `<path class="av-kind-${kind}" d="M${x} ${end}h${thick}V${foot}h${-thick}z"/>` +
          `<rect class="av-kind-${kind}" x="${x}" y="${at(end - 2)}" width="${thick}" height="4"/>`
        : "") + `<path class="av-kind-mark" d="M${x} ${at(y)}h${thick}v8h${-thick}z"/>`
    );
  });
  const names = there.map(
    (kind, k) =>
      `<text x="${left - 6}" y="${foot + 18 + row * k}" text-anchor="end">${kind}</text>`,
  );
  const label =
    `Bytes that each of ${count(layers.length, "layer")} keeps, in order; the most is ` +
    `${inBytes(most)}. ${there
      .map((kind) => `${kind}: ${layers.filter((layer) => layer.kind === kind).length}`)
      .join(", ")}`;
  return (
    `<svg class="av-card-bars" role="img" aria-label="${label}" viewBox="0 0 ${width} ` +
    `${foot + 16 + row * there.length}">` +
    `<text x="${left}" y="13">each layer, at most ${inBytes(most)}</text>` +
    `${sizes()}${drawn.join("")}${names.join("")}</svg>`
  );
};

// Decimal units, as memories are sold: 4.84 GB, 40 MB.
const inBytes = (n) =>
  inUnits(n).replace(/ ?([A-Z]?)$/, (_, unit) => ` ${unit.replace("K", "k")}B`);
const ROOM = { width: 400, left: 6, across: 388, high: 22, beyond: 1.25 };
// Weights and cache beside the memory of the machine. The edge of the memory
// stays, and what ends more than a quarter beyond it is cut.
const memory = (state, { cache, room }) => {
  const { width, left, across, high, beyond } = ROOM;
  const [, , has] = MACHINES[state.machine];
  const weights = state.weights * 1e9;
  const along = (n) => across * Math.min(n / (beyond * has), 1);
  const [a, b, edge] = [along(weights), along(weights + cache), left + along(has)];
  const given = weights ? inBytes(weights) : "not counted";
  const label =
    `Weights ${given} and cache ${inBytes(cache)}, in a memory of ${whole(has / 1e9)} GB; ` +
    `room for ${whole(room)}`;
  const cut =
    weights + cache > beyond * has
      ? `<path class="av-card-cut" d="M${left + across - 14} 16l6 6l-8 6l10 8l-8 8l4 6"/>`
      : "";
  return (
    `<svg class="av-card-room" role="img" aria-label="${label}" viewBox="0 0 ${width} 70">` +
    `<text x="${left}" y="14">weights ${given}, cache ${inBytes(cache)}</text>` +
    `<rect class="av-card-weights" x="${left}" y="22" width="${at(a)}" height="${high}"/>` +
    `<rect class="av-card-cache" x="${at(left + a)}" y="22" width="${at(b - a)}" height="${high}"/>` +
    `<path class="av-card-limit" d="M${at(edge)} 16V50"/>${cut}` +
    `<text x="${at(edge)}" y="64" text-anchor="middle">memory ${whole(has / 1e9)} GB</text></svg>`
  );
};

// What the cache takes for every length.
const lengthAt = (x) =>
  LENGTHS[0] * (LENGTHS[1] / LENGTHS[0]) ** ((x - PLOT.left) / (PLOT.right - PLOT.left));
const cacheOf = (layers, state) => sum(layers.map((layer) => keptBy(layer, state)));
const plot = (layers, state, { cache }) => {
  const { width, left, right, foot } = PLOT;
  const [, , has] = MACHINES[state.machine];
  const free = has - state.weights * 1e9;
  const places = Array.from({ length: 57 }, (_, k) => Math.round(10 ** (k / 8)));
  const line = places.map((S) => `${at(plotX(S))} ${at(plotY(cacheOf(layers, { ...state, S })))}`);
  const [x, y] = [at(plotX(state.S)), at(plotY(cache))];
  const label = `Bytes of the cache over the positions; at ${whole(state.S)} they are ${size(cache)}`;
  return (
    `<svg class="av-card-plot" role="img" aria-label="${label}" viewBox="0 0 ${width} ${foot + 36}">` +
    `<text x="${left}" y="13">cache, by the positions of a sequence</text>` +
    sizes() +
    [1, 100, 1e4, 1e6]
      .map(
        (S) => `<text x="${at(plotX(S))}" y="${foot + 18}" text-anchor="middle">${whole(S)}</text>`,
      )
      .join("") +
    (free > 0
      ? `<path class="av-card-free" d="M${left} ${at(plotY(free))}H${right}"/>` +
        `<text x="${left + 6}" y="${at(plotY(free) - 5)}">left of the memory</text>`
      : "") +
    `<path class="av-card-line" d="M${line.join("L")}"/>` +
    `<path class="av-card-here" d="M${x} ${y}V${foot}"/>` +
    grip("positions", [x, y], '<circle class="av-card-knob" r="7"/>') +
    "</svg>"
  );
};

// --- in words ------------------------------------------------------------

const table = (name, about, heads, rows) =>
  `<table class="av-grid av-card-${name}"><caption>${about}</caption><thead><tr><td></td>` +
  `${heads.map((text) => `<th scope="col">${text}</th>`).join("")}</tr></thead><tbody>` +
  rows
    .map(
      ([first, ...cells]) =>
        `<tr><th scope="row">${first}</th>${cells.map((text) => `<td>${text}</td>`).join("")}</tr>`,
    )
    .join("") +
  "</tbody></table>";

const places = (layer, S) =>
  layer.reach === null ? count(S, "position") : `min(${whole(S)}, ${whole(layer.reach)}) positions`;
const keeping = ({ layer, n }, { S, batch, bits }) => {
  const each = `${count(n, "layer")} × ${whole(batch)} ×`;
  if (layer.kind === "shared") return `${each} 0`;
  if (layer.kind === "state") return `${each} ${whole(layer.state)} numbers × ${STATE_BYTES} bytes`;
  return `${each} ${whole(layer.width)} numbers × ${places(layer, S)} × ${count(bits / 8, "byte")}`;
};
const working = ({ layer, n }, { S, batch }) => {
  const rest =
    layer.kind === "state"
      ? `${STATE_FLOPS} × ${whole(layer.state)}`
      : `${whole(layer.pair)} × ${places(layer, S)}`;
  return `${count(n, "layer")} × ${whole(batch)} × (2 × ${whole(layer.parameters)} + ${rest})`;
};
const moving = ({ layer, n }, { S, batch, bits }) => {
  const each = count(bits / 8, "byte");
  const rest =
    layer.kind === "state"
      ? `${whole(batch)} × 2 × ${STATE_BYTES} × ${whole(layer.state)}`
      : `${whole(batch)} × ${each} × ${whole(layer.width)} × ${places(layer, S)}`;
  return `${count(n, "layer")} × (${each} × ${whole(layer.parameters)} + ${rest})`;
};

const formulas = (state, { groups, cache, flops, moved }) => {
  const rows = (of, each, total) => [
    ...groups.map((group) => [group.layer.kind, of(group, state), whole(group.n * each(group))]),
    ["all", "sum", whole(total)],
  ];
  const heads = ["with the numbers put in", "result"];
  return (
    table(
      "kept",
      "Bytes kept: layers × sequences × numbers × positions × bytes",
      heads,
      rows(keeping, ({ layer }) => keptBy(layer, state), cache),
    ) +
    table(
      "work",
      "FLOPs of a step: layers × sequences × (2 × parameters + FLOPs per position × positions)",
      heads,
      rows(working, ({ layer }) => flopsOf(layer, state), flops),
    ) +
    table(
      "moved",
      "Bytes moved in a step: layers × (parameters, once, + what each sequence keeps)",
      heads,
      rows(moving, ({ layer }) => movedBy(layer, state), moved),
    )
  );
};

const lasts = (s) =>
  s < 1e-3 ? `${tick(s * 1e6)} µs` : s < 1 ? `${tick(s * 1e3)} ms` : `${tick(s)} s`;
const sentence = (state, values, unread) => {
  const { cache, room, intensity, balance, seconds } = values;
  const name = state.model === PASTED ? "This configuration" : state.model;
  const bound =
    intensity < balance
      ? "less, so memory limits the step"
      : "at least as much, so arithmetic limits the step";
  const rest = unread.length
    ? ` Keys that were not read: ${unread.slice(0, 6).join(", ")}${
        unread.length > 6 ? `, and ${whole(unread.length - 6)} more` : ""
      }. If they bear on attention, the counts do not hold.`
    : "";
  return (
    `${name}: ${count(state.batch, "sequence")} of ${count(state.S, "position")} in ` +
    `${whole(state.bits)} bits keep${state.batch === 1 ? "s" : ""} ${size(cache)} (${inBytes(cache)}). ` +
    `${state.weights ? "Beside" : "Without"} the weights, the ${state.machine} has room for ${count(room, "such sequence")}. A step of ` +
    `attention does ${tick(intensity)} FLOPs per byte; the machine's balance is ` +
    `${tick(balance)}. It does ${bound}, which takes at least ${lasts(seconds)}.${rest}`
  );
};

const figure = {
  name: "card",
  card: { part: ".av-card-bars", box: "50 14 350 176", state: { model: "gpt-oss-20b" } },
  controls: [
    {
      key: "model",
      kind: "choice",
      label: "model",
      first: "gpt-oss-120b",
      about: "The model, or whether `config` is read",
      options: [...Object.keys(MODELS), PASTED],
    },
    {
      key: "config",
      kind: "text",
      label: "config.json",
      first:
        '{"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, ' +
        '"num_attention_heads": 32, "num_key_value_heads": 8}',
      about: "A configuration in JSON",
      min: 0,
      max: 6000,
      when: ({ model }) => model === PASTED,
    },
    {
      key: "S",
      kind: "number",
      label: "positions S",
      first: 131072,
      about: "Positions of a sequence",
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
      max: 1024,
      step: 1,
    },
    {
      key: "bits",
      kind: "stops",
      label: "bits of a number",
      first: 16,
      about: "Bits of a number of the cache and of the matrices",
      stops: [8, 16, 32],
    },
    {
      key: "machine",
      kind: "choice",
      label: "machine",
      first: "H100",
      about: "The machine",
      options: Object.keys(MACHINES),
    },
    {
      key: "weights",
      kind: "number",
      label: "GB taken by weights",
      first: 0,
      about: "Gigabytes that the weights of the whole model take",
      min: 0,
      max: 1000,
      step: 0.5,
    },
  ],
  check: (state) => {
    try {
      layersOf(configOf(state));
      return "";
    } catch (error) {
      if (error instanceof Refused) return error.message;
      throw error;
    }
  },
  compute: (state) => {
    const layers = layersOf(configOf(state));
    const [peak, bandwidth, has] = MACHINES[state.machine];
    const kept = layers.map((layer) => keptBy(layer, state));
    const [cache, flops, moved] = [
      sum(kept),
      sum(layers.map((layer) => flopsOf(layer, state))),
      sum(layers.map((layer) => movedBy(layer, state))),
    ];
    const free = Math.max(has - state.weights * 1e9, 0);
    return {
      kept,
      cache,
      parameters: sum(layers.map(({ parameters }) => parameters)),
      flops,
      moved,
      intensity: flops / moved,
      balance: peak / bandwidth,
      seconds: Math.max(flops / peak, moved / bandwidth),
      room: Math.floor((free * state.batch) / cache),
    };
  },
  view: (state, values) => {
    const config = configOf(state);
    const layers = layersOf(config);
    const groups = groupsOf(layers);
    return (
      bars(layers, values.kept) +
      memory(state, values) +
      plot(layers, state, values) +
      say(sentence(state, values, unreadOf(config))) +
      formulas(state, { ...values, groups })
    );
  },
  handles: (state, { cache }) => [
    {
      id: "positions",
      name: "positions of a sequence",
      keys: ["S"],
      value: `${count(state.S, "position")}, ${size(cache)}`,
      at: [plotX(state.S), plotY(cache)],
      read: ([x]) => ({ S: lengthAt(x) }),
    },
  ],
};

export default figureModule(figure);
