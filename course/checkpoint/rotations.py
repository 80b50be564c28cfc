"""The frequencies of a model's rotations, from its file."""

from dataclasses import replace
from typing import NamedTuple

from helpers.positions import (
    interpolated_frequencies,
    rotary_frequencies,
    yarn_attention_factor,
    yarn_frequencies,
)

from .architectures import read_finite
from .errors import CheckpointError
from .settings import Settings


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
    """Read the rotations that all blocks share, of `d` columns.

    Old files have the base beside other settings and the rest in
    `rope_scaling`; new files have everything in `rope_parameters`. `base` is
    that of files which state none.
    """
    if settings.sizes_only:
        return Rotations(1.0)
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

    `share` and `base` are those of files which state none.
    """
    if settings.sizes_only:
        return ()
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
    slow = settings.named(rotary_frequencies, d, base=found.base)
    return tuple(slow.tolist())


def read(settings, key, inner, d, base=None):
    """The rotations that an object of the file describes."""
    if settings.sizes_only:
        return Rotations(1.0)
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
    found = inside.named(KINDS[kind], inside, d, base)
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
    low, high = _limits(inside, "low_freq_factor", "high_freq_factor")
    return _at(
        base,
        yarn_frequencies(
            d,
            inside.take("factor", float),
            _trained_length(inside),
            base=base,
            beta_slow=low,
            beta_fast=high,
            rule="paper",
        ),
    )


def _limits(inside, slow, fast, defaults=(None, None)):
    """Two numbers of rotations; one settings' names are not YaRN's."""
    low, high = map(inside.take, (slow, fast), (float, float), defaults)
    if low <= 0:
        inside.refuse(slow, "above 0", low)
    if low > high:
        inside.refuse(fast, f"at least {slow}, {low}", high)
    return low, high


def _trained_length(inside):
    key = "original_max_position_embeddings"
    length = inside.take(key, int)
    if length < 1:
        inside.refuse(key, "at least 1", length)
    return length


def _yarn(inside, d, base):
    """YaRN as in its authors' code."""
    factor = inside.take("factor", float)
    low, high = _limits(inside, "beta_slow", "beta_fast", (1, 32))
    frequencies = yarn_frequencies(
        d,
        factor,
        _trained_length(inside),
        base=base,
        beta_slow=low,
        beta_fast=high,
        truncate=inside.take("truncate", bool, True),
    )
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
    if below == 0:
        inside.refuse("mscale_all_dim", "a value whose factor is not 0", under)
    ratio = above / below if over and under else paper
    return {"factor": ratio if own is None else own, "of_scores": below**2}


def _at(base, frequencies):
    return Rotations(base, tuple(frequencies.tolist()))


def divided(config, shape, tensor, source):
    """Divide each frequency of a model by a factor of its own.

    As in llama.cpp. Files of Llama 3.1 state their rotations so, in `tensor`,
    and not in their settings.
    """
    wanted = (config.d_k // 2,)
    if shape != wanted:
        raise CheckpointError(
            f"{source.name}: tensor {tensor!r} must be {wanted}, a factor for "
            f"each pair of columns; got {shape}"
        )
    factors = read_finite(source, tensor).astype(float)
    if factors.min() <= 0:
        raise CheckpointError(
            f"{source.name}: tensor {tensor!r} must be above 0; got "
            f"{factors.min()}"
        )
    slow = rotary_frequencies(config.d_k, base=config.base) / factors
    return replace(config, frequencies=tuple(slow.tolist()))


KINDS = {
    "default": _default,
    "linear": _linear,
    "llama3": _llama3,
    "yarn": _yarn,
}
