"""Lead readers through the course on four ways, and draw its map.

`book/ways.yml` lists the stops of each way. On the site `<!-- ways: stops -->`
on a way's page becomes its stops, `doors` all ways, `map` every lesson in the
order of the menu, and `start` the first buttons. A page that is a stop ends in
a line per way with its next stop. Names and numbers are those of the menu, and
minutes are computed from the pages. `site.js` adds boxes to tick, and keeps to
the way that a reader has chosen.
"""

import re
from functools import cache
from html import escape
from math import ceil
from pathlib import Path

import nbformat
import yaml
from sphinx import addnodes

from tools import reading

from . import served
from .numbers import outlines

SHOWN = ("start", "stops", "doors", "map")
# What stands between the two is for notebooks, which show no comments.
MARK = re.compile(
    rf"<!-- ways: ({'|'.join(SHOWN)}) -->(?:(?:(?!<!--).)*<!-- end -->)?", re.S
)
SECTION = re.compile(r"^## ", re.M)
PRACTICE = "book/practice/"
# To press, drag and look: what a figure takes besides the text above it.
TO_PLAY = 5
# The page of the button that checks a page.
CHECKED = "book/three-tokens"


@cache
def read(folder):
    """Return the ways, and refuse a stop that is listed twice."""
    file = Path(folder, "book/ways.yml")
    ways = yaml.safe_load(file.read_text("utf-8")) if file.exists() else []
    for way in ways:
        pages = [stop["page"] for stop in way["stops"]]
        assert len({*pages}) == len(pages), f"{way['page']} has a stop twice"
    return ways


@cache
def cells(path, _changed):
    return tuple(nbformat.read(path, as_version=4).cells)


def opening(page):
    """Yield the cells of a page above its first section."""
    for cell in page:
        above, *section = SECTION.split(cell.source, maxsplit=1)
        if cell.cell_type == "markdown" and section:
            yield nbformat.from_dict({**cell, "source": above})
            return
        yield cell


def minutes(env, page, figure=None):
    """Return how long a lesson takes, or one figure with the text above it."""
    path = Path(env.doc2path(page))
    if path.suffix != ".ipynb":
        return 0
    found = cells(path, path.stat().st_mtime_ns)
    if figure is None:
        return reading.times(found)[0]
    counted = reading.open_path(list(opening(found)))
    return TO_PLAY + ceil(sum(counted.values()) / reading.PER_MINUTE)


def lasting(total):
    """Return a time in words.

    Examples
    --------
    >>> lasting(25), lasting(60), lasting(185)
    ('25 min', '1 h', '3 h 5 min')
    """
    hours, rest = divmod(total, 60)
    parts = [f"{hours} h" if hours else "", f"{rest} min" if rest else ""]
    return " ".join(filter(None, parts))


def roughly(total):
    """Return the time of a whole way in words.

    Examples
    --------
    >>> roughly(29), roughly(50), roughly(185), roughly(215)
    ('30 minutes', '50 minutes', '3 hours', '3½ hours')
    """
    if total < 90:
        return f"{5 * round(total / 5)} minutes"
    whole, half = divmod(round(total / 30), 2)
    return f"{whole}{'½' * half} hours"


