// Tiles: exact attention that visits one block of scores at a time.

import { count, fixed, range, whole } from "../kit/numbers.js";
import { byLevel, escape, inkOn, LEVELS } from "../kit/svg.js";
import { figureModule, say } from "../kit/common.js";
import { grip } from "../kit/handles.js";
import { player } from "../kit/player.js";

const cut = (T, size) =>
  range(Math.ceil(T / size)).map((i) => [i * size, Math.min((i + 1) * size, T)]);
// The blocks in the order of the visits: queries outside, keys inside. Under the
// causal mask, a block is skipped if its first key is later than its last query.
const visits = ({ T, block_q, block_k, causal }) =>
  cut(T, block_q).flatMap((q) =>
    cut(T, block_k)
      .filter((k) => !causal || k[0] < q[1])
      .map((k) => [...q, ...k]),
  );

const SHOWN = 8; // tiles of a row that are listed, and a row for all before them

// The scores are (1 + j / 8) cos(i - 2 j), so that anyone can recompute them.
const score = (i, j) => (1 + j / 8) * Math.cos(i - 2 * j);
const area = ([q0, q1, k0, k1]) => (q1 - q0) * (k1 - k0);
const total = (xs) => xs.reduce((a, b) => a + b, 0);
// The blocks that contain a row.
const holding = (row, blocks) => blocks.filter(([q0, q1]) => q0 <= row && row < q1);

const blockAt = (blocks, i, j) =>
  blocks.findIndex(([q0, q1, k0, k1]) => q0 <= i && i < q1 && k0 <= j && j < k1);

// The running state of a row after each of its blocks; `spans` holds their keys.
const follow = (row, spans, causal) => {
  const history = { maxima: [], factors: [], added: [], sums: [] };
  let [maximum, sum] = [-Infinity, 0];
  for (const [k0, k1] of spans) {
    const scores = range(k1 - k0)
      .map((j) => k0 + j)
      .filter((j) => !causal || j <= row)
      .map((j) => score(row, j));
    const higher = Math.max(maximum, ...scores);
    const factor = Math.exp(maximum - higher);
    const added = total(scores.map((s) => Math.exp(s - higher)));
    [maximum, sum] = [higher, sum * factor + added];
    for (const [key, x] of Object.entries({ maxima: maximum, factors: factor, added, sums: sum }))
      history[key].push(x);
  }
  return history;
};

// A block is shown this long; a film of many blocks is no longer than the limit
// below.
const STAND = 700;
const LONGEST = 20000;
const paceOf = (state) => Math.min(STAND, LONGEST / visits(state).length);

// The on-chip memory after a visit: scores, and the running state of each query.
const tileOf = ({ causal }, blocks, done) => {
  if (!done) return null;
  const [q0, q1, k0, k1] = blocks[done - 1];
  const rows = range(q1 - q0).map((i) => q0 + i);
  const kept = rows.map((i) =>
    follow(
      i,
      holding(i, blocks.slice(0, done)).map((block) => block.slice(2)),
      causal,
    ),
  );
  return {
    scores: rows.map((i) =>
      range(k1 - k0).map((j) => (causal && k0 + j > i ? null : score(i, k0 + j))),
    ),
    maxima: kept.map(({ maxima }) => maxima.at(-1)),
    sums: kept.map(({ sums }) => sums.at(-1)),
  };
};

