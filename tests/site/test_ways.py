"""The ways through the course, the map, the wall, and what a reader keeps."""

import json
import re
from itertools import pairwise

import pytest
import yaml
from bs4 import BeautifulSoup
from playwright.sync_api import expect

from course import published
from tools import website

WAYS = yaml.safe_load((website.ROOT / "book/ways.yml").read_text("utf-8"))
AFTERNOON = next(way for way in WAYS if way["page"].endswith("/afternoon"))


@pytest.fixture(scope="module")
def address(host):
    return host.address


def parsed(site, page):
    return BeautifulSoup((site / f"{page}.html").read_text("utf-8"), "lxml")


def minutes(text):
    """How many minutes a text such as "1 h 5 min" or "3½ hours" has."""
    text = text.replace("½", ".5")
    number = r"(\d+(?:\.5)?) "
    hours, rest = (
        re.search(number + unit, text) for unit in ("h(?:ours)?\\b", "min")
    )
    return sum(
        float(found[1]) * times
        for found, times in ((hours, 60), (rest, 1))
        if found
    )


def stated(page):
    """The minutes that a lesson states in its own text."""
    text = (website.ROOT / f"{page}.ipynb").read_text("utf-8")
    said = re.search(r"Reading time: about (\d+) minutes", text)
    return said and int(said[1])


def items(soup):
    """The stops of a list, with their names and minutes."""
    return [
        (item["data-stop"], item.a.get_text(), minutes(item.small.get_text()))
        for item in soup.select(".av-stops > li")
    ]


def test_the_map_is_the_menu_with_minutes(site):
    soup = parsed(site, "index")
    menu = [
        link.get_text(strip=True) for link in soup.select(".bd-docs-nav a")
    ]
    numbered = [name for name in menu if re.match(r"\d+\. ", name)]
    start, *lessons = items(soup.select_one(".av-map"))
    assert start[0] == "book/flow"
    assert [name for _, name, _ in lessons] == numbered
    for page, _, takes in lessons:
        assert takes == stated(page)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way["page"])
def test_a_way_takes_the_minutes_of_its_stops(site, way):
    soup = parsed(site, way["page"])
    shown = items(soup)
    stops = [stop["page"] for stop in way["stops"]]
    assert [stop.split("#")[0] for stop, *_ in shown] == stops
    for page, _, takes in shown:
        assert takes == stated(page) if "#" not in page else 5 < takes <= 15
    whole = minutes(soup.select_one(".av-lasts").get_text())
    assert abs(whole - sum(takes for *_, takes in shown)) <= 15
    door = parsed(site, "index").select_one(
        f'.av-doors li:has(a[href="{way["page"]}.html"])'
    )
    assert minutes(door.small.get_text()) == whole


def test_thirty_minutes_are_thirty(site):
    whole = parsed(site, WAYS[0]["page"]).select_one(".av-lasts").get_text()
    assert 25 <= minutes(whole) <= 35


def test_next_leads_through_the_chosen_way_and_ticks_it(address, browser):
    tab = browser.new_page()
    tab.goto(f"{address}/{AFTERNOON['page']}.html")
    tab.locator(".av-start a").click()
    stops = [stop["page"] for stop in AFTERNOON["stops"]]
    for page, after in pairwise(stops):
        tab.wait_for_url(f"**/{page}.html")
        on = tab.locator(".av-on")
        expect(on).to_contain_text(f"stop {stops.index(page) + 1} of")
        lines = tab.locator(".av-onward p:visible")
        assert lines.count() == 1, "other ways keep silent"
        lines.locator("a.on").click()
        tab.wait_for_url(f"**/{after}.html")
    expect(tab.locator(".av-onward p:visible")).to_contain_text("ends")
    tab.locator(".av-onward label").click()
    tab.goto(f"{address}/{AFTERNOON['page']}.html")
    boxes = tab.locator(".av-stops input")
    assert all(box.is_checked() for box in boxes.all())
    tab.goto(f"{address}/index.html")
    expect(tab.locator(".av-map .done")).to_have_count(len(stops))
    tab.close()


