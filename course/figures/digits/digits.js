// A printed number and a computed one: are the printed digits right?

import { fixed, range, whole } from "../kit/numbers.js";
import { escape } from "../kit/svg.js";
import { figureModule, say } from "../kit/common.js";
import { grip } from "../kit/handles.js";

// The exact count, and what a source prints of it: a mantissa times a power of
// ten, in units of a power of 1,000.
const EXAMPLES = {
  "2,048 tokens: 1.6 GB": { counted: 1_677_721_600, mantissa: 16, exponent: -1, power: 3 },
  "a token: 800 KB": { counted: 819_200, mantissa: 800, exponent: 0, power: 1 },
  "parameters: 26 GB": { counted: 25_700_000_000, mantissa: 26, exponent: 0, power: 3 },
  "163,840 bytes: 160 kB": { counted: 163_840, mantissa: 160, exponent: 0, power: 1 },
  "96 matrices: 1.5 GB": { counted: 96 * 2 ** 24, mantissa: 15, exponent: -1, power: 3 },
  "384 heads: ~400 GFLOP": {
    counted: 384 * 2 ** 30,
    mantissa: 4,
    exponent: 2,
    power: 3,
    operations: true,
  },
};
const UNITS = ["decimal", "binary"];
const COUNTS = ["FLOPs", "multiply-adds"];
// The form is drawn for an invalid state as well, beside the message that refuses
// it.
const nameOf = ({ example }) => (example in EXAMPLES ? example : Object.keys(EXAMPLES)[0]);
const example = (state) => EXAMPLES[nameOf(state)];
const unitOf = (state) => nameOf(state).split(" ").at(-1);
const isAbout = (state) => nameOf(state).includes("~");
const lengthOf = (state) => String(example(state).mantissa).length;

// The digits that a printed number keeps, and how large one unit of the last is.
const printedOf = (state) => {
  const { mantissa, exponent } = example(state);
  const cut = Math.max(lengthOf(state) - state.digits, 0);
  return { m: Math.round(mantissa / 10 ** cut), e: exponent + cut };
};
const divisorOf = (state) => {
  const { power, operations } = example(state);
  if (operations) return 1000 ** power * (state.counts === "multiply-adds" ? 2 : 1);
  return (state.prefix === "binary" ? 1024 : 1000) ** power;
};

// The distance of the value from the printed number, in units of its last digit:
// a fraction of whole numbers, which are exact.
const missOf = (state, shift) => {
  const { m, e } = printedOf(state);
  const up = 10n ** BigInt(Math.max(e, 0));
  const down = 10n ** BigInt(Math.max(-e, 0));
  const div = BigInt(divisorOf(state));
  const one = 100n * up * div;
  const value = BigInt(example(state).counted) * 100n * down + BigInt(shift) * up * div;
  return [value - BigInt(m) * one, one];
};
const asNumber = ([a, b]) => Number(a) / Number(b);

// --- drawing -------------------------------------------------------------

const RULER = { width: 360, height: 128, left: 30, right: 330, y: 74 };
const decimals = (e, more) => Math.max(more - e, 0);
const written = (m, e, more = 0) => fixed(m * 10 ** e, decimals(e, more));
// The line extends as far as the shift can move the value, on both sides.
const reachOf = (state) => {
  const base = Math.abs(asNumber(missOf(state, 0)));
  return [4, 8].find((far) => base + 3 <= far) ?? 24;
};
const placeAt = (off, far) => RULER.left + ((off + far) / (2 * far)) * (RULER.right - RULER.left);

const ruler = (state, { off, reproduced }) => {
  const { m, e } = printedOf(state);
  const far = reachOf(state);
  const x = (units) => +placeAt(units, far).toFixed(3);
  const y = RULER.y;
  const text = (words, at, up, kind = "") =>
    `<text${kind && ` class="${kind}"`} x="${at}" y="${up}" text-anchor="middle">${escape(words)}` +
    "</text>";
  const ticks = range(9).map((k) => ((k - 4) * far) / 4);
  const label =
    "A number line with the printed number, half a unit of its last digit to either side, " +
    "and the computed value";
  return (
    `<svg class="av-ruler" role="img" aria-label="${label}" ` +
    `viewBox="0 0 ${RULER.width} ${RULER.height}">` +
    `<rect class="av-band${reproduced ? " av-inside" : ""}" x="${x(-0.5)}" y="${y - 26}" ` +
    `width="${+(x(0.5) - x(-0.5)).toFixed(3)}" height="38"/>` +
    `<path class="av-axis-line" d="M${RULER.left} ${y}H${RULER.right}"/>` +
    ticks.map((k) => `<path class="av-ruler-tick" d="M${x(k)} ${y - 4}v8"/>`).join("") +
    ticks
      .filter((_, k) => k % 2 === 0)
      .map((k) => text(written(m + k, e), x(k), y + 28))
      .join("") +
    text(
      `printed: ${isAbout(state) ? "~" : ""}${written(m, e)} ${unitOf(state)}`,
      x(0),
      y + 46,
      "av-printed",
    ) +
    text(
      `computed: ${written(m + off, e, 3)} ${unitOf(state)}`,
      Math.min(Math.max(x(off), 70), 290),
      y - 38,
      "av-computed",
    ) +
    grip("value", [x(off), y], '<circle class="av-pointer" r="8"/>') +
    "</svg>"
  );
};