// The on-chip memory: one block of scores, and beside it two numbers per query.
const SMALL = { width: 320, left: 32, top: 42, across: 176, down: 190, least: 14 };
const KEPT = [244, 294]; // where maximum and sum are written
const small = ({ T, block_q, block_k }, { blocks, done, tile, held: room }, row) => {
  const { width, left, top, across, down, least } = SMALL;
  const place = (x) => +x.toFixed(2);
  const [wide, high] = [
    Math.min(across / Math.min(block_k, T), 48),
    Math.min(down / Math.min(block_q, T), 24),
  ];
  const far = 1 + (T - 1) / 8; // no score is larger
  const text = (words, x, y, anchor = "middle") =>
    `<text x="${place(x)}" y="${place(y)}" text-anchor="${anchor}">${words}</text>`;
  const middle = (i) => top + (i + 0.5) * high + 4;
  const frame =
    `<path class="av-frame" d="M${left} ${top}h${place(wide * Math.min(block_k, T))}` +
    `v${place(high * Math.min(block_q, T))}h${place(-wide * Math.min(block_k, T))}z"/>`;
  const [q0, , k0] = done ? blocks[done - 1] : [0, 0, 0];
  const shown = tile ?? { scores: [], maxima: [], sums: [] };
  const readable = wide >= 40 && high >= least;
  const shades = byLevel();
  const cells = [];
  shown.scores.forEach((line, i) =>
    line.forEach((s, j) => {
      if (s === null) return;
      const level = Math.round((s / far) * LEVELS) / LEVELS;
      shades.add(level, `M${j} ${i}h1v1h-1z`);
      if (readable)
        cells.push(
          `<text class="av-in-cell" fill="${inkOn(level)}" x="${place(left + (j + 0.5) * wide)}" ` +
            `y="${place(middle(i))}" text-anchor="middle">${fixed(s, 2)}</text>`,
        );
    }),
  );
  const drawn = shades.paths((color, d) => `<path fill="${color}" d="${d}"/>`);
  const ground =
    `<g shape-rendering="crispEdges" transform="matrix(${place(wide)} 0 0 ${place(high)} ${left} ` +
    `${top})">${drawn.join("")}</g>`;
  // If the rows are too low for text, only the followed query's numbers are
  // written.
  const kept = shown.sums.map((sum, i) => {
    const here = q0 + i === row;
    if (high < least && !here) return "";
    const words =
      text(`q${q0 + i}`, left - 4, middle(i), "end") +
      text(fixed(shown.maxima[i], 3), KEPT[0], middle(i)) +
      text(fixed(sum, 3), KEPT[1], middle(i));
    return here ? `<g class="av-here">${words}</g>` : words;
  });
  const every = Math.ceil(24 / wide); // names need this room
  const names = (shown.scores[0] ?? [])
    .map((_, j) => (j % every ? "" : text(`k${k0 + j}`, left + (j + 0.5) * wide, top - 5)))
    .join("");
  const label = tile
    ? `In the small memory: scores of queries ${q0} to ${q0 + tile.sums.length - 1} and keys ` +
      `${k0} to ${k0 + tile.scores[0].length - 1}, and a maximum and a sum for each query`
    : "The small memory is empty";
  return (
    `<svg class="av-small" role="img" aria-label="${label}" viewBox="0 0 ${width} ` +
    `${place(top + high * Math.min(block_q, T) + 6)}">` +
    `<text class="av-tile-name" x="2" y="14">small memory: room for ${whole(room.tiled)} ` +
    `numbers</text>` +
    text("max", KEPT[0], top - 5) +
    text("sum", KEPT[1], top - 5) +
    `${names}${ground}${cells.join("")}${frame}${kept.join("")}</svg>`
  );
};

// Both sizes of a block are set at the corner of the first block.
const cornerOf = ({ T, block_q, block_k }) => [Math.min(block_k, T), Math.min(block_q, T)];

