"""The laboratories: twelve bugs that are there, and can be told apart."""

import copy
import importlib
import importlib.util
import itertools
import math
import re
import sys
from operator import attrgetter
from pathlib import Path
from types import SimpleNamespace

import nbformat
import numpy as np
import pytest
import yaml

from course import broken
from course.published import leaves, matches
from helpers.attention import attention
from helpers.cost import attention_flops, kv_cache_bytes, scores_bytes
from helpers.masks import causal_mask
from tests.book import practice_pages
from tests.book.practice_pages import defined

TESTS = Path(__file__).resolve().parents[1] / "core"
BOOK = practice_pages.ROOT / "book"
TWELVE = list(broken.BUGS)[: broken.COUNT]
RNG = np.random.default_rng
# For each patient, a test of the project that fails with its bug, and what it
# is called with.
CAUGHT = {
    "repeat": (
        "test_heads",
        "test_repeat_kv_serves_neighbouring_query_heads",
        (0, (), 2, 2),
    ),
    "later": ("test_masks", "test_square_by_default", ()),
    "term": (
        "test_gradients",
        "test_softmax_vjp_equals_the_jacobian_product",
        (RNG(0),),
    ),
    "root": (
        "test_attention",
        "test_the_scale_is_one_over_the_root_of_d_k",
        (),
    ),
    "top": ("test_softmax", "test_each_row_has_its_own_maximum", ()),
    "after": (
        "test_attention",
        "test_the_future_cannot_change_the_past",
        (RNG(0),),
    ),
    "start": (
        "test_transformer",
        "test_a_cache_changes_nothing",
        ("as Llama", RNG(0)),
    ),
    "cut": (
        "test_heads",
        "test_split_and_merge_undo_each_other",
        ((), 2, 3, 4),
    ),
    "mix": ("test_tiled", "test_large_scores_lose_nothing", ()),
    "zero": (
        "test_attention",
        "test_the_future_cannot_change_the_past",
        (RNG(0),),
    ),
    "pairs": (
        "test_positions",
        "test_rotary_equals_the_loop",
        (0, 4, 4, (), False, np.float64, 1e4),
    ),
    "axis": ("test_attention", "test_the_softmax_runs_over_keys", ()),
}


@pytest.fixture(scope="module")
def charts():
    """What the probes measure of a healthy copy, and of each with a bug."""
    result = {
        name: broken.examine(broken.planted(bug))
        for name, bug in broken.BUGS.items()
    }
    return {"healthy": broken.examine(broken.planted()), **result}


@pytest.mark.parametrize("name", broken.BUGS)
def test_the_text_that_a_bug_replaces_stands_there_once(name):
    """So that the bugs stay in step with the helpers."""
    assert broken.planted(broken.BUGS[name])


def test_each_patient_has_a_bug_of_its_own():
    numbers = range(1, broken.COUNT + 1)
    assert [broken.bug_of(number) for number in numbers] == TWELVE
    sick = broken.patient(12).attention.attention
    weights = sick(np.eye(3), np.eye(3), np.eye(3), scale=9).weights
    np.testing.assert_allclose(weights.sum(axis=0), 1)


def test_a_healthy_copy_is_as_the_helpers_are(charts):
    parts = {
        name: importlib.import_module(f"helpers.{name}")
        for name in broken.MODULES
    }
    package = SimpleNamespace(**parts)  # no probe asks for parts of `model`
    assert broken.examine(package) == charts["healthy"]


@pytest.mark.parametrize("name", TWELVE)
def test_each_bug_has_a_symptom(name, charts):
    assert broken.symptoms(charts[name], charts["healthy"])


def test_no_two_have_the_same_symptoms(charts):
    """A reader can tell each from the others, and from each rival."""
    for one, two in itertools.combinations(charts, 2):
        pairs = zip(charts[one].values(), charts[two].values(), strict=True)
        assert any(not abs(a - b) <= 0.01 for a, b in pairs), (one, two)


