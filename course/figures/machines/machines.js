// Attention across machines: what is sent along a tree, and what around a ring.

import { count, dot, grouped, range } from "../kit/numbers.js";
import { chart, escape } from "../kit/svg.js";
import { figureModule, say } from "../kit/common.js";
import { grip } from "../kit/handles.js";
import { player } from "../kit/player.js";

// The lesson's example: the scores of query 0 are logarithms of whole numbers.
// The other queries are cos(i), with the same keys.
const SIZES = [2, 1, 3, 3, 1, 5, 4, 5];
const VALUES = [3, 0, 4, 2, 6, 0, 0, 9];
const KEYS = SIZES.length;
const MOST = 12; // queries
const MACHINES = [2, 4, 8];

// --- partial results -----------------------------------------------------

// Merge the outputs of some parts, each weighted by exp(logsumexp).
const mix = (outputs, logsumexps) => {
  const top = Math.max(...logsumexps);
  const exps = logsumexps.map((x) => Math.exp(x - top));
  const sum = exps.reduce((a, b) => a + b, 0);
  return { output: dot(exps, outputs) / sum, logsumexp: top + Math.log(sum) };
};
// The part of a single key is its value and its score.
const attend = (i, keys) =>
  mix(
    keys.map((j) => VALUES[j]),
    keys.map((j) => Math.cos(i) * Math.log(SIZES[j])),
  );
const merge = (a, b) => mix([a.output, b.output], [a.logsumexp, b.logsumexp]);

const shard = (m, N) => range(KEYS / N).map((j) => (m * KEYS) / N + j);
// The queries that a machine of the ring owns, divided as evenly as possible.
const owned = (m, { machines: N, T }) => {
  const [least, more] = [Math.floor(T / N), T % N];
  const first = m * least + Math.min(m, more);
  return range(least + (m < more)).map((i) => first + i);
};

// --- the two plans -------------------------------------------------------

const levelsOf = ({ machines }) => Math.log2(machines);
const stepsOf = (state) => (state.plan === "tree" ? 2 * levelsOf(state) : state.machines - 1);
const every = (gap, N) => range(N / gap).map((k) => k * gap);

// The messages of a step: direction, content, and how many numbers each contains.
const travels = (state, step) => {
  const { machines: N, T } = state;
  if (state.plan === "ring")
    return { kind: "key", size: (2 * KEYS) / N, moves: range(N).map((m) => [m, (m + 1) % N]) };
  const levels = levelsOf(state);
  const gap = 2 ** (step < levels ? levels - 1 - step : step - levels);
  const pairs = every(2 * gap, N).map((m) => [m, m + gap]);
  return step < levels
    ? { kind: "query", size: T, moves: pairs }
    : { kind: "weight", size: 2 * T, moves: pairs.map(([to, from]) => [from, to]) };
};

// The parts of n neighbours, merged in pairs.
const gathered = (i, first, n, N) =>
  n === 1
    ? attend(i, shard(first, N))
    : merge(gathered(i, first, n / 2, N), gathered(i, first + n / 2, n / 2, N));
// A machine's partial result for a query after some steps, or null.
const partOf = (state, done, m, i) => {
  const { machines: N } = state;
  if (state.plan === "ring") {
    if (!owned(m, state).includes(i)) return null;
    const seen = range(done + 1).map((k) => attend(i, shard((m - k + N) % N, N)));
    return seen.reduce(merge);
  }
  const levels = levelsOf(state);
  const merged = 2 ** Math.max(done - levels, 0);
  const reached = done < levels ? N / 2 ** done : merged;
  return m % reached ? null : gathered(i, m, merged, N);
};

const treeSends = ({ machines, T }) => (machines - 1) * 3 * T;
const ringSends = ({ machines }) => (machines - 1) * 2 * KEYS;

// --- drawing -------------------------------------------------------------

