r"""A primal-dual interior-point method for few-coordinate conic programs with many slacked rows.

.. math::
   \min_{U \in K, \; \xi \ge 0} \quad & \langle c, U \rangle + \tfrac12 \langle U, L U \rangle
   + \sum_g C_g \xi_g \qquad \text{s.t.} \quad A U + E \xi \ge b \\
   \max_{a \ge 0} \quad & \langle b, a \rangle - \tfrac12 \langle U, L U \rangle \qquad \text{s.t.} \quad
   Z = c + L U - A^\top a \in K, \quad \beta = C - E^\top a \ge 0

Row t has the slack of its group, ``E[t, group[t]] = 1``; groups with ``C_g`` infinite have none. It is the master of
cutting planes (a row a cut, a slack a group of queries) and the whole problem where every comparison is
one row.

Mehrotra's predictor and corrector with Nesterov-Todd scaling. In scaled coordinates the Newton system is
``H dU = P^T da + rho`` with the scaled rows P and a matrix H that is diagonal unless L is a full matrix; it is
reduced to whichever is smaller, the rows (k x k) or the coordinates (q x q):

.. math::
   (P H^{-1} P^\top + D) \, da = r, \qquad (H + P^\top D^{-1} P) \, dU = r', \qquad
   D = \mathrm{diag}(s / a) + E \, \mathrm{diag}(\xi / \beta) E^\top

``min(k, q)^2 max(k, q)`` operations an iteration, and ``4 k d^3`` for scaling the rows of a matrix cone. In the
second form rows of large weight would swamp H near the optimum; they stay unknowns of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
from scipy.linalg import lapack

from convexmetric.certificates import relative_gap
from convexmetric.cones import Cone, NonnegativeDiagonal
from convexmetric.cones.base import Array
from convexmetric.cones.psd import PSDCone
from convexmetric.errors import SolverError
from convexmetric.risks.base import group_sums
from convexmetric.solvers.numerics.sparse_gram import sparse_gram
from convexmetric.threads import blas_threads_for

__all__ = [
    "ConicQP",
    "DiagonalScaling",
    "Iterate",
    "MatrixScaling",
    "Outcome",
    "cholesky",
    "cholesky_solve",
    "heavy_start",
    "interior_point",
    "warm_start",
]

#: Fraction of the way to the boundary that a step may go: with a linear objective the vertices are sharp, and
#: steps that nearly touch them take a third more iterations.
STEP_LINEAR, STEP_QUADRATIC = 0.95, 0.99
#: Rows whose weight in the Newton matrix exceeds this many times the rest are kept as unknowns.
HEAVY = 1e4
#: Relative residual of the Newton system from which no refinement is needed.
ACCURATE = 1e-13
#: Residual of the equation for Z, relative to Z, from which a warm start still pays.
MENDABLE = 100.0
#: The same for the cold start of a quadratic program, whose central path is easier to reach from further out.
ROUGH = 10.0
#: A quadratic part below this share of what the rows cost at zero is none.
NEGLIGIBLE = 1e-30
#: Sizes between the reciprocal of this and this need no units of their own.
MODERATE = 1e9


class Penalty(Protocol):
    """What the program takes from a problem: cone, ``<c, U> + 1/2 <U, L U>``, and the bounds of multipliers."""

    @property
    def cone(self) -> Cone:
        """K."""

    def linear(self) -> Array:
        """C in coordinates."""

    def quadratic(self) -> float | Array | None:
        """L."""

    def bound(self, value: float, S: Array, hint: Array) -> float:
        """Lower bound that ``value - <S, U>`` below the slacks' part proves."""


