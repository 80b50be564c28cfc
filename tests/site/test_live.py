"""Pages that run in the browser: a reader's Python, and what it proves."""

import hashlib
import json
import re

import pytest
from playwright.sync_api import expect

from tests.site import live_pages
from tools import website

# With what each is for: NumPy alone, plots and figures, a ledger, timings,
# a cluster, errors that are shown.
KINDS = {
    "book/practice/mask": "",
    "book/mask": "",
    "book/audit/walkthrough": "",
    "book/audit/length-4": "a timing",
    "book/balance": "several processes",
    "book/labs/set-a-head": "",
}
NUMPY = "book/practice/heads"  # a page whose code needs NumPy alone


@pytest.fixture
def tab(browser, host):
    """A tab that has opened no page, and the faults of its pages."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    tab = context.new_page()
    tab.faults = []
    tab.on("pageerror", lambda error: tab.faults.append(str(error)))
    tab.on(
        "console",
        lambda said: said.type == "error" and tab.faults.append(said.text),
    )
    yield tab
    context.close()
    assert tab.faults == []


def opened(tab, host, page):
    tab.goto(f"{host.address}/{page}.html")
    tab.locator(".av-check").wait_for()


@pytest.mark.parametrize("page", KINDS)
def test_a_page_checks_itself(tab, host, page):
    opened(tab, host, page)
    same, count = live_pages.check(tab)
    assert live_pages.differences(tab) == []
    assert same == count
    why = KINDS[page]
    said = tab.locator(".av-run-found").inner_text()
    assert ("not compared" in said) == bool(why)
    assert why in said
    if why != "several processes":
        assert count == live_pages.stored(page)


@pytest.mark.weekly
@pytest.mark.parametrize("page", [*filter(website.is_notebook, website.PAGES)])
def test_every_page_checks_itself(tab, host, page):
    opened(tab, host, page)
    same, count = live_pages.check(tab)
    print(page, same, count, tab.locator(".av-run-found").inner_text())
    assert live_pages.differences(tab) == []
    assert same == count


def test_a_wrong_digit_is_found(tab, host, site):
    stored = (site / f"_sources/{NUMPY}.ipynb").read_text("utf-8")
    notebook = json.loads(stored)
    output = next(
        output
        for cell in notebook["cells"]
        for output in cell.get("outputs", ())
        if output.get("name") == "stdout"
    )
    text = "".join(output["text"])
    digit = re.search(r"\d", text)
    other = str((int(digit[0]) + 1) % 10)
    output["text"] = text[: digit.start()] + other + text[digit.end() :]
    tab.route(
        "**/_sources/**",
        lambda route: route.fulfill(body=json.dumps(notebook)),
    )
    opened(tab, host, NUMPY)
    same, count = live_pages.check(tab)
    assert same == count - 1
    [shown] = live_pages.differences(tab)
    assert text.strip().splitlines()[0] in shown
