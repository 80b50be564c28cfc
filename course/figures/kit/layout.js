// What a drawing may do to the page: scroll sideways, and get longer or shorter.

const SCROLLS = { tabindex: 0, role: "group", "aria-label": "result, scrolls sideways" };

/**
 * Keep what scrolls reachable with the keyboard, and what stands below in its place.
 *
 * @param {Element} el - the figure
 * @param {Element} result
 * @param {Element} error
 * @returns {{settle: (widen: ?Function) => void, forget: () => void}} `settle` runs after each
 *   drawing, and `forget` lets heights shrink again; `widen` reads sizes of its own, and returns
 *   what writes them
 */
export const layoutOf = (el, result, error) => {
  let kept; // the width at which sentence and message keep their heights
  const settle = (widen) => {
    // All sizes are read before anything is written, because a write in between
    // would force another layout.
    const boxes = [...result.querySelectorAll(".av-wide, .av-step > div")];
    const wide = boxes.map(
      (box) => box.scrollWidth > box.clientWidth && getComputedStyle(box).overflowX !== "visible",
    );
    const sentence = result.querySelector(".av-say");
    const lines = [sentence, error].map((part) => [part, part.offsetHeight]);
    const width = el.offsetWidth;
    const more = lines[0][1] - 2.7 * parseFloat(getComputedStyle(sentence).fontSize);
    const widened = widen?.();
    boxes.forEach((box, i) => {
      for (const [name, value] of Object.entries(SCROLLS)) {
        if (wide[i]) box.setAttribute(name, value);
        else box.removeAttribute(name);
      }
      box.classList.toggle("scrolls", wide[i]);
    });
    // On a phone, two lines of the sentence stay in sight; the rest is below the
    // edge until the reader scrolls there.
    sentence.style.setProperty("--av-more", `${Math.max(more, 0).toFixed(1)}px`);
    // A sentence or message that gets shorter keeps its lines, or what stands
    // below would jump under the hand.
    const keeps = width === kept && el.classList.contains("av-live");
    kept = width;
    for (const [part, height] of lines)
      if (!keeps) part.style.minHeight = "";
      else if (height > parseFloat(part.style.minHeight || 0)) part.style.minHeight = `${height}px`;
    widened?.();
  };
  return { settle, forget: () => (kept = undefined) };
};
