"""The weight of an estimator, chosen by the nearest-neighbour accuracy of held-out rows.

Every fold is one path of solves over all values (:func:`~convexmetric.solve_path`), each of which uses what the one
before found; the estimator is then fitted to all rows with the best value.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from convexmetric.arguments import check_count, check_seconds
from convexmetric.arrays import Array
from convexmetric.deadline import Clock, OutOfTime, until_deadline
from convexmetric.errors import InputError
from convexmetric.estimators.base import MetricEstimator
from convexmetric.estimators.held_out_rows import LARGEST_GAP, dealt, knn_accuracy
from convexmetric.evaluation import SimilarityOperator
from convexmetric.model_selection import progress_bar
from convexmetric.notebooks import facts_table
from convexmetric.solvers import solve_path

__all__ = ["WeightPath", "WeightSearch", "stratified_sample"]

#: Share of the time limit for the choice; the fit has the rest.
CHOICE = 0.3


@dataclass(frozen=True, repr=False)
class WeightPath:
    """Values of a weight that were tried, and how held-out rows fared.

    Attributes
    ----------
    name : str
        Of the weight: ``"C"`` or ``"reg"``.
    values : (w,) array
        From the simplest metric on.
    accuracy : (w, folds) array
        Nearest-neighbour accuracy of the rows held out.
    gaps : (w, folds) array
        Certified relative gaps of the solves; a value with one above 0.5 is not chosen.
    n_neighbors : int
        Of the accuracy.
    rows, of_rows : int
        Rows that were used, a stratified sample where there were more.
    seconds : float
        Wall time.
    """

    name: str
    values: Array
    accuracy: Array
    gaps: Array
    n_neighbors: int
    rows: int
    of_rows: int
    seconds: float = field(compare=False)

    @property
    def mean(self) -> Array:
        """Mean accuracy over folds of every value."""
        return np.asarray(self.accuracy.mean(axis=1))

    @property
    def std(self) -> Array:
        """Its standard deviation over folds (of a sample)."""
        return np.asarray(self.accuracy.std(axis=1, ddof=1))

    @property
    def solved(self) -> NDArray[np.bool_]:
        """``(w,)`` whether no gap is above 0.5: other values are not chosen."""
        return np.asarray((self.gaps <= LARGEST_GAP).all(axis=1))

    @property
    def index(self) -> int:
        """Place of the value with the highest mean; of several the first, with the simplest metric."""
        # A row counts alike in every sum, so that means that should be equal differ by rounding only.
        means = np.where(self.solved, self.mean, -np.inf)
        return int(np.argmax(means >= means.max() - 1e-12))

    @property
    def candidates(self) -> tuple[tuple[float], ...]:
        """The values, each as the parameters that it sets."""
        return tuple((float(value),) for value in self.values)

    @property
    def settings(self) -> dict[str, float]:
        """The parameter that was chosen."""
        return {self.name: self.best}

    @property
    def best(self) -> float:
        """The value chosen."""
        return float(self.values[self.index])

    def heading(self) -> str:
        """What was done, in a line."""
        of = "" if self.rows == self.of_rows else f", a stratified sample of {self.of_rows}"
        return (
            f"{self.name} = {self.best:g}, chosen by {self.n_neighbors}-NN accuracy in {self.accuracy.shape[1]} folds "
            f"({self.rows} rows{of})"
        )

    def cells(self) -> list[tuple[str, str, str]]:
        """Value, accuracy and remark of every value, as text."""
        said = [f"{mean:.4f} +- {std:.4f}" for mean, std in zip(self.mean, self.std, strict=True)]
        return [
            (
                f"{value:.4g}",
                said[at] if self.solved[at] else "not solved in time",
                "chosen" if at == self.index else "",
            )
            for at, value in enumerate(self.values)
        ]

    def __repr__(self) -> str:
        return f"<WeightPath: {self.heading()}>"

    def __str__(self) -> str:
        lines = [f"{value:>10}  {accuracy}  {remark}".rstrip() for value, accuracy, remark in self.cells()]
        return "\n".join([self.heading(), f"{self.name:>10}  accuracy", *lines])

    def _repr_html_(self) -> str:
        rows = [(value, f"{accuracy} {remark}") for value, accuracy, remark in self.cells()]
        return facts_table(self.heading(), rows)


class WeightSearch(MetaEstimatorMixin, TransformerMixin, BaseEstimator):
    """An estimator with its weight chosen by cross-validation, on points with labels.

    Parameters
    ----------
    estimator : MetricEstimator
        :class:`MLR` or :class:`RelativeComparisonMetric`, whose C is chosen, or :class:`RandomProjectionMetric` or
        :class:`OperatorMarginMetric`, whose reg is. :class:`LargeMargin` has no such weight.
    values : sequence of float, optional
        What to try. By default four or five values, each about ten times the one before or a tenth, as the estimator's
        ``weights(problem)`` says; a weight that depends on the number of comparisons is scaled with it.
    cv : int
        Folds, stratified by label.
    n_neighbors : int
        k of the accuracy that chooses; of equal ones the simplest metric is taken.
    max_rows : int, optional
        Choose by a stratified sample of so many rows.
    tol : float
        Certified relative gap of the solves of the choice; the fit has the estimator's own.
    max_seconds : float, optional
        Limit for all of it, three tenths of it for the choice at most.
    progress : bool
        Show a progress bar of the choice on standard error.
    random_state : int
        Seed of folds and sample.

    Attributes
    ----------
    path_ : WeightPath or None
        Values and accuracies; None where none was solved in time, or Ctrl-C ended the choice.
    reason_ : str
        Why nothing was chosen, and the weight is the estimator's own; empty where it was.
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

    def __init__(
        self,
        estimator: Any,
        values: Sequence[float] | None = None,
        cv: int = 3,
        n_neighbors: int = 3,
        max_rows: int | None = None,
        tol: float = 1e-2,
        max_seconds: float | None = None,
        progress: bool = False,
        random_state: int = 0,
    ) -> None:
        self.estimator = estimator
        self.values = values
        self.cv = cv
        self.n_neighbors = n_neighbors
        self.max_rows = max_rows
        self.tol = tol
        self.max_seconds = max_seconds
        self.progress = progress
        self.random_state = random_state

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
            At Ctrl-C; during the choice once the estimator is fitted with its own weight, which another one cuts short.
        """
        name = self._weight()
        check_seconds(self.max_seconds, "max_seconds")
        clock = Clock(self.max_seconds)
        points, labels = np.asarray(X, dtype=np.float64), np.asarray(y)
        self.path_: WeightPath | None = None
        self.reason_, interrupted = "", False
        try:
            with clock.until(CHOICE):
                path = self._chosen(name, points, labels, clock)
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
        """What the fitted estimator makes of points."""
        check_is_fitted(self, "estimator_")
        return np.asarray(self.estimator_.transform(X))

    def _weight(self) -> str:
        if not isinstance(self.estimator, MetricEstimator):
            raise InputError(f"estimator must be an estimator of metrics, got {type(self.estimator).__name__}")
        if self.estimator.weight is None:
            raise InputError(f"{type(self.estimator).__name__} has no weight to choose: fit it as it is")
        return self.estimator.weight

    def _chosen(self, name: str, points: Array, labels: np.ndarray, clock: Clock) -> WeightPath:
        n = len(points)
        kept = np.arange(n)
        if self.max_rows is not None:
            check_count(self.max_rows, "max_rows")
            kept = stratified_sample(labels, self.max_rows, self.random_state)
        folds = dealt(points[kept], labels[kept], self.cv, 1, self.random_state)
        values = self._values(points, labels)
        accuracy, gaps = np.empty((2, len(values), len(folds)))
        with progress_bar(self.progress) as bar, warnings.catch_warnings():
            # What a fold leaves out the fit does not, or says itself; gaps are in the path.
            warnings.simplefilter("ignore", UserWarning)
            task = bar.add_task(f"choice of {name}", total=len(folds))
            for fold, (learn, rest) in enumerate(until_deadline(folds)):
                limit = clock.left(CHOICE, len(values) * (len(folds) - fold))
                for place, scores in enumerate(self._path(name, points, labels, kept[learn], kept[rest], limit)):
                    accuracy[place, fold], gaps[place, fold] = scores
                bar.advance(task)
        return WeightPath(name, np.array(values), accuracy, gaps, self.n_neighbors, len(kept), n, clock.spent)

    def _path(
        self, name: str, points: Array, labels: np.ndarray, learn: np.ndarray, rest: np.ndarray, limit: float | None
    ) -> list[tuple[float, float]]:
        """Accuracy of the rows held out and certified gap, for every value."""
        A, y = points[learn], labels[learn]
        problem, embedding = self.estimator.stated(A, y)
        values = self._values(A, y, problem)
        weights: dict[str, Any] = {name: values}
        found = []
        for solution in solve_path(problem, **weights, tol=self.tol, max_seconds=limit):
            # The metric zero has no components, and puts all points in one place.
            components = solution.components if solution.rank else np.zeros((1, solution.components.shape[1]))
            operator = SimilarityOperator(components, embedding)
            Z, queries = operator.transform(A), operator.transform(points[rest])
            found.append((knn_accuracy(Z, y, queries, labels[rest], self.n_neighbors), solution.gap))
        return found

    def _values(self, points: Array, labels: np.ndarray, problem: Any = None) -> list[float]:
        """What to try on these points."""
        if self.values is not None:
            if not len(self.values):
                raise InputError("values is empty; give at least one to try")
            return [float(value) for value in self.values]
        return list(self.estimator.weights(self.estimator.problem(points, labels) if problem is None else problem))


def stratified_sample(labels: np.ndarray, rows: int, random_state: int) -> np.ndarray:
    """So many rows in ascending order, or all, with the share of every class kept to one row."""
    n = len(labels)
    if n <= rows:
        return np.arange(n)
    shuffled = np.random.default_rng(random_state).permutation(n)
    by_class = shuffled[np.argsort(np.unique(labels, return_inverse=True)[1][shuffled], kind="stable")]
    # Every n/rows-th of them.
    return np.sort(by_class[(np.arange(rows) * n) // rows])
