// Linear: a memory of two numbers, drawn as a point in a plane. A pair is the
// line on which its key reads its value, and a write by the delta rule moves the
// point to that line.

import { count, dot, fixed, inWords, range } from "../kit/numbers.js";
import { grip } from "../kit/handles.js";
import { figureModule, say } from "../kit/common.js";

const NAMES = ["A", "B", "C"];
const RULES = ["linear attention", "delta rule"];
const NEAR = 0.05 + 1e-9; // the largest error of a correct reading
const RADIANS = Math.PI / 180;

// --- the memory -----------------------------------------------------------------

const keyOf = (degrees) => [Math.cos(degrees * RADIANS), Math.sin(degrees * RADIANS)];
const scaled = ([x, y], by) => [by * x, by * y];
const plus = ([a, b], [x, y]) => [a + x, b + y];

// The state after each write, and the point from which the last write started.
const compute = (state) => {
  const keys = NAMES.map((name) => keyOf(state[`angle${name}`]));
  const values = NAMES.map((name) => state[`value${name}`]);
  const states = [[0, 0]];
  let [shrunk, error] = [[0, 0], 0];
  for (const i of range(state.written)) {
    shrunk = scaled(states[i], state.decay);
    const corrects = state.rule === "delta rule";
    error = values[i] - (corrects ? dot(keys[i], shrunk) : 0);
    states.push(plus(shrunk, scaled(keys[i], (corrects ? state.beta : 1) * error)));
  }
  const reads = keys.map((key) => dot(key, states.at(-1)));
  const right = range(NAMES.length).map(
    (i) => i < state.written && Math.abs(reads[i] - values[i]) <= NEAR,
  );
  return { keys, states, reads, right, shrunk, error };
};

// --- the plane --------------------------------------------------------------------

const UNIT = 60;
const [WIDE, HIGH] = [340, 330];
const [LEFT, FLOOR] = [170, 165]; // the origin
const at = (x) => +x.toFixed(2);
const place = ([x, y]) => [LEFT + UNIT * x, FLOOR - UNIT * y];
const spot = (point) => place(point).map(at).join(" ");
const pointAt = ([u, v]) => [(u - LEFT) / UNIT, (FLOOR - v) / UNIT];

// A state outside of the plane is drawn at its edge.
const clamped = (x, most) => Math.min(Math.max(x, 18), most - 18);
const shownAt = (point) => {
  const [x, y] = place(point);
  return [clamped(x, WIDE), clamped(y, HIGH)];
};

const FAR = 8; // farther than any corner of the plane
const lineOf = (key, value) => {
  const foot = scaled(key, value);
  const along = [-key[1], key[0]];
  return `M${spot(plus(foot, scaled(along, -FAR)))}L${spot(plus(foot, scaled(along, FAR)))}`;
};
const SQUARE = '<rect class="av-knob av-decay" x="-6" y="-6" width="12" height="12"/>';
const DIAMOND = '<path class="av-knob av-state-now" d="M0 -17L17 0L0 17L-17 0z"/>';
// The points of a line in the part of the plane where its name fits.
const alongOf = (key, value) => {
  const foot = scaled(key, value);
  const along = [-key[1], key[0]];
  return range(2 * 20 * FAR + 1)
    .map((k) => place(plus(foot, scaled(along, k / 20 - FAR))))
    .filter(([x, y]) => x > 0 && x < WIDE && y > 10 && y < HIGH - 10);
};
// A name is kept away from what is taken; a line may be nearer.
const farthest = (spots, taken, lines = []) => {
  const room = ([x, y], [a, b]) => Math.hypot((x - a) / 4, y - b);
  const free = (spot_) =>
    Math.min(...taken.map((it) => room(spot_, it)), ...lines.map((it) => 8 * room(spot_, it)));
  return spots.reduce((a, b) => (free(b) > free(a) + 1e-6 ? b : a));
};
const told = (words, [x, y], kind) =>
  `<text class="av-reading av-is-${kind}" x="${at(x)}" y="${at(y + 4.5)}" text-anchor="middle">` +
  `${words}</text>`;
// The names of all pairs where a pair is; they share a line and a dot.
const namesAt = (state, i) =>
  NAMES.filter((name) =>
    ["angle", "value"].every((key) => state[key + name] === state[key + NAMES[i]]),
  );
