"""A small transformer: its forward pass, gradients, training and sampling.

The parts are in `helpers.model`, but import them from here. The layers of a
block and their gradients, from `helpers.layers`, can be imported from here
too. Parameters are a dict of arrays; leading axes are runs, models trained
side by side.
"""

from .heads import Attended
from .layers import (
    cross_entropy,
    cross_entropy_vjp,
    feed_forward,
    feed_forward_vjp,
    gelu,
    gelu_vjp,
    layer_norm,
    layer_norm_vjp,
    rms_norm,
    rms_norm_vjp,
    silu,
    silu_vjp,
    token_losses,
)
from .model.adam import AdamState, adam_init, adam_step
from .model.backward import loss_and_gradients
from .model.configuration import (
    LatentWidths,
    MemoryWidths,
    TransformerConfig,
    init_transformer,
    parameter_count,
    parameter_shapes,
)
from .model.forward import Forward, Layer, forward, new_cache, transformer
from .model.mixers import Remembered
from .model.sampling import generate, next_token_probabilities

__all__ = [
    "AdamState",
    "Attended",
    "Forward",
    "LatentWidths",
    "Layer",
    "MemoryWidths",
    "Remembered",
    "TransformerConfig",
    "adam_init",
    "adam_step",
    "cross_entropy",
    "cross_entropy_vjp",
    "feed_forward",
    "feed_forward_vjp",
    "forward",
    "gelu",
    "gelu_vjp",
    "generate",
    "init_transformer",
    "layer_norm",
    "layer_norm_vjp",
    "loss_and_gradients",
    "new_cache",
    "next_token_probabilities",
    "parameter_count",
    "parameter_shapes",
    "rms_norm",
    "rms_norm_vjp",
    "silu",
    "silu_vjp",
    "token_losses",
    "transformer",
]
