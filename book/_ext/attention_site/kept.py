"""What a build has worked out, kept for the next one.

Each result is filed by a digest of what it was made from, the extension's own
code included: it can be of no use any more, but never out of date.
"""

import hashlib
import pickle
from pathlib import Path


class Kept:
    """Results in a folder, for one state of the code that makes them."""

    def __init__(self, folder, state):
        self.folder, self.state, self.used = Path(folder), state, {}

    def __call__(self, make, *given):
        """``make(*given)``, from the folder where an earlier build made it.

        `given` are texts, bytes, numbers and tuples of them, so that the
        same ones always have the same digest.
        """
        said = repr((self.state, make.__module__, make.__qualname__, given))
        name = hashlib.sha256(said.encode()).hexdigest()
        if name not in self.used:
            self.used[name] = self._found(self.folder / name, make, given)
        return self.used[name]

    def _found(self, path, make, given):
        if path.exists():
            return pickle.loads(path.read_bytes())
        result = make(*given)
        self.folder.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".new")  # a build can be interrupted
        unfinished.write_bytes(pickle.dumps(result))
        unfinished.replace(path)
        return result

    def forget(self):
        """Delete what this build had no use for."""
        for path in self.folder.glob("*"):
            if path.name not in self.used:
                path.unlink()
