// Temperature: a soft lookup on a shelf of jars, its scores and its weights.

import { entropy, fixed, range, setting, softmax, tick } from "../kit/numbers.js";
import { textAt } from "../kit/svg.js";
import { grip } from "../kit/handles.js";
import { figureModule, say } from "../kit/common.js";

const TEMPERATURES = [0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 10, 20, 50, 100];
const MARBLES = [10, 40, 20, 30];
const JARS = range(MARBLES.length);
const [FIRST, LAST, POINTS] = [-0.5, 3.5, 400];
// The edges of the exact lookup lie between two of these places.
const PLACES_DRAWN = range(POINTS).map((k) => FIRST + ((LAST - FIRST) * (k + 0.5)) / POINTS);

// A jar's score is higher the nearer it is, plus the distance by which its bar
// was dragged.
const scoresAt = (place, state) => JARS.map((p) => -((place - p) ** 2) / 2 + state[`pull${p}`]);
const lookupAt = (place, state) => {
  const scores = scoresAt(place, state);
  const weights = softmax(scores.map((s) => s / state.temperature));
  return {
    scores,
    weights,
    answer: weights.reduce((sum, w, j) => sum + w * MARBLES[j], 0),
    exact: MARBLES[scores.indexOf(Math.max(...scores))],
  };
};

// --- drawing: three panels over one shelf, each jar at its place --------------------

const PANELS = {
  answer: { top: 30, foot: 150, low: 0, high: 45, ticks: [0, 20, 40] },
  weight: { top: 196, foot: 256, low: 0, high: 1, ticks: [0, 0.5, 1] },
  score: { top: 284, foot: 410, low: -7, high: 2, ticks: [-6, -4, -2, 0, 2] },
};
const THICK = 34;
const at = (x) => +x.toFixed(1);
const py = ({ top, foot, low, high }, v) => foot - ((v - low) / (high - low)) * (foot - top);
const valueAt = ({ top, foot, low, high }, y) => low + ((foot - y) / (foot - top)) * (high - low);
const shelfOf = (width) => {
  const [left, right] = [54, width - 8];
  return {
    ...{ width, left, right },
    px: (place) => left + ((place - FIRST) / (LAST - FIRST)) * (right - left),
    placeAt: (u) => FIRST + ((u - left) / (right - left)) * (LAST - FIRST),
  };
};
const [WIDE, NARROW] = [640, 360].map(shelfOf);

const axis = (panel, name, { left, right }) =>
  panel.ticks
    .map(
      (v) =>
        `<path class="av-rule" d="M${left} ${at(py(panel, v))}H${right}"/>` +
        textAt(tick(v), left - 6, py(panel, v) + 4, "end", "av-scale"),
    )
    .join("") + textAt(name, 4, panel.top - 13, "start", "av-title");
const path = (values, { px }) =>
  values
    .map((v, k) => `${k ? "L" : "M"}${at(px(PLACES_DRAWN[k]))} ${at(py(PANELS.answer, v))}`)
    .join("");
const bar = (kind, panel, jar, value, { px }) => {
  const [zero, end] = [py(panel, 0), py(panel, value)];
  return (
    `<rect class="av-${kind}" x="${at(px(jar) - THICK / 2)}" y="${at(Math.min(zero, end))}" ` +
    `width="${THICK}" height="${at(Math.abs(end - zero))}"/>`
  );
};

