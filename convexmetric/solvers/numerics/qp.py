r"""Conic programs with few coordinates and many slacked rows, and starting points of the interior-point method.

.. math::
   \min_{U \in K, \; \xi \ge 0} \quad & \langle c, U \rangle + \tfrac12 \langle U, L U \rangle
   + \sum_g C_g \xi_g \qquad \text{s.t.} \quad A U + E \xi \ge b \\
   \max_{a \ge 0} \quad & \langle b, a \rangle - \tfrac12 \langle U, L U \rangle \qquad \text{s.t.} \quad
   Z = c + L U - A^\top a \in K, \quad \beta = C - E^\top a \ge 0

Row t has the slack of its group, ``E[t, group[t]] = 1``; groups with ``C_g`` infinite have none. It is the master of
cutting planes (a row per cut, a slack per group of queries) and the whole problem if every comparison is one row.

Starting points are centred: their complementarity products are all equal. They need not satisfy the equation for Z:
Newton steps correct it sooner than they centre a point.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from convexmetric.arrays import Array, congruent
from convexmetric.cones import Cone
from convexmetric.errors import SolverError
from convexmetric.problem import MetricProblem
from convexmetric.risks.base import group_sums

#: Sizes between the reciprocal of this and this need no units of their own.
MODERATE = 1e9
#: A quadratic part below this share of what the rows cost at zero is negligible in floating-point arithmetic.
NEGLIGIBLE = 1e-30
#: Residual of the equation for Z, relative to Z, up to which a warm start still pays; and for the cold start of a
#: quadratic program, whose central path is easier to reach from further out.
WARM_RESIDUAL, COLD_RESIDUAL = 100.0, 10.0
#: Growth of mu in the cold start of a quadratic program, until its residual is at most ``COLD_RESIDUAL``; trials.
BARRIER_GROWTH, BARRIER_TRIALS = 4.0, 12


class Penalty(Protocol):
    """Parts of a problem that the program needs: cone, ``<c, U> + 1/2 <U, L U>``, and lower bounds by multipliers."""

    @property
    def cone(self) -> Cone:
        """The cone K."""

    def linear(self) -> Array:
        """Linear part c, in coordinates of the cone."""

    def quadratic(self) -> float | Array | None:
        """Quadratic part L; None if the penalty is neither linear nor quadratic."""

    def bound(self, value: float, S: Array, hint: Array) -> float:
        """Lower bound that ``value - <S, U>`` proves, a minorant of the slacks' part."""


class SubspacePenalty:
    """Penalty of a problem on the metrics ``V U V^T``, as a function of U.

    Parameters
    ----------
    problem : MetricProblem
        On a cone with :meth:`~convexmetric.cones.Cone.on_subspace`.
    V : (d, r) array
        Orthonormal columns.
    """

    def __init__(self, problem: MetricProblem, V: Array) -> None:
        self.problem, self.V = problem, V
        cone = problem.cone.on_subspace(V.shape[1])
        assert cone is not None, "solvers that work in subspaces have asked"
        self.cone = cone
        self.G = None if problem.G is None else V.T @ problem.G @ V

    def linear(self) -> Array:
        """Linear part, in coordinates of the smaller cone."""
        return self.restricted(self.problem.cone.from_coordinates(self.problem.linear()))

    def quadratic(self) -> float | Array | None:
        """Quadratic part, the problem's own: V preserves norms."""
        return self.problem.quadratic()

    def bound(self, value: float, S: Array, hint: Array) -> float:
        """Lower bound over the metrics ``V U V^T``."""
        return self.problem.regularizer.bound(value, S, self.G, self.cone, hint)

    def restricted(self, S: Array) -> Array:
        """``V^T S V`` in coordinates of the smaller cone, for a matrix or a stack of them."""
        return self.cone.coordinates(congruent(S, self.V))


