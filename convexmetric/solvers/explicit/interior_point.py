"""Direct primal-dual interior point for hinge losses of listed comparisons.

The whole problem is one conic quadratic program with a row and a slack for every comparison (see
:mod:`convexmetric.solvers.numerics.qp`). Time an iteration is ``min(T, q)^2 max(T, q)`` for T comparisons and q
coordinates of the metric; memory is the square of the smaller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from convexmetric.comparisons.points import row_width
from convexmetric.problem import MetricProblem
from convexmetric.risks import ListedHinges
from convexmetric.solvers.numerics.interior_point import Outcome, interior_points
from convexmetric.solvers.numerics.qp import ConicQP, heavy_start
from convexmetric.solvers.runtime import Monitor, Run, Solver, Steps
from convexmetric.solvers.runtime.requirements import FLOAT, need_cone, need_short_rows, quadratic_part

#: Iterations at most from each of the two starts.
MAX_STEPS = 200


@dataclass(frozen=True)
class InteriorPoint(Solver):
    """Mehrotra's method on the problem as it stands; exact, for some ten thousand comparisons."""

    name: ClassVar[str] = "interior-point"

    def prepare(self, problem: MetricProblem) -> Run:
        """Needs hinges of listed comparisons and a linear or quadratic penalty."""
        hinges = problem.risk.form(ListedHinges)
        need_cone(problem)
        quadratic_part(problem)
        if not problem.cone.diagonal:
            need_short_rows(len(hinges.comparisons), problem.cone.size)
        return partial(self._solve, problem, hinges)

    def memory(self, problem: MetricProblem) -> float | None:
        """Bytes of the rows, as coordinates and as elements of the cone, twice, and two squares of the smaller side."""
        hinges, cone = problem.risk.form(ListedHinges), problem.cone
        count, width = len(hinges.comparisons), row_width(hinges.comparisons.points, cone)
        rows = 4.0 * width if cone.diagonal else 3.0 * width + 3.0 * cone.d**2
        return FLOAT * (count * (rows + 40.0) + 2.0 * min(count, cone.size) ** 2)

    def _solve(self, problem: MetricProblem, hinges: ListedHinges, monitor: Monitor) -> Steps:
        """Solve, offering the projected metric and the clipped multipliers of every iteration."""
        risk, rows = problem.risk, np.arange(len(hinges.comparisons))
        # Bounds of a problem without a penalty need an inner plane: one serves the whole solve.
        plane = None
        qp = ConicQP(problem.beside(plane), A=hinges.comparisons.rows, b=hinges.margins, group=rows, C=hinges.weights)

        if not hinges.hard:
            # Where the regularizer outweighs everything, the optimum is zero, which is not an interior point.
            nothing = problem.cone.zeros()
            monitor.primal(nothing, problem.value(nothing), by_risk=True)

        for found in _from_both_starts(qp):
            best = found()
            M = risk.repair(problem.cone.project(best.U))
            if np.isfinite(M).all():
                monitor.primal(M, problem.value(M), by_risk=True)
                if plane is None:
                    plane = problem.inner_plane(M)
                    qp.problem = problem.beside(plane)
            monitor.dual(best.lower_bound, partial(np.asarray, best.a))
            yield {}


def _from_both_starts(qp: ConicQP) -> Iterator[Callable[[], Outcome]]:
    """Steps from a cold start and, where they do not close the gap, from a heavy one, which is made only then."""
    yield from interior_points(qp, 0.0, max_steps=MAX_STEPS)
    yield from interior_points(qp, 0.0, start=heavy_start(qp), max_steps=MAX_STEPS)
