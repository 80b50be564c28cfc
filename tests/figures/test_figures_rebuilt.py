"""Interactive figures in a page: ghosts, answers, blocks, and the phone."""

import pytest

from tests.figures.expected_figures import CLASSES
from tests.figures.test_figure_page import page  # noqa: F401

# --- saturation: a ghost of the last state ----------------------------------

GHOST = """
  const ghost = () => {
    const said = el.querySelector(".av-caption")?.textContent ?? "";
    return said.slice(0, said.indexOf(", largest"));
  };
"""


def test_a_drag_of_a_slider_leaves_one_ghost(page):  # noqa: F811
    page.open("saturation", d_k=16)
    assert page.do(GHOST + """
        const seen = [ghost()];
        const rest = (key) => field(key)
          .dispatchEvent(new Event("change", { bubbles: true }));
        for (const power of [5, 6, 7]) {
          give("d_k", power);
          await frame();
          seen.push(ghost());
        }
        rest("d_k");
        give("scale", true);
        rest("scale");
        await frame();
        seen.push(ghost());
        give("seed", "-1");
        await frame();
        return [...seen, ghost()];
    """) == [
        "",
        *["Thin dashes: the last state (not scaled, d_k = 16"] * 3,
        *["Thin dashes: the last state (not scaled, d_k = 128"] * 2,
    ]  # fmt: skip


def test_a_state_from_python_is_the_ghost_of_the_next_move(page):  # noqa: F811
    page.open("saturation", d_k=16)
    assert page.do(
        GHOST
        + """
        m.set("d_k", 64);
        await frame();
        const first = ghost();
        give("seed", "3");
        await frame();
        return [first, ghost()];
    """
    ) == ["", "Thin dashes: the last state (not scaled, d_k = 64"]


# --- causal: an answer at every T ------------------------------------------


def test_every_entry_of_a_large_picture_is_read_and_kept(page):  # noqa: F811
    page.open("causal", T=64, mask="none")
    assert page.do("""
        const map = () =>
          el.querySelector(".av-mosaic").getBoundingClientRect();
        const at = async (kind, i, j) => {
          const { left, top, width } = map();
          const unit = width / 340;
          const target = el.querySelector(".av-mosaic path");
          target.dispatchEvent(new PointerEvent(kind, { bubbles: true,
            pointerType: "mouse",
            clientX: left + unit * (40 + (j + 0.5) * 294 / 64),
            clientY: top + unit * (34 + (i + 0.5) * 294 / 64) }));
          await frame();
          return said().slice(0, said().indexOf(":"));
        };
        const seen = [said().slice(0, said().indexOf(":"))];
        seen.push(await at("pointermove", 63, 0), m.sets.length);
        el.querySelector(".av-result")
          .dispatchEvent(new PointerEvent("pointerleave"));
        await frame();
        seen.push(said().slice(0, said().indexOf(":")));
        seen.push(await at("click", 20, 40), [m.state.query, m.state.key]);
        return [...seen, el.values.picked, m.saves];
    """) == [
        "Query 5, key 3", "Query 63, key 0", 0, "Query 5, key 3",
        "Query 20, key 40", [20, 40], [20, 40], 2,
    ]  # fmt: skip


def test_only_a_mouse_reads_and_only_what_is_another_entry(page):  # noqa: F811
    page.open("causal", T=6, mask="none")
    assert page.do("""
        const at = (kind, i, j, pointerType) =>
          el.querySelector(".av-result").querySelectorAll("tbody tr")[i]
            .querySelectorAll("td")[j]
            .dispatchEvent(new PointerEvent(kind,
              { bubbles: true, pointerType }));
        const read = async () => {
          const asked = frames.length;
          await frame();
          return [asked, said().slice(0, said().indexOf(":"))];
        };
        const seen = [];
        at("pointermove", 2, 4, "touch"); seen.push(await read());
        at("pointermove", 2, 4, "mouse"); seen.push(await read());
        at("pointermove", 2, 4, "mouse"); seen.push(await read());
        at("pointermove", 2, 5, "pen"); seen.push(await read());
        // An entry that is there no longer is not read.
        m.set("T", 5); seen.push(await read());
        m.set("T", 6); seen.push(await read());
        at("pointermove", 5, 0, "mouse"); seen.push(await read());
        m.set("T", 5); seen.push(await read());
        el.querySelector(".av-say").click();
        el.querySelector("th").click();
        seen.push(await read());
        return [...seen, m.state.query, m.state.key];
    """) == [
        [0, "Query 5, key 3"], [1, "Query 2, key 4"], [0, "Query 2, key 4"],
        [1, "Query 2, key 5"], [1, "Query 4, key 3"], [1, "Query 2, key 5"],
        [1, "Query 5, key 0"], [1, "Query 4, key 3"], [0, "Query 4, key 3"],
        5, 3,
    ]  # fmt: skip


