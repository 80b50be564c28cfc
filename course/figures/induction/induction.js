// Induction: a small trained model, and what its heads attend to.

import { count, fixed, range, softmax } from "../kit/numbers.js";
import { chart, escape } from "../kit/svg.js";
import { figureModule, known, say } from "../kit/common.js";
import { bytesOf } from "../kit/base64.js";
import { transformer } from "./transformer.js";

const LETTERS = "ABCDEFGHIJKL";
const MOST = 32; // symbols that the model can read
// The initial weights, and the model's accuracy after each stored step.
const { steps: STEPS, accuracy: ACCURACY, weights: FIRST_WEIGHTS } = known("induction");
const LAST = STEPS[STEPS.length - 1];
const LATER = "induction-steps"; // the weights of the later steps
const net = transformer();

// The parameters at a stored step of the training.
const unpacked = {};
const stored = (step) =>
  (unpacked[step] ??= net.unpack(step === 0 ? FIRST_WEIGHTS : known(LATER)[step]));

const HEADS = [
  [0, 0],
  [0, 1],
  [1, 0],
  [1, 1],
];
const keyOf = ([layer, head]) => `head_${layer}_${head}`;
const nameOf = ([layer, head]) => `block ${layer} head ${head}`;
const ALL_ON = Object.fromEntries(HEADS.map((at) => [keyOf(at), true]));

// --- computing -----------------------------------------------------------

const rowsOf = (flat, width) =>
  range(flat.length / width).map((i) => [...flat.slice(i * width, (i + 1) * width)]);

// The symbol that followed the previous occurrence of the symbol at `i`, or null.
const answerTo = (tokens, i) => {
  const before = i ? tokens.lastIndexOf(tokens[i], i - 1) : -1;
  return before < 0 ? null : tokens[before + 1];
};

// The mean weight that a head gives to the previous symbol, and to the symbol
// that followed the last occurrence; null where there is none.
const mean = (numbers) =>
  numbers.length ? numbers.reduce((a, b) => a + b, 0) / numbers.length : null;
const keysBefore = (tokens) => tokens.map((_, i) => i - 1);
const keysThatFollowed = (tokens) =>
  tokens.map((token, i) => (i ? tokens.lastIndexOf(token, i - 1) + 1 || -1 : -1));
const scoreOf = (weights, keys) =>
  mean(weights.flatMap((row, i) => (keys[i] < 0 ? [] : [row[keys[i]]])));
// A head has a role if it gives that key at least this weight and twice an even
// weight.
const ROLE = 0.4;
const even = (T) => range(T).map((i) => Array(T).fill(1 / (i + 1)));
const PREVIOUS = "previous-token head";
// In the stored training two heads have this role; without this one, more answers
// are wrong.
const STORED_PREVIOUS = "head_0_1";
const has = (score, evenly) => score >= Math.max(ROLE, 2 * evenly);
const roleOf = ({ previous, followed, evenly }, [layer, head]) => {
  if (has(followed[layer][head], evenly.followed)) return "induction head";
  return has(previous[layer][head], evenly.previous) ? PREVIOUS : "";
};

// Whether a head of block 0 reads, at the key `j`, the query's symbol just before it:
// so block 1 can find it there. Even weights are large at the first keys, so these
// need more.
const carries = (weights, tokens, query, j) =>
  j > 0 &&
  j < query &&
  tokens[j - 1] === tokens[query] &&
  weights[j][j - 1] >= Math.min(0.9, Math.max(ROLE, 2 / (j + 1)));

// The latest result, because choosing another query does not change the model's
// output.
let latest = {};
const ask = (numbers, tokens, on) => {
  const key = JSON.stringify([tokens, on]);
  if (latest.key !== key || latest.numbers !== numbers)
    latest = { key, numbers, model: net.forward(net.named(numbers), tokens, on) };
  return latest.model;
};

