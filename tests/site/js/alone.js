export const faults = () =>
  [
    document.documentElement.scrollWidth - innerWidth > 0 && "too wide",
    document.querySelector(".av-tools") || "not live",
  ].filter((fault) => typeof fault === "string");

// How much of each picture is cut off at the edge of its own box.
export const cut = () =>
  [...document.querySelectorAll(".av-result .av-wide")].map(
    (box) => box.scrollHeight - box.clientHeight,
  );
