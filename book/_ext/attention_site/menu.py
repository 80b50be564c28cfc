"""Name the menu's buttons that open the pages below a chapter.

The theme draws only an arrow there, which a screen reader cannot read.
"""

from functools import cache


def name_toggles(menu):
    """Name each button of a menu (parsed HTML) after its chapter."""
    for button in menu.select("summary"):
        chapter = button.find_parent("li").find("a").get_text(strip=True)
        button["aria-label"] = f"Pages below {chapter}"
    return menu


def drawn_once(make):
    """Cache the menu of a page, because its templates draw it three times."""

    @cache
    def menu(*args, **options):
        return str(name_toggles(make(*args, **options)))

    return menu


def wrap(app, pagename, templatename, context, doctree):
    make = context.get("generate_toctree_html")
    if make is not None:
        context["generate_toctree_html"] = drawn_once(make)


def setup(app):
    # After the theme has added its function to the context.
    app.connect("html-page-context", wrap, priority=900)
