r"""All matrices, and all symmetric ones: similarities :math:`q^\top W x` in place of distances.

.. math:: s_{qx} = q^\top W x, \qquad W \in \mathbb{R}^{d \times k} \text{ or } W = W^\top

Only the shape of W is prescribed, so that K is the whole space and its dual cone is zero: a minorant
:math:`R(W) \ge v - \langle S, W \rangle` bounds the problem by a conjugate over the whole space, such as
:math:`v - \langle S - G, W_0 \rangle - \frac{1}{2 \lambda} \|S - G\|_F^2` with the squared distance to a prior. The
trace norm, the sum of the singular values, takes the place of the trace of semidefinite matrices; its dual norm is the
largest singular value.

Rankings under these matrices order items by *descending* similarity: their distances are :math:`-q^\top W x`.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from convexmetric.arrays import Array, finite_array
from convexmetric.cones.base import Cone
from convexmetric.cones.psd import PSDCone
from convexmetric.described import Described
from convexmetric.errors import InputError
from convexmetric.programs.lazy import cvxpy as cp


class AllMatrices(Cone):
    """All ``(d, k)`` matrices: similarities of queries with d features to items with k.

    Parameters
    ----------
    d : int
        Number of features of queries.
    k : int, optional
        Number of features of items; by default d.

    Examples
    --------
    >>> import numpy as np
    >>> from convexmetric.cones import AllMatrices
    >>> space = AllMatrices(2, 3)
    >>> space.gram(np.eye(2), np.arange(6.0).reshape(2, 3), np.eye(3))
    array([[0., 1., 2.],
           [3., 4., 5.]])
    """

    free: ClassVar[bool] = True
    cross_weight: ClassVar[float] = -1.0

    def __init__(self, d: int, k: int | None = None) -> None:
        super().__init__(d)
        self.k = self.d if k is None else int(k)
        if self.k < 1:
            raise InputError(f"items need at least one feature, got k = {k}")

    def described(self) -> Described:
        """``"matrices"`` with the numbers of features of queries and of items."""
        return Described({"cone": "matrices", "features": self.d, "features_of_items": self.k})

    @property
    def shape(self) -> tuple[int, int]:
        """``(d, k)``."""
        return (self.d, self.k)

    @property
    def size(self) -> int:
        """``d k``."""
        return self.d * self.k

    def element(self, M: ArrayLike, name: str = "M") -> Array:
        """``M`` as a float64 matrix."""
        return finite_array(M, self.shape, name)

    def project(self, S: Array) -> Array:
        """The matrix itself."""
        return S

    def shrink(self, V: Array, t: float) -> Array:
        """Singular values minus ``t``, or zero if they are smaller: the proximal map of the trace norm."""
        if t == 0.0:
            return V
        left, values, right = np.linalg.svd(V, full_matrices=False)
        return np.asarray((left * np.maximum(values - t, 0.0)) @ right)

    def smallest(self, M: Array) -> float:
        """Zero, as every matrix is allowed."""
        return 0.0

    def largest(self, S: Array) -> float:
        """Largest singular value: ``max <S, M>`` over matrices of trace norm one."""
        return float(np.linalg.norm(S, 2))

    def bottom(self, S: Array) -> Array:
        """``-u v^T`` of the leading singular vectors: the matrix of trace norm one with the least ``<S, M>``."""
        left, _, right = np.linalg.svd(S, full_matrices=False)
        return -np.outer(left[:, 0], right[0])

    def largest_ratio(self, S: Array, H: Array) -> float:
        """NaN, as there is no interior and so no valid H."""
        return np.nan

    def spectrum(self, M: Array) -> Array:
        """Singular values in descending order."""
        return np.asarray(np.linalg.svd(M, compute_uv=False))

    def trace(self, M: Array) -> float:
        """Trace norm, the sum of the singular values."""
        return float(self.spectrum(M).sum())

    def coordinates(self, S: Array) -> Array:
        """Entries row by row."""
        return S.reshape(*S.shape[:-2], self.size)

    def from_coordinates(self, v: Array) -> Array:
        """Matrices from their entries."""
        return v.reshape(*v.shape[:-1], *self.shape)

    def norms(self, X: Any, M: Array) -> Array:
        """Zero: similarities have no part that depends on the item alone."""
        return np.zeros(X.shape[0])

    def times(self, V: Any, M: Array) -> Array:
        """``M v`` for every row ``v`` of V."""
        return np.asarray(V @ M.T)

    def cross(self, A: Any, T: Array, B: Any) -> Array:
        """``A^T T B``, the smaller side first."""
        dense = isinstance(T, np.ndarray)
        return np.asarray((A.T @ T) @ B if dense and T.shape[1] < T.shape[0] else A.T @ (T @ B))

    def variable(self, name: str) -> tuple[cp.Variable, list[cp.Constraint]]:
        """A matrix variable without constraints."""
        return cp.Variable(self.shape, name=name), []

    def trace_expression(self, M: cp.Variable) -> cp.Expression:
        """Trace norm."""
        return cp.normNuc(M)

    def factor(self, M: Array) -> Array:
        """Refuse: similarities under M are not distances between images of the points."""
        raise InputError("a matrix of similarities has no factor: multiply queries by it, Q @ W, and leave items alone")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(str, self.shape))})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.shape == getattr(other, "shape", None)

    def __hash__(self) -> int:
        return hash((type(self), self.shape))


class Symmetric(AllMatrices):
    """All symmetric ``(d, d)`` matrices: similarities that are the same both ways.

    Coordinates are those of :class:`~convexmetric.cones.PSDCone`.

    Parameters
    ----------
    d : int
        Number of features of queries and of items.
    """

    def __init__(self, d: int) -> None:
        super().__init__(d)
        self._matrices = PSDCone(d)

    def described(self) -> Described:
        """``"symmetric"`` and the number of features."""
        return Described({"cone": "symmetric", "features": self.d})

    @property
    def size(self) -> int:
        """``d (d + 1) / 2``."""
        return self._matrices.size

    def element(self, M: ArrayLike, name: str = "M") -> Array:
        """``M`` as a symmetric float64 matrix."""
        return self._matrices.element(M, name)

    def shrink(self, V: Array, t: float) -> Array:
        """Eigenvalues moved towards zero by ``t``, and not beyond it."""
        values, vectors = np.linalg.eigh(V)
        return np.asarray((vectors * (np.sign(values) * np.maximum(np.abs(values) - t, 0.0))) @ vectors.T)

    def bottom(self, S: Array) -> Array:
        """``-sign v v^T`` of the eigenvector whose eigenvalue is largest in size."""
        values, vectors = np.linalg.eigh(S)
        at = int(np.argmax(np.abs(values)))
        return -np.sign(values[at]) * np.outer(vectors[:, at], vectors[:, at])

    def coordinates(self, S: Array) -> Array:
        """Svec, as for :class:`~convexmetric.cones.PSDCone`."""
        return self._matrices.coordinates(S)

    def from_coordinates(self, v: Array) -> Array:
        """Symmetric matrices from their svec."""
        return self._matrices.from_coordinates(v)

    def cross(self, A: Any, T: Array, B: Any) -> Array:
        """``(A^T T B + B^T T^T A) / 2``."""
        return self._matrices.cross(A, T, B)

    def variable(self, name: str) -> tuple[cp.Variable, list[cp.Constraint]]:
        """A symmetric variable without constraints."""
        return cp.Variable(self.shape, symmetric=True, name=name), []
