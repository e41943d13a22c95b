"""Measures by the name a user types."""

from __future__ import annotations

from convexmetric.errors import InputError
from convexmetric.measures.base import Measure, MeasureAtK
from convexmetric.measures.oracle import CODES

__all__ = ["MEASURES", "measure_named"]

#: Ranking measures by the name a user types.
MEASURES: dict[str, type[Measure]] = {measure.name: measure for measure in CODES}


def measure_named(name: str, k: int | None = None) -> Measure:
    """A measure by its name; ``k=None`` means 10 where the measure has one.

    Raises
    ------
    InputError
        If there is no such measure, k is no positive integer, or the measure has no k.
    """
    if not isinstance(name, str) or name not in MEASURES:
        raise InputError(f"measure must be one of {', '.join(map(repr, MEASURES))}, got {name!r}")
    measure = MEASURES[name]
    if issubclass(measure, MeasureAtK):
        return measure() if k is None else measure(k)
    if k is not None:
        at_k = ", ".join(repr(other.name) for other in MEASURES.values() if issubclass(other, MeasureAtK))
        raise InputError(f"measure {name!r} looks at the whole list: leave k out (it is for {at_k})")
    return measure()
