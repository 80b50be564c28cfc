"""What moves by itself, or under a hand, in a time that the test tells.

As in `test_figure_page.py`, on an empty page. Where a film is at a time is
tested in `test_figures_in_time.py`: here it is what the page must show.
"""

import json

import numpy as np
import pytest
from bs4 import BeautifulSoup

from helpers import figures
from helpers.figures import Film, KVCacheCalculator, Tiles, Words
from helpers.training import trained_induction
from tests.figures.expected_figures import CLASSES, EXPECTED
from tests.figures.reading import axes, call, curves, follows
from tests.figures.test_figure_page import drawn, page, state_of  # noqa: F401
from tests.figures.test_figures import assert_same

# One frame later what moves has moved, and is painted: in that very frame, so
# that a slider and the picture are never two.
TICK = """
  const tick = async (ms) => { await frame(ms); };
  // What is seen at each of some times.
  const watch = async (times, look) => {
    const all = [];
    for (const [k, ms] of times.entries()) {
      await tick(ms - (times[k - 1] ?? 0));
      all.push(look());
    }
    return all;
  };
"""
QUIET = 'data-lm-suppress-shortcuts="true"'
PLAYER = ["Back", "Play", "Next"]
FILMS = {"film": "at", "kvcache": "filled", "tiles": "step"}


@pytest.mark.parametrize(
    ("name", "names"),
    [*((name, PLAYER) for name in FILMS), ("backward", ["dY − 0.1",
                                                        "dY + 0.1"])],
)  # fmt: skip
def test_the_buttons_stand_after_the_form(page, name, names):  # noqa: F811
    page.open(name)
    buttons = "".join(
        f'<button type="button" {QUIET}>{name}</button>' for name in names
    )
    assert page.do(
        "el.querySelector('form').nextElementSibling.outerHTML"
    ) == (f'<div class="av-panel av-keys">{buttons}</div>')


# --- films ------------------------------------------------------------------

HANDS = f"""{TICK}
  const [back, play, next] = el.querySelectorAll(".av-keys button");
  const [key] = {json.dumps(list(FILMS.values()))}.filter((k) => field(k));
  const seen = () => [m.state[key], play.textContent, frames.length];
"""


def played(figure, key, end, times):
    """Where a film from its state up to `end` is at some times."""
    return [min(figure.frame(float(ms))["own"][key], end) for ms in times]


def on_the_bar(places):
    """Places as a slider of hundredths has them."""
    return [pytest.approx(round(place, 2)) for place in places]


def test_next_plays_one_step_and_stands(page):  # noqa: F811
    page.open("film", at=1)
    times = [0, 150, 300, 700, 899, 900]
    found = page.do(f"""{HANDS}
      next.click();
      const first = seen();
      const all = await watch({times}, seen);
      await tick(5000);
      return [first, ...all, seen()];
    """)
    places = on_the_bar(played(Film(at=1), "at", 2, times))
    assert [place for place, _, _ in found] == [1, *places, 2]
    assert [said for _, said, _ in found] == ["Pause"] * 6 + ["Play"] * 2
    assert [waits for *_, waits in found[-2:]] == [0, 0], "nothing goes on"
    assert page.do("el.querySelector('.av-result').textContent") == drawn(
        "film", at=2
    )


def test_next_from_between_two_steps_ends_at_the_following(page):  # noqa: F811
    page.open("film", at=1.4)
    assert page.do(f"""{HANDS}
      next.click();
      await tick(0);
      const first = seen();
      await tick(5000);
      return [first, seen()];
    """) == [[1, "Pause", 1], [2, "Play", 0]]
    # A step that is reached but for a rounding error is reached.
    assert page.do(f"""{HANDS}
      field("at").step = "any";
      give("at", 1.9999999999)
      next.click();
      await tick(5000);
      return seen();
    """) == [3, "Play", 0]