// `own` holds weights that were trained in the page, if there are any.
const compute = (state, own) => {
  const tokens = [...state.symbols].map((symbol) => LETTERS.indexOf(symbol));
  const on = [0, 1].map((i) => [0, 1].map((h) => state[keyOf([i, h])]));
  const model = ask(own ? own.numbers : stored(state.step), tokens, on);
  const rows = rowsOf(model.logits, net.VOCAB);
  const said = rows.map((row) => net.largest(row));
  const answers = tokens.map((_, i) => answerTo(tokens, i));
  const query = Math.min(state.query, tokens.length - 1);
  const [T, before, after] = [tokens.length, keysBefore(tokens), keysThatFollowed(tokens)];
  const maps = model.layers.map(({ weights }) => weights.map((w) => rowsOf(w, T)));
  return {
    logits: rows,
    weights: maps,
    carried: maps[0].map((w, h) => tokens.map((_, j) => on[0][h] && carries(w, tokens, query, j))),
    previous: maps.map((heads) => heads.map((w) => scoreOf(w, before))),
    followed: maps.map((heads) => heads.map((w) => scoreOf(w, after))),
    evenly: { previous: scoreOf(even(T), before), followed: scoreOf(even(T), after) },
    chances: softmax(rows[query]),
    query,
    said: said[query],
    answer: answers[query],
    counted: answers.filter((answer) => answer !== null).length,
    right: answers.filter((answer, i) => answer === said[i]).length,
    accuracy: own ? own.right : ACCURACY[STEPS.indexOf(state.step)],
  };
};

// --- drawing -------------------------------------------------------------

const CELL = 20; // width of a symbol in the picture
const LONG = 16; // the most symbols that fit into half of a page
const FEW = 12; // a shorter row has empty room, so that its letters do not grow
const NARROW = 14; // the most symbols that fit into half of a phone
const FAINT = 0.1; // arcs of other queries are drawn from this weight upward
const THIN = 0.02; // arcs of the query below this weight are hairlines, as one path
const STEADY = 10; // arc widths are quantised, so that arcs of equal width are one path
const BASE = (T) => Math.max(20, 4 * T + 8); // the baseline of the arcs
const roomFor = (T) => CELL * Math.max(T, FEW);
const middle = (i) => CELL * (i + 0.5);

// An arc from a query to an earlier key, or a loop if the query attends to
// itself.
const arc = (query, key, base) => {
  const [from, to] = [middle(key), middle(query)];
  if (query === key) return `M${to - 4} ${base}A4 7 0 1 1 ${to + 4} ${base}`;
  const high = (6 + 0.2 * (to - from)).toFixed(1);
  return `M${from} ${base}A${(to - from) / 2} ${high} 0 0 1 ${to} ${base}`;
};

// Two decimals, without the zero before the point.
const short = (x) => fixed(x).replace(/^0/, "");

const weight = (text, x, y) =>
  `<text class="av-weight" x="${x}" y="${y}" text-anchor="middle">${text}</text>`;
// A row of symbols, one of them underlined.
const letters = (symbols, at, y, marked) =>
  `<text x="${range(symbols.length).map(at).join(" ")}" y="${y}" text-anchor="middle">` +
  `${symbols}</text>` +
  (marked === null ? "" : `<path class="av-mark" d="M${at(marked) - 6} ${y + 5}h12"/>`);

// Where the query's symbol was read before.
const earlier = (symbols, query) => range(query).filter((i) => symbols[i] === symbols[query]);
const framed = (x, y) =>
  `<rect class="av-follows" x="${x - 8}" y="${y - 14}" width="16" height="18" rx="3"/>`;

// The query's symbol as a key has it from block 0.
const tagged = (x, y) => `<rect x="${x - 8}" y="${y - 12}" width="16" height="16" rx="3"/>`;
const tagOf = (symbol) => `<i class="av-tag">${symbol}</i>`;
// The keys that have it for a head: what the head itself writes, or all in block 1.
const keptFor = ({ carried }, [layer, head]) =>
  carried[0]
    .map((_, j) => j)
    .filter((j) => (layer ? carried.some((keys) => keys[j]) : carried[head][j]));

