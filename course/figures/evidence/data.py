"""What the figure `EvidenceOfSeeds` is given: accuracies, one per seed."""

from course.evidence import stored


def first():
    """The accuracies of the position schemes and of the numbers of heads."""
    return {
        f"{v['group']}: {v['name']}": v["accuracy"]
        for v in stored("evidence")["variants"]
        if v["group"] in ("positions", "heads")
    }
