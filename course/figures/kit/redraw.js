// Change the drawing on a page into the next one, and leave what stays the same:
// the browser styles and lays out only what has changed.
//
// The markup of a drawing is read into a tree of plain objects. To have the
// browser read all of it takes longer than to find what differs.

/**
 * @typedef {object} Drawn
 * @property {string} source - its markup, with all that is in it
 * @property {string} [tag] - none for a text
 * @property {string} [given] - its attributes, as written
 * @property {Drawn[]} children
 */

const MARKUP = /<(\/?)([^\s/>]+)([^>]*)>|[^<]+/g;
const ATTRIBUTE = /([^\s=/]+)(?:="([^"]*)")?/g;
const AHEAD = 60; // how far a node that has moved is looked for
const VOID = ["br", "input"];
const SVG_SPACE = "http://www.w3.org/2000/svg";
const ESCAPES = { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"' };

const unescaped = (text) => text.replace(/&(?:amp|lt|gt|quot);/g, (sign) => ESCAPES[sign]);
const attributesIn = ({ given }) =>
  new Map([...given.matchAll(ATTRIBUTE)].map(([, name, value = ""]) => [name, unescaped(value)]));

// Read markup in which each element is closed, and each value stands in double
// quotes. Return an element without a tag around all.
export const treeOf = (html) => {
  const all = { source: html, children: [] };
  const open = [all];
  for (const { 0: source, 1: closes, 2: tag, 3: given, index } of html.matchAll(MARKUP)) {
    if (closes) {
      const node = open.pop();
      node.source = html.slice(node.start, index + source.length);
      continue;
    }
    const node = { source, tag, given, start: index, children: [] };
    open.at(-1).children.push(node);
    if (tag && !given.endsWith("/") && !VOID.includes(tag)) open.push(node);
  }
  return all;
};

// Make a node that is to be in the element `above`.
const nodeOf = (node, above) => {
  if (!node.tag) return document.createTextNode(unescaped(node.source));
  const it = document.createElementNS(
    node.tag === "svg" ? SVG_SPACE : above.namespaceURI,
    node.tag,
  );
  for (const [name, value] of attributesIn(node)) it.setAttribute(name, value);
  it.append(...node.children.map((child) => nodeOf(child, it)));
  return it;
};

const CLASS_NAME = / class="([^"]*)"/;
const HANDLE_ID = / data-handle="([^"]*)"/;
const differIn = (part, a, b) => a.given?.match(part)?.[1] !== b.given?.match(part)?.[1];
// A handle that is another one has another name, and maybe the focus.
const isOther = (a, b) => a.tag !== b.tag || differIn(HANDLE_ID, a, b);
const isUnlike = (a, b) => isOther(a, b) || differIn(CLASS_NAME, a, b);

// How many nodes after `from` the next one like `node` is.
const wayTo = (node, nodes, from) => {
  const found = nodes.slice(from + 1, from + AHEAD).findIndex((it) => !isUnlike(it, node));
  return found < 0 ? Infinity : found;
};

// Turn what is in the element `live`, which was made from `was`, into `next`. What
// was added to it since stays: attributes, and children behind those of `was`.
export const redraw = (live, was, next) => {
  let here = live.firstChild;
  const [old, made] = [was.children, next.children];
  let [i, k] = [0, 0];
  while (i < old.length || k < made.length) {
    const [before, after] = [old[i], made[k]];
    let [gone, fresh] = [!after, !before];
    const differ = before && after && before.source !== after.source;
    // Where as many are left, one that looks different is the same one.
    const isNew = old.length - i === made.length - k ? isOther : isUnlike;
    if (differ && isNew(before, after)) {
      const [later, earlier] = [wayTo(before, made, k), wayTo(after, old, i)];
      fresh = later <= earlier && later < Infinity;
      gone = earlier < later;
    }
    if (fresh) live.insertBefore(nodeOf(made[k++], live), here);
    else {
      const following = here.nextSibling;
      if (gone) here.remove();
      else k += 1;
      if (differ && !gone) changeInto(here, before, after);
      i += 1;
      here = following;
    }
  }
};

const changeInto = (live, was, next) => {
  if (isOther(was, next)) live.replaceWith(nodeOf(next, live.parentNode));
  else if (!next.tag) live.data = unescaped(next.source);
  else {
    if (was.given !== next.given) changeAttributes(live, was, next);
    redraw(live, was, next);
  }
};

const changeAttributes = (live, was, next) => {
  // Names and values in turns. Mostly the names stay.
  const [old, given] = [was, next].map((node) => node.given.split('"'));
  if (old.length === given.length && given.every((part, n) => n % 2 || part === old[n])) {
    for (let n = 1; n < given.length; n += 2)
      if (given[n] !== old[n])
        live.setAttribute(given[n - 1].match(/[^\s=]+/g).at(-1), unescaped(given[n]));
    return;
  }
  const [before, after] = [attributesIn(was), attributesIn(next)];
  for (const name of before.keys()) if (!after.has(name)) live.removeAttribute(name);
  for (const [name, value] of after) if (value !== before.get(name)) live.setAttribute(name, value);
};
