// A chain of small heat maps, in which one cell is opened: the numbers that meet in it
// stand below, and lines join them to where they stand in the chain.

import { fixed, inUnits, range } from "./numbers.js";
import { colorOf, escape, inkOn, textAt } from "./svg.js";

/**
 * @typedef {object} Matrix
 * @property {string} id
 * @property {string} title
 * @property {number[][]} values
 * @property {(x: number) => [string, string]} paint - the colours of a cell and of a number on it
 * @property {string} [kind] - its role, such as "query"
 * @property {string[]} [rows] - names of the rows, written at the left end of a line, and where
 *   short ones differ from those of the matrix before
 * @property {string[]} [columns] - names of the columns, written where there is room
 * @property {string} [leads] - a matrix further left to which an arrow leads above the titles
 * @property {(i: number, j: number) => boolean} [open] - other cells are hatched
 * @property {string} [sign] - what stands between it and the next one: →, ← or ·
 */
/**
 * @typedef {object} Opened - what is told of the opened cell
 * @property {[string, number, number]} cell - the matrix, the row and the column
 * @property {[string, ?number, ?number][]} from - the cells that meet in it; null is all
 * @property {{label: string, kind?: string, values: number[], paint: Function, mark?: number}[]} lines -
 *   rows of numbers; the first two stand where `from` says
 * @property {string} how - what is done to the last line but one, such as "sum"
 */

// A number's colours: of either sign, or as a gradient, whose positive side has the
// colour of that role, and whose negative side is as strong.
export const signed = (most) => (x) => [colorOf(x / most), inkOn(x / most)];
// The colour of a side, and where the ink turns on light and on dark pages.
const MORE = ["var(--av-gradient)", 0.81, 0.575];
const LESS = [colorOf(-0.77), 0.83, 0.55];
export const flowing = (most) => (x) => {
  const part = Math.min(Math.abs(x / most), 1);
  const [end, light, dark] = x < 0 ? LESS : MORE;
  return [
    `color-mix(in srgb,${end} ${(100 * part).toFixed(1)}%,${colorOf(0)})`,
    `light-dark(${part > light ? "#fff" : "#000"},${part > dark ? "#000" : "#fff"})`,
  ];
};
export const mostOf = (...all) =>
  Math.max(...all.flat(3).filter(Number.isFinite).map(Math.abs), 1e-9);

// As many decimals, at most three, or four of a small number, as are exact or as there is
// room for.
export const numeral = (x, letters) => {
  if (!Number.isFinite(x)) return x > 0 ? "∞" : "−∞";
  const most = Math.abs(x) < 0.1 ? 4 : 3;
  const exact = range(most).find((digits) => Math.abs(x - x.toFixed(digits)) < 1e-9) ?? most;
  const texts = range(exact + 1).map((digits) => fixed(x, exact - digits));
  return texts.find((text) => text.length <= letters) ?? inUnits(x).replace("-", "−");
};

const LAYOUT = {
  wide: {
    ...{ width: 640, room: 224, most: 26, deepest: 30, gap: 26 },
    ...{ label: 148, across: 66, strip: 37, letter: 8, big: [84, 62, 12], ends: [8, 632] },
  },
  narrow: {
    ...{ width: 360, room: 276, most: 26, deepest: 24, gap: 24 },
    ...{ label: 70, across: 54, strip: 30, letter: 7.2, big: [52, 44, 7.6], ends: [4, 356] },
  },
};
const TITLE = 22;
const BELOW = 16; // for the lines under a row of matrices
const NAME = 7; // the width of a letter of a name
const TURNED = 14; // the least width of a column for a name along it
const longest = (names) => Math.max(...names.map((it) => it.length));
const isNamed = ({ rows = [] }, before) =>
  !before || (longest(rows) < 3 && String(rows) !== String(before.rows));

// Where each matrix stands: `lines` has the matrices of each line, under a note.
const placesOf = (lines, { width, room, most, deepest, gap }, note) => {
  const left = 18 + NAME * Math.max(...lines.map(([{ rows }]) => longest(rows)));
  const columns = (line) => line.reduce((n, { values }) => n + values[0].length, 0);
  const before = (line, k) =>
    k && gap + (isNamed(line[k], line[k - 1]) ? NAME * longest(line[k].rows) + 8 : 0);
  const gaps = (line) => line.reduce((all, _, k) => all + before(line, k), 0);
  const widest = (line) => (width - 14 - left - gaps(line)) / columns(line);
  const wide = Math.floor(Math.min(most, ...lines.map(widest)));
  const depths = lines.map((line) => Math.max(...line.map(({ values }) => values.length)));
  const all = depths.reduce((a, b) => a + b, 0);
  const high = Math.min(Math.max(Math.floor(room / all), 15), deepest);
  const used = Math.max(...lines.map((line) => wide * columns(line) + gaps(line)));
  const start = Math.round(left + Math.max(width - 14 - left - used, 0) / 2);
  const places = {};
  let y = note ? TITLE : 0;
  lines.forEach((line, n) => {
    const named = Math.max(...line.map((it) => longest(it.columns ?? [""])));
    const turned = NAME * named + 4 > wide;
    const tall = !named || wide < TURNED ? 0 : turned ? NAME * named + 4 : 15;
    y += TITLE + tall + (line.some(({ leads }) => leads) ? 12 : 0);
    let x = start;
    const below = y + high * depths[n];
    line.forEach(({ id, values }, k) => {
      x += before(line, k);
      const right = x + wide * values[0].length;
      places[id] = { x, y, wide, high, below, right, tall, turned };
      x = right;
    });
    y = below + BELOW;
  });
  return { places, bottom: y };
};

