"""Each layer against plain loops, its gradient against differences."""

import math

import numpy as np
import pytest

from helpers import layers
from tests.core import reference_transformer as reference
from tests.core.closeness import assert_close, assert_gradient
from tests.core.refusals import each, refused


def by_rows(f, x):
    """`f` of each row of `x`, a list of numbers each."""
    rows = [f(row.tolist()) for row in x.reshape(-1, x.shape[-1])]
    return np.array(rows).reshape(*x.shape[:-1], -1)


def assert_gradients(f, arguments, gradients, rng):
    """Compare the gradient of sum(f * upstream) for each argument.

    `gradients` is a function of the upstream gradient.
    """
    upstream = rng.normal(size=f(**arguments).shape)
    result = gradients(upstream)
    for (name, x), d in zip(arguments.items(), result, strict=True):

        def loss(x, name=name):
            return (f(**arguments | {name: x}) * upstream).sum()

        assert_gradient(loss, x, d, rng)


LEADS = pytest.mark.parametrize("lead", [(), (4,), (2, 3), (2, 3, 2)])


@LEADS
def test_linear(rng, lead):
    x, W, b = (
        rng.normal(size=(*lead, 3)),
        rng.normal(size=(3, 5)),
        rng.normal(size=5),
    )
    for vector in (b, None):
        expected = by_rows(
            lambda row, v=vector: reference.affine(
                row, W.tolist(), None if v is None else v.tolist()
            ),
            x,
        )
        assert_close(layers.linear(x, W, vector), expected)
    assert_gradients(
        layers.linear,
        {"x": x, "W": W, "b": b},
        lambda d: layers.linear_vjp(d, x, W),
        rng,
    )


@LEADS
@pytest.mark.parametrize("eps", [1e-5, 0.5])
def test_layer_norm(rng, lead, eps):
    x = rng.normal(2, 3, size=(*lead, 4))
    gain, bias = rng.normal(size=(2, 4))
    expected = by_rows(
        lambda row: reference.normed(row, gain.tolist(), bias.tolist(), eps), x
    )
    assert_close(layers.layer_norm(x, gain, bias, eps=eps), expected, eps=64)
    assert_gradients(
        lambda x, gain, bias: layers.layer_norm(x, gain, bias, eps=eps),
        {"x": x, "gain": gain, "bias": bias},
        lambda d: layers.layer_norm_vjp(d, x, gain, eps=eps),
        rng,
    )


@LEADS
@pytest.mark.parametrize("eps", [1e-5, 0.5])
def test_rms_norm(rng, lead, eps):
    x, gain = rng.normal(2, 3, size=(*lead, 4)), rng.normal(size=4)
    expected = by_rows(
        lambda row: reference.normed(row, gain.tolist(), None, eps), x
    )
    assert_close(layers.rms_norm(x, gain, eps=eps), expected)
    assert_gradients(
        lambda x, gain: layers.rms_norm(x, gain, eps=eps),
        {"x": x, "gain": gain},
        lambda d: layers.rms_norm_vjp(d, x, gain, eps=eps),
        rng,
    )


def test_eps_is_a_hundred_thousandth_unless_said(rng):
    x, gain, bias = rng.normal(size=(3, 4)) * 1e-3
    for f, vjp, more in (
        (layers.layer_norm, layers.layer_norm_vjp, (bias,)),
        (layers.rms_norm, layers.rms_norm_vjp, ()),
    ):
        for result, expected in (
            (f(x, gain, *more), f(x, gain, *more, eps=1e-5)),
            (vjp(bias, x, gain)[0], vjp(bias, x, gain, eps=1e-5)[0]),
        ):
            np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("approximate", [None, "tanh"])