const choice = (key, label, first, about, options, when) => ({
  key,
  kind: "choice",
  label,
  first,
  about,
  options,
  ...(when && { when }),
});
const ofBytes = (state) => !example(state).operations;

const figure = {
  name: "digits",
  card: { part: ".av-ruler" },
  lead: ["example", "prefix"],
  controls: [
    choice(
      "example",
      "printed number",
      "2,048 tokens: 1.6 GB",
      "What is counted, and what a source prints of it",
      Object.keys(EXAMPLES),
    ),
    choice(
      "prefix",
      "its K or G is",
      "binary",
      "Whether K and G are powers of 1,000 or of 1,024",
      UNITS,
      ofBytes,
    ),
    choice(
      "counts",
      "it counts",
      "FLOPs",
      "Whether a multiplication and an addition count as two or as one",
      COUNTS,
      (state) => !ofBytes(state),
    ),
    {
      key: "digits",
      kind: "range",
      label: "digits that are printed",
      first: 3,
      about: "To how many digits the printed number is cut; more than it has count as all",
      min: 1,
      max: 3,
      step: 1,
      upTo: lengthOf,
      when: (state) => lengthOf(state) > 1,
    },
    {
      key: "shift",
      kind: "range",
      label: "moved, in hundredths",
      first: 0,
      about: "What is added to the computed value, in hundredths of the last printed digit",
      min: -300,
      max: 300,
      step: 1,
    },
  ],

  // The value moves into the band, and then its unit changes.
  opening: { from: [{ prefix: "decimal" }, { prefix: "decimal", shift: -28 }], ms: 4500 },
  handles: (state, { off }) => [
    {
      id: "value",
      name: "computed value",
      keys: ["shift"],
      at: [placeAt(off, reachOf(state)), RULER.y],
      read: ([u]) => {
        const far = reachOf(state);
        const wished = ((u - RULER.left) / (RULER.right - RULER.left)) * 2 * far - far;
        return { shift: state.shift + 100 * (wished - off) };
      },
    },
  ],
  compute: (state) => {
    const { m, e } = printedOf(state);
    const [miss, one] = missOf(state, state.shift);
    const twice = 2n * (miss < 0n ? -miss : miss);
    const off = asNumber([miss, one]);
    return {
      printed: m * 10 ** e,
      unit: 10 ** e,
      value: (m + off) * 10 ** e,
      off,
      reproduced: Number(twice <= one),
      tie: Number(twice === one),
    };
  },

  view: (state, values) => {
    const { m, e } = printedOf(state);
    const { counted } = example(state);
    const { off, reproduced, tie } = values;
    const what = ofBytes(state) ? "bytes" : "FLOPs";
    const unit = ofBytes(state) ? `${state.prefix} units` : `thousand millions of ${state.counts}`;
    const moved = state.shift
      ? `, moved by ${fixed(state.shift / 100)} units of the last digit,`
      : "";
    const verdict = tie
      ? "exactly half a unit away, which counts as reproduced"
      : `${fixed(Math.abs(off), 3)} units of the last digit away: ` +
        `${reproduced ? "reproduced" : "not reproduced"}`;
    return (
      ruler(state, values) +
      say(
        `Printed as ${isAbout(state) ? "about " : ""}${written(m, e)}, values from ` +
          `${written(m - 0.5, e, 1)} to ${written(m + 0.5, e, 1)} are right. ${whole(counted)} ${what} in ${unit}${moved} are ` +
          `${written(m + off, e, 3)}, ${verdict}.`,
      )
    );
  },
};

export default figureModule(figure);
