"""Dual points of risks over lists as certificate files hold them: metrics at which slopes or rankings are taken.

Multipliers of listed pairs are written as exceptions (pairs with slopes of their own) at the zero metric.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from convexmetric.arrays import Array
from convexmetric.comparisons import Rankings
from convexmetric.described import Described


def witnesses(dual: Any, rankings: Rankings, most: Array) -> Described:
    """Convert any dual point to hints; ``most`` bounds the multipliers of a query's pairs, for every query."""
    if isinstance(dual, np.ndarray):
        return _exceptions(dual, rankings, most)
    found = dual.hints(len(rankings))
    assert isinstance(found, Described)
    return found


def alone(parts: int) -> dict[str, np.ndarray]:
    """Weights and groups for a single witness that has the whole weight."""
    return {"weights": np.ones((1, 1)), "groups": np.zeros(parts, dtype=np.int64)}


def _exceptions(multipliers: Array, rankings: Rankings, most: Array) -> Described:
    """Write multipliers, ordered by query, positive and negative, as exceptions; places are positions in the lists."""
    places, slopes, first = [], [], 0
    for q in range(len(rankings)):
        positives, start, stop, negatives, begin, end = rankings.relevance.lists(np.array([q]))
        by_positives, by_negatives = np.argsort(positives[start[0] : stop[0]]), np.argsort(negatives[begin[0] : end[0]])
        i, j = (part.ravel() for part in np.meshgrid(by_positives, by_negatives, indexing="ij"))
        places.append(np.column_stack([np.full(i.size, q), i, j]))
        slopes.append(np.clip(multipliers[first : first + i.size] / most[q], 0.0, 1.0))
        first += i.size
    arrays = {
        "witnesses": rankings.cone.zeros()[None],
        "widths": np.zeros(1),
        "exceptions": np.concatenate(places),
        "exception_slopes": np.concatenate(slopes),
    }
    return Described({"kind": "witnesses"}, arrays | alone(len(rankings)))