const BOX = { width: 360, height: 316, middle: 134, x: 137, y: 107, wide: 84, high: 52 };
const place = (m, N) => {
  const angle = (2 * Math.PI * m) / N;
  return [BOX.width / 2 + BOX.x * Math.sin(angle), BOX.middle - BOX.y * Math.cos(angle)];
};
const at = (x) => +x.toFixed(1);
const brief = (x) => grouped(+x.toFixed(3)).replace("-", "−");
const named = (letter, numbers) =>
  `${letter}${numbers[0]}${numbers.length > 1 ? `–${numbers.at(-1)}` : ""}`;

const text = (words, x, y, kind = "", anchor = "middle") =>
  `<text${kind && ` class="${kind}"`} x="${at(x)}" y="${at(y)}" text-anchor="${anchor}">` +
  `${escape(words)}</text>`;
const chip = (words, x, y, kind, wide = 32) =>
  `<rect class="${kind}" x="${at(x - wide / 2)}" y="${at(y - 7.5)}" width="${wide}" ` +
  `height="15" rx="3"/>${text(words, x, y + 4.5, kind)}`;

// A machine: its own keys, visiting keys, and its result for its first query.
const machine = (state, { done, outputs, logsumexps }, m) => {
  const { machines: N, plan } = state;
  const [x, y] = place(m, N);
  const i = outputs[m].findIndex((held) => held !== null);
  const visitor = plan === "ring" ? (m - done + N) % N : m;
  const chips =
    chip(named("k", shard(m, N)), x - 11, y - 14, "av-key") +
    (visitor === m ? "" : chip(named("k", shard(visitor, N)), x + 25, y - 14, "av-key av-visits"));
  const passed = plan === "tree" && done > levelsOf(state) ? "sent on" : "no query yet";
  const result =
    i < 0
      ? text(plan === "ring" ? "no query" : passed, x, y + 12, "av-idle")
      : text(`q${i} Σ ${brief(Math.exp(logsumexps[m][i]))}`, x, y + 8) +
        text(`output ${brief(outputs[m][i])}`, x, y + 22);
  return (
    `<rect class="av-machine" x="${at(x - BOX.wide / 2)}" y="${at(y - BOX.high / 2)}" ` +
    `width="${BOX.wide}" height="${BOX.high}" rx="5"/>` +
    `${text(m, x - BOX.wide / 2 + 9, y - 10, "av-name")}${chips}${result}`
  );
};

// A link bends inwards around a machine between its ends. It is a curve with one
// control point, which is the middle where the link is straight.
const link = ([from, to], N) => {
  const [a, b] = [place(from, N), place(to, N)];
  const bend = N === 8 && Math.abs(from - to) === 2 ? 0.5 : 0;
  const inwards = [BOX.width / 2, BOX.middle];
  return [a, a.map((u, i) => ((1 - bend) * (u + b[i])) / 2 + bend * inwards[i]), b];
};
const along = ([a, c, b], t) =>
  a.map((u, i) => (1 - t) ** 2 * u + 2 * t * (1 - t) * c[i] + t ** 2 * b[i]);
const directionOf = ([a, c, b], t) => {
  const [u, v] = a.map((_, i) => (1 - t) * (c[i] - a[i]) + t * (b[i] - c[i]));
  return (Math.atan2(v, u) * 180) / Math.PI;
};

