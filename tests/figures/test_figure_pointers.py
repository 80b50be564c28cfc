"""What a pointer, a press and a key do on the picture of a figure.

On an empty page: entries that are pointed at, blocks and symbols that are
pressed, tokens that are dragged, and the ghost that a slider leaves behind.
"""

import pytest

# --- the entries of step.js -------------------------------------------------


def test_step_keys_move_inside_a_matrix(page):
    page.open("step", X=[[1.0, 2.0], [3.0, 4.0], [0.0, 1.0]])
    moves = [("ArrowRight", "0,1"), ("ArrowDown", "1,1"), ("End", "1,2"),
             ("ArrowRight", "1,2"), ("ArrowLeft", "1,1"), ("Home", "1,0"),
             ("ArrowLeft", "1,0"), ("ArrowUp", "0,0"), ("ArrowUp", "0,0"),
             ("End", "0,2"), ("ArrowLeft", "0,1"), ("ArrowLeft", "0,0"),
             ("ArrowDown", "1,0"), ("ArrowDown", "2,0"),
             ("ArrowDown", "2,0")]  # fmt: skip
    keys = [key for key, _ in moves]
    assert page.run("pointers.moveByKeys", keys) == [
        [f"dots,{at}", True] for _, at in moves
    ]
    assert page.run("pointers.otherKeys") == [["dots,2,0", False]] * 5 + [
        ["dots,1,0", True]
    ]
    # One entry of each matrix is a stop of the tab key: that left last.
    stops = """[...el.querySelectorAll("[data-at]")]
      .filter((it) => it.tabIndex === 0).map((it) => it.dataset.at)"""
    assert page.do(stops) == [
        "dots,1,0", "scores,0,0", "weights,0,0", "output,0,0",
    ]  # fmt: skip
    roles = "[...el.querySelectorAll('table')].map((t) => t.role)"
    assert page.do(roles) == [None, "grid", "grid", "grid", "grid"]


def test_step_works_out_an_entry_until_the_state_changes(page):
    page.open("step", X=[[1.0, 2.0], [3.0, 4.0]])
    assert page.run("pointers.pointAtEntries") == [
        ["dots[0][1]", "dots,0,1"],
        [["output[1][0]", "output,1,0"],
         ["X,0,0", "X,1,0", "weights,1,0", "weights,1,1"]],
        ["output[1][0]", "output,1,0"],
        [["dots[1][0]", "dots,1,0"], ["X,0,0", "X,0,1", "X,1,0", "X,1,1"], 0],
        ["dots[1][0]", "dots,1,0"],
        ["weights[0][1]", "weights,0,1"],
        ["dots[0][0]", "dots,0,0"],
    ]  # fmt: skip


FAR = {"what": "Q, K, V", "Q": [[-100]], "V": [[1], [2]], "scale": False}
SENTENCES = [
    ("dots,0,2", {}, "X[0] · X[2] = 1×1 + 0×1 + 1×0 + 0×0 = 1"),
    ("scores,0,2", {}, "dots[0][2] / √4 = 1 / 2 = 0.5"),
    ("weights,0,2", {}, "exp(0.5) / (exp(1) + exp(0) + exp(0.5)) "
     "≈ 1.6487 / 5.3670 ≈ 0.3072"),
    ("output,0,2", {}, "weights[0] · column 2 of X "
     "= 0.5065×1 + 0.1863×0 + 0.3072×0 ≈ 0.5065"),
    ("masked,0,2", {"causal": True}, "−∞, since key 2 comes after query 0"),
    ("weights,1,2", {"causal": True}, "exp(−∞) / (exp(0) + exp(1) + "
     "exp(−∞)) ≈ 0 / 3.7183 = 0"),
    ("weights,0,1", FAR | {"K": [[100], [90]], "causal": False},
     "exp(−9,000) / (exp(−10,000) + exp(−9,000)) ≈ 1"),
    ("weights,0,1", FAR | {"K": [[90], [100]]},
     "exp(−10,000) / (exp(−9,000) + exp(−10,000)) ≈ 0"),
    ("weights,0,1", FAR | {"K": [[0], [0]]},
     "exp(0) / (exp(0) + exp(0)) = 1 / 2 = 0.5"),
    ("weights,0,1", FAR | {"K": [[-0.05], [-0.05]]},
     "exp(5) / (exp(5) + exp(5)) ≈ 148.4132 / 296.8263 = 0.5"),
]  # fmt: skip


def test_step_sentence_of_an_entry(page):
    """The digits of the sources, and no zero over a zero."""
    page.open("step", words="one")
    for entry, state, sentence in SENTENCES:
        name, i, j = entry.split(",")
        assert (
            page.run("pointers.sentenceOf", state or {"what": "X"}, entry)
            == f"{name}[{i}][{j}] = {sentence}"
        )


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


def test_backward_entry_is_pressed_and_stepped(page):
    page.open("backward")
    assert page.run("pointers.stepEntry") == [
        [[[0, 0], [0, 0], [1.1, 0]], "1.1 0"],
        "dY,0,1",
        [1, "1"],
        [[0, -0.2], [0, 0], [1.1, 0]],
        [5, 1, True],
        "each number of dY must be a number from -10 to 10, wit",
        [[0.223457, 2]],
        "0.223457 2",
    ]  # fmt: skip


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
        *["(not scaled, d_k = 16"] * 3,
        *["(not scaled, d_k = 128"] * 2,
    ]
    # A state that Python sets is the ghost of the next move.
    page.open("saturation", d_k=16)
    assert page.run("pointers.ghostOfPython") == ["", "(not scaled, d_k = 64"]
