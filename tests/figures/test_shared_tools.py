"""What every figure has: its tools, its opening and its handles.

A figure that stands for all others is written here, so that the tests say all
that it is: two numbers that a dot in a plane moves, a slider of powers, and a
row of cells that are painted. It runs on an empty page.
"""

import json
import shutil

import pytest

from course import figures
from course.figures._modules import joined
from tests.empty_page import HANDS, LAYOUT, PHONE
from tests.figures.expected_figures import CLASSES
from tests.figures.programs import FOLDER

TRIAL = (FOLDER / "trial.js").read_text(encoding="utf-8")
FIRST = {
    "x": 1, "y": 2, "n": 8,
    "cell0": False, "cell1": False, "cell2": False,
}  # fmt: skip


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    folder = tmp_path_factory.mktemp("js") / "js"
    shutil.copytree(figures.FOLDER, folder)

    def of(wide=200):
        text = TRIAL.replace("WIDE", str(wide))
        (folder / "trial.js").write_text(text, encoding="utf-8")
        start = "globalThis.attentionFigures = {};\nattentionFigures.trial ="
        text = joined(folder, "trial.js").replace("export default", start)
        return f'(() => {{ "use strict"; {text} }})();'

    return of


@pytest.fixture
def trial(page, script):
    """Open the figure, as Jupyter does or as a page holds it."""

    def visit(query="", *, static=False, wide=200, before="", motion=""):
        text = LAYOUT + script(wide) + HANDS + motion
        css = figures.styles("causal")
        page.visit(
            f"{before}<style>{css}</style><script>{text}</script>", query
        )
        state = json.dumps(FIRST)
        html = f"<section data-state='{state}'></section>" if static else ""
        page.do(f"open('trial', {state}, {json.dumps(html)})")
        return page

    return visit


# --- the row of tools -------------------------------------------------------


def test_picture_comes_first_and_the_tools_last(page, trial):
    page.tab.emulate_media(reduced_motion="reduce")
    trial(static=True)
    parts = [".av-result", "form", ".av-tools"]
    tops = page.run("tools.topsOf", parts)
    assert tops == sorted(tops)
    # And as the tab key meets them.
    order = page.run("tools.tabOrder")
    kinds = [*dict.fromkeys("form" if it in FIRST else it for it in order)]
    assert kinds == ["handle", "form", "tool"]
    row = page.run("tools.toolRow")
    assert row[:2] == ["group", "this figure"]
    assert row[2:] == [
        [text, "button", "true"]
        for text in ("Play", "Reset", "Copy link", "Full screen")
    ]


def test_reset_gives_all_back_and_leaves_no_trace(trial):
    """The settings of the page, not those of the address."""
    page = trial("?trial.x=3&other.x=1#there", static=True)
    result = page.run("tools.reset")
    assert result == [
        3, FIRST, "1", False, "The sum is 11, 1, 2, 8.", "?other.x=1#there",
        [], "", 1,
    ]  # fmt: skip
    page = trial()
    page.run("tools.resetInJupyter")
    assert page.do("m.state") == FIRST


def test_copy_link_gives_the_address_of_the_state(trial):
    """Opened, it shows that state; it says so, and then its name again."""
    page = trial("?other.x=1", static=True)
    page.run("tools.holdClip")
    texts = page.run("tools.copyLink")
    assert texts == ["Copied", "The link is copied.", "Copied", "Copy link"]
    (link,) = page.do("clip")
    assert "other.x=1" in link
    page = trial("?" + link.partition("?")[2], static=True)
    assert page.do("m.state") == FIRST | {"x": -2, "cell2": True}


def test_copy_that_is_refused_shows_the_link(trial):
    page = trial(static=True)
    page.run("tools.refuseClip")
    note, text = page.run("tools.copyRefused")
    assert "trial.x=1" in note
    assert text == "Copy link"


def test_copy_in_jupyter_gives_the_settings_of_a_call(trial):
    page = trial()
    page.run("tools.holdClip")
    page.run("tools.copySettings")
    (text,) = page.do("clip")
    assert eval(f"dict({text})") == FIRST | {"cell0": True}


def test_full_screen_is_entered_named_and_left(trial):
    page = trial(static=True)
    screen = page.tab.get_by_role("button", name="Full screen")
    screen.focus()
    page.tab.keyboard.press("Enter")
    page.until("document.fullscreenElement === el")
    leave = page.tab.get_by_role("button", name="Leave full screen")
    leave.press("Enter")
    page.until("!document.fullscreenElement")
    assert screen.count() == 1


# --- the opening ------------------------------------------------------------


def starts(page, rest=1000):
    """Let the browser see whether the figure is in view, and be still."""
    page.do(f"await layout(); await layout(); await pause({rest}); return 0")


