"""Interactive figures: the browser computes what the helpers compute."""

import json
import re
from urllib.parse import parse_qsl, quote, urlsplit
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from attention_site.figures import names
from bs4 import BeautifulSoup
from playwright.sync_api import expect
from traitlets import TraitError

from helpers import figures
from helpers.softmax import softmax
from tests.figures.expected_figures import (
    CASES,
    CLASSES,
    EXPECTED,
    controls,
    states,
)
from tools import website

# Controls that only some states show.
SHOWING = {("step", key): {"what": "Q, K, V"} for key in "QKV"}
SHOWING |= {
    ("film", key): {"what": "X, W_Q, W_K, W_V"}
    for key in ("W_Q", "W_K", "W_V")
}


def flat(value):
    """Every number in nested lists, in order; None and text apart."""
    if isinstance(value, np.ndarray):
        value = value.tolist()  # an array of no axes is a number
    if isinstance(value, dict):
        return [x for key in sorted(value) for x in flat(value[key])]
    if isinstance(value, list | tuple):
        return [x for part in value for x in flat(part)]
    return [value]


def assert_same(seen, expected):
    assert sorted(seen) == sorted(expected)
    for key in expected:
        assert np.shape(seen[key]) == np.shape(expected[key]), key
        np.testing.assert_allclose(
            np.array(flat(seen[key]), float),
            np.array(flat(expected[key]), float),
            rtol=1e-9,
            atol=1e-9,
            err_msg=key,
        )


def test_every_figure_is_tested():
    modules = set(names())
    assert modules == set(CLASSES), "each module has a class"
    assert modules == set(EXPECTED), "add to EXPECTED"


@pytest.mark.parametrize("name", CLASSES)
def test_the_traits_are_the_controls(name):
    assert set(CLASSES[name]._settings()) == {
        control["key"] for control in controls(name)
    }


@pytest.mark.parametrize("name", CLASSES)
def test_every_setting_is_documented_with_its_limits(name):
    figure = CLASSES[name]()
    doc = " ".join(CLASSES[name].__doc__.split()).partition(" Examples ")[0]
    parts = re.split(r"(?:^| )(\w+) : ", doc.partition(" ---------- ")[2])
    told = dict(zip(parts[1::2], parts[2::2], strict=True))
    assert set(told) == set(figure._settings())
    for control in controls(name):
        key, kind = control["key"], control["kind"]
        if kind == "matrix":
            continue  # their limits are said once, below
        default = getattr(figure, key)
        written = f'"{default}"' if isinstance(default, str) else default
        assert f"default {written}" in told[key]
        if "min" in control:
            assert f"from {control['min']} to {control['max']}" in told[key]
        if kind == "choice":
            _, *options = re.findall('"(.*?)"', told[key])
            assert control["options"] == options, "in this order"
        for stop in control.get("stops", ()):
            assert re.search(rf"\b{stop}\b", told[key])


@pytest.mark.parametrize(
    ("name", "keys", "rows", "columns", "most", "says"),
    [
        (
            *("step", ["X", "Q", "K", "V"], [1, 6], [1, 6], 100),
            "All four matrices have 1 to 6 rows of 1 to 6 numbers, each from "
            "-100 to 100.",
        ),
        (
            *("backward", ["dY", "Q", "K", "V"], [1, 4], [1, 4], 10),
            "All four matrices have 1 to 4 rows of 1 to 4 numbers, each from "
            "-10 to 10.",
        ),
        (
            *("film", ["X"], [2, 4], [1, 4], 2),
            "2 to 4 rows of 1 to 4 numbers, each from -2 to 2",
        ),
        (
            *("film", ["W_Q", "W_K", "W_V"], [1, 4], [1, 3], 2),
            "it and the other two have 1 to 4 rows, as many as `X` has "
            "columns, of 1 to 3 such numbers.",
        ),
        (
            *("project", ["W_Q", "W_K", "W_V"], [2, 2], [2, 2], 1),
            "W_Q : (2, 2) array Makes queries; this and the other two hold "
            "numbers from -1 to 1.",
        ),
        (
            *("temperature", ["scores"], [1, 1], [2, 8], 10),
            "Two to eight scores, each from -10 to 10.",
        ),
    ],
)
def test_the_limits_of_matrices_are_documented(
    name, keys, rows, columns, most, says
):
    assert says in " ".join(CLASSES[name].__doc__.split())
    limits = {"rows": rows, "columns": columns, "min": -most, "max": most}
    found = {control["key"]: control for control in controls(name)}
    for key in keys:
        assert limits.items() <= found[key].items(), key


