// What the heads of a published model attend to: all heads as a map, and two of
// them over the words of a text.

import { bytesOf } from "../kit/base64.js";
import { count, fixed, range, sum } from "../kit/numbers.js";
import { colorOf, escape, inkOn } from "../kit/svg.js";
import { figureModule, known, say } from "../kit/common.js";
import { grip } from "../kit/handles.js";

// The names of the texts, and the data that the first picture needs.
const { names: NAMES, first: OPENING } = known("realheads");
const fileOf = (name) => `heads-${name.toLowerCase().replaceAll(" ", "-")}`;
const [MOST_LAYERS, MOST_HEADS, LONGEST] = [48, 16, 48]; // the limits of a model and of a text

// --- computing -----------------------------------------------------------

// In the triangle of a head, the row of query i begins after 1 + 2 + ... + i
// weights.
const begins = (i) => (i * (i + 1)) / 2;
const rowsOf = (bytes, T) =>
  range(T).map((i) => range(T).map((j) => (j <= i ? bytes[begins(i) + j] / 255 : 0)));

// What the next tokens become without a head: probabilities, and the changes of
// logits. Only the stored texts have them.
const withoutOf = ({ heads, without, picked = [] }, [l, h]) =>
  without?.[l * heads + h] ?? picked.find(([a, b]) => a === l && b === h)?.[3];
const OFF = ["no head", "A", "B"];

// The key of each query if a head had this one role; null where there is none.
const keysOf = (ids) => ({
  first: ids.map((_, i) => (i ? 0 : null)),
  previous: ids.map((_, i) => (i ? i - 1 : null)),
  followed: ids.map((id, i) => {
    const before = i ? ids.lastIndexOf(id, i - 1) : -1;
    return before < 0 ? null : before + 1;
  }),
});
const SCORES = ["first", "previous", "followed"];

// A head has a role if it gives that key at least this weight and twice an even
// weight.
const ROLE = 0.4;
const [NONE, FIRST, PREVIOUS, INDUCTION] = range(4);
const KINDS = ["no role", "first-token head", "previous-token head", "induction head"];
const kindOf = (scores, evenly) => {
  const has = (name) =>
    scores[name] !== undefined && scores[name] >= Math.max(ROLE, 2 * evenly[name]);
  if (has("followed")) return INDUCTION;
  if (has("previous")) return PREVIOUS;
  return has("first") ? FIRST : NONE;
};

// Results that are the same for every query of a text are computed once.
const kept = new WeakMap();
const textOf = (data) => {
  if (kept.has(data)) return kept.get(data);
  const { ids, layers, heads } = data;
  const [T, keys] = [ids.length, keysOf(ids)];
  const bytes = data.weights && bytesOf(data.weights);
  const triangle = (head) => bytes.subarray(head * begins(T), (head + 1) * begins(T));
  const asked = (name) => keys[name].flatMap((key, i) => (key === null ? [] : [[i, key]]));
  const names = SCORES.filter((name) => asked(name).length);
  // Bytes are summed before they are converted to weights, so that no sum is
  // rounded.
  const scoreOf = (name, head) => {
    const on = asked(name);
    const total =
      data.sums?.[name][head] ?? sum(on.map(([i, key]) => triangle(head)[begins(i) + key]));
    return total / (255 * on.length);
  };
  const of = (each) => Object.fromEntries(names.map((name) => [name, each(name)]));
  const evenly = of((name) => {
    const on = asked(name);
    return sum(on.map(([i]) => 1 / (i + 1))) / on.length;
  });
  const grid = (each) => range(layers).map((l) => range(heads).map((h) => each(l * heads + h)));
  const scores = grid((head) => of((name) => scoreOf(name, head)));
  const kinds = scores.map((row) => row.map((one) => kindOf(one, evenly)));
  const picked = ([l, h]) =>
    bytes ? triangle(l * heads + h) : bytesOf(data.picked.find(([a, b]) => a === l && b === h)[2]);
  const found = { T, keys, evenly, scores, kinds, rows: (at) => rowsOf(picked(at), T) };
  kept.set(data, found);
  return found;
};

// The data of the first picture comes with the figure; all others have a file.
const isOpening = ({ text, layer, head, other_layer, other_head }) =>
  text === NAMES[0] &&
  [
    [layer, head],
    [other_layer, other_head],
  ].every(([l, h]) => OPENING.picked.some(([a, b]) => a === l && b === h));
