"""The loss of a transformer, and its gradient for each parameter."""

import numpy as np

from .._shapes import loss_shares
from ..gradients import attention_vjp, sinks_vjp
from ..heads import merge_heads, split_heads
from ..latent import latent_attention_vjp
from ..layers import (
    feed_forward_vjp,
    layer_norm_vjp,
    linear,
    linear_vjp,
    one_hot,
    rms_norm_vjp,
    token_losses,
    token_losses_vjp,
)
from .configuration import IN_A_MODEL, NORMS, expect_config
from .forward import forward
from .mixers import latent_projections
from .parts import (
    block,
    buckets,
    final,
    output_matrix,
    rotate,
    sinks_of_scores,
)


def loss_and_gradients(
    tokens, targets, params, config, *, where=None, mask=None
):
    """Return the loss, and its gradient for each parameter.

    Parameters
    ----------
    tokens : (..., T) integers
        Sequences of tokens, with runs if the parameters have runs.
    targets : (..., T) integers
        The token that comes after each position.
    params : dict of str to array
        Parameters as from `init_transformer`.
    config : TransformerConfig
        The model.
    where : (..., T) boolean array, optional
        Which positions count; broadcasts. All by default.
    mask : (..., H, T, S) boolean array, optional
        As `forward`. A batch of sequences of unequal lengths needs both:
        `where` leaves the padding out of the loss.

    Returns
    -------
    loss : float or array
        Mean loss in nats, or one per run if the parameters have runs.
    gradients : dict of str to array
        With the names, shapes and types of `params`.

    Raises
    ------
    TypeError, ValueError
        As `transformer` and `cross_entropy`; and ValueError if a block has
        a memory of fixed size.

    Examples
    --------
    >>> from helpers.transformer import TransformerConfig, init_transformer
    >>> config = TransformerConfig(tied=False)
    >>> params = init_transformer(np.random.default_rng(0), config)
    >>> loss, gradients = loss_and_gradients([3, 1], [1, 3], params, config)
    >>> round(loss, 1), gradients["0.W_Q"].shape
    (2.5, (32, 32))
    """
    _expect_gradients(config)
    kept = forward(tokens, params, config, mask=mask)
    losses = token_losses(kept.logits, targets)
    n_runs = params["embedding"].ndim - 2
    shares = loss_shares(where, losses, n_runs)
    dlogits = token_losses_vjp(shares, kept.logits, targets)
    if config.logits_softcap is not None:  # the slope of the tangent
        dlogits = dlogits * (1 - (kept.logits / config.logits_softcap) ** 2)
    axes = tuple(range(n_runs, losses.ndim))
    loss = (losses * shares).sum(axes)
    gradients = _gradients(dlogits, tokens, kept, params, config)
    gradients = {n: gradients[n].astype(x.dtype) for n, x in params.items()}
    return loss if n_runs else float(loss), gradients


def _expect_gradients(config):
    """Refuse layers whose gradient this module does not implement."""
    expect_config(config)
    for own in map(config.of_block, range(config.n_layers)):
        if own.memory is not None:
            raise ValueError(
                "memory must be None in a model to be trained; "
                f"got {own.memory}"
            )


def _gradients(dlogits, tokens, kept, params, config):
    """Go through a forward pass in reverse order."""
    dx, grads = _output_gradients(dlogits, kept.stream, params, config)
    for layer in reversed(kept.layers):
        p, own = block(params, layer.block), config.of_block(layer.block)
        dx, new = _layer_gradients(dx, layer, p, own)
        grads |= {f"{layer.block}.{name}": d for name, d in new.items()}
    return _embedding_gradients(dx, tokens, params, config, grads)


def _output_gradients(dlogits, x, params, config):
    rows = final(x, params, config)
    dx, dW, db = linear_vjp(dlogits, rows, output_matrix(params, config))
    grads = {"output": dW, "output.bias": db}
    if config.norm != "post":
        dx, new = _norm_gradients(dx, x, params, "norm", config)
        grads |= new
    return dx, grads


def _layer_gradients(dx, layer, p, config):
    """Add the gradients through a layer and around it."""
    name = "norm_2" if layer.attended is None else "norm_1"
    grads = {}
    if config.norm == "post":
        dx, grads = _norm_gradients(dx, layer.normed, p, name, config)
    dchange = dx
    if config.norm in ("output", "sandwich"):
        dchange, grads = _norm_gradients(
            dx, layer.change, p, f"{name}_out", config
        )
    if layer.attended is None:
        dread, new = _feed_forward_gradients(dchange, layer.read, p, config)
    elif config.latent is not None:
        dread, new = _latent_gradients(dchange, layer, p, config)
    else:
        dread, new = _attend_gradients(dchange, layer.attended, p, config)
    grads |= new
    if config.norm in ("pre", "sandwich"):
        dread, new = _norm_gradients(dread, layer.normed, p, name, config)
        grads |= new
    return dx + dread, grads