@pytest.mark.parametrize(
    ("start", "places"),
    [(0, [0, 0, 0]), (1, [0, 0, 0]), (2.5, [2, 1, 0]), (7, [6, 5, 4])],
)
def test_back_jumps_to_the_step_before(page, start, places):  # noqa: F811
    page.open("film", at=start)
    assert page.do(f"""{HANDS}
      const all = [];
      for (let k = 0; k < 3; k += 1) {{
        back.click();
        await tick(0);
        all.push(seen());
      }}
      return all;
    """) == [[place, "Play", 0] for place in places]


@pytest.mark.parametrize(("start", "begins"), [(2, 2), (2.7, 2), (7, 0)])
def test_play_goes_to_the_end(page, start, begins):  # noqa: F811
    page.open("film", at=start)
    times = [0, 300, 1400, 1900, 2100, 20_000]
    found = page.do(f"""{HANDS}
      play.click();
      return watch({times}, seen);
    """)
    places = played(Film(at=begins), "at", 7, times)
    assert [place for place, _, _ in found] == on_the_bar(places)
    assert [said for _, said, _ in found] == ["Pause"] * 5 + ["Play"]
    assert found[-1] == [7, "Play", 0]


@pytest.mark.parametrize(
    "way",
    [
        "play.click()",
        "back.click()",
        "field('query').dispatchEvent("
        "new PointerEvent('pointerdown', { bubbles: true }))",
        "field('query').dispatchEvent("
        "new KeyboardEvent('keydown', { bubbles: true }))",
        "document.querySelector('.av-keys').click()",
    ],
)
def test_a_film_that_plays_is_stopped(page, way):  # noqa: F811
    page.open("film", at=2)
    found = page.do(f"""{HANDS}
      play.click();
      await tick(0);
      await tick(450);
      const before = seen();
      {way};
      const said = play.textContent;
      await tick(300);
      const stopped = seen();
      await tick(300);
      return [before, said, stopped, seen()];
    """)
    there = 2 if way.startswith("back") else 2.5
    assert found == [
        [2.5, "Pause", 1], "Play", [there, "Play", 0], [there, "Play", 0],
    ]  # fmt: skip


def test_next_stops_a_film_that_plays_and_plays_one_step(page):  # noqa: F811
    page.open("film", at=2)
    assert page.do(f"""{HANDS}
      play.click();
      await tick(0);
      await tick(450);
      next.click();
      await tick(5000);
      return seen();
    """) == [3, "Play", 0]


def test_next_at_the_end_does_nothing(page):  # noqa: F811
    page.open("film", at=7)
    assert page.do(f"""{HANDS}
      next.click();
      return seen();
    """) == [7, "Play", 0]


def test_a_film_is_silent_until_it_stands(page):  # noqa: F811
    page.open("film", at=2)
    assert page.do(f"""{HANDS}
      next.click();
      await tick(0);
      await tick(450);
      await pause(600);
      const silent = spoken();
      await tick(5000);
      await pause(600);
      return [silent, spoken() === said()];
    """) == ["", True]


def test_a_film_out_of_sight_or_closed_stops(page):  # noqa: F811
    page.open("film", at=2)
    assert page.do(f"""{HANDS}
      play.click();
      await tick(0);
      Object.defineProperty(document, "hidden",
        {{ value: true, configurable: true }});
      await tick(450);
      const hidden = seen();
      delete document.hidden;
      play.click();
      await tick(0);
      close();
      await tick(450);
      return [hidden, seen()];
    """) == [[2.5, "Play", 0], [2, "Play", 0]]


def test_a_film_goes_on_with_the_settings_that_it_began_with(page):  # noqa: F811
    """Its time depends on them: a change from Python moves no picture."""
    page.open("film", at=0)
    words = {"words": "a b c d", "X": [[1], [-2], [0.25], [2]]}
    longer = Film(at=0, **words)
    assert page.do(f"""{HANDS}
      m.set("words", "a b c d");
      m.set("X", [[1], [-2], [0.25], [2]]);
      await tick(0);
      play.click();
      await tick(0);
      await tick(20000);
      return seen();
    """) == [longer.frame(1e6)["own"]["at"], "Play", 0]