class ConicQP:
    """The penalty of a problem, and in place of its risk a set of rows with slacks; in the module's letters.

    Where rows, margins or weights are of extreme size, it is stated in units of its own, powers of two: products of a
    few of its numbers stay in the range of floats, and nothing is rounded. Arguments and results are in those of the
    problem.

    Parameters
    ----------
    problem : Penalty
        A problem or a part of one; gives the cone K, ``<c, U> + 1/2 <U, L U>`` (L a multiple of the identity, or a
        matrix on diagonal metrics), and the lower bounds that multipliers prove.
    A : (k, q) array or sparse matrix
        Rows in coordinates of the cone.
    b : (k,) array
    group : (k,) int array
        Slack of each row.
    C : (G,) array
        Weight of each slack; infinite for none.
    """

    def __init__(self, problem: Penalty, A: Any, b: Array, group: np.ndarray, C: Array) -> None:
        quadratic = problem.quadratic()
        if quadratic is None:
            raise SolverError("the interior-point method needs a linear or quadratic regularizer")
        self.problem = problem
        self.cone = problem.cone
        self.c = self.cone.from_coordinates(problem.linear())
        self.L: float | Array = quadratic
        self.A, self.b, self.group, self.C = A, b, group, C
        self.units = Units()
        self._scale()

    def _scale(self) -> None:
        """Choose units, and go over to them."""
        row = _unit(np.abs(self.A.data if sp.issparse(self.A) else self.A).max(initial=0.0))
        margin = _unit(np.abs(self.b).max(initial=0.0))
        metric = margin / row
        linear, curved = float(np.abs(self.c).max()), float(np.abs(self.L).max())
        if self.hard:
            value = _unit(max(linear * metric, curved * metric * metric))
        else:
            value = margin * _unit(self.C.max(initial=0.0))
            # Where rows weigh nothing beside the penalty it is this that says how large a metric may be.
            costs = max(linear * metric, curved * metric * metric) / value
            metric /= _unit(costs) if costs > MODERATE else 1.0
        self.units = units = Units(metric, margin, value)
        if units == Units():
            return
        with np.errstate(all="ignore"):
            self.A, self.b, self.C = self.A * (metric / margin), self.b / margin, self.C * (margin / value)
            self.c, self.L = self.c * (metric / value), self.L * (metric * (metric / value))

    @property
    def hard(self) -> bool:
        """Whether the rows have no slack."""
        return bool(np.isinf(self.C).any())

    @cached_property
    def elements(self) -> Any:
        """The rows as elements of the cone's space, flattened: points are elements, and so all products take these."""
        rows = self.cone.from_coordinates(self.A)
        return rows if rows.ndim == 2 else rows.reshape(len(rows), -1)

    def times(self, U: Array) -> Array:
        """``A U``."""
        return np.asarray(self.elements @ U.ravel())

    def adjoint(self, a: Array) -> Array:
        """``A^T a`` as an element of the cone's space."""
        S = (self.elements.T @ a).reshape(self.cone.shape)
        return np.asarray(0.5 * (S + S.T))

    def gradient(self, U: Array) -> Array:
        """``c + L U``."""
        return self.c + self.quadratic(U)

    def quadratic(self, U: Array) -> Array:
        """``L U``."""
        return self.L @ U if isinstance(self.L, np.ndarray) else self.L * U

    @cached_property
    def counts(self) -> Array:
        """Number of rows of every group."""
        return self.sums(np.ones(len(self.b)))

    def sums(self, values: Array) -> Array:
        """``E^T values``: sums by group."""
        return group_sums(values, self.group, self.C.size)

    def slacks(self, margins: Array) -> Array:
        """Smallest slacks for rows with ``A U - b = margins``."""
        xi = np.zeros(self.C.size)
        np.maximum.at(xi, self.group, -margins)
        return xi

    def primal_value(self, U: Array, margins: Array) -> float:
        """Objective at ``U`` with the smallest slacks; infinite if a hard row is violated."""
        value = self.cone.inner(self.c, U) + 0.5 * self.cone.inner(U, self.quadratic(U))
        if self.hard:
            return value if margins.min() >= 0.0 else np.inf
        return value + float(self.C @ self.slacks(margins))

    def dual_value(self, a: Array, U: Array) -> float:
        """Lower bound that feasible multipliers prove, with ``U`` as a hint."""
        units = self.units
        S = (units.value / units.metric) * self.adjoint(a)
        return self.problem.bound(units.value * float(self.b @ a), S, units.metric * U) / units.value

    def feasible_multipliers(self, a: Array) -> Array:
        """``a`` clipped to be nonnegative and shrunk group by group to ``E^T a <= C``."""
        a = np.maximum(a, 0.0)
        if self.hard:
            return a
        totals = self.sums(a)
        shrink = np.where(totals > self.C, self.C / np.where(totals > 0.0, totals, 1.0), 1.0)
        return a * shrink[self.group]


@dataclass(frozen=True)
class Units:
    """What a program's metric, margins and values are divided by: powers of two."""

    metric: float = 1.0
    margin: float = 1.0
    value: float = 1.0


def _unit(size: float) -> float:
    """The power of two near a size, one for moderate sizes."""
    if not 0.0 < size < np.inf or 1.0 / MODERATE <= size <= MODERATE:
        return 1.0
    return float(np.ldexp(1.0, np.frexp(size)[1] - 1))


