"""Draw the menu once, mark the current page in it, and name its buttons.

The theme would draw the menu three times for each page. The copies differ only
in the page from which their links lead and in the entry that is marked. The
theme puts only an arrow on a button, which screen readers cannot read.
"""

from functools import cache

from bs4 import BeautifulSoup
from pydata_sphinx_theme.toctree import add_toctree_functions


def name_toggles(menu):
    """Name each button of a menu (parsed HTML) after its chapter."""
    for button in menu.select("summary"):
        chapter = button.find_parent("li").find("a").get_text(strip=True)
        button["aria-label"] = f"Pages below {chapter}"
    return menu


def seen_from(menu, page, builder):
    """Return the menu, parsed from the first page, adapted to another page."""
    marked = {}

    def mark(tag, **attributes):
        marked.setdefault(id(tag), (tag, tag.attrs))
        tag.attrs = {**tag.attrs, **attributes}

    for link in menu.select("a.internal"):
        target = link["href"].removesuffix(builder.link_suffix)
        if target != page:
            mark(link, href=builder.get_relative_uri(page, target))
            continue
        mark(link, href="#")
        link["class"] = ["current", *link["class"]]
        for parent in link.find_parents("ul"):
            mark(parent)
            parent["class"] = ["current", *parent.get("class", [])]
        for parent in link.find_parents("li"):
            first, *others = parent["class"]
            mark(parent)
            parent["class"] = [first, "current", "active", *others]
            for fold in parent.find_all("details", recursive=False):
                mark(fold, open="open")
    drawn = str(menu)
    for tag, attributes in marked.values():
        tag.attrs = attributes
    return drawn


def wrap(app, pagename, templatename, context, doctree):
    make = context.get("generate_toctree_html")
    if make is None:
        return
    tree, root = app.builder._get_local_toctree, app.config.root_doc

    def first(*options):
        """Return the theme's menu of the first page, which no menu lists."""
        of_page = context["toctree"]
        context["toctree"] = lambda **asked: tree(root, **asked)
        try:
            drawn = str(name_toggles(make(**dict(options))))
            return BeautifulSoup(drawn, "html.parser")
        finally:
            context["toctree"] = of_page

    @cache
    def menu(**options):
        key = tuple(sorted(options.items()))
        if key not in app.menus:
            app.menus[key] = first(*key)
        return seen_from(app.menus[key], pagename, app.builder)

    context["generate_toctree_html"] = menu


def come_first(app):
    """Wrap the theme's function before the theme calls it.

    The theme adds the function to the context, and then draws each part of a
    page to find out whether it is empty.
    """
    event = "html-page-context"
    for listener in list(app.events.listeners[event]):
        if listener.handler is add_toctree_functions:
            app.disconnect(listener.id)
    app.connect(event, add_toctree_functions, priority=400)
    app.connect(event, wrap, priority=401)


def setup(app):
    app.menus = {}
    app.connect("builder-inited", come_first)
