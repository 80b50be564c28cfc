"""Tiles in plain loops: merging parts of attention, one number at a time.

As `reference.py`: imports `math` only, and the helpers never import it.
"""

import math


def merge(outputs, logsumexps):
    """Average the parts, each weighted by its sum of exponentials.

    `outputs` is a list of n vectors, `logsumexps` a list of n numbers.
    """
    sums = [math.exp(lse) if lse != -math.inf else 0.0 for lse in logsumexps]
    total = math.fsum(sums)
    if total == 0:
        return [0.0 for _ in outputs[0]], -math.inf
    merged = [
        math.fsum(s * out[c] for s, out in zip(sums, outputs, strict=True))
        / total
        for c in range(len(outputs[0]))
    ]
    return merged, math.log(total)
