"""What the lessons on serving and on memory define, against plain loops.

Their functions are taken from the notebooks, so that what is tested is what
is read.
"""

import ast
import itertools
from fractions import Fraction
from functools import cache
from pathlib import Path

import nbformat
import numpy as np
import pytest

from helpers.cost import kv_cache_bytes
from helpers.heads import init_projections
from helpers.transformer import (
    TransformerConfig,
    init_transformer,
    new_cache,
    transformer,
)
from tests.core import reference_cost, reference_transformer
from tests.core import reference_serve as reference

BOOK = Path(__file__).resolve().parents[2] / "book"
CHAPTERS = [BOOK / "serve.ipynb", BOOK / "memory.ipynb"]
H, H_KV, D = 4, 2, 4  # as in the lesson: query heads, key/value heads, width


def parts():
    """The lessons' imports, plots apart, and their functions by name."""
    imports, functions = [], {}
    read = [nbformat.read(path, as_version=4).cells for path in CHAPTERS]
    for cell in itertools.chain(*read):
        if cell.cell_type == "code" and "get_ipython" not in cell.source:
            for node in ast.parse(cell.source).body:
                line = ast.unparse(node)
                if isinstance(node, ast.Import | ast.ImportFrom):
                    imports += [] if "plot" in line else [line]
                if isinstance(node, ast.FunctionDef):
                    functions[node.name] = line
    return "\n".join(imports), functions


IMPORTS, FUNCTIONS = parts()


def lesson(**given):
    """The lessons' functions; `given` are the values that they refer to."""
    names = {"sinks": 2, "W": 4, "page": 2} | given
    source = "\n".join([IMPORTS, *FUNCTIONS.values()])
    exec(compile(source, "lessons", "exec"), names)
    return names


def agree(result, expected):
    """The same shape, and equal up to rounding."""
    return np.shape(result) == np.shape(expected) and bool(
        np.allclose(result, expected, 0, 1e-11)
    )


# Several queries of one text: a model with grouped heads. --------------------


def model(seed):
    """A small model, and the same in lists for the loops."""
    config = TransformerConfig(
        vocab=5, max_len=24, d_model=8, n_layers=2, n_heads=4, n_kv_heads=2,
        d_ff=6, norm_kind="rms", positions="rotary", bias=False, tied=False,
    )  # fmt: skip
    params = init_transformer(np.random.default_rng(seed), config, std=0.6)
    fields = {
        name: getattr(config, name)
        for name in TransformerConfig.__dataclass_fields__
    }
    lists = {name: x.tolist() for name, x in params.items()}

    def by_loops(text):
        return reference_transformer.logits(
            list(text), lists, fields | {"n_kv_heads": config.kv_heads}
        )[0]

    return {"config": config, "params": params}, by_loops


def cut(rng, n):
    """Sizes of chunks with sum n."""
    cuts = np.sort(rng.integers(1, n + 1, size=rng.integers(0, n)))
    edges = np.unique([0, *cuts, n])
    return np.diff(edges).tolist()


@pytest.mark.parametrize("n", [1, 2, 5, 9])
def test_a_prompt_in_chunks_equals_the_loops(n, rng):
    given, by_loops = model(n)
    text = rng.integers(0, 5, n)
    expected = by_loops(text)
    prefill = lesson(**given)["prefill"]
    for sizes in ([n], [1] * n, cut(rng, n), cut(rng, n)):
        assert sum(sizes) == n
        assert agree(prefill(text, sizes), expected)
        # Wrong: each chunk begins a text of its own.
        assert agree(prefill(text, sizes, keep=False), expected) == (
            len(sizes) == 1
        )


@cache
def greedy(length):
    """A model, a prompt, and the nine likeliest tokens behind it."""
    given, by_loops = model(length)
    prompt = np.random.default_rng(length).integers(0, 5, length).tolist()
    return given, prompt, reference.greedy(by_loops, prompt, 9)


