"""What a pointer, a press and a key do on the picture of a figure.

On an empty page: entries that are pointed at, blocks and symbols that are
pressed, tokens that are dragged, and the ghost that a slider leaves behind.
"""

import json

import numpy as np
import pytest

# --- the entries of step.js -------------------------------------------------

CELL = 'const cell = (at) => el.querySelector(`[data-at="${at}"]`);'


def test_step_keys_move_inside_a_matrix(page):
    page.open("step", X=[[1.0, 2.0], [3.0, 4.0], [0.0, 1.0]])
    type_ = f"""{CELL}
      const type = (key, more) => {{
        const stopped = press(document.activeElement, key, more);
        return [document.activeElement.dataset.at, stopped];
      }};
    """
    moves = [("ArrowRight", "0,1"), ("ArrowDown", "1,1"), ("End", "1,2"),
             ("ArrowRight", "1,2"), ("ArrowLeft", "1,1"), ("Home", "1,0"),
             ("ArrowLeft", "1,0"), ("ArrowUp", "0,0"), ("ArrowUp", "0,0"),
             ("End", "0,2"), ("ArrowLeft", "0,1"), ("ArrowLeft", "0,0"),
             ("ArrowDown", "1,0"), ("ArrowDown", "2,0"),
             ("ArrowDown", "2,0")]  # fmt: skip
    keys = json.dumps([key for key, _ in moves])
    assert page.do(f"""{type_}
        cell("dots,0,0").focus();
        return {keys}.map((key) => type(key));
    """) == [[f"dots,{at}", True] for _, at in moves]
    assert page.do(f"""{type_}
        return [type("x"), type("Tab"), type("ArrowUp", {{ altKey: true }}),
         type("ArrowUp", {{ ctrlKey: true }}),
         type("ArrowUp", {{ metaKey: true }}), type("ArrowUp")];
    """) == [["dots,2,0", False]] * 5 + [["dots,1,0", True]]
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
    assert page.do(f"""{CELL}
        const all = (kind) => [...el.querySelectorAll(`.av-${{kind}}`)]
          .map((c) => c.dataset.at);
        const look = () => [said().split(" = ")[0], all("picked").join()];
        const point = (at) => {{
          pointer(cell(at), "pointerover");
          return look();
        }};
        const start = look();
        const first = [point("output,1,0"), all("source")];
        pointer(el.querySelector("caption"), "pointerover");
        const kept = point("X,0,0");
        const second = [point("dots,1,0"), all("source")];
        await settle();
        const waits = timers.length;
        point("dots,1,0");
        await settle();
        second.push(timers.length - waits);  // nothing to be said anew
        give("scale", false);
        await frame();
        const third = look();
        cell("weights,0,1").focus();
        const focused = look();
        give("X", "1");
        await frame();
        return [start, first, kept, second, third, focused, look()];
    """) == [
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
            page.do(f"""{CELL}
            await become({json.dumps(state or {"what": "X"})});
            pointer(cell("{entry}"), "pointerover");
            return said();
        """)
            == f"{name}[{i}][{j}] = {sentence}"
        )


# --- entries and blocks that are pressed ------------------------------------


def test_cell_at_reads_and_keeps_every_entry_of_a_large_picture(page):
    page.open("causal", T=64, mask="none")
    assert page.do("""
        const look = () => said().slice(0, said().indexOf(":"));
        const at = async (kind, i, j) => {
          const { left, top, width } =
            el.querySelector(".av-mosaic").getBoundingClientRect();
          const unit = width / 340;
          pointer(el.querySelector(".av-mosaic path"), kind, {
            pointerType: "mouse",
            clientX: left + unit * (40 + (j + 0.5) * 294 / 64),
            clientY: top + unit * (34 + (i + 0.5) * 294 / 64) });
          await frame();
          return look();
        };
        const seen = [look()];
        seen.push(await at("pointermove", 63, 0), m.sets.length);
        el.querySelector(".av-result")
          .dispatchEvent(new PointerEvent("pointerleave"));
        await frame();
        seen.push(look(), await at("click", 20, 40));
        return [...seen, [m.state.query, m.state.key], el.values.picked,
          m.saves];
    """) == [
        "Query 5, key 3", "Query 63, key 0", 0, "Query 5, key 3",
        "Query 20, key 40", [20, 40], [20, 40], 2,
    ]  # fmt: skip


