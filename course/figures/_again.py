"""A lesson's figure shown again, in the state that the text sets."""

import json
import re
from html import unescape

from ._scripts import controls, engine, presets

MARK = "data-again="
LINE = re.compile(
    r'<div class="again" data-again="(\w+)" data-set=\'([^\']*)\'></div>'
)
STATE = re.compile(r'data-figure="(\w+)" data-state="([^"]*)"')


def shown_again(html):
    """Return the figures that a page shows again, and what is wrong.

    A line such as the one in the example, below a paragraph, shows the
    page's figure of that name once more, with these settings; all others are
    those of its first state. The key ``preset`` stands for the settings of a
    preset. The page's script makes the copy, so it costs no bytes; print, and
    pages without scripts, have the first alone.

    Parameters
    ----------
    html : str
        The page: its figures, and its lines.

    Returns
    -------
    list of (str, dict, str)
        The name of each, its whole state, and what is wrong with it, or "".

    Raises
    ------
    ValueError
        If a line has another form.

    Examples
    --------
    >>> page = '''<div data-figure="roof" data-state="{}"></div>
    ... <div class="again" data-again="roof" data-set='{"wide": 1}'></div>'''
    >>> shown_again(page)
    [('roof', {'wide': 1}, 'the figure roof has no setting wide')]
    """
    first = {
        name: json.loads(unescape(state))
        for name, state in STATE.findall(html)
    }
    lines = LINE.findall(html)
    if html.count(MARK) != len(lines):
        raise ValueError(f"a line with {MARK} has another form than {LINE}")
    return [_shown(name, json.loads(given), first) for name, given in lines]


def _shown(name, given, first):
    """A figure's name, its state, and what is wrong with it."""
    if name not in first:
        return name, given, f"the page has no figure {name} to show again"
    known = presets(name)
    preset = given.pop("preset", None)
    state = first[name] | known.get(preset, {}) | given
    unknown = given.keys() - {control["key"] for control in controls(name)}
    if unknown:
        wrong = f"the figure {name} has no setting {min(unknown)}"
    elif preset not in (None, *known):
        wrong = f"the figure {name} has no preset {preset}"
    elif state == first[name]:
        wrong = f"the figure {name} is shown again in its first state"
    else:
        wrong = json.loads(engine(name)("problem", json.dumps(state)))
    return name, state, wrong
