"""Name the menu's buttons that open the pages below a chapter.

The theme draws only an arrow there, which a screen reader cannot read.
"""

from functools import cache

from sphinx import addnodes


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


def titles_only(toc):
    """Return a page's contents without what is below its title.

    Sphinx does the same to a copy of all contents, for the menu of each page.
    """
    toc = toc.deepcopy()
    for title in toc.children:
        if len(title) > 1:
            pages_below = list(title.findall(addnodes.toctree))
            if pages_below:
                title[1][:] = pages_below
            else:
                title.pop(1)
    return toc


def from_titles(app, builder):
    """Let the builder make a menu of titles from titles alone."""
    env, make = app.env, builder._get_local_toctree
    titles = {page: titles_only(toc) for page, toc in env.tocs.items()}

    def menu(page, **options):
        whole = env.tocs
        env.tocs = titles if options.get("titles_only") else whole
        try:
            return make(page, **options)
        finally:
            env.tocs = whole

    builder._get_local_toctree = menu


def wrap(app, pagename, templatename, context, doctree):
    make = context.get("generate_toctree_html")
    if make is not None:
        context["generate_toctree_html"] = drawn_once(make)


def setup(app):
    app.connect("write-started", from_titles)
    # After the theme has added its function to the context.
    app.connect("html-page-context", wrap, priority=900)
