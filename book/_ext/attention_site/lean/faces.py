"""Cut the book's fonts down to the characters that its pages show.

The whole fonts are among our static files, each with its licence; the site
gets cut copies once all pages are known. Prose is set in STIX Two Text, which
matches the formulas, and headings, labels and numbers are set in Atkinson
Hyperlegible Next, whose digits cannot be mistaken for letters.
"""

import io
import logging
import re
from html import unescape

# The font of formulas; the others are for text.
MATH_FONT = "stix-two-math"
# Fonts of labels and of single bold words, where kerning cannot be seen.
# Kerning takes a tenth to a fifth of a font.
UNKERNED = "atkinson-hyperlegible-next-regular", "stix-two-text-semibold"
FORMULA = re.compile(r"<math.*?</math>", re.S)
# A browser writes a single letter of a formula as an italic character with its
# own code point. That of h is outside the range of the others.
LONE = re.compile(r"<mi[^>]*>(.)</mi>")
ITALIC = {chr(65 + n): chr(0x1D434 + n) for n in range(26)}
ITALIC |= {chr(97 + n): chr(0x1D44E + n) for n in range(26)} | {"h": "\u210e"}
ITALIC |= {chr(0x391 + n): chr(0x1D6E2 + n) for n in range(25)}
ITALIC |= {chr(0x3B1 + n): chr(0x1D6FC + n) for n in range(25)}
ITALIC |= {c: chr(0x1D715 + n) for n, c in enumerate("∂ϵϑϰϕϱϖ")}
ITALIC["∇"] = chr(0x1D6FB)
# The root sign is not in the text of formulas; the browser draws it for
# <msqrt>.
ROOT = "√"

logging.getLogger("fontTools").setLevel(logging.ERROR)


def cut(font, characters, features=(), name=None):
    """Return the file of a font with some characters and features only.

    A font whose name is reserved needs another `name` when it is cut.
    """
    # Imported here, because it takes half a second and most builds cut no
    # font.
    from fontTools import subset
    from fontTools.ttLib import TTFont

    font = TTFont(io.BytesIO(font), recalcTimestamp=False)
    options = subset.Options(flavor="woff2", layout_features=[*features])
    options.hinting = False
    # Keep the copyright and the names; other names are for installed fonts.
    options.name_IDs = [0, 1, 2]
    options.drop_tables += ["STAT", "gasp"]
    cutter = subset.Subsetter(options)
    cutter.populate(text=characters)
    cutter.subset(font)
    for record in font["name"].names if name else ():
        if record.nameID == 1:
            record.string = name
    if "MATH" in font:
        # Drop corner kerning, which MathML Core leaves to a later version.
        font["MATH"].table.MathGlyphInfo.MathKernInfo = None
    font.flavor, font.flavorData = "woff2", None  # as if from ttf
    buffer = io.BytesIO()
    font.save(buffer)
    return buffer.getvalue()


def formula_characters(page):
    """Return the characters that the formulas of a page need."""
    formulas = "".join(FORMULA.findall(page))
    lone = {ITALIC.get(unescape(c), c) for c in LONE.findall(formulas)}
    return {*unescape(re.sub(r"<[^>]*>", "", formulas)), *lone, ROOT}


def cuts(fonts, pages, scripts):
    """Return what `cut` needs for each font, by the font's path.

    A font keeps only the characters that pages and scripts can show.
    """
    text = set(scripts).union(*(page.characters for page in pages))
    formulas = set().union(*(page.in_formulas for page in pages))
    needs = {}
    for name, path in fonts.items():
        shown = formulas if name == MATH_FONT else text
        kern = () if name in (MATH_FONT, *UNKERNED) else ("kern",)
        features = () if name == MATH_FONT else ("tnum", *kern)
        needs[path] = path.read_bytes(), "".join(sorted(shown)), features
    return needs