const dataOf = (state, own) =>
  own ?? known(fileOf(state.text)) ?? (state.text === NAMES[0] ? OPENING : undefined);
const SIDES = [
  { name: "A", layer: "layer", head: "head" },
  { name: "B", layer: "other_layer", head: "other_head" },
];

const compute = (state, own) => {
  const data = dataOf(state, own);
  const { T, keys, evenly, scores, kinds, rows } = textOf(data);
  const heads = SIDES.map(({ layer, head }) => [
    Math.min(state[layer], data.layers - 1),
    Math.min(state[head], data.heads - 1),
  ]);
  const of = (name) => scores.map((row) => row.map((one) => one[name] ?? 0));
  const before = data.next.map(([, p]) => p);
  const off = state.off === OFF[0] ? null : heads[OFF.indexOf(state.off) - 1];
  const [chances, logits] = (off && withoutOf(data, off)) ?? [before, before.map(() => 0)];
  return {
    ...Object.fromEntries(SCORES.map((name) => [name, of(name)])),
    evenly: SCORES.map((name) => evenly[name] ?? 0),
    asked: keys.followed.filter((key) => key !== null).length,
    kinds,
    counts: KINDS.map((_, kind) => kinds.flat().filter((k) => k === kind).length),
    heads,
    weights: heads.map(rows),
    query: Math.min(state.query, T - 1),
    before,
    chances,
    logits,
  };
};

// --- words ---------------------------------------------------------------

// A token for display: blanks and line ends become signs if there is nothing
// else, and a piece of a word has an ellipsis on the side where the word
// continues.
const LETTER = /\p{L}/u;
const MOST = 10; // the most letters of a token that are shown
const shownOf = (pieces) =>
  pieces.map((piece, k) => {
    const inside = k > 0 && LETTER.test(piece[0]) && LETTER.test(pieces[k - 1].at(-1));
    const text = piece
      .replace(/^ (?=\S)/, "")
      .replaceAll("\n", "⏎")
      .replaceAll(" ", "·");
    const whole = `${inside ? "…" : ""}${text}`;
    return whole.length > MOST ? `${whole.slice(0, MOST - 1)}…` : whole;
  });
// In a sentence, a token is put in quotation marks.
const quoted = (piece) => `“${piece}”`;
const nameOf = ([layer, head]) => `layer ${layer}, head ${head}`;
// Two decimals, without the zero before the point.
const short = (x) => fixed(x).replace(/^0/, "");
// The key with the largest weight in a row, and this weight.
const largest = (row) => {
  const w = Math.max(...row);
  return [row.indexOf(w), w];
};

// --- the map -------------------------------------------------------------

const CELL = 20;
const LEFT = 26;
const TOP = 14;
const cornerOf = (l, h, heads) => [LEFT + CELL * l, TOP + CELL * (heads - 1 - h)];
const SHADES = 10;
const CLASSES = ["none", "first", "previous", "induction"];
// A sign on the cells of each role, so that not only colour distinguishes them.
const SIGNS = [
  (x, y) => `M${x + 8} ${y + 10}h4`,
  () => "",
  (x, y) => `M${x + 13} ${y + 5}l-7 5l7 5z`,
  (x, y) => `M${x + 10} ${y + 5}l5 5l-5 5l-5-5z`,
];
const strongest = (values, l, h) =>
  [0, values.first, values.previous, values.followed][values.kinds[l][h]]?.[l]?.[h] ?? 0;
// The shade of a cell, from pale at the threshold to dark at weight 1.
const shadeOf = (score) => Math.round(((score - ROLE) / (1 - ROLE)) * SHADES);

const describe = (values, [l, h]) => {
  const kind = values.kinds[l][h];
  return kind === NONE
    ? `${nameOf([l, h])}: no role`
    : `${nameOf([l, h])}: ${KINDS[kind]}, ${fixed(strongest(values, l, h))}`;
};

