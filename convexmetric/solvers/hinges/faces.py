r"""Newton systems on a face of the cone, with a row for every comparison on its kink.

Of a symmetric matrix :math:`W = Q \, \mathrm{diag}(e) \, Q^\top` the derivative of the projection on the positive
semidefinite cone is :math:`\Pi(V) = Q (\Omega \circ Q^\top V Q) Q^\top` with :math:`\Omega_{pq} = 1` where both
eigenvalues are positive, :math:`e_p / (e_p - e_q)` where only the first is, 0 where none is. For diagonal metrics it is
the selection of the positive entries. A system

.. math:: (\mathrm{diag}(D) + \tfrac{1}{\sigma} \Pi^{1/2} H^\top \mathrm{diag}(\kappa) H \Pi^{1/2}) \, v = b

lives in the coordinates where Omega is not zero. It is solved by the smaller of two factorisations, kinks or
coordinates, or by conjugate gradients, whose products cost no more than a pass over the data.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numba
import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from convexmetric.cones import Cone, NonnegativeDiagonal
from convexmetric.cones.base import Array
from convexmetric.risks import PairwiseRisk

__all__ = ["Face", "Factorised", "Kinks", "face_of", "solve_newton"]

#: Multiplications up to which a system is factorised at once, and up to which it is if conjugate gradients are slow.
FACTORISED, SLOW = 1e9, 4e11
#: Residual at which conjugate gradients stop, and steps they may take.
CG_ACCURACY, CG_STEPS = 1e-2, 80


class Kinks:
    """Comparisons by query, near and far row, with a weight in the second derivative.

    Parameters
    ----------
    risk : PairwiseRisk
    sample : (N, 3) int array
        Query, near and far row.
    curvature : (N,) array
    """

    def __init__(self, risk: PairwiseRisk, sample: np.ndarray, curvature: Array) -> None:
        self.rankings, self.sample, self.curvature = risk.rankings, sample, curvature
        self.cone = risk.cone
        self.weights = risk.weights[sample[:, 0]]
        self.anchors = risk.rankings.rows(sample[:, 0])

    def __len__(self) -> int:
        return len(self.sample)

    def margins(self, M: Array) -> Array:
        """``<D_t, M>``: distances to the far less those to the near item."""
        rankings = self.rankings
        if isinstance(self.cone, NonnegativeDiagonal):
            return np.asarray(self.squares @ M)
        images = self.cone.times(rankings.X, M)
        norms = np.einsum("ij,ij->i", images, rankings.X)
        return _margins(rankings.Q, self.anchors, self.sample, norms, images)

    def adjoint(self, u: Array) -> Array:
        """``sum_t u_t D_t``."""
        if isinstance(self.cone, NonnegativeDiagonal):
            return np.asarray(self.squares.T @ u)
        return self.laplacian(self.rankings.Q, self.rankings.X, u)

    def laplacian(self, Q: Array, X: Array, u: Array) -> Array:
        """``sum_t u_t D_t`` as one weighted Laplacian between queries and items, in any coordinates of the points."""
        places, columns, rows = self._pattern
        weights = np.bincount(places[0], u, columns.size) - np.bincount(places[1], u, columns.size)
        images = sp.csr_array((weights, columns, rows), shape=(Q.shape[0], X.shape[0])) @ X
        weighted = 0.5 * np.bincount(columns, weights, X.shape[0])[:, None] * X
        half = X.T @ (weighted - images) if Q is X else X.T @ weighted - Q.T @ images
        return half + half.T

    @cached_property
    def _pattern(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Where the Laplacian has entries: places of far and near items among them, columns, and starts of rows.

        Every product of conjugate gradients has the same ones.
        """
        shape = self.rankings.Q.shape[0], self.rankings.X.shape[0]
        keys = self.anchors * shape[1] + self.sample[:, :0:-1].T
        entries, places = np.unique(keys, return_inverse=True)
        rows = np.searchsorted(entries, np.arange(shape[0] + 1) * shape[1])
        return places.reshape(keys.shape), entries % shape[1], rows

    @cached_property
    def squares(self) -> Any:
        """``D_t`` as rows of squared differences, for diagonal metrics; sparse if the points are."""
        a, near, far = self.points()
        near, far = a - near, a - far
        return far * far - near * near if isinstance(far, np.ndarray) else (far.power(2) - near.power(2)).tocsr()

    def points(self) -> tuple[Any, Any, Any]:
        """Queries, near and far items."""
        X = self.rankings.X
        return self.rankings.Q[self.anchors], X[self.sample[:, 1]], X[self.sample[:, 2]]


