"""The policy of each page: it works under it, and nothing else runs."""

import re
from html.parser import HTMLParser

import pytest
from attention_site import policy

from tools import website

PAGES = ("index", "search", "book/mask", "book/practice/mask", "figure/mask")


class Inline(HTMLParser):
    """Collects the scripts of a page, by a parser of HTML."""

    def __init__(self, html):
        super().__init__()
        self.found, self.open = set(), False
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.open = tag == "script" and "src" not in given
        self.found |= {v for k, v in attributes if k.startswith("on")}

    def handle_data(self, data):
        if self.open:
            self.found.add(data)

    def handle_endtag(self, tag):
        self.open = False


def stated(site, page):
    """Return the policy that a page states before its first script."""
    html = (site / f"{page}.html").read_text("utf-8")
    head = html.partition("<script")[0]
    return re.search(r'Content-Security-Policy" content="([^"]*)', head)[1]


def test_every_script_in_a_page_has_its_hash(site):
    for page in PAGES:
        given = stated(site, page)
        found = Inline((site / f"{page}.html").read_text("utf-8")).found
        assert found
        for script in found:
            assert policy.digest(script) in given, (page, script)
        assert "'unsafe-inline'" not in given.partition("style-src")[0]
        assert "'unsafe-eval'" not in given
        assert "//" not in given, "no other host"


TRIED = """async () => {
  const told = [];
  addEventListener("securitypolicyviolation", (it) =>
    told.push(it.effectiveDirective));
  const script = document.createElement("script");
  script.textContent = "globalThis.ran = true";
  document.body.append(script);
  const frame = document.createElement("div");
  frame.innerHTML = '<img src="x" onerror="globalThis.ran = true">';
  document.body.append(frame);
  await fetch("https://a.example/").catch(() => {});
  // Not eval here, which a browser allows to what drives it.
  setTimeout("globalThis.ran = true");
  const nothing = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]);
  const compiled = () => (globalThis.ran = true);
  await WebAssembly.compile(nothing).then(compiled, () => {});
  await new Promise((done) => setTimeout(done, 200));
  return [globalThis.ran ?? false, [...new Set(told)].sort()];
}"""


@pytest.fixture
def strict(browser):
    """A tab, and what it complained of."""
    tab = browser.new_page()
    tab.said = []
    tab.on("console", lambda it: tab.said.append(it.text))
    yield tab
    tab.close()


@pytest.mark.parametrize("page", PAGES)
def test_a_page_works_under_the_policy_and_nothing_else_does(
    strict, host, page
):
    strict.goto(f"{host.address}/{page}.html")
    website.scroll_through(strict)
    assert not [it for it in strict.said if "Content Security" in it]
    ran, refused = strict.evaluate(TRIED)
    assert not ran
    assert {"connect-src", "script-src", "script-src-elem"} <= set(refused)
