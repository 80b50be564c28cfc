"""What only a browser runs of every figure: `course/figures` in an empty page.

Fields, presets, speech, data that comes later, the address, keys and looks. It
is the same code for all figures, so each test takes a figure that shows it
best. The numbers that the browser computes, and how controls lie on a phone,
are tried for every figure.
"""

import json
import re

import pytest
from bs4 import BeautifulSoup
from playwright.sync_api import expect

from course import figures
from tests.empty_page import PHONE, Page, drawn, state_of
from tests.figures.agreement import assert_same
from tests.figures.expected_figures import CLASSES, EXPECTED, controls, states

LAST = "The figure shows the last state that fits."
FIRST = "The figure shows its first state."


@pytest.mark.parametrize("name", CLASSES)
def test_compute_in_a_browser_equals_the_helpers(page, name):
    """And what the page shows is what Python stores of the same state.

    A picture that a move has changed is the one that is drawn anew, and has
    what a browser reads in the figure's markup.
    """
    page.open(name)
    for text in figures.scripts(name).values():
        page.tab.add_script_tag(content=text)
    assert page.do("[shown(), error()]") == [drawn(name), ""]
    given = list(states(name, 2))
    result = page.run("page.compareStates", name, given)
    for state, (values, shown, *wrong) in zip(given, result, strict=True):
        assert wrong == ["", ""], state
        assert_same(values, EXPECTED[name](state))
        html = BeautifulSoup(CLASSES[name](**state).html(), "html.parser")
        for caption in html.select(".av-result .av-caption"):
            assert caption.text in shown
        assert html.select_one(".av-say").text in shown


def test_figure_starts_in_an_empty_place_and_on_stored_html(page):
    live = [1, False, "", True]  # one form, shown; no shortcut takes its keys
    page.open("step")
    assert page.run("page.attached") == live
    assert page.do("m.sets.length + m.saves") == 0
    assert page.do("close(); return m.listeners.length") == 0
    page.open("step", static=True)
    assert page.run("page.attached") == live
    assert page.do("shown()") == drawn("step")


# --- fields -----------------------------------------------------------------


def test_slider_moves_trait_number_and_picture(page):
    page.open("causal", T=5)
    assert page.run("page.moveSlider") == [
        [6, 5, "6"],
        [6, [["T", 6]], 1, ""],
        1,
        9,
    ]
    page.do("give('T', 6); await frame(); return null")
    assert page.do("shown()") == drawn("causal", T=6)
    # Sending the form does not leave the page.
    assert page.run("page.sendForm")


def test_every_kind_of_field_is_read_and_filled_in(page):
    """What a hand gives is read; what Python sets is filled in."""
    page.open("saturation")  # powers of two, a box, a number
    assert page.run("page.fieldsOfSaturation") == [
        [8, "3", "8", "8"],
        [True, 12],
        ["8", "256", "256"],
        False,
        "7",
    ]
    # A menu, and a slider between its steps.
    page.open("causal", slope=0.03, mask="sliding")
    assert page.run("page.fieldsOfCausal") == [
        ["sliding", "0.03", "any"], ["0.0625", 0], ["0.03", "any"],
        ["0.25", "0.0625"], "none", "padding",
    ]  # fmt: skip
    page.open("step")  # a matrix
    assert page.run("page.fieldsOfStep") == [[[1, 2], [3, -4]], "1 2\n3 5"]
    page.open("induction")  # symbols, and a slider of stops
    assert page.run("page.fieldsOfInduction") == [
        ["CAFECAFE", 0],
        "BAD",
        "150",
        "150",
    ]
    page.open("film")  # words
    assert page.run("page.fieldsOfFilm") == ["one two three", "a b c"]


TYPED = {
    ("kvcache", "n_layers"): ["", "0", "1.5", "1e99", "-1e99"],
    ("step", "X"): ["", "abc", "1e99", "1 2\n3", "NaN", "0,5 1,5"],
    ("induction", "symbols"): ["", " , ", "ABM", "A1", "A" * 33, "<b>"],
    ("film", "words"): ["", "one", "a b c d e", "a abcdefgh"],
}