// Each line says what its keys read and should read, each write its place in the
// order, and the diamond that it is the state.
const names = (state, { keys, states, reads, right }) => {
  const pairs = NAMES.map((name, i) => place(scaled(keys[i], state[`value${name}`])));
  const points = [...pairs, ...states.map(shownAt)];
  const along = NAMES.map((name, i) => alongOf(keys[i], state[`value${name}`]));
  const lines = NAMES.map((name, i) => {
    const here = namesAt(state, i);
    if (here[0] !== name) return "";
    const ends = [along[i][0], along[i].at(-1)];
    const half = [70, 84, 94][here.length - 1];
    const spots = ends.map(([x, y]) => [Math.min(Math.max(x, half), WIDE - half), y]);
    const others = along.filter((_, k) => k !== i).flat();
    points.push(farthest(spots, points, others));
    const wanted = fixed(state[`value${name}`]);
    if (!here.some((it) => NAMES.indexOf(it) < state.written))
      return told(`${inWords(here)} should read ${wanted}`, points.at(-1), "value");
    // What is not written yet reads the same: it has the same key.
    return told(
      `${inWords(here)} read${here.length > 1 ? "" : "s"} ${fixed(reads[i])}` +
        `${right[i] ? ": right" : `, not ${wanted}`}`,
      points.at(-1),
      right[i] ? "right" : "wrong",
    );
  });
  const writes = range(state.written).map((i) => {
    const [[a, b], [c, d]] = [shownAt(scaled(states[i], state.decay)), shownAt(states[i + 1])];
    const spots = [0.5, 0.35, 0.65].map((part) => [a + part * (c - a), b + part * (d - b)]);
    points.push(farthest(spots, points));
    return Math.hypot(c - a, d - b) < 40 ? "" : told(i + 1, points.at(-1), "weight");
  });
  const last = states.at(-1);
  const [x, y] = shownAt(last);
  const outside = place(last).some((v, k) => v !== [x, y][k]);
  const words = outside ? `state at (${last.map((v) => fixed(v)).join(", ")})` : "state";
  const half = outside ? 66 : 20;
  const middle = Math.min(Math.max(x, half), WIDE - half);
  const around = [
    [middle, y + 28],
    [middle, y - 28],
    [x + 26 + half, y],
    [x - 26 - half, y],
  ].filter(([u, v]) => u >= half && u <= WIDE - half && v > 10 && v < HIGH - 10);
  return [...lines, ...writes, told(words, farthest(around, points), "weight")].join("");
};
const drawn = (state, values) => {
  const { keys, states, right } = values;
  const wanted = NAMES.map((name) => state[`value${name}`]);
  const lines = NAMES.map((name, i) => {
    const kind = right[i] ? " av-holds" : i < state.written ? "" : " av-unwritten";
    return `<path class="av-value-line${kind}" d="${lineOf(keys[i], wanted[i])}"/>`;
  });
  const arrows = NAMES.map(
    (name, i) =>
      `<path class="av-key-arrow" d="M${spot([0, 0])}L${spot(scaled(keys[i], wanted[i]))}"/>`,
  );
  const way = range(state.written).map((i) => {
    const before = spot(scaled(states[i], state.decay));
    return (
      `<path class="av-decay-way" d="M${spot(states[i])}L${before}"/>` +
      `<path class="av-write-way" d="M${before}L${spot(states[i + 1])}"/>` +
      `<circle class="av-state-was" cx="${at(place(states[i])[0])}" cy="${at(place(states[i])[1])}" r="3"/>`
    );
  });
  const last = states.at(-1);
  const pulled = handlesOf(state, values).map(({ id, at: place_ }) =>
    id === "decay" ? grip(id, place_.map(at), SQUARE) : grip(id, shownAt(last).map(at), DIAMOND),
  );
  const mark = `<g transform="translate(${shownAt(last).map(at).join(" ")})">${DIAMOND}</g>`;
  const dots = NAMES.map((name, i) => {
    const here = namesAt(state, i).join("");
    return grip(
      name,
      place(scaled(keys[i], wanted[i])).map(at),
      `<circle class="av-knob av-pair-dot${i < state.written ? "" : " av-unwritten"}" ` +
        `r="${8 + 3 * here.length}"/><text text-anchor="middle" y="4.5">${here}</text>`,
    );
  });
  return (
    `<path class="av-rule" d="M0 ${FLOOR}H${WIDE}M${LEFT} 0V${HIGH}"/>${lines.join("")}` +
    `${arrows.join("")}${way.join("")}${names(state, values)}${mark}${pulled.join("")}${dots.join("")}`
  );
};

