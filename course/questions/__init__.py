"""Questions that check an answer: on a page, in Jupyter, and in a test.

A question is made in a cell, from values that the cell's code has computed:
the correct answer, and the answers that typical slips give, each with a reply.
This package contains everything that makes, shows or checks a question.
Notebooks import from `course.practice`.

* `record`: the part of a question that a page gets, and how it judges answers.
* `kinds`: the questions: a number, a matrix, a choice, a cell, an order, and
  predictions.
* `form`: their appearance, in HTML and in Jupyter.
* `task`: functions that readers write.

In the browser, `course/figures/practice/practice.js` judges by the same
records.
"""
