"""The one Sphinx extension of the site: what Jupyter Book does not do.

* Figures stand in the page itself, so that they follow its colours.
* Launch buttons point at the repository that the book is built from, and
  are left out where there is none.
"""

import re
import subprocess
from pathlib import Path

from docutils import nodes
from sphinx.transforms import SphinxTransform

from helpers.plotting import INK


class InlineFigures(SphinxTransform):
    """Put each stored SVG output into the page, drawn in the page's ink."""

    default_priority = 400

    def apply(self):
        images = [
            node
            for node in self.document.findall(nodes.image)
            if node["uri"].endswith(".svg") and _is_output(node)
        ]
        for number, image in enumerate(images):
            svg = Path(self.env.srcdir, image["uri"].lstrip("/")).read_text(
                encoding="utf-8"
            )
            html = f'<div class="figure">{_themed(svg, f"f{number}-")}</div>'
            image.replace_self(nodes.raw("", html, format="html"))


def _is_output(node):
    while node is not None:
        if "cell_output" in node.get("classes", ()):
            return True
        node = node.parent
    return False


def _themed(svg, prefix):
    """`svg` in the page's ink, with ids that no other figure has."""
    svg = re.sub(r'\bid="', f'id="{prefix}', svg)
    svg = re.sub(r"url\(#", f"url(#{prefix}", svg)
    svg = re.sub(r'href="#', f'href="#{prefix}', svg)
    return svg.replace(INK, "var(--ink)")


def repository(folder):
    """The https address of the git remote, or None."""
    remote = subprocess.run(
        ["git", "config", "--get", "remote.origin.url"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    found = re.match(
        r"(?:https://|git@|ssh://git@)(?:[^@/]+@)?(github\.com|gitlab\.com)"
        r"[:/](.+?/.+?)(?:\.git)?/?$",
        remote,
    )
    return f"https://{found[1]}/{found[2]}" if found else None


def launch_buttons(app, config):
    """Binder, repository and issue buttons, if there is a repository."""
    address = repository(app.srcdir)
    if address is None:
        return
    options = config.html_theme_options
    options.update(
        repository_url=address,
        repository_branch="main",
        path_to_docs="",
        use_repository_button=True,
        use_issues_button=True,
    )
    options["launch_buttons"] = {
        "binderhub_url": "https://mybinder.org",
        "notebook_interface": "jupyterlab",
    }


def setup(app):
    app.add_transform(InlineFigures)
    app.connect("config-inited", launch_buttons)
    return {"version": "1", "parallel_read_safe": True}
