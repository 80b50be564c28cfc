// A browser may lack storage or block it, and what is there may be full or broken. Then a page
// keeps what its scripts store for as long as it is open.
{
  const kept = new Map();
  const { getItem, setItem, removeItem } = Storage.prototype;
  Object.assign(Storage.prototype, {
    getItem(key) {
      try { return kept.get(key) ?? getItem.call(this, key) } catch { return null }
    },
    setItem(key, text) {
      kept.delete(key);
      try { setItem.call(this, key, text) } catch {
        kept.set(key, `${text}`);
        document.documentElement.dataset.kept = "no";
      }
    },
    removeItem(key) {
      kept.delete(key);
      try { removeItem.call(this, key) } catch {}
    },
  });
  for (const name of ["localStorage", "sessionStorage"]) {
    let there = null;
    try { there = window[name] } catch {}
    if (!there) Object.defineProperty(window, name, { value: Object.create(Storage.prototype) });
  }
}
// Set before the first paint, because the theme's scripts run late.
{
  const kept = localStorage.getItem("mode");
  const mode = ["light", "dark"].includes(kept) ? kept : "auto";
  if (mode !== kept) localStorage.removeItem("mode");
  const auto = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  Object.assign(document.documentElement.dataset, { mode, theme: mode === "auto" ? auto : mode });
}