def test_gelu(rng, approximate):
    x = np.array([-40.0, -3.0, -1.0, -1e-9, 0.0, 0.3, 2.0, 40.0])
    name = "gelu_tanh" if approximate else "gelu"
    expected = [reference.bent(value, name) for value in x]
    assert_close(layers.gelu(x, approximate=approximate), expected, eps=32)
    y = rng.normal(0, 2, size=(3, 4))
    assert_gradients(
        lambda x: layers.gelu(x, approximate=approximate),
        {"x": y},
        lambda d: [layers.gelu_vjp(d, y, approximate=approximate)],
        rng,
    )


def test_silu(rng):
    x = np.array([-700.0, -3.0, -1.0, -1e-9, 0.0, 0.3, 2.0, 40.0])
    assert_close(layers.silu(x), [reference.bent(v, "silu") for v in x])
    y = rng.normal(0, 2, size=(3, 4))
    assert_gradients(
        layers.silu, {"x": y}, lambda d: [layers.silu_vjp(d, y)], rng
    )


def test_silu_far_out_is_a_switch():
    x = np.array([-1e300, -1e3, 1e3, 1e300])
    np.testing.assert_array_equal(layers.silu(x), np.maximum(x, 0))
    slope = layers.silu_vjp(np.ones(4), x)
    np.testing.assert_array_equal(slope, x > 0)


def test_gelu_far_out_is_a_switch():
    for approximate in (None, "tanh"):
        x = np.array([-1e300, -1e3, 1e3, 1e300])
        result = layers.gelu(x, approximate=approximate)
        np.testing.assert_array_equal(result, np.maximum(x, 0))
        slope = layers.gelu_vjp(np.ones(4), x, approximate=approximate)
        np.testing.assert_array_equal(slope, x > 0)


def test_the_two_gelus_differ_by_less_than_half_a_thousandth():
    # Hendrycks and Gimpel give the second for the first.
    x = np.linspace(-6, 6, 2001)
    difference = layers.gelu(x) - layers.gelu(x, approximate="tanh")
    assert 1e-4 < abs(difference).max() < 5e-4


@LEADS
@pytest.mark.parametrize("activation", layers.ACTIVATIONS)
@pytest.mark.parametrize("gated", [False, True])
def test_feed_forward(rng, lead, activation, gated):
    x = rng.normal(size=(*lead, 3))
    W_1, W_3 = rng.normal(size=(2, 3, 5))
    b_1, b_3 = rng.normal(size=(2, 5))
    W_2, b_2 = rng.normal(size=(5, 3)), rng.normal(size=3)

    def loops(row):
        hidden = reference.affine(row, W_1.tolist(), b_1.tolist())
        bent = [reference.bent(h, activation) for h in hidden]
        if gated:
            gate = reference.affine(row, W_3.tolist(), b_3.tolist())
            bent = [h * g for h, g in zip(bent, gate, strict=True)]
        return reference.affine(bent, W_2.tolist(), b_2.tolist())

    gate = {"W_3": W_3, "b_3": b_3} if gated else {}
    arguments = {"x": x, "W_1": W_1, "b_1": b_1, "W_2": W_2, "b_2": b_2}
    result = layers.feed_forward(**arguments, **gate, activation=activation)
    assert_close(result, by_rows(loops, x), eps=256)
    assert_gradients(
        lambda **a: layers.feed_forward(**a, activation=activation),
        arguments | gate,
        lambda d: layers.feed_forward_vjp(
            d, x, W_1, b_1, W_2, **gate, activation=activation
        ),
        rng,
    )


def test_gelu_is_what_feed_forward_takes_unless_told(rng):
    x, W = rng.normal(size=(2, 3)), np.eye(3)
    np.testing.assert_array_equal(
        layers.feed_forward(x, W, None, W, None), layers.gelu(x)
    )
    result = layers.feed_forward_vjp(np.ones_like(x), x, W, None, W)[0]
    np.testing.assert_array_equal(result, layers.gelu_vjp(np.ones_like(x), x))


