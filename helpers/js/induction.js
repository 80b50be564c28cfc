// Induction: a small model that was trained, and what its heads attend to.

import { count, fixed, range, softmax } from "./numbers.js";
import { byLevel, chart, escape } from "./svg.js";
import { figureModule, known, say } from "./common.js";
import { transformer } from "./transformer.js";

const LETTERS = "ABCDEFGHIJKL";
const MOST = 32; // symbols that the model reads
// The weights after the last step, and how the model fares after each.
const { steps: STEPS, accuracy: ACCURACY, weights: LAST_WEIGHTS } = known("induction");
const LAST = STEPS[STEPS.length - 1];
const LATER = "induction-steps"; // the weights of the earlier steps
const net = transformer();

// The parameters after so many steps of the stored training.
const unpacked = {};
const stored = (step) =>
  (unpacked[step] ??= net.unpack(step === LAST ? LAST_WEIGHTS : known(LATER)[step]));

const HEADS = [
  [0, 0],
  [0, 1],
  [1, 0],
  [1, 1],
];
const keyOf = ([layer, head]) => `head_${layer}_${head}`;
const nameOf = ([layer, head]) => `block ${layer} head ${head}`;

// --- computing -----------------------------------------------------------

const rowsOf = (flat, width) =>
  range(flat.length / width).map((i) => [...flat.slice(i * width, (i + 1) * width)]);

// What followed the last time that the symbol at `i` was read, or null.
const answerTo = (tokens, i) => {
  const before = i ? tokens.lastIndexOf(tokens[i], i - 1) : -1;
  return before < 0 ? null : tokens[before + 1];
};

// What the model computed last: another query asks nothing new of it.
let latest = {};
const ask = (numbers, tokens, on) => {
  const key = JSON.stringify([tokens, on]);
  if (latest.key !== key || latest.numbers !== numbers)
    latest = { key, numbers, model: net.forward(net.named(numbers), tokens, on) };
  return latest.model;
};

