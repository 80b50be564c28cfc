// Projections in the plane: the query of one token and the key of another.

import { dot, fixed, matmul, range, setting } from "../kit/numbers.js";
import { grip } from "../kit/handles.js";
import { lettered } from "../kit/svg.js";
import { figureModule, say } from "../kit/common.js";

const END = { token: 2, row: 4 }; // planes go from -END to END
const NONE = 1e-9; // shorter vectors have no direction
const NEAR_ZERO = 0.05; // half a step of a token

const tokens = ({ x1, x2, y1, y2 }) => [
  [x1, x2],
  [y1, y2],
];
const times = (row, W) => matmul([row], W)[0];

// --- drawing -------------------------------------------------------------

const SIDE = 230;
const scaled = (end) => SIDE / 2 / (end + 0.35);
const at = (x) => +x.toFixed(1);
const place = ([a, b], end) => [SIDE / 2 + a * scaled(end), SIDE / 2 - b * scaled(end)].map(at);

const paper = (end) => {
  const lines = range(2 * end + 1).map((k) => {
    const [v] = place([k - end, 0], end);
    return `M0 ${v}H${SIDE}M${v} 0V${SIDE}`;
  });
  const middle = SIDE / 2;
  const [one] = place([1, 0], end);
  return (
    `<path class="av-rule" d="${lines.join("")}"/>` +
    `<path class="av-axes" d="M0 ${middle}H${SIDE}M${middle} 0V${SIDE}"/>` +
    `<text class="av-one" x="${one}" y="${middle + 14}" text-anchor="middle">1</text>`
  );
};
// A name is placed beyond its arrow, rotated just enough to stay inside the plane,
// beside all arrows, and clear of the other tips and of the earlier names.
const NEAR = 14;
const [FROM_TIPS, FROM_ARROWS, FROM_EDGES] = [19, 11, 11];
const TURNS = [0, 0.45, -0.45, 0.9, -0.9, 1.35, -1.35, 1.8, -1.8, 2.25, -2.25];
const fromArrow = ([x, y], tip) => {
  const [dx, dy] = [x - SIDE / 2, y - SIDE / 2];
  const [u, v] = [tip[0] - SIDE / 2, tip[1] - SIDE / 2];
  const along = Math.min(Math.max((dx * u + dy * v) / (u * u + v * v || 1), 0), 1);
  return Math.hypot(dx - along * u, dy - along * v);
};
const names = (arrows, end) => {
  const tips = arrows.map(([, vector]) => place(vector, end));
  const taken = [];
  return arrows.map(([text, vector, kind, first], k) => {
    const way = Math.hypot(...vector) < NONE ? Math.PI / 2 : Math.atan2(vector[1], vector[0]);
    const far = NEAR + 5 * (text.length - 1);
    const spots = TURNS.map((more) => {
      const turned = way + first + more;
      return [tips[k][0] + far * Math.cos(turned), tips[k][1] - far * Math.sin(turned)];
    });
    const others = [...tips.filter((_, i) => i !== k), ...taken];
    const room = (spot) =>
      Math.min(
        ...others.map((o) => Math.hypot(o[0] - spot[0], o[1] - spot[1]) - FROM_TIPS),
        ...tips.map((tip) => fromArrow(spot, tip) - FROM_ARROWS),
        ...spot.map((u) => Math.min(u, SIDE - u) - FROM_EDGES),
      );
    const spot =
      spots.find((s) => room(s) >= 0) ?? spots.reduce((a, b) => (room(b) > room(a) ? b : a));
    taken.push(spot);
    return (
      `<text class="av-${kind}" x="${at(spot[0])}" y="${at(spot[1] + 5)}" text-anchor="middle">` +
      `${text}</text>`
    );
  });
};
const arrow = (vector, end, kind) => {
  const [x, y] = place(vector, end);
  const head =
    kind === "value"
      ? `<rect class="av-${kind}" x="${at(x - 4)}" y="${at(y - 4)}" width="8" height="8"/>`
      : `<circle class="av-${kind}" cx="${x}" cy="${y}" r="5"/>`;
  return `<path class="av-${kind}" d="M${SIDE / 2} ${SIDE / 2}L${x} ${y}"/>${head}`;
};

