"""Read, write and examine pages in several processes.

Jupyter Book has no option for parallel builds, and two of its extensions do
not declare that they support them. They do, because their results for each
page are merged.
"""

import gc
import os
from pathlib import Path

import sphinx.builders
from sphinx.util import logging
from sphinx.util.parallel import make_chunks
from sphinx_proof.domain import ProofDomain

from . import about, parsed, sections

logger = logging.getLogger(__name__)
# Two extensions of Jupyter Book that do not declare support: one numbers the
# chapters after all pages are read, and the other does nothing for a site.
SILENT = ("sphinx_multitoc_numbering", "sphinx_jupyterbook_latex")


def labels(env):
    """Return the page of each label, by kind and name."""
    std, proofs = env.domaindata["std"], getattr(env, "proof_list", {})
    exercises = getattr(env, "sphinx_exercise_registry", {})
    objects = env.domaindata["py"]["objects"]
    return {
        **{("label", name): at[0] for name, at in std["anonlabels"].items()},
        **{
            ("object", name): at.docname
            for name, at in objects.items()
            if not at.aliased  # an alias of an object is not a duplicate
        },
        **{("proof", name): at["docname"] for name, at in proofs.items()},
        **{
            ("exercise", name): at["docname"] for name, at in exercises.items()
        },
    }


class Reading:
    """One parallel reading of the pages.

    A process notices only duplicate labels on its own pages, so this class
    compares the labels of all processes.
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
        # An error raised during merging would leave processes running.
        for kind, name, first, page in self.twice:
            text = "duplicate %s %s, other instance in %s"
            logger.warning(text, kind, name, first, location=page)


def examine_as_written(app, builder):
    """Let the process that writes a page compute what later steps ask of it.

    `kept` passes the results on. One process resolves the references of all
    pages meanwhile, and the others would wait for it.
    """
    if builder.format != "html":
        return
    sphinx.builders.make_chunks = to_write
    write, ranked = builder.write_doc, set(about.ranked(app))

    def write_and_examine(name, doctree):
        write(name, doctree)
        html = Path(builder.get_outfilename(name)).read_text("utf-8")
        article = parsed.article(html)
        app.kept(sections.sections, article)
        if name in ranked:
            app.kept(about.stems, article)

    builder.write_doc = write_and_examine


def dealt(pages, n):
    """Deal pages to n hands like cards.

    Neighbours take a similar time: Sphinx's own chunks of neighbours put all
    reference pages into one.
    """
    return [pages[i::n] for i in range(n)]


def to_read(pages, processes):
    return dealt(pages, len(make_chunks(pages, processes)))


def to_write(pages, processes):
    """Deal few pages at once, so that writing begins and ends early.

    A process begins to write when the references of its pages are resolved.
    """
    return dealt(pages, -(-len(pages) // 8))


def setup(app):
    sphinx.builders.make_chunks = to_read
    # The nodes live on and refer to each other. Looking for garbage among them
    # takes longer than loading them, and would free a tenth of the memory.
    gc.disable()
    # Use one process more than cores, because the process that distributes the
    # pages waits for the others.
    app.parallel = max(app.parallel, (os.cpu_count() or 1) + 1)
    # The extension itself merges its only data, a list.
    ProofDomain.merge_domaindata = lambda self, docnames, other: None
    reading = Reading()
    app.connect("env-before-read-docs", reading.begin)
    app.connect("env-merge-info", reading.merge)
    app.connect("env-updated", reading.end)
    app.connect("write-started", examine_as_written)
