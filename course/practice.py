"""Questions that check an answer: on a page, in Jupyter, and in a test.

A question is made in a cell, from values that the cell's code has computed:
the correct answer, and the answers that typical slips give, each with a reply.
The page receives a record of them, which `course.questions.record` explains.
"""

from .questions.kinds import (
    Cell,
    Choice,
    Guess,
    Matrix,
    Number,
    Order,
    Predict,
    Question,
)
from .questions.numerals import HOW_TO_TYPE, NAN, POINT, parse
from .questions.record import ROUND, Reply, judge
from .questions.task import Task, numbers

__all__ = [
    "HOW_TO_TYPE",
    "NAN",
    "POINT",
    "ROUND",
    "Cell",
    "Choice",
    "Guess",
    "Matrix",
    "Number",
    "Order",
    "Predict",
    "Question",
    "Reply",
    "Task",
    "judge",
    "numbers",
    "parse",
]
