"""The faces of the book, cut down to the characters that its pages show.

They stand whole among our own static files, each beside its licence; the
site's copies are cut when all pages are known. Prose is set in STIX Two Text,
the face of its formulas, and what labels and numbers are in Atkinson
Hyperlegible Next, whose digits cannot be mistaken for letters.
"""

import io
import logging
import re
from html import unescape

from fontTools import subset
from fontTools.ttLib import TTFont

# The one that draws formulas; the others are for text.
MATH_FONT = "stix-two-math"
# Of labels and of single words in bold: nobody sees the distances of certain
# pairs of letters there, which are a tenth to a fifth of a font.
UNKERNED = "atkinson-hyperlegible-next-regular", "stix-two-text-semibold"
FORMULA = re.compile(r"<math.*?</math>", re.S)
# A browser writes a lone letter of a formula in italics, which are characters
# of their own in the font; for one of them there is an older character.
LONE = re.compile(r"<mi[^>]*>(.)</mi>")
ITALIC = {chr(65 + n): chr(0x1D434 + n) for n in range(26)}
ITALIC |= {chr(97 + n): chr(0x1D44E + n) for n in range(26)} | {"h": "\u210e"}
ITALIC |= {chr(0x391 + n): chr(0x1D6E2 + n) for n in range(25)}
ITALIC |= {chr(0x3B1 + n): chr(0x1D6FC + n) for n in range(25)}
ITALIC |= {c: chr(0x1D715 + n) for n, c in enumerate("∂ϵϑϰϕϱϖ")}
ITALIC["∇"] = chr(0x1D6FB)
# The sign that no formula names: it is drawn for an element.
ROOT = "√"

logging.getLogger("fontTools").setLevel(logging.ERROR)


def cut(font, characters, features=()):
    """The file of a font with those characters and features only."""
    font = TTFont(io.BytesIO(font), recalcTimestamp=False)
    options = subset.Options(flavor="woff2", layout_features=[*features])
    options.hinting = False
    # Whose they are, and what they are called; nobody installs these.
    options.name_IDs = [0, 1, 2]
    options.drop_tables += ["STAT", "gasp"]
    cutter = subset.Subsetter(options)
    cutter.populate(text=characters)
    cutter.subset(font)
    font.flavor = "woff2"
    buffer = io.BytesIO()
    font.save(buffer)
    return buffer.getvalue()


def formula_characters(page):
    """The characters that the formulas of a page need."""
    formulas = "".join(FORMULA.findall(page))
    lone = {ITALIC.get(unescape(c), c) for c in LONE.findall(formulas)}
    return {*unescape(re.sub(r"<[^>]*>", "", formulas)), *lone, ROOT}


def cut_faces(fonts, pages, scripts, kept):
    """Leave in each font, by its name, what pages and scripts can show."""
    text = set(scripts).union(*(page.characters for page in pages))
    formulas = set().union(*(page.in_formulas for page in pages))
    for name, path in fonts.items():
        shown = formulas if name == MATH_FONT else text
        kern = () if name in (MATH_FONT, *UNKERNED) else ("kern",)
        features = () if name == MATH_FONT else ("tnum", *kern)
        font = path.read_bytes(), "".join(sorted(shown)), features
        path.write_bytes(kept(cut, *font))
