"""The figure of pages: a server's memory, simulated a second time."""

import re

import numpy as np
import pytest

from course.figures import Pages
from tests.figures.reading import captions, sentence, tells, verdict

# When a request comes, the tokens of its prompt, and those of its answer.
REQUESTS = [(0, 3, 6), (0, 2, 12), (1, 5, 4), (1, 4, 7), (2, 2, 5),
            (3, 6, 8), (3, 3, 4), (4, 5, 9), (5, 4, 6), (6, 2, 8)]  # fmt: skip
PIECES = "one piece per text"
CASES = [
    {"step": 0},
    {"step": 23, "page": 1},
    {"page": 4, "step": 6},
    {"page": 8, "step": 7},
    {"page": 1, "step": 6},
    *({"memory": PIECES, "step": step} for step in (0, 4, 6, 15, 23)),
    *({"page": 4, "step": step} for step in (5, 7, 12, 18)),
]


def simulated(page):
    """After each step the memory, tokens and what each text does.

    `table[i]` is the text and the place in it of slot i, which is written
    anew whenever a page is given or taken back.
    """
    size = [p + a for _, p, a in REQUESTS]
    table = np.full((64, 2), -1)
    tokens, came = np.zeros(10, int), np.zeros(10, bool)
    steps = []

    def give(text):
        """The first free page, or False."""
        free = np.flatnonzero(table[::page, 0] < 0)
        if not len(free):
            return False
        start = (table[:, 0] == text).sum()
        rows = slice(free[0] * page, (free[0] + 1) * page)
        table[rows] = [(text, start + k) for k in range(page)]
        return True

    def room(text):
        return (table[:, 0] == text).sum()

    for step in range(24):
        for text in range(10):
            if came[text] and tokens[text] == size[text]:
                table[table[:, 0] == text] = -1
        stuck = np.zeros(10, bool)
        for text in range(10):
            if not came[text] or tokens[text] == size[text]:
                continue
            if tokens[text] < room(text) or give(text):
                tokens[text] += 1
            else:
                stuck[text] = True
        for text in np.flatnonzero(~came):
            start, prompt, _ = REQUESTS[text]
            free = (table[:, 0] < 0).sum()
            if start > step or -(-prompt // page) * page > free:
                break
            while room(text) < prompt:
                give(text)
            tokens[text], came[text] = prompt, True
        doing = [
            0 if start > step and not came[text]
            else 1 if stuck[text] or not came[text]
            else 2 if room(text)
            else 3
            for text, (start, *_) in enumerate(REQUESTS)
        ]  # fmt: skip
        owner, at = table.T.copy()
        filled = (owner >= 0) & (at < tokens[owner])
        steps.append((owner, filled, doing, tokens.tolist()))
    return steps


def expected(state):
    """The memory at a step, and the texts that run in every step."""
    both = [simulated(state["page"]), simulated(16)]
    if state["memory"] == PIECES:
        both.reverse()
    owner, filled, status, have = both[0][state["step"]]
    running = [[s[2].count(2) for s in steps] for steps in both]
    waiting = [[s[2].count(1) for s in steps] for steps in both]
    pages, pieces = running[:: 1 if state["memory"] == "pages" else -1]
    return {
        "owner": owner,
        "filled": filled.tolist(),
        "status": status,
        "have": have,
        "taken": int((owner >= 0).sum()),
        "used": int(filled.sum()),
        "pages": pages,
        "pieces": pieces,
        "run": [counts[state["step"]] for counts in running],
        "waits": [counts[state["step"]] for counts in waiting],
    }


def shows(state, expected, shown):
    step, page = state["step"], state["page"]
    inside = state["memory"] == PIECES
    sizes = [16, page] if inside else [page, 16]
    taken, used = expected["taken"], expected["used"]
    runs, waits = expected["run"], expected["waits"]
    text = sentence(shown)
    tells(
        text,
        *(step, sizes[0], runs[0], waits[0], taken, 64, used, taken - used),
        *(sizes[1], runs[1], waits[1]),
    )
    assert (" 1 is wasted" in text) == (taken - used == 1)
    assert " 1 are wasted" not in text
    first, _, second = text.partition(": ")
    verdict(first, with_pages=not inside, reserved=inside)
    verdict(second, With_pages=inside, reserved=not inside)
    tells(captions(shown)[0], 64, step, sizes[0], used, taken - used)
    svg = shown.select_one(".av-server")
    letters = [t.text for t in svg.select(".av-letter")]
    assert "".join(letters) == "ABCDEFGHIJ"
    texts = [t.text for t in svg.select("text")]
    for r, (_, prompt, answer) in enumerate(REQUESTS):
        at = texts.index(letters[r])
        tells(texts[at + 1], expected["have"][r], prompt + answer)
        word = ("later", "waits", "runs", "done")[expected["status"][r]]
        assert texts[at + 2] == word
    memory_shows(expected, svg, sizes[0])
    lines = {
        kind: steps_of(svg.select_one(f".av-by-{kind}"))
        for kind in ("page", "piece")
    }
    assert lines["page"] == pytest.approx(expected["pages"], abs=0.01)
    assert lines["piece"] == pytest.approx(expected["pieces"], abs=0.01)
    (chosen,) = svg.select(".av-chosen")
    assert ("av-by-piece" in chosen["class"]) == inside


def corners(path, pattern):
    """The slots at whose corners some squares or lines begin."""
    found = re.findall(pattern, path["d"]) if path else []
    return [(int(y) - 76) // 20 * 16 + (int(x) - 10) // 20 for x, y in found]


def memory_shows(expected, svg, size):
    """Full slots have their text's letter, empty ones of a text a line."""
    owner, filled = expected["owner"], np.array(expected["filled"])
    full = corners(svg.select_one(".av-full"), r"M(\d+) (\d+)h")
    assert full == np.flatnonzero(filled).tolist()
    hatched = svg.select_one(".av-empty")
    empty = [s - 16 for s in corners(hatched, r"M(\d+) (\d+)l")]
    assert empty == np.flatnonzero((owner >= 0) & ~filled).tolist()
    frames = corners(svg.select_one(".av-page"), r"M(\d+) (\d+)h")
    assert frames == list(range(0, 64, size))
    names = [
        t.text
        for t in svg.select("text:not(.av-letter)")
        if re.fullmatch("[A-J]", t.text)
    ]
    assert names == ["ABCDEFGHIJ"[owner[s]] for s in full]


def steps_of(path):
    """The heights of a line of steps, of which 64 units are ten texts."""
    heights = re.findall(r"V([\d.]+)H", path["d"])
    return [(254 - float(y)) / 6.4 for y in heights]


def test_every_text_is_continued_to_its_end_and_no_slot_lost():
    for page in (1, 2, 4, 8):
        for memory in ("pages", PIECES):
            last = Pages(memory=memory, page=page, step=23).values
            assert last["have"] == [p + a for _, p, a in REQUESTS]
            assert (last["taken"], set(last["status"])) == (0, {3})


def test_less_than_a_page_per_text_is_wasted():
    """As the lesson says; and a piece of 16 wastes what it does not use."""
    for page in (1, 2, 4, 8):
        for step in range(24):
            values = Pages(page=page, step=step).values
            inside = len({r for r in values["owner"] if r >= 0})
            waste = values["taken"] - values["used"]
            assert waste <= inside * (page - 1)


def test_the_film_goes_on_by_a_step_in_each_of_its_moments():
    figure = Pages(step=0)
    settings = {key: getattr(figure, key) for key in figure._settings()}
    for ms in (0, 599, 600, 3650, 13_799, 13_800, 10**6):
        step = min(ms // 600, 23)
        frame = figure.frame(ms)
        assert frame["own"] == {"step": step}
        assert (
            frame["html"] == Pages(**settings | frame["own"]).frame(0)["html"]
        )
