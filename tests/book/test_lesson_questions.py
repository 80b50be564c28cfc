"""Questions of lessons: what a page says of an answer, worked out anew."""

import math
import re
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal

import nbformat

from course.practice import judge
from tests.book.practice_pages import ROOT, forms, unpacked

BOOK = ROOT / "book"
SOFTEN = BOOK / "soften-and-sharpen.ipynb"
JARS, MARBLES = range(4), (10, 40, 20, 30)


def exact(place, temperature):
    """The soft lookup of the shelf, as a loop."""
    says = [math.exp(-((place - p) ** 2) / (2 * temperature)) for p in JARS]
    pairs = zip(says, MARBLES, strict=True)
    return math.fsum(say * v for say, v in pairs) / math.fsum(says)


def test_the_slope_at_a_tie_is_that_of_the_lookup():
    form = forms(SOFTEN)["soften-cooling"]
    right = [judge(unpacked(form), [i]).right for i in range(3)]
    slopes = []
    for t in (1, 0.01):
        h = t / 1000
        slopes.append((exact(1.5 + h, t) - exact(1.5 - h, t)) / (2 * h))
    times = abs(slopes[1] / slopes[0])
    assert right == [times < 0.1, 0.1 < times < 10, times > 1000]
    assert any(right)


def test_a_mask_that_leaks_nothing_is_known_by_what_it_shows():
    form = forms(BOOK / "test-a-mask.ipynb")["mask-blind"]
    options = [field.text.strip() for field in form.find_all("label")]
    right = {
        option: judge(unpacked(form), [i]).right
        for i, option in enumerate(options)
    }
    pairs = {(i, j) for i in (2, 3) for j in range(4)}
    allowed = {(i, j) for i, j in pairs if j <= i}
    shows = {
        "the mask is aligned at the upper left": {
            (i, j) for i, j in pairs if j <= i - 2
        },
        # One key too far to the left shows nothing of the future.
        "the diagonal is one key too far to the right": {
            (i, j) for i, j in pairs if j <= i + 1
        },
        "the mask is the opposite": pairs - allowed,
        "there is no mask": pairs,
    }
    assert right == {text: seen < allowed for text, seen in shows.items()}


def test_the_jacobian_with_a_slip_is_drawn_nowhere():
    form = forms(SOFTEN)["soften-jacobian"]
    said = form.legend.text
    t = float(re.search(r"at temperature ([\d.]+)", said)[1])
    exps = [math.exp(x / t) for x in (0, 0.75, 0.5, -0.75)]
    w = [e / sum(exps) for e in exps]
    true = [
        f"{a * ((i == j) - b):.2f}"
        for i, a in enumerate(w)
        for j, b in enumerate(w)
    ]
    shown = [field.text.strip() for field in form.find_all("label")]
    off = [i for i in range(16) if shown[i] != true[i]]
    assert [judge(unpacked(form), [i]).right for i in range(16)] == [
        i in off for i in range(16)
    ]
    assert len(off) == 1
    assert "0.00" not in {text.strip("-") for text in true}
    for cell in nbformat.read(SOFTEN, as_version=4).cells:
        for output in cell.get("outputs", ()):
            drawing = output.get("data", {}).get("image/svg+xml", "")
            assert not re.search(rf"temperature {t:g}\b(?!\.)", drawing)


def solution(path, name):
    """What the solution of an exercise prints."""
    found = nbformat.read(path, as_version=4).cells
    for cell in found:
        if f"assert {name}.check" in cell.source:
            return cell.outputs[0].text
    raise AssertionError(name)


def test_the_place_of_the_peak_may_be_rounded_as_one_was_taught():
    path = BOOK / "practice" / SOFTEN.name
    printed = re.search(r"at ([\d.]+);", solution(path, "highest"))[1]
    of = unpacked(forms(path)["soften-peak"])
    for rule in (ROUND_HALF_UP, ROUND_HALF_EVEN):
        rounded = Decimal(printed).quantize(Decimal("0.001"), rule)
        assert judge(of, [str(rounded)]).right, rounded
    assert not judge(of, ["1.02"]).right