@dataclass
class Iterate:
    """A strictly interior primal-dual point; elements of the cone, not coordinates."""

    U: Array
    Z: Array
    a: Array
    s: Array
    xi: Array
    beta: Array

    @property
    def finite(self) -> bool:
        """Whether no entry is NaN or infinite."""
        return all(np.isfinite(x).all() for x in (self.U, self.Z, self.a, self.s, self.xi, self.beta))


@dataclass
class Outcome:
    """Best points found, with their bounds, and the path ``(U, Z)`` taken, for warm starts."""

    U: Array
    a: Array
    upper_bound: float
    lower_bound: float
    iterations: int
    path: list[tuple[Array, Array]]

    @property
    def gap(self) -> float:
        """Relative gap of the bounds."""
        return relative_gap(self.upper_bound, self.lower_bound)


class MatrixScaling:
    """Nesterov-Todd scaling ``G^-1 U G^-T = G^T Z G = diag(v)`` of a pair of positive definite matrices.

    Directions are matrices in that frame. The Newton system has theirs in coordinates of another, turned by a rotation,
    in which it is diagonal but for the rows.
    """

    def __init__(self, cone: PSDCone, U: Array, Z: Array, L: float | Array) -> None:
        if isinstance(L, np.ndarray):
            raise SolverError("a full quadratic form is supported on diagonal metrics only")
        self.cone = cone
        lower_u, lower_z = (la.cholesky(matrix, lower=True, check_finite=False) for matrix in (U, Z))
        left, self.v, right = la.svd(lower_z.T @ lower_u, check_finite=False)
        root = 1.0 / np.sqrt(self.v)
        self.G = self.basis = (lower_u @ right.T) * root
        self.inverse = (root[:, None] * left.T) @ lower_z.T
        self.rotation = np.eye(cone.d)
        self.H: Array = np.ones(cone.size)
        if L:
            # In the eigenbasis of W = G G^T the operator U -> G^T (L G U G^T) G is diagonal.
            values, vectors = la.eigh(self.G @ self.G.T)
            values = np.maximum(values, np.finfo(float).tiny)
            self.basis = vectors * np.sqrt(values)
            self.rotation = self.inverse @ self.basis
            pairs = np.outer(values, values)
            upper = np.triu_indices(cone.d)
            self.H = 1.0 + L * pairs[upper]

    def rows(self, qp: ConicQP) -> Array:
        """The rows of the program in coordinates of the Newton system."""
        d = self.cone.d
        half = (qp.elements.reshape(-1, d) @ self.basis).reshape(-1, d, d)
        return self.cone.coordinates(np.matmul(self.basis.T, half))

    def into(self, V: Array) -> Array:
        """A direction in coordinates of the Newton system."""
        return self.cone.coordinates(self.rotation.T @ V @ self.rotation)

    def out(self, x: Array) -> Array:
        """The inverse of :meth:`into`."""
        return self.rotation @ self.cone.from_coordinates(x) @ self.rotation.T

    def dual(self, S: Array) -> Array:
        """``G^T S G``."""
        return self.G.T @ S @ self.G

    def primal_step(self, V: Array) -> Array:
        """``G V G^T``."""
        step = self.G @ V @ self.G.T
        return 0.5 * (step + step.T)

    def dual_step(self, V: Array) -> Array:
        """``G^-T V G^-1``."""
        step = self.inverse.T @ V @ self.inverse
        return 0.5 * (step + step.T)

    def centring(self, target: float, du: Array | None, dz: Array | None) -> Array:
        """Right-hand side ``V^-1 o (target I - V^2 - dU o dZ)``."""
        R = np.diag(target - self.v**2)
        if du is not None and dz is not None:
            product = du @ dz
            R -= 0.5 * (product + product.T)
        return R * (2.0 / np.add.outer(self.v, self.v))

    def longest(self, V: Array) -> float:
        """Largest step along ``V`` that stays in the cone."""
        root = 1.0 / np.sqrt(self.v)
        smallest = float(np.linalg.eigvalsh(root[:, None] * V * root)[0])
        return np.inf if smallest >= 0.0 else -1.0 / smallest

    def along(self, V: Array) -> float:
        """``<diag(v), V>``: change of ``<U, Z>`` to first order along a step."""
        return float(np.diag(V) @ self.v)


