"""What the figure `Flow` is given: the trained word model."""

from course.evidence import stored


def first():
    """The words and the parameters of the word model, in hundredths."""
    kept = stored("words")
    return {"words": kept["vocabulary"], "hundredths": kept["hundredths"]}
