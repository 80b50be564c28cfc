"""Pages are read and written by several processes at once.

Jupyter Book has no option for it, and some extensions do not say that they
are fit for it. Those of the book are: what they find on a page is merged.
"""

import gc
import os

from sphinx.util import logging
from sphinx_proof.domain import ProofDomain

logger = logging.getLogger(__name__)
# Jupyter Book's own, which do not say that pages may be read in parallel: one
# numbers the chapters once they are read, one does nothing for a site.
SILENT = ("sphinx_multitoc_numbering", "sphinx_jupyterbook_latex")


def labels(env):
    """Each label of a book, by its kind and name, with its page."""
    std, proofs = env.domaindata["std"], getattr(env, "proof_list", {})
    exercises = getattr(env, "sphinx_exercise_registry", {})
    objects = env.domaindata["py"]["objects"]
    return {
        **{("label", name): at[0] for name, at in std["anonlabels"].items()},
        **{("object", name): at.docname for name, at in objects.items()},
        **{("proof", name): at["docname"] for name, at in proofs.items()},
        **{
            ("exercise", name): at["docname"] for name, at in exercises.items()
        },
    }


class Reading:
    """One reading of pages by several processes.

    Each sees that a label stands twice on its own pages, and no other.
    """

    def begin(self, app, env, docnames):
        read, self.twice = set(docnames), []
        self.labels = {
            label: page
            for label, page in labels(env).items()
            if page not in read
        }
        for name in SILENT:
            if name in app.extensions:
                app.extensions[name].parallel_read_safe = True

    def merge(self, app, env, docnames, other):
        read = set(docnames)
        for label, page in labels(other).items():
            if page in read:
                first = self.labels.setdefault(label, page)
                if first != page:
                    self.twice.append((*label, first, page))

    def end(self, app, env):
        # While pages are merged, an error would leave processes behind.
        for kind, name, first, page in self.twice:
            text = "duplicate %s %s, other instance in %s"
            logger.warning(text, kind, name, first, location=page)


def setup(app):
    # Nodes refer to one another and stay: to look among them for what nobody
    # needs any more takes several times as long as to read them.
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)
    # One process more than there are cores: the one that hands out the pages
    # waits for the others.
    app.parallel = max(app.parallel, (os.cpu_count() or 1) + 1)
    # It has no data but a list that the extension itself merges.
    ProofDomain.merge_domaindata = lambda self, docnames, other: None
    reading = Reading()
    app.connect("env-before-read-docs", reading.begin)
    app.connect("env-merge-info", reading.merge)
    app.connect("env-updated", reading.end)