@pytest.mark.parametrize("name", CLASSES)
def test_a_figure_reads_without_scripts(name):
    figure = CLASSES[name]()
    data, _ = figure._repr_mimebundle_()
    html = data["text/html"]
    assert f'data-figure="{name}"' in html
    assert "run this cell" in html.partition("<section hidden")[0]
    assert figures.drawing(html) == figure.html()
    assert 'class="av-result"' in html
    assert 'class="av-say"' in html, "a sentence says what is seen"
    assert data["text/plain"] == repr(figure)
    assert "0x" not in repr(figure)
    again, _ = CLASSES[name]()._repr_mimebundle_()
    assert again["text/html"] == html


@pytest.mark.parametrize("name", CLASSES)
def test_the_first_state_equals_the_helpers(name):
    figure = CLASSES[name]()
    state = {key: getattr(figure, key) for key in figure._settings()}
    assert_same(figure.values, EXPECTED[name](state))


@pytest.mark.parametrize(
    ("name", "settings"), [(n, case) for n in CASES for case in CASES[n]]
)
def test_a_chosen_state_equals_the_helpers(name, settings):
    figure = CLASSES[name](**settings)
    state = {key: getattr(figure, key) for key in figure._settings()}
    assert state | settings == state
    assert_same(figure.values, EXPECTED[name](state))


@pytest.mark.parametrize("name", CLASSES)
def test_the_module_equals_the_helpers(name):
    """As in the browser below, for more states: here they cost little."""
    for state in states(name, 80):
        assert_same(CLASSES[name](**state).values, EXPECTED[name](state))


@pytest.mark.parametrize("name", CLASSES)
def test_a_setting_out_of_range_is_refused(name):
    for control in controls(name):
        if control["kind"] in ("range", "number"):
            above = {control["key"]: type(control["max"])(control["max"] + 1)}
            with pytest.raises(TraitError, match=control["key"]):
                CLASSES[name](**above)
        if control["kind"] == "stops":
            between = {control["key"]: control["stops"][-1] - 1}
            with pytest.raises(TraitError, match="must be one of"):
                CLASSES[name](**between)
        if control["kind"] == "choice":
            with pytest.raises(TraitError, match="must be one of"):
                CLASSES[name](**{control["key"]: "nothing"})
        if control["kind"] == "matrix":
            key, least, most = (control[k] for k in ("key", "min", "max"))
            (low, rows), (short, columns) = control["rows"], control["columns"]
            for x in (least - 0.5, most + 0.5):
                large = np.full((low, short), x)
                with pytest.raises(
                    TraitError,
                    match=f"each number of {key} must be a number from "
                    f"{least} to {most}",
                ):
                    CLASSES[name](**{key: large})
            for shape in ((rows + 1, short), (low, columns + 1)):
                with pytest.raises(TraitError, match=f"{key} must have"):
                    CLASSES[name](**{key: np.zeros(shape)})
    with pytest.raises(TraitError, match="has no setting"):
        CLASSES[name](colour="red")


def test_a_setting_that_is_changed_later_is_refused_too():
    figure = figures.HeadsAndGroups(H=4, H_kv=4)
    figure.H_kv = 3
    with pytest.raises(TraitError, match="can share 1, 2, 4 key/value"):
        _ = figure.values
    with pytest.raises(TraitError, match="H_kv must divide H"):
        figure._repr_mimebundle_()
    figure.H = 6
    assert figure.values["kv_head"] == [0, 0, 1, 1, 2, 2]


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """A folder with a bare page for each figure and the site's modules."""
    folder = tmp_path_factory.mktemp("figures")
    (folder / "figures").mkdir()
    for name, cls in CLASSES.items():
        for file, text in figures.scripts(name).items():
            (folder / "figures" / file).write_text(text, encoding="utf-8")
        (folder / f"{name}.html").write_text(
            "<!doctype html><html lang=en><meta charset=utf-8>"
            '<link rel="icon" href="data:,"><title>Figure</title>'
            '<link rel="stylesheet" href="figures.css"><main>'
            f"{cls().html()}</main><script defer src=site.js></script></html>",
            encoding="utf-8",
        )
    static = website.ROOT / "book" / "_static"
    (folder / "site.js").write_text((static / "site.js").read_text("utf-8"))
    (folder / "figures.css").write_text(
        (figures.FOLDER / "figures.css").read_text("utf-8")
    )
    server = website.serve(folder)
    yield server.address
    server.shutdown()
    server.server_close()


@pytest.fixture
def page(browser, address):
    tab = browser.new_page(viewport={"width": 1000, "height": 800})
    tab.errors = []
    tab.on("pageerror", lambda error: tab.errors.append(str(error)))
    tab.address = address
    yield tab
    tab.close()


