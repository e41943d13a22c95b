"""Solvers on instances of the library: every run in a process of its own, every result kept as soon as it is known.

A run is timed from the moment the problem is stated and compiled loops are loaded. Before its clock starts the process
solves the same instance with the same solver for up to three seconds (a solver of the user's own: for three iterations;
a conic solver: a problem of three points), then states the problem anew, so that nothing is left in it. Loops that this
does not reach are loaded within the time measured. A function of the user's own is not called beforehand.
"""

from __future__ import annotations

import importlib
import os
import platform
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing, suppress
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from convexmetric import __version__
from convexmetric.arguments import check_count, check_positive_number, check_share, not_one_of
from convexmetric.audits import audit
from convexmetric.bench.library import Instance, list_problems, load_instance
from convexmetric.bench.processes import Channel, Outcome, run_isolated
from convexmetric.bench.records import GAPS, Run, RunFile, judged
from convexmetric.certificates import relative_gap
from convexmetric.errors import ConvexMetricError, InputError, SolverError
from convexmetric.papers import RelativeComparisonProblem
from convexmetric.problem import MetricProblem
from convexmetric.solution import Progress
from convexmetric.solvers import SOLVERS, Solver, solve
from convexmetric.solvers.conic import Conic

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

#: Instances by default: of all papers whose data come with the package, and quick.
QUICK = (
    "ranking-auc-wine-c1",
    "ranking-auc-wine-c100",
    "ranking-auc-wine-c100-diagonal",
    "ranking-map-wine-c100",
    "ranking-mrr-breast-cancer-c1",
    "ranking-ndcg-wine-c100",
    "relative-wine-1000",
    "relative-wine-1000-rbf",
    "relative-wine-hard",
    "triplets-wine-10x10-1e-2",
    "triplets-wine-10x10-1e-4",
    "triplets-wine-10x10-diagonal-1e-2",
    "pairs-wine-1000",
    "pairs-wine-1000-rbf",
    "pairs-wine-1000-trace",
    "pairs-wine-all",
)

#: Name of the file of results in its folder.
RUNS_FILE = "runs.csv"

Target = str | Solver | Callable[[MetricProblem], Any]
"""A solver's name, ``module:attribute``, a solver, or a function from a problem to a metric."""

#: Seconds beyond the time limit after which a process is killed: time for a solver that stops to certify.
GRACE = 2.0
#: Warm-up before the clock starts: seconds of a solver of the package, iterations of any other solver.
WARM_UP_SECONDS, WARM_UP_ITERATIONS = 3.0, 3
#: Seconds between two reports of a run; it reports at once when its gap reaches the next of ``GAPS``.
REPORT_EVERY = 0.1


def benchmark(
    solvers: Iterable[str] | Mapping[str, Target] = ("exact",),
    instances: Iterable[str] | None = None,
    *,
    tol: float = 1e-6,
    max_seconds: float = 60.0,
    n_jobs: int = 1,
    threads: int = 1,
    output: str | os.PathLike[str] | None = None,
    progress: bool = False,
) -> list[Run]:
    """Run solvers on instances of the library, each run in a process of its own, with a time limit that is kept.

    Parameters
    ----------
    solvers : iterable of str, or mapping
        Names as in :func:`~convexmetric.solve`, or ``"module:attribute"`` for a solver of your own, which is imported,
        so that its code is run. The attribute is a :class:`~convexmetric.solvers.Solver`, or a function
        ``f(problem) -> M``: its metric is projected on the cone, and judged by its objective and the lower bound of
        the library. A mapping gives them names: ``{"64 groups": CuttingPlanes(groups=64)}``; they must be picklable.
    instances : iterable of str, optional
        Names or patterns such as ``"ranking-*-wine-*"``; by default a quick selection, ``QUICK``.
    tol : float
        Certified relative gap at which to stop.
    max_seconds : float
        Limit on the wall time of a run. A solver is told; a process that does not end is killed two seconds later, and
        keeps the bounds that it reported. Gaps reached after the limit do not count.
    n_jobs, threads : int
        Processes at a time, and threads of each. Runs side by side share memory and caches: use one job for times
        that are to be compared.
    output : path, optional
        A folder for ``runs.csv``. Runs that this file has are not made again, unless they ended in an error.
    progress : bool
        Show a progress bar on standard error.

    Returns
    -------
    list of Run
        One for each instance and solver, instance by instance.

    Raises
    ------
    InputError
        If an argument is malformed, no instance matches, or a solver is not known or cannot be imported.

    Notes
    -----
    A script that calls this needs ``if __name__ == "__main__":`` around the call, as with all of multiprocessing.
    """
    check_share(tol, "tol")
    check_positive_number(max_seconds, "max_seconds")
    for name, count in (("n_jobs", n_jobs), ("threads", threads)):
        check_count(count, name)
    targets = _targets(solvers)
    chosen = [load_instance(name) for name in chosen_instances(instances)]
    file = None if output is None else RunFile(made_folder(output) / RUNS_FILE)
    found: dict[str, Any] = {"version": __version__, "machine": _processor(), "cores": os.cpu_count() or 0}
    asked = [
        Run(instance.name, label, float(tol), float(max_seconds), int(threads), "error", **found)
        for instance in chosen
        for label in targets
    ]
    known = {run.settings: run for run in file.runs if run.status != "error"} if file is not None else {}
    missing = [run for run in asked if run.settings not in known]
    bounds = {instance.name: instance.lower_bound for instance in chosen}
    calls = [(run, targets[run.solver]) for run in missing]
    outcomes = run_isolated(_measure, calls, limit=max_seconds + GRACE, n_jobs=n_jobs, threads=threads)
    with closing(outcomes), _bar(progress and bool(missing)) as bar:
        task = bar.add_task("starting", total=len(asked), completed=len(asked) - len(missing))
        for number, outcome in outcomes:
            run = _concluded(missing[number], outcome, bounds[missing[number].instance])
            known[run.settings] = run
            if file is not None:
                file.add(run)
            bar.update(task, advance=1, description=f"{run.instance} {run.solver}: {run.status}")
    return [known[run.settings] for run in asked]


