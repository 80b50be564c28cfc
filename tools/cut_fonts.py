"""Cut the fonts of the site down to the characters that its pages show.

    make book && python -m tools.cut_fonts

The whole fonts are in tools/fonts, and those of icons in the theme; their cut
copies are in book/_static/fonts, a third as large. A character that no page
had before is drawn in another font until this has run, and a test says so. One
that tools/fonts lacks as well needs the font as its project publishes it, in
place of the one there.

Prose is set in STIX Two Text, which matches the formulas, and headings, labels
and numbers in Atkinson Hyperlegible Next, whose digits cannot be mistaken for
letters.
"""

import logging
import re
import string
from html import unescape
from pathlib import Path

import pydata_sphinx_theme
import sphinx_book_theme
from fontTools import subset
from fontTools.pens.boundsPen import ControlBoundsPen
from fontTools.pens.recordingPen import RecordingPen, replayRecording
from fontTools.pens.reverseContourPen import ReverseContourPen
from fontTools.pens.transformPen import TransformPen
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.ttLib import TTFont

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "_build" / "html"
WHOLE = ROOT / "tools" / "fonts"
CUT = ROOT / "book" / "_static" / "fonts"
THEME = Path(pydata_sphinx_theme.__file__).parent.joinpath(
    "theme/pydata_sphinx_theme/static"
)
ICONS = THEME / "vendor/fontawesome/webfonts"
# Which of its buttons a page has depends on where the course lives.
BUTTONS = Path(sphinx_book_theme.__file__).parent / "header_buttons"
# The font of formulas; the others are for text.
MATH = "stix-two-math"
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
SIGN = "√"
# The characters of icons, as they stand and as style sheets write them.
ICON = re.compile(r"[\ue000-\uf8ff]|\\([ef][0-9a-f]{3})\b")


def in_formulas(page):
    """Return the characters that the formulas of a page need."""
    formulas = "".join(FORMULA.findall(page))
    lone = {ITALIC.get(unescape(c), c) for c in LONE.findall(formulas)}
    return {*unescape(re.sub(r"<[^>]*>", "", formulas)), *lone, SIGN}


def icons(css):
    """Return the characters of icons that a style sheet draws."""
    return {
        chr(int(found[1], 16)) if found[1] else found[0]
        for found in ICON.finditer(css)
    }


def icons_of_buttons():
    """Return the characters of icons on any button of the theme."""
    code = "".join(p.read_text("utf-8") for p in BUTTONS.glob("*.py"))
    names = {*re.findall(r"fa-[\w-]+", code), "fa-github", "fa-gitlab"}
    css = (THEME / "styles/pydata-sphinx-theme.css").read_text("utf-8")
    rules = re.findall(r"((?:\.fa-[\w-]+:before,?)+)(\{content:[^}]*\})", css)
    return icons(
        "".join(
            rule
            for chosen, rule in rules
            if not names.isdisjoint(re.findall(r"fa-[\w-]+", chosen))
        )
    )


def one_root(font):
    """Keep only the first form of the root sign.

    Browsers reserve room for the widest form, whichever they draw, which would
    leave a gap after every root.
    """
    variants = font["MATH"].table.MathVariants
    glyph = font.getBestCmap()[ord(SIGN)]
    forms = variants.VertGlyphConstruction[
        variants.VertGlyphCoverage.glyphs.index(glyph)
    ]
    forms.MathGlyphVariantRecord = forms.MathGlyphVariantRecord[:1]
    forms.VariantCount, forms.GlyphAssembly = 1, None


def plain_zero(font):
    """Take the slash out of the zero, where it looks like an eight.

    The slash divides the counter into two contours. One replaces them: the
    outline, in the box of both.
    """
    drawn = RecordingPen()
    font.getGlyphSet()["zero"].draw(drawn)
    end = drawn.value.index(("closePath", ())) + 1
    outline, counters = drawn.value[:end], drawn.value[end:]
    left, low, right, high = bounds(outline)
    x0, y0, x1, y1 = bounds(counters)
    across, up = (x1 - x0) / (right - left), (y1 - y0) / (high - low)
    inside = across, 0, 0, up, x0 - across * left, y0 - up * low
    pen = TTGlyphPen(None)
    replayRecording(outline, pen)
    replayRecording(outline, ReverseContourPen(TransformPen(pen, inside)))
    font["glyf"]["zero"] = pen.glyph()


def bounds(drawn):
    pen = ControlBoundsPen(None)
    replayRecording(drawn, pen)
    return pen.bounds


def cut(path, characters, features=(), name=None):
    """Return a font with some characters and features only.

    A font whose name is reserved needs another `name` when it is cut.
    """
    font = TTFont(path, recalcTimestamp=False)
    if "MATH" in font:
        one_root(font)
    if path.stem.startswith("atkinson"):
        plain_zero(font)
    options = subset.Options(flavor="woff2", layout_features=[*features])
    options.hinting = False
    # Keep the copyright and the names; other names are for installed fonts.
    options.name_IDs = [0, 1, 2]
    options.drop_tables += ["STAT", "gasp"]
    cutter = subset.Subsetter(options)
    cutter.populate(text="".join(sorted(characters)))
    cutter.subset(font)
    for record in font["name"].names if name else ():
        if record.nameID == 1:
            record.string = name
    if "MATH" in font:
        # Drop corner kerning, which MathML Core leaves to a later version.
        font["MATH"].table.MathGlyphInfo.MathKernInfo = None
    font.flavor, font.flavorData = "woff2", None  # as if from ttf
    return font


def cuts(site):
    """Yield the file of each font with what `cut` needs for it."""
    pages = [p.read_text("utf-8") for p in site.rglob("*.html")]
    scripts = [*site.glob("_static/figures/*.js"), site / "_static/site.js"]
    code = [path.read_text("utf-8") for path in scripts]
    text = {*string.printable, *unescape("".join(pages + code))}
    formulas = set().union(*map(in_formulas, pages))
    css = (site / "_static" / "bundle.css").read_text("utf-8")
    for path in sorted(WHOLE.glob("*.woff2")):
        if path.stem == MATH:
            yield path, formulas
        else:
            kern = () if path.stem in UNKERNED else ("kern",)
            yield path, text, ("tnum", *kern)
    for path in sorted(ICONS.glob("fa-*-*.woff2")):
        yield path, icons(css) | icons_of_buttons(), (), "Icons"


def main():
    logging.getLogger("fontTools").setLevel(logging.ERROR)
    for path, *what in cuts(SITE):
        cut(path, *what).save(CUT / path.name)
        print(CUT / path.name, (CUT / path.name).stat().st_size, "bytes")


if __name__ == "__main__":
    main()