const map = (data, values, off) => {
  const { layers, heads } = data;
  const [cells, signs] = [{}, KINDS.map(() => [])];
  for (const l of range(layers))
    for (const h of range(heads)) {
      const [x, y] = cornerOf(l, h, heads);
      const kind = values.kinds[l][h];
      const shade = kind === NONE ? 0 : shadeOf(strongest(values, l, h));
      (cells[`${kind} ${shade}`] ??= []).push(`M${x + 1} ${y + 1}h18v18h-18z`);
      signs[kind].push(SIGNS[kind](x, y));
    }
  const drawn = Object.entries(cells).map(([key, d]) => {
    const [kind, shade] = key.split(" ");
    const opacity = kind === "0" ? 0.1 : (0.3 + (0.7 * shade) / SHADES).toFixed(2);
    return `<path class="av-real-${CLASSES[kind]}" fill-opacity="${opacity}" d="${d.join("")}"/>`;
  });
  const marks = signs.map((d, kind) =>
    d.join("")
      ? `<path class="av-real-sign av-real-sign-${CLASSES[kind]}" d="${d.join("")}"/>`
      : "",
  );
  const numbers = (n, step, place) =>
    range(n)
      .filter((k) => k % step === 0 || k === n - 1)
      .filter((k) => k === n - 1 || n - 1 - k >= step / 2)
      .map((k) => {
        const [x, y, anchor] = place(k);
        return `<text x="${x}" y="${y}" text-anchor="${anchor}">${k}</text>`;
      })
      .join("");
  const bottom = TOP + CELL * heads;
  // Both letters can be read where A and B are one head.
  const one = values.heads[0].every((k, i) => k === values.heads[1][i]);
  const grips = SIDES.map(({ name }, side) => {
    const [x, y] = cornerOf(...values.heads[side], heads);
    const [u, v] = one && side ? [-17, -18] : [11, -12];
    return grip(
      name,
      [x + CELL / 2, y + CELL / 2],
      `<rect class="av-real-pick" x="-11" y="-11" width="22" height="22" rx="3"/>` +
        (name === off ? '<path class="av-real-pick" d="M-9 -9L9 9M9 -9L-9 9"/>' : "") +
        `<circle class="av-real-tag" r="8" cx="${u}" cy="${v}"/>` +
        `<text class="av-real-tag-name" x="${u}" y="${v + 4}" text-anchor="middle">${name}</text>`,
    );
  });
  const named = values.counts.map((n, kind) => `${n} ${KINDS[kind]}`).join(", ");
  const label = `Map of ${count(layers * heads, "head")}: ${named}`;
  return (
    `<svg class="av-real-map" role="img" aria-label="${label}" ` +
    `viewBox="0 0 ${LEFT + CELL * layers + 14} ${bottom + 22}">${drawn.join("")}${marks.join("")}` +
    numbers(heads, 4, (h) => [LEFT - 6, cornerOf(0, h, heads)[1] + 15, "end"]) +
    numbers(layers, 5, (l) => [LEFT + CELL * (l + 0.5), bottom + 17, "middle"]) +
    // The names of both axes stand between their first two numbers.
    (layers > 5
      ? `<text x="${LEFT + CELL * 3}" y="${bottom + 17}" text-anchor="middle">layer</text>`
      : "") +
    (heads > 4
      ? `<text transform="translate(${LEFT - 8} ${bottom - CELL * 2.5})rotate(-90)" text-anchor="middle">head</text>`
      : "") +
    `${grips[1]}${grips[0]}</svg>`
  );
};

const hintOf = ({ layers, heads }) => `${layers} layers of ${heads} heads: press one`;
const LEGEND = ["no role", "first token", "previous token", "induction"];
const legend = ({ layers, heads }, { counts }) => {
  const one = (kind) =>
    `<span><svg viewBox="0 0 20 20" aria-hidden="true"><path class="av-real-${CLASSES[kind]}" ` +
    `fill-opacity="${kind ? 0.8 : 0.1}" d="M1 1h18v18h-18z"/>` +
    `${kind === FIRST ? "" : `<path class="av-real-sign av-real-sign-${CLASSES[kind]}" d="${SIGNS[kind](0, 0)}"/>`}` +
    `</svg>${LEGEND[kind]} <b>${counts[kind]}</b></span>`;
  return (
    `<p class="av-real-legend">${[FIRST, PREVIOUS, INDUCTION, NONE].map(one).join("")}` +
    `<span class="av-real-hint">${hintOf({ layers, heads })}</span></p>`
  );
};

// --- the words, and two heads as wings ----------------------------------

