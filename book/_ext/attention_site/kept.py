"""Keep the results of a build for the next one.

The name of a result is a digest of everything that it was computed from,
including the extension's own code. So a result may be unused, but it cannot be
out of date.
"""

import hashlib
import marshal
import pickle
from pathlib import Path


class Kept:
    """Results in a folder, for one state of the code that computes them."""

    def __init__(self, folder, state):
        self.folder, self.state, self.used = Path(folder), state, {}

    def __call__(self, make, *given, because_of=""):
        """Return ``make(*given)``, from the folder if it is stored.

        `given` holds texts, bytes, numbers and tuples of them, and
        `because_of` what the result depends on besides.
        """
        named = make.__module__, make.__qualname__
        said = (self.state, *named, given, because_of)
        # In this version, the bytes depend on the content alone; `repr` would
        # look up each character.
        name = hashlib.sha256(marshal.dumps(said, 0)).hexdigest()
        if name not in self.used:
            self.used[name] = self._found(self.folder / name, make, given)
        return self.used[name]

    def _found(self, path, make, given):
        if path.exists():
            return pickle.loads(path.read_bytes())
        result = make(*given)
        self.folder.mkdir(parents=True, exist_ok=True)
        # So that an interrupted build leaves no half-written file.
        unfinished = path.with_suffix(".new")
        unfinished.write_bytes(pickle.dumps(result))
        unfinished.replace(path)
        return result

    def forget(self):
        """Delete the results that this build did not use."""
        for path in self.folder.glob("*"):
            if path.name not in self.used:
                path.unlink()
