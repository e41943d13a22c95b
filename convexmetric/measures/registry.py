"""Measures by the name a user types."""

from __future__ import annotations

from convexmetric.arguments import not_one_of
from convexmetric.errors import InputError
from convexmetric.measures.base import Measure, MeasureAtK
from convexmetric.measures.oracle import COMPILED

__all__ = ["MEASURES", "measure_named"]

#: Ranking measures by the name a user types.
MEASURES: dict[str, type[Measure]] = {measure.name: measure for measure in COMPILED}


def measure_named(name: str, k: int | None = None, short: str = "cut") -> Measure:
    """A measure by its name; ``k=None`` means 10 where the measure has one, and ``short`` matters there only.

    Raises
    ------
    InputError
        If there is no such measure, k is no positive integer, the measure has no k, or there is no such ``short``.
    """
    if not isinstance(name, str) or name not in MEASURES:
        raise InputError(not_one_of("measure", MEASURES, name))
    measure = MEASURES[name]
    if issubclass(measure, MeasureAtK):
        return measure(10 if k is None else k, short)
    for option in [option for option, given in (("k", k is not None), ("short", short != "cut")) if given]:
        at_k = ", ".join(repr(other.name) for other in MEASURES.values() if issubclass(other, MeasureAtK))
        raise InputError(f"measure {name!r} looks at the whole list: leave {option} out (it is for {at_k})")
    return measure()
