// Questions on an empty page, as the site or a cell of Jupyter shows them.
export const open = (html, jupyter) => {
  globalThis.el = document.createElement("main");
  if (!jupyter) el.innerHTML = html;
  const model = jupyter ? { get: (key) => ({ html })[key] } : null;
  document.body.replaceChildren(el);
  attentionFigures.practice.render({ model, el });
};
export const form = (name) => el.querySelector(`form[data-question=${name}]`);
export const said = (name) => form(name).querySelector(".av-reply").innerHTML;
export const fields = (name) => [...form(name).querySelectorAll("input")];
export const items = () =>
  [...form("sort").querySelectorAll("li")].map((item) => Number(item.dataset.item));
export const fold = () => el.querySelector("details");
export const tally = () => el.querySelector(".av-tally").textContent;
export const kept = () =>
  Object.fromEntries(
    Object.keys(localStorage)
      .toSorted()
      .map((key) => [key, localStorage.getItem(key)]),
  );
// What a question shows, and all that it holds.
export const looks = (name) => [
  form(name).outerHTML.replaceAll(/ (class|hidden)=""/g, ""),
  form(name).querySelector(".av-clear").hidden,
  fields(name).map((field) => [field.value, field.checked]),
];
// Press its button Clear; whether its first field then has the focus.
export const clear = (name) => {
  form(name).querySelector(".av-clear").click();
  return document.activeElement === form(name).querySelector("input, li button, .av-option");
};
// Move an item up (0) or down (1); the order, what is said, and the focus then.
export const move = (item, way) => {
  const button = el.querySelectorAll(`[data-item="${item}"] button`)[way];
  button.click();
  return [
    items(),
    said("sort"),
    document.activeElement === button,
    document.activeElement.ariaLabel,
  ];
};
export const countChanges = () => {
  globalThis.changes = 0;
  document.addEventListener("progress-changed", () => (changes += 1));
};
// Type "-3" and "1/e8" with the keys for signs.
export const typeSigns = () => {
  const [first, second] = fields("sum");
  const [minus, stroke, , power] = form("sum").querySelectorAll(".av-signs button");
  minus.click(); // no field had the focus yet: it goes to the first
  first.value += "3";
  second.focus();
  second.value = "18";
  second.setSelectionRange(1, 1);
  stroke.click();
  const at = document.activeElement === second && second.selectionStart;
  power.click();
  const down = new PointerEvent("pointerdown", { cancelable: true });
  minus.dispatchEvent(down);
  const named = [minus, stroke, power].every((it) => it.ariaLabel);
  return [first.value, second.value, at, down.defaultPrevented, named];
};
// Whether JupyterLab leaves the keys to every field and button.
export const keepsKeys = () =>
  [...el.querySelectorAll("input, button, fieldset")]
    .filter((it) => it.form)
    .every((it) => it.dataset.lmSuppressShortcuts === "true");
