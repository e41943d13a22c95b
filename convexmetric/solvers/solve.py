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

from convexmetric.arguments import check_count, check_seconds, is_real, not_one_of
from convexmetric.certificates import Certificate
from convexmetric.certificates.certificate import certify_metric, close_enough, with_dual
from convexmetric.cones.base import Array
from convexmetric.errors import (
    BackendError,
    ConvexMetricError,
    GapWarning,
    InputError,
    SolverError,
    UnsupportedProblemError,
)
from convexmetric.problem import MetricProblem
from convexmetric.regularizers.user_terms import Constraints, ExtraObjective
from convexmetric.risks import CutDual, DualPoint, Reason, tangent_dual
from convexmetric.solution import Progress, Solution
from convexmetric.solvers.approximate import (
    FactoredDescent,
    LowRankDescent,
    ProjectedSubgradient,
    StochasticBatch,
    StochasticFactors,
    StochasticLowRank,
    StochasticTriplets,
)
from convexmetric.solvers.conic import CONIC_SOLVERS, Conic
from convexmetric.solvers.cuts import CuttingPlanes, SampledCuttingPlanes
from convexmetric.solvers.exact import Exact
from convexmetric.solvers.forecast import costs_of, legs_within, some_parts
from convexmetric.solvers.hinges import SemismoothNewton, SmoothedLowRank, SmoothedNewton
from convexmetric.solvers.listed import AugmentedLagrangian, ColumnGeneration, DualAscent, InteriorPoint
from convexmetric.solvers.pairs import DualNewton, FactoredLagrangian
from convexmetric.solvers.run import Monitor, Solver
from convexmetric.solvers.run.checkpoint import Checkpoint
from convexmetric.solvers.run.spread import spread
from convexmetric.solvers.run.start import start_from
from convexmetric.solvers.smooth import LowRankNewton, ProximalGradient
from convexmetric.threads import shared_cores

if TYPE_CHECKING:
    from convexmetric.solvers.run.display import ProgressBar

__all__ = ["SOLVERS", "solve"]