@pytest.mark.parametrize(
    ("figure", "key", "settings", "end"),
    [
        (Film, "at", {"at": 0}, 7),
        (KVCacheCalculator, "filled", {"S": 43, "filled": 0}, 43),
        (KVCacheCalculator, "filled", {"S": 43, "filled": 30}, 43),
        (Tiles, "step", {"step": 0}, 6),
    ],
)
def test_where_no_motion_is_wanted_a_film_is_a_row_of_stills(
    page,  # noqa: F811
    figure,
    key,
    settings,
    end,
):
    page.tab.emulate_media(reduced_motion="reduce")
    name = {Film: "film", KVCacheCalculator: "kvcache", Tiles: "tiles"}[figure]
    page.open(name, **settings)
    times = [*range(0, 6500, 130), 10_000]
    found = page.do(f"""{HANDS}
      play.click();
      const all = await watch({times}, () => m.state[key]);
      next.click();
      await tick(0);
      return [all, ...seen()];
    """)
    start = settings[key]
    reached = played(figure(**settings), key, end, times)
    if name == "kvcache":  # full to an eighth, to two eighths, ...
        stills = {k * 43 / 8 for k in range(9)}
        shown = [int(max(s for s in stills if s <= at)) for at in reached]
        assert {int(s) for s in stills if s > start} <= set(shown)
    else:
        shown = [int(at) for at in reached]
    assert found == [[max(at, start) for at in shown], end, "Play", 0]
    # Next is a jump.
    page.open(name, **settings)
    assert page.do(f"""{HANDS}
      next.click();
      await tick(0);
      return seen();
    """) == [start + 1, "Play", 0]


@pytest.mark.parametrize(
    ("name", "key", "settings", "end"),
    [
        ("kvcache", "filled", {"S": 40, "filled": 3}, 40),
        ("tiles", "step", {"step": 1}, 6),
    ],
)
@pytest.mark.parametrize("calm", [False, True])
def test_playing_gives_what_the_bar_gives(
    page,  # noqa: F811
    name,
    key,
    settings,
    end,
    calm,
):
    page.tab.emulate_media(reduced_motion="reduce" if calm else None)
    page.open(name, **settings)
    start = settings[key]
    seen = page.do(f"""{HANDS}
        const state = () => [m.state[key], play.textContent,
          el.querySelector(".av-result").textContent];
        const all = [];
        next.click(); await frame(); all.push(state());
        back.click(); await frame(); all.push(state());
        play.click(); await tick(0); all.push(state());
        for (let k = 0; k < 80 && play.textContent === "Pause"; k += 1) {{
          await tick(101);
          all.push(state());
        }}
        next.click(); await frame(); all.push(state());
        play.click(); await tick(0); await tick(1500); play.click();
        await tick(0); all.push(state());
        await tick(5000); all.push(state());
        return all;
    """)
    values = [value for value, *_ in seen]
    assert values[:3] == [start + 1, start, start]
    assert [said for _, said, _ in seen[:3]] == ["Play", "Play", "Pause"]
    played = values[2:-3]
    assert played == sorted(played)
    assert played[-1] == end
    assert values[-3] == end, "next stays at the end"
    assert 0 < values[-2] < end, "from the beginning, and paused"
    assert values[-1] == values[-2]
    for value, _, text in seen:
        figure = CLASSES[name](**{**settings, key: value})
        html = BeautifulSoup(figure.html(), "html.parser")
        assert text == html.select_one(".av-result").text, value
    if calm and name == "kvcache":
        assert set(played) <= {3, *(5 * k for k in range(9))}, "eight stills"
    else:
        assert len(set(played)) > (5 if name == "tiles" else 20)