def test_a_figure_that_is_a_stop_is_followed_by_the_next(address, browser):
    tab = browser.new_page()
    tab.goto(f"{address}/{WAYS[0]['page']}.html")
    tab.locator(".av-start a").click()
    for stop in WAYS[0]["stops"]:
        tab.wait_for_url(f"**/{stop['page']}.html#figure-{stop['figure']}")
        figure, on = (
            tab.locator(it).first.bounding_box()["y"]
            for it in (f"#figure-{stop['figure']}", ".av-onward")
        )
        later = [
            box["y"]
            for part in tab.locator("article > section > section > h2").all()
            if (box := part.bounding_box()) and box["y"] > figure
        ]
        assert figure < on < later[1], "at most the figure's own heading"
        tab.locator(".av-onward a:visible").last.click()
    tab.wait_for_url(f"**/{WAYS[0]['page']}.html")
    tab.close()


def test_without_a_choice_the_book_leads_on(address, browser):
    tab = browser.new_page()
    page, after = AFTERNOON["stops"][2]["page"], "book/test-a-mask"
    for where in (page, page.replace("book/", "book/practice/")):
        tab.goto(f"{address}/{where}.html")
        lines = tab.locator(".av-onward p:visible")
        assert lines.count() > 1, "and each way of the page is offered"
        lines.first.locator("a").click()
        tab.wait_for_url(f"**/{after}.html")
    tab.close()


KEPT = {
    "read/book/mask": "1", "way/chosen": "afternoon",
    "practice/book/mask/7.1": '["banana"]', "mode": "dark",
}  # fmt: skip
STORED = "() => ({...localStorage})"


def keep(tab, values):
    tab.evaluate("it => Object.assign(localStorage, it)", values)


def read_back(tab, text):
    """Give the page a file with this text."""
    file = {"name": "a.json", "mimeType": "application/json"}
    field = tab.locator(".keep-file input")
    field.set_input_files({**file, "buffer": text.encode()})


def test_progress_goes_into_a_file_and_comes_back(address, browser, tmp_path):
    tab = browser.new_page()
    tab.goto(f"{address}/book/glossary.html")
    expect(tab.get_by_role("button", name="Save my progress")).to_be_hidden()
    keep(tab, KEPT)
    tab.reload()
    with tab.expect_download() as saved:
        tab.get_by_role("button", name="Save my progress").click()
    path = tmp_path / "saved.json"
    saved.value.save_as(path)
    own = {key: value for key, value in KEPT.items() if key != "mode"}
    assert json.loads(path.read_text("utf-8"))["kept"] == own
    tab.get_by_role("button", name="Forget").click()
    assert not own.keys() & tab.evaluate(STORED).keys()
    with tab.expect_navigation():
        read_back(tab, path.read_text("utf-8"))
    assert own.items() <= tab.evaluate(STORED).items()
    tab.close()


COURSE = "Attention, Verified"
NO_FILES = [
    "", "null", "[]", "{", '"x"', '{"kept": {"read/a": "1"}}',
    json.dumps({"course": COURSE}),
    json.dumps({"course": COURSE, "kept": None}),
    json.dumps({"course": "Another", "kept": {"read/a": "1"}}),
]  # fmt: skip


def test_a_file_brings_only_our_keys_and_texts(address, browser):
    tab = browser.new_page()
    tab.goto(f"{address}/book/glossary.html")
    before = tab.evaluate(STORED)
    for text in NO_FILES:
        read_back(tab, text)
        expect(tab.locator(".keep-file p")).to_contain_text("no saved")
        assert tab.evaluate(STORED) == before, text
        tab.reload()
    foreign = {
        "mode": "x<script>", "keys off": "1", "other/read/a": "1",
        "read/n": 1, "read/o": {"a": "b"}, "read/l": ["1"], "xread/a": "1",
    }  # fmt: skip
    good = {"read/book/mask": "<img src=x onerror=alert(1)>"}
    tab.on("dialog", lambda _: pytest.fail("what is kept was run"))
    with tab.expect_navigation():
        text = json.dumps({"course": COURSE, "kept": foreign | good})
        read_back(tab, text)
    now = tab.evaluate(STORED)
    assert {k: v for k, v in now.items() if k not in before} == good
    tab.close()


