"""Base of estimators learned from pairs: they predict similar or not, by a threshold on the distance."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import roc_auc_score
from sklearn.utils.validation import check_is_fitted

from convexmetric.arguments import is_real
from convexmetric.arrays import Array
from convexmetric.comparisons.pairs import pair_signs
from convexmetric.errors import InputError
from convexmetric.estimators.base import MetricEstimator
from convexmetric.evaluation import roc_area

__all__ = ["PairEstimator"]


class PairEstimator(MetricEstimator):
    """Base of metrics that are learned from similar and dissimilar pairs.

    Attributes
    ----------
    threshold_ : float
        Distance up to which a pair counts as similar: 1, the unit of the paper's operators, until
        :meth:`calibrate_threshold` chooses another.
    """

    _otherwise = "; pairs have shape (n, 2, d), or (n, 2) with a preprocessor, and a sign each"
    threshold_: float

    def decision_function(self, pairs: Any) -> Array:
        """``(n,)`` scores that grow with similarity: :meth:`pair_score`.

        Parameters
        ----------
        pairs : (n, 2, d) array, or (n, 2) indices with a ``preprocessor``
        """
        return self.pair_score(pairs)

    def predict(self, pairs: Any) -> NDArray[np.int64]:
        """``(n,)``: 1 for pairs at most ``threshold_`` apart, -1 for others."""
        return np.where(self.pair_distance(pairs) <= self.threshold_, 1, -1).astype(np.int64)

    def score(self, X: Any, y: Any = None) -> float:
        """Area under the ROC curve: the chance that a similar pair is nearer than a dissimilar one, ties half.

        Parameters
        ----------
        X : (n, 2, d) array, or (n, 2) indices with a ``preprocessor``
            Pairs. Or (n, d) points, of which all pairs count, similar if their labels are equal.
        y : (n,) array
            +1 and -1, one a pair. Or labels, one a point.
        """
        if self._are_tuples(X):
            distances = self.pair_distance(X)
            return float(roc_auc_score(both_kinds(y, distances.size), -distances))
        images = self._transformed(X)
        return roc_area(None, images, self._scored_labels(images, y))

    def set_threshold(self, threshold: float) -> Self:
        """Take a threshold for :meth:`predict`.

        Raises
        ------
        InputError
            If it is not a finite number.
        """
        check_is_fitted(self)
        if not (is_real(threshold) and np.isfinite(threshold)):
            raise InputError(f"threshold must be a finite number, got {threshold!r}")
        self.threshold_ = float(threshold)
        return self

    def calibrate_threshold(self, pairs_valid: Any, y_valid: ArrayLike) -> Self:
        """Choose the threshold that gets the most pairs right, which should not be those of the fit.

        Every threshold that treats the pairs differently is tried: halfway between distances that follow each other,
        below the smallest and at the largest. For any other aim, take one from ``sklearn.metrics.roc_curve`` of
        :meth:`decision_function`, with a minus, to :meth:`set_threshold`.

        Parameters
        ----------
        pairs_valid : (n, 2, d) array, or (n, 2) indices with a ``preprocessor``
        y_valid : (n,) array
            +1 and -1, both present.

        Raises
        ------
        InputError
            If an argument is malformed, or one kind of pairs is missing.
        """
        distances = self.pair_distance(pairs_valid)
        return self.set_threshold(best_threshold(distances, both_kinds(y_valid, distances.size)))


def best_threshold(distances: Array, r: Array) -> float:
    """Choose a threshold as :meth:`PairEstimator.calibrate_threshold` does; r is +1 for similar, -1 for other pairs."""
    values, place = np.unique(distances, return_inverse=True)
    # Pairs that each threshold gets right, less the dissimilar ones; the first threshold accepts no pair.
    right = np.r_[0.0, np.cumsum(np.bincount(place.ravel(), r, values.size))]
    middle = values[:-1] + 0.5 * np.diff(values)
    between = np.where(middle < values[1:], middle, values[:-1])
    thresholds = np.r_[np.nextafter(values[0], -np.inf), between, values[-1]]
    return float(thresholds[np.argmax(right)])


def both_kinds(y: Any, m: int) -> Array:
    if y is None:
        raise InputError("pairs need y: +1 for similar and -1 for dissimilar ones")
    r = pair_signs(y, m)
    if not ((r > 0.0).any() and (r < 0.0).any()):
        raise InputError("y must hold both +1 (similar) and -1 (dissimilar) to tell one kind from the other")
    return r
