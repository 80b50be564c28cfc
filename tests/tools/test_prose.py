"""What `make prose` reads: all texts that a reader meets, and no code."""

import json

from tools.prose import __main__ as prose


def test_of_notebook_gives_prose_and_the_texts_of_questions(tmp_path):
    path = tmp_path / "page.ipynb"
    cells = [
        (
            "markdown",
            "Said.\n<div lang='x'>\n\n<div lang=\"es\">\nHola.</div>",
        ),
        ("code", "ask('one_name', 'How many rows?')"),
        ("code", "this is no program"),
    ]
    path.write_text(
        json.dumps(
            {"cells": [{"cell_type": k, "source": s} for k, s in cells]}
        )
    )
    assert list(prose.of_notebook(path)) == [
        "Said.\n<div lang='x'>\n\n",
        "How many rows?",
    ]


def test_of_script_gives_texts_and_not_names(tmp_path):
    path = tmp_path / "figure.js"
    path.write_text('say(`The weight is ${w} <b>now</b>`); key("av-key");')
    assert list(prose.of_script(path)) == ["The weight is 7 7now7"]


def test_texts_leave_out_examples_of_what_not_to_write():
    found = {name: list(text) for name, text in prose.texts()}
    assert {"README.md", "index.ipynb", "book/mask.ipynb"} <= set(found)
    assert "docs/lessons.md" in found
    assert "docs/writing.md" not in found
