"""Compute the page for teachers from the chapters.

The page has blocks between lines `% begin: NAME` and `% end: NAME`;
`make texts` fills them in.
"""

import re
from itertools import chain, zip_longest

import nbformat

from tools.chapters import ROOT, left_out, numbers
from tools.reading import times as read_in

PAGE = ROOT / "book" / "for-teachers.md"
BLOCK = re.compile(r"(% begin: (\w+)\n).*?(% end: \2\n)", re.S)
EXERCISE = re.compile(r"^```\{exercise\} |^## (.+)$", re.M)
# How a lesson announces the exercises of each section of its practice page.
SECTIONS = {
    "Warm-up": "{} to warm up",
    "Look back": "{} to look back",
    "On paper": "{} on paper",
    "In code": "{} in code",
    "Harder": "{} harder",
    "What is broken?": "{} to find what is broken",
}
NUMERALS = ("no", "one", "two", "three", "four", "five", "six", "seven",
            "eight", "nine", "ten", "eleven", "twelve", "thirteen",
            "fourteen", "fifteen", "sixteen", "seventeen", "eighteen",
            "nineteen", "twenty")  # fmt: skip
ANNOUNCED = re.compile(r"(\(practice/([\w-]+)\.ipynb\)) has [^.]*\.")
NEEDS = re.compile(r"\*\*What you'll need\.\*\*(.*)")

# A class has the cores of two chapters, after the chapters that they need. The
# plan of a term has the whole book, in its order.
CLASS = 90  # minutes
PLANS = {
    "week": (
        ("three-tokens", "project-score-mask-mix"),
        ("forward-and-backward", "derivation"),
        ("soften-and-sharpen", "mask"),
        ("heads", "positions"),
        ("quadratic-cost", "kv-cache"),
    ),
    "fortnight": (
        ("three-tokens", "project-score-mask-mix"),
        ("forward-and-backward", "derivation"),
        ("soften-and-sharpen", "floats"),
        ("mask", "test-a-mask"),
        ("heads", "share-keys"),
        ("positions", "quadratic-cost"),
        ("roof", "kv-cache"),
        ("cache-memory", "tiles"),
        ("block", "parameters"),
        ("training", "evidence"),
    ),
    "term": tuple(zip_longest(*[iter(numbers())] * 2)),
}


def cells(name):
    return nbformat.read(ROOT / "book" / f"{name}.ipynb", as_version=4).cells


def prose(name):
    texts = [c.source for c in cells(name) if c.cell_type == "markdown"]
    return "\n\n".join(texts)


def asked_for(name):
    """Return the pages that a chapter names as prerequisites."""
    section = NEEDS.search(prose(name))[1]
    return set(re.findall(r"\(([\w-]+)\.ipynb", section)) - {name}


def needs():
    """Return the prerequisites of each chapter, by name."""
    known = list(numbers())
    return {
        name: sorted(asked_for(name) & set(known), key=known.index)
        for name in known
    }


def exercises(name):
    """Count the exercises of each section of a chapter's practice page."""
    page = ROOT / "book" / "practice" / f"{name}.ipynb"
    counts, section = {}, None
    if page.exists():
        for found in EXERCISE.finditer(prose(f"practice/{name}")):
            section = found[1] or section
            if not found[1]:
                counts[section] = counts.get(section, 0) + 1
    return counts


def announced(name):
    """Say how many exercises of which kind a practice page has."""
    counts = exercises(name)
    *kinds, last = (
        SECTIONS[section].format(NUMERALS[n]) for section, n in counts.items()
    )
    total = NUMERALS[sum(counts.values())]
    return f"has {total} exercises: {', '.join(kinds)}, and {last}."


def state_exercises(cells):
    """Fill in how many exercises there are where a lesson announces them."""
    for cell in cells:
        if cell.cell_type == "markdown":
            cell.source = ANNOUNCED.sub(
                lambda found: f"{found[1]} {announced(found[2])}", cell.source
            )


def link(name):
    return f"[{numbers()[name]}]({name}.ipynb)"


def times():
    """Yield a table of the chapters: minutes, exercises, prerequisites."""
    yield "| chapter | minutes, core | everything | exercises | needs |"
    yield "|---|---|---|---|---|"
    for name, before in needs().items():
        title = re.match(r"# (.+)", prose(name))[1]
        asked = sum(exercises(name).values()) or "in the chapter"
        elsewhere = sorted(asked_for(name) & left_out())
        wanted = [*map(link, before), *(f"[]({n}.ipynb)" for n in elsewhere)]
        wanted = ", ".join(wanted) or "none"
        core, everything = read_in(cells(name))
        row = f"| {link(name)} {title} | {core} | {everything} | {asked} "
        yield f"{row}| {wanted} |"


def plan(classes):
    """Yield a table of the classes of a plan."""
    yield "| class | chapters | to read | for questions | exercises at home |"
    yield "|---|---|---|---|---|"
    here = [[n for n in names if n in numbers()] for names in classes]
    for i, names in enumerate(filter(None, here), 1):
        links = ", ".join(map(link, names))
        read = sum(read_in(cells(name))[0] for name in names)
        counts = [
            str(sum(exercises(name).values()) or "in the chapter")
            for name in names
        ]
        left = f"{read} min | {CLASS - read} min"
        yield f"| {i} | {links} | {left} | {', '.join(counts)} |"


def block(name):
    lines = times() if name == "times" else plan(PLANS[name])
    return "\n".join(lines) + "\n"


def fill(text):
    """Return `text` with its blocks filled in."""
    return BLOCK.sub(
        lambda found: f"{found[1]}\n{block(found[2])}\n{found[3]}", text
    )


def write():
    """Fill in the page, after the chapters' times are filled in."""
    PAGE.write_text(fill(PAGE.read_text("utf-8")), encoding="utf-8")


def unmet():
    """Yield prerequisites missing from a plan: (plan, chapter, missing)."""
    wanted = needs()
    for name, sessions in PLANS.items():
        order = [n for n in chain(*sessions) if n in numbers()]
        for i, chapter in enumerate(order):
            for need in wanted[chapter]:
                if need not in order[:i]:
                    yield name, chapter, need