def test_cell_at_reads_only_for_a_mouse_and_only_another_entry(page):
    page.open("causal", T=6, mask="none")
    assert page.do("""
        const at = (kind, i, j, pointerType) =>
          pointer(el.querySelectorAll(".av-result tbody tr")[i]
            .querySelectorAll("td")[j], kind, { pointerType });
        const seen = [];
        const read = async () => {
          const asked = frames.length;
          await frame();
          seen.push([asked, said().slice(0, said().indexOf(":"))]);
        };
        at("pointermove", 2, 4, "touch"); await read();
        at("pointermove", 2, 4, "mouse"); await read();
        at("pointermove", 2, 4, "mouse"); await read();
        at("pointermove", 2, 5, "pen"); await read();
        // An entry that is there no longer is not read.
        m.set("T", 5); await read();
        m.set("T", 6); await read();
        at("pointermove", 5, 0, "mouse"); await read();
        m.set("T", 5); await read();
        el.querySelector(".av-say").click();
        el.querySelector("th").click();
        await read();
        return [...seen, m.state.query, m.state.key];
    """) == [
        [0, "Query 5, key 3"], [1, "Query 2, key 4"], [0, "Query 2, key 4"],
        [1, "Query 2, key 5"], [1, "Query 4, key 3"], [1, "Query 2, key 5"],
        [1, "Query 5, key 0"], [1, "Query 4, key 3"], [0, "Query 4, key 3"],
        5, 3,
    ]  # fmt: skip


@pytest.mark.parametrize("causal", [True, False])
def test_tiles_block_that_is_pressed_is_visited(page, causal):
    page.open("tiles", T=63, block_q=5, block_k=3, step=0, causal=causal)
    places = [(0, 0), (62, 62), (5, 7), (0, 12), (9, 2), (40, 17), (39, 18)]
    blocks, found = page.do(f"""
        const {{ blocks }} = el.values;
        const found = [];
        for (const [i, j] of {json.dumps(places)}) {{
          const map = el.querySelector(".av-tiles");
          const {{ left, top, width }} = map.getBoundingClientRect();
          // The first or the last whole pixel of a row or column.
          const edge = (k) => ((k + 63 / 20) * width) / (1.1 * 63);
          const at = (from, k) => (i % 2
            ? Math.floor(from + edge(k + 1) - 0.01)
            : Math.ceil(from + edge(k) + 0.01));
          pointer(map.querySelector("path"), "click",
            {{ clientX: at(left, j), clientY: at(top, i) }});
          await frame();
          found.push([m.state.step, m.state.row, el.values.done]);
        }}
        pointer(el.querySelector(".av-small"), "click");
        found.push([m.state.step, m.state.row, el.values.done]);
        return [blocks, found];
    """)
    wanted = []
    for i, j in places:
        holds = [a <= i < b and c <= j < d for a, b, c, d in blocks]
        k = holds.index(True) + 1 if any(holds) else None
        # Where no block is nothing happens.
        wanted.append([k, i, k] if k else wanted[-1])
    assert found == [*wanted, wanted[-1]]


