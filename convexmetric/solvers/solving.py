"""One function to solve any problem: choose a solver, run it, certify what it leaves."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from convexmetric import errors
from convexmetric.arguments import check_count, check_one_of, check_positive_number, check_seconds, is_real
from convexmetric.arrays import Array
from convexmetric.certificates.certificate import close_enough
from convexmetric.doors import DESCENTS, SPREADING
from convexmetric.imports import optional
from convexmetric.numerics.threads import shared_cores
from convexmetric.problem import AnyProblem, MetricProblem, as_problem
from convexmetric.regularizers.user_terms import Constraints, ExtraObjective
from convexmetric.risks import SmoothedPairs
from convexmetric.solution import Progress, Solution
from convexmetric.solvers.conic import CONIC_SOLVERS, Conic
from convexmetric.solvers.cuts import CuttingPlanes, SampledCuttingPlanes
from convexmetric.solvers.exact import Exact, ExactRun
from convexmetric.solvers.explicit import ADMM, AugmentedLagrangian, DualAscent, InteriorPoint
from convexmetric.solvers.finalize import solved, start_from_nothing
from convexmetric.solvers.pair_losses import DualNewton, FactoredLagrangian
from convexmetric.solvers.pairwise import SemismoothNewton, SmoothedLowRank, SmoothedNewton
from convexmetric.solvers.routes import Candidates, Route
from convexmetric.solvers.runtime import Monitor, Solver, drive
from convexmetric.solvers.runtime.checkpoint import Checkpoint, State
from convexmetric.solvers.runtime.costs import costs_text, long_solve, pass_seconds
from convexmetric.solvers.runtime.requirements import memory_limit
from convexmetric.solvers.runtime.unbounded import check_bounded
from convexmetric.solvers.smooth import LowRankNewton, ProximalGradient

if TYPE_CHECKING:
    from convexmetric.solvers.runtime.display import ProgressBar

__all__ = ["SOLVERS", "solve"]


def _descent(name: str) -> Solver:
    """Make an approximate solver by its name."""
    return DESCENTS.open().DESCENTS[name]()


#: Approximate solvers, available if their subpackage is installed.
_DESCENTS = (
    "low-rank-descent", "factored-descent", "subgradient", "stochastic-batch", "stochastic-factors",
    "stochastic-low-rank",
)  # fmt: skip
_OWN: tuple[type[Solver], ...] = (
    Exact, DualAscent, AugmentedLagrangian, DualNewton, FactoredLagrangian, InteriorPoint, ADMM, SemismoothNewton,
    SmoothedNewton, SmoothedLowRank, LowRankNewton, ProximalGradient, SampledCuttingPlanes, CuttingPlanes,
)  # fmt: skip
#: Solvers by their names for ``solver=``.
SOLVERS: dict[str, Callable[[], Solver]] = {
    **{kind.name: kind for kind in _OWN},
    "cutting-planes-plain": CuttingPlanes.plain,
    **{name: partial(_descent, name) for name in _DESCENTS},
    **{backend: partial(Conic, backend) for backend in CONIC_SOLVERS},
}


def solve(
    problem: AnyProblem,
    tol: float = 1e-6,
    *,
    solver: str | Solver | None = None,
    max_iter: int | None = None,
    max_seconds: float | None = None,
    progress: bool = False,
    callback: Callable[[Progress], Any] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    constraints: Constraints | None = None,
    extra_objective: ExtraObjective | None = None,
    atol: float = 0.0,
    backend: Any = None,
    start: Solution | ArrayLike | None = None,
    max_memory: float | None = None,
) -> Solution:
    r"""Solve to a certified relative gap.

    .. math:: \min_{M \in K} \; F(M) = R(M) + \langle G, M \rangle + \Omega(M) \; \ge \; v - \Omega^*_K(S - G)

    The upper bound is F at the metric that was found. The lower one is that of weak duality (Boyd & Vandenberghe 2004,
    section 5.2.2) at the dual point (S, v) that was found, for which
    :math:`R(M) \ge v - \langle S, M \rangle`.

    Parameters
    ----------
    problem : MetricProblem, Instance or str
        What to solve: a problem, an instance of the library, or the name of one.
    tol : float
        Stop when ``(upper - lower) / max(|upper|, |lower|) <= tol``, both bounds certified.
    solver : str or Solver, optional
        ``"exact"``, which is the default and chooses among the exact ones:
        ``"dual-ascent"``, ``"augmented-lagrangian"``, ``"dual-newton"``,
        ``"factored-lagrangian"``, ``"interior-point"``, ``"admm"``, ``"semismooth-newton"``, ``"smoothed-newton"``,
        ``"smoothed-low-rank"``, ``"low-rank-newton"``, ``"proximal-gradient"``,
        ``"sampled-cutting-planes"``, ``"cutting-planes"``;
        ``"cutting-planes-plain"``; the approximate ``"subgradient"``, ``"stochastic-batch"``,
        ``"stochastic-factors"``, ``"stochastic-low-rank"``, ``"low-rank-descent"`` and
        ``"factored-descent"``; a conic solver (``"clarabel"``, ``"scs"``, ``"mosek"``, ``"cvxopt"``, ``"sdpa"``), or a
        solver object with settings of its own such as ``CuttingPlanes(groups=64)``.
    max_iter : int, optional
        Limit on iterations: oracle passes for cutting planes, evaluations of the certified gap for approximate
        solvers.
    max_seconds : float, optional
        Limit on wall time, which holds inside a pass too: the solve ends within 1.2 times as long and about a second.
        Where it is too short for the first solver of the default, another begins (see :func:`explain`). Whatever the
        limit, the metric is no worse than zero and multiples of the Euclidean one; where there was no time for a pass
        over all data they are compared on a sample of them, and the upper bound may be infinite.
    progress : bool
        Show a progress bar on standard error, below the time of a pass and the memory that :func:`explain` reports.
    callback : callable, optional
        Called with a :class:`~convexmetric.solution.Progress` after every iteration; returning a true value stops
        the solve.
    checkpoint : path, optional
        File to which the state is written as the solve goes on, and from which the same call takes it up again after
        it was stopped or killed at any moment; limits then count what was done before.
    constraints : callable, optional
        Constraints of your own: a function from the metric's CVXPY variable (a symmetric matrix, or the vector of
        weights of a diagonal metric) to a list of CVXPY constraints, such as ``lambda M: [cp.trace(M) <= 1]``.
    extra_objective : callable, optional
        A convex term of your own, such as ``lambda M: 0.1 * cp.sum(cp.abs(M))``. With either,
        ``problem.subject_to(constraints, extra_objective)`` is solved in place of ``problem``
        (:meth:`~convexmetric.MetricProblem.subject_to`), and is ``solution.problem``.
    atol : float
        Stop as well when ``upper - lower <= atol``. An optimum of zero has no relative gap: unless the metric zero is
        optimal, bounds of 0 and 1e-29 are ``"stalled"`` by ``tol`` alone. In units of the objective, so that no
        default but 0 fits every problem; with it ``"optimal"`` means nothing for optima below ``atol``.
    backend : Executor, callable, distributed.Client or str, optional
        What evaluates the risk, shard by shard: an executor of ``concurrent.futures`` or a function that makes one, a
        client of Dask ``distributed``, the address of its scheduler, or ``"dask"`` for the client that is current. The
        solver itself runs in this process. A risk in memory is written to a temporary folder first; one that is in a
        folder (:class:`~convexmetric.shards.ShardedRisk`) is evaluated where it is.
    start : Solution or array, optional
        Where to begin: a solution of a problem with the same features (fewer queries, another C, other data), or a
        metric in the form of ``Solution.M`` or ``Solution.w``. It is evaluated anew, and the certificate and the
        history are those of this problem alone. Ignored if it is no better than the metric zero. Cutting planes,
        sampled or not, the augmented Lagrangian, semismooth Newton and the factored Lagrangian go on from it; other
        solvers only keep it as the best metric so far. A checkpoint that is resumed takes precedence.
    max_memory : float, optional
        Bytes that a solver may use in addition to the problem, as estimated by :meth:`Solver.memory
        <convexmetric.solvers.Solver.memory>`; by default what the machine, and the process's own limits, have left. The
        default skips solvers that would need more.

    Returns
    -------
    Solution
        The best certified metric, also after a limit or Ctrl-C (see its ``status``).

    Raises
    ------
    InputError
        If an argument is malformed, or the start is of other features, or of weights where a matrix is learned.
    UnboundedError
        If a ray is found along which the objective is unbounded below; the error has its direction.
    UnsupportedProblemError
        If the solver asked for cannot handle the problem, or would need more memory than there is.
    ContractError
        If a block of the problem returns NaN.
    CrossedBoundsError
        If a lower bound comes out above an upper one by more than rounding explains.
    SolverError
        If a solver fails without leaving a point.
    BackendError
        If the backend breaks down for good; the checkpoint has what was found.

    Warns
    -----
    GapWarning
        If the certified gap ends above ``tol``.
    LongSolveWarning
        If the solve will take minutes, and has neither a limit nor a progress bar.

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

    A solve on all the data can start from the solution on a part of it:

    >>> begun = cm.solve(problem.with_queries(range(0, 150, 2)))
    >>> again = cm.solve(problem, start=begun)
    >>> max(solution.lower_bound, again.lower_bound) <= min(solution.upper_bound, again.upper_bound)
    True
    """
    problem = as_problem(problem)
    if not is_real(tol) or not 0.0 < tol < 1.0:
        raise errors.InputError(f"tol must be a relative gap between 0 and 1, got {tol!r}")
    if not is_real(atol) or not 0.0 <= atol < float("inf"):
        raise errors.InputError(f"atol must be an absolute gap, 0 or larger, got {atol!r}")
    if max_iter is not None:
        check_count(max_iter, "max_iter", " or None")
    check_seconds(max_seconds, "max_seconds")
    if max_memory is not None:
        check_positive_number(max_memory, "max_memory")
    if callback is not None and not callable(callback):
        raise errors.InputError(f"callback must be callable, got {type(callback).__name__}")
    problem = problem.subject_to(constraints, extra_objective)
    chosen = _chosen(solver)
    with nullcontext(problem) if backend is None else SPREADING.open().spread(problem, backend) as there:
        file = None if checkpoint is None else Checkpoint(checkpoint, there)
        state = None if file is None else file.read()
        with shared_cores(), memory_limit(max_memory), _bar(tol, progress) as display:
            monitor = Monitor(tol, max_iter, max_seconds, callback, display, file, there, atol)
            found = solved(there, chosen, partial(_run, there, chosen, state, start), monitor)
    return replace(found, problem=problem)


def _run(
    problem: MetricProblem, chosen: Solver, state: State | None, start: Solution | ArrayLike | None, monitor: Monitor
) -> None:
    """Run a solver on the problem without its constant: a solve without its certificate."""
    bare, prior = problem.without_constant(), problem.regularizer.prior
    (candidate,) = Candidates(bare, [Route(chosen)])
    run = candidate.run
    if run is None:
        raise errors.UnsupportedProblemError(f"{chosen.name} cannot solve this problem: {candidate.reason}")
    begun = None if start is None else _start_from(bare, start)
    if state is None and prior is not None and _prior_is_optimal(prior, bare, monitor):
        return
    start_from_nothing(bare, monitor)
    if monitor.lower_bound == -np.inf:
        check_bounded(bare)
    if monitor.display is not None:
        begins = run.begins(monitor.max_seconds) if isinstance(run, ExactRun) else chosen
        monitor.display.say(costs_text(begins.name, pass_seconds(bare), begins.memory(bare)))
    elif monitor.max_seconds is None and monitor.max_iter is None:
        said = long_solve(bare)
        if said is not None:
            warnings.warn(said, errors.LongSolveWarning, stacklevel=5)
    if state is not None:
        monitor.resume(bare, state)
    elif begun is not None:
        monitor.begin(bare, *begun)
    if not monitor.reached:
        monitor.solver = chosen.name
        drive(run(monitor), monitor)


def _bar(tol: float, shown: bool) -> AbstractContextManager[ProgressBar | None]:
    if not shown:
        return nullcontext()
    optional("rich", "cli", "progress=True")
    from convexmetric.solvers.runtime.display import ProgressBar

    return ProgressBar(tol)


def _prior_is_optimal(prior: Array, problem: MetricProblem, monitor: Monitor) -> bool:
    """Offer the prior, and return whether it closes the certified gap.

    As the weight of its norm grows the optimum tends to the prior, and rounding of that norm hides the risk from every
    solver. So the bounds are computed as in the certificate, without the norm.
    """
    monitor.suggestion = M = problem.risk.repair(problem.cone.project(prior))
    value = problem.value(M)
    if not np.isfinite(value):
        monitor.primal(M, value, by_risk=True)
        return False
    monitor.tangent(problem, M, value)
    # A certificate takes longer than steps.
    hidden = problem.regularizer.hides_risk
    return monitor.reached or (hidden and close_enough(monitor.certificate(), monitor.tol, monitor.atol))


def _chosen(solver: str | Solver | None) -> Solver:
    solver = "exact" if solver is None else solver
    if isinstance(solver, str):
        check_one_of(solver, SOLVERS, "solver")
        solver = SOLVERS[solver]()
    if not isinstance(solver, Solver):
        raise errors.InputError(f"solver must be a name or a Solver, got {type(solver).__name__}")
    return solver


def _start_from(problem: MetricProblem, given: Solution | ArrayLike) -> tuple[Array, Any]:
    """Convert the caller's start to a metric in the problem's cone, and a dual point or None.

    Neither is trusted: both bounds are computed anew on this problem. Any metric is a start, and any dual point of the
    right shape proves a bound. Weighted cuts are not reused: they belong to about ten metrics, and recomputing them
    takes a pass each, more than they save compared with a start from the metric alone.

    Raises
    ------
    InputError
        If it is neither a solution nor a metric, or its metric does not fit the problem.
    """
    try:
        if isinstance(given, Solution):
            M, dual = problem.metric_from(given.problem, given.certificate.M), _dual_of(problem, given)
        else:
            M, dual = problem.nearest(given), None
    except errors.InputError as error:
        raise errors.InputError(
            f"start does not fit this problem ({error}); pass a Solution of a problem with the same features, "
            "or a metric such as its M (w for weights of features)"
        ) from error
    M = M if problem.cone.violation(M) == 0.0 else problem.cone.project(M)
    return problem.risk.repair(M), dual


def _dual_of(problem: MetricProblem, solution: Solution) -> Any:
    dual = solution.certificate.dual
    if isinstance(dual, SmoothedPairs):
        return replace(dual, M=problem.metric_from(solution.problem, dual.M))
    return dual if isinstance(dual, np.ndarray) else None
