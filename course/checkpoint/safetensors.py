"""The format safetensors: a header in JSON, then the weights.

A file begins with the length of its header, in eight bytes. The header states
the type and the shape of each tensor, and where its bytes begin and end,
counted from the end of the header. They follow each other without gaps.
"""

import math
import os

from .errors import CheckpointError, shown
from .files import exactly, json_object
from .gguf import Tensor, read_tensor

WIDTHS = {"F32": 4, "F16": 2, "BF16": 2}  # bytes per number
MOST_HEADER = 2**24  # bytes: some 100,000 tensors


def read_index(file, name):
    """Return the tensors that a file states, in the order of their bytes.

    Examples
    --------
    >>> import json, tempfile
    >>> entry = {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}
    >>> header = json.dumps({"a": entry}).encode()
    >>> with tempfile.TemporaryFile() as file:
    ...     _ = file.write(len(header).to_bytes(8, "little") + header)
    ...     _ = file.write(bytes(4))
    ...     _ = file.seek(0)
    ...     read_index(file, "one.safetensors")["a"].shape
    (1,)
    """
    size = os.fstat(file.fileno()).st_size
    length = int.from_bytes(file.read(8), "little")
    if size < 8 or length > min(size - 8, MOST_HEADER):
        raise CheckpointError(
            f"{name}: the file must be safetensors, its header at most "
            f"{MOST_HEADER:,} bytes within it; got {length:,} of {size:,}"
        )
    header = exactly(file, length, name)
    header = json_object(header, name, "the header of safetensors")
    header.pop("__metadata__", None)
    first = end = 8 + length
    found = [_tensor(own, entry, name) for own, entry in header.items()]
    found.sort(key=lambda tensor: (tensor.start, tensor.nbytes))
    for tensor in found:
        if first + tensor.start != end:
            raise CheckpointError(
                f"{name}: tensor {shown(tensor.name)} must begin where the "
                f"one before it ends, at byte {end - first} after the header; "
                f"got {shown(tensor.start)}"
            )
        end += tensor.nbytes
    if end != size:
        raise CheckpointError(
            f"{name}: the tensors must end with the file; got bytes "
            f"{shown(end)} and {size}"
        )
    return {t.name: t._replace(start=first + t.start) for t in found}


def _tensor(own, entry, name):
    """A tensor as the header states it; it begins behind the header."""
    try:
        kind, shape = entry["dtype"], tuple(entry["shape"])
        start, end = entry["data_offsets"]
        counts = (*shape, start, end)
        fits = all(type(n) is int and n >= 0 for n in counts) and start <= end
    except (KeyError, TypeError, ValueError):
        fits = False
    if not fits:
        raise CheckpointError(
            f"{name}: tensor {shown(own)} must have dtype, shape and two "
            f"data_offsets, none below 0; got {shown(entry)}"
        )
    return Tensor(own, shape, kind, start, end - start)


def read_numbers(file, name, tensor):
    """Read the numbers of a tensor, as float32, of an open file."""
    width = WIDTHS.get(tensor.kind) if isinstance(tensor.kind, str) else None
    if width is None:
        raise CheckpointError(
            f"{name}: tensor {shown(tensor.name)} must be of type "
            f"{', '.join(WIDTHS)}; got {shown(tensor.kind)}"
        )
    wanted = width * math.prod(tensor.shape)
    if tensor.nbytes != wanted:
        raise CheckpointError(
            f"{name}: tensor {shown(tensor.name)} must have {wanted} bytes, "
            f"by its shape; got {tensor.nbytes}"
        )
    return read_tensor(file, tensor, name)
