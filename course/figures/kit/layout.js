// What a drawing may do to the page: scroll sideways, and get longer or shorter.

const SCROLLS = { tabindex: 0, role: "group", "aria-label": "result, scrolls sideways" };
// Below this width, in CSS pixels, a figure has its narrow drawing.
const NARROW_BELOW = 520;

/**
 * Keep what scrolls reachable with the keyboard, and what stands below in its place.
 *
 * @param {Element} el - the figure
 * @param {Element} result
 * @param {Element} error
 * @returns {{settle: (widen: ?Function) => void, forget: () => void, fit: () => void,
 *   measure: () => boolean, narrow: () => boolean}} `settle` runs after each drawing, and
 *   `forget` lets heights shrink
 *   again; `widen` reads sizes of its own, and returns what writes them; `fit` enlarges the
 *   picture to a full screen
 */
export const layoutOf = (el, result, error) => {
  let kept; // the width at which sentence and message keep their heights
  const settle = (widen) => {
    // All sizes are read before anything is written, because a write in between
    // would force another layout.
    const boxes = [...result.querySelectorAll(".av-wide")];
    const wide = boxes.map(
      (box) => box.scrollWidth > box.clientWidth && getComputedStyle(box).overflowX !== "visible",
    );
    const sentence = result.querySelector(".av-say");
    const lines = [sentence, error].map((part) => [part, part.offsetHeight]);
    const width = el.offsetWidth;
    // A low picture stays in sight beside open settings (figures.css).
    const low = boxes[0]?.offsetHeight <= innerHeight / 2;
    const widened = widen?.();
    el.classList.toggle("av-low", low);
    boxes.forEach((box, i) => {
      for (const [name, value] of Object.entries(SCROLLS)) {
        if (wide[i]) box.setAttribute(name, value);
        else box.removeAttribute(name);
      }
      box.classList.toggle("scrolls", wide[i]);
    });
    // A sentence or message that gets shorter keeps its lines, or what stands
    // below would jump under the hand.
    const keeps = width === kept && el.classList.contains("av-live");
    kept = width;
    for (const [part, height] of lines)
      if (!keeps) part.style.minHeight = "";
      else if (height > parseFloat(part.style.minHeight || 0)) part.style.minHeight = `${height}px`;
    widened?.();
  };
  const fit = () => {
    const { style } = result.querySelector(".av-wide");
    const box = () => result.querySelector(".av-wide").getBoundingClientRect();
    style.zoom = style.maxWidth = "";
    if (document.fullscreenElement !== el) return;
    const { top } = box();
    // What stands below the picture keeps its room.
    const body = el.querySelector(".av-body").getBoundingClientRect();
    const room = innerHeight - top - 16 - Math.max(body.bottom - box().bottom, 0);
    for (let tenths = 20; tenths >= 10; tenths -= 1) {
      style.zoom = tenths / 10;
      if (box().height <= room && result.querySelector(".scrolls") === null) break;
    }
    // What is as wide as its column is as high as it is wide, but for its texts.
    for (let k = 0; k < 8 && box().height > room; k += 1)
      style.maxWidth = `${Math.floor((box().width * room) / box().height)}px`;
  };
  // Measured only when the figure changes its size: in a drawing it would force
  // another layout.
  let narrow;
  const measure = () => (narrow = el.clientWidth > 0 && el.clientWidth < NARROW_BELOW);
  measure();
  return { settle, forget: () => (kept = undefined), fit, measure, narrow: () => narrow };
};
