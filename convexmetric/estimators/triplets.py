"""Base of estimators learned from triplets: they predict which of two points is nearer to a third."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from convexmetric.arrays import Array
from convexmetric.comparisons.pairs import label_codes
from convexmetric.errors import InputError
from convexmetric.estimators.base import MetricEstimator
from convexmetric.evaluation import listed_squared_distances, squared_distances

__all__ = ["TripletEstimator", "triplet_accuracy"]

#: Number of points whose distances to all others are held in memory at a time.
BLOCK = 256


class TripletEstimator(MetricEstimator):
    """Base of metrics that are learned from triplets (i, j, k): i is closer to j than to k."""

    _otherwise = "; triplets have shape (n, 3, d), or (n, 3) with a preprocessor"

    def decision_function(self, triplets: Any) -> Array:
        """``(n,)`` margins ``d(i, k) - d(i, j)`` of learned distances: positive where i is closer to j.

        Parameters
        ----------
        triplets : (n, 3, d) array, or (n, 3) indices with a ``preprocessor``
        """
        points, rows = self._tuples(triplets, 3)
        images = self._images(points)
        positives, negatives = (np.sqrt(listed_squared_distances(images, rows[:, [0, place]])) for place in (1, 2))
        return np.asarray(negatives - positives)

    def predict(self, triplets: Any) -> NDArray[np.int64]:
        """``(n,)``: 1 where i is closer to j than to k, -1 where it is farther, 0 where both are equally far."""
        return np.sign(self.decision_function(triplets)).astype(np.int64)

    def score(self, X: Any, y: Any = None) -> float:
        """Share of triplets that the metric orders correctly, ties counted half.

        Parameters
        ----------
        X : (n, 3, d) array, or (n, 3) indices with a ``preprocessor``
            Triplets. Or (n, d) points, of which all triplets of the labels count, without being listed.
        y : (n,) array, optional
            Labels of points.
        """
        if self._are_tuples(X):
            refuse_y(y)
            return float(0.5 + 0.5 * self.predict(X).mean())
        images = self._transformed(X)
        return triplet_accuracy(images, self._scored_labels(images, y))

    def _listed(self, triplets: Any, y: Any) -> tuple[Any, np.ndarray]:
        """Resolve triplets to points and ``(T, 3)`` row numbers; refuses a ``y``."""
        refuse_y(y)
        return self._tuples(triplets, 3, reset=True)


def refuse_y(y: Any) -> None:
    """Refuse labels of triplets: the order (i, j, k) already says that j is nearer to i than k."""
    if y is not None:
        raise InputError(
            "y is for labels of points; triplets (i, j, k) say by their order that i is closer to j "
            "(points are two-dimensional; with a preprocessor they are given by index, one-dimensional)"
        )


def triplet_accuracy(images: Array, y: Any) -> float:
    """Share of all triplets with labels y_i = y_j != y_k and ``||x_i - x_j|| < ||x_i - x_k||``, ties counted half.

    Every point's distances to its own class and to the others are sorted; nothing is listed.

    Raises
    ------
    InputError
        If the labels make no triplet.
    """
    codes = label_codes(y, images.shape[0])
    right = total = 0
    for first in range(0, images.shape[0], BLOCK):
        for row, distances in enumerate(squared_distances(images[first : first + BLOCK], images), start=first):
            same = codes == codes[row]
            negatives = np.sort(distances[~same])
            same[row] = False
            positives = distances[same]
            triplets = 2 * positives.size * negatives.size
            below = (np.searchsorted(negatives, positives, side).sum() for side in ("left", "right"))
            right += triplets - int(sum(below))
            total += triplets
    return right / total
