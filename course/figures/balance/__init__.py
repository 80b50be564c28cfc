"""The figure `Balance`."""

from .._figure import InteractiveFigure


class Balance(InteractiveFigure):
    """Machines in a ring under a causal mask: which work, and which wait.

    Each machine has queries and keys at its positions, and computes the pairs
    of its queries. In round r machine w holds the keys of machine w - r, and
    a round lasts until its slowest machine is done; a pair takes one unit of
    time. ``rounds`` has the pairs of each round and machine, ``ends`` the
    time that each plan takes, ``when`` the time at which each pair is done,
    None where the mask forbids, and ``busy`` the share of the machines' time
    in which they compute.

    Examples
    --------
    >>> Balance().values["ends"]
    {'contiguous': 58, 'striped': 40, 'zigzag': 34}
    """

    _name = "balance"
    _label = "who works and who waits under a causal mask"
