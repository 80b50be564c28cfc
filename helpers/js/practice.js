// Questions that check an answer. The record of a question contains no answer
// that can be read: helpers/questions/record.py makes it, and explains slots,
// keys and marks with an example. Both programs follow the same rules, and the
// tests compare them.
const SLOT = 201; // steps
const WORDS = new Map([
  [true, "✓ Right."],
  [false, "✗ Not yet."],
  [null, "Not answered yet."],
]);
const HOW_TO_TYPE = "Type one number in each field, such as 0.25, 1/4 or -3e-2.";
const POINT = "A comma groups thousands, as in 7,241.7. Decimals follow a point.";
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

// --- reading a record -----------------------------------------------------

const mark = (text) => {
  let found = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1)
    found = Math.imul(found ^ text.charCodeAt(i), 0x01000193) >>> 0;
  return found;
};
const clear = (hidden, key) =>
  decodeURIComponent(
    hidden.replace(/../g, (pair, at) => {
      const byte = parseInt(pair, 16) ^ (mark(`${at / 2}|${key}`) >>> 24);
      return `%${byte.toString(16).padStart(2, "0")}`;
    }),
  );
const keyOf = ({ name, step }, values, starts) => {
  const slots = step
    ? values.map((value, i) => Math.floor((value / step - starts[i] + 0.5) / SLOT))
    : values;
  return `${name}|${slots.join()}`;
};

// --- replying to an answer ------------------------------------------------

const reply = (right, text = "") => ({ right, text });
const soFar = (record, values) => {
  const { cells } = record;
  const wrong = cells.filter(
    ([start, known], i) => mark(`${i}|${keyOf(record, [values[i]], [start])}`) !== known,
  );
  if (cells.length < 2 || !wrong.length) return "";
  const count = `${cells.length - wrong.length} of ${cells.length}`;
  return `Right so far: ${count}. Look at ${wrong[0][2]}. `;
};
// `given` holds texts where numbers are typed, else the indices of options.
const check = ({ record, given }) => {
  if (!given.length) return reply(null);
  let values = given;
  if (record.step) {
    if (given.some((text) => !text.trim())) return reply(null);
    values = given.map(parse);
    const odd = given.filter((_, i) => values[i] === null);
    if (odd.length)
      return reply(null, odd.some((text) => text.includes(",")) ? POINT : HOW_TO_TYPE);
  }
  for (const [starts, known, hidden] of record.replies) {
    const key = keyOf(record, values, starts);
    if (mark(key) !== known) continue;
    const text = clear(hidden, key);
    return reply(text[0] === "+", text.slice(1));
  }
  return reply(false, soFar(record, values) + record.otherwise);
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
      for (const place of given.length ? given : first)
        form.querySelector("ol").append(items.find((item) => Number(item.dataset.item) === place));
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
  const shown = JSON.parse(clear(record.shown, record.name));
  const then = document.createElement("p");
  fill(then, shown.pop());
  const table = document.createElement("table");
  const rows = [
    ["", "you predicted", "computed"],
    ...labels.map((l, i) => [l, given[i], shown[i]]),
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
  const record = JSON.parse(form.dataset.record);
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
  const answer = () => {
    const given = way.read(form);
    if (!record.shown) {
      const found = check({ record, given });
      if (found.right !== null) remember(record.name, given);
      tell(found);
      return;
    }
    if (!given.some((text) => text.trim())) {
      fill(said, "Predict something first: a wrong guess is remembered best.");
      return;
    }
    remember(record.name, given);
    const labels = [...form.querySelectorAll("label")].map((label) => label.textContent.trim());
    said.replaceChildren(...compare(record, labels, given));
    if (fold) fold.open = true;
  };
  form.wipe = () => {
    remember(record.name, null);
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
  const kept = recall(record.name);
  if (Array.isArray(kept)) {
    way.write(form, kept);
    answer();
  }
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
