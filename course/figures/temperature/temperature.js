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

const SHELF = { width: 460, left: 62, right: 10 };
const PANEL = {
  answer: { top: 26, foot: 146, low: 0, high: 45, ticks: [0, 20, 40] },
  weight: { top: 190, foot: 250, low: 0, high: 1, ticks: [0, 0.5, 1] },
  score: { top: 276, foot: 402, low: -7, high: 2, ticks: [-6, -4, -2, 0, 2] },
};
const THICK = 34;
const at = (x) => +x.toFixed(1);
const across = SHELF.width - SHELF.left - SHELF.right;
const px = (place) => SHELF.left + ((place - FIRST) / (LAST - FIRST)) * across;
const placeAt = (u) => FIRST + ((u - SHELF.left) / across) * (LAST - FIRST);
const py = ({ top, foot, low, high }, v) => foot - ((v - low) / (high - low)) * (foot - top);
const valueAt = ({ top, foot, low, high }, y) => low + ((foot - y) / (foot - top)) * (high - low);

const axis = (panel, name) =>
  panel.ticks
    .map(
      (v) =>
        `<path class="av-rule" d="M${SHELF.left} ${at(py(panel, v))}H${SHELF.width - SHELF.right}"/>` +
        textAt(tick(v), SHELF.left - 6, py(panel, v) + 4, "end", "av-scale"),
    )
    .join("") +
  `<text transform="translate(14 ${at((panel.top + panel.foot) / 2)}) rotate(-90)" ` +
  `text-anchor="middle">${name}</text>`;
const path = (values) =>
  values
    .map((v, k) => `${k ? "L" : "M"}${at(px(PLACES_DRAWN[k]))} ${at(py(PANEL.answer, v))}`)
    .join("");
const bar = (kind, panel, jar, value) => {
  const [zero, end] = [py(panel, 0), py(panel, value)];
  return (
    `<rect class="av-${kind}" x="${at(px(jar) - THICK / 2)}" y="${at(Math.min(zero, end))}" ` +
    `width="${THICK}" height="${at(Math.abs(end - zero))}"/>`
  );
};

const drawing = (state, { curve, stairs, scores, weights, answer }) => {
  const here = [at(px(state.place)), at(py(PANEL.answer, answer))];
  const jars = JARS.map((p) => {
    const y = py(PANEL.answer, MARBLES[p]);
    const end = [at(px(p)), at(py(PANEL.score, scores[p]))];
    return (
      `<circle class="av-jar" cx="${at(px(p))}" cy="${at(y)}" r="4.5"/>` +
      bar("tall", PANEL.weight, p, weights[p]) +
      textAt(fixed(weights[p]), px(p), py(PANEL.weight, weights[p]) - 5, "middle", "av-weight") +
      bar("pulled", PANEL.score, p, scores[p]) +
      textAt(fixed(scores[p]), px(p), end[1] + (scores[p] > 0 ? -10 : 20), "middle", "av-score") +
      grip(`bar-${p}`, end, '<rect class="av-knob" x="-17" y="-4" width="34" height="8" rx="4"/>')
    );
  });
  const ends = [PANEL.answer.top - 6, PANEL.score.foot];
  return (
    axis(PANEL.answer, "marbles") +
    axis(PANEL.weight, "weight") +
    axis(PANEL.score, "score at temperature 1") +
    `<path class="av-here-line" d="M${here[0]} ${ends[0]}V${ends[1]}"/>` +
    `<path class="av-stairs" d="${path(stairs)}"/><path class="av-answer" d="${path(curve)}"/>` +
    jars.join("") +
    JARS.map((p) => textAt(`jar ${p}`, px(p), PANEL.answer.foot + 18)).join("") +
    textAt(fixed(answer, 1), here[0], ends[0] - 4, "middle", "av-weight") +
    grip("place", here, '<circle class="av-knob" cx="0" cy="0" r="8"/>')
  );
};

const figure = {
  name: "temperature",
  card: { part: ".av-shelf", box: "52 18 404 136" },
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
  view: (state, values) => {
    const best = Math.max(...values.scores);
    const tie = values.scores.filter((s) => s === best).length > 1;
    const label =
      `Four jars on a shelf: the answer of the lookup over the place, and of each jar the weight ` +
      `and the score at place ${setting(state.place)}`;
    return (
      `<svg class="av-shelf" role="img" aria-label="${label}" viewBox="0 0 ${SHELF.width} ` +
      `${PANEL.score.foot + 16}">${drawing(state, values)}</svg>` +
      say(
        `At place ${setting(state.place)} and temperature ${state.temperature}, the soft lookup ` +
          `(solid) answers ${fixed(values.answer, 1)} marbles and an exact lookup (dashed) ` +
          `${values.exact}${tie ? " (a tie)" : ""}. The weights are as spread out as ` +
          `${fixed(Math.exp(values.entropy), 1)} equal ones.`,
      )
    );
  },
  // The place is dragged along the shelf, and each score by the end of its bar.
  handles: (state, { scores, answer }) => [
    {
      id: "place",
      name: "place on the shelf",
      keys: ["place"],
      at: [px(state.place), py(PANEL.answer, answer)],
      read: ([u]) => ({ place: placeAt(u) }),
    },
    ...JARS.map((p) => ({
      id: `bar-${p}`,
      name: `score of jar ${p}`,
      keys: [`pull${p}`],
      value: `${fixed(scores[p])}, pulled by ${fixed(state[`pull${p}`])}`,
      at: [px(p), py(PANEL.score, scores[p])],
      read: ([, y]) => ({
        [`pull${p}`]: valueAt(PANEL.score, y) - scores[p] + state[`pull${p}`],
      }),
    })),
  ],
};

export default figureModule(figure);
