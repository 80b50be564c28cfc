"""Pages that run in the browser: a reader's Python, and what it proves."""

import ast
import hashlib
import io
import json
import re
import warnings
import zipfile

import pytest
from bs4 import BeautifulSoup
from nbformat import NotebookNode
from playwright.sync_api import expect

from tests.book.practice_pages import LABS, PAGES, ROOT, ran, stub
from tests.site import accessibility, live_pages
from tools import mark, mutate, website

# With what each is for: NumPy alone, plots and figures, a ledger, timings,
# a cluster, errors that are shown.
weekly = pytest.mark.weekly
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
@pytest.mark.parametrize(
    "page", [*filter(website.is_notebook, website.PAGES[1:])]
)
def test_every_page_checks_itself(tab, host, page):
    opened(tab, host, page)
    same, count = live_pages.check(tab)
    print(page, same, count, tab.locator(".av-run-found").inner_text())
    assert live_pages.differences(tab) == []
    assert same == count


def with_a_wrong_digit(path):
    """Return a notebook with one digit of one output changed, and its text."""
    notebook = json.loads(path.read_text("utf-8"))
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
    return json.dumps(notebook), text


def test_a_wrong_digit_is_found(tab, host):
    wrong, text = with_a_wrong_digit(ROOT / f"{NUMPY}.ipynb")
    tab.route("**/_sources/**", lambda route: route.fulfill(body=wrong))
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


# --- what a reader does ------------------------------------------------------

RUN = "book/practice/mask"


def wait_for_run(tab, at, press):
    """Press something that runs a cell, and wait until nothing runs."""
    said = f"document.querySelector('.in-{at} .av-cell-said')"
    tab.locator(f".in-{at} .av-cell-said").wait_for(state="attached")
    tab.evaluate(f"{said}.textContent = ''")
    press()
    tab.wait_for_function(
        f"!['', 'running'].includes({said}.textContent) && "
        "document.querySelector('.av-strip').hidden",
        timeout=200_000,
    )


def unfold(tab):
    tab.evaluate(
        "document.querySelectorAll('details').forEach(d => (d.open = true))"
    )


def write(tab, at, code):
    """Write code into a cell's editor."""
    cell = tab.locator(f".in-{at}")
    cell.scroll_into_view_if_needed()
    if cell.locator(".cm-content").count() == 0:
        cell.get_by_role("button", name="Edit").click()
    cell.locator(".cm-content").click()
    tab.keyboard.press("Control+a")
    tab.keyboard.insert_text(code)


def run(tab, at, code):
    """Run a cell with this code, and return what it shows."""
    write(tab, at, code)
    wait_for_run(tab, at, lambda: tab.keyboard.press("Shift+Enter"))
    return tab.locator(f".out-{at}").inner_text()


def press_run(tab, at):
    cell = tab.locator(f".in-{at}")
    cell.scroll_into_view_if_needed()
    button = cell.get_by_role("button", name="Run")
    wait_for_run(tab, at, button.click)


def noted(tab, at):
    return tab.locator(f".in-{at} .av-cell-said").text_content()


def code_cells(page):
    """Return the places and sources of a notebook's code cells."""
    notebook = json.loads((ROOT / f"{page}.ipynb").read_text("utf-8"))
    return {
        at: "".join(cell["source"])
        for at, cell in enumerate(notebook["cells"])
        if cell["cell_type"] == "code"
    }


def stubs(path):
    """Return the place of each function to write, and its cell's last line."""
    notebook = json.loads(path.read_text("utf-8"))
    found = {}
    for at, cell in enumerate(notebook["cells"]):
        source = "".join(cell["source"])
        if cell["cell_type"] == "code" and stub(NotebookNode(source=source)):
            last = source.strip().splitlines()[-1]
            found[stub(NotebookNode(source=source))] = at, last
    return found


def first_shown(lesson):
    """Return the place of the first cell whose code the page shows."""
    return next(
        at for at in code_cells(RUN) if lesson.locator(f".in-{at}").count()
    )


@pytest.fixture
def lesson(tab, host):
    """A page whose cells can be run."""
    opened(tab, host, RUN)
    unfold(tab)
    return tab