def chosen_instances(patterns: Iterable[str] | None = None) -> list[str]:
    """Names of the instances that match one of the patterns; :data:`QUICK` without any.

    Raises
    ------
    InputError
        If a pattern matches nothing.
    """
    if patterns is None:
        return list(QUICK)
    if isinstance(patterns, str):
        raise InputError(f"instances must be a list of names or patterns, got the string {patterns!r}")
    known, found = list_problems(), dict[str, None]()
    for pattern in patterns:
        matching = [name for name in known if fnmatchcase(name, pattern)]
        if not matching:
            raise InputError(f"no instance matches {pattern!r}; 'convexmetric list' has their names")
        found |= dict.fromkeys(matching)
    if not found:
        raise InputError("instances is empty: leave it out for the quick ones")
    return list(found)


def loaded_solver(target: Target) -> Solver | Callable[[MetricProblem], Any]:
    """The solver, or the function, that a name stands for; ``module:attribute`` is imported, which runs its code.

    Raises
    ------
    InputError
        If there is none.
    SolverNotInstalledError
        If it is a conic solver that is not installed.
    """
    found: Any = target
    if isinstance(target, str):
        if target in SOLVERS:
            return SOLVERS[target]()
        module, colon, attribute = target.partition(":")
        if not (module and colon and attribute):
            raise InputError(not_one_of("solver", SOLVERS, target, ", or module:attribute"))
        if os.getcwd() not in sys.path:
            # Import from the current folder first, as python -m does.
            sys.path.insert(0, os.getcwd())
        try:
            found = getattr(importlib.import_module(module), attribute)
        except (ImportError, AttributeError) as error:
            raise InputError(f"cannot load the solver {target!r}: {error}") from error
    if isinstance(found, type) and issubclass(found, Solver):
        found = found()
    if not isinstance(found, Solver) and not callable(found):
        raise InputError(f"{target!r} must be a Solver or a function of a problem, got {type(found).__name__}")
    return found


class _Watch:
    """Callback that records when a solve reaches each gap of ``GAPS``, and reports to the parent process."""

    def __init__(self, channel: Channel, asked: Run) -> None:
        self.reached = [np.inf] * len(GAPS)
        self._channel, self._asked, self._last = channel, asked, -np.inf

    def __call__(self, progress: Progress) -> bool:
        new = [k for k, gap in enumerate(GAPS) if progress.gap <= gap and self.reached[k] == np.inf]
        for k in new:
            self.reached[k] = progress.seconds
        if new or progress.seconds >= self._last + REPORT_EVERY:
            self._last = progress.seconds
            bounds = {"lower_bound": progress.lower_bound, "upper_bound": progress.upper_bound}
            found: dict[str, Any] = bounds | {"seconds": progress.seconds, "iterations": progress.iteration}
            self._channel.report(replace(self._asked, status="limit", reached=tuple(self.reached), **found))
        return False


def _measure(channel: Channel, asked: Run, target: Target) -> Run:
    """Run a solver on an instance, in the child process."""
    # Warnings of gaps are dropped: the table has the gaps.
    warnings.simplefilter("ignore")
    instance, solver = load_instance(asked.instance), loaded_solver(target)
    problem = instance.problem()
    if isinstance(solver, Solver):
        reason = solver.unsupported(problem)
        if reason is not None:
            return replace(asked, status="unsupported", message=reason)
    _warm_up(problem, solver)
    problem = instance.problem()
    channel.start()
    if isinstance(solver, Solver):
        return _solved(problem, solver, asked, _Watch(channel, asked))
    return _judged(problem, solver, asked, instance)


