"""Direct primal-dual interior point for hinge losses of listed comparisons.

The whole problem is one conic quadratic program with a row and a slack for every comparison (see
:mod:`convexmetric.solvers.numerics.program`). Time an iteration is ``min(T, q)^2 max(T, q)`` for T comparisons and q
coordinates of the metric; memory is the square of the smaller.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from convexmetric.cones import NonnegativeDiagonal
from convexmetric.errors import SolverError
from convexmetric.losses import Hinge
from convexmetric.problem import MetricProblem
from convexmetric.risks import SeparableRisk
from convexmetric.solvers.numerics.interior_point import Outcome, interior_point
from convexmetric.solvers.numerics.program import ConicQP
from convexmetric.solvers.numerics.starts import heavy_start
from convexmetric.solvers.run import Monitor, Solver

__all__ = ["InteriorPoint"]

#: Bytes of comparisons in coordinates of a matrix cone that are built without protest.
ROWS_LIMIT = 2 * 2**30


@dataclass(frozen=True)
class InteriorPoint(Solver):
    """Mehrotra's method on the problem as it stands; exact, for some ten thousand comparisons."""

    name: ClassVar[str] = "interior-point"

    def unsupported(self, problem: MetricProblem) -> str | None:
        """Needs hinge losses of listed comparisons and a linear or quadratic regularizer."""
        risk = problem.risk
        if not isinstance(risk, SeparableRisk) or not isinstance(risk.loss, Hinge):
            return "its risk is not a sum of hinge losses of listed comparisons"
        quadratic = problem.quadratic()
        if quadratic is None:
            return "its regularizer is neither linear nor quadratic"
        if isinstance(quadratic, np.ndarray) and not isinstance(problem.cone, NonnegativeDiagonal):
            return "a quadratic form needs a diagonal metric"
        if not isinstance(problem.cone, NonnegativeDiagonal) and risk.parts * problem.cone.size * 8 > ROWS_LIMIT:
            return "its comparisons take too much memory in coordinates"
        return None

    def run(self, problem: MetricProblem, monitor: Monitor) -> None:
        """Solve, offering the projected metric and the clipped multipliers of every iteration."""
        risk = problem.risk
        if not isinstance(risk, SeparableRisk) or not isinstance(risk.loss, Hinge):
            raise SolverError("the interior-point solver needs hinge losses of listed comparisons")
        T = risk.parts
        qp = ConicQP(
            problem,
            A=risk.comparisons.rows,
            b=np.full(T, risk.loss.margin),
            group=np.arange(T),
            C=np.full(T, risk.loss.C),
        )

        stopped = False

        def watch(found: Callable[[], Outcome]) -> bool:
            nonlocal stopped
            best = found()
            M = risk.repair(problem.cone.project(best.U))
            if np.isfinite(M).all():
                monitor.primal(M, problem.objective(M))
            monitor.dual(best.lower_bound, lambda: best.a)
            stopped = monitor.iterate()
            return stopped

        interior_point(qp, 0.0, max_iter=200, watch=watch)
        if not stopped:
            interior_point(qp, 0.0, start=heavy_start(qp), max_iter=200, watch=watch)