def query(name, state):
    """The part of an address that holds a figure's state."""
    return "&".join(
        f"{name}.{key}={quote(as_text(value))}" for key, value in state.items()
    )


def open_figure(page, name, state=None):
    """Open a figure with `state` in the address; wait until it lives."""
    address = f"{page.address}/{name}.html?{query(name, state or {})}"
    return open_address(page, name, address)


def open_address(page, name, address):
    page.goto("about:blank")
    page.goto(address)
    figure = page.locator(f'[data-figure="{name}"]')
    figure.scroll_into_view_if_needed()
    page.wait_for_selector(f'[data-figure="{name}"].av-live')
    return figure


def as_text(value):
    if isinstance(value, list):
        if value and isinstance(value[0], list):
            return ";".join(" ".join(map(str, row)) for row in value)
        return ",".join(map(str, value))
    return json.dumps(value) if isinstance(value, bool) else str(value)


def go_to(figure, name, state):
    """Give an open figure another state, as the back button does.

    Returns its message, its numbers, and the text of what it shows.
    """
    return figure.evaluate(
        """async (el, address) => {
          history.replaceState(null, "", address);
          dispatchEvent(new PopStateEvent("popstate"));
          do {  // until every frame that was asked for is over
            await new Promise((done) => {
              requestAnimationFrame(() => requestAnimationFrame(done));
            });
          } while (el.querySelector("[aria-busy]"));
          return [el.querySelector(".av-error").innerText, el.values,
            el.querySelector(".av-result").textContent];
        }""",
        f"{name}.html?{query(name, state)}",
    )


@pytest.mark.parametrize("name", CLASSES)
def test_the_browser_equals_the_helpers(page, name):
    figure = open_figure(page, name)
    for state in states(name, 12):
        message, values, shown = go_to(figure, name, state)
        assert message == "", state
        assert_same(values, EXPECTED[name](state))
        # What is shown is read back in test_shown.py, from the same module.
        html = CLASSES[name](**state).html()
        stored = BeautifulSoup(html, "html.parser").select_one(".av-result")
        assert shown == stored.text
    assert not page.errors


def move(figure):
    """Change the first control of a figure by the keyboard."""
    field = figure.locator(
        "input[type=range], select, input[type=number], textarea"
    ).first
    field.focus()
    kind = field.evaluate("el => el.type")
    if kind in ("range", "number"):
        at_end = field.evaluate("el => el.value === el.max")
        field.press("ArrowDown" if at_end else "ArrowUp")
    elif kind == "select-one":
        field.select_option(index=field.locator("option").count() - 1)
    else:
        field.press("End")
        field.type("0.5")


def state_in(address, name):
    """The settings that an address holds, as Python's values."""
    state = {key: getattr(CLASSES[name](), key) for key in figure_keys(name)}
    for key, value in parse_qsl(urlsplit(address).query):
        key = key.removeprefix(f"{name}.")
        if isinstance(state[key], list):
            rows = value.split(";")
            state[key] = [[float(x) for x in row.split()] for row in rows]
        elif isinstance(state[key], bool):
            state[key] = value == "true"
        else:
            state[key] = type(state[key])(value)
    return state


def figure_keys(name):
    return [control["key"] for control in controls(name)]


@pytest.mark.parametrize("name", CLASSES)
def test_controls_answer_to_the_keyboard_and_are_heard_once(page, name):
    figure = open_figure(page, name)
    before = figure.locator(".av-result").inner_html()
    assert figure.locator(".av-result [role=status]").count() == 0
    spoken = figure.locator("[role=status]").element_handle()
    assert spoken.inner_text() == "", "silent until something changes"
    move(figure)
    page.wait_for_function(
        "([name, before]) => document.querySelector("
        "`[data-figure=${name}] .av-result`).innerHTML !== before",
        arg=[name, before],
    )
    # The setting is kept in the address, once there is a pause.
    page.wait_for_url(lambda address: f"?{name}." in address)
    state = state_in(page.url, name)
    assert_same(figure.evaluate("el => el.values"), EXPECTED[name](state))
    page.wait_for_function("node => node.textContent", arg=spoken)
    said = figure.locator(".av-say").inner_text()
    assert spoken.text_content() == said
    assert spoken.evaluate("node => node.isConnected")
    assert not page.errors


