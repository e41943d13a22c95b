r"""Kernels, and points of a Hilbert space in coordinates.

A kernel :math:`k(x, x') = \langle \phi(x), \phi(x') \rangle` stands for points :math:`\phi(x)` of a Hilbert space. A
metric that is learned from differences of training points lives in the span of these differences, and there everything
is finite: with the kernel matrix K of the training points and the matrix J that takes the mean off the points of every
connected component of the graph of pairs,

.. math:: J K J = U \Lambda U^\top, \qquad e_k = \sum_i U_{ik} \lambda_k^{-1/2} \phi(x_i), \qquad
   \langle e_k, \phi(x) \rangle = \sum_i U_{ik} \lambda_k^{-1/2} k(x_i, x)

the :math:`e_k` are an orthonormal basis of that span, and the last sums the coordinates of a point's projection on it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import scipy
import scipy.sparse as sp
from numpy.typing import ArrayLike

from convexmetric.arguments import check_one_of, shown
from convexmetric.arrays import Array
from convexmetric.comparisons.points import as_points, as_rows, check_width
from convexmetric.errors import InputError

Kernel = str | Callable[[Any, Any], ArrayLike]
"""A name of KERNELS, or a function of two point matrices such as those of ``sklearn.metrics.pairwise``."""

#: Share of the largest eigenvalue, times the number of points, below which eigenvalues are rounding.
ROUNDING = 2.0 * np.finfo(float).eps


def linear(X: Any, Y: Any) -> Array:
    """Linear kernel ``<x, y>``."""
    return as_rows(X @ Y.T)


def rbf(X: Any, Y: Any) -> Array:
    """Gaussian kernel ``exp(-||x - y||^2 / d)``, d the number of features."""
    return np.asarray(np.exp(-scipy.spatial.distance.cdist(as_rows(X), as_rows(Y), "sqeuclidean") / X.shape[1]))


def unit_rbf(X: Any, Y: Any) -> Array:
    """``1/2 exp(-4 ||x/|x| - y/|y|||^2)``, the kernel of paper 4, section 6.1: squared distances are below 1.

    Raises
    ------
    InputError
        If a point is zero.
    """
    units = []
    for points in (as_rows(X), as_rows(Y)):
        lengths = np.linalg.norm(points, axis=1, keepdims=True)
        if not lengths.all():
            raise InputError("the kernel 'unit-rbf' needs points other than zero, whose direction it compares")
        units.append(points / lengths)
    return np.asarray(0.5 * np.exp(-8.0 * np.maximum(0.0, 1.0 - units[0] @ units[1].T)))


#: Kernels by the name a user types.
KERNELS: dict[str, Callable[[Any, Any], Array]] = {"linear": linear, "rbf": rbf, "unit-rbf": unit_rbf}


def kernel_matrix(points: Any, kernel: Kernel | ArrayLike) -> Array:
    """The symmetric ``(n, n)`` matrix of a kernel, or a matrix given as one.

    Raises
    ------
    InputError
        If there is no kernel of that name, or its matrix is malformed or not symmetric.
    """
    n = points.shape[0]
    if isinstance(kernel, str):
        if kernel not in KERNELS:
            raise InputError(
                f"kernel must be {', '.join(map(repr, KERNELS))}, a function or a matrix, got {shown(kernel)}"
            )
        values: Any = KERNELS[kernel](points, points)
    else:
        values = kernel(points, points) if callable(kernel) else kernel
    K = as_points(values, "kernel")
    if K.shape != (n, n):
        raise InputError(f"kernel must give an (n, n) = ({n}, {n}) matrix, got shape {K.shape}")
    if not np.allclose(K, K.T, rtol=1e-8, atol=1e-10 * np.abs(K).max()):
        raise InputError("kernel must be symmetric")
    return 0.5 * (K + K.T)


@dataclass(frozen=True)
class KernelSpan:
    """Coordinates in the span of the differences of points under a kernel.

    Attributes
    ----------
    kernel : str, callable or None
        None if only the kernel matrix of the points is known.
    points : (n, d) array or sparse matrix
        Points whose images span it.
    coefficients : (n, r) array
        Coefficients of the basis vectors in the images of ``points``, a column each.
    coordinates : (n, r) array
        Coordinates of ``points``; differences within a component agree with those of :meth:`transform`.
    """

    stored_as: ClassVar[str] = "kernel-span"

    kernel: Kernel | None = field(repr=False)
    points: Any = field(repr=False)
    coefficients: Array = field(repr=False)
    coordinates: Array = field(repr=False)

    @classmethod
    def of(cls, points: Any, kernel: Kernel | ArrayLike, pairs: np.ndarray | None = None) -> KernelSpan:
        """The span of ``x_i - x_j`` over pairs, or over all.

        Raises
        ------
        InputError
            If the kernel is malformed or not positive semidefinite, or all images are the same.
        """
        K = kernel_matrix(points, kernel)
        centring = _centring(len(K), pairs)
        centred = centring(centring(K).T)
        centred = 0.5 * (centred + centred.T)
        values, vectors = np.linalg.eigh(centred)
        scale = max(float(np.abs(K).max()), np.finfo(float).tiny)
        if values[0] < -1e-8 * max(values[-1], scale):
            raise InputError(
                "kernel must be positive semidefinite; a matrix of similarities may need its diagonal raised"
            )
        kept = values > ROUNDING * values.size * max(values[-1], scale)
        if not kept.any():
            raise InputError(
                "all points are the same under the kernel, so that no metric tells them apart; "
                "change the kernel's parameters, or rescale X"
            )
        # Means of eigenvectors are rounding errors, which division by small eigenvalues would amplify: remove them.
        roots, basis = np.sqrt(values[kept])[::-1], centring(vectors[:, kept][:, ::-1])
        named = kernel if isinstance(kernel, str) or callable(kernel) else None
        return cls(named, points, np.ascontiguousarray(basis / roots), np.ascontiguousarray(basis * roots))

    def transform(self, X: Any) -> Array:
        """``(n, r)`` coordinates of the projections of points on the span.

        Parameters
        ----------
        X : (m, d) array
            Points; where the kernel was given as a matrix, ``(m, n)`` values of the kernel between new and old points.

        Raises
        ------
        InputError
            If X does not fit.
        """
        given = as_points(X, sparse=True)
        values = given if self.kernel is None else KernelValues(self.kernel, self.points).transform(given)
        if values.shape[1] != len(self.coefficients):
            raise InputError(
                f"kernel must give one value for each of the {len(self.coefficients)} training points, "
                f"got {values.shape[1]}"
            )
        return np.ascontiguousarray(values @ self.coefficients)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return kernel name, points and coefficients as arrays, for files.

        Raises
        ------
        InputError
            If the kernel is a function, or its points are sparse.
        """
        _check_storable(self.kernel, self.points)
        points = {} if self.kernel is None else {"points": self.points}
        return points | {"kernel": np.array(self.kernel or ""), "coefficients": self.coefficients}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> KernelSpan:
        """Make the span again from :meth:`arrays`, without the coordinates of its points.

        Raises
        ------
        InputError
            If the arrays do not fit.
        """
        coefficients, kernel = as_points(arrays["coefficients"], "coefficients"), str(arrays["kernel"])
        if not kernel:
            return cls(None, None, coefficients, np.zeros((0, coefficients.shape[1])))
        points = _stored_points(kernel, arrays)
        if len(points) != len(coefficients):
            raise InputError(f"there are {len(points)} points and {len(coefficients)} rows of coefficients")
        return cls(kernel, points, coefficients, np.zeros((0, coefficients.shape[1])))


