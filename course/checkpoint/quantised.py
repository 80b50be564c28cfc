"""Convert weights that a file stores in few bits back to floats.

A type stores rows in blocks with a fixed number of weights and bytes. Q4_0,
Q4_1 and Q8_0 store a scale and small integers for each block of 32 weights.
"""

from typing import NamedTuple

import numpy as np


class Kind(NamedTuple):
    """How a type of GGUF stores numbers."""

    name: str
    weights: int  #: per block
    nbytes: int  #: per block


# The supported types, by their numbers in a file; then the names of the
# others, for messages. From the table `ggml_type` in the format's definition.
KINDS = {
    0: Kind("F32", 1, 4),
    1: Kind("F16", 1, 2),
    2: Kind("Q4_0", 32, 18),
    3: Kind("Q4_1", 32, 20),
    8: Kind("Q8_0", 32, 34),
    30: Kind("BF16", 1, 2),
}
OTHER_KINDS = {
    6: "Q5_0", 7: "Q5_1", 9: "Q8_1", 10: "Q2_K", 11: "Q3_K", 12: "Q4_K",
    13: "Q5_K", 14: "Q6_K", 15: "Q8_K", 16: "IQ2_XXS", 17: "IQ2_XS",
    18: "IQ3_XXS", 19: "IQ1_S", 20: "IQ4_NL", 21: "IQ3_S", 22: "IQ2_S",
    23: "IQ4_XS", 24: "I8", 25: "I16", 26: "I32", 27: "I64", 28: "F64",
    29: "IQ1_M", 34: "TQ1_0", 35: "TQ2_0", 39: "MXFP4",
}  # fmt: skip


PLAIN = {"F32": "<f4", "F16": "<f2"}
# The fields of a block: a scale, perhaps the lowest weight, and the integers.
BLOCKS = {
    "Q4_0": np.dtype([("d", "<f2"), ("q", "u1", 16)]),
    "Q4_1": np.dtype([("d", "<f2"), ("m", "<f2"), ("q", "u1", 16)]),
    "Q8_0": np.dtype([("d", "<f2"), ("q", "i1", 32)]),
}


def bfloat16(data):
    """Convert floats of which the upper 16 bits are stored, lower byte first.

    Examples
    --------
    >>> bfloat16(bytes([0x80, 0x3F, 0x00, 0xC0])).tolist()
    [1.0, -2.0]
    """
    upper = np.frombuffer(data, "<u2").astype("<u4") << 16
    return upper.view("<f4").astype(np.float32, copy=False)


def dequantised(data, kind):
    """Convert whole blocks to numbers, as float32.

    Parameters
    ----------
    data : bytes
        The blocks, one after another.
    kind : str
        "F32", "F16", "BF16", "Q4_0", "Q4_1" or "Q8_0".

    Returns
    -------
    (n,) float32 array
        With scale d and, in Q4_1, the block's minimum m: ``d * q`` for Q8_0,
        ``d * (q - 8)`` for Q4_0, ``d * q + m`` for Q4_1. In the 4-bit types,
        byte i holds weight i in its lower half and weight i + 16 in its upper
        half.

    Examples
    --------
    A block of Q4_1: scale 0.5, minimum -1, and 32 times the code 6.

    >>> block = np.array([0.5, -1], "<f2").tobytes() + bytes([0x66] * 16)
    >>> dequantised(block, "Q4_1")[:3].tolist()
    [2.0, 2.0, 2.0]
    """
    if kind == "BF16":
        return bfloat16(data)
    if kind in PLAIN:
        return np.frombuffer(data, PLAIN[kind]).astype(np.float32)
    blocks = np.frombuffer(data, BLOCKS[kind])
    d = blocks["d"].astype(np.float32)[:, None]
    if kind == "Q8_0":
        return (d * blocks["q"]).ravel()
    q = np.concatenate([blocks["q"] & 15, blocks["q"] >> 4], axis=1)
    if kind == "Q4_0":
        return (d * (q.astype(np.float32) - 8)).ravel()
    return (d * q + blocks["m"].astype(np.float32)[:, None]).ravel()