const arcs = (symbols, weights, query, label, kept, writes) => {
  const [T, base] = [symbols.length, BASE(symbols.length)];
  const others = range(STEADY + 1).map(() => []);
  weights.forEach((row, i) =>
    row.forEach((w, j) => {
      if (i !== query && w >= FAINT) others[Math.round(w * STEADY)].push(arc(i, j, base));
    }),
  );
  const faint = others.map((d, k) =>
    d.length ? `<path class="av-arc" stroke-width="${(6 * k) / STEADY}" d="${d.join("")}"/>` : "",
  );
  const hairlines = [];
  const byWidth = {}; // the arcs of each path
  weights[query].slice(0, query + 1).forEach((w, j) => {
    const paths = w < THIN ? hairlines : (byWidth[(6 * w).toFixed(2)] ??= []);
    paths.push(arc(query, j, base));
  });
  const picked = (width, d, thin = "") =>
    `<path class="av-arc-picked${thin}" stroke-width="${width}" d="${d.join("")}"/>`;
  const strong = Object.entries(byWidth).map(([width, d]) => picked(width, d));
  if (hairlines.length) strong.unshift(picked(0.5, hairlines, " av-thin"));
  // Large weights are printed below their keys.
  const numbers = weights[query].map((w, j) =>
    w >= FAINT ? weight(short(w), middle(j), base + (kept.includes(j) ? 56 : 38)) : "",
  );
  const pairs = earlier(symbols, query).map(
    (i) =>
      framed(middle(i + 1), base + 18) +
      `<path class="av-read-before" d="M${middle(i) - 6} ${base + 25}H${middle(i + 1) + 6}"/>`,
  );
  const links = !writes
    ? []
    : kept.map((j) => {
        const wide = (6 * weights[j][j - 1]).toFixed(2);
        return `<path class="av-handed" stroke-width="${wide}" d="${arc(j, j - 1, base)}"/>`;
      });
  const tags = kept.map(
    (j) =>
      tagged(middle(j), base + 41) +
      `<text x="${middle(j)}" y="${base + 41}" text-anchor="middle">${symbols[query]}</text>`,
  );
  if (kept.length && !writes) tags.push(tagged(middle(query), base + 17));
  return (
    `<svg class="av-arcs" role="img" aria-label="${escape(label)}" ` +
    `style="max-width:${1.15 * roomFor(T)}px" viewBox="0 0 ${roomFor(T)} ${base + 60}">${pairs.join("")}${faint.join("")}${strong.join("")}` +
    `${links.join("")}${letters(symbols, middle, base + 18, query)}${numbers.join("")}` +
    `<g class="av-tags">${tags.join("")}</g></svg>`
  );
};

// A head with its switch: pressing the name switches the head off, and its arcs
// fade.
const panel = (state, values, at) => {
  const [{ symbols }, { weights, query }, [layer, head]] = [state, values, at];
  const row = weights[layer][head][query];
  const key = net.largest(row);
  const most = `most on ${symbols[key]} at ${key}, weight ${fixed(row[key])}`;
  const role = roleOf(values, at);
  const kept = keptFor(values, at);
  // What the head does here, in words: which key it is, or that none stands out.
  const where =
    row[key] * (query + 1) < 2
      ? "no letter stands out: "
      : layer && kept.includes(key)
        ? `finds ${tagOf(symbols[query])}: `
        : earlier(symbols, query).includes(key - 1)
          ? `what followed ${symbols[query]}: `
          : key === query - 1
            ? "the letter before: "
            : key === query
              ? "itself: "
              : "";
  const writes = !layer && kept.length > 0;
  const to = [...new Set(kept.map((j) => symbols[j]))].join(" and ");
  const seen = writes
    ? `carries ${symbols[query]} to ${to}, stored as ${tagOf(symbols[query])}`
    : `${where}${symbols[key]} at ${key}, weight ${fixed(row[key])}`;
  const name = `Block ${layer}, head ${head}`;
  const on = state[keyOf(at)];
  const label = `${name}${role && `, ${role}`}${on ? "" : " (off)"}: ${most}`;
  const there = `; ${symbols[query]} ${writes ? "is carried to" : "is stored at"} `;
  const told = kept.length ? label + there + kept.join(" and ") : label;
  const drawn = arcs(symbols, weights[layer][head], query, told, kept, writes);
  return (
    `<div class="${on ? "av-one-head" : "av-one-head av-off"}">` +
    `<p class="av-caption"><span class="av-switch" data-handle="${keyOf(at)}">${name}` +
    `<i aria-hidden="true">${on ? "on" : "off"}</i></span> ` +
    `<span aria-hidden="true">${role && `<b>${role}</b>, `}${seen}</span></p>` +
    `${drawn}</div>`
  );
};

