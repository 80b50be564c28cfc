"""The landing page's puzzle, and its wall of all figures.

Both read without scripts: a guess is a fold, and the wall is a list. On the
site, `site.js` and `site.css` make the list a wall of squares.
"""

import re
from html import escape
from math import prod

from .entries import errata
from .ledger import entries_of
from .nested import leaves
from .numerals import matches
from .page import anchor
from .show import Shown

SCALES = {"1e3": " thousand", "1e6": " million", "1e9": " billion",
          "1e12": " trillion"}  # fmt: skip
MORE = '<a href="#every-figure-that-was-recomputed">See all wrong figures</a>'
# What is counted in these has its scale in the name.
UNITS = re.compile(r"\b([kKMGT]i?B|[GT]flops)\b")


def _with_scale(entry, digits, unit=""):
    """The digits as a reader would say them."""
    if digits.isdecimal():
        digits = f"{int(digits):,}"
    if unit or UNITS.search(entry.what):
        return f"{digits} {unit}".strip()
    return digits + SCALES.get(entry.times, "")


def _ledger(slug, entry, text):
    name = anchor(slug, entry.id)
    return f'<a href="book/ledger.html#{name}">{escape(text)}</a>'


def puzzle(ledger, guesses):
    """Return some printed figures to choose from, one of them wrong.

    Parameters
    ----------
    ledger : Ledger
    guesses : dict of str to tuple
        For the id of each figure, what it counts, its unit, and the factors
        of which it is the product, each a number with its name.

    Raises
    ------
    ValueError
        If a product does not give the figure of the ledger, or not exactly
        one figure is wrong.

    Examples
    --------
    >>> from course.published import load
    >>> puzzle(load("literature"), {
    ...     "tiny-matrices": ("memory", "GB", ["96 layers", "96 heads",
    ...                       "2,048 queries", "2,048 keys", "4 bytes"])})
    1.5 GB memory: wrong, 154.6 GB
    """
    entries = [ledger.entries[name] for name in guesses]
    wrong = [entry for entry in entries if entry.corrected is not None]
    if len(wrong) != 1:
        raise ValueError(f"one figure must be wrong; got {len(wrong)}")
    shown = [
        _guess(ledger.slug, entry, *guesses[entry.id]) for entry in entries
    ]
    html = "\n".join(html for html, _ in shown)
    return Shown(
        f'<div class="av-puzzle">\n{html}\n</div>',
        "\n".join(text for _, text in shown),
    )


def _guess(slug, entry, what, unit, factors):
    """A figure as a fold with its arithmetic, and as a line of text."""
    value = prod(
        int(re.match(r"[\d,]+", f)[0].replace(",", "")) for f in factors
    )
    right = entry.corrected or entry.printed
    if not matches(right, value, **entry.how):
        raise ValueError(f"{entry.id} must be {right}; got {value}")
    printed, exact = (
        _with_scale(entry, digits, unit) for digits in (entry.printed, right)
    )
    verdict = f"wrong, {exact}" if entry.corrected else "right"
    sign = "=" if f"{value:,}" == exact else "≈"
    sum_ = f"{' × '.join(factors)} {sign} <b>{exact}</b>"
    said = f"✗ Wrong: it is {exact}." if entry.corrected else "✓ Right."
    why = f" {escape(entry.because)}" if entry.corrected else ""
    more = f" {MORE}" if entry.corrected else ""
    html = (
        f'<details class="{"wrong" if entry.corrected else "right"}" '
        f'name="puzzle"><summary><b>{printed}</b> <span>{escape(what)}</span>'
        f"</summary>\n<p><strong>{said}</strong> {sum_}.{why} "
        f"<small>Printed in {_ledger(slug, entry, entry.section)}.</small>"
        f"{more}</p></details>"
    )
    return html, f"{printed} {what}: {verdict}"


def wall(ledgers):
    """Return every figure that was recomputed, source by source.

    Parameters
    ----------
    ledgers : list of Ledger

    Examples
    --------
    >>> from course.published import load
    >>> wall([load("walkthrough")])
    88 figures, 0 wrong
    """
    total, slips, sources = 0, 0, []
    for ledger in ledgers:
        entries = [e for e in entries_of(ledger) if e.kind == "figure"]
        count = sum(len(leaves(entry.printed)) for entry in entries)
        wrong = sum(len(errata(entry)) for entry in entries)
        total, slips = total + count, slips + wrong
        figures = "\n".join(_figures(ledger.slug, e) for e in entries)
        sources.append(
            f"<p>{escape(ledger.title)}: {count:,} figures, {wrong} wrong</p>"
            f"\n<p>{figures}</p>"
        )
    inside = "\n".join(sources)
    return Shown(
        f'<p class="recomputed"><strong>Code recomputed {total:,} published '
        f"figures and found {slips} of them wrong.</strong></p>\n"
        f'<details class="av-wall"><summary>All {total:,} figures</summary>\n'
        f"{inside}\n</details>",
        f"{total:,} figures, {slips} wrong",
    )


def _figures(slug, entry):
    """The figures of an entry, each an element, and why some are wrong."""
    wrong = errata(entry)
    right = leaves(entry.corrected) if wrong else {}

    def show(index, digits):
        text = escape(_with_scale(entry, digits))
        if index not in wrong:
            return f"<i>{text}</i>"
        exact = escape(_with_scale(entry, right[index]))
        return f"<del>{text}</del><ins>{exact}</ins>"

    shown = " ".join(show(*it) for it in leaves(entry.printed).items())
    said = [entry.because, entry.accident] if wrong else []
    why = " ".join(escape(text) for text in said if text)
    name = _ledger(slug, entry, f"{entry.what} ({entry.section}):")
    return f"<span>{name} {shown}{why and f' <small>{why}</small>'}</span>"
