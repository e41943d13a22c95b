"""The weight of an estimator, chosen by nearest-neighbour accuracy on held-out rows.

Every fold is one path of solves over all values (:func:`~convexmetric.solve_path`), each of which starts from the
results of the one before; the estimator is then fitted to all rows with the best value.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted, validate_data

from convexmetric.arguments import check_count, check_seconds
from convexmetric.arrays import Array
from convexmetric.deadline import Clock, OutOfTime, until_deadline
from convexmetric.errors import InputError
from convexmetric.estimators.base import MetricEstimator, parameters
from convexmetric.estimators.scikit_learn import BaseEstimator, MetaEstimatorMixin, TransformerMixin
from convexmetric.evaluation import SimilarityOperator
from convexmetric.selection import Validation, solve_path
from convexmetric.selection.folds import Trial, dealt, first_best, stratified_sample, validated
from convexmetric.selection.records import LARGEST_GAP
from convexmetric.selection.rows import factor_of, row_scores

#: Share of the time limit for the choice; the fit has the rest.
CHOICE = 0.3


@parameters
class WeightSearch(MetaEstimatorMixin, TransformerMixin, BaseEstimator):
    """An estimator with its weight chosen by cross-validation, on points with labels.

    Parameters
    ----------
    estimator : MetricEstimator
        :class:`MLR` or :class:`RelativeComparisonMetric`, whose C is chosen, or :class:`RandomProjectionMetric` or
        :class:`OperatorMarginMetric`, whose reg is. :class:`LargeMargin` has no such weight.
    values : sequence of float, optional
        Values to try. By default four or five, each about ten times the one before or a tenth, as given by the
        estimator's ``weights(problem)``; a weight that depends on the number of comparisons is scaled with it.
    cv : int
        Folds, stratified by label.
    n_neighbors : int
        k of the deciding accuracy; ties go to the strongest regularization.
    max_rows : int, optional
        Choose on a stratified sample of this many rows.
    tol : float
        Certified relative gap of the solves of the choice; the final fit has the estimator's own.
    max_seconds : float, optional
        Time limit of the whole fit, at most three tenths of it for the choice.
    progress : bool
        Show a progress bar of the choice on standard error.
    random_state : int
        Seed of folds and sample.

    Attributes
    ----------
    path_ : Validation or None
        Values and accuracies; None where none was solved in time, or Ctrl-C ended the choice. A value with a certified
        relative gap above 0.5 is not chosen.
    reason_ : str
        Why no weight was chosen, so that the estimator has its own; empty if one was chosen.
    estimator_ : MetricEstimator
        Fitted to all rows with the best value.

    Examples
    --------
    >>> import convexmetric as cm
    >>> data = cm.datasets.load("wine")
    >>> X = cm.datasets.preprocess(data.X, ["zscore"])
    >>> search = cm.WeightSearch(cm.MLR(tol=1e-2), values=[1.0, 10.0, 100.0]).fit(X, data.y)
    >>> search.estimator_.C == search.path_.best
    True
    """

    estimator: Any = field(kw_only=False)
    values: Sequence[float] | None = None
    cv: int = 3
    n_neighbors: int = 3
    max_rows: int | None = None
    tol: float = 1e-2
    max_seconds: float | None = None
    progress: bool = False
    random_state: int = 0

    def fit(self, X: Any, y: Any) -> Self:
        """Choose the weight, then learn from all rows.

        Parameters
        ----------
        X, y : (n, d) array and (n,) labels

        Raises
        ------
        InputError
            If an argument is malformed, or the estimator has no weight to choose.
        KeyboardInterrupt
            At Ctrl-C. During the choice, the estimator is first fitted with its own weight; a second Ctrl-C ends that
            fit.
        """
        if not isinstance(self.estimator, MetricEstimator):
            raise InputError(f"estimator must be an estimator of metrics, got {type(self.estimator).__name__}")
        name = self.estimator.weight
        if name is None:
            raise InputError(f"{type(self.estimator).__name__} has no weight to choose: fit it as it is")
        check_seconds(self.max_seconds, "max_seconds")
        clock = Clock(self.max_seconds)
        points = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        labels = self.estimator._labels(points, y)
        self.path_: Validation | None = None
        self.reason_, interrupted = "", False
        try:
            with clock.until(CHOICE):
                path = self._chosen(name, points, np.unique(labels, return_inverse=True)[1], clock)
            if not path.solved.any():
                raise OutOfTime
            self.path_ = path
        except OutOfTime:
            self.reason_ = f"not enough time: the choice of {name} takes more than {clock.spent:.0f} s"
        except KeyboardInterrupt:
            self.reason_, interrupted = f"interrupted while {name} was chosen", True
        # Set before it is fitted: after Ctrl-C it holds the best metric so far.
        self.estimator_ = clone(self.estimator).set_params(**(self.path_.settings if self.path_ else {}))
        if self.max_seconds is not None:
            self.estimator_.set_params(max_seconds=clock.left())
        self.estimator_.fit(points, labels)
        if interrupted:
            raise KeyboardInterrupt
        return self

    def transform(self, X: Any) -> Array:
        """Transform points with the fitted estimator."""
        check_is_fitted(self, "estimator_")
        return np.asarray(self.estimator_.transform(validate_data(self, X, reset=False, dtype=np.float64)))

    def _chosen(self, name: str, points: Array, labels: np.ndarray, clock: Clock) -> Validation:
        n = len(points)
        kept = np.arange(n)
        if self.max_rows is not None:
            check_count(self.max_rows, "max_rows")
            kept = stratified_sample(labels, self.max_rows, self.random_state)
        folds = [(kept[a], kept[b]) for a, b in dealt(points[kept], labels[kept], self.cv, 1, self.random_state)]
        values, score = self._values(points, labels), f"{self.n_neighbors}-NN accuracy"

        def found() -> Iterator[list[Trial]]:
            for fold, (learn, rest) in enumerate(until_deadline(folds)):
                limit = clock.left(CHOICE, len(values) * (len(folds) - fold))
                A, y = points[learn], labels[learn]
                problem = self.estimator.problem(A, y)
                weights: dict[str, Any] = {name: self._values(A, y, problem)}
                trials = []
                for solution in solve_path(problem, **weights, tol=self.tol, max_seconds=limit):
                    operator = SimilarityOperator(factor_of(solution), problem.embedding)
                    Z, queries = operator.transform(A), operator.transform(points[rest])
                    right = row_scores(Z, y, queries, labels[rest], self.n_neighbors, ranked=0)[0]
                    trials.append(({score: float(right.mean())}, solution.gap))
                yield trials

        # Warnings of folds are dropped: the fit warns of its own rows, and ``path_`` has the gaps.
        with warnings.catch_warnings(action="ignore", category=UserWarning):
            scores, gaps = validated(found(), len(folds), self.progress, f"choice of {name}")
        index = first_best(scores[score], (gaps <= LARGEST_GAP).all(axis=1))
        candidates = tuple((value,) for value in values)
        return Validation((name,), candidates, scores, gaps, index, len(kept), n, clock.spent)

    def _values(self, points: Array, labels: np.ndarray, problem: Any = None) -> list[float]:
        """Values of the weight to try: those given, or those that the estimator proposes for its problem."""
        if self.values is not None:
            if not len(self.values):
                raise InputError("values is empty; give at least one to try")
            return [float(value) for value in self.values]
        return list(self.estimator.weights(self.estimator.problem(points, labels) if problem is None else problem))
