// The residual stream: a row on its way through two blocks, and what each part
// adds.

import { dot, fixed, matmul, range, setting, softmax } from "../kit/numbers.js";
import { figureModule, say } from "../kit/common.js";

// The tokens and the matrices of the lesson, which are the same in both blocks.
const ROWS = { the: [1, 0, 1, 0], cat: [0, 2, 0, 2], sat: [1, 1, 0, 0] };
const TOKENS = Object.keys(ROWS);
const W_Q = [
  [1, 0, 1, 1],
  [0, 1, 1, 0],
  [1, 0, 0, 1],
  [0, 1, 1, 0],
];
const W_K = W_Q.map(([a, b, c, d]) => [c, d, a, b]); // the heads swapped
const W_V = [
  [1, 0, 0, 1],
  [0, 1, 1, 1],
  [1, 1, 0, 1],
  [0, 1, 1, 0],
];
const HALF = 0.5; // the factor in W_O, and the fraction that the network subtracts
const WIDTH = 4;
const HEADS = [0, 2]; // the first column of each
const EPS = 1e-5;

const attention = (X) => {
  const [Q, K, V] = [W_Q, W_K, W_V].map((W) => matmul(X, W));
  const head = (row, first) => row.slice(first, first + WIDTH / HEADS.length);
  const found = (i, first) => {
    const q = head(Q[i], first);
    const scores = K.slice(0, i + 1).map((k) => dot(q, head(k, first)) / Math.sqrt(q.length));
    return matmul(
      [softmax(scores)],
      V.slice(0, i + 1).map((v) => head(v, first)),
    )[0];
  };
  return X.map((_, i) => HEADS.flatMap((first) => found(i, first)).map((x) => HALF * x));
};
// W_1 writes a row twice, the second time negated; W_2 adds both copies.
const network = (X) => {
  const ramp = (x) => Math.max(0, x - HALF);
  return X.map((row) => row.map((x) => ramp(x) + ramp(-x)));
};

const rootOf = (row) => {
  const mean = row.reduce((a, b) => a + b) / row.length;
  const variance = row.reduce((sum, x) => sum + (x - mean) ** 2, 0) / row.length;
  return [mean, Math.sqrt(variance + EPS)];
};
const norm = (row) => {
  const [mean, r] = rootOf(row);
  return row.map((x) => (x - mean) / r);
};

const PRE = "pre-norm";
const POST = "post-norm";
const PARTS = ["attention_0", "feed_forward_0", "attention_1", "feed_forward_1"];
const nameOf = (part) => part.replace("_", "-").replace(/[-_]\d/, "");
const blockOf = (part) => Number(part.at(-1));

// All rows after each part, the part's input, and the part's output.
const through = (state) => {
  let X = TOKENS.map((token) => ROWS[token]);
  return PARTS.map((part) => {
    const read = state.place === PRE && state.norms ? X.map(norm) : X;
    const made = nameOf(part) === "attention" ? attention(read) : network(read);
    const change = made.map((row) => row.map((x) => (state[part] ? x : 0)));
    const sum = change.map((row, i) => row.map((x, c) => x + (state.stream ? X[i][c] : 0)));
    X = rescales(state) ? sum.map(norm) : sum;
    return { read, change, sum, after: X };
  });
};
const rescales = ({ place, norms }) => place === POST && norms;
const WHOLE = {
  ...Object.fromEntries(PARTS.map((part) => [part, true])),
  norms: true,
  stream: true,
};

// --- drawing -------------------------------------------------------------

const LEFT = 128;
const COLUMN = 68;
const FULL = LEFT + WIDTH * COLUMN;
// The ends of a column. Without the norms, numbers reach 16.
const LOW = -2.1;
const columnEnd = ({ norms }) => (norms ? 4.8 : 16.5);
const HEAD = 58;
const HIGHS = { enters: 30, norm: 23, part: 30, leaves: 32 };
const at = (x) => +x.toFixed(1);
const px = (state, c, v) =>
  at(LEFT + COLUMN * c + 4 + ((v - LOW) / (columnEnd(state) - LOW)) * (COLUMN - 8));