class ConicQP:
    """The penalty of a problem, and in place of its risk a set of rows with slacks; notation of the module.

    If rows, margins or weights are of extreme size, it is rescaled by powers of two: products of a few of its numbers
    stay in the range of floats, and nothing is rounded. Arguments and results are in the units of the problem.

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
        """Choose units, and rescale the program to them."""
        row = _unit(np.abs(self.A.data if sp.issparse(self.A) else self.A).max(initial=0.0))
        margin = _unit(np.abs(self.b).max(initial=0.0))
        metric = margin / row
        linear, curved = float(np.abs(self.c).max()), float(np.abs(self.L).max())
        if self.hard:
            value = _unit(max(linear * metric, curved * metric * metric))
        else:
            value = margin * _unit(self.C.max(initial=0.0))
            # Where rows weigh nothing compared with the penalty, the penalty alone limits the size of metrics.
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

    @property
    def degree(self) -> int:
        """Degree of the barrier: the number of complementarity products."""
        return self.cone.d + len(self.b) + (0 if self.hard else self.C.size)

    @property
    def curved(self) -> bool:
        """Whether there is a quadratic part."""
        return bool(np.any(self.L))

    @cached_property
    def elements(self) -> Any:
        """The rows as flattened elements of the cone's space, for products with points, which are elements too."""
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
        return times(self.L, U)

    @cached_property
    def counts(self) -> Array:
        """Number of rows of every group."""
        return self.sums(np.ones(len(self.b)))

    def sums(self, values: Array) -> Array:
        """``E^T values``: sums by group."""
        return group_sums(values, self.group, self.C.size)

    def slacks(self, margins: Array) -> Array:
        """Smallest slacks for rows with ``A U - b = margins``."""
        return least_slacks(-margins, self.group, self.C.size)

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
        return a if self.hard else within_groups(a, self.group, self.C)


def least_slacks(violations: Array, group: np.ndarray, n_groups: int) -> Array:
    """The smallest slack of every group, for the given violations of rows."""
    xi = np.zeros(n_groups)
    np.maximum.at(xi, group, violations)
    return xi


def within_groups(a: Array, group: np.ndarray, C: Array) -> Array:
    """Shrink nonnegative multipliers of every group that sum to more than its C."""
    totals = group_sums(a, group, C.size)
    return np.asarray(a * np.divide(C, totals, out=np.ones(C.size), where=totals > C)[group])


@dataclass(frozen=True)
class Units:
    """Units of a program, powers of two, by which its metric, margins and values are divided."""

    metric: float = 1.0
    margin: float = 1.0
    value: float = 1.0


def _unit(size: float) -> float:
    """Largest power of two up to a size; 1 for moderate sizes."""
    if not 0.0 < size < np.inf or 1.0 / MODERATE <= size <= MODERATE:
        return 1.0
    return float(np.ldexp(1.0, np.frexp(size)[1] - 1))


def times(L: float | Array, v: Array) -> Array:
    """``L v`` for a quadratic part: a multiple of the identity, or a matrix."""
    return L @ v if isinstance(L, np.ndarray) else L * v


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


def cold_start(qp: ConicQP) -> Iterate:
    """A centred interior point at the scale of the problem; only the equation for Z may be violated."""
    U, size, load = _euclidean(qp)
    # With a negligible quadratic part the path is that of a linear program.
    negligible = 0.0 if qp.hard else NEGLIGIBLE * float(qp.C @ qp.slacks(-qp.b))
    if qp.curved and not qp.cone.inner(U, qp.quadratic(U)) < negligible:
        return _quadratic_start(qp)
    # Z must not be small compared with the rows: the geometric mean of the gradient and their load.
    return _centred(qp, U, max(size, float(np.sqrt(size * load)), 1e-8) * qp.cone.identity())