def test_before_it_is_printed_the_strip_is_drawn_anew(page):  # noqa: F811
    page.open("film", static=True)
    strip = "el.querySelector('.av-stills').outerHTML"
    first = page.do(strip)
    again, closed = page.do(f"""
      give("words", "one two three")
      give("query", 1)
      await frame();
      const before = {strip};
      dispatchEvent(new Event("beforeprint"));
      const again = [before, {strip}];
      close();
      m.state.query = 2;
      dispatchEvent(new Event("beforeprint"));
      return [again, {strip}];
    """)
    html = Film(words="one two three", query=1).html()
    wanted = BeautifulSoup(html, "html.parser").select_one(".av-stills")
    assert again[0] == first
    shown = BeautifulSoup(again[1], "html.parser")
    assert str(shown) == str(wanted)
    assert closed == again[1], "a figure that is closed draws nothing"


# --- the landing page's query -----------------------------------------------

TIMES = [0, 499, 650, 1150, 1800, 2400, 2700, 3350, 3900, 3999]
WORDS = f"""{TICK}
  const seen = () => [el.querySelector(".av-result").textContent,
    ...["x", "y"].map((key) => [field(key).value,
      field(key).closest("div").querySelector("output").value])];
"""


def test_the_opening_turns_the_query_once_and_gives_it_back(page):  # noqa: F811
    state = {"x": 1.5, "y": -0.5}
    page.open("words", static=True, **state)
    found = page.do(f"""{WORDS}
      const sets = m.sets.length;  // of the address
      const look = () => [seen(), frames.length > 0];
      const all = await watch({TIMES}, look);
      const silent = timers.length;
      await tick(1);
      all.push(look());
      await pause(600);
      return [all, silent, spoken() === said(),
        m.sets.length - sets, m.saves];
    """)
    all_, silent, speaks, *kept = found
    figure = Words(**state)
    for ms, ([text, *sliders], moves) in zip(TIMES, all_, strict=False):
        frame = figure.frame(ms)
        assert text == BeautifulSoup(frame["html"], "html.parser").text
        assert moves, ms
        for key, (value, output) in zip("xy", sliders, strict=True):
            assert float(value) == pytest.approx(frame["own"][key], abs=0.051)
            assert float(output) == frame["own"][key]
    assert all_[-1] == [
        [drawn("words", **state), ["1.5", "1.5"], ["-0.5", "-0.5"]], False
    ]  # fmt: skip
    assert len({text for (text, *_), _ in all_}) == 5
    assert (silent, speaks) == (0, True)
    assert kept == [0, 0], "the reader's own numbers stay as they are"


@pytest.mark.parametrize(
    "way",
    [
        "el.dispatchEvent(new PointerEvent('pointerdown'))",
        "el.dispatchEvent(new KeyboardEvent('keydown'))",
        "el.dispatchEvent(new Event('input'))",
        "dispatchEvent(new PopStateEvent('popstate'))",
        "close()",
    ],
)
def test_the_opening_ends_where_a_reader_takes_over(page, way):  # noqa: F811
    page.open("words", static=True)
    assert page.do(f"""{WORDS}
      await tick(0);
      await tick(1800);
      const moved = seen()[0] !== {json.dumps(drawn("words"))};
      {way};
      const sliders = [field("x").value, field("y").value];
      await tick(16);
      await tick(16);
      const over = [seen()[0], frames.length];
      {way};
      return [moved, sliders, over, frames.length];
    """) == [
        True, ["2", "0.5"], [drawn("words"), 0], 0,
    ]  # fmt: skip


def test_a_figure_that_is_closed_no_longer_listens_to_the_address(page):  # noqa: F811
    page.open("words", static=True)
    waits = page.do(f"""{WORDS}
      await tick(1800);
      close();
      await tick(16);
      await tick(16);
      dispatchEvent(new PopStateEvent("popstate"));
      return frames.length;
    """)
    assert waits == 0


