"""The figure of pages: a server's memory, simulated a second time."""

import re

import numpy as np

from course.figures import Pages
from tests.figures.reading import (
    captions,
    on_one_scale,
    sentence,
    sizes,
    tells,
    verdict,
)

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
    counts = [16, page] if inside else [page, 16]
    taken, used = expected["taken"], expected["used"]
    runs, waits = expected["run"], expected["waits"]
    text = sentence(shown)
    tells(
        text,
        *(step, counts[0], runs[0], waits[0], taken - used, 64),
        *(counts[1], runs[1], waits[1]),
    )
    assert (" slots is wasted" in text) == (taken - used == 1)
    first, _, second = text.partition("; ")
    verdict(first, with_pages=not inside, reserved=inside)
    verdict(second, With_pages=inside, reserved=not inside)
    tells(captions(shown)[0], 64, step, counts[0], used, taken - used)
    svg = shown.select_one(".av-server")
    letters = [t.text for t in svg.select(".av-letter")]
    assert "".join(letters) == "ABCDEFGHIJ"
    texts = [t.text for t in svg.select("text")]
    for r, (_, prompt, answer) in enumerate(REQUESTS):
        at = texts.index(letters[r])
        tells(texts[at + 1], expected["have"][r], prompt + answer)
        word = ("later", "waits", "runs", "done")[expected["status"][r]]
        assert texts[at + 2] == word
    memory_shows(expected, svg)
    heights = [
        re.findall(r"V([\d.]+)H", svg.select_one(f".av-by-{kind}")["d"])
        for kind in ("page", "piece")
    ]
    on_one_scale(heights, [expected["pages"], expected["pieces"]], up=True)
    (chosen,) = svg.select(".av-chosen")
    assert ("av-by-piece" in chosen["class"]) == inside


def memory_shows(expected, svg):
    """Each full slot has the letter of its text."""
    owner, filled = expected["owner"], np.array(expected["filled"])
    names = [t for t in svg.select("text:not(.av-letter)")
             if re.fullmatch("[A-J]", t.text)]  # fmt: skip
    slots = (sizes(names, "y") - 84) // 20 * 16 + (
        sizes(names, "x") - 10
    ) // 20
    assert slots.tolist() == np.flatnonzero(filled).tolist()
    assert [t.text for t in names] == [
        "ABCDEFGHIJ"[owner[int(s)]] for s in slots
    ]


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