class Face(ABC):
    """A point ``W`` of the space with its parts and the derivative of the projection at it."""

    W: Array
    #: ``[W]_+`` and ``[-W]_+``.
    positive: Array
    negative: Array
    #: Size of the negative part over that of the positive one.
    imbalance: float
    #: The derivative's weights, in coordinates of the face.
    omega: Array

    @abstractmethod
    def scaled(self, factor: float) -> Face:
        """The face of ``factor [W]_+ - [-W]_+``."""

    @abstractmethod
    def into(self, S: Array) -> Array:
        """``Pi^(1/2) S`` in coordinates of the face."""

    @abstractmethod
    def out(self, v: Array) -> Array:
        """``Pi^(1/2) v`` as an element of the cone's space."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of coordinates."""

    @abstractmethod
    def rows(self, kinks: Kinks) -> Any:
        """``H Pi^(1/2)``, one row a kink, ``(N, size)``."""

    @abstractmethod
    def products(self, kinks: Kinks) -> tuple[Callable[[Array], Array], Callable[[Array], Array]]:
        """Products with ``H Pi^(1/2)`` and with its transpose."""


def face_of(cone: Cone, W: Array) -> Face:
    """The face of ``cone`` at ``W``."""
    if isinstance(cone, NonnegativeDiagonal):
        return _DiagonalFace(W)
    values, vectors = np.linalg.eigh(W)
    return _MatrixFace(values[::-1].copy(), np.ascontiguousarray(vectors[:, ::-1]))


class _DiagonalFace(Face):
    """Coordinates are the positive entries."""

    def __init__(self, W: Array) -> None:
        self.W = W
        self.positive, self.negative = np.maximum(W, 0.0), np.maximum(-W, 0.0)
        self.kept = np.flatnonzero(W > 0.0)
        self.omega = np.ones(self.kept.size)
        norm = float(np.linalg.norm(self.positive))
        self.imbalance = float(np.linalg.norm(self.negative)) / norm if norm > 0.0 else np.inf

    def scaled(self, factor: float) -> Face:
        return _DiagonalFace(factor * self.positive - self.negative)

    def into(self, S: Array) -> Array:
        return S[self.kept]

    def out(self, v: Array) -> Array:
        full = np.zeros(self.W.size)
        full[self.kept] = v
        return full

    @property
    def size(self) -> int:
        return int(self.kept.size)

    def rows(self, kinks: Kinks) -> Any:
        return kinks.squares[:, self.kept]

    def products(self, kinks: Kinks) -> tuple[Callable[[Array], Array], Callable[[Array], Array]]:
        rows = self.rows(kinks)
        transposed = rows.T.tocsr() if sp.issparse(rows) else rows.T
        return lambda v: rows @ v, lambda u: transposed @ u


class _MatrixFace(Face):
    """Coordinates are the entries, in the eigenbasis, of the block of positive eigenvalues and its border (svec)."""

    def __init__(self, values: Array, vectors: Array) -> None:
        self.values, self.vectors = values, vectors
        d, r = values.size, int(np.count_nonzero(values > 0.0))
        kept, dropped = vectors[:, :r], vectors[:, r:]
        self.positive = (kept * values[:r]) @ kept.T
        self.negative = (dropped * -values[r:]) @ dropped.T
        norm = float(np.linalg.norm(values[:r]))
        self.imbalance = float(np.linalg.norm(values[r:])) / norm if norm > 0.0 else np.inf
        self.i, self.j = np.triu_indices(d, m=d)
        inside = self.i < r
        self.i, self.j = self.i[inside], self.j[inside]
        self.scale = np.where(self.i == self.j, 1.0, np.sqrt(2.0))
        low = np.minimum(values, 0.0)
        self.omega = values[self.i] / (values[self.i] - low[self.j])
        self.root = np.sqrt(self.omega)

    @property
    def W(self) -> Array:  # type: ignore[override]
        return (self.vectors * self.values) @ self.vectors.T

    def scaled(self, factor: float) -> Face:
        return _MatrixFace(np.where(self.values > 0.0, factor * self.values, self.values), self.vectors)

    @property
    def size(self) -> int:
        return int(self.i.size)

    def into(self, S: Array) -> Array:
        rotated = self.vectors.T @ S @ self.vectors
        return rotated[self.i, self.j] * (self.scale * self.root)

    def out(self, v: Array) -> Array:
        return self.vectors @ self._matrix(v) @ self.vectors.T

    def _matrix(self, v: Array) -> Array:
        d = self.values.size
        full = np.zeros((d, d))
        full[self.i, self.j] = full[self.j, self.i] = v * self.root / self.scale
        return full

    def rows(self, kinks: Kinks) -> Any:
        a, near, far = (points @ self.vectors for points in kinks.points())
        rows = np.empty((len(kinks), self.size))
        _outer_rows(a - near, a - far, self.i, self.j, self.scale * self.root, rows)
        return rows

    def products(self, kinks: Kinks) -> tuple[Callable[[Array], Array], Callable[[Array], Array]]:
        rankings, sample, anchors = kinks.rankings, kinks.sample, kinks.anchors
        X = rankings.X @ self.vectors
        Q = X if rankings.Q is rankings.X else rankings.Q @ self.vectors

        def forward(v: Array) -> Array:
            images = X @ self._matrix(v)
            return _margins(Q, anchors, sample, np.einsum("ij,ij->i", images, X), images)

        def transposed(u: Array) -> Array:
            return kinks.laplacian(Q, X, u)[self.i, self.j] * (self.scale * self.root)

        return forward, transposed


