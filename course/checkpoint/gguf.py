"""The format GGUF: a header with names and numbers, then the weights.

A file begins with the letters GGUF, a version, and two counts. The metadata
follow, each a key, the number of a type and a value; then one entry for each
tensor, with its name, its shape, its type and where its bytes begin. All
numbers are little-endian. The bytes of the tensors come last, from the next
multiple of ``general.alignment``.

No count in the header is trusted before the file is known to be long enough
for it. As a file may be long and empty, the header has limits of its own, some
times as large as those of published models.
"""

import math
import os
import struct
from typing import NamedTuple

from .errors import CheckpointError, shown
from .files import exactly
from .quantised import KINDS, OTHER_KINDS, dequantised

VERSIONS = (2, 3)
# The types of a value in the metadata, by their numbers in a file.
NUMBERS = dict(
    enumerate(("<B", "<b", "<H", "<h", "<I", "<i", "<f", None, None, None))
)
NUMBERS |= {10: "<Q", 11: "<q", 12: "<d"}
TRUTH, TEXT, LIST = 7, 8, 9
MOST_AXES = 4
DEEPEST = 4  # the deepest nesting of lists
MOST_HEADER = 2**26  # bytes
MOST_VALUES = 2**20  # keys of the metadata and entries of lists, together
MOST_TENSORS = 2**17


class Tensor(NamedTuple):
    """The position of a tensor in a file, and how it is stored."""

    name: str
    shape: tuple  #: as in NumPy: the last axis is contiguous
    kind: str  #: such as "Q4_1"
    start: int  #: the byte of the file at which it begins
    nbytes: int


class Header(NamedTuple):
    """The header of a file."""

    metadata: dict
    tensors: dict  #: `Tensor` by name


class Bytes:
    """The bytes of an open file, read from front to back."""

    def __init__(self, file, name):
        self.file, self.name = file, name
        self.size = os.fstat(file.fileno()).st_size
        self.values = MOST_VALUES  # how many more there may be

    def refuse(self, rule):
        raise CheckpointError(f"{self.name}: {rule}")

    @property
    def left(self):
        """The number of bytes that remain."""
        return self.size - self.file.tell()

    def take(self, n, what):
        """The next `n` bytes."""
        at = self.file.tell()
        if n > self.left:
            self.refuse(
                f"the file must be long enough for {what}; got {n} bytes at "
                f"byte {at} of {self.size}"
            )
        if at + n > MOST_HEADER:
            self.refuse(
                f"{what} must be in the first {MOST_HEADER:,} bytes, the "
                f"largest header; got {n} bytes at byte {at}"
            )
        return exactly(self.file, n, self.name)

    def number(self, form, what):
        """The next number, in a format of `struct`."""
        return struct.unpack(form, self.take(struct.calcsize(form), what))[0]

    def count(self, least, what):
        """A number of things, each of which takes at least `least` bytes."""
        n = self.number("<Q", what)
        if n * least > self.left:
            self.refuse(
                f"the file must be long enough for {what}; got {n} in "
                f"{self.left} bytes"
            )
        return n

    def values_of(self, least, what):
        """A number of values as by `count`, limited with all before."""
        n = self.count(least, what)
        self.values -= n
        if self.values < 0:
            self.refuse(
                f"the metadata must hold at most {MOST_VALUES:,} values; got "
                f"{n} more for {what}"
            )
        return n

    def text(self, what):
        """A text, after its length in bytes."""
        letters = f"the letters of {what}"
        data = self.take(self.number("<Q", letters), letters)
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            self.refuse(f"{what} must be UTF-8; got {shown(data[:60])}")


def read_header(file, name):
    """The metadata and the list of tensors of an open file.

    Parameters
    ----------
    file : binary file
        Open at its first byte.
    name : str
        Its name in messages.

    Returns
    -------
    Header

    Raises
    ------
    CheckpointError
        If the file is not GGUF, ends early, or contradicts itself.

    Examples
    --------
    >>> import struct, tempfile
    >>> with tempfile.TemporaryFile() as file:
    ...     _ = file.write(b"GGUF" + struct.pack("<IQQ", 3, 0, 0))
    ...     _ = file.seek(0)
    ...     read_header(file, "none.gguf")
    Header(metadata={}, tensors={})
    """
    source = Bytes(file, name)
    if source.size < 4 or source.take(4, "the letters GGUF") != b"GGUF":
        source.refuse("the file must begin with the letters GGUF")
    version = source.number("<I", "the version")
    if version not in VERSIONS:
        listed = " or ".join(map(str, VERSIONS))
        source.refuse(
            f"the version must be {listed}, little-endian; got {version}"
        )
    n_tensors = source.count(24, "the list of tensors")
    if n_tensors > MOST_TENSORS:
        source.refuse(
            f"there must be at most {MOST_TENSORS:,} tensors; got {n_tensors}"
        )
    n_metadata = source.values_of(13, "the metadata")
    metadata = {}
    for i in range(n_metadata):
        key = source.text(f"key {i} of the metadata")
        if key in metadata:
            source.refuse(f"each key must be there once; got {shown(key)}")
        kind = source.number("<I", f"the type of {shown(key)}")
        metadata[key] = _value(source, kind, shown(key), DEEPEST)
    entries = [_entry(source, i) for i in range(n_tensors)]
    return Header(metadata, _placed(source, entries, metadata))