@pytest.mark.parametrize(("name", "key"), TYPED)
def test_wrong_entry_is_named_and_the_picture_stays(page, name, key):
    page.open(name)
    right = page.do(f"field('{key}').value")
    (label,) = (c["label"] for c in controls(name) if c["key"] == key)
    rest = page.do("[shown(), m.sets]")
    for text in TYPED[name, key]:
        message, *now = page.run("page.typeWrong", key, text)
        assert label in message, text
        assert LAST in message
        assert now == [[key], *rest], text
    assert page.run("page.typeRight", key, right) == ["", []]


def test_picture_waits_until_all_entries_are_right(page):
    page.open("kvcache", n_layers=3)
    assert page.run("page.twoWrongNumbers") == [
        ["n_layers", "S"],
        [["S"], 3],
        "",
        [],
        4,
        5,
    ]
    page.open("step", what="Q, K, V", Q=[[1.0, 2]], K=[[3.0, 4]], V=[[5.0]])
    assert page.run("page.wrongMatrices") == [
        [False, "none"],
        ["Q and K must have rows of one length; ", ["Q"], [[1, 2]],
         [True, '"the last state that fits"']],
        [["Q"], True, True],
        "", [], [[1, 2, 3]], [[4, 5, 6]], False, [False, "none"],
    ]  # fmt: skip


def test_hidden_wrong_entry_is_forgotten(page):
    page.open("step", what="Q, K, V", Q=[[1.0, 2]], K=[[3.0, 4]], V=[[5.0]])
    assert page.run("page.forgetHiddenEntry") == [
        [["K"], [[5]]],
        "",
        [],
        "X",
        [[7]],
        "3 4",
        "7",
        [[3, 4]],
    ]
    # Also while something else is wrong.
    page.open("film", what="X, W_Q, W_K, W_V")
    assert page.run("page.forgetWhileWrong") == [
        [True, "X must have o", 0],
        "",
        [],
        "X, W_Q, W_K, W_V",
    ]


HEADS = [
    (8, 8, "H_kv", 7, 4),  # down from 8, and on
    (8, 4, "H_kv", 5, 8),  # up
    (8, 4, "H_kv", 20, 8),  # and no farther
    (8, 4, "H", 9, 3),
    (8, 2, "H", 9, 1),  # of two that are as near, the smaller
]


def test_heads_that_do_not_fit_move_to_some_that_do(page):
    page.open("heads")
    for H, H_kv, key, value, settled in HEADS:
        result = page.run("page.fitHeads", H, H_kv, key, value)
        expected = value if key == "H" else H
        fits = [str(n) for n in range(1, expected + 1) if expected % n == 0]
        moved = key == "H_kv" or expected % H_kv > 0
        *result, says = result
        assert result == [
            expected,
            settled,
            settled,
            settled,
            [],
            False,
            moved,
        ]
        message = (
            f"H_kv is now {settled}: it must divide H = {expected}, "
            f"so it can be {', '.join(fits)}."
        )
        assert says == (message if moved else "")
    assert page.do("give('d_k', 2); return error()") == ""


def test_presets_fill_all_their_fields(page):
    page.open("kvcache")
    keys = ["n_layers", "n_kv_heads", "d_k", "d_v"]
    for name, sizes in figures.presets("kvcache").items():
        result = page.run("page.choosePreset", name, keys)
        expected = [sizes[key] for key in keys]
        *result, values = result
        assert result == [expected, expected, name]
        assert_same(values, EXPECTED["kvcache"](state_of("kvcache", **sizes)))
    assert page.run("page.ownNumbers") == ["own numbers", 63]
    # One that does not fit the other settings is shown, and waits.
    small = dict.fromkeys(keys, 1)
    page.open("kvcache", S=10**7, batch=4096, **small)
    assert page.run("page.presetThatWaits", keys) == [
        ["12", "12", "64", "64"], 0, True, ["12", "12", "64", "64"], "", 12
    ]  # fmt: skip


def test_fields_end_and_hide_with_the_state(page):
    page.open("positions", kind="sinusoid", pairs=8, pair=7)
    assert page.run("page.adjustPositions") == [
        [False, True, "7"], ["2", "2", "2", 7], [True, False], "15", "7",
    ]  # fmt: skip
    page.open("roof", heads=8, shared=4)  # a slider of powers
    assert page.run("page.adjustRoof") == [
        ["3", "2", "4", "4"], ["1", "1", "2", "2", 4], ["5", "2", "4", "4"],
    ]  # fmt: skip


