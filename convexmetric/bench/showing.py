"""The process of a solver of the user's own: runs it, and sends its metrics to the judge in another process.

Nothing here is trusted by the judge, as the solver's code can change all of it.
"""

from __future__ import annotations

import pickle
import sys
import warnings
from contextlib import suppress
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from convexmetric.bench.anytime import REPORT_EVERY
from convexmetric.bench.library import load_instance
from convexmetric.bench.lines import Line
from convexmetric.bench.loading import ForeignSolver, loaded_solver
from convexmetric.bench.processes import peak_bytes
from convexmetric.bench.records import GAPS, Run
from convexmetric.bench.traces import TIME_IS_UP, Recorder, TimeIsUpError, counted, watched
from convexmetric.errors import ConvexMetricError, SolverError
from convexmetric.problem import MetricProblem
from convexmetric.risks.dual_points import dual_arrays
from convexmetric.solution import Progress
from convexmetric.solvers import Monitor, Solver, solve
from convexmetric.solvers.runtime import Run as Solve

#: Iterations of the warm-up before the clock starts.
WARM_UP_ITERATIONS = 3
#: Bytes of a dual point that is shown in the course of a solve, at most.
MOST_SHOWN = 2**26


def shown(line: Line, asked: Run, target: str | bytes) -> None:
    """Run a solver, named or pickled, on an instance; the last message says how it ended."""
    # Warnings of gaps are dropped: the table has the gaps.
    warnings.simplefilter("ignore")
    try:
        ended = _run(line, asked, target)
    except Exception as error:
        ended = {"status": "error", "message": f"{type(error).__name__}: {error}"}
    with suppress(Exception):
        sys.stdout.flush()
    line.send({"kind": "ended", "peak": peak_bytes(), **ended})
    line.receive()


def _run(line: Line, asked: Run, target: str | bytes) -> dict[str, Any]:
    instance = load_instance(asked.instance)
    solver = loaded_solver(pickle.loads(target) if isinstance(target, bytes) else target)
    problem = instance.problem()
    reason = solver.unsupported(problem) if isinstance(solver, Solver) else None
    if reason is not None:
        return {"status": "unsupported", "message": reason}
    problem.value(problem.cone.identity())
    if isinstance(solver, Solver):
        with suppress(ConvexMetricError):
            solve(problem, solver=solver, max_iter=WARM_UP_ITERATIONS)
    problem = instance.problem()
    line.send({"kind": "ready", "own": isinstance(solver, Solver)})
    line.receive()
    return (
        _solved(line, problem, solver, asked) if isinstance(solver, Solver) else _called(line, problem, solver, asked)
    )


def _called(line: Line, problem: MetricProblem, solver: ForeignSolver, asked: Run) -> dict[str, Any]:
    record = _Shown(line, problem, asked.max_seconds)
    message = watched(solver, problem, record, asked.seed)
    status = "limit" if message == TIME_IS_UP else "error" if message else "stalled"
    return {"status": status, "message": "" if status == "limit" else message, "seconds": record.seconds}


class _Shown(Recorder):
    """Recorder that shows what it is given to the judge, and ends the solver when that says so."""

    def __init__(self, line: Line, problem: MetricProblem, max_seconds: float) -> None:
        self.line = line
        super().__init__(problem, max_seconds)

    def judge(self, now: float, M: ArrayLike, passes: float | None) -> None:
        """Show a metric, and wait for the judge."""
        self.rows.append((now, counted(passes), np.nan, np.nan))
        if not _show(self.line, now, self.problem.from_features(M)):
            raise TimeIsUpError


def _show(line: Line, seconds: float, M: Any, dual: Any = None, most: float = np.inf) -> bool:
    """Show a metric, as the problem's variable, and perhaps a dual point of so many bytes; whether to go on."""
    arrays = {} if dual is None else dual_arrays(dual)
    arrays = arrays if sum(array.nbytes for array in arrays.values()) <= most else {}
    line.send({"kind": "shown", "seconds": seconds}, {"M": M, **arrays})
    more: bool = line.receive()[0]["more"]
    return more


class _Watched(Solver):
    """A solver with bounds of its own, whose points are shown as its gap falls."""

    def __init__(self, solver: Solver, line: Line) -> None:
        self.solver, self.line = solver, line
        self.name = solver.name  # type: ignore[misc]
        self.monitor: Monitor | None = None
        self.start, self.waited, self.last, self.gaps = perf_counter(), 0.0, -np.inf, list(GAPS)

    def prepare(self, problem: MetricProblem) -> Solve:
        """Store the monitor of the run."""
        run = self.solver.prepare(problem)

        def kept(monitor: Monitor) -> Any:
            self.monitor = monitor
            return run(monitor)

        return kept

    def memory(self, problem: MetricProblem) -> float | None:
        """Return the solver's own estimate of its memory."""
        return self.solver.memory(problem)

    @property
    def seconds(self) -> float:
        """Seconds so far, without the judge's."""
        return perf_counter() - self.start - self.waited

    def callback(self, at: Progress) -> bool:
        """Show the best points, as often as runs are reported, while the solve's clock stands still."""
        left = [gap for gap in self.gaps if at.gap > gap]
        due = len(left) < len(self.gaps) or at.seconds > self.last + REPORT_EVERY
        if due and self.monitor is not None and self.monitor.M is not None:
            began, self.gaps, self.last = perf_counter(), left, at.seconds
            self.show(self.monitor.M, self.monitor.dual_point, MOST_SHOWN)
            self.monitor.pause(perf_counter() - began)
        return False

    def show(self, M: Any, dual: Any, most: float = np.inf) -> None:
        """Show points, without counting the time that it takes."""
        began = perf_counter()
        _show(self.line, self.seconds, M, dual, most)
        self.waited += perf_counter() - began


def _solved(line: Line, problem: MetricProblem, solver: Solver, asked: Run) -> dict[str, Any]:
    watch = _Watched(solver, line)
    limits: dict[str, Any] = {"tol": asked.tol, "max_seconds": asked.max_seconds}
    try:
        solution = solve(problem, solver=watch, callback=watch.callback, **limits)
    except SolverError as error:
        if watch.seconds < asked.max_seconds:
            raise
        return {"status": "limit", "message": str(error), "seconds": watch.seconds}
    watch.show(solution.certificate.M, solution.certificate.dual)
    status = "limit" if solution.status == "max_seconds" else "stalled"
    message = "" if solution.solver in (solver.name, getattr(solver, "backend", "")) else f"by {solution.solver}"
    return {"status": status, "message": message, "seconds": watch.seconds, "iterations": solution.iterations}
