"""Nested lists: the printed figures of a matrix, and the computed ones."""

import numpy as np


def leaves(nested):
    """Return the texts of nested lists, each with its index.

    Parameters
    ----------
    nested : str or nested lists of str

    Returns
    -------
    dict of tuple to str

    Examples
    --------
    >>> leaves([["1", "2"]])
    {(0, 0): '1', (0, 1): '2'}
    """
    if not isinstance(nested, list):
        return {(): nested}
    return {
        (i, *index): leaf
        for i, part in enumerate(nested)
        for index, leaf in leaves(part).items()
    }


def shape(nested, name="nested lists"):
    """Return the shape of nested lists, and refuse ragged ones.

    Examples
    --------
    >>> shape([["1", "2"], ["3", "4"]])
    (2, 2)
    """
    if not isinstance(nested, list):
        return ()
    shapes = {shape(part, name) for part in nested} or {()}
    if len(shapes) > 1:
        raise ValueError(f"{name} must not be ragged; got {nested}")
    return (len(nested), *shapes.pop())


def lists(value, name):
    """Convert arrays and tuples to nested lists, with exact entries.

    Examples
    --------
    >>> lists((1, np.array([2, 3])), "value")
    [1, [2, 3]]
    """
    if np.ma.is_masked(value):
        raise ValueError(f"{name} must have no masked entries; got {value}")
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple | range):
        return [lists(part, name) for part in value]
    return value


def rows(nested, show):
    """Return texts for figures, grouped by printed rows.

    `show` maps the index of a figure to its text.

    Examples
    --------
    >>> rows([["1", "2"], ["3", "4"]], lambda index: f"{sum(index)}")
    [['0', '1'], ['1', '2']]
    """
    found = {}
    for index in leaves(nested):
        found.setdefault(index[:-1], []).append(show(index))
    return list(found.values())
