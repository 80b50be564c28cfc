"""Steps that the forward and the backward pass of a model share."""

from ..layers import layer_norm, rms_norm
from ..positions import relative_buckets, rotary_embedding


def block(params, i):
    """The parameters of block `i` without its number, and the shared table.

    The table is that of the positions, which blocks read only with "t5".
    """
    start = f"{i}."
    return {
        name.removeprefix(start): array
        for name, array in params.items()
        if name.startswith(start) or name == "positions"
    }


def before(x, p, norm, config):
    """The rows that a layer reads."""
    if config.norm in ("pre", "sandwich"):
        return normalised(x, p, norm, config)
    return x


def added(change, p, norm, config):
    """The rows that a layer adds to the residual stream."""
    if config.norm in ("output", "sandwich"):
        return normalised(change, p, f"{norm}_out", config)
    return change


def final(x, params, config):
    """The rows from which logits are computed."""
    if config.norm == "post":
        return x
    return normalised(x, params, "norm", config)


def normalised(x, p, name, config):
    """The rows after a norm of the model's kind."""
    gain = p[f"{name}.gain"]
    if config.norm_kind == "rms":
        return rms_norm(x, gain, eps=config.eps)
    return layer_norm(x, gain, p[f"{name}.bias"], eps=config.eps)


def output_matrix(params, config):
    """The matrix that maps the last rows to logits."""
    if config.tied:
        return params["embedding"].swapaxes(-1, -2)
    return params["output"]


def rotate(X, at, config):
    """Queries or keys, rotated by the angles of their positions."""
    return rotary_embedding(
        X, at, base=config.base, frequencies=config.frequencies
    )


def buckets(T, S, config):
    """The bucket of each distance, of the model's buckets."""
    return relative_buckets(
        T, S, num_buckets=config.num_buckets, max_distance=config.max_distance
    )


def sinks_of_scores(shape, p):
    """A block's sinks, for scores of `shape`, or None."""
    if "sinks" not in p:
        return None
    *runs, H = p["sinks"].shape
    ones = (1,) * (len(shape) - 3 - len(runs))  # for the axes of the batch
    return p["sinks"].reshape(*runs, *ones, H)
