"""Check your own attention: laws, and the smallest input that breaks one.

    python -m course.check mymodule:attention

tries the function `attention` of `mymodule.py`, and `course.check(attention)`
does the same in Jupyter and on a page. Both need only NumPy. `course.check` is
the function: the package `course` puts it in the place of this module, whose
own names are imported as usual, with ``from course.check import Verdict``.

The laws are in `laws`, their inputs in `inputs`, and known causes of wrong
results in `faults`.
"""

import warnings
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

from course.questions.task import told

from .inputs import asked
from .trial import ARRAYS, MASKS, NotCallable, Trial

CHOICES = {
    "mask": [*MASKS],
    "axes": ["...TD", "TD", "BTD", "BHTD", "BTHD"],
    "corner": ["lower right", "upper left", "square"],
    "empty": ["zeros", "mean", "nan"],
    "arrays": [*ARRAYS],
}
WORDS = {True: "✓ Right.", False: "✗ Wrong.", None: "Not tried."}


class Verdict(NamedTuple):
    """The verdict of a check."""

    right: bool | None  #: None if the function cannot be called as asked
    text: str  #: what fails first, in words, and on which input
    law: str = ""  #: the first law that does not hold
    inputs: dict | None = None  #: the arguments of the call that shows it

    def __repr__(self):
        return f"{WORDS[self.right]} {self.text}"


def check(
    function,
    *,
    names="mask",
    mask="attend",
    axes="...TD",
    causal=None,
    corner="lower right",
    window=None,
    scale=None,
    sinks=None,
    groups=False,
    equal_widths=False,
    cache=None,
    gradients=None,
    empty="zeros",
    arrays="numpy",
    skip="",
):
    """Try a function that computes attention on the laws of attention.

    Without options it is called as ``function(Q, K, V)`` and
    ``function(Q, K, V, mask=mask)``, where True = may attend. It returns the
    output, or a tuple that begins with it.

    Parameters
    ----------
    function : callable
        The function.
    names : str
        The name of the argument for the mask, or four names: of `Q`, `K`, `V`
        and the mask, such as ``"query key value attn_mask"``.
    mask : str
        ``"attend"``: True = may attend. ``"blocked"``: True = may not.
        ``"additive"``: 0 or -inf is added to the scores. ``"none"``: the
        function takes no mask.
    axes : str
        The axes of `Q`. ``"...TD"``: any number of leading axes; ``"TD"``: one
        sequence; ``"BTD"``, ``"BHTD"`` or ``"BTHD"``: always these.
    causal : str, optional
        The name of a flag for the causal mask; or ``"always"``. A function
        may refuse the flag together with a mask.
    corner : str
        Where the diagonal of that mask ends if there are fewer queries than
        keys: ``"lower right"``, or ``"upper left"`` as in PyTorch; or
        ``"square"`` if there never are, as in most training code.
    window, sinks : str, optional
        The name of an argument for the number of positions that a query sees,
        its own included; and of one for a score per head without a value.
    scale : float or str, optional
        The fixed factor on the dot products, if it is not 1/√d_k; or the name
        of an argument for it.
    groups : bool
        Whether K and V may have fewer heads than Q.
    equal_widths : bool
        Whether V must be as wide as K.
    cache : callable, optional
        Makes an empty cache, which the function takes as ``cache=``. It then
        gets only new positions.
    gradients : callable or "auto", optional
        A function of the output's gradient and the arguments, which returns
        the gradients of Q, K and V; or PyTorch's or JAX's own.
    empty : str
        What a query gets that may attend to nothing: ``"zeros"``, ``"mean"``
        of all values, or ``"nan"``.
    arrays : str
        ``"numpy"``, ``"torch"`` or ``"jax"``, which takes minutes because it
        compiles for each shape.
    skip : str
        The names of laws that are not to be tried, with commas between them.

    What no option says, such as a cache that is returned, a function of three
    lines can say: it takes `Q`, `K`, `V` and the mask, and calls yours.

    Returns
    -------
    Verdict
        If a law does not hold, its text has the smallest input that was
        tried and shows it, the expected output, and the output.

    Examples
    --------
    >>> import numpy as np
    >>> def attention(Q, K, V, mask=None):
    ...     scores = Q @ K.T
    ...     weights = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    ...     return weights @ V
    >>> check(attention)
    ✗ Wrong. scale: Scores are dot products divided by √d_k.
    <BLANKLINE>
    Q = [[2, 0, 0, 0]]
    K = [[1, 0, 0, 0],
         [0, 0, 0, 0]]
    V = [[1, 0, 0],
         [0, 1, 0]]
    expected = [[0.7311, 0.2689, 0.    ]]
    got = [[0.8808, 0.1192, 0.    ]]
    The scores are not scaled.
    If that is meant, say scale=1.
    """
    options = settled(SimpleNamespace(**locals()))
    if isinstance(function, type):
        name = function.__name__
        return Verdict(None, f"{name} is a class: give an instance of it.")
    if not callable(function):
        return Verdict(None, f"{told(function)} is not a function.")
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _verdict(Trial(function, options))
    except NotCallable as why:
        return Verdict(None, str(why))


def settled(options):
    """The options in one form, or an error."""
    for name, choices in CHOICES.items():
        value = getattr(options, name)
        if value not in choices:
            listed = ", ".join(map(repr, choices))
            raise ValueError(f"{name} must be one of {listed}; got {value!r}")
    names = options.names.split()
    if len(names) not in (1, 4):
        raise ValueError(f"names must be one or four; got {options.names!r}")
    for name in ("causal", "window", "sinks", "scale"):
        value = getattr(options, name)
        if isinstance(value, str) and not value.isidentifier():
            also = "a number or " * (name == "scale")
            raise ValueError(
                f"{name} must be {also}the name of an argument; got {value!r}"
            )
    if options.gradients == "auto" and options.arrays == "numpy":
        raise ValueError(
            "gradients must be a function where arrays are NumPy's, which has "
            "none of its own; got 'auto'"
        )
    given = [options.causal, options.window, options.scale, options.sinks]
    names = ["Q", "K", "V", *names][-4:]
    given = [*names, *(x for x in given if isinstance(x, str))]
    if len({*given}) < len(given):
        raise ValueError(
            f"names of arguments must differ; got {', '.join(given)}"
        )
    options.named, options.names = len(options.names.split()) == 4, names
    options.skip = ",".join(part.strip() for part in options.skip.split(","))
    if isinstance(options.scale, int):
        options.scale = float(options.scale)
    return options


def _verdict(trial):
    """Try law after law, up to the first that does not hold."""
    names, skipped = {law.name: law for law in trial.laws}, trial.options.skip
    if unknown := {*skipped.split(",")} - {*names, ""}:
        raise ValueError(
            f"skip must name laws, such as {', '.join(names)}; got "
            f"{', '.join(sorted(unknown))}"
        )
    for name, has in asked(trial.options).items():
        if has and not names[name].cases and name not in skipped.split(","):
            raise NotCallable(
                f"The law of {name} needs an argument for the mask or the "
                "causal flag, or more axes than these options give."
            )
    held = [law for law in trial.laws if law.cases]
    if not held:
        raise NotCallable("No law is left to try.")
    for law in held:
        for case in law.cases:
            if failure := trial.failure(law, case):
                return Verdict(False, *failure)
    text = f"{len(held)} laws hold in {trial.calls} calls."
    rest = ", ".join(law.name for law in trial.laws if not law.cases)
    return Verdict(True, f"{text} Not tried: {rest}." if rest else text)
