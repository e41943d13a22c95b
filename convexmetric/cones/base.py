"""The abstract base class of the cones of metrics."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from convexmetric.arrays import Array
from convexmetric.errors import InputError, UnsupportedProblemError
from convexmetric.programs.lazy import cvxpy as cp

if TYPE_CHECKING:
    from convexmetric.cones.projection import Projection
    from convexmetric.cones.scaling import Scaling

#: Why a solver does not support :class:`~convexmetric.cones.AllMatrices`: it has no interior, and gives no distances.
NO_CONE = "its matrices are not restricted to a cone"


class Cone(ABC):
    """A self-dual cone ``K`` of metrics on R^d with inner product ``<., .>``.

    Elements are plain arrays: symmetric ``(d, d)`` matrices, or vectors ``(d,)`` that stand for diagonal
    matrices. *Coordinates* are vectors of length :attr:`size` in which ``<., .>`` is the dot product; a
    solver that works in coordinates serves every cone. If every matrix is allowed (:attr:`free`), methods that need an
    interior or squared distances raise :class:`~convexmetric.errors.UnsupportedProblemError`.

    Parameters
    ----------
    d : int
        Number of features the metric acts on.
    """

    #: Whether every element of the space is allowed. Comparisons are of similarities ``<q, W x>`` then.
    free: ClassVar[bool] = False
    #: Weight of the inner product of a query and an item in the compared numbers, added to :meth:`norms`: a distance is
    #: ``x^T M x - 2 q^T M x`` up to a constant of the query, and a similarity counts as ``-q^T W x``.
    cross_weight: ClassVar[float] = -2.0

    def __init__(self, d: int) -> None:
        if d < 1:
            raise InputError(f"a metric needs at least one feature, got d = {d}")
        self.d = int(d)

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """Shape of an element."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of coordinates."""

    @property
    def diagonal(self) -> bool:
        """Whether metrics are diagonal, vectors of weights."""
        return len(self.shape) == 1

    @abstractmethod
    def element(self, M: ArrayLike, name: str = "M") -> Array:
        """``M`` as a float64 element of the space (not necessarily in the cone).

        Raises
        ------
        InputError
            If the shape is wrong, an entry is not finite, or a matrix is not symmetric.
        """

    def full(self, M: Array) -> Array:
        """The element as a ``(d, d)`` matrix; by default itself, for elements that are matrices."""
        return M

    def identity(self) -> Array:
        """The Euclidean metric; by default a matrix with ones on the diagonal."""
        return np.eye(self.shape[0], self.shape[-1])

    @abstractmethod
    def project(self, S: Array) -> Array:
        """Nearest point of the cone, ``[S]_+``."""

    def shrink(self, V: Array, t: float) -> Array:
        """``argmin over M in K of t trace(M) + ||M - V||^2 / 2``: by default ``[V - t I]_+``."""
        return self.project(V if t == 0.0 else V - t * self.identity())

    @abstractmethod
    def smallest(self, M: Array) -> float:
        """Smallest eigenvalue (or entry); ``M`` is in the cone exactly when it is nonnegative."""

    @abstractmethod
    def largest(self, S: Array) -> float:
        """Largest eigenvalue (or entry): ``max <S, M>`` over the cone's elements of trace one."""

    @abstractmethod
    def bottom(self, S: Array) -> Array:
        """A metric of rank and trace one with ``<S, M> = smallest(S)``, made of an eigenvector or of one feature."""

    def largest_ratio(self, S: Array, H: Array) -> float:
        """``max <S, M> / <H, M>`` over nonzero M of the cone, for ``H`` in its interior; NaN for any other ``H``."""
        raise UnsupportedProblemError(NO_CONE)

    def relative_norm(self, R: Array, Z: Array) -> float:
        """Largest absolute eigenvalue of ``Z^-1/2 R Z^-1/2`` for Z in the interior; infinite for any other matrix Z."""
        raise UnsupportedProblemError(NO_CONE)

    def inverse(self, M: Array) -> Array:
        """``M^-1`` for M in the interior: the gradient of ``log det``."""
        raise UnsupportedProblemError(NO_CONE)

    def centred_pair(self, S: Array, curvature: Any, mu: float) -> tuple[Array, Array]:
        """Interior points ``(U, Z)`` with ``curvature U - Z = S`` and ``U Z = mu I``.

        ``curvature`` is a positive number; for diagonal metrics it may be one number per feature.
        """
        raise UnsupportedProblemError(NO_CONE)

    def scaling(self, U: Array, Z: Array, L: float | Array = 0.0) -> Scaling:
        """Nesterov-Todd scaling of interior points, for an objective with the quadratic part ``<U, L U> / 2``.

        L is a number, or a ``(d, d)`` matrix if metrics are diagonal.
        """
        raise UnsupportedProblemError(NO_CONE)

    def projection(self, W: Array) -> Projection:
        """``[W]_+`` and ``[-W]_+``, with the derivative of :meth:`project` at W."""
        raise UnsupportedProblemError(NO_CONE)

    @abstractmethod
    def spectrum(self, M: Array) -> Array:
        """Eigenvalues (or entries) in descending order."""

    @abstractmethod
    def factor(self, M: Array) -> Array:
        """``B`` of shape ``(rank, d)`` with ``M = B^T B``: distances under M are ``||B x - B x'||^2``."""

    @abstractmethod
    def trace(self, M: Array) -> float:
        """Sum of the eigenvalues."""

    @abstractmethod
    def coordinates(self, S: Array) -> Array:
        """Elements ``(..., *shape)`` to isometric coordinates ``(..., size)``."""

    @abstractmethod
    def from_coordinates(self, v: Array) -> Array:
        """Inverse of :meth:`coordinates`."""

    def quadratic_forms(self, V: Any, M: Array) -> Array:
        """``<M, v v^T>`` for every row ``v`` of ``V`` (dense or sparse)."""
        raise UnsupportedProblemError(NO_CONE)

    def norms(self, X: Any, M: Array) -> Array:
        """Part of the compared numbers that depends on the item alone: ``x^T M x``."""
        return self.quadratic_forms(X, M)

    def outer_sum(self, V: Any, u: Array) -> Array:
        """Adjoint of :meth:`quadratic_forms`: ``sum_t u_t v_t v_t^T``."""
        raise UnsupportedProblemError(NO_CONE)

    def outer_rows(self, V: Any) -> Any:
        """``v v^T`` in coordinates for every row ``v``, ``(len(V), size)``: for samples only, if ``size`` is large."""
        raise UnsupportedProblemError(NO_CONE)

    def outer(self, v: Array) -> Array:
        """``v v^T``, an element of the space: for statements of a few comparisons."""
        return self.outer_sum(np.asarray(v)[None], np.ones(1))

    def thin_factor(self, M: Array) -> Array | None:
        """B with ``M = B^T B`` and at most half as many rows as columns; None if there is none."""
        return None

    @abstractmethod
    def times(self, V: Any, M: Array) -> Array:
        """``M v`` for every row ``v`` of a dense ``V``."""

    def gram(self, A: Any, M: Array, B: Any) -> Array:
        """All inner products ``<a_i, b_j>_M`` between the rows of ``A`` and of ``B``.

        By default ``A M B^T``, the smaller side first, for elements that are matrices.
        """
        product = A @ (M @ B.T) if B.shape[0] < A.shape[0] else (A @ M) @ B.T
        return np.ascontiguousarray(product)

    @abstractmethod
    def cross(self, A: Any, T: Array, B: Any) -> Array:
        """Symmetrised ``(A^T T B + B^T T^T A) / 2``: adjoint of :meth:`gram` at the weights ``T``."""

    @abstractmethod
    def variable(self, name: str) -> tuple[cp.Variable, list[cp.Constraint]]:
        """A CVXPY variable and the constraint that it lies in the cone."""

    @abstractmethod
    def trace_expression(self, M: cp.Variable) -> cp.Expression:
        """CVXPY expression of :meth:`trace`."""

    def quadratic_form_expressions(self, V: Array, M: cp.Variable) -> cp.Expression:
        """CVXPY expression of :meth:`quadratic_forms`."""
        raise UnsupportedProblemError(NO_CONE)

    def on_subspace(self, count: int) -> Cone | None:
        """The cone of all U with ``V U V^T`` in this one, for any V with ``count`` orthonormal columns.

        None unless this cone is the same for every V.
        """
        return None

    def inner(self, A: Array, B: Array) -> float:
        """``<A, B>``, the Frobenius inner product."""
        return float(np.vdot(A, B))

    def zeros(self) -> Array:
        """The metric under which all distances are zero."""
        return np.zeros(self.shape)

    def violation(self, M: Array) -> float:
        """Distance by which the smallest eigenvalue (or entry) falls below zero."""
        return max(0.0, -self.smallest(M))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.d})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.d == getattr(other, "d", None)

    def __hash__(self) -> int:
        return hash((type(self), self.d))
