// Positions: added waves, rotated queries and keys, penalties for distance.

import { count, dot, fixed, grouped, range } from "../kit/numbers.js";
import { byLevel, chart, escape, frameOf, textAt } from "../kit/svg.js";
import { grip } from "../kit/handles.js";
import { figureModule, say } from "../kit/common.js";

const KINDS = ["sinusoid", "RoPE", "ALiBi"];
const REACH = 32; // distances drawn on either side
const FINE = 8; // points of a curve from one whole position to the next
// Axes hold whatever the controls allow, so that they stay while one moves.
const FAR = [0, 64];
const SCORES = [-3, 3]; // at most the root of half of 16 pairs
const BIASES = [-48, 0]; // at least −63 · 2 ** −0.5
const DEGREES = 180 / Math.PI;
const only =
  (...kinds) =>
  ({ kind }) =>
    kinds.includes(kind);

const frequencies = (pairs) => range(pairs).map((i) => 10000 ** (-i / pairs));
// A row of 2 · pairs columns, adjacent columns paired, rotated to a position.
const turn = (row, position) =>
  frequencies(row.length / 2).flatMap((theta, i) => {
    const [a, b] = row.slice(2 * i);
    const [cos, sin] = [Math.cos(position * theta), Math.sin(position * theta)];
    return [a * cos - b * sin, a * sin + b * cos];
  });
const repeated = (pair, pairs) => range(pairs).flatMap(() => pair);

// The slopes of the paper, and of the code published with it.
const paper = (H) => range(H).map((h) => 2 ** ((-8 * (h + 1)) / H));
const slopesOf = (H, rule) => {
  const power = 2 ** Math.floor(Math.log2(H));
  if (rule === "paper") return paper(H);
  return [
    ...paper(power),
    ...paper(2 * power)
      .filter((m, i) => i % 2 === 0)
      .slice(0, H - power),
  ];
};

const compute = {
  sinusoid: ({ T, pairs, pair }) => {
    const theta = frequencies(pairs)[Math.min(pair, pairs - 1)];
    return {
      table: range(T).map((t) =>
        frequencies(pairs).flatMap((f) => [Math.sin(t * f), Math.cos(t * f)]),
      ),
      waves: range(FAR[1] * FINE + 1).map((i) =>
        [Math.sin, Math.cos].map((wave) => wave((i * theta) / FINE)),
      ),
      wavelength: (2 * Math.PI) / theta,
    };
  },
  RoPE: ({ pairs, pair, m, n, shift, angle }) => {
    const ahead = (angle * Math.PI) / 180;
    const q = repeated([1, 0], pairs);
    const k = repeated([Math.cos(ahead), Math.sin(ahead)], pairs);
    const score = (i, j) => dot(turn(q, i), turn(k, j)) / Math.sqrt(2 * pairs);
    // For each pair of columns, the cosine of the angle between query and key.
    const thetas = frequencies(pairs);
    const at = (distance) =>
      thetas.reduce((sum, theta) => sum + Math.cos(distance * theta - ahead), 0) /
      Math.sqrt(2 * pairs);
    const curve = range(2 * REACH * FINE + 1).map((i) => at(i / FINE - REACH));
    const step = thetas[Math.min(pair, pairs - 1)] * DEGREES;
    return {
      query: turn(q, m + shift),
      key: turn(k, n + shift),
      score: score(m + shift, n + shift),
      unmoved: score(m, n),
      curve,
      by_distance: curve.filter((_, i) => i % FINE === 0),
      // In degrees: the rotation per position, the query's angle, and the key's.
      turns: [step, (m + shift) * step, angle + (n + shift) * step],
    };
  },
  ALiBi: ({ T, heads, rule }) => {
    const found = slopesOf(heads, rule);
    return {
      slopes: found,
      bias: found.map((slope) => range(T).map((distance) => 0 - slope * distance)),
      left: found.map((slope) => range(T).map((distance) => Math.exp(-slope * distance))),
    };
  },
};

