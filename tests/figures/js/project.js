export async function moveByKeys() {
  const seen = [];
  const look = async () => {
    await frame();
    seen.push([m.state.x1, m.state.x2, el.values.score === 0, error().includes("right angle")]);
  };
  await become({ x1: 0.2 });
  for (const key of ["ArrowLeft", "ArrowLeft", "ArrowLeft"]) {
    press(handle("x"), key);
    await look();
  }
  await become({ x1: 0.01, y2: 0.02 });
  press(handle("x"), "ArrowUp");
  await look();
  return seen;
}

export function whereItIs() {
  return [m.state.x1, m.state.x2, el.values.dot, error()];
}
