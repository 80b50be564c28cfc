// What a browser's storage can be; each runs before the scripts of a page.
const NAMES = ["localStorage", "sessionStorage"];
export const sound = () => {};
export const full = () => {
  for (const storage of NAMES.map((name) => globalThis[name]))
    for (let size = 2 ** 22; size >= 1; size /= 2)
      for (let n = 0; n < 99; n += 1)
        try {
          storage.setItem(`${size}.${n}`, "x".repeat(size));
        } catch {
          break;
        }
};
const instead = (get) => {
  for (const name of NAMES) Object.defineProperty(globalThis, name, { configurable: true, get });
};
export const none = () => instead(() => null);
export const blocked = () =>
  instead(() => {
    throw new DOMException("no", "SecurityError");
  });
// Some of its functions fail.
export const failing = (functions) => {
  for (const name of functions)
    Storage.prototype[name] = () => {
      throw new DOMException("no");
    };
};
// Another program has left texts of its own.
export const holding = (keys, text) => {
  for (const storage of NAMES.map((name) => globalThis[name]))
    for (const key of keys) storage.setItem(key, text);
};