// The setting of a slider that brings a point of the computation nearest to the
// hand. It acts on every write, so all its steps are tried.
const nearest = (state, key, pointOf, spot_) => {
  const [x, y] = pointAt(spot_);
  const { max, step } = figure.controls.find((control) => control.key === key);
  const far = (setting) => {
    const [u, v] = pointOf(compute({ ...state, [key]: setting }));
    return Math.hypot(u - x, v - y);
  };
  const settings = range(Math.round(max / step) + 1).map((k) => k * step);
  return settings.reduce((best, one) => (far(one) < far(best) ? one : best));
};
const lastOf = ({ states }) => states.at(-1);
const handlesOf = (state, { states, shrunk }) => {
  const found = [];
  const before = states.at(-2) ?? [0, 0];
  if (dot(before, before) > 0.04)
    found.push({
      id: "decay",
      name: "decay: the state before the last write",
      keys: ["decay"],
      at: place(shrunk),
      read: (spot_) => ({ decay: nearest(state, "decay", (made) => made.shrunk, spot_) }),
    });
  if (state.rule === "delta rule" && state.written)
    found.push({
      id: "beta",
      name: "beta: the state after the last write",
      keys: ["beta"],
      at: place(states.at(-1)),
      read: (spot_) => ({ beta: nearest(state, "beta", lastOf, spot_) }),
    });
  return found;
};

// --- in words -----------------------------------------------------------------------

const sentence = ({ written, rule }, { states, right }) => {
  const [x, y] = states.at(-1);
  if (!written) return `Nothing is written: the state is (${fixed(x)}, ${fixed(y)}).`;
  const named = NAMES.filter((name, i) => right[i]);
  const which = named.length ? `: ${inWords(named)}` : "";
  return (
    `After ${count(written, "write")} by ${rule === "delta rule" ? "the delta rule" : rule}, ` +
    `the state is (${fixed(x)}, ${fixed(y)}), and ${named.length} of ${count(written, "pair")} ` +
    `${written === 1 || named.length === 1 ? "is" : "are"} read right${which}.`
  );
};
const figure = {
  name: "linear",
  lead: ["written", "rule"],
  card: { part: ".av-memory", box: "60 30 270 170" },
  controls: [
    {
      key: "written",
      kind: "range",
      label: "pairs written",
      first: 3,
      about: "How many of the pairs A, B and C are written, in this order",
      min: 0,
      max: NAMES.length,
      step: 1,
    },
    {
      key: "rule",
      kind: "choice",
      label: "rule of writing",
      first: "delta rule",
      about: "Whether a write adds its value or corrects what its key reads",
      options: RULES,
    },
    {
      key: "beta",
      kind: "range",
      label: "beta",
      first: 1,
      about: "Which part of the error a write of the delta rule corrects",
      min: 0,
      max: 2,
      step: 0.05,
      when: ({ rule }) => rule === "delta rule",
    },
    {
      key: "decay",
      kind: "range",
      label: "decay",
      first: 1,
      about: "The factor by which the state shrinks before each write",
      min: 0,
      max: 1,
      step: 0.05,
    },
    ...NAMES.flatMap((name, i) => [
      {
        key: `angle${name}`,
        kind: "range",
        label: `angle of key ${name}`,
        first: [0, 90, 37][i],
        about: `Direction of key ${name}, in degrees`,
        min: 0,
        max: 359,
        step: 1,
      },
      {
        key: `value${name}`,
        kind: "range",
        label: `value of ${name}`,
        first: [2, 1, 0.5][i],
        about: `The value that key ${name} should read`,
        min: 0.25,
        max: 2.5,
        step: 0.05,
      },
    ]),
  ],
  compute,
  view: (state, values) => {
    const [x, y] = values.states.at(-1);
    const label =
      `A plane with the state at (${fixed(x)}, ${fixed(y)}) and, for each of three pairs, the line ` +
      `of states from which its key reads its value`;
    return (
      `<svg class="av-memory" role="img" aria-label="${label}" viewBox="0 0 ${WIDE} ${HIGH}">` +
      `${drawn(state, values)}</svg>${say(sentence(state, values))}`
    );
  },
  handles: (state, values) => [
    ...handlesOf(state, values),
    ...NAMES.map((name, i) => ({
      id: name,
      name: `pair ${name}: direction and value`,
      keys: [`angle${name}`, `value${name}`],
      value: `${state[`angle${name}`]} degrees, value ${fixed(state[`value${name}`])}`,
      at: place(scaled(values.keys[i], state[`value${name}`])),
      read: (spot_) => {
        const [x, y] = pointAt(spot_);
        const turn = (Math.atan2(y, x) / RADIANS + 360) % 360;
        return {
          [`angle${name}`]: turn < 359.5 ? turn : 0,
          [`value${name}`]: Math.hypot(x, y),
        };
      },
    })),
  ],
  // Two orthogonal keys are read correctly, and the third write disturbs both.
  opening: { from: [{ written: 0 }, { written: 2 }], ms: 4500 },
};

export default figureModule(figure);
