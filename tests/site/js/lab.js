// The text of a formula stands in its MathML once more.
export const read = (cells) =>
  cells
    .map((cell) => {
      const copy = cell.cloneNode(true);
      for (const part of copy.querySelectorAll(".katex, code, pre")) part.remove();
      return copy.textContent;
    })
    .join("\n");

export const outputs = () =>
  [...jupyterapp.shell.currentWidget.content.model.cells]
    .filter((cell) => cell.type === "code")
    .map((cell) => [cell.getMetadata("tags") ?? [], cell.outputs.toJSON()]);