class Factorised:
    """A system factorised on its smaller side."""

    def __init__(self, face: Face, kinks: Kinks, diagonal: Array, sigma: float) -> None:
        self.root = np.sqrt(diagonal)
        scale = np.sqrt(kinks.curvature / sigma)
        rows = face.rows(kinks)
        if sp.issparse(rows):
            self.rows = sp.diags_array(scale) @ rows @ sp.diags_array(1.0 / self.root)
        else:
            self.rows = rows
            _scale(self.rows, scale, 1.0 / self.root)
        self.by_kinks = len(kinks) < face.size
        gram = self.rows @ self.rows.T if self.by_kinks else self.rows.T @ self.rows
        gram = gram.toarray() if sp.issparse(gram) else gram
        gram[np.diag_indices_from(gram)] += 1.0
        self.factor = la.cho_factor(gram, lower=True, overwrite_a=True, check_finite=False)

    def solve(self, b: Array) -> Array:
        """``v`` for one right-hand side."""
        b = b / self.root
        if self.by_kinks:
            b = b - self.rows.T @ la.cho_solve(self.factor, self.rows @ b, check_finite=False)
        else:
            b = la.cho_solve(self.factor, b, check_finite=False)
        return np.asarray(b / self.root)


def solve_newton(face: Face, kinks: Kinks, diagonal: Array, b: Array, sigma: float) -> Array:
    """``v``, by factorisation where that is cheap, else by conjugate gradients."""
    if face.size == 0 or len(kinks) == 0:
        return b / diagonal
    small, large = sorted((len(kinks), face.size))
    work = float(small) ** 2 * large + small**3 / 3.0
    if work <= FACTORISED:
        return Factorised(face, kinks, diagonal, sigma).solve(b)
    forward, transposed = face.products(kinks)
    v, accurate = _conjugate_gradients(
        lambda x: diagonal * x + transposed(kinks.curvature * forward(x)) / sigma, b, diagonal
    )
    return v if accurate or work > SLOW else Factorised(face, kinks, diagonal, sigma).solve(b)


def _conjugate_gradients(product: Callable[[Array], Array], b: Array, diagonal: Array) -> tuple[Array, bool]:
    """Preconditioned by ``diagonal``; whether the accuracy was reached."""
    v, residual = np.zeros_like(b), b.copy()
    z = residual / diagonal
    p, square = z.copy(), float(residual @ z)
    target = CG_ACCURACY**2 * square
    for _ in range(CG_STEPS):
        if square <= target:
            return v, True
        image = product(p)
        length = square / float(p @ image)
        v += length * p
        residual -= length * image
        z = residual / diagonal
        before, square = square, float(residual @ z)
        p = z + square / before * p
    return v, square <= target


@numba.njit(parallel=True, cache=True, nogil=True)
def _margins(Q, anchors, sample, norms, images):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """``<D_t, M>`` from ``M x`` and ``x^T M x`` of all items."""
    margins = np.empty(len(sample))
    for t in numba.prange(len(sample)):
        near, far = sample[t, 1], sample[t, 2]
        q = Q[anchors[t]]
        dot = 0.0
        for f in range(q.size):
            dot += q[f] * (images[far, f] - images[near, f])
        margins[t] = norms[far] - norms[near] - 2.0 * dot
    return margins


@numba.njit(parallel=True, cache=True, nogil=True)
def _outer_rows(near, far, i, j, scale, rows):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    for t in numba.prange(len(near)):
        for k in range(i.size):
            rows[t, k] = scale[k] * (far[t, i[k]] * far[t, j[k]] - near[t, i[k]] * near[t, j[k]])


@numba.njit(parallel=True, cache=True, nogil=True)
def _scale(matrix, by_row, by_column):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    for t in numba.prange(len(matrix)):
        for k in range(matrix.shape[1]):
            matrix[t, k] *= by_row[t] * by_column[k]
