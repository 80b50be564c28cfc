// Machines under a causal mask: which machine computes each pair, and which ones
// wait.

import { fixed, range, whole } from "../kit/numbers.js";
import { escape } from "../kit/svg.js";
import { figureModule, say } from "../kit/common.js";
import { grip } from "../kit/handles.js";

const PLANS = ["contiguous", "striped", "zigzag"];
const total = (xs) => xs.reduce((a, b) => a + b, 0);

// The positions of each machine, which are its queries and at first also its
// keys.
const shareOut = ({ machines: N, S }, plan) => {
  const block = (k, of) => range(S / of).map((i) => (k * S) / of + i);
  return range(N).map((w) => {
    if (plan === "striped") return range(S / N).map((i) => w + i * N);
    if (plan === "zigzag") return [...block(w, 2 * N), ...block(2 * N - 1 - w, 2 * N)];
    return block(w, N);
  });
};
// In round r of the ring, machine w holds the keys of machine w - r. A round
// lasts as long as its slowest machine needs, at one pair per unit of time.
const roundsOf = (places) => {
  const N = places.length;
  return range(N).map((r) =>
    range(N).map((w) => {
      const keys = places[(w - r + N) % N];
      return total(places[w].map((p) => keys.filter((k) => k <= p).length));
    }),
  );
};
const longest = (rounds) => rounds.map((row) => Math.max(...row));
const endOf = (state, plan) => total(longest(roundsOf(shareOut(state, plan))));
const startsOf = (rounds) => longest(rounds).map((_, r, all) => total(all.slice(0, r)));

// The time at which each allowed pair is computed, or nothing where the mask
// forbids it. In each round a machine takes query after query, and key after key.
const scheduled = (S, places, starts) => {
  const N = places.length;
  const when = range(S).map(() => range(S).map(() => null));
  for (const [r, start] of starts.entries())
    for (const w of range(N)) {
      let time = start;
      for (const p of places[w])
        for (const k of places[(w - r + N) % N]) {
          if (k > p) continue;
          time += 1;
          when[p][k] = time;
        }
    }
  return when;
};

// --- drawing -------------------------------------------------------------

const GRID = { side: 200, left: 34, top: 22, width: 240, height: 228 };
// The rows of any number of machines are as high in all as those of eight.
const BAR = { width: 360, left: 84, right: 12, top: 34, high: 128 };
const FLOOR = BAR.top + BAR.high;
const at = (x) => +x.toFixed(2);
const text = (words, x, y, anchor = "middle", kind = "") =>
  `<text${kind && ` class="${kind}"`} x="${at(x)}" y="${at(y)}" text-anchor="${anchor}">` +
  `${escape(words)}</text>`;

// The triangle: one row per query, in the colour of its machine once it is
// computed.
const triangle = (state, { owner, when, time }) => {
  const { S, machines: N } = state;
  const follow = Math.min(state.follow, N - 1);
  const unit = GRID.side / S;
  // Adjacent pairs of one kind are one bar of a row.
  const bars = { todo: "" };
  when.forEach((row, p) => {
    let from = 0;
    for (let k = 1; k <= p + 1; k++) {
      const done = row[from] <= time;
      if (k <= p && row[k] <= time === done) continue;
      const kind = done ? `m${owner[p]}` : "todo";
      bars[kind] = `${bars[kind] ?? ""}M${from} ${p}h${k - from}v1h${from - k}z`;
      from = k;
    }
  });
  const path = (kind, d) => d && `<path class="${kind}" d="${d}"/>`;
  const drawn = Object.entries(bars)
    .map(([kind, d]) => path(`av-${kind}`, d))
    .join("");
  // Marks on both sides show the rows of the machine that is followed.
  const mine = owner.map((w, p) => (w === follow ? `M-1 ${p}h.7v1h-.7z` : "")).join("");
  const apart = unit < 13 ? Math.ceil(13 / unit) : 1;
  const names = owner
    .map((w, p) =>
      p % apart ? "" : text(w, GRID.left - unit - 4, GRID.top + (p + 0.5) * unit + 4, "end"),
    )
    .join("");
  const label =
    `Pairs of ${S} queries (rows) and ${S} keys (columns) under a causal mask, ` +
    `in the colour of the machine of the query once they are computed`;
  return (
    `<svg class="av-pairs" role="img" aria-label="${label}" ` +
    `viewBox="0 0 ${GRID.width} ${GRID.height}">` +
    text("machine", 2, 12, "start") +
    text("keys →", GRID.left + GRID.side, 12, "end") +
    `${names}<g shape-rendering="crispEdges" transform="matrix(${at(unit)} 0 0 ${at(unit)} ` +
    `${GRID.left} ${GRID.top})">${drawn}${path("av-pairs-mine", mine)}</g></svg>`
  );
};

// The timeline of all machines: solid bars where they work, hatched where they
// wait.
const across = (time, { S, machines: N }) =>
  BAR.left + (time / ((S * S) / N)) * (BAR.width - BAR.left - BAR.right);
