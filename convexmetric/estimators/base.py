"""Base classes of the estimators: solving, fitted attributes and validation, by the conventions of scikit-learn."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field, is_dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, dataclass_transform

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from convexmetric.arguments import as_generator, check_count, check_seconds, checked_part_weights
from convexmetric.arrays import Array
from convexmetric.comparisons.points import as_rows, check_width
from convexmetric.comparisons.relevance import as_labels
from convexmetric.datasets.rounding import flattening
from convexmetric.datasets.tables import INTO_BINS, looks_measured
from convexmetric.deadline import Clock
from convexmetric.doors import ENGINES
from convexmetric.errors import InputError
from convexmetric.estimators.scikit_learn import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from convexmetric.estimators.tuples import dimensions, look_up, name_of, points_and_rows
from convexmetric.evaluation import SimilarityOperator, listed_squared_distances
from convexmetric.features import Embedding
from convexmetric.problem import MetricProblem
from convexmetric.solution import Solution
from convexmetric.solvers import SOLVERS, Solver, solve

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["CertifiedEstimator", "MetricEstimator", "generator", "has_class_mate", "parameters"]

Kind = TypeVar("Kind")


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
def parameters(cls: type[Kind]) -> type[Kind]:
    """Write the constructor of an estimator: a keyword for each annotated attribute, its own before those of its bases.

    Parameters are stored as they are, as scikit-learn wants it, and checked by ``fit``.
    """
    made = dataclass(kw_only=True, eq=False, repr=False)(cls)
    signature = inspect.signature(made)
    ordered = sorted(signature.parameters.values(), key=lambda p: (p.kind, p.name not in inspect.get_annotations(cls)))
    this = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    init: Any = made.__init__
    init.__signature__ = signature.replace(parameters=[this, *ordered])
    return made


@parameters
class CertifiedEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of all estimators: solves a convex problem and keeps the certificate of its optimum.

    Ctrl-C ends ``fit`` with a ``KeyboardInterrupt``, so that it ends a cross-validation or a grid search as well. The
    estimator itself is fitted all the same, with the best certified metric so far, if there was one.

    Attributes
    ----------
    solution_ : Solution
        The whole solution, with problem, bounds and history. It has the data, so that pickles and copies leave it out.
    certificate_ : Certificate
        Bounds on the optimal value, with the points that prove them.
    gap_ : float
        Certified relative gap; at most ``tol`` unless a limit ended the solve, which raises a warning.
    n_iter_ : int
        Iterations of the solver.
    components_ : (n_components, d) array
        L: the leading eigenvectors of the metric M, each times the root of its eigenvalue, largest first. With at least
        as many rows as M has rank ``L^T L = M``; the certificate is that of M whatever the number of rows. A diagonal
        metric that is not truncated has its features in their order, and is a sparse matrix where points are sparse or
        have more than 10,000 features.
    """

    #: Advice for a metric that is zero: the parameter that makes it grow.
    _stronger: ClassVar[str] = "raise C"
    #: Absolute gap at which a solve also stops, in units of the objective.
    _atol: ClassVar[float] = 0.0
    #: Added to the error for points without labels: the shape of the tuples that may have been meant.
    _otherwise: ClassVar[str] = ""
    #: Whether points may be sparse for all parameters; otherwise only under a diagonal metric.
    _takes_sparse: ClassVar[bool] = False

    #: Engine that evaluates the risk; a parameter of the estimators that support one.
    backend = None

    solver: Any = "exact"
    tol: float = 1e-4
    max_iter: int | None = None
    max_seconds: float | None = None
    progress: bool | int = False
    random_state: Any = 0
    #: Rows of ``components_``: None, a number, or "rank".
    n_components: Any = None

    def __getstate__(self) -> Any:
        """State for pickling, without the problem and its data, and without an executor; a client is an address."""
        state = dict(super().__getstate__())
        for name in ("_solution", "_clock"):
            state.pop(name, None)
        if state.get("backend") is not None:
            state["backend"] = ENGINES.open().picklable(self.backend)
        return state

    @property
    def solution_(self) -> Solution:
        """The whole solution; see the class."""
        if "_solution" not in vars(self):
            where = "it has the data, and is in no pickle and no copy; problem(X, y) states the problem anew"
            raise AttributeError(f"there is no solution_ before fit: {where}")
        return self._solution

    def __sklearn_clone__(self) -> Any:
        """Clone the estimator, sharing its backend: a live client or executor cannot be copied."""
        other = super(CertifiedEstimator, copy(self)).__sklearn_clone__()
        if "backend" in vars(self):
            other.backend = self.backend
        return other

    def _begin(self) -> np.random.Generator:
        """Begin a ``fit``: start its clock, and make the random generator of its draws."""
        check_seconds(self.max_seconds, "max_seconds")
        self._clock = Clock(self.max_seconds)
        return generator(self.random_state)

    def _solve(self, problem: MetricProblem, rng: np.random.Generator) -> None:
        """Solve the problem, and set the attributes of the fitted estimator."""
        rows = self._rows(problem)
        self._solution = solve(
            problem,
            atol=self._atol,
            solver=_seeded(self.solver, rng),
            max_seconds=self._clock.left(),
            progress=bool(self.progress),
            **self._options("tol", "max_iter", "backend"),
        )
        self.certificate_ = self.solution_.certificate
        self.gap_ = self.certificate_.gap
        self.n_iter_ = self.solution_.iterations
        self.components_ = components_of(self.solution_, rows)
        if self.certificate_.M.any():
            return
        if self.gap_ <= self.tol:
            warnings.warn(f"all distances are 0, because the optimal metric is zero: {self._stronger}", stacklevel=4)
            return
        rows, d = self.components_.shape
        self.components_ = sp.eye_array(rows, d, format="csr") if sp.issparse(self.components_) else np.eye(rows, d)
        warnings.warn("the solve ended before it found a metric: distances are Euclidean", stacklevel=4)

    def _rows(self, problem: MetricProblem) -> int | None:
        """Number of rows of ``components_``, known before the solve; None for the numerical rank of the metric."""
        asked, most = self.n_components, self._full_width(problem)
        if isinstance(asked, str) and asked == "rank":
            return None
        if asked is None:
            return most
        check_count(asked, "n_components", ' or None, or "rank"')
        if asked > most:
            raise InputError(f"n_components must be at most {most}, the dimensions of the metric, got {asked}")
        return int(asked)

    def _full_width(self, problem: MetricProblem) -> int:
        """Largest rank that the metric can have, whatever the data are."""
        return problem.cone.d

    def _options(self, *names: str) -> dict[str, Any]:
        """Parameters of the estimator that are options of its problem, by the same names."""
        return {name: getattr(self, name) for name in names}

    def _part_weights(self, sample_weight: Any, count: int, part: str) -> Array | None:
        """Check ``sample_weight``, one weight for each part of the risk; None where no weights are given."""
        return checked_part_weights(sample_weight, count, "sample_weight", part)

    def _with_class_mates(self, points: Any, y: Any, sample_weight: Any) -> tuple[Any, np.ndarray, Array | None]:
        """Select points whose label another point has, with labels and weights; warn of the points left out."""
        labels = self._labels(points, y)
        weights = self._part_weights(sample_weight, len(labels), "point")
        kept = has_class_mate(labels, warn=True)
        if kept.all():
            return points, labels, weights
        return points[np.flatnonzero(kept)], labels[kept], None if weights is None else weights[kept]

    def _finished(self) -> Self:
        """End a ``fit``: return the estimator, or raise ``KeyboardInterrupt`` if Ctrl-C ended the solve."""
        self.solution_.pass_on_interrupt()
        return self

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def get_mahalanobis_matrix(self) -> Any:
        """``(d, d)`` matrix L^T L with L = ``components_``, sparse if that is.

        Under a kernel on the coordinates of ``embedding_``.
        """
        check_is_fitted(self)
        return self.components_.T @ self.components_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = self._takes_sparse or getattr(self, "diagonal", False) is True
        return tags

    def _labels(self, X: Any, y: Any) -> np.ndarray:
        """Check labels, one a point."""
        if y is None:
            raise InputError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y is None: "
                f"points in rows need a label each{self._otherwise}"
            )
        labels = as_labels(column_or_1d(y, warn=True))
        check_consistent_length(X, labels)
        classes = np.unique(labels)
        if labels.dtype.kind == "f" and (classes % 1.0).any() and looks_measured(classes, labels.size):
            raise InputError(
                f"Unknown label type: continuous. y has {classes.size} different numbers in {labels.size} rows, "
                f"which looks like a measurement. {INTO_BINS}"
            )
        return labels

    def _scored_labels(self, X: Any, y: Any) -> np.ndarray:
        """Check labels, one a point, of at least two classes."""
        labels = self._labels(X, y)
        if np.unique(labels).size < 2:
            raise InputError(
                f"y has one class only ({labels.tolist()[0]!r}), so that there is nothing to tell apart; in a "
                "cross-validation let every fold have several: cv=StratifiedKFold(5)"
            )
        return labels


