// A page of a few elements, with what the scripts of the site ask of one.
// A selector is a list of compounds such as `table.entries th`, and an
// element finds what stands below it, as in a browser.
class Element {
  constructor(tag, attributes = {}, ...children) {
    Object.assign(this, { tag, attributes: {}, dataset: {}, children: [], parentNode: null });
    this.hidden = false;
    this.listeners = {};
    this.className = "";
    for (const [name, value] of Object.entries(attributes)) this.setAttribute(name, value);
    this.append(...children);
  }
  setAttribute(name, value) {
    this.attributes[name] = String(value);
    if (name === "class") this.className = value;
    if (name.startsWith("data-")) this.dataset[name.slice(5)] = value;
  }
  getAttribute(name) {
    return this.attributes[name] ?? null;
  }
  removeAttribute(name) {
    delete this.attributes[name];
    if (name === "tabindex") delete this.tabIndex;
  }
  append(...children) {
    for (const child of children) {
      if (child instanceof Element) {
        child.remove();
        child.parentNode = this;
      }
      this.children.push(child);
    }
  }
  before(other) {
    const all = this.parentNode.children;
    all.splice(all.indexOf(this), 0, other);
    other.parentNode = this.parentNode;
  }
  remove() {
    const all = this.parentNode?.children;
    if (all) all.splice(all.indexOf(this), 1);
  }
  get textContent() {
    return this.children.map((child) => child.textContent ?? child).join("");
  }
  set textContent(text) {
    this.children = [text];
  }
  get classList() {
    const named = new Set(this.className.split(" ").filter(Boolean));
    return {
      toggle: (name, on) => {
        if (on) named.add(name);
        else named.delete(name);
        this.className = [...named].join(" ");
      },
    };
  }
  matches(selector) {
    return selector.split(",").some((one) => {
      const parts = one.trim().split(/\s+/);
      if (!this.is(parts.pop())) return false;
      let above = this.parentNode;
      while (parts.length && above) {
        if (above.is(parts.at(-1))) parts.pop();
        above = above.parentNode;
      }
      return !parts.length;
    });
  }
  is(compound) {
    const kinds = this.className.split(" ");
    const found = compound.match(/:not\(\[[^\]]+\]\)|[.:]?[\w-]+|\[[^\]]+\]/g) ?? [];
    if (found.join("") !== compound) throw new SyntaxError(`no selector: ${compound}`);
    return found.every((part) => {
      if (part === ":last-child") return this.parentNode.children.at(-1) === this;
      if (part.startsWith(":not(")) return !this.is(part.slice(5, -1));
      if (part[0] === ".") return kinds.includes(part.slice(1));
      if (part[0] !== "[") return this.tag === part;
      const [name, value] = part.slice(1, -1).split("=");
      const has = this.attributes[name];
      return has !== undefined && (value === undefined || `"${has}"` === value);
    });
  }
  get hash() {
    return this.attributes.href.replace(/^[^#]*/, "");
  }
  contains(other) {
    return other === this || this.all().includes(other);
  }
  closest(selector) {
    return this.matches(selector) ? this : (this.parentNode?.closest(selector) ?? null);
  }
  all() {
    return this.children.flatMap((child) =>
      child instanceof Element ? [child, ...child.all()] : [],
    );
  }
  querySelectorAll(selector) {
    return this.all().filter((part) => part.matches(selector));
  }
  querySelector(selector) {
    return this.querySelectorAll(selector)[0] ?? null;
  }
  addEventListener(name, listener) {
    (this.listeners[name] ??= []).push(listener);
  }
  tell(name, event = {}) {
    for (const listener of this.listeners[name] ?? []) listener(event);
  }
  // Of tables, fields and options.
  get tBodies() {
    return this.children.filter((part) => part.tag === "tbody");
  }
  get rows() {
    return this.querySelectorAll("tr");
  }
  get cells() {
    return this.children;
  }
  get cellIndex() {
    return this.parentNode.children.indexOf(this);
  }
  add(option) {
    this.append(option);
    this.choose(0);
  }
  choose(index) {
    this.selectedIndex = index;
    this.value = this.children[index].textContent;
  }
}

const make = (tag, attributes, ...children) => new Element(tag, attributes, ...children);
const rowOf = (tag, ...texts) =>
  make("tr", {}, ...texts.map((text) => (text.tag ? text : make(tag, {}, text))));
const Option = function Option(text) {
  return make("option", {}, text);
};
const page = (address, navigation, ...children) => {
  const head = make("head");
  const document = make("html", {}, head, make("body", {}, ...children));
  document.head = head;
  document.getElementById = (id) =>
    document.all().find((part) => part.getAttribute("id") === id) ?? null;
  document.createElement = (tag) => {
    const made = make(tag);
    if (tag === "input") made.value = "";
    return made;
  };
  document.currentScript = { src: "http://book.test/_static/site.js" };
  const [search, hash] = address.split("#");
  const observers = [];
  Object.assign(globalThis, {
    document,
    observers,
    location: { search, hash: hash ? `#${hash}` : "" },
    performance: {
      getEntriesByType: (kind) =>
        kind === "navigation" && navigation ? [{ type: navigation }] : [],
    },
    CSS: { escape: (text) => text },
    URL: class {
      constructor(path, base) {
        this.href = base.replace(/[^/]*$/, path);
      }
      toString() {
        return this.href;
      }
    },
    URLSearchParams: class {
      constructor(text) {
        this.names = text.replace("?", "").split("&").filter(Boolean);
      }
      keys() {
        return this.names.map((pair) => pair.split("=")[0])[Symbol.iterator]();
      }
    },
    IntersectionObserver: class {
      constructor(seen, options) {
        this.see = (entries) => seen(entries);
        this.options = options;
        this.watched = new Set();
        observers.push(this);
        globalThis.observer = this; // the last one: that of figures
      }
      observe(el) {
        this.watched.add(el);
      }
      unobserve(el) {
        this.watched.delete(el);
      }
    },
    addEventListener: (name, listener) => document.addEventListener(`window ${name}`, listener),
  });
  return document;
};
// Numbers by their size, all else as texts.
const localeCompare = function localeCompare(other, language, { numeric }) {
  if (language !== "en") throw new RangeError(`no language: ${language}`);
  const [a, b] = numeric ? [Number(this), Number(other)] : [NaN, NaN];
  if (a === a && b === b) return a - b;
  return String(this) < other ? -1 : Number(String(this) > other);
};
// oxlint-disable-next-line no-extend-native
Object.defineProperty(String.prototype, "localeCompare", { value: localeCompare });
Object.assign(globalThis, { make, rowOf, page, Option });
