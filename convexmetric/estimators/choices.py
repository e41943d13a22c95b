"""Choices of people as an estimator."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.special import comb, softmax
from sklearn.utils.validation import validate_data

from convexmetric.arguments import check_count
from convexmetric.arrays import Array
from convexmetric.comparisons import triplets_from_labels
from convexmetric.comparisons.points import rows_of
from convexmetric.errors import InputError
from convexmetric.estimators.base import parameters
from convexmetric.estimators.relative_comparisons import MOST_TRIPLETS, TRIPLETS_A_POINT
from convexmetric.estimators.triplets import TripletEstimator, refuse_y
from convexmetric.estimators.tuples import dimensions
from convexmetric.evaluation import listed_squared_distances
from convexmetric.papers import ChoiceProblem
from convexmetric.papers.choices import candidate_pairs, checked_trials
from convexmetric.problem import MetricProblem


@parameters
class ChoiceMetric(TripletEstimator):
    """A metric under which the choices of people are probable: odd ones out, the k nearest of n, triplets.

    ``fit(X, trials)`` takes objects and rows of their indices; ``fit(trials)`` takes rows of indices into the
    ``preprocessor``, or of the objects themselves. Rows are as for :class:`~convexmetric.ChoiceProblem`. ``fit(X, y)``
    draws triplets from labels: the third of (i, j, k) has another label than the first two, and is the odd one.

    Of objects without features ``fit(trials)`` takes rows of their numbers 0, ..., n - 1, and no ``preprocessor``. M is
    then their Gram matrix. Of triplets this is stochastic triplet embedding (van der Maaten and Weinberger 2012), made
    convex by a penalty in place of a number of dimensions. All methods take the numbers; ``n_components=2`` keeps the
    two leading coordinates.

    Parameters
    ----------
    kind : str
        ``"triplets"``, ``"odd-one-out"`` or ``"anchor"``.
    chosen : int
        How many objects of a row with an anchor were chosen.
    reg : float or "auto"
        lambda; ``"auto"`` is a hundredth of :attr:`ChoiceProblem.reg_max`, and of n objects without features and T
        trials its share sqrt(n / T), at most a half.
    temperature : float
        tau, in units of squared distances.
    penalty : str
        ``"trace"``, or ``"squared-frobenius"``.
    prior : "identity" or array, optional
        A metric known beforehand, towards which the regularizer pulls.
    diagonal : bool
        Learn weights of features.
    n_trials : int, optional
        Triplets drawn from labels: by default 20 a point, at most 200,000.
    solver, tol, max_iter, max_seconds, progress, preprocessor, backend
        As for :class:`MLR`.
    random_state : int, RandomState, Generator or None
        Seed or generator for draws and stochastic solvers. A fixed seed by default, so fits repeat; None draws anew.
    n_components : int, "rank" or None
        Rows of ``components_``, as for :class:`MLR`.

    Attributes
    ----------
    reg_ : float
        lambda.
    embedding_ : (n, n_components) array or None
        Coordinates of objects that have no features; None where there are features.

    Examples
    --------
    >>> import convexmetric as cm
    >>> iris = cm.datasets.load("iris")
    >>> metric = cm.ChoiceMetric(kind="odd-one-out").fit(iris.X, [[0, 1, 50], [2, 3, 100], [50, 51, 2], [60, 70, 120]])
    >>> metric.probabilities([[4, 5, 90]], iris.X).shape
    (1, 3)

    Objects without features:

    >>> embedding = cm.ChoiceMetric(n_components=1).fit_transform([[0, 1, 2], [1, 0, 3], [2, 3, 0], [3, 2, 1]])
    >>> embedding.shape
    (4, 1)
    """

    _stronger = "lower reg"
    _otherwise = "; trials of objects without features, or with a preprocessor, are rows of integers"
    weight = "reg"

    kind: str = "triplets"
    chosen: int = 1
    reg: float | str = "auto"
    temperature: float = 1.0
    penalty: str = "trace"
    prior: Any = None
    diagonal: bool = False
    n_trials: int | None = None
    backend: Any = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from trials, or from points and labels.

        Parameters
        ----------
        X : (n, d) array or sparse matrix
            Objects. Or trials themselves: (T, k, d) objects, or (T, k) int, indices into a ``preprocessor`` or, without
            one, numbers of objects that have no features.
        y : (T, k) int array or (n,) array, optional
            Trials of the objects; or their labels, of which triplets are drawn.

        Raises
        ------
        InputError
            If an argument or a parameter is malformed, or the labels make no triplet.
        """
        rng = self._begin()
        problem = self._stated(X, y, rng)
        self.reg_ = problem.reg
        self._learn(problem, rng)
        if problem.is_gram:
            self.embedding_ = self.components_.T
        return self._finished()

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Learn, and return the objects in coordinates in which the learned distance is the Euclidean one.

        Parameters
        ----------
        X, y, fit_params
            As for ``fit``.
        """
        self.fit(X, y, **fit_params)
        return self._transformed(X) if self.embedding_ is None else self.embedding_

    @property
    def _known(self) -> Any:
        return self.preprocessor if getattr(self, "embedding_", None) is None else self._rows_of_objects

    def _rows_of_objects(self, objects: Any) -> Array:
        """Rows of the identity, which stand for the objects that were learned without features."""
        n = self.n_features_in_
        try:
            return np.asarray(np.eye(n)[rows_of(objects, n, "trials")])
        except InputError as error:
            raise InputError(f"{error}: objects without features are known only from the trials of fit") from error

    def _stated(self, X: Any, y: Any, rng: np.random.Generator, sample_weight: Any = None) -> ChoiceProblem:
        self.embedding_ = None
        if self._are_tuples(X):
            refuse_y(y)
            points, rows = self._tuples(X, self._width(X), reset=True)
        elif y is None and self._name_objects(X):
            points, rows = None, X
        else:
            points = self._points(X, reset=True)
            rows = y
            if not _are_trials(y):
                labels = self._labels(points, y)
                if self.chosen != 1:
                    raise InputError("labels make trials of which one object is chosen: pass trials, or chosen=1")
                count = self.n_trials
                if count is None:
                    count = min(TRIPLETS_A_POINT * len(labels), MOST_TRIPLETS)
                check_count(count, "n_trials", " or None")
                rows = triplets_from_labels(labels, count, random_state=rng)
        options = self._options("kind", "chosen", "temperature", "penalty", "prior", "diagonal")
        options["reg"] = 1.0 if (automatic := isinstance(self.reg, str) and self.reg == "auto") else self.reg
        problem = ChoiceProblem(points, rows, **options)
        share = 0.01
        if problem.is_gram:
            validate_data(self, problem.risk.points[0])
            self._flattening = None
            # How the noise of T answers about n objects compares with what they say (benchmarks/RESULTS.md, items).
            share = min(0.5, (problem.cone.d / len(problem.trials)) ** 0.5)
        return problem.with_reg(share * problem.reg_max or 1.0) if automatic else problem

    def weights(self, problem: MetricProblem) -> tuple[float, ...]:
        """Values of reg to try: shares of :attr:`ChoiceProblem.reg_max`."""
        assert isinstance(problem, ChoiceProblem)
        return tuple(share * (problem.reg_max or 1.0) for share in (0.5, 0.1, 0.03, 0.01, 1e-3, 1e-4))

    def probabilities(self, trials: Any, X: Any = None) -> Array:
        """``(T, k)`` probabilities of the candidates of every trial, the chosen ones first.

        Parameters
        ----------
        trials : (T, k) int array, or (T, k, d) array
            Rows as for ``fit``.
        X : (n, d) array, optional
            Objects, for trials of numbers; the ``preprocessor`` by default.
        """
        return np.asarray(softmax(-self._distances(trials, X) / self.temperature, axis=1))

    def score(self, X: Any, y: Any = None) -> float:
        """Share of trials whose chosen candidates are the nearest ones; ties count as if they were broken by chance.

        Parameters
        ----------
        X : (n, d) array
            Objects. Or trials themselves, as for ``fit``.
        y : (T, k) int array or (n,) array, optional
            Trials of the objects; or their labels, of which all triplets count, without being listed.
        """
        if self._are_tuples(X):
            refuse_y(y)
            distances = self._distances(X, None)
        elif _are_trials(y):
            distances = self._distances(y, X)
        else:
            return super().score(X, y)
        chosen, others = distances[:, : self.chosen], distances[:, self.chosen :]
        last = chosen.max(axis=1, keepdims=True)
        held, tied = (chosen == last).sum(axis=1), (others == last).sum(axis=1)
        return float(np.mean((others >= last).all(axis=1) / comb(held + tied, held)))

    def _distances(self, trials: Any, X: Any) -> Array:
        """Squared distances of the candidates of trials, ``(T, k)``."""
        if X is None:
            points, rows = self._tuples(trials, self._width(trials))
            images = self._images(points)
        else:
            images, rows = self._transformed(X), trials
        pairs = candidate_pairs(checked_trials(rows, images.shape[0], self.kind, self.chosen), self.kind)
        return listed_squared_distances(images, pairs.reshape(-1, 2)).reshape(pairs.shape[:2])

    def _name_objects(self, X: Any) -> bool:
        """Whether X can only be trials by number: integers, and as wide as trials are."""
        return _are_trials(X) and np.asarray(X).dtype.kind in "iu" and np.shape(X)[1] == self._width(X)

    def _width(self, trials: Any) -> int:
        """Number of objects in a trial: the length of the given row with an anchor, else three."""
        return int(np.shape(trials)[1]) if self.kind == "anchor" and np.ndim(trials) > 1 else 3


def _are_trials(y: Any) -> bool:
    """Whether y has rows of object numbers, and not labels: a column vector is labels."""
    return y is not None and dimensions(y) == 2 and np.shape(y)[1] > 1