const KIND = { W_Q: "query", W_K: "key", W_V: "value" };
const columnsOf = (W) => [0, 1].map((c) => W.map((line) => line[c]));
// Tokens, and the columns of one matrix: a product with a token is a number of
// its query, key or value, so columns are in the plane of the tokens.
const tokenArrows = (state) => {
  const end = END.token;
  const [x, y] = tokens(state);
  const kind = KIND[state.matrix];
  const all = [
    ...columnsOf(state[state.matrix]).map((w, c) => [`w${c}`, w, `${kind} av-of-w`, 0]),
    ["y", y, "name", -0.9],
    ["x", x, "name", 0.9],
  ];
  const written = names(all, end);
  return all
    .map(([name, vector, of], k) => {
      const [cx, cy] = place(vector, end);
      const token = of === "name";
      return (
        arrow(vector, end, token ? `token-${name}` : of) +
        written[k] +
        grip(
          name,
          [cx, cy],
          `<circle class="av-hold${token ? ` av-hold-${name}` : ""}" cx="0" cy="0" r="9"/>`,
        )
      );
    })
    .join("");
};

const roles = ({ q, k, v, foot, dot: sum }) => {
  const end = END.row;
  const [tip, low] = [place(k, end), place(foot, end)];
  const middle = SIDE / 2;
  return (
    `<path class="av-shadow" d="M${middle} ${middle}L${low[0]} ${low[1]}"/>` +
    `<path class="av-drop" d="M${tip[0]} ${tip[1]}L${low[0]} ${low[1]}"/>` +
    arrow(v, end, "value") +
    arrow(k, end, "key") +
    arrow(q, end, "query") +
    names(
      [
        ["v", v, "value", -0.9],
        ["k", k, "key", 0.9],
        ["q", q, "query", 0],
      ],
      end,
    ).join("") +
    `<text class="av-product" x="5" y="${SIDE - 7}">q · k = ${setting(sum)}</text>`
  );
};

// --- in words ------------------------------------------------------------

const exact = (x) => Math.abs(x - x.toFixed(4)) < 1e-12;
const row = (vector) => `(${vector.map(setting).join(", ")})`;
const made = (numbers, text) => `${numbers.every(exact) ? "=" : "≈"} ${text}`;
const factor = (x) => (x < 0 ? `(${setting(x)})` : setting(x));

const sentence = ({ q, k, dot: sum, score, length, shadow }) => {
  const product = `${factor(q[0])}×${factor(k[0])} + ${factor(q[1])}×${factor(k[1])}`;
  const way =
    length < NONE
      ? "q is zero, so each key would score 0"
      : Math.abs(sum) < NONE
        ? "k stands across q and casts no shadow on it"
        : `the length of q, ${fixed(length)}, times the shadow of k on it, ` +
          `${fixed(shadow)}${sum < 0 ? ", which falls against q" : ""}`;
  return (
    `q · k = ${product} ${made([...q, ...k, sum], setting(sum))}: ${way}. ` +
    `Divided by √2, the score is ${fixed(score)}.`
  );
};

const coordinate = ([key, first, about]) => ({
  key,
  kind: "range",
  label: key,
  first,
  about,
  min: -2,
  max: 2,
  step: 0.1,
});
const COORDINATES = [
  ["x1", 1, "First number of x"],
  ["x2", 1.5, "Second number of x"],
  ["y1", 1.5, "First number of y"],
  ["y2", -1, "Second number of y"],
];
const MATRICES = [
  [
    "W_Q",
    [
      [1, -0.5],
      [1, 0.5],
    ],
    "Makes queries",
  ],
  [
    "W_K",
    [
      [0.5, 1],
      [-1, 0],
    ],
    "Makes keys",
  ],
  [
    "W_V",
    [
      [-1, 0],
      [0.5, 1],
    ],
    "Makes values",
  ],
];
const matrixOf = ([key, first, about]) => ({
  key,
  kind: "matrix",
  label: key,
  first,
  shape: "(2, 2)",
  about,
  rows: [2, 2],
  columns: [2, 2],
  min: -1,
  max: 1,
});