def test_opening_plays_once_to_the_state_of_the_page(trial):
    page = trial(static=True)
    starts(page)
    seen = page.run("tools.playOnce")
    all_, *rest = seen
    assert rest == [0, ""], "a film is no setting"
    # From -3 in 2 s to 4 and in 2 s to 1, steps of 0.5: softly, so half way
    # in half the time, and at a quarter of the time 5/32 of the way.
    places = [-3, 0.5, 4, 4 - 3 * 5 / 32, 1, 1]
    for (state, slider, text, name, waits), x in zip(
        all_, places, strict=True
    ):
        assert state == 1
        assert slider == pytest.approx(x, abs=0.251)
        assert slider * 2 % 1 == 0, "a setting that the control takes"
        assert f", {slider:g}, 2, " in text, "the picture is the slider's"
        assert (name, waits) in (("Pause", 1), ("Replay", 0))
    assert [name for *_, name, _ in all_] == ["Pause"] * 4 + ["Replay"] * 2
    assert all_[-1][2] == "The sum is 11, 1, 2, 8."
    starts(page)
    assert page.do("frames.length") == 0, "never again by itself"
    assert page.run("tools.replay")[1] == (-3)


def test_opening_bears_a_frame_that_began_before_it(trial):
    """A browser tells a frame's start, which may be before the call."""
    page = trial(static=True)
    starts(page)
    assert page.run("tools.earlyFrame") == [-3, 0.5, 1]


def test_opening_is_silent(trial):
    page = trial(static=True)
    starts(page)
    assert page.run("tools.listen") == ""


@pytest.mark.parametrize(
    "how",
    [
        {"query": "?trial.y=1"},  # the address holds a state
        {"static": False},  # in Jupyter: it stands as the cell says
        {"before": "<div style='height:3000px'></div>"},  # out of view
        {"reduced": True},
        {"touched": "pointer(field('x'), 'pointerdown');"},
        {"touched": "press(field('x'), 'a');"},
        {"touched": "give('y', 0);"},
    ],
)
def test_opening_does_not_start(page, trial, how):
    how = {"static": True} | how
    page.tab.emulate_media(
        reduced_motion="reduce" if how.pop("reduced", False) else "null"
    )
    touched = how.pop("touched", "")
    trial(**how)
    if touched:
        page.do(f"{touched} return null")
        page.do("await frame(); return null")
    starts(page)
    assert page.run("tools.view")[3:] == ["Play", 0]
    assert page.do("frames.length") == 0


def test_opening_waits_until_the_page_is_still(trial):
    page = trial(static=True)
    starts(page, 999)
    page.do("dispatchEvent(new Event('scroll')); return null")
    starts(page, 999)
    assert page.run("tools.view")[3:] == ["Play", 0]
    page.do("await pause(1); return null")
    assert page.run("tools.view")[3:] == ["Pause", 1]


def test_opening_starts_when_it_comes_into_view_and_ends_out_of_it(trial):
    page = trial(static=True, before="<div style='height:3000px'></div>")
    starts(page)
    page.do("el.scrollIntoView({ behavior: 'instant' }); return null")
    starts(page)
    assert page.run("tools.viewAfter", 500)[3:] == [
        "Pause", 1,
    ]  # fmt: skip
    page.do("scrollTo({ top: 0, behavior: 'instant' }); return null")
    starts(page)
    page.do("el.scrollIntoView({ behavior: 'instant' }); return null")
    starts(page)
    assert page.run("tools.viewAfter", 1) == [
        1, 1, "The sum is 11, 1, 2, 8.", "Replay", 0,
    ]  # fmt: skip


def test_opening_is_paused_as_it_is_seen_and_goes_on(trial):
    page = trial(static=True)
    starts(page)
    result = page.run("tools.pauseAndGoOn")
    moving, paused, still, on, end = result
    assert moving[1] == 0.5
    assert paused == [0.5, 0.5, moving[2], "Play on", 0]
    assert still == paused
    assert on[1] == 4
    assert end == [1, 1, "The sum is 11, 1, 2, 8.", "Replay", 0]


@pytest.mark.parametrize(
    ("act", "state"),
    [
        # What is taken is taken as it stands.
        ("pointer", {"x": 0.5, "n": 1}),
        ("key", {"x": 0.5, "n": 1}),
        # A press acts on the state of the page.
        ("press", {}),
        # What comes from Python or without a hand ends it.
        ("give", {"y": 0}),
        ("set", {"y": 0}),
    ],
)
def test_opening_ends_for_a_hand(trial, act, state):
    page = trial(static=True)
    starts(page)
    expected = FIRST | state
    seen = page.run("tools.endByHand", act)
    assert seen[0] == expected | {"cell0": seen[0]["cell0"]}
    assert seen[1] == expected["y"]
    assert seen[3] == expected["x"]
    assert seen[-1] == 0
    assert f", {expected['x']:g}, {expected['y']:g}, " in seen[4]


