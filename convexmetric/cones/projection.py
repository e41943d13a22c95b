r"""The projection onto a cone at one point: positive part, negative part and derivative.

Every W is the difference :math:`[W]_+ - [-W]_+` of two orthogonal elements of the cone (Moreau). For diagonal
metrics the derivative :math:`\Pi` of the projection :math:`W \mapsto [W]_+` is the selection of the positive entries.
For a symmetric matrix :math:`W = Q \, \mathrm{diag}(e) \, Q^\top` it is

.. math:: \Pi(V) = Q \, (\Omega \circ Q^\top V Q) \, Q^\top

with :math:`\Omega_{pq} = 1` if both eigenvalues are positive, :math:`e_p / (e_p - e_q)` if only the first is, and 0
if neither is. If an eigenvalue is zero there is no derivative, and Pi is an element of the generalised Jacobian.
Semismooth Newton methods work in the coordinates in which Omega is not zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from convexmetric.arrays import Array
from convexmetric.numerics.compiling import compiled
from convexmetric.numerics.threads import over_rows


class ListedDifferences(Protocol):
    """Comparisons ``D_t = n_t n_t^T - p_t p_t^T``: p_t is a query minus a positive, n_t the query minus a negative."""

    @property
    def rows(self) -> Any:
        """The ``D_t`` in coordinates of the cone, ``(N, cone.size)``, dense or sparse."""

    def differences(self) -> tuple[Any, Any]:
        """The vectors ``p_t`` and ``n_t``, one per row."""

    def margins(self, M: Array) -> Array:
        """``<D_t, M>``."""

    def adjoint(self, u: Array) -> Array:
        """``sum_t u_t D_t``."""

    def turned(self, basis: Array) -> ListedDifferences:
        """``B^T D_t B`` for an orthogonal matrix B."""


class Projection(Protocol):
    """The projection at a point W.

    Attributes
    ----------
    W : array
        The point.
    positive, negative : array
        ``[W]_+`` and ``[-W]_+``.
    imbalance : float
        ``||[-W]_+||_F / ||[W]_+||_F``; infinite if the positive part is zero.
    omega : (size,) array
        Weights of the derivative in its coordinates, in (0, 1].
    """

    W: Array
    positive: Array
    negative: Array
    imbalance: float
    omega: Array

    @property
    def size(self) -> int:
        """Number of coordinates in which the derivative is not zero."""
        return int(self.omega.size)

    def scaled(self, factor: float) -> Projection:
        """Projection at ``factor [W]_+ - [-W]_+``."""

    def into(self, S: Array) -> Array:
        """``Pi^(1/2) S`` in coordinates of the derivative."""

    def out(self, v: Array) -> Array:
        """``Pi^(1/2) v`` as an element of the cone's space."""

    def rows(self, listed: ListedDifferences) -> Any:
        """``H Pi^(1/2)``, ``(N, size)``, with the listed elements as rows of H; a new array, or sparse."""

    def products(self, listed: ListedDifferences) -> tuple[Callable[[Array], Array], Callable[[Array], Array]]:
        """Products with ``H Pi^(1/2)`` and with its transpose."""


class DiagonalProjection(Projection):
    """Projection of a vector; coordinates are its positive entries."""

    def __init__(self, W: Array) -> None:
        self.W = W
        self.positive, self.negative = np.maximum(W, 0.0), np.maximum(-W, 0.0)
        self.kept = np.flatnonzero(W > 0.0)
        self.omega = np.ones(self.kept.size)
        norm = float(np.linalg.norm(self.positive))
        self.imbalance = float(np.linalg.norm(self.negative)) / norm if norm > 0.0 else np.inf

    def scaled(self, factor: float) -> DiagonalProjection:
        """Projection at W with its positive entries multiplied by ``factor``."""
        return DiagonalProjection(factor * self.positive - self.negative)

    def into(self, S: Array) -> Array:
        """Entries of S where W is positive."""
        return S[self.kept]

    def out(self, v: Array) -> Array:
        """A vector with the entries ``v`` where W is positive, and zeros elsewhere."""
        full = np.zeros(self.W.size)
        full[self.kept] = v
        return full

    def rows(self, listed: ListedDifferences) -> Any:
        """Columns of ``listed.rows`` where W is positive."""
        return listed.rows[:, self.kept]

    def products(self, listed: ListedDifferences) -> tuple[Callable[[Array], Array], Callable[[Array], Array]]:
        """Products with the matrix of :meth:`rows` and with its transpose."""
        rows = self.rows(listed)
        transposed = rows.T.tocsr() if sp.issparse(rows) else rows.T
        return lambda v: rows @ v, lambda u: transposed @ u