@pytest.mark.parametrize("name", TWELVE)
def test_no_bug_shows_in_a_shape(name):
    def shapes(h):
        X = np.ones((5, 8))
        weights = h.heads.init_projections(np.random.default_rng(0), 8, 4, 2)
        many = h.heads.multi_head_attention(X, weights)
        back = h.gradients.attention_vjp(X, X, X, X, np.full((5, 5), 0.2))
        arrays = [
            *h.attention.attention(X, X, X, mask=h.masks.causal_mask(5)),
            *many, *back,
            h.heads.split_heads(X, 2), h.heads.repeat_kv(X[None], 2),
            h.positions.rotary_embedding(X),
            h.tiled.tiled_attention(X, X, X), h.softmax.softmax(X),
        ]  # fmt: skip
        return [x.shape for x in arrays]

    assert shapes(broken.planted(broken.BUGS[name])) == shapes(
        broken.planted()
    )


def run_with(package, file, name, arguments):
    """Call a test function of the project, its helpers those of a copy.

    What the tests share imports helpers too, so it is imported anew, and
    what it was before comes back.
    """
    parts = {f"helpers.{m}": attrgetter(m)(package) for m in broken.MODULES}
    spec = importlib.util.spec_from_file_location(
        "of_a_copy", TESTS / f"{file}.py"
    )
    module = importlib.util.module_from_spec(spec)
    kept = dict(sys.modules)
    for shared in [name for name in kept if name.split(".")[0] == "tests"]:
        del sys.modules[shared]
    sys.modules.update(parts)
    try:
        spec.loader.exec_module(module)
    finally:
        for new in sys.modules.keys() - kept.keys():
            if new.split(".")[0] in ("helpers", "tests"):
                del sys.modules[new]
        sys.modules.update(kept)
    test = getattr(module, name)
    if hasattr(test, "hypothesis"):
        test = test.hypothesis.inner_test
    with np.errstate(all="ignore"):
        test(*copy.deepcopy(arguments))


@pytest.mark.parametrize("name", TWELVE)
def test_each_bug_makes_a_test_of_the_project_fail(name):
    run_with(broken.planted(), *CAUGHT[name])
    with pytest.raises(AssertionError):
        run_with(broken.planted(broken.BUGS[name]), *CAUGHT[name])


# --- one for each part -------------------------------------------------------


def test_each_part_has_a_laboratory_that_states_its_time():
    """By the table of the page for teachers."""
    toc = yaml.safe_load((practice_pages.ROOT / "_toc.yml").read_text("utf-8"))
    parts = [p["caption"] for p in toc["parts"] if p.get("numbered")]
    page = (BOOK / "for-teachers.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| ([^|]+) \| \[[^]]+\]\(labs/([\w-]+)\.ipynb\) \| (\d+) \|",
        page,
        flags=re.M,
    )
    assert list(dict.fromkeys(part for part, _, _ in rows)) == parts
    stems = {path.stem for path in practice_pages.LABS} - {"from-memory"}
    assert sorted(stem for _, stem, _ in rows) == sorted(stems)
    for _, stem, minutes in rows:
        top = (BOOK / "labs" / f"{stem}.ipynb").read_text("utf-8")
        stated = re.search(r"Lab: (?:plan for|about) (\d+) min", top)
        assert stated[1] == minutes, stem


# --- set a head by hand ------------------------------------------------------


@pytest.fixture(scope="module")
def head():
    return defined("set-a-head")


def test_a_head_with_small_scores_is_accepted(head):
    reply = head["judged"](*head["matrices"](17.6, 22, 2.31))
    assert reply.right
    assert "spread of 24.4" in reply.text


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ((44, 44, 5), "Less than 26"),  # sure, by too much
        ((18, 24, 2.5), "spread of 26.0. Less than 26"),
        # What two digits would round to 0.90 is told as what it is.
        ((18, 23.8, 2.5), r"partner 0\.8989, but 0\.9 is needed"),
        ((18, 23.86, 2.5), r"partner 0\.8999, but 0\.9 is needed"),
        ((12, 12, 2), r"\(\(\)\(\)\(\)\): position 7 gives its partner 0.24"),
        (
            (17.6, 22, 2.1),
            r"^\(\)\(\)\(\)\(\): .* 0.8776",
        ),  # the place counts too little
        ((17.6, 19, 2.31), "partner 0.77"),  # and the opening bracket
        ((14, 22, 2.31), "partner 0.72"),  # and the level
    ],
)
def test_a_head_that_is_not_sure_or_too_large_is_refused(
    head, settings, message
):
    reply = head["judged"](*head["matrices"](*settings))
    assert reply.right is False
    assert re.search(message, reply.text), reply


