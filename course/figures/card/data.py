"""What the figure `ModelCard` is given: configurations, and their keys."""

from course import cards

RULES = (
    *("all_sliding", "blocks", "choices", "delta", "dsa", "encoders"),
    *("filled", "fixed", "gated", "idle", "idle_of", "keys_of", "kimi"),
    *("kinds", "kinds_of", "latent", "latent_keys", "lists", "longest"),
    *("mamba", "mamba_flops", "matters", "mixed", "names", "orders", "own"),
    *("parts", "places", "read", "sparse", "state_keys", "widest"),
)
KINDS = ("FULL", "SLIDING", "CHUNKED", "LINEAR", "INDEXED", "OTHER")


def first():
    """Configurations, and which of their keys are read or refused."""
    rules = {name: getattr(cards, name.upper()) for name in RULES}
    types = {name: getattr(cards, name) for name in KINDS}
    return {"models": cards.MODELS, "rules": {**rules, "types": types}}
