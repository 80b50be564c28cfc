// Pages: a server's memory for keys and values, which texts fill and free.

import { range } from "../kit/numbers.js";
import { grip } from "../kit/handles.js";
import { figureModule, say } from "../kit/common.js";
import { player } from "../kit/player.js";

const SLOTS = 64;
const LONGEST = 16; // tokens: the longest text, and what a piece reserves
const LAST = 23; // the step after which both memories are idle
const STEP = 600; // milliseconds per step of the film
const PIECES = "one piece per text";
// For each request: its arrival, the tokens of its prompt, and those of its
// answer.
const REQUESTS = [
  [0, 3, 6],
  [0, 2, 12],
  [1, 5, 4],
  [1, 4, 7],
  [2, 2, 5],
  [3, 6, 8],
  [3, 3, 4],
  [4, 5, 9],
  [5, 4, 6],
  [6, 2, 8],
];
const LETTERS = "ABCDEFGHIJ";
const total = (r) => REQUESTS[r][1] + REQUESTS[r][2];

// --- the server ----------------------------------------------------------

// The memory after each step. In each step complete texts leave, every other text
// writes one token and takes a page if it needs one, and waiting requests enter
// in order while there are pages for their prompts. With "one piece per text", a
// page is as long as the longest text.
const simulate = (page) => {
  const free = range(SLOTS / page);
  const pages = {}; // for each text in the memory
  const have = REQUESTS.map(() => 0);
  let next = 0; // the first request that still waits
  const take = (r) => pages[r].push(free.shift());
  return range(LAST + 1).map((step) => {
    for (const r of Object.keys(pages).filter((k) => have[k] === total(k))) {
      free.push(...pages[r]);
      delete pages[r];
    }
    free.sort((a, b) => a - b);
    const stuck = [];
    for (const r of Object.keys(pages).map(Number)) {
      const full = have[r] === pages[r].length * page;
      if (full && free.length) take(r);
      if (full && have[r] === pages[r].length * page) stuck.push(r);
      else have[r] += 1;
    }
    while (next < REQUESTS.length) {
      const [arrives, prompt] = REQUESTS[next];
      const needed = Math.ceil(prompt / page);
      if (arrives > step || needed > free.length) break;
      pages[next] = [];
      for (const _ of range(needed)) take(next);
      have[next] = prompt;
      next += 1;
    }
    const inside = Object.keys(pages).map(Number);
    const owner = Array(SLOTS).fill(-1);
    const filled = Array(SLOTS).fill(false);
    for (const r of inside)
      pages[r].forEach((number, k) => {
        for (const i of range(page)) {
          owner[number * page + i] = r;
          filled[number * page + i] = k * page + i < have[r];
        }
      });
    const status = REQUESTS.map(([arrives], r) => {
      if (inside.includes(r)) return stuck.includes(r) ? WAITS : RUNS;
      return arrives > step ? LATER : r < next ? DONE : WAITS;
    });
    return { owner, filled, status, have: [...have] };
  });
};
// Each page size is simulated once.
const simulated = {};
const serve = (page) => (simulated[page] ??= simulate(page));
const [LATER, WAITS, RUNS, DONE] = range(4);
const STATUS = ["later", "waits", "runs", "done"];
const countOf = (of, what) => of.filter((x) => x === what).length;

// --- drawing ---------------------------------------------------------------

const SIDE = 20; // the side of a slot
const LEFT = 10;
const TOP = 84; // the top of the memory
const ACROSS = 16;
const place = (x) => +x.toFixed(2);
const text = (words, x, y, anchor = "middle", kind = "") =>
  `<text${kind && ` class="${kind}"`} x="${place(x)}" y="${place(y)}" ` +
  `text-anchor="${anchor}">${words}</text>`;