@LEADS
def test_cross_entropy(rng, lead):
    logits = rng.normal(0, 3, size=(*lead, 2, 5))
    targets = rng.integers(0, 5, (*lead, 2))
    expected = [
        reference.loss(row.tolist(), target)
        for row, target in zip(
            logits.reshape(-1, 5), targets.ravel(), strict=True
        )
    ]
    result = layers.token_losses(logits, targets)
    assert_close(result.ravel(), np.array(expected))
    mean = math.fsum(expected) / len(expected)
    loss = layers.cross_entropy(logits, targets)
    assert type(loss) is float
    assert_close(loss, np.float64(mean))
    assert_gradients(
        lambda logits: np.array(layers.cross_entropy(logits, targets)),
        {"logits": logits},
        lambda d: [d * layers.cross_entropy_vjp(logits, targets)],
        rng,
    )


@LEADS
def test_token_losses_vjp(rng, lead):
    logits = rng.normal(size=(*lead, 4, 5))
    targets = rng.integers(0, 5, (*lead, 4))
    assert_gradients(
        lambda logits: layers.token_losses(logits, targets),
        {"logits": logits},
        lambda grad: [layers.token_losses_vjp(grad, logits, targets)],
        rng,
    )


def test_a_single_row_has_a_single_loss():
    assert_close(layers.token_losses(np.zeros(4), 2), np.float64(math.log(4)))


def test_relu_lets_no_gradient_through_at_zero():
    x, eye = np.array([[-1.0, 0, 2]]), np.eye(3)
    gradient, *_ = layers.feed_forward_vjp(
        np.ones((1, 3)), x, eye, None, eye, activation="relu"
    )
    assert gradient.tolist() == [[0, 0, 1]]


def test_only_what_counts_counts(rng):
    logits, targets = rng.normal(size=(2, 3, 5)), rng.integers(0, 5, (2, 3))
    where = np.array([[True, False, True], [False, False, True]])
    losses = layers.token_losses(logits, targets)
    mean = math.fsum(losses[where]) / 3
    result = layers.cross_entropy(logits, targets, where=where)
    assert_close(result, np.float64(mean))
    gradient = layers.cross_entropy_vjp(logits, targets, where=where)
    np.testing.assert_array_equal(gradient[~where], 0)
    assert_gradients(
        lambda logits: np.array(
            layers.cross_entropy(logits, targets, where=where)
        ),
        {"logits": logits},
        lambda d: [d * gradient],
        rng,
    )
    one_row = layers.cross_entropy(logits, targets, where=where[0])
    assert_close(one_row, np.float64(losses[:, [0, 2]].mean()))


def test_one_hot_rows_look_up(rng):
    table, tokens = rng.normal(size=(5, 3)), rng.integers(0, 5, (2, 4))
    result = layers.linear(layers.one_hot(tokens, 5), table)
    np.testing.assert_array_equal(result, table[tokens])


# Runs: a leading axis of the parameters ------------------------------------


def test_runs_are_models_apart(rng):
    x, W, b = (rng.normal(size=s) for s in ((2, 4, 5, 3), (2, 3, 6), (2, 6)))
    gain, bias = rng.normal(size=(2, 2, 3))
    d, dx = rng.normal(size=(2, 4, 5, 6)), rng.normal(size=(2, 4, 5, 3))
    back, norm, rms = (
        layers.linear_vjp(d, x, W),
        layers.layer_norm_vjp(dx, x, gain),
        layers.rms_norm_vjp(dx, x, gain),
    )
    for r in range(2):
        together = layers.linear(x, W, b)[r]
        assert_close(together, layers.linear(x[r], W[r], b[r]))
        both = layers.layer_norm(x, gain, bias)[r]
        assert_close(both, layers.layer_norm(x[r], gain[r], bias[r]))
        assert_close(
            layers.rms_norm(x, gain)[r], layers.rms_norm(x[r], gain[r])
        )
        for all_runs, own in (
            (back, layers.linear_vjp(d[r], x[r], W[r])),
            (norm, layers.layer_norm_vjp(dx[r], x[r], gain[r])),
            (rms, layers.rms_norm_vjp(dx[r], x[r], gain[r])),
        ):
            for a, b_ in zip(all_runs, own, strict=True):
                assert_close(a[r], b_, eps=64)


