"""The bibliography in the order of the alphabet, corporate authors too.

BibTeX keeps a corporate name together by braces, and Pybtex sorts the braces
after the letter z.
"""

from pybtex.plugin import register_plugin
from pybtex.style.formatting import plain
from pybtex.style.sorting import author_year_title


class ByName(author_year_title.SortingStyle):
    def person_key(self, person):
        return super().person_key(person).strip("{} ")


class Style(plain.Style):
    default_sorting_style = "by_name"


def setup(app):
    register_plugin("pybtex.style.sorting", "by_name", ByName)
    register_plugin("pybtex.style.formatting", "by_name", Style)
