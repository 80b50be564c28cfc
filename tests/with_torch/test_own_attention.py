"""`course.check` on PyTorch's and JAX's own attention, right and wrong."""

import math

import pytest

from course.check import check

torch = pytest.importorskip("torch", minversion="2.5")
F = torch.nn.functional
SDPA = F.scaled_dot_product_attention
try:
    import jax
    from jax import numpy as jnp
except ImportError:
    jax = None
with_jax = pytest.mark.skipif(jax is None, reason="JAX is not installed")

TORCH = {"arrays": "torch", "gradients": "auto"}
FOUR = TORCH | {"axes": "BHTD", "scale": "scale"}
JAX = {"arrays": "jax", "gradients": "auto"}


def by_math(Q, K, V, mask=None):
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return scores.softmax(dim=-1).nan_to_num() @ V


def by_einsum(Q, K, V, mask=None):
    scores = torch.einsum("bthd,bshd->bhts", Q, K) * Q.size(-1) ** -0.5
    if mask is not None:
        scores = torch.where(mask, scores, -torch.inf)
    lse = scores.logsumexp(dim=-1, keepdim=True)
    weights = torch.exp(scores - lse.clamp(min=torch.finfo(lse.dtype).min))
    return torch.einsum("bhts,bshd->bthd", weights, V)


def lower_right(Q, K, V, mask=None, is_causal=False):
    from torch.nn.attention.bias import causal_lower_right

    if is_causal and mask is None:
        mask = causal_lower_right(Q.shape[-2], K.shape[-2])
    elif is_causal:
        raise ValueError("mask and is_causal exclude each other")
    return SDPA(Q, K, V, attn_mask=mask)


def grouped(Q, K, V, attn_mask=None):
    return SDPA(Q, K, V, attn_mask=attn_mask, enable_gqa=True)


def module(Q, K, V, attn_mask=None):
    """PyTorch's layer with one head and unit matrices."""
    d, d_v = Q.shape[-1], V.shape[-1]
    layer = torch.nn.MultiheadAttention(
        d, 1, bias=False, batch_first=True, dtype=Q.dtype
    )
    eye = torch.eye(d, dtype=Q.dtype)
    assert d == d_v
    with torch.no_grad():
        layer.in_proj_weight.copy_(torch.cat([eye] * 3))
        layer.out_proj.weight.copy_(eye)
    return layer(Q, K, V, attn_mask=attn_mask)


MODULE = {"names": "attn_mask", "mask": "blocked", "axes": "TD",
          "equal_widths": True, "empty": "nan"}  # fmt: skip


@pytest.mark.parametrize(
    ("function", "options"),
    [
        (by_math, TORCH),
        (by_einsum, TORCH | {"axes": "BTHD"}),
        (SDPA, TORCH | {"names": "attn_mask"}),
        (SDPA, FOUR | {"names": "query key value attn_mask",
                       "mask": "additive"}),
        (SDPA, FOUR | {"names": "attn_mask", "causal": "is_causal",
                       "corner": "upper left"}),
        (lower_right, FOUR | {"scale": None, "causal": "is_causal"}),
        (grouped, FOUR | {"scale": None, "names": "attn_mask",
                          "groups": True}),
        (module, TORCH | MODULE),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)  # fmt: skip
def test_right_in_torch(function, options):
    verdict = check(function, **options)
    assert verdict.right, verdict


def of_jax(Q, K, V, mask=None):
    scores = jnp.einsum("...td,...sd->...ts", Q, K) / math.sqrt(Q.shape[-1])
    weights = jax.nn.softmax(scores, axis=-1, where=mask)
    return jnp.where(True if mask is None else mask, weights, 0) @ V


OWN = JAX | {"axes": "BTHD", "equal_widths": True, "causal": "is_causal",
             "scale": "scale", "groups": True, "empty": "mean",
             "corner": "upper left"}  # fmt: skip


@with_jax
@pytest.mark.parametrize("name", ["jax.nn.dot_product_attention", "einsum"])
def test_right_in_jax(name):
    own = name != "einsum"
    function = jax.nn.dot_product_attention if own else jax.jit(of_jax)
    verdict = check(function, **(OWN if own else JAX))
    assert verdict.right, verdict


def constant_top(Q, K, V, mask=None):
    """The sum of the softmax is cut out of the gradient."""
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    exps = (scores - scores.amax(-1, keepdim=True)).exp().nan_to_num()
    total = exps.sum(-1, keepdim=True).detach()
    return exps / torch.where(total == 0, 1, total) @ V


@pytest.mark.parametrize(
    ("function", "options", "law", "said"),
    [
        # As jax.nn.dot_product_attention, it is aligned at the upper left.
        (SDPA, FOUR | {"names": "attn_mask", "causal": "is_causal"},
         "causal", 'corner="upper left"'),
        (module, TORCH | MODULE | {"mask": "attend"}, "mask",
         'mask="blocked"'),
        (module, TORCH | MODULE | {"empty": "zeros"}, "empty",
         'empty="nan"'),
        (SDPA, {"names": "attn_mask"}, "average", 'arrays="torch"'),
        (constant_top, TORCH, "gradients", "gradient of Q, expected"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(function, options, law, said):
    verdict = check(function, **options)
    assert (verdict.right, verdict.law) == (False, law), verdict
    assert said in verdict.text