const BAR = { width: 24, bar: 18, high: 80, middle: (k) => 24 * (k + 0.5) };
// A rounded probability is never printed as 1.
const sure = (p) => `with probability ${p >= 0.995 ? "above 0.99" : fixed(p)}`;
const guesses = ({ symbols }, { chances, said, answer, query }) => {
  const label = `The next letter: ${LETTERS[said]} ${sure(chances[said])}`;
  const columns = chances.map((chance, k) => {
    const [x, height] = [BAR.width * k, (BAR.high * chance).toFixed(1)];
    const top = (BAR.high - height + 16).toFixed(1);
    const chosen = k === said ? "av-guess av-said" : "av-guess";
    const text = chance >= 0.995 ? "&gt;.99" : short(chance);
    const above = Math.min(Math.max(BAR.middle(k), 15), BAR.width * LETTERS.length - 15);
    const share = chance >= FAINT ? weight(text, above, (top - 4).toFixed(1)) : "";
    const outline = `M${x + 3} ${top}h${BAR.bar}v${height}h-${BAR.bar}z`;
    return `<path class="${chosen}" d="${outline}"/>${share}`;
  });
  const last = answer === null ? "" : `; underlined: ${LETTERS[answer]}, which followed last time`;
  const verdict =
    answer === null
      ? ""
      : `${said === answer ? " ✓" : " ✗"}, ${LETTERS[answer]} followed ${symbols[query]} last time`;
  const boxed = answer === null ? "" : framed(BAR.middle(answer), BAR.high + 34);
  return (
    `<p class="av-caption" aria-hidden="true">${escape(label + verdict)}</p>` +
    `<svg class="av-next" role="img" aria-label="${escape(label + last)}" ` +
    `viewBox="0 0 ${BAR.width * LETTERS.length} ${BAR.high + 42}">${boxed}${columns.join("")}` +
    `${letters(LETTERS, BAR.middle, BAR.high + 34, answer)}</svg>`
  );
};

const percent = (share) => `${fixed(100 * share, 1)}%`;
// How far the training is, and what came of it.
const stage = (state, { accuracy }, own) => {
  const step = own ? own.step : state.step;
  const when = step ? `after ${count(step, "step")} of training` : "untrained";
  return (
    `<p class="av-course"><b>${when}</b>: ${percent(accuracy)} right in new sequences` +
    `${HEADS.every((at) => state[keyOf(at)]) ? "" : ", all heads on"}.</p>`
  );
};
// What the colours of the arcs mean, and the marks below the symbols.
const legend = ({ symbols }, { query, carried }) => {
  const symbol = symbols[query];
  const key = (kind, text) => `<span><i class="${kind}"></i>${text}</span>`;
  const before = earlier(symbols, query).length
    ? key("av-by-pair", `${symbol} before, and what followed it`)
    : "";
  const links = carried.flat().includes(true)
    ? key("av-handed", `block 0: the letter after ${symbol} reads ${symbol}`) +
      `<span>${tagOf(symbol)} and stores, for block 1, that ${symbol} came before</span>`
    : "";
  return (
    `<p class="av-arc-keys">${key("av-by-query", `${symbol}, the query, reads`)}` +
    `${key("av-by-others", "other letters read")}${before}${links}</p>`
  );
};
const sentence = (state, values, own) => {
  const { query, chances, said, answer, counted, right } = values;
  const symbol = state.symbols[query];
  const off = HEADS.filter((at) => !state[keyOf(at)]).map(nameOf);
  const followed = `as ${LETTERS[answer]} followed ${symbol} last time`;
  const verdict =
    answer === null
      ? `${symbol} was not read before, so nothing tells what follows`
      : `${said === answer ? "right" : "wrong"}, ${followed}`;
  const steps = count(own ? own.step : state.step, "step");
  const training = own ? `your training, seed ${own.seed}` : "training";
  return (
    `${off.length ? `Switched off: ${off.join(", ")}. ` : ""}At ${query} the model reads ` +
    `${symbol} and says ${LETTERS[said]} ${sure(chances[said])}: ${verdict}. ` +
    `${counted ? `It is right ${right} of ${count(counted, "time")} here, after ` : "It has had "}` +
    `${steps} of ${training}.`
  );
};

// --- training in the page ------------------------------------------------

const RUN = { steps: 200, size: 64 };

// A rough time in words.
const about = (seconds) => {
  if (seconds < 55) return `about ${5 * Math.max(Math.round(seconds / 5), 1)} seconds`;
  return `about ${count(Math.round(seconds / 60), "minute")}`;
};
const workerOf = () => {
  const text = `const bytesOf = ${bytesOf}; (${transformer})().serve(self)`;
  const address = URL.createObjectURL(new Blob([text]));
  const worker = new Worker(address);
  URL.revokeObjectURL(address);
  return worker;
};

