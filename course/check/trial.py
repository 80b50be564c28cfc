"""How a function is called, and what is said of its results."""

import contextlib
import copy
import importlib
import inspect
import re
from types import SimpleNamespace

import numpy as np

from course.questions.task import OFF, told
from helpers.masks import causal_mask

from .faults import FAULTS, attend
from .inputs import allowed, case, causal, fits, smaller
from .laws import expected, formula, laws, slopes

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
    "unscaled": "scale=1",
    "lower right": 'corner="lower right"',
}
MEANT = {  # the same, for programs that refuse an input
    "types": 'skip="types"',
    "many keys": 'skip="many keys"',
}
NONE = (
    "Give what the laws do not need a default, such as None, and if the names "
    'differ, say names="query key value attn_mask".'
)
NAMES = (
    'Give their names, such as names="query key value attn_mask", or say '
    'mask="none".'
)
MANY = 100  # numbers of an array that is not shown in full
NARROW = np.float16, np.float32
WIDENS = (
    " What is float64, as np.sqrt(4) and np.zeros(3) are, widens an array of "
    "float32 that it meets; math.sqrt(4) widens nothing."
)
LOWER = {  # a fault where the upper left is right
    "lower right": (
        "The causal mask is aligned at the lower right.",
        {"corner": lambda m: causal_mask(*m.shape)},
    )
}
REFUSALS = ValueError, RuntimeError, AssertionError


