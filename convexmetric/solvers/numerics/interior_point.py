"""A primal-dual interior-point method for conic programs: Mehrotra's predictor and corrector, Nesterov-Todd scaling."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg as la

from convexmetric.arrays import Array
from convexmetric.certificates import relative_gap
from convexmetric.cones.scaling import longest_step
from convexmetric.deadline import until_deadline
from convexmetric.numerics.threads import blas_threads_for
from convexmetric.solvers.numerics.newton_system import Direction, NewtonSystem
from convexmetric.solvers.numerics.qp import ConicQP, Iterate
from convexmetric.solvers.numerics.starts import cold_start

#: Share of the way to the boundary that a step may go, with a quadratic part; and with a linear objective, whose
#: vertices are sharp: steps that nearly touch them take a third more iterations.
BOUNDARY_SHARE, BOUNDARY_SHARE_LINEAR = 0.99, 0.95
#: Smallest share of the complementarity that the predictor is trusted to leave, before Mehrotra's third power.
LEAST_CENTRING = 1e-6
#: Steps in a row that improve neither bound after which it ends, and the relative change that counts as an improvement,
#: as a share of ``tol``.
STALLED_STEPS, LEAST_IMPROVEMENT = 8, 1e-3


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


def interior_point(
    qp: ConicQP,
    tol: float,
    *,
    start: Iterate | None = None,
    max_steps: int = 100,
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
    max_steps : int
        Predictor-corrector steps after which it gives up.
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
            point = cold_start(qp) if start is None else start
        except la.LinAlgError:
            # Numbers out of the range of floats: no point, and infinite bounds.
            cone = qp.cone
            return Outcome(cone.zeros(), np.zeros(k), np.inf, -np.inf, 0, [])
        return _follow(qp, tol, point, max_steps, watch)


def _follow(
    qp: ConicQP, tol: float, point: Iterate, max_steps: int, watch: Callable[[Callable[[], Outcome]], bool] | None
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

    for _ in until_deadline(range(max_steps + 1)):
        U, margins = point.U, qp.times(point.U) - qp.b
        a = qp.feasible_multipliers(point.a)
        value, bound = qp.primal_value(U, margins), qp.dual_value(a, U)
        if qp.hard and value == np.inf:
            repaired = _scaled_to_feasibility(qp, U, margins)
            if repaired is not None:
                U, value = repaired, qp.primal_value(repaired, qp.times(repaired) - qp.b)
        least = LEAST_IMPROVEMENT * tol
        improved = value < upper - least * abs(value) or bound > lower + least * abs(bound)
        stalled = 0 if improved else stalled + 1
        if value < upper:
            upper, best_U = value, U
        if bound > lower:
            lower, best_a = bound, a
        gap = relative_gap(upper, lower)
        path.append((point.U * units.metric, point.Z * (units.value / units.metric)))
        if watch is not None and watch(found):
            break
        if gap <= tol or stalled >= STALLED_STEPS or not point.finite:
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
    system = NewtonSystem(qp, point, margins)
    scaling, a, s, xi, beta = system.scaling, point.a, point.s, point.xi, point.beta
    total = float(scaling.v @ scaling.v + a @ s + xi @ beta)
    if not 0.0 < total < np.inf:
        raise la.LinAlgError("complementarity has left the range of floats")
    mu = total / (qp.cone.d + len(a) + len(xi))
    predicted = system.direction(scaling.centring(0.0), -a * s, -xi * beta)
    after = _products(system, predicted, *_lengths(system, predicted, 1.0))
    target = min(1.0, max(after / total, LEAST_CENTRING)) ** 3 * mu
    move = system.direction(
        scaling.centring(target, predicted.U, predicted.Z),
        target - a * s - predicted.a * predicted.s,
        target - xi * beta - predicted.xi * predicted.beta,
    )
    primal, dual = _lengths(system, move, BOUNDARY_SHARE if qp.curved else BOUNDARY_SHARE_LINEAR)
    if qp.curved:
        primal = dual = min(primal, dual)
    return Iterate(
        point.U + primal * scaling.primal_step(move.U),
        point.Z + dual * scaling.dual_step(move.Z),
        a + dual * move.a,
        s + primal * move.s,
        xi + primal * move.xi,
        beta + dual * move.beta,
    )


def _lengths(system: NewtonSystem, move: Direction, share: float) -> tuple[float, float]:
    """Lengths of a primal and a dual step that go a share of the way to the boundary, one at most."""
    point, longest = system.point, system.scaling.longest
    primal = min(longest(move.U), longest_step(point.s, move.s), longest_step(point.xi, move.xi))
    dual = min(longest(move.Z), longest_step(point.a, move.a), longest_step(point.beta, move.beta))
    return min(1.0, share * primal), min(1.0, share * dual)


def _products(system: NewtonSystem, move: Direction, primal: float, dual: float) -> float:
    """Sum of all complementarity products after steps of these lengths."""
    point, scaling = system.point, system.scaling
    return (
        float(scaling.v @ scaling.v)
        + primal * scaling.along(move.U)
        + dual * scaling.along(move.Z)
        + primal * dual * system.qp.cone.inner(move.U, move.Z)
        + float((point.a + dual * move.a) @ (point.s + primal * move.s))
        + float((point.xi + primal * move.xi) @ (point.beta + dual * move.beta))
    )
