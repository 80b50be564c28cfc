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
from sphinx.util.parallel import (
    ParallelTasks,
    make_chunks,
    parallel_available,
)
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


def look_through(app, exception):
    """Compute in several processes the facts that later steps need per page.

    `kept` passes the results on. After the first build few are missing.
    """
    if exception is not None or app.builder.format != "html":
        return
    if app.kept.folder.exists() or not parallel_available:
        return
    out, ranked = Path(app.outdir), set(about.ranked(app))

    def look(names):
        for name in names:
            html = (out / f"{name}.html").read_text("utf-8")
            text = parsed.of(app, html).text
            app.kept(sections.sections, sections.article(html))
            if name in ranked:
                app.kept(about.stems, text)

    tasks = ParallelTasks(app.parallel)
    for names in make_chunks(sorted(app.env.found_docs), app.parallel):
        tasks.add_task(look, names)
    tasks.join()


def deal(pages, processes):
    """Deal pages like cards, because neighbours take a similar time.

    Sphinx's own chunks of neighbours put all reference pages into one.
    """
    n = len(make_chunks(pages, processes))
    return [pages[i::n] for i in range(n)]


def setup(app):
    sphinx.builders.make_chunks = deal
    # The nodes live on and refer to each other. Garbage collection among them
    # would take several times as long as reading the pages.
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)
    # Use one process more than cores, because the process that distributes the
    # pages waits for the others.
    app.parallel = max(app.parallel, (os.cpu_count() or 1) + 1)
    # The extension itself merges its only data, a list.
    ProofDomain.merge_domaindata = lambda self, docnames, other: None
    reading = Reading()
    app.connect("env-before-read-docs", reading.begin)
    app.connect("env-merge-info", reading.merge)
    app.connect("env-updated", reading.end)
    # Run after the last page is written, and before `lean` reads all pages.
    app.connect("build-finished", look_through, priority=890)
