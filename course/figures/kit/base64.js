// Decode base 64 into bytes. Padding adds bytes at the end, which callers ignore.
// It is a single function because its text is sent to a worker, and it does not
// use atob because not every engine that tests a figure has it.

export const bytesOf = (base64) => {
  const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const worth = new Uint8Array(128); // of each digit, by its character code
  for (let k = 0; k < digits.length; k++) worth[digits.charCodeAt(k)] = k;
  const found = new Uint8Array((base64.length * 6) / 8);
  let [bits, kept, at] = [0, 0, 0];
  for (let k = 0; k < base64.length; k++) {
    bits = ((bits << 6) | worth[base64.charCodeAt(k)]) & 0xffff;
    kept += 6;
    if (kept >= 8) found[at++] = bits >> (kept -= 8);
  }
  return found;
};
