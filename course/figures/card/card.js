// A model card: what attention stores and moves, from a model's configuration.

import { count, grouped, range, sum, tick, whole } from "../kit/numbers.js";
import { folded } from "../kit/tables.js";
import { figureModule, known, say } from "../kit/common.js";
import { grip } from "../kit/handles.js";
import {
  bandsIn,
  inBytes,
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
import { briefOf, filledIn, isMap, layersOf, refuse, Refused, unreadOf } from "./layers.js";

const { models: MODELS } = known("card");
const PASTED = "pasted configuration";
// FLOPs and bytes per second, and bytes of memory, as advertised.
const MACHINES = {
  A100: [312e12, 2e12, 80e9],
  "TPU v5e": [197e12, 820e9, 16e9],
  H100: [989e12, 3.35e12, 80e9],
};
// In sight; the others are in the menu.
const SHOWN = [
  ...["Llama 3.1 8B", "gpt-oss-120b", "Gemma 3 27B", "DeepSeek-V3", "Qwen3-Next 80B-A3B"],
  PASTED,
];
const LONGEST = 1e7;
const STATE_BYTES = 4;
const GIB = 2 ** 30;

// The pasted configuration, or the reason why it cannot be read. JSON may nest
// objects to any depth.
const parsed = (text) => {
  let config;
  try {
    // Python writes numbers that JSON does not have.
    config = JSON.parse(text.replace(/([[:,]\s*)-?(?:Infinity|NaN)\b/g, "$1null"));
  } catch {
    return refuse("be JSON, as a config.json is", "another text");
  }
  return isMap(config) ? config : refuse("be a JSON object, in braces", "another value");
};
const configOf = ({ model, config }) => (model === PASTED ? parsed(config) : MODELS[model]);

// --- costs, as in helpers.cost ----------------------------------------------

const seen = ({ reach }, S) => (reach === null ? S : Math.min(S, reach));
const readBy = (layer, S) => Math.min(seen(layer, S), layer.chosen ?? S);
const widthOf = ({ width, index }) => width + index;
const keptBy = (layer, { S, batch, bits }) =>
  layer.kind === "shared"
    ? 0
    : batch * ((bits / 8) * widthOf(layer) * seen(layer, S) + STATE_BYTES * layer.state);
const flopsOf = (layer, { S, batch }) =>
  batch *
  (2 * layer.parameters +
    layer.pair * readBy(layer, S) +
    layer.index_pair * seen(layer, S) +
    layer.update * layer.state);
const movedBy = (layer, { S, batch, bits }) =>
  (bits / 8) *
    (layer.parameters + batch * (layer.width * readBy(layer, S) + layer.index * seen(layer, S))) +
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

const KINDS = ["global", "window", "latent", "state", "shared", "other"];
// Bytes of one layer and of all, on one logarithmic axis that stays.
const PLOT = { width: 360, left: 56, right: 352, top: 22, foot: 150, row: 17 };
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

// Layers of one kind lie on each other in the tank. What a kind keeps is a product,
// where its layers are equal.
const kindsOf = (layers, kept) =>
  KINDS.map((kind) => {
    const mine = range(layers.length).filter((i) => layers[i].kind === kind);
    return { kind, layers: mine.map((i) => layers[i]), bytes: sum(mine.map((i) => kept[i])) };
  }).filter((it) => it.layers.length);
const productOf = ({ kind, layers, bytes, low }, { S, batch, bits }, tank) => {
  const n = layers.length;
  const [{ layer }, ...others] = groupsOf(layers);
  if (others.length) return [`${n} layers of ${others.length + 1} sizes`];
  const bands = bandsIn(tank, low, bytes, batch) > 1 ? " in bands" : "";
  const sequences = batch > 1 ? [count(batch, "sequence") + bands] : [];
  const numbers = (x) => count(x, "number");
  const factors = {
    shared: [numbers(0)],
    other: [numbers(0)],
    state: [numbers(layer.state), `${STATE_BYTES} bytes`, ...sequences],
  }[kind] ?? [
    ...[numbers(widthOf(layer)), count(seen(layer, S), "position"), count(bits / 8, "byte")],
    ...sequences,
  ];
  const lines = [];
  for (const factor of [count(n, "layer"), ...factors]) {
    const longer = `${lines.at(-1)} × ${factor}`;
    if (lines.length && longer.length <= 28) lines.splice(-1, 1, longer);
    else lines.push(lines.length ? `× ${factor}` : factor);
  }
  return lines;
};
const FEW = 2;
const drawn = (layers, state, { kept, cache, room }, narrow) => {
  const { machine, weights } = state;
  const [, , has] = MACHINES[machine];
  const tank = tankOf(has, narrow);
  const held = weights * 1e9;
  const over = held + cache - has;
  const kinds = kindsOf(layers, kept);
  const few = kinds.filter(({ bytes }) => bytes).length <= FEW;
  const below = (i) => held + sum(kinds.slice(0, i).map(({ bytes }) => bytes));
  return tankDrawing(tank, {
    label:
      `Weights ${weights ? inBytes(held) : "not counted"} and cache ${inBytes(cache)}, in a ` +
      `memory of ${whole(has / 1e9)} GB`,
    contents: [
      {
        kind: "weights",
        bytes: held,
        lines: [weights ? `weights ${inBytes(held)}` : "weights not counted"],
      },
      ...kinds.map((it, i) => ({
        kind: `kind-${it.kind}`,
        bytes: it.bytes,
        bands: state.batch,
        lines: [
          `${it.kind} ${inBytes(it.bytes)}`,
          ...(few ? productOf({ ...it, low: below(i) }, state, tank) : []),
        ],
      })),
    ],
    rim: [
      `${machine}: ${whole(has / 1e9)} GB`,
      `room for ${count(room, "sequence")} in all`,
      ...(over > 0 ? [`${inBytes(over)} too much`] : []),
    ],
    more:
      grip("positions", surfaceOf(tank, held + cache), surfaceKnob(tank)) +
      grip("weights", wallOf(tank, held), wallKnob),
  });
};
// The kinds of the layers, in their order.
const strip = (layers, narrow) => {
  const [width, left, right] = narrow ? [360, 16, 344] : [640, 30, 620];
  const step = (right - left) / layers.length;
  const cells = layers.map(
    ({ kind }, i) =>
      `<rect class="av-kind-${kind}" x="${at(left + step * i)}" y="22" ` +
      `width="${at(step * 0.85)}" height="12"/>`,
  );
  const words = `${count(layers.length, "layer")}, from the first to the last`;
  const label = `${words}: ${KINDS.map((kind) => [
    kind,
    layers.filter((layer) => layer.kind === kind).length,
  ])
    .filter(([, n]) => n)
    .map(([kind, n]) => `${n} ${kind}`)
    .join(", ")}`;
  return (
    `<svg class="av-card-layers" role="img" aria-label="${label}" viewBox="0 0 ${width} 38">` +
    `<text x="${left}" y="14">${words}</text>${cells.join("")}</svg>`
  );
};
// What all layers keep is no product, but the sum of one for each kind.
const summed = (layers, { S, batch, bits }, { kept, cache }) => {
  const parts = kindsOf(layers, kept).filter(({ bytes }) => bytes);
  const terms = parts.map(({ kind, bytes }) => `${kind} ${whole(bytes)}`).join(" + ");
  const sums = parts.length > 1 ? terms : `all in ${parts[0].kind} layers`;
  return (
    '<div class="av-factors" role="group" aria-label="the numbers">' +
    sign("drag ↔") +
    scrub("S", "new", whole(S), S === 1 ? "position" : "positions") +
    scrub("bits", "", bits / 8, bits === 8 ? "byte each" : "bytes each") +
    scrub("batch", "new", whole(batch), batch === 1 ? "sequence" : "sequences") +
    `<span class="av-result-of"><small>${sums}</small>= ${whole(cache)} bytes</span></div>`
  );
};

// What the cache takes for every length.
const cacheOf = (layers, state) => sum(layers.map((layer) => keptBy(layer, state)));
// The shortest sequence whose cache takes so many bytes.
const lengthOf = (layers, state, wished) => {
  let [low, high] = [1, LONGEST];
  while (low < high) {
    const S = Math.floor((low + high) / 2);
    if (cacheOf(layers, { ...state, S }) < wished) low = S + 1;
    else high = S;
  }
  return low;
};
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
    `<circle class="av-card-knob" cx="${x}" cy="${y}" r="6"/>` +
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
const chosen = (layer, S) =>
  layer.chosen === null ? places(layer, S) : `min(${whole(S)}, ${whole(layer.chosen)}) positions`;
const keeping = ({ layer, n }, { S, batch, bits }) => {
  const each = `${count(n, "layer")} × ${whole(batch)} ×`;
  if (layer.kind === "shared") return `${each} 0`;
  if (layer.kind === "state") return `${each} ${whole(layer.state)} numbers × ${STATE_BYTES} bytes`;
  return `${each} ${whole(widthOf(layer))} numbers × ${places(layer, S)} × ${count(bits / 8, "byte")}`;
};
const working = ({ layer, n }, { S, batch }) => {
  const rest =
    layer.kind === "state"
      ? `${layer.update} × ${whole(layer.state)}`
      : `${whole(layer.pair)} × ${chosen(layer, S)}` +
        (layer.index ? ` + ${whole(layer.index_pair)} × ${places(layer, S)}` : "");
  return `${count(n, "layer")} × ${whole(batch)} × (2 × ${whole(layer.parameters)} + ${rest})`;
};
const moving = ({ layer, n }, { S, batch, bits }) => {
  const each = count(bits / 8, "byte");
  const rest =
    layer.kind === "state"
      ? `${whole(batch)} × 2 × ${STATE_BYTES} × ${whole(layer.state)}`
      : `${whole(batch)} × ${each} × ${whole(layer.width)} × ${chosen(layer, S)}` +
        (layer.index
          ? ` + ${whole(batch)} × ${each} × ${whole(layer.index)} × ${places(layer, S)}`
          : "");
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
const listing = (names) =>
  `${names.slice(0, 6).join(", ")}${names.length > 6 ? `, and ${whole(names.length - 6)} more` : ""}`;
// What the counts rest on besides the keys of the file.
const conditions = (config, layers) => {
  const [filled, unread] = [filledIn(config), unreadOf(config)];
  const others = layers.filter(({ kind }) => kind === "other").length;
  return [
    filled.length ? ` Not stated, and filled in: ${listing(filled)}.` : "",
    others
      ? ` ${count(others, "layer")} without keys of the text ${others === 1 ? "is" : "are"} ` +
        "not counted, nor any fixed state that they keep."
      : "",
    unread.length
      ? ` Keys that were not read: ${listing(unread)}. If they bear on attention, the counts do not hold.`
      : "",
  ].join("");
};
const sentence = (state, values, layers, rest) => {
  const name = state.model === PASTED ? "This configuration (in the settings)" : state.model;
  const next = cacheOf(layers, { ...state, S: state.S + 1 }) - values.cache;
  const bound = values.intensity < values.balance ? "memory" : "arithmetic";
  return (
    `${name}: one more position adds ${count(next / state.batch, "byte")}` +
    `${state.batch > 1 ? " to each sequence" : ""}. A step of decoding waits for ${bound}.${rest}`
  );
};
const step = (state, values) => {
  const line = (name, text) => [name, text];
  return table(
    "step",
    "The cache, and one step of decoding",
    ["value"],
    [
      line("cache", `${whole(values.cache)} bytes, ${size(values.cache)}`),
      line(
        `sequences that fit ${state.weights ? "beside" : "without"} the weights`,
        whole(values.room),
      ),
      line("FLOPs of a step", whole(values.flops)),
      line("bytes moved in a step", whole(values.moved)),
      line("FLOPs per byte", tick(values.intensity)),
      line(`balance of the ${state.machine}, in FLOPs per byte`, tick(values.balance)),
      line("the step takes at least", lasts(values.seconds)),
    ],
  );
};

const figure = {
  name: "card",
  card: { part: ".av-tank", box: "14 70 392 334", state: { batch: 9, weights: 16 } },
  lead: [],
  // A text that grows and shrinks to that of the page.
  opening: { from: [{ S: 128 }, { S: 300000 }], ms: 4800 },
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
      max: 65536,
      brief: (text) => briefOf(parsed(text)),
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
  refused: (wrong) => say(`This configuration was refused, and nothing is counted: ${wrong}.`),
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
  view: (state, values, own, narrow) => {
    const config = configOf(state);
    const layers = layersOf(config);
    const groups = groupsOf(layers);
    return (
      picks(SHOWN) +
      drawn(layers, state, values, narrow) +
      strip(layers, narrow) +
      summed(layers, state, values) +
      say(sentence(state, values, layers, conditions(config, layers))) +
      folded(
        "Layer by layer, by length, and one step",
        step(state, values) +
          bars(layers, values.kept) +
          plot(layers, state, values) +
          formulas(state, { ...values, groups }),
      )
    );
  },
  handles: (state, { cache }, own, narrow) => {
    const { S, batch, bits, weights } = state;
    const [, , has] = MACHINES[state.machine];
    const tank = tankOf(has, narrow);
    const held = weights * 1e9;
    const surface = surfaceOf(tank, held + cache);
    return [
      ...pickHandles(SHOWN, SHOWN.indexOf(state.model), (model) => ({ model })),
      {
        id: "weights",
        name: "top of the weights",
        keys: ["weights"],
        at: wallOf(tank, held),
        // At the end of the scale, what is more keeps its size.
        read: ([, y]) => ({
          weights: Math.max(tank.bytesAt(y) / 1e9, y > tank.top ? 0 : weights),
        }),
      },
      {
        id: "positions",
        name: "surface of the cache, by its positions",
        keys: ["S"],
        value: `${count(S, "position")}, ${inBytes(cache)}`,
        at: surface,
        read: ([, y]) => {
          if (Math.abs(y - surface[1]) < 0.01) return { S };
          const wished = lengthOf(layersOf(configOf(state)), state, tank.bytesAt(y) - held);
          return { S: y > tank.top ? wished : Math.max(wished, S) };
        },
        stride: strideOf(S),
      },
      scrubHandle("S", "positions", S, narrow),
      scrubHandle("bits", "bits of a number", bits, narrow, { stride: 1 }),
      scrubHandle("batch", "sequences", batch, narrow),
    ];
  },
};

export default figureModule(figure);
