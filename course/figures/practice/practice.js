// Questions that check an answer, by a record that course/questions/record.py
// makes and explains with an example. Both programs follow the same rules, and
// the tests compare them.

import { bytesOf } from "../kit/base64.js";

const STEPS = 100; // half a unit of the last place
const WORDS = new Map([
  [true, "✓ Right."],
  [false, "✗ Not yet."],
  [null, "Not answered yet."],
]);
const HOW_TO_TYPE = "Type one number in each field, such as 0.25, 1/4 or -3e-2.";
const POINT = "A comma groups thousands, as in 7,241.7. Decimals follow a point.";
const ROUND = "Near: keep all digits to the end, then round instead of cutting.";
const NAN = "NaN comes from 0/0, inf - inf or 0 * inf.";
const DECIMAL = /^[+-]?(([0-9]+|[1-9][0-9]{0,2}(,[0-9]{3})+)(\.[0-9]*)?|\.[0-9]+)(e[+-]?[0-9]+)?$/i;

// A number as readers write it, or null.
const parse = (text) => {
  const parts = text
    .replaceAll("−", "-")
    .split("/")
    .map((part) => part.trim());
  if (parts.length > 2 || !parts.every((part) => DECIMAL.test(part))) return null;
  const [top, below = 1] = parts.map((part) => Number(part.replaceAll(",", "")));
  return Number.isFinite(top / below) ? top / below : null;
};
// As in Spanish, where 1,219 is 1.219.
const swapped = (text) => text.replace(/[.,]/g, (sign) => (sign === "." ? "," : "."));

// A record, from the base 64 of its JSON, which has no other letters than ASCII.
const recordOf = (packed) => JSON.parse(String.fromCharCode(...bytesOf(packed)));

// --- replying to an answer ------------------------------------------------

const reply = (right, text = "") => ({ right, text });
const isNear = ({ step }, value, steps) =>
  step ? Math.abs(value / step - steps) < STEPS + 0.5 : value === steps;
const known = (record, values) =>
  record.replies.find(({ steps }) => values.every((value, i) => isNear(record, value, steps[i]))) ??
  null;
const fits = (record, i, value) => isNear(record, value, record.replies[0].steps[i]);
// Cut after its last place instead of rounded: too near to zero.
const isCut = (record, i, value) => {
  const units = value / (2 * STEPS * record.step);
  if (Math.abs(units - Math.round(units)) > 1e-6) return false;
  const signs = value === 0 ? [1, -1] : [Math.sign(value)];
  return signs.some((sign) => fits(record, i, value + sign * (STEPS - 1) * record.step));
};
const isSwapped = (record, given, values) => {
  const others = given.map((text, i) => parse(swapped(text)) ?? values[i]);
  const at = [...values.keys()].filter((i) => others[i] !== values[i]);
  const better = (i) => fits(record, i, others[i]) || isCut(record, i, others[i]);
  return at.length > 0 && (known(record, others) !== null || at.some(better));
};
const soFar = (record, values) => {
  const wrong = [...values.keys()].filter((i) => !fits(record, i, values[i]));
  const worse = wrong.filter((i) => !isCut(record, i, values[i]));
  if (wrong.length && !worse.length) return ROUND;
  if (values.length < 2 || !wrong.length) return record.otherwise;
  const count = `${values.length - wrong.length} of ${values.length}`;
  return `Right so far: ${count}. Look at ${record.labels[worse[0]]}. ${record.otherwise}`;
};
const unread = (given) => {
  const odd = given.filter((text) => parse(text) === null);
  if (odd.some((text) => text.trim().toLowerCase() === "nan")) return NAN;
  return odd.some((text) => /,|\..*\./s.test(text)) ? POINT : HOW_TO_TYPE;
};
// `given` holds texts where numbers are typed, else the indices of options.
const check = ({ record: packed, given }) => {
  const record = recordOf(packed);
  if (!given.length) return reply(null);
  if (!record.step) return known(record, given) ?? reply(false, record.otherwise);
  if (given.some((text) => !text.trim())) return reply(null);
  const values = given.map(parse);
  if (values.includes(null)) return reply(null, unread(given));
  const found = known(record, values);
  const commas = given.some((text) => text.includes(","));
  if (found && (found.right || !commas)) return found;
  if (isSwapped(record, given, values)) return reply(null, POINT);
  return found ?? reply(false, soFar(record, values));
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

// The three ways to answer: typing texts, choosing an option, and ordering items.
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
};
const wayOf = (form) => {
  if (form.querySelector("ol")) return WAYS.items;
  return form.querySelector("[type=radio]") ? WAYS.option : WAYS.texts;
};

