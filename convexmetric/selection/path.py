"""Solve a problem for many weights of its risk or of its regularizer, each solve starting from the earlier ones.

The risk is proportional to C, so that a cut made for one C is a cut for every other after scaling, and a good metric
for one C is a fair start for the next. Where the regularizer is a squared norm of weight reg, the optimum moves
continuously with reg, and with it the slopes of the hinges and the face of the cone: semismooth Newton resumes
from its state near the end of the last solve.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from convexmetric.arguments import checked_weight
from convexmetric.deadline import until_deadline
from convexmetric.errors import InputError
from convexmetric.problem import AnyProblem, MetricProblem, as_problem
from convexmetric.solution import Progress, Solution
from convexmetric.solvers.cuts import CuttingPlanes
from convexmetric.solvers.cuts.pool import Pool
from convexmetric.solvers.explicit import InteriorPoint
from convexmetric.solvers.finalize import solved, start_from_nothing
from convexmetric.solvers.pairwise import SemismoothNewton
from convexmetric.solvers.pairwise.semismooth_newton import Warm
from convexmetric.solvers.runtime import Monitor, Solver, drive
from convexmetric.solvers.solving import solve


def solve_path(
    problem: AnyProblem,
    C: Iterable[float] | None = None,
    *,
    tol: float = 1e-6,
    solver: Solver | None = None,
    max_iter: int | None = None,
    max_seconds: float | None = None,
    callback: Callable[[Progress], Any] | None = None,
    reg: Iterable[float] | None = None,
    atol: float = 0.0,
) -> list[Solution]:
    """Solve for every C, from the smallest on, or for every reg, from the largest on.

    Parameters
    ----------
    problem : MetricProblem, Instance or str
        The problem; its own C, or reg, is ignored.
    C : iterable of float, optional
        Weights of the risk.
    tol, atol, max_iter, max_seconds, callback
        As for :func:`solve`, for each weight.
    solver : Solver, optional
        For C, cutting planes, with whatever settings, reuse their cuts; they are the default except for listed
        comparisons. For reg, semismooth Newton resumes from the last solve, and is the default where it applies. Any
        other solver starts from the last solution, as with ``solve(start=)``.
    reg : iterable of float, optional
        Weights of the regularizer, instead of ``C``.

    Returns
    -------
    list of Solution
        In the order of the weights.

    Raises
    ------
    InputError
        If a weight is malformed, the problem has no such weight, or not exactly one of ``C`` and ``reg`` is given.
    KeyboardInterrupt
        At Ctrl-C, which ends the whole path.

    Examples
    --------
    >>> import convexmetric as cm
    >>> iris = cm.datasets.load("iris")
    >>> problem = cm.TripletProblem.from_labels(iris.X, iris.y, n_same=3, n_other=3)
    >>> [round(solution.upper_bound, 4) for solution in cm.solve_path(problem, reg=[1.0, 0.1])]
    [0.5556, 0.3649]
    """
    if (C is None) == (reg is None):
        raise InputError("give either C, weights of the risk, or reg, weights of the regularizer")
    problem = as_problem(problem)
    given: Any = C if reg is None else reg
    name, weighted = ("C", problem.with_C) if reg is None else ("reg", problem.with_reg)
    weights = [checked_weight(value, name) for value in given]
    if not weights:
        raise InputError(f"{name} is empty; give at least one weight")
    limits: Any = {"tol": tol, "atol": atol, "max_iter": max_iter, "max_seconds": max_seconds, "callback": callback}
    ordered = sorted(set(weights), reverse=reg is not None)
    reusing = _reusing(weighted(ordered[0]).without_constant(), solver, name)
    solutions: dict[float, Solution] = {}
    last: Solution | None = None
    # State passed from solve to solve: cuts, or the face of the cone and the slopes where Newton's method ended.
    left: Any = None
    for before, weight in zip([ordered[0], *ordered], until_deadline(ordered), strict=False):
        this = weighted(weight)
        if reusing is None:
            solution = solve(this, solver=solver, start=last, **limits)
        else:
            bare = this.without_constant()
            monitor = Monitor(problem=this, **limits)
            monitor.solver = reusing.name
            if isinstance(reusing, SemismoothNewton):
                steps = reusing.prepare(bare)(monitor, warm=left)
            else:
                if last is None:
                    left = Pool.smallest(bare, reusing.groups)
                else:
                    left.scale(bare, weight / before)
                    M = last.certificate.M
                    monitor.primal(M, bare.value(M), by_risk=True)
                steps = reusing.follow(bare, monitor, left)
            start_from_nothing(bare, monitor)
            solution = solved(this, reusing, partial(drive, steps), monitor)
            left = Warm.of(monitor.state()) if isinstance(reusing, SemismoothNewton) else left
        solution.pass_on_interrupt()
        last = solutions[weight] = solution
    return [solutions[weight] for weight in weights]


def _reusing(problem: MetricProblem, solver: Solver | None, name: str) -> CuttingPlanes | SemismoothNewton | None:
    """Solver that keeps its state from weight to weight; None where solves share only the last solution as a start."""
    kind = CuttingPlanes if name == "C" else SemismoothNewton
    found = kind() if solver is None else solver
    if not isinstance(found, kind) or found.unsupported(problem) is not None:
        return None
    # For listed comparisons the interior-point method, started afresh, is faster than reusing cuts.
    listed = solver is None and name == "C" and InteriorPoint().unsupported(problem) is None
    return None if listed else found
