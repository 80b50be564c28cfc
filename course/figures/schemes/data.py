"""What the figure `Schemes` is given: the right answers of every seed."""

import numpy as np

from course.evidence import stored


def first():
    """The accuracies of every seed, for schemes as trained and with YaRN.

    And the mean of all seeds' weights on right keys, and on others too far,
    and what each head of each seed adds to the scores with T5's bias.
    """
    results = stored("longer")["results"]
    return [
        _row(x) for x in results if x["rescaled"] in ("as trained", "YaRN")
    ]


def _row(result):
    rescaled = result["rescaled"] == "YaRN"
    row = {
        "name": result["kind"] + ", YaRN" * rescaled,
        "rescaled": rescaled,
        "near": result["near"],
        "far": result["far"],
    }
    for test, weight in result["weight"].items():
        row[f"{test}Weight"] = np.mean(weight, axis=1).round(4).tolist()
    if "bias" in result:  # seeds, buckets, heads
        heads = np.swapaxes(result["bias"], 1, 2)
        row["biases"] = np.concatenate(heads).tolist()
    return row
