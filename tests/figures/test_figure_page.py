"""What only a browser runs of a figure: fields, address, keys, speech.

Each test opens an empty page, gives a figure a model that keeps a record, and
works its fields in the page itself, which takes milliseconds. The pages that
readers open, with real keys and taps, are in `test_figures.py`.
"""

import json

import pytest
from bs4 import BeautifulSoup
from playwright.sync_api import Route

from helpers import figures
from tests.figures.expected_figures import CLASSES, EXPECTED, states

HOST = "http://figures.test/"
# The page's own hands: open a figure, work a field, let time pass. Time is the
# test's: no clock runs, so a busy machine changes nothing.
HANDS = """
let now = 1000;
let timers = [];
let frames = [];
const realFrame = requestAnimationFrame;
globalThis.setTimeout = (f, ms) => timers.push({ at: now + ms, f });
globalThis.clearTimeout = (id) => { if (id) timers[id - 1] = null; };
globalThis.requestAnimationFrame = (f) => { frames.push(f); return f; };
globalThis.cancelAnimationFrame = (f) => {
  frames = frames.filter((other) => other !== f);
};
performance.now = () => now;
const settle = async () => { for (let k = 0; k < 5; k += 1) await null; };
const pause = async (ms) => {
  await settle();
  now += ms;
  timers.forEach((timer, k) => {
    if (!timer || timer.at > now) return;
    timers[k] = null;
    timer.f();
  });
  await settle();
};
const frame = async (ms = 0) => {
  now += ms;
  for (const f of frames.splice(0)) f(now);
  await settle();
};
const layout = () => new Promise((done) => realFrame(() => realFrame(done)));
const model = (state) => ({
  state: { ...state }, sets: [], saves: 0, listeners: [],
  get(key) { return this.state[key]; },
  set(key, value) {
    this.sets.push([key, value]);
    this.state[key] = value;
    const told = this.listeners.filter(([e]) => e === `change:${key}`);
    for (const [, listener] of told) listener();
  },
  save_changes() { this.saves += 1; },
  on(event, f) { this.listeners.push([event, f]); },
  off(event, f) {
    this.listeners = this.listeners.filter(([e, g]) => e !== event || g !== f);
  },
});
const open = (name, state, html = "") => {
  const box = document.createElement("main");
  box.innerHTML = html || "<div></div>";
  const el = box.firstElementChild;
  document.body.append(box);
  const m = model(state);
  const close = attentionFigures[name].render({ model: m, el });
  Object.assign(globalThis, { el, m, close });
};
const field = (key) => el.querySelector(`form [name=${key}]`);
const give = (key, value) => {
  const f = field(key);
  if (f.type === "checkbox") f.checked = value;
  else f.value = value;
  f.dispatchEvent(new Event("input", { bubbles: true }));
};
const error = () => el.querySelector(".av-error").textContent;
const spoken = () => el.querySelector(".av-spoken").textContent;
const said = () => el.querySelector(".av-say").textContent;
const marked = () =>
  [...el.querySelectorAll("[aria-invalid]")].map((f) => f.name);
"""


def state_of(name, **settings):
    figure = CLASSES[name](**settings)
    return {key: getattr(figure, key) for key in figure._settings()}


def drawn(name, **settings):
    """The result as Python stores it."""
    html = CLASSES[name](**settings).html()
    soup = BeautifulSoup(html, "html.parser")
    return soup.select_one(".av-result").text


class Page:
    """A page of a test's own, with the scripts of the figure it opens."""

    def __init__(self, tab):
        self.tab = tab

    def open(self, name, query="", static=False, **settings):
        """Open a figure, as Jupyter does or as the static page holds it."""
        self.tab.goto(HOST + query)
        css = (figures.FOLDER / "figures.css").read_text("utf-8")
        self.tab.add_style_tag(content=css)
        self.tab.add_script_tag(content=figures.script(name) + HANDS)
        html = ""
        if static:
            figure = CLASSES[name](**settings)
            html = figure.html()
        state = state_of(name, **settings)
        self.do(f"open({', '.join(map(json.dumps, (name, state, html)))})")

    def do(self, script):
        """What a script returns, which may wait; or an expression's value."""
        body = script if "return " in script else f"return {script.strip()}"
        return self.tab.evaluate(f"async () => {{ {body} }}")


@pytest.fixture
def page(browser):
    tab = browser.new_page(viewport={"width": 1000, "height": 800})
    errors = []
    tab.on("pageerror", lambda error: errors.append(str(error)))

    def answer(route: Route):
        route.fulfill(
            body="<!doctype html><meta charset=utf-8><title>F</title><body>",
            content_type="text/html",
        )

    tab.route("**/*", answer)
    yield Page(tab)
    tab.close()
    assert not errors


@pytest.mark.parametrize("name", CLASSES)
def test_a_figure_draws_itself_in_an_empty_place(page, name):
    page.open(name)
    assert page.do("[el.classList.contains('av-figure'), "
                   "el.classList.contains('av-live'), "
                   "el.querySelector('form').hidden]") == [
                       True, True, False]  # fmt: skip
    shown = page.do("el.querySelector('.av-result').textContent")
    assert shown == drawn(name)
    assert error_of(page) == ""
    # In JupyterLab keys belong to the fields, not to the notebook.
    assert page.do(
        "[...el.querySelectorAll('form [name], .av-result, "
        ".av-result [tabindex]')]"
        ".every((part) => part.dataset.lmSuppressShortcuts === 'true')"
    )
    assert page.do("el.dataset.figure") == name
    assert page.do("m.sets.length + m.saves") == 0
    assert page.do("location.search") == ""
    assert page.do("close(); return m.listeners.length") == 0


