"""How files name the settings and the weights of each architecture.

An architecture is data: how a file's settings become a `TransformerConfig`,
and which of the file's tensors hold which parameters. There is only one
forward pass, that of `helpers.transformer`. The architectures of GGUF are
here, and those of folders are in `folders`.
"""

from typing import NamedTuple

import numpy as np

from helpers.model.configuration import TransformerConfig, parameter_shapes

from .errors import CheckpointError, shown


class Stored(NamedTuple):
    """How one tensor of a file holds parameters."""

    params: tuple  #: their names; several are side by side, as columns
    transposed: bool = False  #: one row per output, as in PyTorch
    interleaved: bool = False  #: columns 2i and 2i + 1 of a head rotate
    plus: float = 0.0  #: added to the file's numbers
    groups: int = 1  #: groups of heads in which the parameters alternate

    def shape(self, shapes):
        """The shape that the file must state, from the parameters' shapes."""
        *rows, _ = shapes[self.params[0]]
        whole = (*rows, sum(shapes[name][-1] for name in self.params))
        return whole[::-1] if self.transposed else whole


LIKE_LLAMA = {
    "norm_kind": "rms",
    "positions": "rotary",
    "activation": "silu",
    "gated": True,
    "bias": False,
}
LIKE_GPT_2 = {"activation": "gelu_tanh"}


def llama_gguf(settings, tied):
    """The settings of Llama, and of Mistral, in GGUF."""
    take = settings.take
    H, d_model = (
        take("attention.head_count", int),
        take("embedding_length", int),
    )
    window = take("attention.sliding_window", int, 0)
    config = TransformerConfig(
        vocab=take("vocab_size", int),
        max_len=take("context_length", int),
        d_model=d_model,
        n_layers=settings.layers("block_count"),
        n_heads=H,
        n_kv_heads=take("attention.head_count_kv", int, H),
        d_ff=take("feed_forward_length", int),
        eps=take("attention.layer_norm_rms_epsilon", float),
        base=take("rope.freq_base", float, 10000.0),
        window=window or None,
        tied=tied,
        **LIKE_LLAMA,
    )
    for key in ("rope.dimension_count", "attention.key_length"):
        settings.expect(key, config.d_k)
    settings.expect("attention.value_length", config.d_k)
    settings.expect("rope.scaling.type", "none")
    settings.expect("expert_count", 0)
    settings.close()
    return config


def gpt2_gguf(settings, tied):
    """The settings of GPT-2 in GGUF."""
    take = settings.take
    config = TransformerConfig(
        vocab=take("vocab_size", int),
        max_len=take("context_length", int),
        d_model=take("embedding_length", int),
        n_layers=settings.layers("block_count"),
        n_heads=take("attention.head_count", int),
        d_ff=take("feed_forward_length", int),
        eps=take("attention.layer_norm_epsilon", float),
        tied=tied,
        **LIKE_GPT_2,
    )
    settings.expect("attention.head_count_kv", config.n_heads)
    settings.close()
    return config


def matrices(names, **layout):
    """Rules for matrices, from a file's name to a parameter's."""
    return {
        f"{own}.weight": Stored((name,), **layout)
        for own, name in names.items()
    }


def norms(names, parts, plus=0.0):
    """Rules for norms, whose gain is called weight in files."""
    return {
        f"{own}.{part}": Stored((f"{name}.{ours}",), plus=plus)
        for own, name in names.items()
        for part, ours in parts.items()
    }


def biased(names, *, transposed):
    """Rules for matrices with a bias; several names are side by side."""
    rules = {}
    for own, params in names.items():
        rules[f"{own}.weight"] = Stored(params, transposed)
        vectors = tuple(f"{name}.bias" for name in params)
        rules[f"{own}.bias"] = Stored(vectors)
    return rules


GAIN, BOTH = {"weight": "gain"}, {"weight": "gain", "bias": "bias"}
QKV = ("W_Q", "W_K", "W_V")


class Architecture(NamedTuple):
    """How one format names the parts of one architecture."""

    config: object  #: from `Settings`, and whether the output is tied
    block: str  #: how the names of block i begin, with ``{i}``
    #: `Stored` by the name within a block, or a function that returns it
    #: for the choices of a block
    inside: object
    outside: dict  #: `Stored` by the names of all other tensors
    output: str  #: the tensor of the output matrix, which may be tied
    tied: bool = False  #: whether it is tied if the file does not say
    skipped: tuple = ()  #: endings of names that hold no parameter
    factors: str = ""  #: a tensor by which frequencies are divided, if any