#: Parts that tell which simple metric is best, and the share of the upper bound from which it may be better still.
SIMPLE_PARTS, SIMPLE_SHARE = 32, 1.5
#: Multiples of these metrics that are tried, and up to which more are while they get better.
SIMPLE_GRID, LARGEST_MULTIPLE = tuple(10.0 ** np.arange(-4.0, 1.1, 0.5)), 1e9
#: Solvers by the name a user types.
SOLVERS: dict[str, Callable[[], Solver]] = {
    "exact": Exact,
    "dual-ascent": DualAscent,
    "augmented-lagrangian": AugmentedLagrangian,
    "dual-newton": DualNewton,
    "column-generation": ColumnGeneration,
    "factored-lagrangian": FactoredLagrangian,
    "interior-point": InteriorPoint,
    "semismooth-newton": SemismoothNewton,
    "smoothed-newton": SmoothedNewton,
    "smoothed-low-rank": SmoothedLowRank,
    "low-rank-newton": LowRankNewton,
    "proximal-gradient": ProximalGradient,
    "sampled-cutting-planes": SampledCuttingPlanes,
    "cutting-planes": CuttingPlanes,
    "cutting-planes-plain": CuttingPlanes.plain,
    "low-rank-descent": LowRankDescent,
    "factored-descent": FactoredDescent,
    "subgradient": ProjectedSubgradient,
    "stochastic-batch": StochasticBatch,
    "stochastic-factors": StochasticFactors,
    "stochastic-low-rank": StochasticLowRank,
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
    atol: float = 0.0,
    backend: Any = None,
    start: Solution | ArrayLike | None = None,
) -> Solution:
    """Solve to a certified relative gap.

    Parameters
    ----------
    problem : MetricProblem
        What to solve.
    tol : float
        Stop when ``(upper - lower) / max(|upper|, |lower|) <= tol``, both bounds certified.
    solver : str or Solver, optional
        ``"exact"``, which is the default and chooses among the next thirteen;
        ``"dual-ascent"``, ``"augmented-lagrangian"``, ``"dual-newton"``, ``"column-generation"``,
        ``"factored-lagrangian"``, ``"interior-point"``, ``"semismooth-newton"``, ``"smoothed-newton"``,
        ``"smoothed-low-rank"``, ``"low-rank-newton"``, ``"proximal-gradient"``,
        ``"sampled-cutting-planes"``, ``"cutting-planes"``;
        ``"cutting-planes-plain"``; the approximate ``"subgradient"``, ``"stochastic-batch"``,
        ``"stochastic-triplets"``, ``"stochastic-factors"``, ``"stochastic-low-rank"``, ``"low-rank-descent"`` and
        ``"factored-descent"``; a conic solver (``"clarabel"``, ``"scs"``, ``"mosek"``, ``"cvxopt"``, ``"sdpa"``), or a
        solver object with settings of its own such as ``CuttingPlanes(groups=64)``.
    max_iter : int, optional
        Limit on iterations: oracle passes for cutting planes, looks at the certified gap for approximate solvers.
    max_seconds : float, optional
        Limit on wall time, checked between iterations: the pass that runs is finished, and the certificate takes two
        more. Where it is too short for the first solver of the default, another begins (see :func:`explain`).
    progress : bool
        Show a progress bar on standard error, below what a pass, memory and gaps will cost, as by :func:`explain`.
    callback : callable, optional
        Called with a :class:`Progress` after every iteration; returning a true value stops the solve.
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
        default but 0 fits every problem; with it ``"optimal"`` says nothing of optima below ``atol``.
    backend : Executor, callable, distributed.Client or str, optional
        What evaluates the risk, shard by shard: an executor of ``concurrent.futures`` or a function that makes one, a
        client of Dask ``distributed``, the address of its scheduler, or ``"dask"`` for the client that is current. The
        solver stays here. A risk in memory is written to a temporary folder first; one that is in a folder
        (:class:`~convexmetric.shards.ShardedRisk`) is evaluated where it is.
    start : Solution or array, optional
        Where to begin: what a problem with the same features was solved to (fewer queries, another C, other data), or a
        metric, as ``Solution.M`` or ``Solution.w`` has it. It is evaluated anew, and the certificate and the history
        are those of this problem alone. Left alone where it is no better than the metric zero. Cutting planes, sampled
        or not, column generation, semismooth Newton and the factored Lagrangian go on from it; other solvers only keep
        it as the best metric so far. A checkpoint that is taken up wins over it.

    Returns
    -------
    Solution
        The best certified metric, also after a limit or Ctrl-C (see its ``status``).

    Raises
    ------
    InputError
        If an argument is malformed, or the start is of other features, or of weights where a matrix is learned.
    UnsupportedProblemError
        If the solver asked for cannot handle the problem.
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

    With more of the data a solve goes on from what fewer were solved to:

    >>> begun = cm.solve(problem.with_queries(range(0, 150, 2)))
    >>> again = cm.solve(problem, start=begun)
    >>> max(solution.lower_bound, again.lower_bound) <= min(solution.upper_bound, again.upper_bound)
    True
    """
    if not isinstance(problem, MetricProblem):
        raise InputError(f"problem must be a MetricProblem, got {type(problem).__name__}")
    if not is_real(tol) or not 0.0 < tol < 1.0:
        raise InputError(f"tol must be a relative gap between 0 and 1, got {tol!r}")
    if not is_real(atol) or not 0.0 <= atol < float("inf"):
        raise InputError(f"atol must be an absolute gap, 0 or larger, got {atol!r}")
    if max_iter is not None:
        check_count(max_iter, "max_iter", " or None")
    check_seconds(max_seconds, "max_seconds")
    if callback is not None and not callable(callback):
        raise InputError(f"callback must be callable, got {type(callback).__name__}")
    problem = problem.subject_to(constraints, extra_objective)
    if backend is not None:
        with spread(problem, backend) as there:
            found = solve(
                there, tol, solver, max_iter, max_seconds, progress, callback, checkpoint, atol=atol, start=start
            )
        return replace(found, problem=problem)
    chosen = _chosen(solver)
    bare = problem.without_constant()
    run = chosen.prepare(bare)
    if isinstance(run, Reason):
        raise UnsupportedProblemError(f"{chosen.name} cannot solve this problem: {run}")
    begun = None if start is None else start_from(bare, start)
    file = None if checkpoint is None else Checkpoint(checkpoint, problem)
    state = None if file is None else file.read()

    certifier = partial(certificate_of, problem)
    with shared_cores(), _bar(tol, progress) as display:
        monitor = Monitor(tol, max_iter, max_seconds, callback, display, file, problem, atol, certifier)
        try:
            if display is not None:
                display.say(str(costs_of(bare, _first(chosen, bare, max_seconds))))
            if state is not None:
                monitor.resume(bare, state)
            elif (prior := problem.regularizer.prior) is not None and _is_enough(prior, problem, bare, monitor):
                return concluded(problem, chosen, monitor)
            if bare.risk.nonnegative:
                _start_from_nothing(bare, monitor)
            if state is None and begun is not None:
                monitor.begin(bare, *begun)
            if not monitor.reached:
                monitor.solver = chosen.name
                run(monitor)
            elif not monitor.history:
                monitor.iterate()
        except KeyboardInterrupt:
            if monitor.M is None or monitor.dual_point is None:
                raise
            monitor.status, monitor.keyboard_interrupt = "interrupted", True
        except BackendError:
            monitor.save()
            raise
        except (ArithmeticError, np.linalg.LinAlgError) as error:
            _failed(monitor, chosen, error)
        if monitor.M is not None and not monitor.reached:
            _offer_simple(bare, monitor)
    return concluded(problem, chosen, monitor)


