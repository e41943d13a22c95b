r"""Newton's method on a factor for smooth risks and a trace, whose rank grows as long as the dual bound asks for it.

The objective of a factor, its descent and its growth are those of :mod:`convexmetric.solvers.numerics.factors`. Far
from the optimum L-BFGS takes the place of Newton's method: rows come and go there, and exact steps would be for the
wrong ones. Both take steps in rows that are scaled (Tong, Ma and Chi 2021), and bounds come from a factor's plane and
from that after its growth.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from convexmetric.arrays import Array
from convexmetric.numerics.searches import SUFFICIENT
from convexmetric.problem import MetricProblem
from convexmetric.risks import SmoothRisk, tangent_dual
from convexmetric.risks.base import Derivative
from convexmetric.solvers.numerics.factors import ROUNDING, FactorObjective, FactorPoint
from convexmetric.solvers.runtime import Monitor, Run, Solver, Steps, check_counts
from convexmetric.solvers.runtime.requirements import metric_memory, positive_definite_penalty

#: Evaluations of the dual bound after which it gives up.
MAX_ROUNDS = 200
#: Newton steps go on until they promise less than this share of the tolerance or of ``PRIMAL_SHARE`` of the gap.
SUBPROBLEM_ACCURACY = 0.1
#: Fraction of the gap in that test: most of the gap is the dual bound's. With 0.1, rows were added long before the
#: others were settled, and an instance took four times as long.
PRIMAL_SHARE = 1e-3
#: Evaluations of the dual bound in a row without progress after which it gives up.
FAILED_LOOKS = 8
#: It is progress if the gap is below this fraction of the last one.
GAP_PROGRESS = 0.5
#: It is progress, too, if the objective is below this fraction of the last one.
OBJECTIVE_PROGRESS = 0.99
#: Gap from which Newton's method takes over from L-BFGS where a factor has few rows, at most so many, and where it has
#: more, whose systems take more steps of conjugate gradients.
NEWTON_GAP, FEW_ROWS, LATE_NEWTON_GAP = 0.01, 30, 1e-4
#: Steps of L-BFGS between two evaluations of the bounds, at first, and the factor by which they grow; steps that it
#: remembers, and the shortest one that it tries.
FIRST_STEPS, MORE_STEPS, MEMORY, SHORTEST_STEP = 20, 1.25, 5, 1e-6
#: The error of a bound is about the root of that of the metric: L-BFGS ends where a step promises less than this share
#: of the tolerance, squared; next time the square is multiplied by the share.
ROUGH_ACCURACY = 0.1
#: Share of the mean squared size of rows that is added to that of each, at least, before they are scaled.
DAMPING = 0.03


@dataclass(frozen=True)
class LowRankNewton(Solver):
    """Trust-region Newton steps on a factor, certified by the dual bound of the convex problem.

    Parameters
    ----------
    most_rank : int
        Give up where the metric to start from has a higher rank: the more rows a factor has, the longer conjugate
        gradients take.
    """

    most_rank: int = 10_000

    name: ClassVar[str] = "low-rank-newton"

    def __post_init__(self) -> None:
        check_counts(self, "most_rank")

    def prepare(self, problem: MetricProblem) -> Run:
        """Needs a smooth risk, full metrics, and a trace that outweighs the linear term."""
        risk = problem.risk.form(SmoothRisk)
        objective = _SmoothObjective(positive_definite_penalty(problem), risk)
        return partial(self._descend_and_grow, problem, objective)

    def memory(self, problem: MetricProblem) -> float | None:
        """Bytes of a pass, and of six metrics."""
        return problem.risk.pass_memory + 6.0 * metric_memory(problem)

    def _descend_and_grow(self, problem: MetricProblem, objective: _SmoothObjective, monitor: Monitor) -> Steps:
        """Alternate bounds, growth and descent of the factor, until the certified gap closes."""
        here = objective.at(objective.factor(problem.cone.zeros() if monitor.M is None else monitor.M))
        if len(here.C) > self.most_rank:
            return
        failures, steps, accuracy = 0, float(FIRST_STEPS), (ROUGH_ACCURACY * monitor.tol) ** 2
        for _ in range(MAX_ROUNDS):
            before, lower, value = monitor.gap, max(monitor.lower_bound, 0.0), monitor.upper_bound
            objective.offer(here, problem, monitor)
            grown = objective.grown(here, monitor.tol) if monitor.gap > monitor.tol else here
            objective.offer(grown, problem, monitor)
            yield {"rank": len(here.C), "products": objective.products}
            # While the gap is near 1, a bound may double and the gap hardly shrink.
            progress = monitor.gap < GAP_PROGRESS * before or GAP_PROGRESS * monitor.lower_bound > lower
            progress = progress or monitor.upper_bound < OBJECTIVE_PROGRESS * value
            failures = 0 if progress else failures + 1
            if failures == FAILED_LOOKS:
                return
            start = objective.reduced(grown)
            rough = monitor.gap > (NEWTON_GAP if len(start.C) <= FEW_ROWS else LATE_NEWTON_GAP)
            most = int(steps) if rough else 0
            here = objective.roughly_descended(start, most, accuracy, lambda: monitor.out_of_time)
            steps, accuracy = MORE_STEPS * steps, ROUGH_ACCURACY * accuracy
            if here is start:
                share = SUBPROBLEM_ACCURACY * max(monitor.tol, PRIMAL_SHARE * min(1.0, monitor.gap))
                here = objective.descend(start, share, lambda: monitor.out_of_time)


class _SmoothObjective(FactorObjective[FactorPoint]):
    """Objective of a factor: a smooth risk and a linear penalty."""

    #: All of them at once.
    grow = 10_000

    def __init__(self, H: Array, risk: SmoothRisk) -> None:
        super().__init__(H)
        self.risk = risk

    def at(self, C: Array) -> FactorPoint:
        """Evaluate a factor, with the tangent plane of the risk."""
        B = self.of_points(C)
        risk, point = self.risk.tangent(B.T @ B)
        return FactorPoint(C, B, risk, point, self.whitened(point.S))

    def offer(self, here: FactorPoint, problem: MetricProblem, monitor: Monitor) -> None:
        """Offer a factor's metric, and the bound that the plane there proves."""
        M = here.B.T @ here.B
        monitor.primal(M, here.risk + problem.penalty(M), by_risk=True)
        monitor.proven(problem, here.point, M, partial(tangent_dual, self.risk, M))

    def scales(self, here: FactorPoint) -> Array | float:
        """Inverse sizes of the rows, as a share of the largest; small sizes are damped.

        The risk bends along a row as the square of its size, the penalty alike along all: where their bends are equal,
        as those along random directions tell, rows need no more scaling.
        """
        sizes, E = np.sum(here.C**2, axis=1, keepdims=True), np.random.default_rng(0).standard_normal(here.C.shape)
        bend = float(np.vdot(E, self.whitened_rows(self.second_along(here)(self.of_points(E)))))
        if not bend > 0.0:
            return 1.0
        damping = max(float(np.sum(sizes * E**2)) / bend, DAMPING * float(sizes.mean()))
        return np.asarray(np.sqrt((sizes.min() + damping) / (sizes + damping)))

    def roughly_descended(self, here: FactorPoint, most: int, accuracy: float, stop: Callable[[], bool]) -> FactorPoint:
        """Take steps of L-BFGS until one promises less than a share ``accuracy`` of the objective, or told to stop."""
        scales, pairs = self.scales(here), deque[tuple[Array, Array, float]](maxlen=MEMORY)
        gradient = scales * here.gradient
        for _ in range(most):
            direction = -inverse_product(pairs, gradient)
            slope = float(np.vdot(direction, gradient))
            if stop() or not -slope > max(accuracy, ROUNDING) * abs(here.value):
                break
            length, there = self._ahead(here, scales * direction, slope)
            if not there.value < here.value:
                break
            step, change = length * direction, scales * there.gradient - gradient
            bend = float(np.vdot(step, change))
            if bend > 0.0:
                pairs.append((step, change, bend))
            here, gradient = there, gradient + change
        return here

    def _ahead(self, here: FactorPoint, direction: Array, slope: float) -> tuple[float, FactorPoint]:
        """Length and end of a step that descends, shortened to the minima of parabolas; or of the shortest step."""
        length = 1.0
        while True:
            there = self.tried(here.C + length * direction)
            change, promised = there.value - here.value, length * slope
            if change < SUFFICIENT * promised or length < SHORTEST_STEP:
                return length, there
            # An infinite value shortens by most, and so does NaN.
            length *= min(0.5, max(0.1, 0.5 * promised / (promised - change)))

    def second_along(self, here: FactorPoint) -> Derivative:
        """Second derivative of the risk, as a map of E."""
        return self.risk.second_along(here.B)

    def curvature(self, here: FactorPoint, change: Array) -> float:
        """Second derivative of the risk along ``change``."""
        return float(self.risk.cone.inner(change, self.risk.second_derivative(here.B.T @ here.B)(change)))


def inverse_product(pairs: deque[tuple[Array, Array, float]], gradient: Array) -> Array:
    """Product of a gradient with the inverse Hessian that L-BFGS (Nocedal 1980) makes of the last pairs.

    A pair is a step and the change of the gradient; beside them stands their inner product, which is positive.
    """
    found, shares = gradient.copy(), list[float]()
    for step, change, bend in reversed(pairs):
        shares.append(float(np.vdot(step, found)) / bend)
        found -= shares[-1] * change
    found *= pairs[-1][2] / float(np.vdot(pairs[-1][1], pairs[-1][1])) if pairs else 1.0
    for step, change, bend in pairs:
        found += (shares.pop() - float(np.vdot(change, found)) / bend) * step
    return found
