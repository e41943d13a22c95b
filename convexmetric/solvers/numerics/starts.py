"""Starting points of the interior-point method: centred ones, whose complementarity products are all equal.

They need not satisfy the equation for Z: Newton steps correct it sooner than they centre a point.
"""

from __future__ import annotations

import numpy as np

from convexmetric.arrays import Array
from convexmetric.solvers.numerics.qp import ConicQP, Iterate

#: A quadratic part below this share of what the rows cost at zero is none in floating-point arithmetic.
NEGLIGIBLE = 1e-30
#: Residual of the equation for Z, relative to Z, up to which a warm start still pays; and for the cold start of a
#: quadratic program, whose central path is easier to reach from further out.
WARM_RESIDUAL, COLD_RESIDUAL = 100.0, 10.0
#: Growth of mu in the cold start of a quadratic program, until its residual is at most ``COLD_RESIDUAL``; trials.
BARRIER_GROWTH, BARRIER_TRIALS = 4.0, 12


def cold_start(qp: ConicQP) -> Iterate:
    """A centred interior point at the scale of the problem; only the equation for Z may be violated."""
    cone = qp.cone
    U = cone.identity()
    U = _best_scale(qp, U) * U
    if not _nearly_linear(qp, U):
        return _quadratic_start(qp)
    size = _gradient_size(qp, U)
    if not qp.hard:
        # Z must not be small beside the rows: the geometric mean of the gradient and what they weigh.
        size = max(size, float(np.sqrt(size * max(_load(qp), 0.0))))
    return _centred(qp, U, max(size, 1e-8) * cone.identity())


def _gradient_size(qp: ConicQP, U: Array) -> float:
    """Largest coordinate of ``c + L U``."""
    return float(np.abs(qp.cone.coordinates(qp.gradient(U))).max())


def _load(qp: ConicQP) -> float:
    """Largest eigenvalue of ``A^T a`` with the multipliers a in the middle of their box."""
    return qp.cone.largest(qp.adjoint((qp.C / (qp.counts + 1.0))[qp.group]))


def _nearly_linear(qp: ConicQP, U: Array) -> bool:
    """Whether the quadratic part is nothing beside the rest, so that the path is that of a linear program."""
    if not qp.curved:
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
    # What the linear term gains would cancel what the rows cost.
    value += cone.inner(np.abs(qp.c) - qp.c, scale * U)
    mu = value / (cone.d + len(qp.b) + (0 if qp.hard else qp.C.size))
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
    if longest == 0.0:
        # No row depends on the metric: any finite multiple will do.
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
    by no more than ``WARM_RESIDUAL``, relative to Z. None if that is so at no point.
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
