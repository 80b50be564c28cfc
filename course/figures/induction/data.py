"""What the figure `Induction` is given: the model's weights, by step."""

from course.evidence import stored


def _checkpoints():
    return stored("induction-steps")["checkpoints"]


def first():
    """The initial weights, and each step's accuracy."""
    checkpoints = _checkpoints()
    return {
        "weights": checkpoints[0]["weights"],
        "steps": [c["step"] for c in checkpoints],
        "accuracy": [c["accuracy"] for c in checkpoints],
    }


def later():
    """The weights after the first step; the final ones have 16 bits."""
    _, *steps = _checkpoints()
    weights = {c["step"]: c["weights"] for c in steps}
    weights[steps[-1]["step"]] = stored("induction")["weights"]
    return {"induction-steps": weights}