// A map over the positions: a row of cells per column of the code, or per head, and a
// column per position. It ends with the handle of T, and what `aside` says of a row, or of
// two, is at the end of the axis.
const SHEET = { top: 44, high: 196 };
const frameAt = (narrow, y, height) =>
  frameOf({
    x: FAR,
    y,
    height,
    ...(narrow ? { width: 360, right: 78 } : { width: 640, right: 112 }),
  });
const sheet = ({ label, title, named, aside, values, per, picked }, narrow) => {
  const { left, width, right, px } = frameAt(narrow, [-1, 1]);
  const unit = px(1) - px(0);
  const { top, high } = SHEET;
  const rows = values[0].length;
  const down = high / rows;
  const cells = byLevel();
  values.forEach((row, t) => row.forEach((x, j) => cells.add(x, `M${t} ${j}h1v1h-1z`)));
  const drawn = cells.paths((color, d) => `<path fill="${color}" d="${d}"/>`);
  const groups = range(rows / per);
  const apart = [1, 2, 4].find((n) => n * per * down >= 14);
  const middle = (k) => top + (k + 0.5) * per * down + 4;
  const start = left - unit / 2;
  const end = start + values.length * unit;
  const some = groups.filter((k) => k % apart === 0 || k === picked);
  const clear = some.filter((k) => k === picked || Math.abs(k - (picked ?? -99)) >= apart);
  const names = clear.map(
    (k) =>
      textAt(k, start - 7, middle(k), "end", k === picked ? "av-here" : "") +
      textAt(aside.of(k), width - right + 12, middle(k), "start", "av-aside"),
  );
  const rowsOf = groups.map(
    (k) =>
      `<rect class="av-pair${k === picked ? " av-followed" : ""}" ` +
      `${picked === undefined ? "" : `data-handle="pair-${k}" `}x="${start.toFixed(2)}" ` +
      `y="${(top + k * per * down).toFixed(2)}" width="${(end - start).toFixed(2)}" ` +
      `height="${(per * down).toFixed(2)}"/>`,
  );
  return (
    `<svg class="av-sheet" role="img" aria-label="${escape(label)}" ` +
    `viewBox="0 0 ${width} ${top + high + 16}">` +
    textAt(title, 4, 15, "start") +
    textAt(named, start - 7, top - 9, "end") +
    textAt(aside.name, width - right + 12, top - 9, "start") +
    `<g shape-rendering="crispEdges" transform="matrix(${unit.toFixed(4)} 0 0 ` +
    `${down.toFixed(4)} ${start.toFixed(2)} ${top})">${drawn.join("")}</g>` +
    rowsOf.join("") +
    names.join("") +
    grip(
      "T",
      [end.toFixed(2), top + high],
      `<path class="av-end" d="M0 0V${-high - 4}"/><circle class="av-knob" r="8"/>`,
    ) +
    "</svg>"
  );
};

// Map and chart are together as high as dials and chart of the rotations.
const chartHigh = (narrow) => (narrow ? 317 : 190);
// A chart over the positions, pale beyond the last one of the table.
const upTo = (last, narrow, given) => {
  const { px, py, width, right } = frameAt(narrow, given.y, given.height);
  const [low, high] = given.y;
  const d = `M${px(last).toFixed(1)} ${py(high) - 3}H${px(FAR[1]) + 3}V${py(low) + 3}H${px(last).toFixed(1)}z`;
  const over = `<path class="av-beyond" d="${d}"/>`; // and as wide as a line is
  return chart({ x: FAR, width, right, ...given, over });
};

