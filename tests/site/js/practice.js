export const said = (names) =>
  names.map(
    (name) => document.querySelector(`form[data-question=${name}].av-live .av-reply`).textContent,
  );

// Each prediction is sent empty, then answered: what is said and shown then.
export const predict = () => {
  const folds = [...document.querySelectorAll("details.av-reveal")];
  return [...document.querySelectorAll("form.av-predict")].map((form, i) => {
    const send = form.querySelector("button[type=submit]");
    send.click();
    const early = [form.querySelector("[role=status]").textContent, folds[i].open];
    const fields = [...form.querySelectorAll("input")];
    for (const field of fields) field.value = "my <guess>";
    send.click();
    const rows = [...form.querySelectorAll("tr")].map((row) =>
      [...row.querySelectorAll("th, td")].map((it) => it.innerText.trim()),
    );
    return { early, fields: fields.length, rows, open: folds[i].open };
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
