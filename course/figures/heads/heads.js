// Heads and groups: which columns belong to a head, and whose keys it reads.

import { count, range, whole } from "../kit/numbers.js";
import { grip } from "../kit/handles.js";
import { lettered } from "../kit/svg.js";
import { figureModule, say } from "../kit/common.js";

// Neighbouring groups differ in colour, and names say which group is which.
const groupClass = (g) => (g % 2 ? "av-group-odd" : "av-group-even");
const BYTES = 2; // float16, the usual type of a cache

const divisors = (n) =>
  range(n)
    .map((i) => i + 1)
    .filter((i) => n % i === 0);

// Every size as a picture: the columns of queries, divided into heads, and below
// each group of heads the keys and values that they read, to the same scale.
const CUTS = {
  left: 4,
  query: 22,
  key: 96,
  value: 120, // directly below the keys that it belongs to
  high: 24,
  kept: 186,
};
const sizeOf = (narrow) => (narrow ? { width: 360, across: 342 } : { width: 640, across: 622 });
const SPOT = 8; // the height at which a column is marked above the name of its head
// The size of the cache as a fraction of its size without sharing.
const keptBar = (H_kv, H, { across }) => {
  const { left, kept } = CUTS;
  const end = left + (across * H_kv) / H;
  return (
    `<path class="av-cache-all" d="M${left} ${kept - 6}h${across}v12h${-across}z"/>` +
    `<path class="av-cache-kept" d="M${left} ${kept - 6}H${+end.toFixed(2)}v12H${left}z"/>` +
    `<text x="${left}" y="${kept + 30}">the cache keeps ${H_kv} of ${count(H, "head")} of keys and ` +
    `values</text>` +
    grip("share", [+end.toFixed(2), kept], '<circle class="av-cache-end" cx="0" cy="0" r="8"/>')
  );
};
const cuts = ({ H, H_kv, d_k }, { kv_head, followed: [at, head, , group] }, size) => {
  const { left, query, key, value, high } = CUTS;
  const { width, across } = size;
  const [n, shared] = [H * d_k, H / H_kv];
  const [wide, unit] = [across / H, across / n];
  const place = (x) => +x.toFixed(2);
  const of_group = (g) => left + (g + 0.5) * shared * wide - wide / 2;
  const segment = (kind, x, y, g) =>
    `<rect class="av-${kind} ${groupClass(g)}" x="${place(x)}" y="${y}" ` +
    `width="${place(wide)}" height="${high}"/>`;
  const row = (kind, letter, some, xOf, y, groupOf, name = y + 16) =>
    some.map((k) => segment(kind, xOf(k), y, groupOf(k))).join("") +
    (wide < 9 * `Q${H - 1}`.length ? [] : some) // names that do not fit are left out
      .map(
        (k) =>
          `<text class="av-name" x="${place(xOf(k) + wide / 2)}" y="${name}" ` +
          `text-anchor="middle">${letter}${k}</text>`,
      )
      .join("");
  const link = (h) =>
    `M${place(left + (h + 0.5) * wide)} ${query + high}` +
    `L${place(of_group(kv_head[h]) + wide / 2)} ${key}`;
  const columns = unit < 4 ? "" : range(n - 1).map((c) => (c + 1) * unit);
  const fine = columns && columns.map((x) => `M${place(left + x)} ${query}v5`).join("");
  const here = place(left + at * unit);
  const long = place(Math.max(unit, 2));
  const mark = `M${here} ${query}h${long}v${SPOT}h${-long}z`;
  const label =
    `${count(n, "column")} of queries in ${count(H, "head")}, which read ` +
    `${count(H_kv, "head")} of keys and of values; column ${at} is marked, in Q${head}, which ` +
    `reads K${group} and V${group}`;
  const kept = `${count(H_kv * d_k, "column")} in ${count(H_kv, "head")}`;
  return (
    `<svg class="av-cuts" role="img" aria-label="${label}" viewBox="0 0 ${width} ` +
    `${CUTS.kept + 42}">` +
    `<path class="av-reads" d="${range(H).map(link).join("")}"/>` +
    `<path class="av-reads-here" d="${link(head)}"/>` +
    `<text class="av-query" x="${left}" y="${query - 7}">queries: ${count(n, "column")} in ` +
    `${count(H, "head")}</text>` +
    row(
      "query",
      "Q",
      range(H),
      (h) => left + h * wide,
      query,
      (h) => kv_head[h],
      query + high - 4,
    ) +
    (fine && `<path class="av-fine" d="${fine}"/>`) +
    `<path class="av-ring" d="${mark}"/><path class="av-ring-in" d="${mark}"/>` +
    row("key", "K", range(H_kv), of_group, key, (g) => g) +
    row("value", "V", range(H_kv), of_group, value, (g) => g) +
    `<text x="${left}" y="${value + high + 17}"><tspan class="av-key">keys</tspan> and ` +
    `<tspan class="av-value">values</tspan>: ${kept} each</text>` +
    keptBar(H_kv, H, size) +
    "</svg>"
  );
};

