"""`course.check`: right programs pass, wrong ones are told what is wrong."""

import functools
import inspect
import math
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import course
from course.check import Verdict, check, faults, laws
from helpers.attention import attention
from helpers.masks import causal_mask, window_mask
from helpers.tiled import tiled_attention
from tests.core import attentions, reference
from tests.core.attentions import (
    by_logsumexp,
    by_matmul,
    cached,
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
    return SimpleNamespace(**given | options)


def test_each_expected_output_is_that_of_plain_loops():
    every = settled(**EVERY, cache=list, gradients="auto")
    tried = 0
    for law in laws.laws(every):
        for case in law.cases:
            if case.Q.ndim > 2:
                continue
            may = laws.allowed(case, every)
            loop, _ = reference.attention(
                *(X.astype(float).tolist() for X in case[:3]),
                allowed=None if may is None else may.tolist(),
                scale=case.scale,
            )
            np.testing.assert_allclose(laws.expected(case, every), loop)
            tried += 1
    assert tried > 40


@pytest.mark.parametrize(
    ("function", "options"),
    [
        *attentions.RIGHT.items(),
        (attention, {"scale": "scale", "sinks": "sinks"}),
        (tiled_attention, TILED | {"sinks": "sinks"}),
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


def test_the_generator_is_right_without_a_fault():
    assert check(faulty(""), **EVERY).right


@pytest.mark.parametrize("fault", faults.FAULTS)
def test_each_generated_fault_is_refused_and_named(fault):
    verdict = check(faulty(fault), **EVERY)
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


CAUSAL = {"causal": "is_causal"}
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


COMMON = []


def one_for_all():
    return COMMON


OTHERS = [
    (in_place, {}, "inputs", "changes its argument Q"),
    (widened, {}, "types", "math.sqrt(4)"),
    (scale_ignored, {"scale": "scale"}, "given scale", "scale = 2"),
    (fourth_lost, {}, "random", "expected"),
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
    broken |= {check(faulty(name), **EVERY).law for name in faults.FAULTS}
    assert not {law.name for law in laws.laws(settled())} - broken


# --- whatever a function does ------------------------------------------------


def fails(Q, K, V, mask=None):
    raise SystemExit("no")


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
        (as_matrix, False, "object of type MaskedArray"),
    ],
)
def test_whatever_it_does_there_is_a_sentence(function, right, said):
    verdict = check(function)
    assert verdict.right is right
    assert said in verdict.text.replace("expected = ", "where "), verdict


def test_an_interrupt_ends_the_check():
    def endless(Q, K, V, mask=None):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        check(endless)


@pytest.mark.parametrize(
    "options",
    [{"mask": "allowed"}, {"axes": "HTD"}, {"names": "a b"}, {"skip": "sum"}],
)
def test_an_unknown_option_is_an_error(options):
    with pytest.raises(ValueError, match=f"{next(iter(options))} must"):
        check(by_matmul, **options)


# --- from the command line ---------------------------------------------------


def test_the_exit_status_says_what_was_found(tmp_path):
    source = inspect.getsource(by_matmul)
    text = f"import math\nimport numpy as np\n{source}\n"
    text += source.replace("by_matmul", "wrong").replace("math.sqrt", "abs")
    (tmp_path / "mymodule.py").write_text(text + "number = 3\n")
    for words, status, said in [
        (["mymodule:by_matmul"], 0, "✓ Right."),
        (["mymodule.py:by_matmul", "--skip", "random,types"], 0, "✓ Right."),
        (["mymodule:wrong"], 1, "✗ Wrong. scale:"),
        (["mymodule:by_matmul", "--scale", "1.5"], 1, "✗ Wrong. softmax:"),
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

# What a changed line contains that computes the same: a scale from K's width,
# which is that of Q; a number for rows that are empty, whose sum of zeros it
# divides; the same axes in another order; tuples of which the first counts.
SAME = (
    r"sqrt\(K\.shape|K\.shape\[-1\] \*\*|\(-2, -1\)|== -np\.inf, -?1,"
    r"|<= -np\.inf|total <= 0|(total == 0|z|keepdims=True\)), (0\.5|2|-1)[,)]"
    r"|\(weights @ V,\)|2 \* \(\(weights|\)\)\[0\]"
)


def survivors(function, options):
    """The changed lines of programs that a check accepts."""
    judge = functools.partial(check, **options)
    for _, line, program in mutate.mutants(inspect.getsource(function)):
        space = dict(vars(attentions))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            exec(compile(program, "<changed>", "exec"), space)
        if accepts(judge, space[function.__name__], seconds=5):
            yield line


@pytest.mark.parametrize(
    "function",
    [
        by_logsumexp,
        pytest.param(by_matmul, marks=pytest.mark.weekly),
        pytest.param(attentions.by_einsum, marks=pytest.mark.weekly),
    ],
)
def test_every_small_change_is_refused_or_computes_the_same(function):
    lines = [*survivors(function, attentions.RIGHT[function])]
    assert len(lines) < 10
    assert not [line for line in lines if not re.search(SAME, line)]
