"""What all figures share: numbers, charts, messages, and what is typed."""

import decimal

import numpy as np
import pytest
from bs4 import BeautifulSoup

from course import figures
from tests.figures.reading import call, curves

# --- numbers -----------------------------------------------------------------


def rounded(x, digits):
    """A number as it is printed: ties away from zero, no minus for zero."""
    place = decimal.Decimal(1).scaleb(-digits)
    exact = decimal.Decimal(x).quantize(place, decimal.ROUND_HALF_UP)
    return f"{abs(exact) if exact == 0 else exact:,f}".replace("-", "−")


NUMBERS = [0, -0.001, 0.001, -0.004999, -0.005, 0.005, 0.125, -0.125, 1.005]
NUMBERS += [-0.5, 0.5, -1.5, 2.5, 10, -12.3456, 99.995, 1234.5678, -0.04, -10]


@pytest.mark.parametrize("digits", [0, 1, 2, 3, 4])
def test_fixed_rounds_and_gives_zero_no_sign(digits):
    for x in NUMBERS:
        assert call("fixed", x, digits) == rounded(x, digits), x
    assert call("fixed", -1.005) == rounded(-1.005, 2)
    assert call("fixed", float("-inf"), digits) == "−∞"


def test_whole_and_count_part_thousands():
    for n in [0, 1, 999, 1000, 12345, 123456, 1234567, 2**50]:
        assert call("whole", n) == f"{n:,}"
    assert call("count", 1, "row") == "1 row"
    assert call("count", 0, "row") == "0 rows"
    assert call("count", 4000, "row") == "4,000 rows"


def test_escape_leaves_no_markup():
    assert (
        call("escape", '<a href="x">&') == "&lt;a href=&quot;x&quot;&gt;&amp;"
    )
    assert call("say", "<b>") == '<p class="av-say">&lt;b&gt;</p>'


# --- charts ------------------------------------------------------------------


@pytest.mark.parametrize("y", [[0, 4], [-1, 1], [-0.002, 0], [0, 0.05]])
def test_chart_draws_lines_and_dots_on_its_axes(y):
    points = [[-8, y[0]], [0, y[1]], [8, (y[0] + y[1]) / 2]]
    dots = [[-3, y[0], "<d>"], [8, y[1], "e"]]
    html = call("chart", {
        "label": '<"l">', "x": [-8, 8], "y": y, "xlabel": "across",
        "ylabel": "up", "marks": dots,
        "lines": [{"points": points, "name": "<n>"}],
    })  # fmt: skip
    svg = BeautifulSoup(html, "html.parser").svg
    (line,), result, near = curves(svg)
    assert (abs(line - points) <= near).all()
    assert (abs(np.subtract(result, [d[:2] for d in dots])) <= near).all()
    assert svg["aria-label"] == '<"l">'
    names = [text.text for text in svg.select(".av-name")]
    assert names == ["<n>", "<d>", "e"]


@pytest.mark.parametrize("a", [0, 0.2, 2, 2.2, 3.8, 4])
@pytest.mark.parametrize("b", [0, 0.1, 1.9, 2.35, 2.4, 4])
def test_chart_names_of_two_lines_stand_apart_in_their_order(a, b):
    lines = [
        {"points": [[0, 0], [8, end]], "name": name}
        for end, name in ((a, "a"), (b, "b"))
    ]
    html = call("chart", {
        "label": "L", "x": [0, 8], "y": [0, 4], "lines": lines,
        "xlabel": "", "ylabel": "",
    })  # fmt: skip
    svg = BeautifulSoup(html, "html.parser").svg
    first, second = (float(t["y"]) for t in svg.select(".av-name"))
    assert abs(first - second) >= 13.9
    assert (first > second) == (a < b), "higher on the page is a smaller y"


# --- states and messages -----------------------------------------------------

WHOLE = {"key": "S", "label": "keys S", "min": 2, "max": 64, "step": 1,
         "kind": "range"}  # fmt: skip
A = {"key": "X", "label": "X, a row a line", "kind": "matrix", "min": -9,
     "max": 9, "rows": [1, 2], "columns": [1, 3]}  # fmt: skip
NAN, LONG = float("nan"), "a" * 41


