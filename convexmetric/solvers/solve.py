"""One function to solve any problem: choose a solver, run it, certify what it leaves."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from numbers import Real
from typing import Any

from convexmetric.arguments import check_count
from convexmetric.certificate import Certificate, certify, certify_metric, with_terms
from convexmetric.cones.base import Array
from convexmetric.errors import GapWarning, InputError, SolverError, UnsupportedProblemError
from convexmetric.problem import MetricProblem
from convexmetric.solution import Progress, Solution
from convexmetric.solvers.approximate import (
    FactoredDescent,
    LowRankDescent,
    ProjectedSubgradient,
    StochasticBatch,
    StochasticFactors,
    StochasticTriplets,
)
from convexmetric.solvers.base import Monitor, Solver
from convexmetric.solvers.checkpoint import Checkpoint
from convexmetric.solvers.column_generation import ColumnGeneration
from convexmetric.solvers.conic import CONIC_SOLVERS, Conic
from convexmetric.solvers.conic_cutting_planes import ConicCuttingPlanes
from convexmetric.solvers.cutting_planes import CuttingPlanes
from convexmetric.solvers.display import ProgressBar
from convexmetric.solvers.dual_ascent import DualAscent
from convexmetric.solvers.dual_newton import DualNewton
from convexmetric.solvers.exact import Exact
from convexmetric.solvers.factored_lagrangian import FactoredLagrangian
from convexmetric.solvers.interior_point import InteriorPoint
from convexmetric.solvers.low_rank_newton import LowRankNewton
from convexmetric.solvers.proximal_gradient import ProximalGradient
from convexmetric.solvers.semismooth_newton import SemismoothNewton
from convexmetric.solvers.smoothed_newton import SmoothedNewton
from convexmetric.terms import Constraints, ExtraObjective, UserTerms
from convexmetric.threads import shared_cores

__all__ = ["SOLVERS", "solve"]

#: Solvers by the name a user types.
SOLVERS: dict[str, Callable[[], Solver]] = {
    "exact": Exact,
    "dual-ascent": DualAscent,
    "dual-newton": DualNewton,
    "column-generation": ColumnGeneration,
    "factored-lagrangian": FactoredLagrangian,
    "interior-point": InteriorPoint,
    "semismooth-newton": SemismoothNewton,
    "smoothed-newton": SmoothedNewton,
    "low-rank-newton": LowRankNewton,
    "proximal-gradient": ProximalGradient,
    "cutting-planes": CuttingPlanes,
    "cutting-planes-plain": CuttingPlanes.plain,
    "low-rank-descent": LowRankDescent,
    "factored-descent": FactoredDescent,
    "subgradient": ProjectedSubgradient,
    "stochastic-batch": StochasticBatch,
    "stochastic-factors": StochasticFactors,
    "stochastic-triplets": StochasticTriplets,
    **{backend: partial(Conic, backend) for backend in CONIC_SOLVERS},
}


def solve(
    problem: MetricProblem,
    tol: float = 1e-6,
    solver: str | Solver | None = None,
    max_iter: int | None = None,
    max_seconds: float | None = None,
    progress: bool = False,
    callback: Callable[[Progress], Any] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    constraints: Constraints | None = None,
    extra_objective: ExtraObjective | None = None,
) -> Solution:
    """Solve to a certified relative gap.

    Parameters
    ----------
    problem : MetricProblem
        What to solve.
    tol : float
        Stop when ``(upper - lower) / max(|upper|, |lower|) <= tol``, both bounds certified.
    solver : str or Solver, optional
        ``"exact"``, which is the default and chooses among the next ten; ``"dual-ascent"``, ``"dual-newton"``,
        ``"column-generation"``, ``"factored-lagrangian"``, ``"interior-point"``, ``"semismooth-newton"``,
        ``"smoothed-newton"``, ``"low-rank-newton"``, ``"proximal-gradient"``, ``"cutting-planes"``;
        ``"cutting-planes-plain"``; the approximate ``"subgradient"``, ``"stochastic-batch"``,
        ``"stochastic-triplets"``, ``"stochastic-factors"``, ``"low-rank-descent"`` and ``"factored-descent"``; a conic
        solver (``"clarabel"``, ``"scs"``, ``"mosek"``, ``"cvxopt"``, ``"sdpa"``), or a solver object with settings of
        its own such as ``CuttingPlanes(groups=64)``.
    max_iter : int, optional
        Limit on iterations: oracle passes for cutting planes, looks at the certified gap for approximate solvers.
    max_seconds : float, optional
        Limit on wall time, checked between iterations.
    progress : bool
        Show a progress bar on standard error.
    callback : callable, optional
        Called with a :class:`Progress` after every iteration; returning a true value stops the solve.
    checkpoint : path, optional
        File to which the state is written as the solve goes on, and from which the same call takes it up again after
        it was stopped or killed at any moment; limits then count what was done before.
    constraints : callable, optional
        Constraints of your own: a function from the metric's CVXPY variable (a symmetric matrix, or the vector of
        weights of a diagonal metric) to a list of CVXPY constraints, such as ``lambda M: [cp.trace(M) <= 1]``.
    extra_objective : callable, optional
        A convex term of your own, such as ``lambda M: 0.1 * cp.sum(cp.abs(M))``. With either the master is a conic
        program for CLARABEL, and the certificate says which part of the bound rests on it.

    Returns
    -------
    Solution
        The best certified metric, also after a limit or Ctrl-C (see its ``status``).

    Raises
    ------
    InputError
        If an argument is malformed.
    UnsupportedProblemError
        If the solver asked for cannot handle the problem.
    SolverError
        If a solver fails without leaving a point.

    Warns
    -----
    GapWarning
        If the certified gap ends above ``tol``.

    Examples
    --------
    >>> import convexmetric as cm
    >>> iris = cm.datasets.load("iris")
    >>> problem = cm.RankingProblem.from_labels(iris.X, iris.y, measure="auc", C=10.0)
    >>> solution = cm.solve(problem, tol=1e-6)
    >>> solution.status, solution.M.shape
    ('optimal', (4, 4))
    >>> solution.lower_bound <= solution.upper_bound <= solution.lower_bound * (1 + 2e-6)
    True

    Another algorithm ends between the same bounds:

    >>> other = cm.solve(problem, solver="cutting-planes")
    >>> max(solution.lower_bound, other.lower_bound) <= min(solution.upper_bound, other.upper_bound)
    True
    """
    if not isinstance(problem, MetricProblem):
        raise InputError(f"problem must be a MetricProblem, got {type(problem).__name__}")
    if not _is_number(tol, Real) or not 0.0 < tol < 1.0:
        raise InputError(f"tol must be a relative gap between 0 and 1, got {tol!r}")
    if max_iter is not None:
        check_count(max_iter, "max_iter", " or None")
    if max_seconds is not None and not (_is_number(max_seconds, Real) and max_seconds > 0.0):
        raise InputError(f"max_seconds must be positive or None, got {max_seconds!r}")
    if callback is not None and not callable(callback):
        raise InputError(f"callback must be callable, got {type(callback).__name__}")
    terms = None
    if constraints is not None or extra_objective is not None:
        if solver is not None and not isinstance(solver, ConicCuttingPlanes):
            raise InputError("constraints and extra_objective are for the solver of their own: leave solver out")
        if checkpoint is not None:
            raise InputError("checkpoint is not for problems with constraints or extra_objective: leave it out")
        terms = UserTerms(problem, constraints, extra_objective)
        solver = solver or ConicCuttingPlanes()
    chosen = _chosen(problem, solver)
    file = None if checkpoint is None else Checkpoint(checkpoint, problem)
    state = None if file is None else file.read()

    with shared_cores(), ProgressBar(tol) if progress else nullcontext() as display:
        monitor = Monitor(tol, max_iter, max_seconds, callback, display, file)
        try:
            if state is not None:
                monitor.resume(problem, state)
            if terms is not None and isinstance(chosen, ConicCuttingPlanes):
                chosen.run_with(problem, monitor, terms)
            elif monitor.gap > tol:
                monitor.solver = chosen.name
                chosen.run(problem, monitor)
        except KeyboardInterrupt:
            if monitor.M is None or monitor.dual_point is None:
                raise
            monitor.status = "interrupted"
    return concluded(problem, chosen, monitor, terms)


def concluded(problem: MetricProblem, chosen: Solver, monitor: Monitor, terms: UserTerms | None = None) -> Solution:
    """The certified solution that a solver left with its monitor; warns if the gap is above the tolerance."""
    if monitor.M is None or monitor.dual_point is None:
        raise SolverError(f"{chosen.name} left no certified point")
    monitor.save()
    if terms is None:
        certificate = _certificate(problem, monitor, monitor.M)
    else:
        certificate = with_terms(certify_metric(problem, monitor.M), terms, monitor.dual_point)
    status = monitor.status
    if certificate.gap <= monitor.tol:
        status = "optimal"
    elif status == "optimal":
        status = "stalled"
    solution = Solution(
        problem=problem,
        certificate=certificate,
        status=status,
        tol=monitor.tol,
        history=monitor.history,
        seconds=monitor.seconds,
        solver=chosen.backend if isinstance(chosen, Conic) else monitor.solver or chosen.name,
    )
    if status != "optimal":
        warnings.warn(
            f"{solution.solver} ended ({status}) with a certified gap of {solution.gap:.1e}, "
            f"above tol = {solution.tol:.1e}",
            GapWarning,
            stacklevel=3,
        )
    return solution


def _certificate(problem: MetricProblem, monitor: Monitor, M: Array) -> Certificate:
    """The certificate of what a solver left.

    A lower bound from cuts needs an oracle pass for every metric they were made at. Cuts that the risk itself made
    during this run are not made anew: their weighted sum is bounded as it is. ``certify`` makes them anew, with the
    same result.
    """
    if monitor.sums is None:
        return certify(problem, M, monitor.dual_point)
    upper = certify_metric(problem, M)
    value, S = monitor.sums.value, monitor.sums.S
    lower = problem.bound(value, S, problem.regularizer.sharpened(S, problem.G, upper.M))
    return replace(upper, lower_bound=lower, dual=monitor.dual_point)


def _is_number(value: object, kind: type) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


def _chosen(problem: MetricProblem, solver: str | Solver | None) -> Solver:
    if solver is None:
        solver = "exact"
    if isinstance(solver, str):
        if solver not in SOLVERS:
            raise InputError(f"solver must be one of {', '.join(map(repr, SOLVERS))}, got {solver!r}")
        solver = SOLVERS[solver]()
    if not isinstance(solver, Solver):
        raise InputError(f"solver must be a name or a Solver, got {type(solver).__name__}")
    reason = solver.unsupported(problem)
    if reason is not None:
        raise UnsupportedProblemError(f"{solver.name} cannot solve this problem: {reason}")
    return solver
