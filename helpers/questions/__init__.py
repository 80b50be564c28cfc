"""Questions that check an answer: on a page, in Jupyter, and in a test.

A question is made in a cell, from values that the cell's code has computed:
the right answer, and the answers that typical slips give, each with a reply.
Everything that makes, shows or checks one belongs here. Notebooks import from
`helpers.practice`.

* `record`: what a page gets of a question, and how an answer is judged by it.
* `kinds`: the questions: a number, a matrix, a choice, a cell, an order, and
  predictions.
* `form`: what they look like, in HTML and in Jupyter.
* `task`: functions that readers write.

`helpers/js/practice.js` judges by the same records in the browser.
"""