def test_a_change_makes_later_results_stale(lesson):
    """The names, a task that reads them, and a cell that shows an error."""
    first, *_, last = [
        at for at in code_cells(RUN) if lesson.locator(f".in-{at}").count()
    ]
    press_run(lesson, last)
    assert noted(lesson, last).startswith(("✓ as published", "ran"))
    assert noted(lesson, first).startswith("ran")
    write(lesson, first, code_cells(RUN)[first] + "\nprint('changed')")
    assert noted(lesson, first) == "edited since it ran"
    assert noted(lesson, last) == "from before a change above"
    place = lesson.locator(f".out-{last}.av-stale")
    assert place.count() == lesson.locator(f".out-{last}").count()
    wait_for_run(lesson, first, lambda: lesson.keyboard.press("Shift+Enter"))
    expect(lesson.locator(f".out-{first}")).to_have_text("changed\n")
    lesson.locator(f".in-{first}").get_by_role("button", name="Reset").click()
    assert lesson.locator(f".out-{first}").inner_text().strip() == ""


def test_stop_ends_a_cell_that_would_run_for_ever(lesson):
    first = first_shown(lesson)
    write(lesson, first, "x = 1\nwhile True:\n    pass")
    lesson.keyboard.press("Shift+Enter")
    expect(lesson.locator(".av-strip")).to_contain_text(
        "Running", timeout=90_000
    )
    lesson.locator(".av-strip button").click()
    expect(lesson.locator(".av-strip")).to_be_hidden()
    said = lesson.locator(live_pages.SAID)
    expect(said).to_contain_text("variables are gone")
    assert "while True" in lesson.locator(f".in-{first}").inner_text()
    assert "NameError" in run(lesson, first, "x")


def stopped(lesson, at, code, until):
    """Run a cell that does not end, stop it, and return what it shows."""
    write(lesson, at, code)
    lesson.keyboard.press("Shift+Enter")
    out = lesson.locator(f".out-{at}")
    expect(out).to_contain_text(until, timeout=90_000)
    lesson.locator(".av-strip button").click()
    expect(lesson.locator(".av-strip")).to_be_hidden()
    assert noted(lesson, at) == "you stopped this"
    return out.inner_text()


def test_a_check_that_failed_does_not_take_the_next_stop(lesson):
    lesson.route("**/live/numpy*", lambda route: route.abort())
    lesson.locator(".av-check").click()
    said = lesson.locator(live_pages.SAID)
    expect(said).to_contain_text("did not arrive", timeout=60_000)
    lesson.unroute("**/live/numpy*")
    lesson.faults.clear()
    first = first_shown(lesson)
    write(lesson, first, "while True:\n    pass")
    lesson.keyboard.press("Shift+Enter")
    note = lesson.locator(f".in-{first} .av-cell-said")
    expect(note).to_have_text("running", timeout=60_000)
    lesson.get_by_role("button", name="Stop").click()
    expect(note).to_have_text("you stopped this")


def test_what_a_cell_printed_before_a_stop_is_kept(lesson):
    at = first_shown(lesson)
    code = "for n in range(1500):\n    print(n)\nwhile True:\n    pass"
    shown = stopped(lesson, at, code, "1499")
    *numbers, said = shown.split("\n\n")
    assert "".join(numbers).split() == [str(n) for n in range(1500)]
    assert said.strip() == "Cut off here: you stopped the cell."


def test_a_loop_that_prints_for_ever_leaves_the_page_alive(lesson):
    at = first_shown(lesson)
    shown = stopped(
        lesson, at, "while True:\n    print('again')", "more characters left"
    )
    assert len(shown) < 21_000
    [left] = re.findall(r"([\d,]+) more characters left out", shown)
    assert int(left.replace(",", "")) > 1000
    assert run(lesson, at, "print(6 * 7)").strip() == "42"


