// Three objects that look for objects like themselves, with one head or two.

import { dot, fixed, inWords, matmul, range, setting, softmax } from "../kit/numbers.js";
import { escape } from "../kit/svg.js";
import { grip } from "../kit/handles.js";
import { figureModule, say } from "../kit/common.js";

const OBJECTS = ["red ball", "blue ball", "red box"];
const FEATURES = ["red", "blue", "ball", "box"];
const X = [
  [1, 0, 1, 0],
  [0, 1, 1, 0],
  [1, 0, 0, 1],
];
const WIDE = FEATURES.length;
const HEADS = [0, 1];
const LOG4 = Math.log(4); // a shared feature multiplies the exponential by 4

const columnsOf = (h, cut) => (h === 0 ? range(cut) : range(WIDE).slice(cut));
const headOf = (h, cut) => {
  const columns = columnsOf(h, cut);
  const rows = X.map((row) => columns.map((c) => row[c]));
  // A head without columns compares nothing and returns nothing.
  if (!columns.length) return { weights: X.map(() => X.map(() => 0)), output: X.map(() => []) };
  const weights = rows.map((q) => softmax(rows.map((k) => LOG4 * dot(q, k))));
  return { weights, output: matmul(weights, rows) };
};

// --- drawing -----------------------------------------------------------------

const WIDE_PAGE = { width: 640, middle: [130, 320, 510] };
WIDE_PAGE.table = { left: 176, top: 252, wide: 100, high: 26 };
const NARROW_PAGE = { width: 360, middle: [70, 180, 290] };
NARROW_PAGE.table = { left: 84, top: 252, wide: 66, high: 26 };
const HEIGHT = 378;
const LEVEL = 112; // of the objects
const put2 = (x) => +x.toFixed(1);
const text = (words, x, y, anchor = "middle", kind = "") =>
  `<text${kind && ` class="${kind}"`} x="${put2(x)}" y="${put2(y)}" text-anchor="${anchor}">` +
  `${escape(words)}</text>`;

const shapeOf = (i) => {
  const kind = `class="av-object av-${FEATURES[X[i].indexOf(1)]}"`;
  return X[i][2]
    ? `<circle ${kind} cx="0" cy="0" r="17"/>`
    : `<rect ${kind} x="-16" y="-16" width="32" height="32"/>`;
};
// The lines of head 0 pass above the objects, and those of head 1 below. A weight
// is outside the loop of the object that asks, and inside the other lines.
const lineOf = (h, from, to, weight, middle) => {
  const up = h === 0 ? -1 : 1;
  const start = LEVEL + up * 22;
  const far = Math.abs(middle[from] - middle[to]);
  const rise = from === to ? 30 : 16 + far / 7;
  const [a, b] = from === to ? [middle[from] - 15, middle[from] + 15] : [middle[from], middle[to]];
  const bend = start + up * 2 * rise;
  const level = start + up * (from === to ? rise + 11.5 : rise - 11.5);
  return [
    `<path class="av-takes${weight < 0.2 ? " av-slight" : ""}" stroke-width="${put2(1 + 9 * weight)}" ` +
      `d="M${a} ${start}Q${put2((a + b) / 2)} ${put2(bend)} ${b} ${start}"/>`,
    text(fixed(weight), (a + b) / 2, level + 4.5, "middle", "av-weight"),
  ];
};
const switchOf = (h, cut, on) => {
  const columns = columnsOf(h, cut);
  const state = !columns.length ? "no columns" : on ? "on" : "off";
  return grip(
    `head-${h}`,
    [4, h === 0 ? 18 : LEVEL + 89],
    `<rect class="av-headswitch${on && columns.length ? " av-turned" : ""}" x="0" y="-13" width="140" height="26" rx="13"/>` +
      text(`head ${h}: ${state}`, 70, 5),
  );
};
const tableOf = ({ cut, query }, output, { left, top, wide, high }) => {
  const cell = (value, i, c, kind) =>
    `<rect class="${kind} av-of-head-${c < cut ? 0 : 1}" x="${left + c * wide + 2}" ` +
    `y="${top + i * high + 2}" width="${wide - 4}" height="${high - 4}"/>` +
    text(value, left + (c + 0.5) * wide, top + (i + 0.5) * high + 5);
  const rows = X.map((row, i) => row.map((x, c) => cell(setting(x), i, c, "av-feature")).join(""));
  const sum = output[query].map((x, c) => cell(fixed(x), X.length + 0.4, c, "av-feature")).join("");
  const names = OBJECTS.map((name, i) => text(name, left - 10, top + (i + 0.5) * high + 5, "end"));
  const owners = HEADS.filter((h) => columnsOf(h, cut).length).map((h) => {
    const own = columnsOf(h, cut);
    return text(
      `head ${h}`,
      left + (own[0] + own.length / 2) * wide,
      top - 24,
      "middle",
      "av-owner",
    );
  });
  return (
    FEATURES.map((name, c) => text(name, left + (c + 0.5) * wide, top - 8)).join("") +
    owners.join("") +
    names.join("") +
    rows.join("") +
    text("output", left - 10, top + 3.9 * high + 5, "end", "av-summed") +
    sum
  );
};