def test_a_weight_that_is_nearly_enough_is_not_rounded_up(head):
    """By halving: the largest c that is refused by the last digits alone."""
    low, high = 23.8, 23.9
    for _ in range(40):
        c = (low + high) / 2
        enough = head["judged"](*head["matrices"](18, c, 2.5)).right
        low, high = (low, c) if enough else (c, high)
    (least, _, _), _ = head["worst"](*head["matrices"](18, low, 2.5))
    assert f"{least:.6f}" == "0.900000"
    message = head["judged"](*head["matrices"](18, low, 2.5)).text
    assert "partner 0.8999, but 0.9" in message


def test_no_level_can_be_told_from_letters_alone(head):
    """Same share, same last letter, same output; found at six letters."""
    one, two = "(()", "(()(()"
    assert head["even"](one)[-1] == pytest.approx(head["even"](two)[-1])
    deep = [t.count("(") - t.count(")") + 1 for t in (one, two)]
    assert [head["levels"](t)[-1] for t in (one, two)] == deep == [2, 3]


@pytest.mark.parametrize(
    ("slip", "message"),
    [
        ("W_Q[0, 3] = 0", "opening brackets need the query term too"),
        ("scale = 1.0", "Divide by the square root of 4"),
        ("W_K[0, 3] = 0", "Nothing says that the key is an opening"),
        ("W_K[5, 3] = 0", "position is missing"),
        ("mask = True", "masked"),
        ("weigh = True", "These are weights. The"),
        ("mask = weigh = True", "weights, and masked"),
        ("W_K[1, 3] = 12", r"it gives \d+ at \[\d, \d\], where"),
    ],
)
def test_slips_in_the_matrices_of_a_head_have_replies(head, slip, message):
    def scores_of(X):
        W_Q, W_K = head["matrices"](12, 12, 2)
        space = {"W_Q": W_Q, "W_K": W_K, "scale": 0.5, "mask": False}
        exec(slip, space)
        scores = X @ W_Q @ (X @ W_K).T * space["scale"]
        if space["mask"]:
            scores = np.where(causal_mask(len(X)), scores, -np.inf)
        if not space.get("weigh"):
            return scores
        powers = np.exp(scores)
        return powers / powers.sum(axis=1, keepdims=True)

    reply = head["task"].check(scores_of)
    assert reply.right is False
    assert re.search(message, reply.text), reply


def test_what_is_asked_is_not_printed_below_the_question(head):
    """Nor is it in what a page shows without a click."""
    slope = head["measured"]
    seen = "".join(
        output.get("text", "")
        for cell in practice_pages.cells(BOOK / "labs" / "set-a-head.ipynb")
        if "hide-cell" not in cell.metadata.get("tags", [])
        for output in cell.outputs
    )
    assert "output  5.0452" in seen
    assert f"{abs(slope):.2f}" == "0.68"
    assert not re.search(r"\b0\.68|\b0\.679|\b0\.60\b", seen)


def test_a_head_of_another_shape_is_told_so(head):
    for shapes in [((5, 4), (5, 4)), ((6, 4), (6, 3)), ((6,), (6,))]:
        reply = head["judged"](*map(np.ones, shapes))
        assert reply.right is False
        assert "(6, d)" in reply.text
    assert head["judged"]().right is None


def partner_by_counting(text, i):
    """Go back from place i until as many were opened as closed."""
    open_now = 0
    for j in range(i, -1, -1):
        open_now += -1 if text[j] == ")" else 1
        if open_now == 0:
            return j
    return None


def test_the_partners_and_levels_of_the_laboratory(head):
    texts = head["balanced"](8)
    assert len(texts) == len(set(texts)) == 13
    for text in texts:
        pairs = dict(head["partners"](text))
        closing = [i for i, x in enumerate(text) if x == ")"]
        assert list(pairs) == closing
        for i in closing:
            assert pairs[i] == partner_by_counting(text, i)
            before = text[: i + 1]
            level = before.count("(") - before.count(")") + 1
            assert head["levels"](text)[[i, pairs[i]]].tolist() == [level] * 2


# --- measure your machine ----------------------------------------------------


@pytest.fixture(scope="module")
def machine():
    return defined("measure-your-machine")


