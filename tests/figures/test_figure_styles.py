"""The figures' style sheets: no rule for another figure."""

from course import figures
from tests.figures.expected_figures import CLASSES, drawn


def test_styles_of_a_figure_match_nothing_of_another(page):
    """The site joins all of them, and a page has several figures."""
    styles, drawings = "", ""
    for name in CLASSES:
        path = figures.path_of(f"{name}.css")
        if path.exists():
            text = path.read_text(encoding="utf-8")
            styles += f"<style data-of={name}>{text}</style>"
        drawings += drawn(name, {})[1]
    page.visit(f"{styles}<main>{drawings}</main>")
    strays, moving = page.run("styles.strays")
    assert strays == []
    assert len(moving) == len(set(moving)), "movements have names of their own"
    stray = "<style data-of=step>@media all { .av-say::before { top: 0 } }"
    page.visit(f"{stray}</style><main>{drawings}</main>")
    strays, _ = page.run("styles.strays")
    assert len(strays) >= len(CLASSES) - 1, "a rule of all figures is found"
