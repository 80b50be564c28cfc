"""Boxes of the pages: a question, a note and a fold, and no other kind."""

import re
from collections import defaultdict

import pytest

from tests.site.javascript import function

BOXES = function("boxes", "boxes")
# Elements by their class, without the parts of figures.
CLASSES = re.compile(
    r"<(div|details|p|section|blockquote|dt|aside|ul|dl)\b(?:[^>]* "
    r'class="(?!av-[a-z]+")([^"]*)")?'
)


def enough(site):
    """Pages that together have each element that any page has, by classes."""
    parts = {}
    for path in [site / "index.html", *site.glob("book/**/*.html")]:
        html = path.read_text(encoding="utf-8")
        parts[path] = set(CLASSES.findall(html[html.index("<article") :]))
    chosen, left = [], set().union(*parts.values())
    while left:
        best = max(parts, key=lambda path: len(parts[path] & left))
        chosen.append(best)
        left -= parts[best]
    return chosen


@pytest.mark.parametrize(
    "scheme", ["light", pytest.param("dark", marks=pytest.mark.weekly)]
)
def test_there_are_three_kinds_of_boxes(site, browser, scheme):
    looks = defaultdict(set)
    with browser.new_context(color_scheme=scheme) as context:
        tab = context.new_page()
        for path in enough(site):
            tab.goto(path.as_uri())
            for look, names in tab.evaluate(BOXES):
                looks[look].update(names)
    told = "\n".join(
        f"{look}: {sorted(names)}" for look, names in looks.items()
    )
    assert len(looks) == 3, told
    # What asks belongs to the question, and is no box in it.
    assert "exercise" not in told