@pytest.mark.parametrize("why", ["calm", "hidden", "asked", "jupyter"])
def test_where_nothing_should_move_the_opening_does_not_begin(page, why):  # noqa: F811
    if why == "calm":
        page.tab.emulate_media(reduced_motion="reduce")
    if why == "hidden":
        page.tab.add_init_script(
            "Object.defineProperty(document, 'hidden', { value: true })"
        )
    query = "?words.x=1" if why == "asked" else ""
    page.open("words", query, static=why != "jupyter")
    state = {"x": 1} if why == "asked" else {}
    assert page.do(f"""{WORDS}
      const waits = frames.length;
      await tick(1800);
      return [waits, seen()[0], frames.length];
    """) == [0, drawn("words", **state), 0]


@pytest.mark.parametrize("why", ["calm", "hidden"])
def test_the_opening_ends_where_nothing_should_move_any_more(page, why):  # noqa: F811
    page.open("words", static=True)
    page.do(f"{TICK} await tick(1800); return null;")
    if why == "calm":
        page.tab.emulate_media(reduced_motion="reduce")
    else:
        page.do("Object.defineProperty(document, 'hidden', "
                "{ value: true }).hidden")  # fmt: skip
    assert page.do(f"""{WORDS}
      await tick(16);
      await tick(16);
      return [seen()[0], frames.length];
    """) == [drawn("words"), 0]


def test_the_query_is_dragged_or_sent(page):  # noqa: F811
    page.open("words")
    page.do("""
      globalThis.held = 0;
      el.addEventListener("gotpointercapture", () => { held += 1; });
      return null;
    """)
    box = page.tab.locator(".av-ask").bounding_box()
    unit = box["width"] / 2 / 3.35

    def to(x, y):
        page.tab.mouse.move(
            box["x"] + box["width"] / 2 + unit * x,
            box["y"] + box["width"] / 2 - unit * y,
        )
        return page.do("await frame(); return [m.state.x, m.state.y]")

    to(2, 0.5)
    page.tab.mouse.down()
    assert to(1.04, 0.96) == [1, 1], "to the tenth"
    assert to(-0.5, 1.5) == [-0.5, 1.5]
    assert to(3.2, 3.3) == [3, 3], "it stays in the plane"
    assert to(-3.3, -3.2) == [-3, -3]
    assert to(2, -1) == [2, -1]
    page.tab.mouse.up()
    assert to(0, 0) == [2, -1], "let go"
    assert page.do("held") == 1, "it goes on outside of the figure"
    # Where the query is not, nothing is taken; a press sends it there.
    to(-1, -1)
    page.tab.mouse.down()
    assert to(-1.5, -1) == [2, -1]
    page.tab.mouse.up()
    assert to(0, 0) == [-1.5, -1]
    assert page.do("""
      el.querySelector(".av-say").click();
      el.querySelector(".av-sentence text").dispatchEvent(
        new PointerEvent("click", { bubbles: true }));
      return [m.state.x, m.state.y];
    """) == [-1.5, -1]
    assert page.do("[field('x').value, field('y').value]") == ["-1.5", "-1"]


# --- a training in the page -------------------------------------------------


def test_the_curves_of_a_training_are_where_its_numbers_are():
    losses, rights = [2.5, 1.25, 0.75], [0.1, 0.5, 0.9]
    html = call("curve", losses, rights, of="induction")
    svg = BeautifulSoup(html, "html.parser").svg
    assert svg["aria-label"] == (
        "Loss and share of right answers over the steps"
    )
    assert svg["viewbox"].endswith(" 160")
    assert axes(BeautifulSoup(f"<p>{svg}</p>", "html.parser")) == [
        [[0, 200], [0, 2.6]]
    ]
    (loss, right), dots, near = curves(svg)
    follows(loss, [[1, 2.5], [2, 1.25], [3, 0.75]], near)
    follows(right, [[1, 0.1], [2, 0.5], [3, 0.9]], near)
    assert not dots
    dashes = [line.get("stroke-dasharray") for line in svg.select(".av-line")]
    assert dashes == ["", "6 4"]
    words = [text.text for text in svg.select("text")]
    assert words[-2:] == ["step", "loss; share right"]
    assert [word for word in words[:-2] if word.isalpha()] == ["loss", "right"]


