// The roofline of a machine, and where the operations of one layer are under it.

import { count, fixed, inUnits, range, tick, whole } from "../kit/numbers.js";
import { escape } from "../kit/svg.js";
import { folded } from "../kit/tables.js";
import { figureModule, say } from "../kit/common.js";
import { grip } from "../kit/handles.js";

// Peak FLOPs and bytes per second, in 16 bits, as published.
const DEVICES = { A100: [312e12, 2e12], "TPU v5e": [197e12, 820e9], H100: [989e12, 3.35e12] };
const HEAD = 128; // columns of a head
const BYTES = 2; // of a number
const NAMES = {
  prefill: "prefill, attention",
  stored: "prefill, scores stored",
  read: "prefill, projections",
  decode: "decode, attention",
  write: "decode, projections",
};

// The numbers of query heads and of the key/value heads that they share.
const headsOf = ({ heads, shared }) => [heads, heads / Math.min(shared, heads)];

// FLOPs and bytes of attention for T queries and S keys: either the two matrix
// products alone, with the scores never stored; or all four stages, where each
// stage reads its inputs and writes its result.
const attended = (state, T, S, stored) => {
  const [H, H_kv] = headsOf(state);
  const square = H * T * S;
  const tall = 2 * H * T * HEAD + 2 * H_kv * S * HEAD; // Q and output, K and V
  return {
    flops: state.batch * square * (4 * HEAD + (stored ? 6 : 0)),
    bytes: BYTES * state.batch * (tall + (stored ? 6 * square : 0)),
  };
};

// FLOPs and bytes of the four projections of some rows.
const projected = (state, rows) => {
  const [H, H_kv] = headsOf(state);
  const width = H * HEAD;
  const matrices = [H, H_kv, H_kv, H].map((n) => [width, n * HEAD]);
  const sum = (of) => matrices.reduce((total, [m, n]) => total + of(m, n), 0);
  return {
    flops: sum((m, n) => 2 * rows * m * n),
    bytes: BYTES * sum((m, n) => rows * (m + n) + m * n),
  };
};

const bounded = ({ flops, bytes }, [peak, bandwidth]) => {
  const intensity = flops / bytes;
  return { flops, bytes, intensity, speed: Math.min(peak, intensity * bandwidth) };
};

// All operations of a layer, under the roofline of its machine.
const worksOf = (state) => {
  const { T, batch } = state;
  const work = {
    prefill: attended(state, T, T),
    stored: attended(state, T, T, true),
    read: projected(state, batch * T),
    decode: attended(state, 1, T),
    write: projected(state, batch),
  };
  return Object.fromEntries(
    Object.entries(work).map(([key, counts]) => [key, bounded(counts, DEVICES[state.device])]),
  );
};

// --- drawing -------------------------------------------------------------

const BOX = { width: 380, height: 278, left: 44, right: 28, top: 32, bottom: 42 };
const X = [0.25, 65536];
const Y = [1e10, 2e15]; // so low that there is room for the names
const FLOOR = BOX.height - BOX.bottom;
const along = (v, [low, high]) => Math.log(v / low) / Math.log(high / low);
const px = (x) => BOX.left + along(x, X) * (BOX.width - BOX.left - BOX.right);
const py = (y) => FLOOR - along(y, Y) * (FLOOR - BOX.top);
const at = (x) => +x.toFixed(1);
const LETTER = 6.2; // the most that a letter takes on average
const ROW = 16;

const words = (text, x, y, anchor, kind = "") =>
  `<text${kind && ` class="${kind}"`} x="${at(x)}" y="${at(y)}" text-anchor="${anchor}">` +
  `${escape(text)}</text>`;