def _warm_up(problem: MetricProblem, solver: Solver | Callable[[MetricProblem], Any]) -> None:
    """Run the solver briefly, so that imports and compiled loops are loaded before the clock starts."""
    problem.value(problem.cone.identity())
    with suppress(ConvexMetricError):
        if isinstance(solver, Conic):
            solve(RelativeComparisonProblem(np.eye(3), np.array([[0, 1, 2]])), solver=solver)
        elif isinstance(solver, Solver):
            # Only solvers of the package are known to keep a time limit.
            if type(solver).__module__.startswith("convexmetric."):
                solve(problem, solver=solver, max_seconds=WARM_UP_SECONDS)
            else:
                solve(problem, solver=solver, max_iter=WARM_UP_ITERATIONS)


def _solved(problem: MetricProblem, solver: Solver, asked: Run, watch: _Watch) -> Run:
    start = perf_counter()
    try:
        solution = solve(problem, tol=asked.tol, solver=solver, max_seconds=asked.max_seconds, callback=watch)
    except (SolverError, InputError) as error:
        seconds, message = perf_counter() - start, " ".join(str(error).split())
        if isinstance(solver, Conic) and isinstance(error, InputError):
            # The problem is too large to be written out for a conic solver.
            return replace(asked, status="unsupported", message=message)
        if seconds < asked.max_seconds:
            raise
        return replace(asked, status="limit", message=message, seconds=seconds)
    seconds = perf_counter() - start
    status = "limit" if solution.status == "max_seconds" else solution.status
    # The final bounds are certified anew; a gap that the certificate does not confirm does not count as reached.
    reached = tuple(
        np.inf if solution.gap > gap else min(at, seconds) for gap, at in zip(GAPS, watch.reached, strict=True)
    )
    own = solution.solver in (solver.name, getattr(solver, "backend", ""))
    found: dict[str, Any] = {name: getattr(solution, name) for name in ("lower_bound", "upper_bound", "iterations")}
    found["message"] = "" if own else f"by {solution.solver}"
    return replace(asked, status=status, seconds=seconds, reached=reached, **found)


def _judged(problem: MetricProblem, function: Callable[[MetricProblem], Any], asked: Run, instance: Instance) -> Run:
    start = perf_counter()
    M = function(problem)
    seconds = perf_counter() - start
    verdict = audit(problem, M, reference=instance.lower_bound)
    message = "" if verdict.feasible else f"projected: smallest eigenvalue {verdict.min_eigenvalue:.2g}"
    run = replace(asked, status="stalled", message=message, seconds=seconds)
    return judged(run, verdict.projected_objective, instance.lower_bound)


def _concluded(asked: Run, outcome: Outcome, bound: float) -> Run:
    """Make the record of a run; gaps reached after the time limit do not count."""
    found: Run = outcome.value or outcome.report or asked
    status, message = found.status, found.message
    if outcome.failure:
        status, message = "error", outcome.failure
    elif outcome.late:
        status, message = "limit", f"killed {GRACE:g} s after the limit"
    elif status == "optimal" and found.seconds > asked.max_seconds:
        status, message = "limit", f"optimal after {found.seconds:.1f} s"
    return replace(
        found,
        status=status,
        message=message,
        seconds=asked.max_seconds + GRACE if outcome.late else found.seconds,
        reached=tuple(seconds if seconds <= asked.max_seconds else np.inf for seconds in found.reached),
        gap=relative_gap(found.upper_bound, found.lower_bound),
        suboptimality=relative_gap(found.upper_bound, bound),
        peak_mb=outcome.peak_bytes / 2**20,
    )


def _targets(solvers: Iterable[str] | Mapping[str, Target]) -> dict[str, Target]:
    if isinstance(solvers, str):
        raise InputError(f"solvers must be a list of names, got the string {solvers!r}")
    targets: dict[str, Target] = dict(solvers) if isinstance(solvers, Mapping) else {name: name for name in solvers}
    if not targets:
        raise InputError("solvers is empty: name at least one")
    for target in targets.values():
        # A conic solver that is not installed becomes a result of the run; an unknown name is an error of the caller.
        with suppress(SolverError):
            loaded_solver(target)
    return targets


def made_folder(path: str | os.PathLike[str]) -> Path:
    """Make a folder where there is none.

    Raises
    ------
    InputError
        If that is not possible.
    """
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder {folder}: {error.strerror or error}") from error
    return folder


def _processor() -> str:
    with suppress(OSError):
        said = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.MULTILINE)
        if said:
            return said[1].strip()
    return platform.processor() or platform.machine()


def _bar(shown: bool) -> Bar:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (BarColumn(bar_width=24), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    return Bar(*columns, TextColumn("{task.description}"), console=Console(stderr=True), disable=not shown)
