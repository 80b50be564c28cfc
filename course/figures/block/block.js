// The residual stream: a row on its way through two blocks, and what each part
// adds.

import { dot, fixed, matmul, range, setting, softmax, tick } from "../kit/numbers.js";
import { textAt } from "../kit/svg.js";
import { softly } from "../kit/opening.js";
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

// A rail for one number of the row: its value across, the way through the parts down.
const WIDE = { width: 640, parts: 132, left: 176, right: 480, top: 66, band: 90, norm: 161 };
const NARROW = { width: 360, parts: 104, left: 142, right: 348, top: 158, band: 84, norm: 131 };
const MINI = { wide: [130, 106], narrow: [84, 84] };
const LOW = -2.2;
// The ends of the scale. Without the norms, numbers reach 16.
const scaleOf = ({ norms }) => (norms ? [4.9, [-2, 0, 2, 4]] : [16.5, [0, 5, 10, 15]]);
const PASSED = PARTS.length;
const at = (x) => +x.toFixed(1);

// Where a value and a way are in a box.
const railIn = (state, { left, right, top, band }) => ({
  x: (v) => at(left + ((v - LOW) / (scaleOf(state)[0] - LOW)) * (right - left)),
  y: (way) => at(top + way * band),
});
// The way of a number: carried on, kicked by a part, and rescaled by a norm.
const BENDS = { carry: [0, 0.25], kick: [0.25, 0.65], rescale: [0.65, 1] };
const wayOf = (stream, c, rows, sums) =>
  PARTS.flatMap((_, k) => {
    const from = stream ? rows[k][c] : 0;
    const ends = {
      carry: [rows[k][c], rows[k][c]],
      kick: [from, sums[k][c]],
      rescale: [sums[k][c], rows[k + 1][c]],
    };
    return Object.keys(BENDS).map((kind) => ({
      ...{ kind, k, ends: ends[kind] },
      times: BENDS[kind].map((t) => k + t),
    }));
  });
// How far a bend is gone through, from 0 to 1.
const gone = ({ times: [a, b] }, passed) => Math.min(Math.max((passed - a) / (b - a), 0), 1);
const between = (a, b, p) => a + (b - a) * p;
// The first part `p` of a bend: y is linear, and x eases from one end to the other.
const bend = (rail, { ends: [a, b], times: [s, t] }, p = 1) => {
  const y = (share) => rail.y(between(s, t, share));
  const x = (share) => rail.x(between(a, b, share));
  return `M${x(0)} ${y(0)}C${x(0)} ${y(p / 3)} ${x(p * p)} ${y((2 * p) / 3)} ${x(softly(p))} ${y(p)}`;
};
const roleOf = (part) => `av-of-${nameOf(part)}`;
const pathOf = (state, rail, way) =>
  way
    .map((it) => {
      const p = gone(it, state.passed);
      const part = PARTS[it.k];
      const kind = `av-${it.kind}${it.kind === "kick" && state[part] ? ` ${roleOf(part)}` : ""}`;
      return `<path class="${kind}" opacity="${p > 0 ? 1 : 0}" d="${bend(rail, it, p)}"/>`;
    })
    .join("");
const ghostOf = (rail, way) =>
  `<path class="av-ghost" d="${way.map((it) => bend(rail, it)).join("")}"/>`;

const seen = (yes) => (yes ? "" : ' opacity="0"');
const words = (text, x, y, { kind = "", anchor = "start", shown = true } = {}) =>
  textAt(text, x, y, anchor, kind).replace("<text", `<text${seen(shown)}`);
const signed = (x) => (x > 0 && fixed(x) !== "0.00" ? "+" : "") + fixed(x);
// A line with a head at its end.
const arrow = (kind, [from, to], y) => {
  const back = from < to ? -6 : 6;
  return `<path class="av-cord ${kind}" d="M${from} ${y}H${to}m${back} -4l${-back} 4l${back} 4"/>`;
};
// A part reads the row above its middle, and below it adds its kick.
const [READS, KICKS] = [0.19, 0.45];
// Where the arrow meets the thick curve of a kick, which is the flatter the longer it is.
const tipAt = (rail, { ends }) => {
  const [a, b] = ends.map(rail.x);
  const slope = (1.5 * (b - a)) / (rail.y(0.65) - rail.y(0.25));
  return at((a + b) / 2 - 4 * Math.hypot(1, slope) - 2);
};

