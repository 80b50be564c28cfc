"""Stored results: weights of small models, and measurements.

Each file says which program of `research` made it.
"""

import base64
import json
from importlib.resources import files

import numpy as np

from helpers._checks import as_finite_floats, as_integer
from helpers.training import INDUCTION
from helpers.transformer import parameter_shapes


def pack(params, *, bits=16):
    """Convert parameters to integers with one scale per array, as text.

    The result has ``bits``, ``scales`` by name, and ``data``: all integers in
    the order of the names, little-endian, in base 64.

    Examples
    --------
    >>> pack({"x": np.array([1.0, -0.5])}, bits=8)["data"]
    'f8A='
    """
    if as_integer(bits, "bits") not in (8, 16):
        raise ValueError(f"bits must be 8 or 16; got {bits}")
    most = 2 ** (bits - 1) - 1
    scales, rows = {}, []
    for name, x in params.items():
        x = as_finite_floats(x, name)
        scales[name] = float(np.abs(x).max(initial=0)) / most or 1.0
        rows.append(np.rint(x / scales[name]).astype(f"<i{bits // 8}").ravel())
    data = base64.b64encode(np.concatenate(rows).tobytes()).decode()
    return {"bits": bits, "scales": scales, "data": data}


def unpack(packed, config):
    """Return the parameters that `pack` stored, as float64.

    Examples
    --------
    >>> from helpers.transformer import init_transformer
    >>> params = init_transformer(np.random.default_rng(0), INDUCTION)
    >>> error = unpack(pack(params), INDUCTION)["0.W_Q"] - params["0.W_Q"]
    >>> bool(abs(error).max() < 1e-5)
    True
    """
    shapes = parameter_shapes(config)
    if list(packed["scales"]) != list(shapes):
        raise ValueError(
            "packed must have the names of the model's parameters"
        )
    try:
        raw = base64.b64decode(packed["data"], validate=True)
    except ValueError:
        raise ValueError("packed must hold its data in base 64") from None
    numbers = np.frombuffer(raw, f"<i{packed['bits'] // 8}").astype(float)
    sizes = [int(np.prod(shape)) for shape in shapes.values()]
    if len(numbers) != sum(sizes):
        raise ValueError(
            f"packed must hold {sum(sizes)} integers; got {len(numbers)}"
        )
    parts = np.split(numbers, np.cumsum(sizes)[:-1])
    return {
        name: packed["scales"][name] * part.reshape(shape)
        for (name, shape), part in zip(shapes.items(), parts, strict=True)
    }


def stored(name):
    """Read a file that ships with the package: weights or measurements.

    Parameters
    ----------
    name : str
        The file's name, without folder and ending.

    Returns
    -------
    dict
        ``made`` is the command that made the file; the other keys differ.

    Raises
    ------
    FileNotFoundError
        If there is no such file.

    Examples
    --------
    >>> stored("induction")["made"]
    'python research/train.py induction'
    """
    file = files(__name__) / f"{name}.json"
    return json.loads(file.read_text(encoding="utf-8"))


def trained_induction(step=None):
    """Return the stored parameters of the induction model.

    Parameters
    ----------
    step : int, optional
        The number of training steps; the last by default.

    Returns
    -------
    dict of str to array
        For the model `INDUCTION`.

    Raises
    ------
    ValueError
        If this step is not stored.

    Examples
    --------
    >>> trained_induction()["embedding"].shape
    (12, 32)
    """
    if step is None:
        return unpack(stored("induction")["weights"], INDUCTION)
    checkpoints = stored("induction-steps")["checkpoints"]
    for checkpoint in checkpoints:
        if checkpoint["step"] == step:
            return unpack(checkpoint["weights"], INDUCTION)
    known = ", ".join(str(c["step"]) for c in checkpoints)
    raise ValueError(f"step must be one of {known}; got {step}")
