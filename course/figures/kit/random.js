// Random numbers that a seed determines, in every browser the same.

// Number k of a stream, above 0 and below 1: mulberry32, whose state is a counter.
export const uniform = (seed, k) => {
  let t = seed + Math.imul(k + 1, 0x6d2b79f5);
  t = Math.imul(t ^ (t >>> 15), t | 1);
  t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
  return (((t ^ (t >>> 14)) >>> 0) + 0.5) / 2 ** 32;
};
