"""Show questions as cards, write their script, and fold predicted answers.

A question is one card: the exercise, the code that it leaves to write, its
field, its hint and its solution.

A prediction (`course.practice.Predict`) comes before its answer. The page
folds everything from its cell to a line `% So much for the prediction.`, and
the script opens the fold when the reader has made a prediction.
"""

from pathlib import Path

from docutils import nodes
from sphinx.errors import ExtensionError

from course import figures
from course.questions.record import WORDS

START = "<form "
END = "So much for the prediction."


SOLUTION = "# Solution"


class reveal(nodes.General, nodes.Element):
    """Return the nodes that follow a prediction, folded."""


def visit_reveal(self, node):
    self.body.append(
        '<details class="av-reveal"><summary data-paper="What happens">'
        "<span>Show what happens</span></summary>\n"
    )


def depart_reveal(self, node):
    self.body.append("</details>\n")


def show(app, doctree):
    """Show each question, and drop the note that only notebooks need."""
    # sphinx-exercise gives the same id to all exercises of a page.
    for k, section in enumerate(list(doctree.findall(nodes.section))):
        if section["ids"] == ["exercise-content"]:
            section["ids"] = [f"exercise-content-{k}"]
    for raw in list(doctree.findall(nodes.raw)):
        text = raw.astext()
        if "data-question=" not in text:
            continue
        raw[0] = nodes.Text(text[text.index(START) :])
        make_card(raw)
        if "av-predict" in text:
            fold(raw, app.env.docname)
    for block in doctree.findall(nodes.literal_block):
        if block.astext().startswith(WORDS[None]):
            block["classes"].append("av-said")  # a sentence, so it wraps


def in_section(node):
    """Return the node, or its ancestor, that is a child of a section."""
    while not isinstance(node.parent, nodes.section):
        node = node.parent
    return node


def asked_from(section, at):
    """Return the place of what asks the question that stands at a place.

    A prediction follows its box at once, and an exercise may leave code to
    write between.
    """
    for first in range(at - 1, -1, -1):
        node = section[first]
        if isinstance(node, nodes.Admonition):
            near = first == at - 1 or "exercise" in node["classes"]
            return first if near else at
        code = node.get("nb_element") == "cell_code"
        if not (code or isinstance(node, nodes.literal_block)):
            break
    return at


def helps(node):
    """Whether a node is the hint or the solution of a question."""
    if node.get("design_component") == "dropdown":
        return True
    is_cell = node.get("nb_element") == "cell_code"
    return is_cell and node.astext().lstrip().startswith(SOLUTION)


def make_card(raw):
    """Put a question, its field, its hint and its solution into one frame."""
    cell = in_section(raw)
    section = cell.parent
    last = section.index(cell)
    first = asked_from(section, last)
    while last + 1 < len(section) and helps(section[last + 1]):
        last += 1
    inside = section[first : last + 1]
    card = nodes.container("", *inside, classes=["question-card"])
    section[first : last + 1] = [card]


def fold(raw, page):
    """Fold the nodes between a prediction and the line that ends the fold."""
    cell = in_section(raw)
    section, first = cell.parent, cell.parent.index(cell) + 1
    for last in range(first, len(section)):
        node = section[last]
        if isinstance(node, nodes.comment) and node.astext().strip() == END:
            inside = section[first:last]
            section[first : last + 1] = [reveal("", *inside)]
            return
    raise ExtensionError(
        f"attention_site.practice: {page} has a prediction without a line "
        f"`% {END}` before the next heading"
    )


def write_files(app):
    """Write the script and the style sheet of the questions."""
    static = Path(app.outdir, "_static")
    (static / "figures").mkdir(parents=True, exist_ok=True)
    script = figures.script("practice")
    (static / "figures" / "practice.js").write_text(script, encoding="utf-8")
    css = figures.path_of("practice.css").read_text(encoding="utf-8")
    (static / "practice.css").write_text(css, encoding="utf-8")


def setup(app):
    app.add_node(reveal, html=(visit_reveal, depart_reveal))
    app.connect("doctree-read", show)
