// The word model: its computation from words to the next word, and how each
// number was computed.

import { dot, matmul, range, softmax, transpose } from "../kit/numbers.js";
import { uniform } from "../kit/random.js";
import { known } from "../kit/common.js";

// --- the model -----------------------------------------------------------

const GIVEN = known("flow");
export const KNOWN = GIVEN.words;
export const MODEL = 16; // width of a row
export const HEADS = 2;
export const BLOCKS = 2;
export const MOST = 11; // words that the model can read
export const INNER = 32; // width of the network's hidden row
export const HEAD = MODEL / HEADS;
const EPS = 1e-5;

// The stored parameters have two decimals, so the displayed values are exact.
const stored = (name, columns) => {
  const flat = GIVEN.hundredths[name].split(" ").map((n) => n / 100);
  return range(flat.length / columns).map((i) => flat.slice(i * columns, (i + 1) * columns));
};
const square = (name) => stored(name, MODEL);
export const TABLE = square("embedding");
export const PLACED = square("positions");
const [LAST_GAIN] = square("norm.gain");
const PARAMETERS = range(BLOCKS).map((b) => ({
  gain_1: square(`${b}.norm_1.gain`)[0],
  ...Object.fromEntries(["W_Q", "W_K", "W_V", "W_O"].map((W) => [W, square(`${b}.${W}`)])),
  gain_2: square(`${b}.norm_2.gain`)[0],
  W_1: stored(`${b}.W_1`, INNER),
  W_2: square(`${b}.W_2`),
}));

const rootOf = (row) => Math.sqrt(dot(row, row) / row.length + EPS);
const normed = (X, gain) =>
  X.map((row) => {
    const r = rootOf(row);
    return row.map((x, c) => (x / r) * gain[c]);
  });
const sumOf = (A, B) => A.map((row, i) => row.map((x, c) => x + B[i][c]));
const headOf = (row, h) => row.slice(h * HEAD, (h + 1) * HEAD);

// A block: its attention and its network, each added to its input.
const through = (X, p) => {
  const read = normed(X, p.gain_1);
  const [Q, K, V] = ["W_Q", "W_K", "W_V"].map((W) =>
    range(HEADS).map((h) => matmul(read, p[W]).map((row) => headOf(row, h))),
  );
  // A query sees the words up to its own.
  const scores = Q.map((rows, h) =>
    rows.map((q, i) => K[h].slice(0, i + 1).map((k) => dot(q, k) / Math.sqrt(HEAD))),
  );
  const weights = scores.map((rows) => rows.map((row) => softmax(row)));
  const mixed = weights.map((rows, h) => rows.map((w, i) => matmul([w], V[h].slice(0, i + 1))[0]));
  const heads = X.map((_, i) => mixed.flatMap((rows) => rows[i]));
  const found = matmul(heads, p.W_O); // what the attention adds to the rows
  const attended = sumOf(X, found);
  const reread = normed(attended, p.gain_2);
  const hidden = matmul(reread, p.W_1).map((row) => row.map((x) => Math.max(x, 0)));
  const made = matmul(hidden, p.W_2); // what the network adds
  const after = sumOf(attended, made);
  const attention = { X, read, Q, K, V, scores, weights, mixed, heads, found, attended };
  return { ...attention, reread, hidden, made, after };
};