def _bar(tol: float, shown: bool) -> AbstractContextManager[ProgressBar | None]:
    if not shown:
        return nullcontext()
    from convexmetric.solvers.run.display import ProgressBar

    return ProgressBar(tol)


def _first(chosen: Solver, problem: MetricProblem, max_seconds: float | None) -> Solver:
    """The solver that begins: of the default the first that it takes."""
    if chosen != Exact():
        return chosen
    return next(leg.route.solver for leg in legs_within(problem, max_seconds) if not isinstance(leg.run, Reason))


def _is_enough(prior: Array, problem: MetricProblem, bare: MetricProblem, monitor: Monitor) -> bool:
    """Whether the metric that is known before is near enough to the optimum; it is offered whether or not.

    Where its weight is large the optimum goes to it, and its norm hides what the data cost from any solver: bounds are
    made as the certificate makes them, without that norm.
    """
    M, risk = problem.risk.repair(problem.cone.project(prior)), problem.risk
    value = bare.value(M)
    monitor.primal(M, value)
    if not np.isfinite(value):
        return False
    dual = tangent_dual(risk, M)
    monitor.dual(bare.dual_bound(dual, hint=M), lambda: dual)
    if not close_enough(monitor.certificate(), monitor.tol, monitor.atol):
        return False
    monitor.iterate()
    return True


def _start_from_nothing(problem: MetricProblem, monitor: Monitor) -> None:
    """Where every nonnegative risk starts: no cut has any weight, and the risk is at least zero."""
    zero, parts = problem.cone.zeros(), problem.risk.parts
    point = DualPoint(0.0, zero, 0.0, 0.0)
    dual = CutDual(zero[None], np.zeros((1, 1)), np.zeros(parts, dtype=np.int64))
    bound = problem.bound(0.0, zero, zero)
    if bound > monitor.lower_bound:
        monitor.dual(bound, lambda: dual, point)


def _offer_simple(problem: MetricProblem, monitor: Monitor) -> None:
    """Of a solve that was cut short, or whose optimum is zero, the best metric known may be zero, or Euclidean.

    Where some of the parts can tell which of them is best, and that it is no better than what the solver found, no pass
    is spent on it.
    """
    metric, promising = problem.cone.zeros(), not monitor.zero_offered
    some = some_parts(problem, SIMPLE_PARTS)
    if some is not None:
        found = [_best_multiple(some, M) for M in problem.plain_metrics()]
        value, metric = min(found, key=lambda pair: pair[0])
        promising = value < SIMPLE_SHARE * monitor.upper_bound and (bool(metric.any()) or promising)
    if promising:
        value = problem.value(metric)
        if np.isfinite(value):
            monitor.primal(metric, value)


