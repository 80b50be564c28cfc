// Questions that check an answer, by a record that course/questions/record.py
// makes and explains with an example. Both programs follow the same rules, and
// the tests compare them.

import { bytesOf } from "../kit/base64.js";
import { POINT, digitsOf, isBlank, parse, read } from "./numerals.js";

const STEPS = 100; // half a unit of the last place
const WORDS = new Map([
  [true, "✓ Right."],
  [false, "✗ Not yet."],
  [null, "Not answered yet."],
]);
const PREDICTED = new Map([...WORDS, [false, "✗ Not so."]]);
const ROUND = "Near: keep all digits to the end, then round instead of cutting.";
const LAST = "Near: the last digit is off. Keep all digits to the end, then round.";
const SIGN = "Your sign is reversed.";
const PERCENT = "That is a percentage: give the share, or type the % sign.";
const SHARE = "That is the share: give the percentage.";
const BINARY =
  "That is off by 1.024 for each step: KB, MB and GB count in thousands, " +
  "and KiB, MiB and GiB in 1,024s.";
const BITS = "That is in bits: the natural logarithm gives nats.";
const FAR = 0.2; // a number that is off by a larger part is not near

// As in Spanish, where 1,219 is 1.219.
const swapped = (text) => text.replace(/[.,]/g, (sign) => (sign === "." ? "," : "."));

// A record, from the base 64 of its JSON, which has no other letters than ASCII.
const recordOf = (packed) => JSON.parse(String.fromCharCode(...bytesOf(packed)));

// --- replying to an answer ------------------------------------------------

const reply = (right, text = "") => ({ right, text });
const isNear = ({ step }, value, steps, slack = 0) =>
  step ? Math.abs(value / step - steps) < STEPS + 0.5 + slack / step : value === steps;
const known = (record, values) =>
  record.replies.find(({ steps }) => values.every((value, i) => isNear(record, value, steps[i]))) ??
  null;
