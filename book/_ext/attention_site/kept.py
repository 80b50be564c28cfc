"""Keep the results of a build for the next one.

The name of a result is a digest of everything that it was computed from,
including the extension's own code. So a result may be unused, but it cannot be
out of date.
"""

import hashlib
import marshal
import pickle
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

from sphinx.util.parallel import parallel_available


class Kept:
    """Results in a folder, for one state of the code that computes them."""

    def __init__(self, folder, state):
        self.folder, self.state, self.used = Path(folder), state, {}

    def __call__(self, make, *given):
        """Return ``make(*given)``, from the folder if it is stored.

        `given` holds texts, bytes, numbers and tuples of them.
        """
        said = (self.state, make.__module__, make.__qualname__, given)
        # In this version, the bytes depend on the content alone; `repr` would
        # look up each character.
        name = hashlib.sha256(marshal.dumps(said, 0)).hexdigest()
        if name not in self.used:
            self.used[name] = self._found(self.folder / name, make, given)
        return self.used[name]

    @contextmanager
    def ahead(self, make, tasks):
        """Let another process make and store results meanwhile."""

        def work():
            for given in tasks:
                self(make, *given)

        if not parallel_available:
            yield
            return
        process = get_context("fork").Process(target=work)
        process.start()
        yield
        process.join()

    def _found(self, path, make, given):
        if path.exists():
            return pickle.loads(path.read_bytes())
        result = make(*given)
        self.folder.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(
            ".new"
        )  # so that an interrupted build leaves no half-written file
        unfinished.write_bytes(pickle.dumps(result))
        unfinished.replace(path)
        return result

    def forget(self):
        """Delete the results that this build did not use."""
        for path in self.folder.glob("*"):
            if path.name not in self.used:
                path.unlink()
