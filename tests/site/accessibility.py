"""What axe finds on a page as it stands, by its rules of WCAG 2.2 AA."""

from axe_playwright_python.base import AXE_SCRIPT

WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
# A block, a row or an item goes if three of each of its elements stay, in the
# same place and dress: a browser takes seconds for the contrast of them all.
# What a figure or a formula is drawn with counts as one.
THINNED = """() => {
  const looks = new Map([[document.querySelector("article"), ""]]);
  const look = (it) => {
    const own = ["class", "role", "style"].map((key) => it.getAttribute(key));
    if (!looks.has(it)) looks.set(
      it, [look(it.parentElement), it.localName, ...own].join());
    return looks.get(it);
  };
  const counted = (all) => {
    const found = new Map();
    for (const it of all) {
      if (it.parentElement.closest("svg, math")) continue;
      found.set(look(it), (found.get(look(it)) ?? 0) + 1);
    }
    return found;
  };
  const stay = counted(document.querySelectorAll("article *"));
  for (const it of document.querySelectorAll(
    "article :is(section > *, li, tr, dl, pre > span)")) {
    if (!it.isConnected) continue;
    const own = counted([it, ...it.querySelectorAll("*")]);
    if (![...own].every(([key, n]) => stay.get(key) - n >= 3)) continue;
    for (const [key, n] of own) stay.set(key, stay.get(key) - n);
    it.remove();
  }
}"""
RUN = """([part, rules]) => axe.run(
  part,
  { runOnly: rules, preload: false, resultTypes: ["violations"] })"""


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
