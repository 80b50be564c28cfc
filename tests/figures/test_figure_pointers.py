"""What a pointer, a press and a key do on the picture of a figure.

On an empty page: entries that are opened, blocks and symbols that are
pressed, tokens that are dragged, and the ghost that a slider leaves behind.
"""

import pytest

# --- the entries of a chain -------------------------------------------------


def test_step_arrow_keys_open_entries_along_the_chain(page):
    page.open("step", X=[[1.0, 2.0], [3.0, 4.0], [0.0, 1.0]])
    assert page.run("pointers.openByKeys", "dots,0,1", [
        "ArrowDown", "ArrowRight", "ArrowRight", "ArrowUp", "ArrowLeft",
    ]) == [
        ["dots,1,1", [1, 1, 1]],
        ["dots,1,2", [1, 1, 2]],
        ["scores,1,0", [2, 1, 0]],
        ["scores,0,0", [2, 0, 0]],
        ["dots,0,2", [1, 0, 2]],
    ]  # fmt: skip
    # All entries are one stop of the tab key.
    stops = """[...el.querySelectorAll("[data-handle]")]
      .filter((it) => it.tabIndex === 0).map((it) => it.dataset.handle)"""
    assert page.do(stops) == ["dots,0,2"]


def test_step_opens_what_a_mouse_points_at_and_no_finger(page):
    ids = ["output,1,0", "Q,1,0", "K,2,1", "V,0,1", "weights,0,2"]
    page.open("step")
    opened = [[4, 1, 0], [1, 1, 0], [1, 1, 2], [4, 1, 1], [3, 0, 2]]
    assert page.run("pointers.pointAt", ids, "mouse") == [opened, opened[-1]]
    page.open("step")
    first = [1, 0, 2]
    assert page.run("pointers.pointAt", ids, "touch") == [[first] * 5, first]


# --- entries and blocks that are pressed ------------------------------------


def test_causal_entries_of_a_large_map_are_read_and_kept(page):
    page.open("causal", T=64, mask="none")
    assert page.run("pointers.readLarge") == [
        "Query 5, key 3", "Query 63, key 0", 0, "Query 5, key 3",
        "Query 20, key 40", [20, 40], [20, 40], 2,
    ]  # fmt: skip


@pytest.mark.parametrize("causal", [True, False])
def test_tiles_block_that_is_pressed_is_visited(page, causal):
    page.open("tiles", T=63, block_q=5, block_k=3, step=0, causal=causal)
    places = [(0, 0), (62, 62), (5, 7), (0, 12), (9, 2), (40, 17), (39, 18)]
    blocks, result = page.run("pointers.pressTiles", places)
    expected = []
    for i, j in places:
        holds = [a <= i < b and c <= j < d for a, b, c, d in blocks]
        k = holds.index(True) + 1 if any(holds) else None
        # Where no block is nothing happens.
        expected.append([k, i, k] if k else expected[-1])
    assert result == [*expected, expected[-1]]


def test_backward_output_that_is_pressed_is_the_loss(page):
    given = [[0, 0], [0, 0], [1, 0]]
    one = [[0, 0], [0, 1], [0, 0]]
    page.open("backward")
    assert page.run("pointers.pressOutputs", ["dY,1,1", "Y,1,1", "Y,2,0"]) == [
        [True, 3, one, "true"],
        [False, 3, given, "false"],
        [True, 4, given, "true"],
    ]


def test_induction_symbols_are_typed_added_and_asked_by_presses(page):
    page.open("induction", symbols="ABC")
    assert page.run("pointers.typeSymbols") == [
        ["ABCL", "ABC", "AB"], "AB", 2,
        [*"ABCDEFGHIJKL", "remove the last letter", "add what it says"],
    ]  # fmt: skip
    # It says what follows the query that is shown, and not the last symbol.
    for query in (3, 8):
        largest, message, *after = page.run("pointers.addAnswer", query)
        letter = "ABCDEFGHIJKL"[largest]
        assert f"says {letter} with probability" in message
        assert after == ["ABCDEFABC" + letter, 9, 9]
    assert page.run("pointers.pressArcs") == [[0, 1, 3, 3], 3, 3]


# --- what is dragged and left behind ----------------------------------------


def hand(page, drawing, unit, look):
    """A mouse at places of a plane whose middle is that of a drawing."""
    box = page.tab.locator(drawing).bounding_box()

    def point(x, y, down=None):
        page.tab.mouse.move(
            box["x"] + box["width"] / 2 + unit * box["width"] * x,
            box["y"] + box["width"] / 2 - unit * box["width"] * y,
        )
        if down is not None:
            (page.tab.mouse.down if down else page.tab.mouse.up)()
        return page.do(f"await frame(); return {look}")

    return point


def test_words_query_is_dragged_or_sent(page):
    page.open("words")
    page.run("pointers.countCaptures")
    to = hand(page, ".av-ask", 1 / 2 / 3.35, "[m.state.x, m.state.y]")
    to(2, 0.5, down=True)
    assert to(1.04, 0.96) == [1, 1], "to the tenth"
    assert to(3.2, 3.3) == [3, 3], "it stays in the plane"
    assert to(-3.3, -3.2) == [-3, -3]
    assert to(2, -1) == [2, -1]
    page.tab.mouse.up()
    assert to(0, 0) == [2, -1], "let go"
    assert page.do("held") == 1, "it goes on outside of the figure"
    # Where the query is not, nothing is taken; a press sends it there.
    to(-1, -1, down=True)
    assert to(-1.5, -1) == [2, -1]
    page.tab.mouse.up()
    assert to(0, 0) == [-1.5, -1]
    assert page.run("pointers.pressElsewhere") == [-1.5, -1, "-1.5", "-1"]


def test_saturation_ghost_of_a_drag_is_the_state_before_it(page):
    page.open("saturation", d_k=16)
    assert page.run("pointers.ghostOfDrag") == [
        "",
        *["(not scaled, d_k = 16)"] * 3,
        *["(not scaled, d_k = 128)"] * 2,
    ]
    # A state that Python sets is the ghost of the next move.
    page.open("saturation", d_k=16)
    assert page.run("pointers.ghostOfPython") == ["", "(not scaled, d_k = 64)"]
