"""What a page is about: its description, and what the search finds first.

Sphinx gives every page that has a word the same score. Here a page earns more
the oftener it has the word, among the pages that `search_first` names, and
the first of those most: of all that mention RoPE, chapter 8 comes first.
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
LONGEST = 200  # characters of a description
LEAST = 3  # times that some page must have a word, or none is about it
OFTEN = 0.4  # more than that of the times any page has it, or it earns nothing
WORTH, REST = 60, 0.8  # what the first page earns, and the share of others
VIEWPORT = re.compile(r'<meta name="viewport"[^>]*>')
SCORER = Path(__file__).with_name("scorer.js").read_text("utf-8")


def text_of(html):
    soup = BeautifulSoup(html, "html.parser")
    for part in soup(parsed.SILENT):
        part.decompose()
    return soup


def shortened(text):
    """The first sentences of a text that fit, or as much of the first."""
    short = ""
    for sentence in re.findall(r".+?(?:[.?!](?= |$)|$)", text):
        if len(short + sentence) > LONGEST:
            break
        short += sentence
    if short:
        return short.strip()
    return text[:LONGEST].rpartition(" ")[0] + " …"


def description(body):
    """What the first paragraph of a page says."""
    for end in re.finditer("</p>", body):  # the whole of a page takes a second
        # None yet where the first one that ends is in a table.
        for paragraph in text_of(body[: end.end()])("p")[-1:]:
            text = " ".join(paragraph.get_text().split())
            if not paragraph.find_parent(class_="cell") and len(text) > 20:
                return shortened(text)
    return ""


def stems(text):
    """How often each word stands in a text, its endings taken off."""
    language = SearchEnglish({})
    counted = collections.Counter(language.split(text.lower()))
    stemmed = collections.Counter()
    for word, n in counted.items():
        if not word.isdecimal():  # no query has such a word
            stemmed[language.stem(word)] += n
    return stemmed


def worths(counted):
    """For each page its words, and what they are worth in a search.

    A word is explained where it first stands often: that page earns most.
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
    """The pages as a reader turns them."""
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
    # Sphinx and docutils each write how wide the page is; once is enough.
    context["metatags"] = VIEWPORT.sub("", context.get("metatags") or "")


def rank(app, exception):
    """Write for the search what each page is about."""
    if exception is not None or app.builder.format != "html":
        return
    out = Path(app.outdir)
    pages = [
        page
        for page in in_order(app.env)
        if PurePath(app.env.doc2path(page)).match(app.config.search_first)
    ]
    texts = {
        page: parsed.of(app, (out / f"{page}.html").read_text("utf-8")).text
        for page in pages
    }
    counted = {page: app.kept(stems, text) for page, text in texts.items()}
    table = json.dumps(worths(counted), separators=(",", ":"))
    # Sphinx reads its own index again; it writes this file, loaded before.
    language = out / "_static" / "language_data.js"
    bare = language.read_text("utf-8").partition(SCORER[: SCORER.index("\n")])[
        0
    ]
    language.write_text(bare + SCORER.replace("WORTHS", table), "utf-8")


def setup(app):
    # Sphinx finds the stem of a word anew on each page that has it.
    if not hasattr(SearchEnglish.stem, "cache_info"):
        SearchEnglish.stem = functools.cache(SearchEnglish.stem)
    app.add_config_value("search_first", "*", "html", str)
    # The bundle takes the description; the archive holds the index.
    app.connect("html-page-context", describe, priority=800)
    app.connect("build-finished", rank, priority=930)
