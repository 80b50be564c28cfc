"""Name the cited works, and write the page that lists them.

`references.bib` is the only source. A citation is a link that reads the same
on the site, in JupyterLab and wherever Markdown is shown:
``[Vaswani et al. 2017](bibliography.md#vaswani2017attention)``. An author
writes ``[](bibliography.md#vaswani2017attention)``; `make refresh` fills in
the name and writes the page.
"""

import re
from collections import defaultdict
from functools import lru_cache
from pathlib import Path

from pybtex.database import parse_file
from pybtex.richtext import Text

ROOT = Path(__file__).resolve().parent.parent
BIB = ROOT / "book" / "references.bib"
PAGE = ROOT / "book" / "bibliography.md"
CITATION = re.compile(
    r"\[[^\]]*\](\((?:book/|\.\./)?bibliography\.md#([^)]*)\))"
)
HEAD = """\
# Bibliography

Every work that the book cites, by name and year.
"""


def plain(latex):
    """Turn LaTeX into Markdown: accents, braces and addresses."""
    marked = re.sub(r"\\url\{([^}]*)\}", r"<\1>", latex)
    return str(Text.from_latex(marked))


def families(entry):
    """Return one author, two authors, or one author et al."""
    names = [
        plain(" ".join([*person.prelast_names, *person.last_names]))
        for person in entry.persons["author"]
    ]
    first = names[0].removeprefix("The ")
    if len(names) == 1:
        return first
    if len(names) == 2 and names[1] != "others":
        return f"{first} and {names[1]}"
    return f"{first} et al."


@lru_cache
def works():
    """Return the name and the entry of each work by key, sorted by name.

    Works by the same authors from one year get letters, ordered by title.
    """
    alike = defaultdict(list)
    for key, entry in parse_file(BIB).entries.items():
        name = f"{families(entry)} {entry.fields['year']}"
        alike[name].append((plain(entry.fields["title"]), key, entry))
    named = {}
    for name in sorted(alike, key=str.casefold):
        several = sorted(alike[name], key=lambda work: work[0].casefold())
        for number, (_, key, entry) in enumerate(several):
            letter = chr(ord("a") + number) if len(several) > 1 else ""
            named[key] = name + letter, entry
    return named


def name_citations(markdown):
    """Write the name of the work into each citation.

    Raises
    ------
    ValueError
        If a citation's key is not in the bibliography.
    """

    def named(link):
        if link[2] not in works():
            raise ValueError(f"no work {link[2]!r} in {BIB.name}")
        return f"[{works()[link[2]][0]}]{link[1]}"

    return CITATION.sub(named, markdown)


def authors(entry):
    """Return all authors in full, in the order of the title page."""
    names = [
        plain(
            " ".join(
                person.first_names
                + person.middle_names
                + person.prelast_names
                + person.last_names
            )
        )
        for person in entry.persons["author"]
    ]
    return ", ".join(names).replace(", others", " and others")


def place(entry):
    """Return where a work appeared: venue, volume, pages, address."""
    fields = defaultdict(str, {k: plain(v) for k, v in entry.fields.items()})
    venue = fields["booktitle"] or fields["journal"] or fields["publisher"]
    volume = f" {fields['volume']}" if fields["volume"] else ""
    number = f"({fields['number']})" if fields["number"] else ""
    pages = f": {fields['pages']}" if fields["pages"] else ""
    doi = fields["doi"] and f"https://doi.org/{fields['doi']}"
    address = fields["url"] or doi
    return [
        venue + volume + number + pages,
        fields["howpublished"],
        fields["note"],
        f"<{address}>" if address else "",
    ]


def page():
    """Return the bibliography in Markdown, with an id for each work."""
    lines = []
    for key, (name, entry) in works().items():
        title = f"*{plain(entry.fields['title'])}*"
        told = [f"**{name}**", authors(entry), title, *place(entry)]
        line = ". ".join(part for part in told if part)
        lines.append(f'* <a id="{key}"></a>{line}.')
    return "\n".join([HEAD, *lines, ""])