@pytest.fixture(scope="module")
def clocked(machine):
    """The check, with a clock of known rates in place of the machine."""
    judged = machine["judged"]

    def took(T, S, n_heads, d_k):
        pairs, moved = T * S * n_heads, 8 * S * n_heads * d_k
        return pairs * (4 * d_k / 1e11 + 4e-9) + moved / 1e10

    return lambda forecast: judged(forecast, took), took


@pytest.mark.parametrize(
    ("slip", "message"),
    [
        (lambda t, T, S, H, d: t, None),
        (lambda t, T, S, H, d: 2.9 * t, None),
        (lambda t, T, S, H, d: t / 2.9, None),
        (lambda t, T, S, H, d: np.float32(t), None),
        (lambda t, T, S, H, d: 3.1 * t, r"3\.10 for .*3\.10 for .*3\.10 for"),
        (lambda t, T, S, H, d: t / 3.1, r"0\.32 for .*0\.32 for .*0\.32 for"),
        # All three are told, also after one that is wrong.
        (lambda t, T, S, H, d: 1e3 * t if d == 16 else t,
         r"1000\.00 for \(384, 384, 16, 16\), 1\.00 for \(640, 640, 1, 512\), "
         r"1\.00 for \(1, 30000, 4, 64\)\.$"),
        (lambda t, T, S, H, d: 4 * T * S * H * d / 1e11,
         r"0\.14 for \(384, .* 0\.82 for \(640, .* 0\.04 for \(1, "),
        (lambda t, T, S, H, d: T * S * H * (4 * d / 1e11 + 4e-9),
         r"0\.11 for \(1, 30000"),  # without the bytes of the cache
        (lambda t, T, S, H, d: T * S * H * 4e-9 + 8 * S * H * d / 1e10,
         r"0\.18 for \(640"),  # without the products
        (lambda t, T, S, H, d: -t, "is not a time"),
        (lambda t, T, S, H, d: 0, "is not a time"),
        (lambda t, T, S, H, d: math.nan, "is not a time"),
        (lambda t, T, S, H, d: math.inf, "is not a time"),
        (lambda t, T, S, H, d: None, "384, 16, 16.*None is not a time"),
        (lambda t, T, S, H, d: "2 s", "2 s is not a time"),
        (lambda t, T, S, H, d: [t], "is not a time"),
    ],
)  # fmt: skip
def test_a_forecast_is_held_against_the_clock(clocked, slip, message):
    judged, took = clocked
    reply = judged(lambda *shape: slip(took(*shape), *shape))
    assert reply.right is (message is None)
    assert message is None or re.search(message, reply.text), reply


@pytest.mark.parametrize(
    ("slip", "message"),
    [
        (lambda d, d_k, r: 16 * d * d_k / (4 * d_k + r), None),
        (lambda d, d_k, r: 16 * d * d_k / (4 * d + r), "d_k wide, and not d"),
        (lambda d, d_k, r: 16 * d * d_k / r, "scores alone"),
        (lambda d, d_k, r: 8 * d * d_k / (4 * d_k + r), "d by 4d and back"),
        (lambda d, d_k, r: 16 * d * d_k / (2 * d_k + r), "two products in a"),
    ],
)
def test_slips_in_the_crossing_have_replies(machine, slip, message):
    reply = machine["task"].check(slip)
    assert reply.right is (message is None)
    assert message is None or message in reply.text


def test_without_a_forecast_nothing_is_timed(clocked):
    judged, _ = clocked
    assert judged(None).right is None


def test_the_first_answer_is_not_in_the_text_above_its_question():
    page = nbformat.read(BOOK / "labs" / "measure-your-machine.ipynb", 4)
    ask = next(i for i, c in enumerate(page.cells) if "Number(" in c.source)
    above = "".join(c.source for c in page.cells[:ask])
    assert "feed-forward network of width $4d$" in above
    assert not re.search(r"4\s*\\?,?d\$? tokens|T = 4|1,?024", above)


# --- keep a deadline ---------------------------------------------------------


@pytest.fixture(scope="module")
def planned():
    return defined("keep-a-deadline")