@pytest.mark.parametrize("name", CLASSES)
def test_a_stale_address_gives_a_message_and_never_a_blank(page, name):
    rest = CLASSES[name]()
    figure = open_figure(page, name, {"gone": "1"})
    message = figure.locator(".av-error").inner_text()
    assert "shows its first state" in message
    assert_same(figure.evaluate("el => el.values"), rest.values)
    for stale in (
        {controls(name)[0]["key"]: "zwei"},
        {controls(name)[-1]["key"]: "1e99"},
        {"gone": "1"},
    ):
        message, values, shown = go_to(figure, name, stale)
        assert "shows its first state" in message, stale
        assert_same(values, rest.values)
        assert shown.strip()
    # A move repairs the address: what is shown then is shown again.
    move(figure)
    page.wait_for_url(lambda url: f"?{name}." in url and "gone" not in url)
    values = figure.evaluate("el => el.values")
    figure = open_address(page, name, page.url)
    assert figure.locator(".av-error").inner_text() == ""
    assert_same(figure.evaluate("el => el.values"), values)
    assert not page.errors


# The message, whether a field is marked, what was computed, what is drawn:
# once every frame that was asked for is over. Of each text, if some are given.
LOOK = """async (el, [key, texts]) => {
  const field = el.querySelector(`[name=${key}]`);
  const look = async () => {
    for (let i = 0; i < 2; i += 1)
      await new Promise((done) => { requestAnimationFrame(done); });
    return [el.querySelector(".av-error").innerText,
      field.getAttribute("aria-invalid"),
      JSON.stringify(el.values), el.querySelector(".av-result").innerHTML];
  };
  if (!texts) return look();
  const seen = [];
  for (const text of texts) {
    field.value = text;
    field.dispatchEvent(new Event("input", { bubbles: true }));
    seen.push(await look());
  }
  return seen;
}"""


@pytest.mark.parametrize("name", CLASSES)
def test_text_where_a_number_belongs_gives_a_message(page, name):
    typed = {
        "number": ["", "1e99", "-1e99", "e"],
        "textarea": ["", "abc", "1e99", "1 2\n3", "NaN"],
        "text": ["", " , ", "ABM", "A1", "A" * 33, "Ä", "<b>"],
    }
    fields = "input[type=number], input[type=text], textarea"
    visited = set()
    figure = open_figure(page, name)
    for key in [c["key"] for c in controls(name)]:
        if (name, key) in SHOWING:
            figure = open_figure(page, name, SHOWING[name, key])
        field = figure.locator(f"[name={key}]").and_(
            figure.locator(fields).filter(visible=True)
        )
        if not field.count():
            continue  # a slider, a menu or a box: no text to type
        visited.add(key)
        right = field.input_value()
        _, _, *before = figure.evaluate(LOOK, [key, None])
        empty, *texts, last = typed[field.evaluate("el => el.type")]
        seen = dict(
            zip(texts, figure.evaluate(LOOK, [key, texts]), strict=True)
        )
        for text in (empty, last):  # by the keys
            field.select_text()
            page.keyboard.press("Delete")
            page.keyboard.insert_text(text)
            seen[text] = figure.evaluate(LOOK, [key, None])
        for text, (message, invalid, *after) in seen.items():
            assert key in message, text
            assert invalid == "true"
            assert after == before, text
        field.fill(right)
        assert figure.locator(".av-error").inner_text() == ""
    kinds = ("number", "matrix", "symbols", "words")
    assert visited == {c["key"] for c in controls(name) if c["kind"] in kinds}
    assert not page.errors


@pytest.mark.parametrize(
    ("length", "rows"), [(7, None), (6, "0"), (5, "0 to 1"), (4, "0 to 2")]
)
def test_empty_rows_are_counted_from_the_first(length, rows):
    html = figures.CausalHeatmap(
        mask="causal and left padding", length=length, T=7
    ).html()
    part = f"Queries that may attend to nothing: {rows}; their weights are "
    assert (part in html) == (rows is not None)
    assert ("attend to nothing" in html) == (rows is not None)


@pytest.mark.parametrize("T", [7, 64])
def test_a_mask_that_allows_nothing_is_said_and_seen(page, T):
    state = {"mask": "causal and left padding", "length": 3, "T": T}
    figure = open_figure(page, "causal", state)
    said = figure.locator(".av-say").inner_text()
    assert f"may attend to nothing: 0 to {T - 4}; their" in said
    weights = figure.evaluate("el => el.values.weights")
    drawn = "el => (el.innerHTML.match(/h1v1h-1z/g) ?? []).length"
    if T == 7:
        rows = figure.locator("tbody tr")
        for i in range(T):
            # A number where the mask allows, a hatched cell elsewhere.
            cells = rows.nth(i).locator("td").all_inner_texts()
            numbers = [f"{w:.2f}" for w in weights[i][4 : i + 1]]
            assert cells == ["·"] * 4 + numbers + ["·"] * (6 - max(i, 3))
    else:
        assert figure.locator(".av-mosaic").evaluate(drawn) == 3 + 2 + 1
    figure = open_figure(page, "causal", state | {"length": 0})
    said = figure.locator(".av-say").inner_text()
    assert f"may attend to nothing: 0 to {T - 1}; their" in said
    assert "Mean entropy 0.000 nats" in said
    assert figure.locator(".av-mosaic, .av-grid").evaluate(drawn) == 0


