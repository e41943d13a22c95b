"""Relative comparisons (Schultz & Joachims 2003) as an estimator."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from convexmetric.comparisons import triplets_from_labels
from convexmetric.estimators.base import parameters
from convexmetric.estimators.triplets import TripletEstimator
from convexmetric.papers import RelativeComparisonProblem
from convexmetric.problem import MetricProblem

#: Triplets drawn from labels by default: the number for each point, and the largest number in all.
TRIPLETS_A_POINT, MOST_TRIPLETS = 20, 200_000


@parameters
class RelativeComparisonMetric(TripletEstimator):
    r"""Weights of features, of columns of A or of points of a kernel, under which triplets keep a margin.

    .. math:: \min_{w \ge 0} \; \tfrac12 w^\top L w
       + C \sum_{ijk} \max \big( 0, \; 1 - w^\top (\Delta^{x_i, x_k} - \Delta^{x_i, x_j}) \big)

    This is :class:`~convexmetric.RelativeComparisonProblem`: Schultz & Joachims (2003), with the differences of
    equation 6.

    ``fit(triplets)`` takes rows (i, j, k): i is closer to j than to k. ``fit(X, y)`` draws triplets from labels.

    Parameters
    ----------
    n_triplets : int, optional
        Triplets drawn from labels: by default 20 a point, at most 200,000.
    C : float
        Weight of each violated margin; ``inf`` for hard margins.
    A : (d, m) array, optional
        Fixed linear map, one weight for each of its columns; the features themselves by default.
    kernel : str or callable, optional
        ``"linear"``, ``"rbf"``, or a function of two point matrices: one weight for each training point.
        ``components_`` then act on the kernel values with these, which ``embedding_`` gives.
    n_components : int, "rank" or None
        Rows of ``components_``, the leading directions of the metric: None for all weights, so that transforms
        of all folds have the same width; ``"rank"`` for as many as the metric has rank.
    solver, tol, max_iter, max_seconds, progress, preprocessor, backend
        As for :class:`MLR`.
    random_state : int, RandomState, Generator or None
        Seed or generator for draws and stochastic solvers. A fixed seed by default, so fits repeat; None draws anew.
    """

    weight = "C"
    _takes_sparse = True
    _by_feature = True

    n_triplets: int | None = None
    C: float = 1.0
    A: Any = None
    kernel: Any = None
    backend: Any = None

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from triplets, or from points and labels.

        Parameters
        ----------
        X : (n, 3, d) array, or (n, 3) indices with a ``preprocessor``
            Triplets. Or points (n, d), dense or sparse, or (n,) indices of points with a ``preprocessor``.
        y : (n,) array, optional
            Labels of points.
        sample_weight : (n,) array, optional
            Weights of the triplets; of points those of the triplets drawn of which each is the i. With finite C.

        Raises
        ------
        InputError
            If an argument or a parameter is malformed, or the labels make no triplet.
        InfeasibleError
            If hard margins are asked for and contradict each other.
        """
        rng = self._begin()
        return self._learn(self._stated(X, y, rng, sample_weight), rng)._finished()

    def _stated(self, X: Any, y: Any, rng: np.random.Generator, sample_weight: Any = None) -> RelativeComparisonProblem:
        if self._are_tuples(X):
            points, rows = self._listed(X, y)
            weights = self._part_weights(sample_weight, len(rows), "triplet")
        else:
            points = self._points(X, reset=True)
            labels = self._labels(points, y)
            count = min(TRIPLETS_A_POINT * len(labels), MOST_TRIPLETS) if self.n_triplets is None else self.n_triplets
            rows = triplets_from_labels(labels, count, random_state=rng)
            weights = self._part_weights(sample_weight, len(labels), "point")
            weights = None if weights is None else weights[rows[:, 0]]
        return RelativeComparisonProblem(points, rows, C=self.C, A=self.A, kernel=self.kernel, weights=weights)

    def weights(self, problem: MetricProblem) -> tuple[float, ...]:
        """Values of C to try: 0.1 to 1,000, divided by the number of triplets, over which the loss is a sum."""
        return tuple(C / problem.risk.parts for C in (0.1, 1.0, 10.0, 100.0, 1e3))

    def _full_width(self, problem: MetricProblem) -> int:
        """Largest rank of the metric; with ``A``, ``(d, m)``, the smaller one of d and m."""
        width = super()._full_width(problem)
        return width if self.A is None else min(width, int(self.n_features_in_))