// Ticks at powers of ten, and a line for each of the two speeds.
const axes = () => {
  const tens = (from, to) => range(to - from + 1).map((k) => 10 ** (from + k));
  const across = tens(0, 4).map((x) => words(whole(x), px(x), FLOOR + 16, "middle"));
  const up = tens(10, 15).map(
    (y) =>
      `<path class="av-rule" d="M${BOX.left} ${at(py(y))}H${BOX.width - BOX.right}"/>` +
      words(tick(y / 1e12), BOX.left - 6, py(y) + 4, "end"),
  );
  return (
    `${across.join("")}${up.join("")}` +
    words("FLOPs per byte", (BOX.left + BOX.width - BOX.right) / 2, BOX.height - 6, "middle") +
    words("TFLOP/s at most", 2, 12, "start")
  );
};

const roof = ([peak, bandwidth]) => {
  const [corner, flat, end] = [px(peak / bandwidth), py(peak), BOX.width - BOX.right];
  const start = py(X[0] * bandwidth);
  return (
    `<path class="av-under" d="M${BOX.left} ${at(start)}L${at(corner)} ${at(flat)}V${FLOOR}` +
    `H${BOX.left}z"/>` +
    `<path class="av-balance" d="M${at(corner)} ${at(flat)}V${FLOOR}"/>` +
    `<path class="av-top" d="M${BOX.left} ${at(start)}L${at(corner)} ${at(flat)}H${end}"/>` +
    words("memory-bound", corner - 8, BOX.top - 4, "end") +
    words("compute-bound", corner + 8, BOX.top - 4, "start")
  );
};

// A line leads from each point down and aside to its name. Names further left are
// lower, so that no line crosses a name on its right.
const points = (found) => {
  const order = Object.keys(NAMES).sort((a, b) => found[a].intensity - found[b].intensity);
  return order
    .map((key, k) => {
      const [x, y] = [px(found[key].intensity), py(found[key].speed)];
      const row = FLOOR - 6 - ROW * k;
      const late = x + 9 + LETTER * NAMES[key].length > BOX.width;
      const aside = late ? -6 : 6;
      const mark = ["decode", "write"].includes(key)
        ? `<path class="av-decode" d="M${at(x)} ${at(y - 6)}L${at(x + 6)} ${at(y)}` +
          `L${at(x)} ${at(y + 6)}L${at(x - 6)} ${at(y)}z"/>`
        : `<circle class="av-prefill" cx="${at(x)}" cy="${at(y)}" r="4.5"/>`;
      return (
        `<path class="av-hang" d="M${at(x)} ${at(y)}V${row - 4}h${aside}"/>${mark}` +
        words(NAMES[key], x + 1.5 * aside, row, late ? "end" : "start", "av-named")
      );
    })
    .join("");
};

// Two of the points can be dragged: a longer text moves one along the roofline,
// and a larger batch moves the other. A trail shows the positions of their
// values.
const DRAGGED = {
  prefill: { key: "T", name: "tokens of the prompt", values: range(16).map((k) => 2 ** k) },
  write: { key: "batch", name: "sequences in the batch", values: range(9).map((k) => 2 ** k) },
};
const placeOf = (state, work) => {
  const { intensity, speed } = worksOf(state)[work];
  return [px(intensity), py(speed)];
};
const placesOf = (state, work) =>
  DRAGGED[work].values.map((value) => ({
    value,
    at: placeOf({ ...state, [DRAGGED[work].key]: value }, work),
  }));
const trails = (state) =>
  Object.keys(DRAGGED)
    .map((work) => {
      const places = placesOf(state, work).map(({ at: [x, y] }) => `${at(x)} ${at(y)}`);
      const dots = places.map((place) => `M${place}h0`);
      return `<path class="av-trail" d="M${places.join("L")}"/><path class="av-every av-every-${work}" d="${dots.join("")}"/>`;
    })
    .join("");
const grips = (state) =>
  Object.keys(DRAGGED)
    .map((work) => {
      const [x, y] = placeOf(state, work);
      return grip(work, [at(x), at(y)], '<circle class="av-roof-knob" r="9"/>');
    })
    .join("");

// --- in words ------------------------------------------------------------

const lasts = (s) =>
  s < 1e-3 ? `${tick(s * 1e6)} µs` : s < 1 ? `${tick(s * 1e3)} ms` : `${tick(s)} s`;