// The parts of a block, which are pressed.
const drawParts = (state, box, rail, way, changes) =>
  way
    .filter(({ kind }) => kind === "kick")
    .map((it) => {
      const part = PARTS[it.k];
      const [y, kick] = [READS, KICKS].map((t) => rail.y(it.k + t));
      const row = way[way.indexOf(it) - 1].ends[0];
      const off = state[part] ? "" : " av-away";
      const role = roleOf(part);
      const change = changes[it.k][state.column];
      return (
        arrow(`av-taking${off}`, [rail.x(row) - 4, box.parts + 3], y) +
        arrow(role + off, [box.parts, tipAt(rail, it)], kick) +
        words("norm", box.norm, y + 4, {
          ...{ kind: "av-aside", anchor: "middle" },
          shown: state.norms && state.place === PRE && state[part],
        }) +
        `<g data-handle="${part}"><rect class="av-kicker ${role}${off}" x="1" y="${at(y - 12)}" ` +
        `width="${box.parts - 1}" height="${at(kick - y + 24)}" rx="7"/>` +
        words(nameOf(part), box.parts / 2, y + 5, { anchor: "middle", kind: off.trim() }) +
        words(signed(change), box.parts / 2, kick + 6, {
          ...{ anchor: "middle", kind: `av-change ${role}` },
          shown: state[part] && gone(it, state.passed) > 0.5,
        }) +
        "</g>"
      );
    })
    .join("");
const drawLabels = (state, box, rail, way, { rows, whole }) => {
  const c = state.column;
  const pulls = way.filter(({ kind }) => kind === "rescale");
  const [start, end, all] = [rows[0][c], rows.at(-1)[c], whole.at(-1)[c]];
  const arrived = state.passed === PASSED;
  const enters = `enters as ${fixed(start)}`;
  const roomy = rail.x(start) + 12 + 9.6 * enters.length < Math.min(box.right + 30, box.width);
  // Below the ends, where no line is.
  const below = (text, v, y, more) => {
    const half = 3.6 * text.length;
    const x = Math.min(rail.x(v), Math.min(box.right + 26, box.width) - half);
    return words(text, at(x), rail.y(PASSED) + y, { ...more, anchor: "middle" });
  };
  return (
    pulls
      .map((it) => {
        const y = rail.y(it.k + 0.82);
        const to = at(rail.x(between(...it.ends, 0.5)) - 5);
        const shown = rescales(state) && gone(it, state.passed) > 0.5;
        return (
          arrow(`av-taking${shown ? "" : " av-away"}`, [box.norm - 16, to], y) +
          words("norm", box.norm, y + 4, { kind: "av-aside", anchor: "middle", shown })
        );
      })
      .join("") +
    (roomy
      ? words(enters, rail.x(start) + 12, rail.y(0) + 5, { kind: "av-end" })
      : words(enters, rail.x(start) - 12, rail.y(0) - 4, { kind: "av-end", anchor: "end" })) +
    below(`leaves as ${fixed(end)}`, end, 25, { kind: "av-end", shown: arrived }) +
    below(`dashed: with all parts ${fixed(all)}`, all, 43, {
      ...{ kind: "av-all", shown: fixed(all) !== fixed(end) && arrived },
    })
  );
};
// The four numbers of the row, small; a press makes one large.
const placesOf = (narrow) =>
  range(WIDTH).map((c) =>
    narrow ? [c * 92, 2, ...MINI.narrow] : [510, 8 + c * 115, ...MINI.wide],
  );
const drawMinis = (state, { rows, sums, whole, wholeSums }, narrow) =>
  placesOf(narrow)
    .map(([x, y, w, h], c) => {
      const rail = railIn(state, {
        ...{ left: x + 8, right: x + w - 8 },
        ...{ top: y + 22, band: (h - 44) / PASSED },
      });
      const chosen = c === state.column ? " av-enlarged" : "";
      return (
        `<g class="av-mini" data-handle="column-${c}">` +
        `<rect class="av-tile${chosen}" x="${x + 1}" y="${y}" width="${w - 2}" height="${h}" rx="7"/>` +
        `<path class="av-rule" d="M${rail.x(0)} ${rail.y(0)}V${rail.y(PASSED)}"/>` +
        ghostOf(rail, wayOf(true, c, whole, wholeSums)) +
        pathOf(state, rail, wayOf(state.stream, c, rows, sums)) +
        words(`number ${c}`, x + w / 2, y + 15, { anchor: "middle" }) +
        words("0", rail.x(0), y + h - 6, { anchor: "middle", kind: "av-aside" }) +
        words(fixed(rows.at(-1)[c]), x + w - 8, y + h - 6, { anchor: "end", kind: "av-left" }) +
        "</g>"
      );
    })
    .join("");
