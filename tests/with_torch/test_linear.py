"""The gated delta rule against the code of Qwen3-Next, and its autograd.

Runs where PyTorch and transformers are installed (`make test-torch`).
"""

import itertools

import numpy as np
import pytest

from helpers.heads import repeat_kv
from helpers.linear import gated_delta_rule, gated_delta_rule_vjp

torch = pytest.importorskip("torch", minversion="2.4")
qwen = pytest.importorskip(
    "transformers.models.qwen3_next.modeling_qwen3_next"
)

FORMS = {
    "step": qwen.torch_recurrent_gated_delta_rule,
    "chunks": qwen.torch_chunk_gated_delta_rule,
}


def arguments(seed, T, H, H_v, d_k, d_v):
    """Arguments of one batch, (B, H, T, ...), as that code's layer makes them.

    Keys and queries of length one, beta a sigmoid, a decay by a softplus.
    """
    rng = np.random.default_rng(seed)
    Q, K = rng.normal(size=(2, 2, H, T, d_k))
    Q, K = (x / np.linalg.norm(x, axis=-1, keepdims=True) for x in (Q, K))
    return {
        "Q": Q,
        "K": K,
        "V": rng.normal(size=(2, H_v, T, d_v)),
        "beta": 1 / (1 + np.exp(-rng.normal(size=(2, H_v, T)))),
        "log_decay": -2 * np.log1p(np.exp(rng.normal(size=(2, H_v, T)))),
        "state": rng.normal(size=(2, H_v, d_k, d_v)),
    }


def published(form, x, *, state, **more):
    """That code has the heads after the positions, and computes in float32."""
    tensor = {n: torch.tensor(a, dtype=torch.float32) for n, a in x.items()}
    swapped = {n: t.transpose(1, 2) for n, t in tensor.items()}
    output, last = FORMS[form](
        swapped["Q"],
        swapped["K"],
        swapped["V"],
        g=swapped["log_decay"],
        beta=swapped["beta"],
        initial_state=tensor["state"] if state else None,
        output_final_state=True,
        use_qk_l2norm_in_kernel=False,
        **more,
    )
    return output.transpose(1, 2).numpy(), last.numpy()


SIZES = [
    (1, 1, 1, 1, 1),
    (5, 2, 2, 4, 3),
    (70, 2, 4, 8, 6),
    (130, 1, 2, 16, 8),
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("state", [True, False])
def test_it_equals_the_published_code(form, sizes, state):
    for seed, chunk in itertools.product(range(3), (None, 7, 64, 200)):
        x = arguments(seed, *sizes)
        desired = published(form, x, state=state)
        shared = x | {
            n: repeat_kv(x[n], sizes[2] // sizes[1]) for n in ("Q", "K")
        }
        if not state:
            del shared["state"]
        results = gated_delta_rule(**shared, chunk=chunk)
        for result, expected in zip(results, desired, strict=True):
            np.testing.assert_allclose(result, expected, rtol=2e-4, atol=2e-5)


def test_the_gradients_are_those_of_autograd():
    x = arguments(1, 9, 2, 2, 4, 3)
    leaves = {
        name: torch.tensor(a, dtype=torch.float64, requires_grad=True)
        for name, a in x.items()
    }
    rng = np.random.default_rng(2)
    up = rng.normal(size=(2, 2, 9, 3)), rng.normal(size=(2, 2, 4, 3))
    # Its code casts to float32; the recurrence in float64 is short.
    S, out, t = leaves["state"], [], leaves
    for i in range(9):
        S = t["log_decay"][..., i].exp()[..., None, None] * S
        k = t["K"][..., i, :]
        error = t["V"][..., i, :] - torch.einsum("bhk,bhkv->bhv", k, S)
        write = t["beta"][..., i, None] * error
        S = S + torch.einsum("bhk,bhv->bhkv", k, write)
        out.append(torch.einsum("bhk,bhkv->bhv", t["Q"][..., i, :], S) / 2)
    output = torch.stack(out, -2)
    ((output * torch.tensor(up[0])).sum() + (S * torch.tensor(up[1])).sum()
     ).backward()  # fmt: skip
    result = gated_delta_rule_vjp(up[0], **x, grad_state=up[1])
    for name, leaf in leaves.items():
        np.testing.assert_allclose(
            getattr(result, name), leaf.grad.numpy(), rtol=1e-11, atol=1e-12
        )