// The rows of the picture from top to bottom, each with the positions of its
// bars.
const layout = ({ place }) => {
  const order = place === PRE ? ["norm", "part"] : ["part", "norm"];
  const kinds = [
    ["enters"],
    ...PARTS.flatMap((_, k) => order.map((kind) => [kind, k])),
    ["leaves", PARTS.length - 1],
  ];
  let y = HEAD;
  return kinds.map(([kind, k]) => {
    const line = { kind, k, top: y, middle: y + HIGHS[kind] - 8 };
    y += HIGHS[kind];
    return line;
  });
};
const TALL = HEAD + HIGHS.enters + 4 * (HIGHS.norm + HIGHS.part) + HIGHS.leaves + 4;

const words = (text, x, y, kind = "", anchor = "middle") =>
  `<text${kind && ` class="${kind}"`} x="${at(x)}" y="${at(y)}" text-anchor="${anchor}">` +
  `${text}</text>`;
const signed = (x) => (x > 0 && fixed(x) !== "0.00" ? "+" : "") + fixed(x);
const bar = (state, c, from, to, y, kind = "") => {
  const [a, b] = [px(state, c, from), px(state, c, to)];
  const sign = to < from ? "less" : "more";
  return (
    `<rect class="av-bar-${sign}${kind}" x="${Math.min(a, b)}" y="${at(y - 4)}" ` +
    `width="${at(Math.abs(b - a))}" height="8"/>`
  );
};

// The parts that can be pressed: the setting, its new value, and the position.
const BOX = { x: 18, w: 84 };
const handles = (state) => {
  const to = (key, value, on, name, where) => ({
    ...{ id: `${key}-${where}`, group: key, key, name, on, where },
    press: () => ({ [key]: value }),
  });
  const choice = (key, value, name, where) => ({
    ...to(key, value, value === state[key], name, where),
    text: value,
  });
  const flag = (key, name, where, text) => ({
    ...to(key, !state[key], state[key], name, where),
    ...{ group: "parts", text },
  });
  const units = layout(state).flatMap(({ kind, k, top }) => {
    if (kind === "norm") return [flag("norms", "all norms", [BOX.x, top + 2, BOX.w, 19], "norm")];
    if (kind !== "part") return [];
    const name = `${nameOf(PARTS[k])}, block ${blockOf(PARTS[k])}`;
    return [
      flag(PARTS[k], name, [BOX.x, top + 3, BOX.w, 24], nameOf(PARTS[k])),
      flag("stream", "all sums", [BOX.x + BOX.w + 1, top + 3, 24, 24], state.stream ? "+" : "="),
    ];
  });
  return [
    ...[PRE, POST].map((place, i) => choice("place", place, place, [64 * i, 2, 62, 24])),
    ...TOKENS.map((token, i) => choice("token", token, `follow ${token}`, [42 * i, 30, 40, 24])),
    ...range(WIDTH).map((c) =>
      choice("column", c, `number ${c}`, [LEFT + COLUMN * c + 3, 30, COLUMN - 6, 24]),
    ),
    ...units,
  ];
};

const drawUnits = (state) =>
  handles(state).map(({ id, key, on, where: [x, y, w, h], text }) => {
    const [u, v] = [x + w / 2, y + h / 2];
    const chosen = ["place", "token"].includes(key);
    const off = !chosen && !on && key !== "column" && key !== "stream" ? " av-unit-off" : "";
    const ground =
      key === "stream"
        ? `<circle class="av-unit" cx="${u}" cy="${at(v)}" r="9"/>`
        : `<rect class="av-unit${off}${chosen && on ? " av-unit-chosen" : ""}` +
          `${key === "column" ? " av-bare" : ""}" x="${x}" y="${at(y)}" width="${w}" ` +
          `height="${h}" rx="4"/>`;
    const kind = key === "stream" ? "av-sign" : off.trim();
    return (
      `<g data-handle="${id}">${ground}` +
      `${words(text, u, v + (key === "stream" ? 5 : 4), kind)}</g>`
    );
  });

