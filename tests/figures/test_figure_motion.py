"""What moves by itself in a figure, in a time that the test tells.

The player of a film, the opening of the landing page and a training, on an
empty page. Where a film is at a time is tested in `test_figures_in_time.py`:
here it is what the page must show.
"""

import json
import re

import numpy as np
import pytest
from bs4 import BeautifulSoup

from course import figures
from course.evidence import trained_induction
from course.figures import Film, KVCacheCalculator, Words
from tests.empty_page import drawn, state_of
from tests.figures.agreement import assert_same
from tests.figures.expected_figures import EXPECTED

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

# --- player.js --------------------------------------------------------------

FILM = f"""{TICK}
  const [back, play, next] = el.querySelectorAll(".av-keys button");
  const [key] = ["at", "filled", "step"].filter((k) => field(k));
  // Where it is, what the button says, and whether it goes on.
  const seen = () => [m.state[key], play.textContent, frames.length];
  const from = (place) => become({{ [key]: place }});
"""


def played(figure, key, end, times):
    """Where a film from its state up to `end` is at some times."""
    return [min(figure.frame(float(ms))["own"][key], end) for ms in times]


def on_the_bar(places):
    """Places as a slider of hundredths has them."""
    return [pytest.approx(round(place, 2)) for place in places]


def test_player_next_plays_one_step_and_stands(page):
    page.open("film", at=1)
    assert page.do(f"""{FILM}
      return [el.querySelector("form").previousElementSibling.className,
        ...[back, play, next].map((it) =>
          [it.textContent, it.type, it.dataset.lmSuppressShortcuts])];
    """) == [
        "av-panel av-keys",
        *([name, "button", "true"] for name in ("Back", "Play", "Next")),
    ]
    times = [0, 150, 300, 700, 899, 900]
    found = page.do(f"""{FILM}
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
    assert page.do("shown()") == drawn("film", at=2)
    assert page.do(f"""{FILM}
      await from(1.4);  // between two steps: to the following one
      next.click();
      await tick(0);
      const between = seen();
      await tick(5000);
      between.push(...seen());
      // A step that is reached but for a rounding error is reached.
      field("at").step = "any";
      give("at", 1.9999999999);
      next.click();
      await tick(5000);
      const rounded = seen();
      await from(2);  // while it plays
      play.click();
      await tick(0);
      await tick(450);
      next.click();
      await tick(5000);
      const playing = seen();
      await from(7);  // at the end
      next.click();
      return [between, rounded, playing, seen()];
    """) == [
        [1, "Pause", 1, 2, "Play", 0], [3, "Play", 0], [3, "Play", 0],
        [7, "Play", 0],
    ]  # fmt: skip


def test_player_back_jumps_to_the_step_before(page):
    page.open("film")
    assert page.do(f"""{FILM}
      const all = [];
      for (const place of [0, 1, 2.5, 7]) {{
        await from(place);
        for (let k = 0; k < 3; k += 1) {{
          back.click();
          await tick(0);
          all.push(seen());
        }}
      }}
      return all;
    """) == [
        [place, "Play", 0] for place in (0, 0, 0, 0, 0, 0, 2, 1, 0, 6, 5, 4)
    ]


def test_player_play_goes_to_the_end_and_from_there_to_the_start(page):
    page.open("film")
    times = [0, 300, 1400, 1900, 2100, 20_000]
    for start, begins in [(2, 2), (2.7, 2), (7, 0)]:
        found = page.do(f"""{FILM}
          await from({start});
          play.click();
          return watch({times}, seen);
        """)
        places = played(Film(at=begins), "at", 7, times)
        assert [place for place, _, _ in found] == on_the_bar(places)
        assert [said for _, said, _ in found] == ["Pause"] * 5 + ["Play"]
        assert found[-1] == [7, "Play", 0]
    # Its time depends on the settings that it began with: a change from
    # Python moves no picture.
    page.open("film", at=0)
    words = {"words": "a b c d", "X": [[1], [-2], [0.25], [2]]}
    assert page.do(f"""{FILM}
      await become({json.dumps(words)});
      play.click();
      await tick(0);
      await tick(20000);
      return seen();
    """) == [Film(at=0, **words).frame(1e6)["own"]["at"], "Play", 0]


def test_player_stops_for_a_press_a_key_and_out_of_sight(page):
    page.open("film")
    ways = {
        "play.click()": 2.5,
        "back.click()": 2,
        "pointer(field('query'), 'pointerdown')": 2.5,
        "press(field('query'), 'x')": 2.5,
        "document.querySelector('.av-keys').click()": 2.5,
    }
    for way, there in ways.items():
        assert page.do(f"""{FILM}
          await from(2);
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
        """) == [
            [2.5, "Pause", 1], "Play", [there, "Play", 0], [there, "Play", 0],
        ], way  # fmt: skip
    assert page.do(f"""{FILM}
      await from(2);
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


def test_player_is_silent_until_the_film_stands(page):
    page.open("film", at=2)
    assert page.do(f"""{FILM}
      next.click();
      await tick(0);
      await tick(450);
      await pause(600);
      const silent = spoken();
      await tick(5000);
      await pause(600);
      return [silent, spoken() === said()];
    """) == ["", True]


def test_player_shows_stills_where_no_motion_is_wanted(page):
    page.tab.emulate_media(reduced_motion="reduce")
    times = [*range(0, 6500, 130), 10_000]
    look = f"""{FILM}
      play.click();
      const all = await watch({times}, () => m.state[key]);
      next.click();
      await tick(0);
      return [all, ...seen()];
    """
    jump = f"""{FILM}
      back.click();
      const before = m.state[key];
      next.click();
      await tick(0);
      return [before, ...seen()];
    """
    page.open("film", at=0)
    steps = [int(at) for at in played(Film(at=0), "at", 7, times)]
    assert page.do(look) == [steps, 7, "Play", 0]
    assert page.do(jump) == [6, 7, "Play", 0]
    # A cache is shown full to an eighth, to two eighths, ...
    figure = KVCacheCalculator(S=43, filled=30)
    page.open("kvcache", S=43, filled=30)
    stills = [k * 43 / 8 for k in range(9)]
    reached = played(figure, "filled", 43, times)
    full = [int(max(s for s in stills if s <= at)) for at in reached]
    assert page.do(look) == [[max(at, 30) for at in full], 43, "Play", 0]
    assert len({*full} - {26}) >= 3


@pytest.mark.parametrize(
    ("name", "key", "settings", "end"),
    [
        ("kvcache", "filled", {"S": 40, "filled": 3}, 40),
        ("tiles", "step", {"step": 1}, 6),
    ],
)
def test_player_gives_what_the_bar_gives(page, name, key, settings, end):
    page.open(name, **settings)
    start = settings[key]
    seen = page.do(f"""{FILM}
        const state = () => [m.state[key], play.textContent, shown()];
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
        return all;
    """)
    values = [value for value, *_ in seen]
    assert values[:3] == [start + 1, start, start]
    assert [said for _, said, _ in seen[:3]] == ["Play", "Play", "Pause"]
    way = values[2:-2]
    assert way == sorted(way)
    assert way[-1] == values[-2] == end, "next stays at the end"
    assert len(set(way)) > 5
    assert 0 < values[-1] < end, "from the beginning, and paused"
    for value, _, text in seen[::9]:
        assert text == drawn(name, **{**settings, key: value}), value


def test_film_draws_its_strip_anew_before_it_is_printed(page):
    page.open("film", static=True)
    strip = "el.querySelector('.av-stills').outerHTML"
    first, before, again, closed = page.do(f"""
      const first = {strip};
      give("words", "one two three");
      give("query", 1);
      await frame();
      const before = {strip};
      dispatchEvent(new Event("beforeprint"));
      const again = {strip};
      close();
      m.state.query = 2;
      dispatchEvent(new Event("beforeprint"));
      return [first, before, again, {strip}];
    """)
    html = Film(words="one two three", query=1).html()
    wanted = BeautifulSoup(html, "html.parser").select_one(".av-stills")
    assert before == first
    assert str(BeautifulSoup(again, "html.parser")) == str(wanted)
    assert closed == again, "a figure that is closed draws nothing"


# --- the opening of words.js ------------------------------------------------

TIMES = [0, 499, 650, 1150, 1800, 2400, 2700, 3350, 3900, 3999]
WORDS = f"""{TICK}
  const seen = () => [shown(), ...["x", "y"].map((key) => [field(key).value,
    field(key).closest("div").querySelector("output").value])];
"""


def test_words_opening_turns_the_query_once_and_gives_it_back(page):
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
        m.sets.length - sets, m.saves, field("sentence").selectedIndex];
    """)
    all_, *rest = found
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
    "way",
    [
        "pointer(el, 'pointerdown')",
        "press(el, 'x')",
        "el.dispatchEvent(new Event('input'))",
        "dispatchEvent(new PopStateEvent('popstate'))",
        "close()",
        "Object.defineProperty(document, 'hidden', { value: true })",
        "calm",
    ],
)
def test_words_opening_ends_where_a_reader_takes_over(page, way):
    page.open("words", static=True)
    page.do(f"{TICK} await tick(1800); return null;")
    if way == "calm":
        page.tab.emulate_media(reduced_motion="reduce")
        way = "null"
    assert page.do(f"""{WORDS}
      const moved = shown();
      {way};
      await tick(16);
      await tick(16);
      dispatchEvent(new PopStateEvent("popstate"));
      return [moved !== shown(), ...seen(), frames.length];
    """) == [True, drawn("words"), ["2", "2"], ["0.5", "0.5"], 0]


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
    assert page.do(f"""{WORDS}
      const waits = frames.length;
      await tick(1800);
      return [waits, shown(), frames.length];
    """) == [0, drawn("words", **state), 0]


# --- the training of induction.js -------------------------------------------


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
  const guide = (name) => el.querySelector(`[data-guide=${{name}}]`).click();
  const [box] = label.children;
  const told = () => el.querySelector(".av-told").textContent;
  const lines = () => [...el.querySelectorAll(".av-below .av-line")]
    .map((line) => line.getAttribute("d"));
  const yours = () => said().includes("your training");
  const tell = async (step, loss, right) => {{
    const data = {{ step, loss, right, numbers: globalThis.numbers }};
    workers.at(-1).dispatchEvent(new MessageEvent("message", {{ data }}));
    await tick(0);
  }};
"""