class DiagonalScaling:
    """The same for positive vectors, where ``G^2 = sqrt(u / z)`` entrywise; directions are their coordinates."""

    def __init__(self, u: Array, z: Array, L: float | Array) -> None:
        self.v = np.sqrt(u * z)
        self.g = np.sqrt(u / z)
        if isinstance(L, np.ndarray):
            self.H = self.g[:, None] * L * self.g
            self.H[np.diag_indices_from(self.H)] += 1.0
        else:
            self.H = 1.0 + L * self.g**2

    def rows(self, qp: ConicQP) -> Any:
        """The rows of the program in scaled coordinates."""
        return sp.csr_array(qp.A.multiply(self.g)) if sp.issparse(qp.A) else qp.A * self.g

    def into(self, v: Array) -> Array:
        """The direction itself."""
        return v

    def out(self, x: Array) -> Array:
        """The coordinates themselves."""
        return x

    def dual(self, S: Array) -> Array:
        """``G S``."""
        return self.g * S

    def primal_step(self, v: Array) -> Array:
        """``G v``."""
        return self.g * v

    def dual_step(self, v: Array) -> Array:
        """``G^-1 v``."""
        return v / self.g

    def centring(self, target: float, du: Array | None, dz: Array | None) -> Array:
        """Right-hand side ``(target - v^2 - du dz) / v``."""
        second_order = 0.0 if du is None or dz is None else du * dz
        return (target - self.v**2 - second_order) / self.v

    def longest(self, v: Array) -> float:
        """Largest step along ``v`` that stays in the cone."""
        return _longest(self.v, v)

    def along(self, v: Array) -> float:
        """Change of ``<u, z>`` to first order along a step."""
        return float(self.v @ v)


def _longest(x: Array, dx: Array) -> float:
    """Largest ``alpha`` with ``x + alpha dx >= 0``."""
    ratios = -x[dx < 0.0] / dx[dx < 0.0]
    return float(ratios.min()) if ratios.size else np.inf


class _NewtonSystem:
    """The reduced Newton system at one iterate, factorised once and solved for several right-hand sides.

    Unknowns are the scaled coordinates and, unless every row has a slack of its own, the slacks x = (dU, dxi):
    ``H x - P^T da = rho`` and ``P x + D da = r`` with D diagonal. Rows of small weight 1/D are folded into H;
    rows of large weight, which would swamp it, are kept as unknowns. When there are fewer rows than coordinates all are
    kept and H stays diagonal.
    """

    def __init__(self, P: Any, H: Array, D: Array) -> None:
        self.P, self.H, self.D = P, H, D
        k, n = P.shape
        diagonal = H if H.ndim == 1 else np.diag(H)
        if k <= n and H.ndim == 1:
            kept = np.ones(k, dtype=bool)
        else:
            weight = _row_norms(P, 1.0 / diagonal) / D
            kept = weight > HEAVY
            if kept.sum() > n:
                kept = weight > np.partition(weight, -n)[-n]
        self.kept, self.folded = np.flatnonzero(kept), np.flatnonzero(~kept)
        self.P_kept, self.P_folded = P[self.kept], P[self.folded]
        self.base = self._base()
        if self.kept.size:
            schur = self._schur()
            schur[np.diag_indices_from(schur)] += D[self.kept]
            self.schur = cholesky(schur)

    def _base(self) -> Any:
        """Factor of H plus the folded rows, or None while that is diagonal."""
        if self.H.ndim == 1 and not self.folded.size:
            return None
        matrix = _gram(scaled_rows(self.P_folded, 1.0 / np.sqrt(self.D[self.folded])).T)
        if self.H.ndim == 2:
            matrix += self.H
        else:
            matrix[np.diag_indices_from(matrix)] += self.H
        return cholesky(matrix)

    def _schur(self) -> Array:
        """The kept rows' ``P base^-1 P^T``."""
        if self.base is None:
            return _gram(scaled_rows(self.P_kept.T, 1.0 / np.sqrt(self.H)).T)
        right = self.P_kept.T if isinstance(self.P_kept, np.ndarray) else self.P_kept.T.toarray()
        half = la.solve_triangular(self.base, right, lower=True, check_finite=False)
        return half.T @ half

    def _solve_base(self, x: Array) -> Array:
        return x / self.H if self.base is None else cholesky_solve(self.base, x)

    def _once(self, rho: Array, r: Array) -> tuple[Array, Array]:
        da = np.empty(len(r))
        light = r[self.folded] / self.D[self.folded]
        rho = rho + self.P_folded.T @ light if self.folded.size else rho
        x = self._solve_base(rho)
        if self.kept.size:
            heavy = cholesky_solve(self.schur, r[self.kept] - self.P_kept @ x)
            da[self.kept] = heavy
            x = self._solve_base(rho + self.P_kept.T @ heavy)
        if self.folded.size:
            da[self.folded] = light - (self.P_folded @ x) / self.D[self.folded]
        return x, da

    def solve(self, rho: Array, r: Array) -> tuple[Array, Array]:
        """``(x, da)``, with a round of iterative refinement where the residual asks for it."""
        x, da = self._once(rho, r)
        Hx = self.H @ x if self.H.ndim == 2 else self.H * x
        left, right = rho - (Hx - self.P.T @ da), r - (self.P @ x + self.D * da)
        if np.abs(left).max() <= ACCURATE * np.abs(rho).max() and np.abs(right).max() <= ACCURATE * np.abs(r).max():
            return x, da
        fix_x, fix_a = self._once(left, right)
        return x + fix_x, da + fix_a


