"""Show the core of a lesson, and fold its deeper sections and its tail.

A section is deeper if its first paragraph begins with `*Deeper:*`. Its heading
and that paragraph are the label of its fold, so that both stay in sight. The
sections of `TAIL`, at the end of a lesson, have their heading as label.

A switch below the title opens all deeper sections. Its minutes are those that
the lesson states (`tools/reading.py`). `site.js` works the switch, and opens
what a link leads to. Without scripts, a style shows everything.
"""

import re

from docutils import nodes

MARK = "Deeper:"
TAIL = {
    "In practice",
    "Which to choose",
    "Further reading",
    "Resumen en español",
}
TAGS = re.compile("<[^>]*>")  # the language of a heading
TIME = re.compile(
    r"Reading time: about (\d+) minutes for the core, (\d+) for everything"
)
SWITCH = (
    '<div class="av-depth" role="group" aria-label="How much to read">'
    '<button type="button" aria-pressed="true">Core, {} min</button>'
    '<button type="button" aria-pressed="false">Everything, {} min</button>'
    "</div>"
)


def raw(html):
    return nodes.raw("", html, format="html")


def says(section):
    """Return the opening paragraph of a deeper section, or None."""
    first = section[1] if len(section) > 1 else None
    if not isinstance(first, nodes.paragraph):
        return None
    marked = isinstance(first[0], nodes.emphasis)
    return first if marked and first[0].astext() == MARK else None


def in_fold(section, label, kind):
    """Put a section into a fold whose summary is its title and `label`."""
    title, *rest = section.children
    section.children = []
    section += [
        raw(f'<details class="deeper {kind}"><summary class="deeper">'),
        title,
        *label,
        raw("</summary>"),
        *(node for node in rest if node not in label),
        raw("</details>"),
    ]


def fold(app, doctree, docname):
    """Fold the deeper sections and the tail of a page."""
    if app.builder.format != "html":
        return
    for section in list(doctree.findall(nodes.section)):
        opening = says(section)
        if opening is not None:
            said = nodes.inline("", "", *opening.children)
            said["classes"].append("deeper-says")
            section.remove(opening)
            in_fold(section, [said], "more")
        elif TAGS.sub("", section[0].astext()) in TAIL:
            in_fold(section, [], "tail")


def add_switch(app, pagename, templatename, context, doctree):
    """Put the switch below the title of a lesson with deeper sections."""
    stated = TIME.search(context.get("body") or "")
    if stated and '<details class="deeper more">' in context["body"]:
        switch = f"</h1>{SWITCH.format(*stated.groups())}"
        context["body"] = context["body"].replace("</h1>", switch, 1)


def setup(app):
    app.connect("doctree-resolved", fold)
    app.connect("html-page-context", add_switch)
