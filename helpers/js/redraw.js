// Change the drawing on a page into the next one, and leave what stays the same:
// the browser styles and lays out only what has changed.

// Turn the node `live`, which was made from `was`, into `next`. What was added to
// it since stays: attributes, and children behind those of `was`.
export const redraw = (live, was, next) => {
  if (was.isEqualNode(next)) return;
  if (was.nodeType === Node.TEXT_NODE && next.nodeType === Node.TEXT_NODE) {
    live.data = next.data;
    return;
  }
  // A handle that is another one has another name, and maybe the focus.
  const same = was.nodeName === next.nodeName && was.dataset?.handle === next.dataset?.handle;
  if (!same) {
    live.replaceWith(next.cloneNode(true));
    return;
  }
  redrawAttributes(live, was, next);
  redrawChildren(live, was, next);
};

const redrawAttributes = (live, was, next) => {
  for (const name of was.getAttributeNames?.() ?? [])
    if (!next.hasAttribute(name)) live.removeAttribute(name);
  for (const name of next.getAttributeNames?.() ?? []) {
    const value = next.getAttribute(name);
    if (value !== was.getAttribute(name)) live.setAttribute(name, value);
  }
};

const redrawChildren = (live, was, next) => {
  let [here, before] = [live.firstChild, was.firstChild];
  for (let child = next.firstChild; child; child = child.nextSibling) {
    if (!before) {
      live.insertBefore(child.cloneNode(true), here);
      continue;
    }
    const after = here.nextSibling;
    redraw(here, before, child);
    [here, before] = [after, before.nextSibling];
  }
  for (; before; before = before.nextSibling) {
    const after = here.nextSibling;
    here.remove();
    here = after;
  }
};