const figure = {
  name: "tiles",
  card: { part: ".av-tiles" },
  lead: ["step"],
  controls: [
    {
      key: "T",
      kind: "range",
      label: "tokens T",
      first: 12,
      about: "Tokens",
      min: 2,
      max: 64,
      step: 1,
    },
    {
      key: "block_q",
      kind: "range",
      label: "queries a block",
      first: 4,
      about: "Queries in a block; more than `T` count as `T`",
      min: 1,
      max: 64,
      step: 1,
      upTo: ({ T }) => T,
    },
    {
      key: "block_k",
      kind: "range",
      label: "keys a block",
      first: 4,
      about: "Keys in a block; more than `T` count as `T`",
      min: 1,
      max: 64,
      step: 1,
      upTo: ({ T }) => T,
    },
    {
      key: "causal",
      kind: "flag",
      label: "causal",
      first: true,
      about: "Leave out the tiles above the diagonal",
    },
    {
      key: "step",
      kind: "range",
      label: "tiles visited",
      first: 5,
      about: "Tiles visited; more than there are count as all",
      min: 0,
      max: 4096,
      step: 1,
      upTo: (state) => visits(state).length,
    },
    {
      key: "row",
      kind: "range",
      label: "query to follow",
      first: 10,
      about: "The query to follow; one beyond the last counts as the last",
      min: 0,
      max: 63,
      step: 1,
      upTo: ({ T }) => T - 1,
    },
  ],

  // The film goes from block to block.
  at: (state, ms) => {
    const n = visits(state).length;
    const past = Math.floor(Math.max(ms, 0) / paceOf(state));
    return { step: Math.min(Math.min(state.step, n) + past, n) };
  },
  compute: (settings, moved) => {
    const state = { ...settings, ...moved };
    const { T, block_q, block_k, causal } = state;
    const blocks = visits(state);
    const done = blocks.slice(0, state.step);
    const row = Math.min(state.row, T - 1);
    const own = holding(row, done);
    const plain = follow(row, [[0, T]], causal);
    const [q, k] = [Math.min(block_q, T), Math.min(block_k, T)];
    const keys = (some) => total(some.map(([, , k0, k1]) => k1 - k0));
    return {
      blocks,
      done: done.length,
      of_row: [own.length, holding(row, blocks).length],
      ...follow(
        row,
        own.map((block) => block.slice(2)),
        causal,
      ),
      plain: { maximum: plain.maxima[0], sum: plain.sums[0] },
      held: { plain: T * T, tiled: q * k + 2 * q },
      computed: { plain: T * T, tiled: total(blocks.map(area)), so_far: total(done.map(area)) },
      keys_read: { plain: T, tiled: keys(blocks), so_far: keys(done) },
      tile: tileOf(state, blocks, done.length),
    };
  },

  view: (state, values) => {
    const { T, block_k, causal } = state;
    const { blocks, done, of_row } = values;
    const place = (x) => +x.toFixed(3);
    const row = Math.min(state.row, T - 1);
    const draw = ([q0, q1, k0, k1]) => `M${k0} ${q0}H${k1}V${q1}H${k0}z`;
    const path = (kind, some) =>
      some.length ? `<path class="av-tile-${kind}" d="${some.map(draw).join("")}"/>` : "";
    const shade = (i) => (i === done - 1 ? "here" : i < done ? "in" : "out");
    const numbers = blocks.map(([q0, q1, k0, k1], i) => {
      const size = Math.min(q1 - q0, k1 - k0) / 2.6;
      if (size / T < 0.045) return ""; // too small to read
      return (
        `<text class="av-tile-${shade(i)}" x="${place(k0 + size / 4)}" ` +
        `y="${(q0 + size).toFixed(2)}" font-size="${size.toFixed(2)}">${i + 1}</text>`
      );
    });
    // One shape goes from tile to tile.
    const [top, bottom, left, right] = blocks[Math.max(done - 1, 0)];
    const window =
      `<rect class="av-tile-now" x="${left}" y="${top}" width="${right - left}" ` +
      `height="${bottom - top}" style="opacity:${+(done > 0)}"/>`;
    const label =
      `Scores of ${T} queries, which are rows, and ${T} keys. ${done} of ` +
      `${count(blocks.length, "tile")} visited.`;
    const pad = T / 20;
    // A mark on each side points at the row, so that nothing covers the numbers.
    const mark = (x, way) =>
      `M${place(x)} ${place(row + 0.5 - pad / 2)}l${place(way * 0.8 * pad)} ${place(pad / 2)}` +
      `l${place(-way * 0.8 * pad)} ${place(pad / 2)}z`;
    const map =
      `<svg class="av-tiles" role="img" aria-label="${escape(label)}" ` +
      `viewBox="${place(-pad)} ${place(-pad)} ${place(T + 2 * pad)} ${place(T + 2 * pad)}">` +
      `<path class="av-tile-skipped" d="M0 0H${T}V${T}H0z"/>${path("open", blocks)}` +
      `${path("done", blocks.slice(0, done))}${window}` +
      `<path class="av-tile-row" d="${mark(-pad, 1)}${mark(T + pad, -1)}"/>` +
      `${numbers.join("")}` +
      grip("corner", cornerOf(state), `<circle class="av-corner" r="${place(T / 28)}"/>`) +
      `</svg>`;
    const named = (kind, words) => `<span class="av-key-${kind}">${words}</span>`;
    const legend =
      `<p class="av-caption av-tile-keys">${named("open", "to come")}${named("done", "visited")}` +
      `${named("now", "in small memory")}${causal ? named("skipped", "left out") : ""}</p>`;

    // Tiles to come have their row too, so that nothing below moves with a step.
    const lines = cut(T, block_k).map(([k0, k1], b) => {
      const cells = ["maxima", "factors", "added", "sums"].map(
        (key) => `<td>${b < of_row[0] ? fixed(values[key][b], 4) : ""}</td>`,
      );
      const name = k1 - k0 === 1 ? `key ${k0}` : `keys ${k0} to ${k1 - 1}`;
      return `<tr><th scope="row">${name}</th>${cells.join("")}</tr>`;
    });
    const earlier = of_row[0] - SHOWN;
    if (earlier > 0) lines.splice(0, earlier, `<tr><th scope="row">${earlier} earlier</th></tr>`);
    const { maximum, sum } = values.plain;
    const memory =
      `<table class="av-grid av-rows"><caption>What query ${row} remembers after each of its ` +
      "tiles; the factor is for the old sum</caption><thead><tr><td></td>" +
      ["maximum", "factor", "added", "sum"].map((h) => `<th scope="col">${h}</th>`).join("") +
      `</tr></thead><tbody>${lines.slice(0, SHOWN + 1).join("")}<tr><th scope="row">plain, whole row</th><td>` +
      `${fixed(maximum, 4)}</td><td></td><td></td><td>${fixed(sum, 4)}` +
      "</td></tr></tbody></table>";

    const { computed, keys_read } = values;
    const cost = (name, plain, tiled, now) =>
      `<tr><th scope="row">${name}</th><td>${whole(plain)}</td><td>${whole(tiled)}</td>` +
      `<td>${whole(now)}</td></tr>`;
    const costs =
      `<table class="av-grid av-rows"><caption>Plain against tiled</caption><thead><tr>` +
      `<td></td><th scope="col">plain</th><th scope="col">tiled</th><th scope="col">so ` +
      "far</th></tr></thead><tbody>" +
      cost("numbers held at once", values.held.plain, values.held.tiled, "") +
      cost("scores computed", computed.plain, computed.tiled, computed.so_far) +
      cost("keys read, and values", keys_read.plain, keys_read.tiled, keys_read.so_far) +
      "</tbody></table>";

    const [seen, all] = of_row;
    const row_says =
      seen === 0
        ? `Query ${row} was not reached yet.`
        : `Query ${row} has seen ${seen} of its ${count(all, "tile")}: maximum ` +
          `${fixed(values.maxima[seen - 1], 4)}, sum ${fixed(values.sums[seen - 1], 4)}.` +
          (seen === all ? " Plain attention has the same." : "");
    return (
      `<div class="av-row"><div class="av-tile-map">${legend}${map}</div>` +
      `${small(state, values, row)}</div>` +
      say(
        `${done} of ${count(blocks.length, "tile")} visited. ${row_says} Plain attention ` +
          `holds ${whole(values.held.plain)} scores at once, ` +
          `tiles ${whole(values.held.tiled)} numbers.`,
      ) +
      `<div class="av-row av-tile-tables"><div>${memory}</div><div>${costs}</div></div>`
    );
  },

  handles: (state) => [
    {
      id: "corner",
      name: "corner of the first block",
      keys: ["block_k", "block_q"],
      at: cornerOf(state),
      read: ([x, y]) => ({ block_k: x, block_q: y }),
    },
  ],
  // Pressing a block makes it the last one visited, and its row the followed one.
  enhance: (result, { T }, { blocks }, set) => {
    result.onclick = ({ target, clientX, clientY }) => {
      const map = target.closest(".av-tiles");
      if (!map) return;
      const { left, top, width } = map.getBoundingClientRect();
      const [i, j] = [clientY - top, clientX - left].map((p) =>
        Math.floor((1.1 * T * p) / width - T / 20),
      );
      const found = blockAt(blocks, i, j);
      if (found < 0) return;
      set("step", found + 1);
      set("row", i);
    };
  },
};
figure.live = player(figure, "step");

export default figureModule(figure);