// `own` are weights that were trained in the page, where there are any.
const compute = (state, own) => {
  const tokens = [...state.symbols].map((symbol) => LETTERS.indexOf(symbol));
  const on = [0, 1].map((i) => [0, 1].map((h) => state[keyOf([i, h])]));
  const model = ask(own ? own.numbers : stored(state.step), tokens, on);
  const rows = rowsOf(model.logits, net.VOCAB);
  const said = rows.map((row) => net.largest(row));
  const answers = tokens.map((_, i) => answerTo(tokens, i));
  const query = Math.min(state.query, tokens.length - 1);
  return {
    logits: rows,
    // What enters block 0, what enters block 1, and what leaves it.
    stream: [...model.layers, model].map(({ x }) => rowsOf(x, net.WIDTH)),
    weights: model.layers.map(({ weights }) => weights.map((w) => rowsOf(w, tokens.length))),
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
const LONG = 20; // symbols that still fit into half of a page
const FAINT = 0.1; // arcs of other queries are drawn from this weight on
const THIN = 0.02; // arcs of the query below this weight are hairlines
const STEADY = 10; // their widths, so that arcs of one width are one path
const BASE = (T) => Math.max(20, 4 * T + 8); // where the arcs stand
const middle = (i) => CELL * (i + 0.5);

// An arc from a query to an earlier key; a loop where it attends to itself.
const arc = (query, key, base) => {
  const [from, to] = [middle(key), middle(query)];
  if (query === key) return `M${to - 4} ${base}A4 7 0 1 1 ${to + 4} ${base}`;
  const high = (6 + 0.2 * (to - from)).toFixed(1);
  return `M${from} ${base}A${(to - from) / 2} ${high} 0 0 1 ${to} ${base}`;
};

// Two digits, without the zero before the point.
const short = (x) => fixed(x).replace(/^0/, "");

const weight = (text, x, y) =>
  `<text class="av-weight" x="${x}" y="${y}" text-anchor="middle">${text}</text>`;
// A row of symbols, one of them underlined.
const letters = (symbols, at, y, marked) =>
  `<text x="${range(symbols.length).map(at).join(" ")}" y="${y}" text-anchor="middle">` +
  `${symbols}</text>` +
  (marked === null ? "" : `<path class="av-mark" d="M${at(marked) - 6} ${y + 5}h12"/>`);

const arcs = (symbols, weights, query, label) => {
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
  const own = weights[query].slice(0, query + 1).map((w, j) => [w, arc(query, j, base)]);
  const picked = (width, d, thin = "") =>
    `<path class="av-arc-picked${thin}" stroke-width="${width}" d="${d}"/>`;
  const strong = own.filter(([w]) => w >= THIN).map(([w, d]) => picked((6 * w).toFixed(2), d));
  const rest = own.filter(([w]) => w < THIN).map(([, d]) => d);
  if (rest.length) strong.unshift(picked(0.5, rest.join(""), " av-thin"));
  // Weights that matter are written below their keys.
  const numbers = weights[query].map((w, j) =>
    w >= FAINT ? weight(short(w), middle(j), base + 38) : "",
  );
  return (
    `<svg class="av-arcs" role="img" aria-label="${escape(label)}" ` +
    `viewBox="0 0 ${CELL * T} ${base + 44}">${faint.join("")}${strong.join("")}` +
    `${letters(symbols, middle, base + 18, query)}${numbers.join("")}</svg>`
  );
};

// A column for each symbol, a cell for each of its numbers.
const TALL = 2;
const strip = ({ symbols }, { stream, query }, k) => {
  const largest = Math.max(...stream[k].flat().map(Math.abs));
  const cells = byLevel();
  stream[k].forEach((column, t) =>
    column.forEach((x, j) => cells.add(x / largest, `M${t} ${j}h1`)),
  );
  const paths = cells.paths((color, d) => `<path stroke="${color}" d="${d}"/>`);
  const [name, most] = [["Embeddings", "After block 0", "After block 1"][k], fixed(largest)];
  const label = `${name}, −${most} (orange) to ${most} (blue)`;
  const high = TALL * net.WIDTH;
  return (
    `<div><p class="av-caption" aria-hidden="true">${label}</p>` +
    `<svg class="av-arcs" role="img" aria-label="${label}" ` +
    `viewBox="0 0 ${CELL * symbols.length} ${high + 24}"><g class="av-strip" ` +
    `transform="matrix(${CELL} 0 0 ${TALL} 0 ${TALL / 2})">${paths.join("")}</g>` +
    `${letters(symbols, middle, high + 16, query)}</svg></div>`
  );
};

const panel = (state, { weights, query }, at) => {
  const [{ symbols }, [layer, head]] = [state, at];
  const row = weights[layer][head][query];
  const key = net.largest(row);
  const most = `most on ${symbols[key]} at ${key}, weight ${fixed(row[key])}`;
  const label = `Block ${layer}, head ${head}${state[keyOf(at)] ? "" : " (off)"}: ${most}`;
  const drawn = arcs(symbols, weights[layer][head], query, label);
  return (
    `<div class="${state[keyOf(at)] ? "av-head" : "av-head av-off"}">` +
    `<p class="av-caption" aria-hidden="true">${escape(label)}</p>${drawn}</div>`
  );
};

const BAR = { width: 24, bar: 18, high: 80, middle: (k) => 24 * (k + 0.5) };
// A chance is never all there is.
const sure = (chance) => (chance >= 0.995 ? "above 0.99" : `of ${fixed(chance)}`);
const guesses = ({ chances, said, answer }) => {
  const label = `The next symbol: ${LETTERS[said]} with a chance ${sure(chances[said])}`;
  const columns = chances.map((chance, k) => {
    const [x, height] = [BAR.width * k, (BAR.high * chance).toFixed(1)];
    const top = (BAR.high - height + 16).toFixed(1);
    const chosen = k === said ? "av-guess av-said" : "av-guess";
    const text = chance >= 0.995 ? "&gt;.99" : short(chance);
    const share = chance >= FAINT ? weight(text, BAR.middle(k), (top - 4).toFixed(1)) : "";
    const outline = `M${x + 3} ${top}h${BAR.bar}v${height}h-${BAR.bar}z`;
    return `<path class="${chosen}" d="${outline}"/>${share}`;
  });
  const last = answer === null ? "" : `; underlined: ${LETTERS[answer]}, which followed last time`;
  return (
    `<p class="av-caption" aria-hidden="true">${escape(label + last)}</p>` +
    `<svg class="av-next" role="img" aria-label="${escape(label + last)}" ` +
    `viewBox="0 0 ${BAR.width * LETTERS.length} ${BAR.high + 42}">${columns.join("")}` +
    `${letters(LETTERS, BAR.middle, BAR.high + 34, answer)}</svg>`
  );
};

const percent = (share) => `${fixed(100 * share, 1)} %`;
const sentence = (state, values, own) => {
  const { query, chances, said, answer, counted, right, accuracy } = values;
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
    `${symbol} and says ${LETTERS[said]} with a chance ${sure(chances[said])}: ${verdict}. ` +
    "Where a symbol was read before, it is right " +
    `${counted ? `${right} of ${count(counted, "time")} here and ` : ""}` +
    `${percent(accuracy)} of the time in new sequences (${steps} of ${training}` +
    `${off.length ? ", all heads on" : ""}).`
  );
};

// --- training in the page ------------------------------------------------

const RUN = { steps: 200, size: 64 };

const workerOf = () => {
  const text = `(${transformer})().serve(self)`;
  const address = URL.createObjectURL(new Blob([text]));
  const worker = new Worker(address);
  URL.revokeObjectURL(address);
  return worker;
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
    height: 160,
  });

