"""Registry of measures by name, and of the compiled oracles of those that have one.

A measure is registered by one line above its class, ``@register()``: it can then be asked for by name, and the
dynamic program for any gains finds its most violated rankings, or its own oracle with ``@register(compiled=...)``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from convexmetric.arguments import not_one_of
from convexmetric.errors import InputError
from convexmetric.measures.base import Measure, MeasureAtK

__all__ = ["COMPILED", "MEASURES", "measure_named", "register"]

Kind = TypeVar("Kind", bound=type[Measure])

#: Ranking measures by the name a user types.
MEASURES: dict[str, type[Measure]] = {}
#: Compiled oracles by exact class: a subclass may have other gains.
COMPILED: dict[type[Measure], Callable[..., None]] = {}


def register(compiled: Callable[..., None] | None = None) -> Callable[[Kind], Kind]:
    """Decorator: let users ask for a measure by its ``name``.

    Parameters
    ----------
    compiled : callable, optional
        Oracle over the rows of a block, such as ``every_map`` of ``convexmetric/measures/map.py``. Default: the dynamic
        program for any gains.

    Raises
    ------
    InputError
        If another measure has that name, or what is registered is no measure with a name.

    Examples
    --------
    >>> import numpy as np
    >>> import convexmetric as cm
    >>> from convexmetric.measures import Measure, register
    >>> @register()
    ... class FirstOnly(Measure):
    ...     name, title = "first", "whether the first item is relevant"
    ...
    ...     def gains(self, i, b, p, n):
    ...         return np.where((i == 1) & (b == 0), 1.0, 0.0)
    >>> iris = cm.datasets.load("iris")
    >>> cm.RankingProblem.from_labels(iris.X, iris.y, measure="first").measure.title
    'whether the first item is relevant'
    """

    def listed(measure: Kind) -> Kind:
        name = getattr(measure, "name", None)
        if not (isinstance(measure, type) and issubclass(measure, Measure) and isinstance(name, str)):
            raise InputError(f"register is for a Measure with a name, got {measure!r}")
        before = MEASURES.get(name, measure)
        # A notebook cell that is run again defines the same class again.
        if (before.__module__, before.__qualname__) != (measure.__module__, measure.__qualname__):
            raise InputError(f"there is a measure {name!r} already, {before.__name__}: give this one another name")
        MEASURES[name] = measure
        if compiled is not None:
            COMPILED[measure] = compiled
        return measure

    return listed


def measure_named(name: str, k: int | None = None, *, short: str = "cut") -> Measure:
    """A measure by its name, or by that of tables; ``k=None`` means 10 where it has one, ``short`` matters there only.

    Raises
    ------
    InputError
        If there is no such measure, k is no positive integer, the measure has no k, or there is no such ``short``.
    """
    measure = next((one for known, one in MEASURES.items() if name in (known, one.shown or known)), None)
    if not isinstance(name, str) or measure is None:
        raise InputError(not_one_of("measure", sorted(MEASURES), name))
    if issubclass(measure, MeasureAtK):
        return measure(10 if k is None else k, short)
    for option in [option for option, given in (("k", k is not None), ("short", short != "cut")) if given]:
        at_k = ", ".join(repr(other.name) for other in MEASURES.values() if issubclass(other, MeasureAtK))
        raise InputError(f"measure {name!r} looks at the whole list: leave {option} out (it is for {at_k})")
    return measure()
