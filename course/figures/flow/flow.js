// A sentence on its way to its next word, through a small trained model. Every
// number can be opened, and its factors lead on to the numbers that they come
// from.

import { fixed, range, setting } from "../kit/numbers.js";
import { byLevel, colorOf, escape, inkOn } from "../kit/svg.js";
import { shorten } from "../kit/kinds.js";
import { figureModule, say } from "../kit/common.js";
import {
  KNOWN,
  MODEL,
  HEADS,
  BLOCKS,
  MOST,
  INNER,
  HEAD,
  TABLE,
  PLACED,
  wordsOf,
  netOf,
  rankedBy,
  chancesOf,
  drawnIn,
  STEPS,
  inBlock,
  OF_KEY,
  OF_RANK,
  NUMBERED,
  widthOf,
  wordAt,
  placeOf,
  summed,
  once,
  openedIn,
  feeds,
  sources,
  compute,
  entering,
} from "./wordmodel.js";

// --- parts of the picture ------------------------------------------------

const REACH = 3; // the colour scale runs from minus this to this everywhere
const STATIONS = [
  { name: "Words", step: "word" },
  { name: "Embedding", step: "embedding" },
  ...range(BLOCKS).flatMap((block) => [
    { name: "Attention", step: "weight", block },
    { name: "Network", step: "network", block },
  ]),
  { name: "Next word", step: "probability" },
];
const stationOf = (state) =>
  STATIONS.findIndex(
    ({ step, block }) =>
      STEPS[step] === STEPS[state.step] && (block === undefined || block === state.block),
  );
const NAMED_FROM = 0.12; // a piece of the line has room for its word
const DRAWN_FROM = 0.001; // and can be seen
const SHOWN = 5; // candidates for the next word
const LISTED = 6; // candidates that are listed with their computation
const CHIPS = 3;
const LEAST = 0.01;
const SEEDS = 1000;
const [COLD, HOT] = [0.2, 2]; // the ends of the temperature

const plain = (text) => text.replaceAll(" ", "-");
const largestOf = (row) => row.indexOf(Math.max(...row));
// A rounded probability is never said to be 1, or printed as 0 or 1.
const sure = (p) => (p >= 0.995 ? "above 0.99" : fixed(p));
const placeIn = once(placeOf);
// A number of the picture that can be opened: its position, the settings that
// open it, and whether the opened number comes from it.
const part = (state, x, step, more, name) => {
  const { i, j, c } = placeIn(state);
  const here = { key: j, number: c, rank: state.rank, word: i, block: state.block };
  const on = state.step === step && Object.entries(more).every(([k, v]) => here[k] === v);
  const id = [plain(step), ...Object.values(more)].join("-");
  const to = { step, ...more };
  const source = feeds(state, to);
  const said = `${name}, ${step === "probability" ? sure(x) : fixed(x)}${source ? ", a source" : ""}`;
  return { id, x, on, source, name: said, group: "numbers", to };
};
const numbersOf = (state, row, step, name, more = {}) =>
  row.map((x, number) => part(state, x, step, { ...more, number }, `number ${number} of ${name}`));

// The rows of numbers that the opened stage shows.
const rowsOf = once((state) => {
  const net = netOf(state.text);
  const { i, b, h, c } = placeOf(state);
  const { words } = net;
  const block = net.blocks[b];
  const row = (label, step, numbers, kind = "") => ({
    label,
    kind,
    parts: numbersOf(state, numbers, step, label),
  });
  const given = (label, numbers) => ({
    label,
    kind: "",
    numbers: numbers.map((x, k) => ({ x, source: state.step === "embedding" && k === c })),
  });
  // The row that enters a block comes from the embedding or from the block before.
  const enteringRow = (label, at) => {
    const { step, block: from } = entering(at, i, 0);
    const more = from === undefined ? {} : { block: from };
    const parts = numbersOf(state, net.blocks[at].X[i], step, label, more);
    return { label, kind: "", parts };
  };
  // What an open stage adds to a row, with a frame where its sum opens.
  const adds = (label, numbers) => ({
    label,
    added: numbers.map((x, k) => ({ x, source: STEPS[state.step] === state.step && k === c })),
  });
  const stage = STEPS[state.step];
  if (stage === "words") return { chips: net.tokens };
  if (stage === "embedding")
    return {
      before: [
        given(`the row of “${words[i]}” in the table`, TABLE[net.tokens[i]]),
        given(`the row of position ${i}`, PLACED[i]),
        row(`their sum`, "embedding", net.embedded[i]),
      ],
    };
  if (stage === "network")
    return {
      before: [
        row("row after attention, normed", "network norm", block.reread[i]),
        row("hidden row", "hidden", block.hidden[i]),
      ],
      after: [
        row("row after attention", "attention", block.attended[i]),
        adds("+ the network adds", block.made[i]),
        row("= row after the network", "network", block.after[i]),
      ],
    };
  if (stage === "next") {
    const order = rankedBy(net.logits[i]);
    const chances = chancesOf(state, i);
    const ranks = range(LISTED);
    if (state.rank >= LISTED && OF_RANK.includes(state.step)) ranks[LISTED - 1] = state.rank;
    return {
      before: [row("last row, normed", "last norm", net.final[i])],
      next: ranks.map((rank) => {
        const [id, more] = [order[rank], { rank }];
        return {
          label: KNOWN[id],
          logit: part(state, net.logits[i][id], "logit", more, `logit of ${KNOWN[id]}`),
          chance: part(state, chances[id], "probability", more, `probability of ${KNOWN[id]}`),
        };
      }),
    };
  }
  const earlier = range(i + 1).map((key) => ({
    label: words[key],
    keys: numbersOf(state, block.K[h][key], "key", `the key of word ${key}`, { key }),
    score: part(state, block.scores[h][i][key], "score", { key }, `score of word ${key}`),
    weight: part(state, block.weights[h][i][key], "weight", { key }, `weight of word ${key}`),
    values: numbersOf(state, block.V[h][key], "value", `the value of word ${key}`, { key }),
  }));
  return {
    before: [row(`row of “${words[i]}”, normed`, "attention norm", block.read[i])],
    query: row("query", "query", block.Q[h][i], "query"),
    earlier,
    mix: row("sum", "mix", block.mixed[h][i], "mix"),
    after: [
      enteringRow(`row of “${words[i]}”`, b),
      adds("+ the attention adds", block.found[i]),
      row("= row after attention", "attention", block.attended[i]),
    ],
  };
});
const partsOf = ({ before = [], query, earlier = [], mix, after = [], next = [] }) => [
  ...[...before, query, mix, ...after].flatMap((row) => row?.parts ?? []),
  ...earlier.flatMap(({ keys, score, weight, values }) => [...keys, score, weight, ...values]),
  ...next.flatMap(({ logit, chance }) => [logit, chance]),
];

