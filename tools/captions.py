"""Number the captions of a page, and the texts that refer to them.

A caption is a markdown cell that follows its figure and begins with `<div
class="caption" id="fig-NAME">`, an empty line and `**Figure 0.0.**`. A text
refers to it by `<a href="#fig-NAME">Figure 0.0</a>`. `make texts` fills in the
numbers: chapter and index in a lesson, and only the index elsewhere.
"""

import re

CAPTION = re.compile(
    r'(<div class="caption" id="fig-([\w-]+)">\n\n\*\*Figure )[\d.]+?(\.\*\* )'
)
REFERENCE = re.compile(r'(<a href="#fig-([\w-]+)">Figure )[\d.]+(</a>)')
OPEN = re.compile(r".{0,20}\bFigure 0\b[\d.]*")  # a missing number


def number_figures(texts, chapter=None):
    """Return the texts of a page with the numbers of its figures.

    Parameters
    ----------
    texts : list of str
        The markdown of the page, in its order.
    chapter : int, optional
        The number of the chapter, which precedes the figure's index.

    Raises
    ------
    ValueError
        If a reference leads to no caption of the page, if it is not a link and
        so has no number, or if two captions have the same name.

    Examples
    --------
    >>> caption = '<div class="caption" id="fig-map">\\n\\n**Figure 0.** Map.'
    >>> number_figures([caption], chapter=9)[0].splitlines()[-1]
    '**Figure 9.1.** Map.'
    """
    names = [found[2] for text in texts for found in CAPTION.finditer(text)]
    before = "" if chapter is None else f"{chapter}."
    numbers = {name: f"{before}{i}" for i, name in enumerate(names, 1)}
    if len(numbers) < len(names):
        raise ValueError(f"two captions have the same name: {names}")

    def numbered(found):
        if found[2] not in numbers:
            raise ValueError(f"{found[0]}: this page has no such caption")
        return f"{found[1]}{numbers[found[2]]}{found[3]}"

    done = [
        REFERENCE.sub(numbered, CAPTION.sub(numbered, text)) for text in texts
    ]
    for found in map(OPEN.search, done):
        if found:
            raise ValueError(f"{found[0]!r} must be a link to be numbered")
    return done