@pytest.mark.parametrize(
    ("control", "right", "wrong"),
    [
        (WHOLE, [2, 64], {1: "1", 65: "65", 2.5: "2.5", NAN: "no number",
                          float("inf"): "Infinity"}),
        (WHOLE | {"step": 0.5}, [2.7], {70: "70", 1.9: "1.9"}),
        (WHOLE | {"kind": "flag"}, [True, False], {"yes": "yes", 1: "1"}),
        (WHOLE | {"kind": "choice", "options": ["a", "b"]}, ["b"],
         {"c": "c", LONG: LONG[1:] + "…", LONG[1:]: LONG[1:]}),
        (WHOLE | {"kind": "power", "min": 1}, [1, 64],
         {3: "3", 128: "128", 0.5: "0.5"}),
        (WHOLE | {"kind": "stops", "stops": [0, 20]}, [0, 20],
         {30: "30", NAN: "no number"}),
        (WHOLE | {"kind": "symbols", "letters": "ABC", "min": 1, "max": 3},
         ["A", "CCC"], {"": "no letter", "ABCA": "4 letters", "ABD": "D",
                        "a": "a", 3: "3"}),
        (WHOLE | {"kind": "text", "max": 3}, ["", "abc", "{ }"],
         {"abcd": "4 characters"}),
        (WHOLE | {"kind": "words", "letters": 3, "min": 2, "max": 3},
         ["a bc", "a b cde"], {"a": "1 word", "a b c d": "4 words",
                               "a bcde": "“bcde”", "": "no word", 5: "5"}),
    ],
)  # fmt: skip
def test_refusal_says_what_it_got(control, right, wrong):
    for value in right:
        assert call("complaint", control, value) == ""
    for value, got in wrong.items():
        message = call("complaint", control, value)
        assert "keys S" in message
        assert message.endswith(f"; got {got}")


def test_refusal_of_a_matrix_says_its_shape_or_number():
    assert call("complaint", A, [[1, 2, 3], [4, -9, 9]]) == ""
    for value, got in (
        ([], "0 rows"),
        ([[]], "1 row of 0"),
        (5, "0 rows"),
        ([[1], 2], "0 rows"),
        ([[1]] * 3, "3 rows of 1"),
        ([[1] * 4], "1 row of 4"),
        ([[1], [1, 2]], "2 rows of 1 and 2"),
        ([[1, 10]], "10"),
        ([[1, "1,5"]], "1,5"),
        ([[NAN]], "NaN"),
    ):
        message = call("complaint", A, value)
        assert "X, a row a line” must" in message
        assert message.endswith(f"; got {got}")


def test_wrong_state_has_a_message_and_no_result():
    state = {"H": 4, "H_kv": 3, "d_k": 2, "column": 0}
    shown = BeautifulSoup(call("stateShell", state,
                               of="heads"), "html.parser")  # fmt: skip
    assert shown.select_one(".av-error").text.startswith("H_kv must divide H")
    assert shown.select_one(".av-result").text == ""


def test_data_is_known_once_a_page_has_loaded_it():
    assert call("known", "steps") is None
    assert call("loaded", "steps") == [7, 0]
    (steps,) = (
        c["stops"] for c in figures.controls("induction") if c["key"] == "step"
    )
    later = [call("figure.later", {"step": k}, of="induction") for k in steps]
    assert later == [None] + ["induction-steps"] * (len(steps) - 1)


# --- what is typed -----------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("1 0\n−2 1.5", [[1, 0], [-2, 1.5]]),
        ("1,0\n-2,1.5", [[1, 0], [-2, 1.5]]),
        ("[[1, 0], [-2, 1.5]]", [[1, 0], [-2, 1.5]]),
        ("[[ 1.   0. ]\n [-2.   1.5]]", [[1, 0], [-2, 1.5]]),
        ("1\t0\r\n-2\t1.5\r\n", [[1, 0], [-2, 1.5]]),
        ("1 0;\n\n-2 1.5;", [[1, 0], [-2, 1.5]]),
        ("1;2", [[1], [2]]),
        ("1, 2 ,3", [[1, 2, 3]]),
        ("1 two; 3 4e1", [[1, "two"], [3, 40]]),
        ("0,5 1,5", [["0,5", "1,5"]]),
        ("−1 −2 −3;[4] [5]", [[-1, -2, -3], [4], [5]]),
        ("", []),
        (" ;\n,", []),
    ],
)
def test_parse_reads_a_matrix_as_it_is_pasted(text, rows):
    assert call("matrix", text) == rows
    assert call("parse", {"kind": "matrix"}, text) == rows


def test_parse_reads_a_field():
    for text, number in (("5", 5), (" 5 ", 5), ("−2.5", -2.5), ("-2", -2),
                         ("1e3", 1000), ("", None), ("  ", None),
                         ("zwei", None), ("1−2", None)):  # fmt: skip
        assert call("parse", {"kind": "range"}, text) == number, text
    for text, value in (("true", True), ("false", False), (True, True),
                        (False, False), ("maybe", "maybe"),
                        ("", "")):  # fmt: skip
        assert call("parse", {"kind": "flag"}, text) == value
    assert call("parse", {"kind": "choice"}, "−a") == "−a"
    for text, symbols in (("ABL", "ABL"), (" a, b\nl ", "ABL"), ("", ""),
                          ("m1", "M1")):  # fmt: skip
        assert call("parse", {"kind": "symbols"}, text) == symbols
    assert call("parse", {"kind": "words"}, "  a\n  −b ") == "a −b"
    pasted = '{\n  "a": 1\n}\n'
    assert call("parse", {"kind": "text"}, pasted) == '{ "a": 1 }'
    assert call("parse", {"kind": "stops"}, "150") == 150
