export async function dragEnd() {
  const middle = (it) => {
    const { x, width } = it.getBoundingClientRect();
    return x + width / 2;
  };
  const past = async (n) => {
    const edge = middle(el.querySelector(".av-edge"));
    await drag("cache", edge + n - middle(handle("cache")));
    return [m.state.S, Boolean(el.querySelector(".av-burst"))];
  };
  return [await past(-20), await past(20)];
}