// A request: its letter, its tokens so far and in total, and its status.
const CHIP = 32;
const chips = ({ status, have }) =>
  REQUESTS.map((_, r) => {
    const x = LEFT + r * CHIP;
    const part = place(((CHIP - 2) * have[r]) / total(r));
    return (
      `<rect class="av-chip-frame" x="${x}" y="1" width="${CHIP - 2}" height="48" rx="3"/>` +
      (part ? `<rect class="av-done" x="${x}" y="46" width="${part}" height="3"/>` : "") +
      text(LETTERS[r], x + CHIP / 2 - 1, 14, "middle", "av-letter") +
      text(`${have[r]}/${total(r)}`, x + CHIP / 2 - 1, 27, "middle", "av-tokens") +
      text(STATUS[status[r]], x + CHIP / 2 - 1, 41, "middle", status[r] === WAITS ? "av-waits" : "")
    );
  }).join("");

const memory = ({ owner, filled }, page) => {
  const at = (s) => [LEFT + (s % ACROSS) * SIDE, TOP + Math.floor(s / ACROSS) * SIDE];
  const full = [];
  const empty = [];
  const letters = [];
  owner.forEach((r, s) => {
    const [x, y] = at(s);
    if (filled[s]) {
      full.push(`M${x} ${y}h${SIDE}v${SIDE}h-${SIDE}z`);
      letters.push(text(LETTERS[r], x + SIDE / 2, y + 14));
    } else if (r >= 0) empty.push(`M${x} ${y + SIDE}l${SIDE} -${SIDE}`);
  });
  const frames = range(SLOTS / page).map((k) => {
    const [x, y] = at(k * page);
    return `M${x} ${y}h${page * SIDE}v${SIDE}h-${page * SIDE}z`;
  });
  const slots = range(ACROSS).map((k) => `M${LEFT + k * SIDE} ${TOP}v${4 * SIDE}`);
  const drawn = (kind, d) => (d.length ? `<path class="av-${kind}" d="${d.join("")}"/>` : "");
  return (
    drawn("full", full) +
    drawn("rule", slots) +
    drawn("empty", empty) +
    drawn("page", frames) +
    letters.join("")
  );
};

// The number of running texts per step in both memories, and a line at this step.
const CHART = { left: 34, right: 14, top: 200, high: 64 };
const FLOOR = CHART.top + CHART.high;
const AXIS = FLOOR + 9;
const HEIGHT = AXIS + 36;
const UNIT = (340 - CHART.left - CHART.right) / (LAST + 1);
const px = (step) => CHART.left + (step + 0.5) * UNIT;
const py = (n) => FLOOR - (n * CHART.high) / REQUESTS.length;
const line = (kind, counts) => {
  const d = counts.map((n, k) => `V${place(py(n))}H${place(CHART.left + (k + 1) * UNIT)}`);
  return `<path class="av-count ${kind}" d="M${CHART.left} ${FLOOR}${d.join("")}"/>`;
};
const timeline = ({ pages, pieces }, state) => {
  const inPages = state.memory !== PIECES;
  const up = [0, 5, 10].map(
    (n) =>
      `<path class="av-rule" d="M${CHART.left} ${place(py(n))}H${340 - CHART.right}"/>` +
      text(n, CHART.left - 6, py(n) + 4, "end"),
  );
  const across = [0, 5, 10, 15, 20].map((k) => text(k, px(k), AXIS + 19));
  return (
    text("texts that run: solid with pages, dashed with pieces", LEFT, CHART.top - 14, "start") +
    up.join("") +
    across.join("") +
    line(`av-by-piece${inPages ? "" : " av-chosen"}`, pieces) +
    line(`av-by-page${inPages ? " av-chosen" : ""}`, pages) +
    text("step", (CHART.left + 340) / 2, AXIS + 33) +
    grip(
      "step",
      [place(px(state.step)), AXIS],
      `<path class="av-now" d="M0 0V${CHART.top - AXIS}"/><circle class="av-knob" r="7"/>`,
    )
  );
};

// --- in words -----------------------------------------------------------------