def test_an_integer_that_overflows_is_remarked(lesson):
    """The sum of 0 to 99,999 has 33 bits, and the text nothing of it."""
    at = first_shown(lesson)
    bits = lesson.locator(".av-python .av-bits")
    source = "import numpy as np\nprint(np.arange(100_000{}).sum())"
    assert "32 bits" in run(lesson, at, source.format(""))
    assert "32 bits" in bits.inner_text()
    wide = run(lesson, at, source.format(", dtype=np.int64"))
    assert wide.split() == [str(sum(range(100_000)))]


def test_a_python_that_a_cell_ends_is_started_anew(lesson):
    first = first_shown(lesson)
    endless = "def f(x):\n    return any(map(f, [x]))\nf(1)"
    said = f"{live_pages.SAID}, .out-{first}"
    write(lesson, first, endless)
    lesson.keyboard.press("Shift+Enter")
    told = re.compile("Python stopped|RecursionError")
    expect(lesson.locator(said).filter(has_text=told)).to_have_count(
        1, timeout=90_000
    )
    assert run(lesson, first, "print(6 * 7)").strip() == "42"
    lesson.faults.clear()  # Pyodide says it, too


def test_an_error_shows_the_reader_s_lines_alone(lesson):
    first = first_shown(lesson)
    shown = run(lesson, first, "def half(n):\n    return n / 0\n\nhalf(1)")
    assert "ZeroDivisionError: division by zero" in shown
    assert "return n / 0" in shown
    assert "kernel.py" not in shown
    assert "exec(" not in shown


def test_a_cell_that_failed_is_named_until_it_runs(lesson):
    first, *_, last = [
        at for at in code_cells(RUN) if lesson.locator(f".in-{at}").count()
    ]
    run(lesson, first, "1 / 0")
    for _ in range(2):
        press_run(lesson, last)
        assert "ZeroDivisionError" in noted(lesson, last)


def test_what_ran_before_a_change_is_not_taken_for_the_change(lesson):
    first = first_shown(lesson)
    source = "import time\ntime.sleep(2)\nprint('slow')"
    write(lesson, first, source)
    lesson.keyboard.press("Shift+Enter")
    expect(lesson.locator(f".in-{first} .av-cell-said")).to_have_text(
        "running", timeout=60_000
    )
    lesson.locator(f".in-{first} .av-reset").click()
    note = lesson.locator(f".in-{first} .av-cell-said")
    expect(note).to_contain_text("ran with the text before your change")
    undo = lesson.get_by_role("button", name="Undo the reset")
    undo.click()
    editor = lesson.locator(f".in-{first} .cm-content")
    expect(editor).to_contain_text("slow")


def test_a_reader_s_own_drawing_is_shown(lesson):
    first = first_shown(lesson)
    made = "import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\n"
    for last in ("fig", "plt.show()", "ax.plot([1, 2]);"):
        run(lesson, first, made + last)
        drawing = lesson.locator(f".out-{first} svg")
        expect(drawing).to_have_count(1)


def test_edits_of_an_earlier_visit_are_shown_and_do_not_run(lesson):
    """Nor does one that another program wrote, or one of another text."""
    places = [
        at for at in code_cells(RUN) if lesson.locator(f".in-{at}").count()
    ]
    mine, odd, broken, *_, last = places
    write(lesson, mine, "raise SystemExit('mine')")
    lesson.evaluate(
        f"""localStorage.setItem('code/{RUN}/{odd}', JSON.stringify(
          {{ of: 'another text', text: '<img src=x onerror=alert(1)>' }}));
        localStorage.setItem('code/{RUN}/{broken}', '{{ broken')"""
    )
    lesson.reload()
    unfold(lesson)
    shown = lesson.locator(f".in-{mine} pre")
    expect(shown).to_have_text("raise SystemExit('mine')")
    offer = lesson.get_by_role("button", name="Show your earlier edit")
    expect(offer).to_have_count(1)
    press_run(lesson, last)
    assert "your edit of an earlier visit" in noted(lesson, last)
    assert lesson.locator(f".out-{mine}").count() == 0, "it has not run"
    offer.click()
    editor = lesson.locator(f".in-{odd} .cm-content")
    expect(editor).to_have_text("<img src=x onerror=alert(1)>")
    assert lesson.locator("article img").count() == 0
    with_mine = lesson.get_by_role("button", name="Run with my edits")
    wait_for_run(lesson, last, with_mine.click)
    assert "SystemExit: mine" in noted(lesson, last)


