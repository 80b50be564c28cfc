"""Rules that every figure keeps, whatever it shows."""

import functools
import random
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from bs4 import BeautifulSoup
from traitlets import TraitError

from tests.figures.expected_figures import (
    CLASSES,
    OF,
    controls,
    drawn,
    every_state,
    look,
    random_state,
    result_of,
)
from tests.figures.reading import (
    call,
    captions,
    on_phone,
    points_of,
    read,
    spot,
)


def some_states(name):
    """A dozen states: the first, and others from all of them."""
    every = every_state(name)
    return every[:: 1 + len(every) // 13]


@pytest.mark.parametrize("name", CLASSES)
def test_shown_numbers_and_verdicts_equal_the_helpers(name):
    for settings in every_state(name):
        try:
            OF[name].shows(*look(name, settings))
        except AssertionError as error:
            error.add_note(f"{name}: {settings}")
            raise


# --- drawings ---------------------------------------------------------------

# Lines of a plane go on beyond its part that is shown, and a finger's room is
# not seen.
GO_ON = ".av-memory *, .av-reach"


@pytest.mark.parametrize("name", CLASSES)
def test_drawings_stay_in_their_boxes(name):
    """To two units, by which round marks at an edge may reach over it."""
    for settings in every_state(name):
        state, _, shown = look(name, settings)
        for svg in (
            *shown.select("svg"),
            *on_phone(name, state).select("svg"),
        ):
            x, y, wide, high = map(float, svg["viewbox"].split())
            free = svg.select(GO_ON)
            for part, points in points_of(svg):
                inside = (points >= [x - 2, y - 2]) & (
                    points <= [x + wide + 2, y + high + 2]
                )
                assert inside.all() or part in free, (settings, part)


# --- markup ------------------------------------------------------------------

ALONE = {"input", "circle", "path", "rect"}  # elements without an end tag


class Strict(HTMLParser):
    """Refuses markup that a browser would have to repair."""

    def __init__(self, html):
        super().__init__()
        self.open = []
        self.feed(html)
        self.close()
        assert not self.open, f"{self.open} stay open"

    def handle_starttag(self, tag, attrs):
        names = [key for key, _ in attrs]
        assert len(names) == len(set(names)), f"twice: {names}"
        if tag != "input":
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        assert tag in ALONE, f"{tag} closes itself"

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, f"{tag} closes too early"


@pytest.mark.parametrize("name", CLASSES)
def test_markup_needs_no_repair_and_has_no_broken_number(name):
    for settings in every_state(name):
        _, html = drawn(name, settings)
        Strict(html)
        assert not re.search(r"NaN|undefined|null|\[object|Infinity", html)
        texts = re.sub("<[^>]*>", " ", html.partition("av-result")[2])
        assert not re.search(r"[-−]0(\.0*)?(?![\d.])", texts), "minus zero"
        assert not re.search(r"(?<![\w&])-\d", texts), "a minus is printed"


@pytest.mark.parametrize("name", CLASSES)
def test_drawings_have_names_of_their_own(name):
    for settings in every_state(name):
        _, _, shown = look(name, settings)
        named = captions(shown)
        assert all(named)
        assert len(named) == len(set(named)), "each name is unique"
        for svg in shown.select("svg"):
            hidden = svg.get("aria-hidden") == "true"
            assert hidden or (svg["role"], bool(svg["aria-label"])) == (
                "img",
                True,
            )
        for table in shown.select("table"):
            assert table.caption.text
            assert all(th["scope"] for th in table.select("th"))


# --- controls ----------------------------------------------------------------


@functools.cache
def parsed(form):
    return BeautifulSoup(form, "html.parser").form


def form_of(name, settings):
    """A figure's state, and the form with its controls."""
    state, html = drawn(name, settings)
    return state, parsed(html[html.index("<form") : html.index("<p class")])


def field_of(form, key):
    return form.find(attrs={"name": key})


def value_in(control, field):
    """What a field shows, as the figure's state holds it."""
    kind = control["kind"]
    if kind == "choice":
        return field.select_one("option[selected]").text
    if kind == "flag":
        return field.has_attr("checked")
    if kind == "matrix":
        lines = field.text.split("\n")
        return [[float(x) for x in line.split(" ")] for line in lines]
    if kind in ("symbols", "words"):
        return field["value"]
    if kind == "text":
        return field.text
    if kind == "number":
        return float(field["value"])
    shown = read(field.find_parent("div").output.text)
    if kind == "range":
        assert shown == float(field["value"])
    else:  # the place on the slider is not the value: that is said
        assert shown == float(field["aria-valuetext"])
    return shown


@pytest.mark.parametrize("name", CLASSES)
def test_each_control_has_a_label_and_shows_its_setting(name):
    for settings in some_states(name):
        state, form = form_of(name, settings)
        assert form.has_attr("hidden"), "no controls without scripts"
        labels = [
            label.find("span").get_text().strip()
            for label in form.select("label")
        ]
        assert all(labels)
        assert len(labels) == len(set(labels)), "each label is unique"
        for control in controls(name):
            key = control["key"]
            (field,) = form.select(f"label [name={key}]")
            shown = value_in(control, field)
            if control["kind"] in ("range", "power") and shown != state[key]:
                # What is beyond an end that another setting says is the end.
                assert shown < state[key]
                assert field["value"] == field["max"]
            else:
                assert shown == state[key], key
            if control["kind"] == "choice":
                options = [option.text for option in field.select("option")]
                assert options == control["options"]
            if field.get("type") == "range" and field["step"] != "any":
                steps = float(field["value"]) - float(field["min"])
                steps /= float(field["step"])
                assert abs(steps - round(steps)) < 1e-6, "it can stand there"


def other(name, control, value, rng):
    """Another value of a setting, of the same shape where it has one."""
    low, high = control.get("min"), control.get("max")
    if control["kind"] == "matrix":
        return [[high if x != high else low for x in row] for row in value]
    if control["kind"] == "words":
        return " ".join(value.split()[::-1])
    return random_state(name, rng)[control["key"]]


@pytest.mark.parametrize("name", CLASSES)
def test_a_hidden_control_changes_nothing_and_others_do(name):
    """Of each control another value is tried in each state."""
    rng, working = random.Random(name), set()
    keys = {control["key"] for control in controls(name)}
    for k, settings in enumerate(every_state(name)):
        if k >= 12 and working == keys:
            break
        state, form = form_of(name, settings)
        before = result_of(name, state)
        for control in controls(name):
            key = control["key"]
            box = field_of(form, key).find_parent("div")
            if not box.has_attr("hidden") and key in working:
                continue
            try:
                changed = state | {key: other(name, control, state[key], rng)}
                after = result_of(name, changed)
            except TraitError:
                continue  # it does not fit the others
            if box.has_attr("hidden"):
                assert after == before, key
            elif after != before:
                working.add(key)
    assert not keys - working, "shown, and without effect"


@pytest.mark.parametrize("name", CLASSES)
def test_a_slider_ends_where_more_changes_nothing(name):
    """Where another setting ends it: its last value still matters."""
    for settings in some_states(name)[::2]:
        state, form = form_of(name, settings)
        for control in controls(name):
            key = control["key"]
            field = field_of(form, key)
            idle = field.find_parent("div").has_attr("hidden")
            if control["kind"] != "range" or idle:
                continue
            end = float(field["max"])
            if end >= control["max"]:
                continue
            end = int(end)
            results = [
                result_of(name, state | {key: k})
                for k in (end - 1, end, end + 1, control["max"])
                if control["min"] <= k <= control["max"]
            ]
            assert len(set(results[-3:])) == 1, f"{key} ends too early"
            if end > control["min"]:
                assert results[0] != results[1], f"{key} ends too late"


@pytest.mark.parametrize("name", CLASSES)
def test_frame_has_a_message_a_result_and_a_voice(name):
    _, html = drawn(name, {})
    section = BeautifulSoup(html, "html.parser").section
    assert section["data-figure"] == name
    assert section["aria-label"]
    error, spoken = (
        section.select_one(f".{c}") for c in ("av-error", "av-spoken")
    )
    assert (error["role"], spoken["role"]) == ("alert", "status")
    assert error.text == spoken.text == ""
    assert len(section.select(".av-result .av-say")) == 1


# --- handles -----------------------------------------------------------------


def value_of(state, key):
    """A setting, or an entry of a matrix such as W_Q.0.1."""
    name, *entry = key.split(".")
    return functools.reduce(lambda A, k: A[int(k)], entry, state[name])


def press_turns(name, state, handle):
    """A press leads to a state that fits, in which what was off is on."""
    after = CLASSES[name](**state | handle["presses"])
    on = {it["id"]: it.get("on") for it in after._call("handles")}
    assert handle.get("on") is not False or on.get(handle["id"], True)


@pytest.mark.parametrize("name", CLASSES)
def test_each_handle_reads_back_what_it_shows(name):
    """Or what is drawn alike, where its setting goes beyond an end."""
    steps = {it["key"]: it.get("step") or 0 for it in controls(name)}
    for settings in some_states(name):
        figure = CLASSES[name](**settings)
        state, _, shown = look(name, settings)
        handles = figure._call("handles")
        for handle in handles[:: 1 + len(handles) // 20]:
            assert handle["name"]
            if "presses" in handle:
                press_turns(name, state, handle)
                continue
            (part,) = shown.select(f'[data-handle="{handle["id"]}"]')
            if part.has_attr("transform") and part not in shown.select(GO_ON):
                assert spot(part) == pytest.approx(handle["at"], abs=0.06)
            read = {key: handle["reads"][key] for key in handle["keys"]}
            far = {
                key: x
                for key, x in read.items()
                if abs(x - value_of(state, key))
                > max(1e-6, steps[key.partition(".")[0]])
            }
            if far:
                far = {
                    key: round(x) if steps[key] == 1 else x
                    for key, x in far.items()
                }
                assert result_of(name, state | far) == result_of(name, state)


@pytest.mark.parametrize("name", CLASSES)
def test_each_handle_follows_a_drag(name):
    """Never the other way, and no further beyond the hand than it was off."""
    moved = {}
    for settings in some_states(name):
        state, _ = drawn(name, settings)
        for offset in ([80, 0], [-80, 0], [0, 30], [0, -30], [6, -5]):
            most = 2 * np.hypot(*offset) + 0.06
            for id_, along, far in call("draggedBy", state, offset, of=name):
                assert -0.5 <= along <= most, (id_, offset, settings)
                moved[id_] = moved.get(id_, False) or far > 1e-6
    assert all(moved.values()), "a handle that no drag moves"