def _best_multiple(problem: MetricProblem, M: Array) -> tuple[float, Array]:
    """Of zero and a grid of multiples of a metric the best one, with its objective."""
    values = {t: problem.value(t * M) for t in (0.0, *SIMPLE_GRID)}
    t = SIMPLE_GRID[-1]
    while values[t] == min(values.values()) and t < LARGEST_MULTIPLE:
        # The unit of the problem's coordinates may be far from that of its points.
        t *= SIMPLE_GRID[-1] / SIMPLE_GRID[-2]
        values[t] = problem.value(t * M)
    t = min(values, key=values.__getitem__)
    return values[t], t * M


def _failed(monitor: Monitor, chosen: Solver, error: Exception) -> None:
    """A solver's arithmetic broke down: what it left is certified as it is; if it left nothing, say so."""
    if isinstance(error, ConvexMetricError) or monitor.caller_failed:
        raise error
    if monitor.M is None or monitor.dual_point is None:
        raise SolverError(
            f"{monitor.solver or chosen.name} broke down ({type(error).__name__}: {error}) and left no point; "
            "rescale X so that distances are about 1, and choose weights (C, reg) nearer to 1"
        ) from error
    monitor.status = "stalled"


def concluded(problem: MetricProblem, chosen: Solver, monitor: Monitor) -> Solution:
    """The certified solution that a solver left with its monitor; warns if the gap is above the tolerance."""
    if monitor.M is None or monitor.dual_point is None:
        raise SolverError(f"{chosen.name} left no certified point")
    monitor.save()
    certificate = monitor.certificate()
    status = monitor.status
    if close_enough(certificate, monitor.tol, monitor.atol):
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
        solver=monitor.solver or chosen.name,
        atol=monitor.atol,
        unit=monitor.unit,
        keyboard_interrupt=monitor.keyboard_interrupt,
    )
    if status != "optimal":
        warnings.warn(
            f"{solution.solver} ended ({status}) with a certified gap of {solution.gap:.1e}, "
            f"above tol = {solution.tol:.1e}{_why(problem, certificate)}",
            GapWarning,
            stacklevel=3,
        )
    return solution


def _why(problem: MetricProblem, certificate: Certificate) -> str:
    """What a gap comes from, where the bounds themselves tell."""
    upper, lower = certificate.upper_bound, certificate.lower_bound
    if lower == -np.inf and not problem.risk.nonnegative:
        return f"; {problem.risk.words} does not say that it is nonnegative, so that dual points may not be shrunk"
    if -np.inf < lower <= 0.0 <= upper < np.inf:
        return f"; the optimum may be zero, which has no relative gap: give atol, such as {upper - lower:.0e}, if so"
    if certificate.rounding >= 0.5 * (upper - lower):
        return f"; {certificate.rounding:.1e} of it is rounding: the problem's numbers differ too much in size"
    return ""


def certificate_of(problem: MetricProblem, monitor: Monitor) -> Certificate:
    """The certificate of what a solver left.

    A lower bound from cuts needs an oracle pass for every metric they were made at. Cuts that the risk itself made
    during this run are not made anew: their weighted sum is bounded as it is. ``certify`` makes them anew, with the
    same result.
    """
    assert monitor.M is not None
    upper = certify_metric(problem, monitor.M)
    dual = monitor.dual_point
    point = monitor.sums
    if point is None or (point.weight is None and problem.risk.points):
        point = problem.risk.dual_point(dual)
    return with_dual(problem, upper, dual, point)


def _chosen(solver: str | Solver | None) -> Solver:
    if solver is None:
        solver = "exact"
    if isinstance(solver, str):
        if solver not in SOLVERS:
            raise InputError(not_one_of("solver", SOLVERS, solver))
        solver = SOLVERS[solver]()
    if not isinstance(solver, Solver):
        raise InputError(f"solver must be a name or a Solver, got {type(solver).__name__}")
    return solver