@pytest.fixture
def trainer(page):
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


def test_training_is_told_drawn_and_asked(trainer):
    found = trainer.do(f"""{TRAIN}
      const look = () => [button.textContent, told().slice(0, 6),
        label.hidden, box.checked, yours(),
        field("step").closest("div").hidden];
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
      return [all, told(), silent, spoken() === said(), worker.asked,
        worker.ended, frames.length];
    """)
    looks, *rest = found
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
    paths = trainer.do(f"{TRAIN} return lines()")
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
    assert trainer.do(f"""{TRAIN}
      const seen = [];
      const look = async () => {{ await tick(0); seen.push(yours()); }};
      // Some browsers give a form back as it was before a reload.
      box.checked = true;
      m.set("query", 3); await look();
      button.click();
      await tell(1, 2.5, 0.1);
      box.click(); await look();
      await tell(2, 2.4, 0.1); await look();
      box.click(); await look();
      m.set("query", 2); await look();
      m.set("step", m.state.step); await look();
      m.set("step", 80); await look();
      const asked = box.checked;
      box.click();
      m.set("step", m.state.step); await look();
      box.click(); await look();
      return [seen, asked];
    """) == [
        [False, False, False, True, True, True, False, True, False], False
    ]  # fmt: skip
    assert_same(
        trainer.do("el.values"),
        EXPECTED["induction"](state_of("induction", step=80, query=2)),
    )