def error_of(page):
    return page.do("error()")


@pytest.mark.parametrize("name", CLASSES)
def test_a_figure_that_is_there_is_not_drawn_anew(page, name):
    page.open(name, static=True)
    assert page.do("el.querySelectorAll('form').length") == 1
    assert page.do("el.querySelector('form').hidden") is False
    assert page.do("el.getAttribute('class')") == "av-figure av-live"
    assert page.do("el.querySelector('.av-result').textContent") == drawn(name)
    assert page.do("[...el.querySelectorAll('noscript')].length") == 1
    assert page.do("location.search") == ""


def test_a_slider_moves_its_trait_its_number_and_the_picture(page):
    page.open("causal", T=5)
    assert page.do("""
        give("T", 6)
        const before = [m.state.T, el.values.weights.length];
        await frame()
        return [before, el.values.weights.length, m.sets, m.saves, error(),
         field("T").nextElementSibling, field("T").closest("div")
         .querySelector("output").value]
    """) == [[6, 5], 6, [["T", 6]], 1, "", None, "6"]  # fmt: skip
    # A field that is held is not filled anew, and tells its number at once.
    told = page.do("""
        field("T").focus()
        give("T", 7)
        return field("T").closest("div").querySelector("output").value
    """)
    assert told == "7"
    page.do("give('T', 6); await frame(); return null")
    shown = page.do("el.querySelector('.av-result').textContent")
    assert shown == drawn("causal", T=6)
    assert page.do("""
        give("slope", 0.25)
        give("slope", 0.5)
        await frame()
        return [m.state.slope, m.saves, el.classList.contains("av-live")]
    """) == [0.5, 5, True]


def test_several_moves_are_painted_once(page):
    page.open("causal")
    assert page.do("""
        let painted = 0;
        new MutationObserver(() => painted += 1)
          .observe(el.querySelector(".av-result"), { childList: true });
        for (const T of [5, 6, 7]) give("T", T);
        await frame()
        const first = painted;
        give("T", 9);
        await frame()
        return [first, painted, el.values.weights.length]
    """) == [1, 2, 9]


def test_every_kind_of_field_is_read_and_filled(page):
    page.open("saturation")
    assert page.do("""
        give("d_k", 3)
        const f = field("d_k");
        const output = () => f.closest("div").querySelector("output").value;
        const read = [m.state.d_k, f.getAttribute("aria-valuetext"), output()];
        m.set("d_k", 256)
        give("scale", true)
        give("seed", "12")
        const typed = [m.state.scale, m.state.seed];
        m.set("scale", false)
        m.set("seed", 7)
        await frame()
        return [read, typed, f.value, f.getAttribute("aria-valuetext"),
          output(), field("scale").checked, field("seed").value]
    """) == [[8, "8", "8"], [True, 12], "8", "256", "256", False, "7"]
    shown = page.do("el.querySelector('.av-result').textContent")
    ghost = page.do("el.querySelector('.av-caption').textContent")
    assert shown.replace(ghost, "") == drawn("saturation", d_k=256, seed=7)
    page.open("causal")
    assert page.do("""
        m.set("mask", "padding")
        m.set("slope", 0.03)
        await frame()
        const between = [field("slope").value, field("slope").step];
        m.set("slope", 0.25)
        return [field("mask").value, between, field("slope").value,
         field("slope").step]
    """) == ["padding", ["0.03", "any"], "0.25", "0.0625"]
    page.open("step")
    assert page.do("""
        m.set("X", [[1, 2], [3, -4]])
        await frame()
        return [field("X").value, el.values.dots]
    """) == ["1 2\n3 -4", [[5, -5], [-5, 25]]]


def test_a_slider_between_its_steps_goes_back_to_them(page):
    page.open("causal", slope=0.03)
    assert page.do("""
        const f = field("slope");
        const before = f.step;
        give("slope", f.value)
        const step = f.step;
        return [before, step, m.state.slope === Number(f.value),
          f.value % 0.0625]
    """) == ["any", "0.0625", True, 0]


def test_what_is_typed_wrong_is_named_and_the_picture_stays(page):
    page.open("kvcache", n_layers=3)
    assert page.do("""
        const shown = el.querySelector(".av-result").innerHTML;
        give("n_layers", "0")
        await frame()
        const mark = field("n_layers").getAttribute("aria-invalid");
        const wrong = [error(), marked(), mark, m.sets.length, m.saves,
          el.querySelector(".av-result").innerHTML === shown];
        give("S", "0")
        const both = marked();
        give("n_layers", "4")
        const rest = [error(), marked(), m.state.n_layers];
        give("S", "5")
        await frame()
        return [wrong, both, rest,
          [error(), marked(), m.state.n_layers, m.state.S]]
    """) == [
        [
            "layers L (n_layers) must be a whole number from 1 to 256; got 0."
            " The figure shows the last state that fits.",
            ["n_layers"], "true", 0, 0, True,
        ],
        ["n_layers", "S"],
        ["positions S must be a whole number from 1 to 10,000,000; got 0. The "
         "figure shows the last state that fits.", ["S"], 3],
        ["", [], 4, 5],
    ]  # fmt: skip


