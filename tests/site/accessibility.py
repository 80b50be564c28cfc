"""What axe finds on a page as it stands, by its rules of WCAG 2.2 AA."""

from axe_playwright_python.base import AXE_SCRIPT

WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
# The same code makes the later rows of the ledger and the later entries of
# the reference; a browser takes seconds for the contrast of them all.
ALIKE = ["dl.py:nth-of-type(n+5)", ".entries tbody tr:nth-child(n+25)"]
RUN = """([part, rules, exclude]) => axe.run(
  { include: part, exclude: exclude.filter((it) =>
      document.querySelector(it)) },
  { runOnly: rules, preload: false, resultTypes: ["violations"] })"""


def problems(tab, part="html"):
    """Each violation in a part of the page, in a sentence."""
    tab.evaluate(AXE_SCRIPT)
    found = tab.evaluate(RUN, [part, WCAG, ALIKE])
    ran = found["passes"] + found["violations"] + found["incomplete"]
    assert "color-contrast" in {result["id"] for result in ran}, "axe ran"
    return [
        f"{violation['id']}: {node['html'][:200]} {node['failureSummary']}"
        for violation in found["violations"]
        for node in violation["nodes"]
    ]