def test_the_last_stop_of_a_way_ticks_itself_and_leads_to_all(
    address, browser
):
    tab = browser.new_page()
    way = AFTERNOON["page"]
    tab.goto(f"{address}/{way}.html")
    boxes = tab.locator(".av-stops input")
    for box in boxes.all()[:-1]:
        box.check()
    tab.locator(".av-stops a").last.click()
    tab.get_by_role("link", name="see what you have read").click()
    tab.wait_for_url(f"**/{way}.html")
    expect(boxes.last).to_be_checked()
    on = tab.locator(".av-start a")
    expect(on).to_have_text("The whole model")
    tab.close()


def test_the_button_leads_to_a_check_and_runs_nothing(address, browser):
    tab = browser.new_page()
    asked = []
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto(f"{address}/index.html")
    tab.get_by_role("link", name="Check our numbers").click()
    button = tab.get_by_role("button", name="Check this page")
    expect(button).to_be_focused()
    expect(button).to_be_in_viewport()
    tab.wait_for_timeout(300)
    assert not [url for url in asked if "/live/" in url]
    tab.close()


def errata():
    """Each wrong figure of the ledger: printed, right, and why."""
    for slug in ("tiny-vectors", "walkthrough", "length-4", "derivation",
                 "attention-math", "literature", "long-texts"):  # fmt: skip
        for entry in published.load(slug).entries.values():
            if entry.kind == "figure" and entry.corrected:
                printed = published.leaves(entry.printed)
                right = published.leaves(entry.corrected)
                for at in published.errata(entry):
                    yield printed[at], right[at], entry.because


def said_by(text):
    return text.replace(",", "")


def test_the_wall_opens_each_wrong_figure(address, browser):
    tab = browser.new_page()
    tab.goto(f"{address}/index.html")
    says = tab.locator(".av-wall-says")
    on = says.get_by_role("button", name="Next wrong")
    pages = []
    expected = list(errata())
    for _ in expected:
        on.click()
        pages.append(says.locator("p").inner_text())
    for text, (printed, right, why) in zip(pages, expected, strict=True):
        assert said_by(text).startswith(printed), text
        assert f"→ {right}" in said_by(text), text
        assert why is None or why in text
    right = tab.locator(".av-wall i")
    total = sum(
        published.summary(published.load(path.stem)).get(
            "figures reproduced", 0
        )
        for path in published.FOLDER.glob("*.yml")
    )
    assert right.count() == total
    right.first.click()
    expect(says).to_contain_text("The same was computed")
    tab.close()


def test_the_first_sentence_counts_as_the_wall_does(site):
    page = parsed(site, "index")
    said, counted = (
        re.findall(r"\d[\d,]*", page.select_one(part).get_text())
        for part in ("article p", ".recomputed strong")
    )
    assert said == counted


def test_without_scripts_the_wall_is_a_list(address, launch):
    context = launch().new_context(java_script_enabled=False)
    tab = context.new_page()
    tab.goto(f"{address}/index.html")
    tab.locator(".av-puzzle summary").last.click()
    expect(tab.locator(".av-puzzle details").last).to_contain_text("Wrong")
    tab.locator(".av-wall summary").click()
    assert tab.locator(".av-wall ins:visible").count() == len(list(errata()))
    tab.goto(f"{address}/{AFTERNOON['stops'][2]['page']}.html")
    assert tab.locator(".av-onward p:visible").count() > 1
    context.close()