const ratio = (x) => (x < 999.5 ? tick(x) : whole(Math.round(x)));
const sentence = (state, { balance, prompt, token }) =>
  `The ${state.device} needs ${fixed(balance, 0)} FLOPs per byte. One layer takes at least ` +
  `${lasts(prompt)} to read ${whole(state.batch)} × ${count(state.T, "token")}, and ` +
  `${lasts(token)} to write the next.`;

const table = (state, found) => {
  const [H, H_kv] = headsOf(state);
  const rows = Object.entries(NAMES).map(([key, name]) => {
    const { flops, bytes, intensity, speed } = found[key];
    const cells = [inUnits(flops), inUnits(bytes), ratio(intensity), tick(speed / 1e12)];
    return (
      `<tr><th scope="row">${name}</th>` +
      `${cells.map((text) => `<td>${text}</td>`).join("")}</tr>`
    );
  });
  const head = ["FLOPs", "bytes", "FLOPs per byte", "TFLOP/s at most"];
  return (
    `<table class="av-grid av-works"><caption>Attention and projections of one layer, ` +
    `${count(H, "head")} on ${count(H_kv, "key/value head")}, in 16 bits</caption>` +
    `<thead><tr><td></td>${head.map((text) => `<th scope="col">${text}</th>`).join("")}</tr>` +
    `</thead><tbody>${rows.join("")}</tbody></table>`
  );
};

const figure = {
  name: "roof",
  card: { part: ".av-roof", box: "40 42 316 198" },
  controls: [
    {
      key: "device",
      kind: "choice",
      label: "device",
      first: "A100",
      about: "The machine",
      options: Object.keys(DEVICES),
    },
    {
      key: "T",
      kind: "power",
      label: "tokens T",
      first: 2048,
      about: "Tokens of a sequence",
      min: 1,
      max: 32768,
    },
    {
      key: "batch",
      kind: "power",
      label: "sequences in the batch",
      first: 1,
      about: "Sequences",
      min: 1,
      max: 256,
    },
    {
      key: "heads",
      kind: "power",
      label: "query heads",
      first: 32,
      about: "Query heads",
      min: 1,
      max: 64,
    },
    {
      key: "shared",
      kind: "power",
      label: "heads that share keys",
      first: 4,
      about: "Query heads that share one key/value head; more than `heads` count as all",
      min: 1,
      max: 64,
      upTo: ({ heads }) => heads,
    },
  ],
  // A batch that climbs the slope, and then one sequence again.
  opening: { from: [{ batch: 1 }, { batch: 256 }], ms: 4800 },
  compute: (state) => {
    const machine = DEVICES[state.device];
    const found = worksOf(state);
    const least = (keys) => keys.reduce((s, key) => s + found[key].flops / found[key].speed, 0);
    return {
      balance: machine[0] / machine[1],
      points: found,
      prompt: least(["prefill", "read"]),
      token: least(["decode", "write"]),
    };
  },
  view: (state, values) => {
    const machine = DEVICES[state.device];
    const label =
      `The roof of the ${state.device}: speed over FLOPs per byte. From left to right: ` +
      Object.keys(NAMES)
        .sort((a, b) => values.points[a].intensity - values.points[b].intensity)
        .map((key) => NAMES[key])
        .join("; ");
    return (
      `<svg class="av-roof" role="img" aria-label="${label}" ` +
      `viewBox="0 0 ${BOX.width} ${BOX.height}">${axes()}${roof(machine)}${trails(state)}` +
      `${points(values.points)}${grips(state)}</svg>${say(sentence(state, values))}` +
      folded("FLOPs and bytes", table(state, values.points))
    );
  },
  handles: (state) =>
    Object.entries(DRAGGED).map(([work, { key, name }]) => ({
      id: work,
      name,
      keys: [key],
      at: placeOf(state, work),
      read: ([x, y]) => {
        const far = ({ at: [u, v] }) => Math.hypot(u - x, v - y);
        const nearest = placesOf(state, work).reduce((a, b) => (far(b) < far(a) ? b : a));
        return { [key]: nearest.value };
      },
    })),
};

export default figureModule(figure);