// One row of the picture: bars from the stream's old values to its new ones.
const drawLine = (state, { rows, reads, changes, sums, whole }, { kind, k, middle }) => {
  const number = (c, text) => words(text, LEFT + COLUMN * (c + 0.5), middle - 7, "av-value");
  const each = (draw) => range(WIDTH).map(draw).join("");
  if (kind === "enters")
    return each((c) => bar(state, c, 0, rows[0][c], middle) + number(c, fixed(rows[0][c])));
  if (kind === "part") {
    const from = (c) => (state.stream ? rows[k][c] : 0);
    return each(
      (c) => bar(state, c, from(c), sums[k][c], middle) + number(c, signed(changes[k][c])),
    );
  }
  if (kind === "leaves")
    return each((c) => {
      const x = px(state, c, whole[c]);
      const ghost = `<path class="av-ghost" d="M${x} ${at(middle - 7)}V${at(middle + 7)}"/>`;
      return (
        bar(state, c, 0, rows[k + 1][c], middle, " av-end") +
        ghost +
        number(c, fixed(rows[k + 1][c]))
      );
    });
  if (!state.norms) return "";
  if (rescales(state))
    return each((c) => {
      const [a, b] = [px(state, c, sums[k][c]), px(state, c, rows[k + 1][c])];
      return (
        `<path class="av-row-pull" d="M${a} ${at(middle)}H${b}"/>` +
        `<circle class="av-row-pull" cx="${b}" cy="${at(middle)}" r="3"/>`
      );
    });
  return each(
    (c) =>
      `<circle class="av-read-row" cx="${px(state, c, reads[k][c])}" cy="${at(middle - 2)}" r="3"/>`,
  );
};

// The stream itself: a line down each column, from each row to the next. It
// breaks where a part replaces the row.
const drawStream = (state, { rows, sums }) => {
  const lines = layout(state);
  const value = ({ kind, k }, c) =>
    kind === "enters" || (kind === "norm" && state.place === PRE)
      ? rows[k ?? 0][c]
      : kind === "part"
        ? sums[k][c]
        : rows[k + 1][c];
  return lines.slice(1).flatMap((line, n) => {
    if (line.kind === "part" && !state.stream) return [];
    const before = lines[n];
    return range(WIDTH).map(
      (c) => `M${px(state, c, value(before, c))} ${at(before.middle)}V${at(line.middle)}`,
    );
  });
};

const picture = (state, values) => {
  const lines = layout(state);
  const [, first] = lines;
  const heights = 2 * (HIGHS.norm + HIGHS.part);
  const zero = range(WIDTH).map((c) => `M${px(state, c, 0)} ${HEAD}V${TALL - 4}`);
  const blocks = [0, 1].map((b) => {
    const top = first.top + b * heights;
    return (
      `<path class="av-rule" d="M0 ${top}H${FULL}"/>` +
      `<text transform="translate(10 ${at(top + heights / 2)}) rotate(-90)" ` +
      `text-anchor="middle">block ${b}</text>`
    );
  });
  const end = lines.at(-1);
  const label =
    `The row of ${state.token} through two blocks: ${list(values.rows[0])} enters and ` +
    `${list(values.rows.at(-1))} leaves`;
  return (
    `<svg class="av-flow" role="img" aria-label="${label}" viewBox="-1 0 ${FULL + 1} ${TALL}">` +
    `<rect class="av-column" x="${LEFT + COLUMN * state.column}" y="28" width="${COLUMN}" ` +
    `height="${TALL - 30}" rx="4"/>` +
    words("the four numbers of the row", (LEFT + FULL) / 2, 18) +
    `<path class="av-rule" d="${zero.join("")}M0 ${end.top}H${FULL}"/>${blocks.join("")}` +
    `<path class="av-stream" d="${drawStream(state, values).join("")}"/>` +
    lines.map((line) => drawLine(state, values, line)).join("") +
    drawUnits(state).join("") +
    words(`${state.token} enters`, BOX.x, lines[0].middle, "", "start") +
    words(`${state.token} leaves`, BOX.x, end.middle, "", "start") +
    "</svg>"
  );
};

