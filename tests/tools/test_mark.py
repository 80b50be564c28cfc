"""Marking: three made-up submissions, one of which cheats."""

import json
import os
import re

import nbformat
import numpy as np
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from course.practice import Task
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


def notebook(**fields):
    """The text of a notebook, with some fields of another form."""
    whole = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": []}
    return json.dumps({k: v for k, v in (whole | fields).items() if v != ...})


def with_cell(cell=None, **fields):
    whole = {"cell_type": "code", "id": "a", "metadata": {}, "outputs": [],
             "execution_count": None, "source": "1"}  # fmt: skip
    fields = {k: v for k, v in (whole | fields).items() if v != ...}
    return notebook(cells=[fields if cell is None else cell])


NESTED = f"{'[' * 100_000}{']' * 100_000}"
BAD = {
    "nothing": "",
    "text": '"a"',
    "page": "<!DOCTYPE html>",
    "utf16": notebook().encode("utf-16"),
    "zip": b"PK\x03\x04\xff\xfe",
    "deep": NESTED,
    "no-cells": notebook(cells=...),
    "text-cells": notebook(cells="ab"),
    "text-cell": with_cell("a"),
    "number-cell": with_cell(5),
    "no-source": with_cell(source=...),
    "mixed-source": with_cell(source=["a", 5]),
    "number-tags": with_cell(metadata={"tags": 5}),
    "future": notebook(nbformat=99),
    "folder": None, "dangling": None, "pipe": None, "large": None,
}  # fmt: skip
ODD = {  # notebooks all the same, whose other cells count
    "deep-source": "-" * 200_000 + "1",
    "null-byte": "a\0b",
    "half": "s = '\\ud800'; '\ud800'",
    "exits": "import os, sys; sys.exit()",
}


def put(folder, name, text):
    path = folder / f"{name}.ipynb"
    if isinstance(text, bytes):
        path.write_bytes(text)
    elif text is not None:
        path.write_text(text, encoding="utf-8", errors="surrogatepass")
    elif name == "folder":
        path.mkdir()
    elif name == "dangling":
        path.symlink_to(folder / "gone")
    elif name == "pipe":
        os.mkfifo(path)
    else:
        with path.open("wb") as file:
            file.truncate(mark.LARGEST + 1)


def test_no_file_ends_the_run_and_each_is_named(tmp_path, capsys):
    for name in ("b/page", "a/page"):
        (tmp_path / name).parent.mkdir()
        handed_in(tmp_path / f"{name}.ipynb", IMPORTS, RIGHT["retemper"])
    for name, text in BAD.items():
        put(tmp_path, name, text)
    for name, source in ODD.items():
        cells = [json.loads(with_cell(source=code))["cells"][0]
                 for code in (source, IMPORTS, RIGHT["retemper"])]  # fmt: skip
        put(tmp_path, name, notebook(cells=cells))
    (tmp_path / "two\nlines\udcff.ipynb").write_text("{", encoding="utf-8")
    mark.main(PAGE, tmp_path)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "a/page: 1 of 3"
    for name in ("b/page", *ODD):
        assert f"{name}: 1 of 3" in lines
    for name in (*BAD, r"two\nlines\udcff"):
        (said,) = [line for line in lines if line.startswith(f"{name}: ")]
        assert re.fullmatch(
            r".*: The file is not a notebook: \S.{5,200}\.", said
        ), said
    assert not [line for line in lines if line.endswith("2 of 3")]
    assert sum(" of 3" in line for line in lines) == 2 + len(ODD)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("return f'{w ** 2 / (w ** 2).sum()}'", "gives '["),
        ("return {'w': w}", "gives {'w': array("),
        ("return np.ma.masked_all(len(w))", "gives [-- --"),
        ("return w + 0j", "gives [0.7+0.j, 0.2+0.j"),
        ("return (w ** (1 / temperature)).astype('f')", "float32 numbers"),
        ("return w * np.nan", "NaN comes from"),
        ("raise ValueError('a\\n\\x1b[31m' * 99)", "raises ValueError('a"),
    ],
)
def test_a_result_is_judged_as_on_the_page(tmp_path, asked, source, said):
    handed_in(
        tmp_path / "it.ipynb", IMPORTS,
        f"def retemper(w, temperature):\n    w = np.array(w)\n    {source}",
    )  # fmt: skip
    marks = {m.what: m for m in mark.mark(tmp_path / "it.ipynb", asked)}
    reply = marks["retemper"].reply
    assert reply.right is False
    assert said in reply.text
    assert max(map(len, mark.report(marks.values()))) < 1200


@pytest.mark.parametrize(
    "start",
    [
        "%matplotlib inline\n",
        "%%time\n",
        "!pip list\n",
        "display(1)\n",
        "get_ipython().run_line_magic('pylab', '')\n",
        "name = input('Your name: ')\n",
        "import asyncio\nawait asyncio.sleep(0)\n",
        "# Solution by Anna\n",
    ],
)
@pytest.mark.parametrize("minor", [0, 4, 5])
def test_a_cell_that_jupyter_runs_counts(tmp_path, asked, start, minor):
    """Also in the formats without names of cells, which Colab writes."""
    cells = [
        json.loads(with_cell(source=source))["cells"][0]
        for source in (IMPORTS, start + RIGHT["retemper"])
    ]
    for cell in cells:
        if minor < 5:
            del cell["id"]
    put(tmp_path, "it", notebook(cells=cells, nbformat_minor=minor))
    marks = {m.what: m for m in mark.mark(tmp_path / "it.ipynb", asked)}
    assert marks["retemper"].reply.right