// The way from a word to a probability: the steps that it stops at, in their blocks.
const WAY = [
  ...["word", "embedding", "attention norm", "query", "score", "weight", "mix"],
  ...["attention", "hidden", "network"],
].map((step) => ({ step, block: 0 }));
WAY.push(...["weight", "logit", "probability"].map((step) => ({ step, block: BLOCKS - 1 })));
const ORDER = Object.keys(STEPS);
const farOf = ({ step, block }) => {
  const passed = STEPS[step] === "next" ? BLOCKS : inBlock({ step }) ? block : 0;
  return passed * ORDER.length + ORDER.indexOf(step);
};
// Where on the way a state is, and the steps before and after it. The first follows the
// last.
const wayOf = (state) => {
  const far = farOf(state);
  const at = WAY.filter((stop) => farOf(stop) <= far).length - 1;
  const there = farOf(WAY[at]) === far;
  return {
    at,
    there,
    back: (at + WAY.length - (there ? 1 : 0)) % WAY.length,
    on: (at + 1) % WAY.length,
  };
};
// On the way, the opened weight is the largest, and the next word the likeliest.
const stopAt = (state, k) => {
  const { i, h } = placeOf(state);
  const { step, block } = WAY[k];
  const weights = netOf(state.text).blocks[block].weights[h][i];
  return { step, block, key: largestOf(weights), rank: 0 };
};

// The computed factors of the opened number are handles that open those factors.
const factorsOf = (state, opened) => {
  const lead = (id, x, to, name) =>
    to ? [{ id, x, to, name: `${name}, ${fixed(x)}: how it was made`, group: "factors" }] : [];
  return [
    ...opened.terms.flatMap(({ a, b, from, by }, m) => [
      ...lead(`from-${m}`, a, from, `factor ${m}`),
      ...lead(`by-${m}`, b, by, `its partner ${m}`),
    ]),
    ...lead("from-x", opened.x, opened.from, "what is added or divided"),
  ];
};

const FIRST = "the queen drank the tea because";
const SENTENCES = [
  FIRST,
  "the old king ate the",
  "the bird slept in the tree because it was",
  "the cat drank the milk and",
  "the fish swam in the",
  "the horse ran to the castle because",
  "the small dog slept by the fire because it was",
];
const shorter = ({ text }) => ({
  text: wordsOf(text).slice(0, -1).join(" ") || wordsOf(text)[0],
  word: MOST - 1,
});
const another = ({ text }) => ({
  text: SENTENCES[(SENTENCES.indexOf(text) + 1) % SENTENCES.length],
  word: MOST - 1,
});
const longer = (text, word) => ({ text: [...wordsOf(text), word].join(" "), word: MOST - 1 });
// The next seed, and the sentence with the word that the seed draws, unless that is its end.
const END = ".";
const reseeded = ({ seed }) => ({ seed: (seed + 1) % SEEDS });
const drawn = (state) => {
  const word = KNOWN[drawnIn(state).id];
  return { ...(word === END ? {} : longer(state.text, word)), ...reseeded(state) };
};
const heatAt = (t) => (t - COLD) / (HOT - COLD);
const drawName = (state) =>
  KNOWN[drawnIn(state).id] === END ? "it ends here: draw again" : "draw a word";