// A cell without a number has a line across.
const NOTHING = "#8883";
const slash = (x, y, width, height) =>
  `<path class="av-barred" d="M${x} ${y + height}l${width} ${-height}"/>`;
const arrow = (x, y, sign, gap) => {
  if (sign === "·") return `<circle cx="${x + gap / 2}" cy="${y}" r="2"/>`;
  const [a, b, head] = sign === "→" ? [x + 11, x + gap - 4, -4] : [x + gap - 4, x + 11, 4];
  return `<path d="M${a} ${y}H${b}m${head} -4l${-head} 4l${head} 4"/>`;
};
const drawn = (matrix, places, before, gap) => {
  const { id, title, kind = "", values, paint, rows = [], open = () => true, sign } = matrix;
  const { x, y, wide, high, below, right, tall, turned } = places[id];
  const cells = values.map((row, i) =>
    row.map((value, j) => {
      const [u, v] = [x + j * wide, y + i * high];
      const seen = open(i, j);
      return (
        `<rect data-handle="${id},${i},${j}" x="${u}" y="${v}" width="${wide - 1}" ` +
        `height="${high - 1}" fill="${seen ? paint(value)[0] : NOTHING}"/>` +
        (seen ? "" : slash(u, v, wide - 1, high - 1))
      );
    }),
  );
  const middle = x + (wide * values[0].length - 1) / 2;
  const names = rows.map((name, i) =>
    textAt(escape(name), x - 7, y + (i + 0.5) * high + 4, "end", "av-aside"),
  );
  const across = (tall ? (matrix.columns ?? []) : []).map((name, j) => {
    const [u, v] = [x + (j + 0.5) * wide, y - 5];
    return turned
      ? `<text class="av-aside" transform="translate(${u + 4} ${v}) rotate(-90)">${escape(name)}</text>`
      : textAt(escape(name), u, v, "middle", "av-aside");
  });
  const to = places[matrix.leads];
  const leap =
    to && `<path d="M${middle} ${y - tall - 24}v-5H${(to.x + to.right) / 2}v6m-4 -4l4 4l4 -4"/>`;
  const signs = (sign && gap ? arrow(right, (y + below) / 2, sign, gap) : "") + (leap ?? "");
  return (
    `<g class="av-of-${kind || "none"}" data-map="${id}">${textAt(escape(title), middle, y - tall - 7, "middle", "av-title")}` +
    `${across.join("")}${isNamed(matrix, before) ? names.join("") : ""}${cells.flat().join("")}` +
    `${signs && `<g class="av-sign">${signs}</g>`}</g>`
  );
};

// The frame around a cell, a row or a column, as [x, y, width, height].
const edgesOf = (place, values, row, column) => {
  const { x, y, wide, high } = place;
  const [T, S] = [values.length, values[0].length];
  return [
    x + (column ?? 0) * wide - 1.5,
    y + (row ?? 0) * high - 1.5,
    wide * (column === null ? S : 1) + 2,
    high * (row === null ? T : 1) + 2,
  ];
};
const framed = ([x, y, width, height], kind) =>
  `<rect class="${kind}" x="${x}" y="${y}" width="${width}" height="${height}" rx="2"/>`;
// A way from a frame to below its line of matrices, on to an end, and to a height: the same
// steps for every frame, so that it can be moved. It crosses no cell: from a row it starts
// beside its matrix, and from a cell it goes down between two columns.
const wayOf = ([x, y, width, height], { wide, high, below, right }, steps) => {
  const isRow = width > wide + 3;
  const isCell = !isRow && height < high + 3;
  const a = isRow ? right + 4 : x + (isCell ? width - 1 : width / 2);
  const { drop, end = right + 8, panel, side, to, into } = steps;
  const start = isRow ? [x + width, y + height / 2] : [a, y + height];
  return `M${start.join(" ")}H${a}V${below + drop}H${end}V${panel}H${side}V${to}H${into}`;
};

/**
 * @param {{label: string, lines: Matrix[][], opened: Opened, narrow: boolean,
 *   chosen?: [string, number, number], note?: string}} given - `chosen` is a cell that all
 *   others follow from, and a note stands on top
 * @returns {string} a drawing
 */
