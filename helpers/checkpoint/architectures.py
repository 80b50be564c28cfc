"""What the files of each architecture call its settings and its weights.

An architecture is data: how a file's settings make a `TransformerConfig`, and
which of the file's tensors hold which parameters. There is one forward pass,
that of `helpers.transformer`.
"""

from typing import NamedTuple

import numpy as np

from ..model.configuration import TransformerConfig, parameter_shapes
from .errors import CheckpointError, shown


class Stored(NamedTuple):
    """How one tensor of a file holds parameters."""

    params: tuple  #: their names; several lie side by side, column by column
    transposed: bool = False  #: one row per output, as PyTorch keeps matrices
    interleaved: bool = False  #: columns 2i and 2i + 1 of a head rotate

    def shape(self, shapes):
        """The shape that the file must state, from those of the parameters."""
        *rows, _ = shapes[self.params[0]]
        whole = (*rows, sum(shapes[name][-1] for name in self.params))
        return whole[::-1] if self.transposed else whole


class Settings:
    """The settings of a file, each asked for once and by its name.

    Parameters
    ----------
    given : dict
        What the file states.
    name : str
        What messages call the file.
    start : str, default ""
        What the keys of the architecture begin with.
    """

    def __init__(self, given, name, start=""):
        self.name, self.start = name, start
        own = {k: v for k, v in given.items() if k.startswith(start)}
        self.left = {k.removeprefix(start): v for k, v in own.items()}

    def refuse(self, key, rule, got):
        raise CheckpointError(
            f"{self.name}: {self.start}{key} must be {rule}; got {shown(got)}"
        )

    def take(self, key, kind, default=None):
        """The setting `key`, a `kind` of number or text."""
        value = self.left.pop(key, default)
        if value is None:
            raise CheckpointError(f"{self.name}: {self.start}{key} is missing")
        # To Python True is 1; JSON writes 10000.0 as 10000.
        kinds = (int, float) if kind is float else kind
        if isinstance(value, bool) != (kind is bool) or not isinstance(
            value, kinds
        ):
            self.refuse(key, f"of type {kind.__name__}", value)
        return value

    def expect(self, key, *values):
        """Refuse a setting that is there and none of `values`."""
        value = self.left.pop(key, None)
        if value is not None and value not in values:
            listed = " or ".join(map(repr, values))
            self.refuse(key, f"{listed}, the one that is known here", value)

    def close(self, ignored=()):
        """Refuse what nothing asked for: it could change the results."""
        odd = sorted(self.left.keys() - set(ignored))
        if odd:
            raise CheckpointError(
                f"{self.name}: {self.start}{odd[0]} is a setting that is not "
                f"known; got {shown(self.left[odd[0]])}"
            )