// The most probable next words, without the improbable ones.
const chipsOf = (state, net) => {
  const chances = chancesOf(state, net.words.length - 1);
  return rankedBy(net.logits.at(-1))
    .slice(0, CHIPS)
    .filter((id, rank) => rank === 0 || chances[id] >= LEAST)
    .map((id, rank) => ({ id: `add-${rank}`, word: KNOWN[id], chance: chances[id] }));
};
const handles = (state) => {
  const net = netOf(state.text);
  const { i } = placeOf(state);
  const opened = openedIn(state);
  const last = net.words.length - 1;
  const press = ({ id, name, group, on, to }) => ({
    id,
    name,
    group,
    on,
    heir: on,
    press: () => to,
  });
  return [
    ...chipsOf(state, net)
      .filter(({ word }) => word !== ".")
      .map(({ id, word }) => ({
        id,
        name: `add ${word}`,
        press: ({ text }) => longer(text, word),
      })),
    { id: "draw", name: drawName(state), press: () => drawn(state) },
    { id: "less", name: "remove the last word", press: shorter },
    { id: "other", name: "another sentence", press: another },
    ...STATIONS.map(({ name, step, block = state.block }, k) => ({
      id: `at-${k}`,
      name: k > 1 && k < STATIONS.length - 1 ? `${name}, block ${block}` : name,
      group: "stages",
      on: k === stationOf(state),
      press: () => ({ step, block }),
    })),
    // Both blocks are drawn with the same head; a press shows the next one.
    ...range(BLOCKS).map((block) => ({
      id: `turn-${block}`,
      name: `block ${block}, head ${state.head} is drawn: draw head ${(state.head + 1) % HEADS}`,
      press: ({ head }) => ({ head: (head + 1) % HEADS }),
    })),
    ...["back", "on"].map((way) => {
      const k = wayOf(state)[way];
      const { step, block } = WAY[k];
      return {
        id: `way-${way}`,
        name: `to step ${k + 1}, ${step}${inBlock({ step }) ? `, block ${block}` : ""}`,
        press: (now) => stopAt(now, k),
      };
    }),
    ...net.words.map((word, k) => ({
      id: `word-${k}`,
      name: `follow ${word}, word ${k}`,
      group: "words",
      on: k === i,
      press: () => ({ word: k === last ? MOST - 1 : k }),
    })),
    ...opened.order.slice(0, SHOWN).map((id, rank) => ({
      id: `next-${rank}`,
      name: `${KNOWN[id]}, how likely`,
      group: "next",
      on: STEPS[state.step] === "next" && state.rank === rank,
      press: () => ({ step: "probability", rank }),
    })),
    ...(STEPS[state.step] === "attention"
      ? range(HEADS).map((head) => ({
          id: `head-${head}`,
          name: `head ${head}`,
          group: "heads",
          on: state.head === head,
          press: () => ({ head }),
        }))
      : []),
    ...(state.step === "weight" ? net.words : []).map((word, k) => ({
      id: `asks-${k}`,
      name: `query of ${word}, word ${k}`,
      group: "asks",
      on: k === i,
      press: () => ({ word: k === last ? MOST - 1 : k }),
    })),
    ...(state.step === "word"
      ? KNOWN.filter((word) => word !== ".").map((word, k) => ({
          id: `know-${k}`,
          name: `add ${word}`,
          group: "vocabulary",
          once: true,
          press: ({ text }) => longer(text, word),
        }))
      : []),
    ...(STEPS[state.step] === "next"
      ? [
          {
            id: "temperature",
            name: "temperature",
            keys: ["temperature"],
            at: [heatAt(state.temperature), 0.5],
            read: ([u]) => ({ temperature: COLD + u * (HOT - COLD) }),
          },
          { id: "seed", name: "another random number", press: reseeded },
        ]
      : []),
    ...partsOf(rowsOf(state)).map(press),
    ...factorsOf(state, opened).map(press),
  ];
};

// --- drawing -------------------------------------------------------------

// Colours are quantised, and each is computed once.
const FINE = 48;
const painted = {};
const paint = (x) => {
  const level = Math.round(Math.min(Math.max(x / REACH, -1), 1) * FINE);
  const share = level / FINE;
  return (painted[level] ??= `background:${colorOf(share)};color:${inkOn(share)}`);
};
const marks = ({ on, source }) => (on ? " av-num-on" : "") + (source ? " av-feed" : "");
const cell = (it) =>
  `<span class="av-num${marks(it)}" data-handle="${it.id}" style="${paint(it.x)}">` +
  `${fixed(it.x)}</span>`;
// Logits, and numbers computed from them, are far outside the colour scale.
const framed = (it, write = fixed) =>
  `<span class="av-num av-framed${marks(it)}" data-handle="${it.id}">${write(it.x)}</span>`;
const likely = (p) => (p >= 0.995 ? "&gt; 0.99" : p < 0.005 ? "&lt; 0.01" : fixed(p));
const bare = (it) => `<span class="av-num av-learned${marks(it)}">${fixed(it.x)}</span>`;
const quoted = (word) => `“${escape(word)}”`;

// Where the flow shows what the opened number comes from: strips from 0 on, and
// words. A row that is read normed is framed as it enters the block.
const stripOf = ({ step, block }) =>
  ({ embedding: 0, "attention norm": 2 * block, attention: 2 * block + 1, network: 2 * block + 2 })[
    step
  ];
const framesOf = once((state) => {
  const { i } = placeOf(state);
  const rows = range(2 * BLOCKS + 1).map(() => new Set());
  for (const source of sources(state))
    if (source.step !== "attention norm" || wordAt(source) !== i)
      rows[stripOf(source)]?.add(wordAt(source));
  return rows;
});

// The rows of all words at one point of the flow, with a cell for each number.
const strip = (rows, from) => {
  const cells = byLevel();
  rows.forEach((row, i) =>
    row.forEach((x, c) =>
      cells.add(Math.min(Math.max(x / REACH, -1), 1), `M${c} ${i + 0.2}h1v0.6h-1z`),
    ),
  );
  return (
    `<svg class="av-strip" aria-hidden="true" viewBox="0 0 ${MODEL} ${rows.length}" ` +
    `preserveAspectRatio="none" shape-rendering="crispEdges">` +
    `${cells.paths((color, d) => `<path fill="${color}" d="${d}"/>`).join("")}` +
    `${[...from].map((i) => `<path class="av-feed-row" d="M0 ${i}.1h16v.8H0z"/>`).join("")}</svg>`
  );
};
// Ribbons from rows on the left to rows on the right, with widths proportional to
// the shares.
const ROW = 24;
const THICKEST = 15;
const HAIR = 0.02;
const middleOf = (k) => ROW * (k + 0.5);
const ribbon = (from, to, share, kind) =>
  `<path class="av-ribbon ${kind}${share < HAIR ? " av-hair" : ""}" ` +
  `stroke-width="${Math.max(share * THICKEST, 0.6).toFixed(2)}" ` +
  `d="M0 ${middleOf(from)}C50 ${middleOf(from)} 50 ${middleOf(to)} 100 ${middleOf(to)}"/>`;
const ribbons = (label, rows, all) =>
  `<svg class="av-ribbons" role="img" aria-label="${escape(label)}" ` +
  `viewBox="0 0 100 ${ROW * rows}" preserveAspectRatio="none">${all.join("")}</svg>`;