def test_numbers_that_are_none_are_refused():
    with pytest.raises(TraitError, match="temperature must be a number"):
        figures.CausalHeatmap(temperature=float("nan"))
    with pytest.raises(TraitError, match="each number of X"):
        figures.StepThrough(X=[[float("inf")]])


def test_step_takes_arrays_and_starts_from_what_is_given():
    X = np.eye(2)
    figure = figures.StepThrough(Q=X, K=2 * X, V=X)
    assert figure.what == "Q, K, V"
    assert figure.values["dots"] == [[2, 0], [0, 2]]
    assert figures.StepThrough(X=X).what == "X"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"X": []}, r"X must have 1 to 6 rows .* got 0 rows"),
        ({"X": [[1.0]] * 7}, r"X must have 1 to 6 rows .* got 7 rows of 1"),
        ({"X": [[1.0], [1.0, 2.0]]}, "got 2 rows of 1 and 2"),
        ({"X": [[101.0]]}, "X must be a number from -100 to 100"),
        ({"Q": [[1.0, 2.0]]}, r"Q \(1, 2\) and K \(3, 4\)"),
        ({"V": [[1.0]]}, r"K \(3, 4\) and V \(1, 1\)"),
        (
            {"K": [[0.0] * 4], "V": [[1.0]], "causal": True},
            r"Q \(3, 4\) and K \(1, 4\)",
        ),
    ],
)
def test_step_refuses_what_does_not_fit(settings, message):
    with pytest.raises(TraitError, match=message):
        figures.StepThrough(**settings)


ROWS = "must have a row for each of Q and a column for each of V; got"
UNFIT = [
    ("Backward", {"Q": [[1.0]]},
     "Q and K must have rows of one length; got Q (1, 1) and K (3, 2)"),
    ("Backward", {"V": [[1.0]]},
     "K and V must have as many rows; got K (3, 2) and V (1, 1)"),
    ("Backward", {"dY": [[1.0]] * 3},
     f"dY {ROWS} dY (3, 1), Q (3, 2) and V (3, 2)"),
    ("Backward", {"dY": [[1.0, 2.0]]},
     f"dY {ROWS} dY (1, 2), Q (3, 2) and V (3, 2)"),
    ("Backward", {"K": [[1.0, 2.0]], "V": [[1.0, 2.0]]},
     "with a causal mask Q has at most as many rows as K; got Q (3, 2) and "
     "K (1, 2)"),
    ("StepThrough", {"Q": [[1.0]]},
     "Q and K must have rows of one length; got Q (1, 1) and K (3, 4)"),
    ("StepThrough", {"V": [[1.0]]},
     "K and V must have as many rows; got K (3, 4) and V (1, 1)"),
    ("StepThrough", {"K": [[0.0] * 4], "V": [[1.0]], "causal": True},
     "with a causal mask Q has at most as many rows as K; got Q (3, 4) and "
     "K (1, 4)"),
    ("Film", {"words": "a b"},
     "words and X must be as many; got 2 words and 3 rows"),
    ("Film", {"W_V": [[1.0]]},
     "W_V must have a row for each column of X; got X (3, 4) and W_V (1, 1)"),
    ("Film", {"W_Q": [[1.0]] * 4},
     "W_Q and W_K must have as many columns; got W_Q (4, 1) and W_K (4, 2)"),
    ("Film", {"X": [[0.125] * 4] * 3},
     "each number of X must have at most two decimals; got 0.125"),
]  # fmt: skip


@pytest.mark.parametrize(("figure", "settings", "said"), UNFIT)
def test_settings_that_do_not_fit_are_named(figure, settings, said):
    with pytest.raises(TraitError, match=f"^{re.escape(said)}$"):
        getattr(figures, figure)(**settings)