const smooth = (p) => p * p * (3 - 2 * p);
// Three quarters of each step are motion, and a quarter is rest.
const share = (time) => smooth(Math.min((time - Math.floor(time)) / 0.75, 1));
const line = (move, N) => {
  const [a, c, b] = link(move, N).map((point) => point.map(at).join(" "));
  return `M${a}Q${c} ${b}`;
};
const links = (state, { steps, done }) => {
  const past = (k) => travels(state, k).moves.map((move) => line(move, state.machines));
  const path = (kind, some) =>
    some.length ? `<path class="${kind}" d="${[...new Set(some)].join("")}"/>` : "";
  return (
    path("av-wire", range(steps).flatMap(past)) + path("av-wire av-used", range(done).flatMap(past))
  );
};
// What each link took last, unless something is on its way there.
const settled = (state, { steps, done, time }) => {
  const last = new Map();
  const linkOf = (move) => [...move].sort().join();
  const travelled = (k) => {
    const { moves, ...message } = travels(state, k);
    return moves.map((move) => ({ move, ...message }));
  };
  for (const k of range(done)) {
    const all = travelled(k);
    for (const { move } of all)
      last.set(
        linkOf(move),
        all.filter((one) => linkOf(one.move) === linkOf(move)),
      );
  }
  if (done < steps && time > done)
    for (const { move } of travelled(done)) last.delete(linkOf(move));
  return [...last.values()].flat();
};
const WORDS = {
  query: ["query", "queries"],
  weight: ["sum, output", "sums, outputs"],
  key: ["keys, values", "keys, values"],
};
const told = (lines, kind, [x, y]) =>
  lines.map((words, k) => text(words, x, y + 14 * k, `av-carried av-of-${kind}`)).join("");
// On a ground of its own, which interrupts a link.
const onLink = (lines, kind, [x, y], wide) => {
  const [top, high] = [y - 7 * lines.length, 14 * lines.length];
  return (
    `<rect class="av-gap" x="${at(x - wide / 2)}" y="${at(top - 1)}" width="${wide}" ` +
    `height="${high + 2}"/>${told(lines, kind, [x, top + 10])}`
  );
};
const contents = ({ kind, size }, { T }) => [WORDS[kind][+(T > 1)], count(size, "number")];
// Among eight machines the links are too short for words, which are inside the ring.
const messages = (state, values) => {
  const { machines: N } = state;
  const heads = [];
  const words = new Set();
  for (const { move, ...message } of settled(state, values)) {
    const way = link(move, N);
    const [[a, b], , [c, d]] = way;
    const t = N === 8 && Math.hypot(c - a, d - b) < BOX.y ? 0.5 : 0.7;
    const spot = along(way, t).map(at).join(" ");
    const turn = at(directionOf(way, t));
    heads.push(
      `<path class="av-arrowhead av-of-${message.kind}" d="M-6 -5L6 0L-6 5z" ` +
        `transform="translate(${spot}) rotate(${turn})"/>`,
    );
    if (N < 8) words.add(onLink(contents(message, state), message.kind, along(way, 0.5), 84));
  }
  if (N === 8 && values.done) {
    const message = travels(state, values.done - 1);
    const lines = ["last step,", "each arrow:", ...contents(message, state)];
    words.add(told(lines, message.kind, [BOX.width / 2 + 42, BOX.middle - 17]));
  }
  return [...words].join("") + heads.join("");
};
// What the frames of keys mean.
const frames = ({ plan }) => {
  const one = (words, y, kind) =>
    `<rect class="av-key${kind}" x="2" y="${y - 5}" width="16" height="10" rx="3"/>` +
    text(words, 23, y + 4, "av-carried av-of-key", "start");
  return (
    one("its own keys", 250, "") +
    (plan === "ring" ? one("keys on a visit", 265, " av-visits") : "")
  );
};
// The part of a way on which a message is in sight, outside of both machines.
const inSight = (way) => {
  const [wide, high] = [BOX.wide / 2 + 2, BOX.high / 2 + 2];
  const free = range(101)
    .map((k) => k / 100)
    .filter((t) => {
      const [x, y] = along(way, t);
      return [way[0], way[2]].every(([a, b]) => Math.abs(x - a) > wide || Math.abs(y - b) > high);
    });
  return [free[0], free.at(-1)];
};
const carried = (state, { done, steps, time }) => {
  if (done === steps || time === done) return "";
  const { kind, size, moves } = travels(state, done);
  return moves
    .map((move) => {
      const way = link(move, state.machines);
      const [from, to] = inSight(way);
      const [x, y] = along(way, from + (to - from) * share(time));
      return chip(size, x, y, `av-${kind} av-goes`, 24);
    })
    .join("");
};