def guesser(rng, truth, length):
    """Up to three guesses, each right with probability 1/2."""

    def guess(text):
        start = len(text) - length
        right = truth[start : start + rng.integers(0, 4)]
        return [x if rng.random() < 0.5 else (x + 1) % 5 for x in right]

    return guess


@pytest.mark.parametrize("length", [1, 4, 7])
def test_guessing_gives_the_greedy_text(length, rng):
    given, prompt, truth = greedy(length)
    speculate = lesson(**given)["speculate"]
    for _ in range(5):
        guess = guesser(rng, truth, length)
        text, calls = speculate(prompt, 6, guess)
        assert text == prompt + truth[:6]
        assert calls <= 6

    def knows(text):
        return truth[len(text) - length :][:2]

    assert speculate(prompt, 6, knows) == (prompt + truth[:6], 2)


def test_a_cache_that_is_cut_back_takes_the_bytes_it_took(rng):
    given, _ = model(0)
    layers = new_cache(given["config"])
    before = sum(layer.nbytes for layer in layers)
    numbers = reference_cost.cache(24, 2, 2, 2, 2, 1)
    assert before == 8 * numbers == kv_cache_bytes(24, 2, 2, 2, 2, 8)
    transformer(
        rng.integers(0, 5, 9), given["params"], given["config"], cache=layers
    )
    for layer in layers:
        layer.truncate(3)
    assert [len(layer) for layer in layers] == [3, 3]
    assert sum(layer.nbytes for layer in layers) == before


# Guesses that are drawn: chances, exactly. -----------------------------------


def drawn(p, q):
    """What comes out, by trying all draws; p and q count slots of n."""
    n, rest = sum(p), [max(a - b, 0) for a, b in zip(p, q, strict=True)]
    out = [Fraction(0)] * len(p)
    for x in [word for word, slots in enumerate(q) for _ in range(slots)]:
        for u in range(q[x]):
            chance = Fraction(1, n * q[x])
            if u < p[x]:  # with probability p / q, or surely
                out[x] += chance
                continue
            for y, slots in enumerate(rest):
                out[y] += chance * slots / sum(rest)
    return out


@pytest.mark.parametrize("words", [2, 3, 6])
def test_a_drawn_guess_leaves_the_chances_alone(words, rng):
    right, n = lesson(), 12
    for _ in range(20):
        p, q = rng.multinomial(n, np.ones(words) / words, 2).tolist()
        P, Q = ([Fraction(x, n) for x in row] for row in (p, q))
        result = right["comes_out"](P, Q, right["left_over"](P, Q))
        assert result == drawn(p, q) == P
        if p != q:  # wrong: the second draw is from p
            assert right["comes_out"](P, Q, P) != P


# Many texts: one layer with grouped heads, queries at the end. ---------------


def layer(seed):
    """What the lesson's functions refer to: weights, and rows of words."""
    rng = np.random.default_rng(seed)
    projections = init_projections(rng, 6, H, H_KV, d_k=D)
    rows = rng.normal(size=(5, 6))
    return {"layer": projections, "rows": rows, **projections._asdict()}


def by_loops(given, text, T, at=None, sees=lambda t, s: s <= t):
    """The last T outputs of a text, as (H, T, d)."""
    weights, n = given["layer"], len(text)
    W = (getattr(weights, name).tolist() for name in ("W_Q", "W_K", "W_V"))
    return np.array(
        reference.layer(
            given["rows"][list(text)].tolist(),
            range(n) if at is None else at,
            *W,
            (H, H_KV),
            D,
            range(n - T, n),
            sees,
        )
    )


def batch(rng, side, T):
    """Texts of unequal lengths, and the columns where their words stand."""
    lengths = rng.permutation([T, T + 1, T + 4, T + 6])
    texts = [rng.integers(1, 5, n) for n in lengths]  # pads are 0
    S = lengths.max()
    if side == "left":
        return texts, [np.arange(S - n, S) for n in lengths]
    return texts, [np.r_[: n - T, S - T : S] for n in lengths]


