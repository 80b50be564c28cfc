"""The ledger of published numbers: its modules, in reading order.

This package contains everything that reads, judges or shows numbers printed by
a source. The data are in `course/ledgers/`; notebooks import from
`course.published`.

* `numerals`: exact arithmetic. When does a number give the printed digits?
* `nested`: lists of lists, as ledgers print matrices.
* `entries`: an entry as a frozen dataclass.
* `schema`: the form of a ledger, which a library checks.
* `rules`: rules that a schema cannot express.
* `files`: a YAML file as texts.
* `compare`: where computed numbers differ from the printed ones.
* `ledger`: a source's entries, and which of them were compared.
* `show`, `beside`: the lines that an audit and a lesson print.
* `page`: tables in HTML.
* `wall`: the landing page's puzzle, and all figures.
"""