def _euclidean(qp: ConicQP) -> tuple[Array, float, float]:
    """The best multiple of the identity, with the largest coordinate of ``c + L U`` there and the load of the rows.

    The load is the largest eigenvalue of ``A^T a`` with the multipliers a in the middle of their box; zero if it is
    negative or the rows are hard.
    """
    cone = qp.cone
    U = _best_scale(qp, cone.identity()) * cone.identity()
    size = float(np.abs(cone.coordinates(qp.gradient(U))).max())
    load = 0.0 if qp.hard else max(0.0, cone.largest(qp.adjoint((qp.C / (qp.counts + 1.0))[qp.group])))
    return U, size, load


def heavy_start(qp: ConicQP) -> Iterate:
    """A start with Z at the full weight of the rows, for when the usual one stalls.

    It is further from the optimum, but multipliers in the middle of their box nearly satisfy the equation for Z however
    many orders of magnitude lie between the data and the regularizer. Where rows cancel the products of U and Z have
    their share of the value, as those near zero leave no room for steps.
    """
    U, size, load = _euclidean(qp)
    value = qp.primal_value(U, qp.times(U) - qp.b) / qp.degree
    share = value / float(U.max()) if np.isfinite(value) else 0.0
    return _centred(qp, U, max(size, load, share, 1e-8) * qp.cone.identity())


def _quadratic_start(qp: ConicQP) -> Iterate:
    """Cold start of a quadratic program, around a multiple of ``[A^T a - c]_+``: optimal for the right a."""
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
    # Linear terms count by absolute value: their gains would cancel what the rows cost.
    value += cone.inner(np.abs(qp.c) - qp.c, scale * U)
    mu = value / qp.degree
    S = scale * pull - qp.c
    for _ in range(BARRIER_TRIALS):
        point = _centred(qp, *cone.centred_pair(S, curvature, mu))
        if _residual(qp, point) <= COLD_RESIDUAL:
            break
        mu *= BARRIER_GROWTH
    return point


def _residual(qp: ConicQP, point: Iterate) -> float:
    """Violation of the equation for Z, relative to Z."""
    return qp.cone.relative_norm(qp.gradient(point.U) - qp.adjoint(point.a) - point.Z, point.Z)


def _best_scale(qp: ConicQP, U: Array) -> float:
    """The multiple of ``U`` with the least objective, on a logarithmic grid."""
    along = qp.times(U)
    longest = float(np.abs(along).max())
    if longest == 0.0 or not qp.b.any():
        # No row depends on the metric, or all margins are zero: any finite multiple will do.
        return 1.0
    size = float(np.abs(qp.b).max()) / longest
    scales = size * np.logspace(-1, 6, 29)
    if qp.hard:
        feasible = [t for t in scales if (t * along >= qp.b).all()]
        return feasible[0] if feasible else 10.0 * size
    nothing, penalty = qp.primal_value(0.0 * U, -qp.b), qp.primal_value(scales[0] * U, np.zeros(len(qp.b)))
    if penalty > nothing > 0.0:
        # Rows may weigh nothing compared with the penalty.
        scales = np.append(scales, scales[0] * (nothing / penalty))
    return float(min(scales, key=lambda t: qp.primal_value(t * U, t * along - qp.b)))


def warm_start(qp: ConicQP, path: list[tuple[Array, Array]]) -> tuple[Iterate | None, int]:
    """A start on the path ``(U, Z)`` of a related program with other rows, and its place on the path.

    Rows and slacks are centred anew around each point, from the last one back, until the equation for Z is violated
    by no more than ``WARM_RESIDUAL``, relative to Z. None if no point qualifies.
    """
    units = qp.units
    for place in range(len(path) - 1, -1, -1):
        U, Z = path[place]
        point = _centred(qp, U / units.metric, Z * (units.metric / units.value))
        if _residual(qp, point) <= WARM_RESIDUAL:
            return point, place
    return None, -1


def _centred(qp: ConicQP, U: Array, Z: Array) -> Iterate:
    """Iterate at ``(U, Z)`` with rows and slacks whose complementarity products all equal ``<U, Z> / d``."""
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
    # No s is below mu / C there; enforcing that keeps rounding at large margins from making one zero.
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
