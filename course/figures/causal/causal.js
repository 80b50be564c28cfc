// Causal heatmap: which keys a query may attend to, and with what weight.

import { count, fixed, range, setting, softmax } from "../kit/numbers.js";
import { cellAt, mosaic } from "../kit/svg.js";
import { grid } from "../kit/tables.js";
import { figureModule, say } from "../kit/common.js";

const MASKS = ["none", "causal", "sliding", "padding", "causal and left padding"];

const allowed = (state, i, j) => {
  const { mask, window, T } = state;
  const length = Math.min(state.length, T);
  const causal = j <= i;
  if (mask === "causal") return causal;
  if (mask === "sliding") return causal && i - j < window;
  if (mask === "padding") return j < length;
  if (mask === "causal and left padding") return causal && j >= T - length;
  return true;
};

const figure = {
  name: "causal",
  card: { part: "table" },
  controls: [
    {
      key: "mask",
      kind: "choice",
      label: "mask",
      first: "causal",
      about: "Which keys a query may attend to",
      options: MASKS,
    },
    {
      key: "T",
      kind: "range",
      label: "tokens T",
      first: 8,
      about: "Tokens",
      min: 2,
      max: 64,
      step: 1,
    },
    {
      key: "window",
      kind: "range",
      label: "window",
      first: 3,
      about: "Keys that a query of the sliding mask sees",
      min: 1,
      max: 64,
      step: 1,
      upTo: ({ T }) => T,
      when: ({ mask }) => mask === "sliding",
    },
    {
      key: "length",
      kind: "range",
      label: "real tokens",
      first: 5,
      about: "Real tokens under the padding masks; more than `T` count as `T`",
      min: 0,
      max: 64,
      step: 1,
      upTo: ({ T }) => T,
      when: ({ mask }) => mask.endsWith("padding"),
    },
    {
      key: "slope",
      kind: "range",
      label: "ALiBi slope",
      first: 0,
      about: "The ALiBi slope",
      min: 0,
      max: 1,
      step: 0.0625,
    },
    {
      key: "temperature",
      kind: "range",
      label: "temperature",
      first: 1,
      about: "Divides the scores",
      min: 0.1,
      max: 4,
      step: 0.1,
    },
    ...[
      ["query", 5, "The row of the entry that is read out"],
      ["key", 3, "The column of the entry that is read out"],
    ].map(([key, first, about]) => ({
      key,
      first,
      about: `${about}; one beyond the last counts as the last`,
      kind: "range",
      label: `${key} to read`,
      min: 0,
      max: 63,
      step: 1,
      upTo: ({ T }) => T - 1,
    })),
  ],
  // The scores are cos(i - 2 j) over the temperature, so that anyone can
  // recompute them. The entry described is the one under the pointer, if there is
  // one.
  compute: (state, own) => {
    const { T, slope, temperature } = state;
    const score = (i, j) => Math.cos(i - 2 * j) / temperature - slope * Math.abs(i - j);
    const weights = range(T).map((i) => {
      const may = range(T).map((j) => allowed(state, i, j));
      return softmax(
        range(T).map((j) => score(i, j)),
        may,
      );
    });
    const read = [state.query, state.key].map((k) => Math.min(k, T - 1));
    const picked = own?.picked ?? read;
    return { weights, picked, score: score(...picked) };
  },

  view: (state, { weights, picked, score }) => {
    const { T, mask } = state;
    const names = range(T).map(String);
    const open = (i, j) => allowed(state, i, j);
    const empty = names.filter((_, i) => !range(T).some((j) => open(i, j)));
    const small = T <= 12;
    const hatched = `; hatched${small ? ", with a dot," : ""} where the mask forbids`;
    const label =
      "Weights: one row per query, one column per key" + (mask === "none" ? "" : hatched);
    // Of many keys each gets little, so a large map is shaded up to its largest weight.
    const most = Math.max(...weights.flat()) || 1;
    const detail =
      { sliding: `, window ${Math.min(state.window, T)}` }[mask] ??
      (mask.endsWith("padding") ? `, ${count(Math.min(state.length, T), "real token")}` : "");
    const settings =
      `Mask ${mask}${detail}; ${T} tokens, ALiBi slope ${setting(state.slope)}, ` +
      `temperature ${setting(state.temperature)}.`;
    const drawn = small
      ? `<p class="av-caption" aria-hidden="true">${label}</p>` +
        grid({
          label,
          rows: names.map((n) => `query ${n}`),
          columns: names,
          values: weights,
          open,
          picked,
        })
      : mosaic({
          label,
          values: weights.map((row) => row.map((w) => w / most)),
          open,
          rows: "queries",
          columns: "keys",
          ends: ["0", fixed(most)],
          picked,
        });
    const [i, j] = picked;
    const read = open(i, j)
      ? `score cos(${setting(i - 2 * j)}) / ${setting(state.temperature)} − ` +
        `${setting(state.slope)} · ${Math.abs(i - j)} = ${fixed(score, 4)}, weight ` +
        `${fixed(weights[i][j], 4)}.`
      : "the mask forbids it, weight 0.";
    // Empty rows are adjacent, starting with the first.
    const rows = empty.length
      ? ` Queries that may attend to nothing: ${empty[0]}` +
        `${empty.length > 1 ? ` to ${empty.at(-1)}` : ""}; their weights are all zero.`
      : "";
    return (
      `<div class="av-causal">${drawn}</div><p class="av-caption">${settings}</p>` +
      say(`Query ${i}, key ${j}: ${read}${rows}`)
    );
  },

  // An entry that is pressed stays the one described.
  enhance: (result, { T }, values, set) => {
    result.onclick = (event) => {
      const cell = cellAt(event, [T, T]);
      if (!cell) return;
      set("query", cell[0]);
      set("key", cell[1]);
    };
  },
  // An entry under the mouse is described while the mouse is there.
  live: ({ el, model, repaint }) => {
    const result = el.querySelector(".av-result");
    let picked = null;
    const read = (cell) => {
      if (String(cell) === String(picked)) return;
      picked = cell;
      repaint();
    };
    const over = (event) => {
      const T = el.values.weights.length;
      if (event.pointerType !== "touch") read(cellAt(event, [T, T]));
    };
    result.addEventListener("pointermove", over);
    result.addEventListener("pointerleave", () => read(null));
    const inside = (T) => picked && Math.max(...picked) < T;
    return {
      own: () => (inside(model.get("T")) ? { picked } : undefined),
    };
  },
};

export default figureModule(figure);