// The course of the training: the reader's own run if there is one, else the
// stored run, with a line at the slider's step.
const LOW = { width: 290, height: 170, right: 56 };
const progress = ({ step }, own) => {
  if (own) return curve(own.losses, own.rights);
  return chart({
    label: `Share of right answers over the ${LAST} stored steps, with a mark at ${step}`,
    x: [0, LAST],
    y: [0, 1],
    lines: [
      { points: STEPS.map((s, k) => [s, ACCURACY[k]]), name: "right" },
      {
        points: [
          [step, 0],
          [step, 1],
        ],
        name: "",
        dash: "3 3",
        ghost: true,
      },
    ],
    xlabel: "training step",
    ylabel: "share right",
    ...LOW,
  });
};
const curve = (losses, rights) =>
  chart({
    label: "Loss and share of right answers over the steps",
    x: [0, RUN.steps],
    y: [0, 2.6],
    lines: [
      { points: losses.map((y, k) => [k + 1, y]), name: "loss" },
      { points: rights.map((y, k) => [k + 1, y]), name: "right", dash: "6 4" },
    ],
    xlabel: "step",
    ylabel: "loss; share right",
    ...LOW,
  });

const KEYS =
  `<details class="av-typing"><summary>Your own letters</summary>` +
  `<div class="av-keys" role="group" aria-label="type letters">` +
  [...LETTERS].map((s) => `<button type="button" data-symbol="${s}">${s}</button>`).join("") +
  `<button type="button" data-symbol="back" aria-label="remove the last letter">⌫</button>` +
  `<button type="button" data-symbol="said">add what it says</button></div></details>`;
const TRAIN =
  `<div class="av-train"><button type="button" data-guide="untrained">Untrained</button>` +
  `<button type="button" class="av-large" data-train>Train</button>` +
  `<button type="button" data-guide="previous">Switch off the previous-token head</button></div>` +
  `<p class="av-train"><span class="av-told">Train: ${count(RUN.steps, "new step")} in this tab. ` +
  `The slider shows a stored training of ${LAST}.</span>` +
  `<label hidden><input type="checkbox"> ask the weights trained here</label></p>`;

// Only on a page or in Jupyter: buttons that type, and the reader's own training.
const live = ({ el, form, model, repaint, set }) => {
  const box = document.createElement("div");
  box.className = "av-panel";
  box.innerHTML = TRAIN + KEYS;
  // The picture is tall, so what moves it is above the picture, except on a phone.
  const [result, error] = [".av-result", ".av-error"].map((part) => el.querySelector(part));
  const roomy = matchMedia("(min-width: 481px)");
  const place = () => {
    if (roomy.matches) result.before(box, form, error);
    else result.after(error, box, form);
  };
  place();
  roomy.addEventListener("change", place);
  const find = (selector) => box.querySelector(selector);
  const [button, label, told] = ["[data-train]", "label", ".av-told"].map(find);
  const chosen = label.querySelector("input");
  const setAll = (settings) => Object.entries(settings).forEach(([key, x]) => set(key, x));
  let run = null;
  let worker = null;
  let seed = 0;

  const type = (what) => {
    const field = form.elements.namedItem("symbols");
    if (what === "back") field.value = field.value.slice(0, -1);
    else field.value += what === "said" ? LETTERS[el.values.said] : what;
    field.dispatchEvent(new Event("input", { bubbles: true }));
    // The added symbol becomes the query, so that pressing again continues the
    // text.
    if (what === "said" && model.get("symbols") === field.value)
      set("query", field.value.length - 1);
  };
  const stop = () => {
    worker?.terminate();
    worker = null;
    button.textContent = "Train again";
    sayStep();
    repaint();
  };
  // If the reader prefers reduced motion, show the pictures of some steps only.
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const sayStep = () => {
    const { step = 0, loss, right } = run;
    if (!step) return;
    const left = ((performance.now() - run.begun) / 1000 / step) * (RUN.steps - step);
    told.textContent =
      `Step ${step} of ${RUN.steps}, seed ${run.seed}: loss ${fixed(loss)}, ` +
      `${percent(right)} right${worker ? `; ${about(left)} left` : ""}.`;
  };
  const report = () => {
    sayStep();
    if (!still.matches || run.step % 50 === 0) repaint();
  };
  const begin = () => {
    seed += 1;
    run = { seed, losses: [], rights: [], begun: performance.now() };
    try {
      worker = workerOf();
    } catch {
      told.textContent = "This browser starts no worker, so it cannot train here.";
      return;
    }
    button.textContent = "Stop";
    told.textContent = `Seed ${seed}: starting.`;
    worker.addEventListener("message", ({ data }) => {
      run.losses.push(data.loss);
      run.rights.push(data.right);
      Object.assign(run, data);
      label.hidden = false;
      if (data.step === 1) chosen.checked = true;
      if (data.step === RUN.steps) stop();
      report();
    });
    worker.postMessage({ seed, ...RUN });
  };
  const guide = {
    untrained: () => {
      chosen.checked = false;
      setAll({ step: 0, ...ALL_ON });
      repaint();
    },
    // If no head has a role yet, use the head of the stored training.
    previous: () => {
      const score = ([layer, head]) => el.values.previous[layer][head];
      const heads = HEADS.filter((at) => roleOf(el.values, at) === PREVIOUS);
      const [strongest] = heads.sort((a, b) => score(b) - score(a));
      if (strongest) setAll({ ...ALL_ON, [keyOf(strongest)]: false });
      else setAll({ step: LAST, ...ALL_ON, [STORED_PREVIOUS]: false });
    },
  };
  box.addEventListener("click", ({ target }) => {
    if (target === button) (worker ? stop : begin)();
    else if (target.dataset.symbol) type(target.dataset.symbol);
    else guide[target.dataset.guide]?.();
  });
  chosen.addEventListener("input", repaint);
  // A change of the stored training's step, here or from Python, shows the stored
  // training.
  let step = model.get("step");
  const move = () => {
    if (model.get("step") !== step) chosen.checked = false;
    step = model.get("step");
  };
  model.on("change:step", move);
  return {
    own: () => (chosen.checked && run?.numbers ? run : undefined),
    busy: () => worker !== null,
    reset: () => (chosen.checked = false),
    close: () => {
      worker?.terminate();
      model.off("change:step", move);
      roomy.removeEventListener("change", place);
    },
  };
};