def test_what_does_not_fit_together_waits_for_the_other(page):
    page.open("step", what="Q, K, V", Q=[[1.0, 2]], K=[[3.0, 4]], V=[[5.0]])
    stale = """
        const label = () => getComputedStyle(
          el.querySelector(".av-result"), "::before").content;
        const stale = () => [el.classList.contains("av-stale"), label(),
          getComputedStyle(el.querySelector(".av-wide")).filter];
    """
    assert page.do(f"""{stale}
        const before = stale();
        give("Q", "1 2 3")
        await frame()
        const first = [error().slice(0, 40), marked(), m.state.Q, stale()];
        give("scale", false)
        const second = [marked(), m.state.scale, stale()[0]];
        give("K", "4 5 6")
        await frame()
        return [before, first, second, error(), marked(), m.state.Q,
          m.state.K, m.state.scale, stale()]
    """) == [
        [False, "none", "none"],
        ["Q and K must have rows of one length; go", ["Q"], [[1, 2]],
         [True, '"the last state that fits"', "grayscale(1)"]],
        [["Q"], True, True],
        "", [], [[1, 2, 3]], [[4, 5, 6]], False, [False, "none", "none"],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("H", "H_kv", "key", "value", "settled"),
    [
        (8, 8, "H_kv", 7, 4),  # down from 8, and on
        (8, 4, "H_kv", 3, 2),
        (8, 4, "H_kv", 5, 8),  # up
        (8, 4, "H_kv", 20, 8),  # and no farther
        (8, 8, "H", 9, 9),  # the nearest
        (8, 4, "H", 9, 3),
        (8, 2, "H", 9, 1),  # of two that are as near, the smaller
        (9, 3, "H", 10, 2),
        (9, 3, "H", 1, 1),
    ],
)
def test_heads_that_do_not_fit_move_to_those_that_do(
    page, H, H_kv, key, value, settled
):
    page.open("heads", H=H, H_kv=H_kv)
    found = page.do(f"""
        give("{key}", {value})
        const told = [error(), el.classList.contains("av-stale")];
        await frame()
        return [m.state.H, m.state.H_kv, +field("H_kv").value,
          el.values.kv_head.length, new Set(el.values.kv_head).size,
          marked(), told, error() === told[0]]
    """)
    wanted = value if key == "H" else H
    fits = [n for n in range(1, wanted + 1) if wanted % n == 0]
    says = (
        f"H_kv is now {settled}: {wanted} query head{'s' * (wanted > 1)} can "
        f"share {', '.join(map(str, fits))}."
    )
    assert settled in fits
    if key == "H_kv" or wanted % H_kv:
        told = [says, False]
    else:
        told = ["", False]
    assert found == [wanted, settled, settled, wanted, settled, [], told, True]
    # What fits again says nothing.
    page.do("give('T', 2)")
    assert error_of(page) == ""


def test_a_wrong_entry_that_no_longer_matters_is_forgotten(page):
    page.open("step", what="Q, K, V", Q=[[1.0, 2]], K=[[3.0, 4]], V=[[5.0]])
    assert page.do("""
        give("K", "abc")
        give("V", "7")
        const before = [error().slice(0, 16), marked(), m.state.V];
        give("what", "X")
        await frame()
        const after = [error(), marked(), m.state.what, m.state.V];
        return [before, after, field("K").value, field("V").value, m.state.K]
    """) == [
        ["each number of K", ["K"], [[5]]],
        ["", [], "X", [[7]]],
        "3 4", "7", [[3, 4]],
    ]  # fmt: skip


def test_a_preset_fills_all_its_fields(page):
    page.open("kvcache")
    sizes = figures.presets("kvcache")["GPT-2 small"]
    assert page.do("""
        give("preset", "GPT-2 small")
        await frame()
        const [first, shown] = [m.state, field("preset").value];
        const values = ["n_layers", "n_kv_heads", "d_k", "d_v", "S"]
          .map((key) => field(key).value);
        const before = [{ ...m.state }, values, shown];
        give("d_v", "63")
        await frame()
        return [...before, field("preset").value, said().slice(0, 11)]
    """) == [
        state_of("kvcache", **sizes),
        ["12", "12", "64", "64", "8192"],
        "GPT-2 small", "own numbers", "These sizes",
    ]  # fmt: skip
    page.do('give("preset", "own numbers")')
    assert page.do("m.state.d_v") == 63


def test_a_preset_that_does_not_fit_is_shown_and_waits(page):
    small = {"n_layers": 1, "n_kv_heads": 1, "d_k": 1, "d_v": 1}
    page.open("kvcache", S=10**7, batch=4096, **small)
    assert page.do("""
        give("preset", "GPT-2 small")
        await frame()
        const values = () => ["n_layers", "n_kv_heads", "d_k", "d_v"]
          .map((key) => field(key).value);
        const first = [values(), m.sets.length,
          error().startsWith("the cache would take more than 1 PiB")];
        give("batch", "1")
        await frame()
        return [...first, values(), error(), m.state.n_layers, m.state.d_v];
    """) == [
        ["12", "12", "64", "64"], 0, True, ["12", "12", "64", "64"], "", 12, 64
    ]  # fmt: skip


def test_what_is_forgotten_is_not_shown_while_something_else_is_wrong(page):
    page.open("film", what="X, W_Q, W_K, W_V")
    assert page.do("""
        const before = field("W_Q").value;
        give("words", "a b")
        give("W_Q", "abc")
        const wrong = [field("W_Q").value, marked()];
        give("what", "X")
        const first = [field("W_Q").value === before, error().slice(0, 13),
          m.sets.length];
        give("words", "a b c")
        await frame()
        give("what", "X, W_Q, W_K, W_V")
        await frame()
        return [wrong, first, error(), marked(), m.state.what];
    """) == [
        ["abc", ["W_Q"]], [True, "words and X m", 0], "", [],
        "X, W_Q, W_K, W_V",
    ]  # fmt: skip