const lineUp = (state, { rounds, lengths, starts, ends, time, perfect }) => {
  const { machines: N } = state;
  const follow = Math.min(state.follow, N - 1);
  const x = (t) => at(across(t, state));
  const high = BAR.high / N;
  const rowOf = (w) => BAR.top + w * high;
  const bar = (w, from, to) =>
    `M${x(from)} ${rowOf(w) + 2}H${x(to)}V${rowOf(w) + high - 2}H${x(from)}z`;
  const works = rounds.flatMap((row, r) =>
    row.map(
      (pairs, w) =>
        `<path class="av-wait" d="${bar(w, starts[r] + pairs, starts[r] + lengths[r])}"/>` +
        `<path class="av-m${w}" d="${bar(w, starts[r], starts[r] + pairs)}"/>`,
    ),
  );
  const names = range(N).map((w) => {
    const name = text(`machine ${w}`, 34, 4, "end", w === follow ? "av-here" : "");
    return grip(`m${w}`, [BAR.left - 40, at(rowOf(w) + high / 2)], name);
  });
  const wall = (t, kind) => `<path class="${kind}" d="M${x(t)} ${BAR.top - 4}V${FLOOR + 4}"/>`;
  const cuts = starts.slice(1).map((t) => wall(t, "av-cut"));
  const label =
    `The time of ${N} machines in ${N} rounds: coloured where they compute, grey where ` +
    "they wait for the slowest";
  return (
    `<svg class="av-shifts" role="img" aria-label="${label}" ` +
    `viewBox="0 0 ${BAR.width} ${FLOOR + 44}">` +
    `${works.join("")}${cuts.join("")}${wall(perfect, "av-ideal")}` +
    text("shared perfectly", across(perfect, state), 14) +
    text(fixed(perfect, perfect % 1 ? 1 : 0), across(perfect, state), 27) +
    text("time, in pairs", BAR.left, FLOOR + 34, "start") +
    text(whole(ends[state.plan]), across(ends[state.plan], state), FLOOR + 34) +
    names.join("") +
    grip(
      "time",
      [x(time), FLOOR + 12],
      `<path class="av-shift-now" d="M0 ${-BAR.high - 16}V0"/><circle class="av-shift-now" r="6"/>`,
    ) +
    "</svg>"
  );
};

const figure = {
  name: "balance",
  card: { part: ".av-pairs", state: { plan: "striped", time: 24 } },
  controls: [
    {
      key: "plan",
      kind: "choice",
      label: "plan",
      first: "contiguous",
      about: "Which positions a machine has",
      options: PLANS,
    },
    {
      key: "machines",
      kind: "stops",
      label: "machines",
      first: 4,
      about: "Machines",
      stops: [2, 4, 8],
    },
    {
      key: "S",
      kind: "stops",
      label: "positions",
      first: 16,
      about: "Positions, each a query and a key",
      stops: [16, 32, 48, 64],
    },
    {
      key: "time",
      kind: "range",
      label: "time",
      first: 58,
      about: "Units of time that have passed, a pair each; past the end all is done",
      min: 0,
      max: 2048,
      step: 1,
      upTo: (state) => endOf(state, state.plan),
    },
    {
      key: "follow",
      kind: "range",
      label: "machine to follow",
      first: 0,
      about: "The machine that the sentence is about; one beyond the last counts as the last",
      min: 0,
      max: 7,
      step: 1,
      upTo: ({ machines }) => machines - 1,
    },
  ],

  // After a finished plan, a changed plan is shown finished too.
  fit: (state, moved, before) => {
    if (["time", "follow"].includes(moved) || before.time < endOf(before, before.plan)) return null;
    const time = endOf(state, state.plan);
    return time === state.time ? null : { settings: { time }, says: "" };
  },
  opening: { from: [{ time: 0 }], ms: 4500 },
  handles: (state, { ends, time }) => [
    {
      id: "time",
      name: "time",
      keys: ["time"],
      at: [at(across(time, state)), FLOOR + 12],
      read: ([u]) => ({
        time: Math.min(
          ((u - BAR.left) / (BAR.width - BAR.left - BAR.right)) *
            ((state.S * state.S) / state.machines),
          ends[state.plan],
        ),
      }),
    },
    ...range(state.machines).map((w) => ({
      id: `m${w}`,
      name: `follow machine ${w}`,
      on: w === Math.min(state.follow, state.machines - 1),
      press: () => ({ follow: w }),
    })),
  ],
  compute: (state) => {
    const { S, machines: N, plan } = state;
    const places = shareOut(state, plan);
    const rounds = roundsOf(places);
    const starts = startsOf(rounds);
    const ends = Object.fromEntries(PLANS.map((name) => [name, endOf(state, name)]));
    const time = Math.min(state.time, ends[plan]);
    const when = scheduled(S, places, starts);
    const pairs = (S * (S + 1)) / 2;
    return {
      owner: range(S).map((p) => places.findIndex((some) => some.includes(p))),
      rounds,
      lengths: longest(rounds),
      starts,
      ends,
      time,
      when,
      pairs,
      perfect: pairs / N,
      busy: pairs / (N * ends[plan]),
      done: total(when.map((row) => row.filter((t) => t !== null && t <= time).length)),
    };
  },

  view: (state, values) => {
    const { machines: N, plan } = state;
    const { rounds, ends, busy } = values;
    const w = Math.min(state.follow, N - 1);
    const waits = ends[plan] - total(rounds.map((row) => row[w]));
    const others = PLANS.filter((name) => name !== plan).map(
      (name) => `${name} ${whole(ends[name])}`,
    );
    return (
      `<div class="av-row av-sharing">${triangle(state, values)}${lineUp(state, values)}</div>` +
      say(
        `With ${plan} positions the machines take ${whole(ends[plan])} units of time and wait ` +
          `(grey) for ${fixed(100 * (1 - busy), 0)}% of it; ${others.join(", ")}. Machine ${w} ` +
          `waits for ${whole(waits)}.`,
      )
    );
  },
};

export default figureModule(figure);
