"""What every interactive figure is: a widget, and a drawing on a page."""

import inspect
import json
import re
import sys
from html import escape

from helpers._extras import extra

from ._scripts import controls, engine, module, styles
from ._settings import parameter_of, trait_of

# There the page draws, with its own scripts. A figure is its settings alone.
IN_A_BROWSER = sys.platform == "emscripten"

with extra("figures"):
    from traitlets import HasTraits as Widget
    from traitlets import TraitError

    if not IN_A_BROWSER:
        from anywidget import AnyWidget as Widget

SHOWN, HIDDEN = "<section ", '<section hidden="hidden" '


def drawing(stored):
    """Return the part of a figure's stored output that a page shows.

    If a notebook shows a stored output, no kernel has run the cell, and the
    drawing has no style. Then the drawing is hidden, and a note says what to
    do. On a page it is shown.
    """
    return stored[stored.index(HIDDEN) :].replace(HIDDEN, SHOWN, 1)


def _keyed(message, listed):
    """A message of the page, with the settings whose labels it mentions.

    Examples
    --------
    >>> layers = {"key": "n_layers", "label": "layers L"}
    >>> _keyed("layers L must be 1 or 2; got 3", [layers])
    'layers L must be 1 or 2; got 3 (setting n_layers)'
    """
    rule, keys = message.partition("; got ")[0], []
    # A short label may be a part of a longer one.
    for control in sorted(listed, key=lambda c: len(c["label"]), reverse=True):
        key, label = control["key"], re.escape(control["label"])
        rule, found = re.subn(rf"(?<!\w){label}(?!\w)", key, rule)
        if found and key not in re.findall(r"\w+", message):
            keys.append(key)
    return f"{message} (setting {' and '.join(keys)})" if keys else message


def _documented(doc, parameters):
    """A class's docstring with its settings before its examples."""
    about, heading, examples = inspect.cleandoc(doc).partition("Examples\n---")
    lines = [about.rstrip(), "", "Parameters", "----------", *parameters]
    return "\n".join([*lines, "", heading + examples])


class InteractiveFigure(Widget):
    """A figure with sliders; each subclass names its module.

    Every trait that is synced is one setting, as the module's controls list
    it. A setting that the figure cannot show is refused with the message that
    the page would show.

    Raises
    ------
    traitlets.TraitError
        If a setting has the wrong type or is out of range.
    """

    _name = ""
    _label = ""
    _without = (
        "Without scripts the figure has no controls and shows its first state."
    )

    def __init_subclass__(cls, **options):
        # A widget makes a subclass of each figure's class, which has no name.
        if "_name" in vars(cls):
            if not IN_A_BROWSER:
                cls._esm, cls._css = module(cls._name), styles(cls._name)
            cls._declare(controls(cls._name))
        super().__init_subclass__(**options)

    @classmethod
    def _declare(cls, listed):
        """Turn a module's settings into traits, and document them."""
        parameters = []
        for control in listed:
            missing = [k for k in ("first", "about") if k not in control]
            if missing:
                raise ValueError(
                    f"control {control['key']!r} of {cls._name}.js needs "
                    f"{' and '.join(missing)}"
                )
            trait = trait_of(control).tag(sync=True)
            setattr(cls, control["key"], trait)
            trait.class_init(cls, control["key"])
            parameters.append(parameter_of(control, trait))
        cls.__doc__ = _documented(cls.__doc__, parameters)

    def __init__(self, **settings):
        for name in settings:
            self._know(name)
        super().__init__(**settings)
        self._check()

    def __setattr__(self, name, value):
        # A misspelt setting would be stored but have no effect.
        if not hasattr(type(self), name) and not name.startswith("_"):
            self._know(name)
        super().__setattr__(name, value)

    @classmethod
    def _know(cls, name):
        if name not in cls._settings():
            raise TraitError(
                f"{cls.__name__} has no setting {name!r}; "
                f"it has {', '.join(cls._settings())}"
            )

    @classmethod
    def _settings(cls):
        inherited = Widget.class_trait_names()
        return [
            name
            for name in cls.class_trait_names(sync=True)
            if name not in inherited and not name.startswith("_")
        ]

    def _own(self):
        """The figure's own data beside its settings, as ``own``."""
        return {}

    def _call(self, what, **more):
        state = {name: getattr(self, name) for name in self._settings()}
        state |= more
        if what in ("shell", "values"):
            state |= self._own()
        return json.loads(engine(self._name)(what, json.dumps(state)))

    def _check(self):
        """Refuse settings that cannot be shown, also when set later."""
        wrong = self._call("problem")
        if wrong:
            raise TraitError(_keyed(wrong, controls(self._name)))

    @property
    def values(self):
        """The numbers that the figure shows, as its module computes them."""
        self._check()
        return self._call("values")

    def __repr__(self):
        return f"Interactive figure: {self._label}"

    def html(self):
        """The figure as a page shows it before its script runs."""
        self._check()
        state = {name: getattr(self, name) for name in self._settings()}
        return (
            f'<section class="av-figure" data-figure="{self._name}" '
            f'data-state="{escape(json.dumps(state))}" '
            f'aria-label="{escape(self._label)}">{self._call("shell")}'
            f"<noscript><p>{self._without}</p></noscript></section>"
        )

    def _repr_mimebundle_(self, **kwargs):
        note = (
            f"<p>Interactive figure: {escape(self._label)}. To see and move "
            "it, run this cell and those above it (menu Run: Run All "
            "Cells).</p>"
        )
        html = note + self.html().replace(SHOWN, HIDDEN, 1)
        bundle = {} if IN_A_BROWSER else super()._repr_mimebundle_(**kwargs)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        shown = {"text/plain": repr(self), "text/html": html}
        return {**data, **shown}, metadata


class Moving:
    """An animated figure, which can be drawn at any time."""

    def frame(self, ms):
        """Return the picture at a time after the start.

        Parameters
        ----------
        ms : float
            The time in milliseconds.

        Returns
        -------
        dict
            The settings that change with time as ``own``, the numbers as
            ``values``, and the drawing as ``html``.

        Examples
        --------
        >>> from course.figures import Words
        >>> Words().frame(0)["own"]
        {'x': 2, 'y': 0.5}
        """
        self._check()
        return self._call("frame", ms=ms)
