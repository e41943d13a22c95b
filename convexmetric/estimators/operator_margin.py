"""Operator-valued large-margin classifiers (Maurer 2008) as an estimator."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import roc_auc_score
from sklearn.utils.validation import check_is_fitted

from convexmetric.arguments import is_real, shown
from convexmetric.arrays import Array
from convexmetric.comparisons.pairs import pair_signs
from convexmetric.errors import InputError
from convexmetric.estimators.base import MetricEstimator, parameters
from convexmetric.evaluation import roc_area
from convexmetric.papers import PairMarginProblem
from convexmetric.problem import MetricProblem

#: Number of points up to which all pairs are taken by default, and number of pairs drawn beyond it.
ALL_PAIRS_UP_TO, MANY_PAIRS = 8_000, 200_000


@parameters
class OperatorMarginMetric(MetricEstimator):
    r"""An operator under which similar points are nearer than 1, and others farther, by a margin.

    .. math:: \min_{A \succeq 0} \; \frac1m \sum_{i=1}^m \max \Big( 0, \;
       1 - \frac{r_i}{\gamma} \big( 1 - \langle Q_{x_i - x'_i}, A \rangle \big) \Big)
       + \frac{\lambda}{\sqrt m} \|A\|_2

    This is :class:`~convexmetric.PairMarginProblem`: Maurer (2008), with :math:`\langle Q_{x - x'}, A \rangle` the
    squared distance (lemma 3).

    ``fit(pairs, y)`` takes +1 for similar and -1 for dissimilar pairs. ``fit(X, y)`` takes labels: points of equal
    labels are similar.

    Parameters
    ----------
    n_pairs : int, optional
        Pairs drawn from labels; by default all, which are never listed, while there are at most 32 million of them
        (8,000 points), and 200,000 of more: ``print(solution_.problem)`` shows which.
    balanced : bool
        Whether similar and dissimilar pairs from labels have the same total weight, or are equally likely to be drawn.
    reg : float
        lambda; the norm has the weight lambda / sqrt(m).
    margin : float or (float, float)
        gamma, or the margins of similar and of dissimilar pairs.
    penalty : str
        ``"frobenius"`` or ``"trace"``.
    kernel : str or callable, optional
        ``"linear"``, ``"rbf"``, ``"unit-rbf"``, or a function of two point matrices. ``components_`` then act on
        coordinates in the span of the points' differences, which ``embedding_`` gives.
    prior : "identity" or array, optional
        A metric known beforehand: half the squared distance to it takes the place of the norm.
    n_components : int, "rank" or None
        Rows of ``components_``, the leading directions of the metric: None for all dimensions, so that transforms
        of all folds have the same width; ``"rank"`` for as many as the metric has rank.
    solver, tol, max_iter, max_seconds, progress, preprocessor
        As for :class:`MLR`; the paper's own method is ``"stochastic-factors"``.
    random_state : int, RandomState, Generator or None
        Seed or generator for draws and stochastic solvers. A fixed seed by default, so fits repeat; None draws anew.

    Attributes
    ----------
    threshold_ : float
        Distance up to which a pair counts as similar: 1, the unit of the paper's operators, until
        :meth:`calibrate_threshold` chooses another.
    """

    _otherwise = "; pairs have shape (n, 2, d), or (n, 2) with a preprocessor, and a sign each"
    _stronger = "lower reg"
    _takes_sparse = True
    weight = "reg"

    n_pairs: int | None = None
    balanced: bool = True
    reg: float = 0.005
    margin: Any = 1.0
    penalty: str = "frobenius"
    kernel: Any = None
    prior: Any = None

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from pairs, or from points and labels.

        Parameters
        ----------
        X : (n, 2, d) array, or (n, 2) indices with a ``preprocessor``
            Pairs. Or points (n, d), dense or sparse, or (n,) indices of points with a ``preprocessor``.
        y : (n,) array
            +1 and -1, one a pair. Or labels, one a point.
        sample_weight : (n,) array, optional
            Weights of pairs. Not for points with labels, whose pairs weigh the same up to ``balanced``.

        Raises
        ------
        InputError
            If an argument or a parameter is malformed, or one kind of pairs is missing.
        """
        rng = self._begin()
        self.threshold_ = 1.0
        return self._learn(self._stated(X, y, rng, sample_weight), rng)._finished()

    def _stated(self, X: Any, y: Any, rng: np.random.Generator, sample_weight: Any = None) -> PairMarginProblem:
        options = self._options("reg", "margin", "penalty", "kernel", "prior")
        if self._are_tuples(X):
            points, rows = self._tuples(X, 2, reset=True)
            weights = self._part_weights(sample_weight, len(rows), "pair")
            return PairMarginProblem(points, rows, both_kinds(y, len(rows)), **options, weights=weights)
        if sample_weight is not None:
            raise InputError(
                "sample_weight is of pairs, and those that labels make have none: leave it out, or list pairs, such as "
                "those of balanced_pairs"
            )
        points = self._points(X, reset=True)
        labels = self._labels(points, y)
        # None for all pairs.
        count = MANY_PAIRS if self.n_pairs is None and len(labels) > ALL_PAIRS_UP_TO else self.n_pairs
        return PairMarginProblem.from_labels(
            points, labels, n_pairs=count, balanced=self.balanced, random_state=rng, **options
        )

    def weights(self, problem: MetricProblem) -> tuple[float, ...]:
        """Values of reg to try: 0.5 to 0.0005, around the paper's 0.005."""
        return (0.5, 0.05, 0.005, 0.0005)

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
        """Area under the ROC curve: the chance that a similar pair is nearer than a dissimilar one, ties counted half.

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
        """Set the threshold of :meth:`predict`.

        Raises
        ------
        InputError
            If it is not a finite number.
        """
        check_is_fitted(self)
        if not (is_real(threshold) and np.isfinite(threshold)):
            raise InputError(f"threshold must be a finite number, got {shown(threshold)}")
        self.threshold_ = float(threshold)
        return self

    def calibrate_threshold(self, pairs_valid: Any, y_valid: ArrayLike) -> Self:
        """Choose the threshold that classifies the most pairs correctly; the pairs should not be those of the fit.

        Every distinct threshold is tried: halfway between consecutive distances, below the smallest and at the largest.
        For any other criterion, pass minus a threshold from ``sklearn.metrics.roc_curve`` of :meth:`decision_function`
        to :meth:`set_threshold`.

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
    """The threshold of :meth:`OperatorMarginMetric.calibrate_threshold`; r is +1 for similar, -1 for other pairs."""
    values, place = np.unique(distances, return_inverse=True)
    # Pairs that each threshold gets right, less the dissimilar ones; the first threshold accepts no pair.
    right = np.r_[0.0, np.cumsum(np.bincount(place.ravel(), r, values.size))]
    middle = values[:-1] + 0.5 * np.diff(values)
    between = np.where(middle < values[1:], middle, values[:-1])
    thresholds = np.r_[np.nextafter(values[0], -np.inf), between, values[-1]]
    return float(thresholds[np.argmax(right)])


def both_kinds(y: Any, m: int) -> Array:
    """Check that there are similar and dissimilar pairs; returns +1 and -1."""
    if y is None:
        raise InputError("pairs need y: +1 for similar and -1 for dissimilar ones")
    r = pair_signs(y, m)
    if not ((r > 0.0).any() and (r < 0.0).any()):
        raise InputError("y must hold both +1 (similar) and -1 (dissimilar) to tell one kind from the other")
    return r
