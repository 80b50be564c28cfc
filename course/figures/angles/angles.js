// Angles: how far each pair of columns rotates at a distance, where training
// ended, and what rescaling the frequencies changes.

import { fixed, range } from "../kit/numbers.js";
import { CIRCLE, PAIRS, TRAINED, power, slowed } from "../kit/rotations.js";
import { grip } from "../kit/handles.js";
import { figureModule, say } from "../kit/common.js";

const BASE = 10000;
const MOST = 255;
const DEGREES = 180 / Math.PI;
const PLAIN = "as trained";

// --- the four sets of frequencies ------------------------------------------

const rescaled = {
  [PLAIN]: (theta) => theta,
  interpolated: (theta, factor) => theta.map((x) => x / factor),
  "NTK-aware": (theta, factor) => power(BASE * factor ** (PAIRS / (PAIRS - 1))),
  YaRN: (theta, factor) => slowed(theta, factor, BASE),
};

// An angle is new from one trained step past the last trained angle up to the
// full circle. A pair that completes a rotation in training has no new angle.
const isNew = (angle, arc) => arc < CIRCLE && angle % CIRCLE > arc * (1 - 1e-9);
// The distances at which a pair has new angles, as runs: the pair, and the first
// and last distance of each run.
const runsOf = (pair, frequency, arc) => {
  const found = [];
  for (const n of range(MOST + 1)) {
    if (!isNew(n * frequency, arc)) continue;
    const last = found.at(-1);
    if (last?.[2] === n - 1) last[2] = n;
    else found.push([pair, n, n]);
  }
  return found;
};

// --- drawing -----------------------------------------------------------------

const place = (x) => +x.toFixed(2);
const pageOf = ({ width, across, rim, top }) => {
  const [left, right, row] = [40, width - 14, 14];
  const unit = (right - left) / (MOST + 1);
  const floor = top + PAIRS * row;
  return {
    ...{ width, across, rim, top, left, right, row, unit, floor },
    axis: floor + 12, // of the handle
    px: (n) => left + n * unit,
  };
};
// A strip of distances below one row of dials, or two.
const WIDE = pageOf({ width: 640, across: 8, rim: 32, top: 148 });
const NARROW = pageOf({ width: 360, across: 4, rim: 32, top: 266 });
const text = (words, x, y, anchor = "middle", kind = "") =>
  `<text${kind && ` class="${kind}"`} x="${place(x)}" y="${place(y)}" ` +
  `text-anchor="${anchor}">${words}</text>`;

// Slow pairs are drawn with ten times their angle if eight times the trained arc
// still fits into the circle.
const zoomOf = (arc) => (8 * 10 * arc <= CIRCLE ? 10 : 1);
const dial = (i, { angle, before, arc, fresh, divisor }, { width, across, rim }) => {
  const zoom = zoomOf(arc);
  const [x, y] = [((0.5 + (i % across)) * width) / across, 58 + Math.floor(i / across) * 118];
  const spot = (a, r = rim) =>
    `${place(x + r * Math.cos(zoom * a))} ${place(y - r * Math.sin(zoom * a))}`;
  const wide = zoom * arc > Math.PI ? 1 : 0;
  const covered =
    arc >= CIRCLE
      ? `<circle class="av-covered" cx="${x}" cy="${y}" r="${rim}"/>`
      : `<path class="av-covered" d="M${x} ${y}L${spot(0)}A${rim} ${rim} 0 ${wide} 0 ${spot(arc)}z"/>`;
  const ghost = before === angle ? "" : `<path class="av-was" d="M${x} ${y}L${spot(before)}"/>`;
  const kind = `av-needle${fresh ? " av-fresh" : ""}`;
  const [tx, ty] = spot(angle).split(" ");
  const divided = divisor ? `, ÷${fixed(divisor)}` : "";
  return (
    `<circle class="av-rule" cx="${x}" cy="${y}" r="${rim}" fill="none"/>${covered}${ghost}` +
    `<path class="${kind}" d="M${x} ${y}L${tx} ${ty}"/>` +
    `<circle class="${kind}" cx="${tx}" cy="${ty}" r="${fresh ? 4.5 : 3}"/>` +
    text(`pair ${i}${zoom > 1 ? `, ×${zoom}` : ""}`, x, y - rim - 10) +
    text(`${fresh ? "new" : "seen"}${divided}`, x, y + rim + 21, "middle", fresh ? "av-fresh" : "")
  );
};

