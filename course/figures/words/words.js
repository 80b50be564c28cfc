// Attention in one sentence: the last word asks, and every word answers.

import { dot, fixed, range, setting, softmax } from "../kit/numbers.js";
import { escape } from "../kit/svg.js";
import { tell } from "../kit/controls.js";
import { figureModule, known, say } from "../kit/common.js";

// Vectors chosen by hand: how much each word is alive, and how much it is a
// drink.
const WORDS = ["the", "cat", "drank", "milk", "because", "it"];
const KEYS = [
  [-1, 0],
  [2, 0],
  [1, 1],
  [0, 2],
  [-1, -1],
  [0.5, 0.5],
];
const ASKS = WORDS.length - 1;
// Other sentences are read by a small trained model. Their data is loaded when one
// is chosen: the weights of a head, and the likeliest next words.
const LATER = "words-trained";
const HAND = `${WORDS.join(" ")} (toy)`;
const TRAINED = known("words"); // their sentences, from course.figures
const LONGEST = Math.max(...TRAINED.map((text) => text.split(" ").length));
const byHand = ({ sentence }) => sentence === HAND;
const wordsOf = (state) => (byHand(state) ? WORDS : state.sentence.split(" "));
const askerOf = (state) => (byHand(state) ? ASKS : Math.min(state.asks, wordsOf(state).length - 1));
const END = 3; // the plane, and each number of the query, run from -END to END

// --- the opening ---------------------------------------------------------

// The query turns from "alive" to "drink", stays, and returns.
const AWAY = { x: -0.2, y: 2.2 };
const TURN = 1300;
const STAY = 900;
const WAIT = 500;
const LENGTH = WAIT + TURN + STAY + TURN;
const ease = (p) => p * p * (3 - 2 * p);
const share = (ms, from, length) => Math.min(Math.max((ms - from) / length, 0), 1);
// The query at a time, which depends only on the state and the time. It has two
// decimals, so that a reader can check the numbers at any moment.
const at = ({ x, y }, ms) => {
  const away = ease(share(ms, WAIT, TURN)) - ease(share(ms, WAIT + TURN + STAY, TURN));
  const between = (from, to) => Number((from + away * (to - from)).toFixed(2));
  return { x: between(x, AWAY.x), y: between(y, AWAY.y) };
};

// --- drawing -------------------------------------------------------------

const GAP = 15;
const WIDE = 9.2; // a letter in a long sentence
const BASE = 118;
const THICK = 17;
const FAINT = 0.02;
// The middle of each word, in a row of words as wide as their letters.
const rowOf = (words) => {
  const letters = words.join("").length;
  const full = Math.max(360, Math.ceil(letters * WIDE + GAP * words.length));
  const letter = (full - GAP * words.length) / letters;
  let before = 0;
  const middles = words.map((word, j) => {
    before += word.length;
    return (before - word.length / 2) * letter + GAP * (j + 0.5);
  });
  return { words, full, middles };
};

const arc = (w, j, { asks, middles }) => {
  const [from, to] = [middles[asks], middles[j]];
  const rise = j === asks ? 26 : Math.min(20 + 0.32 * Math.abs(from - to), BASE + 5);
  // The arcs leave the asking word side by side.
  const side = j <= asks ? 1 : -1;
  const [start, end] = j === asks ? [from + 12, from - 11] : [from + side * (7.5 - 3 * j), to];
  const faint = w < FAINT ? ' stroke-dasharray="6 4"' : "";
  const top = (BASE - 20 - rise).toFixed(1);
  return (
    `<path class="av-link" stroke-width="${Math.max(w * THICK, 0.8).toFixed(2)}"${faint} ` +
    `d="M${start.toFixed(1)} ${BASE - 20}C${start.toFixed(1)} ${top} ${end.toFixed(1)} ${top} ` +
    `${end.toFixed(1)} ${BASE - 20}"/>`
  );
};

