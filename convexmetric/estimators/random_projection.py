"""Metrics of large graphs by random projection as an estimator."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from convexmetric.arguments import check_count
from convexmetric.comparisons.points import as_rows
from convexmetric.errors import InputError
from convexmetric.estimators.base import parameters
from convexmetric.estimators.triplets import TripletEstimator
from convexmetric.features import make_projection
from convexmetric.papers import TripletProblem
from convexmetric.problem import MetricProblem


@parameters
class RandomProjectionMetric(TripletEstimator):
    """A metric on randomly projected points under which triplets keep a margin.

    ``fit(triplets)`` takes rows (i, j, k): i is closer to j than to k. ``fit(X, y)`` combines neighbours of the same
    label with neighbours of other labels, which are never listed. ``fit_graph(X, adjacency)`` combines links with
    missing links. The metric acts on the features as given, ``components_`` = R^(1/2) L.

    Parameters
    ----------
    projection : str or None
        ``"gaussian"``, ``"uniform"`` (the paper's), ``"sparse"``, ``"orthonormal"`` or ``"pca"``; None for no
        projection.
    n_components : int
        Features after projection. Points with no more features than that are not projected.
    n_same, n_other : int or None
        Neighbours of each point by Euclidean distance, of its label and of others; None for all.
    reg : float or "auto"
        lambda, the weight of half the squared norm. ``"auto"`` is a hundredth of the lambda from which on all triplets
        violate their margin (:attr:`TripletProblem.reg_max`).
    margin : float
        xi: difference of the squared distances to the negative and to the positive.
    intra, inter : float
        Weights of the mean distance of pairs with positives, and of (minus) that of pairs with negatives.
    diagonal : bool
        Learn weights of the (projected) features.
    penalty : str
        ``"squared-frobenius"``, or ``"trace"``.
    solver, tol, max_iter, max_seconds, progress, preprocessor, backend
        As for :class:`MLR`; the paper's own method is ``"stochastic-batch"``.
    random_state : int, RandomState, Generator or None
        Seed or generator for projection and stochastic solvers. A fixed seed by default: fits repeat; None draws anew.

    Attributes
    ----------
    projection_ : Projection or None
        The projection applied to points.
    reg_ : float
        lambda.
    """

    _stronger = "lower reg"
    _takes_sparse = True
    weight = "reg"

    projection: str | None = "gaussian"
    n_components: int = 300
    n_same: int | None = 10
    n_other: int | None = 10
    reg: float | str = "auto"
    margin: float = 1.0
    intra: float = 0.0
    inter: float = 0.0
    diagonal: bool = False
    penalty: str = "squared-frobenius"
    backend: Any = None

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from triplets, or from points and labels.

        Points whose label no other point has are left out, with a warning.

        Parameters
        ----------
        X : (n, 3, d) array, or (n, 3) indices with a ``preprocessor``
            Triplets. Or points (n, d), dense or sparse, or (n,) indices of points with a ``preprocessor``.
        y : (n,) array, optional
            Labels of points.
        sample_weight : (n,) array, optional
            Weights of the triplets; of points those of the triplets of which each is the i. Without ``intra`` and
            ``inter``.

        Raises
        ------
        InputError
            If an argument or a parameter is malformed, or the labels make no triplet.
        """
        rng = self._begin()
        return self._learn(self._stated(X, y, rng, sample_weight), rng)._finished()

    def _stated(self, X: Any, y: Any, rng: np.random.Generator, sample_weight: Any = None) -> TripletProblem:
        if self._are_tuples(X):
            points, rows = self._listed(X, y)
            weights = self._part_weights(sample_weight, len(rows), "triplet")
            points, options = self._projected(points, rng)
            return self._weighed(TripletProblem(points, rows, **options, weights=weights))
        points, labels, weights = self._with_class_mates(self._points(X, reset=True), y, sample_weight)
        points, options = self._projected(points, rng)
        options["weights"] = weights
        problem = TripletProblem.from_labels(points, labels, n_same=self.n_same, n_other=self.n_other, **options)
        return self._weighed(problem)

    def fit_graph(self, X: Any, adjacency: Any, sample_weight: Any = None) -> Self:
        """Learn from a graph: a point is closer to those it is linked to than to all others.

        Parameters
        ----------
        X : (n, d) array or sparse matrix
        adjacency : (n, n) array or sparse matrix
            Ones for links.
        sample_weight : (n,) array, optional
            Weights of the triplets of which each point is the i. Without ``intra`` and ``inter``.

        Raises
        ------
        InputError
            If an argument or a parameter is malformed, or the graph makes no triplet.
        """
        rng = self._begin()
        points, options = self._projected(self._points(X, reset=True), rng)
        weights = self._part_weights(sample_weight, points.shape[0], "point")
        problem = TripletProblem.from_graph(points, adjacency, **options, weights=weights)
        return self._learn(self._weighed(problem), rng)._finished()

    def weights(self, problem: MetricProblem) -> tuple[float, ...]:
        """Values of reg to try: multiples of :attr:`TripletProblem.reg_max`, from which on all margins are violated.

        With the trace, for which ``reg_max`` is not known, 10 to 0.001.
        """
        if not isinstance(problem, TripletProblem) or self.penalty == "trace":
            return (10.0, 1.0, 0.1, 0.01, 0.001)
        return tuple(share * (problem.reg_max or 1.0) for share in (0.5, 0.1, 0.01, 1e-3, 1e-4))

    def _rows(self, problem: MetricProblem) -> int:
        """All rows: ``n_components`` is the number of projected features, the largest rank of the metric."""
        return self._full_width(problem)

    def _projected(self, points: Any, rng: np.random.Generator) -> tuple[Any, dict[str, Any]]:
        """Make the projection, sparse points dense where needed, and the options of the problem."""
        n, d = points.shape
        count = self.n_components
        check_count(count, "n_components")
        if isinstance(self.reg, str) and self.reg == "auto" and self.penalty == "trace":
            raise InputError("reg='auto' is made for the squared norm; with penalty='trace' give a number")
        self.projection_ = None
        if self.projection is not None and count < d:
            r = min(count, n - 1) if self.projection == "pca" else count
            self.projection_ = make_projection(self.projection, points, r, random_state=rng)
        elif not self.diagonal:
            points = as_rows(points)
        options = self._options("margin", "intra", "inter", "diagonal", "penalty")
        return points, {**options, "projection": self.projection_, "reg": 1.0 if self.reg == "auto" else self.reg}

    def _weighed(self, problem: TripletProblem) -> TripletProblem:
        """Copy the problem with the lambda that was asked for, ``reg_``; ``"auto"`` is a share of ``reg_max``."""
        if isinstance(self.reg, str):
            # reg_max is zero where the zero metric is optimal for every lambda.
            largest = problem.reg_max
            problem = problem.with_reg(0.01 * largest if largest > 0.0 else 1.0)
        self.reg_ = problem.reg
        return problem
