"""The default: exact solvers one after the other until the certified gap is closed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import dropwhile
from typing import ClassVar

from convexmetric.errors import SolverError, UnsupportedProblemError
from convexmetric.problem import MetricProblem
from convexmetric.solvers.costs import candidates_within
from convexmetric.solvers.routes import ROUTES, Candidate, Candidates, Route, refusal
from convexmetric.solvers.runtime import Monitor, Run, Solver


@dataclass(frozen=True)
class Exact(Solver):
    """Runs the solvers that fit the problem, in order; each keeps what the earlier ones found.

    Parameters
    ----------
    stages : tuple of Solver, optional
        Take these, in this order. Default: those of the table in ``convexmetric/solvers/routes.py``;
        :func:`~convexmetric.explain` says which they are for a problem, and why. Before them, where the time
        limit is too short for the passes that a solve takes, sampled cutting planes.
    """

    name: ClassVar[str] = "exact"

    stages: tuple[Solver, ...] | None = None

    def prepare(self, problem: MetricProblem) -> InOrder:
        """Needs one solver at least that can handle the problem.

        The run resumes with the solver that left a checkpoint.
        """
        found = Candidates(problem, ROUTES if self.stages is None else map(Route, self.stages))
        if all(candidate.run is None for candidate in found):
            raise UnsupportedProblemError(refusal(found))
        return InOrder(found, timed=self.stages is None)


@dataclass(frozen=True)
class InOrder:
    """A run of the candidates that fit, one after the other.

    Attributes
    ----------
    found : Candidates
    timed : bool
        Whether sampled cutting planes may come first under a short time limit.
    """

    found: Candidates
    timed: bool

    def within(self, seconds: float | None) -> Iterable[Candidate]:
        """The candidates for a time limit in seconds; None for no limit."""
        return candidates_within(self.found, seconds) if self.timed else self.found

    def first(self, seconds: float | None) -> Solver:
        """First solver that runs, for a time limit in seconds or None."""
        return next(candidate.route.solver for candidate in self.within(seconds) if candidate.run is not None)

    def __call__(self, monitor: Monitor) -> None:
        """Run them until the monitor says stop; a solver that breaks down leaves the rest to the next."""
        found = self.within(monitor.seconds_left)
        runs: Iterator[tuple[str, Run]] = ((each.route.solver.name, each.run) for each in found if each.run is not None)
        if monitor.resumed_from:
            every = list(runs)
            runs = iter([*dropwhile(lambda each: each[0] != monitor.resumed_from, every)] or every)
        failed: SolverError | None = None
        for name, run in runs:
            monitor.solver, monitor.unit, failed = name, "iterations", None
            try:
                run(monitor)
            except SolverError as error:
                failed = error
            if monitor.stopped:
                break
        if failed is not None:
            raise failed
