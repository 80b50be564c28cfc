// A quantisation block of a file: 32 parameters in 20 bytes.
//
// Four bytes hold the scale and the minimum as 16-bit floats. Each of the other
// 16 bytes holds the codes of two parameters, with four bits each.

import { fixed, range } from "../kit/numbers.js";
import { escape } from "../kit/svg.js";
import { figureModule, say } from "../kit/common.js";
import { grip } from "../kit/handles.js";

// The first block of three matrices of SmolLM2-135M-Instruct, byte by byte;
// tests/figures/test_fileblock.py compares them with the file.
const BLOCKS = {
  "W_Q of layer 0": "0f 30 d8 b9 45 87 65 40 6f 65 16 4b 67 76 64 50 22 67 65 5a",
  "W_1 of layer 0": "22 2a 40 b5 d7 7b 8a 42 57 d1 64 65 c7 89 53 8c 04 e1 fa b2",
  "W_K of layer 29": "6f 23 28 af 1c b8 9a 59 48 b0 34 e6 a7 ae b7 db 58 3d 6d 6f",
};
const PAIRS = 16;
const BITS = [8, 4, 2, 1];

// The form is drawn for an invalid state as well, beside the message that refuses
// it.
const bytesOf = ({ block }) =>
  (BLOCKS[block] ?? Object.values(BLOCKS)[0]).split(" ").map((hex) => parseInt(hex, 16));
const byteHex = (byte) => byte.toString(16).padStart(2, "0");
// A 16-bit float: a sign bit, five bits of exponent, and ten bits of fraction.
const half = (low, high) => {
  const exponent = (high >> 2) & 31;
  const fraction = ((high & 3) * 256 + low) / 1024;
  const size = exponent ? (1 + fraction) * 2 ** (exponent - 15) : fraction * 2 ** -14;
  return high & 128 ? -size : size;
};
// The codes in the order of the file: the low halves of the bytes, then the high
// halves.
const storedOf = (state) => {
  const pairs = bytesOf(state).slice(4);
  return [...pairs.map((byte) => byte & 15), ...pairs.map((byte) => byte >> 4)];
};
const codesOf = (state) => storedOf(state).map((q, i) => (i === state.at ? state.code : q));

// --- drawing -------------------------------------------------------------

const DRAWING = { width: 360, height: 362, left: 38, column: 20, level: 6 };
const { left, column, level } = DRAWING;
const CHARTS = [158, 298]; // where code 0 is drawn, above and below the bytes
const BYTES = { y: 172, height: 24 };
const xOf = (i) => left + (i % PAIRS) * column + column / 2;
const yOf = (i, q) => CHARTS[i < PAIRS ? 0 : 1] - level * q;

const text = (words, x, y, anchor = "start", kind = "") =>
  `<text${kind && ` class="${kind}"`} x="${x}" y="${y}" text-anchor="${anchor}">` +
  `${escape(words)}</text>`;
const box = (x, y, width, height, kind = "") =>
  `<rect class="av-byte${kind}" x="${x}" y="${y}" width="${width}" height="${height}"/>`;

const firstBytes = (state, { scale, minimum }) => {
  const hex = bytesOf(state).slice(0, 4).map(byteHex);
  const pair = (k, x) =>
    [0, 1]
      .map((j) => box(x + 20 * j, 24, 20, 22) + text(hex[k + j], x + 20 * j + 10, 40, "middle"))
      .join("");
  return (
    text("20 bytes of the file, in hexadecimal", 4, 14) +
    pair(0, 4) +
    text(`scale ${fixed(scale, 5)}`, 50, 40) +
    pair(2, 176) +
    text(`minimum ${fixed(minimum, 5)}`, 222, 40)
  );
};
const levels = (k, values) => {
  const [low, high] = [values.minimum, values.minimum + 15 * values.scale];
  const lines = range(16)
    .map((q) => `M${left} ${CHARTS[k] - level * q}h${PAIRS * column}`)
    .join("");
  return (
    `<path class="av-level" d="${lines}"/>` +
    text(fixed(high), left - 4, CHARTS[k] - 15 * level + 4, "end", "av-limit") +
    text(fixed(low), left - 4, CHARTS[k] + 4, "end", "av-limit")
  );
};
// A column with its dot, beside the hexadecimal digit of its byte.
const parameter = (i, codes, at) => {
  const [x, y] = [xOf(i), yOf(i, codes[i])];
  const base = yOf(i, 0);
  const byte = codes[(i % PAIRS) + PAIRS] * 16 + codes[i % PAIRS];
  const digit = byteHex(byte)[i < PAIRS ? 1 : 0];
  const near = x + (i < PAIRS ? 4 : -4);
  const here = i === at ? " av-here" : "";
  return (
    `<g class="av-parameter${here}" data-handle="p${i}">` +
    `<rect class="av-room" x="${x - column / 2}" y="${base - 16 * level}" ` +
    `width="${column}" height="${17 * level}"/>` +
    `<path class="av-stem" d="M${x} ${base}V${y}"/>` +
    (here ? "" : `<circle class="av-dot" cx="${x}" cy="${y}" r="4"/>`) +
    text(digit, near, BYTES.y + 17, "middle") +
    "</g>"
  );
};
const bits = (code) =>
  BITS.map((worth, k) => {
    const on = (code & worth) > 0;
    const x = 4 + 30 * k;
    return (
      grip(
        `b${worth}`,
        [x + 13, 330],
        `<g class="av-bit${on ? " av-on" : ""}">` +
          `${box(-13, -14, 26, 28)}${text(String(Number(on)), 0, 5, "middle")}</g>`,
      ) + text(worth, x + 13, 357, "middle", "av-worth")
    );
  }).join("");