const ROW = 21;
const HALF = 200; // half of the width
const WORD = 47; // half the width of a word
const CHIP = 28; // the width of a number
const FAINT = 0.1; // arcs of other queries are drawn from this weight upward
const STEADY = 10; // arc widths are quantised, so that arcs of equal width are one path
const middle = (i) => ROW * (i + 0.5) + 4;

const arc = (way, from, to) => {
  const x = HALF + way * (WORD + CHIP + 5);
  const [y, end] = [middle(from), middle(to)];
  if (from === to) return `M${x} ${y - 4}A6 4 0 1 ${way > 0 ? 1 : 0} ${x} ${y + 4}`;
  const wide = Math.min(16 + 7.5 * (from - to), HALF - WORD - CHIP - 12).toFixed(1);
  return `M${x} ${y}A${wide} ${(y - end) / 2} 0 0 ${way > 0 ? 0 : 1} ${x} ${end}`;
};
const wing = (weights, query, way) => {
  const others = range(STEADY + 1).map(() => []);
  weights.forEach((row, i) =>
    row.slice(0, i + 1).forEach((w, j) => {
      if (i !== query && w >= FAINT) others[Math.round(w * STEADY)].push(arc(way, i, j));
    }),
  );
  const faint = others.map((d, k) =>
    d.length
      ? `<path class="av-real-arc" stroke-width="${(5 * k) / STEADY}" d="${d.join("")}"/>`
      : "",
  );
  const own = range(query + 1).map((j) => [weights[query][j], j]);
  const strong = own
    .filter(([w]) => w >= 0.02)
    .map(
      ([w, j]) =>
        `<path class="av-real-arc-picked" stroke-width="${(7 * w).toFixed(2)}" ` +
        `d="${arc(way, query, j)}"/>`,
    );
  return faint.join("") + strong.join("");
};
// The weights of the query, one beside each word that it may attend to.
const chips = (row, query, way) =>
  range(query + 1)
    .map((j) => {
      const x = HALF + way * (WORD + CHIP / 2 + 2);
      return (
        `<rect fill="${colorOf(row[j])}" ` +
        `x="${x - CHIP / 2}" y="${middle(j) - 8.5}" width="${CHIP}" height="17" rx="3"/>` +
        `<text class="av-real-number" fill="${inkOn(row[j])}" x="${x}" y="${middle(j) + 4}" ` +
        `text-anchor="middle">${short(row[j])}</text>`
      );
    })
    .join("");
const wings = (data, values, off) => {
  const { query, weights, heads } = values;
  const shown = shownOf(data.pieces);
  const words = shown.map((word, k) => {
    const kind =
      k === query
        ? "av-real-word av-real-asks"
        : k > query
          ? "av-real-word av-real-later"
          : "av-real-word";
    return (
      `<g class="${kind}" data-handle="w${k}"><rect x="${HALF - WORD}" y="${middle(k) - 10}" ` +
      `width="${2 * WORD}" height="20" rx="4"/>` +
      `<text x="${HALF}" y="${middle(k) + 5}" text-anchor="middle">${escape(word)}</text></g>`
    );
  });
  const most = heads.map((head, side) => {
    const [key, w] = largest(weights[side][query]);
    return `${nameOf(head)} gives ${fixed(w)} to ${shown[key]}`;
  });
  const label = `Weights of the query ${shown[query]}: ${most.join("; ")}`;
  // The weights of a head that is switched off reach nothing, and fade.
  const shut = (side, drawn) =>
    `<g class="av-real-wing${SIDES[side].name === off ? " av-real-shut" : ""}">${drawn}</g>`;
  return (
    `<svg class="av-real-wings" role="img" aria-label="${escape(label)}" ` +
    `viewBox="0 0 ${2 * HALF} ${ROW * shown.length + 8}">` +
    [-1, 1].map((way, side) => shut(side, wing(weights[side], query, way))).join("") +
    `${words.join("")}` +
    [-1, 1].map((way, side) => shut(side, chips(weights[side][query], query, way))).join("") +
    "</svg>"
  );
};

// A name, a number and a bar whose length is the number; a line marks what it was.
const bar = (kind, name, x, text, was = x, more = "") =>
  `<div class="av-real-bar${kind}" style="--av-share:${(100 * x).toFixed(1)}%` +
  `${was === x ? "" : `;--av-real-was:${(100 * was).toFixed(1)}%`}"><dt>${escape(name)}</dt>` +
  `<dd>${text}</dd>${more}</div>`;