def scaled_rows(P: Any, factors: Array) -> Any:
    return P * factors[:, None] if isinstance(P, np.ndarray) else sp.csr_array(P.multiply(factors[:, None]))


def _gram(P: Any) -> Array:
    """``P P^T``; of a sparse P only the lower triangle, which is all that a factorisation reads."""
    return P @ P.T if isinstance(P, np.ndarray) else sparse_gram(sp.csr_array(P))


def _row_norms(P: Any, weights: Array) -> Array:
    """``sum_f P_tf^2 weights_f`` for every row."""
    squares = P * P if isinstance(P, np.ndarray) else P.multiply(P)
    return np.asarray(squares @ weights).ravel()


def cholesky(matrix: Array) -> Array:
    """Lower factor, in the lower triangle of the result; a hair is added to the diagonal if it must be.

    LAPACK is called directly: for small systems SciPy's checks cost more than the arithmetic.
    """
    diagonal = np.diag_indices_from(matrix)
    original = matrix[diagonal].copy()
    for regularization in (0.0, 1e-14, 1e-12, 1e-10):
        matrix[diagonal] = original * (1.0 + regularization)
        factor, info = lapack.dpotrf(matrix, lower=1, clean=0)
        if info == 0:
            return factor
    raise la.LinAlgError("the Newton system is numerically singular")


def cholesky_solve(factor: Array, right: Array) -> Array:
    """Solve with the factor that :func:`cholesky` made."""
    return lapack.dpotrs(factor, right, lower=1)[0]


def _cold_start(qp: ConicQP) -> Iterate:
    """A centred interior point at the scale of the problem; only the equation for Z is left open."""
    cone = qp.cone
    U = cone.identity()
    U = _best_scale(qp, U) * U
    if not _nearly_linear(qp, U):
        return _quadratic_start(qp)
    size = _gradient_size(qp, U)
    if not qp.hard:
        # Z must hold its own against the rows: the geometric mean of the objective and what they weigh.
        size = max(size, float(np.sqrt(size * max(_load(qp), 0.0))))
    return _centred(qp, U, max(size, 1e-8) * cone.identity())


def _gradient_size(qp: ConicQP, U: Array) -> float:
    """Largest coordinate of ``c + L U``."""
    return float(np.abs(qp.cone.coordinates(qp.gradient(U))).max())


def _load(qp: ConicQP) -> float:
    """Largest eigenvalue of what the rows weigh with multipliers in the middle of their box."""
    return qp.cone.largest(qp.adjoint((qp.C / (qp.counts + 1.0))[qp.group]))


def _nearly_linear(qp: ConicQP, U: Array) -> bool:
    """Whether the quadratic part is nothing beside the rest, so that the path is that of a linear program."""
    if not np.any(qp.L):
        return True
    return not qp.hard and qp.cone.inner(U, qp.quadratic(U)) < NEGLIGIBLE * float(qp.C @ qp.slacks(-qp.b))


def heavy_start(qp: ConicQP) -> Iterate:
    """A start with Z at the full weight of the rows, for when the usual one stalls.

    It is further from the optimum, but multipliers in the middle of their box nearly satisfy the equation for Z however
    many orders of magnitude lie between the data and the regularizer.
    """
    cone = qp.cone
    U = cone.identity()
    U = _best_scale(qp, U) * U
    size = _gradient_size(qp, U)
    if not qp.hard:
        size = max(size, _load(qp))
    return _centred(qp, U, max(size, 1e-8) * cone.identity())


