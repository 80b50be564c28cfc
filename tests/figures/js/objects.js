export async function stateNow() {
  await frame();
  return [m.state.head0, m.state.head1, m.state.query, el.values.output[2][3]];
}
