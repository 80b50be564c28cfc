"""Names for the buttons of the menu that open the pages below a chapter.

The theme draws an arrow there and nothing else, so that a screen reader has
nothing to say.
"""

from functools import cache


def name_toggles(menu):
    """Name each button of a menu, a tree of HTML, after its chapter."""
    for button in menu.select("summary"):
        chapter = button.find_parent("li").find("a").get_text(strip=True)
        button["aria-label"] = f"Pages below {chapter}"
    return menu


def drawn_once(make):
    """The menu as text, for the templates of a page, which draw it thrice."""

    @cache
    def menu(*args, **options):
        return str(name_toggles(make(*args, **options)))

    return menu


def wrap(app, pagename, templatename, context, doctree):
    make = context.get("generate_toctree_html")
    if make is not None:
        context["generate_toctree_html"] = drawn_once(make)


def setup(app):
    # After the theme has put its function there.
    app.connect("html-page-context", wrap, priority=900)
