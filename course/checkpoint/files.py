"""Open and read the files of a model, none of which is trusted."""

import json
import os
from contextlib import contextmanager

from .errors import CheckpointError, shown

POINTER = b"version https://git-lfs"


@contextmanager
def opened(path):
    """Open a file of weights or settings, and see that it stays the same.

    Refused are a folder, a pipe, a link to nothing, a pointer of Git LFS, and
    a file whose length or time of change is another at the end.
    """
    if not path.is_file():  # a pipe would wait for a writer
        raise CheckpointError(
            f"{path.name}: must be a file; got {_kind_of(path)}"
        )
    with _readable(path.name):
        file = path.open("rb")
    with file:
        before = _state(file)
        with _readable(path.name):
            start = file.read(len(POINTER))
        if start == POINTER:
            raise CheckpointError(
                f"{path.name}: must be the file itself; got a pointer of Git "
                "LFS to it. Run `git lfs pull` in its folder"
            )
        file.seek(0)
        yield file
        if _state(file) != before:
            raise CheckpointError(
                f"{path.name}: the file must not change while it is read"
            )


@contextmanager
def _readable(name):
    try:
        yield
    except OSError as error:
        raise CheckpointError(
            f"{name}: the file must be readable; got {error.strerror}"
        ) from None


def _kind_of(path):
    if path.is_dir():
        return "a folder"
    return "a special file" if path.exists() else "a link to nothing"


def _state(file):
    found = os.fstat(file.fileno())
    return found.st_size, found.st_mtime_ns


def exactly(file, n, name):
    """The next `n` bytes of a file, for which it was long enough before."""
    with _readable(name):
        data = file.read(n)
    if len(data) < n:
        raise CheckpointError(f"{name}: the file must not become shorter")
    return data


def whole(path, most):
    """All bytes of a file that holds at most `most`."""
    with opened(path) as file:
        size, _ = _state(file)
        if size > most:
            raise CheckpointError(
                f"{path.name}: the file must have at most {most:,} bytes; "
                f"got {size:,}"
            )
        return exactly(file, size, path.name)


def json_object(data, name, what="the file"):
    """The object that bytes contain as JSON."""
    try:
        found = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise CheckpointError(
            f"{name}: {what} must be JSON; {shown(str(error))}"
        ) from None
    if not isinstance(found, dict):
        raise CheckpointError(f"{name}: {what} must hold an object")
    return found
