"""How a function is called, and what is said of its results."""

import contextlib
import copy
import importlib
import inspect

import numpy as np

from course.questions.task import OFF, told
from helpers.masks import causal_mask

from .faults import FAULTS, attend
from .laws import Case, allowed, causal, expected, formula, laws, slopes

MASKS = {
    "attend": lambda mask: mask,
    "blocked": lambda mask: ~mask,
    "additive": lambda mask: np.where(mask, 0.0, -np.inf),
    "none": None,
}
ARRAYS = {"numpy": "numpy", "torch": "torch", "jax": "jax.numpy"}
BASIC = 5  # laws that a program with one fault may break together
HINTS = {  # options by which a wrong result is right
    "opposite mask": 'mask="blocked"',
    "upper left": 'corner="upper left"',
    "empty mean": 'empty="mean"',
    "empty NaN": 'empty="nan"',
    "unscaled": "scale=1",
    "batch": 'axes="TD" for a function of one sequence alone',
    "masks": 'axes="TD" for a function of one sequence alone',
    "types": 'skip="types"',
}
NARROW = np.float16, np.float32
SQRT = (
    " np.sqrt(4) is a float64 number, to which NumPy 2 widens an array of "
    "float32 that it meets; math.sqrt(4) widens nothing."
)


class Trouble(Exception):
    """The fault of a call in form, not in numbers, and the law it breaks."""


class NotCallable(Exception):
    """The function does not take the arguments."""


