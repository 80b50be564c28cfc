"""What axe finds on a page as it stands, by its rules of WCAG 2.2 AA."""

from axe_playwright_python.base import AXE_SCRIPT

from tests.site.javascript import function

WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
THINNED = function("accessibility", "thinned")
RUN = function("accessibility", "run")


def problems(tab, part="html"):
    """Each violation in a part of the page, in a sentence."""
    if not tab.evaluate("Boolean(globalThis.axe)"):
        tab.evaluate(AXE_SCRIPT)
    found = tab.evaluate(RUN, [part, WCAG])
    ran = found["passes"] + found["violations"] + found["incomplete"]
    assert "color-contrast" in {result["id"] for result in ran}, "axe ran"
    return [
        f"{violation['id']}: {node['html'][:200]} {node['failureSummary']}"
        for violation in found["violations"]
        for node in violation["nodes"]
    ]