# Types and ranges ---------------------------------------------------------

WIDE = {
    "linear": lambda x: layers.linear(x, x, x[0]),
    "linear, no b": lambda x: layers.linear(x, x),
    "layer_norm": lambda x: layers.layer_norm(x, x[0], x[1]),
    "rms_norm": lambda x: layers.rms_norm(x, x[0]),
    "gelu": lambda x: layers.gelu(x),
    "tanh": lambda x: layers.gelu(x, approximate="tanh"),
    "relu": lambda x: layers.feed_forward(
        x, x, x[0], x, x[1], activation="relu"
    ),
    "losses": lambda x: layers.token_losses(x, [0, 1]),
    "linear_vjp": lambda x: layers.linear_vjp(x, x, x),
    "layer_norm_vjp": lambda x: layers.layer_norm_vjp(x, x, x[0]),
    "rms_norm_vjp": lambda x: layers.rms_norm_vjp(x, x, x[0]),
    "gelu_vjp": lambda x: layers.gelu_vjp(x, x),
    "tanh_vjp": lambda x: layers.gelu_vjp(x, x, approximate="tanh"),
    "cross_entropy_vjp": lambda x: layers.cross_entropy_vjp(x, [0, 1]),
}


@pytest.mark.parametrize("name", WIDE)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_the_type_of_the_arguments_is_kept(name, dtype):
    x = np.array([[0.5, -1.25], [2.0, 0.75]])
    result, expected = WIDE[name](x.astype(dtype)), WIDE[name](x)
    tuples = isinstance(result, tuple)
    pairs = (
        zip(result, expected, strict=True) if tuples else [(result, expected)]
    )
    for a, b in pairs:
        if name != "cross_entropy_vjp":  # its shares are float64
            assert a.dtype == dtype
        np.testing.assert_allclose(a, b, rtol=0, atol=8 * np.finfo(dtype).eps)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: layers.linear(x, x), "the products of x and W overflow"),
        (lambda x: layers.linear_vjp(x, x, x), "the gradients overflow"),
        (lambda x: layers.rms_norm(x, x[0]), "the squares of x overflow"),
        (lambda x: layers.layer_norm([[1, 2]], x[0], x[0]), "the stretched"),
        (lambda x: layers.rms_norm([[1, 2]], x[0]), "the stretched rows over"),
        (
            lambda x: layers.rms_norm_vjp(x[:1], [[1, 2]], x[0]),
            "the gradients overflow",
        ),
        (
            lambda x: layers.layer_norm_vjp(x, np.eye(2), [0, 0]),
            "the gradients overflow",
        ),
        (lambda x: layers.gelu_vjp(x, [[1.4, 1.4]] * 2), "the gradients over"),
        (
            lambda x: layers.token_losses(x * [1, -1], [1, 1]),
            "the losses overflow",
        ),
    ],
)
def test_refuses_overflow(call, message):
    x = np.full((2, 2), 1.7e308)
    with pytest.raises(ValueError, match=f"^{message}.* float64; pass "):
        call(x)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda x: layers.linear(x, np.full((64, 4), 2)),
            "the products of x and W",
        ),
        (
            lambda x: layers.linear_vjp(np.full((4, 4), 2), x[:4], x[:, :4]),
            "the gradients",
        ),
        (
            lambda x: layers.layer_norm(x, x[0], x[0]),
            "the squares of x",
        ),
        (
            lambda x: layers.layer_norm_vjp(x, np.eye(64), x[0]),
            "the gradients",
        ),
    ],
)
def test_refuses_opposite_infinities_without_a_warning(call, message):
    x = np.tile([1.7e308, 1.7e308, -1.7e308, -1.7e308], (64, 16))
    with pytest.raises(
        ValueError, match=f"^{message} overflow float64; pass "
    ):
        call(x)