export const wordsOf = (text) =>
  text
    .toLowerCase()
    .replace(/[.,;:!?"“”]/g, " ")
    .split(" ")
    .filter(Boolean);
const run = (text) => {
  const words = wordsOf(text);
  const tokens = words.map((word) => KNOWN.indexOf(word));
  const embedded = tokens.map((id, i) => TABLE[id].map((x, c) => x + PLACED[i][c]));
  const blocks = [];
  for (const p of PARAMETERS) blocks.push(through(blocks.at(-1)?.after ?? embedded, p));
  const final = normed(blocks.at(-1).after, LAST_GAIN);
  const logits = matmul(final, transpose(TABLE));
  return { words, tokens, embedded, blocks, final, logits };
};
// The latest result, because opening another number of a sentence changes
// nothing.
let latest = {};
export const netOf = (text) => {
  if (latest.text !== text) latest = { text, net: run(text) };
  return latest.net;
};
// The words of the model, the most probable first, at every temperature.
export const rankedBy = (logits) => range(KNOWN.length).sort((a, b) => logits[b] - logits[a]);
// The probabilities of the word after word i.
export const chancesOf = ({ text, temperature }, i) =>
  softmax(netOf(text).logits[i].map((z) => z / temperature));
// The word that a seed draws after the sentence. The words, the most probable first,
// divide the interval from 0 to 1 by their probabilities, and one has u in its part.
export const drawnIn = (state) => {
  const { logits } = netOf(state.text);
  const last = logits.length - 1;
  const chances = chancesOf(state, last);
  const order = rankedBy(logits[last]);
  const u = uniform(state.seed, 0);
  let passed = 0;
  const found = order.find((id) => (passed += chances[id]) > u);
  return { u, id: found ?? order.at(-1) };
};

// --- numbers that can be opened ------------------------------------------

const SCORES = ["score", "weight"];
export const STEPS = {
  word: "words",
  embedding: "embedding",
  "attention norm": "attention",
  query: "attention",
  key: "attention",
  score: "attention",
  weight: "attention",
  value: "attention",
  mix: "attention",
  attention: "attention",
  "network norm": "network",
  hidden: "network",
  network: "network",
  "last norm": "next",
  logit: "next",
  probability: "next",
};
const IN_BLOCK = ["attention", "network"];
export const inBlock = ({ step }) => IN_BLOCK.includes(STEPS[step]);
export const OF_KEY = ["key", "value", ...SCORES];
export const OF_RANK = ["logit", "probability"];
const OF_HEAD = ["query", "mix", ...OF_KEY];
const WIDTHS = { query: HEAD, key: HEAD, value: HEAD, mix: HEAD, hidden: INNER };
export const NUMBERED = Object.keys(STEPS).filter(
  (step) => !["word", ...SCORES, ...OF_RANK].includes(step),
);
export const widthOf = ({ step }) => WIDTHS[step] ?? MODEL;

// The latest count, because each number of a drawing asks for it.
let counted = {};
const lengthOf = (text) => {
  if (counted.text !== text) counted = { text, length: wordsOf(text).length };
  return counted.length;
};
export const wordAt = ({ word, text }) => Math.min(word, lengthOf(text) - 1);
// The indices of a state: word i, key j, block b, head h, number c; and its temperature t.
export const placeOf = (state) => {
  const i = wordAt(state);
  return {
    i,
    j: Math.min(state.key, i),
    b: state.block,
    h: state.head,
    c: Math.min(state.number, widthOf(state) - 1),
    t: state.temperature,
  };
};

// The settings that open number c of the rows that enter a block, or leave the
// last.
export const entering = (b, i, c) =>
  b === 0
    ? { step: "embedding", word: i, number: c }
    : { step: "network", block: b - 1, word: i, number: c };

// How the opened number was computed: terms, their sum, and what follows. A term
// has two factors, each with the settings that open it, if it was computed.
const product = (a, b, from, by) => ({ a, b, from, by, out: a * b });
const exponential = (a, from, name, t = 1) => ({ a, from, name, out: Math.exp(a / t) });
export const summed = (terms) => terms.reduce((sum, { out }) => sum + out, 0);
const columnOf = (W, c) => W.map((row) => row[c]);
const products = (row, column, from, by) =>
  row.map((a, m) => product(a, column[m], from(m), by?.(m)));
const madeNorm = (row, gain, c, from) => {
  const terms = row.map((a, m) => product(a, a, from(m), from(m)));
  const total = summed(terms);
  const root = rootOf(row);
  return {
    terms,
    total,
    root,
    x: row[c],
    from: from(c),
    gain: gain[c],
    value: (row[c] / root) * gain[c],
  };
};
const MAKERS = {
  word: (net, { i }) => ({ terms: [], total: net.tokens[i], value: net.tokens[i] }),
  embedding: ({ tokens }, { i, c }) => {
    const terms = [TABLE[tokens[i]][c], PLACED[i][c]].map((a) => ({ a, out: a }));
    return { terms, total: summed(terms), value: summed(terms) };
  },
  "attention norm": ({ blocks }, { i, b, c }) =>
    madeNorm(blocks[b].X[i], PARAMETERS[b].gain_1, c, (m) => entering(b, i, m)),
  "network norm": ({ blocks }, { i, b, c }) =>
    madeNorm(blocks[b].attended[i], PARAMETERS[b].gain_2, c, (m) => ({
      step: "attention",
      number: m,
    })),
  "last norm": ({ blocks }, { i, c }) =>
    madeNorm(blocks.at(-1).after[i], LAST_GAIN, c, (m) => entering(BLOCKS, i, m)),
  ...Object.fromEntries(
    ["query", "key", "value"].map((step) => [
      step,
      ({ blocks }, { i, j, b, h, c }) => {
        const W = PARAMETERS[b][`W_${step[0].toUpperCase()}`];
        const word = step === "query" ? i : j;
        const terms = products(blocks[b].read[word], columnOf(W, h * HEAD + c), (m) => ({
          step: "attention norm",
          word,
          number: m,
        }));
        return { terms, total: summed(terms), value: summed(terms) };
      },
    ]),
  ),
  score: ({ blocks }, { i, j, b, h }) => {
    const terms = products(
      blocks[b].Q[h][i],
      blocks[b].K[h][j],
      (m) => ({ step: "query", number: m }),
      (m) => ({ step: "key", number: m }),
    );
    return { terms, total: summed(terms), value: summed(terms) / Math.sqrt(HEAD) };
  },
  weight: ({ blocks, words }, { i, j, b, h }) => {
    const terms = blocks[b].scores[h][i].map((a, k) =>
      exponential(a, { step: "score", key: k }, words[k]),
    );
    return { terms, total: summed(terms), value: terms[j].out / summed(terms) };
  },
  mix: ({ blocks }, { i, b, h, c }) => {
    const terms = products(
      blocks[b].weights[h][i],
      columnOf(blocks[b].V[h].slice(0, i + 1), c),
      (k) => ({ step: "weight", key: k }),
      (k) => ({ step: "value", key: k, number: c }),
    );
    return { terms, total: summed(terms), value: summed(terms) };
  },
  attention: ({ blocks }, { i, b, c }) => {
    const terms = products(blocks[b].heads[i], columnOf(PARAMETERS[b].W_O, c), (m) => ({
      step: "mix",
      head: Math.floor(m / HEAD),
      number: m % HEAD,
    }));
    const x = blocks[b].X[i][c];
    return { terms, total: summed(terms), x, from: entering(b, i, c), value: summed(terms) + x };
  },
  hidden: ({ blocks }, { i, b, c }) => {
    const terms = products(blocks[b].reread[i], columnOf(PARAMETERS[b].W_1, c), (m) => ({
      step: "network norm",
      number: m,
    }));
    return { terms, total: summed(terms), value: Math.max(summed(terms), 0) };
  },
  network: ({ blocks }, { i, b, c }) => {
    const terms = products(blocks[b].hidden[i], columnOf(PARAMETERS[b].W_2, c), (m) => ({
      step: "hidden",
      number: m,
    }));
    const x = blocks[b].attended[i][c];
    const from = { step: "attention", number: c };
    return { terms, total: summed(terms), x, from, value: summed(terms) + x };
  },
  logit: ({ final }, { i }, id) => {
    const terms = products(final[i], TABLE[id], (m) => ({ step: "last norm", number: m }));
    return { terms, total: summed(terms), value: summed(terms) };
  },
  probability: ({ logits }, { i, t }, id, order) => {
    const terms = order.map((k, rank) =>
      exponential(logits[i][k], { step: "logit", rank }, KNOWN[k], t),
    );
    return { terms, total: summed(terms), value: Math.exp(logits[i][id] / t) / summed(terms) };
  },
};
// A drawing asks several times about one state.
export const once = (work) => {
  const kept = new WeakMap();
  return (state) => {
    if (!kept.has(state)) kept.set(state, work(state));
    return kept.get(state);
  };
};
export const openedIn = once((state) => {
  const net = netOf(state.text);
  const place = placeOf(state);
  const order = rankedBy(net.logits[place.i]);
  const id = order[state.rank];
  return { ...MAKERS[state.step](net, place, id, order), order, id };
});

// The number that a state opens, told from all others by its step and its indices.
const numberOf = (state) => {
  const { step } = state;
  const { i, j, b, h, c } = placeOf(state);
  return [
    step,
    ["key", "value"].includes(step) ? "" : i,
    OF_KEY.includes(step) ? j : "",
    inBlock(state) ? b : "",
    OF_HEAD.includes(step) ? h : "",
    NUMBERED.includes(step) ? c : "",
    OF_RANK.includes(step) ? state.rank : "",
  ].join();
};
// The computed numbers that the opened number comes from, each as a state, by name.
const sourcesOf = once((state) => {
  const { terms, from } = openedIn(state);
  const settings = [...terms.flatMap((term) => [term.from, term.by]), from].filter(Boolean);
  const states = settings.map((some) => ({ ...state, ...some }));
  return new Map(states.map((source) => [numberOf(source), source]));
});
export const sources = (state) => [...sourcesOf(state).values()];
// Most numbers of a picture are of another step than all sources.
const stepsOf = once((state) => new Set(sources(state).map(({ step }) => step)));
export const feeds = (state, settings) =>
  stepsOf(state).has(settings.step) && sourcesOf(state).has(numberOf({ ...state, ...settings }));

export const compute = (state) => {
  const net = netOf(state.text);
  const { terms, total, value, order, id } = openedIn(state);
  const { i, h } = placeOf(state);
  return {
    tokens: net.tokens,
    embedded: net.embedded,
    attended: net.blocks.map(({ attended }) => attended),
    hidden: net.blocks.map(({ hidden }) => hidden),
    after: net.blocks.map(({ after }) => after),
    added: net.blocks.flatMap(({ found, made }) => [found, made]),
    queries: net.blocks.map(({ Q }) => Q[h]),
    keys: net.blocks.map(({ K }) => K[h]),
    values: net.blocks.map(({ V }) => V[h]),
    weights: net.blocks.map(({ weights }) =>
      weights[h].map((row) => range(net.words.length).map((k) => row[k] ?? 0)),
    ),
    mixed: net.blocks.map(({ mixed }) => mixed[h]),
    logits: net.logits,
    chances: chancesOf(state, i),
    said: rankedBy(net.logits.at(-1))[0],
    drawn: drawnIn(state),
    order,
    opened: { id, parts: terms.map(({ out }) => out), total, value },
  };
};