@pytest.mark.parametrize("T", [1, 2, 3])
@pytest.mark.parametrize("side", ["left", "right"])
def test_a_ragged_batch_equals_each_text_alone(side, T, rng):
    given = layer(T)
    texts, places = batch(rng, side, T)
    together = lesson(**given, texts=texts)["together"]
    expected = [by_loops(given, text, T) for text in texts]
    longest = [len(text) == max(map(len, texts)) for text in texts]

    def right(**how):
        result = together(places, T=T, **how)
        return [agree(a, b) for a, b in zip(result, expected, strict=True)]

    assert all(right())
    assert all(right(pad=3))
    assert right(hide=False) == longest  # wrong: pads are seen
    # Wrong behind a gap: columns for positions. All of a text is shifted
    # alike where the pads are on the left, or where the prompt is empty.
    alike = [side == "left" or n == T for n in map(len, texts)]
    columns = [a or b for a, b in zip(alike, longest, strict=True)]
    assert right(own=False) == columns


def paged(rng, names, given, texts, size):
    """Keys and values in pages that are given out in random order."""
    numbers = iter(rng.permutation(99).tolist())
    pool_K, pool_V = np.full((2, 99, H_KV, size, D), np.nan)
    known, table = {}, []
    for text in texts:
        _, K, V = names["project"](text, np.arange(len(text)))
        table.append([])
        for start in range(0, len(text), size):
            begun = tuple(text[: start + size])
            if begun not in known:
                known[begun] = number = next(numbers)
                k, v = (x[:, start : start + size] for x in (K, V))
                pool_K[number][:, : k.shape[1]] = k
                pool_V[number][:, : v.shape[1]] = v
            table[-1].append(known[begun])
    return pool_K, pool_V, table


def begun_alike(rng):
    start = rng.integers(0, 5, 5)
    return [
        np.r_[start[:n], rng.integers(0, 5, more)]
        for n, more in ((5, 6), (5, 1), (3, 4), (2, 0), (0, 7))
    ]


@pytest.mark.parametrize("size", [1, 2, 3, 16])
def test_pages_equal_a_cache_of_one_s_own(size, rng):
    given, T = layer(size), 2
    names, texts = lesson(**given, page=size), begun_alike(rng)
    pool_K, pool_V, table = paged(rng, names, given, texts, size)
    for text, pages in zip(texts, table, strict=True):
        Q, _, _ = names["project"](text, np.arange(len(text)))
        k, v = (
            names["gather"](pool, pages, len(text))
            for pool in (pool_K, pool_V)
        )
        result = names["by_loops"](Q[:, -T:], k, v)
        assert agree(result, by_loops(given, text, T))
    # The bytes: pages that hold something, counted by comparing beginnings.
    taken = ~np.isnan(pool_K).all(axis=(1, 2, 3))
    kept = pool_K[taken].nbytes + pool_V[taken].nbytes
    a_page = reference_cost.cache(size, 1, H_KV, D, D, 1)
    assert kept == 8 * a_page * reference.pages(texts, size)
    assert (taken.sum() < sum(map(len, table))) == (size < 16)  # shared


@pytest.mark.parametrize(
    ("pages", "n", "message"),
    [
        (
            [0, -1],
            3,
            r"the table points to page -1; the pool has pages 0 to 5",
        ),
        ([6, 0], 3, r"the table points to page 6; the pool has pages 0 to 5"),
    ],
)
def test_a_table_that_points_nowhere_is_refused(pages, n, message):
    pool = np.zeros((6, H_KV, 2, D))
    with pytest.raises(ValueError, match=f"^{message}$"):
        lesson()["gather"](pool, pages, n)