const figure = {
  name: "project",
  card: { part: ".av-made", box: "40 62 150 92" },
  lead: ["matrix"],
  controls: [
    ...COORDINATES.map(coordinate),
    {
      key: "matrix",
      kind: "choice",
      label: "columns of the matrix",
      first: "W_Q",
      about: "The matrix whose columns are drawn beside the tokens",
      options: Object.keys(KIND),
    },
    ...MATRICES.map(matrixOf),
  ],
  compute: (state) => {
    const [x, y] = tokens(state);
    const [q, k, v] = [times(x, state.W_Q), times(y, state.W_K), times(y, state.W_V)];
    const length = Math.hypot(...q);
    const sum = dot(q, k);
    const shadow = length < NONE ? 0 : sum / length;
    const foot = q.map((c) => (length < NONE ? 0 : (c / length) * shadow));
    return { q, k, v, dot: sum, score: sum / Math.SQRT2, length, shadow, foot };
  },
  view: (state, values) => {
    const [x, y] = tokens(state);
    const svg = (kind, label, inside) =>
      `<svg class="av-${kind}" role="img" aria-label="${label}" viewBox="0 0 ${SIDE} ${SIDE}">` +
      `${inside}</svg>`;
    return (
      `<div class="av-planes"><div><p class="av-caption">Drag x, y, or a column of ` +
      `${lettered(state.matrix)}</p>` +
      svg(
        "given",
        `The tokens x ${row(x)} and y ${row(y)}, and the columns ` +
          `${columnsOf(state[state.matrix]).map(row).join(" and ")} of ${state.matrix}`,
        paper(END.token) + tokenArrows(state),
      ) +
      `</div><div><p class="av-caption">q of x, and k and v of y</p>` +
      svg(
        "made",
        `The query of x ${row(values.q)}, the key ${row(values.k)} and the value ` +
          `${row(values.v)} of y; the shadow of the key on the query is ` +
          `${fixed(values.shadow)} long`,
        paper(END.row) + roles(values),
      ) +
      `</div></div>${say(sentence(values))}`
    );
  },

  // Near a score of 0, the moving token snaps to where the score is exactly 0.
  fit: (state, moved) => {
    const name = /^[xy][12]$/.test(moved) ? moved[0] : null;
    if (!name) return null;
    const token = [state[`${name}1`], state[`${name}2`]];
    const { q, k } = figure.compute(state);
    // The score is the dot product of the token with this row.
    const [W, other] = name === "x" ? [state.W_Q, k] : [state.W_K, q];
    const across = W.map((line) => dot(line, other));
    const long = Math.hypot(...across);
    const off = dot(token, across) / long;
    if (!(long > NONE) || Math.abs(off) > NEAR_ZERO) return null;
    const settled =
      Math.abs(off) < NONE ? token : token.map((c, i) => c - (off * across[i]) / long);
    if (Math.hypot(...settled) < NEAR_ZERO || settled.some((c) => Math.abs(c) > END.token))
      return null;
    return {
      settings: { [`${name}1`]: settled[0], [`${name}2`]: settled[1] },
      says: "Here q and k are at a right angle, so the score is 0.",
    };
  },
  handles: (state) => {
    const unit = scaled(END.token);
    const handle = (id, name, keys, vector) => ({
      id,
      name,
      keys,
      at: [SIDE / 2 + vector[0] * unit, SIDE / 2 - vector[1] * unit],
      read: ([u, v]) => ({ [keys[0]]: (u - SIDE / 2) / unit, [keys[1]]: (SIDE / 2 - v) / unit }),
    });
    const { matrix } = state;
    return [
      ...tokens(state).map((vector, i) =>
        handle(
          "xy"[i],
          `token ${"xy"[i]}`,
          [1, 2].map((c) => `${"xy"[i]}${c}`),
          vector,
        ),
      ),
      ...columnsOf(state[matrix]).map((w, c) =>
        handle(
          `w${c}`,
          `column ${c} of ${matrix}`,
          [0, 1].map((i) => `${matrix}.${i}.${c}`),
          w,
        ),
      ),
    ];
  },
};

export default figureModule(figure);
