"""Searches along a line: halving an interval, the maximum of a concave function, steps that are shortened.

They are written out here because loading ``scipy.optimize`` takes longer than most of these searches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

#: A step is accepted where the objective changes by this fraction of what the slope predicts (Armijo 1966).
SUFFICIENT = 1e-4

#: A place on the line, the value of a function there and its slope.
Point = tuple[float, float, float]


def last_true(
    holds: Callable[[float], bool], low: float, high: float, halvings: int = 60, near: float = 0.0
) -> tuple[float, float]:
    """Bisect an interval with ``holds(low)`` and not ``holds(high)``; returns the final (low, high).

    At most ``halvings`` times; stops when no float lies between the ends, or ``high - low <= near * high``.
    """
    for _ in range(halvings):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        low, high = (middle, high) if holds(middle) else (low, middle)
        if high - low <= near * high:
            break
    return low, high


def concave_maximum(
    at: Callable[[float], tuple[float, float]], left: Point, right: Point, evaluations: int, near: float
) -> tuple[float, float, float]:
    """Maximise a concave function between a point where it rises and one where it does not.

    The next point is where the tangents at both ends meet, which also gives an upper bound. Where that is slow (many
    bends, or none), the middle of the interval and the maximum of a parabola are tried as well.

    Parameters
    ----------
    at : callable
        Gives value and slope. Outside of its domain the value is minus infinity, and the slope, an infinite one, points
        to the domain.
    left, right : tuple
        Place, value and slope.
    evaluations : int
        Largest number of evaluations.
    near : float
        Relative tolerance: stops when bound - value is at most this fraction of the value.

    Returns
    -------
    place, value, bound : float
        Where the largest value was found, that value, and an upper bound on the maximum.
    """
    place, best, _ = left if left[1] >= right[1] else right
    if left[2] <= 0.0:
        return place, best, best
    bound = np.inf
    for evaluation in range(evaluations):
        (a, at_a, rise), (b, at_b, fall) = left, right
        middle = t = 0.5 * (a + b)
        if np.isfinite(at_a) and np.isfinite(at_b):
            meet = (at_b - at_a + rise * a - fall * b) / (rise - fall)
            bound = max(best, min(bound, at_a + rise * (meet - a)))
            if bound - best <= near * abs(best):
                break
            if evaluation % 2 == 0:
                t = meet
            elif evaluation % 4 == 1:
                # Maximum of the parabola with these slopes at the ends.
                t = a + rise * (b - a) / (rise - fall)
        if not a < t < b:
            t = middle
        if not a < t < b:
            break
        value, slope = at(t)
        if value >= best:
            place, best = t, value
        left, right = (left, (t, value, slope)) if slope <= 0.0 else ((t, value, slope), right)
    return place, best, bound


def shortened(factor: float, shortest: float, step: float = 1.0) -> Iterator[float]:
    """Yield trial steps: ``step`` always, then ``factor * step``, and so on, down to the shortest."""
    yield step
    while (step := factor * step) >= shortest:
        yield step
