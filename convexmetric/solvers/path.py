"""The same problem for many weights of its risk or of its regularizer, each solve using what the others found.

The risk is proportional to C, so that a cut made for one C is a cut for every other after scaling, and a good metric
for one C is a fair start for the next. Where the regularizer is a squared norm of weight reg, the optimum moves
continuously with reg, and with it the slopes of the hinges and the face of the cone: semismooth Newton goes on from
where it stood near the end of the last solve.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from convexmetric.arguments import checked_weight
from convexmetric.deadline import until_deadline
from convexmetric.errors import InputError
from convexmetric.problem import MetricProblem
from convexmetric.solution import Progress, Solution
from convexmetric.solvers.cuts import CuttingPlanes
from convexmetric.solvers.cuts.cutting_planes import Pool
from convexmetric.solvers.explicit import InteriorPoint
from convexmetric.solvers.finalize import certificate_of, concluded, start_from_nothing, within_limit
from convexmetric.solvers.pairwise import SemismoothNewton
from convexmetric.solvers.pairwise.semismooth_newton import Warm
from convexmetric.solvers.runtime import Monitor, Solver
from convexmetric.solvers.solving import solve

__all__ = ["solve_path"]


def solve_path(
    problem: MetricProblem,
    C: Iterable[float] | None = None,
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
    problem : MetricProblem
        Its own C, or reg, does not matter.
    C : iterable of float, optional
        Weights of the risk.
    tol, atol, max_iter, max_seconds, callback
        As for :func:`solve`, for each weight.
    solver : Solver, optional
        For C, cutting planes with settings of your own reuse their cuts, and are the default but for listed
        comparisons. For reg, semismooth Newton goes on from the last solve, and is the default where it fits. Any
        other solver begins from the last solution, as ``solve(start=)`` does.
    reg : iterable of float, optional
        Weights of the regularizer, instead of ``C``.

    Returns
    -------
    list of Solution
        In the order of the weights.

    Raises
    ------
    InputError
        If a weight is malformed, the problem has no such weight, or not one of ``C`` and ``reg`` is given.
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
    limits = _Limits(tol, atol, max_iter, max_seconds, callback)
    if reg is not None:
        return _reg_path(problem, _weights(reg, "reg"), solver, limits)
    weights = _weights(() if C is None else C, "C")
    planes = _planes(problem, solver)
    solutions: dict[float, Solution] = {}
    pool: Pool | None = None
    before: tuple[float, Solution] | None = None
    last: Solution | None = None
    for weight in until_deadline(sorted(set(weights))):
        this = problem.with_C(weight)
        if planes is None:
            last = solutions[weight] = limits.solve(this, solver, last)
            continue
        monitor, bare = limits.monitor(this), this.without_constant()
        monitor.solver = planes.name
        if pool is None or before is None:
            pool = Pool.empty(bare, planes.groups)
        else:
            pool.scale(bare, weight / before[0])
            M = before[1].certificate.M
            monitor.primal(M, bare.value(M), by_risk=True)
        start_from_nothing(bare, monitor)
        within_limit(bare, partial(planes.follow, bare, pool=pool), monitor)
        solutions[weight] = concluded(this, planes, monitor)
        solutions[weight].pass_on_interrupt()
        before = weight, solutions[weight]
    return [solutions[weight] for weight in weights]


def _reg_path(problem: MetricProblem, weights: list[float], solver: Solver | None, limits: _Limits) -> list[Solution]:
    newton = SemismoothNewton() if solver is None else solver
    solutions: dict[float, Solution] = {}
    warm: Warm | None = None
    last: Solution | None = None
    for weight in until_deadline(sorted(set(weights), reverse=True)):
        this = problem.with_reg(weight)
        bare = this.without_constant()
        if not isinstance(newton, SemismoothNewton) or newton.unsupported(bare) is not None:
            last = solutions[weight] = limits.solve(this, solver, last)
            continue
        monitor = limits.monitor(this)
        monitor.solver = newton.name
        start_from_nothing(bare, monitor)
        warm = within_limit(bare, partial(newton.prepare(bare), warm=warm), monitor)
        solutions[weight] = concluded(this, newton, monitor)
        solutions[weight].pass_on_interrupt()
    return [solutions[weight] for weight in weights]


@dataclass(frozen=True)
class _Limits:
    """Tolerance, limits and callback of every solve."""

    tol: float
    atol: float
    max_iter: int | None
    max_seconds: float | None
    callback: Callable[[Progress], Any] | None

    def monitor(self, problem: MetricProblem) -> Monitor:
        certifier = partial(certificate_of, problem)
        limits = self.tol, self.max_iter, self.max_seconds, self.callback
        return Monitor(*limits, problem=problem, atol=self.atol, certifier=certifier)

    def solve(self, problem: MetricProblem, solver: Solver | None, start: Solution | None) -> Solution:
        solution = solve(
            problem,
            tol=self.tol,
            atol=self.atol,
            solver=solver,
            max_iter=self.max_iter,
            max_seconds=self.max_seconds,
            callback=self.callback,
            start=start,
        )
        solution.pass_on_interrupt()
        return solution


def _weights(values: Iterable[float], name: str) -> list[float]:
    weights = [checked_weight(value, name) for value in values]
    if not weights:
        raise InputError(f"{name} is empty; give at least one weight")
    return weights


def _planes(problem: MetricProblem, solver: Solver | None) -> CuttingPlanes | None:
    """The cutting planes to use, or None for another solver."""
    if isinstance(solver, CuttingPlanes):
        return solver if solver.unsupported(problem) is None else None
    if solver is not None:
        return None
    planes = CuttingPlanes()
    listed = InteriorPoint().unsupported(problem) is None
    return None if listed or planes.unsupported(problem) is not None else planes
