"""Questions that check an answer: on a page, in Jupyter, and in a test.

A question is made in a cell, from values that the cell's code has computed:
the right answer, and the answers that typical slips give, each with a reply.
What the page gets is a record, from which no answer can be read;
`helpers.questions.record` explains it.
"""

from .questions.kinds import (
    Cell,
    Choice,
    Matrix,
    Number,
    Order,
    Predict,
    Question,
)
from .questions.record import (
    HOW_TO_TYPE,
    POINT,
    Reply,
    judge,
    mark,
    parse,
    scramble,
)
from .questions.task import Task

__all__ = [
    "HOW_TO_TYPE",
    "POINT",
    "Cell",
    "Choice",
    "Matrix",
    "Number",
    "Order",
    "Predict",
    "Question",
    "Reply",
    "Task",
    "judge",
    "mark",
    "parse",
    "scramble",
]
