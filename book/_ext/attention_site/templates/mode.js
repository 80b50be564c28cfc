// Where cookies are blocked, reading the storage stops a script.
try { localStorage; sessionStorage } catch {
  for (const name of ["localStorage", "sessionStorage"])
    Object.defineProperty(window, name, { value: { getItem: () => null, setItem() {}, removeItem() {} } });
}
// Before the first paint: the theme's scripts come late.
{
  const mode = localStorage.getItem("mode") || "auto";
  const auto = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  Object.assign(document.documentElement.dataset, { mode, theme: mode === "auto" ? auto : mode });
}
