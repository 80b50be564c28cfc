"""The frequencies of a model's rotations, from the settings of a folder."""

from typing import NamedTuple

from ..positions import (
    interpolated_frequencies,
    rotary_frequencies,
    yarn_attention_factor,
    yarn_frequencies,
)
from .settings import Settings, named


class Rotations(NamedTuple):
    """The rotary settings of a `TransformerConfig`."""

    base: float
    frequencies: tuple | None = None  #: in place of the base
    factor: float = 1.0  #: by which queries and keys are multiplied
    #: by which DeepSeek multiplies all scores, those without rotation too
    of_scores: float = 1.0

    def fields(self, d_k):
        """The fields of a model whose heads rotate as a whole."""
        found = {"base": self.base, "frequencies": self.frequencies}
        if self.factor != 1:  # both are scaled, so the scores get its square
            found["scale"] = self.factor**2 / d_k**0.5
        return found


def rotations_of(settings, d, *, base=None):
    """Read the rotations that all blocks share, in old and new files.

    Parameters
    ----------
    settings : Settings
        The file's settings. Old files have the base beside other settings and
        the rest in `rope_scaling`; new files have everything in
        `rope_parameters`.
    d : int
        The number of columns that rotate.
    base : float, optional
        The base if the file states none.

    Returns
    -------
    Rotations
        The rotations that the file describes.
    """
    inner = settings.left.pop("rope_parameters", None)
    if inner is not None:
        found = read(settings, "rope_parameters", inner, d, base)
        settings.expect("rope_theta", found.base)
        settings.expect("rope_scaling")
        return found
    base = settings.take("rope_theta", float, base)
    inner = settings.left.pop("rope_scaling", None)
    if inner is None:
        return Rotations(base)
    return read(settings, "rope_scaling", inner, d, base)


def partial_rotations(settings, d_k, *, share, base):
    """Read the frequencies of heads in which only the first columns rotate.

    Parameters
    ----------
    settings : Settings
        The file's settings, with the share in one of two places.
    d_k : int
        The number of columns of a head.
    share : float
        The share of them that rotates if the file states none.
    base : float
        The base if the file states none.

    Returns
    -------
    tuple of float
        One for each pair of columns that rotates.
    """
    key, inner = "partial_rotary_factor", settings.left.get("rope_parameters")
    if isinstance(inner, dict) and inner.get(key) is not None:
        rest = {k: v for k, v in inner.items() if k != key}
        settings.left |= {"rope_parameters": rest, key: inner[key]}
    share = settings.take(key, float, share)
    if not 0 < share <= 1:
        settings.refuse(key, "above 0 and at most 1", share)
    d = int(d_k * share)
    found = rotations_of(settings, d, base=base)
    if found.factor != 1:
        settings.refuse(key, "1 where rotations also scale", share)
    if found.frequencies is not None:
        return found.frequencies
    slow = named(settings, rotary_frequencies, d, base=found.base)
    return tuple(slow.tolist())


def read(settings, key, inner, d, base=None):
    """The rotations that an object of the file describes."""
    if not isinstance(inner, dict):
        settings.refuse(key, "an object", inner)
    inside = Settings(inner, f"{settings.name}: {key}")
    old = inside.left.pop("type", None)  # the old name of "rope_type"
    kind = inside.take("rope_type", str, old)
    if old is not None and old != kind:
        inside.refuse("type", f"{kind!r}, as rope_type", old)
    if kind not in KINDS:
        inside.refuse("rope_type", f"one of {', '.join(KINDS)}", kind)
    base = inside.take("rope_theta", float, base)
    found = named(inside, KINDS[kind], inside, d, base)
    inside.close()
    return found


def _default(inside, d, base):
    return Rotations(base)


def _linear(inside, d, base):
    """Position interpolation."""
    factor = inside.take("factor", float)
    return _at(base, interpolated_frequencies(d, factor, base=base))


def _llama3(inside, d, base):
    """The paper's YaRN with different limits and without a score factor."""
    take = inside.take
    return _at(
        base,
        yarn_frequencies(
            d,
            take("factor", float),
            take("original_max_position_embeddings", int),
            base=base,
            beta_slow=take("low_freq_factor", float),
            beta_fast=take("high_freq_factor", float),
            rule="paper",
        ),
    )


def _yarn(inside, d, base):
    """YaRN as in its authors' code."""
    take, factor = inside.take, inside.take("factor", float)
    frequencies = yarn_frequencies(
        d,
        factor,
        take("original_max_position_embeddings", int),
        base=base,
        beta_slow=take("beta_slow", float, 1),
        beta_fast=take("beta_fast", float, 32),
    )
    inside.expect("truncate", True)
    return _at(base, frequencies)._replace(
        **_yarn_factors(inside, yarn_attention_factor(factor))
    )


def _yarn_factors(inside, paper):
    """The paper's factor, unless the file has its own or a ratio of two."""
    own, over, under = (
        inside.optional(key, float)
        for key in ("attention_factor", "mscale", "mscale_all_dim")
    )
    # Each value multiplies the logarithm in the paper's factor.
    above, below = (1 + by * (paper - 1) if by else 1 for by in (over, under))
    ratio = above / below if over and under else paper
    return {"factor": ratio if own is None else own, "of_scores": below**2}


def _at(base, frequencies):
    return Rotations(base, tuple(frequencies.tolist()))


KINDS = {
    "default": _default,
    "linear": _linear,
    "llama3": _llama3,
    "yarn": _yarn,
}