def _quadratic_start(qp: ConicQP) -> Iterate:
    """Around a multiple of ``[A^T a - c]_+``, which is optimal for the right multipliers ``a``."""
    cone = qp.cone
    curvature = qp.L.sum(axis=1).clip(1e-12) if isinstance(qp.L, np.ndarray) else np.float64(qp.L)
    half = np.ones(len(qp.b)) if qp.hard else 0.5 * qp.C[qp.group]
    pull = qp.adjoint(half)
    U = cone.project(pull) / curvature
    if not U.any():
        U = cone.identity()
    scale = _best_scale(qp, U)
    value = qp.primal_value(scale * U, scale * qp.times(U) - qp.b)
    if not np.isfinite(value):
        value = qp.primal_value(scale * U, np.zeros(len(qp.b)))
    # What the linear term gains would cancel what the rows cost.
    value += cone.inner(np.abs(qp.c) - qp.c, scale * U)
    mu = value / (cone.d + len(qp.b) + (0 if qp.hard else qp.C.size))
    S = scale * pull - qp.c
    for _ in range(12):
        point = _centred(qp, *_centred_pair(cone, S, curvature, mu))
        if _residual(qp, point) <= ROUGH:
            break
        mu *= 4.0
    return point


def _centred_pair(cone: Cone, S: Array, curvature: Any, mu: float) -> tuple[Array, Array]:
    """``(U, Z)`` with ``curvature U - Z = S`` and ``U Z = mu``, eigenvalue by eigenvalue."""
    if isinstance(cone, NonnegativeDiagonal):
        # Where a weight costs nothing and gains nothing these are no numbers, and the point is no start.
        with np.errstate(divide="ignore", invalid="ignore"):
            sigma = S / curvature
            U = 0.5 * (sigma + np.sqrt(sigma**2 + 4.0 * mu / curvature))
            return U, mu / U
    sigma, vectors = np.linalg.eigh(S)
    sigma = sigma / curvature
    values = 0.5 * (sigma + np.sqrt(sigma**2 + 4.0 * mu / curvature))
    return (vectors * values) @ vectors.T, (vectors * (mu / values)) @ vectors.T


def _residual(qp: ConicQP, point: Iterate) -> float:
    """Violation of the equation for Z, relative to Z: largest eigenvalue in size of ``Z^-1/2 R Z^-1/2``."""
    R = qp.gradient(point.U) - qp.adjoint(point.a) - point.Z
    if isinstance(qp.cone, NonnegativeDiagonal):
        return float(np.abs(R / point.Z).max())
    try:
        return float(np.abs(la.eigh(R, point.Z, eigvals_only=True, check_finite=False)).max())
    except la.LinAlgError:
        return np.inf


def _best_scale(qp: ConicQP, U: Array) -> float:
    """The multiple of ``U`` with the least objective, on a logarithmic grid."""
    along = qp.times(U)
    longest = float(np.abs(along).max())
    if longest == 0.0:
        # No row feels the metric: any multiple will do, as long as it is finite.
        return 1.0
    size = float(np.abs(qp.b).max()) / longest
    scales = size * np.logspace(-1, 6, 29)
    if qp.hard:
        feasible = [t for t in scales if (t * along >= qp.b).all()]
        return feasible[0] if feasible else 10.0 * size
    nothing, penalty = qp.primal_value(0.0 * U, -qp.b), qp.primal_value(scales[0] * U, np.zeros(len(qp.b)))
    if penalty > nothing > 0.0:
        # Rows may weigh nothing beside the penalty.
        scales = np.append(scales, scales[0] * (nothing / penalty))
    return float(min(scales, key=lambda t: qp.primal_value(t * U, t * along - qp.b)))


def warm_start(qp: ConicQP, path: list[tuple[Array, Array]]) -> tuple[Iterate | None, int]:
    """A start on the path ``(U, Z)`` of a related program with other rows, and its place on the path.

    Rows and slacks are centred anew around each point, from the last one back, until the equation for Z is violated
    by no more than Newton steps mend, relative to Z itself. None if no point will do.
    """
    units = qp.units
    for place in range(len(path) - 1, -1, -1):
        U, Z = path[place]
        point = _centred(qp, U / units.metric, Z * (units.metric / units.value))
        if _residual(qp, point) <= MENDABLE:
            return point, place
    return None, -1


def _centred(qp: ConicQP, U: Array, Z: Array) -> Iterate:
    """Rows and slacks around ``(U, Z)`` with all complementarity products equal to its mean one."""
    mu = qp.cone.inner(U, Z) / qp.cone.d
    margins = qp.times(U) - qp.b
    if qp.hard:
        s = np.maximum(margins, np.abs(margins).mean() + 1e-8)
        return Iterate(U, Z, mu / s, s, np.zeros(0), np.zeros(0))
    xi = _centred_slacks(qp, margins, mu)
    s = np.maximum(margins + xi[qp.group], (mu / qp.C)[qp.group])
    return Iterate(U, Z, mu / s, s, xi, mu / xi)