// A dial: the directions of one pair's query at the positions of its first
// rotation, and two arrows for the current directions.
const RIM = 100;
const dial = ({ label, arrows, step }) => {
  const spot = (degrees, r) => {
    const [x, y] = [r * Math.cos(degrees / DEGREES), -r * Math.sin(degrees / DEGREES)];
    return `${x.toFixed(2)} ${y.toFixed(2)}`;
  };
  const all = range(Math.min(Math.ceil(360 / step), REACH + 1));
  const ticks = all.map((p) => `M${spot(p * step, RIM)}L${spot(p * step, RIM + 7)}`);
  const apart = 2 ** Math.ceil(Math.log2(15 / step)); // at least 15 degrees
  const numbers = all
    .filter((p) => p % apart === 0 && 360 - p * step >= 15)
    .map((p) => {
      const [x, y] = spot(p * step, RIM + 18).split(" ");
      const at = `x="${x}" y="${(+y + 4).toFixed(2)}"`;
      return `<text class="av-axis" ${at} text-anchor="middle">${p}</text>`;
    });
  const drawn = arrows.map(({ kind, name, at: [x, y], dash }, k) => {
    const [px, py] = [RIM * x, -RIM * y];
    const far = 0.62 + 0.18 * k; // beside the arrow, inside the rim
    return (
      `<path class="av-hand av-${kind}" stroke-dasharray="${dash}" ` +
      `d="M0 0L${px.toFixed(2)} ${py.toFixed(2)}"/>` +
      grip(
        `hand-${name}`,
        [px.toFixed(2), py.toFixed(2)],
        `<circle class="av-hand av-${kind}" cx="0" cy="0" r="7"/>`,
      ) +
      `<text class="av-${kind}" x="${(far * px - 14 * y).toFixed(2)}" ` +
      `y="${(far * py - 14 * x + 5).toFixed(2)}" text-anchor="middle">${escape(name)}</text>`
    );
  });
  // The shorter way from the query to the key.
  const [from, to] = arrows.map(({ at: [x, y] }) => Math.atan2(y, x) * DEGREES);
  const swing = ((((to - from + 180) % 360) + 360) % 360) - 180;
  const arc = range(25).map((k) => `${k ? "L" : "M"}${spot(from + (k * swing) / 24, 34)}`);
  return (
    `<svg class="av-plane" role="img" aria-label="${escape(label)}" viewBox="-130 -130 260 260">` +
    `<circle class="av-rule" r="${RIM}" fill="none"/>` +
    `<path class="av-tick" d="${ticks.join("")}"/>` +
    numbers.join("") +
    `<path class="av-swing" d="${arc.join("")}"/>${drawn.join("")}</svg>`
  );
};

// Small dials for all pairs, fast and slow. Pressing one selects its pair.
const CLOCK = { side: 58, rim: 20, high: 62 };
const clocks = ({ pairs, query, key, pair }) => {
  const across = Math.min(pairs, 8);
  const rows = Math.ceil(pairs / across);
  const one = (i) => {
    const place = [(i % across) * CLOCK.side, Math.floor(i / across) * CLOCK.high];
    const hand = (kind, [x, y], dash) =>
      `<path class="av-hand av-${kind}" stroke-dasharray="${dash}" d="M29 24L` +
      `${(29 + CLOCK.rim * x).toFixed(2)} ${(24 - CLOCK.rim * y).toFixed(2)}"/>`;
    return grip(
      `pair-${i}`,
      place,
      `<circle class="av-face${i === pair ? " av-followed" : ""}" cx="29" cy="24" ` +
        `r="${CLOCK.rim}"/>` +
        hand("query", query.slice(2 * i), "") +
        hand("key", key.slice(2 * i), "4 3") +
        `<text x="29" y="57" text-anchor="middle">pair ${i}</text>`,
    );
  };
  return (
    `<svg class="av-clocks${across > 5 ? " av-many" : ""}" role="img" aria-label="The hands of all ${count(pairs, "pair")} of ` +
    `columns, the fastest first" style="max-width:${5 * across}rem" viewBox="0 0 ${across * CLOCK.side} ${rows * CLOCK.high}">` +
    `${range(pairs).map(one).join("")}</svg>`
  );
};