const letter = (name) => `<b class="av-real-letter">${name}</b>`;
const facts = (data, values, side, off) => {
  const [l, h] = values.heads[side];
  const bars = SCORES.map((name, k) => {
    const none = name === "followed" && !values.asked;
    const x = values[name][l][h];
    return bar(` av-real-bar-${name}`, LEGEND[k + 1], x, none ? "–" : fixed(x));
  });
  const { name } = SIDES[side];
  const shut = name === off;
  const turn = off
    ? ` <span class="av-real-switch" data-handle="off-${name}">${shut ? "off" : "on"}</span>`
    : "";
  return (
    `<div class="av-real-side${shut ? " av-real-shut" : ""}"><p>${letter(name)} ` +
    `${nameOf([l, h])}${turn}<b class="av-real-role">${LEGEND[values.kinds[l][h]]}</b></p><dl>${bars.join("")}</dl></div>`
  );
};

// The way to the next token: at the last position, from which it is predicted,
// the largest weight of each head. A head that is switched off adds nothing there.
const THICK = 7; // the width of an arrow of weight 1, as of an arc
const way = (data, { query, weights, logits }, off) => {
  const shown = shownOf(data.pieces);
  const last = shown.length - 1;
  const [next] = shownOf([data.next[0][0]]);
  const most = SIDES.map(({ name }, side) => [name, ...largest(weights[side][last])]);
  const legs = most.map(
    ([name, key, w]) =>
      `<span class="av-real-chip">${escape(shown[key])}</span>` +
      `<span class="av-real-leg${name === off ? " av-real-cut" : ""}" ` +
      `style="--av-real-line:${(THICK * w).toFixed(1)}px">${letter(name)} ${short(w)}` +
      `${name === off ? "<i>×</i>" : ""}</span>`,
  );
  const told = most.map(
    ([name, key, w]) =>
      `${name} gives ${fixed(w)} of its weight to ${shown[key]}${name === off ? ", but is off" : ""}`,
  );
  const at = escape(shown[last]);
  const label = `At ${at}, where ${escape(next)} is the likeliest next token: ${escape(told.join("; "))}`;
  const x = logits[0];
  const change = x ? `${x < 0 ? "falls" : "rises"} by <b>${fixed(Math.abs(x))}</b>` : "stays";
  const effectOf = SIDES.some(({ name }) => name === off)
    ? `without ${letter(off)}: logit of ${escape(next)} ${change}`
    : "";
  const effect = `<p class="av-real-effect">${effectOf}</p>`;
  return (
    `<p>At ${quoted(at)}, both add to what comes next. Their largest weights:</p>` +
    `<div class="av-real-way" role="img" aria-label="${label}">${legs.join("")}` +
    `<span class="av-real-chip av-real-at${query === last ? " av-real-asking" : ""}">${at}</span>` +
    `<span class="av-real-leg av-real-on"></span>` +
    `<b class="av-real-chip av-real-at">${escape(next)}</b></div>${effect}`
  );
};

// The likeliest next tokens: with a head switched off, from what they were to what
// they become, and the changes of their logits.
const RARE = 0.015; // a row that stays below is grey: it shows 0.01 at most
const share = (p) => (p < 0.005 ? "<0.01" : p >= 0.995 ? ">0.99" : fixed(p));
const KEY =
  '<span><i class="av-real-fell"></i>falls</span>' +
  '<span><i class="av-real-tick"></i>with all heads on</span>';
const nextTokens = (data, { before, chances, logits }, off) => {
  const shown = shownOf(data.next.map(([piece]) => piece));
  const cut = off && off !== OFF[0];
  const list = (title, bars) =>
    `<p class="av-real-title av-real-key">${title}</p><dl class="av-real-next">` +
    `${bars.join("")}</dl>`;
  if (!cut)
    return list(
      "<span>Next token</span><span>probability</span>",
      before.map((p, k) => bar("", shown[k], p, escape(share(p)))),
    );
  const bars = chances.map((p, k) => {
    const rare = Math.max(p, before[k]) < RARE ? " av-real-rare" : "";
    const kind = `${p < before[k] ? " av-real-fell" : ""}${rare}`;
    const text = `${escape(share(before[k]))} → <b>${escape(share(p))}</b>`;
    const change = `<dd class="av-real-logit">${logits[k] > 0 ? "+" : ""}${fixed(logits[k])}</dd>`;
    return bar(` av-real-changed${kind}`, shown[k], p, text, before[k], change);
  });
  const title = `<span>Without ${letter(off)}</span>${KEY}<span>probability</span><span>logit</span>`;
  return list(title, bars);
};