def test_a_constant_row_needs_eps():
    np.testing.assert_array_equal(
        layers.layer_norm([3, 3], [1, 1], [5, 6]), [5, 6]
    )
    np.testing.assert_array_equal(layers.rms_norm([0, 0], [1, 1]), [0, 0])
    for call in (
        lambda: layers.layer_norm([3, 3], [1, 1], [5, 6], eps=0),
        lambda: layers.rms_norm([0, 0], [1, 1], eps=0),
        lambda: layers.rms_norm_vjp([0, 0], [0, 0], [1, 1], eps=0),
    ):
        refused(
            call,
            "eps must be above 0 if the squares of a row of x are 0 in "
            "float64; got 0",
        )


def test_rounding_is_no_variance_of_a_constant_row():
    for x in ([0.1] * 3, [1 / 3] * 7):  # sums that are rounded
        one, zero = np.ones(len(x)), np.zeros(len(x))
        assert not layers.layer_norm(x, one, zero).any()
        with pytest.raises(ValueError, match="eps must be above 0 if"):
            layers.layer_norm(x, one, zero, eps=0)
    far = np.full(768, 1e5 / 3, "f")
    flat = layers.layer_norm(far, np.ones(768, "f"), np.zeros(768, "f"))
    np.testing.assert_allclose(flat, 0, atol=1e-5)
    # Beside a large constant the row is that without it.
    row = np.random.default_rng(0).normal(size=64)
    near = layers.layer_norm(row, np.ones(64), np.zeros(64))
    moved = layers.layer_norm(row + 2.0**30, np.ones(64), np.zeros(64))
    np.testing.assert_allclose(moved, near, atol=1e-6)


ROWS = "each row of x must have one entry per row of W, and x must start with"
OUTSIDE = "must lie between 0 and 4, the last of the vocabulary; got"
X23, I3 = np.ones((2, 3)), np.eye(3)
REFUSED = {
    f"{ROWS} the runs of W; got x (2, 3) and W (4, 2)": lambda: layers.linear(
        X23, np.ones((4, 2))
    ),
    f"{ROWS} the runs of W; got x (2, 3) and W (5, 3, 2)": lambda: (
        layers.linear(X23, np.ones((5, 3, 2)))
    ),
    f"{ROWS} the runs of W; got x (4,) and W (3, 2)": lambda: (
        layers.linear_vjp(np.ones(2), np.ones(4), np.ones((3, 2)))
    ),
    "b must have an entry for each column of W; got b (3,) and W (3, 4)": (
        lambda: layers.linear(X23, np.ones((3, 4)), np.ones(3))
    ),
    "grad must have the shape of the result; got grad (4,) and (2,)": (
        lambda: layers.linear_vjp(np.ones(4), np.ones(3), np.ones((3, 2)))
    ),
    "gain must have an entry per column of x, and x must start with its runs; "
    "got gain (4,) and x (2, 3)": lambda: layers.layer_norm(
        X23, np.ones(4), np.ones(3)
    ),
    "bias must have an entry per column of x": lambda: layers.layer_norm(
        X23, np.ones(3), np.ones(2)
    ),
    "gain must have an entry per column of x": lambda: layers.rms_norm(
        X23, np.ones((3, 3))
    ),
    "the rows of x must not be empty; got x (2, 0)": lambda: layers.rms_norm(
        np.ones((2, 0)), np.ones(0)
    ),
    "eps must be at least 0; got -1": lambda: layers.rms_norm(
        np.ones(2), np.ones(2), eps=-1
    ),
    "grad must have the shape of the result; got grad (3,) and (2, 3)": (
        lambda: layers.rms_norm_vjp(np.ones(3), X23, np.ones(3))
    ),
    "grad must have the shape of the result; got grad (3,) and (2,)": [
        lambda: layers.gelu_vjp(np.ones(3), np.ones(2)),
        lambda: layers.token_losses_vjp(np.ones(3), X23, [0, 1]),
    ],
    "approximate must be one of None, 'tanh'; got 'sigmoid'": lambda: (
        layers.gelu([1.0], approximate="sigmoid")
    ),
    "approximate must be one of None, 'tanh'; got True": lambda: (
        layers.gelu_vjp([1.0], [1.0], approximate=True)
    ),
    "activation must be one of 'gelu', 'gelu_tanh', 'relu', 'silu'; got 's'": [
        lambda: layers.feed_forward(X23, I3, None, I3, None, activation="s"),
        lambda: layers.feed_forward_vjp(
            X23, X23, I3, None, I3, activation="s"
        ),
    ],
    "W_3 must have the shape of W_1; got W_3 (3, 2) and W_1 (3, 3)": lambda: (
        layers.feed_forward(X23, I3, None, I3, None, W_3=I3[:, :2])
    ),
    "b_3 needs W_3; got b_3 alone": lambda: layers.feed_forward(
        X23, I3, None, I3, None, b_3=np.ones(3)
    ),
    f"tokens {OUTSIDE} 5": lambda: layers.token_ids([0, 5, -1], 5),
    f"tokens {OUTSIDE} -1": lambda: layers.one_hot([-1], 5),
    f"targets {OUTSIDE} 5": lambda: layers.token_losses(
        np.ones((2, 5)), [0, 5]
    ),
    "targets must have one token for each row of logits; got targets (1,) and "
    "logits (2, 5)": lambda: layers.token_losses(np.ones((2, 5)), [0]),
    "targets must have one token for each row of logits": lambda: (
        layers.token_losses_vjp(np.ones(4), np.ones((4, 3)), [2])
    ),
    "the gradients overflow float32": lambda: layers.token_losses_vjp(
        [1e39], np.float32([[0, 0]]), [0]
    ),
    "at least one position must count; got targets (0,) and where (0,)": (
        lambda: layers.cross_entropy(np.ones((0, 5)), [])
    ),
    "at least one position must count; got targets (2,) and where (2,)": (
        lambda: layers.cross_entropy_vjp(X23, [0, 1], where=[False, False])
    ),
    "where must broadcast to targets; got where (3,) and targets (2,)": (
        lambda: layers.cross_entropy(X23, [0, 1], where=[True] * 3)
    ),
}


