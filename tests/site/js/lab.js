// The text of a formula stands in its MathML once more.
export const read = (cells) =>
  cells
    .map((cell) => {
      const copy = cell.cloneNode(true);
      for (const part of copy.querySelectorAll(".katex, code, pre")) part.remove();
      return copy.textContent;
    })
    .join("\n");

// Type the same guess into each field of some forms, and read what is shown
// beside it, and below.
export const guess = ([names, text]) =>
  names.map((name) => {
    const form = document.querySelector(`form[data-question=${name}].av-live`);
    for (const field of form.querySelectorAll("input")) field.value = text;
    form.requestSubmit();
    const rows = [...form.querySelectorAll("tr")].slice(1);
    const column = (j) => rows.map((row) => row.cells[j].textContent);
    const then = form.querySelector(".av-reply > p").textContent;
    return [column(1), column(2), then];
  });

export const outputs = () =>
  [...jupyterapp.shell.currentWidget.content.model.cells]
    .filter((cell) => cell.type === "code")
    .map((cell) => [cell.getMetadata("tags") ?? [], cell.outputs.toJSON()]);