// The number pad of a phone lacks these signs.
const SIGNS = [
  ["−", "type a minus sign"],
  ["/", "type a fraction bar"],
  ["e", "type e, for a power of ten"],
];
const signKeys = (fields) => {
  let [last] = fields;
  for (const field of fields) field.addEventListener("focus", () => (last = field));
  return SIGNS.map(([sign, name]) => {
    const key = document.createElement("button");
    key.type = "button";
    key.className = "av-sign";
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

// Show a prediction beside the computed answer.
const compare = (record, labels, given) => {
  const then = document.createElement("p");
  fill(then, record.then);
  const table = document.createElement("table");
  const rows = [
    ["", "you predicted", "computed"],
    ...labels.map((l, i) => [l, given[i], record.shown[i]]),
  ];
  rows.forEach((row, i) => {
    const line = table.insertRow();
    row.forEach((text, j) => {
      const head = (i === 0 || j === 0) && text;
      const cell = document.createElement(head ? "th" : "td");
      if (head) cell.scope = i ? "row" : "col";
      fill(cell, text);
      line.append(cell);
    });
  });
  return [table, then];
};

// Count the correct answers of the page. site.js ticks the pages whose questions
// are all answered correctly.
const CHANGED = "practice-changed";
const counted = () => {
  const forms = [...document.querySelectorAll("form[data-question]:not(.av-predict)")];
  const right = forms.filter((form) => form.dataset.right === "true").length;
  return { forms, right };
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
    for (const form of document.querySelectorAll("form[data-question]")) form.wipe();
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
  const fold = record.shown && after?.matches(".av-reveal") ? after : null;
  const tell = ({ right, text }) => {
    form.dataset.right = right;
    fill(said, `${WORDS.get(right)} ${text}`.trim());
    document.dispatchEvent(new Event(CHANGED));
  };
  const answer = (keep = remember) => {
    const given = way.read(form);
    if (!record.shown) {
      const found = check({ record: form.dataset.record, given });
      if (found.right !== null) keep(record.name, given);
      tell(found);
      return;
    }
    if (!given.some((text) => text.trim())) {
      fill(said, "Predict something first: a wrong guess is remembered best.");
      return;
    }
    keep(record.name, given);
    const labels = [...form.querySelectorAll("label")].map((label) => label.textContent.trim());
    said.replaceChildren(...compare(record, labels, given));
    if (fold) fold.open = true;
  };
  form.wipe = (keep = remember) => {
    keep(record.name, null);
    way.write(form, []);
    said.replaceChildren();
    delete form.dataset.right;
    if (fold) fold.open = false;
    document.dispatchEvent(new Event(CHANGED));
  };
  wipe.addEventListener("click", () => {
    form.wipe();
    form.querySelector("input, li button").focus();
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
  const numbers = [...form.querySelectorAll("[inputmode=decimal]")];
  if (numbers.length) form.querySelector(".av-press").append(...signKeys(numbers));
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
  check,
  render: ({ model, el }) => {
    if (model) el.innerHTML = model.get("html");
    el.querySelectorAll("form[data-question]").forEach(attach);
    if (model) return;
    tally();
    document.addEventListener(CHANGED, keepCount);
    keepCount();
  },
};