def test_fields_end_and_hide_as_the_state_says(page):
    page.open("positions", kind="sinusoid", pairs=8, pair=7)
    assert page.do("""
        const hidden = (key) => field(key).closest("div").hidden;
        const before = [hidden("pair"), hidden("heads"), field("pair").max];
        give("pairs", 3)
        await frame()
        const f = field("pair");
        const cut = [f.max, f.value,
          f.closest("div").querySelector("output").value, m.state.pair];
        give("kind", "ALiBi")
        await frame()
        const after = [hidden("pair"), hidden("heads")];
        m.set("kind", "sinusoid")
        m.set("pairs", 16)
        await frame()
        return [before, cut, after, f.max, f.value]
    """) == [
        [False, True, "7"], ["2", "2", "2", 7], [True, False], "15", "7",
    ]  # fmt: skip


def test_the_kernel_moves_the_fields_but_not_what_is_being_typed(page):
    page.open("kvcache")
    assert page.do("""
        field("S").focus()
        give("S", "")
        const wrong = error() !== "";
        m.set("n_layers", 5)
        const typing = [field("S").value, field("n_layers").value,
          error() !== ""];
        m.set("S", 77)
        await frame()
        const own = [field("S").value, error()];
        field("n_layers").focus()
        m.set("S", 78)
        await frame()
        return [wrong, typing, own, field("S").value, el.values.per_layer]
    """) == [True, ["", "5", True], ["", ""], "78", 4096]
    # A state that cannot be shown is named, and the picture stays.
    assert page.do("""
        const shown = el.querySelector(".av-result").innerHTML;
        m.set("S", 0)
        await frame()
        const named = error();
        const stays = el.querySelector(".av-result").innerHTML === shown;
        m.set("S", 5)
        await frame()
        return [named, stays, error(),
          el.values.per_sequence / el.values.per_token]
    """) == ["positions S must be a whole number from 1 to 10,000,000; got 0. "
            "The figure shows the last state that fits.",
             True, "", 5]  # fmt: skip


def test_sending_the_form_does_not_leave_the_page(page):
    page.open("kvcache")
    assert page.do("""
        const event = new Event("submit", { cancelable: true });
        el.querySelector("form").dispatchEvent(event)
        return event.defaultPrevented
    """)


# --- speech ---------------------------------------------------------------


def test_each_move_is_spoken_once_it_rests(page):
    page.open("causal", T=3)
    assert page.do("""
        await frame()
        await pause(600)
        const silent = spoken();
        give("T", 4)
        await frame()
        const early = spoken();
        await pause(300)
        give("T", 5)
        await frame()
        await pause(499)
        const still = spoken();
        await pause(1)
        const first = spoken() === said() && spoken().includes("Query 4,");
        give("T", 6)
        await frame()
        await pause(650)
        return [silent, early, still, first, spoken() === said(),
         spoken().includes("Query 5,")]
    """) == ["", "", "", True, True, True]
    page.open("step")
    assert page.do("""
        el.querySelector('[data-at="output,0,0"]').focus()
        await pause(650)
        return [spoken() === said(), spoken().slice(0, 12)]
    """) == [True, "output[0][0]"]


@pytest.mark.parametrize("name", CLASSES)
def test_what_every_figure_says_is_spoken(page, name):
    page.open(name)
    page.tab.add_script_tag(content="".join(figures.scripts(name).values()))
    spoken_all = page.do(f"""
        let changed = 0;
        for (const state of {json.dumps(list(states(name, 4)))}) {{
          const before = said();
          Object.assign(m.state, state);
          m.set(...Object.entries(state)[0])
          await frame()
          await pause(600)
          if (said() === before) continue;
          changed += 1;
          if (spoken() !== said()) return spoken();
        }}
        return changed > 0
    """)
    assert spoken_all is True


def test_a_figure_that_is_closed_is_silent_and_still(page):
    page.open("causal", "?causal.T=4", static=True)
    assert page.do("""
        give("T", 9)
        await frame()
        close()
        const shown = el.querySelector(".av-result").innerHTML;
        await pause(600)
        const silent = spoken();
        m.state.T = 3;
        for (const [, listener] of [...m.listeners]) listener();
        dispatchEvent(new PopStateEvent("popstate"));
        await frame()
        el.querySelector(".av-say").textContent = "changed";
        el.style.width = "20px";
        await layout()
        await pause(600)
        return [silent, m.listeners.length, m.state.T, spoken(),
         el.querySelector(".av-wide").classList.contains("scrolls")]
    """) == ["", 0, 3, "", False]


# --- data that comes later -------------------------------------------------

LATER = "The data of this state did not load. The figure shows the last state"
# A page that brings the data when the test says so.
BRING = """
  globalThis.asked = [];
  const load = (name) => new Promise((come, fail) => {
    asked.push(name);
    Object.assign(globalThis, { come, fail });
  });
  const close_ = globalThis.close;
  globalThis.reopen = () => {
    close_();
    globalThis.close = attentionFigures.induction.render(
      { model: m, el, load });
  };
"""
WAITS = """[error(), el.querySelector(".av-result").getAttribute("aria-busy"),
  el.classList.contains("av-live"), asked]"""


def come(page):
    """The data is there, and is told to the figure that waits for it."""
    text = figures.scripts("induction")["induction-steps.js"]
    page.tab.add_script_tag(content=text)
    page.do("come(); await settle(); return null")