const drawing = (state, values) => {
  const { codes, scale, minimum, value } = values;
  const { at } = state;
  const boxes = range(PAIRS)
    .map((i) => box(left + i * column, BYTES.y, column, BYTES.height))
    .join("");
  const worths = BITS.filter((worth) => codes[at] & worth);
  const code =
    worths.length > 1 ? `${worths.join(" + ")} = code ${codes[at]}` : `code ${codes[at]}`;
  const sum =
    `${fixed(scale, 5)} × ${codes[at]} ${minimum < 0 ? "−" : "+"} ` +
    `${fixed(Math.abs(minimum), 5)} ≈ ${fixed(value, 3)}`;
  return (
    '<svg class="av-fileblock" role="img" aria-label="The 20 bytes of a quantisation block, ' +
    'and its 32 parameters on 16 levels" ' +
    `viewBox="0 0 ${DRAWING.width} ${DRAWING.height}">` +
    firstBytes(state, values) +
    levels(0, values) +
    levels(1, values) +
    boxes +
    range(2 * PAIRS)
      .map((i) => parameter(i, codes, at))
      .join("") +
    grip("code", [xOf(at), yOf(at, codes[at])], '<circle class="av-pointer" r="6"/>') +
    bits(codes[at]) +
    text(code, 132, 328, "start", "av-code") +
    text(sum, 132, 346, "start", "av-formula") +
    text("value", left - 4, 58, "end") +
    text(`parameters 0 to ${PAIRS - 1}`, 198, 58, "middle", "av-which") +
    text(`parameters ${PAIRS} to ${2 * PAIRS - 1}`, 198, 312, "middle", "av-which") +
    "</svg>"
  );
};

const figure = {
  name: "fileblock",
  card: { part: ".av-fileblock", box: "34 60 326 112" },
  controls: [
    {
      key: "block",
      kind: "choice",
      label: "matrix",
      first: "W_Q of layer 0",
      about: "The matrix whose first quantisation block is shown",
      options: Object.keys(BLOCKS),
    },
    {
      key: "at",
      kind: "range",
      label: "parameter",
      first: 7,
      about: "Which of the 32 parameters is taken in hand",
      min: 0,
      max: 31,
      step: 1,
    },
    {
      key: "code",
      kind: "range",
      label: "its code",
      first: 11,
      about: "The four bits of that parameter as a number, in place of those of the file",
      min: 0,
      max: 15,
      step: 1,
    },
  ],

  // A newly chosen parameter starts with the bits that the file has for it, as the
  // sentence says anyway.
  fit: (state, moved) => {
    if (!["block", "at"].includes(moved)) return null;
    const code = storedOf(state)[state.at];
    return code === state.code || code === undefined ? null : { settings: { code }, says: "" };
  },
  opening: { from: [{ code: 0 }, { code: 15 }], ms: 4000 },
  handles: (state, { codes }) => [
    ...codes.map((code, i) => ({
      id: `p${i}`,
      name: `parameter ${i}, code ${code}`,
      group: "parameters",
      on: i === state.at,
      press: (now) => ({ at: i, code: i === now.at ? now.code : storedOf(now)[i] }),
    })),
    {
      id: "code",
      name: `code of parameter ${state.at}`,
      keys: ["code"],
      at: [xOf(state.at), yOf(state.at, state.code)],
      read: ([, v]) => ({ code: (yOf(state.at, 0) - v) / level }),
    },
    ...BITS.map((worth) => ({
      id: `b${worth}`,
      name: `bit worth ${worth}`,
      group: "bits",
      on: (state.code & worth) > 0,
      press: (now) => ({ code: now.code ^ worth }),
    })),
  ],
  compute: (state) => {
    const bytes = bytesOf(state);
    const [scale, minimum] = [half(bytes[0], bytes[1]), half(bytes[2], bytes[3])];
    const codes = codesOf(state);
    // Computed as float32, which rounds the sum once, because the product has 15
    // bits.
    const parameters = codes.map((q) => Math.fround(scale * q + minimum));
    return {
      scale,
      minimum,
      codes,
      parameters,
      bits: BITS.map((worth) => Number((state.code & worth) > 0)),
      byte: codes[(state.at % PAIRS) + PAIRS] * 16 + codes[state.at % PAIRS],
      value: parameters[state.at],
      stored: storedOf(state)[state.at],
    };
  },

  view: (state, values) => {
    const { bits: four, stored, scale, minimum, value, byte } = values;
    const { at, code } = state;
    const which = at < PAIRS ? "right" : "left";
    const changed =
      code === stored
        ? ""
        : ` The file has code ${stored}, for ${fixed(Math.fround(scale * stored + minimum), 3)}.`;
    return (
      drawing(state, values) +
      say(
        `Parameter ${at} is the ${which} digit of byte ${byteHex(byte)}. Its bits ${four.join("")} ` +
          `are code ${code}, so it is ${code} scales above the minimum: ` +
          `${fixed(value, 3)}.${changed}`,
      )
    );
  },
};

export default figureModule(figure);
