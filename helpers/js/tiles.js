// Tiles: exact attention that visits one block of scores at a time.

const cut = (T, size) =>
  range(Math.ceil(T / size)).map((i) => [i * size, Math.min((i + 1) * size, T)]);
// Blocks in the order of the visits: queries outside, keys inside. Under the
// causal mask a block is left out if its first key is later than its last query.
const visits = ({ T, block_q, block_k, causal }) =>
  cut(T, block_q).flatMap((q) =>
    cut(T, block_k)
      .filter((k) => !causal || k[0] < q[1])
      .map((k) => [...q, ...k]),
  );

const SHOWN = 8; // blocks of a row that are listed

// Scores that anyone can recompute: (1 + j / 8) cos(i - 2 j).
const score = (i, j) => (1 + j / 8) * Math.cos(i - 2 * j);
const area = ([q0, q1, k0, k1]) => (q1 - q0) * (k1 - k0);
const total = (xs) => xs.reduce((a, b) => a + b, 0);
// The blocks that a row stands in.
const holding = (row, blocks) => blocks.filter(([q0, q1]) => q0 <= row && row < q1);

// What a row remembers after each of its blocks, of which the keys count.
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

const figure = {
  name: "tiles",
  controls: [
    { key: "T", kind: "range", label: "tokens T", min: 2, max: 64, step: 1 },
    {
      key: "block_q",
      kind: "range",
      label: "queries a block",
      min: 1,
      max: 64,
      step: 1,
      upTo: ({ T }) => T,
    },
    {
      key: "block_k",
      kind: "range",
      label: "keys a block",
      min: 1,
      max: 64,
      step: 1,
      upTo: ({ T }) => T,
    },
    { key: "causal", kind: "flag", label: "causal" },
    {
      key: "step",
      kind: "range",
      label: "blocks visited",
      min: 0,
      max: 4096,
      step: 1,
      upTo: (state) => visits(state).length,
    },
    {
      key: "row",
      kind: "range",
      label: "query to follow",
      min: 0,
      max: 63,
      step: 1,
      upTo: ({ T }) => T - 1,
    },
  ],

  compute: (state) => {
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
    };
  },

  view: (state, values) => {
    const { T, block_q, block_k, causal } = state;
    const { blocks, done, of_row } = values;
    const row = Math.min(state.row, T - 1);
    const draw = ([q0, q1, k0, k1]) => `M${k0} ${q0}H${k1}V${q1}H${k0}z`;
    const path = (kind, some) =>
      some.length ? `<path class="av-tile-${kind}" d="${some.map(draw).join("")}"/>` : "";
    const size = Math.min(block_q, block_k, T) / 2.6;
    const numbers =
      size / T < 0.03
        ? []
        : blocks // too small to read
            .map(
              ([q0, , k0], i) =>
                `<text class="av-tile-${i < done - 1 ? "in" : "out"}" x="${k0 + size / 4}" ` +
                `y="${(q0 + size).toFixed(2)}" font-size="${size.toFixed(2)}">${i + 1}</text>`,
            );
    const last = done ? [blocks[done - 1]] : [];
    const label =
      `Scores of ${T} queries, which are rows, and ${T} keys. ${done} of ` +
      `${count(blocks.length, "block")} visited.`;
    const unit = T / 100;
    const band = draw([row, row + 1, 0, T]);
    const map =
      `<svg class="av-tiles" role="img" aria-label="${escape(label)}" ` +
      `viewBox="${-unit} ${-unit} ${T + 2 * unit} ${T + 2 * unit}">` +
      `<path class="av-tile-skipped" d="M0 0H${T}V${T}H0z"/>${path("open", blocks)}` +
      `${path("done", blocks.slice(0, done))}${path("last", last)}` +
      `<path class="av-tile-edge" d="${band}"/><path class="av-tile-row" d="${band}"/>` +
      `${numbers.join("")}</svg>`;
    const legend =
      `<p class="av-caption">${causal ? "Empty: above the diagonal, left out. " : ""}Pale: to ` +
      `come. Dark: visited. Orange with a thick edge: visited last. Dashed: query ${row}. Rows ` +
      "are queries, columns keys.</p>";

    const own = holding(row, blocks);
    const lines = values.sums.map((sum, b) => {
      const cells = [values.maxima[b], values.factors[b], values.added[b], sum].map(
        (x) => `<td>${fixed(x, 4)}</td>`,
      );
      return `<tr><th scope="row">keys ${own[b][2]} to ${own[b][3] - 1}</th>${cells.join("")}</tr>`;
    });
    if (lines.length > SHOWN)
      lines.splice(
        0,
        lines.length - SHOWN,
        `<tr><th scope="row">${lines.length - SHOWN} earlier</th></tr>`,
      );
    const { maximum, sum } = values.plain;
    const memory =
      `<table class="av-grid av-rows"><caption>What query ${row} remembers after each of its ` +
      "blocks; the factor is for the old sum</caption><thead><tr><td></td>" +
      ["maximum", "factor", "added", "sum"].map((h) => `<th scope="col">${h}</th>`).join("") +
      `</tr></thead><tbody>${lines.join("")}<tr><th scope="row">plain, whole row</th><td>` +
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
        : `Query ${row} has seen ${seen} of its ${count(all, "block")}: maximum ` +
          `${fixed(values.maxima[seen - 1], 4)}, sum ${fixed(values.sums[seen - 1], 4)}.` +
          (seen === all ? " Plain attention has the same." : "");
    return (
      `${legend}<div class="av-row">${map}<div>${memory}${costs}</div></div>` +
      say(
        `${done} of ${count(blocks.length, "block")} visited. ${row_says} Plain attention ` +
          `holds ${whole(values.held.plain)} scores at once, ` +
          `tiles ${whole(values.held.tiled)} numbers.`,
      )
    );
  },
};

export default figureModule(figure);