const run = (n) => `${n} ${n === 1 ? "text runs" : "texts run"}`;
const wait = (n) => `${n} ${n === 1 ? "waits" : "wait"}`;
const sentence = ({ step, memory: kind, page }, { run: runs, waits, taken, used }) => {
  const [byPages, byPieces] = [
    `with pages of ${page === 1 ? "1 slot" : `${page} slots`}`,
    `with ${LONGEST} slots reserved per text`,
  ];
  const [here, there] = kind === PIECES ? [byPieces, byPages] : [byPages, byPieces];
  const wasted = taken - used;
  return (
    `In step ${step}, ${here}, ${run(runs[0])} and ${wait(waits[0])}; ${wasted} of ` +
    `${SLOTS} slots ${wasted === 1 ? "is" : "are"} wasted. ` +
    `${there[0].toUpperCase()}${there.slice(1)}, ${run(runs[1])} and ${wait(waits[1])}.`
  );
};

const figure = {
  name: "pages",
  card: { part: ".av-server", box: "6 70 328 92" },
  controls: [
    {
      key: "memory",
      kind: "choice",
      label: "memory is given in",
      first: "pages",
      about: "How texts get memory",
      options: ["pages", PIECES],
    },
    {
      key: "page",
      kind: "power",
      label: "slots per page",
      first: 2,
      about: "Slots of a page; a slot holds the keys and values of one token",
      min: 1,
      max: 8,
    },
    {
      key: "step",
      kind: "range",
      label: "step",
      first: 6,
      about: "Decoding steps so far",
      min: 0,
      max: LAST,
      step: 1,
    },
  ],
  at: ({ step }, ms) => ({ step: Math.min(step + Math.floor(Math.max(ms, 0) / STEP), LAST) }),
  compute: (state, own) => {
    const { memory: kind, page, step } = { ...state, ...own };
    const both = [serve(page), serve(LONGEST)];
    const order = kind === PIECES ? [1, 0] : [0, 1];
    const here = both[order[0]][step];
    const counts = (what) => both.map((steps) => steps.map((s) => countOf(s.status, what)));
    const [pages, pieces] = counts(RUNS);
    return {
      ...here,
      taken: SLOTS - countOf(here.owner, -1),
      used: countOf(here.filled, true),
      pages,
      pieces,
      run: order.map((k) => [pages, pieces][k][step]),
      waits: order.map((k) => counts(WAITS)[k][step]),
    };
  },
  view: (settings, values, own) => {
    const state = { ...settings, ...own };
    const { memory: kind, page, step } = state;
    const size = kind === PIECES ? LONGEST : page;
    const label =
      `Memory of ${SLOTS} slots in step ${step}, in ` +
      `${kind === PIECES ? "pieces" : "pages"} of ${size}: ${values.used} slots hold a token, ` +
      `${values.taken - values.used} are taken and empty`;
    const knob =
      kind === PIECES
        ? ""
        : grip("page", [LEFT + page * SIDE, TOP - 8], '<path class="av-knob" d="M-6 -7H6L0 6z"/>');
    return (
      `<svg class="av-server" role="img" aria-label="${label}" viewBox="0 0 340 ${HEIGHT}">` +
      `${chips(values)}${memory(values, size)}${knob}` +
      text(`memory: ${SLOTS} slots, hatched if taken and empty`, LEFT, TOP - 21, "start") +
      `${timeline(values, state)}</svg>${say(sentence(state, values))}`
    );
  },
  handles: ({ memory: kind, page, step }, values, own) => [
    {
      id: "step",
      name: "step",
      at: [px(own?.step ?? step), AXIS],
      keys: ["step"],
      read: ([x]) => ({ step: (x - CHART.left) / UNIT - 0.5 }),
    },
    ...(kind === PIECES
      ? []
      : [
          {
            id: "page",
            name: "slots per page",
            at: [LEFT + page * SIDE, TOP - 8],
            keys: ["page"],
            read: ([x]) => ({ page: (x - LEFT) / SIDE }),
          },
        ]),
  ],
};
figure.live = player(figure, "step");

export default figureModule(figure);
