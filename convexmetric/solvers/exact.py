"""The default: exact solvers one after the other until the certified gap is closed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from convexmetric.problem import MetricProblem
from convexmetric.risks import Reason
from convexmetric.solvers.routes import legs, refusal
from convexmetric.solvers.run import Monitor, Run, Solver

__all__ = ["Exact"]


@dataclass(frozen=True)
class Exact(Solver):
    """Runs the solvers that fit the problem, in order; each keeps what the earlier ones found.

    Parameters
    ----------
    stages : tuple of Solver, optional
        Take these, in this order. Default: those of the table in ``convexmetric/solvers/routes.py``;
        :func:`~convexmetric.explain` says which they are for a problem, and why.
    """

    name: ClassVar[str] = "exact"

    stages: tuple[Solver, ...] | None = None

    def prepare(self, problem: MetricProblem) -> Run | Reason:
        """Needs one solver that fits.

        The run begins with the one that left a checkpoint.
        """
        if self.stages is None:
            prepared = [(leg.route.solver.name, leg.run) for leg in legs(problem)]
        else:
            prepared = [(stage.name, stage.prepare(problem)) for stage in self.stages]
        if all(isinstance(found, Reason) for _, found in prepared):
            return refusal(prepared)
        return partial(_run_in_order, prepared)


def _run_in_order(prepared: list[tuple[str, Run | Reason]], monitor: Monitor) -> None:
    runs = [(name, run) for name, run in prepared if not isinstance(run, Reason)]
    names = [name for name, _ in runs]
    first = names.index(monitor.resumed_from) if monitor.resumed_from in names else 0
    for name, run in runs[first:]:
        monitor.solver, monitor.unit = name, "iterations"
        run(monitor)
        if monitor.stopped:
            return
