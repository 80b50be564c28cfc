// Positions: waves to add, turns of queries and keys, charges for distance.

const KINDS = ["sinusoid", "RoPE", "ALiBi"];
const REACH = 32; // distances drawn on either side
const only =
  (...kinds) =>
  ({ kind }) =>
    kinds.includes(kind);

const frequencies = (pairs) => range(pairs).map((i) => 10000 ** (-i / pairs));
// A row of 2 · pairs columns, neighbours together, at a position.
const turn = (row, position) =>
  frequencies(row.length / 2).flatMap((theta, i) => {
    const [a, b] = row.slice(2 * i);
    const [cos, sin] = [Math.cos(position * theta), Math.sin(position * theta)];
    return [a * cos - b * sin, a * sin + b * cos];
  });
const repeated = (pair, pairs) => range(pairs).flatMap(() => pair);

// The slopes of the paper, and of the code that was published with it.
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
  sinusoid: ({ T, pairs, pair }) => ({
    table: range(T).map((t) =>
      frequencies(pairs).flatMap((theta) => [Math.sin(t * theta), Math.cos(t * theta)]),
    ),
    wavelength: (2 * Math.PI) / frequencies(pairs)[Math.min(pair, pairs - 1)],
  }),
  RoPE: ({ pairs, m, n, shift, angle }) => {
    const ahead = (angle * Math.PI) / 180;
    const q = repeated([1, 0], pairs);
    const k = repeated([Math.cos(ahead), Math.sin(ahead)], pairs);
    const score = (i, j) => dot(turn(q, i), turn(k, j)) / Math.sqrt(2 * pairs);
    return {
      query: turn(q, m + shift),
      key: turn(k, n + shift),
      score: score(m + shift, n + shift),
      unmoved: score(m, n),
      by_distance: range(2 * REACH + 1).map((i) => score(m + shift, m + shift - (i - REACH))),
    };
  },
  ALiBi: ({ T, heads, rule }) => {
    const found = slopesOf(heads, rule);
    return {
      slopes: found,
      bias: found.map((slope) => range(T).map((distance) => 0 - slope * distance)),
    };
  },
};

// Large tables are drawn, small ones are written out as well.
const shaded = ({ label, rows, columns, values, low, high }) =>
  values.length <= 16 && values[0].length <= 12
    ? grid({ label, rows, columns, values, low, high, digits: 3 })
    : mosaic({ label, values: values.map((row) => row.map((x) => (x - low) / (high - low))) });

// The end of an axis whose four parts are round numbers.
const end = (x) => {
  const unit = 10 ** Math.floor(Math.log10(x));
  return unit * [1, 2, 4, 6, 8, 10].find((part) => part * unit >= x);
};

// Two arrows in the plane of one pair of columns.
const plane = ({ label, arrows }) => {
  const drawn = arrows.map(({ name, at: [x, y], dash }, k) => {
    const [px, py] = [100 * x, -100 * y];
    return (
      `<path class="av-line av-line-${k}" stroke-dasharray="${dash}" ` +
      `d="M0 0L${px.toFixed(2)} ${py.toFixed(2)}"/><circle class="av-line av-line-${k}" ` +
      `cx="${px.toFixed(2)}" cy="${py.toFixed(2)}" r="4"/>` +
      `<text x="${(px * (1.15 + 0.2 * k)).toFixed(2)}" ` +
      `y="${(py * (1.15 + 0.2 * k) + 5).toFixed(2)}" text-anchor="middle">${escape(name)}</text>`
    );
  });
  return (
    `<svg class="av-plane" role="img" aria-label="${escape(label)}" viewBox="-145 -145 290 290">` +
    `<path class="av-rule" d="M-110 0H110M0 -110V110"/>` +
    `<circle class="av-rule" r="100" fill="none"/>${drawn.join("")}</svg>`
  );
};