class Trial:
    """A function, and the options by which it is called."""

    def __init__(self, function, options):
        self.function, self.options, self.calls = function, options, 0
        self.laws = laws(options)
        try:
            self.library = importlib.import_module(ARRAYS[options.arrays])
        except ImportError:
            raise NotCallable(f"{options.arrays} is not installed.") from None

    # --- calls ---------------------------------------------------------------

    def lifted(self, x, swap=True):
        """An array with the axes that the function asks for."""
        axes = self.options.axes.replace("...TD", "")
        if len(axes) == 4 and x.ndim == 3:
            x = x[:, None]
        while x.ndim < len(axes):
            x = x[None]
        return x.swapaxes(1, 2) if swap and axes == "BTHD" else x

    def arguments(self, case):
        """The function's arguments by name, as NumPy's arrays and flags."""
        o, mask = self.options, case.mask
        given = dict(zip(o.names, map(self.lifted, case[:3]), strict=False))
        if o.causal is None:
            mask = allowed(case, o)
        if mask is not None:
            mask = MASKS[o.mask](self.lifted(mask, swap=False))
            added = mask.dtype != bool
            given[o.names[3]] = mask.astype(case.Q.dtype) if added else mask
        flag = True if case.causal and o.causal != "always" else None
        more = {o.causal: flag, o.window: case.window, o.scale: case.scale,
                o.sinks: case.sinks}  # fmt: skip
        return given | {k: x for k, x in more.items() if k and x is not None}

    def tensors(self, given):
        """The same, as arrays of the function's library."""
        of_torch = self.options.arrays == "torch"
        make = self.library.tensor if of_torch else self.library.array
        return {
            name: make(x.copy()) if isinstance(x, np.ndarray) else x
            for name, x in given.items()
        }

    def call(self, tensors, function=None, before=()):
        """Call the function, with the first three arguments by position."""
        function, more = function or self.function, dict(tensors)
        if not self.options.named:
            before = [*before, *(more.pop(name) for name in "QKV")]
        with contextlib.suppress(ValueError):  # some built-in ones have none
            signature = inspect.signature(function)
            try:
                signature.bind(*before, **more)
            except TypeError as error:
                call = ", ".join(
                    ["…"] * len(before) + [f"{n}=…" for n in more]
                )
                raise NotCallable(
                    f"It cannot be called as function({call}): {error}. Its "
                    f"arguments are {signature}. Give their names, such as "
                    'names="query key value attn_mask", or say mask="none".'
                ) from None
        self.calls += 1
        try:
            return function(*before, **more)
        except (Exception, SystemExit) as error:
            text = f"It raises {told(error)}."
            if "ensor" in text and self.options.arrays == "numpy":
                text += ' If it takes tensors, say arrays="torch".'
            raise Trouble(text) from None

    def output(self, case):
        """The output as NumPy's array, in the axes of the case."""
        if not case.cuts:
            return self._output(case)
        o, cache, parts = self.options, self.options.cache(), []
        for end, n in zip(np.cumsum(case.cuts), case.cuts, strict=True):
            Q, K, V = (X[end - n : end] for X in case[:3])
            by_mask = not o.causal and o.mask != "none"
            mask = causal_mask(n, int(end)) if by_mask else None
            parts.append(
                self._output(Case(Q, K, V, mask, bool(o.causal)), cache=cache)
            )
        return np.concatenate(parts)

    def _output(self, case, **more):
        tensors = self.tensors(self.arguments(case))
        kept = copy.deepcopy(tensors)
        result = self.call(tensors | more)
        for name, x in kept.items():
            if hasattr(x, "shape") and not np.array_equal(x, tensors[name]):
                raise Trouble(
                    f"It changes its argument {name}. Write x = x * y instead "
                    "of x *= y.",
                    "inputs",
                )
        if isinstance(result, tuple) and result:
            result = result[0]
        first = tensors[self.options.names[0]]
        self._typed(result, first)
        if hasattr(result, "detach"):
            result = result.detach().cpu()
        result, shape = np.asarray(result), self._shape(case)
        right = self.lifted(np.empty(shape)).shape
        if result.shape != right:
            raise Trouble(
                f"Its result has shape {result.shape}, where {right} is right."
            )
        swap = self.options.axes == "BTHD"
        return (result.swapaxes(1, 2) if swap else result).reshape(shape)

    def _shape(self, case):
        return *case.Q.shape[:-1], case.V.shape[-1]

    def _typed(self, result, first):
        """Refuse a result of another type than the first argument."""
        if result is None:
            raise Trouble("It returns None. End it with `return`.", "result")
        if not isinstance(result, type(first)) or np.ma.isMA(result):
            raise Trouble(
                f"It returns an object of type {type(result).__name__}, where "
                f"{type(first).__name__} is right. For arrays of another "
                'library, say arrays="torch" or arrays="jax".',
                "result",
            )
        if result.dtype != first.dtype:
            text = f"It gives {result.dtype} numbers for {first.dtype} ones."
            raise Trouble(text + SQRT * (result.dtype == float), "types")

    def _gradients(self, case):
        """The gradients of Q, K and V, found and right, by their names."""
        o, grad = self.options, np.arange(np.prod(self._shape(case))) % 3 + 1.0
        grad = grad.reshape(self._shape(case))
        tensors = self.tensors(self.arguments(case) | {"": self.lifted(grad)})
        up, names = tensors.pop(""), o.names[:3]
        if callable(o.gradients):
            found = self.call(tensors, o.gradients, (up,))
        else:
            found = self._auto(tensors, names, up)
        if not isinstance(found, tuple) or len(found) != 3:
            raise Trouble("A tuple of the gradients of Q, K and V is right.")
        right = map(self.lifted, slopes(case, grad, o))
        pairs = zip(map(np.asarray, found), right, strict=True)
        labels = (f"gradient of {name}, " for name in names)
        return dict(zip(labels, pairs, strict=True))

    def _auto(self, tensors, names, up):
        """The gradients by PyTorch or JAX."""

        def output(*arrays):
            result = self.call(tensors | dict(zip(names, arrays, strict=True)))
            return result[0] if isinstance(result, tuple) else result

        arrays = [tensors[name] for name in names]
        if self.options.arrays == "jax":
            return importlib.import_module("jax").vjp(output, *arrays)[1](up)
        for x in arrays:
            x.requires_grad_()
        return self.library.autograd.grad(output(*arrays), arrays, up)

    # --- what is said --------------------------------------------------------

    def failure(self, law, case):
        """Say what is wrong in a case, and name the law; None if it holds."""
        name, head, hint = law.name, f"{law.name}: {law.rule}", ""
        try:
            said = self._differences(law, case)
            if not said:
                return None
        except Trouble as trouble:
            if case.refusable:
                return None
            text, name = [*trouble.args, name][:2]
            said = [text] if name == law.name else []
            head, hint = head if said else f"{name}: {text}", name
        if name == law.name != "gradients":
            cause, text = self.cause(law)
            said, hint = [*said, *text], cause or hint
        if hint in HINTS:
            said.append(f"If that is meant, say {HINTS[hint]}.")
        lines = [shown(f"{k} = ", x) for k, x in self.arguments(case).items()]
        if case.cuts:
            lines.append(f"in calls of {' and '.join(map(str, case.cuts))}")
        return "\n".join([head, "", *lines, *said]), name

    def _differences(self, law, case):
        """The first result that is not as expected, in lines of text."""
        if law.name == "gradients":
            pairs = self._gradients(case)
        else:
            right = self.lifted(expected(case, self.options))
            pairs = {"": (self.lifted(self.output(case)), right)}
        for what, (found, right) in pairs.items():
            if not close(found, right):
                right = right.astype(found.dtype)
                for digits in (4, 8, 16):
                    lines = [
                        shown(f"{what}{word} = ", x, digits)
                        for word, x in (("expected", right), ("got", found))
                    ]
                    if lines[0].split(" = ")[1] != lines[1].split(" = ")[1]:
                        break
                return lines
        return []

    def cause(self, law):
        """The fault whose results these are, as far as this law: its text."""
        at = self.laws.index(law)
        tried = [law, *self.laws[:BASIC]] if at < BASIC else [law]
        pairs = [(c, expected(c, self.options))
                 for x in self.laws[:at] for c in x.cases]  # fmt: skip
        for one in [c for x in tried for c in x.cases]:
            pairs.append((one, None))
            with contextlib.suppress(Trouble):
                pairs[-1] = one, self.output(one)
        pairs = [pair for pair in pairs if self._comparable(pair[0])]
        for name, (text, steps) in FAULTS.items():
            if all(self._alike(steps, *pair) for pair in pairs):
                return name, [text]
        return "", []

    def _comparable(self, case):
        """Whether the faulty programs have a rule for the case."""
        may = allowed(case, self.options)
        full = self.options.empty != "mean" or may is None
        return not case.refusable and (full or may.any(axis=-1).all())

    def _alike(self, steps, case, output):
        """Whether a program with other steps gives this output, or none."""
        scale, other = formula(case, self.options)["scale"], None
        fixed = {} if scale is None else {"scale": lambda *_: scale}
        more = causal(case, self.options), case.sinks
        with contextlib.suppress(ValueError, IndexError):
            other = attend(*case[:4], *more, **fixed | steps)
            other = other if other.shape == self._shape(case) else None
        if output is None or other is None:
            return output is other
        if self.options.empty == "nan":
            output = np.nan_to_num(output)
        return close(output, other)


def close(found, right):
    """Whether arrays agree, in the precision of the first one's type."""
    size = np.max(np.abs(right), initial=1, where=np.isfinite(right))
    off = OFF.get(found.dtype.type, 0) * size
    return found.shape == right.shape and np.allclose(
        found, right, rtol=0, atol=off, equal_nan=True
    )


def shown(name, x, digits=4):
    """An argument as text, with its rows one below the other.

    Examples
    --------
    >>> print(shown("Q = ", np.array([[1.0, 0.0], [2.5, 1.0]])))
    Q = [[1. , 0. ],
         [2.5, 1. ]]
    """
    x = np.asarray(x)
    whole = x.dtype.kind == "f" and np.all(x == np.rint(x))
    text = np.array2string(
        x.astype(int) if whole and np.isfinite(x).all() else x,
        separator=", ", prefix=name, precision=digits, suppress_small=True,
    )  # fmt: skip
    return f"{name}{text}" + f"  ({x.dtype})" * (x.dtype in NARROW)
