"""Solvers on instances of the library: every run in a process of its own, every result saved at once.

A run is timed from the moment the problem is stated and compiled loops are loaded. Before its clock starts the process
solves the same instance with the same solver for up to three seconds (a solver of the user's own: for three iterations;
a conic solver: a problem of three points), then states the problem anew, so that nothing is cached in it. Loops that
this does not reach are loaded within the time measured. A function of the user's own is not called beforehand.
"""

from __future__ import annotations

import os
import pickle
import warnings
from collections.abc import Iterable, Mapping
from contextlib import closing, suppress
from dataclasses import replace
from fnmatch import fnmatchcase
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from convexmetric import __version__
from convexmetric.arguments import check_count, check_integer, check_positive_number, check_share
from convexmetric.bench.anytime import Watch
from convexmetric.bench.judging import judged
from convexmetric.bench.library import list_problems, load_instance
from convexmetric.bench.loading import Target, check_module, file_of, loaded_solver, source_of
from convexmetric.bench.processes import Beside, Channel, Outcome, run_isolated
from convexmetric.bench.records import GAPS, Run, RunFile, blanked
from convexmetric.bench.results import processor, write_results
from convexmetric.bench.showing import shown
from convexmetric.bench.suites import load_suite
from convexmetric.certificates import relative_gap
from convexmetric.errors import ConvexMetricError, DataNotFoundError, InputError, SolverError
from convexmetric.files import made_folder
from convexmetric.papers import RelativeComparisonProblem
from convexmetric.problem import MetricProblem
from convexmetric.solution import Progress
from convexmetric.solvers import SOLVERS, Solver, solve
from convexmetric.solvers.conic import Conic

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

#: Names of the files of results in their folder.
RUNS_FILE, RESULTS_FILE = "runs.csv", "results.json"
#: Statuses of runs that are tried again.
AGAIN = ("error", "no data")
#: Characters of a message that are kept.
MESSAGE = 500

#: Seconds beyond the time limit after which a process is killed: time for a solver that stops to certify.
GRACE = 2.0
#: Seconds of the warm-up of a solver of the package before the clock starts.
WARM_UP_SECONDS = 3.0


