"""Count what makes prose hard to read, per 1,000 words.

Run as `python -m bench.prose`; folders of other states of the book, and HTML
or text files of other works, can be named after it and get a column each.
Code, formulas, tables, alt texts and the Spanish summaries are left out.
"""

import json
import re
import sys
from html import unescape
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = (
    *("index.ipynb", "book/*.ipynb", "book/practice/*.ipynb"),
    *("book/labs/*.ipynb", "book/intro.md", "book/notation.md"),
    *("book/glossary.md", "book/by-heart.md", "book/for-teachers.md"),
)
LEFT_OUT = re.compile(
    r"<(style|script|d-math|d-code|svg|figure|head|d-appendix|d-bibliography)"
    r"\b.*?</\1>"
    r'|<(\w+) lang="es">.*?</\2>|^```.*?^```|^:[\w-]+:.*?$|^\|.*?$'
    r"|^:{3,}.*?$|^ *Spanish:.*?$"
    r"|\$\$.*?\$\$|^% .*?$",
    re.S | re.M,
)
INLINE = re.compile(r"\$[^$\n]+\$|`[^`\n]+`")
LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
TAG = re.compile(r"<[^>]*>")
WORD = re.compile(r"[A-Za-z][\w'’-]*")
END = re.compile(r"(?<=[.!?])[”’\")*_]*\s+(?=[“\"(*_]*[A-Z\d`])|\n\s*\n")
PER = "row|column|number|byte|FLOP|token|word|multiply-add|mask|vector|answer"
PATTERNS = {
    "rates with a, not per": rf"\b(?:{PER})s? an? \w+(?= ?[,.;:)])",
    "per": r"\bper\b",
    "the + numeral as a noun": r"\b[Tt]he (?:two|three|four|five|six|eight|"
    r"ten|twelve|sixteen)(?= ?[,.;:)]| (?:are|is|agree|differ|have|give)\b)",
    "that of, those of": r"\b(?:that|those) of\b",
    "this or these + noun": r"\b[Tt]h(?:is|ese) (?!is|are|was|were|has|have|"
    r"does|do|can|must|will|would|gives|makes)[a-z]{3,}",
    "whoever, nobody, somebody": r"\b(?:whoever|(?:no|some|every|any)body)\b",
    "stand, lie": r"\b(?:stands?|stood|lies?)\b",
    "for example, for instance": r"\b(?:for example|for instance|e\.g\.)",
    "because, since, therefore": r"\b(?:because|since|therefore|thus|hence)\b",
    "but, however, whereas": r"\b(?:but|however|though|although|whereas|"
    r"while|yet)\b",
    "so": r"\bso\b",
    "we": r"\bwe\b",
    "you": r"\byou\b",
    "colons and semicolons": r"[:;](?=\s)",
}


def of_notebook(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    texts = ["".join(c["source"]) for c in cells if c["cell_type"] != "code"]
    return "\n\n".join(texts)


def prose(path):
    """The prose of a file, without its code."""
    notebook = path.suffix == ".ipynb"
    text = of_notebook(path) if notebook else path.read_text(encoding="utf-8")
    text = LINK.sub(r"\1", INLINE.sub("x", LEFT_OUT.sub("\n\n", text)))
    text = re.sub(r"</?(?:p|h\d|li|div|section)\b[^>]*>", "\n\n", text)
    text = re.sub(r"^(?:#+|[-*]|\d+\.) .*$", "\n\n", text, flags=re.M)
    return unescape(TAG.sub(" ", text))


def sentences(text):
    """The sentences of a text: at least three words, and an end."""
    found = (" ".join(part.split()) for part in END.split(text))
    return [s for s in found if len(WORD.findall(s)) > 2 and s[-1] in ".!?”)"]


def counts(texts):
    """Yield each measure and its value."""
    text = "\n\n".join(texts)
    words = len(WORD.findall(text))
    yield "words", f"{words:,}"
    for name, pattern in PATTERNS.items():
        hits = len(re.findall(pattern, text, re.I))
        yield name, f"{1000 * hits / words:.2f}"
    lengths = [len(WORD.findall(s)) for s in sentences(text)]
    opening = [s for s in sentences(text) if re.match(r"What [^?]*\.$", s)]
    yield "mean length of a sentence", f"{sum(lengths) / len(lengths):.1f}"
    for name, kept in {
        "sentences of 8 words or fewer": [n for n in lengths if n <= 8],
        "sentences of 30 words or more": [n for n in lengths if n >= 30],
        "sentences that open with a what-clause": opening,
    }.items():
        yield name, f"{len(kept) / len(lengths):.1%}"


def files(place):
    """A file, or the pages of a folder that holds a state of the book."""
    if place.is_file():
        return [place]
    return [path for glob in PAGES for path in sorted(place.glob(glob))]


def main(names):
    places = [ROOT, *map(Path, names)]
    columns = [dict(counts(map(prose, files(place)))) for place in places]
    print(f"{'per 1,000 words':40}", *(f"{p.name[:14]:>15}" for p in places))
    for measure in columns[0]:
        print(f"{measure:40}", *(f"{c[measure]:>15}" for c in columns))


if __name__ == "__main__":
    main(sys.argv[1:])
