export async function askTrainedModel(sentence) {
  await become({ sentence });
  el.querySelector("[data-word='1']").dispatchEvent(new MouseEvent("click", { bubbles: true }));
  await frame();
  return [m.state.asks, el.values.weights.length, field("x").closest("div").hidden];
}