// The chart's frame, in which the number of queries is dragged.
// It holds the largest number of machines, so its axis stays.
const MOST_SENT = 300; // numbers: beyond twelve queries on eight machines
const FRAME = { width: 252, height: 180, left: 54, right: 42, top: 12, bottom: 40 };
const spotOf = ({ T }, sends) => {
  const { width, height, left, right, top, bottom } = FRAME;
  const up = sends / MOST_SENT;
  return [
    at(left + (T / MOST) * (width - left - right)),
    at(height - bottom - up * (height - top - bottom)),
  ];
};
const queriesAt = (u) => ((u - FRAME.left) / (FRAME.width - FRAME.left - FRAME.right)) * MOST;
const traffic = (state, totals) => {
  const { machines: N, plan } = state;
  const level = (sends) => [0, MOST].map((n) => [n, sends({ machines: N, T: n })]);
  const drawn = chart({
    label: `Numbers sent against the number of queries, for ${N} machines and ${KEYS} keys`,
    kind: " av-traffic",
    x: [0, MOST],
    y: [0, MOST_SENT],
    lines: [
      // The dot may stand at a line's end, before its name.
      { points: level(treeSends), name: "\u00a0tree" },
      { points: level(ringSends), name: "\u00a0ring", dash: "6 3" },
    ],
    xlabel: "queries",
    ylabel: "numbers sent",
    width: FRAME.width,
    height: FRAME.height,
    right: FRAME.right,
  });
  const knob = grip(
    "queries",
    spotOf(state, totals[plan]),
    '<circle class="av-machines-knob" r="5"/>',
  );
  return drawn.replace("</svg>", `${knob}</svg>`);
};

// The steps of a plan on one line, at equal distances, and the current position.
const LINE = { left: 40, right: 320, y: 288 };
const STAGES = {
  query: "queries go out",
  weight: "results come back",
  key: "keys and values go round",
};
const stepPlace = (time, steps) => at(LINE.left + (time / steps) * (LINE.right - LINE.left));
const timeline = (state, { steps, time }) => {
  const part = (k) => {
    const [a, b] = [stepPlace(k, steps), stepPlace(k + 1, steps)];
    return `<path class="av-stage av-${travels(state, k).kind}" d="M${a + 1.5} ${LINE.y}H${b - 1.5}"/>`;
  };
  // Each colour of the line is named below its steps.
  const kinds = range(steps).map((k) => travels(state, k).kind);
  const names = [...new Set(kinds)].map((kind) => {
    const middle = (kinds.indexOf(kind) + kinds.lastIndexOf(kind) + 1) / 2;
    return told([STAGES[kind]], kind, [stepPlace(middle, steps), LINE.y + 21]);
  });
  return (
    names.join("") +
    text("start", LINE.left - 11, LINE.y + 4, "av-end", "end") +
    text("end", LINE.right + 11, LINE.y + 4, "av-end", "start") +
    range(steps).map(part).join("") +
    grip("step", [stepPlace(time, steps), LINE.y], '<circle class="av-machines-knob" r="7"/>')
  );
};

const LENGTH = 900; // of a step, in milliseconds

