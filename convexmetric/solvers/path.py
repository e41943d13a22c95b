"""The same problem for many weights C of its risk, each solve using what the others found.

The risk is proportional to C, so that a cut made for one C is a cut for every other after scaling, and a good metric
for one C is a fair start for the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from convexmetric.errors import InputError
from convexmetric.problem import MetricProblem, checked_weight
from convexmetric.solution import Progress, Solution
from convexmetric.solvers.base import Monitor, Solver
from convexmetric.solvers.cutting_planes import CuttingPlanes, Pool
from convexmetric.solvers.interior_point import InteriorPoint
from convexmetric.solvers.solve import concluded, solve

__all__ = ["solve_path"]


def solve_path(
    problem: MetricProblem,
    C: Iterable[float],
    tol: float = 1e-6,
    solver: Solver | None = None,
    max_iter: int | None = None,
    max_seconds: float | None = None,
    callback: Callable[[Progress], Any] | None = None,
) -> list[Solution]:
    """Solve for every C, from the smallest on.

    Parameters
    ----------
    problem : MetricProblem
        Its own C does not matter.
    C : iterable of float
        Weights of the risk.
    tol, max_iter, max_seconds, callback
        As for :func:`solve`, for each C.
    solver : Solver, optional
        Cutting planes with settings of your own, which reuse their cuts; any other solver starts afresh for each C.
        By default cutting planes, but for listed comparisons.

    Returns
    -------
    list of Solution
        In the order of ``C``.

    Raises
    ------
    InputError
        If a weight is malformed, or the problem has no such weight.
    """
    weights = [checked_weight(value, "C") for value in C]
    if not weights:
        raise InputError("C is empty; give at least one weight")
    planes = _planes(problem, solver)
    solutions: dict[float, Solution] = {}
    pool: Pool | None = None
    before: tuple[float, Solution] | None = None
    for weight in sorted(set(weights)):
        this = problem.with_C(weight)
        if planes is None:
            solutions[weight] = solve(
                this, tol=tol, solver=solver, max_iter=max_iter, max_seconds=max_seconds, callback=callback
            )
            continue
        monitor = Monitor(tol, max_iter, max_seconds, callback)
        monitor.solver = planes.name
        if pool is None or before is None:
            pool = Pool.empty(this, planes.groups)
        else:
            pool.scale(this, weight / before[0])
            M = before[1].certificate.M
            monitor.primal(M, this.objective(M))
        planes.follow(this, monitor, pool)
        solutions[weight] = concluded(this, planes, monitor)
        before = weight, solutions[weight]
    return [solutions[weight] for weight in weights]


def _planes(problem: MetricProblem, solver: Solver | None) -> CuttingPlanes | None:
    """The cutting planes to use, or None for another solver."""
    if isinstance(solver, CuttingPlanes):
        return solver if solver.unsupported(problem) is None else None
    if solver is not None:
        return None
    planes = CuttingPlanes()
    listed = InteriorPoint().unsupported(problem) is None
    return None if listed or planes.unsupported(problem) is not None else planes
