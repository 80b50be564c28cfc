// Numbers: rows and matrices, and how numbers are written.

// The weights of one row, all zeros if nothing is allowed, as in helpers.softmax.
export const softmax = (row, may = row.map(() => true)) => {
  const top = Math.max(...row.filter((x, i) => may[i]));
  if (!(top > -Infinity)) return row.map(() => 0);
  const exp = row.map((x, i) => (may[i] ? Math.exp(x - top) : 0));
  const total = exp.reduce((a, b) => a + b, 0);
  return exp.map((x) => x / total);
};
export const dot = (a, b) => {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
};
export const transpose = (A) => A[0].map((_, j) => A.map((row) => row[j]));
export const matmul = (A, B) => {
  const columns = transpose(B);
  return A.map((row) => columns.map((column) => dot(row, column)));
};
export const entropy = (row) => -row.reduce((sum, w) => sum + (w > 0 ? w * Math.log(w) : 0), 0);
export const sum = (row) => row.reduce((a, b) => a + b, 0);
export const range = (n) => Array.from({ length: n }, (_, i) => i);

// Group the digits before the decimal point by thousands.
export const grouped = (x) =>
  String(x).replace(/^(-?)(\d{4,})/, (_, sign, digits) => sign + whole(digits));
export const fixed = (x, digits = 2) =>
  x === -Infinity
    ? "−∞"
    : grouped(x.toFixed(digits))
        .replace(/^-(0(\.0*)?)$/, "$1")
        .replace("-", "−");
export const tick = (x) => grouped(+x.toPrecision(3)).replace("-", "−");
export const setting = (x) => grouped(+x.toFixed(4)).replace("-", "−");
export const whole = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ",");
export const count = (n, thing) => `${whole(n)} ${thing}${n === 1 ? "" : "s"}`;
// Three digits and a unit, rounded first, so that 999,700 is 1 M instead of 1000
// K.
const THOUSANDS = ["", " K", " M", " G", " T", " P"];
export const inUnits = (n) => {
  const k = THOUSANDS.filter((_, i) => i && +n.toPrecision(3) >= 1000 ** i).length;
  return `${tick(n / 1000 ** k)}${THOUSANDS[k]}`;
};

// "a", "a and b", "a, b and c".
export const inWords = (words) =>
  words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
