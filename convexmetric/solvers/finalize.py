"""One ending for every solve: with the best metric known, certified in the time that is left.

A limit or Ctrl-C may come in the middle of a pass over the data. That pass is lost, and the bounds from before it
stand. Zero and multiples of the Euclidean metric are compared with the solver's metric on a sample of the parts, so
that however short the limit, nothing worse than these is returned. The objective of the chosen metric is evaluated if
time allows. Otherwise the value that the solver computed during the run is used, and if there is none the upper bound
is infinite: nothing is claimed that was not computed.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import replace

import numpy as np

from convexmetric import errors
from convexmetric.arrays import Array
from convexmetric.certificates import Certificate
from convexmetric.certificates.certificate import certify_evaluated, close_enough, risk_of, with_dual
from convexmetric.deadline import OutOfTime, deadline
from convexmetric.problem import MetricProblem
from convexmetric.risks import CutDual, Minorant
from convexmetric.solution import Solution
from convexmetric.solvers.runtime import Monitor, Solver
from convexmetric.solvers.runtime.baselines import SIMPLE_GRID, SIMPLE_PARTS, best_simple, some_parts

#: Time to finish after a limit or Ctrl-C: this fraction of the time before it, plus these seconds, enough for a block.
GRACE_SHARE, LEAST_GRACE = 0.2, 0.5
#: Seconds for a certificate without a pass over the data, where there was no time for one with a pass.
HASTE = 1.0
#: A baseline whose objective on a few parts is below this many times the upper bound may be better.
SIMPLE_SHARE = 1.5


def solved(problem: MetricProblem, chosen: Solver, run: Callable[[Monitor], None], monitor: Monitor) -> Solution:
    """Run a solver, and return the solution that it leaves; warn if the gap is above the tolerance.

    Parameters
    ----------
    problem : MetricProblem
    chosen : Solver
        What runs, for messages.
    run : callable
        A function of the monitor, which has the solver offer what it finds.
    monitor : Monitor
    """
    _run(problem, chosen, run, monitor)
    certificate = _certified(problem, chosen, monitor)
    if not monitor.history:
        # What was known before the first iteration was enough, or there was no time for one.
        monitor.record() if monitor.stopped else monitor.iterate()
    monitor.save()
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
        turns=tuple(monitor.turns),
    )
    if status != "optimal":
        warnings.warn(
            f"{solution.solver} ended ({status}) with a certified gap of {solution.gap:.1e}, "
            f"above tol = {solution.tol:.1e}{_why(problem, certificate, status)}",
            errors.GapWarning,
            stacklevel=3,
        )
    return solution


def _run(problem: MetricProblem, chosen: Solver, run: Callable[[Monitor], None], monitor: Monitor) -> None:
    """Run until it ends, breaks down or the time is out, which may be in the middle of a pass.

    Ctrl-C ends the run as a limit does once a dual point is known; nonnegative risks have one from the start, without
    cuts.
    """
    try:
        with _until(monitor, monitor.max_seconds):
            run(monitor)
    except OutOfTime:
        monitor.end("max_seconds")
    except KeyboardInterrupt:
        if monitor.dual_point is None and not problem.risk.nonnegative:
            raise
        monitor.end("interrupted")
        monitor.keyboard_interrupt = True
    except errors.BackendError:
        monitor.save()
        raise
    except (errors.SolverError, ArithmeticError, np.linalg.LinAlgError) as error:
        _break_down(chosen, monitor, error)


def _break_down(chosen: Solver, monitor: Monitor, error: Exception) -> None:
    """Handle a breakdown of a solver or its arithmetic: raise if it left no point, else let that be certified."""
    failed = isinstance(error, errors.SolverError) and not isinstance(error, errors.SolverNotInstalledError)
    nothing = monitor.M is None or monitor.dual_point is None
    if monitor.caller_failed or (isinstance(error, errors.ConvexMetricError) and (nothing or not failed)):
        raise error
    if nothing:
        raise errors.SolverError(
            f"{monitor.solver or chosen.name} broke down ({type(error).__name__}: {error}) and left no point; "
            "rescale X so that distances are about 1, and choose weights (C, reg) nearer to 1"
        ) from error
    monitor.status = "stalled"


def start_from_nothing(problem: MetricProblem, monitor: Monitor) -> None:
    """Offer the lower bound of every nonnegative risk: no cut has weight, and the risk is at least zero."""
    if not problem.risk.nonnegative:
        return
    dual, point = _nothing(problem)
    bound = problem.bound(0.0, point.S, point.S if monitor.M is None else monitor.M)
    if bound > monitor.lower_bound:
        monitor.dual(bound, lambda: dual, point)


def _nothing(problem: MetricProblem) -> tuple[CutDual, Minorant]:
    zero = problem.cone.zeros()
    groups = np.zeros(problem.risk.parts, dtype=np.int64)
    return CutDual(zero[None], np.zeros((1, 1)), groups), Minorant(0.0, zero, 0.0, 0.0)


def _certified(problem: MetricProblem, chosen: Solver, monitor: Monitor) -> Certificate:
    """The certificate of the best metric known, from passes over the data if the time allows."""
    bare = problem.without_constant()
    simple: Array | None = None
    if not monitor.cut_short and (monitor.M is None or monitor.dual_point is None):
        raise errors.SolverError(f"{chosen.name} left no certified point")
    before = monitor.max_seconds or np.inf
    before = min(monitor.seconds, before) if monitor.cut_short else before
    limit = max(before * (1.0 + GRACE_SHARE), monitor.seconds) + LEAST_GRACE
    try:
        with suppress(OutOfTime), _until(monitor, limit):
            if monitor.cut_short and not monitor.zero_offered:
                # This is cheap: where all distances are zero, parts of one kind have the same value.
                _offer(bare, monitor, bare.cone.zeros())
            if not monitor.reached:
                simple = _simple(bare, monitor)
                if simple is not None:
                    _offer(bare, monitor, simple)
            if monitor.M is not None and monitor.dual_point is not None:
                return monitor.certificate()
    except KeyboardInterrupt:
        monitor.keyboard_interrupt = True
    return _certified_in_haste(problem, monitor, simple)


def _until(monitor: Monitor, seconds: float | None) -> AbstractContextManager[None]:
    """Context with a deadline in seconds since the start of the solve; None for no deadline."""
    return deadline(lambda: np.inf if seconds is None else seconds - monitor.seconds)


def _offer(problem: MetricProblem, monitor: Monitor, M: Array) -> None:
    """Evaluate a metric, and take it if it is the best."""
    value = problem.value(M)
    if np.isfinite(value):
        monitor.primal(M, value, by_risk=True)


@np.errstate(over="ignore", invalid="ignore")
def _simple(problem: MetricProblem, monitor: Monitor) -> Array | None:
    """Return the best baseline that was not evaluated yet, if it may be better than the solver's metric; else None.

    Candidates are zero, multiples of the Euclidean metric and, if nothing else was evaluated, the solution on a sample.
    They are compared on a few of the parts, so that no pass is spent on one that is worse there.
    """
    zero, some = problem.cone.zeros(), some_parts(problem, SIMPLE_PARTS)
    if some is None:
        if monitor.cut_short:
            _offer_multiples(problem, monitor)
        return None if monitor.zero_offered else zero
    nothing_evaluated = monitor.evaluated is None or not monitor.evaluated[0].any()
    # Evaluations on a few parts are short and decide which metric is taken: they have no deadline.
    with _until(monitor, None):
        found = [best_simple(some, problem.plain_metrics())]
        if nothing_evaluated and monitor.suggestion is not None:
            found.append((some.value(monitor.suggestion), monitor.suggestion))
    value, metric = min(found, key=lambda pair: pair[0])
    if monitor.M is not None and not value < SIMPLE_SHARE * monitor.upper_bound:
        return None
    return None if monitor.zero_offered and not metric.any() else metric


def _offer_multiples(problem: MetricProblem, monitor: Monitor) -> None:
    """Offer the solution on a sample, if any, and multiples of the Euclidean metric, evaluated on all parts."""
    if monitor.suggestion is not None:
        _offer(problem, monitor, monitor.suggestion)
    for M in problem.plain_metrics():
        for t in SIMPLE_GRID:
            _offer(problem, monitor, problem.risk.repair(t * M))


def _certified_in_haste(problem: MetricProblem, monitor: Monitor, simple: Array | None) -> Certificate:
    """A certificate without another pass: of a metric evaluated before, or else with an infinite upper bound.

    Bounds that need a conic solver, for constraints and terms of the user's own, get ``HASTE`` seconds and may be
    missing.
    """
    bare = problem.without_constant()
    M, value = _choice(bare, monitor, simple)
    dual, point = monitor.dual_point, monitor.certain_sums
    if point is None and bare.risk.nonnegative:
        dual, point = _nothing(bare)
    made = Certificate(np.inf, -np.inf, M, dual, problem.regularizer.grade, np.inf)
    with suppress(OutOfTime), _until(monitor, monitor.seconds + HASTE):
        made = certify_evaluated(problem, M, None if value is None else sum(risk_of(bare, M, value)))
        made = replace(made, dual=dual)
        made = with_dual(problem, made, dual, point)
    return made


def _choice(problem: MetricProblem, monitor: Monitor, simple: Array | None) -> tuple[Array, float | None]:
    """Choose the metric to return, with its objective, or None if it was not evaluated on all data."""
    if monitor.evaluated is None:
        found = [M for M in (simple, monitor.M, problem.cone.zeros()) if M is not None]
        return found[0], None
    M, value = monitor.evaluated
    if simple is not None:
        some = some_parts(problem, SIMPLE_PARTS)
        if some is not None and some.value(simple) < some.value(M):
            return simple, None
    return M, value


def _why(problem: MetricProblem, certificate: Certificate, status: str) -> str:
    """Return a clause for the warning that explains the gap, if the bounds show its cause; else an empty string."""
    upper, lower = certificate.upper_bound, certificate.lower_bound
    if upper == np.inf and not problem.risk.hard:
        if status == "max_seconds":
            return "; there was no time to evaluate the metric on all data: it is the best on a sample"
        return f"; {problem.risk.words} was infinite wherever it was asked: check_problem tells whether it may be"
    if upper == np.inf:
        return "; no metric was found that keeps all hard margins despite rounding: leave room between them"
    if lower == -np.inf and not problem.risk.nonnegative:
        return f"; {problem.risk.words} does not say that it is nonnegative, so that dual points may not be shrunk"
    if lower <= 0.0 <= upper < np.inf and problem.held_by_data_alone:
        return (
            "; nothing but the data keeps metrics small, and no dual point that was found shows that they do: give a "
            "Budget(A, limit) that the optimum does not spend, or atol if the optimum is zero"
        )
    if -np.inf < lower <= 0.0 <= upper < np.inf:
        return f"; the optimum may be zero, which has no relative gap: give atol, such as {upper - lower:.0e}, if so"
    if certificate.rounding >= 0.5 * (upper - lower):
        return f"; {certificate.rounding:.1e} of it is rounding: the problem's numbers differ too much in size"
    return ""