def test_python_leaves_what_is_being_typed(page):
    page.open("kvcache")
    assert page.run("page.fillWhileTyping") == [
        ["", "5", True],
        ["", ""],
        ["0", "positions S must be a whole number from 1 to 10,000,000; got "
         f"0. {LAST}", True],
        "",
        5,
    ]  # fmt: skip


def test_steppers_move_a_slider_by_one_step(page):
    page.tab.set_viewport_size(PHONE)
    page.open("causal", slope=0.03, T=63)
    assert page.run("page.pressSteppers") == [
        "tokens T: more", -1, "button", "block", 64, 64, 1, 63,
        ["input", "change"] * 4, 0.0625, 0.9, 2,
    ]  # fmt: skip
    page.tab.set_viewport_size({"width": 1000, "height": 800})
    stepper = "getComputedStyle(el.querySelector('.av-stepper')).display"
    assert page.do(stepper) == "none"


# --- speech -----------------------------------------------------------------


def test_speech_follows_once_a_move_rests(page):
    page.open("causal", T=3)
    assert page.run("page.speakAfterRest") == [
        "",
        "",
        True,
        True,
        "status",
        None,
    ]
    page.open("step")
    assert page.run("page.speakOfEntry") == [True, "0.4935"]


def test_closed_figure_is_silent_and_still(page):
    page.open("causal", "?causal.T=4", static=True)
    assert page.run("page.closeFigure") == ["", 0, 3, "", False]


# --- data that comes later --------------------------------------------------


def come(page):
    """The data is there, and is told to the figure that waits for it."""
    text = figures.scripts("induction")["induction-steps.js"]
    page.tab.add_script_tag(content=text)
    page.do("come(); await settle(); return null")


def test_picture_stays_until_its_data_has_come(page):
    page.open("induction")
    result = page.run("page.askForData")
    waits = ["", "true", True, 1]
    assert result == [waits, waits, True, ["induction-steps"]], "asked once"
    come(page)
    assert page.run("page.waiting") == ["", None, True, 1]
    assert_same(
        page.do("el.values"),
        EXPECTED["induction"](state_of("induction", step=60)),
    )
    # What has come is there for every other state.
    assert page.do("await become({ step: 40 }); return asked.length") == 1


def test_address_waits_for_its_data(page):
    page.open("induction", "?induction.step=80", static=True)
    page.run("page.reopen")
    assert page.run("page.waiting") == ["", "true", False, 1]
    come(page)
    assert page.run("page.waiting") == ["", None, True, 1]
    assert page.do("m.state.step") == 80


def test_data_that_does_not_come_is_named_and_asked_again(page):
    page.open("induction")
    first, kept, failed = page.run("page.failToLoad")
    assert kept == first
    message = "The data of this state did not load. The figure shows the last "
    assert failed == [f"{message}state that it has.", None, True, 1]
    page.do("await become({ step: 60 }); return null")
    come(page)
    assert page.run("page.waiting") == ["", None, True, 2]


# --- the address ------------------------------------------------------------


def test_address_sets_the_figure(page):
    query = "?causal.T=5&causal.slope=0.25&causal.mask=none&tiles.T=7&x=1"
    page.open("causal", query, static=True)
    assert page.run("page.readAddress") == [
                       5, 0.25, "none", "", "5", "none", 5]  # fmt: skip
    query = "?step.what=Q, K, V&step.Q=1 −2;3 4&step.K=1 1&step.V=2"
    query += "&step.scale=false&step.causal=false"
    page.open("step", query, static=True)
    state = {"what": "Q, K, V", "Q": [[1, -2], [3, 4]], "K": [[1, 1]],
             "V": [[2]], "scale": False, "causal": False}  # fmt: skip
    assert page.do("m.state") == state_of("step") | state
    assert page.do("error()") == ""
    # In Jupyter the address is another's: it is not read and not written.
    page.open("causal", "?causal.T=5")
    assert page.run("page.keepAddress") == [8, "?causal.T=5"]