def test_training_ends_after_its_steps_and_begins_anew(trainer):
    last = "Step 200 of 200, seed 1: loss 0.25, 95.0% right."
    assert trainer.do(f"""{TRAIN}
      const look = () => [button.textContent, workers[0].ended, yours()];
      button.click();
      await tell(1, 2.5, 0.1);
      await tell(199, 0.5, 0.9);
      const all = [look()];
      await tell(200, 0.25, 0.95);
      all.push(look(), told());
      button.click();
      all.push(look(), told(), workers[1].asked[0].seed);
      await tick(0);
      all.push(yours());
      await tell(1, 2.5, 0.1);
      all.push(lines().map((d) => d.split("L").length));
      // The last step may be told after it was stopped.
      button.click();
      await tell(200, 0.25, 0.95);
      return [...all, look(), told().slice(0, 8)];
    """) == [
        ["Stop", 0, True],
        ["Train again", 1, True], last,
        ["Stop", 1, True], "Seed 2: starting.", 2, True,
        [1, 1],
        ["Train again", 1, True], "Step 200",
    ]  # fmt: skip


def test_guide_leads_through_the_four_steps(trainer):
    heads = ["head_0_0", "head_0_1", "head_1_0", "head_1_1"]
    assert trainer.do(f"""{TRAIN}
      const heads = {json.dumps(heads)};
      const look = async () => {{
        await tick(0);
        return [m.state.step, heads.filter((key) => !m.state[key]), yours()];
      }};
      // Untrained, so no head is known yet: the stored training has one.
      guide("previous");
      const all = [await look()];
      guide("untrained");
      all.push(await look());
      // What was trained here has a head of its own for it.
      button.click();
      await tell(1, 2.5, 0.1);
      guide("previous");
      all.push(await look());
      guide("untrained");
      all.push(await look());
      guide("own");
      const {{ selectionStart, selectionEnd, value }} = document.activeElement;
      all.push([selectionStart, selectionEnd, value === m.state.symbols]);
      return all;
    """) == [
        [300, ["head_0_1"], False],
        [0, [], False],
        [0, ["head_0_1"], True],
        [0, [], False],
        [0, len("FLICKEDFLICK"), True],
    ]  # fmt: skip


