// Temperature: the weights of a row of scores, and what they were before.

import { entropy, fixed, setting, softmax, tick } from "./numbers.js";
import { figureModule, say } from "./common.js";

const TEMPERATURES = [0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 10, 20, 50, 100];
const BOX = { width: 360, height: 216, left: 46, right: 6, top: 22, bottom: 38 };
const FLOOR = BOX.height - BOX.bottom;
const at = (x) => +x.toFixed(1);
const py = (w) => at(FLOOR - w * (FLOOR - BOX.top));

const words = (text, x, y, anchor = "middle", kind = "") =>
  `<text${kind && ` class="${kind}"`} x="${at(x)}" y="${at(y)}" text-anchor="${anchor}">` +
  `${text}</text>`;

const axis = (even) =>
  [0, 0.25, 0.5, 0.75, 1]
    .map(
      (w) =>
        `<path class="av-rule" d="M${BOX.left} ${py(w)}H${BOX.width - BOX.right}"/>` +
        words(tick(w), BOX.left - 6, py(w) + 4, "end"),
    )
    .join("") +
  `<path class="av-even" d="M${BOX.left} ${py(even)}H${BOX.width - BOX.right}"/>` +
  `<text transform="translate(12 ${at((BOX.top + FLOOR) / 2)}) rotate(-90)" ` +
  `text-anchor="middle">weight</text>`;

// The bars stand on fixed axes; the ghost is an outline around the same places.
const bars = ([scores], { weights, ghost }) => {
  const wide = (BOX.width - BOX.left - BOX.right) / scores.length;
  const thick = Math.min(0.62 * wide, 46);
  return scores
    .map((score, j) => {
      const middle = BOX.left + (j + 0.5) * wide;
      const box = (kind, w, width) =>
        `<rect class="av-${kind}" x="${at(middle - width / 2)}" y="${py(w)}" ` +
        `width="${at(width)}" height="${at(FLOOR - py(w))}"/>`;
      return (
        box("tall", weights[j], thick) +
        box("ghost", ghost[j], thick + 8) +
        words(fixed(weights[j]), middle, py(weights[j]) - 5, "middle", "av-weight") +
        words(setting(score), middle, FLOOR + 16)
      );
    })
    .join("");
};

const figure = {
  name: "temperature",
  card: { part: ".av-warm", box: "40 20 318 162" },
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
      key: "ghost",
      kind: "stops",
      label: "ghost at",
      first: 1,
      about: "The temperature of the weights that are outlined",
      stops: TEMPERATURES,
    },
    {
      key: "scores",
      kind: "matrix",
      label: "scores",
      first: [[0, 0.75, 0.5, -0.75]],
      shape: "(1, n)",
      about: "The row of scores",
      rows: [1, 1],
      columns: [2, 8],
      min: -10,
      max: 10,
    },
  ],
  compute: (state) => {
    const weightsAt = (tau) => softmax(state.scores[0].map((s) => s / tau));
    const [weights, ghost] = [weightsAt(state.temperature), weightsAt(state.ghost)];
    return { weights, ghost, entropy: entropy(weights), before: entropy(ghost) };
  },
  view: (state, values) => {
    const { weights, ghost } = values;
    const n = weights.length;
    const label =
      `The weights of ${n} scores at temperature ${state.temperature}: ` +
      `${weights.map((w) => fixed(w)).join(", ")}; outlined those at ${state.ghost}: ` +
      `${ghost.map((w) => fixed(w)).join(", ")}`;
    const most = Math.max(...weights);
    const text =
      `At temperature ${state.temperature} the largest weight is ${fixed(most)}, and the ` +
      `entropy ${fixed(values.entropy)} nats of at most ${fixed(Math.log(n))}: as spread out as ` +
      `${fixed(Math.exp(values.entropy), 1)} equal weights. The outlines are those of ` +
      `temperature ${state.ghost}: largest ${fixed(Math.max(...ghost))}, entropy ` +
      `${fixed(values.before)}.`;
    return (
      `<svg class="av-warm" role="img" aria-label="${label}" viewBox="0 0 ${BOX.width} ` +
      `${BOX.height}">${axis(1 / n)}${bars(state.scores, values)}` +
      words("scores; dotted: all weights equal", (BOX.left + BOX.width) / 2, BOX.height - 5) +
      `</svg>${say(text)}`
    );
  },

  // The ghost is where the slider was when the reader took hold of it.
  live: ({ form }) => {
    const [slider, ghost] = ["temperature", "ghost"].map((key) => form.elements.namedItem(key));
    let pressed = false;
    let from = null; // where the slider was taken, until it moves
    const take = () => (from = slider.value);
    slider.addEventListener("pointerdown", () => {
      pressed = true;
      take();
    });
    slider.addEventListener("focus", () => pressed || take());
    for (const over of ["pointerup", "pointercancel"])
      slider.addEventListener(over, () => (pressed = false));
    // On the form, so that the slider's own move has been taken before: what
    // is set first fills the fields anew.
    form.addEventListener("input", ({ target }) => {
      if (target !== slider || from === null) return;
      ghost.value = from;
      from = null;
      ghost.dispatchEvent(new Event("input", { bubbles: true }));
    });
  },
};

export default figureModule(figure);
