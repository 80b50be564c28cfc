"""The three branches of native sparse attention against published code.

Flash Linear Attention has the compressed and the chosen branch in plain
PyTorch, and the sum of all three; its means and its window are kernels for a
graphics processor, for which plain PyTorch stands in here. The window is
compared with local-attention, which another implementation of the paper uses.

Runs where PyTorch, fla-core with triton, and local-attention are installed
(`make test-torch`).
"""

import warnings

import numpy as np
import pytest

from helpers.attention import attention
from helpers.sparse import chosen_blocks, pooled_blocks, three_branches

torch = pytest.importorskip("torch", minversion="2.7")
pytest.importorskip("triton")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # that there is no graphics processor
    fla = pytest.importorskip("fla.ops.nsa.naive")
local = pytest.importorskip("local_attention")

B, H, T, LENGTH, D_K, D_V = 2, 16, 24, 4, 8, 5
TOLERANCE = 2e-6  # that code computes in float32


@pytest.fixture
def arrays():
    """Queries, keys and values (B, H, T, ...), and gates from 0 to 1."""
    rng = np.random.default_rng(30)
    widths = (D_K, D_K, D_V)
    Q, K, V = (rng.normal(size=(B, H, T, d)) for d in widths)
    gates = 1 / (1 + np.exp(-rng.normal(size=(B, H, T, 3))))
    return tuple(x.astype(np.float32).astype(float) for x in (Q, K, V, gates))


def theirs(x):
    """That code has the heads behind the positions."""
    return torch.tensor(x, dtype=torch.float32).transpose(1, 2)


def ours(x):
    return x.transpose(1, 2).numpy()


def close(result, expected):
    np.testing.assert_allclose(
        result, expected, rtol=TOLERANCE, atol=TOLERANCE
    )


def only(branch, *arrays, **options):
    return three_branches(*arrays, np.eye(3)[branch], **options)


def torch_means(X, length, _=None):
    """What the kernel `mean_pooling` computes, of whole blocks."""
    return X.unflatten(1, (-1, length)).mean(2)


