"""What a page says after *Check this page*, as numbers."""

import json
import re

from tests.book.practice_pages import ROOT

SAID = ".av-run-said"
SUMMARY = re.compile(r"(\d[\d,]*) of (\d[\d,]*) outputs? (?:is|are) the same")


def stored(page):
    """Return how many outputs of a notebook are compared: no timings."""
    notebook = json.loads((ROOT / f"{page}.ipynb").read_text("utf-8"))
    count = 0
    for cell in notebook["cells"]:
        tags = cell["metadata"].get("tags", ())
        if cell["cell_type"] == "code" and "nbval-ignore-output" not in tags:
            streams = {o["name"] for o in cell["outputs"] if "name" in o}
            others = [o for o in cell["outputs"] if "name" not in o]
            count += len(streams) + len(others)
    return count


def check(tab):
    """Press the button, and return how many outputs are the same, of all."""
    tab.locator(".av-check").click()
    return result(tab)


def result(tab):
    """Wait for what the page says, and return two counts."""
    tab.wait_for_function(
        f"document.querySelector('{SAID}')?.textContent.length > 3",
        timeout=280_000,
    )
    said = tab.locator(SAID).inner_text()
    found = SUMMARY.search(said)
    assert found, said
    return tuple(int(n.replace(",", "")) for n in found.groups())


def differences(tab):
    """Return the texts of the cells that differ."""
    return [box.text_content() for box in tab.locator(".av-differs").all()]