BAD = {
    "causal": {
        "?causal.T=zwei": "tokens T must be a whole number from 2 to 64; got "
        "no number",
        "?causal.T=5&causal.gone=1": "an unknown setting causal.gone",
    },
    "step": {
        "?step.what=Q, K, V&step.Q=1 2": "Q (1, 2) and K (3, 4)",
        "?step.X=0,5 1,5;1 2": "with a decimal point; got 0,5.",
    },
}


@pytest.mark.parametrize("name", BAD)
def test_address_that_does_not_fit_is_refused(page, name):
    first, *others = BAD[name]
    page.open(name, first, static=True)
    rest = CLASSES[name]()
    for query in (first, *others):
        message, state, values, text = page.run("page.visitAddress", query)
        assert BAD[name][query] in message, query
        assert message.endswith(FIRST)
        assert state == state_of(name)
        assert text == drawn(name)
        assert_same(values, rest.values)


def test_address_follows_the_settings_after_a_pause(page):
    query = "?causal.gone=1&tiles.T=7&causal.length=3"
    page.open("causal", query + "#here", static=True)
    assert page.run("page.writeAddress") == [
        query,
        {"tiles.T": "7", "causal.mask": "sliding", "causal.T": "6",
         "causal.window": "3", "causal.slope": "0.5",
         "causal.temperature": "1", "causal.query": "5", "causal.key": "3"},
        "#here",
    ]  # fmt: skip
    page.open("step", static=True)
    assert page.run("page.writeMatrix") == ["1 2;3 4", {"mine": 1}, True,
             ["step.step", "step.row", "step.column", "step.what",
              "step.words", "step.X", "step.scale",
              "step.causal"]]  # fmt: skip


def test_back_button_restores_the_settings(page):
    page.open("causal", "?causal.T=5", static=True)
    assert page.run("page.goBack") == [
        True,
        ["4", 4, "none", 4],
        ["8", 8, "causal", 8],
    ]


# --- looks ------------------------------------------------------------------


def test_keyboard_reaches_what_scrolls_sideways(page):
    page.open("causal", T=9)
    fits = [None, None, None, False]
    wide = ["0", "group", "result, scrolls sideways", True]
    assert page.run("page.reachAtWidths") == [fits, wide, fits]
    # A picture that grows wide in a place that stays as large as it was.
    page.open("causal", T=2)
    assert page.run("page.reachGrown") == [fits, wide]


def test_sentence_and_message_keep_their_height(page):
    """What stands below them would jump under the hand."""
    page.open("linear")
    heights = page.run("page.keepHeights")
    seen = heights["seen"]
    assert seen == sorted(seen)
    assert seen[0] < seen[-1]
    assert heights["silent"] == 0 < heights["told"][1]
    assert heights["right"] == heights["told"]
    assert heights["reset"] == [seen[0], 0]


def in_scheme(page, scheme, ground):
    """A page of the site in one scheme, as its theme sets it."""
    page.run("page.inScheme", scheme, ground)


def test_colours_follow_the_scheme_and_are_light_on_paper(page):
    page.open("causal", T=3, mask="causal")
    light = ["1.00", "rgb(0, 48, 77)", "rgb(255, 255, 255)"]
    in_scheme(page, "light", "#ffffff")
    assert page.run("page.shade") == light
    in_scheme(page, "dark", "#121212")
    assert page.run("page.shade") == [
        "1.00",
        "rgb(227, 242, 255)",
        "rgb(0, 0, 0)",
    ]
    page.tab.emulate_media(media="print")
    assert page.run("page.shade") == light


@pytest.mark.parametrize("name", CLASSES)
def test_controls_fit_a_finger_and_leave_the_sentence_in_view(page, name):
    """At most two settings in sight, with the sentence, below the picture."""
    page.tab.set_viewport_size(PHONE)
    page.open(name, static=True)
    found = page.run("page.controlsOnPhone")
    small = [it for it in found["targets"] if min(it[1:]) < 44]
    assert small == []
    assert found["fields"] <= 2
    if name != "flow":  # its sentence is what the picture begins with
        assert [it for it in found["places"] if not all(it[1:])] == []
        assert found["isFirst"], "a control stands before the picture"
    assert found["width"] <= PHONE["width"]