@pytest.mark.parametrize("seed", range(3))
def test_a_shared_page_is_copied_before_it_is_written(seed):
    given = layer(seed)
    names = lesson(**given)
    text = np.array([0, 1, 2])
    _, K, V = names["project"](text, np.arange(3))
    pools = np.full((2, 6, H_KV, 2, D), np.nan)
    for pool, X in zip(pools, (K, V), strict=True):
        pool[0], pool[2][:, :1] = X[:, :2], X[:, 2:]
    names["pool_K"], names["pool_V"] = pools
    expected = by_loops(given, [0, 1, 2, 0], 1)
    assert agree(names["fork"](copy=True), expected)
    assert not agree(names["fork"](copy=False), expected)


# Smaller caches. -------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 3, 8])
def test_8_bits_equal_the_loops(n, rng):
    given, T = layer(n), min(n, 2)
    names, text = lesson(**given), rng.integers(0, 5, n)
    Q, K, V = names["project"](text, np.arange(n))
    K[0, 0], V[-1, -1] = 50 * K[0, 0], 0  # a loud key, a value of zeros
    (whole_K, scale_K), (whole_V, scale_V) = map(names["to_int8"], (K, V))
    for X, whole, scale in ((K, whole_K, scale_K), (V, whole_V, scale_V)):
        rows = [reference.int8(row) for row in X.reshape(-1, D).tolist()]
        assert whole.dtype == np.int8
        assert whole.reshape(-1, D).tolist() == [row for row, _ in rows]
        assert agree(scale.ravel(), [step for _, step in rows])
    result = names["by_loops"](Q[:, -T:], whole_K * scale_K, whole_V * scale_V)
    for h in range(H):
        k, v = whole_K * scale_K, whole_V * scale_V
        for i, t in enumerate(range(n - T, n)):
            seen = slice(0, t + 1)
            g = h // 2
            expected = reference.attend(
                Q[h, t].tolist(), k[g, seen].tolist(), v[g, seen].tolist()
            )
            assert agree(result[h, i], expected)
    # The bytes: one a number, and one scale for each row.
    numbers = reference_cost.cache(n, 1, H_KV, D, D, 1)
    assert whole_K.nbytes + whole_V.nbytes == numbers
    assert scale_K.size + scale_V.size == numbers / D


SHAPES = [(0, 3), (1, 1), (2, 4), (3, 2), (1, 20)]  # sinks, window


@pytest.mark.parametrize(("sinks", "W"), SHAPES)
def test_a_window_and_sinks_equal_the_loops(sinks, W, rng):
    given = layer(W) | {"sinks": sinks, "W": W}
    n = int(rng.integers(9, 13))
    names, text = lesson(**given), rng.integers(0, 5, n)

    def kept(t, s):
        return s <= t and (s < sinks or t - s < W)

    masked = by_loops(given, text, n, sees=kept)
    assert agree(names["stream"](text, False), masked)

    def left(t):  # positions are counted in the cache: a shorter text
        short = [s for s in range(t + 1) if kept(t, s)]
        return by_loops(given, text[short], 1)[:, 0]

    squeezed = np.stack([left(t) for t in range(n)], 1)
    assert agree(names["stream"](text, True), squeezed)
    # Each is wrong for the other as soon as a word between is dropped.
    differ = sinks > 0 and sinks + W < n
    assert agree(masked, squeezed) != differ


def test_a_ring_has_a_fixed_number_of_bytes():
    made = []

    class Counted:
        """NumPy, and what is asked for with `zeros`."""

        def __getattr__(self, name):
            return getattr(np, name)

        def zeros(self, shape):
            made.append(np.zeros(shape))
            return made[-1]

    names = lesson(**layer(0))
    names["np"] = Counted()
    for n in (1, 8, 30):
        made.clear()
        names["stream"](np.zeros(n, int), False)
        slots = reference_cost.cache(2 + 4, 1, H_KV, D, D, 1)
        assert made[0].nbytes == 8 * slots
