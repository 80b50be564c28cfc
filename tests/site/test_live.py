"""Pages that run in the browser: a reader's Python, and what it proves."""

import hashlib
import io
import json
import re
import zipfile

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


def altered(body, name, change):
    """Return course.zip with one module changed."""
    source, target = io.BytesIO(body), io.BytesIO()
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for each in old.namelist():
            text = old.read(each)
            new.writestr(each, change(text) if each == name else text)
    return target.getvalue()


def test_a_wrong_helper_is_found(tab, host, site):
    """A softmax of twice the scores, with the sums that a softmax has."""
    folder = site / "_static/live"
    name, right = "helpers/softmax.py", b"np.exp("
    zipped = altered(
        (folder / "course.zip").read_bytes(),
        name,
        lambda text: text.replace(right, b"np.exp(1.01 * "),
    )
    listed = json.loads((folder / "files.json").read_text("utf-8"))
    digest = hashlib.sha256(zipped).hexdigest()
    listed["files"]["course.zip"]["sha256"] = digest
    tab.route("**/course.zip", lambda r: r.fulfill(body=zipped))
    tab.route("**/files.json", lambda r: r.fulfill(body=json.dumps(listed)))
    opened(tab, host, NUMPY)
    same, count = live_pages.check(tab)
    assert same < count
    assert live_pages.differences(tab)


@pytest.mark.parametrize(
    "name", ["pyodide.asm.wasm", "pyodide.asm.js", "course.zip", "numpy"]
)
def test_a_wrong_byte_is_refused_by_name(tab, host, site, name):
    [path] = (site / "_static/live").glob(f"{name}*")
    body = path.read_bytes()
    wrong = body[:-1] + bytes([body[-1] ^ 1])
    tab.route(f"**/{path.name}*", lambda route: route.fulfill(body=wrong))
    opened(tab, host, NUMPY)
    tab.locator(".av-check").click()
    said = f"{path.name} is not the file that was published."
    expect(tab.locator(live_pages.SAID)).to_have_text(said, timeout=60_000)
    tab.faults.clear()  # the browser says it, too


def test_before_a_press_a_page_loads_nothing_for_it(tab, host):
    asked = []
    tab.on("request", lambda request: asked.append(request.url))
    opened(tab, host, NUMPY)
    tab.wait_for_load_state("networkidle")
    assert not [url for url in asked if "/live/" in url]
    live_pages.check(tab)
    assert [url for url in asked if "/live/" in url]
    others = [url for url in asked if not url.startswith(host.address)]
    assert [url for url in others if not url.startswith("data:")] == []
