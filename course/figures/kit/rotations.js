// How far each pair of a head's columns rotates per position, and YaRN.

import { range } from "./numbers.js";

export const PAIRS = 8; // of the columns of a head
export const TRAINED = 32; // positions, so distances 0 to 31
export const CIRCLE = 2 * Math.PI;

// The rotation of each pair; 0 for those after the pairs that rotate.
export const power = (base, pairs = PAIRS) =>
  range(PAIRS).map((i) => (i < pairs ? base ** (-i / pairs) : 0));
// YaRN as in its authors' code: the share of each frequency that is kept falls
// linearly from the pair that completes 32 rotations in training to the pair that
// completes one.
const kept = (base) => {
  const pair = (rotations) => (PAIRS * Math.log(TRAINED / (CIRCLE * rotations))) / Math.log(base);
  const first = Math.max(Math.floor(pair(32)), 0);
  const last = Math.min(Math.ceil(pair(1)), 2 * PAIRS - 1);
  return range(PAIRS).map((i) => 1 - Math.min(Math.max((i - first) / (last - first), 0), 1));
};
export const slowed = (theta, factor, base) => {
  const share = kept(base);
  return theta.map((x, i) => share[i] * x + ((1 - share[i]) * x) / factor);
};