const drawing = (state, { curve, stairs, scores, weights, answer }, shelf) => {
  const { px } = shelf;
  const here = [at(px(state.place)), at(py(PANELS.answer, answer))];
  const jars = JARS.map((p) => {
    const y = py(PANELS.answer, MARBLES[p]);
    const end = [at(px(p)), at(py(PANELS.score, scores[p]))];
    return (
      `<circle class="av-jar" cx="${at(px(p))}" cy="${at(y)}" r="4.5"/>` +
      bar("tall", PANELS.weight, p, weights[p], shelf) +
      textAt(fixed(weights[p]), px(p), py(PANELS.weight, weights[p]) - 5, "middle", "av-weight") +
      bar("pulled", PANELS.score, p, scores[p], shelf) +
      textAt(fixed(scores[p]), px(p), end[1] + (scores[p] > 0 ? -10 : 20), "middle", "av-score") +
      grip(`bar-${p}`, end, '<rect class="av-knob" x="-17" y="-4" width="34" height="8" rx="4"/>')
    );
  });
  const ends = [PANELS.answer.top - 6, PANELS.score.foot];
  return (
    axis(PANELS.answer, "marbles", shelf) +
    axis(PANELS.weight, "weight", shelf) +
    axis(PANELS.score, "score", shelf) +
    `<path class="av-here-line" d="M${here[0]} ${ends[0]}V${ends[1]}"/>` +
    `<path class="av-stairs" d="${path(stairs, shelf)}"/><path class="av-answer" d="${path(curve, shelf)}"/>` +
    jars.join("") +
    JARS.map((p) => textAt(`jar ${p}`, px(p), PANELS.answer.foot + 18)).join("") +
    textAt(fixed(answer, 1), here[0], ends[0] - 4, "middle", "av-weight") +
    grip("place", here, '<circle class="av-knob" cx="0" cy="0" r="8"/>')
  );
};

const figure = {
  name: "temperature",
  card: { part: ".av-shelf", box: "44 20 592 140" },
  controls: [
    {
      key: "temperature",
      kind: "stops",
      label: "temperature",
      first: 0.2,
      about: "Divides the scores",
      stops: TEMPERATURES,
    },
    {
      key: "place",
      kind: "range",
      label: "place on the shelf",
      first: 1.25,
      about: "The place that is asked for",
      min: 0,
      max: 3,
      step: 0.05,
    },
    ...JARS.map((p) => ({
      key: `pull${p}`,
      kind: "range",
      label: `pull on jar ${p}`,
      first: 0,
      about: `Added to the score of jar ${p}`,
      min: -2,
      max: 2,
      step: 0.05,
    })),
  ],
  // From the plain average of all jars to nearly an exact lookup.
  opening: { from: [{ temperature: 100 }, { temperature: 0.01 }], ms: 4500 },
  compute: (state) => {
    const all = PLACES_DRAWN.map((place) => lookupAt(place, state));
    const here = lookupAt(state.place, state);
    return {
      ...here,
      entropy: entropy(here.weights),
      curve: all.map(({ answer }) => answer),
      stairs: all.map(({ exact }) => exact),
    };
  },
  view: (state, values, own, narrow) => {
    const shelf = narrow ? NARROW : WIDE;
    const best = Math.max(...values.scores);
    const tie = values.scores.filter((s) => s === best).length > 1;
    const label =
      `Four jars on a shelf: the answer of the lookup over the place, and of each jar the weight ` +
      `and the score at place ${setting(state.place)}`;
    return (
      `<svg class="av-shelf" role="img" aria-label="${label}" viewBox="0 0 ${shelf.width} ` +
      `${PANELS.score.foot + 16}">${drawing(state, values, shelf)}</svg>` +
      say(
        `At place ${setting(state.place)} and temperature ${state.temperature}, the soft lookup ` +
          `(solid) answers ${fixed(values.answer, 1)} marbles and an exact lookup (dashed) ` +
          `${values.exact}${tie ? " (a tie)" : ""}. The weights are as spread out as ` +
          `${fixed(Math.exp(values.entropy), 1)} equal ones.`,
      )
    );
  },
  // The place is dragged along the shelf, and each score by the end of its bar.
  handles: (state, { scores, answer }, own, narrow) => {
    const { px, placeAt } = narrow ? NARROW : WIDE;
    const place = {
      id: "place",
      name: "place on the shelf",
      keys: ["place"],
      at: [px(state.place), py(PANELS.answer, answer)],
      read: ([u]) => ({ place: placeAt(u) }),
    };
    const bars = JARS.map((p) => ({
      id: `bar-${p}`,
      name: `score of jar ${p}`,
      keys: [`pull${p}`],
      value: `${fixed(scores[p])}, pulled by ${fixed(state[`pull${p}`])}`,
      at: [px(p), py(PANELS.score, scores[p])],
      read: ([, y]) => ({
        [`pull${p}`]: valueAt(PANELS.score, y) - scores[p] + state[`pull${p}`],
      }),
    }));
    return [place, ...bars];
  },
};

export default figureModule(figure);