# The worker is the test's: it says what the test says.
WORKER = """
  globalThis.workers = [];
  globalThis.Worker = class extends EventTarget {
    constructor(address) {
      super();
      Object.assign(this, { address, asked: [], ended: 0 });
      workers.push(this);
    }
    postMessage(data) { this.asked.push(data); }
    terminate() { this.ended += 1; }
  };
"""
TRAIN = f"""{TICK}
  const [button] = el.querySelectorAll("[data-train]");
  const label = el.querySelector(".av-train label");
  const [box] = label.children;
  const told = () => el.querySelector(".av-told").textContent;
  const lines = () => [...el.querySelectorAll(".av-curve .av-line")]
    .map((line) => line.getAttribute("d"));
  const yours = () => said().includes("your training");
  const tell = async (step, loss, right) => {{
    const data = {{ step, loss, right, numbers: globalThis.numbers }};
    workers.at(-1).dispatchEvent(new MessageEvent("message", {{ data }}));
    await tick(0);
  }};
"""
KEYS = "".join(
    f'<button type="button" data-symbol="{s}" {QUIET}>{s}</button>'
    for s in "ABCDEFGHIJKL"
)
PANEL = (
    '<div class="av-panel"><div class="av-keys" role="group" '
    f'aria-label="type symbols">{KEYS}<button type="button" '
    f'data-symbol="back" aria-label="remove the last symbol" {QUIET}>⌫'
    f'</button><button type="button" data-symbol="said" {QUIET}>add what it '
    'says</button></div><div class="av-train"><button type="button" '
    f'data-train="" {QUIET}>Train it anew</button><label hidden="">'
    f'<input type="checkbox" {QUIET}> ask the weights trained here</label>'
    '<span class="av-told"></span></div><div class="av-curve"></div></div>'
)


@pytest.fixture
def trainer(page):  # noqa: F811
    """The figure that trains, with a worker that the test speaks for."""
    page.open("induction")
    page.tab.add_script_tag(
        content=figures.scripts("induction")["induction-steps.js"]
    )
    trained = trained_induction(100)
    numbers = np.concatenate([x.ravel() for x in trained.values()]).tolist()
    page.do(f"""{WORKER}
      globalThis.numbers = Float64Array.from({json.dumps(numbers)});
      return null;
    """)
    return page


def test_the_buttons_of_the_training(trainer):
    panel = "el.querySelector('form').nextElementSibling.outerHTML"
    assert trainer.do(panel) == PANEL


def test_a_training_is_told_drawn_and_asked(trainer):
    found = trainer.do(f"""{TRAIN}
      const look = () => [button.textContent, told(), label.hidden,
        box.checked, yours(), el.querySelectorAll(".av-curve svg").length];
      const all = [look()];
      button.click();
      all.push(look());
      await tell(1, 2.4849, 0.0804);
      all.push(look());
      await tell(2, 2.25, 0.5);
      all.push(look());
      await pause(600);
      const silent = spoken();
      button.click();
      await tick(0);
      all.push(look());
      await pause(600);
      const [worker] = workers;
      return [all, silent, spoken() === said(), worker.asked, worker.ended,
        frames.length];
    """)
    step = "of 200, seed 1: loss"
    *looks, silent, speaks, asked, ended, waits = [*found[0], *found[1:]]
    assert looks == [
        ["Train it anew", "", True, False, False, 0],
        ["Stop", "seed 1: starting", True, False, False, 0],
        ["Stop", f"step 1 {step} 2.48, 8.0 % right", False, True, True, 1],
        ["Stop", f"step 2 {step} 2.25, 50.0 % right", False, True, True, 1],
        [
            "Train it anew", f"step 2 {step} 2.25, 50.0 % right", False, True,
            True, 1,
        ],
    ]  # fmt: skip
    assert (silent, speaks) == ("", True), "spoken once it is done"
    assert asked == [{"seed": 1, "steps": 200, "size": 64}]
    assert (ended, waits) == (1, 0)
    # What it shows are the weights that the worker told.
    own = EXPECTED["induction"](state_of("induction", step=100))
    assert_same(trainer.do("el.values"), own | {"accuracy": 0.5})
    drawn = trainer.do("el.querySelector('.av-curve').innerHTML")
    curve = call("curve", [2.4849, 2.25], [0.0804, 0.5], of="induction")
    assert BeautifulSoup(drawn, "html.parser") == BeautifulSoup(
        curve, "html.parser"
    )


