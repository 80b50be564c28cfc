// Drawings in SVG: elements, colours, large matrices and charts.

import { range, tick } from "./numbers.js";

// Words in a drawing, at a tenth of a unit.
export const textAt = (text, x, y, anchor = "middle", kind = "") =>
  `<text${kind && ` class="${kind}"`} x="${+x.toFixed(1)}" y="${+y.toFixed(1)}" ` +
  `text-anchor="${anchor}">${text}</text>`;

export const escape = (text) =>
  String(text).replace(
    /[&<>"]/g,
    (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c],
  );

// Words in HTML, in which the k of d_k is low.
export const lettered = (text) =>
  escape(text).replace(/\b([dWH])_([A-Za-z0-9]{1,5})\b/g, "$1<sub>$2</sub>");

// The book's colour map, from −1 over 0 to 1. Zero is close to the page's
// background, and large values contrast with it: dark on white, and bright in the
// dark.
const STOPS = {
  light: [
    [83, 39, 0],
    [176, 94, 16],
    [236, 180, 130],
    [234, 241, 247],
    [143, 191, 224],
    [0, 110, 172],
    [0, 48, 77],
  ],
  dark: [
    [255, 233, 214],
    [224, 139, 62],
    [111, 58, 14],
    [28, 43, 58],
    [23, 82, 126],
    [74, 159, 220],
    [227, 242, 255],
  ],
};
const shade = (x, scheme) => {
  const stops = STOPS[scheme];
  const at = ((Math.min(Math.max(x, -1), 1) + 1) / 2) * (stops.length - 1);
  const i = Math.min(Math.floor(at), stops.length - 2);
  return stops[i].map((a, c) => Math.round(a + (at - i) * (stops[i + 1][c] - a)));
};
// The relative luminance, slightly too high near black; every ink stays readable.
const luminance = (rgb) => {
  const [r, g, b] = rgb.map((v) => ((v / 255 + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const ink = (rgb) => (luminance(rgb) > 0.179 ? "#000" : "#fff");
// The colour of x, and the colour of a number on it, each in both schemes.
const hexOf = (rgb) => `#${rgb.map((v) => v.toString(16).padStart(2, "0")).join("")}`;
const inBoth = (color) => `light-dark(${color("light")},${color("dark")})`;
export const colorOf = (x) => inBoth((scheme) => hexOf(shade(x, scheme)));
export const inkOn = (x) => inBoth((scheme) => ink(shade(x, scheme)));

// Shades are quantised, and all cells of one shade are one path.
export const LEVELS = 24;
export const byLevel = () => {
  const found = {};
  return {
    add: (x, d) => (found[Math.round(x * LEVELS)] ??= []).push(d),
    paths: (draw) => Object.entries(found).map(([k, d]) => draw(colorOf(k / LEVELS), d.join(""))),
  };
};
// A large matrix as a picture: axes with their names, and a colour key below from
// `low` to `high`. Entries that are not `open` are hatched.
const MAP = { width: 340, left: 40, top: 34, across: 294, least: 90, row: 22, key: 36 };
const highOf = (T, S) =>
  Math.min(Math.max(T * Math.min(MAP.across / S, MAP.row), MAP.least), MAP.across);
// The step between numbered rows or columns that keeps the numbers apart.
const stride = (unit, room) => [1, 2, 4, 8, 16].find((n) => n * unit >= room) ?? 32;
export const mosaic = ({
  label,
  values,
  open = () => true,
  rows,
  columns,
  low = 0,
  high = 1,
  ends = ["0", "1"],
  picked = null,
}) => {
  const [T, S] = [values.length, values[0].length];
  const { width, left, top, across, key } = MAP;
  const down = highOf(T, S);
  const [sx, sy] = [across / S, down / T];
  const cells = byLevel();
  const shut = [];
  values.forEach((row, i) =>
    row.forEach((x, j) =>
      open(i, j) ? cells.add(x, `M${j} ${i}h1v1h-1z`) : shut.push(`M${j} ${i + 1}l1 -1`),
    ),
  );
  const place = (x) => +x.toFixed(2);
  const drawn = cells.paths((color, d) => `<path fill="${color}" d="${d}"/>`);
  if (shut.length) drawn.push(`<path class="av-shut" d="${shut.join("")}"/>`);
  const text = (words, x, y, anchor, kind = "") =>
    `<text${kind && ` class="${kind}"`} x="${place(x)}" y="${place(y)}" ` +
    `text-anchor="${anchor}">${escape(words)}</text>`;
  // The picked number stands out, and numbers too close to it are left out.
  const numbers = (n, unit, room, here, write) =>
    range(n)
      .filter((k) => k % stride(unit, room) === 0 || k === here)
      .filter((k) => here === undefined || k === here || Math.abs(k - here) * unit >= room)
      .map((k) => write(k, k === here ? "av-here" : ""))
      .join("");
  const [i, j] = picked ?? [];
  const frame = picked
    ? `M${place(left + j * sx - 1)} ${place(top + i * sy - 1)}h${place(sx + 2)}` +
      `v${place(sy + 2)}h${place(-sx - 2)}z`
    : "";
  const base = top + down + key - 8;
  const bar = range(LEVELS + 1).map(
    (k) =>
      `<rect fill="${colorOf(low + ((high - low) * k) / LEVELS)}" x="${left + 40 + 3 * k}" ` +
      `y="${place(base - 10)}" ` +
      'width="3" height="12"/>',
  );
  return (
    `<p class="av-caption" aria-hidden="true">${escape(label)}</p>` +
    `<svg class="av-mosaic" role="img" aria-label="${escape(label)}" ` +
    `viewBox="0 0 ${width} ${place(top + down + key)}">` +
    `<g shape-rendering="crispEdges" transform="matrix(${place(sx)} 0 0 ${place(sy)} ${left} ` +
    `${top})">${drawn.join("")}</g>` +
    text(`↓ ${rows}`, 2, 12, "start", "av-of-rows") +
    text(`${columns} →`, left + across, 12, "end", "av-of-columns") +
    numbers(S, sx, 22, j, (k, kind) => text(k, left + (k + 0.5) * sx, top - 6, "middle", kind)) +
    numbers(T, sy, 13, i, (k, kind) => text(k, left - 6, top + (k + 0.5) * sy + 4, "end", kind)) +
    (frame && `<path class="av-ring" d="${frame}"/><path class="av-ring-in" d="${frame}"/>`) +
    text(ends[0], left + 34, base, "end") +
    bar.join("") +
    text(ends[1], left + 121, base, "start") +
    "</svg>"
  );
};
// The row and the column under a pointer, or null.
export const cellAt = ({ target, clientX, clientY }, [T, S]) => {
  const cell = target.closest?.("td");
  if (cell && cell.cellIndex > 0 && cell.closest("tbody"))
    return [cell.parentNode.rowIndex - 1, cell.cellIndex - 1];
  const drawn = target.closest?.(".av-mosaic");
  if (!drawn) return null;
  const { left, top, width } = drawn.getBoundingClientRect();
  const unit = width / MAP.width;
  const j = Math.floor(((clientX - left) / unit - MAP.left) / (MAP.across / S));
  const i = Math.floor(((clientY - top) / unit - MAP.top) / (highOf(T, S) / T));
  return i >= 0 && i < T && j >= 0 && j < S ? [i, j] : null;
};

const tickedAt = (a, b) => range(5).map((k) => a + (k * (b - a)) / 4);
// The frame of a chart of this size, inside its axes.
export const frameOf = ({ x, y, width = 340, height = 220, right = 80 }) => {
  const longest = Math.max(...tickedAt(...y).map((v) => tick(v).length));
  const [left, top, bottom] = [26 + 7 * Math.max(longest, 4), 12, 40];
  const across = (width - left - right) / (x[1] - x[0]);
  return {
    ...{ left, top, bottom, width, height, right },
    px: (v) => left + (v - x[0]) * across,
    py: (v) => height - bottom - ((v - y[0]) / (y[1] - y[0])) * (height - top - bottom),
    xAt: (u) => x[0] + (u - left) / across,
  };
};
// Lines over a common x, each with its name at its end; marked points. A ghost is
// the line of the previous state. `over` is drawn on top.
export const chart = (given) => {
  const { label, kind = "", x, y, lines, points: alone = [], marks = [], over = "" } = given;
  const { xlabel, ylabel } = given;
  const { left, top, bottom, width, height, right, px, py } = frameOf(given);
  const axis =
    tickedAt(...x)
      .map(
        (v) =>
          `<text x="${px(v)}" y="${height - bottom + 16}" text-anchor="middle">${tick(v)}</text>`,
      )
      .join("") +
    tickedAt(...y)
      .map(
        (v) =>
          `<text x="${left - 6}" y="${py(v) + 4}" text-anchor="end">${tick(v)}</text>` +
          `<path class="av-rule" d="M${left} ${py(v)}H${width - right}"/>`,
      )
      .join("");
  // Names at the ends of two lines are kept apart, in the order of the lines.
  const ends = lines.map(({ points }) => py(points[points.length - 1][1]) + 4);
  if (ends.length === 2 && Math.abs(ends[0] - ends[1]) < 14) {
    const middle = Math.min(Math.max((ends[0] + ends[1]) / 2, top + 11), height - bottom);
    const [upper, lower] = ends[0] <= ends[1] ? [0, 1] : [1, 0];
    [ends[upper], ends[lower]] = [middle - 7, middle + 7];
  }
  const drawn = lines.map(({ points, name, dash = "", filled = false, ghost = false }, k) => {
    const looks = `${filled ? " av-filled" : ""}${ghost ? " av-ghost" : ""}`;
    const d = points
      .map(([a, b], i) => `${i ? "L" : "M"}${px(a).toFixed(1)} ${py(b).toFixed(1)}`)
      .join("");
    return (
      `<path class="av-line av-line-${k}${looks}" ` +
      `stroke-dasharray="${dash}" d="${d}"/>` +
      `<text class="av-name" x="${width - right + 6}" y="${ends[k].toFixed(1)}">` +
      `${escape(name)}</text>`
    );
  });
  const spots = alone.map(([a, b]) => `M${px(a).toFixed(1)} ${py(b).toFixed(1)}h0`).join("");
  // The name of a dot stays inside the frame and away from the names of the
  // lines.
  const dots = marks.map(([a, b, name]) => {
    const [side, anchor] = px(a) > width - right - 30 ? [-8, "end"] : [8, "start"];
    const beside = py(b) < top + 16 ? 18 : -8;
    return (
      `<circle class="av-dot" cx="${px(a).toFixed(1)}" cy="${py(b).toFixed(1)}" r="5"/>` +
      `<text class="av-name" text-anchor="${anchor}" x="${(px(a) + side).toFixed(1)}" ` +
      `y="${(py(b) + beside).toFixed(1)}">${escape(name)}</text>`
    );
  });
  return (
    `<svg class="av-chart${kind}" role="img" aria-label="${escape(label)}" ` +
    `viewBox="0 0 ${width} ${height}">${axis}${drawn.join("")}` +
    `${spots && `<path class="av-points" d="${spots}"/>`}${dots.join("")}` +
    `<text x="${(left + width - right) / 2}" y="${height - 4}" text-anchor="middle">` +
    `${escape(xlabel)}</text><text transform="translate(12 ${(top + height - bottom) / 2}) ` +
    `rotate(-90)" text-anchor="middle">${escape(ylabel)}</text>${over}</svg>`
  );
};
