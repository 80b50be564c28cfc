"""Interactive figures: how long one move of a control keeps the browser busy.

Run by `make bench`. Nothing here is asserted: times are of this machine, and
of a Chromium that paints without a GPU.

*busy* is the work of one move: the event's listeners, then the frame in which
the figure computes its numbers and the page is laid out and painted; waiting
for that frame is not counted. *interval* is the time between frames while the
control moves in every one of them. A screen of 60 Hz has a frame in 16.7 ms.
*pace* is the time of a million divisions between the moves: where it doubles,
the machine was half as fast.
"""

import json
import tempfile
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright

from course import figures
from tools import website

ROOT = Path(__file__).resolve().parent.parent

MOVES = 300
SQUARE = np.add.outer(np.arange(6), np.arange(6)) / 10
# Each figure at its heaviest, and the control that is moved there.
HEAVIEST = [
    ("temperature", figures.CausalHeatmap(T=64, mask="none")),
    ("slope", figures.CausalHeatmap(T=64)),
    ("scale", figures.StepThrough(X=SQUARE, causal=True)),
    ("seed", figures.Saturation(d_k=1024, S=64)),
    ("column", figures.HeadsAndGroups(H=64, H_kv=64, d_k=2)),
    ("S", figures.KVCacheCalculator()),
    ("m", figures.Positions(kind="RoPE", pairs=16)),
    ("step", figures.Tiles(T=64, block_q=4, block_k=4, causal=False)),
    ("row", figures.Tiles(T=64, block_q=64, block_k=64, causal=False)),
    ("step", figures.Tiles(T=64, block_q=1, block_k=1, causal=False)),
    ("T", figures.Roof()),
    ("step", figures.Machines(plan="ring", machines=8, T=12, step=0)),
    ("time", figures.Balance(machines=8, S=64)),
    ("tokens", figures.Checks()),
    ("shift", figures.Digits()),
    ("at", figures.FileBlock()),
    ("x1", figures.Projections()),
    ("place", figures.Temperature()),
    (
        "causal",
        figures.Backward(
            Q=SQUARE[:4, :4],
            K=SQUARE[:4, :4],
            V=SQUARE[:4, :4],
            dY=SQUARE[:4, :4],
        ),
    ),
    ("column", figures.ResidualStream()),
    ("step", figures.Decode()),
    ("at", figures.Film(what="X, W_Q, W_K, W_V")),
    ("tokens", figures.LatentVector()),
    ("angleA", figures.LinearMemory(written=3)),
    ("cut", figures.TwoHeads()),
    ("sink", figures.Sinks(way="sink")),
    ("error", figures.ChooseTokens()),
    ("x", figures.Words()),
    ("n_layers", figures.ParameterAreas()),
    ("reader", figures.EvidenceOfSeeds(n=2)),
    ("step", figures.Induction(symbols="FLICKED" * 4 + "FLIC")),
    ("query", figures.Induction(symbols="FLICKED" * 4 + "FLIC", step=20)),
    ("query", figures.RealHeads(text="Spanish")),
    ("layer", figures.RealHeads(text="Spanish")),
    ("distance", figures.Angles(frequencies="NTK-aware")),
    ("step", figures.Pages(page=1)),
    ("batch", figures.Batch()),
    ("length", figures.Schemes(yarn=True)),
    ("T", figures.QuadraticCost(skipped=True)),
    ("shift", figures.FloatSoftmax(type="bfloat16", shift=100)),
    ("padding", figures.InfluenceTest()),
    ("M", figures.TileTraffic()),
    ("S", figures.ModelCard(model="Llama 3.1 405B")),
    (
        "key",
        figures.Flow(
            text="the small dog slept by the fire because it was tired",
            step="score",
        ),
    ),
]

MOVE = """async ([key, moves]) => {
  const field = document.querySelector(`[name=${key}]`);
  const { min, max, step, type } = field;
  const move = (n) => {
    if (type === "checkbox") field.checked = n % 2;
    else field.value = +min + (n * step) % (max - min);
    field.dispatchEvent(new Event("input", { bubbles: true }));
  };
  const pause = () => new Promise((resolve) => setTimeout(resolve, 5));
  const divide = () => {
    const start = performance.now();
    let sum = 0;
    for (let i = 1; i <= 1e6; i++) sum += 1 / i;
    // The sum is read, so that the loop cannot be left out.
    if (sum < 14) throw Error("too few divisions");
    return performance.now() - start;
  };
  const busy = [], intervals = [], pace = [], drawn = new Set();
  const result = document.querySelector(".av-result");
  for (let n = 0; n < moves; n++) {
    await pause();
    busy.push(await new Promise((resolve) => {
      let work;
      // Queued before the figure's own callback, so it opens the frame; the
      // message arrives when the frame is painted.
      requestAnimationFrame(() => {
        const opened = performance.now();
        const channel = new MessageChannel();
        channel.port1.onmessage = () =>
          resolve(work + performance.now() - opened);
        channel.port2.postMessage(0);
      });
      const start = performance.now();
      move(n);
      work = performance.now() - start;
    }));
    if (n < 9) drawn.add(result.innerHTML);
    if (n % 10 === 9) pace.push(divide());
  }
  let before = await new Promise(requestAnimationFrame);
  for (let n = 0; n < moves; n++) {
    move(n);
    const now = await new Promise(requestAnimationFrame);
    intervals.push(now - before);
    before = now;
  }
  return { busy, intervals, pace, drawn: drawn.size };
}"""


def write_page(folder, figure):
    """A page with one figure, as the site has it."""
    name, css = figure._name, figure._css
    (folder / "figures").mkdir(exist_ok=True)
    for file, text in figures.scripts(name).items():
        (folder / "figures" / file).write_text(text)
    site = (ROOT / "book" / "_static" / "site.js").read_text()
    (folder / "site.js").write_text(site)
    html = figure.html()
    (folder / "index.html").write_text(
        f"<!doctype html><meta charset=utf-8><style>{css}</style>"
        f"<main>{html}</main><script defer src=site.js></script>"
    )


def measure(browser, figure, key):
    """Milliseconds of each move, and between frames."""
    with tempfile.TemporaryDirectory() as folder:
        write_page(Path(folder), figure)
        server = website.serve(folder)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        # A figure does not play its opening if the address asks for a state.
        state = f"{figure._name}.{key}={json.dumps(getattr(figure, key))}"
        page.goto(f"{server.address}/index.html?{state}")
        page.wait_for_selector(".av-live")
        times = page.evaluate(MOVE, [key, MOVES])
        assert times["drawn"] > 1, f"{state}: no move changes the picture"
        page.close()
        server.shutdown()
        server.server_close()
    return times


def main():
    print(f"{MOVES} moves each, ms {'busy':>15} {'interval':>23}")
    head = ["  p50    p95    max"] * 2
    print(f"{'figure':10}  {'control':12}", *head, "  pace")
    with sync_playwright() as playwright:
        browser = website.launch(playwright)
        for key, figure in HEAVIEST:
            times = measure(browser, figure, key)
            cells = [
                "  ".join(
                    f"{np.percentile(times[name], p):5.1f}"
                    for p in (50, 95, 100)
                )
                for name in ("busy", "intervals")
            ]
            cells.append(f"{np.median(times['pace']):4.1f}")
            print(f"{figure._name:10} {key:12}", *cells, sep="  ")
        browser.close()


if __name__ == "__main__":
    main()