# --- as a reader opens it ---------------------------------------------------


def open_with_site_script(page, name, query=""):
    """A figure on a page of the site, where time passes as it does."""
    static = figures.FOLDER.parents[1] / "book" / "_static" / "site.js"
    page.files["_static/site.js"] = static.read_text("utf-8")
    for file, text in figures.scripts(name).items():
        page.files[f"_static/figures/{file}"] = text
    css = figures.styles(name)
    page.visit(
        f"<style>{css}</style><main>{CLASSES[name]().html()}</main>"
        "<script src=/_static/site.js></script>",
        query,
    )
    page.tab.wait_for_selector(".av-live")
    figure = page.tab.locator(f"[data-figure={name}]")
    if figure.locator("summary").count():
        figure.locator("summary").click()
    return figure


def test_slider_answers_to_keys_and_the_back_button(page):
    figure = open_with_site_script(page, "causal", "?causal.T=5")
    first = figure.evaluate("el => el.values")
    page.tab.evaluate("location.hash = 'further'")
    figure.locator("[name=T]").press("ArrowUp")
    page.tab.wait_for_url(lambda url: "causal.T=6" in url)
    state = state_of("causal", T=6)
    assert_same(figure.evaluate("el => el.values"), EXPECTED["causal"](state))
    spoken = figure.locator("[role=status]")
    page.tab.wait_for_function(
        "node => node.textContent", arg=spoken.element_handle()
    )
    assert spoken.text_content() == figure.locator(".av-say").inner_text()
    rows = "document.querySelector('[data-figure]').values.weights.length"
    page.tab.go_back()
    page.tab.wait_for_function(f"{rows} === 5")
    assert_same(figure.evaluate("el => el.values"), first)
    assert figure.locator("[name=T]").input_value() == "5"
    page.tab.go_forward()
    page.tab.wait_for_function(f"{rows} === 6")


def test_step_answers_to_tabs_and_arrow_keys(page):
    figure = open_with_site_script(page, "step")
    figure.locator('[data-handle="dots,0,0"]').focus()

    def press(key):
        page.tab.keyboard.press(key)
        return page.do("document.activeElement.dataset.handle")

    assert press("ArrowRight") == "dots,0,1"
    assert press("ArrowDown") == "dots,1,1"
    assert press("Tab") is None
    assert press("Shift+Tab") == "dots,1,1", "where it was left"
    label = figure.locator(".av-chain").get_attribute("aria-label")
    assert label.startswith("dots[1][1] = X[1] · ")


def test_step_answers_to_a_tap_in_sight_of_the_finger(page):
    browser = page.tab.context.browser
    with browser.new_context(
        viewport=PHONE, has_touch=True, is_mobile=True
    ) as context:
        phone = Page(context.new_page())
        figure = open_with_site_script(phone, "step")
        for name in ("dots", "output"):
            figure.locator(f'[data-handle="{name},0,1"]').tap()
            picture = figure.locator(".av-chain")
            # The click follows the tap.
            expect(picture).to_have_attribute(
                "aria-label", re.compile(rf"{name}\[0\]\[1\] = ")
            )
            box = figure.locator(".av-say").bounding_box()
            assert 0 <= box["y"] <= PHONE["height"] - box["height"]
        assert not phone.errors


@pytest.mark.parametrize("name", ["balance", "positions"])
def test_a_move_lays_the_picture_out_at_most_twice(page, name):
    """Once to measure it, and once if what was measured changes it.

    A measurement after each handle's change costs a layout per handle.
    """
    page.open(name)
    first, second = list(states(name, 2))
    devtools = page.tab.context.new_cdp_session(page.tab)
    devtools.send("Performance.enable")

    def layouts():
        metrics = devtools.send("Performance.getMetrics")["metrics"]
        return {m["name"]: m["value"] for m in metrics}["LayoutCount"]

    def move():
        page.do(f"await become({json.dumps(second)})")
        before = layouts()
        page.do(f"await become({json.dumps(first)})")
        return layouts() - before

    # The browser lays out for itself as well, on a busy machine more often.
    assert min(move() for _ in range(5)) <= 2
