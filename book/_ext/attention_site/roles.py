"""Give queries, keys, values and weights one colour each in the whole book.

A letter in a formula, a name in code and a literal in a sentence get a class
for their role; `figures.css` gives each class its colour.
"""

import re

from docutils import nodes
from pygments.token import STANDARD_TYPES, Name
from sphinx.transforms import SphinxTransform

ROLES = {"Q": "query", "K": "key", "V": "value"}
# In formulas A denotes the weights (see the notation page).
LETTERS = {**ROLES, "A": "weight"}
NAMES = {**ROLES, **{f"W_{x}": role for x, role in ROLES.items()}}
NAMES["weights"] = "weight"
# Between bars a letter denotes a set, such as the vocabulary V.
LETTER = re.compile(r"(?<!\|</mo>)<mi>([QKVA])</mi>")
TOKENS = {name: getattr(Name, f"Is{name}") for name in NAMES}
STANDARD_TYPES.update({TOKENS[n]: f"av-{role}" for n, role in NAMES.items()})


def in_formula(mathml):
    """Return a formula whose letters have the classes of their roles."""
    return LETTER.sub(
        lambda m: f'<mi class="av-{LETTERS[m[1]]}">{m[1]}</mi>', mathml
    )


def in_code(kind, text):
    """Return the token type of a name in code, by its role."""
    return TOKENS[text] if kind is Name and text in TOKENS else kind


class ColourLiterals(SphinxTransform):
    """Give a literal such as `Q` the class of its role."""

    default_priority = 400

    def apply(self):
        for literal in self.document.findall(nodes.literal):
            role = NAMES.get(literal.astext())
            if role:
                literal["classes"].append(f"av-{role}")


def setup(app):
    app.add_transform(ColourLiterals)
