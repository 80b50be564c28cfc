"""What the figure `ModelCard` is given: configurations, and their keys."""

from course import cards

RULES = (
    *("all_sliding", "delta", "encoders", "filled", "fixed", "gated"),
    *("idle", "kimi", "kinds", "latent", "latent_keys", "lists"),
    *("longest", "matters", "mixed", "names", "own", "parts", "places"),
    *("read", "state_keys", "widest"),
)
KINDS = ("FULL", "SLIDING", "CHUNKED", "LINEAR", "OTHER")


def first():
    """Configurations, and which of their keys are read or refused."""
    rules = {name: getattr(cards, name.upper()) for name in RULES}
    types = {name: getattr(cards, name) for name in KINDS}
    return {"models": cards.MODELS, "rules": {**rules, "types": types}}