const attentionOf = (state, net, b) => {
  const { i, j, h } = placeOf(state);
  const here =
    STEPS[state.step] === "attention" && state.block === b && OF_KEY.includes(state.step);
  const weights = net.blocks[b].weights[h];
  const most = largestOf(weights[i]);
  const label =
    `Block ${b}, head ${h}: ${net.words[i]} looks most at ${net.words[most]}, word ${most}, ` +
    `with weight ${fixed(weights[i][most])}`;
  const others = weights.flatMap((row, k) =>
    k === i
      ? []
      : row.flatMap((w, from) => (w < 0.1 ? [] : [ribbon(from, k, w, "av-ribbon-other")])),
  );
  const own = weights[i].map((w, k) =>
    ribbon(k, i, w, here && k === j ? "av-ribbon-own av-opened" : "av-ribbon-own"),
  );
  return ribbons(label, net.words.length, [...others, ...own]);
};

const journey = (state, net, { order, chances }) => {
  const { i, h } = placeOf(state);
  const T = net.words.length;
  const open = stationOf(state);
  const from = framesOf(state);
  const words = net.words.map((word, k) => {
    const marked = k === i && state.step === "embedding" ? " av-feed" : "";
    return (
      `<span class="av-word${k === i ? " av-word-on" : ""}${marked}" data-handle="word-${k}">` +
      `${escape(word)}</span>`
    );
  });
  const next = order.slice(0, SHOWN).map((id, rank) => {
    const wide = (100 * chances[id]).toFixed(1);
    return (
      `<span class="av-candidate" data-handle="next-${rank}"><i style="width:${wide}%"></i>` +
      `<b>${escape(KNOWN[id])}</b> ${percent(chances[id])}</span>`
    );
  });
  const fan = order
    .slice(0, SHOWN)
    .map((id, rank) => ribbon(i, rank, chances[id], "av-ribbon-own"));
  const rows = Math.max(T, SHOWN);
  const bodies = [
    words.join(""),
    strip(net.embedded, from[0]),
    ...range(BLOCKS).flatMap((b) => [
      attentionOf(state, net, b) + strip(net.blocks[b].attended, from[2 * b + 1]),
      `<span class="av-gate"></span>${strip(net.blocks[b].after, from[2 * b + 2])}`,
    ]),
    `<svg class="av-ribbons av-fan" aria-hidden="true" viewBox="0 0 100 ${ROW * rows}" ` +
      `preserveAspectRatio="none">${fan.join("")}</svg><span>${next.join("")}</span>`,
  ];
  const columns = STATIONS.map(({ name, block }, k) => {
    const of = {
      Attention: `<span class="av-station-of" data-handle="turn-${block}"><i>block ${block}</i> <i>head ${h}</i></span>`,
      Network: `<span class="av-station-of"><i>block ${block}</i></span>`,
    };
    return (
      `<div class="av-station av-station-${plain(name).toLowerCase()}` +
      `${k === open ? " av-station-open" : ""}" style="--k:${k}">` +
      `<div class="av-station-head">${of[name] ?? ""}` +
      `<span class="av-station-name" data-handle="at-${k}">${name}</span></div>` +
      `<div class="av-station-body">${bodies[k]}</div></div>`
    );
  });
  return (
    `<div class="av-journey" style="--rows:${rows};--words:${T};--at:${i}">` +
    `<span class="av-lane"></span>${columns.join("")}</div>`
  );
};

const percent = (p) => (p >= 0.995 ? "&gt;99%" : p < 0.005 ? "&lt;1%" : `${(100 * p).toFixed(0)}%`);
// The heading: what the model, or the reader, may write next.
const heading = (state, net) => {
  const chips = chipsOf(state, net).map(({ id, word, chance }) =>
    word === "."
      ? `<span class="av-chip av-chip-end">the sentence ends ${percent(chance)}</span>`
      : `<span class="av-chip" data-handle="${id}">+ ${escape(word)} ` +
        `<i>${percent(chance)}</i></span>`,
  );
  return (
    `<div class="av-writing"><span>press to go on:</span> ${chips.join(" ")} ` +
    `<span class="av-chip av-chip-draw" data-handle="draw">${drawName(state)}</span> ` +
    `<span class="av-rewriting">` +
    `<span class="av-chip av-chip-plain" data-handle="less">− last word</span> ` +
    `<span class="av-chip av-chip-plain" data-handle="other">other sentence</span></span></div>`
  );
};

const told = (it) =>
  `<span class="av-num${marks(it)}" style="${paint(it.x)}">${fixed(it.x)}</span>`;
const line = ({ label, kind, parts, added, numbers }) =>
  `<div class="av-sixteen${added ? " av-adds" : ""}">` +
  `<span class="av-label${kind ? ` av-of-${kind}` : ""}">${escape(label)}</span>` +
  `${(parts?.map(cell) ?? added?.map(told) ?? numbers.map(bare)).join("")}</div>`;
const bar = (x) => `<i class="av-weight-bar" style="width:${(100 * x).toFixed(1)}%"></i>`;
const share = (it, write) => `<span class="av-portion">${framed(it, write)}${bar(it.x)}</span>`;

