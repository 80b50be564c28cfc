// A figure that stands for all others: on an empty page, joined with the kit.
import { figureModule, say } from "./common.js";
import { grip } from "./handles.js";

const SIDE = 200;
const spot = ({ x, y }) => [SIDE / 2 + 20 * x, SIDE / 2 - 20 * y];
const flag = (k) => ({
  key: `cell${k}`,
  kind: "flag",
  label: `cell ${k}`,
  first: false,
  about: "A cell",
});
const slide = (key, first, step) => ({
  key,
  kind: "range",
  label: `the ${key}`,
  first,
  about: key,
  min: -4,
  max: 4,
  step,
});
const figure = {
  name: "trial",
  controls: [
    slide("x", 1, 0.5),
    slide("y", 2, 1),
    { key: "n", kind: "power", label: "size n", first: 8, about: "n", min: 1, max: 64, step: 1 },
    flag(0),
    flag(1),
    flag(2),
  ],
  check: ({ x, y }) => (x === -4 && y === -4 ? "x and y must not both be -4" : ""),
  compute: ({ x, y, n }) => ({ sum: x + y + n }),
  view: (state, { sum }) =>
    `<svg role="img" aria-label="plane" viewBox="0 0 ${SIDE} ${SIDE}" ` +
    `style="width:WIDEpx">` +
    grip("dot", spot(state), `<circle r="3"/>`) +
    grip("size", [25 * Math.log2(state.n), 190], `<circle r="3"/>`) +
    `</svg><div>${[0, 1, 2]
      .map((k) => `<button data-handle="cell${k}" style="width:50px;height:50px">${k}</button>`)
      .join("")}</div>` +
    say(`The sum is ${sum}, ${state.x}, ${state.y}, ${state.n}.`),
  handles: (state) => [
    {
      id: "dot",
      name: "the dot",
      keys: ["x", "y"],
      at: spot(state),
      read: ([u, v]) => ({ x: (u - SIDE / 2) / 20, y: (SIDE / 2 - v) / 20 }),
    },
    {
      id: "size",
      name: "the size",
      keys: ["n"],
      at: [25 * Math.log2(state.n), 190],
      read: ([u]) => ({ n: 2 ** (u / 25) }),
    },
    ...[0, 1, 2].map((k) => ({
      id: `cell${k}`,
      name: `cell ${k}`,
      group: "cells",
      on: state[`cell${k}`],
      press: () => ({ [`cell${k}`]: !state[`cell${k}`] }),
    })),
  ],
  opening: {
    ms: 4000,
    from: [
      { x: -3, n: 1 },
      { x: 4, n: 1, cell0: true },
    ],
  },
  live: () => ({
    reset: () => {
      globalThis.resets ??= 0;
      resets += 1;
    },
  }),
};
export default figureModule(figure);