def config_of(settings, **fields):
    """A `TransformerConfig`, whose refusals name the file."""
    try:
        return TransformerConfig(**fields)
    except (TypeError, ValueError) as error:
        raise CheckpointError(f"{settings.name}: {error}") from None


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
    config = config_of(
        settings,
        vocab=take("vocab_size", int),
        max_len=take("context_length", int),
        d_model=d_model,
        n_layers=take("block_count", int),
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
    config = config_of(
        settings,
        vocab=take("vocab_size", int),
        max_len=take("context_length", int),
        d_model=take("embedding_length", int),
        n_layers=take("block_count", int),
        n_heads=take("attention.head_count", int),
        d_ff=take("feed_forward_length", int),
        eps=take("attention.layer_norm_epsilon", float),
        tied=tied,
        **LIKE_GPT_2,
    )
    settings.expect("attention.head_count_kv", config.n_heads)
    settings.close()
    return config


# What changes nothing in a forward pass of a trained model.
IGNORED = (
    "_name_or_path", "add_cross_attention", "architectures", "attn_pdrop",
    "bos_token_id", "chunk_size_feed_forward", "dtype", "embd_pdrop",
    "eos_token_id", "id2label", "initializer_range", "is_decoder",
    "is_encoder_decoder", "is_llama_config", "label2id", "model_type",
    "output_attentions", "output_hidden_states", "pad_token_id",
    "pretraining_tp", "problem_type", "resid_pdrop", "return_dict",
    "rope_interleaved", "summary_activation", "summary_first_dropout",
    "summary_proj_to_labels", "summary_type", "summary_use_proj",
    "task_specific_params", "torch_dtype", "transformers.js_config",
    "transformers_version", "use_cache",
)  # fmt: skip


def llama_folder(settings, tied):
    """The settings of Llama and Mistral in a `config.json`."""
    take = settings.take
    H = take("num_attention_heads", int)
    window = settings.left.pop("sliding_window", None)
    config = config_of(
        settings,
        vocab=take("vocab_size", int),
        max_len=take("max_position_embeddings", int),
        d_model=take("hidden_size", int),
        n_layers=take("num_hidden_layers", int),
        n_heads=H,
        n_kv_heads=take("num_key_value_heads", int, H),
        d_ff=take("intermediate_size", int),
        eps=take("rms_norm_eps", float),
        base=_base(settings),
        window=window,
        tied=tied,
        **LIKE_LLAMA,
    )
    if settings.left.get("head_dim") is not None:
        settings.expect("head_dim", config.d_k)
    settings.expect("hidden_act", "silu")
    for key in ("attention_bias", "mlp_bias"):
        settings.expect(key, False)
    settings.expect("attention_dropout", 0, 0.0)
    settings.expect("rope_scaling")
    settings.close((*IGNORED, "head_dim"))
    return config


def _base(settings):
    """The base of the rotations, where old and new files state it."""
    inner = settings.left.pop("rope_parameters", None)
    if inner is None:
        return settings.take("rope_theta", float, 10000.0)
    if not isinstance(inner, dict):
        settings.refuse("rope_parameters", "an object", inner)
    inside = Settings(inner, f"{settings.name}: rope_parameters")
    inside.expect("rope_type", "default")
    base = inside.take("rope_theta", float)
    inside.close()
    settings.expect("rope_theta", base)
    return base


def gpt2_folder(settings, tied):
    """The settings of GPT-2 in a `config.json`."""
    take = settings.take
    d_model = take("n_embd", int)
    inner = settings.left.pop("n_inner", None)
    config = config_of(
        settings,
        vocab=take("vocab_size", int),
        max_len=take("n_positions", int),
        d_model=d_model,
        n_layers=take("n_layer", int),
        n_heads=take("n_head", int),
        d_ff=4 * d_model if inner is None else inner,
        eps=take("layer_norm_epsilon", float),
        tied=tied,
        **LIKE_GPT_2,
    )
    settings.expect("n_ctx", config.max_len)
    settings.expect("activation_function", "gelu_new")
    settings.expect("scale_attn_weights", True)
    for key in ("scale_attn_by_inverse_layer_idx", "reorder_and_upcast_attn"):
        settings.expect(key, False)
    settings.close(IGNORED)
    return config


def matrices(names, **layout):
    """Rules for matrices, from a file's name to a parameter's."""
    return {
        f"{own}.weight": Stored((name,), **layout)
        for own, name in names.items()
    }


def norms(names, parts):
    """Rules for the norms, whose gain a file calls its weight."""
    return {
        f"{own}.{part}": Stored((f"{name}.{ours}",))
        for own, name in names.items()
        for part, ours in parts.items()
    }


def biased(names, *, transposed):
    """Rules for matrices with a vector; several names lie side by side."""
    rules = {}
    for own, params in names.items():
        rules[f"{own}.weight"] = Stored(params, transposed)
        vectors = tuple(f"{name}.bias" for name in params)
        rules[f"{own}.bias"] = Stored(vectors)
    return rules


GAIN, BOTH = {"weight": "gain"}, {"weight": "gain", "bias": "bias"}
QKV = ("W_Q", "W_K", "W_V")


class Architecture(NamedTuple):
    """How one format calls what one architecture consists of."""

    config: object  #: from `Settings`, and whether the output is tied
    block: str  #: what the names of block i begin with, with ``{i}``
    inside: dict  #: `Stored` by the name inside of a block
    outside: dict  #: `Stored` by the name of the others
    output: str  #: the tensor of the output matrix, which may be tied
    skipped: tuple = ()  #: names that hold no parameter, as endings


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
_LLAMA_FOLDER = Architecture(
    llama_folder,
    "model.layers.{i}.",
    norms(
        {"input_layernorm": "norm_1", "post_attention_layernorm": "norm_2"},
        GAIN,
    )
    | matrices(
        {
            "self_attn.q_proj": "W_Q",
            "self_attn.k_proj": "W_K",
            "self_attn.v_proj": "W_V",
            "self_attn.o_proj": "W_O",
            "mlp.gate_proj": "W_1",
            "mlp.down_proj": "W_2",
            "mlp.up_proj": "W_3",
        },
        transposed=True,
    ),
    norms({"model.norm": "norm"}, GAIN)
    | {"model.embed_tokens.weight": Stored(("embedding",))},
    "lm_head.weight",
    ("rotary_emb.inv_freq",),
)
FOLDER = {
    "llama": _LLAMA_FOLDER,
    "mistral": _LLAMA_FOLDER,
    "gpt2": Architecture(
        gpt2_folder,
        "h.{i}.",
        norms({"ln_1": "norm_1", "ln_2": "norm_2"}, BOTH)
        | biased(
            {
                "attn.c_attn": QKV,
                "attn.c_proj": ("W_O",),
                "mlp.c_fc": ("W_1",),
                "mlp.c_proj": ("W_2",),
            },
            transposed=False,
        ),
        norms({"ln_f": "norm"}, BOTH)
        | {
            "wte.weight": Stored(("embedding",)),
            "wpe.weight": Stored(("positions",)),
        },
        "lm_head.weight",
        (".attn.bias", ".attn.masked_bias"),  # the causal mask
    ),
}


def rules_of(architecture, config):
    """Which tensor of a file holds which parameters.

    Parameters
    ----------
    architecture : Architecture
        One of `GGUF` or `FOLDER`.
    config : TransformerConfig
        The model.

    Returns
    -------
    dict of str to Stored
        For every parameter of the model, by the tensor's name.
    """
    rules = dict(architecture.outside)
    for i in range(config.n_layers):
        start = architecture.block.format(i=i)
        for name, stored in architecture.inside.items():
            params = tuple(f"{i}.{param}" for param in stored.params)
            rules[f"{start}{name}"] = stored._replace(params=params)
    if not config.tied:
        rules[architecture.output] = Stored(("output",), transposed=True)
    return rules


def parameters(rules, config, source):
    """Read every parameter, once names and shapes are seen to fit.

    Parameters
    ----------
    rules : dict of str to Stored
        As `rules_of` gives them.
    config : TransformerConfig
        The model.
    source : object
        ``name`` of the file, ``shapes`` of its tensors by name, and
        ``read(name)``, which gives one as float32.

    Returns
    -------
    dict of str to float32 array
        As `helpers.transformer` takes them.

    Raises
    ------
    CheckpointError
        If a tensor is missing, not known or of another shape, or holds a
        number that is not finite.
    """
    shapes = parameter_shapes(config)
    for word, odd in (
        ("is missing", rules.keys() - source.shapes.keys()),
        ("is not known", source.shapes.keys() - rules.keys()),
    ):
        if odd:
            raise CheckpointError(f"{source.name}: tensor {min(odd)!r} {word}")
    for name, stored in rules.items():
        wanted = stored.shape(shapes)
        if tuple(source.shapes[name]) != wanted:
            raise CheckpointError(
                f"{source.name}: tensor {name!r} must be {wanted} to fit the "
                f"settings; got {tuple(source.shapes[name])}"
            )
    params = {}
    for name, stored in rules.items():
        array = source.read(name)
        # The extremes are NaN or infinite where a number is.
        if not np.isfinite([array.min(), array.max()]).all():
            raise CheckpointError(
                f"{source.name}: tensor {name!r} must be finite"
            )
        params |= _unpacked(array, stored, shapes, config)
    if "output.bias" in shapes:  # no file has one
        params["output.bias"] = np.zeros(shapes["output.bias"], np.float32)
    return {name: params[name] for name in shapes}


def _unpacked(array, stored, shapes, config):
    """The parameters that a tensor holds, by name."""
    if stored.transposed:
        array = array.T
    found, start = {}, 0
    for name in stored.params:
        end = start + shapes[name][-1]
        part = array[..., start:end]
        if stored.interleaved:
            part = _halves(part, config.d_k)
        found[name], start = part, end
    return found


def _halves(W, d_k):
    """Columns 2i and 2i + 1 of each head become columns i and i + d_k / 2."""
    pairs = W.reshape(len(W), -1, d_k // 2, 2)
    return pairs.swapaxes(-1, -2).reshape(W.shape)