// The words, the contribution of each, and below them the mixture.
const row = (weights, most, { asks, words, middles, full }) => {
  const written = words.map((word, j) => {
    const x = middles[j].toFixed(1);
    const kind = j === asks ? ' class="av-query"' : j === most ? ' class="av-most"' : "";
    return (
      `<text${kind} data-word="${j}" x="${x}" y="${BASE}" text-anchor="middle">${word}</text>` +
      (j < weights.length
        ? `<text class="av-weight" x="${x}" y="${BASE + 19}" text-anchor="middle">` +
          `${fixed(weights[j])}</text>`
        : "")
    );
  });
  let left = 0;
  const parts = weights.map((w, j) => {
    const width = w * full;
    const x = left;
    left += width;
    const name =
      width > 9 * words[j].length
        ? `<text class="av-part" x="${(x + width / 2).toFixed(1)}" y="${BASE + 53}" ` +
          `text-anchor="middle">${words[j]}</text>`
        : "";
    return (
      `<rect class="av-value" x="${x.toFixed(1)}" y="${BASE + 36}" ` +
      `width="${width.toFixed(1)}" height="25"/>${name}`
    );
  });
  return written.join("") + parts.join("");
};
const picture = (state, { weights, most }) => {
  const line = { ...rowOf(wordsOf(state)), asks: askerOf(state) };
  const { words, asks, full } = line;
  const named = weights.map((w, j) => `${words[j]} ${fixed(w)}`).join(", ");
  const label = `Arcs from ${words[asks]} to each word, as thick as its weight: ${named}`;
  return (
    `<svg class="av-sentence" role="img" aria-label="${label}" viewBox="0 0 ${full} ` +
    `${BASE + 64}">${weights.map((w, j) => arc(w, j, line)).join("")}` +
    `${row(weights, most, line)}</svg>`
  );
};

// The likeliest next words of the trained model, each with its probability.
const guessesOf = (state) => known(LATER)[state.sentence].next[askerOf(state)];
// A rounded probability is never printed as 0 or 1.
const sure = (p) => (p >= 0.995 ? "> 0.99" : p < 0.005 ? "< 0.01" : fixed(p));
const guesses = (next) => {
  const bars = next.map(
    ([word, p], k) =>
      `<text x="80" y="${94 + 34 * k}" text-anchor="end">${word}</text>` +
      `<rect class="av-value" x="88" y="${78 + 34 * k}" width="${(80 * p).toFixed(1)}" height="22"/>` +
      `<text class="av-weight" x="${(94 + 80 * p).toFixed(1)}" y="${94 + 34 * k}">` +
      `${escape(sure(p))}</text>`,
  );
  const label = `Likeliest next words: ${next.map(([word, p]) => `${word} ${sure(p)}`).join(", ")}`;
  return (
    `<svg class="av-ask" role="img" aria-label="${escape(label)}" viewBox="0 0 ${SIDE} ${HIGH}">` +
    `<text x="0" y="52">which word comes next?</text>${bars.join("")}</svg>`
  );
};

