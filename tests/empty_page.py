"""An empty page in a browser, for behaviour that only a browser runs.

A test opens a figure or some HTML on the page and works it from inside, which
takes milliseconds. The fixture `page` is in the project's `conftest.py`. One
tab serves all tests: each visit loads a new document, at a third of the price
of a new tab.
"""

import json
from urllib.parse import urlsplit

from bs4 import BeautifulSoup

from course import figures
from tests.figures.programs import program

HOST = "http://page.test/"
DESK, PHONE = {"width": 1000, "height": 800}, {"width": 390, "height": 844}
TYPES = {"": "text/html", "js": "text/javascript"}
# The page's own hands, and two frames of its own clock before they take it.
HANDS, LAYOUT = program("hands"), program("layout")


def figure_class(name):
    """Return the class of a figure, whose tests may import this module."""
    from tests.figures.expected_figures import CLASSES

    return CLASSES[name]


def state_of(name, **settings):
    """The state of a figure with some settings, the others at their first."""
    figure = figure_class(name)(**settings)
    return {key: getattr(figure, key) for key in figure._settings()}


def drawn(name, **settings):
    """The text of the result as Python stores it."""
    html = figure_class(name)(**settings).html()
    return BeautifulSoup(html, "html.parser").select_one(".av-result").text


class Page:
    """A tab whose documents, and every file that they ask for, a test makes.

    `files` holds texts by path; any other request fails. `errors` holds what
    scripts threw, and `asked` the paths of requests.
    """

    def __init__(self, tab):
        self.tab, self.visits = tab, 0
        self.errors, self.asked, self.files = [], [], {}
        tab.on("pageerror", lambda error: self.errors.append(str(error)))
        tab.route(f"{HOST}**", self._answer)

    def _answer(self, route):
        path = urlsplit(route.request.url).path[1:]
        self.asked.append(path)
        if path not in self.files:
            route.abort()
            return
        kind = TYPES[path.rpartition(".")[2] if "." in path else ""]
        route.fulfill(body=self.files[path], content_type=kind)

    def visit(self, body="", query=""):
        """Load a new document with this body."""
        # A new path each time: where only `#` differs a browser loads nothing.
        self.visits += 1
        self.files[str(self.visits)] = (
            "<!doctype html><html lang=en><meta charset=utf-8>"
            f"<title>Page</title><body>{body}</body></html>"
        )
        self.tab.goto(f"{HOST}{self.visits}{query}")
        del self.files[str(self.visits)]

    def open(self, name, query="", *, static=False, first="", **settings):
        """Open a figure, as Jupyter does or as the static page holds it.

        Its settings are unfolded. `first` is a script that runs before the
        figure.
        """
        css = figures.styles(name)
        script = LAYOUT + figures.script(name) + HANDS + first
        self.visit(f"<style>{css}</style><script>{script}</script>", query)
        html = figure_class(name)(**settings).html() if static else ""
        state = state_of(name, **settings)
        self.do(f"open({', '.join(map(json.dumps, (name, state, html)))})")
        self.do("""for (const fold of el.querySelectorAll(".av-settings"))
          fold.open = true;
        await layout();
        return null""")

    def do(self, script):
        """What a script returns, which may wait; or an expression's value."""
        body = script if "return " in script else f"return {script.strip()}"
        return self.tab.evaluate(f"async () => {{ {body} }}")

    def run(self, name, *given):
        """What a function of tests/figures/js returns: flow.goes_back."""
        file, _, function = name.partition(".")
        return self.tab.evaluate(
            f"async (given) => {{ {program(file)}\n"
            f"return await {function}(...given); }}",
            given,
        )

    def until(self, condition):
        """Wait for what holds after some frames of the browser's own.

        Playwright's waits look once a frame of the page, which HANDS stops.
        """
        self.do(f"""for (let k = 0; !({condition}); k += 1) {{
          if (k === 600) throw new Error({json.dumps(f"never {condition}")});
          await layout();
        }}
        return null""")

    def reset(self):
        """As new for the next test; what went wrong in this one is raised."""
        errors = list(self.errors)
        self.errors.clear(), self.asked.clear(), self.files.clear()
        self.tab.mouse.move(-1, -1)  # where the next figure is not under it
        self.tab.set_viewport_size(DESK)
        self.tab.emulate_media(media="null", reduced_motion="null")
        self.tab.evaluate("localStorage.clear()")
        assert not errors