const stepsAt = (record, i) => record.replies[0].steps[i];
const fits = (record, i, value, slack) => isNear(record, value, stepsAt(record, i), slack);
// Cut after its last place instead of rounded: too near to zero.
const isCut = (record, i, value) => {
  const units = value / (2 * STEPS * record.step);
  if (Math.abs(units) > 1e15 || Math.abs(units - Math.round(units)) > 1e-6) return false;
  const signs = value === 0 ? [1, -1] : [Math.sign(value)];
  return signs.some((sign) => fits(record, i, value + sign * (STEPS - 1) * record.step));
};
const isSwapped = (record, given, values) => {
  const others = given.map((text, i) => parse(swapped(text)) ?? values[i]);
  const at = [...values.keys()].filter((i) => others[i] !== values[i]);
  const better = (i) => fits(record, i, others[i]) || isCut(record, i, others[i]);
  return at.length > 0 && (known(record, others) !== null || at.some(better));
};
// What the first number means that has one comma, or "".
const readAs = (given) => {
  const text = given.find((one) => /^[^0-9]*[1-9][0-9]{0,2},[0-9]{3}[^0-9]*$/.test(one));
  const digits = text?.replace(/[^0-9,]/g, "");
  return text ? `${digits} is read as ${digits.replace(",", "")}. ${POINT}` : "";
};
const decimals = (places) => `${places} decimal place${places === 1 ? "" : "s"}`;
// What is wrong with the digits of a number that is nearly right, or "".
const near = (record, i, text, value) => {
  const { places, step } = record;
  const digits = digitsOf(text);
  if (!places || digits === null) return "";
  if (isCut(record, i, value)) return ROUND;
  const right = stepsAt(record, i) * step;
  const off = Math.abs(value - right);
  if (value === 0 || off > FAR * Math.abs(right)) return "";
  const unit = Number(`1e${-digits}`);
  const cut = Math.abs(value) < Math.abs(right) && off < 0.999 * unit;
  if (digits < places && (cut || off < 0.501 * unit)) return `Near, but give ${decimals(places)}.`;
  return off < 3.01 * STEPS * step && off < Math.abs(right) / 50 ? LAST : "";
};
// The slip of a wrong number, or "".
const slipOf = (record, i, text, value) => {
  const digits = digitsOf(text);
  const right = Math.abs(stepsAt(record, i) * record.step);
  const said = near(record, i, text, value);
  if (said || value === 0 || right === 0) return said;
  // Whether the number is right, but for a factor.
  const isTimes = (factor, exactly = false) => {
    if (digits === null || exactly) return fits(record, i, value / factor);
    const half = Number(`5e${-digits - 1}`) / factor;
    return fits(record, i, value / factor, Math.min(half, right / 100));
  };
  if (fits(record, i, -value) || near(record, i, text, -value)) return SIGN;
  const about = (what) => record.about.includes(what);
  if (record.places && right <= 1 && isTimes(100)) return PERCENT;
  if (about("percent") && isTimes(1 / 100)) return SHARE;
  for (const [times, name] of UNITS) {
    const binary = times % 1024 === 0;
    if (isTimes(times, binary)) return `That is ${name} times too large: look at the unit.`;
    if (isTimes(1 / times, binary)) return `That is ${name} times too small: look at the unit.`;
  }
  const binary = [1.024, 1.048576, 1.073741824].some(
    (x) => fits(record, i, value / x) || fits(record, i, value * x),
  );
  if (about("bytes") && binary) return BINARY;
  return about("nats") && fits(record, i, value * Math.LN2) ? BITS : "";
};
const UNITS = [
  [1000, "1,000"],
  [1_000_000, "1,000,000"],
  [1024, "1,024"],
  [1_048_576, "1,048,576"],
];
// Say of each wrong number what it shows, and where else to look.
const soFar = (record, given, values) => {
  const wrong = [...values.keys()].filter((i) => !fits(record, i, values[i]));
  const slips = values.map((value, i) => slipOf(record, i, given[i], value));
  const unclear = wrong.filter((i) => !slips[i]).map((i) => given[i]);
  const otherwise = `${readAs(unclear)} ${record.otherwise}`.trim();
  const isOne = wrong.every((i) => slips[i] === slips[0]);
  if (wrong.length === values.length && isOne) return slips[0] || otherwise; // it holds of all
  if (!wrong.length) return otherwise; // each is right, but another answer is nearer to all
  const told = new Map(); // the labels of each slip
  for (const i of wrong) told.set(slips[i], [...(told.get(slips[i]) ?? []), quoted(record, i)]);
  const others = told.get("");
  told.delete("");
  return [
    `Right so far: ${values.length - wrong.length} of ${values.length}.`,
    ...[...told].map(([slip, labels]) => `${labels.join(", ")}: ${slip}`),
    ...(others ? [`Look at ${others[0]}.`, otherwise] : []),
  ].join(" ");
};
const quoted = ({ labels }, i) => `“${labels[i]}”`;
// `given` holds texts where numbers are typed, else the indices of options.
const check = ({ record: packed, given }) => {
  const record = recordOf(packed);
  if (!given.length) return reply(null);
  if (!record.step) return known(record, given) ?? reply(false, record.otherwise);
  if (given.some(isBlank)) return reply(null);
  const found = given.map(read);
  const odd = found.findIndex(({ value }) => value === null);
  if (odd >= 0) {
    const { why } = found[odd];
    return reply(null, given.length < 2 ? why : `${quoted(record, odd)}: ${why}`);
  }
  const values = found.map(({ value }) => value);
  const said = known(record, values);
  const commas = given.some((text) => text.includes(","));
  if (said && (said.right || !commas)) return said;
  if (isSwapped(record, given, values)) return reply(null, readAs(given) || POINT);
  return said ?? reply(false, soFar(record, given, values));
};

// --- the page ----------------------------------------------------------------

// Answers stay in the reader's browser, if it allows storage.
const storageKey = (name) => `practice/${name}`;
const remember = (name, given) => {
  try {
    if (given) localStorage.setItem(storageKey(name), JSON.stringify(given));
    else localStorage.removeItem(storageKey(name));
  } catch {
    // Storage is blocked: the question works without it.
  }
};
const recall = (name) => {
  try {
    return JSON.parse(localStorage.getItem(storageKey(name)));
  } catch {
    return null;
  }
};

// A text with `code` in backticks, as elements.
const fill = (el, text) => {
  el.replaceChildren(
    ...text.split("`").map((part, i) => {
      if (i % 2 === 0) return part;
      const code = document.createElement("code");
      code.textContent = part;
      return code;
    }),
  );
};