// The weights of all queries in the chosen head: a query is a row, and a later key is blank.
const everyQuery = (state, net) => {
  const { i, j, b, h } = placeOf(state);
  const { words } = net;
  const heads = words.map((word) => `<span class="av-over">${escape(word)}</span>`);
  const lines = net.blocks[b].weights[h].map((row, k) => {
    const cells = range(words.length).map((key) =>
      key > k
        ? "<span></span>"
        : `<span class="av-num${k === i && key === j ? " av-num-on" : ""}" ` +
          `style="${paint(row[key] * REACH)}">${fixed(row[key])}</span>`,
    );
    return (
      `<div class="av-weighing${k === i ? " av-weighing-on" : ""}" data-handle="asks-${k}">` +
      `<span class="av-label av-of-query">${escape(words[k])}</span>${cells.join("")}</div>`
    );
  });
  return (
    `<div class="av-everyone" style="--keys:${words.length}">` +
    `<div class="av-asks">All queries of this head at once: press a row to follow its word.</div>` +
    `<div class="av-weighing av-of-key"><span></span>${heads.join("")}</div>${lines.join("")}</div>`
  );
};
const lookingAt = ({ query, earlier, mix }, state, net) => {
  const { i, h } = placeOf(state);
  const others = sources(state).filter(({ step, head }) => step === "mix" && head !== h);
  const heads = range(HEADS).map((k) => {
    const marked = others.some(({ head }) => head === k) ? " av-feed" : "";
    return (
      `<span class="av-chip${k === h ? " av-chip-on" : ""}${marked}" data-handle="head-${k}">` +
      `head ${k}</span>`
    );
  });
  const label = (text, kind) => `<span class="av-label av-of-${kind}">${escape(text)}</span>`;
  const left =
    label("query", "query") +
    query.parts.map(cell).join("") +
    `<span class="av-over av-twofold">score q·k÷√${HEAD}</span><span class="av-over">weight</span>` +
    earlier
      .map(
        ({ label: word, keys, score, weight }) =>
          label(word, "key") + keys.map(cell).join("") + cell(score) + share(weight),
      )
      .join("");
  const right =
    `<span class="av-label"></span><span class="av-over av-wide-over">values</span>` +
    earlier
      .map(({ label: word, values }) => label(word, "value") + values.map(cell).join(""))
      .join("") +
    label("sum", "weight") +
    mix.parts.map(cell).join("");
  return (
    `<div class="av-asks">${heads.join(" ")} <span>The <b class="av-query">query</b> of ` +
    `${quoted(net.words[i])} meets each <b class="av-key">key</b>, and the ` +
    `<b class="av-value">values</b> are added by weight. Press any number.</span></div>` +
    `<div class="av-looking"><div class="av-key-side">${left}</div>` +
    `<div class="av-value-side">${right}</div></div>`
  );
};
// Where the number that the seed draws falls among the probabilities of the last word.
const draws = (state, net) => {
  const last = net.words.length - 1;
  const chances = chancesOf(state, last);
  const { u, id } = drawnIn(state);
  const pieces = rankedBy(net.logits[last])
    .filter((k) => chances[k] >= DRAWN_FROM)
    .map((k) => {
      const wide = (100 * chances[k]).toFixed(1);
      const name = chances[k] < NAMED_FROM ? "" : escape(KNOWN[k]);
      const kind = k === id ? "av-chance av-chance-drawn" : "av-chance";
      return `<span class="${kind}" style="width:${wide}%">${name}</span>`;
    });
  const falls =
    KNOWN[id] === END
      ? "the end of the sentence"
      : `${quoted(KNOWN[id])}, the word that <b>draw a word</b> adds`;
  return (
    `<div class="av-draws" aria-hidden="true">${pieces.join("")}` +
    `<i style="left:${(100 * u).toFixed(1)}%"></i></div>` +
    `<div class="av-falls"><span>The random number ${fixed(u)} of seed ${state.seed} falls on ` +
    `${falls}.</span> <span class="av-chip" data-handle="seed">another number</span></div>`
  );
};
const warming = ({ temperature }) =>
  `<div class="av-warming"><span>temperature <b>${setting(temperature)}</b></span>` +
  `<div class="av-heat">${[COLD, 1, HOT]
    .map((t) => `<i style="left:${(100 * heatAt(t)).toFixed(1)}%">${t}</i>`)
    .join("")}<span data-handle="temperature" ` +
  `style="left:${(100 * heatAt(temperature)).toFixed(1)}%"></span></div></div>`;
const listing = (next) =>
  `<div class="av-listing"><span class="av-over">word</span><span class="av-over">logit</span>` +
  `<span class="av-over">probability</span>${next
    .map(
      ({ label, logit, chance }) =>
        `<b>${escape(label)}</b>${framed(logit)}${share(chance, likely)}`,
    )
    .join("")}</div>`;
const vocabulary = (tokens) =>
  `<div class="av-asks"><span>To the model a word is a number. These are all the words that it ` +
  "knows: press one to add it.</span></div>" +
  `<div class="av-vocabulary">${KNOWN.filter((word) => word !== ".")
    .map(
      (word, k) =>
        `<span class="av-chip${tokens.includes(KNOWN.indexOf(word)) ? " av-chip-on" : ""}" ` +
        `data-handle="know-${k}">${escape(word)} <i>${KNOWN.indexOf(word)}</i></span>`,
    )
    .join(" ")}</div>`;

const followsLast = (state, net) => placeOf(state).i === net.words.length - 1;
const panel = (state, net) => {
  const rows = rowsOf(state);
  return (
    (rows.chips ? vocabulary(rows.chips) : "") +
    (rows.before ?? []).map(line).join("") +
    (rows.earlier ? lookingAt(rows, state, net) : "") +
    (state.step === "weight" ? everyQuery(state, net) : "") +
    (rows.after ? `<div class="av-residual">${rows.after.map(line).join("")}</div>` : "") +
    (rows.next ? warming(state) + listing(rows.next) : "") +
    (rows.next && followsLast(state, net) ? draws(state, net) : "")
  );
};

// --- one number ----------------------------------------------------------

// Large numbers are written without decimals, and very large ones with a power of ten.
const LARGE = 1000;
const HUGE = 1e6;
const short = (x, digits) =>
  Math.abs(x) < HUGE
    ? fixed(x, Math.abs(x) < LARGE ? digits : 0)
    : x.toExponential(4).replace("+", "");
const exact = (x, digits) => Math.abs(x - Number(x.toFixed(digits))) < 1e-9;
const equals = (x, digits = 3) =>
  `${x < HUGE && exact(x, digits) ? "=" : "≈"} <b>${short(x, digits)}</b>`;
