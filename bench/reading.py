"""Measure each page of the book as a reader meets it: words, heights, ways.

The longest way without a picture is in pixels, with all folds closed.

Words of prose and of code in sight are counted before the exercises, without
folds (tools/reading.py); heights are those of the built page, 1280 pixels
wide, to the exercises. A screen is 900 pixels.
"""

import sys
from pathlib import Path

import nbformat
from playwright.sync_api import sync_playwright

from tools import reading, website

ROOT = Path(__file__).resolve().parent.parent

HEIGHTS = """() => {
  const top = (el) => el.getBoundingClientRect().top + scrollY;
  const article = document.querySelector("article");
  const heading = [...article.querySelectorAll("h2")].find((h) =>
    /^On your own/.test(h.textContent));
  const end = heading ? top(heading) : top(article) + article.scrollHeight;
  const shown = (selector) => [...article.querySelectorAll(selector)].filter(
    (el) => el.checkVisibility() && top(el) < end);
  const sum = (els) => els.reduce((s, el) => s + el.offsetHeight, 0);
  const code = shown("div.cell_input").filter((el) => !el.closest("details"));
  const printed = shown("div.cell_output").filter((el) =>
    !el.querySelector(".figure, [data-figure]"));
  const pictures = shown(".figure, [data-figure]");
  const all = end - top(article);
  // From the top, from one picture to the next, and to the end.
  const boxes = pictures.map((el) => el.getBoundingClientRect());
  const starts = [...boxes.map((box) => box.top + scrollY), end];
  const ends = [top(article), ...boxes.map((box) => box.bottom + scrollY)];
  const verdict = /^[\\w.-]+: (\\d+ (inputs?|figures?)|true|loose|false)/;
  const lines = shown("div.cell_output pre").flatMap((el) =>
    el.textContent.split("\\n"));
  return {
    screens: all / 900,
    code: (sum(code) + sum(printed)) / all,
    pictures: sum(pictures) / all,
    longest: Math.max(...starts.map((y, k) => y - ends[k])),
    first: pictures.length ? top(pictures[0]) / 900 : NaN,
    ledger: lines.filter((line) => verdict.test(line)).length,
  };
}"""


def main(site):
    server = website.serve(site)
    row = "{:32s}{:>7}{:>7}{:>8}{:>12}{:>10}{:>14}{:>14}{:>14}"
    print(row.format("page", "words", "code", "screens", "code+output",
                     "pictures", "first picture", "longest way",
                     "ledger lines"))  # fmt: skip
    with sync_playwright() as playwright:
        tab = website.launch(playwright).new_page(
            viewport={"width": 1280, "height": 900}
        )
        for page in website.PAGES:
            path = ROOT / f"{page}.ipynb"
            if not path.exists():
                continue
            cells = nbformat.read(path, as_version=4).cells
            counts = reading.open_path(cells)
            tab.goto(f"{server.address}/{page}.html")
            seen = tab.evaluate(HEIGHTS)
            print(row.format(
                page, counts["prose"], counts["code"],
                f"{seen['screens']:.1f}",
                f"{seen['code']:.0%}", f"{seen['pictures']:.0%}",
                f"screen {seen['first'] + 1:.1f}",
                f"{seen['longest']:,.0f} px", seen["ledger"],
            ))  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1] if sys.argv[1:] else website.ROOT / "_build" / "html")