// --- in words ------------------------------------------------------------

const short = (x) => setting(+x.toFixed(2));
const list = (row) => `(${row.map(short).join(", ")})`;
const added = (x) => `${x < 0 ? "−" : "+"} ${short(Math.abs(x))}`;
const sentence = (state, { rows, changes, kept }) => {
  const c = state.column;
  const [entered, leaves] = [rows[0][c], rows.at(-1)[c]];
  const start = `Number ${c} of ${state.token}`;
  const scale = state.norms
    ? ""
    : ` Without norms, each column reaches up to ${columnEnd(state)} instead of ` +
      `${columnEnd(WHOLE)}.`;
  if (!state.stream)
    return (
      `${start} enters as ${short(entered)} and leaves as ${short(leaves)}. Without the sums each ` +
      `part takes the place of the row that it reads, and the row itself is not carried on.${scale}`
    );
  if (rescales(state))
    return (
      `${start} enters as ${short(entered)} and leaves as ${short(leaves)}. Each norm rescales the ` +
      `sum, so the row that entered is in the row that leaves with a factor of ${fixed(kept, 3)}; ` +
      `with ${PRE} it is there in full.`
    );
  return (
    `${start}: ${short(entered)} ${changes.map((row) => added(row[c])).join(" ")} ≈ ` +
    `${short(leaves)}. The row that leaves is the row that entered plus the changes.${scale}`
  );
};

const part = (key) => ({
  key,
  kind: "flag",
  label: `${nameOf(key)}, block ${blockOf(key)}`,
  first: true,
  about: `Let the ${nameOf(key)} of block ${blockOf(key)} add its change`,
});

const figure = {
  name: "block",
  card: { part: ".av-flow", box: "128 56 272 160" },
  controls: [
    {
      key: "token",
      kind: "choice",
      label: "token",
      first: "cat",
      about: "The token whose row is followed",
      options: TOKENS,
    },
    {
      key: "place",
      kind: "choice",
      label: "place of the norm",
      first: PRE,
      about: "Normalise what a part reads, or the sum that it leaves",
      options: [PRE, POST],
    },
    ...PARTS.map(part),
    {
      key: "norms",
      kind: "flag",
      label: "norms",
      first: true,
      about: "Normalise at all",
    },
    {
      key: "stream",
      kind: "flag",
      label: "sums",
      first: true,
      about: "Add each change to the row; without, it takes the row's place",
    },
    {
      key: "column",
      kind: "range",
      label: "number of the row",
      first: 3,
      about: "The number of the row whose sum is told",
      min: 0,
      max: WIDTH - 1,
      step: 1,
    },
  ],
  compute: (state) => {
    const i = TOKENS.indexOf(state.token);
    const steps = through(state);
    const of = (kind) => steps.map((step) => step[kind][i]);
    const sums = of("sum");
    const factors = sums.map((row) => (rescales(state) ? 1 / rootOf(row)[1] : 1));
    return {
      rows: [ROWS[state.token], ...of("after")],
      reads: of("read"),
      changes: of("change"),
      sums,
      kept: state.stream ? factors.reduce((a, b) => a * b) : 0,
      whole: through({ ...state, ...WHOLE }).at(-1).after[i],
    };
  },
  view: (state, values) =>
    `<p class="av-caption">Press a part to switch it off; a norm stands for all norms, and a + for ` +
    `all sums. Thick lines: the stream. Bars: what a part adds (blue) or takes away (orange). ${
      state.place === PRE ? "Rings: what a part reads" : "Dots: the sum after a norm"
    }. Dashes: the row that leaves with all parts on.</p>` +
    picture(state, values) +
    say(sentence(state, values)),
  handles,
};

export default figureModule(figure);