def test_the_stored_weights_stay_asked_where_the_reader_says_so(trainer):
    assert trainer.do(f"""{TRAIN}
      button.click();
      await tell(1, 2.5, 0.1);
      box.click();
      await tick(0);
      const first = yours();
      await tell(2, 2.4, 0.1);
      const second = [yours(), box.checked];
      box.click();
      await tick(0);
      const third = yours();
      m.set("query", 2);
      await tick(0);
      const fourth = yours();
      m.set("step", m.state.step);
      await tick(0);
      const fifth = yours();
      m.set("step", 80);
      await tick(0);
      const sixth = [yours(), box.checked];
      box.click();
      m.set("step", m.state.step);
      await tick(0);
      const seventh = yours();
      box.click();
      await tick(0);
      return [first, second, third, fourth, fifth, sixth, seventh, yours()];
    """) == [
        False, [False, False], True, True, True, [False, False], True, False,
    ]  # fmt: skip
    assert_same(
        trainer.do("el.values"),
        EXPECTED["induction"](state_of("induction", step=80, query=2)),
    )


def test_a_training_ends_after_its_steps_and_begins_anew(trainer):
    assert trainer.do(f"""{TRAIN}
      button.click();
      await tell(1, 2.5, 0.1);
      await tell(199, 0.5, 0.9);
      const before = [button.textContent, workers[0].ended];
      await tell(200, 0.25, 0.95);
      const after = [button.textContent, workers[0].ended, told(), yours()];
      button.click();
      const anew = [button.textContent, told(), workers[1].asked[0].seed,
        yours()];
      await tick(0);
      anew.push(yours());
      await tell(1, 2.5, 0.1);
      return [before, after, anew, lines().map((d) => d.split("L").length)];
    """) == [
        ["Stop", 0],
        ["Train it anew", 1,
         "step 200 of 200, seed 1: loss 0.25, 95.0 % right", True],
        ["Stop", "seed 2: starting", 2, True, True],
        [1, 1],
    ]  # fmt: skip


def test_the_last_step_may_be_told_after_it_was_stopped(trainer):
    assert trainer.do(f"""{TRAIN}
      button.click();
      await tell(199, 0.5, 0.9);
      button.click();
      await tell(200, 0.25, 0.95);
      return [button.textContent, told(), workers[0].ended];
    """) == [
        "Train it anew",
        "step 200 of 200, seed 1: loss 0.25, 95.0 % right", 1,
    ]  # fmt: skip


def test_its_worker_has_the_text_of_the_module(trainer):
    text, gone = trainer.do(f"""{TRAIN}
      const revoke = URL.revokeObjectURL;
      const gone = [];
      URL.revokeObjectURL = (address) => gone.push(address);
      button.click();
      const [{{ address }}] = workers;
      const text = await (await fetch(address)).text();
      revoke(address);
      return [text, gone.length === 1 && gone[0] === address];
    """)
    assert text.startswith("(() => {")
    assert text.endswith(")().serve(self)")
    assert gone, "a browser keeps a text until it is told otherwise"


def test_a_box_that_the_browser_ticked_asks_no_weights_that_are_not(trainer):
    # Some browsers give a form back as it was before the page was reloaded.
    assert trainer.do(f"""{TRAIN}
      box.checked = true;
      m.set("query", 3);
      await tick(0);
      return [yours(), el.values.query];
    """) == [False, 3]


def test_where_no_worker_starts_it_says_so(trainer):
    assert trainer.do(f"""{TRAIN}
      globalThis.Worker = class {{ constructor() {{ throw Error("no"); }} }};
      button.click();
      return [button.textContent, told(), label.hidden, frames.length];
    """) == [
        "Train it anew",
        "This browser starts no worker, so it cannot train here.", True, 0,
    ]  # fmt: skip


