"""Make the search index fast to build, and the same after every build.

When Sphinx reads a page again, it keeps words that are no longer in the book,
and it loses the index entries (glossary terms, for example) of all other
pages.
"""

from contextlib import suppress

from sphinx.search import IndexBuilder
from sphinx.util.index_entries import split_index_msg


def without_lost_words(prune):
    def pruned(index, pages):
        prune(index, pages)
        for words in (index._mapping, index._title_mapping):
            for word in [word for word in words if not words[word]]:
                del words[word]

    return pruned


def entries(env, page):
    """Return the index entries of a page in the form of Sphinx's search."""
    found = set()
    told = env.domaindata["index"]["entries"].get(page, ())
    for kind, value, target, main, _key in told:
        with suppress(ValueError):
            parts = split_index_msg(kind, value)
            found |= {(part, target or "", main) for part in parts}
    return sorted(found)


def with_all_entries(freeze):
    def frozen(index):
        index._index_entries = {
            page: entries(index.env, page) for page in sorted(index._titles)
        }
        return freeze(index)

    return frozen


def with_each_word_once(collect):
    """Index a word once per page, however often it occurs there."""

    def collected(index, doctree):
        store = collect(index, doctree)
        store.words = list(dict.fromkeys(store.words))
        return store

    return collected


def setup(app):
    IndexBuilder._word_collector = with_each_word_once(
        IndexBuilder._word_collector
    )
    IndexBuilder.prune = without_lost_words(IndexBuilder.prune)
    IndexBuilder.freeze = with_all_entries(IndexBuilder.freeze)