@pytest.mark.parametrize(
    ("plan", "right", "message"),
    [
        ([(3, 2, 30)], True, r"no plan has fewer than 3\."),
        ([(3.0, 2, 30)], True, r"no plan has fewer than 3\."),
        ([], None, "Write a plan"),
        ([(4, 1, 15), (4, 1, 15)], False, "on 8 machines. Fewer"),
        ([(2, 1, 15), (2, 1, 15)], False, "on 4 machines. Fewer"),
        ([(1, 2, 30)], False, "34.9 GB"),
        ([(2, 2, 30)], False, "takes 32.3 ms"),
        ([(4, 2, 30)], False, "on 4 machines. Fewer"),
        ([(3, 2, 29)], False, "2 long and 29 short"),
        ([(3, 1, 30)], False, "1 long and 30 short"),
        ([(2.5, 2, 30)], False, "in whole numbers"),
        ([(0, 2, 30)], False, "in whole numbers"),
        ((3, 2, 30), False, "in whole numbers"),
    ],
)
def test_a_plan_is_judged(planned, plan, right, message):
    reply = planned["judged"](plan)
    assert reply.right is right
    assert re.search(message, reply.text), reply


@pytest.mark.parametrize("group", [(1, 0, 30), (2, 1, 15), (3, 2, 30)])
def test_a_group_takes_what_a_step_takes(planned, group):
    """As many tokens in texts of one length, and half the bytes of each."""
    machines, long, short = group
    tokens = long * 600_000 + short * 4096
    each = tokens / (long + short)
    ms, on_each = planned["group_takes"](*group)
    assert ms == pytest.approx(
        planned["took"](long + short, each, machines, itemsize=1)
    )
    assert ms == pytest.approx(
        planned["step"](long + short, each / 2, machines)
    )
    assert on_each == planned["weights"] + tokens * 24_576 / machines


def test_one_long_text_is_more_than_a_machine_reads_in_time(planned):
    ms, on_each = planned["group_takes"](1, 1, 0)
    assert on_each < 24e9
    assert 1e3 * on_each / 600e9 == pytest.approx(ms)
    assert ms > 25


@pytest.mark.parametrize(
    ("slip", "message"),
    [
        ({}, None),
        ({"read_weights": 0}, "weights are read in each step"),
        ({"numbers": 16 * 256}, "its logsumexp"),
        ({"numbers": 4 * 257}, "16 heads, and not the 4"),
        ({"size": 1}, "two bytes on the way"),
        ({"together": False}, "and not for each text"),
        ({"once": True}, "for each of the texts"),
        ({"numbers": 16 * 257 - 2}, "it gives 18.1842"),
    ],
)
def test_slips_in_the_time_of_a_step_have_replies(planned, slip, message):
    def step(texts, tokens, machines, read_weights=1, numbers=16 * 257,
             size=2, together=True, once=False):  # fmt: skip
        levels = 0
        while 2**levels < machines:
            levels += 1
        weights = read_weights * planned["weights"]
        seconds = (weights + 49_152 * texts * tokens / machines) / 600e9
        many = 1 if once else texts
        for _ in range(24 * levels):
            seconds += 40e-6 * (1 if together else texts)
            seconds += many * numbers * size / 25e9
        return 1e3 * seconds

    reply = planned["task"].check(lambda *shape: step(*shape, **slip))
    assert reply.right is (message is None)
    assert message is None or message in reply.text, reply
    if message == "it gives 18.1842":
        one, two = re.findall(r"18\.184\d+", reply.text)
        assert one != two


