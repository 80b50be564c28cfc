// What tests ask a figure's module for, in an engine without a page.

// --- any figure

export const picture = (state) => figure.view(state, figure.compute(state));
export const values = (state) => figure.compute(state);
export const stateShell = (state) => shell(figure, state);

// --- hostile input

const STRANGE = [
  ...[undefined, null, true, false, 0, -1, 0.5, 2, 1e308, NaN, Infinity],
  ...["", "2", "x", "<b>", "constructor", "__proto__"],
  ...[[], [[]], [1], [[1, 2], [3]], [[1], [2]], [["1"]], [[NaN]], [[[1]]], [[null]], [[true]]],
  ...[{}, { length: 1 }, [{}], [undefined], 10n ** 30n, () => 1],
];
// What a kernel can send: a trait has its type, and may be out of range.
const NUMBERS = [0, -1, 0.5, 2, 3, 1e9, 1e308, NaN, Infinity];
const SENT = {
  choice: ["", "x", "<b>", "constructor"],
  flag: [true, false],
  matrix: [[], [[]], [[1, 2], [3]], [[1], [2]], [[NaN]], [[1e308]], [[101]]],
  number: NUMBERS,
  range: NUMBERS,
  power: NUMBERS,
  stops: NUMBERS,
  text: ["", "x", "{}", "[]", "null", "<b>", '{"a": 1}', "x".repeat(6001)],
  words: ["", "a", "a b c", "<b> <i> <p>", "a  b c", "abcdefgh b c"],
  symbols: ["", "M", "a", "<b>", "A B", "AB", "\u00c4", "A".repeat(33)],
};

// Of each setting and each strange value: the setting, the kind, the message.
export const judged = (state) =>
  figure.controls.flatMap(({ key }) =>
    STRANGE.map((value) => [key, typeof value, problem(figure, { ...state, [key]: value })]),
  );
export const shownAsSent = (state) =>
  figure.controls.flatMap((control) =>
    SENT[control.kind].map((value) => {
      const tried = { ...state, [control.key]: value };
      return [String(value), problem(figure, tried), shell(figure, tried)];
    }),
  );

// An engine has no address: this one holds pairs of a name and a text.
export const readFrom = (search, state) => {
  globalThis.location = { search };
  globalThis.URLSearchParams = class {
    constructor(pairs) {
      this.pairs = pairs;
    }
    get(key) {
      return this.pairs.find(([name]) => name === key)?.[1] ?? null;
    }
    keys() {
      return this.pairs.map(([name]) => name);
    }
  };
  const result = fromAddress(figure, state);
  // What is refused leaves the first state, which other tests draw.
  const html = result.wrong ? "" : shell(figure, result.state);
  return [result.state, result.wrong, html];
};

// --- one figure each

// Of each entry of the step figure: what its drawing is called, and what meets in it.
export const worksAll = (state) => {
  const numbers = figure.compute(state);
  const made = steps(state, numbers);
  return Object.fromEntries(
    made.list.flatMap(({ name, values: A }, k) =>
      A.flatMap((all, row) =>
        all.map((_, column) => {
          const there = { ...state, step: k + 1, row, column };
          const label = figure.view(there, numbers).match(/aria-label="([^"]*)"/)[1];
          return [`${name},${row},${column}`, [label, pictureOf(there, made).opened.from]];
        }),
      ),
    ),
  );
};
export const haunted = (state, last) =>
  figure.view(state, figure.compute(state), {
    ghost: { state: last, values: figure.compute(last) },
  });
export const loaded = (name) => {
  globalThis.attentionData = { [name]: 7 };
  const result = [known(name), known("other") ?? 0];
  delete globalThis.attentionData;
  return result;
};

// --- handles

// Each handle that is dragged by an offset: its name, and how far it went
// along the way and altogether; nothing where the settings do not fit.
export const draggedBy = (state, [dx, dy]) => {
  const handlesOf = (now) => figure.handles?.(now, figure.compute(now)) ?? [];
  const long = Math.hypot(dx, dy);
  const controlOf = (key) => {
    const control = figure.controls.find((it) => it.key === key.split(".")[0]);
    return key.includes(".") ? { ...control, key, kind: "range", step: TENTH } : control;
  };
  return handlesOf(state)
    .filter(({ read }) => read)
    .flatMap(({ id, at: [x, y], keys, read }) => {
      const wished = read([x + dx, y + dy]);
      const given = keys.map((key) => [key, snapped(controlOf(key), state, wished[key])]);
      const next = { ...state, ...matricesOf(Object.fromEntries(given), state) };
      const there = problem(figure, next) ? [] : handlesOf(next);
      return there
        .filter((handle) => handle.id === id)
        .map(({ at: [u, v] }) => [
          id,
          ((u - x) * dx + (v - y) * dy) / long,
          Math.hypot(u - x, v - y),
        ]);
    });
};