def _embedding_gradients(dx, tokens, params, config, grads):
    rows = one_hot(tokens, config.vocab)
    _, dtable, _ = linear_vjp(dx, rows, params["embedding"])
    if config.embedding_scale is not None:
        dtable = dtable * config.embedding_scale
    if config.tied:  # the table is also the output matrix
        dtable = dtable + grads["output"].swapaxes(-1, -2)
    grads["embedding"] = dtable
    if config.positions == "learned":
        table = params["positions"]
        T, n_runs = dx.shape[-2], table.ndim - 2
        between = tuple(range(n_runs, dx.ndim - 2))
        grads["positions"] = np.zeros_like(table)
        grads["positions"][..., :T, :] = dx.sum(between)
    if config.positions == "t5":
        grads["positions"] = sum(
            grads[f"{i}.positions"] for i in range(config.n_layers)
        )
    return grads


def _attend_gradients(grad, kept, p, config):
    """Gradients of the rows and of the parameters, a dict."""
    X, Q, K, V, weights, mixed, gate, heads = kept
    H, H_kv = config.n_heads, config.kv_heads
    grads = {}
    dmerged, grads["W_O"], grads["W_O.bias"] = linear_vjp(
        grad, merge_heads(heads), p["W_O"]
    )
    dheads = split_heads(dmerged, H)
    dmixed = dheads if gate is None else dheads * gate
    sinks = sinks_of_scores(weights.shape, p)
    back = attention_vjp(
        dmixed,
        Q,
        K,
        V,
        weights,
        scale=config.scale,
        softcap=config.softcap,
        sinks=sinks,
    )
    if sinks is not None:
        slope = sinks_vjp(dmixed, mixed, weights, sinks)
        grads["sinks"] = slope.reshape(p["sinks"].shape)
    dQ, dK, dV = back.Q, _sum_kv(back.K, H_kv), _sum_kv(back.V, H_kv)
    if config.positions == "t5":
        grads["positions"] = _score_bias_gradient(
            back.scores, p["positions"], config
        )
    if config.positions == "rotary":
        # The transpose of a rotation rotates back.
        at = -np.arange(Q.shape[-2])
        dQ, dK = rotate(dQ, at, config), rotate(dK, at, config)
    into = {"W_Q": dQ, "W_K": dK, "W_V": dV}
    if gate is not None:
        into["W_G"] = dheads * mixed * gate * (1 - gate)
    dX = 0
    for name, d in into.items():
        d = merge_heads(d)
        norm = f"norm_{name[-1]}.gain"
        if norm in p:
            rows = linear(X, p[name], p.get(f"{name}.bias"))
            d, grads[norm] = _head_norm_vjp(d, rows, p[norm], config)
        d, grads[name], grads[f"{name}.bias"] = linear_vjp(d, X, p[name])
        dX = dX + d
    return dX, grads


def _latent_gradients(grad, layer, p, config):
    """Gradients of the rows and of the parameters, a dict."""
    dX, own = latent_attention_vjp(
        grad,
        layer.read,
        latent_projections(p, config),
        layer.attended.weights,
        scale=config.scale,
        base=config.base,
        frequencies=config.frequencies,
        eps=config.latent.eps,
    )
    found = {IN_A_MODEL.get(n, n): d for n, d in own._asdict().items()}
    return dX, {name: d for name, d in found.items() if name in p}


def _head_norm_vjp(grad, rows, gain, config):
    """The gradient through the norm of queries or keys, for all heads."""
    d = gain.shape[-1]  # the width of one head, or of all heads
    n = rows.shape[-1] // d
    grad, rows = split_heads(grad, n), split_heads(rows, n)
    drows, dgain = rms_norm_vjp(grad, rows, gain, eps=config.eps)
    return merge_heads(drows), dgain


def _sum_kv(grad, n_kv_heads):
    """Sum a gradient over the heads that shared a key/value head."""
    *lead, H, S, d = grad.shape
    return grad.reshape(*lead, n_kv_heads, H // n_kv_heads, S, d).sum(-3)


def _score_bias_gradient(grad, table, config):
    """The gradient of T5's table: the scores' gradients, summed by bucket."""
    runs = table.shape[:-2]
    between = tuple(range(len(runs), grad.ndim - 3))
    grad = grad.sum(between)  # (runs, H, T, S)
    H, T, S = grad.shape[-3:]
    rows = one_hot(buckets(T, S, config).ravel(), config.num_buckets)
    return (grad.reshape(*runs, H, T * S) @ rows).swapaxes(-1, -2)


def _norm_gradients(grad, x, p, name, config):
    """Gradients of the rows and of the norm's parameters, a dict."""
    vjp = rms_norm_vjp if config.norm_kind == "rms" else layer_norm_vjp
    dx, *rest = vjp(grad, x, p[f"{name}.gain"], eps=config.eps)
    parts = NORMS[config.norm_kind]
    return dx, {
        f"{name}.{part}": d for part, d in zip(parts, rest, strict=True)
    }


def _feed_forward_gradients(grad, x, p, config):
    """Gradients of the rows and of the parameters, a dict."""
    dx, *rest = feed_forward_vjp(
        grad,
        x,
        p["W_1"],
        p.get("W_1.bias"),
        p["W_2"],
        W_3=p.get("W_3"),
        b_3=p.get("W_3.bias"),
        activation=config.activation,
    )
    names = [
        f"{W}{end}" for W in ("W_1", "W_2", "W_3") for end in ("", ".bias")
    ]
    return dx, dict(zip(names, rest, strict=False))
