"""The search's index of a later build is the same as that of a cold one.

Sphinx keeps words that were only on pages which it reads again, and loses the
entries of the index, such as the words of the glossary, of all the others.
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
    """The entries of a page in the index, as Sphinx's search has them."""
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


def setup(app):
    IndexBuilder.prune = without_lost_words(IndexBuilder.prune)
    IndexBuilder.freeze = with_all_entries(IndexBuilder.freeze)