def test_the_picture_stays_until_its_data_has_come(page):
    page.open("induction")
    shown = "el.querySelector('.av-result').innerHTML"
    found = page.do(f"""{BRING}
        reopen();
        const first = {shown};
        m.set("step", 80)
        await frame()
        const waits = {WAITS};
        m.set("step", 60)
        await frame()
        return [waits, {WAITS}, {shown} === first];
    """)
    waits = ["", "true", True, ["induction-steps"]]
    assert found == [waits, waits, True], "asked for once"
    come(page)
    assert page.do(WAITS) == ["", None, True, ["induction-steps"]]
    said = BeautifulSoup(CLASSES["induction"](step=60).html(), "html.parser")
    assert page.do("said()") == said.select_one(".av-result .av-say").text
    # What has come is there for every other state.
    assert page.do("""
        m.set("step", 40)
        await frame()
        return [asked.length, el.values.chances.length]
    """) == [1, 12]


def test_a_page_that_opens_on_such_a_state_waits_for_it(page):
    page.open("induction", "?induction.step=80", static=True)
    assert page.do(f"{BRING} return null") is None
    page.do("el.classList.remove('av-live'); reopen(); return null")
    assert page.do(WAITS) == ["", "true", False, ["induction-steps"]]
    come(page)
    assert page.do(WAITS) == ["", None, True, ["induction-steps"]]
    assert page.do("el.values.logits.length") == 12


def test_data_that_does_not_come_is_said_and_asked_for_again(page):
    page.open("induction")
    shown = "el.querySelector('.av-result').innerHTML"
    first, kept, failed = page.do(f"""{BRING}
        reopen();
        const first = {shown};
        m.set("step", 80)
        await frame()
        fail();
        await settle()
        return [first, {shown}, {WAITS}];
    """)
    assert kept == first
    assert failed == [
        f"{LATER} that it has.", None, True, ["induction-steps"]
    ]  # fmt: skip
    page.do("m.set('step', 60); await frame(); return null")
    assert page.do("asked.length") == 2
    come(page)
    assert page.do(WAITS)[:3] == ["", None, True]


# --- what scrolls ---------------------------------------------------------


def test_what_scrolls_sideways_is_reached_by_the_keyboard(page):
    page.open("causal", T=12)
    look = """[...["tabindex", "role", "aria-label"].map((name) =>
      el.querySelector(".av-wide").getAttribute(name)),
      el.querySelector(".av-wide").classList.contains("scrolls")]"""
    assert page.do(look) == [None, None, None, False]
    wide = ["0", "group", "result, scrolls sideways", True]
    assert page.do(f"""
        el.style.width = "200px";
        await layout()
        const narrow = {look};
        el.style.width = "900px";
        await layout()
        return [narrow, {look}]
    """) == [wide, [None, None, None, False]]
    # A picture that grows wide in a place that stays as large as it was.
    page.open("causal", T=2)
    assert page.do(f"""
        Object.assign(el.style, {{ width: "200px", height: "900px" }});
        await layout()
        const narrow = {look};
        m.set("T", 12)
        await frame()
        return [narrow, {look}]
    """) == [[None, None, None, False], wide]
    page.open("step")
    assert page.do("""
        el.style.width = "60px";
        await layout()
        const boxes = [...el.querySelectorAll(".av-step > div")];
        return [boxes.every((box) => box.tabIndex === 0
           && box.getAttribute("role") === "group"),
         el.querySelector(".av-wide").hasAttribute("tabindex")]
    """) == [True, False]


# --- the address ----------------------------------------------------------


def test_an_address_sets_the_figure(page):
    query = "?causal.T=5&causal.slope=0.25&causal.mask=none&tiles.T=7&x=1"
    page.open("causal", query, static=True)
    assert page.do("[m.state.T, m.state.slope, m.state.mask, error(), "
                   "field('T').value, field('mask').value, "
                   "el.values.weights.length]") == [
                       5, 0.25, "none", "", "5", "none", 5]  # fmt: skip
    query = "?step.what=Q, K, V&step.Q=1 −2;3 4&step.K=1 1&step.V=2"
    query += "&step.scale=false&step.causal=false"
    page.open("step", query, static=True)
    state = {"what": "Q, K, V", "Q": [[1, -2], [3, 4]], "K": [[1, 1]],
             "V": [[2]], "scale": False, "causal": False}  # fmt: skip
    assert page.do("m.state") == state_of("step") | state
    assert error_of(page) == ""


def test_in_jupyter_the_address_is_not_read_and_not_written(page):
    page.open("causal", "?causal.T=5")
    assert page.do("""
        give("slope", 0.5)
        await pause(200)
        return [m.state.T, location.search]
    """) == [8, "?causal.T=5"]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("?causal.T=zwei", "tokens T must be a whole number from 2 to 64; "
         "got no number"),
        ("?causal.T=5&causal.gone=1", "the address has an unknown setting "
         "causal.gone"),
        ("?causal.T=5&causal.window=0", "window must be a whole number from "
         "1 to 64; got 0"),
    ],
)  # fmt: skip
def test_an_address_that_does_not_fit_says_so(page, query, message):
    page.open("causal", query, static=True)
    first = "The figure shows its first state."
    assert error_of(page) == f"{message}. {first}"
    assert page.do("m.state") == state_of("causal")
    assert page.do("el.values.weights.length") == 8