class Course:
    """The pages of a book, as a page of it links to them."""

    def __init__(self, app, here):
        self.app, self.env, self.here = app, app.env, here
        known = self.env.found_docs
        # A book with only some chapters has only some stops.
        self.ways = [
            {**way, "stops": [s for s in way["stops"] if s["page"] in known]}
            for way in read(app.srcdir)
            if way["page"] in known
        ]

    def title(self, page):
        """Return a page's name, with its number in the menu."""
        number = self.env.toc_secnumbers.get(page, {}).get("")
        name = self.env.titles[page].astext()
        return f"{number[0]}. {name}" if number else name

    def name(self, stop):
        return stop.get("name") or self.title(stop["page"])

    def link(self, page, text, figure=None, kind=""):
        to = self.app.builder.get_relative_uri(self.here, page)
        anchor = f"#figure-{figure}" if figure else ""
        kind = kind and f' class="{kind}"'
        return f'<a{kind} href="{to}{anchor}">{escape(text)}</a>'

    def time(self, stop):
        return minutes(self.env, stop["page"], stop.get("figure"))

    def total(self, way):
        return sum(map(self.time, way["stops"]))

    def item(self, stop):
        """Return a stop as an item of a list."""
        to = self.link(stop["page"], self.name(stop), stop.get("figure"))
        time = f" <small>{lasting(self.time(stop))}</small>"
        return f'<li data-stop="{key(stop)}">{to}{time}</li>'

    def stops(self):
        """Return the page of a way."""
        way = next(way for way in self.ways if way["page"] == self.here)
        items = "\n".join(map(self.item, way["stops"]))
        return (
            f"<p>{escape(way['says'])} {escape(way['whom'])}</p>\n"
            f'<p class="av-lasts"><b>{roughly(self.total(way))}</b>, '
            f"{len(way['stops'])} stops</p>\n"
            f'<ol class="av-stops" data-way="{slug(way)}">\n{items}\n</ol>\n'
        )

    def start(self):
        """Return how long it takes, and the first buttons."""
        if not self.ways:
            return ""
        aims = [
            f"{roughly(self.total(way))} to {escape(way['aim'])}"
            for way in self.ways
        ]
        times = f"{', '.join(aims[:-1])}, and {aims[-1]}"
        first = self.ways[0]["page"]
        begin = self.link(first, f"Begin: {self.title(first).lower()}")
        check = ""
        if served.folder() and CHECKED in self.env.found_docs:
            to = self.app.builder.get_relative_uri(self.here, CHECKED)
            check = f' <a href="{to}#check">Check our numbers yourself</a>'
        return (
            f'<p class="av-lasts">It takes {times}.</p>\n'
            f'<p class="av-start">{begin}{check}</p>\n'
        )

    def doors(self):
        """Return a link to each way, with its time."""
        doors = "\n".join(
            f"<li>{self.link(way['page'], self.title(way['page']))} "
            f"<small>{roughly(self.total(way))}</small>"
            f"<span>{escape(way['says'])} {escape(way['whom'])}</span></li>"
            for way in self.ways
        )
        return f'<ul class="av-doors">\n{doors}\n</ul>\n'

    def parts(self):
        """Yield the name and the lessons of each part of the menu."""
        root = outlines(self.env)[self.app.config.root_doc]
        for tree in root.findall(addnodes.toctree):
            pages = [
                page
                for _, page in tree["entries"]
                if page in self.env.toc_secnumbers or page == "book/flow"
            ]
            if pages:
                yield tree.get("caption") or "", pages

    def map(self):
        """Return every lesson, in the order of the menu."""
        parts = []
        for caption, pages in self.parts():
            items = "\n".join(self.item({"page": page}) for page in pages)
            parts.append(
                f"<section><h3>{escape(caption)}</h3>\n"
                f'<ol class="av-stops">\n{items}\n</ol></section>'
            )
        return f'<div class="av-map">\n{"".join(parts)}\n</div>\n'

    def next_lesson(self, page):
        """Return the lesson after a lesson in the menu, or None."""
        pages = [
            page
            for _, pages in self.parts()
            for page in pages
            if page in self.env.toc_secnumbers
        ]
        after = pages[pages.index(page) + 1 :] if page in pages else []
        return after[0] if after else None

    def onward(self, page):
        """Return a line per way of a page, and one for the book's order."""
        lines = []
        after = self.next_lesson(page)
        if after:
            lines.append(
                f'<p data-way="" data-stop="{page}">Next lesson: '
                f"{self.to({'page': after})}</p>"
            )
        for way in self.ways:
            pages = [stop["page"] for stop in way["stops"]]
            if page not in pages:
                continue
            at = pages.index(page)
            name = self.link(way["page"], self.title(way["page"]))
            rest = way["stops"][at + 1 : at + 2]
            back = self.link(way["page"], "see what you have read", kind="on")
            on = f"It ends here: {back}."
            if rest:
                on = f"Next: {self.to(rest[0])}"
            lines.append(
                f'<p data-way="{slug(way)}" '
                f'data-stop="{key(way["stops"][at])}"><span>On the way: '
                f"{name}, stop {at + 1} of {len(pages)}.</span> {on}</p>"
            )
        inside = "\n".join(lines)
        nav = '<nav class="av-onward" aria-label="Where to go on">'
        return f"{nav}\n{inside}\n</nav>\n" if lines else ""

    def to(self, stop):
        """Return the link that leads on."""
        to = self.link(stop["page"], self.name(stop), stop.get("figure"), "on")
        return f"{to} <small>{lasting(self.time(stop))}</small>"


def slug(way):
    return way["page"].rpartition("/")[2]


def key(stop):
    """Return the name under which a browser keeps that a stop was read."""
    figure = stop.get("figure")
    return stop["page"] + (f"#{figure}" if figure else "")


def lesson_of(page):
    """Return the lesson that a page is, or whose practice it is."""
    if page.startswith(PRACTICE):
        return f"book/{page.removeprefix(PRACTICE)}"
    return page


def add(app, pagename, templatename, context, doctree):
    if doctree is None:
        return
    course = Course(app, pagename)
    body = MARK.sub(lambda mark: getattr(course, mark[1])(), context["body"])
    end = body.rindex("</section>") if "</section>" in body else len(body)
    on = course.onward(lesson_of(pagename))
    context["body"] = body[:end] + on + body[end:]


def write_again(app, env):
    """Return all pages if a time that others state has changed."""
    course = Course(app, app.config.root_doc)
    stops = [stop for way in course.ways for stop in way["stops"]]
    stops += [{"page": page} for _, pages in course.parts() for page in pages]
    before = getattr(env, "attention_site_times", None)
    env.attention_site_times = {key(stop): course.time(stop) for stop in stops}
    return env.found_docs if env.attention_site_times != before else []


def setup(app):
    # Run after the chapters are numbered.
    app.connect("env-get-updated", write_again, priority=900)
    app.connect("html-page-context", add)
