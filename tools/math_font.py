"""Cut STIX Two Math down to the characters of the book's formulas.

    python tools/math_font.py SOURCE.woff2 [CHARACTERS]

SOURCE is the whole font, version 2.12, as published by its project. CHARACTERS
are added to those that the book's font already has.

Only the first form of the root sign is kept, because browsers reserve room for
the widest form, whichever they draw, which would leave a gap after every root.
"""

import sys
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont

FONT = Path(__file__).resolve().parent.parent / (
    "book/_static/fonts/stix-two-math.woff2"
)
ROOT = 0x221A


def cut(source, characters):
    """Return the font with these characters and one form of the root sign."""
    font = TTFont(source)
    variants = font["MATH"].table.MathVariants
    glyph = font.getBestCmap()[ROOT]
    forms = variants.VertGlyphConstruction[
        variants.VertGlyphCoverage.glyphs.index(glyph)
    ]
    forms.MathGlyphVariantRecord = forms.MathGlyphVariantRecord[:1]
    forms.VariantCount, forms.GlyphAssembly = 1, None
    options = subset.Options(flavor="woff2", layout_features=[])
    cutter = subset.Subsetter(options)
    cutter.populate(unicodes=characters)
    cutter.subset(font)
    font.flavor = "woff2"
    return font


if __name__ == "__main__":
    source, *more = sys.argv[1:]
    wanted = set(TTFont(FONT).getBestCmap()) | {ord(c) for c in "".join(more)}
    cut(source, wanted).save(FONT)