def test_the_address_follows_what_matters_after_a_pause(page):
    query = "?causal.gone=1&tiles.T=7&causal.length=3"
    page.open("causal", query + "#here", static=True)
    assert page.do("""
        give("mask", "sliding")
        give("T", 6)
        await pause(50)
        const early = location.search;
        give("slope", 0.5)
        await pause(99)
        const still = location.search;
        await pause(1)
        return [early === still, still, Object.fromEntries(
          new URLSearchParams(location.search)), location.hash]
    """) == [
        True, query,
        {"tiles.T": "7", "causal.mask": "sliding", "causal.T": "6",
         "causal.window": "3", "causal.slope": "0.5",
         "causal.temperature": "1", "causal.query": "5", "causal.key": "3"},
        "#here",
    ]  # fmt: skip
    page.open("step", static=True)
    assert page.do("""
        history.replaceState({ mine: 1 }, "");
        const length = history.length;
        give("X", "1 2\\n3 4")
        await pause(200)
        return [new URLSearchParams(location.search).get("step.X"),
         history.state, history.length === length,
         [...new URLSearchParams(location.search).keys()]]
    """) == ["1 2;3 4", {"mine": 1}, True,
             ["step.what", "step.X", "step.scale", "step.causal"]]  # fmt: skip


def test_going_back_brings_the_settings_back(page):
    page.open("causal", "?causal.T=5", static=True)
    assert page.do("""
        give("T", 9)
        await pause(200)
        const moved = location.search.includes("causal.T=9");
        history.replaceState(null, "", "?causal.T=4&causal.mask=none");
        field("T").focus()
        dispatchEvent(new PopStateEvent("popstate"));
        await frame()
        const back = [field("T").value, m.state.T, m.state.mask,
          el.values.weights.length];
        history.replaceState(null, "", "?");
        dispatchEvent(new PopStateEvent("popstate"));
        await frame()
        return [moved, back, m.state.T, m.state.mask]
    """) == [True, ["4", 4, "none", 4], 8, "causal"]


# --- the entries of a matrix ----------------------------------------------


def test_the_keys_of_a_matrix(page):
    page.open("step", X=[[1.0, 2.0], [3.0, 4.0], [0.0, 1.0]])
    press = """
      const at = () => document.activeElement.dataset.at;
      const press = (key, more = {}) => {
        const event = new KeyboardEvent("keydown",
          { key, bubbles: true, cancelable: true, ...more });
        document.activeElement.dispatchEvent(event);
        return [at(), event.defaultPrevented];
      };
      const cell = (at) => el.querySelector(`[data-at="${at}"]`);
    """
    moves = [("ArrowRight", "0,1"), ("ArrowDown", "1,1"), ("End", "1,2"),
             ("ArrowRight", "1,2"), ("ArrowLeft", "1,1"), ("Home", "1,0"),
             ("ArrowLeft", "1,0"), ("ArrowUp", "0,0"), ("ArrowUp", "0,0"),
             ("End", "0,2"), ("ArrowLeft", "0,1"), ("ArrowLeft", "0,0"),
             ("ArrowDown", "1,0"), ("ArrowDown", "2,0"),
             ("ArrowDown", "2,0")]  # fmt: skip
    keys = json.dumps([key for key, _ in moves])
    assert page.do(f"""{press}
        cell("dots,0,0").focus()
        return {keys}.map((key) => press(key))
    """) == [[f"dots,{at}", True] for _, at in moves]
    assert page.do(f"""{press}
        return [press("x"), press("Tab"), press("ArrowUp", {{ altKey: true }}),
         press("ArrowUp", {{ ctrlKey: true }}),
         press("ArrowUp", {{ metaKey: true }}), press("ArrowUp")]
    """) == [["dots,2,0", False]] * 5 + [["dots,1,0", True]]
    # A matrix of one row has an end as well.
    page.open("step", X=[[1.0, 2.0]])
    pressed = page.do(f"""{press}
        cell("dots,0,0").focus()
        return [press("End"), press("ArrowDown")]
    """)
    assert pressed == [["dots,0,0", True]] * 2


def test_one_entry_of_each_matrix_is_a_stop(page):
    page.open("step", X=[[1.0, 2.0], [3.0, 4.0], [0.0, 1.0]])
    page.do("el.querySelector('[data-at=\"dots,1,0\"]').focus()")
    # The entry that was left last.
    stops = "[...el.querySelectorAll('[data-at][tabindex=\"0\"]')]"
    assert page.do(f"{stops}.map((c) => c.dataset.at)") == [
        "dots,1,0", "scores,0,0", "weights,0,0", "output,0,0",
    ]  # fmt: skip
    others = "[...el.querySelectorAll('[data-at][tabindex=\"-1\"]')].length"
    assert page.do(others) == 9 * 3 + 6 - 4
    roles = "[...el.querySelectorAll('table')].map((t) => t.role)"
    assert page.do(roles) == [None, "grid", "grid", "grid", "grid"]


def test_pointing_at_an_entry_works_it_out_until_the_state_changes(page):
    page.open("step", X=[[1.0, 2.0], [3.0, 4.0]])
    assert page.do("""
        const cell = (at) => el.querySelector(`[data-at="${at}"]`);
        const point = (at) => cell(at).dispatchEvent(
          new PointerEvent("pointerover", { bubbles: true }));
        const all = (kind) => [...el.querySelectorAll(`.av-${kind}`)]
          .map((c) => c.dataset.at);
        const start = said().split(" = ")[0];
        point("output,1,0")
        const first = [said().split(" = ")[0], all("picked"), all("source")];
        point("X,0,0")
        el.querySelector("caption").dispatchEvent(
          new PointerEvent("pointerover", { bubbles: true }));
        const kept = said().split(" = ")[0];
        point("dots,1,0")
        const second = [all("picked"), all("source")];
        await settle()
        const waits = timers.length;
        point("dots,1,0")
        await settle()
        second.push(timers.length - waits);  // nothing to be said anew
        give("scale", false)
        await frame()
        const third = [said().split(" = ")[0], all("picked")];
        point("dots,1,0")
        give("X", "1")
        await frame()
        return [start, first, kept, second, third, said().split(" = ")[0],
         all("picked")]
    """) == [
        "dots[0][1]",
        ["output[1][0]", ["output,1,0"],
         ["X,0,0", "X,1,0", "weights,1,0", "weights,1,1"]],
        "output[1][0]",
        [["dots,1,0"], ["X,0,0", "X,0,1", "X,1,0", "X,1,1"], 0],
        ["dots[1][0]", ["dots,1,0"]],
        "dots[0][0]", ["dots,0,0"],
    ]  # fmt: skip