@parameters
class MetricEstimator(CertifiedEstimator):
    """A metric between points of one kind.

    Directions in which only the rounding of digits varies are left out with a warning, as by
    :func:`~convexmetric.datasets.flattened`: a full metric would give them the largest weights of all.

    Attributes
    ----------
    embedding_ : Embedding or None
        Map from points to the coordinates on which ``components_`` act, under a kernel; None where these are features.
    n_features_in_ : int
        Number of features, d.
    feature_names_in_ : (d,) array of str
        Names of the features, if ``fit`` was given a frame with names.
    """

    #: Name of the parameter that weighs the data against the regularizer; empty where there is none to choose.
    weight: ClassVar[str | None] = None

    #: Whether a metric is always of weights of features, or of other fixed directions.
    _by_feature: ClassVar[bool] = False
    #: Kernel of the metric; a parameter of the estimators that take one.
    kernel = None

    preprocessor: Any = None

    def problem(self, X: Any, y: Any = None) -> MetricProblem:
        """The problem that ``fit(X, y)`` solves, for :func:`~convexmetric.audit` or :func:`~convexmetric.explain`.

        Nothing is solved, and the estimator stays as it is.

        Parameters
        ----------
        X, y
            As for ``fit``.

        Raises
        ------
        InputError
            As ``fit`` does.
        """
        other = clone(self)
        return other._stated(X, y, generator(other.random_state))

    def weights(self, problem: MetricProblem) -> Sequence[float]:
        """Values of the parameter :attr:`weight` to try on a problem, from the strongest regularization on."""
        raise NotImplementedError

    def _stated(self, X: Any, y: Any, rng: np.random.Generator, sample_weight: Any = None) -> MetricProblem:
        raise NotImplementedError

    def transform(self, X: Any) -> Array:
        """``(n, n_components)`` points in which the learned distance is the Euclidean one.

        Sparse points stay sparse under a diagonal metric, which only scales their features.

        Parameters
        ----------
        X : (n, d) array or sparse matrix, or (n,) indices with a ``preprocessor``
        """
        return self._transformed(X)

    def pair_distance(self, pairs: Any) -> Array:
        """``(n,)`` learned distances of pairs, not squared.

        Parameters
        ----------
        pairs : (n, 2, d) array, or (n, 2) indices with a ``preprocessor``
        """
        points, rows = self._tuples(pairs, 2)
        return np.sqrt(listed_squared_distances(self._images(points), rows))

    def pair_score(self, pairs: Any) -> Array:
        """``(n,)`` scores that grow with similarity: minus the learned distances."""
        return -self.pair_distance(pairs)

    def get_operator(self) -> SimilarityOperator:
        """Return the learned map, a :class:`~convexmetric.evaluation.SimilarityOperator`, stored without pickle.

        Sparse ``components_`` become a dense array of the rows that are not zero.
        """
        check_is_fitted(self)
        L = self.components_
        T, names = as_rows(L[np.diff(L.indptr) > 0]) if sp.issparse(L) else L, getattr(self, "feature_names_in_", None)
        return SimilarityOperator(T, self._features, names)

    def get_metric(self) -> Callable[..., float]:
        """Return the learned distance as a function of two points, such as for ``metric=`` of scikit-learn.

        The function takes two (d,) arrays, and ``squared=True`` for the squared distance.
        """
        operator = self.get_operator()

        def distance(u: Any, v: Any, squared: bool = False) -> float:
            found = float(((operator.transform([u]) - operator.transform([v])) ** 2).sum())
            return found if squared else found**0.5

        return distance

    def plot(self, X: Any, y: Any = None, *, target_names: Sequence[str] | None = None) -> Figure:
        """Draw rows before and after, side by side (:func:`~convexmetric.plotting.plot_before_after`).

        Parameters
        ----------
        X : (n, d) array or sparse matrix, or (n,) indices with a ``preprocessor``
        y : (n,) array, optional
            Class of each row.
        target_names : sequence of str, optional
            Names of the classes, in the order of ``numpy.unique(y)``.
        """
        # Imported here, as Matplotlib takes a third of a second to import.
        from convexmetric.plotting import plot_before_after

        check_is_fitted(self)
        points = self._points(X)
        return plot_before_after(points, self._images(points), y, target_names=target_names)

    def _learn(self, problem: MetricProblem, rng: np.random.Generator) -> Self:
        self._solve(problem, rng)
        self._features = problem.embedding
        self.embedding_: Embedding | Array | None = problem.embedding
        if self._flattening is not None:
            self.components_ = self.components_ @ self._flattening.T
        return self

    def _scored_images(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        """Transform the points whose label another point has; returns images and labels."""
        images = self._transformed(X)
        labels = self._scored_labels(images, y)
        kept = np.flatnonzero(has_class_mate(labels))
        return images[kept], labels[kept]

    def _transformed(self, X: Any) -> Array:
        """Images of points as an array, before ``set_output`` turns them into a frame."""
        check_is_fitted(self)
        return self._images(self._points(X))

    def _images(self, points: Any) -> Any:
        if sp.issparse(self.components_):
            return points @ self.components_.T
        return SimilarityOperator(self.components_, self._features).transform(points)

    @property
    def _known(self) -> Any:
        """Points that indices refer to, as a ``preprocessor``; None where points are given by value only."""
        return self.preprocessor

    def _points(self, X: Any, *, reset: bool = False) -> Any:
        """Resolve points, given by value or by index, to points in rows."""
        if self._known is not None and dimensions(X) == 1:
            X = look_up(np.asarray(X), self._known)
        sparse = ["csr"] if self.__sklearn_tags__().input_tags.sparse else False
        if sp.issparse(X) and not sparse:
            diagonal = "pass diagonal=True, " if hasattr(self, "diagonal") else ""
            raise InputError(f"X is sparse: {diagonal}put TruncatedSVD before in a pipeline, or pass X.toarray()")
        points = validate_data(
            self, X, reset=reset, accept_sparse=sparse, dtype=np.float64, ensure_min_samples=2 if reset else 1
        )
        if not reset:
            return points
        # Weights of features, and kernels, cannot stretch a direction in which only rounding varies.
        apart = self._by_feature or getattr(self, "diagonal", False) or self.kernel is not None or sp.issparse(points)
        names = getattr(self, "feature_names_in_", None)
        self._flattening: Array | None = None if apart else flattening(points, "X", names, True)
        return self._flattened(points)

    def _flattened(self, points: Any) -> Any:
        """Points without the directions in which only rounding varies in those that are learned from."""
        return points if self._flattening is None else points @ self._flattening

    def _tuples(self, tuples: Any, size: int, *, reset: bool = False) -> tuple[Any, np.ndarray]:
        """Resolve tuples to their distinct points, and to the row numbers of these."""
        if not reset:
            check_is_fitted(self)
        points, rows = points_and_rows(tuples, size, self._known)
        if reset:
            return self._points(points, reset=True), rows
        # Tuples of points carry no feature names to compare.
        points = check_array(points, accept_sparse="csr", dtype=np.float64)
        learned = f"{type(self).__name__} was fitted with"
        check_width(points, self.n_features_in_, f"{name_of(size)} have points of", learned)
        return points, rows

    def _are_tuples(self, X: Any) -> bool:
        """Whether X holds tuples of points: a 3-D array, or a 2-D one of indices."""
        return dimensions(X) == 3 or (dimensions(X) == 2 and self._known is not None)


def generator(random_state: Any) -> np.random.Generator:
    """Make a NumPy generator from a ``random_state`` as in scikit-learn, or return a generator as it is.

    Raises
    ------
    InputError
        If it is neither.
    """
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31, size=4))
    return as_generator(random_state)