const view = {
  sinusoid: ({ T, pairs, pair }, { table, wavelength }) => {
    const i = Math.min(pair, pairs - 1);
    const wave = (c) => table.map((row, t) => [t, row[2 * i + c]]);
    const degrees = 360 / wavelength;
    return (
      shaded({
        label: `Rows are positions 0 to ${T - 1}, columns 0 to ${2 * pairs - 1}: −1 light, 1 dark`,
        rows: range(T).map((t) => `t = ${t}`),
        columns: range(2 * pairs),
        values: table,
        low: -1,
        high: 1,
      }) +
      chart({
        label: `Sine and cosine of pair ${i} over the positions`,
        x: [0, 4 * Math.ceil((T - 1) / 4)],
        y: [-1, 1],
        xlabel: "position",
        ylabel: `pair ${i}`,
        lines: [
          { points: wave(0), name: `sine, ${2 * i}` },
          { points: wave(1), name: `cosine, ${2 * i + 1}`, dash: "6 4" },
        ],
      }) +
      say(
        `Pair ${i} is columns ${2 * i} and ${2 * i + 1}. It turns by ${fixed(degrees, 3)} ` +
          `degrees a position and repeats after ${fixed(wavelength, 2)} positions.`,
      )
    );
  },
  RoPE: ({ pairs, pair, m, n, shift, angle }, { query, key, score, unmoved, by_distance }) => {
    const i = Math.min(pair, pairs - 1);
    const most = end(Math.sqrt(pairs / 2));
    const points = by_distance.map((s, k) => [k - REACH, s]);
    const where = shift ? ` (moved by ${shift})` : "";
    return (
      `<p class="av-caption">The plane of pair ${i}: q is the query, turned to position ` +
      `${m + shift}, k the key, turned to ${n + shift}. The curve is the score over the ` +
      `distance.</p><div class="av-row">` +
      plane({
        label:
          `Pair ${i}: the query turned to position ${m + shift}, the key to position ` +
          `${n + shift}`,
        arrows: [
          { name: "q", at: query.slice(2 * i), dash: "" },
          { name: "k", at: key.slice(2 * i), dash: "6 4" },
        ],
      }) +
      chart({
        label: "The score over the distance, query position minus key position",
        x: [-REACH, REACH],
        y: [-most, most],
        xlabel: "distance m − n",
        ylabel: "score",
        lines: [{ points, name: "score" }],
        marks: [[m - n, score, `${m - n}`.replace("-", "−")]],
      }) +
      "</div>" +
      say(
        `Query at ${m + shift}, key at ${n + shift}${where}: distance ${fixed(m - n, 0)}, ` +
          `score ${fixed(score, 4)}. ` +
          `${shift ? `At ${m} and ${n} it is ${fixed(unmoved, 4)}. ` : ""}In pair ${i} the key ` +
          `was ${setting(angle)} degrees ahead before the two were turned.`,
      )
    );
  },
  ALiBi: ({ T, heads, rule }, { slopes, bias }) => {
    const shown = slopes.map((m, h) => `head ${h}: ${+m.toPrecision(4)}`);
    const steep = slopes.indexOf(Math.max(...slopes));
    const flat = slopes.indexOf(Math.min(...slopes));
    const low = Math.min(...bias.flat());
    const tail = { name: `head ${steep}`, points: bias[steep].map((b, k) => [k, b]) };
    const rest = { name: `head ${flat}`, points: bias[flat].map((b, k) => [k, b]), dash: "6 4" };
    return (
      shaded({
        label: `Rows are heads, columns distances 0 to ${T - 1}: ${fixed(low, 3)} light, 0 dark`,
        rows: shown,
        columns: range(T),
        values: bias,
        low,
        high: 0,
      }) +
      chart({
        label: "The bias of the steepest and of the flattest head over the distance",
        x: [0, 4 * Math.ceil((T - 1) / 4)],
        y: [-end(-low), 0],
        xlabel: "distance",
        ylabel: "bias",
        lines: steep === flat ? [tail] : [tail, rest],
      }) +
      say(
        `${count(heads, "head")}, rule of the ` +
          `${rule === "paper" ? "paper" : "published code, the reference"}. Slopes: ` +
          `${slopes.map((m) => +m.toPrecision(4)).join(", ")}.` +
          (steep === flat ? "" : ` Head ${steep} is the steepest, head ${flat} the flattest.`),
      )
    );
  },
};

const figure = {
  name: "positions",
  controls: [
    { key: "kind", kind: "choice", label: "method", options: KINDS },
    {
      key: "T",
      kind: "range",
      label: "positions T",
      min: 2,
      max: 64,
      step: 1,
      when: only("sinusoid", "ALiBi"),
    },
    {
      key: "pairs",
      kind: "range",
      label: "pairs of columns",
      min: 1,
      max: 16,
      step: 1,
      when: only("sinusoid", "RoPE"),
    },
    {
      key: "pair",
      kind: "range",
      label: "pair to follow",
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
      min: 0,
      max: 32,
      step: 1,
      when: only("RoPE"),
    },
    {
      key: "n",
      kind: "range",
      label: "position of the key n",
      min: 0,
      max: 32,
      step: 1,
      when: only("RoPE"),
    },
    {
      key: "shift",
      kind: "range",
      label: "move both by",
      min: 0,
      max: 1000,
      step: 1,
      when: only("RoPE"),
    },
    {
      key: "angle",
      kind: "range",
      label: "key ahead (degrees)",
      min: -180,
      max: 180,
      step: 15,
      when: only("RoPE"),
    },
    {
      key: "heads",
      kind: "range",
      label: "heads H",
      min: 1,
      max: 16,
      step: 1,
      when: only("ALiBi"),
    },
    {
      key: "rule",
      kind: "choice",
      label: "rule",
      options: ["reference", "paper"],
      when: only("ALiBi"),
    },
  ],
  compute: (state) => compute[state.kind](state),
  view: (state, values) => view[state.kind](state, values),
};

export default figureModule(figure);