@dataclass(frozen=True)
class KernelValues:
    """Embedding of points by their kernel values with given points.

    Attributes
    ----------
    kernel : str or callable
    points : (n, d) array or sparse matrix
    """

    stored_as: ClassVar[str] = "kernel-values"

    kernel: Kernel
    points: Any = field(repr=False)

    def transform(self, X: Any) -> Array:
        """``(m, n)`` values of the kernel between the rows of X and the points.

        Raises
        ------
        InputError
            If X has other features, or the kernel does not return one number for each pair of points.
        """
        given = as_points(X, sparse=True)
        check_width(given, self.points.shape[1], "X has", "the kernel takes")
        kernel = KERNELS[self.kernel] if isinstance(self.kernel, str) else self.kernel
        values: Array = as_points(kernel(given, self.points), "kernel")
        if values.shape != (given.shape[0], self.points.shape[0]):
            raise InputError(
                f"kernel must give one value for each of the {self.points.shape[0]} training points, "
                f"got shape {values.shape} for {given.shape[0]} points"
            )
        return values

    def arrays(self) -> dict[str, np.ndarray]:
        """Return kernel name and points as arrays, for files.

        Raises
        ------
        InputError
            If the kernel is a function, or its points are sparse.
        """
        _check_storable(self.kernel, self.points)
        return {"points": self.points, "kernel": np.array(self.kernel)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> KernelValues:
        """Make the embedding again from :meth:`arrays`.

        Raises
        ------
        InputError
            If the arrays do not fit.
        """
        kernel = str(arrays["kernel"])
        return cls(kernel, _stored_points(kernel, arrays))


def _check_storable(kernel: Kernel | None, points: Any) -> None:
    if callable(kernel):
        raise InputError(f"a kernel that is a function cannot be stored; use {', '.join(map(repr, KERNELS))}")
    if sp.issparse(points):
        raise InputError("a kernel on sparse points cannot be stored; make it from X.toarray()")


def _stored_points(kernel: str, arrays: Mapping[str, np.ndarray]) -> Array:
    check_one_of(kernel, KERNELS, "kernel")
    points: Array = as_points(arrays["points"], "points")
    return points


def _centring(n: int, pairs: np.ndarray | None) -> Callable[[Array], Array]:
    """The map A to J A: J subtracts means over connected components of the graph of pairs; over all without pairs."""
    label = np.zeros(n, dtype=np.int64)
    if pairs is not None:
        graph = sp.coo_array((np.ones(len(pairs)), pairs.T), shape=(n, n))
        label = scipy.sparse.csgraph.connected_components(graph, directed=False)[1]
    mean = sp.csr_array((1.0 / np.bincount(label)[label], (label, np.arange(n))))
    return lambda A: np.asarray(A - (mean @ A)[label])
