"""What moves by itself in a figure, in a time that the test tells.

The player of a film, the opening of the landing page and a training, on an
empty page. Where a film is at a time is tested in `test_figures_in_time.py`:
here it is what the page must show.
"""

import re

import numpy as np
import pytest
from bs4 import BeautifulSoup

from course import figures
from course.evidence import trained_induction
from course.figures import Film, Words
from tests.empty_page import drawn, state_of
from tests.figures.agreement import assert_same
from tests.figures.expected_figures import EXPECTED

# --- player.js --------------------------------------------------------------


def played(figure, key, end, times):
    """Where a film from its state up to `end` is at some times."""
    return [min(figure.frame(float(ms))["own"][key], end) for ms in times]


def on_the_bar(places):
    """Places as a slider of hundredths has them."""
    return [pytest.approx(round(place, 2)) for place in places]


def test_player_next_plays_one_step_and_stands(page):
    page.open("film", at=1)
    assert page.run("player.keyNames") == ["Back", "Play", "Next"]
    times = [0, 150, 300, 700, 899, 900]
    result = page.run("player.playNext", times)
    places = on_the_bar(played(Film(at=1), "at", 2, times))
    assert [place for place, _, _ in result] == [1, *places, 2]
    assert [message for _, message, _ in result] == ["Pause"] * 6 + [
        "Play"
    ] * 2
    assert [waits for *_, waits in result[-2:]] == [0, 0], "nothing goes on"
    assert page.do("shown()") == drawn("film", at=2)
    assert page.run("player.playNextFrom") == [
        [1, "Pause", 1, 2, "Play", 0], [3, "Play", 0], [3, "Play", 0],
        [7, "Play", 0],
    ]  # fmt: skip


def test_player_back_jumps_to_the_step_before(page):
    page.open("film")
    assert page.run("player.goBack") == [
        [place, "Play", 0] for place in (0, 0, 0, 0, 0, 0, 2, 1, 0, 6, 5, 4)
    ]


def test_player_play_goes_to_the_end_and_from_there_to_the_start(page):
    page.open("film")
    times = [0, 300, 1400, 1900, 2100, 20_000]
    for start, begins in [(2, 2), (2.7, 2), (7, 0)]:
        result = page.run("player.playFrom", start, times)
        places = played(Film(at=begins), "at", 7, times)
        assert [place for place, _, _ in result] == on_the_bar(places)
        assert [message for _, message, _ in result] == ["Pause"] * 5 + [
            "Play"
        ]
        assert result[-1] == [7, "Play", 0]
    # Its time depends on the settings that it began with: a change from
    # Python moves no picture.
    page.open("film", at=0)
    words = {"words": "a b c d", "X": [[1], [-2], [0.25], [2]]}
    assert page.run("player.changeWhilePlaying", words) == [
        Film(at=0, **words).frame(1e6)["own"]["at"],
        "Play",
        0,
    ]


def test_player_stops_for_a_press_a_key_and_out_of_sight(page):
    page.open("film")
    ways = dict.fromkeys(("play", "pointer", "key", "panel"), 2.5)
    ways["back"] = 2
    for way, there in ways.items():
        assert page.run("player.stop", way) == [
            [2.5, "Pause", 1], "Play", [there, "Play", 0], [there, "Play", 0],
        ], way  # fmt: skip
    assert page.run("player.hideAndClose") == [
        [2.5, "Play", 0],
        [2, "Play", 0],
    ]


def test_player_is_silent_until_the_film_stands(page):
    page.open("film", at=2)
    assert page.run("player.listen") == ["", True]


def test_player_shows_stills_where_no_motion_is_wanted(page):
    page.tab.emulate_media(reduced_motion="reduce")
    times = [*range(0, 6500, 130), 10_000]
    page.open("film", at=0)
    steps = [int(at) for at in played(Film(at=0), "at", 7, times)]
    assert page.run("player.playStills", times) == [steps, 7, "Play", 0]
    assert page.run("player.jump") == [6, 7, "Play", 0]


def test_film_draws_its_strip_anew_before_it_is_printed(page):
    page.open("film", static=True)
    first, before, again, closed = page.run("motion.printStrip")
    html = Film(words="one two three", query=1).html()
    expected = BeautifulSoup(html, "html.parser").select_one(".av-stills")
    assert before == first
    assert str(BeautifulSoup(again, "html.parser")) == str(expected)
    assert closed == again, "a figure that is closed draws nothing"


# --- the opening of words.js ------------------------------------------------

TIMES = [0, 499, 650, 1150, 1800, 2400, 2700, 3350, 3900, 3999]


def test_words_opening_turns_the_query_once_and_gives_it_back(page):
    state = {"x": 1.5, "y": -0.5}
    page.open("words", static=True, **state)
    result = page.run("opening.watchTurn", TIMES)
    all_, *rest = result
    figure = Words(**state)
    for ms, ([text, *sliders], moves) in zip(TIMES, all_, strict=False):
        frame = figure.frame(ms)
        assert text == BeautifulSoup(frame["html"], "html.parser").text
        assert moves, ms
        for key, (value, output) in zip("xy", sliders, strict=True):
            assert float(value) == pytest.approx(frame["own"][key], abs=0.051)
            shown = float(output.replace("−", "-"))
            assert shown == pytest.approx(frame["own"][key], abs=5.1e-5)
    assert all_[-1] == [
        [drawn("words", **state), ["1.5", "1.5"], ["-0.5", "−0.5"]], False
    ]  # fmt: skip
    assert len({text for (text, *_), _ in all_}) == 5
    # It speaks at the end; the reader's own numbers and sentence stay.
    assert rest == [0, True, 0, 0, 0]


