"""`course.check`: right programs pass, wrong ones are told what is wrong."""

import functools
import inspect
import math
import os
import subprocess
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import course
from course.check import Verdict, check, faults, inputs, laws
from course.check import settled as settled_by_name
from course.check.trial import Trial
from helpers.attention import attention
from helpers.masks import causal_mask, window_mask
from helpers.tiled import tiled_attention
from tests.core import attentions, reference
from tests.core.attentions import (
    by_logsumexp,
    by_matmul,
    cached,
    gradients,
    options_by_name,
)
from tests.in_time import accepts
from tools import mutate

ROOT = Path(course.__file__).parents[1]
NAMED = attentions.RIGHT[options_by_name]
EVERY = NAMED | {"groups": True}
TILED = {"mask": "none", "causal": "causal", "scale": "scale"}


def settled(**options):
    given = {
        n: p.default for n, p in inspect.signature(check).parameters.items()
    }
    return settled_by_name(SimpleNamespace(**given | options))


def test_each_expected_output_is_that_of_plain_loops():
    every = settled(**EVERY, cache=list, gradients=gradients)
    tried = 0
    for law in laws.laws(every):
        for case in law.cases:
            if len(case.K) > 9 or case.sinks is not None:
                continue
            may, found = (
                inputs.allowed(case, every),
                laws.expected(case, every),
            )
            shape = *case.Q.shape[:-1], case.K.shape[-2]
            may = np.broadcast_to(True if may is None else may, shape)
            for at in np.ndindex(case.Q.shape[:-2]):
                of = at
                if at:  # query heads share key heads
                    n = case.Q.shape[-3] // case.K.shape[-3]
                    of = (*at[:-1], at[-1] // n)
                loop, _ = reference.attention(
                    case.Q[at].astype(float).tolist(),
                    *(X[of].astype(float).tolist() for X in case[1:3]),
                    allowed=may[at].tolist(),
                    scale=case.scale,
                )
                np.testing.assert_allclose(found[at], loop, atol=1e-12)
                tried += 1
    assert tried > 500


CAUSAL = {"causal": "is_causal"}
SQUARE = {"causal": "always", "mask": "none", "corner": "square"}


def refused(Q, K, V, mask=None, is_causal=False):
    if is_causal and mask is not None:
        raise ValueError("a mask or is_causal")
    return options_by_name(Q, K, V, mask, is_causal)


def square_alone(Q, K, V):
    return by_matmul(Q, K, V, np.tri(Q.shape[-2], dtype=bool))


@pytest.mark.parametrize(
    ("function", "options"),
    [
        *attentions.RIGHT.items(),
        (attention, {"scale": "scale", "sinks": "sinks"}),
        (tiled_attention, TILED | {"sinks": "sinks"}),
        (refused, CAUSAL),
        (square_alone, SQUARE),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_right_programs_pass(function, options):
    verdict = course.check(function, **options)
    assert verdict.right, verdict
    assert repr(verdict).startswith("✓ Right.")


def faulty(fault):
    """A program of all options with one fault of the generator."""

    def program(Q, K, V, mask=None, is_causal=False, window=None, scale=None,
                sinks=None):  # fmt: skip
        sizes = Q.shape[-2], K.shape[-2]
        causal = causal_mask(*sizes) if is_causal else None
        if window:
            causal = window_mask(*sizes, left=window - 1, right=0)
        steps = faults.FAULTS[fault][1] if fault else {}
        given = {"scale": lambda *_: scale} if scale else {}
        output = faults.attend(Q, K, V, mask, causal, sinks, **steps | given)
        return output.astype(Q.dtype)

    return program


@functools.cache
def verdict_on(fault):
    return check(faulty(fault), **EVERY)


def test_the_generator_is_right_without_a_fault():
    assert verdict_on("").right


@pytest.mark.parametrize("fault", faults.FAULTS)
def test_each_generated_fault_is_refused_and_named(fault):
    verdict = verdict_on(fault)
    assert verdict.right is False
    assert faults.FAULTS[fault][0] in verdict.text
    for word in ("Q = ", "K = ", "V = "):
        assert word in verdict.text


# --- public reports ----------------------------------------------------------


def lowest_added(Q, K, V, mask=None):
    """huggingface/transformers#17306."""
    s = Q @ K.swapaxes(-1, -2) / math.sqrt(Q.shape[-1])
    if mask is not None:
        s = s + np.where(mask, 0, np.finfo(s.dtype).min).astype(s.dtype)
    return faults.plain(s) @ V


def two_planes(Q, K, V, mask=None, is_causal=False):
    """NVIDIA-NeMo/Automodel#2658."""
    s = Q @ K.swapaxes(-1, -2) / math.sqrt(Q.shape[-1])
    low, T, S = np.finfo(s.dtype).min, *s.shape[-2:]
    s = s if mask is None else s + np.where(mask, 0, low)
    s = s + np.where(causal_mask(T, S), 0, low) if is_causal else s
    return (faults.plain(s) @ V).astype(Q.dtype)


def filled(value):
    """flashinfer-ai/flashinfer#4401, for -50,000."""

    def program(Q, K, V, mask=None):
        s = Q @ K.swapaxes(-1, -2) / math.sqrt(Q.shape[-1])
        s = s if mask is None else np.where(mask, s, value)
        return faults.plain(s) @ V

    return program


def masked_late(Q, K, V, mask=None):
    """deepmodeling/deepmd-kit#5715."""
    s = Q @ K.swapaxes(-1, -2) / math.sqrt(Q.shape[-1])
    w = np.exp(s - s.max(-1, keepdims=True))
    w = w if mask is None else w * mask
    return w / w.sum(-1, keepdims=True) @ V


def sink_of_each_part(Q, K, V, sinks=None, **more):
    """ROCm/rocm-libraries#12229: two parts of the keys, a sink in each."""
    twice = None if sinks is None else sinks + math.log(2)
    return options_by_name(Q, K, V, sinks=twice, **more)


def window_too_wide(Q, K, V, window=None, **more):
    """ml-explore/mlx-lm#390."""
    return options_by_name(Q, K, V, window=window and window + 1, **more)


def top_left(Q, K, V, mask=None, is_causal=False):
    """pytorch/executorch#21749, onnx/onnx#8068."""
    corner = np.tri(Q.shape[-2], K.shape[-2], dtype=bool)
    mask = True if mask is None else mask
    return by_matmul(Q, K, V, mask & corner if is_causal else mask)


def reshaped(Q, K, V, mask=None):
    """jsbaan/transformer-from-scratch#6: (B, T, H, d) is not transposed."""
    B, T, H, _ = Q.shape
    Q, K, V = (X.reshape(B, H, -1, X.shape[-1]) for X in (Q, K, V))
    return by_matmul(Q, K, V, mask).reshape(B, T, H, -1)


def mask_of_another(Q, K, V, mask=None):
    """hyunwoongko/transformer#15: masks in the order of the heads."""
    B, H, T, _ = Q.shape
    if mask is not None:
        whole = np.broadcast_to(mask, (B, H, T, K.shape[-2]))
        mask = np.tile(whole[:, 0], (H, 1, 1)).reshape(whole.shape)
    return by_matmul(Q, K, V, mask)


def heads_in_turns(Q, K, V, mask=None):
    """onnx/onnx#7274, apple/axlearn#842."""
    n = Q.shape[1] // K.shape[1]
    return by_matmul(Q, *(np.tile(X, (1, n, 1, 1)) for X in (K, V)), mask)


def without_row_sum(grad, Q, K, V, mask=None):
    """HomericIntelligence/Odyssey#2134: of the softmax, the diagonal only."""
    weights = by_matmul(Q, K, np.eye(K.shape[-2]), mask)
    ds = weights * (grad @ V.swapaxes(-1, -2)) / math.sqrt(Q.shape[-1])
    return ds @ K, ds.swapaxes(-1, -2) @ Q, weights.swapaxes(-1, -2) @ grad


REPORTS = [
    (filled(-np.inf), {}, "empty", "0/0 is NaN"),
    (lowest_added, {}, "empty", "the mean of all values"),
    (lowest_added, {"empty": "mean"}, "types", "float16"),
    (two_planes, CAUSAL, "empty", "the mean of all values"),
    (two_planes, CAUSAL | {"empty": "mean"}, "types", "float16"),
    (filled(-5e4), {}, "low scores", "100000"),
    (masked_late, {}, "low scores", "Mask first"),
    (sink_of_each_part, NAMED, "sinks", "in the sum twice"),
    (window_too_wide, NAMED, "window", "one key too wide"),
    (top_left, CAUSAL, "causal", "aligned at the upper left"),
    (reshaped, {"axes": "BTHD"}, "batch", "expected"),
    (mask_of_another, {"axes": "BHTD"}, "masks", "its own mask"),
    (heads_in_turns, {"axes": "BHTD", "groups": True}, "groups", "0 1 0 1"),
    (by_matmul, {"gradients": without_row_sum}, "gradients", "gradient of Q"),
]


@pytest.mark.parametrize(("program", "options", "law", "said"), REPORTS)
def test_programs_of_public_reports_are_refused(program, options, law, said):
    verdict = check(program, **options)
    assert (verdict.right, verdict.law) == (False, law), verdict
    assert said in verdict.text


# --- laws that no single step of the generator breaks ------------------------


def in_place(Q, K, V, mask=None):
    Q *= 1 / math.sqrt(Q.shape[-1])
    return by_matmul(Q * math.sqrt(Q.shape[-1]), K, V, mask)


def widened(Q, K, V, mask=None):
    return by_matmul(Q / np.sqrt(4) * 2, K, V, mask)


def scale_ignored(Q, K, V, mask=None, scale=None):
    return by_matmul(Q, K, V, mask)


def fourth_lost(Q, K, V, mask=None):
    output = by_matmul(Q, K, V, mask)
    output[..., 3:, :] = 0
    return output


def transposed_if_needed(Q, K, V, mask=None):
    fits = Q.shape[-1] == K.shape[-2]
    return by_matmul(Q, K.swapaxes(-1, -2) if fits else K, V, mask)


def values_once(Q, K, V, mask=None, cache=None):
    return cached(Q, K, V[:1] if cache else V, mask, cache)


def forgets(Q, K, V, mask=None, cache=None):
    if cache:
        cache.pop()
    return cached(Q, K, V, mask, cache)


def in_blocks(Q, K, V, mask=None):
    """Each block of keys subtracts its own maximum, and all are added up."""
    found = total = 0
    for j in range(0, K.shape[-2], 16):
        s = Q @ K[..., j : j + 16, :].swapaxes(-1, -2) / math.sqrt(Q.shape[-1])
        s = s if mask is None else np.where(mask[..., j : j + 16], s, -np.inf)
        top = s.max(-1, keepdims=True, initial=np.finfo(s.dtype).min)
        e = np.exp(s - top)
        found, total = found + e @ V[..., j : j + 16, :], total + e.sum(-1)
    return found / np.where(total == 0, 1, total)[..., None]


def heads_of_64(Q, K, V, mask=None):
    return by_matmul(Q * math.sqrt(Q.shape[-1] / 64), K, V, mask)


def no_more_rows_than_keys(Q, K, V, mask=None):
    output = by_matmul(Q, K, V, mask)
    output[..., K.shape[-2] :, :] = 0
    return output


def maximum_of_batch(Q, K, V, mask=None):
    s = Q @ K.swapaxes(-1, -2) / math.sqrt(Q.shape[-1])
    s = s if mask is None else np.where(mask, s, -np.inf)
    axes = (*range(s.ndim - 2), s.ndim - 1)
    low = np.finfo(s.dtype).min
    e = np.exp(s - s.max(axes, keepdims=True, initial=low))
    total = e.sum(-1, keepdims=True)
    return e @ V / np.where(total == 0, 1, total)


def masks_of_all_axes(Q, K, V, mask=None):
    assert mask is None or mask.ndim == Q.ndim
    return by_matmul(Q, K, V, mask)


def masks_of_all_queries(Q, K, V, mask=None):
    assert mask is None or mask.shape[-2] == Q.shape[-2]
    return by_matmul(Q, K, V, mask)


def window_ignored(Q, K, V, mask=None, window=None):
    return by_matmul(Q, K, V, mask)


def window_from_the_left(Q, K, V, mask=None, is_causal=False, window=None):
    near = ~np.tri(Q.shape[-2], K.shape[-2], -(window or 99), dtype=bool)
    mask = near if mask is None else mask & near
    return options_by_name(Q, K, V, mask, is_causal)


def scaled_twice(Q, K, V, mask=None, scale=None):
    scale = scale and scale / math.sqrt(Q.shape[-1])
    return options_by_name(Q, K, V, mask, scale=scale)


def sinks_scaled(Q, K, V, mask=None, sinks=None):
    sinks = None if sinks is None else sinks / math.sqrt(Q.shape[-1])
    return options_by_name(Q, K, V, mask, sinks=sinks)


def sinks_for_the_mask(Q, K, V, mask=None, sinks=None):
    mask = mask if sinks is None else None
    return options_by_name(Q, K, V, mask, sinks=sinks)


def causal_for_one(Q, K, V, mask=None, is_causal=False):
    return options_by_name(Q, K, V, mask, is_causal and Q.ndim == 2)


def two_of_each(Q, K, V, mask=None):
    if Q.ndim > 2 and Q.shape[-3] != K.shape[-3]:
        K, V = np.repeat(K, 2, axis=-3), np.repeat(V, 2, axis=-3)
    return by_matmul(Q, K, V, mask)


def unmasked_groups(query, key, value, bias=None):
    bias = bias if query.shape[1] == key.shape[1] else None
    return attentions.grouped(query, key, value, bias)


def cached_along(axis):
    def program(Q, K, V, mask=None, cache=None):
        if cache is not None:
            cache.append((K, V))
            K, V = (np.concatenate(x, axis) for x in zip(*cache, strict=True))
        return by_matmul(Q, K, V, mask)

    return program


def keys_scaled_again(Q, K, V, mask=None, cache=None):
    root = math.sqrt(Q.shape[-1])
    if cache:
        cache[:] = [(keys / root, values) for keys, values in cache]
    return cached(Q, K, V, mask, cache)


def tail_unmasked(Q, K, V, mask=None):
    """The last, partial block of keys is read without its mask."""
    mask = None if mask is None else mask.copy()
    if mask is not None and mask.shape[-1] > 16:
        mask[..., mask.shape[-1] // 16 * 16 :] = True
    return by_matmul(Q, K, V, mask)


def mask_of_first_axis(Q, K, V, mask=None):
    """A mask of two axes is taken for one of sequences and keys."""
    if mask is not None and mask.ndim == 2 < Q.ndim == 2 + len(mask):
        mask = mask[:, None, None]
    return by_matmul(Q, K, V, mask)


def first_columns(Q, K, V, mask=None):
    scale = math.sqrt(8 / max(8, Q.shape[-1]))
    return by_matmul(Q[..., :8] * scale, K[..., :8], V, mask)


def undefined(Q, K, V, mask=None, is_causal=False):
    if is_causal and mask is not None:
        return nothing_of_this_name  # noqa: F821
    return options_by_name(Q, K, V, mask, is_causal)


def window_once(Q, K, V, mask=None, cache=None, window=None):
    window = None if cache else window
    if cache is not None:
        cache.append((K, V))
        K, V = (np.concatenate(x, -2) for x in zip(*cache, strict=True))
    return options_by_name(Q, K, V, mask, window=window)


def mean_of_group(grad, Q, K, V, mask=None):
    n = Q.shape[-3] // K.shape[-3] if Q.ndim > 2 else 1
    if n == 1:
        return gradients(grad, Q, K, V, mask)
    wide = [np.repeat(X, n, axis=-3) for X in (K, V)]
    found = gradients(grad, Q, *wide, mask)
    sums = [
        G.reshape(*X.shape[:-2], n, *X.shape[-2:]).sum(axis=-3)
        for G, X in zip(found[1:], (K, V), strict=True)
    ]
    return found[0], sums[0] / n, sums[1]


def in_groups(Q, K, V, mask=None):
    n = Q.shape[-3] // K.shape[-3] if Q.ndim > 2 else 1
    wide = [np.repeat(X, n, axis=-3) if n > 1 else X for X in (K, V)]
    return by_matmul(Q, *wide, mask)


def of_one_sequence(grad, Q, K, V, mask=None):
    found = gradients(grad, Q, K, V, mask)
    return (*found[:2], found[2] if Q.ndim == 2 else found[2] * 0)


COMMON = []


def one_for_all():
    return COMMON


OTHERS = [
    (in_place, {}, "inputs", "changes its argument Q"),
    (widened, {}, "types", "math.sqrt(4)"),
    (scale_ignored, {"scale": "scale"}, "given scale", "scale = 2"),
    (fourth_lost, {}, "many keys", "row 3, expected"),
    (in_blocks, {}, "many keys", "got"),
    (heads_of_64, {}, "softmax", "multiplied by 0.125, whatever d_k is"),
    (no_more_rows_than_keys, {}, "random", "expected"),
    (maximum_of_batch, {}, "large scores", "expected"),
    (masks_of_all_axes, {}, "masks", "It raises AssertionError"),
    (masks_of_all_queries, {}, "masks", "It raises AssertionError"),
    (window_ignored, {"window": "window"}, "window", "changes nothing"),
    (window_from_the_left, CAUSAL | {"window": "window"}, "window", "got"),
    (scaled_twice, {"scale": "scale"}, "given scale", "expected"),
    (sinks_scaled, {"sinks": "sinks"}, "sinks", "expected"),
    (sinks_for_the_mask, {"sinks": "sinks"}, "sinks", "expected"),
    (causal_for_one, CAUSAL, "causal", "expected"),
    (two_of_each, {"groups": True}, "groups", "It raises ValueError"),
    (unmasked_groups, attentions.RIGHT[attentions.grouped], "groups", "got"),
    (cached_along(0), {"cache": list}, "cache", "It raises ValueError"),
    (keys_scaled_again, {"cache": list}, "cache", "in calls of"),
    (by_matmul, {"gradients": of_one_sequence}, "gradients", "of V"),
    (tail_unmasked, {}, "many keys", "row 0, got"),
    (mask_of_first_axis, {}, "masks", "got"),
    (first_columns, {}, "random", "got"),
    (undefined, CAUSAL, "causal", "NameError"),
    (window_once, {"cache": list, "window": "window"}, "cache", "window ="),
    (
        in_groups,
        {"groups": True, "gradients": mean_of_group},
        "gradients",
        "gradient of K",
    ),
    (transposed_if_needed, {}, "match", "product of query i"),
    (values_once, {"cache": list}, "cache", "in calls of 1 and 2"),
    (forgets, {"cache": list}, "cache", "in calls of 1 and 1"),
    (cached, {"cache": one_for_all}, "cache", "in calls of"),
]


@pytest.mark.parametrize(("program", "options", "law", "said"), OTHERS)
def test_other_wrong_programs_are_refused(program, options, law, said):
    test_programs_of_public_reports_are_refused(program, options, law, said)


def test_each_law_is_broken_by_some_program():
    broken = {law for *_, law, _ in REPORTS + OTHERS}
    broken |= {verdict_on(name).law for name in faults.FAULTS}
    assert not {law.name for law in laws.laws(settled())} - broken


# --- whatever a function does ------------------------------------------------


def fails(Q, K, V, mask=None):
    raise SystemExit("no")


def of_four_axes(Q, K, V, mask=None):
    _, _, _, _ = Q.shape
    return by_matmul(Q, K, V, mask)


def as_matrix(Q, K, V, mask=None):
    return np.ma.masked_array(by_matmul(Q, K, V, mask))


@pytest.mark.parametrize(
    ("function", "right", "said"),
    [
        (None, None, "None is not a function."),
        (lambda: 0, None, "It cannot be called as function(…, …, …): too"),
        (lambda Q, K, V: V[:1], False, "where [[3]]"),
        (lambda Q, K, V, attn_mask=None: by_matmul(Q, K, V), None, "'mask'"),
        (lambda Q, K, V, mask=None: None, False, "End it with `return`"),
        (lambda Q, K, V, mask=None: [[3.0]], False, "object of type list"),
        (lambda Q, K, V, mask=None: 3.0, False, "object of type float"),
        (lambda Q, K, V, mask=None: np.array([[3]]), False, "int64 numbers"),
        (lambda Q, K, V, mask=None: V.mean(0), False, "shape (1,), where"),
        (lambda Q, K, V, mask=None: Q * np.nan, False, "got = [[nan]]"),
        (lambda Q, K, V, mask=None: Q / None, False, "It raises TypeError"),
        (fails, False, "It raises SystemExit('no')."),
        (Verdict, None, "Verdict is a class: give an instance of it."),
        (
            lambda Q, K, V, mask=None: by_logsumexp(Q, K, V)[::-1],
            False,
            "The weights have this shape; the output comes first.",
        ),
        (of_four_axes, False, 'If it always takes 4 axes, say axes="BHTD".'),
        (as_matrix, False, "object of type MaskedArray"),
    ],
)
def test_whatever_it_does_there_is_a_sentence(function, right, said):
    verdict = check(function)
    assert verdict.right is right
    assert said in verdict.text.replace("expected = ", "where "), verdict


def test_what_is_asked_and_cannot_be_tried_is_said():
    verdict = check(by_matmul, groups=True, axes="BTD")
    assert verdict.right is None
    assert verdict.text.startswith("The law of groups needs")
    assert check(by_matmul, groups=True, axes="BTD", skip=" groups ").right


def test_an_interrupt_ends_the_check():
    def endless(Q, K, V, mask=None):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        check(endless)


@pytest.mark.parametrize(
    "options",
    [
        {"mask": "allowed"},
        {"axes": "HTD"},
        {"names": "a b"},
        {"skip": "sum"},
        {"window": "3 keys"},
        {"scale": "1/8"},
        {"gradients": "auto"},
    ],
)
def test_an_unknown_option_is_an_error(options):
    with pytest.raises(ValueError, match=f"{next(iter(options))} must"):
        check(by_matmul, **options)


# --- from the command line ---------------------------------------------------


def test_the_exit_status_says_what_was_found(tmp_path):
    source = inspect.getsource(by_matmul)
    text = f"import math\nimport numpy as np\n{source}\n"
    text += source.replace("by_matmul", "wrong").replace("math.sqrt", "abs")
    text += source.replace("by_matmul", "loud").replace(
        "    ", "    print(); ", 1
    )
    (tmp_path / "mymodule.py").write_text(text + "number = 3\n")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "inner.py").write_text(text)
    (tmp_path / "sub" / "uses.py").write_text("from inner import by_matmul")
    for words, status, said in [
        (["mymodule:by_matmul"], 0, "✓ Right."),
        (["mymodule.py:by_matmul", "--skip", "random,types"], 0, "✓ Right."),
        (["mymodule:wrong"], 1, "✗ Wrong. scale:"),
        (["mymodule:by_matmul", "--scale", "1.5"], 1, "✗ Wrong. softmax:"),
        (["mymodule:loud"], 0, "✓ Right."),
        (["sub/uses.py:by_matmul"], 0, "✓ Right."),
        (["sub/uses:by_matmul"], 2, "folder/file.py:name; got sub/uses"),
        (["mymodule.by_matmul"], 2, "as module:name"),
        (["mymodule:by_matmul", "--skip", "x"], 2, "skip must name laws"),
        (["mymodule:number"], 2, "3 is not a function."),
        (["mymodule:nothing"], 2, "mymodule has no nothing."),
        (["nowhere:nothing"], 2, "nowhere cannot be read."),
        (["mymodule:by_matmul", "--mask", "0"], 2, ""),
    ]:
        run = subprocess.run(
            [sys.executable, "-W", "error", "-m", "course.check", *words],
            cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)},
            capture_output=True, text=True, encoding="utf-8",
        )  # fmt: skip
        assert (run.returncode, said in run.stdout) == (status, True), run
        assert not run.stdout.startswith("\n"), "what the program prints"


def test_it_needs_numpy_alone():
    run = subprocess.run(
        [sys.executable, "-c", "import course, sys; print(*sys.modules)"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    tops = {name.split(".")[0] for name in run.stdout.split()}
    assert not tops & {"matplotlib", "IPython", "yaml", "anywidget", "torch"}
    assert course.check is check
    assert issubclass(Verdict, tuple)


# --- all small changes of the right programs ---------------------------------


def computes_the_same(program, function, options):
    """Whether two programs agree on inputs that no check has tried."""
    options, rng = settled(**options), np.random.default_rng(1)
    features = [name for name, has in inputs.asked(options).items() if has]
    law = laws.Law("other", "", [
        one._replace(**{x: rng.normal(0, 2, getattr(one, x).shape)
                        for x in "QKV"})
        for one in inputs.drawn(300, options) +
        [one for x in features for one in inputs.drawn(100, options, x)]
    ])  # fmt: skip
    both = Trial(program, options), Trial(function, options)
    with np.errstate(all="ignore"):
        return all(
            np.allclose(*(trial.output(one) for trial in both))
            for one in laws.kept(law, options)
        )


def test_other_programs_do_not_compute_the_same():
    assert computes_the_same(by_matmul, attentions.by_einsum, {})
    assert not computes_the_same(by_matmul, fourth_lost, {})


def survivors(function, options):
    """The changed lines that a check accepts, and their programs."""
    judge = functools.partial(check, **options)
    for _, line, program in mutate.mutants(inspect.getsource(function)):
        space = dict(vars(attentions))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            exec(compile(program, "<changed>", "exec"), space)
        changed = space[function.__name__]
        if accepts(judge, changed, seconds=5):
            yield line, changed


@pytest.mark.parametrize(
    "function",
    [
        by_logsumexp,
        *(
            pytest.param(function, marks=pytest.mark.weekly)
            for function in attentions.RIGHT
            if function is not by_logsumexp
        ),
    ],
)
def test_every_small_change_is_refused_or_computes_the_same(function):
    options = attentions.RIGHT[function]
    accepted = [*survivors(function, options)]
    assert len(accepted) < 30
    assert not [
        line
        for line, changed in accepted
        if not computes_the_same(changed, function, options)
    ]