def benchmark(
    solvers: Iterable[str] | Mapping[str, Target] = ("exact",),
    instances: Iterable[str] | None = None,
    *,
    suite: str | None = None,
    tol: float = 1e-6,
    max_seconds: float = 60.0,
    n_jobs: int = 1,
    threads: int = 1,
    seed: int = 0,
    output: str | os.PathLike[str] | None = None,
    progress: bool = False,
) -> list[Run]:
    """Run solvers on instances of the library, each run in a process of its own, with an enforced time limit.

    Parameters
    ----------
    solvers : iterable of str, or mapping
        Names as in :func:`~convexmetric.solve`; ``"my_solver.py"``, ``"my_solver.py:name"`` or ``"module:attribute"``
        for a solver of your own, **whose code is run**: a :class:`~convexmetric.solvers.Solver`, or a callable
        ``f(problem)`` or ``f(problem, record)``, or a class of either, which is called without arguments. Metrics that
        a callable shows, as in :func:`~convexmetric.bench.trace`, are projected on the cone, and judged by objective
        and the lower bound of the library; the bounds of a ``Solver`` are recomputed from its points. Files and modules
        run only in the processes of the runs, and are judged from others. A mapping gives solvers names:
        ``{"64 groups": CuttingPlanes(groups=64)}``; they must be picklable.
    instances : iterable of str, optional
        Names or patterns such as ``"ranking-*-wine-*"``; by default those of the suite.
    suite : str, optional
        Name of a suite (:func:`~convexmetric.bench.load_suite`); ``"small"`` if there are no instances either.
    tol : float
        Certified relative gap at which to stop.
    max_seconds : float
        Limit on the wall time of a run. It is passed to the solver; a process that does not end is killed two seconds
        later, and its reported bounds count. Gaps reached after the limit do not count.
    n_jobs, threads : int
        Processes at a time, and threads of each. Runs side by side share memory and caches: use one job for times
        that are to be compared.
    seed : int
        Passed to callables that have a parameter ``seed`` or ``random_state``.
    output : path, optional
        A folder for ``runs.csv`` and, at the end, ``results.json``. Runs that ``runs.csv`` has are not made again,
        unless they ended in an error or had no data.
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
    check_integer(seed, 0, np.inf, "seed must be a nonnegative integer")
    if instances is not None and suite is not None:
        raise InputError("give instances or a suite, not both")
    targets = _targets(solvers)
    frozen = load_suite(suite or "small") if instances is None else None
    chosen = [load_instance(name) for name in (frozen.instances if frozen else chosen_instances(instances))]
    file = None if output is None else RunFile(made_folder(output) / RUNS_FILE)
    found: dict[str, Any] = {"version": __version__, "machine": processor(), "cores": os.cpu_count() or 0, "seed": seed}
    sources = {label: source_of(target) for label, target in targets.items()}
    asked = [
        Run(instance.name, label, float(tol), float(max_seconds), int(threads), "error", source=sources[label], **found)
        for instance in chosen
        for label in targets
    ]
    known = {run.settings: run for run in file.runs if run.status not in AGAIN} if file is not None else {}
    missing = [run for run in asked if run.settings not in known]
    bounds = {instance.name: instance.proven[0] for instance in chosen}
    calls = [(run, _sent(targets[run.solver])) for run in missing]
    beside = {number: shown for number, run in enumerate(missing) if not _own(targets[run.solver])}
    limits: dict[str, Any] = {"limit": max_seconds + GRACE, "n_jobs": n_jobs, "threads": threads}
    outcomes = run_isolated(_measure, calls, **limits, beside=beside)
    with closing(outcomes), _bar(progress and bool(missing)) as bar:
        task = bar.add_task("starting", total=len(asked), completed=len(asked) - len(missing))
        for number, outcome in outcomes:
            run = _concluded(missing[number], outcome, bounds[missing[number].instance])
            known[run.settings] = run
            if file is not None:
                file.add(run)
            bar.update(task, advance=1, description=f"{run.instance} {run.solver}: {run.status}")
    runs = [known[run.settings] for run in asked]
    if file is not None:
        write_results(runs, file.path.with_name(RESULTS_FILE), None if frozen is None else str(frozen))
    return runs


def chosen_instances(patterns: Iterable[str] | None = None) -> list[str]:
    """Names of the instances that match one of the patterns; without patterns, those of the suite ``small``.

    Raises
    ------
    InputError
        If a pattern matches nothing.
    """
    if patterns is None:
        return list(load_suite("small").instances)
    if isinstance(patterns, str):
        raise InputError(f"instances must be a list of names or patterns, got the string {patterns!r}")
    known, found = list_problems(), dict[str, None]()
    for pattern in patterns:
        matching = [name for name in known if fnmatchcase(name, pattern)]
        if not matching:
            raise InputError(f"no instance matches {pattern!r}; 'convexmetric list' has their names")
        found |= dict.fromkeys(matching)
    if not found:
        raise InputError("instances is empty: leave it out for those of the suite small")
    return list(found)


def _own(target: Target) -> bool:
    """Whether a target runs code of this package alone."""
    if isinstance(target, Solver):
        stages: Iterable[Solver] = getattr(target, "stages", None) or ()
        return type(target).__module__.startswith("convexmetric.") and all(map(_own, stages))
    return isinstance(target, str) and target in SOLVERS


def _sent(target: Target) -> Target | bytes:
    """A target in the form sent to the processes of its run; foreign objects are pickled, and unpickled only there."""
    if isinstance(target, str) or _own(target):
        return target
    try:
        return pickle.dumps(target)
    except Exception as error:
        raise InputError(f"a solver must be picklable to run in a process of its own: {error}") from error


def _measure(channel: Channel, asked: Run, target: Any, beside: Beside | None = None) -> Run:
    """Run a solver on an instance, or judge it while it runs in the process next to this one."""
    # Warnings of gaps are dropped: the table has the gaps.
    warnings.simplefilter("ignore")
    instance = load_instance(asked.instance)
    try:
        problem = instance.problem()
    except DataNotFoundError as error:
        return replace(asked, status="no data", message=str(error))
    problem.value(problem.cone.identity())
    watch = Watch(channel, asked, instance.proven[0])
    if beside is not None:
        return judged(problem, beside, watch)
    solver = loaded_solver(target)
    assert isinstance(solver, Solver)
    reason = solver.unsupported(problem)
    if reason is not None:
        return replace(asked, status="unsupported", message=reason)
    _warm_up(problem, solver)
    problem = instance.problem()
    channel.start()
    return _solved(problem, solver, watch)


def _warm_up(problem: MetricProblem, solver: Solver) -> None:
    """Run the solver briefly, so that imports and compiled loops are loaded before the clock starts."""
    with suppress(ConvexMetricError):
        if isinstance(solver, Conic):
            solve(RelativeComparisonProblem(np.eye(3), np.array([[0, 1, 2]])), solver=solver)
        else:
            solve(problem, solver=solver, max_seconds=WARM_UP_SECONDS)


def _solved(problem: MetricProblem, solver: Solver, watch: Watch) -> Run:
    """Run a solver with bounds of its own."""
    asked, start = watch.asked, perf_counter()

    def callback(at: Progress) -> bool:
        watch.note(at.seconds, at.iteration, at.upper_bound, at.lower_bound, own=True)
        return False

    try:
        solution = solve(problem, tol=asked.tol, solver=solver, max_seconds=asked.max_seconds, callback=callback)
    except (SolverError, InputError) as error:
        seconds, message = perf_counter() - start, str(error)
        if isinstance(solver, Conic) and isinstance(error, InputError):
            # The problem is too large to be written out for a conic solver.
            return replace(asked, status="unsupported", message=message)
        if seconds < asked.max_seconds:
            raise
        return replace(asked, status="limit", message=message, seconds=seconds)
    seconds = perf_counter() - start
    watch.note(seconds, solution.iterations, solution.upper_bound, solution.lower_bound, own=True)
    status = "limit" if solution.status == "max_seconds" else solution.status
    # The final bounds are certified anew; gaps that the certificate does not confirm do not count as reached.
    least = relative_gap(solution.upper_bound, watch.bound)
    reached = tuple(
        np.inf if solution.gap > gap else min(at, seconds) for gap, at in zip(GAPS, watch.reached, strict=True)
    )
    curve = tuple(
        (at, max(objective, solution.upper_bound), max(gap, solution.gap), max(suboptimality, least))
        for at, objective, gap, suboptimality in watch.points
    )
    own = solution.solver in (solver.name, getattr(solver, "backend", ""))
    found: dict[str, Any] = {name: getattr(solution, name) for name in ("lower_bound", "upper_bound", "iterations")}
    found["message"] = "" if own else f"by {solution.solver}"
    return replace(asked, status=status, seconds=seconds, reached=reached, curve=curve, **found)


def _concluded(asked: Run, outcome: Outcome, bound: float) -> Run:
    """Make the record of a run; gaps reached after the time limit do not count."""
    told: dict[str, Any] = outcome.value or outcome.report or vars(asked)
    found = Run(**told | {"reached": tuple(told["reached"]), "curve": tuple(map(tuple, told["curve"]))})
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
        message=" ".join(blanked(message).split())[:MESSAGE],
        seconds=asked.max_seconds + GRACE if outcome.late else found.seconds,
        reached=tuple(seconds if seconds <= asked.max_seconds else np.inf for seconds in found.reached),
        gap=relative_gap(found.upper_bound, found.lower_bound),
        suboptimality=relative_gap(found.upper_bound, bound),
        peak_mb=outcome.peak_bytes / 2**20,
    )


def _targets(solvers: Iterable[str] | Mapping[str, Target]) -> dict[str, Target]:
    if isinstance(solvers, str):
        raise InputError(f"solvers must be a list of names, got the string {solvers!r}")
    targets: dict[str, Target] = dict(solvers) if isinstance(solvers, Mapping) else {}
    for name in () if isinstance(solvers, Mapping) else solvers:
        # A file goes by its name without its folder.
        label = name if file_of(name) is None else os.path.basename(name)
        if targets.setdefault(label, name) != name:
            raise InputError(f"two solvers are called {label}: rename a file, or give names in a mapping")
    if not targets:
        raise InputError("solvers is empty: name at least one")
    for target in targets.values():
        # A conic solver that is not installed becomes a result of the run; an unknown name is an error of the caller.
        # Code of strangers runs in the processes of the runs alone.
        with suppress(SolverError):
            if not isinstance(target, str) or target in SOLVERS:
                loaded_solver(target)
            elif file_of(target) is None:
                check_module(target)
    return targets


def _bar(shown: bool) -> Bar:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (BarColumn(bar_width=24), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    return Bar(*columns, TextColumn("{task.description}"), console=Console(stderr=True), disable=not shown)