const sentence = ({ cut, query, ...state }) => {
  const parts = HEADS.map((h) => {
    const names = columnsOf(h, cut).map((c) => FEATURES[c]);
    if (!names.length) return `Head ${h} owns no column.`;
    if (!state[`head${h}`]) return `Head ${h} is off, and its columns of the output are 0.`;
    return `Head ${h} compares ${inWords(names)}.`;
  });
  return `The ${OBJECTS[query]} asks. ${parts.join(" ")}`;
};

const flag = (h) => ({
  key: `head${h}`,
  kind: "flag",
  label: `head ${h} is on`,
  first: true,
  about: `Whether head ${h} writes its output`,
});

const figure = {
  name: "objects",
  lead: [],
  controls: [
    {
      key: "cut",
      kind: "range",
      label: "columns of head 0",
      first: 2,
      about: "How many columns head 0 owns; head 1 owns the others",
      min: 1,
      max: WIDE,
      step: 1,
    },
    {
      key: "query",
      kind: "range",
      label: "object that asks",
      first: 0,
      about: "The object that asks",
      min: 0,
      max: X.length - 1,
      step: 1,
    },
    flag(0),
    { ...flag(1), when: ({ cut }) => cut < WIDE },
  ],
  // One head that reads all columns, then two heads that share them.
  opening: { from: [{ cut: WIDE }, { cut: WIDE }], ms: 4000 },
  compute: ({ cut, ...state }) => {
    const both = HEADS.map((h) => headOf(h, cut));
    const written = both.map(({ output }, h) =>
      output.map((row) => row.map((x) => (state[`head${h}`] ? x : 0))),
    );
    return {
      weights: both.map(({ weights }) => weights),
      output: written[0].map((row, i) => [...row, ...written[1][i]]),
    };
  },
  view: (state, { weights, output }, own, narrow) => {
    const { cut, query } = state;
    const { width, middle, table } = narrow ? NARROW_PAGE : WIDE_PAGE;
    const at = table.left + cut * table.wide;
    const label =
      `Three objects, and what the ${OBJECTS[query]} takes from each with ` +
      `${cut < WIDE ? "two heads" : "one wide head"}; below, the columns of each head`;
    // All lines first, so that none crosses a weight. Those of a head that is off
    // fade.
    const drawn = HEADS.map((h) =>
      range(X.length).map((j) => lineOf(h, query, j, weights[h][query][j], middle)),
    );
    const lines = [0, 1].flatMap((part) =>
      HEADS.map((h) => {
        const on = state[`head${h}`] && columnsOf(h, cut).length;
        const all = drawn[h].map((both) => both[part]).join("");
        return `<g opacity="${on ? 1 : 0}"${on ? "" : ' aria-hidden="true"'}>${all}</g>`;
      }),
    );
    const things = OBJECTS.map((name, i) =>
      grip(
        `object-${i}`,
        [middle[i], LEVEL],
        `<circle class="av-halo${i === query ? " av-asking" : ""}" cx="0" cy="0" r="26"/>` +
          shapeOf(i),
      ),
    );
    return (
      `<svg class="av-objects" role="img" aria-label="${label}" viewBox="0 0 ${width} ` +
      `${HEIGHT}">${lines.join("")}${things.join("")}` +
      HEADS.map((h) => switchOf(h, cut, state[`head${h}`])).join("") +
      tableOf(state, output, table) +
      grip(
        "cut",
        [at, table.top - 4],
        `<path class="av-parting" d="M0 0V${4.5 * table.high}"/><circle class="av-parting-end" cx="0" cy="0" r="8"/>`,
      ) +
      `</svg>${say(sentence(state))}`
    );
  },
  handles: (state, values, own, narrow) => {
    const { table } = narrow ? NARROW_PAGE : WIDE_PAGE;
    const cut = {
      id: "cut",
      name: "cut between the heads",
      keys: ["cut"],
      at: [table.left + state.cut * table.wide, table.top - 4],
      read: ([u]) => ({ cut: Math.round((u - table.left) / table.wide) }),
    };
    const objects = OBJECTS.map((name, i) => ({
      id: `object-${i}`,
      name: `the ${name} asks`,
      group: "objects",
      on: i === state.query,
      press: () => ({ query: i }),
    }));
    const heads = HEADS.map((h) => ({
      id: `head-${h}`,
      name: `head ${h}`,
      group: "heads",
      on: state[`head${h}`],
      press: (now) => ({ [`head${h}`]: !now[`head${h}`] }),
    }));
    return [cut, ...objects, ...heads];
  },
};

export default figureModule(figure);