@pytest.mark.parametrize("scores", [[0.5, -10.0], [10.0, 9.5, 9, 10] * 2])
def test_bars_stand_on_their_axis_above_their_scores(scores):
    figure = figures.Temperature(scores=[scores], temperature=1, ghost=2)
    html = figure.html()
    svg = ET.fromstring(html[html.index("<svg") : html.index("</svg>") + 6])
    texts = {
        kind: [
            (float(e.get("x")), float(e.get("y")), e.text)
            for e in svg.iter("text")
            if e.get("text-anchor") == kind and e.get("x")
        ]
        for kind in ("middle", "end")
    }
    rules = [e.get("d") for e in svg.iter("path") if "rule" in e.get("class")]
    ends = [[float(x) for x in re.split("[MH ]", d)[1:]] for d in rules]
    (left,), (right,) = ({e[i] for e in ends} for i in (0, 2))
    heights = [y for _, y, _ in ends]  # of 0, 1/4, 1/2, 3/4 and 1
    assert np.ptp(np.diff(heights)) <= 0.11, "equal steps, rounded to 0.1"
    assert [text for *_, text in texts["end"]] == "0 0.25 0.5 0.75 1".split()
    for (x, y, _), height in zip(texts["end"], heights, strict=True):
        assert x < left
        assert 2 < y - height < 6, "beside its line"
    slot = (right - left) / len(scores)
    middles = [left + (j + 0.5) * slot for j in range(len(scores))]
    of = {kind: [] for kind in ("tall", "ghost")}
    for box in svg.iter("rect"):
        sides = [float(box.get(k)) for k in ("x", "y", "width", "height")]
        of[box.get("class").removeprefix("av-")].append(sides)
    weights = {"tall": softmax(scores), "ghost": softmax(np.divide(scores, 2))}
    for kind, boxes in of.items():
        for middle, w, (x, y, wide, high) in zip(
            middles, weights[kind], boxes, strict=True
        ):
            assert abs(x + wide / 2 - middle) < 0.11
            assert abs(y + high - heights[0]) < 0.11, "on the line of 0"
            assert abs(high - w * (heights[0] - heights[4])) < 0.16
            assert 20 < wide < min(slot, 60)
    above, below = texts["middle"][:-1:2], texts["middle"][1:-1:2]
    for j, middle in enumerate(middles):
        assert max(abs(above[j][0] - middle), abs(below[j][0] - middle)) < 0.11
        assert 3 < of["tall"][j][1] - above[j][1] < 8, "above its bar"
        assert 10 < below[j][1] - heights[0] < 20, "under the axis"
        assert below[j][2] == f"{scores[j]:g}".replace("-", "−")
    with pytest.raises(TraitError, match="scores must have"):
        figures.Temperature(scores=[[0.0]])


SENTENCES = {
    "dots": "dots[0][2] = X[0] · X[2] = 1×1 + 0×1 + 1×0 + 0×0 = 1",
    "scores": "scores[0][2] = dots[0][2] / √4 = 1 / 2 = 0.5",
    "weights": "weights[0][2] = exp(0.5) / (exp(1) + exp(0) + exp(0.5)) "
    "≈ 1.6487 / 5.3670 ≈ 0.3072",
    "output": "output[0][2] = weights[0] · column 2 of X "
    "= 0.5065×1 + 0.1863×0 + 0.3072×0 ≈ 0.5065",
}


def entry(figure, name, i, j):
    return figure.locator(f'[data-at="{name},{i},{j}"]')


@pytest.mark.parametrize("name", SENTENCES)
@pytest.mark.parametrize("way", ["hover", "focus"])
def test_step_works_out_an_entry(page, name, way):
    figure = open_figure(page, "step")
    cell = entry(figure, name, 0, 2)
    entry(figure, "output", 1, 1).hover()
    assert figure.locator(".av-say").inner_text() != SENTENCES[name]
    getattr(cell, way)()
    said = figure.locator(".av-say")
    assert said.inner_text() == SENTENCES[name]
    picked = figure.locator(".av-picked")
    assert picked.get_attribute("data-at") == f"{name},0,2"
    assert figure.locator(".av-source").count() > 0
    assert not page.errors


def test_step_says_what_the_sources_of_a_masked_entry_are(page):
    figure = open_figure(page, "step", {"causal": True})
    said = figure.locator(".av-say")
    entry(figure, "masked", 0, 2).hover()
    assert said.inner_text() == (
        "masked[0][2] = −∞, since key 2 comes after query 0"
    )
    entry(figure, "weights", 1, 2).hover()
    assert said.inner_text() == (
        "weights[1][2] = exp(−∞) / (exp(0) + exp(1) + exp(−∞)) "
        "≈ 0 / 3.7183 = 0"
    )
    sources = figure.locator(".av-source")
    assert sources.evaluate_all("all => all.map(c => c.dataset.at)") == [
        f"masked,1,{j}" for j in range(3)
    ]