def _value(source, kind, what, deepest):
    """The value of a key, or an entry of a list."""
    if kind == TRUTH:
        value = source.number("<B", what)
        if value > 1:
            source.refuse(f"{what} must be 0 or 1, a truth value; got {value}")
        return bool(value)
    if kind == TEXT:
        return source.text(what)
    if kind == LIST:
        inner = source.number("<I", f"the type of {what}")
        if inner not in (*NUMBERS, TRUTH, TEXT, LIST):
            source.refuse(f"{what} must have a known type; got {inner}")
        if not deepest:
            source.refuse(f"{what} must not be nested so deeply")
        form = NUMBERS.get(inner)
        least = struct.calcsize(form) if form else 1 if inner == TRUTH else 8
        n = source.values_of(least, what)
        if form:  # all entries at once
            data = source.take(n * least, what)
            return list(struct.unpack(f"<{n}{form[1]}", data))
        return [_value(source, inner, what, deepest - 1) for _ in range(n)]
    form = NUMBERS.get(kind)
    if form is None:
        source.refuse(f"{what} must have a known type; got {kind}")
    return source.number(form, what)


def _entry(source, i):
    """A tensor's name, shape, type and offset, as the file states them."""
    name = source.text(f"the name of tensor {i}")
    what = f"tensor {shown(name)}"
    n_axes = source.number("<I", f"the axes of {what}")
    if not 1 <= n_axes <= MOST_AXES:
        source.refuse(f"{what} must have 1 to {MOST_AXES} axes; got {n_axes}")
    axes = [source.number("<Q", f"the axes of {what}") for _ in range(n_axes)]
    number = source.number("<I", f"the type of {what}")
    kind = KINDS.get(number)
    if kind is None:
        known = ", ".join(k.name for k in KINDS.values())
        got = OTHER_KINDS.get(number, number)
        source.refuse(f"{what} must be of type {known}; got {got}")
    if 0 in axes:
        source.refuse(f"the axes of {what} must be at least 1; got {axes}")
    if axes[0] % kind.weights:
        source.refuse(
            f"the rows of {what} must be whole blocks of {kind.weights} "
            f"weights; got {axes[0]}"
        )
    offset = source.number("<Q", f"the offset of {what}")
    nbytes = math.prod(axes) // kind.weights * kind.nbytes
    return Tensor(name, tuple(reversed(axes)), kind.name, offset, nbytes)


def _placed(source, entries, metadata):
    """The tensors by name, if none overlap and all are within the file."""
    alignment = metadata.get("general.alignment", 32)
    if not isinstance(alignment, int) or alignment < 8 or alignment % 8:
        source.refuse(
            f"the alignment must be a multiple of 8; got {shown(alignment)}"
        )
    first = -(-source.file.tell() // alignment) * alignment
    tensors, end = {}, first
    for entry in sorted(entries, key=lambda entry: entry.start):
        what, start = f"tensor {shown(entry.name)}", first + entry.start
        if entry.name in tensors:
            source.refuse(f"each tensor must be there once; got {what}")
        if start % alignment:
            source.refuse(
                f"{what} must begin at a multiple of {alignment}; got offset "
                f"{entry.start}"
            )
        if start < end:
            source.refuse(
                f"{what} must begin after the tensor before it, from byte "
                f"{end} of the file upward; got {start}"
            )
        end = start + entry.nbytes
        if end > source.size:
            source.refuse(
                f"{what} must lie in the file; got bytes {start} to {end} of "
                f"{source.size}"
            )
        tensors[entry.name] = entry._replace(start=start)
    return tensors


def read_tensor(file, tensor, name="the file"):
    """Read the numbers of a tensor, an entry of `read_header`, as float32.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryFile() as file:
    ...     _ = file.write(struct.pack("<4f", 1, 2, 3, 4))
    ...     read_tensor(file, Tensor("a", (2, 2), "F32", 0, 16)).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    file.seek(tensor.start)
    data = exactly(file, tensor.nbytes, name)
    return dequantised(data, tensor.kind).reshape(tensor.shape)