def test_the_numbers_in_the_page_are_the_helpers(page):
    page.open("tiles")
    expected = EXPECTED["tiles"](state_of("tiles"))
    assert page.do("el.values.blocks") == expected["blocks"]


# --- what is dragged, stepped and left behind ------------------------------


def test_a_token_is_dragged_to_the_edge_and_let_go(page):
    page.open("project")
    page.do("""
        globalThis.heard = [];
        el.addEventListener("pointerdown", (event) =>
          heard.push(event.defaultPrevented));
        el.addEventListener("gotpointercapture", () => heard.push("held"));
        return null;
    """)
    box = page.tab.locator(".av-given").bounding_box()
    unit = box["width"] / 230 * 115 / 2.35

    def point(x, y, down=None):
        page.tab.mouse.move(
            box["x"] + box["width"] / 2 + unit * x,
            box["y"] + box["width"] / 2 - unit * y,
        )
        if down is not None:
            (page.tab.mouse.down if down else page.tab.mouse.up)()
        return page.do("""
            await frame();
            return [["x1", "x2", "y1", "y2"].map((k) => m.state[k]),
              el.values.q]
        """)

    rest = [1, 1.5, 1.5, -1]
    point(0, 0, down=True)
    assert point(-1, -1)[0] == rest, "where no token is nothing is taken"
    point(0, 0, down=False)
    point(1.05, 1.45, down=True)
    assert point(-1.04, 0.54) == [[-1, 0.5, 1.5, -1], [-0.5, 0.75]]
    assert point(0.5, 9)[0] == [0.5, 2, 1.5, -1], "it stays in the plane"
    point(-0.5, -2, down=False)
    assert point(1, 1)[0] == [-0.5, -2, 1.5, -1], "let go"
    point(1.5, -1, down=True)
    assert point(0.3, 0.2)[0] == [-0.5, -2, 0.3, 0.2], "the other token"
    point(0.3, 0.2, down=False)
    assert page.do("[field('y1').value, field('x2').value]") == ["0.3", "-2"]
    # A drag marks no text, and goes on outside of the figure.
    assert page.do("heard") == [False, True, "held", True, "held"]


def test_the_ghost_stays_where_the_slider_was_taken(page):
    page.open("temperature")
    assert page.do("""
        const seen = () => [m.state.temperature, m.state.ghost];
        const slider = field("temperature");
        const press = (kind) => slider.dispatchEvent(new PointerEvent(kind));
        press("pointerdown")
        give("temperature", 7)  // places on the slider: 0.7, then 10
        slider.focus()
        const first = seen();
        give("temperature", 13)
        press("pointerup")
        const second = seen();
        slider.blur()
        slider.focus()
        const third = seen();
        give("temperature", 8)
        give("temperature", 9)
        await frame()
        return [first, second, third, seen(), field("ghost").value,
          el.values.weights.length]
    """) == [[0.7, 0.2], [10, 0.2], [10, 0.2], [1.5, 10], "13", 4]
    # By the keys alone, where nothing was pressed before.
    page.open("temperature")
    assert page.do("""
        const seen = () => [m.state.temperature, m.state.ghost];
        const slider = field("temperature");
        slider.focus()
        give("temperature", 7)
        const keys = seen();
        give("ghost", 3)
        const own = m.state.ghost;
        give("temperature", 8)
        keys.push(m.state.ghost === own, own !== 0.2)
        slider.blur()
        // A press that the browser takes away, to scroll, is over.
        slider.dispatchEvent(new PointerEvent("pointerdown"));
        slider.dispatchEvent(new PointerEvent("pointercancel"));
        give("temperature", 9)
        const first = seen();
        slider.blur()
        slider.focus()
        give("temperature", 10)
        return [keys, first, seen()]
    """) == [[0.7, 0.2, True, True], [1.5, 1], [2, 1.5]]


def test_an_entry_is_pressed_and_stepped(page):
    page.open("backward")
    assert page.do("""
        const [less, more] = el.querySelectorAll(".av-keys button");
        const at = (spot) => el.querySelector(`[data-at="dY,${spot}"]`);
        more.click()
        await frame()
        const first = [m.state.dY, field("dY").value.split("\\n")[2]];
        at("0,1").click()
        await frame()
        const picked = el.querySelector(".av-picked").dataset.at;
        const entry = [m.state.entry, field("entry").value];
        less.click()
        less.click()
        await frame()
        const second = m.state.dY;
        at("2,1").click()
        const last = m.state.entry;
        at("0,1").click()
        el.querySelector(".av-keys").click()
        el.querySelector("caption").click()
        const still = [last, m.state.entry, m.state.dY === second];
        m.set("dY", [[10, 0], [0, 0], [0, 0]])
        at("0,0").click()
        await frame()
        more.click()
        const refused = error().slice(0, 54);
        // Digits that no reader sees are rounded away; a field that is being
        // typed in shows the number as a reader writes it.
        m.set("Q", [[1, 2]])
        m.set("dY", [[0.12345678, 2]])
        await frame()
        field("dY").focus()
        more.click()
        await frame()
        const rounded = [m.state.dY, field("dY").value];
        at("0,1").click()
        await frame()
        less.click()
        await frame()
        return [first, picked, entry, second, still, refused, ...rounded,
          field("dY").value]
    """) == [
        [[[0, 0], [0, 0], [1.1, 0]], "1.1 0"],
        "dY,0,1",
        [1, "1"],
        [[0, -0.2], [0, 0], [1.1, 0]],
        [5, 1, True],
        "each number of dY must be a number from -10 to 10, wit",
        [[0.223457, 2]],
        "0.223457 2",
        "0.223457 1.9",
    ]  # fmt: skip


