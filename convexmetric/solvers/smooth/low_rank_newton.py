r"""Newton's method on a factor for smooth risks and a trace, whose rank grows as long as the dual bound asks for it.

The objective of a factor, its descent and its growth are those of :mod:`convexmetric.solvers.numerics.factors`. Far
from the optimum L-BFGS takes the place of Newton's method: rows come and go there, and exact steps would be for the
wrong ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import scipy

from convexmetric.arrays import Array
from convexmetric.problem import MetricProblem
from convexmetric.risks import SmoothRisk, tangent_dual
from convexmetric.risks.base import Derivative
from convexmetric.solvers.numerics.factors import FactorObjective, FactorPoint
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
#: Gap from which Newton's method takes over from L-BFGS; iterations of L-BFGS between two evaluations of the bounds, at
#: first, and the factor by which they grow; steps that it remembers.
NEWTON_GAP = 0.01
FIRST_ITERATIONS, MORE_ITERATIONS, MEMORY = 10, 1.5, 10


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
        risk = objective.risk
        start = problem.cone.zeros() if monitor.M is None else monitor.M
        here = objective.at(objective.factor(start))
        if len(here.C) > self.most_rank:
            return
        failures, iterations = 0, float(FIRST_ITERATIONS)
        for _ in range(MAX_ROUNDS):
            before, objective_before = monitor.gap, monitor.upper_bound
            M = here.B.T @ here.B
            monitor.primal(M, here.risk + problem.penalty(M), by_risk=True)
            monitor.proven(problem, here.point, M, partial(tangent_dual, risk, M))
            yield {"rank": len(here.C), "products": objective.products}
            progress = monitor.gap < GAP_PROGRESS * before
            progress = progress or monitor.upper_bound < OBJECTIVE_PROGRESS * objective_before
            failures = 0 if progress else failures + 1
            if failures == FAILED_LOOKS:
                return
            here = objective.grown(here, monitor.tol)
            there = here
            if monitor.gap > NEWTON_GAP:
                there = objective.roughly_descended(here, int(iterations), lambda: monitor.out_of_time)
                iterations *= MORE_ITERATIONS
            if there is here:
                accuracy = SUBPROBLEM_ACCURACY * max(monitor.tol, PRIMAL_SHARE * min(1.0, monitor.gap))
                there = objective.descend(here, accuracy, lambda: monitor.out_of_time)
            here = objective.reduced(there)


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

    def roughly_descended(self, here: FactorPoint, iterations: int, stop: Callable[[], bool]) -> FactorPoint:
        """Take steps of L-BFGS, until told to stop; returns the best point that it evaluated."""
        best = here

        def evaluated(C: Array) -> tuple[float, Array]:
            nonlocal best
            there = self.tried(C.reshape(here.C.shape))
            best = there if there.value < best.value else best
            return there.value, there.gradient.ravel()

        def after_step(_: Array) -> None:
            if stop():
                raise StopIteration

        options = {"maxiter": iterations, "maxcor": MEMORY, "ftol": 0.0, "gtol": 0.0}
        if here.C.size:
            how: Any = {"jac": True, "method": "L-BFGS-B", "callback": after_step, "options": options}
            scipy.optimize.minimize(evaluated, here.C.ravel(), **how)
        return best

    def second_along(self, here: FactorPoint) -> Derivative:
        """Second derivative of the risk, as a map of E."""
        return self.risk.second_along(here.B)

    def curvature(self, here: FactorPoint, change: Array) -> float:
        """Second derivative of the risk along ``change``."""
        return float(self.risk.cone.inner(change, self.risk.second_derivative(here.B.T @ here.B)(change)))
