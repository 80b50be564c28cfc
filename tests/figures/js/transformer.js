// What tests ask of course/figures/induction/transformer.js, as a worker has it:
// `net` is made from the function's text, in a place of its own.

export const unpack = (packed) => [...net.unpack(packed)];
export const count = () => net.COUNT;
export const lossAndGradients = (numbers, batch) => {
  const { loss, right, gradients } = net.lossAndGradients(Float64Array.from(numbers), batch);
  return { loss, right, gradients: [...gradients] };
};
export const losses = (numbers, batches) => {
  const take = net.trainer(Float64Array.from(numbers));
  return batches.map((batch) => take(batch).loss);
};
export const randoms = (seed) => Array.from({ length: 50 }, net.generator(seed));
const plain = (named) => Object.fromEntries(Object.entries(named).map(([key, x]) => [key, [...x]]));
// What a training starts with: its weights and its first sequences.
export const start = (seed, size) => {
  const random = net.generator(seed);
  const numbers = net.initial(random);
  return [plain(net.named(numbers)), Array.from({ length: size }, () => net.sequence(random))];
};
export const sequences = (seed, size) => {
  const random = net.generator(seed);
  return Array.from({ length: size }, () => net.sequence(random));
};
export const serve = (seed, steps, size) => {
  const messages = [];
  const scope = {
    postMessage: ({ numbers, ...rest }) => messages.push({ ...rest, first: numbers[0] }),
  };
  net.serve(scope);
  scope.onmessage({ data: { seed, steps, size } });
  return messages;
};

// --- the figure on a page of its own

export const record = () => {
  globalThis.told = [];
  const line = document.querySelector(".av-told");
  new MutationObserver(() => told.push(line.textContent)).observe(line, { childList: true });
};
export const openInJupyter = async (text, state) => {
  const blob = new Blob([text], { type: "text/javascript" });
  const { default: widget } = await import(URL.createObjectURL(blob));
  const none = () => {};
  const model = { get: (key) => state[key], set: none, save_changes: none, on: none, off: none };
  const place = document.createElement("div");
  document.body.append(place);
  widget.render({ model, el: place });
  return place.values;
};