def test_a_loop_that_was_stopped_does_not_run_unasked(lesson):
    mine, *_, last = [
        at for at in code_cells(RUN) if lesson.locator(f".in-{at}").count()
    ]
    write(lesson, mine, "while True:\n    pass")
    lesson.keyboard.press("Shift+Enter")
    strip = lesson.locator(".av-strip")
    expect(strip).to_contain_text("Running", timeout=90_000)
    strip.locator("button").click()
    expect(strip).to_be_hidden()
    assert noted(lesson, mine) == "you stopped this"
    press_run(lesson, last)
    assert "was stopped" in noted(lesson, last)


def test_a_solved_exercise_stays_solved_and_keeps_its_code(lesson):
    name, (at, last) = next(iter(stubs(ROOT / f"{RUN}.ipynb").items()))
    [written] = [
        w for w in ran(ROOT / f"{RUN}.ipynb").written if w.name == name
    ]
    assert "✓" in run(lesson, at, f"{written.source}\n\n\n{last}")
    tally = lesson.locator(".av-tally")
    expect(tally).to_contain_text("1 of")
    lesson.reload()
    unfold(lesson)
    expect(lesson.locator(f".in-{at} pre")).to_contain_text("return")
    expect(tally).to_contain_text("1 of")
    assert "Not yet" in run(
        lesson, at, f"def {name}(*_):\n    return 0\n\n{last}"
    )
    expect(tally).to_contain_text("1 of")


def test_without_a_server_a_page_says_how(browser, site):
    tab = browser.new_page()
    tab.goto((site / f"{RUN}.html").as_uri())
    line = tab.locator(".av-python")
    expect(line).to_contain_text("python3 -m http.server")
    assert line.locator("button").count() == 0
    assert tab.locator(".av-cell-tools").count() == 0
    tab.close()


def test_without_scripts_a_page_says_how(site):
    html = (site / f"{RUN}.html").read_text("utf-8")
    line = BeautifulSoup(html, "html.parser").select_one(".av-python")
    assert "notebook" in line.noscript.text
    assert line.text == line.noscript.text


def test_a_python_that_does_not_start_ends_with_a_message(tab, host):
    tab.clock.install()
    unanswered = []
    tab.route("**/pyodide.asm.wasm*", lambda r: unanswered.append(r))
    opened(tab, host, RUN)
    tab.locator(".av-check").click()
    expect(tab.locator(".av-strip")).to_contain_text("Loading Python")
    tab.wait_for_timeout(3000)
    tab.clock.fast_forward(61_000)
    expect(tab.locator(live_pages.SAID)).to_contain_text("did not start")
    for route in unanswered:  # else its coroutine ends in a later test
        route.abort()


def test_a_host_that_forbids_webassembly_is_named(tab, host, site):
    worker = (site / "_static/live/worker.js").read_text("utf-8")
    tab.route(
        "**/worker.js*",
        lambda route: route.fulfill(
            body=worker,
            headers={
                "content-type": "text/javascript",
                "content-security-policy": "script-src 'self'",
            },
        ),
    )
    opened(tab, host, RUN)
    tab.locator(".av-check").click()
    said = tab.locator(live_pages.SAID)
    expect(said).to_contain_text("does not allow WebAssembly")
    tab.faults.clear()


def test_what_was_typed_is_kept_where_storage_is_refused(tab, host):
    tab.add_init_script(
        "Storage.prototype.setItem = () => { throw new Error('full') }"
    )
    opened(tab, host, RUN)
    unfold(tab)
    first = next(
        at for at in code_cells(RUN) if tab.locator(f".in-{at}").count()
    )
    assert run(tab, first, "print(6 * 7)").strip() == "42"
    assert "6 * 7" in tab.locator(f".in-{first} .cm-content").inner_text()
    expect(tab.get_by_role("alert")).to_contain_text("keeps no edits")