def test_split_keys_lose_readers_to_the_network_alone(planned):
    """Without it four machines share what is left over on each."""
    spare, text = 12e9 - planned["weights"], 8192 * 49_152
    assert 4 * (spare // text) == 92
    assert 4 * spare // text == 95


def test_five_machines_tell_the_longest_way_from_all_links(planned):
    """Three join by two links on either; five by four links, three levels."""
    assert planned["crossed"] == 4 * planned["link"]
    assert math.ceil(math.log2(5)) == 3
    assert math.ceil(math.log2(3)) == 3 - 1


def test_the_curve_that_is_to_be_drawn_is_folded():
    page = BOOK / "labs" / "keep-a-deadline.ipynb"
    (curve,) = [c for c in practice_pages.cells(page) if "plt." in c.source]
    assert "hide-cell" in curve.metadata.tags
    assert curve.metadata.jupyter.outputs_hidden


def test_fewer_machines_than_three_keep_no_deadline():
    """By the bytes alone, all of the network left out."""
    tokens = 2 * 600_000 + 30 * 4096
    cache = 2 * 24 * 4 * 128 * tokens  # 8 bits
    per_machine = 25e-3 * 600e9 - 2 * 1.18e9  # the weights a little lighter
    assert 2 * per_machine < cache < 3 * per_machine


# --- audit a page ------------------------------------------------------------


@pytest.fixture(scope="module")
def audited():
    return defined("audit-a-page")


def test_an_audit_without_entries_is_none(audited):
    assert audited["audit"]({}, {}).right is None


def test_five_of_the_printed_numbers_are_wrong(audited):
    off = [
        (name, index)
        for name, value in audited["right"].items()
        for index, text in leaves(audited["page"][name]).items()
        if not matches(text, float(np.asarray(value)[index]))
    ]
    assert [name for name, _ in off] == [
        "dots", "exponentials", "weights", "output", "products",
    ]  # fmt: skip


def test_the_ledger_refuses_what_is_not_found_or_not_explained(audited):
    audit, values = audited["audit"], audited["values"]
    errata = audited["errata"]
    assert audit(values, errata).right
    assert audit(values, {}).text.startswith("0 of 5 found")
    for name in errata:
        others = {n: m for n, m in errata.items() if n != name}
        reply = audit(values, others)
        assert reply.right is False
        assert reply.text.startswith("4 of 5 found")
        assert name in reply.text
        # The right numbers are no cause of a wrong one.
        reply = audit(values, errata | {name: values[name]})
        assert reply.right is False
        assert "must give every printed digit" in reply.text
    # What is right needs no cause, and what was not computed is missing.
    assert not audit(values, errata | {"sums": values["sums"]}).right
    some = {n: v for n, v in values.items() if n != "sums"}
    assert "Not compared yet: sums" in audit(some, errata).text
    assert "no entry" in audit({"steps": 1}, {}).text
    assert "right values too" in audit({"sums": values["sums"]}, errata).text
    wrong = values | {"dots": 2 * values["dots"]}
    assert not audit(wrong, errata).right


# --- by heart, and the glossary ----------------------------------------------


def test_the_five_lines_of_the_sheet_are_attention():
    sheet = (BOOK / "by-heart.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.+?)```", sheet, flags=re.S)
    assert len(code.splitlines()) == 1 + 4
    (mask,) = re.findall(r"`mask = (.+?)`", sheet)
    space = {"np": np, "T": 4, "S": 6}
    exec(code, space)
    rng = np.random.default_rng(0)
    Q, K = 50 * rng.normal(size=(2, 4, 3)), 50 * rng.normal(size=(2, 6, 3))
    V, mask = rng.normal(size=(2, 6, 5)), eval(mask, space)
    np.testing.assert_array_equal(mask, causal_mask(4, 6))
    np.testing.assert_allclose(
        space["attention"](Q, K, V, mask),
        attention(Q, K, V, mask=mask).output,
        rtol=1e-12,
    )


def test_the_counts_of_the_sheet_are_those_of_the_helpers():
    sheet = (BOOK / "by-heart.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| ([^|`]+) \| `(.+?)`", sheet, flags=re.M))
    sizes = {
        "T": 5, "S": 7, "d_k": 3, "d_v": 2, "itemsize": 4, "n_layers": 11,
        "n_kv_heads": 13,
    }  # fmt: skip
    flops = attention_flops(5, 7, 3, 2)
    assert {name: eval(text, sizes) for name, text in rows.items()} == {
        "two products": flops["scores"] + flops["values"],
        "scores, if stored": scores_bytes(5, 7, n_heads=1, itemsize=4),
        "cache": kv_cache_bytes(7, 11, 13, 3, 2, 4),
    }


def test_each_word_of_the_glossary_has_its_spanish_term():
    text = (BOOK / "glossary.md").read_text(encoding="utf-8")
    body = text.split(":::{glossary}\n")[1].rsplit(":::", 1)[0]
    entries = re.split(r"\n\n(?=\S)", body.strip())
    spanish = r'\n  Spanish: <span lang="es">[^<]+</span>\.$'
    lacking = [e.split("\n")[0] for e in entries if not re.search(spanish, e)]
    assert len(entries) > 100
    assert not lacking