const rule = ({ asked }) =>
  `A head has a role if its mean weight on one key is at least ${ROLE}, and at least ` +
  "twice what equal weights would give that key. The key is the first token, the previous token, " +
  "or the token that followed the same token last time (induction). A head with two roles " +
  "counts under the later one in this list. The first query has only one key, so it does not " +
  "count. " +
  `${asked ? `Induction is a mean over ${count(asked, "token")} read before. ` : "No token is read twice, so nothing tells an induction head. "}` +
  "Weights are stored as bytes, so each may be off by 0.002.";

const sentence = (data, values, off) => {
  const { query, heads, weights } = values;
  const shown = shownOf(data.pieces);
  const [a, b] = heads.map((_, side) => {
    const [key, w] = largest(weights[side][query]);
    return `${SIDES[side].name} gives ${fixed(w)} to ${quoted(shown[key])} at ${key}`;
  });
  const [was, now] = [values.before[0], values.chances[0]].map(share);
  const change =
    now === was
      ? `still comes next with probability ${now}`
      : `comes next with probability ${now} instead of ${was}`;
  const without =
    off && off !== OFF[0]
      ? `Without ${off}, ${quoted(shownOf([data.next[0][0]])[0])} ${change}. `
      : "";
  const before = query && data.ids.lastIndexOf(data.ids[query], query - 1);
  const last =
    query && before >= 0 ? `, after which ${quoted(shown[before + 1])} followed last time` : "";
  return `${without}From ${quoted(shown[query])} at ${query}${last}: ${a}, and ${b}.`;
};

const counted = (key, label, first, about, max, upTo) => ({
  key,
  kind: "range",
  label,
  first,
  about,
  min: 0,
  max,
  step: 1,
  upTo,
});
const [A, B] = OPENING.picked;
// Where sliders end: everything about the first text is known from the start.
const ends = (of) => (state, own) => of(dataOf(state, own) ?? OPENING) - 1;
const layerOf = (key, label, first, about) =>
  counted(
    key,
    label,
    first,
    about,
    MOST_LAYERS - 1,
    ends((data) => data.layers),
  );
const headOf = (key, label, first, about) =>
  counted(
    key,
    label,
    first,
    about,
    MOST_HEADS - 1,
    ends((data) => data.heads),
  );

const pair = ([layer, head], [other_layer, other_head]) => ({
  layer,
  head,
  other_layer,
  other_head,
});