const KEYS =
  `<div class="av-keys" role="group" aria-label="type symbols">` +
  [...LETTERS].map((s) => `<button type="button" data-symbol="${s}">${s}</button>`).join("") +
  `<button type="button" data-symbol="back" aria-label="remove the last symbol">⌫</button>` +
  `<button type="button" data-symbol="said">add what it says</button></div>`;
const TRAIN =
  `<div class="av-train"><button type="button" data-train>Train it anew</button>` +
  `<label hidden><input type="checkbox"> ask the weights trained here</label>` +
  `<span class="av-told"></span></div><div class="av-curve"></div>`;

// What only a page has: buttons that type, and a training of the reader's own.
const live = ({ el, form, model, repaint, set }) => {
  const box = document.createElement("div");
  box.className = "av-panel";
  box.innerHTML = KEYS + TRAIN;
  form.before(box);
  const find = (selector) => box.querySelector(selector);
  const [button, label, told, shown] = ["[data-train]", "label", ".av-told", ".av-curve"].map(find);
  const chosen = label.querySelector("input");
  let run = null;
  let worker = null;
  let seed = 0;

  const type = (what) => {
    const field = form.elements.namedItem("symbols");
    if (what === "back") field.value = field.value.slice(0, -1);
    else field.value += what === "said" ? LETTERS[el.values.said] : what;
    field.dispatchEvent(new Event("input", { bubbles: true }));
    // What was added is asked next, so that it is seen and pressing on writes on.
    if (what === "said" && model.get("symbols") === field.value)
      set("query", field.value.length - 1);
  };
  const stop = () => {
    worker?.terminate();
    worker = null;
    button.textContent = "Train it anew";
    repaint();
  };
  // Less motion, where that is asked for: the pictures of some steps alone.
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const report = () => {
    const { step, loss, right, losses, rights } = run;
    told.textContent =
      `step ${step} of ${RUN.steps}, seed ${run.seed}: loss ${fixed(loss)}, ` +
      `${percent(right)} right`;
    if (still.matches && step % 50) return;
    shown.innerHTML = curve(losses, rights);
    repaint();
  };
  const begin = () => {
    seed += 1;
    run = { seed, losses: [], rights: [] };
    try {
      worker = workerOf();
    } catch {
      told.textContent = "This browser starts no worker, so it cannot train here.";
      return;
    }
    button.textContent = "Stop";
    told.textContent = `seed ${seed}: starting`;
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
  box.addEventListener("click", ({ target }) => {
    if (target === button) (worker ? stop : begin)();
    else if (target.dataset.symbol) type(target.dataset.symbol);
  });
  chosen.addEventListener("input", repaint);
  // Who moves along the stored training, here or from Python, wants to see it.
  let step = model.get("step");
  const move = () => {
    if (model.get("step") !== step) chosen.checked = false;
    step = model.get("step");
  };
  model.on("change:step", move);
  return {
    own: () => (chosen.checked && run?.numbers ? run : undefined),
    busy: () => worker !== null,
    close: () => {
      worker?.terminate();
      model.off("change:step", move);
    },
  };
};

const figure = {
  name: "induction",
  card: { part: ".av-arcs", which: 2, box: "0 10 240 60" },
  controls: [
    {
      key: "symbols",
      kind: "symbols",
      label: "symbols",
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
    // The stored steps say nothing of weights that were trained in the page.
    {
      key: "step",
      kind: "stops",
      label: "training step",
      first: 300,
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
  later: (state) => (state.step === LAST ? null : LATER),
  compute,
  // What a block reads stands above its heads, and what the last one leaves
  // beside the prediction.
  view: (state, values, own) => {
    const box = `<div class="av-heads${state.symbols.length > LONG ? " av-long" : ""}">`;
    const parts = HEADS.map((at) => panel(state, values, at));
    const [read0, read1, left] = [0, 1, 2].map((k) => strip(state, values, k));
    parts.splice(2, 0, read1);
    return (
      `${box}${read0}${parts.join("")}</div>${box}${left}<div>${guesses(values)}</div></div>` +
      say(sentence(state, values, own))
    );
  },
  // The symbol that is pressed, or above which it is pressed, becomes the query.
  enhance: (result, { symbols }, values, set) => {
    result.onclick = ({ target, clientX }) => {
      const { left, width } = target.closest(".av-arcs")?.getBoundingClientRect() ?? {};
      if (width) set("query", Math.floor(((clientX - left) / width) * symbols.length));
    };
  },
  live,
};

export default figureModule(figure);
