// Tables in HTML.

import { fixed } from "./numbers.js";
import { colorOf, escape, inkOn } from "./svg.js";

// A matrix as a table whose cells are shaded by their value between low and high,
// or by the part of the colour map that `part` returns. A cell that is not `open`
// contains no number.
export const grid = ({
  label,
  rows,
  columns,
  values,
  digits = 2,
  low = 0,
  high = 1,
  part = (x) => Math.max((x - low) / (high - low), 0), // −∞ counts as 0
  attributes = () => "",
  open = () => true,
  picked = [],
}) => {
  const head = columns.map((c) => `<th scope="col">${escape(c)}</th>`).join("");
  const body = values.map((row, i) => {
    const cells = row.map((x, j) => {
      const here = picked[0] === i && picked[1] === j;
      if (!open(i, j)) return `<td class="av-closed${here ? " av-picked" : ""}">·</td>`;
      return (
        `<td style="background:${colorOf(part(x))};color:${inkOn(part(x))}" ` +
        `${here ? 'class="av-picked"' : attributes(i, j)}>` +
        `${fixed(x, digits)}</td>`
      );
    });
    return `<tr><th scope="row">${escape(rows[i])}</th>${cells.join("")}</tr>`;
  });
  return (
    `<table class="av-grid"><caption>${escape(label)}</caption><thead><tr><td></td>${head}` +
    `</tr></thead><tbody>${body.join("")}</tbody></table>`
  );
};

// Tables that are looked up, folded below the sentence.
export const folded = (name, html) =>
  `<details class="av-more"><summary>${name}</summary>${html}</details>`;