class MatrixProjection(Projection):
    """Projection of a symmetric matrix, by its eigenvalues in descending order and its eigenvectors.

    Coordinates are the entries, in the eigenbasis, of the block of positive eigenvalues and its border (svec). A matrix
    of several blocks, whose sizes are given, has eigenvalues and eigenvectors block after block, and coordinates within
    its blocks only.
    """

    def __init__(self, values: Array, vectors: Array, sizes: Sequence[int] = ()) -> None:
        self.values, self.vectors, self.sizes = values, vectors, tuple(sizes) or (values.size,)
        above = values > 0.0
        kept, dropped = vectors[:, above], vectors[:, ~above]
        self.positive = (kept * values[above]) @ kept.T
        self.negative = (dropped * -values[~above]) @ dropped.T
        norm = float(np.linalg.norm(values[above]))
        self.imbalance = float(np.linalg.norm(values[~above])) / norm if norm > 0.0 else np.inf
        upper = [np.triu_indices(size) for size in self.sizes]
        starts = np.cumsum([0, *self.sizes[:-1]])
        self.i, self.j = (
            np.concatenate([start + one[axis] for start, one in zip(starts, upper, strict=True)]) for axis in (0, 1)
        )
        inside = above[self.i]
        self.i, self.j = self.i[inside], self.j[inside]
        self.scale = np.where(self.i == self.j, 1.0, np.sqrt(2.0))
        low = np.minimum(values, 0.0)
        self.omega = values[self.i] / (values[self.i] - low[self.j])
        self.root = np.sqrt(self.omega)

    @property
    def W(self) -> Array:  # type: ignore[override]
        """``Q diag(e) Q^T``."""
        return (self.vectors * self.values) @ self.vectors.T

    def scaled(self, factor: float) -> MatrixProjection:
        """Projection at W with its positive eigenvalues multiplied by ``factor``."""
        values = np.where(self.values > 0.0, factor * self.values, self.values)
        return MatrixProjection(values, self.vectors, self.sizes)

    def into(self, S: Array) -> Array:
        """Entries of ``Q^T S Q`` times the roots of Omega."""
        return self._entries(self.vectors.T @ S @ self.vectors)

    def out(self, v: Array) -> Array:
        """``Q V Q^T`` for the matrix V with coordinates ``v`` in the eigenbasis."""
        return self.vectors @ self._matrix(v) @ self.vectors.T

    def _entries(self, turned: Array) -> Array:
        """Coordinates of a matrix in the eigenbasis."""
        return turned[self.i, self.j] * (self.scale * self.root)

    def _matrix(self, v: Array) -> Array:
        """Adjoint of :meth:`_entries`: the symmetric matrix in the eigenbasis with coordinates ``v``."""
        d = self.values.size
        full = np.zeros((d, d))
        full[self.i, self.j] = full[self.j, self.i] = v * self.root / self.scale
        return full

    def rows(self, listed: ListedDifferences) -> Array:
        """``H Pi^(1/2)`` from the difference vectors in the eigenbasis."""
        positives, negatives = (vectors @ self.vectors for vectors in listed.differences())
        rows = np.empty((len(positives), self.size))
        over_rows(
            _outer_differences, len(rows), rows.size, positives, negatives, self.i, self.j, self.scale * self.root, rows
        )
        return rows

    def products(self, listed: ListedDifferences) -> tuple[Callable[[Array], Array], Callable[[Array], Array]]:
        """Products by margins and weighted sums in the eigenbasis, without the matrix of :meth:`rows`."""
        turned = listed.turned(self.vectors)
        return lambda v: turned.margins(self._matrix(v)), lambda u: self._entries(turned.adjoint(u))


@compiled
def _outer_differences(begin, end, positives, negatives, i, j, scale, rows):
    """Entries (i, j) of ``n n^T - p p^T`` times ``scale``, for the rows p of ``positives`` and n of ``negatives``."""
    for t in range(begin, end):
        for k in range(i.size):
            rows[t, k] = scale[k] * (negatives[t, i[k]] * negatives[t, j[k]] - positives[t, i[k]] * positives[t, j[k]])
