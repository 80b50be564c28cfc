// If cookies are blocked, reading the storage raises an error.
try { localStorage; sessionStorage } catch {
  for (const name of ["localStorage", "sessionStorage"])
    Object.defineProperty(window, name, { value: { getItem: () => null, setItem() {}, removeItem() {} } });
}
// Set before the first paint, because the theme's scripts run late.
{
  const mode = localStorage.getItem("mode") || "auto";
  const auto = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  Object.assign(document.documentElement.dataset, { mode, theme: mode === "auto" ? auto : mode });
}