def test_forget_removes_edits(lesson):
    first = first_shown(lesson)
    run(lesson, first, "mine = 'mine'\nprint(mine)")
    kept = "Object.keys(localStorage).filter(k => k.startsWith('code/'))"
    assert lesson.evaluate(kept) == [f"code/{RUN}/{first}"]
    lesson.locator(".forget").evaluate("button => button.click()")
    assert lesson.evaluate(kept) == []
    assert lesson.locator(".cm-content").count() == 0
    assert "mine" not in lesson.locator("article").inner_text()
    asked = run(lesson, first, "print('mine' in globals())")
    assert asked.strip() == "False", "the variables are the reader's too"


def test_what_is_handed_in_can_be_marked(lesson, tmp_path):
    path = ROOT / f"{RUN}.ipynb"
    places = stubs(path)
    written = ran(path).written
    for one in written[:2]:
        at, last = places[one.name]
        program = one.source if one is written[0] else "x = 1"
        run(lesson, at, f"{program}\n\n\n{last}")
    with lesson.expect_download() as download:
        lesson.get_by_role("button", name="Save with my changes").click()
    download.value.save_as(tmp_path / "ada.ipynb")
    asked = mark.tasks(path)
    marks = {m.what: m for m in mark.mark(tmp_path / "ada.ipynb", asked)}
    assert marks[written[0].name].reply.right
    assert marks[written[0].name].claims
    assert not marks[written[1].name].reply.right


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_runs_can_be_used_by_everyone(tab, host, scheme):
    """After a check that finds a difference, with an editor, on a phone."""
    tab.emulate_media(color_scheme=scheme)
    tab.set_viewport_size({"width": 390, "height": 844})
    wrong, _ = with_a_wrong_digit(ROOT / f"{NUMPY}.ipynb")
    tab.route("**/_sources/**", lambda route: route.fulfill(body=wrong))
    opened(tab, host, NUMPY)
    live_pages.check(tab)
    unfold(tab)
    at = next(
        at for at in code_cells(NUMPY) if tab.locator(f".in-{at}").count()
    )
    write(tab, at, "print('a line that is longer than a phone ' * 9)")
    tab.keyboard.press("Shift+Enter")
    expect(tab.locator(f".out-{at}")).to_contain_text("longer")
    for part in (".av-python", f".in-{at}"):
        assert accessibility.problems(tab, part) == []
    wide = "document.documentElement.scrollWidth - innerWidth"
    assert tab.evaluate(wide) <= 0
    # Escape leaves the editor, and the keys of the page are letters in it.
    tab.locator(f".in-{at} .cm-content").click()
    tab.keyboard.press("/")
    assert tab.locator("#pst-search-dialog").get_attribute("open") is None
    tab.keyboard.press("Escape")
    focused = "document.activeElement.textContent"
    assert tab.evaluate(focused) == "Edit"


def clicked(tab, at, word, **how):
    """Click a word of a cell's code, between its first two letters."""
    code = tab.locator(f".in-{at} .highlight pre")
    code.scroll_into_view_if_needed()
    box = code.evaluate(
        """(code, word) => {
          const walk = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
          const range = document.createRange();
          while (walk.nextNode()) {
            const from = walk.currentNode.data.indexOf(word);
            if (from < 0) continue;
            range.setStart(walk.currentNode, from);
            range.setEnd(walk.currentNode, from + 1);
            const { right: x, top: y, height } = range.getBoundingClientRect();
            return { x, y: y + height / 2 };
          }
          return null;
        }""",
        word,
    )
    tab.mouse.click(box["x"], box["y"], **how)
    return box


TYPED = "numpy"  # in the first cell


