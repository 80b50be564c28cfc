export const notes = () =>
  [...document.querySelectorAll(".noted")].map((box) => {
    const [text, note] = [...box.querySelectorAll("p")].map((p) => p.getBoundingClientRect());
    return { text, note, room: document.documentElement.clientWidth };
  });

// Folds are opened: a figure in one is read as any other.
export const figures = () => {
  for (const fold of document.querySelectorAll("details")) fold.open = true;
  const shown = [...document.querySelectorAll(".figure svg")].filter((it) => it.checkVisibility());
  return shown.map((svg) => {
    const { width, left, right } = svg.getBoundingClientRect();
    const scale = width / svg.viewBox.baseVal.width;
    const sizes = [...svg.querySelectorAll("text, tspan")].map(
      (text) => parseFloat(getComputedStyle(text).fontSize) * scale,
    );
    return { width, left, right, least: Math.min(...sizes) };
  });
};