@pytest.mark.parametrize(
    ("K", "worked_out"),
    [
        ("100;90", "exp(−9,000) / (exp(−10,000) + exp(−9,000)) ≈ 1"),
        ("90;100", "exp(−10,000) / (exp(−9,000) + exp(−10,000)) ≈ 0"),
        ("0;0", "exp(0) / (exp(0) + exp(0)) = 1 / 2 = 0.5"),
        ("-0.05;-0.05", "exp(5) / (exp(5) + exp(5)) "
         "≈ 148.4132 / 296.8263 = 0.5"),
    ],
)  # fmt: skip
def test_step_divides_no_zeros(page, K, worked_out):
    state = {"what": "Q, K, V", "Q": "-100", "K": K, "V": "1;2"}
    figure = open_figure(page, "step", state | {"scale": False})
    entry(figure, "weights", 0, 1).hover()
    said = figure.locator(".av-say").inner_text()
    assert said == f"weights[0][1] = {worked_out}"


@pytest.mark.parametrize(
    "text",
    [
        "1 0\n−2 1.5",
        "1,0\n-2,1.5",
        "[[1, 0], [-2, 1.5]]",
        "[[ 1.   0. ]\n [-2.   1.5]]",
        "1\t0\r\n-2\t1.5\r\n",
        "1 0;\n\n-2 1.5;",
    ],
)
def test_numbers_are_taken_as_they_are_pasted(page, text):
    figure = open_figure(page, "step")
    figure.locator("textarea[name=X]").fill(text)
    page.wait_for_function(
        "document.querySelector('[data-figure=step]').values.dots.length === 2"
    )
    dots = figure.evaluate("el => el.values.dots")
    assert dots == [[1, -2], [-2, 6.25]]
    assert figure.locator(".av-error").inner_text() == ""


def test_what_was_typed_wrong_and_put_aside_is_forgotten(page):
    figure = open_figure(page, "step", {"what": "Q, K, V"})
    figure.locator("textarea[name=K]").fill("abc")
    error = figure.locator(".av-error")
    assert "got abc. The figure shows the last" in error.inner_text()
    figure.locator("select[name=what]").select_option("X")
    figure.locator("textarea[name=X]").wait_for(state="visible")
    assert error.inner_text() == ""
    figure.locator("select[name=what]").select_option("Q, K, V")
    field = figure.locator("textarea[name=K]")
    field.wait_for(state="visible")
    assert field.input_value() == "1 0 1 0\n0 1 0 1\n1 1 0 0"


CAUSAL = "document.querySelector('[data-figure=causal]')"


def test_the_back_button_brings_the_picture_back(page):
    figure = open_figure(page, "causal", {"T": 5})
    first = figure.evaluate("el => el.values")
    page.evaluate("location.hash = 'further'")
    figure.locator("input[name=T]").press("ArrowUp")
    page.wait_for_url(lambda address: "causal.T=6" in address)
    page.go_back()
    rows = "el => el.values.weights.length"
    page.wait_for_function(f"({rows})({CAUSAL}) === 5")
    assert_same(figure.evaluate("el => el.values"), first)
    assert figure.locator("input[name=T]").input_value() == "5"
    page.go_forward()
    page.wait_for_function(f"({rows})({CAUSAL}) === 6")


def test_a_slider_shows_a_value_between_its_steps(page):
    figure = open_figure(page, "causal", {"slope": 0.03})
    slider = figure.locator("input[name=slope]")
    assert slider.input_value() == "0.03"
    slider.press("ArrowUp")
    page.wait_for_url(lambda address: "causal.slope=0.03&" not in address)
    assert float(slider.input_value()) % 0.0625 == 0


def test_step_is_one_tab_stop_a_matrix_with_arrow_keys_inside(page):
    figure = open_figure(page, "step")
    grids = figure.locator("[role=grid]")
    assert grids.count() == 4
    for k in range(4):
        assert grids.nth(k).locator('[tabindex="0"]').count() == 1
    entry(figure, "dots", 0, 0).focus()

    def press(key):
        page.keyboard.press(key)
        return page.evaluate("document.activeElement.dataset.at")

    assert press("ArrowRight") == "dots,0,1"
    assert press("ArrowDown") == "dots,1,1"
    assert press("End") == "dots,1,2"
    assert press("ArrowRight") == "dots,1,2", "stays at the edge"
    assert press("Home") == "dots,1,0"
    assert press("ArrowUp") == "dots,0,0"
    assert press("ArrowDown") == "dots,1,0"
    assert press("Tab") == "scores,0,0"
    assert press("Shift+Tab") == "dots,1,0", "where it was left"
    said = figure.locator(".av-say").inner_text()
    assert said.startswith("dots[1][0] = X[1] · X[0] = ")


def test_step_answers_to_a_tap(page):
    context = page.context.browser.new_context(
        viewport={"width": 390, "height": 800}, has_touch=True, is_mobile=True
    )
    tab = context.new_page()
    tab.errors = []
    tab.address = page.address
    tab.on("pageerror", lambda error: tab.errors.append(str(error)))
    figure = open_figure(tab, "step")
    for name, sentence in SENTENCES.items():
        entry(figure, name, 0, 2).tap()
        said = figure.locator(".av-say")
        expect(said).to_have_text(sentence)  # the click follows the tap
        box = said.bounding_box()
        assert 0 <= box["y"] <= 800 - box["height"], "in sight of the finger"
    assert not tab.errors
    context.close()