const four = (x) => +x.toPrecision(4);
const view = {
  sinusoid: ({ T, pairs, pair }, { table, waves, wavelength }, narrow) => {
    const i = Math.min(pair, pairs - 1);
    const wave = (c) =>
      waves.slice(0, (FAR[1] - 1) * FINE + 1).map((both, k) => [k / FINE, both[c]]);
    const degrees = 360 / wavelength;
    const theta = frequencies(pairs);
    return (
      sheet(
        {
          label: `Columns of cells are positions 0 to ${T - 1}, rows the ${2 * pairs} numbers of each`,
          title: "the numbers of each position, from −1 (orange) to 1 (blue)",
          named: "pair",
          aside: { name: "period", of: (k) => grouped(four((2 * Math.PI) / theta[k])) },
          values: table,
          per: 2,
          picked: i,
        },
        narrow,
      ) +
      upTo(T - 1, narrow, {
        label: `Sine and cosine of pair ${i} over the positions, pale beyond the table`,
        y: [-1, 1],
        height: chartHigh(narrow),
        xlabel: "position",
        ylabel: `pair ${i}`,
        lines: [
          { points: wave(0), name: "sine" },
          { points: wave(1), name: "cosine", dash: "6 4" },
        ],
        points: table.flatMap((row, t) => [0, 1].map((c) => [t, row[2 * i + c]])),
      }) +
      say(
        `Pair ${i} turns by ${fixed(degrees, 3)} degrees per position and repeats after ` +
          `${fixed(wavelength, 2)} positions. Press another pair.`,
      )
    );
  },
  RoPE: (state, { query, key, score, unmoved, curve, by_distance, turns }) => {
    const { pairs, pair, m, n, shift } = state;
    const i = Math.min(pair, pairs - 1);
    const points = curve.map((s, k) => [k / FINE - REACH, s]);
    return (
      clocks({ pairs, query, key, pair: i }) +
      '<div class="av-row">' +
      dial({
        label:
          `Pair ${i}: the query turned to position ${m + shift}, the key to position ` +
          `${n + shift}; numbers on the rim are positions of the query`,
        arrows: [
          { kind: "query", name: "q", at: query.slice(2 * i), dash: "" },
          { kind: "key", name: "k", at: key.slice(2 * i), dash: "6 4" },
        ],
        step: turns[0],
      }) +
      chart({
        label: "The score over the distance, query position minus key position",
        x: [-REACH, REACH],
        y: SCORES,
        width: 345,
        height: 210,
        right: 16,
        xlabel: "distance m − n",
        ylabel: "score",
        lines: [{ points, name: "" }],
        points: by_distance.map((s, k) => [k - REACH, s]),
        marks: [[m - n, score, fixed(score, 4)]],
      }) +
      "</div>" +
      say(
        `Query at ${m + shift}, key at ${n + shift}: distance ${fixed(m - n, 0)}, ` +
          `score ${fixed(score, 4)}. ` +
          (shift
            ? `At ${m} and ${n}, where the distance is the same, it was ${fixed(unmoved, 4)}.`
            : "Move both, and see what stays."),
      )
    );
  },
  ALiBi: ({ T, heads, rule }, { slopes, left }, narrow) => {
    const steep = slopes.indexOf(Math.max(...slopes));
    const flat = slopes.indexOf(Math.min(...slopes));
    const line = (h) => ({ name: `head ${h}`, points: FAR.map((x) => [x, 0 - slopes[h] * x]) });
    const lines = steep === flat ? [line(steep)] : [line(steep), { ...line(flat), dash: "6 4" }];
    return (
      sheet(
        {
          label: `The factor on a key's weight: columns are distances 0 to ${T - 1}, rows heads`,
          title: "what is left of a key’s weight: the stronger, the more",
          named: "head",
          aside: { name: "slope", of: (h) => four(slopes[h]) },
          values: range(T).map((d) => left.map((row) => row[d])),
          per: 1,
        },
        narrow,
      ) +
      upTo(T - 1, narrow, {
        label: "The bias of the steepest and of the flattest head, pale beyond the table",
        y: BIASES,
        height: chartHigh(narrow),
        xlabel: "distance",
        ylabel: "bias",
        lines,
      }) +
      say(
        `${count(heads, "head")}, slopes by the rule of the ` +
          `${rule === "paper" ? "paper" : "published code"}.` +
          (steep === flat ? "" : ` Head ${steep} reaches least far, head ${flat} farthest.`),
      )
    );
  },
};