// A rounded weight or probability is not 0, and 1 only for a weight that is 1.
const sideOf = ({ step }, p) =>
  p >= 0.9995 && (p < 1 || step === "probability")
    ? ["above", "&gt;", "0.999"]
    : p < 0.0005
      ? ["below", "&lt;", "0.001"]
      : null;
const portion = (state, p) => {
  const [, sign, bound] = sideOf(state, p) ?? [];
  return sign ? `${sign} <b>${bound}</b>` : equals(p);
};
const factor = (id, x, to) => (to ? cell({ id, x }) : bare({ x }));
const TERMS_OF_NEXT = 5;

const expOf = (name, x, divided = "") =>
  `<i>${escape(name)}</i><span class="av-exp">exp${divided && "("}${x}${divided}</span>`;
const cardsOf = (state, { terms, order }) => {
  const card = (inner, out, kind = "") =>
    `<span class="av-term${kind}">${inner}<b>${out}</b></span>`;
  if (state.step === "probability") {
    const divided = state.temperature === 1 ? "" : `<i>÷ ${setting(state.temperature)}</i>`;
    const shown = range(TERMS_OF_NEXT);
    if (state.rank >= TERMS_OF_NEXT) shown.push(state.rank);
    const rest = order.length - shown.length;
    const left = summed(terms.filter((_, k) => !shown.includes(k)));
    return [
      ...shown.map((k) =>
        card(
          expOf(terms[k].name, framed({ id: `from-${k}`, x: terms[k].a }), divided),
          short(terms[k].out, 2),
          k === state.rank ? " av-term-on" : "",
        ),
      ),
      card(`<i>${rest} others</i>`, short(left, 2)),
    ];
  }
  if (state.step === "embedding")
    return terms.map(({ a, out }, m) =>
      card(`<i>${["table", "position"][m]}</i>${bare({ x: a })}`, fixed(out)),
    );
  return terms.map(({ a, b, from, by, name, out }, m) => {
    if (name !== undefined)
      return card(
        expOf(name, factor(`from-${m}`, a, from)),
        short(out, 2),
        m === placeOf(state).j ? " av-term-on" : "",
      );
    return card(
      `${factor(`from-${m}`, a, from)}<i>×</i>${factor(`by-${m}`, b, by)}`,
      fixed(out, 3),
    );
  });
};
const ends = (state, { terms, total, value, x, from, root, gain, id }, net) => {
  const { j } = placeOf(state);
  const sum = `sum ${equals(total)}`;
  const then = {
    score: () => `${sum}; ÷ √${HEAD} ${equals(value)}`,
    weight: () => `sum ${equals(total)}; ${short(terms[j].out, 3)} ÷ sum ${portion(state, value)}`,
    probability: () =>
      `sum ${equals(total)}; ${short(Math.exp(net.logits[placeOf(state).i][id] / state.temperature), 3)} ÷ sum ` +
      portion(state, value),
    hidden: () =>
      total > 0
        ? `${sum}; above 0, therefore it stays ${equals(value)}`
        : `${sum}; not above 0, therefore 0 ${equals(value)}`,
    attention: () => `${sum}; added to ${factor("from-x", x, from)} ${equals(value)}`,
    network: () => `${sum}; added to ${factor("from-x", x, from)} ${equals(value)}`,
  };
  if (root !== undefined)
    return (
      `${sum}; ÷ ${MODEL}, and the root ${equals(root)}; ${factor("from-x", x, from)} ÷ root × ` +
      `gain ${bare({ x: gain })} ${equals(value)}`
    );
  return (then[state.step] ?? (() => sum))();
};
// The name of the opened number, and how such a number is computed.
const nameOf = (state, net, { id }) => {
  const { i, j, b, h, c } = placeOf(state);
  const [word, other, next] = [net.words[i], net.words[j], KNOWN[id]].map((text) => `“${text}”`);
  const inBlockB = `block ${b}`;
  const inHead = `${inBlockB}, head ${h}`;
  return {
    word: `${word} is word ${net.tokens[i]}`,
    embedding: `Number ${c} of the row of ${word}`,
    "attention norm": `Number ${c} of the normed row of ${word}, ${inBlockB}, attention`,
    query: `Number ${c} of the query of ${word}, ${inHead}`,
    key: `Number ${c} of the key of ${other}, ${inHead}`,
    value: `Number ${c} of the value of ${other}, ${inHead}`,
    score: `Score of ${other} for ${word}, ${inHead}`,
    weight: `Weight of ${other} for ${word}, ${inHead}`,
    mix: `Number ${c} of the sum for ${word}, ${inHead}`,
    attention: `Number ${c} of the row of ${word} after attention, ${inBlockB}`,
    "network norm": `Number ${c} of the normed row of ${word}, ${inBlockB}, network`,
    hidden: `Number ${c} of the hidden row of ${word}, ${inBlockB}`,
    network: `Number ${c} of the row of ${word} after the network, ${inBlockB}`,
    "last norm": `Number ${c} of the last row of ${word}, normed`,
    logit: `Logit of ${next} after ${word}`,
    probability: `Probability of ${next} after ${word}`,
  }[state.step];
};
const NORM =
  "A norm divides each number of a row by the row's root mean square and multiplies it by a stored gain";
const projection = (name, W) =>
  `A ${name} is a normed row times the matrix ${W}, one column for each of its numbers`;
const EXPLAINED = {
  word: "A word is only its number in the list of words",
  embedding: "A word enters as its stored row, plus the stored row of its position",
  "attention norm": NORM,
  query: projection("query", "W_Q"),
  key: projection("key", "W_K"),
  value: projection("value", "W_V"),
  score: "A score is a query times a key, number by number, added up and divided by the root of 8",
  weight: "A weight is the exponential of a score, divided by the sum of these exponentials",
  mix: "What a head finds is the sum of all values, each times its weight",
  attention: "What both heads found is multiplied by the matrix W_O and added to the row",
  "network norm": NORM,
  hidden: "The network multiplies a normed row by the matrix W_1 and sets what is below 0 to 0",
  network: "The hidden row is multiplied by the matrix W_2 and added to the row",
  "last norm": NORM,
  logit: "A logit is the last row times the stored row of a word, number by number, added up",
  probability: "A probability is the exponential of a logit, divided by the sum over all words",
};
const DIVIDED =
  "A probability is the exponential of a logit over the temperature, divided by the sum over all words";