def test_backward_entry_is_pressed_and_stepped(page):
    page.open("backward")
    assert page.do("""
        const [less, more] = el.querySelectorAll(".av-keys button");
        const at = (spot) => el.querySelector(`[data-at="dY,${spot}"]`);
        more.click();
        await frame();
        const first = [m.state.dY, field("dY").value.split("\\n")[2]];
        at("0,1").click();
        await frame();
        const picked = el.querySelector(".av-picked").dataset.at;
        const entry = [m.state.entry, field("entry").value];
        less.click();
        less.click();
        await frame();
        const second = m.state.dY;
        at("2,1").click();
        const last = m.state.entry;
        at("0,1").click();
        el.querySelector(".av-keys").click();
        el.querySelector("caption").click();
        const still = [last, m.state.entry, m.state.dY === second];
        m.set("dY", [[10, 0], [0, 0], [0, 0]]);
        at("0,0").click();
        await frame();
        more.click();
        const refused = error().slice(0, 54);
        // Digits that no reader sees are rounded away; a field that is being
        // typed in shows the number as a reader writes it.
        m.set("Q", [[1, 2]]);
        m.set("dY", [[0.12345678, 2]]);
        await frame();
        field("dY").focus();
        more.click();
        await frame();
        const rounded = [m.state.dY, field("dY").value];
        return [first, picked, entry, second, still, refused, ...rounded];
    """) == [
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
    assert page.do("""
      const type = (symbol) => {
        el.querySelector(`[data-symbol="${symbol}"]`).click();
        return field("symbols").value;
      };
      const seen = [type("L"), type("back"), type("back")];
      el.querySelector(".av-keys").click();
      el.querySelector(".av-panel").click();
      await frame();
      const names = [...el.querySelectorAll(".av-keys button")]
        .map((it) => it.ariaLabel ?? it.textContent);
      return [seen, m.state.symbols, el.values.logits.length, names];
    """) == [
        ["ABCL", "ABC", "AB"], "AB", 2,
        [*"ABCDEFGHIJKL", "remove the last letter", "add what it says"],
    ]  # fmt: skip
    # It says what follows the query that is shown, and not the last symbol.
    for query in (3, 8):
        largest, said, *after = page.do(f"""
          await become({{ symbols: "ABCDEFABC", query: {query} }});
          const row = el.values.logits[{query}];
          const before = said();
          el.querySelector("[data-symbol=said]").click();
          await frame();
          return [row.indexOf(Math.max(...row)), before, m.state.symbols,
            m.state.query, el.values.query];
        """)
        letter = "ABCDEFGHIJKL"[largest]
        assert f"says {letter} with probability" in said
        assert after == ["ABCDEFABC" + letter, 9, 9]
    assert page.do("""
      await become({ symbols: "ABCAB" });
      const arcs = el.querySelector(".av-arcs");
      const { left, width } = arcs.getBoundingClientRect();
      const sets = m.sets.length;
      const seen = [0.1, 1.9, 3.1, 5.1].map((place) => {
        pointer(arcs.firstElementChild, "click",
          { clientX: left + place * width / 12 });
        return m.state.query;
      });
      await frame();
      el.querySelector(".av-say").click();
      return [seen, m.state.query, m.sets.length - sets];
    """) == [[0, 1, 3, 3], 3, 3]


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
    page.do("""
      globalThis.held = 0;
      el.addEventListener("gotpointercapture", () => { held += 1; });
      return null;
    """)
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
    assert page.do("""
      el.querySelector(".av-say").click();
      pointer(el.querySelector(".av-sentence text"), "click");
      return [m.state.x, m.state.y, field("x").value, field("y").value];
    """) == [-1.5, -1, "-1.5", "-1"]


def test_temperature_place_and_scores_are_pulled(page):
    """Where the pointer lets go, by axes that are read from the drawing."""
    page.open("temperature")

    def middle(handle):
        box = page.tab.locator(f"[data-handle={handle}]").bounding_box()
        return np.array([
            box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        ])  # fmt: skip

    def drag(handle, by):
        start = middle(handle)
        page.tab.mouse.move(*start)
        page.tab.mouse.down()
        page.tab.mouse.move(*(start + by), steps=3)
        page.tab.mouse.up()
        keys = '["place", "pull0", "pull1", "pull2", "pull3"]'
        return page.do(f"await frame(); return {keys}.map((k) => m.state[k])")

    apart = (middle("bar-3") - middle("bar-0"))[0] / 3  # of two jars
    assert drag("place", [0.5 * apart, -7]) == [1.75, 0, 0, 0, 0]
    # The lowest bar is 1.75² / 2 − 0.25² / 2 = 1.5 below that of jar 2.
    unit = (middle("bar-0") - middle("bar-2"))[1] / 1.5
    assert drag("bar-3", [3, -0.75 * unit]) == [1.75, 0, 0, 0, 0.75]
    assert drag("bar-3", [0, 99 * unit])[4] == -2
    assert "must be a number from -2 to 2" in page.do("error()")


def test_saturation_ghost_of_a_drag_is_the_state_before_it(page):
    page.open("saturation", d_k=16)
    ghost = """
      const ghost = () => (el.querySelector(".av-caption")?.textContent ?? "")
        .replace(/, largest.*/, "").replace(/.*last state /, "");
      const rest = (key) => field(key)
        .dispatchEvent(new Event("change", { bubbles: true }));
    """
    assert page.do(f"""{ghost}
        const seen = [ghost()];
        for (const power of [5, 6, 7]) {{
          give("d_k", power);
          await frame();
          seen.push(ghost());
        }}
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
        *["(not scaled, d_k = 16"] * 3,
        *["(not scaled, d_k = 128"] * 2,
    ]
    # A state that Python sets is the ghost of the next move.
    page.open("saturation", d_k=16)
    assert page.do(f"""{ghost}
        await become({{ d_k: 64 }});
        const first = ghost();
        give("seed", "3");
        await frame();
        return [first, ghost()];
    """) == ["", "(not scaled, d_k = 64"]