const figure = {
  name: "heads",
  lead: ["H"],
  card: { part: ".av-cuts", box: "0 14 632 138" },
  controls: [
    {
      key: "d_k",
      kind: "range",
      label: "width of a head d_k",
      first: 2,
      about: "Width of a head",
      min: 1,
      max: 128,
      step: 1,
    },
    {
      key: "H",
      kind: "range",
      label: "query heads H",
      first: 4,
      about: "Query heads",
      min: 1,
      max: 64,
      step: 1,
    },
    {
      key: "H_kv",
      kind: "range",
      label: "key/value heads H_kv",
      first: 2,
      about: "Key/value heads; they divide `H`",
      min: 1,
      max: 64,
      step: 1,
    },
    {
      key: "column",
      kind: "range",
      label: "column to follow",
      first: 5,
      about: "The column to follow; one beyond the last counts as the last",
      min: 0,
      max: 8191,
      step: 1,
      upTo: ({ H, d_k }) => H * d_k - 1,
    },
  ],
  // The nearest number of key/value heads that divides H. If H_kv itself moves,
  // the next divisor in that direction, so that each step has an effect.
  fit: ({ H, H_kv }, moved, before) => {
    if (H % H_kv === 0) return null;
    const all = divisors(H);
    const up = all.find((n) => n > H_kv) ?? H;
    const down = all.findLast((n) => n < H_kv);
    const nearest = up - H_kv < H_kv - down ? up : down;
    const near = moved !== "H_kv" ? nearest : H_kv > before.H_kv ? up : down;
    return {
      settings: { H_kv: near },
      says: `H_kv is now ${near}: it must divide H = ${H}, so it can be ${all.join(", ")}.`,
    };
  },
  check: ({ H, H_kv }) =>
    H % H_kv
      ? `H_kv must divide H: ${H} query heads can share ${divisors(H).join(", ")} key/value ` +
        `heads; got ${H_kv}`
      : "",

  // One layer with d<sub>model</sub> = H d_k and d_v = d_k, without biases.
  compute: ({ H, H_kv, d_k, column }) => {
    const shared = H / H_kv;
    const at = Math.min(column, H * d_k - 1);
    const head = Math.floor(at / d_k);
    const query = H * d_k * H * d_k;
    const key = H * d_k * H_kv * d_k;
    return {
      split: range(H).map((h) => range(d_k).map((j) => h * d_k + j)),
      kv_head: range(H).map((h) => Math.floor(h / shared)),
      followed: [at, head, at % d_k, Math.floor(head / shared)],
      parameters: { W_Q: query, W_K: key, W_V: key, W_O: query, total: 2 * query + 2 * key },
      cache: 2 * H_kv * d_k * BYTES,
      multi_head: { total: 4 * query, cache: 2 * H * d_k * BYTES },
    };
  },

  view: ({ H, H_kv, d_k }, values, own, narrow) => {
    const { kv_head, followed, parameters, cache, multi_head } = values;
    const [at, head, place, group] = followed;
    const shared = H / H_kv;
    const line = (name, here, there) =>
      `<tr><th scope="row">${name}</th><td>${whole(here)}</td><td>${whole(there)}</td></tr>`;
    const full = multi_head.total / 4;
    const counts =
      `<table class="av-grid"><caption>One layer with d<sub>model</sub> = ${whole(H * d_k)}: ` +
      "parameters, and bytes to cache in float16</caption>" +
      `<thead><tr><td></td><th scope="col">H<sub>kv</sub> = ${H_kv}</th><th scope="col">multi-head` +
      "</th></tr></thead><tbody>" +
      ["W_Q", "W_K", "W_V", "W_O"].map((W) => line(lettered(W), parameters[W], full)).join("") +
      line("all four", parameters.total, multi_head.total) +
      line("cache, bytes per token", cache, multi_head.cache) +
      "</tbody></table>";

    const kind = H_kv === H ? "Multi-head" : H_kv === 1 ? "Multi-query" : "Grouped-query";
    return (
      cuts({ H, H_kv, d_k }, { kv_head, followed }, sizeOf(narrow)) +
      (narrow ? "" : counts) +
      say(
        `${kind} attention: ${count(shared, "query head")} per key/value head. ` +
          `Column ${at} is place ${place} of query head ${head}, which reads K${group} and ` +
          `V${group}.${shared > 1 ? ` The cache takes 1/${shared} of the bytes.` : ""}`,
      ) +
      // On a phone, below what is to be in view together.
      (narrow ? counts : "")
    );
  },
  // Dragging the end of the bar chooses the nearest fraction that is possible.
  handles: ({ H, H_kv }, values, own, narrow) => {
    const { across } = sizeOf(narrow);
    return [
      {
        id: "share",
        name: "heads of keys and values",
        keys: ["H_kv"],
        at: [CUTS.left + (across * H_kv) / H, CUTS.kept],
        read: ([u]) => ({ H_kv: Math.round((H * (u - CUTS.left)) / across) }),
      },
    ];
  },
};

export default figureModule(figure);