def _centred_slacks(qp: ConicQP, margins: Array, mu: float) -> Array:
    """Slacks with ``mu / xi + sum_t mu / (margin_t + xi) = C`` in every group."""
    lowest = qp.slacks(margins)
    # No s is below mu / C there; saying so keeps rounding at large margins from making one zero.
    floor = (mu / qp.C)[qp.group]
    low = np.maximum(lowest, mu / qp.C)
    xi = lowest + mu * (1.0 + qp.counts) / qp.C
    for _ in range(60):
        s = np.maximum(margins + xi[qp.group], floor)
        total = mu / xi + qp.sums(mu / s)
        if np.abs(total - qp.C).max() <= 1e-10 * qp.C.max():
            break
        slope = mu / xi**2 + qp.sums(mu / s**2)
        # Newton on the reciprocal of the sum, which is nearly linear in xi.
        xi = np.maximum(xi + (total / qp.C - 1.0) * total / slope, 0.5 * (xi + low))
    return xi


def interior_point(
    qp: ConicQP,
    tol: float,
    *,
    start: Iterate | None = None,
    max_iter: int = 100,
    watch: Callable[[Callable[[], Outcome]], bool] | None = None,
) -> Outcome:
    """Solve to relative gap ``tol`` of the program's own bounds, or as far as float64 carries.

    Parameters
    ----------
    qp : ConicQP
    tol : float
        Stop when upper and lower bound agree to this relative gap.
    start : Iterate, optional
        Interior point to start from; it need not satisfy the equations.
    max_iter : int
    watch : callable, optional
        Called each iteration with a function that returns the outcome so far; returning True stops.

    Returns
    -------
    Outcome
        Best bounds and the points that prove them.
    """
    k, q = qp.A.shape
    with blas_threads_for(float(min(k, q)) ** 2 * max(k, q)):
        try:
            point = _cold_start(qp) if start is None else start
        except la.LinAlgError:
            # Numbers that are no floats: no point, and bounds that say nothing.
            cone = qp.cone
            return Outcome(cone.zeros(), np.zeros(k), np.inf, -np.inf, 0, [])
        return _follow(qp, tol, point, max_iter, watch)


def _follow(
    qp: ConicQP,
    tol: float,
    point: Iterate,
    max_iter: int,
    watch: Callable[[Callable[[], Outcome]], bool] | None,
) -> Outcome:
    """Predictor-corrector steps from ``point``, while numbers stay in the range of floats."""
    units = qp.units
    best_U, best_a = point.U, qp.feasible_multipliers(point.a)
    upper, lower = np.inf, -np.inf
    path: list[tuple[Array, Array]] = []
    stalled = 0

    def found() -> Outcome:
        a, bounds = units.value / units.margin * best_a, (units.value * upper, units.value * lower)
        return Outcome(units.metric * best_U, a, *bounds, len(path) - 1, path)

    for _ in range(max_iter + 1):
        U, margins = point.U, qp.times(point.U) - qp.b
        a = qp.feasible_multipliers(point.a)
        value, bound = qp.primal_value(U, margins), qp.dual_value(a, U)
        if qp.hard and value == np.inf:
            repaired = _scaled_to_feasibility(qp, U, margins)
            if repaired is not None:
                U, value = repaired, qp.primal_value(repaired, qp.times(repaired) - qp.b)
        stalled = (
            0 if value < upper - 1e-3 * tol * abs(value) or bound > lower + 1e-3 * tol * abs(bound) else stalled + 1
        )
        if value < upper:
            upper, best_U = value, U
        if bound > lower:
            lower, best_a = bound, a
        gap = relative_gap(upper, lower)
        path.append((point.U * units.metric, point.Z * (units.value / units.metric)))
        if watch is not None and watch(found):
            break
        if gap <= tol or stalled >= 8 or not point.finite:
            break
        try:
            following = _step(qp, point, margins)
        except la.LinAlgError:
            break
        if not following.finite:
            break
        point = following
    return found()


def _scaled_to_feasibility(qp: ConicQP, U: Array, margins: Array) -> Array | None:
    """Scale ``U`` up until all hard rows hold, which needs ``A u > 0`` for rows with ``b > 0``."""
    values = margins + qp.b
    needed = qp.b > 0.0
    if not needed.any() or (values[needed] <= 0.0).any():
        return None
    scaled = U * float(np.max(qp.b[needed] / values[needed])) * (1.0 + 1e-14)
    return scaled if (qp.times(scaled) - qp.b).min() >= 0.0 else None


