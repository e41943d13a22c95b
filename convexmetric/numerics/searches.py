"""Searches along a line: halving an interval, the maximum of a concave function, steps that are shortened.

A few lines each, as ``scipy.optimize`` takes longer to load than most of these searches take.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

#: A step is accepted where the objective changes by this share of what the slope promises (Armijo 1966).
SUFFICIENT = 1e-4

#: A place on the line, the value of a function there and its slope.
Point = tuple[float, float, float]


def last_true(
    holds: Callable[[float], bool], low: float, high: float, halvings: int = 60, near: float = 0.0
) -> tuple[float, float]:
    """Halve an interval at whose low end something holds and at whose high end it does not; the ends that are left.

    So often at most; fewer times where the ends are neighbours, or differ by no more than ``near`` of the high one.
    """
    for _ in range(halvings):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        low, high = (middle, high) if holds(middle) else (low, middle)
        if high - low <= near * high:
            break
    return low, high


def root(increasing: Callable[[float], float], flat: float, halvings: int) -> float:
    """Where in (0, 1] an increasing function is at most ``flat`` in size, about; 1 if it is not positive there."""
    if increasing(1.0) <= 0.0:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(halvings):
        t = 0.5 * (low + high)
        here = increasing(t)
        if abs(here) <= flat:
            break
        low, high = (t, high) if here < 0.0 else (low, t)
    return t


def concave_maximum(
    at: Callable[[float], tuple[float, float]], left: Point, right: Point, evaluations: int, near: float
) -> tuple[float, float, float]:
    """Where a concave function is largest between a point where it rises and one where it does not.

    Where the tangents of both sides meet is the next point, and an upper bound; for functions with many kinks, or
    none, an interval is halved as well, and a parabola taken.

    Parameters
    ----------
    at : callable
        Gives value and slope. Outside of its domain the value is minus infinity, and the slope, an infinite one, points
        to the domain.
    left, right : tuple
        Place, value and slope.
    evaluations : int
        So many at most.
    near : float
        Ends where the bound is above the value by no more than this share of its size.

    Returns
    -------
    place, value, bound : float
        The largest value found, where, and what it is at most.
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
                # Where a parabola with these slopes is largest.
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
    """Steps to try one after the other: ``step`` at any rate, ``factor`` of it, and so on, down to the shortest."""
    yield step
    while (step := factor * step) >= shortest:
        yield step