GGUF = {
    "llama": Architecture(
        llama_gguf,
        "blk.{i}.",
        norms({"attn_norm": "norm_1", "ffn_norm": "norm_2"}, GAIN)
        | matrices(
            {"attn_q": "W_Q", "attn_k": "W_K"},
            transposed=True,
            interleaved=True,
        )
        | matrices(
            {
                "attn_v": "W_V",
                "attn_output": "W_O",
                "ffn_gate": "W_1",
                "ffn_down": "W_2",
                "ffn_up": "W_3",
            },
            transposed=True,
        ),
        norms({"output_norm": "norm"}, GAIN)
        | {"token_embd.weight": Stored(("embedding",))},
        "output.weight",
        factors="rope_freqs.weight",
    ),
    "gpt2": Architecture(
        gpt2_gguf,
        "blk.{i}.",
        norms({"attn_norm": "norm_1", "ffn_norm": "norm_2"}, BOTH)
        | biased(
            {
                "attn_qkv": QKV,
                "attn_output": ("W_O",),
                "ffn_up": ("W_1",),
                "ffn_down": ("W_2",),
            },
            transposed=True,
        ),
        norms({"output_norm": "norm"}, BOTH)
        | {
            "token_embd.weight": Stored(("embedding",)),
            "position_embd.weight": Stored(("positions",)),
        },
        "output.weight",
    ),
}


def rules_of(architecture, config):
    """Return what is `Stored` of every parameter, by the tensor's name."""
    rules = dict(architecture.outside)
    for i in range(config.n_layers):
        start, inside = architecture.block.format(i=i), architecture.inside
        if callable(inside):
            inside = inside(config.of_block(i))
        for name, stored in inside.items():
            params = tuple(f"{i}.{param}" for param in stored.params)
            rules[f"{start}{name}"] = stored._replace(params=params)
    if not config.tied:
        rules[architecture.output] = Stored(("output",), transposed=True)
    return rules


def expect_shapes(rules, config, source):
    """Refuse tensors that are missing, not known, or of another shape.

    `source` has a ``name``, and by tensor's name ``shapes`` and ``holders``,
    the names of files.
    """
    shapes = parameter_shapes(config)
    for word, odd in (
        ("is missing", rules.keys() - source.shapes.keys()),
        ("is not known", source.shapes.keys() - rules.keys()),
    ):
        if odd:
            name = min(odd)
            holder = source.holders.get(name, source.name)
            raise CheckpointError(f"{holder}: tensor {shown(name)} {word}")
    for name, stored in rules.items():
        wanted = stored.shape(shapes)
        if source.shapes[name] != wanted:
            raise CheckpointError(
                f"{source.name}: tensor {name!r} must be {wanted} to fit the "
                f"settings; got {shown(source.shapes[name])}"
            )


def read_finite(source, name):
    """Read a tensor that holds neither NaN nor infinity."""
    with np.errstate(invalid="ignore"):  # as a scale that is infinite
        array = source.read(name)
    # The extremes are NaN or infinite if any number is.
    if not np.isfinite([array.min(), array.max()]).all():
        raise CheckpointError(f"{source.name}: tensor {name!r} must be finite")
    return array


def parameters(rules, config, source):
    """Read every parameter, as `helpers.transformer` takes them.

    `source` has a ``name``, and ``read(name)``, which returns a tensor as
    float32. A number that is not finite is refused.
    """
    shapes, params = parameter_shapes(config), {}
    for name, stored in rules.items():
        array = read_finite(source, name)
        params |= _unpacked(array, stored, shapes, config)
    if "output.bias" in shapes:  # no file contains one
        params["output.bias"] = np.zeros(shapes["output.bias"], np.float32)
    return {name: params[name] for name in shapes}


def _unpacked(array, stored, shapes, config):
    """The parameters that a tensor holds, by name."""
    if stored.transposed:
        array = array.T
    if stored.plus:
        array = array + array.dtype.type(stored.plus)
    # (..., columns) becomes (..., groups, columns of a group)
    array = array.reshape(*array.shape[:-1], stored.groups, -1)
    found, start = {}, 0
    for name in stored.params:
        end = start + shapes[name][-1] // stored.groups
        part = array[..., start:end].reshape(shapes[name])
        if stored.interleaved:
            part = _halves(part, config.d_k)
        found[name], start = part, end
    return found


def _halves(W, d_k):
    """Move columns 2i and 2i + 1 of each head to columns i and i + d_k / 2."""
    pairs = W.reshape(len(W), -1, d_k // 2, 2)
    return pairs.swapaxes(-1, -2).reshape(W.shape)