def test_a_slider_of_powers_ends_where_another_says(page):
    page.open("roof", heads=8, shared=4)
    assert page.do("""
        const f = field("shared");
        const told = () => [f.max, f.value, f.getAttribute("aria-valuetext"),
          f.closest("div").querySelector("output").value];
        const before = told();
        give("heads", 1)
        await frame()
        const cut = [...told(), m.state.shared];
        give("heads", 5)
        await frame()
        return [before, cut, told()]
    """) == [
        ["3", "2", "4", "4"], ["1", "1", "2", "2", 4], ["5", "2", "4", "4"],
    ]  # fmt: skip


# --- looks ------------------------------------------------------------------


SCHEMES = {"light": "#ffffff", "dark": "#121212"}


def in_scheme(page, scheme):
    """A page of the site in one scheme, as its theme sets it."""
    page.do(f"""
        const root = document.documentElement;
        root.dataset.theme = "{scheme}";
        root.style.setProperty("--pst-color-background",
          "{SCHEMES[scheme]}");
        const sheet = document.createElement("style");
        sheet.textContent =
          `html[data-theme="{scheme}"] {{ color-scheme: {scheme}; }}`;
        document.head.prepend(sheet);
        return null
    """)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_heat_map_follows_the_scheme_and_on_paper_it_is_light(page, scheme):
    page.open("causal", T=3, mask="causal")
    in_scheme(page, scheme)
    looks = """return [...el.querySelectorAll("td[style]")].map((cell) => {
        const { backgroundColor, color } = getComputedStyle(cell);
        return [cell.textContent, backgroundColor, color];
    })"""
    one = {
        "light": ["1.00", "rgb(0, 48, 77)", "rgb(255, 255, 255)"],
        "dark": ["1.00", "rgb(227, 242, 255)", "rgb(0, 0, 0)"],
    }
    assert page.do(looks)[0] == one[scheme]
    page.tab.emulate_media(media="print")
    assert page.do(looks)[0] == one["light"]


@pytest.mark.parametrize("name", ["step", "causal", "backward"])
def test_frames_stand_between_cells_in_the_colour_of_the_text(page, name):
    """They cover no digit and no neighbour, and are seen on every shade."""
    page.open(name)
    in_scheme(page, "dark")
    frames = page.do("""
        document.documentElement.style.setProperty(
          "--pst-color-text-base", "rgb(1, 2, 3)");
        return [...el.querySelectorAll("td:is(.av-picked, .av-source)")]
          .map((cell) => {
            const style = getComputedStyle(cell);
            const table = getComputedStyle(cell.closest("table"));
            return [style.outlineColor, parseFloat(style.outlineOffset),
              2 * parseFloat(style.outlineWidth),
              parseFloat(table.borderSpacing), table.borderCollapse];
          })
    """)
    assert frames
    for colour, offset, both, gap, collapse in frames:
        assert colour == "rgb(1, 2, 3)"
        assert (offset, collapse) == (0, "separate")
        assert 2 <= both <= gap


@pytest.mark.parametrize("name", CLASSES)
def test_controls_stand_on_a_grid_and_meet_a_finger(page, name):
    page.tab.set_viewport_size({"width": 390, "height": 844})
    page.open(name)
    boxes = page.do("""
        const at = (it) => {
          const { left, right, width, height } = it.getBoundingClientRect();
          return [left, right, width, height].map(Math.round);
        };
        const parts = (what) =>
          [...el.querySelectorAll(`.av-controls ${what}`)]
            .filter((it) => it.checkVisibility()).map(at);
        return ["input[type=range]", "output", ".av-stepper", "select",
          "input[type=checkbox]"].map(parts)
          .concat([[...el.querySelectorAll(".av-panel button")].map(at)])
    """)
    sliders, values, *pressed = boxes
    assert len({(left, right) for left, right, *_ in sliders}) <= 1
    assert len({(left, right) for left, right, *_ in values}) <= 1
    assert all(width >= 44 for _, _, width, _ in sliders)
    for _, _, width, height in [part for some in pressed for part in some]:
        assert min(width, height) >= 44
    assert all(height >= 44 for *_, height in sliders)


def test_two_lines_of_the_sentence_stay_in_sight_on_a_phone(page):
    page.tab.set_viewport_size({"width": 390, "height": 844})
    page.open("heads")
    page.do("document.body.style.margin = '300px 8px 900px'")
    top, line, shown = page.do("""
        await layout();
        scrollTo(0, 100);
        await layout();
        const say = el.querySelector(".av-say");
        const { top, height } = say.getBoundingClientRect();
        const line = parseFloat(getComputedStyle(say).lineHeight);
        const stuck = [innerHeight - top, line, height];
        scrollTo(0, document.body.scrollHeight);
        return stuck
    """)
    assert shown > 4 * line, "a sentence of many lines"
    assert 2 * line < top < 3 * line