def test_a_figure_that_is_closed_trains_no_more(trainer):
    assert trainer.do(f"""{TRAIN}
      button.click();
      close();
      return [workers[0].ended, m.listeners.length];
    """) == [1, 0]


def test_with_less_motion_a_training_shows_every_fiftieth_step(page):  # noqa: F811
    page.tab.emulate_media(reduced_motion="reduce")
    page.open("induction")
    assert page.do(f"""{WORKER}{TRAIN}
      globalThis.numbers = new Float64Array(100000).fill(0.1);
      button.click();
      const seen = [];
      for (const step of [1, 49, 50, 51, 100]) {{
        const data = {{ step, loss: 1, right: 0, numbers }};
        workers[0].dispatchEvent(new MessageEvent("message", {{ data }}));
        seen.push([told().split(",")[0], lines().length,
          lines()[0]?.split("L").length, frames.length]);
        await tick(0);
      }}
      return seen;
    """) == [
        ["step 1 of 200", 0, None, 0], ["step 49 of 200", 0, None, 0],
        ["step 50 of 200", 2, 3, 1], ["step 51 of 200", 2, 3, 0],
        ["step 100 of 200", 2, 5, 1],
    ]  # fmt: skip


def test_only_what_is_a_button_types(page):  # noqa: F811
    page.open("induction", symbols="ABC")
    assert page.do(f"""{TICK}
      const press = (symbol) =>
        el.querySelector(`[data-symbol="${{symbol}}"]`).click();
      press("L");
      const first = field("symbols").value;
      press("back");
      press("back");
      const second = field("symbols").value;
      el.querySelector(".av-keys").click();
      el.querySelector(".av-panel").click();
      await tick(0);
      return [first, second, m.state.symbols, el.values.logits.length];
    """) == ["ABCL", "AB", "AB", 2]


@pytest.mark.parametrize("query", [3, 8])
def test_what_is_added_is_what_the_figure_says(page, query):  # noqa: F811
    """Of the query that is shown, and not of the last symbol."""
    page.open("induction", symbols="ABCDEFABC")
    page.do(f"m.set('query', {query}); await frame(); return null")
    largest = page.do("el.values.logits.map((r) => r.indexOf(Math.max(...r)))")
    assert largest[3] != largest[8]
    said = "ABCDEFGHIJKL"[largest[query]]
    assert f"says {said} with a chance" in page.do("said()")
    assert page.do(f"""{TICK}
      el.querySelector("[data-symbol=said]").click();
      await tick(0);
      return [m.state.symbols, m.state.query, el.values.query];
    """) == ["ABCDEFABC" + said, 9, 9]


def test_no_slider_tells_a_stored_step_of_weights_trained_here(trainer):
    assert trainer.do(f"""{TRAIN}
      const hidden = () => field("step").closest("div").hidden;
      const seen = [hidden()];
      button.click();
      await tell(1, 2.5, 0.1);
      seen.push([yours(), hidden()]);
      box.click();
      await tick(0);
      seen.push([yours(), hidden()]);
      return seen;
    """) == [False, [True, True], [False, False]]


def test_a_press_on_a_symbol_asks_it(page):  # noqa: F811
    page.open("induction", symbols="ABCAB")
    assert page.do(f"""{TICK}
      const arcs = el.querySelector(".av-arcs");
      const {{ left, width }} = arcs.getBoundingClientRect();
      const seen = [0.1, 1.9, 3.1].map((place) => {{
        arcs.firstElementChild.dispatchEvent(new PointerEvent("click",
          {{ bubbles: true, clientX: left + place * width / 5 }}));
        return m.state.query;
      }});
      await tick(0);
      el.querySelector(".av-say").click();
      return [seen, m.state.query, m.sets.length];
    """) == [[0, 1, 3], 3, 3]
