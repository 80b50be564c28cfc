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