const SIDE = 230;
const HIGH = SIDE + 20; // with a line of text below the plane
const UNIT = SIDE / 2 / (END + 0.35);
const px = (v) => (SIDE / 2 + v * UNIT).toFixed(1);
const py = (v) => (SIDE / 2 - v * UNIT).toFixed(1);
// Where the name of a key is tried: above or below it, as the key lies, and beside it.
const placesBeside = ([u, v], word, up) => {
  const half = 4.2 * word.length;
  const [above, below] = [-10, 19].map((by) => [u, v + by]);
  const [right, left] = [1, -1].map((side) => [u + side * (11 + half), v + 5]);
  return up > 0 ? [above, right, left, below] : [below, left, right, above];
};
// The box of a name: its left, right, top and bottom.
const boxAt = ([u, v], word) => {
  const half = 4.2 * word.length;
  return [u - half, u + half, v - 11, v + 4];
};
// How far a name keeps away from the query, from keys and from other names; negative where
// it is on one of them or outside of the plane.
const roomOf = (place, word, tip, taken) => {
  const [l, r, t, b] = boxAt(place, word);
  const beside = ([u, v]) => Math.max(l - u, u - r, t - v, v - b);
  const start = SIDE / 2;
  const line = range(13).map((k) => tip.map((end) => start + (k / 12) * (end - start)));
  const dots = KEYS.map(([c, d]) => [+px(c), +py(d)]);
  return Math.min(
    beside(tip) - 11,
    ...line.map((point) => beside(point) - 3),
    ...dots.map((end) => beside(end) - 4),
    ...taken.map(([l2, r2, t2, b2]) => Math.max(l - r2, l2 - r, t - b2, t2 - b)),
    ...[l, SIDE - r, t, SIDE - b],
  );
};
const plane = (x, y) => {
  const keys = KEYS.map(
    ([a, b]) =>
      `<path class="av-key" d="M${px(0)} ${py(0)}L${px(a)} ${py(b)}"/>` +
      `<circle class="av-key" cx="${px(a)}" cy="${py(b)}" r="4.5"/>`,
  );
  const tip = [+px(x), +py(y)];
  const taken = [];
  const names = KEYS.map((key, j) => {
    const spot = [+px(key[0]), +py(key[1])];
    const all = placesBeside(spot, WORDS[j], key[1]);
    const roomAt = (place) => roomOf(place, WORDS[j], tip, taken);
    const roomy = Math.max(...all.map(roomAt));
    const [u, v] = all.find((place) => roomAt(place) >= Math.min(roomy, 0));
    taken.push(boxAt([u, v], WORDS[j]));
    return (
      `<text class="av-key" x="${u.toFixed(1)}" y="${v.toFixed(1)}" text-anchor="middle">` +
      `${WORDS[j]}</text>`
    );
  });
  return (
    `<path class="av-rule" d="M0 ${py(0)}H${SIDE}M${px(0)} 0V${SIDE}"/>` +
    `<text class="av-axis" x="${SIDE}" y="${+py(0) + 36}" text-anchor="end">alive →</text>` +
    `<text class="av-axis" x="${+px(0) + 6}" y="12">↑ a drink</text>` +
    `<text class="av-axis av-drag" x="0" y="${SIDE + 15}">● drag what “it” asks for</text>` +
    `${keys.join("")}` +
    `<path class="av-query" d="M${px(0)} ${py(0)}L${px(x)} ${py(y)}"/>` +
    `<circle class="av-query" cx="${px(x)}" cy="${py(y)}" r="8"/>${names.join("")}` +
    `<circle class="av-reach" cx="${px(x)}" cy="${py(y)}" r="22"/>`
  );
};

const times = (a, b) => `${setting(a)}×${b < 0 ? `(${setting(b)})` : setting(b)}`;
const told = (state, { weights, most, head }) => {
  const words = wordsOf(state);
  const [[word, p]] = guessesOf(state);
  return (
    `Trained, not drawn: in block ${head[0]}, head ${head[1]} of a small model, ` +
    `“${words[askerOf(state)]}” gives ${fixed(weights[most])} of its weight to ` +
    `“${words[most]}”. The likeliest next word is “${word}”, with probability ${p >= 0.995 ? "above 0.99" : `≈ ${fixed(p)}`}.`
  );
};
const sentence = ({ x, y }, { dots, exponentials, weights, most }) => {
  const [a, b] = KEYS[most];
  const total = exponentials.reduce((sum, e) => sum + e, 0);
  const sum = `${times(x, a)} + ${y < 0 ? `(${times(y, b)})` : times(y, b)}`;
  return (
    `query of ${WORDS[ASKS]} · key of ${WORDS[most]} = ${sum} = ${setting(dots[most])}; ` +
    `exp(${setting(dots[most])} / √2) ≈ ${fixed(exponentials[most])} of ${fixed(total)} in all ` +
    `≈ ${fixed(weights[most])}`
  );
};

