"""The appearance of a question: a form in HTML, and a widget in Jupyter."""

import re
from functools import cache
from html import escape

from .record import packed

# The d_k of a sentence (svg.js has the same for figures).
LOW = re.compile(r"\b([dWH])_([A-Za-z0-9]{1,5})\b")


def prose(text):
    """Return a text as HTML, with `code` in backticks and low letters.

    Examples
    --------
    >>> prose("Is `a<b`?")
    'Is <code>a&lt;b</code>?'
    >>> prose("The width d_k, `d_k` in code.")
    'The width d<sub>k</sub>, <code>d_k</code> in code.'
    """
    parts = re.split(r"`([^`]+)`", escape(text))
    parts[::2] = [LOW.sub(r"\1<sub>\2</sub>", part) for part in parts[::2]]
    parts[1::2] = [f"<code>{part}</code>" for part in parts[1::2]]
    return "".join(parts)


@cache
def widget_class():
    """Return the class that shows a question in Jupyter, with our script."""
    import anywidget
    from traitlets import Unicode

    from .. import figures

    class View(anywidget.AnyWidget):
        _esm = figures.module("practice")
        _css = "".join(
            figures.path_of(file).read_text(encoding="utf-8")
            for file in ("tokens.css", "practice.css")
        )
        html = Unicode().tag(sync=True)

    return View


def counted(given, count):
    """Return the names of rows or columns: as given, or counted from 0.

    Examples
    --------
    >>> counted("jar", 2), counted(["a", "b"], 2)
    (['jar 0', 'jar 1'], ['a', 'b'])
    """
    if isinstance(given, str):
        return [f"{given} {i}" if given else "" for i in range(count)]
    return list(given)


def field_table(fields, rows, columns):
    """Return a table of fields; empty names and single names are left out.

    A field without a name beside it needs no table.

    Examples
    --------
    >>> field_table([["<input>"]], [""], ["answer"])
    '<input>'
    >>> field_table([["<input>"]], ["rows"], ["answer"])
    '<table><tr><th scope="row">rows</th><td><input></td></tr></table>'
    """
    if len(columns) == 1 and not any(rows):
        return fields[0][0]

    def head(scope, name):
        return f'<th scope="{scope}">{escape(name)}</th>' if name else ""

    lines = [
        head("row", name) + "".join(f"<td>{field}</td>" for field in line)
        for name, line in zip(rows, fields, strict=True)
    ]
    top = "".join(head("col", name) for name in columns)
    if top and len(columns) > 1:
        corner = "<td></td>" if any(rows) else ""
        lines.insert(0, corner + top)
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


class Shown:
    """Something shown as HTML on a page, and as a widget in Jupyter."""

    def _repr_mimebundle_(self, **kwargs):
        note = (
            "<p>To answer, run this cell and those above it "
            "(menu Run: Run All Cells).</p>"
        )
        shown = {"text/plain": repr(self), "text/html": note + self.html()}
        try:
            self._view = widget_class()(html=self.html())
        except ModuleNotFoundError:
            return shown, {}
        bundle = self._view._repr_mimebundle_(**kwargs)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        return {**data, **shown}, metadata

    def form(self, kind, fields, button, note=""):
        """The form of a question, which includes its record.

        `note` says beside the fields how to answer. Without the text of a
        `button`, the fields are pressed.
        """
        submit = button and f'<button type="submit">{button}</button> '
        return (
            f'<form class="av-question {kind}" data-question="{self.name}" '
            f'data-record="{packed(self.record)}" autocomplete="off">'
            f"<fieldset><legend>{prose(self.ask)}</legend>"
            f'<div class="av-line">{fields}{note}<div class="av-press">'
            f'{submit}<button type="button" '
            'class="av-clear" hidden>Clear</button></div></div>'
            '<div class="av-reply" role="status"></div></fieldset>'
            "<noscript><details><summary>Without scripts nothing is checked "
            f"here</summary><p>{prose(self.where)}</p></details></noscript>"
            "</form>"
        )