const picture = (state, values, narrow) => {
  const box = narrow ? NARROW : WIDE;
  const { token, column: c, passed } = state;
  const rail = railIn(state, box);
  const way = wayOf(state.stream, c, values.rows, values.sums);
  const now = way.find((it) => gone(it, passed) < 1) ?? way.at(-1);
  const tall = rail.y(PASSED) + 50;
  const label =
    `The row of ${token} through two blocks: ${list(values.rows[0])} enters and ` +
    `${list(values.rows.at(-1))} leaves`;
  const ticks = scaleOf(state)[1].map(
    (v) =>
      `<path class="av-rule${v ? "" : " av-zero"}" d="M${rail.x(v)} ${rail.y(0) - 18}V${rail.y(PASSED) + 12}"/>` +
      words(tick(v), rail.x(v), rail.y(0) - 24, { anchor: "middle", kind: "av-notch" }),
  );
  const blocks = [0, 1].map(
    (b) =>
      `<path class="av-rule" d="M0 ${rail.y(2 * b)}H${box.parts}"/>` +
      words(`block ${b}`, 1, rail.y(2 * b) - 6, { kind: "av-aside" }),
  );
  // Where a part takes the row's place, the row ends.
  const stops = way
    .filter(({ kind }) => kind === "carry")
    .map(
      ({ ends: [a], times: [, t] }) =>
        `<path class="av-stop"${seen(!state.stream && passed >= t)} ` +
        `d="M${at(rail.x(a) - 9)} ${rail.y(t)}h18"/>`,
    );
  return (
    `<svg class="av-rail" role="img" aria-label="${label}" viewBox="0 0 ${box.width} ${tall}">` +
    ticks.join("") +
    blocks.join("") +
    words(`number ${c} of the row of ${token}`, (box.left + box.right) / 2, rail.y(0) - 46, {
      ...{ anchor: "middle", kind: "av-end" },
    }) +
    ghostOf(rail, wayOf(true, c, values.whole, values.wholeSums)) +
    drawParts(state, box, rail, way, values.changes) +
    pathOf(state, rail, way) +
    stops.join("") +
    `<circle class="av-start" cx="${rail.x(values.rows[0][c])}" cy="${rail.y(0)}" r="5"/>` +
    `<circle class="av-mover" cx="${rail.x(between(...now.ends, softly(gone(now, passed))))}" ` +
    `cy="${rail.y(passed)}" r="8"/>` +
    drawLabels(state, box, rail, way, values) +
    drawMinis(state, values, narrow) +
    "</svg>"
  );
};

// --- in words ------------------------------------------------------------

const short = (x) => setting(+x.toFixed(2));
const list = (row) => `(${row.map(short).join(", ")})`;
const added = (x) => `${x < 0 ? "−" : "+"} ${short(Math.abs(x))}`;
const sentence = (state, { rows, changes, kept }) => {
  const c = state.column;
  const [entered, leaves] = [rows[0][c], rows.at(-1)[c]].map(short);
  if (!state.stream)
    return (
      `${entered} enters and ${leaves} leaves. Without the sums each part takes the place of ` +
      "the row that it reads, and nothing of the row is carried on."
    );
  if (rescales(state))
    return (
      `${entered} enters and ${leaves} leaves. Each norm rescales the sum, so the row that ` +
      `entered is in the row that leaves with a factor of ${fixed(kept, 3)}.`
    );
  return (
    `${entered} ${changes.map((row) => added(row[c])).join(" ")} ≈ ${leaves}. Press a part: ` +
    "its kick is gone, and later parts read another row."
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
  card: { part: ".av-rail", box: "160 40 330 200" },
  lead: ["token", "place"],
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
      about: "The number of the row that is drawn large",
      min: 0,
      max: WIDTH - 1,
      step: 1,
    },
    {
      key: "passed",
      kind: "range",
      label: "parts passed",
      first: PASSED,
      about: "How far the row has come",
      min: 0,
      max: PASSED,
      step: 0.05,
    },
  ],
  compute: (state) => {
    const i = TOKENS.indexOf(state.token);
    const steps = through(state);
    const all = through({ ...state, ...WHOLE });
    const of = (kind) => steps.map((step) => step[kind][i]);
    const sums = of("sum");
    const factors = sums.map((row) => (rescales(state) ? 1 / rootOf(row)[1] : 1));
    return {
      rows: [ROWS[state.token], ...of("after")],
      reads: of("read"),
      changes: of("change"),
      sums,
      kept: state.stream ? factors.reduce((a, b) => a * b) : 0,
      whole: [ROWS[state.token], ...all.map(({ after }) => after[i])],
      wholeSums: all.map(({ sum }) => sum[i]),
    };
  },
  view: (state, values, own, narrow) =>
    picture(state, values, narrow) + say(sentence(state, values)),
  // Parts are switched, and a small number becomes the large one.
  handles: (state) => [
    ...PARTS.map((key) => ({
      ...{ id: key, group: "parts", on: state[key] },
      name: `${nameOf(key)}, block ${blockOf(key)}`,
      press: (now) => ({ [key]: !now[key] }),
    })),
    ...range(WIDTH).map((c) => ({
      ...{ id: `column-${c}`, group: "numbers", once: true, on: c === state.column },
      name: `number ${c}`,
      press: () => ({ column: c }),
    })),
  ],
  opening: { from: [{ passed: 0 }], ms: 5000 },
};

export default figureModule(figure);
