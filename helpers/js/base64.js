// Decode base 64 into bytes. Padding adds bytes at the end, which callers ignore.
// It is a single function because its text is sent to a worker, and it does not
// use atob because not every engine that tests a figure has it.

export const bytesOf = (base64) => {
  const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const found = new Uint8Array((base64.length * 6) / 8);
  let [bits, kept, at] = [0, 0, 0];
  for (const digit of base64) {
    bits = ((bits << 6) | digits.indexOf(digit)) & 0xffff;
    kept += 6;
    if (kept >= 8) found[at++] = bits >> (kept -= 8);
  }
  return found;
};