// The ways to answer: typing texts, choosing an option, ordering items, pressing a
// choice, and moving a slider to one of its stops.
const WAYS = {
  texts: {
    read: (form) => [...form.querySelectorAll("input")].map((field) => field.value),
    write: (form, given) =>
      form.querySelectorAll("input").forEach((field, i) => {
        field.value = given[i] ?? "";
      }),
  },
  option: {
    read: (form) => {
      const place = [...form.querySelectorAll("input")].findIndex((field) => field.checked);
      return place < 0 ? [] : [place];
    },
    write: (form, given) =>
      form.querySelectorAll("input").forEach((field, i) => {
        field.checked = i === given[0];
      }),
  },
  items: {
    read: (form) => [...form.querySelectorAll("li")].map((item) => Number(item.dataset.item)),
    write: (form, given) => {
      const items = [...form.querySelectorAll("li")];
      const first = items.map((_, i) => i);
      const found = (given.length ? given : first).map((place) =>
        items.find((item) => Number(item.dataset.item) === place),
      );
      form.querySelector("ol").append(...found.filter(Boolean));
    },
  },
  press: {
    read: (form) => {
      const place = optionsOf(form).findIndex((el) => el.ariaPressed === "true");
      return place < 0 ? [] : [place];
    },
    write: (form, given) =>
      optionsOf(form).forEach((option, i) => {
        option.setAttribute("aria-pressed", i === given[0]);
      }),
  },
  stop: {
    read: (form) => [Number(form.querySelector("input").value)],
    write: (form, [stop]) => {
      const field = form.querySelector("input");
      field.value = stop ?? field.defaultValue;
      showStop(field);
    },
  },
};
const optionsOf = (form) => [...form.querySelectorAll(".av-option")];
const showStop = (field) => {
  const text = field.dataset.stops.split("|")[field.value];
  field.setAttribute("aria-valuetext", text);
  field.parentNode.querySelector("output").textContent = text;
};
const wayOf = (form) => {
  if (form.querySelector(".av-option")) return WAYS.press;
  if (form.querySelector("[type=range]")) return WAYS.stop;
  if (form.querySelector("ol")) return WAYS.items;
  return form.querySelector("[type=radio]") ? WAYS.option : WAYS.texts;
};

// The number pad of a phone lacks these signs.
const SIGNS = [
  ["−", "type a minus sign"],
  ["/", "type a fraction bar"],
  ["^", "type ^, for a power"],
  ["e", "type e, the base of ln, or for a power of ten"],
  ["ln", "type ln"],
  ["√", "type a root"],
];
const signKeys = (fields) => {
  let [last] = fields;
  for (const field of fields) field.addEventListener("focus", () => (last = field));
  const row = document.createElement("div");
  row.className = "av-signs";
  const keys = SIGNS.map(([sign, name]) => {
    const key = document.createElement("button");
    key.type = "button";
    key.textContent = sign;
    key.setAttribute("aria-label", name);
    // Keep the focus in the field, and the phone's keyboard open.
    key.addEventListener("pointerdown", (event) => event.preventDefault());
    key.addEventListener("click", () => {
      last.focus();
      last.setRangeText(sign, last.selectionStart, last.selectionEnd, "end");
    });
    return key;
  });
  row.append(...keys);
  return row;
};

// Move an item up or down. The button keeps the focus, and the new position is
// announced.
const move = (button, said) => {
  const item = button.closest("li");
  const up = button === item.querySelector("button");
  const other = up ? item.previousElementSibling : item.nextElementSibling;
  if (up) other?.before(item);
  else other?.after(item);
  button.focus();
  const items = [...item.parentNode.children];
  const place = `${items.indexOf(item) + 1} of ${items.length}`;
  fill(said, `${item.querySelector("span").textContent}: place ${place}.`);
};