const SEEK = `<button type="button" class="av-seek av-quiet">show sources</button>`;
const wayBar = (state) => {
  const { at, there, back, on } = wayOf(state);
  const here = there ? `step ${at + 1} of ${WAY.length}` : `between ${at + 1} and ${at + 2}`;
  return (
    `<div class="av-along"><span class="av-chip" data-handle="way-back">← ${back + 1}</span> ` +
    `<span>${here}</span> <span class="av-chip" data-handle="way-on">${on + 1} →</span></div>`
  );
};
const calculation = (state, net, opened) =>
  `<div class="av-worked"><div class="av-worked-top">${wayBar(state)}` +
  `<div class="av-worked-name">${escape(nameOf(state, net, opened))}</div>` +
  // The stage is often higher than its window.
  `${partsOf(rowsOf(state)).some(({ source }) => source) ? SEEK : ""}</div>${
    state.step === "word"
      ? ""
      : `<div class="av-terms">${cardsOf(state, opened).join("")}</div>` +
        `<div class="av-worked-end">${ends(state, opened, net)}</div>`
  }</div>`;

const sentence = (state, net, { value }) => {
  const chances = chancesOf(state, net.words.length - 1);
  const best = largestOf(chances);
  const warm = state.temperature !== 1;
  const explained = warm && state.step === "probability" ? DIVIDED : EXPLAINED[state.step];
  const at = warm ? ` at temperature ${setting(state.temperature)}` : "";
  const [side, , bound] =
    (["weight", "probability"].includes(state.step) && sideOf(state, value)) || [];
  const digits = state.step === "word" ? 0 : 3;
  const here = side ? `here ${side} ${bound}` : `here ${fixed(value, digits)}`;
  const next = KNOWN[best] === "." ? "sentence ends" : `next word is “${KNOWN[best]}”`;
  const where = followsLast(state, net) ? "The" : "After the last word, the";
  return `${explained}: ${here}. ${where} ${next}, with probability ${sure(chances[best])}${at}.`;
};

const NAMED = "your sentence";
const check = ({ text }) => {
  const words = wordsOf(text);
  const strange = words.find((word) => !KNOWN.includes(word));
  if (strange !== undefined)
    return (
      `${NAMED} must be of the ${KNOWN.length - 1} words that the model knows; ` +
      `got “${shorten(strange)}”`
    );
  const fits = words.length > 0 && words.length <= MOST;
  return fits ? "" : `${NAMED} must have 1 to ${MOST} words; got ${words.length}`;
};

// --- on a page or in Jupyter only ----------------------------------------

// The edit distance between two words.
const apart = (a, b) => {
  let last = range(b.length + 1);
  for (let i = 1; i <= a.length; i++) {
    const now = [i];
    for (let j = 1; j <= b.length; j++)
      now.push(Math.min(last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] !== b[j - 1])));
    last = now;
  }
  return last[b.length];
};
const nearestTo = (word) =>
  [...KNOWN]
    .sort((a, b) => apart(word, a) - apart(word, b))
    .filter((w) => w !== ".")
    .slice(0, 4);

// The open stage is a window that scrolls, so that the figure keeps its height.
const isOutOf = (stage, it) => {
  const [box, { top, bottom }] = [stage, it].map((one) => one.getBoundingClientRect());
  return top < box.top || bottom > box.bottom;
};
const bringInto = (stage, it) => {
  const [box, { top, height }] = [stage, it].map((one) => one.getBoundingClientRect());
  stage.scrollTop += top - box.top - (box.height - height) / 2;
};
// Show a number that has just been opened.
const enhance = (result) => {
  const stage = result.querySelector(".av-within");
  stage.tabIndex = 0;
  const on = stage.querySelector(".av-num-on[data-handle]");
  const id = on?.dataset.handle ?? "";
  if (stage.dataset.shows === id) return;
  stage.dataset.shows = id;
  if (!on) stage.scrollTop = 0;
  else if (isOutOf(stage, on)) bringInto(stage, on);
};

const RUN = 1400; // milliseconds; the style sheet uncovers the last station before