const figure = {
  name: "realheads",
  card: { part: ".av-real-map", box: "25 -2 602 198" },
  controls: [
    {
      key: "text",
      kind: "choice",
      label: "text",
      first: NAMES[0],
      about: "What the model reads",
      options: NAMES,
      when: (state, own) => !own,
    },
    counted(
      "query",
      "query at",
      OPENING.ids.length - 1,
      "The position to follow; one beyond the last counts as the last",
      LONGEST - 1,
      ends((data) => data.ids.length),
    ),
    layerOf("layer", "A: layer", A[0], "The layer of the first head; beyond the last, the last"),
    headOf("head", "A: head", A[1], "Which head of that layer; beyond the last, the last"),
    layerOf("other_layer", "B: layer", B[0], "The layer of the second head, likewise"),
    headOf("other_head", "B: head", B[1], "Which head of that layer, likewise"),
    {
      key: "off",
      kind: "choice",
      label: "switch off",
      first: OFF[0],
      about: "The head that is switched off; only the stored texts have this",
      options: OFF,
      when: (state, own) => !own,
    },
  ],
  presetLabel: "look at",
  presets: {
    "what followed last time": { text: "a repeat", query: 15, ...pair([17, 5], [16, 0]) },
    "Italy or Madrid": { text: "capitals", query: 19, ...pair([17, 5], [23, 4]) },
    "from it to the dog": { text: "a pronoun", query: 17, ...pair([16, 5], [13, 8]) },
    "the open bracket": { text: "a bracket", query: 15, ...pair([26, 6], [18, 8]) },
    "the bracket in code": { text: "code", query: 18, ...pair([26, 6], [22, 3]) },
    "the same token before": { text: "code", query: 14, ...pair([8, 1], [14, 3]) },
  },
  later: (state) => (isOpening(state) ? null : fileOf(state.text)),
  compute,
  view: (state, values, own) => {
    const data = dataOf(state, own);
    const off = own ? "" : state.off;
    return (
      `${legend(data, values)}${map(data, values, off)}` +
      `<div class="av-real-two av-real-pair"><div class="av-real-sides">` +
      `${facts(data, values, 0, off)}${facts(data, values, 1, off)}</div>` +
      `${wings(data, values, off)}</div>${say(sentence(data, values, off))}` +
      `<div class="av-real-two av-real-after"><div>${way(data, values, off)}</div>` +
      `<div>${nextTokens(data, values, off)}</div></div>` +
      `<details class="av-real-rule-text"><summary>When a head has a role</summary>` +
      `<p>${rule(values)}</p></details>`
    );
  },
  handles: (state, values, own) => {
    const data = dataOf(state, own);
    const shown = shownOf(data.pieces);
    const read = (key) =>
      SIDES.map(({ name }, k) => `${name} ${fixed(values.weights[k][values.query][key])}`).join(
        ", ",
      );
    return [
      ...SIDES.map(({ name, layer, head }, side) => {
        const [x, y] = cornerOf(...values.heads[side], data.heads);
        return {
          id: name,
          name: `head ${name}`,
          keys: [layer, head],
          at: [x + CELL / 2, y + CELL / 2],
          value: describe(values, values.heads[side]),
          read: ([u, v]) => ({
            [layer]: (u - LEFT) / CELL - 0.5,
            [head]: data.heads - 0.5 - (v - TOP) / CELL,
          }),
        };
      }),
      ...(own ? [] : SIDES).map(({ name }) => ({
        id: `off-${name}`,
        name: `head ${name} is on`,
        on: state.off !== name,
        press: () => ({ off: state.off === name ? OFF[0] : name }),
      })),
      ...shown.map((word, k) => ({
        id: `w${k}`,
        name: `${word}, at ${k}${k > values.query ? "" : `: ${read(k)}`}`,
        group: "words",
        on: k === values.query,
        press: () => ({ query: k }),
      })),
    ];
  },
  live: ({ el, model, set }) => {
    const listening = new AbortController();
    const on = (part, kind, does) => part.addEventListener(kind, does, listening);
    // A press on the map moves head A there; with Shift, head B. The end of a
    // drag does not count as a press.
    let begun = [0, 0];
    on(el, "pointerdown", ({ clientX, clientY }) => (begun = [clientX, clientY]));
    const result = el.querySelector(".av-result");
    // The head under a pointer, or null.
    const under = ({ clientX, clientY }) => {
      const across = el.querySelector(".av-real-map").getScreenCTM().inverse();
      const { x, y } = new DOMPoint(clientX, clientY).matrixTransform(across);
      const { kinds } = el.values;
      const l = Math.floor((x - LEFT) / CELL);
      const h = kinds[0].length - 1 - Math.floor((y - TOP) / CELL);
      return kinds[l]?.[h] === undefined ? null : [l, h];
    };
    on(result, "click", (event) => {
      const at = under(event);
      const dragged = Math.hypot(event.clientX - begun[0], event.clientY - begun[1]) > 4;
      if (!at || dragged || !event.detail) return;
      if (el.values.heads.some(([l, h]) => l === at[0] && h === at[1])) return;
      const { layer, head } = SIDES[event.shiftKey ? 1 : 0];
      set(layer, at[0]);
      set(head, at[1]);
    });
    // A tooltip describes the head under the mouse.
    on(result, "pointermove", (event) => {
      const at = event.pointerType === "mouse" && under(event);
      const { kinds } = el.values;
      result.querySelector(".av-real-hint").textContent = at
        ? describe(el.values, at)
        : hintOf({ layers: kinds.length, heads: kinds[0].length });
    });
    return {
      // In Jupyter, the model may have read another text, which Python passes on.
      own: () => model.get("_given") ?? undefined,
      close: () => listening.abort(),
    };
  },
};

export default figureModule(figure);