def has_class_mate(labels: np.ndarray, *, warn: bool = False) -> np.ndarray:
    """Boolean mask of the points whose label another point has; the others have no relevant point.

    Raises
    ------
    InputError
        If no two points share a label.
    """
    classes, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    kept = counts[codes] > 1
    if not kept.any():
        raise InputError("y has no class with two members, so that no point is to be near another one")
    if warn and not kept.all():
        alone = classes[counts == 1]
        shown = ", ".join(map(repr, alone[:5].tolist())) + (", ..." if alone.size > 5 else "")
        warnings.warn(
            f"y has {alone.size} class(es) with a single member ({shown}): these points are left out", stacklevel=5
        )
    return np.asarray(kept)


def components_of(solution: Solution, rows: int | None) -> Any:
    """L, ``(rows, d)``: leading eigenvectors times roots of eigenvalues; ``rows=None`` for the rank, at least 1."""
    problem = solution.problem
    if problem.weighs_features:
        w = np.maximum(solution.w, 0.0)
        kept = np.arange(w.size)
        if rows is None or rows < w.size:
            kept = np.argsort(-w, kind="stable")[: max(1, np.count_nonzero(w)) if rows is None else rows]
        L = sp.csr_array((np.sqrt(w[kept]), (np.arange(kept.size), kept)), shape=(kept.size, w.size))
        L.eliminate_zeros()
        return L if problem.sparse_metrics else L.toarray()
    factor = solution.components
    _, sizes, directions = np.linalg.svd(factor, full_matrices=False)
    # The sign of an eigenvector is arbitrary: make its largest entry positive.
    largest = directions[np.arange(len(directions)), np.abs(directions).argmax(axis=1)]
    L = np.copysign(sizes, largest)[:, None] * directions
    missing = max(1, len(L)) if rows is None else rows
    return np.vstack([L[:missing], np.zeros((max(0, missing - len(L)), factor.shape[1]))])


def _seeded(solver: Any, rng: np.random.Generator) -> Any:
    """Give a stochastic solver without a random state the generator of the estimator."""
    if isinstance(solver, str) and solver in SOLVERS:
        solver = SOLVERS[solver]()
    if isinstance(solver, Solver) and is_dataclass(solver) and getattr(solver, "random_state", rng) is None:
        return replace(solver, random_state=rng)
    return solver