const figure = {
  name: "positions",
  lead: ["kind", "shift"],
  card: { state: { kind: "RoPE" }, part: ".av-plane", box: "-115 -115 230 230" },
  controls: [
    {
      key: "kind",
      kind: "choice",
      label: "method",
      first: "sinusoid",
      about: "The method that is shown",
      options: KINDS,
    },
    {
      key: "T",
      kind: "range",
      label: "positions T",
      first: 32,
      about: "Positions",
      min: 2,
      max: 64,
      step: 1,
      when: only("sinusoid", "ALiBi"),
    },
    {
      key: "pairs",
      kind: "range",
      label: "pairs of columns",
      first: 4,
      about: "Pairs of columns",
      min: 1,
      max: 16,
      step: 1,
      when: only("sinusoid", "RoPE"),
    },
    {
      key: "pair",
      kind: "range",
      label: "pair to follow",
      first: 1,
      about: "The pair to follow; one beyond the last counts as the last",
      min: 0,
      max: 15,
      step: 1,
      upTo: ({ pairs }) => pairs - 1,
      when: only("sinusoid", "RoPE"),
    },
    {
      key: "m",
      kind: "range",
      label: "position of the query m",
      first: 3,
      about: "Position of the query",
      min: 0,
      max: 32,
      step: 1,
      when: only("RoPE"),
    },
    {
      key: "n",
      kind: "range",
      label: "position of the key n",
      first: 1,
      about: "Position of the key",
      min: 0,
      max: 32,
      step: 1,
      when: only("RoPE"),
    },
    {
      key: "shift",
      kind: "range",
      label: "move both by",
      first: 24,
      about: "Positions by which both are moved",
      min: 0,
      max: 1000,
      step: 1,
      when: only("RoPE"),
    },
    {
      key: "angle",
      kind: "range",
      label: "key ahead (degrees)",
      first: 90,
      about: "Degrees by which the key is ahead",
      min: -180,
      max: 180,
      step: 15,
      when: only("RoPE"),
    },
    {
      key: "heads",
      kind: "range",
      label: "heads H",
      first: 8,
      about: "Heads",
      min: 1,
      max: 16,
      step: 1,
      when: only("ALiBi"),
    },
    {
      key: "rule",
      kind: "choice",
      label: "rule",
      first: "reference",
      about: "The rule of the slopes, as in `helpers.positions.alibi_slopes`",
      options: ["reference", "paper"],
      when: only("ALiBi"),
    },
  ],
  // Query and key move on together: the arrows rotate, and the score does not
  // change.
  opening: { from: [{ shift: 0 }], ms: 4500 },
  compute: (state) => compute[state.kind](state),
  view: (state, values, own, narrow) => view[state.kind](state, values, narrow),
  // An arrow is rotated from its current angle, so it can make several full
  // turns.
  handles: (state, { query, key, turns }, own, narrow) => {
    const { m, n, pairs } = state;
    const i = Math.min(state.pair, pairs - 1);
    const followed = range(pairs).map((k) => ({
      id: `pair-${k}`,
      name: `follow pair ${k}`,
      group: "pairs",
      on: k === i,
      press: () => ({ pair: k }),
    }));
    if (state.kind !== "RoPE") {
      const { px } = frameAt(narrow, [-1, 1]);
      const end = {
        id: "T",
        name: "end of the table",
        at: [px(state.T - 0.5), SHEET.top + SHEET.high],
        keys: ["T"],
        read: ([x]) => ({ T: (x - px(0)) / (px(1) - px(0)) + 0.5 }),
      };
      return state.kind === "ALiBi" ? [end] : [end, ...followed];
    }
    const hand = (name, what, setting_, position, row, degrees) => {
      const [x, y] = row.slice(2 * i);
      return {
        id: `hand-${name}`,
        name: what,
        keys: [setting_],
        at: [RIM * x, -RIM * y],
        read: ([u, v]) => {
          const off = Math.atan2(-v, u) * DEGREES - degrees;
          const steps = ((((off % 360) + 540) % 360) - 180) / turns[0];
          return { [setting_]: Math.round(position + steps) };
        },
      };
    };
    return [
      hand("q", "hand of the query", "m", m, query, turns[1]),
      hand("k", "hand of the key", "n", n, key, turns[2]),
      ...followed,
    ];
  },
};

export default figureModule(figure);
