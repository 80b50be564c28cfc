"""The settings of a file, read one by one and refused by name."""

from helpers._checks import EXACT

from .errors import CheckpointError, shown

MOST_LAYERS = 1000  # published models have a few hundred at most


class Settings:
    """The settings of a file, each of which is read once and by its name.

    Keys begin with `start`. With `sizes_only`, frequencies are left out and
    settings may be left over: a first reading, from which the shapes of all
    tensors follow.
    """

    def __init__(self, given, name, start="", *, sizes_only=False):
        self.name, self.start, self.sizes_only = name, start, sizes_only
        own = {k: v for k, v in given.items() if k.startswith(start)}
        self.left = {k.removeprefix(start): v for k, v in own.items()}

    def copied(self, *, sizes_only):
        """The settings that are left, to be read again."""
        given = {f"{self.start}{k}": v for k, v in self.left.items()}
        return Settings(given, self.name, self.start, sizes_only=sizes_only)

    def refuse(self, key, rule, got):
        raise CheckpointError(
            f"{self.name}: {self.start}{key} must be {rule}; got {shown(got)}"
        )

    def take(self, key, kind, default=None):
        """The setting `key`, which must be of this `kind`."""
        value = self.left.pop(key, None)
        if value is None:  # JSON's null counts as no setting
            value = default
        if value is None:
            raise CheckpointError(f"{self.name}: {self.start}{key} is missing")
        # In Python, True equals 1; JSON may write 10000.0 as 10000.
        kinds = (int, float) if kind is float else kind
        if isinstance(value, bool) != (kind is bool) or not isinstance(
            value, kinds
        ):
            self.refuse(key, f"of type {kind.__name__}", value)
        if kind in (int, float) and not abs(value) < EXACT:  # nor NaN
            self.refuse(key, "finite and below 2**53", value)
        return value

    def optional(self, key, kind):
        """The setting `key`, or None if the file has none, or null."""
        if self.left.get(key) is None:
            return self.left.pop(key, None)
        return self.take(key, kind)

    def layers(self, key):
        """The number of blocks, limited before a list is made that long."""
        n = self.take(key, int)
        if not 1 <= n <= MOST_LAYERS:
            self.refuse(key, f"from 1 to {MOST_LAYERS}", n)
        return n

    def expect(self, key, *values):
        """Refuse a setting that is present and not one of `values`."""
        value = self.left.pop(key, None)
        if value is not None and value not in values:
            listed = " or ".join(map(repr, values or [None]))
            self.refuse(key, f"{listed}, the one that is known here", value)

    def close(self, ignored=()):
        """Refuse settings that nothing read, because they could matter."""
        odd = sorted(self.left.keys() - set(ignored))
        if odd and not self.sizes_only:
            raise CheckpointError(
                f"{self.name}: {shown(self.start + odd[0])} is a setting that "
                f"is not known; got {shown(self.left[odd[0]])}"
            )

    def named(self, function, *args, **more):
        """The result of a function, with errors that name the file."""
        try:
            return function(*args, **more)
        except CheckpointError:
            raise
        except (TypeError, ValueError) as error:
            raise CheckpointError(f"{self.name}: {error}") from None


# Settings that change nothing in the forward pass of a trained model.
IGNORED = (
    "_name_or_path", "add_cross_attention", "architectures", "attn_pdrop",
    "bos_token_id", "cache_implementation", "chunk_size_feed_forward",
    "dtype", "embd_pdrop",
    "eos_token_id", "id2label", "initializer_range", "is_decoder",
    "is_encoder_decoder", "is_llama_config", "label2id", "model_type",
    "output_attentions", "output_hidden_states", "pad_token_id",
    "pretraining_tp", "problem_type", "resid_pdrop", "return_dict",
    "rope_interleaved", "summary_activation", "summary_first_dropout",
    "summary_proj_to_labels", "summary_type", "summary_use_proj",
    "task_specific_params", "torch_dtype", "transformers.js_config",
    "transformers_version", "use_cache",
)  # fmt: skip