@each(REFUSED)
def test_layers_refuse(message, call):
    refused(call, message)


@pytest.mark.parametrize("wrong", [[0.0, 1.0], ["a"], [True, False]])
def test_tokens_are_integers(wrong):
    message = "^tokens must be integers; got "
    with pytest.raises(TypeError, match=message):
        layers.token_ids(wrong, 5)


def test_the_gradient_of_a_loss_has_the_type_of_the_logits():
    for kind in (np.float32, np.float64):
        logits = np.zeros((2, 3), kind)
        grad = layers.cross_entropy_vjp(logits, [0, 2])
        assert grad.dtype == kind


def test_no_tokens_are_tokens():
    assert layers.token_ids([], 5).dtype.kind == "i"


@pytest.mark.parametrize("shape", [(2, 0), (0, 2), (0, 0)])
def test_rows_and_matrices_may_be_empty(shape):
    x, W = np.ones(shape), np.ones((shape[1], 3))
    product = layers.linear(x, W, np.ones(3))
    assert product.tolist() == (x @ W + 1).tolist()
    dx, dW, db = layers.linear_vjp(product, x, W)
    assert (dx.shape, dW.shape, db.shape) == (x.shape, W.shape, (3,))
    assert db.tolist() == product.sum(0).tolist()
    assert layers.one_hot([], 5).shape == (0, 5)


def test_a_second_matrix_that_does_not_fit_is_told_from_the_first():
    x, W_1, b_1, W_2 = (np.ones(n) for n in (2, (2, 3), 3, (4, 2)))
    for call in (
        lambda: layers.feed_forward(x, W_1, b_1, W_2, x),
        lambda: layers.feed_forward_vjp(x, x, W_1, b_1, W_2),
    ):
        message = (
            r"^each row of hidden must .* hidden \(3,\) and W_2 \(4, 2\)$"
        )
        with pytest.raises(ValueError, match=message):
            call()