// Count the correct answers of the page. site.js ticks the pages whose questions
// are all answered correctly.
const CHANGED = "practice-changed";
const counted = () => {
  const forms = [...document.querySelectorAll("form[data-question]:not(.av-predict), [data-task]")];
  const right = forms.filter((form) => form.dataset.right === "true").length;
  return { forms, right };
};
// Exercises in code count where their code runs: on a page that can run it.
const SOLVED = "✓ You have solved this. To see the reply again, run the cell.";
const countTasks = () => {
  if (!document.querySelector(".av-python") || location.protocol === "file:") return;
  for (const place of document.querySelectorAll(".av-task")) {
    const at = /\bout-(\d+)/.exec(place.className)[1];
    place.dataset.task = storageKey(`task/${document.body.dataset.page}/${at}`);
    const said = place.querySelector("pre");
    const published = said.textContent;
    place.wipe = () => {
      localStorage.removeItem(place.dataset.task);
      delete place.dataset.right;
      if (said.textContent === SOLVED) fill(said, published);
    };
    if (localStorage.getItem(place.dataset.task) === null) continue;
    place.dataset.right = "true";
    fill(said, SOLVED);
  }
};
const keepCount = () => {
  const { forms, right } = counted();
  const { page } = document.body.dataset;
  if (!page || !forms.length) return;
  try {
    localStorage.setItem(`progress/${page}`, `${right}/${forms.length}`);
  } catch {
    // Storage is blocked or full: remember nothing.
  }
  document.dispatchEvent(new Event("progress-changed"));
};
const tally = () => {
  const line = document.querySelector(".av-tally");
  if (!line) return;
  const count = document.createElement("span");
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Clear all answers";
  const show = () => {
    const { forms, right } = counted();
    count.textContent = `${right} of ${forms.length} questions right `;
  };
  button.addEventListener("click", () => {
    for (const form of document.querySelectorAll("form[data-question], [data-task]")) form.wipe();
  });
  document.addEventListener(CHANGED, show);
  line.replaceChildren(count, button);
  show();
};

const attach = (form) => {
  const record = recordOf(form.dataset.record);
  const [said, wipe] = [".av-reply", ".av-clear"].map((s) => form.querySelector(s));
  const way = wayOf(form);
  // The page folds what follows a prediction; in Jupyter it is another cell.
  const card = form.closest(".question-card") ?? form.closest(".cell");
  const after = card?.nextElementSibling;
  const fold = record.reveals && after?.matches(".av-reveal") ? after : null;
  const tell = ({ right, text }) => {
    wipe.hidden = false;
    form.dataset.right = right;
    fill(said, `${(record.reveals ? PREDICTED : WORDS).get(right)} ${text}`.trim());
    if (fold && right !== null) fold.open = true;
    document.dispatchEvent(new Event(CHANGED));
  };
  const answer = (keep = remember) => {
    const given = way.read(form);
    const found = check({ record: form.dataset.record, given });
    if (found.right !== null) keep(record.name, given);
    tell(found);
  };
  form.wipe = (keep = remember) => {
    keep(record.name, null);
    way.write(form, []);
    said.replaceChildren();
    wipe.hidden = true;
    delete form.dataset.right;
    if (fold) fold.open = false;
    document.dispatchEvent(new Event(CHANGED));
  };
  wipe.addEventListener("click", () => {
    form.wipe();
    form.querySelector("input, li button, .av-option").focus();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    answer();
  });
  // JupyterLab prevents Enter from submitting a form.
  form.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !event.target.matches("input")) return;
    event.preventDefault();
    answer();
  });
  for (const button of form.querySelectorAll("li button"))
    button.addEventListener("click", () => move(button, said));
  optionsOf(form).forEach((option, i) =>
    option.addEventListener("click", () => {
      way.write(form, [i]);
      answer();
    }),
  );
  const slider = form.querySelector("[type=range]");
  slider?.addEventListener("input", () => showStop(slider));
  const numbers = [...form.querySelectorAll("[inputmode=decimal]")];
  if (numbers.length) form.querySelector(".av-line").after(signKeys(numbers));
  // In JupyterLab, give the keys to the focused element.
  for (const part of form.elements) part.dataset.lmSuppressShortcuts = "true";
  // To keep again what was read would undo what another tab keeps meanwhile.
  const restore = (otherwise) => {
    const kept = recall(record.name);
    if (!Array.isArray(kept)) return otherwise?.();
    way.write(form, kept);
    return answer(() => {});
  };
  restore();
  // In another tab of the page, the reader has answered or cleared.
  addEventListener("storage", ({ key }) => {
    if (key === null || key === storageKey(record.name)) restore(() => form.wipe(() => {}));
  });
  form.classList.add("av-live");
};

export default {
  attach,
  check,
  render: ({ model, el }) => {
    if (model) el.innerHTML = model.get("html");
    el.querySelectorAll("form[data-question]").forEach(attach);
    if (model) return;
    countTasks();
    tally();
    document.addEventListener(CHANGED, keepCount);
    keepCount();
  },
};