# --- tiles: a block is pressed ----------------------------------------------


@pytest.mark.parametrize("causal", [True, False])
def test_a_block_that_is_pressed_is_visited_and_its_row_followed(
    page,  # noqa: F811
    causal,
):
    page.open("tiles", T=63, block_q=5, block_k=3, step=0, causal=causal)
    blocks = page.do("el.values.blocks")
    places = [(0, 0), (62, 62), (5, 7), (0, 12), (9, 2), (40, 17), (39, 18)]
    for i, j in places:
        found = page.do(f"""
            const map = el.querySelector(".av-tiles");
            const {{ left, top, width }} = map.getBoundingClientRect();
            // The first or the last whole pixel of a row or column.
            const edge = (k) => ((k + 63 / 20) * width) / (1.1 * 63);
            const at = (from, k) => ({i} % 2
              ? Math.floor(from + edge(k + 1) - 0.01)
              : Math.ceil(from + edge(k) + 0.01));
            map.querySelector("path").dispatchEvent(new PointerEvent("click",
              {{ bubbles: true, clientX: at(left, {j}),
                clientY: at(top, {i}) }}));
            await frame();
            return [m.state.step, m.state.row, el.values.done];
        """)
        holds = [a <= i < b and c <= j < d for a, b, c, d in blocks]
        if any(holds):
            k = holds.index(True) + 1
            wanted = [k, i, k]
        assert found == wanted, (i, j)  # nothing where no block is
    assert page.do("""
        const before = JSON.stringify(m.state);
        el.querySelector(".av-small").dispatchEvent(
          new PointerEvent("click", { bubbles: true }));
        return before === JSON.stringify(m.state);
    """)


# --- on a phone -------------------------------------------------------------


@pytest.mark.parametrize("name", CLASSES)
def test_the_sentence_is_in_view_wherever_the_finger_is(page, name):  # noqa: F811
    page.tab.set_viewport_size({"width": 390, "height": 844})
    page.open(name, static=True)
    found = page.do("""
        document.body.insertAdjacentHTML("afterbegin",
          "<div style=\\"height: 900px\\"></div>");
        document.body.insertAdjacentHTML("beforeend",
          "<div style=\\"height: 900px\\"></div>");
        const seen = [];
        const fields = el.querySelectorAll(
          ".av-controls :is(input, select, textarea), .av-panel button");
        for (const f of fields) {
          if (!f.checkVisibility()) continue;
          f.scrollIntoView({ block: "center", behavior: "instant" });
          await layout();
          const a = f.getBoundingClientRect();
          const said = el.querySelector(".av-say");
          const b = said.getBoundingClientRect();
          // A longer sentence goes on below: its first two lines are in view.
          const lines = 2 * parseFloat(getComputedStyle(said).lineHeight);
          seen.push([f.name || f.textContent, b.top >= 0,
            Math.min(b.bottom, b.top + lines) <= 844.5,
            a.bottom <= b.top || a.top >= b.bottom]);
        }
        return [seen, document.documentElement.scrollWidth];
    """)
    seen, width = found
    assert seen
    assert [place for place in seen if not all(place[1:])] == []
    assert width <= 390


def test_a_stepper_moves_a_slider_by_one_step(page):  # noqa: F811
    page.tab.set_viewport_size({"width": 390, "height": 844})
    page.open("causal", slope=0.03, T=63)
    assert page.do("""
        const of = (key, name) => [...field(key).closest("div")
          .querySelectorAll("button")].find((b) => b.ariaLabel.endsWith(name));
        const press = async (key, name) => {
          of(key, name).click();
          await frame();
          return m.state[key];
        };
        const events = [];
        for (const kind of ["change", "input"])
          el.querySelector("form").addEventListener(kind, () =>
            events.push(kind));
        of("temperature", "less").click();
        of("temperature", "more").click();
        await frame();
        const [less, more] = ["less", "more"].map((name) => of("T", name));
        const slider = field("T");
        return [[less.textContent, more.textContent], less.tabIndex, events,
          less.nextElementSibling === slider.closest("div")
            .querySelector("output"), more.ariaLabel, more.type,
          getComputedStyle(of("T", "more")).display,
          await press("T", "more"), await press("T", "more"), m.saves,
          await press("T", "less"), field("T").value,
          await press("slope", "more"),
          await press("temperature", "less"),
          el.querySelectorAll(".av-stepper").length,
          el.querySelectorAll("input[type=range]").length];
    """) == [
        ["−", "+"], -1, ["input", "change"] * 6, True,
        "tokens T: more", "button", "block", 64, 64, 3, 63, "63", 0.0625,
        0.9, 14, 7,
    ]  # fmt: skip
    page.tab.set_viewport_size({"width": 1000, "height": 800})
    shown = "getComputedStyle(el.querySelector('.av-stepper')).display"
    assert page.do(shown) == "none"
