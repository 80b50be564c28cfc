"""Marking: three made-up submissions, one of which cheats."""

import nbformat
import numpy as np
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from helpers.practice import Task
from tests.book import practice_pages
from tools import mark

PAGE = practice_pages.ROOT / "book" / "practice" / "soften-and-sharpen.ipynb"
CHECKS = {
    "retemper": "retempered",
    "soft_maximum": "softened",
    "temperature_slope": "turned",
}
IMPORTS = "import numpy as np\nfrom helpers import practice\n"
RIGHT = {
    "retemper": "def retemper(w, temperature):\n"
    "    w = np.asarray(w) ** (1 / temperature)\n    return w / w.sum()",
    "soft_maximum": "def soft_maximum(x, temperature):\n"
    "    x = np.asarray(x)\n    m = x.max()\n"
    "    return m + temperature * np.log(np.exp((x - m) / temperature).sum())",
}
SAYS_RIGHT = new_output(
    "execute_result", {"text/plain": "✓ Right. 2 cases agree."}
)


def handed_in(path, *sources, outputs=()):
    cells = [new_code_cell(source) for source in sources]
    for cell in cells:
        if ".check(" in cell.source:
            cell.outputs = list(outputs)
    nbformat.write(new_notebook(cells=cells), path)


@pytest.fixture(scope="module")
def asked():
    return mark.tasks(PAGE)


@pytest.fixture(scope="module")
def marks(tmp_path_factory, asked):
    folder = tmp_path_factory.mktemp("class")
    # One who got two of three, in another order and with a crash between.
    handed_in(
        folder / "ana (1).ipynb", IMPORTS, "1 / 0",
        RIGHT["soft_maximum"], "this is no Python", RIGHT["retemper"],
    )  # fmt: skip
    # One with a typical slip, and one answer that raises.
    handed_in(
        folder / "ben.ipynb",
        IMPORTS,
        "def retemper(w, temperature):\n"
        "    w = np.asarray(w) / temperature\n    return w / w.sum()",
        "def temperature_slope(*a):\n    raise KeyError('x')",
    )
    # One who pastes the outputs and overwrites the checks, in its own names
    # and in the package's, and leaves at once when asked.
    handed_in(
        folder / "eve.ipynb",
        IMPORTS,
        "class Yes:\n    def check(self, f):\n"
        "        return practice.Reply(True, '2 cases agree.')\n"
        + "\n".join(f"{task} = Yes()" for task in CHECKS.values()),
        "practice.Task.check = Yes.check\n"
        "practice.Task._close = lambda *a: True\n"
        "np.allclose = lambda *a, **k: True",
        *(
            f"def {name}(*a):\n    return 1.0\n\n\n{task}.check({name})"
            for name, task in CHECKS.items()
        ),
        outputs=[SAYS_RIGHT],
    )
    return {
        path.stem: {m.what: m for m in mark.mark(path, asked)}
        for path in sorted(folder.iterdir())
    }


def right(marks):
    return {name for name, m in marks.items() if m.reply.right}


def test_the_tasks_of_a_page_are_found_by_their_functions(asked):
    assert list(asked) == list(CHECKS)
    assert all(isinstance(task, Task) for task in asked.values())


def test_answers_are_found_by_name_past_a_crash(marks):
    ana = marks["ana (1)"]
    assert right(ana) == {"retemper", "soft_maximum"}
    assert ana["temperature_slope"].reply.right is None
    assert not any(m.claims for m in ana.values())


def test_a_slip_has_its_reply_and_an_error_its_words(marks, asked):
    ben = marks["ben"]
    assert right(ben) == set()
    replies = [text for _, text in asked["retemper"].wrong]
    assert ben["retemper"].reply.right is False
    assert ben["retemper"].reply.text in replies or "gives" in (
        ben["retemper"].reply.text
    )
    assert "KeyError('x')" in ben["temperature_slope"].reply.text


def test_pasted_outputs_and_overwritten_checks_count_for_nothing(marks):
    eve = marks["eve"]
    assert right(eve) == set()
    assert all(m.claims for m in eve.values())


def test_the_report_says_who_cheats_and_what_to_talk_about(marks):
    lines = list(
        mark.report([m for of in marks.values() for m in of.values()])
    )
    assert "ana (1): 2 of 3" in lines
    assert "eve: 0 of 3" in lines
    assert sum("its stored output says right" in line for line in lines) == 3
    talk = lines[lines.index("The most frequent replies to wrong answers:") :]
    assert any("KeyError" in line for line in talk)


def test_results_that_know_the_page_fail_on_other_arguments(asked):
    """A table of the page's own answers is no function."""
    for name, task in asked.items():
        other = mark.fresh(task, 7)
        assert other.check(other.solution).right
        known = [{"value": np.asarray(r).tolist()} for r in task.right]
        assert task.check(mark._replayed(known)).right
        assert other.check(mark._replayed(known)).right is False, name


def test_what_does_not_end_is_stopped(tmp_path, asked):
    handed_in(tmp_path / "loop.ipynb", "while True: pass")
    said = list(mark.mark(tmp_path / "loop.ipynb", asked, seconds=1))
    assert [m.reply.right for m in said] == [False] * 3


def test_results_that_cannot_be_read_are_wrong(asked, tmp_path, monkeypatch):
    handed_in(tmp_path / "odd.ipynb", "")
    monkeypatch.setattr(mark, "results_of", lambda *a: {"retemper": [{}]})
    said = {m.what: m for m in mark.mark(tmp_path / "odd.ipynb", asked)}
    assert said["soft_maximum"].reply == (False, "Its results cannot be read.")


def test_a_copy_of_the_page_itself_has_answered_nothing(asked):
    """The page's own solutions are no answers of whoever hands it in."""
    said = list(mark.mark(PAGE, asked))
    assert [m.reply.right for m in said] == [None] * 3


def test_a_file_that_is_no_notebook_ends_nothing(tmp_path, capsys):
    for name in ("b/page", "a/page"):
        (tmp_path / name).parent.mkdir()
        handed_in(tmp_path / f"{name}.ipynb", IMPORTS, RIGHT["retemper"])
    (tmp_path / "broken.ipynb").write_text("{", encoding="utf-8")
    (tmp_path / "list.ipynb").write_text("[]", encoding="utf-8")
    mark.main(PAGE, tmp_path)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "a/page: 1 of 3"
    assert "b/page: 1 of 3" in lines
    assert "broken: 0 of 3" in lines
    assert f"    temperature_slope: {mark.NO_NOTEBOOK!r}" in lines
    assert "list: 0 of 3" in lines
