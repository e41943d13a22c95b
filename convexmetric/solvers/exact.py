"""The default: exact solvers one after the other until the certified gap is closed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from convexmetric.errors import SolverError, UnsupportedProblemError
from convexmetric.problem import MetricProblem
from convexmetric.risks import Reason
from convexmetric.solvers.costs import legs_within
from convexmetric.solvers.routes import Leg, legs, refusal
from convexmetric.solvers.runtime import Monitor, Run, Solver

__all__ = ["Exact"]


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

    def prepare(self, problem: MetricProblem) -> Run:
        """Needs one solver that fits.

        The run begins with the one that left a checkpoint.
        """
        if self.stages is not None:
            prepared = [(stage.name, stage.prepared(problem)) for stage in self.stages]
            run: Run = partial(_run_in_order, prepared)
        else:
            found = legs(problem)
            prepared, run = _named(found), partial(_run_in_time, problem, found)
        if all(isinstance(one, Reason) for _, one in prepared):
            raise UnsupportedProblemError(refusal(prepared))
        return run


def _named(found: list[Leg]) -> list[tuple[str, Run | Reason]]:
    return [(leg.route.solver.name, leg.run) for leg in found]


def _run_in_time(problem: MetricProblem, found: list[Leg], monitor: Monitor) -> None:
    """Run the table's solvers, or one before them that suits the time limit better."""
    _run_in_order(_named(legs_within(problem, monitor.seconds_left, found)), monitor)


def _run_in_order(prepared: list[tuple[str, Run | Reason]], monitor: Monitor) -> None:
    runs = [(name, run) for name, run in prepared if not isinstance(run, Reason)]
    names = [name for name, _ in runs]
    first = names.index(monitor.resumed_from) if monitor.resumed_from in names else 0
    for name, run in runs[first:]:
        monitor.solver, monitor.unit = name, "iterations"
        try:
            run(monitor)
        except SolverError:
            if name == names[-1]:
                raise
        if monitor.stopped:
            return
