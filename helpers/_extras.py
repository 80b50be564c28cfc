"""The message of a module whose package is not installed."""

from contextlib import contextmanager


@contextmanager
def extra(name):
    """Name the extra that contains the package missing in the block."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"{error}; it belongs to the extra {name!r}: in the course's "
            f'folder, pip install ".[{name}]"',
            name=error.name,
        ) from None
