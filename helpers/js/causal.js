// Causal heatmap: which keys a query may attend to, and with what weight.

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
  controls: [
    { key: "mask", kind: "choice", label: "mask", options: MASKS },
    { key: "T", kind: "range", label: "tokens T", min: 2, max: 64, step: 1 },
    {
      key: "window",
      kind: "range",
      label: "window",
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
      min: 0,
      max: 64,
      step: 1,
      upTo: ({ T }) => T,
      when: ({ mask }) => mask.endsWith("padding"),
    },
    { key: "slope", kind: "range", label: "ALiBi slope", min: 0, max: 1, step: 0.0625 },
    { key: "temperature", kind: "range", label: "temperature", min: 0.1, max: 4, step: 0.1 },
  ],
  // Scores that anyone can recompute: cos(i - 2 j), over the temperature.
  compute: (state) => {
    const { T, slope, temperature } = state;
    const weights = range(T).map((i) => {
      const may = range(T).map((j) => allowed(state, i, j));
      const row = range(T).map((j) => Math.cos(i - 2 * j) / temperature - slope * Math.abs(i - j));
      return softmax(row, may);
    });
    return { weights, entropies: weights.map(entropy) };
  },

  view: (state, { weights, entropies }) => {
    const { T, mask } = state;
    const names = range(T).map(String);
    const open = (i, j) => allowed(state, i, j);
    const empty = names.filter((_, i) => !range(T).some((j) => open(i, j)));
    const mean = entropies.reduce((a, b) => a + b, 0) / T;
    const small = T <= 12;
    const label =
      `Attention weights: a row a query, a column a key; hatched${small ? ", with a dot," : ""} ` +
      `where the mask forbids${small ? "" : "; 0 is light, 1 dark"}`;
    const detail =
      { sliding: `, window ${Math.min(state.window, T)}` }[mask] ??
      (mask.endsWith("padding") ? `, ${count(Math.min(state.length, T), "real token")}` : "");
    const settings =
      `Mask ${mask}${detail}; ${T} tokens, ALiBi slope ${setting(state.slope)}, ` +
      `temperature ${setting(state.temperature)}.`;
    const drawn = small
      ? grid({
          label,
          rows: names.map((n) => `query ${n}`),
          columns: names,
          values: weights,
          open,
        })
      : mosaic({ label, values: weights, open });
    const rows = empty.length
      ? `Queries that may attend to nothing: ${empty.join(", ")}. Their weights are all zero.`
      : "Every query may attend to something.";
    return (
      drawn +
      say(
        `${settings} ${rows} Mean entropy ${fixed(mean, 3)} ` +
          `nats${empty.length ? ", where an empty row counts as 0" : ""}.`,
      )
    );
  },
};

export default figureModule(figure);