def test_step_lets_two_matrices_change_shape_one_after_the_other(page):
    figure = open_figure(page, "step", {"what": "Q, K, V"})
    error = figure.locator(".av-error")
    figure.locator("textarea[name=Q]").fill("1 2\n3 4")
    assert "Q (2, 2) and K (3, 4)" in error.inner_text()
    figure.locator("textarea[name=K]").fill("1 0\n0 1\n1 1")
    assert error.inner_text() == ""
    assert figure.locator('[aria-invalid="true"]').count() == 0
    page.wait_for_function(
        "document.querySelector('[data-figure=step]').values.dots.length === 2"
    )
    assert figure.evaluate("el => el.values.dots") == [[1, 2, 3], [3, 4, 7]]
    page.wait_for_url(lambda address: "step.Q=1+2%3B3+4" in address)


def test_a_step_by_hand_in_the_address_that_does_not_fit_gives_a_message(page):
    for query, words in (
        ({"what": "Q, K, V", "Q": "1 2"}, "Q (1, 2) and K (3, 4)"),
        ({"X": ";".join(["1 2"] * 4000)}, "got 4,000 rows of 2"),
        ({"X": "1 two;3 4"}, "each number of X"),
        ({"X": ""}, "got 0 rows."),
        ({"scale": "maybe"}, "divide by √d_k (scale) must be true or false"),
        ({"scale": "constructor"}, "true or false; got constructor."),
        ({"mask_of_" + "a" * 3000: "1"}, "step.mask_of_" + "a" * 27 + "…"),
        ({"X": "0,5 1,5;1 2"}, "with a decimal point; got 0,5."),
    ):
        figure = open_figure(page, "step", query)
        message = figure.locator(".av-error").inner_text()
        assert words in message
        assert "shows its first state" in message
        assert entry(figure, "weights", 0, 0).inner_text() == "0.506"


def test_a_preset_fills_its_fields(page):
    figure = open_figure(page, "kvcache", {"S": 1000, "dtype": "8 bits"})
    rest = {"S": 1000, "batch": 1, "dtype": "8 bits"}
    rest |= {"filled": 10**7, "memory": 80}
    for name, sizes in figures.presets("kvcache").items():
        figure.locator("select[name=preset]").select_option(label=name)
        page.wait_for_function(
            "([L, d]) => document.querySelector('[name=n_layers]').value == L"
            " && document.querySelector('[name=d_v]').value == d",
            arg=[sizes["n_layers"], sizes["d_v"]],
        )
        page.wait_for_function(
            "name => document.querySelector('[data-figure=kvcache] .av-say')"
            ".textContent.startsWith(name)",
            arg=name,
        )
        values = figure.evaluate("el => el.values")
        assert_same(values, EXPECTED["kvcache"]({**sizes, **rest}))
    figure.locator("input[name=n_layers]").fill("62")
    page.wait_for_function(
        "() => document.querySelector('select[name=preset]').value"
        " === 'own numbers'"
    )
    assert not page.errors


def test_settings_that_fit_only_together_can_be_reached(page):
    figure = open_figure(page, "heads", {"H": 8, "H_kv": 8})
    error = figure.locator(".av-error")
    figure.locator("input[name=H_kv]").fill("9")
    assert "can share 1, 2, 4, 8" in error.inner_text()
    assert figure.evaluate("el => el.values.kv_head.length") == 8
    figure.locator("input[name=H]").fill("9")
    page.wait_for_function(
        "() => document.querySelector('[data-figure=heads]')"
        ".values.kv_head.join() === '0,1,2,3,4,5,6,7,8'"
    )
    assert error.inner_text() == (
        "H_kv is now 9: 9 query heads can share 1, 3, 9."
    )
    assert figure.locator("[aria-invalid=true]").count() == 0
    assert not page.errors


def test_controls_follow_the_state(page):
    figure = open_figure(page, "positions", {"kind": "ALiBi"})
    assert figure.locator("input[name=heads]").is_visible()
    assert figure.locator("input[name=shift]").is_hidden()
    figure.locator("select[name=kind]").select_option("RoPE")
    figure.locator("input[name=shift]").wait_for(state="visible")
    assert figure.locator("input[name=heads]").is_hidden()
    figure.locator("input[name=pairs]").fill("2")
    page.wait_for_function(
        "() => document.querySelector('[name=pair]').max === '1'"
    )
    assert not page.errors
