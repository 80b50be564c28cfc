"""Draw the preview picture of a link to the book: the logo and one sentence.

    python -m tools.preview

The command writes book/_static/preview.png, 1200 by 630, with the tests'
browser.
"""

import tempfile
from pathlib import Path

from bs4 import BeautifulSoup
from playwright.sync_api import sync_playwright

from course import figures
from tools import website

ROOT = Path(__file__).resolve().parent.parent

STATIC = ROOT / "book" / "_static"
SIZE = {"width": 1200, "height": 630}
PAGE = """<!DOCTYPE html><meta charset="utf-8"><style>
@font-face {{ font-family: A; src: url({fonts}/atkinson-hyperlegible-next-regular.woff2) }}
@font-face {{ font-family: A; font-weight: 600; src: url({fonts}/atkinson-hyperlegible-next-semibold.woff2) }}
@font-face {{ font-family: S; src: url({fonts}/stix-two-text-regular.woff2) }}
{css}
body {{ margin: 0; height: 630px; background: #fff; color: #1f2933; font-family: A;
  display: flex; flex-direction: column; justify-content: center; align-items: center; gap: 24px }}
h1 {{ font: 600 76px A; margin: 0; letter-spacing: -0.02em; display: flex; gap: 28px }}
h1 img {{ width: 84px }}
p {{ font: 34px S; margin: 0 }}
.av-sentence {{ width: 820px; max-width: none; flex: none }}
</style><h1><img src="{mark}" alt="">Attention, Verified</h1><div class="av-result">{svg}</div>
<p>Attention by hand and in NumPy, every number checked</p>
"""  # noqa: E501


def page():
    """Return the picture as a page."""
    shown = BeautifulSoup(figures.Words().html(), "html.parser")
    return PAGE.format(
        fonts=(STATIC / "fonts").as_uri(),
        css=figures.styles("words"),
        mark=(STATIC / "favicon.svg").as_uri(),
        svg=shown.select_one(".av-sentence"),
    )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as p:
        file = Path(folder, "preview.html")
        file.write_text(page(), encoding="utf-8")
        tab = website.launch(p).new_page(viewport=SIZE)
        tab.goto(file.as_uri())
        tab.evaluate("document.fonts.ready.then(() => true)")
        tab.screenshot(path=STATIC / "preview.png")