const figure = {
  name: "words",
  lead: [],
  controls: [
    {
      key: "sentence",
      kind: "choice",
      label: "sentence",
      first: HAND,
      about: "The sentence: one with vectors made by hand, or one that a trained model reads",
      options: [HAND, ...TRAINED],
    },
    {
      key: "x",
      kind: "range",
      label: "it asks for: alive",
      first: 2,
      about: "How much the query asks for what is alive",
      when: byHand,
      min: -END,
      max: END,
      step: 0.1,
    },
    {
      key: "y",
      kind: "range",
      label: "a drink",
      first: 0.5,
      about: "How much it asks for a drink",
      when: byHand,
      min: -END,
      max: END,
      step: 0.1,
    },
    {
      key: "asks",
      kind: "range",
      label: "word that asks",
      first: LONGEST - 1,
      about: "The word that asks in a sentence of the trained model, or its last",
      min: 0,
      max: LONGEST - 1,
      step: 1,
      upTo: (state) => wordsOf(state).length - 1,
      when: (state) => !byHand(state),
    },
  ],
  length: LENGTH,
  at,
  later: (state) => (byHand(state) ? null : LATER),
  compute: (state, own) => {
    if (!byHand(state)) {
      const { head, rows } = known(LATER)[state.sentence];
      const weights = rows[askerOf(state)];
      const most = weights.indexOf(Math.max(...weights));
      return { weights, most, next: guessesOf(state).map(([, p]) => p), head };
    }
    const { x, y } = own ?? state;
    const dots = KEYS.map((key) => dot([x, y], key));
    const exponentials = dots.map((s) => Math.exp(s / Math.SQRT2));
    const weights = softmax(dots.map((s) => s / Math.SQRT2));
    return { dots, exponentials, weights, most: weights.indexOf(Math.max(...weights)) };
  },

  view: (state, values, own) => {
    const drawn = picture(state, values);
    if (!byHand(state))
      return `<div class="av-words">${drawn}${guesses(guessesOf(state))}</div>${say(told(state, values))}`;
    const { x, y } = own ?? state;
    const where = `The keys of the words in a plane, and the query of ${WORDS[ASKS]}`;
    return (
      `<div class="av-words">${drawn}` +
      `<svg class="av-ask" role="img" aria-label="${where}" viewBox="0 0 ${SIDE} ${HIGH}">` +
      `${plane(x, y)}</svg></div>${say(sentence({ x, y }, values))}`
    );
  },

  // The query follows the pointer, and jumps to where the plane is pressed.
  enhance: (result, state, values, set) => {
    const follow = ({ clientX, clientY }) => {
      const { left, top, width } = result.querySelector(".av-ask").getBoundingClientRect();
      const place = (v) =>
        Math.min(Math.max((v * SIDE) / width - SIDE / 2, -END * UNIT), END * UNIT);
      set("x", +(place(clientX - left) / UNIT).toFixed(1));
      set("y", +(-place(clientY - top) / UNIT).toFixed(1));
    };
    result.onpointerdown = (event) => {
      if (!event.target.matches(".av-reach, .av-query")) return;
      event.preventDefault(); // so that dragging selects no text
      result.setPointerCapture(event.pointerId);
      result.onpointermove = follow;
    };
    result.onpointerup = result.onpointercancel = () => (result.onpointermove = null);
    result.onclick = (event) => {
      const { word } = event.target.dataset;
      if (!byHand(state)) return word && set("asks", +word);
      if (event.target.closest(".av-ask")) follow(event);
    };
  },

  // Plays once, on a page in view: never if the reader prefers reduced motion,
  // and only until the reader takes over.
  live: ({ el, form, model, paint }) => {
    const still = matchMedia("(prefers-reduced-motion: reduce)");
    let begun = null;
    let own;
    // The sliders follow the picture.
    const slide = (query) => {
      for (const control of figure.controls.filter(({ key }) => key in query)) {
        const field = form.elements.namedItem(control.key);
        field.value = query[control.key];
        tell(control, field, query[control.key]); // a slider has tenths only
      }
    };
    const stop = () => {
      begun = null;
      own = undefined;
      slide({ x: model.get("x"), y: model.get("y") });
      paint();
    };
    const state = JSON.parse(el.dataset.state ?? "null");
    const asked = location.search.includes("words.");
    // Until the first touch, words.css has a hint in place of the formula.
    const touch = () => el.classList.add("av-touched");
    if (asked) touch();
    for (const kind of ["pointerdown", "keydown", "input"]) el.addEventListener(kind, touch);
    const advance = (now) => {
      if (begun === null) return;
      if (still.matches || document.hidden || now - begun >= LENGTH) {
        stop();
        return;
      }
      own = at(state, now - begun);
      slide(own);
      paint(); // in the same frame as the sliders
      requestAnimationFrame(advance);
    };
    if (state && byHand(state) && !asked && !still.matches && !document.hidden) {
      begun = performance.now();
      requestAnimationFrame(advance);
      for (const kind of ["pointerdown", "keydown", "input"])
        el.addEventListener(kind, () => begun !== null && stop());
      addEventListener("popstate", stop);
    }
    const close = () => {
      removeEventListener("popstate", stop);
      stop();
    };
    return { own: () => own, busy: () => begun !== null, close };
  },
};

export default figureModule(figure);