def _step(qp: ConicQP, point: Iterate, margins: Array) -> Iterate:
    """One predictor-corrector step; ``margins`` are those at the point."""
    cone = qp.cone
    scaling: Any = (
        DiagonalScaling(point.U, point.Z, qp.L)
        if isinstance(cone, NonnegativeDiagonal)
        else MatrixScaling(cone, point.U, point.Z, qp.L)  # type: ignore[arg-type]
    )
    a, s, xi, beta = point.a, point.s, point.xi, point.beta
    group, q = qp.group, cone.size
    P, H, D = scaling.rows(qp), scaling.H, s / a
    own_slack = not qp.hard and qp.C.size == len(a)
    if own_slack:
        D = D + (xi / beta)[group]
    elif not qp.hard:
        P = _with_slacks(P, group, xi.size)
        H = np.concatenate([H, beta / xi]) if H.ndim == 1 else la.block_diag(H, np.diag(beta / xi))
    system = _NewtonSystem(P, H, D)

    r_z = scaling.dual(point.Z - (qp.gradient(point.U) - qp.adjoint(a)))
    r_s = s - margins
    r_beta = np.zeros(0)
    if not qp.hard:
        r_s = r_s - xi[group]
        r_beta = beta - (qp.C - qp.sums(a))

    def direction(centre: Array, as_target: Array, slack_target: Array) -> tuple[Array, ...]:
        rho = scaling.into(centre + r_z)
        r = r_s + as_target / a
        d_xi = d_beta = np.zeros(0)
        if qp.hard:
            x, da = system.solve(rho, r)
        elif own_slack:
            x, da = system.solve(rho, r - ((slack_target + xi * r_beta) / beta)[group])
            d_beta = -qp.sums(da) - r_beta
            d_xi = (slack_target - xi * d_beta) / beta
        else:
            x, da = system.solve(np.concatenate([rho, slack_target / xi + r_beta]), r)
            d_xi = x[q:]
            d_beta = -qp.sums(da) - r_beta
        du = scaling.out(x[:q])
        return du, centre - du, da, (as_target - s * da) / a, d_xi, d_beta

    degree = cone.d + len(a) + len(xi)
    total = float(scaling.v @ scaling.v + a @ s + xi @ beta)
    if not 0.0 < total < np.inf:
        raise la.LinAlgError("complementarity has left the range of floats")
    mu = total / degree

    du, dz, da, ds, d_xi, d_beta = direction(scaling.centring(0.0, None, None), -a * s, -xi * beta)
    primal = min(1.0, scaling.longest(du), _longest(s, ds), _longest(xi, d_xi))
    dual = min(1.0, scaling.longest(dz), _longest(a, da), _longest(beta, d_beta))
    product = (
        float(scaling.v @ scaling.v)
        + primal * scaling.along(du)
        + dual * scaling.along(dz)
        + primal * dual * cone.inner(du, dz)
        + float((a + dual * da) @ (s + primal * ds))
        + float((xi + primal * d_xi) @ (beta + dual * d_beta))
    )
    sigma = min(1.0, max(product / total, 1e-6)) ** 3
    target = sigma * mu
    du, dz, da, ds, d_xi, d_beta = direction(
        scaling.centring(target, du, dz), target - a * s - da * ds, target - xi * beta - d_xi * d_beta
    )
    curved = isinstance(qp.L, np.ndarray) or qp.L > 0.0
    fraction = STEP_QUADRATIC if curved else STEP_LINEAR
    primal = min(1.0, fraction * min(scaling.longest(du), _longest(s, ds), _longest(xi, d_xi)))
    dual = min(1.0, fraction * min(scaling.longest(dz), _longest(a, da), _longest(beta, d_beta)))
    if curved:
        primal = dual = min(primal, dual)
    return Iterate(
        point.U + primal * scaling.primal_step(du),
        point.Z + dual * scaling.dual_step(dz),
        a + dual * da,
        s + primal * ds,
        xi + primal * d_xi,
        beta + dual * d_beta,
    )


def _with_slacks(P: Any, group: np.ndarray, n_groups: int) -> Any:
    """``[P, E]``: the rows with one more column for each group's slack."""
    if sp.issparse(P):
        E = sp.csr_array((np.ones(len(group)), (np.arange(len(group)), group)), shape=(len(group), n_groups))
        return sp.hstack([P, E], format="csr")
    extended = np.zeros((len(group), P.shape[1] + n_groups))
    extended[:, : P.shape[1]] = P
    extended[np.arange(len(group)), P.shape[1] + group] = 1.0
    return extended