@pytest.mark.parametrize(
    "way", ["pointer", "key", "input", "back", "close", "hide", "calm"]
)
def test_words_opening_ends_where_a_reader_takes_over(page, way):
    page.open("words", static=True)
    page.do("await frame(1800); return null")
    if way == "calm":
        page.tab.emulate_media(reduced_motion="reduce")
    assert page.run("opening.takeOver", way) == [
        True,
        drawn("words"),
        ["2", "2"],
        ["0.5", "0.5"],
        0,
    ]


@pytest.mark.parametrize("why", ["calm", "hidden", "asked", "jupyter"])
def test_words_opening_does_not_begin_where_nothing_should_move(page, why):
    if why == "calm":
        page.tab.emulate_media(reduced_motion="reduce")
    hide = "Object.defineProperty(document, 'hidden', { value: true });"
    page.open(
        "words",
        "?words.x=1" if why == "asked" else "",
        static=why != "jupyter",
        first=hide if why == "hidden" else "",
    )
    state = {"x": 1} if why == "asked" else {}
    assert page.run("opening.wait") == [0, drawn("words", **state), 0]


# --- the training of induction.js -------------------------------------------


@pytest.fixture
def trainer(page):
    """The figure that trains, with a worker that the test speaks for."""
    page.open("induction")
    page.tab.add_script_tag(
        content=figures.scripts("induction")["induction-steps.js"]
    )
    trained = trained_induction(100)
    numbers = np.concatenate([x.ravel() for x in trained.values()]).tolist()
    page.run("training.startWorker", numbers)
    return page


def test_training_is_told_drawn_and_asked(trainer):
    result = trainer.run("training.train")
    looks, *rest = result
    assert looks == [
        ["Train", "Train:", True, False, False, False],
        ["Stop", "Seed 1", True, False, False, False],
        ["Stop", "Step 1", False, True, True, True],
        ["Stop", "Step 2", False, True, True, True],
        ["Train again", "Step 2", False, True, True, True],
    ]
    assert rest == [
        "Step 2 of 200, seed 1: loss 2.25, 50.0% right.",
        "", True,  # spoken once it is done
        [{"seed": 1, "steps": 200, "size": 64}], 1, 0,
    ]  # fmt: skip
    # What it shows are the weights that the worker told.
    own = EXPECTED["induction"](state_of("induction", step=100))
    assert_same(trainer.do("el.values"), own | {"accuracy": 0.5})
    # Both curves are drawn on one axis, which goes up.
    paths = trainer.run("training.lines")
    loss, right = (
        [[float(x) for x in point.split()] for point in path[1:].split("L")]
        for path in paths
    )
    assert [x for x, _ in loss] == [x for x, _ in right]
    heights = [y for _, y in loss + right]
    numbers = [2.4849, 2.25, 0.0804, 0.5]
    slope, zero = np.polyfit(numbers, heights, 1)
    assert slope < -20
    np.testing.assert_allclose(
        zero + slope * np.array(numbers), heights, atol=0.1
    )


def test_training_leaves_the_stored_weights_to_who_asks_for_them(trainer):
    assert trainer.run("training.askStored") == [
        [False, False, False, True, True, True, False, True, False], False
    ]  # fmt: skip
    assert_same(
        trainer.do("el.values"),
        EXPECTED["induction"](state_of("induction", step=80, query=2)),
    )


def test_training_ends_after_its_steps_and_begins_anew(trainer):
    last = "Step 200 of 200, seed 1: loss 0.25, 95.0% right."
    assert trainer.run("training.trainToTheEnd") == [
        ["Stop", 0, True],
        ["Train again", 1, True], last,
        ["Stop", 1, True], "Seed 2: starting.", 2, True,
        [1, 1],
        ["Train again", 1, True], "Step 200",
    ]  # fmt: skip


def test_guide_leads_through_the_four_steps(trainer):
    heads = ["head_0_0", "head_0_1", "head_1_0", "head_1_1"]
    assert trainer.run("training.guided", heads) == [
        [300, ["head_0_1"], False],
        [0, [], False],
        [0, ["head_0_1"], True],
        [0, [], False],
    ]  # fmt: skip


def test_training_says_how_long_it_will_take(trainer):
    result = trainer.run("training.timeLeft")
    before, running, after = result
    assert re.findall(r"\d+", before) == ["200", "300"]
    assert re.search(r"right; about \d+ (second|minute)s? left\.$", running)
    assert after.endswith(" right.")


def test_training_runs_in_a_worker_that_ends(trainer):
    steps, gone, ended, listens = trainer.run("training.runWorker")
    assert steps == [1, 2], "the text alone, with no module beside it, trains"
    assert gone, "a browser keeps a text until it is told otherwise"
    assert (ended, listens) == (1, 0), "a figure that is closed trains no more"


def test_training_without_a_worker_says_so(trainer):
    assert trainer.run("training.noWorker") == [
        "Train",
        "This browser starts no worker, so it cannot train here.", True, 0,
    ]  # fmt: skip


def test_training_with_less_motion_shows_every_fiftieth_step(trainer):
    trainer.tab.emulate_media(reduced_motion="reduce")
    assert trainer.run("training.lessMotion") == [
        ["Step 1 of 200", 2, 8, 0], ["Step 49 of 200", 2, 8, 0],
        ["Step 50 of 200", 2, 3, 1], ["Step 51 of 200", 2, 3, 0],
        ["Step 100 of 200", 2, 5, 1],
    ]  # fmt: skip
