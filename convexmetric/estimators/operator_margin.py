"""Operator-valued large-margin classifiers (Maurer 2008) as an estimator."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from convexmetric.errors import InputError
from convexmetric.estimators.pairs import PairEstimator, both_kinds
from convexmetric.papers import PairMarginProblem
from convexmetric.problem import MetricProblem

#: Number of points up to which all pairs are taken by default, and number of pairs drawn beyond it.
ALL_PAIRS_UP_TO, MANY_PAIRS = 8_000, 200_000


class OperatorMarginMetric(PairEstimator):
    """An operator under which similar points are nearer than 1, and others farther, by a margin.

    ``fit(pairs, y)`` takes +1 for similar and -1 for dissimilar pairs. ``fit(X, y)`` takes labels: points of equal
    labels are similar.

    Parameters
    ----------
    n_pairs : int, optional
        Pairs drawn from labels; by default all, which are never listed, while there are at most 32 million of them
        (8,000 points), and 200,000 of more: ``print(solution_.problem)`` says which.
    balanced : bool
        Whether similar and dissimilar pairs from labels weigh the same in sum, or are equally likely to be drawn.
    reg : float
        lambda; the norm has the weight lambda / sqrt(m).
    margin : float or (float, float)
        gamma, or the margins of similar and of dissimilar pairs.
    penalty : str
        ``"frobenius"`` or ``"trace"``.
    kernel : str or callable, optional
        ``"linear"``, ``"rbf"``, ``"unit-rbf"``, or a function of two point matrices. ``components_`` then act on
        coordinates in the span of the points' differences, which ``embedding_`` gives.
    n_components : int, "rank" or None
        Rows of ``components_``, the leading directions of the metric: None for all dimensions, so that transforms
        of all folds have the same width; ``"rank"`` for as many as the metric has rank.
    solver, tol, max_iter, max_seconds, progress, preprocessor
        As for :class:`MLR`; the paper's own way is ``"stochastic-factors"``.
    random_state : int, RandomState, Generator or None
        Seed or generator for draws and stochastic solvers. A fixed seed by default, so fits repeat; None draws anew.
    """

    _stronger = "lower reg"
    _takes_sparse = True
    weight = "reg"

    def __init__(
        self,
        *,
        n_pairs: int | None = None,
        balanced: bool = True,
        reg: float = 0.005,
        margin: Any = 1.0,
        penalty: str = "frobenius",
        kernel: Any = None,
        solver: Any = "exact",
        tol: float = 1e-4,
        max_iter: int | None = None,
        max_seconds: float | None = None,
        progress: bool | int = False,
        random_state: Any = 0,
        preprocessor: Any = None,
        n_components: int | str | None = None,
    ) -> None:
        self.n_pairs = n_pairs
        self.balanced = balanced
        self.reg = reg
        self.margin = margin
        self.penalty = penalty
        self.kernel = kernel
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.progress = progress
        self.random_state = random_state
        self.preprocessor = preprocessor
        self.n_components = n_components

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from pairs, or from points and labels.

        Parameters
        ----------
        X : (n, 2, d) array, or (n, 2) indices with a ``preprocessor``
            Pairs. Or points (n, d), dense or sparse, or (n,) indices of points with a ``preprocessor``.
        y : (n,) array
            +1 and -1, one a pair. Or labels, one a point.
        sample_weight : (n,) array, optional
            Weights of pairs. Points with labels have none: their pairs weigh the same, but for ``balanced``.

        Raises
        ------
        InputError
            If an argument or a parameter is malformed, or one kind of pairs is missing.
        """
        rng = self._begin()
        self._learn(self._stated(X, y, rng, sample_weight), rng)
        self.threshold_ = 1.0
        return self._finished()

    def _stated(self, X: Any, y: Any, rng: np.random.Generator, sample_weight: Any = None) -> PairMarginProblem:
        options = {name: getattr(self, name) for name in ("reg", "margin", "penalty", "kernel")}
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