const figure = {
  name: "machines",
  lead: ["plan"],
  card: { part: ".av-machines", state: { step: 3.4 } },
  controls: [
    {
      key: "step",
      kind: "range",
      label: "step",
      first: 4,
      about: "How far the plan has come, in steps; past its end it stays there",
      min: 0,
      max: 7,
      step: 0.01,
      upTo: stepsOf,
    },
    {
      key: "plan",
      kind: "choice",
      label: "plan",
      first: "tree",
      about: "Whether queries and results travel, or the keys",
      options: ["tree", "ring"],
    },
    {
      key: "T",
      kind: "range",
      label: "queries",
      first: 1,
      about: "How many queries there are",
      min: 1,
      max: MOST,
      step: 1,
    },
    {
      key: "machines",
      kind: "stops",
      label: "machines",
      first: 4,
      about: "Machines that share the eight keys",
      stops: MACHINES,
    },
  ],

  // After a finished plan, a changed plan is shown finished too.
  fit: (state, moved, before) =>
    moved === "step" || before.step < stepsOf(before) || stepsOf(state) === state.step
      ? null
      : { settings: { step: stepsOf(state) }, says: "" },
  handles: (state, { steps, time, totals }) => [
    {
      id: "step",
      name: "step of the plan",
      keys: ["step"],
      at: [stepPlace(time, steps), LINE.y],
      read: ([u]) => ({ step: ((u - LINE.left) / (LINE.right - LINE.left)) * steps }),
    },
    {
      id: "queries",
      name: "number of queries",
      keys: ["T"],
      at: spotOf(state, totals[state.plan]),
      read: ([u]) => ({ T: queriesAt(u) }),
    },
  ],
  at: (state, ms) => {
    const from = Math.min(state.step, stepsOf(state));
    return { step: Math.min(from + Math.max(ms, 0) / LENGTH, stepsOf(state)) };
  },
  compute: (settings, moved) => {
    const state = { ...settings, ...moved };
    const { machines: N, T } = state;
    const steps = stepsOf(state);
    const time = Math.min(state.step, steps);
    const done = Math.floor(time + 1e-9);
    const sent = { query: 0, weight: 0, key: 0 };
    for (const k of range(done)) {
      const { kind, size, moves } = travels(state, k);
      sent[kind] += size * moves.length;
    }
    const parts = range(N).map((m) => range(T).map((i) => partOf(state, done, m, i)));
    const whole = range(T).map((i) => attend(i, range(KEYS)));
    const each = (some, key) => some.map((part) => part?.[key] ?? null);
    return {
      steps,
      done,
      time,
      sent: { queries: sent.query, results: sent.weight, keys: sent.key },
      totals: { tree: treeSends(state), ring: ringSends(state) },
      ring_from: range(10 * MOST).find((n) => treeSends({ machines: N, T: n }) > ringSends(state)),
      outputs: parts.map((row) => each(row, "output")),
      logsumexps: parts.map((row) => each(row, "logsumexp")),
      whole: { outputs: each(whole, "output"), logsumexps: each(whole, "logsumexp") },
    };
  },

  view: (settings, values, moved) => {
    const state = { ...settings, ...moved };
    const { machines: N, plan } = state;
    const { steps, done, sent, totals, outputs, logsumexps, whole } = values;
    const label =
      `${N} machines in a circle that hold ${KEYS} keys, and what travels between them: ` +
      `${plan}, after ${done} of ${count(steps, "step")}`;
    const drawn =
      `<svg class="av-machines" role="img" aria-label="${label}" ` +
      `viewBox="0 0 ${BOX.width} ${BOX.height}">${links(state, values)}` +
      // Drawn behind the machines, whose numbers stay readable.
      messages(state, values) +
      carried(state, values) +
      `${range(N)
        .map((m) => machine(state, values, m))
        .join("")}${frames(state)}${timeline(state, values)}</svg>`;
    const all = sent.queries + sent.results + sent.keys;
    // Machine 0 has the result of query 0 in the end, in both plans.
    const [o, l] = [outputs[0][0], logsumexps[0][0]];
    const same = Math.abs(o - whole.outputs[0]) < 1e-9 && Math.abs(l - whole.logsumexps[0]) < 1e-9;
    const holds =
      same && done === steps
        ? `query 0 has output ${brief(o)}, as over all ${KEYS} keys in one place`
        : `query 0 has output ${brief(o)} so far`;
    return (
      `<div class="av-row av-plans">${drawn}${traffic(state, totals)}</div>` +
      say(
        `${plan === "tree" ? "Tree" : "Ring"}, ${done} of ${count(steps, "step")}: ` +
          `${count(all, "number")} sent, and ${holds}. In all, the tree sends ${totals.tree} ` +
          `and the ring ${totals.ring}.`,
      )
    );
  },
};
figure.live = player(figure, "step", { tween: true });

export default figureModule(figure);
