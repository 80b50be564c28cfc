// Runs Python for a page: Pyodide, NumPy, the course's own code, and kernel.py.
// It answers messages { id, what, ... } by { id, ok } or { id, failed }, and tells
// what a cell prints before that.
"use strict";

// Every file, with its size and its SHA-256, as the build has listed them.
let files;
let packages; // and the file of each package, with what it needs
let scripts; // of each figure
let expected = 0; // bytes of all that Python needs to start
const here = (name) => new URL(name, self.location).href;
const nameOf = (address) => new URL(address, self.location).pathname.split("/").pop();
const base64 = (hex) =>
  btoa(String.fromCharCode(...hex.match(/../g).map((byte) => Number.parseInt(byte, 16))));

// Fetch a listed file. The browser refuses bytes with another SHA-256.
const plainFetch = self.fetch.bind(self);
const arriving = new Map();
let fault = null; // Pyodide says less of a file that did not arrive
const arrived = (name) => {
  const { sha256, size } = files[name];
  const ask = (more) => plainFetch(here(name), { cache: "no-cache", ...more });
  const found = ask({ integrity: `sha256-${base64(sha256)}` }).catch(async () => {
    arriving.delete(name); // the next press asks again
    const other = await ask().catch(() => null);
    const why = other?.ok ? "is not the file that was published." : "did not arrive.";
    fault = new Error(`${name} ${why}`);
    throw fault;
  });
  return found.then((response) => {
    postMessage({ arrived: size / expected });
    return response;
  });
};
const once = (name) => {
  if (!arriving.has(name)) arriving.set(name, arrived(name));
  return arriving.get(name).then((response) => response.clone());
};
self.fetch = (address, options) => {
  const name = nameOf(address.url ?? address);
  return name in files ? once(name) : plainFetch(address, options);
};

// A policy that forbids WebAssembly would leave Pyodide waiting for ever.
const allowed = () => {
  try {
    return Boolean(new WebAssembly.Module(Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0)));
  } catch {
    return false;
  }
};

// Python asks the page's own scripts to draw a figure.
self.figureEngine = (name) => {
  if (!self.attentionFigures?.[name])
    importScripts(...scripts[name].map((file) => here(`../figures/${file}`)));
  return (what, state) => JSON.stringify(self.attentionFigures[name][what](state));
};

// Packages are unpacked and no more: Pyodide's own way to load one compiles all of
// its libraries, also those that nothing imports.
const LOCK = "pyodide-lock.json";
const FIRST = ["pyodide.js", "pyodide.asm.js", "pyodide.asm.wasm", "python_stdlib.zip"];
const NUMPY = ["numpy", "traitlets", "fastjsonschema"];
const unpacked = new Set();
const wheelsOf = (names) => {
  const found = new Set();
  const add = (name) => {
    const { file_name: file, depends } = packages[name];
    if (unpacked.has(file) || found.has(file)) return;
    depends.forEach(add);
    found.add(file);
  };
  names.forEach(add);
  return [...found];
};
const bytesOf = async (name) => (await once(name)).arrayBuffer();
const install = async (names) => {
  const wheels = wheelsOf(names);
  const bytes = await Promise.all(wheels.map(bytesOf));
  wheels.forEach((wheel, i) => {
    python.unpackArchive(bytes[i], "wheel");
    unpacked.add(wheel);
    arriving.delete(wheel);
  });
};
let python;
let kernel;
let PythonError;
const start = async () => {
  if (!allowed()) throw new Error("The policy of this site does not allow WebAssembly here.");
  const listed = await plainFetch(here("files.json"), { cache: "no-cache" });
  ({ files, scripts } = await listed.json());
  ({ packages } = await (await once(LOCK)).json());
  const needed = [...FIRST, "course.zip", ...wheelsOf(NUMPY)];
  for (const name of needed) expected += files[name].size;
  // All at once; what is imported below comes from the browser's cache.
  await Promise.all(needed.map(once));
  importScripts(here("pyodide.js"));
  python = await self.loadPyodide({
    indexURL: here("."),
    env: { HOME: "/home/pyodide", MPLBACKEND: "module://canvas" },
  });
  if (fault) throw fault;
  await install(NUMPY);
  python.unpackArchive(await bytesOf("course.zip"), "zip", { extractDir: "/course" });
  python.runPython("import sys; sys.path.insert(0, '/course')");
  kernel = python.pyimport("kernel");
  ({ PythonError } = python.ffi);
  arriving.clear();
  return JSON.parse(kernel.versions());
};

// Load what a cell needs beyond NumPy.
const prepare = async (source) => {
  const wanted = kernel.packages(source).toJs();
  if (!wanted.length) return;
  await install(wanted);
  kernel.prepare(source);
};

// What a cell prints, while it runs.
const told = (name, text, left) => postMessage({ printed: { name, text, left } });
const ANSWERS = {
  start,
  async run({ cell, source, name }) {
    await prepare(source);
    return JSON.parse(kernel.run_cell(JSON.stringify(cell), source, name, told));
  },
  async check({ cell, name }) {
    await prepare([cell.source].flat().join(""));
    return JSON.parse(kernel.check_cell(JSON.stringify(cell), name));
  },
};
// Code that calls itself without end may end Python itself, and not only the cell.
const deadly = (error) =>
  kernel && !fault && !(error instanceof PythonError)
    ? "Python stopped, and its variables are gone: a function may have called itself without end."
    : "";
self.onmessage = async ({ data: { id, what, ...more } }) => {
  try {
    postMessage({ id, ok: await ANSWERS[what](more) });
  } catch (error) {
    const fatal = deadly(error);
    // Of an error of Python's, the last line says what happened.
    const failed = fatal || `${error.message ?? error}`.trim().split("\n").pop();
    postMessage({ id, failed, fatal: Boolean(fatal) });
  }
};