// The strip below the dials has a row for each pair, with bars at the distances
// that are new to the pair. The trained distances are shaded, and a line marks
// the distance that the dials show.
const strip = (runs, distance, { left, right, top, row, unit, floor, axis, px }) => {
  const rows = range(PAIRS).map((i) => {
    const y = top + i * row;
    return (
      text(i, left - 6, y + 11, "end") +
      `<path class="av-rule" d="M${left} ${y + row / 2}H${right}"/>`
    );
  });
  const bars = runs.map(
    ([i, from, to]) =>
      `<rect class="av-zone" x="${place(px(from))}" y="${top + i * row + 2}" ` +
      `width="${place((to + 1 - from) * unit)}" height="${row - 4}"/>`,
  );
  const ticks = [0, TRAINED, 64, 128, 192, MOST].map((n) => text(n, px(n + 0.5), axis + 24));
  return (
    text("pair", left - 6, top - 6, "end") +
    text("distances at which its angle is new", left, top - 6, "start") +
    `<rect class="av-covered" x="${left}" y="${top}" width="${place(TRAINED * unit)}" ` +
    `height="${floor - top}"/>${rows.join("")}${bars.join("")}${ticks.join("")}` +
    text("distance between query and key", (left + right) / 2, axis + 43) +
    grip(
      "distance",
      [place(px(distance + 0.5)), axis],
      `<path class="av-now" d="M0 0V${top - axis}"/><circle class="av-knob" r="8"/>`,
    )
  );
};

// --- in words ------------------------------------------------------------------

const sentence = ({ distance, frequencies }, { fresh, divisors, frequency }) => {
  const count = fresh.filter(Boolean).length;
  const first =
    `At distance ${distance}, ${count} of the ${PAIRS} pairs have an angle that they never ` +
    `had at the trained distances 0 to ${TRAINED - 1}.`;
  if (frequencies === PLAIN) return first;
  const same = divisors[0] === 1;
  return (
    `${first} Per position, pair 0 rotates by ${fixed(frequency[0] * DEGREES, 1)} degrees` +
    `${same ? ", as in training" : ` instead of ${fixed(DEGREES, 1)}`}.`
  );
};

const figure = {
  name: "angles",
  lead: ["frequencies"],
  card: { part: ".av-angles", box: "0 10 320 124" },
  controls: [
    {
      key: "distance",
      kind: "range",
      label: "distance",
      first: 48,
      about: "Positions between a query and a key",
      min: 0,
      max: MOST,
      step: 1,
    },
    {
      key: "frequencies",
      kind: "choice",
      label: "frequencies",
      first: PLAIN,
      about: "How the pairs rotate",
      options: Object.keys(rescaled),
    },
    {
      key: "factor",
      kind: "power",
      label: "rescaled by the factor",
      first: 8,
      about: "How many times longer texts the frequencies are rescaled for",
      min: 1,
      max: 8,
      when: ({ frequencies }) => frequencies !== PLAIN,
    },
  ],
  compute: ({ distance, frequencies, factor }) => {
    const theta = power(BASE);
    const frequency = rescaled[frequencies](theta, factor);
    const arcs = theta.map((x) => Math.min(TRAINED * x, CIRCLE));
    const angles = frequency.map((x) => distance * x);
    return {
      frequency,
      divisors: theta.map((x, i) => x / frequency[i]),
      angles,
      before: theta.map((x) => distance * x),
      arcs,
      fresh: angles.map((angle, i) => isNew(angle, arcs[i])),
      runs: frequency.flatMap((x, i) => runsOf(i, x, arcs[i])),
    };
  },
  view: (state, values, own, narrow) => {
    const page = narrow ? NARROW : WIDE;
    const { angles, before, arcs, fresh, divisors } = values;
    const dials = angles.map((angle, i) =>
      dial(
        i,
        {
          angle,
          before: before[i],
          arc: arcs[i],
          fresh: fresh[i],
          divisor: state.frequencies === PLAIN ? null : divisors[i],
        },
        page,
      ),
    );
    const count = fresh.filter(Boolean).length;
    const label =
      `The angle of each of ${PAIRS} pairs at distance ${state.distance}: ${count} new, the ` +
      `others among the angles of training`;
    return (
      `<svg class="av-angles" role="img" aria-label="${label}" viewBox="0 0 ${page.width} ` +
      `${page.axis + 50}">` +
      `${dials.join("")}${strip(values.runs, state.distance, page)}</svg>${say(sentence(state, values))}`
    );
  },
  handles: ({ distance }, values, own, narrow) => {
    const { px, axis, left, unit } = narrow ? NARROW : WIDE;
    return [
      {
        id: "distance",
        name: "distance between query and key",
        at: [px(distance + 0.5), axis],
        keys: ["distance"],
        read: ([x]) => ({ distance: (x - left) / unit - 0.5 }),
      },
    ];
  },
  opening: { from: [{ distance: 0 }], ms: 3000 },
};

export default figureModule(figure);