def test_opening_is_stills_where_no_motion_is_wanted(page, trial):
    page.tab.emulate_media(reduced_motion="reduce")
    trial(static=True)
    assert page.run("tools.stills") == [-3, -3, -3, 4, 4, 4, 1]


@pytest.mark.parametrize("name", CLASSES)
def test_every_opening_fits_ends_in_its_state_and_is_short(name):
    figure = CLASSES[name]()
    opening = figure._call("opening")
    if opening is None:
        pytest.skip("it has none")
    assert 0 < opening["ms"] <= 5000
    state = {key: getattr(figure, key) for key in figure._settings()}
    assert figure._call("staged", ms=opening["ms"]) == state
    shown = [
        figure._call("staged", ms=k * opening["ms"] / 100) for k in range(101)
    ]
    assert shown[0] == state | opening["from"][0]
    assert len({json.dumps(it) for it in shown}) > 2, "it moves"
    for it in shown:
        assert type(figure)(**it).values, "each state fits"


# --- handles ----------------------------------------------------------------


def middle(page, name):
    return page.run("tools.middle", name)


def to(page, x, y, down=None):
    page.tab.mouse.move(x, y)
    if down is not None:
        (page.tab.mouse.down if down else page.tab.mouse.up)()
    page.do("await frame(); await frame(); return null")


@pytest.mark.parametrize("wide", [100, 200, 500])
def test_handle_follows_the_pointer_that_took_it(trial, wide):
    page = trial(wide=wide)
    unit = 20 * wide / 200  # pixels
    x, y = middle(page, "dot")
    to(page, x + 5, y - 5, down=True)  # beside its middle: it does not jump
    assert page.do("[m.state.x, m.state.y]") == [1, 2]
    to(page, x + 5 + 1.4 * unit, y - 5 + 0.9 * unit)
    assert page.do("[m.state.x, m.state.y, said()]") == [
        2.5, 1, "The sum is 11.5, 2.5, 1, 8.",
    ]  # fmt: skip
    assert middle(page, "dot") == [
        pytest.approx(x + 1.5 * unit, abs=0.1),
        pytest.approx(y + unit, abs=0.1),
    ]
    to(page, x + 9 * unit, y - 9 * unit)
    assert page.do("[m.state.x, m.state.y]") == [4, 4], "to its end"
    to(page, x + 5, y - 5, down=False)
    to(page, x + 3 * unit, y)
    assert page.do("[m.state.x, m.state.y]") == [1, 2], "let go"
    assert page.do("[field('x').value, document.activeElement.dataset]") == [
        "1", {"handle": "dot", "lmSuppressShortcuts": "true"},
    ]  # fmt: skip


def test_handle_that_snaps_says_so(trial):
    page = trial()
    x, y = middle(page, "size")
    to(page, x, y, down=True)
    to(page, x + 25 + 8, y)
    assert page.do("error()") == "", "not while it moves"
    to(page, x + 25 + 8, y, down=False)
    assert page.do("[m.state.n, error()]") == [
        16, "size n must be a power of two from 1 to 64, so it is 16.",
    ]  # fmt: skip
    x, y = middle(page, "dot")
    to(page, x, y, down=True)
    to(page, x + 150, y)
    to(page, x + 150, y, down=False)
    assert page.do("error()") == (
        "the x must be a number from -4 to 4, so it is 4."
    )
    # Where two settings do not fit together it stays, and says why.
    x, y = middle(page, "dot")
    to(page, x, y, down=True)
    to(page, x - 155, y + 60)
    before = page.do("[m.state.x, m.state.y]")
    to(page, x - 165, y + 150)
    assert page.do("[m.state.x, m.state.y]") == before == [-3.5, -1]
    assert "must not both be" in page.do("error()")
    assert not page.do("el.classList.contains('av-stale')")
    to(page, x, y, down=False)


@pytest.mark.parametrize("wide", [120, 200, 500])
def test_handle_has_room_for_a_finger_at_any_size(trial, wide):
    page = trial(wide=wide)
    assert page.run("tools.gripSizes") == [[44, 44]] * 2
    page.run("tools.resize", wide / 2)
    assert page.run("tools.gripSizes") == [[44, 44]] * 2
    x, y = middle(page, "dot")
    under = "document.elementFromPoint({}, {}).closest('[data-handle]')"
    assert page.do(under.format(x + 21, y) + ".dataset.handle") == "dot"
    assert page.do(under.format(x - 23, y)) is None


