"""Give each page a description, and rank the pages for the search.

Sphinx gives every page that contains a word the same score. This module scores
the pages that `FIRST` names. A page scores more the more often it
contains the word, and the first page that often contains the word scores most,
because that page explains it: a search for RoPE shows chapter 8 first.
"""

import collections
import functools
import json
import re
from pathlib import Path, PurePath

from bs4 import BeautifulSoup
from sphinx.search.en import SearchEnglish

from . import parsed

DESCRIPTION = (
    "The attention mechanism of transformers by hand, in NumPy, with every "
    "number re-checked by a machine."
)
# The pages that the search shows first, and the page of questions, of which it
# shows those before them that have half of the words.
FIRST = "book/*.ipynb"
ASKED = "book/questions"
LONGEST = 200  # length of a description in characters
LEAST = 3  # a word ranks pages only if some page has it this often
OFTEN = 0.4  # a page with less than this share of the maximum scores 0
WORTH, REST = 60, 0.8  # the first page's score, and the others' share of it
VIEWPORT = re.compile(r'<meta name="viewport"[^>]*>')
SCORER = Path(__file__).with_name("scorer.js").read_text("utf-8")


def text_of(html):
    soup = BeautifulSoup(html, "html.parser")
    for part in soup(parsed.SILENT):
        part.decompose()
    return soup


def shortened(text):
    """Return the first sentences that fit, or the start of the first one."""
    short = ""
    for sentence in re.findall(r".+?(?:[.?!](?= |$)|$)", text):
        if len(short + sentence) > LONGEST:
            break
        short += sentence
    if short:
        return short.strip()
    return text[:LONGEST].rpartition(" ")[0] + " …"


def description(body):
    """Return the text of a page's first paragraph, shortened."""
    for end in re.finditer("</p>", body):  # to parse it all takes a second
        # The list is empty if the first paragraph to end is inside a table.
        for paragraph in text_of(body[: end.end()])("p")[-1:]:
            text = " ".join(paragraph.get_text().split())
            if not paragraph.find_parent(class_="cell") and len(text) > 20:
                return shortened(text)
    return ""


def stems(article):
    """Count the stems of the words in the prose of an article."""
    language = SearchEnglish({})
    words = language.split(parsed.prose(article).lower())
    counted = collections.Counter(words)
    stemmed = collections.Counter()
    for word, n in counted.items():
        if not word.isdecimal():  # the search ignores numbers
            stemmed[language.stem(word)] += n
    return stemmed


def worths(counted):
    """Score the words of each page.

    The first page that often contains a word scores most for it.
    """
    most = collections.Counter()
    for words in counted.values():
        most |= words
    explained, found = set(), {}
    for page, words in counted.items():
        often = {w for w, n in words.items() if n > OFTEN * most[w]}
        often = sorted(w for w in often if most[w] >= LEAST)
        found[page] = {
            word: WORTH
            if word not in explained
            else round(WORTH * REST * words[word] / most[word])
            for word in often
        }
        explained.update(often)
    return found


def in_order(env):
    """Yield the pages in reading order."""
    following = {
        p: after for p, (_, _, after) in env.collect_relations().items()
    }
    page = env.config.root_doc
    while page:
        yield page
        page = following.get(page)


def describe(app, pagename, templatename, context, doctree):
    said = description(context.get("body") or "")
    context["description"] = said or DESCRIPTION
    context["site_address"] = app.config.html_baseurl
    # Sphinx and docutils both write a viewport tag; one is enough.
    context["metatags"] = VIEWPORT.sub("", context.get("metatags") or "")


def ranked(app):
    """Return the pages that the search shows first, in reading order."""
    return [
        page
        for page in in_order(app.env)
        if PurePath(app.env.doc2path(page)).match(FIRST) and page != ASKED
    ]


def rank(app):
    """Write the scores of all pages for the search."""
    out = Path(app.outdir)
    texts = {
        page: parsed.article((out / f"{page}.html").read_text("utf-8"))
        for page in ranked(app)
    }
    counted = {page: app.kept(stems, text) for page, text in texts.items()}
    table = json.dumps(worths(counted), separators=(",", ":"))
    # Appended to this file because Sphinx loads it before its index.
    language = out / "_static" / "language_data.js"
    bare = language.read_text("utf-8").partition(SCORER[: SCORER.index("\n")])[
        0
    ]
    scorer = SCORER.replace("ASKED", json.dumps(ASKED), 1)
    language.write_text(bare + scorer.replace("WORTHS", table), "utf-8")


def setup(app):
    # Cache stems, because Sphinx computes the stem of a word again on each
    # page.
    if not hasattr(SearchEnglish.stem, "cache_info"):
        SearchEnglish.stem = functools.cache(SearchEnglish.stem)
    app.connect("html-page-context", describe)
