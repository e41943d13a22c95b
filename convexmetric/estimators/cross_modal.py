"""Heterogeneous metrics for cross-media retrieval (BPRHML) as an estimator."""

from __future__ import annotations

from dataclasses import field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import check_is_fitted, validate_data

from convexmetric.arguments import check_integer
from convexmetric.arrays import Array
from convexmetric.comparisons.label_graphs import as_indicators, sharing
from convexmetric.errors import InputError
from convexmetric.estimators.base import CertifiedEstimator, parameters
from convexmetric.estimators.tuples import dimensions
from convexmetric.evaluation import retrieval_curve, squared_distances
from convexmetric.papers import CrossModalProblem


@parameters
class CrossModalMetric(CertifiedEstimator):
    """Maps of two modalities to one space in which objects of x find those of y that share a label.

    ``fit_modalities(X, Y, labels_x, labels_y)`` takes the two modalities separately; they need not be of the same
    objects. ``fit(Z, y)``, ``transform(Z)`` and ``score(Z, y)`` take them side by side: the first ``n_features_x``
    columns of Z are one modality of an object, and the others are the other.

    Distances are ``||U^T x - V^T y||``. ``components_`` is ``[U; V]^T``, with ``n_components`` rows. If these are at
    least the rank of the certified optimum W, ``components_.T @ components_`` is W, a metric on ``z = [x; -y]``.
    ``components_x_`` and ``components_y_`` are the two parts of the factor. Fewer columns come from
    ``solution_.problem.factors``.

    Parameters
    ----------
    n_features_x : int, optional
        Columns of the first modality in Z; by default the first half.
    alpha : float
        Weight of the squared norms.
    beta : float
        Weight of the graphs; 0 leaves them out.
    n_clusters : int or None
        Number of clusters of relevant objects, whose centroids are ranked; None ranks all objects.
    n_neighbors : int
        Neighbours of the same label in the graphs inside a modality.
    n_components : int, "rank" or None
        Rows of ``components_``, the leading directions of the metric: None for all features of both, so that transforms
        of all folds have the same width; ``"rank"`` for as many as the metric has rank.
    solver, tol, max_iter, max_seconds, progress
        As for :class:`MLR`.
    random_state : int, RandomState, Generator or None
        Seed or generator for k-means and stochastic solvers. A fixed seed by default, so fits repeat; None draws anew.

    Attributes
    ----------
    components_x_, components_y_ : (n_components, d_x) and (n_components, d_y) arrays
        The columns of ``components_`` for each modality.
    n_features_in_ : int
        Columns of both modalities, d_x + d_y.
    """

    _stronger = "lower alpha"

    n_features_x: int | None = field(default=None, kw_only=False)
    alpha: float = 1.0
    beta: float = 0.001
    n_clusters: int | None = 5
    n_neighbors: int = 50

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from objects with both modalities, side by side.

        Parameters
        ----------
        X : (n, d_x + d_y) array
        y : (n,) array, or (n, L) 0/1 matrix
            A label for each object, or which of L labels each has.

        Raises
        ------
        InputError
            If an argument or a parameter is malformed, or nothing is ranked.
        """
        points = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        labels = self._object_labels(points, y)
        split = self._split(points.shape[1])
        return self._fit(points[:, :split], points[:, split:], labels, labels)

    def fit_modalities(self, X: ArrayLike, Y: ArrayLike, labels_x: Any, labels_y: Any) -> Self:
        """Learn from objects of two modalities, which need not be coupled.

        Parameters
        ----------
        X, Y : (m, d_x) and (n, d_y) arrays
            Queries, and what they retrieve.
        labels_x, labels_y : (m,) and (n,) arrays, or (m, L) and (n, L) 0/1 matrices
            Objects that share a label are relevant to each other.

        Raises
        ------
        InputError
            If an argument or a parameter is malformed, or nothing is ranked.
        """
        x = check_array(X, dtype=np.float64, input_name="X")
        y = check_array(Y, dtype=np.float64, input_name="Y")
        self.n_features_in_ = x.shape[1] + y.shape[1]
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self._fit(x, y, labels_x, labels_y)

    def _fit(self, x: Array, y: Array, labels_x: Any, labels_y: Any) -> Self:
        rng = self._begin()
        options = self._options("alpha", "beta", "n_clusters", "n_neighbors")
        self._solve(CrossModalProblem(x, y, labels_x, labels_y, **options, random_state=rng), rng)
        self.components_x_ = self.components_[:, : x.shape[1]]
        self.components_y_ = self.components_[:, x.shape[1] :]
        return self._finished()

    def transform(self, X: Any) -> Array:
        """``(n, 2 c)`` images of both modalities in the common space, those of x first."""
        check_is_fitted(self)
        return np.hstack(self._both(X))

    def transform_x(self, X: ArrayLike) -> Array:
        """Transform objects of the first modality: ``U^T x``, ``(m, c)``."""
        return self._image(X, "X")

    def transform_y(self, Y: ArrayLike) -> Array:
        """Transform objects of the second modality: ``V^T y``, ``(n, c)``."""
        return self._image(Y, "Y")

    def distances(self, X: ArrayLike, Y: ArrayLike) -> Array:
        """``(m, n)`` learned distances of all rows of X to all rows of Y, not squared."""
        return np.sqrt(squared_distances(self.transform_x(X), self.transform_y(Y)))

    def score(self, X: Any, y: Any = None) -> float:
        """Mean average precision of the x parts of objects as queries for the y parts, side by side in X.

        Parameters
        ----------
        X : (n, d_x + d_y) array
        y : (n,) array, or (n, L) 0/1 matrix
            Labels; a query's own y part is relevant too.
        """
        check_is_fitted(self)
        images_x, images_y = self._both(X)
        labels = self._object_labels(images_x, y)
        shared = sharing(*as_indicators(labels, labels))
        return retrieval_curve(squared_distances(images_x, images_y), shared).mean_average_precision

    @property
    def _n_features_out(self) -> int:
        return 2 * int(self.components_.shape[0])

    def _object_labels(self, X: Any, y: Any) -> Any:
        if y is not None and dimensions(y) == 2 and np.shape(y)[1] > 1:
            check_consistent_length(X, y)
            return y
        return self._labels(X, y)

    def _split(self, d: int) -> int:
        if d < 2:
            raise InputError(f"n_features = {d}: two modalities side by side need at least one feature each")
        split = d // 2 if self.n_features_x is None else self.n_features_x
        check_integer(split, 1, d - 1, f"n_features_x must be an integer from 1 to {d - 1} for {d} features")
        return int(split)

    def _both(self, X: Any) -> tuple[Array, Array]:
        points = validate_data(self, X, reset=False, dtype=np.float64)
        split = self.components_x_.shape[1]
        return points[:, :split] @ self.components_x_.T, points[:, split:] @ self.components_y_.T

    def _image(self, points: ArrayLike, name: str) -> Array:
        check_is_fitted(self)
        factor = self.components_x_ if name == "X" else self.components_y_
        given = check_array(points, dtype=np.float64, input_name=name)
        if given.shape[1] != factor.shape[1]:
            raise InputError(f"{name} has {given.shape[1]} features, but {factor.shape[1]} were learned from")
        return np.asarray(given @ factor.T)