const live = ({ el, form, model }) => {
  const field = form.elements.namedItem("text");
  const box = (inner) => {
    const made = document.createElement("div");
    made.className = "av-panel av-keys";
    made.innerHTML = inner;
    return made;
  };
  const result = el.querySelector(".av-result");
  const top = box("");
  const below = box(`<button type="button" data-back disabled>← Back</button>`);
  // The field comes first, because a reader writes before looking.
  result.before(form, el.querySelector(".av-error"), top);
  result.after(below);
  const back = below.querySelector("button");
  const write = (text) => {
    field.value = text;
    field.dispatchEvent(new Event("input", { bubbles: true }));
  };
  // For a word outside the vocabulary, offer the known words with the closest
  // spelling.
  const offer = () => {
    const strange = wordsOf(field.value).find((word) => !KNOWN.includes(word));
    top.innerHTML = strange
      ? `in place of “${escape(strange)}”: ${nearestTo(strange)
          .map((word) => `<button type="button" data-word="${word}">${word}</button>`)
          .join(" ")}`
      : "";
  };
  const replace = (by) => {
    const words = wordsOf(field.value);
    words[words.findIndex((word) => !KNOWN.includes(word))] = by;
    write(words.join(" "));
    field.focus();
  };
  // The trail of earlier states, for the Back button.
  const read = () => Object.fromEntries(figure.controls.map(({ key }) => [key, model.get(key)]));
  const trail = [];
  let now = read();
  let asked = false;
  const note = () => {
    asked = false;
    trail.push(now);
    const before = now;
    now = read();
    back.disabled = false;
    runThrough(before);
  };
  // The row of a word that was added, and is followed, uncovers from left to right.
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  let ending;
  const runThrough = (before) => {
    clearTimeout(ending);
    const words = wordsOf(now.text);
    const grown = words.slice(0, -1).join() === wordsOf(before.text).join();
    const runs = grown && wordAt(now) === words.length - 1 && !calm.matches;
    el.classList.remove("av-runs");
    if (!runs) return;
    el.getAnimations({ subtree: true }); // a run that is under way ends, and begins anew
    el.classList.add("av-runs");
    ending = setTimeout(() => el.classList.remove("av-runs"), RUN);
  };
  const changed = () => {
    if (!asked) queueMicrotask(note);
    asked = true;
  };
  for (const { key } of figure.controls) model.on(`change:${key}`, changed);
  const goBack = () => {
    const state = trail.pop();
    for (const [key, value] of Object.entries(state)) model.set(key, value);
    model.save_changes();
    queueMicrotask(() => {
      trail.pop(); // the state that Back leaves
      back.disabled = !trail.length;
    });
  };
  back.addEventListener("click", goBack);
  top.addEventListener("click", ({ target }) => {
    const { word } = target.closest("button")?.dataset ?? {};
    if (word) replace(word);
  });
  form.addEventListener("input", offer);
  // The first source that is out of its window, or the first.
  const seek = () => {
    const stage = result.querySelector(".av-within");
    const found = [...stage.querySelectorAll(".av-num.av-feed")];
    bringInto(stage, found.find((it) => isOutOf(stage, it)) ?? found[0]);
  };
  result.addEventListener("click", ({ target }) => {
    if (target.closest(".av-seek")) seek();
  });
  // The page's links to a state of the figure lead there without loading the page anew.
  const lead = (event) => {
    const link = event.target.closest(`a[href^="?${figure.name}."]`);
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    history.pushState(null, "", link.href);
    dispatchEvent(new PopStateEvent("popstate"));
    el.scrollIntoView();
  };
  if (el.dataset.state !== undefined) document.addEventListener("click", lead);
  const reset = () => {
    trail.length = 0;
    back.disabled = true;
    top.innerHTML = "";
  };
  const close = () => {
    for (const { key } of figure.controls) model.off(`change:${key}`, changed);
    document.removeEventListener("click", lead);
    clearTimeout(ending);
  };
  return { reset, close };
};

const figure = {
  name: "flow",
  lead: ["text"],
  card: { part: ".av-ribbons", which: 1, box: "0 0 100 144" },
  controls: [
    {
      key: "text",
      kind: "words",
      label: "your sentence",
      first: FIRST,
      about: "What the model reads, of words that it knows",
      letters: 24,
      min: 1,
      max: MOST,
    },
    {
      key: "step",
      kind: "choice",
      label: "step",
      first: "word",
      about: "The kind of number that is opened",
      options: Object.keys(STEPS),
    },
    {
      key: "word",
      kind: "range",
      label: "word followed",
      first: MOST - 1,
      about: "The word that is followed, or the last one",
      min: 0,
      max: MOST - 1,
      step: 1,
      upTo: ({ text }) => wordsOf(text).length - 1,
    },
    {
      key: "block",
      kind: "range",
      label: "block",
      first: 0,
      about: "The block whose number is opened",
      min: 0,
      max: BLOCKS - 1,
      step: 1,
      when: inBlock,
    },
    {
      key: "head",
      kind: "range",
      label: "head",
      first: 1,
      about: "The head whose weights are drawn",
      min: 0,
      max: HEADS - 1,
      step: 1,
    },
    {
      key: "key",
      kind: "range",
      label: "word it looks at",
      first: 1,
      about: "The word whose key or value is opened",
      min: 0,
      max: MOST - 1,
      step: 1,
      upTo: wordAt,
      when: ({ step }) => OF_KEY.includes(step),
    },
    {
      key: "number",
      kind: "range",
      label: "number of the row",
      first: 0,
      about: "The place of the opened number in its row",
      min: 0,
      max: INNER - 1,
      step: 1,
      upTo: (state) => widthOf(state) - 1,
      when: ({ step }) => NUMBERED.includes(step),
    },
    {
      key: "rank",
      kind: "range",
      label: "place among the next words",
      first: 0,
      about: "The place of the next word, by probability",
      min: 0,
      max: KNOWN.length - 1,
      step: 1,
      when: ({ step }) => OF_RANK.includes(step),
    },
    {
      key: "temperature",
      kind: "range",
      label: "temperature",
      first: 1,
      about: "What logits are divided by before the softmax",
      min: COLD,
      max: HOT,
      step: 0.1,
    },
    {
      key: "seed",
      kind: "range",
      label: "seed of the draw",
      first: 0,
      about: "What determines the next draw, which adds one to it",
      min: 0,
      max: SEEDS - 1,
      step: 1,
    },
  ],
  check,
  compute,
  // The sentence grows word by word, and each time the next word changes.
  opening: { from: [{ word: 0 }, { word: 2 }, { word: 4 }, { word: 5 }], ms: 4800 },
  view: (state) => {
    const net = netOf(state.text);
    const opened = openedIn(state);
    const values = { order: opened.order, chances: chancesOf(state, placeOf(state).i) };
    return (
      heading(state, net) +
      journey(state, net, values) +
      `<div class="av-open"><div class="av-within">${panel(state, net)}</div>` +
      `${calculation(state, net, opened)}</div>` +
      say(sentence(state, net, opened))
    );
  },
  handles,
  live,
  enhance,
};

export default figureModule(figure);