class Trouble(Exception):
    """The fault of a call in form, not in numbers, and the law it breaks."""

    refusal = False  #: whether it is an error by which programs refuse input


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
        if o.causal is None and o.mask != "none":
            mask = allowed(case._replace(window=None) if o.window else case, o)
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
        call = ", ".join(["…"] * len(before) + [f"{n}=…" for n in more])
        with contextlib.suppress(ValueError):  # some built-in ones have none
            signature = inspect.signature(function)
            try:
                signature.bind(*before, **more)
            except TypeError as error:
                missing = str(error).startswith("missing")
                raise NotCallable(
                    f"It cannot be called as function({call}): {error}. Its "
                    f"arguments are {signature}. {NONE if missing else NAMES}"
                ) from None
        self.calls += 1
        try:
            return function(*before, **more)
        except (Exception, SystemExit) as error:
            text = f"It raises {told(error)}."
            if any(f"keyword argument '{name}'" in text for name in more):
                raise NotCallable(
                    f"It cannot be called as function({call}). {text} {NAMES}"
                ) from None
            trouble = Trouble(text + self._advice(text))
            trouble.refusal = isinstance(error, REFUSALS)
            raise trouble from None

    def _advice(self, text):
        """Which option an error of the function may ask for, or nothing."""
        o, more = self.options, ""
        if o.arrays == "numpy" and (name := library(self.function, text)):
            arrays = {"torch": "PyTorch's tensors", "jax": "JAX's arrays"}[
                name
            ]
            more = f' If it takes {arrays}, say arrays="{name}".'
        count = re.search(r"unpack \(expected ([34])", text)
        if o.axes == "...TD" and count:
            axes = {"3": "BTD", "4": "BHTD"}[count[1]]
            more += f' If it always takes {count[1]} axes, say axes="{axes}".'
        elif o.axes == "...TD" and re.search(
            "out of (range|bounds)|too m", text
        ):
            more += ' If it always takes four axes, say axes="BHTD".'
        return more

    def output(self, case):
        """The output as NumPy's array, in the axes of the case."""
        if not case.cuts:
            return self._output(case)
        o, cache, parts = self.options, self.options.cache(), []
        for end, n in zip(np.cumsum(case.cuts), case.cuts, strict=True):
            Q, K, V = (X[..., end - n : end, :] for X in case[:3])
            by_mask = not o.causal and o.mask != "none"
            mask = causal_mask(n, int(end)) if by_mask else None
            part = case._replace(
                Q=Q, K=K, V=V, mask=mask, causal=bool(o.causal), cuts=()
            )
            parts.append(self._output(part, cache=cache))
        return np.concatenate(parts, axis=-2)

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
        first_of = isinstance(result, tuple) and len(result) > 0
        result = result[0] if first_of else result
        first = tensors[self.options.names[0]]
        self._typed(result, first)
        if hasattr(result, "detach"):
            result = result.detach().cpu()
        result, shape = np.asarray(result), self._shape(case)
        right = self.lifted(np.empty(shape)).shape
        if result.shape != right:
            what = "The first of its results" if first_of else "Its result"
            text = f"{what} has shape {result.shape}, where {right} is right."
            weights = np.empty((*case.Q.shape[:-1], case.K.shape[-2]))
            if result.shape == self.lifted(weights, swap=False).shape:
                text += " The weights have this shape; the output comes first."
            raise Trouble(text)
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
        skipped = "types" in self.options.skip.split(",")
        if result.dtype != first.dtype and not skipped:
            text = f"It gives {result.dtype} numbers for {first.dtype} ones."
            raise Trouble(text + WIDENS * (result.dtype == float), "types")

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
        result = output(*arrays)
        try:
            return self.library.autograd.grad(result, arrays, up)
        except RuntimeError as error:
            raise Trouble(f"PyTorch finds no gradient: {error}") from None

    # --- what is said --------------------------------------------------------

    def failure(self, law, case):
        """Say what is wrong in a case, and name the law; None if it holds."""
        said, name = self._wrong(law, case)
        if not said:
            return None
        case, said = self._shrunk(law, case, said, name)
        head, hint = f"{law.name}: {law.rule}", name
        if name != law.name:
            head, said = f"{name}: {said[0]}", []
        if name == law.name != "gradients":
            cause, text = self.cause(law, case)
            said, hint = [*said, *text], cause or hint
        hint = HINTS.get(hint) or self._meant(law, case)
        if hint:
            said.append(f"If that is meant, say {hint}.")
        if name in ("batch", "masks") and self.options.axes == "...TD":
            said.append('If it is for one sequence alone, say axes="TD".')
        lines = [shown(f"{k} = ", x) for k, x in self.arguments(case).items()]
        if case.cuts:
            lines.append(f"in calls of {' and '.join(map(str, case.cuts))}")
        text = "\n".join([head, "", *lines, *said])
        return text, name, self.arguments(case)

    def _wrong(self, law, case):
        """Return what is wrong in a case, line by line, and the law."""
        try:
            return self._differences(law, case), law.name
        except Trouble as trouble:
            if case.refusable and trouble.refusal:
                return [], law.name
            text, name = [*trouble.args, law.name][:2]
            return [text], name

    def _shrunk(self, law, case, said, name):
        """A random case with all left out that the fault does not need."""
        less = smaller(case, self.options.equal_widths) if case.random else []
        for one in less:
            if fits(one, self.options):
                now, of = self._wrong(law, one)
                if now and of == name and bool(now[1:]) == bool(said[1:]):
                    return self._shrunk(law, one, now, name)
        return case, said

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
                if right.size > MANY:
                    what, found, right = first_off(what, found, right)
                for digits in (4, 8, 16):
                    lines = [
                        shown(f"{what}{word} = ", x, digits)
                        for word, x in (("expected", right), ("got", found))
                    ]
                    if lines[0].split(" = ")[1] != lines[1].split(" = ")[1]:
                        break
                return lines
        return []

    def _meant(self, law, case):
        """The option by which a refusal or a row without keys is right."""
        try:
            found, kept = self.output(case), vars(self.options)
        except Trouble:
            return MEANT.get(law.name)
        for rule in ("zeros", "mean", "nan"):
            other = SimpleNamespace(**kept | {"empty": rule})
            if law.name == "empty" and close(found, expected(case, other)):
                return f'empty="{rule}"'
        return ""

    def _fixed(self):
        """The fault of scores that are multiplied by one number throughout."""
        with contextlib.suppress(Trouble):
            x = case([[1]], [[0], [1]], [[0], [1]])
            share = self.output(x).squeeze()
            factor = np.log(share / (1 - share))
            if np.isfinite(factor):
                text = (
                    f"The scores are multiplied by {factor:.4g}, whatever "
                    "d_k is."
                )
                return {"fixed": (text, {"scale": lambda *_: factor})}
        return {}

    def cause(self, law, failed):
        """The fault whose results these are, as far as this law: its text."""
        at = self.laws.index(law)
        tried = [law, *self.laws[:BASIC]] if at < BASIC else [law]
        pairs = [(c, expected(c, self.options))
                 for x in self.laws[:at] for c in x.cases]  # fmt: skip
        for one in [*(c for x in tried for c in x.cases), failed]:
            pairs.append((one, None))
            with contextlib.suppress(Trouble):
                pairs[-1] = one, self.output(one)
        pairs = [pair for pair in pairs if self._comparable(pair[0])]
        known = any(one is failed for one, _ in pairs)
        if not known or all(self._alike({}, *pair) for pair in pairs):
            return "", []  # any fault that these inputs do not show would fit
        more = self._fixed() if at < BASIC else LOWER
        for name, (text, steps) in (FAULTS | more).items():
            of_window = "window" in name and not failed.window
            if not of_window and all(
                self._alike(steps, *pair) for pair in pairs
            ):
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


def library(function, text):
    """The library whose arrays a function seems to take, or nothing."""
    known = getattr(inspect.unwrap(function), "__globals__", {}).values()
    tops = {getattr(x, "__name__", "").partition(".")[0] for x in known}
    tops |= {"torch"} if "ensor" in text else set()
    return next((name for name in ("torch", "jax") if name in tops), "")


def first_off(what, found, right):
    """The first row that is off, of many."""
    off = ~np.isclose(found, right, rtol=0, atol=1e-3, equal_nan=True)
    at = tuple(np.argwhere(off.any(axis=-1) if off.any() else off)[0])
    return f"{what}row {', '.join(map(str, at))}, ", found[at], right[at]


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
        threshold=MANY,
    )  # fmt: skip
    return f"{name}{text}" + f"  ({x.dtype})" * (x.dtype in NARROW)