const figure = {
  name: "induction",
  lead: ["step"],
  card: { part: ".av-arcs", which: 2, box: "0 10 240 60", state: { step: LAST } },
  controls: [
    {
      key: "symbols",
      kind: "symbols",
      label: "letters",
      first: "FLICKEDFLICK",
      about: "What the model reads",
      letters: LETTERS,
      min: 1,
      max: MOST,
    },
    {
      key: "query",
      kind: "range",
      label: "query at",
      first: 31,
      about: "The position to follow; one beyond the last counts as the last",
      min: 0,
      max: MOST - 1,
      step: 1,
      upTo: ({ symbols }) => symbols.length - 1,
    },
    // The stored steps do not apply to weights that were trained in the page.
    {
      key: "step",
      kind: "stops",
      label: "training step",
      first: 0,
      about: "Steps of training",
      stops: STEPS,
      when: (state, own) => !own,
    },
    ...HEADS.map((at) => ({
      key: keyOf(at),
      kind: "flag",
      label: nameOf(at),
      first: true,
      about: `Whether head ${at[1]} of block ${at[0]} is switched on`,
    })),
  ],
  later: (state) => (state.step === 0 ? null : LATER),
  compute,
  // One column per block, and the predictions below both.
  view: (state, values, own) => {
    const T = state.symbols.length;
    const size = T > LONG ? " av-long" : T > NARROW ? "" : " av-few";
    const parts = HEADS.map((at) => panel(state, values, at));
    return (
      `${stage(state, values, own)}${legend(state, values)}<div class="av-heads${size}">${parts.join("")}</div>` +
      `<div class="av-heads av-below"><div>${guesses(state, values)}</div>` +
      `<div class="av-training">${progress(state, own)}</div></div>${say(sentence(state, values, own))}`
    );
  },
  handles: (state) =>
    HEADS.map((at) => {
      const key = keyOf(at);
      const name = `block ${at[0]}, head ${at[1]}`;
      return { id: key, name, on: state[key], press: () => ({ [key]: !state[key] }) };
    }),
  // Pressing a symbol, or the area above it, makes it the query.
  enhance: (result, { symbols }, values, set) => {
    result.onclick = ({ target, clientX }) => {
      const { left, width } = target.closest(".av-arcs")?.getBoundingClientRect() ?? {};
      const place = Math.floor((((clientX - left) / width) * roomFor(symbols.length)) / CELL);
      if (place < symbols.length) set("query", place);
    };
  },
  live,
};

export default figureModule(figure);