def test_training_says_how_long_it_will_take(trainer):
    found = trainer.do(f"""{TRAIN}
      const before = told();
      button.click();
      await tell(1, 2.5, 0.1);
      const running = told();
      button.click();
      await tick(0);
      return [before, running, told()];
    """)
    before, running, after = found
    assert re.findall(r"\d+", before) == ["200", "300"]
    assert re.search(r"right; about \d+ (second|minute)s? left\.$", running)
    assert after.endswith(" right.")


def test_training_runs_in_a_worker_that_ends(trainer):
    steps, gone, ended, listens = trainer.do(f"""{TRAIN}
      const revoke = URL.revokeObjectURL;
      const gone = [];
      URL.revokeObjectURL = (address) => gone.push(address);
      button.click();
      const [{{ address, ended }}] = workers;
      const text = await (await fetch(address)).text();
      revoke(address);
      const posts = [];
      const scope = {{ postMessage: (data) => posts.push(data.step) }};
      Function("self", text)(scope);
      scope.onmessage({{ data: {{ seed: 1, steps: 2, size: 1 }} }});
      close();
      return [posts, gone.length === 1 && gone[0] === address,
        workers[0].ended - ended, m.listeners.length];
    """)
    assert steps == [1, 2], "the text alone, with no module beside it, trains"
    assert gone, "a browser keeps a text until it is told otherwise"
    assert (ended, listens) == (1, 0), "a figure that is closed trains no more"


def test_training_without_a_worker_says_so(trainer):
    assert trainer.do(f"""{TRAIN}
      globalThis.Worker = class {{ constructor() {{ throw Error("no"); }} }};
      button.click();
      return [button.textContent, told(), label.hidden, frames.length];
    """) == [
        "Train",
        "This browser starts no worker, so it cannot train here.", True, 0,
    ]  # fmt: skip


def test_training_with_less_motion_shows_every_fiftieth_step(trainer):
    trainer.tab.emulate_media(reduced_motion="reduce")
    assert trainer.do(f"""{TRAIN}
      button.click();
      const seen = [];
      for (const step of [1, 49, 50, 51, 100]) {{
        const data = {{ step, loss: 1, right: 0, numbers }};
        workers[0].dispatchEvent(new MessageEvent("message", {{ data }}));
        const asked = frames.length;
        await tick(0);
        seen.push([told().split(",")[0], lines().length,
          lines()[0]?.split("L").length, asked]);
      }}
      return seen;
    """) == [
        ["Step 1 of 200", 2, 8, 0], ["Step 49 of 200", 2, 8, 0],
        ["Step 50 of 200", 2, 3, 1], ["Step 51 of 200", 2, 3, 0],
        ["Step 100 of 200", 2, 5, 1],
    ]  # fmt: skip