def torch_window(Q, K, V, *, causal, window_size):
    """What the kernel `flash_attn_func` computes: i - left <= j <= i."""
    left, right = window_size
    assert causal
    assert right == 0
    back = torch.arange(T)[:, None] - torch.arange(T)
    Q, K, V = (x.transpose(1, 2) for x in (Q, K, V))
    K, V = (x.repeat_interleave(Q.shape[1] // K.shape[1], 1) for x in (K, V))
    seen = (back >= 0) & (back <= left)
    output = torch.nn.functional.scaled_dot_product_attention(Q, K, V, seen)
    return output.transpose(1, 2)


def indices(chosen, n):
    """The blocks that each query reads, (B, T, H, n), and -1 for no block."""
    blocks = chosen[..., ::LENGTH]
    order = np.argsort(~blocks, axis=-1, kind="stable")[..., :n]
    read = np.take_along_axis(blocks, order, axis=-1)
    return torch.tensor(np.where(read, order, -1)).transpose(1, 2)


def complete():
    """True for the blocks that end at a query's position or before it."""
    ends = np.arange(LENGTH, T + 1, LENGTH)
    return ends <= np.arange(1, T + 1)[:, None]


def test_the_compressed_branch(arrays):
    Q, K, V, _ = arrays
    result = only(0, Q, K, V, length=LENGTH, n=1, window=1)
    means = (torch_means(theirs(X), LENGTH) for X in (K, V))
    expected, _ = fla.naive_nsa_compression(
        theirs(Q), *means, LENGTH, D_K**-0.5
    )
    close(result, ours(expected))
    assert (result[..., : LENGTH - 1, :] == 0).all()  # no block is complete
    assert (result[..., LENGTH - 1 :, :] != 0).all()


def test_the_means(arrays):
    for X in arrays[1:3]:
        close(pooled_blocks(X, LENGTH), ours(torch_means(theirs(X), LENGTH)))


@pytest.mark.parametrize("group", [1, 4])
@pytest.mark.parametrize("n", [3, 4, 6])
def test_the_choice_beside_the_blocks_that_are_fixed(arrays, group, n):
    # The published code always reads the first block, the query's own and
    # the one before it. The others are chosen, by weights of which the query
    # heads of a group have the mean.
    Q, K, V, _ = arrays
    K, V = K[:, ::group], V[:, ::group]
    means = (pooled_blocks(X, LENGTH).repeat(group, 1) for X in (K, V))
    weights = attention(Q, *means, mask=complete()).weights
    scores = weights.reshape(B, H // group, group, T, -1).mean(2)
    own, block = np.arange(T)[:, None] // LENGTH, np.arange(T // LENGTH)
    fixed = (block == 0) | (block == own) | (block == own - 1)
    result = fixed | np.zeros(scores.shape, bool)
    for t in range(T):
        if free := n - fixed[t].sum():
            rest = (complete() & ~fixed)[t : t + 1]
            best = chosen_blocks(
                scores[..., t : t + 1, :], free, LENGTH, T, mask=rest
            )
            result[..., t, :] |= best[..., 0, ::LENGTH]
    published = fla.naive_nsa_topk(
        theirs(Q), torch_means(theirs(K), LENGTH), n, LENGTH, D_K**-0.5
    )
    read = ours(published)[..., None] == block  # (B, H_kv, T, n, n_blocks)
    np.testing.assert_array_equal(read.any(-2), result)
    assert (published >= 0).any(-1).all()


@pytest.mark.parametrize("n", [1, 2, 6])
def test_the_branch_of_chosen_blocks(arrays, n):
    Q, K, V, _ = arrays
    result = only(1, Q, K, V, length=LENGTH, n=n, window=1)
    means = (pooled_blocks(X, LENGTH) for X in (K, V))
    weights = attention(Q, *means, mask=complete()).weights
    chosen = chosen_blocks(weights, n, LENGTH, T, mask=complete())
    expected = ours(
        fla.naive_nsa_selection(
            *(theirs(X) for X in (Q, K, V)), indices(chosen, n), LENGTH
        )
    )
    some = slice(LENGTH - 1, None)  # rows that read something
    close(result[..., some, :], expected[..., some, :])
    assert (result[..., : LENGTH - 1, :] == 0).all()
    assert np.isnan(expected[..., : LENGTH - 1, :]).all()


@pytest.mark.parametrize("window", [1, 3, 12, 40])
def test_the_window(arrays, window):
    # local-attention counts the keys before the query's own.
    Q, K, V, _ = arrays
    result = only(2, Q, K, V, length=LENGTH, n=1, window=window + 1)
    published = local.LocalAttention(
        window,
        causal=True,
        exact_windowsize=True,
        autopad=True,
        use_rotary_pos_emb=False,
    )
    tensors = (torch.tensor(X, dtype=torch.float32) for X in (Q, K, V))
    close(result, published(*tensors).numpy())


@pytest.mark.parametrize(("n", "window"), [(1, 3), (3, 8), (6, 24)])
def test_all_three_with_their_gates(arrays, monkeypatch, n, window):
    # The published code wants 16 query heads or more to a key head, which
    # read the same blocks. Ours choose alone, so two of them are compared.
    Q, K, V, gates = arrays
    K, V = K[:, :1], V[:, :1]
    options = {"length": LENGTH, "n": n, "window": window}
    result = three_branches(Q, K, V, gates, **options)
    means = (pooled_blocks(X, LENGTH) for X in (K, V))
    weights = attention(Q, *means, mask=complete()).weights
    monkeypatch.setattr(fla, "mean_pooling", torch_means)
    monkeypatch.setattr(fla, "flash_attn_func", torch_window)
    for h in (0, 9):
        chosen = chosen_blocks(
            weights[:, h : h + 1], n, LENGTH, T, mask=complete()
        )
        with pytest.warns(UserWarning, match="`block_indices` is provided"):
            output = fla.naive_nsa(
                *(theirs(X) for X in (Q, K, V)),
                *theirs(gates).unbind(-1),
                block_indices=indices(chosen, n),
                block_size=LENGTH,
                window_size=window,
            )
        some = slice(LENGTH - 1, None)
        close(result[:, h, some], ours(output)[:, h, some])
