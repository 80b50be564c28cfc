"""What makes the helpers a course: figures, questions, ledgers, evidence.

`figures` has the interactive figures, `questions` (public as `practice`) what
a page asks, `ledger` (public as `published`) what the sources print and
whether it holds, `evidence` stored results, `checkpoint` published weights,
`cards` published configurations, and `check` tries a function that a reader
wrote. This package imports `helpers`, never
the other way round.
"""

from .check import check

__all__ = ["check"]
