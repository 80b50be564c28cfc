"""Interactive figures as Python has them: numbers, settings, refusals.

Without a browser. `test_figure_page.py` has what the page does with them.
"""

import re

import numpy as np
import pytest
from attention_site.figures import names
from traitlets import TraitError

from course import figures
from tests.figures.agreement import assert_same
from tests.figures.expected_figures import (
    CLASSES,
    EXPECTED,
    controls,
    every_state,
)


def test_figures_all_have_expected_numbers():
    modules = set(names())
    assert modules == set(EXPECTED), "give it tests/figures/test_NAME.py"


@pytest.mark.parametrize("name", CLASSES)
def test_repr_mimebundle_reads_without_scripts(name):
    figure = CLASSES[name]()
    data, _ = figure._repr_mimebundle_()
    html = data["text/html"]
    assert f'data-figure="{name}"' in html
    assert "run this cell" in html.partition("<section hidden")[0]
    assert figures.drawing(html) == figure.html()
    assert 'class="av-result"' in html
    assert 'class="av-say"' in html, "a sentence says what is seen"
    assert data["text/plain"] == repr(figure)
    assert "0x" not in repr(figure)
    again, _ = CLASSES[name]()._repr_mimebundle_()
    assert again["text/html"] == html


@pytest.mark.parametrize("name", CLASSES)
def test_values_of_every_state_equal_the_helpers(name):
    """The first state, chosen ones, and random ones: more than a browser's."""
    for settings in every_state(name):
        figure = CLASSES[name](**settings)
        state = {key: getattr(figure, key) for key in figure._settings()}
        assert state | settings == state
        try:
            assert_same(figure.values, EXPECTED[name](state))
        except AssertionError as error:
            error.add_note(f"{name}: {settings}")
            raise


def out_of_range(control):
    """Values that a control refuses, each with the rule that it breaks."""
    kind = control["kind"]
    if kind in ("range", "number", "power"):
        most = control["max"]
        yield type(most)(2 * most + 1), f"(a .* {control['min']} to|0 or 1)"
    if kind == "stops":
        yield control["stops"][-1] - 1, "one of"
    if kind == "choice":
        yield "nothing", "one of"
    if kind in ("words", "symbols"):
        for text in ("", "A B " * control["max"], "Z" * 99):
            yield text, f"{control['min']} to {control['max']} (word|letter)s"
    if kind == "matrix":
        (low, rows), (short, columns) = control["rows"], control["columns"]
        for x in (control["min"] - 0.5, control["max"] + 0.5):
            yield np.full((low, short), x), "(a (whole )?number from|0 or 1)"
        for shape in ((rows + 1, short), (low, columns + 1)):
            yield np.zeros(shape), f".*{rows} rows of .*{columns} numbers"


@pytest.mark.parametrize("name", CLASSES)
def test_settings_out_of_range_are_refused_by_label_and_key(name):
    """A page shows labels and no keys; who calls it in Python knows keys."""
    for control in controls(name):
        key, label = control["key"], control["label"]
        for value, rule in out_of_range(control):
            with pytest.raises(TraitError) as refused:
                CLASSES[name](**{key: value})
            said = str(refused.value)
            page, _, setting = said.partition(" (setting ")
            assert re.match(
                rf"(each number of )?“?{re.escape(label)}”? must (be|have) "
                rf"{rule}",
                page,
            ), said
            words = re.findall(r"\w+", label)
            assert (key in words) == (not setting), said
            assert setting in ("", f"{key})")
    with pytest.raises(TraitError, match="has no setting"):
        CLASSES[name](colour="red")


def test_settings_that_are_changed_later_are_refused_too():
    figure = figures.HeadsAndGroups(H=4, H_kv=4)
    figure.H_kv = 3
    with pytest.raises(TraitError, match="can share 1, 2, 4 key/value"):
        _ = figure.values
    with pytest.raises(TraitError, match="H_kv must divide H"):
        figure._repr_mimebundle_()
    figure.H = 6
    assert figure.values["kv_head"] == [0, 0, 1, 1, 2, 2]


def test_step_through_takes_arrays_and_starts_from_what_is_given():
    X = np.eye(2)
    figure = figures.StepThrough(Q=X, K=2 * X, V=X)
    assert figure.what == "Q, K, V"
    assert figure.values["dots"] == [[2, 0], [0, 2]]
    assert figures.StepThrough(X=X).what == "X"


HUGE = {"n_layers": 256, "n_kv_heads": 256, "d_k": 1024, "d_v": 1024,
        "batch": 4096, "dtype": "float16 or bfloat16"}  # fmt: skip
ONE_ROW = {"K": [[0.0] * 4], "V": [[1.0]]}
# What does not fit together, and what the refusal says that it got; nothing
# where it fits.
TOGETHER = [
    ("HeadsAndGroups", {"H": 12, "H_kv": 5}, "1, 2, 3, 4, 6, 12"),
    ("HeadsAndGroups", {"H": 12, "H_kv": 6}, ""),
    # Exactly 1 PiB, and one position more.
    ("KVCacheCalculator", {**HUGE, "S": 1024}, ""),
    ("KVCacheCalculator", {**HUGE, "S": 1025}, "1 PiB"),
    ("Backward", {"Q": [[1.0]]}, "got Q (1, 1) and K (3, 2)"),
    ("Backward", {"V": [[1.0]]}, "got K (3, 2) and V (1, 1)"),
    ("Backward", {"dY": [[1.0]] * 3}, "got dY (3, 1), Q (3, 2) and V (3, 2)"),
    ("Backward", {"dY": [[1.0, 2]]}, "got dY (1, 2), Q (3, 2) and V (3, 2)"),
    ("Backward", {"K": [[1.0, 2]], "V": [[1.0, 2]]}, "Q (3, 2) and K (1, 2)"),
    ("StepThrough", {"X": []}, "got 0 rows"),
    ("StepThrough", {"X": [[1.0], [1.0, 2.0]]}, "got 2 rows of 1 and 2"),
    ("StepThrough", {"X": [[float("inf")]]}, "each number of “X, "),
    ("StepThrough", {"Q": [[1.0]]}, "got Q (1, 1) and K (3, 4)"),
    ("StepThrough", {"V": [[1.0]]}, "got K (3, 4) and V (1, 1)"),
    ("StepThrough", {**ONE_ROW, "causal": True}, "Q (3, 4) and K (1, 4)"),
    ("StepThrough", ONE_ROW, ""),
    ("Film", {"words": "a b"}, "got 2 words and 3 rows"),
    ("Film", {"W_V": [[1.0]]}, "got X (3, 4) and W_V (1, 1)"),
    ("Film", {"W_Q": [[1.0]] * 4}, "got W_Q (4, 1) and W_K (4, 2)"),
    ("Film", {"X": [[0.125] * 4] * 3}, "two decimals; got 0.125"),
    ("Film", {"what": "X", "W_Q": [[1.0]]}, ""),
]  # fmt: skip


@pytest.mark.parametrize(("figure", "settings", "message"), TOGETHER)
def test_settings_that_do_not_fit_together_are_named(
    figure, settings, message
):
    if not message:
        assert getattr(figures, figure)(**settings).values
        return
    with pytest.raises(TraitError, match=re.escape(message)):
        _ = getattr(figures, figure)(**settings).values