export const chain = ({ label, lines, opened, chosen, note, narrow }) => {
  const layout = LAYOUT[narrow ? "narrow" : "wide"];
  const { width, gap, label: left, strip, letter, big: bigger, ends } = layout;
  const { places, bottom } = placesOf(lines, layout, note);
  const byId = Object.fromEntries(lines.flat().map((matrix) => [matrix.id, matrix]));
  const maps = lines.flatMap((line) =>
    line.map((matrix, k) => drawn(matrix, places, line[k - 1], line[k + 1] ? gap : 0)),
  );
  const { cell, from, lines: rows, how } = opened;
  const [id, i, j] = cell;
  const most = Math.max(...rows.map(({ values }) => values.length));
  const across = Math.min(Math.floor((width - left - bigger[0] - 28) / most), layout.across);
  const top = bottom + 12;
  const stripAt = (k) => top + 13 + k * strip;
  const stop = left + across * most;
  const middle = (k) => stripAt(k) + (strip - 4) / 2;
  const start = left;
  const strips = rows.map(({ label: words, kind = "", values, paint, mark }, k) => {
    const numbers = values.map((value, n) => {
      const [fill, ink] = Number.isFinite(value) ? paint(value) : [NOTHING, ""];
      const x = start + n * across;
      return (
        `<rect x="${x}" y="${stripAt(k)}" width="${across - 3}" height="${strip - 4}" rx="2" fill="${fill}"/>` +
        `<text x="${x + (across - 3) / 2}" y="${middle(k) + 4.5}" text-anchor="middle"` +
        `${ink && ` style="fill:${ink}"`}>${numeral(value, Math.floor((across - 4) / letter))}</text>`
      );
    });
    const marked =
      mark === undefined
        ? ""
        : framed(
            [start + mark * across - 1.5, stripAt(k) - 1.5, across, strip - 1],
            "av-frame av-open-cell",
          );
    return (
      `<g class="av-operands av-of-${kind || "none"}">` +
      `${textAt(escape(words), start - 8, middle(k) + 4.5, "end", "av-title")}` +
      `${numbers.join("")}${marked}</g>`
    );
  });
  // The opened cell, enlarged.
  const value = byId[id].values[i][j];
  const isOpen = byId[id].open?.(i, j) ?? true;
  const [fill, ink] = isOpen ? byId[id].paint(value) : [NOTHING, ""];
  const [broad, tall, one] = bigger;
  const big = { x: width - broad - 14, y: stripAt(1) - 10 };
  const [bigX, bigY] = [big.x + broad / 2, big.y + tall / 2];
  const enlarged =
    `<g class="av-big">${textAt(escape(how), bigX, big.y + tall + 19, "middle", "av-title")}` +
    `<rect class="av-frame av-open-cell" x="${big.x}" y="${big.y}" width="${broad}" ` +
    `height="${tall}" rx="4" style="fill:${fill}"/>` +
    `<text x="${bigX}" y="${bigY + 6}" text-anchor="middle"${ink && ` style="fill:${ink}"`}>` +
    `${numeral(value, Math.floor((broad - 6) / one))}</text></g>`;
  const isLast = (name) => lines.at(-1).some((matrix) => matrix.id === name);
  const sources = range(2).map((k) => {
    const [name, row, column] = from[k] ?? from[0];
    const frame = edgesOf(places[name], byId[name].values, row, column);
    // From the nearer side; in a wide drawing past the matrices below, which end alike.
    const right = k || (!narrow && places[name].x > stop);
    const side = right ? stop + (k && !narrow ? 11 : 6) : ends[0];
    const into = right ? left + across * rows[k].values.length : ends[0] + 8;
    const past = narrow ? (right ? ends[1] - 6 : side) : undefined;
    const end = isLast(name) ? side : past;
    const way = wayOf(frame, places[name], {
      ...{ drop: 11, end, panel: top + (right && k ? 6 : 9), side, to: middle(k), into },
    });
    const hidden = from[k] ? "" : ' style="opacity:0"';
    return (
      `<g class="av-of-${byId[name].kind || "none"}"${hidden}>${framed(frame, "av-frame")}` +
      `<path class="av-joint" d="${way}"/></g>`
    );
  });
  const here = edgesOf(places[id], byId[id].values, i, j);
  const [outEnd, outTo] = narrow ? [ends[1], [bigY, big.x + broad]] : [bigX, [big.y, bigX]];
  const out = wayOf(here, places[id], {
    ...{ drop: 5, end: outEnd, panel: top + 3, side: outEnd, to: outTo[0], into: outTo[1] },
  });
  const origin =
    chosen && framed(edgesOf(places[chosen[0]], [[]], ...chosen.slice(1)), "av-frame av-chosen");
  const height = stripAt(4) + 4;
  return (
    `<svg class="av-chain${narrow ? "" : " av-broad"}" role="img" aria-label="${escape(label)}" viewBox="0 0 ${width} ${height}">` +
    `<rect class="av-panel-ground" x="${ends[0] + 5}" y="${top}" width="${ends[1] - ends[0] - 10}" height="${height - top}" rx="6"/>` +
    `${note ? textAt(escape(note), ends[0], 14, "start", "av-aside") : ""}${maps.join("")}${origin ?? ""}${sources.join("")}<path class="av-joint av-leads" d="${out}"/>` +
    `${framed(here, "av-frame av-open-cell")}${strips.join("")}${enlarged}</svg>`
  );
};