def test_handle_of_two_that_meet_is_the_nearer(trial):
    page = trial(wide=100)
    page.do("""m.set("n", 8); await become({ x: -1, y: -4 }); return null""")
    x, y = middle(page, "dot")
    to(page, x, y, down=True)  # under the room of the size, which lies above
    to(page, x + 10, y)
    to(page, x, y, down=False)
    assert page.do("m.state.n") == 8


def test_handle_is_named_and_tells_its_value(trial):
    page = trial()
    names = ["role", "aria-label", "tabindex", "aria-valuenow",
             "aria-valuemin", "aria-valuemax", "aria-valuetext",
             "aria-pressed"]  # fmt: skip
    assert page.run("tools.namesOf", names) == [
        ["slider", "the dot", "0", "1", "-4", "4", "the x 1, the y 2", None],
        ["slider", "the size", "0", "8", "1", "64", "size n 8", None],
        ["button", "cell 0", "0", *[None] * 4, "false"],
        ["button", "cell 1", "-1", *[None] * 4, "false"],
    ]
    assert page.do("el.querySelector('svg').getAttribute('role')") == "group"


KEYS = [
    ("ArrowRight", {"x": 1.5}), ("ArrowLeft", {"x": 0.5}),
    ("ArrowUp", {"y": 3}), ("ArrowDown", {"y": 1}),
    ("Shift+ArrowLeft", {"x": -4}), ("Shift+ArrowUp", {"y": 4}),
]  # fmt: skip


@pytest.mark.parametrize(("key", "moved"), KEYS)
def test_handle_answers_to_keys_and_keeps_the_focus(trial, key, moved):
    page = trial()
    page.do("handle('dot').focus(); return null")
    page.tab.keyboard.press(key)
    page.do("await frame(); return null")
    assert page.do("m.state") == FIRST | moved
    assert page.do("document.activeElement.dataset.handle") == "dot"
    assert page.do("said()").count(f", {next(iter(moved.values())):g}, ") == 1
    page.tab.keyboard.press("Home")
    page.do("await frame(); return null")
    assert page.do("m.state") == FIRST
    assert page.do("document.activeElement.dataset.handle") == "dot"


def test_handle_of_one_setting_takes_all_arrows_and_leaves_others(trial):
    page = trial()
    result = page.run("tools.pressArrows")
    assert result == [
        [True, 16], [True, 32], [True, 16], [True, 8], *[[False, 8]] * 5,
    ]  # fmt: skip


def test_handle_that_is_pressed(trial):
    page = trial()
    page.tab.locator("[data-handle=cell1]").click()
    assert page.run("tools.cells") == [False, True, False]
    page.do("await frame(); return null")
    page.do("handle('cell1').focus(); return null")
    for key in ("Enter", " ", " "):
        page.tab.keyboard.press(key)
        page.do("await frame(); return null")
    assert page.run("tools.cells") == [False, False, False]
    assert page.run("tools.clickCell", "cell2") == [
        False, False, True,
    ]  # fmt: skip


def test_handles_of_a_group_are_one_stop_and_arrows_move(trial):
    page = trial()
    page.do("handle('cell0').focus(); return null")
    for key, there in [("ArrowRight", 1), ("ArrowRight", 2),
                       ("ArrowRight", 2), ("ArrowUp", 2),
                       ("ArrowLeft", 1)]:  # fmt: skip
        page.tab.keyboard.press(key)
        assert page.do("document.activeElement.dataset.handle") == (
            f"cell{there}"
        )
    page.tab.keyboard.press("Enter")
    page.do("await frame(); return null")
    assert page.run("tools.groupStops") == [-1, 0, -1]
    assert page.do("document.activeElement.dataset.handle") == "cell1"


def test_handles_of_a_group_are_painted_by_one_drag(trial):
    """Those that are as the first was; each once."""
    page = trial()
    page.do("await become({ cell1: true }); return null")
    (x0, y), (x1, _), (x2, _) = (middle(page, f"cell{k}") for k in range(3))
    to(page, x0, y, down=True)
    assert page.run("tools.cells") == [False, True, False], (
        "a press may be a scroll"
    )
    for x in (x1, x2, x1, x0):
        to(page, x, y)
    to(page, x0, y, down=False)
    assert page.run("tools.cells") == [True, True, True]
    to(page, x2, y)
    assert page.run("tools.cells") == [True, True, True]


def test_handle_under_a_finger_moves_it_and_the_rest_the_page(page, trial):
    page.tab.set_viewport_size(PHONE)
    trial(before="<div style='height:300px'></div>", wide=300)
    assert page.run("tools.touchActions") == [
        "none", "none", "pan-y", "auto",
    ]  # fmt: skip
    # A swipe that becomes a scroll presses nothing.
    assert page.run("tools.cancelSwipe") == [False, False, False]