def test_a_click_on_code_edits_it_there(lesson):
    at = first_shown(lesson)
    assert TYPED in code_cells(RUN)[at]
    editor = lesson.locator(f".in-{at} .cm-content")
    # Whoever selects does not edit: a word, and the click that ends it.
    box = clicked(lesson, at, TYPED, click_count=2)
    lesson.wait_for_timeout(600)
    assert lesson.evaluate("String(getSelection())").strip() == TYPED
    lesson.mouse.click(box["x"], box["y"])
    lesson.wait_for_timeout(600)
    lesson.mouse.move(box["x"] - 20, box["y"])
    lesson.mouse.down()
    lesson.mouse.move(box["x"] + 30, box["y"], steps=4)
    lesson.mouse.up()
    lesson.wait_for_timeout(600)
    assert lesson.evaluate("String(getSelection())")
    lesson.evaluate("getSelection().removeAllRanges()")
    assert editor.count() == 0
    clicked(lesson, at, TYPED)
    expect(editor).to_be_focused()
    lesson.keyboard.type("_")
    expect(editor).to_contain_text(TYPED[0] + "_" + TYPED[1:])


def test_on_a_phone_a_tap_edits_and_a_scroll_does_not(browser, host):
    context = browser.new_context(
        viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True
    )
    tab = context.new_page()
    opened(tab, host, RUN)
    unfold(tab)
    at = first_shown(tab)
    code = tab.locator(f".in-{at} .highlight pre")
    code.scroll_into_view_if_needed()
    box = code.bounding_box()
    x, y = box["x"] + 40, box["y"] + 30
    touch = context.new_cdp_session(tab).send

    def finger(kind, *places):
        points = [{"x": x, "y": y} for y in places]
        touch(
            "Input.dispatchTouchEvent", {"type": kind, "touchPoints": points}
        )

    finger("touchStart", y)
    before = tab.evaluate("scrollY")
    for k in range(12):
        finger("touchMove", y - 20 * k)
        tab.wait_for_timeout(16)
    finger("touchEnd")
    tab.wait_for_timeout(600)
    assert tab.evaluate("scrollY") != before
    editor = tab.locator(f".in-{at} .cm-content")
    assert editor.count() == 0
    code.tap(position={"x": 40, "y": 30})
    expect(editor).to_be_focused()
    context.close()


# --- exercises in code -------------------------------------------------------


def renamed(source):
    """Return a program with other names for its local variables."""
    tree = ast.parse(source)
    for function in tree.body:
        parts = list(ast.walk(function))
        names = [part for part in parts if isinstance(part, ast.Name)]
        local = {name.id for name in names if isinstance(name.ctx, ast.Store)}
        local -= {part.arg for part in parts if isinstance(part, ast.arg)}
        for name in names:
            name.id += "_" * (name.id in local)
    return ast.unparse(tree)


def programs(written, wrong):
    """Yield programs for an exercise, and whether each is right if known.

    What returns nothing, what is no Python, some that differ from the solution
    in one small way, and the solution in other words and in its own.
    """
    yield f"def {written.name}(*_, **__):\n    print('done')", False
    yield f"{written.source}\n    return (", False
    # A changed loop may never end, nor a search for the first that fits.
    if not re.search(r"\bwhile\b|\bfirst\(", written.source):
        other = [program for *_, program in mutate.mutants(written.source)]
        step = max(1, len(other) // wrong)
        for program in other[step // 2 :: step][:wrong]:
            yield program, None
    yield renamed(written.source), True
    yield written.source, True


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=() if path.stem == "mask" else weekly)
        for path in PAGES + LABS
        if stubs(path) and path.stem != "ask-a-model"
    ],
    ids=lambda path: path.stem,
)
def test_the_page_replies_to_programs_as_jupyter_does(tab, host, path):
    page = path.relative_to(ROOT).with_suffix("").as_posix()
    opened(tab, host, page)
    unfold(tab)
    places, right, wrong = stubs(path), 0, 0
    for written in ran(path).written:
        at, last = places[written.name]
        for program, known in programs(written, wrong=4):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    function = written.function(program)
                    expected = repr(written.task.check(function))
            except Exception as error:  # before anything is checked
                expected = type(error).__name__
            shown = run(tab, at, f"{program}\n\n\n{last}")
            assert expected in shown.replace("\u200b", ""), program
            is_right = expected.startswith("✓")
            assert known in (None, is_right), program
            right += is_right
            wrong += not is_right
    print(page, right, wrong)
    count = len(places)
    kept = tab.evaluate(f"localStorage.getItem('progress/{page}')")
    assert kept.startswith(f"{count}/")
    assert right >= 2 * count
