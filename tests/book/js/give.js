// Give answers as a hand does, all at once, and read what is said of each.
const put = (form, given) => {
  const choices = form.querySelectorAll(".av-option");
  if (choices.length > 0) {
    choices[given[0]].click();
    return;
  }
  const fields = [...form.querySelectorAll("input")];
  const order = form.querySelector("ol");
  if (order) {
    given.forEach((number, place) => {
      const item = order.querySelector(`[data-item="${number}"]`);
      const up = item.querySelector("button");
      while ([...order.children].indexOf(item) > place) up.click();
    });
  } else if (fields[0].type === "radio") {
    fields[given[0]].click();
  } else {
    fields.forEach((field, i) => {
      field.value = given[i];
    });
  }
  form.requestSubmit();
};
export const give = (answers) =>
  answers.map(([name, given]) => {
    const form = document.querySelector(`form[data-question=${name}].av-live`);
    put(form, given);
    return form.querySelector(".av-reply").textContent;
  });
