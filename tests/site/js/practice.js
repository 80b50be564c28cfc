export const said = (names) =>
  names.map(
    (name) => document.querySelector(`form[data-question=${name}].av-live .av-reply`).textContent,
  );

// Each choice of each prediction is pressed: what is said, and whether it is right.
export const predict = () => {
  const folds = [...document.querySelectorAll("details.av-reveal")];
  return [...document.querySelectorAll("form.av-predict")].map((form, i) => {
    const closed = !folds[i].open;
    const slider = form.querySelector("[type=range]");
    const given = slider
      ? slider.dataset.stops.split("|").map((_, stop) => () => {
          slider.value = stop;
          form.requestSubmit();
        })
      : [...form.querySelectorAll(".av-option")].map((it) => () => it.click());
    const replies = given.map((press) => {
      press();
      return [form.dataset.right, form.querySelector("[role=status]").textContent];
    });
    return { closed, said: replies, open: folds[i].open };
  });
};

// Of each question the texts of its legends and how many places for a reply;
// and the smaller side of each field and button.
export const measured = () => {
  const forms = [...document.querySelectorAll("form[data-question]")];
  const all = (form, parts) => [...form.querySelectorAll(parts)];
  const smallest = (it) => {
    const box = it.getBoundingClientRect();
    return Math.min(box.width, box.height);
  };
  return [
    forms.map((form) => all(form, "fieldset > legend").map((it) => it.innerText)),
    forms.map((form) => all(form, "[role=status], output").length),
    forms.flatMap((form) =>
      all(form, "input, button")
        .filter((it) => it.checkVisibility())
        .map(smallest),
    ),
  ];
};

// Of each question with one number: in how many lines field, unit and button
// are, how much is left below them, how often it is asked in sight, and the
// height of the lowest that is pressed.
export const lines = () =>
  [...document.querySelectorAll(".question-card")]
    .filter((card) => card.querySelectorAll("input[type=text]").length === 1)
    .map((card) => {
      const [field, unit, check] = ["input", ".av-note", "[type=submit]"].map((part) =>
        card.querySelector(part).getBoundingClientRect(),
      );
      const line = card.querySelector(".av-line").getBoundingClientRect();
      const form = card.querySelector("form").getBoundingClientRect();
      const signs = card.querySelector(".av-signs").getBoundingClientRect();
      const legend = card.querySelector("legend").getBoundingClientRect();
      const box = card.firstElementChild.matches(".admonition + .cell, .admonition");
      const code = card.children[1].querySelector("pre") !== null;
      return {
        tops: new Set([field, unit, check].map(({ bottom }) => Math.round(bottom))).size,
        below: form.bottom - Math.max(line.bottom, signs.bottom),
        asked: (box && !code) + (legend.width > 1),
        least: Math.min(field.height, check.height),
      };
    });
