"""The default: exact solvers one after the other until the certified gap is closed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from convexmetric.problem import MetricProblem
from convexmetric.solvers.conic import Conic
from convexmetric.solvers.cuts import CuttingPlanes
from convexmetric.solvers.hinges import SemismoothNewton, SmoothedNewton
from convexmetric.solvers.listed import ColumnGeneration, DualAscent, InteriorPoint
from convexmetric.solvers.pairs import DualNewton, FactoredLagrangian
from convexmetric.solvers.run import Monitor, Solver
from convexmetric.solvers.smooth import LowRankNewton, ProximalGradient

__all__ = ["Exact"]


@dataclass(frozen=True)
class Exact(Solver):
    """Runs those of its stages that fit the problem, in order; each keeps what the earlier ones found.

    Parameters
    ----------
    stages : tuple of Solver
        By default, for listed comparisons, column generation where it fits; up to some thousand comparisons after a
        short dual ascent, which is enough for many small problems; then the interior-point method. For hinges over
        pairs of near and far items semismooth Newton, for rankings the smoothed Newton method where it fits; for
        smooth risks Newton's method on a factor where it fits, then proximal gradient steps; for listed comparisons
        under a penalty that is neither linear nor quadratic a conic solver; then cutting planes.
    """

    name: ClassVar[str] = "exact"

    stages: tuple[Solver, ...] = field(
        default_factory=lambda: (
            ColumnGeneration(least=4_000),
            DualAscent(max_steps=600),
            ColumnGeneration(least=100),
            DualNewton(crowded=False),
            FactoredLagrangian(),
            InteriorPoint(),
            SemismoothNewton(),
            SmoothedNewton(most=700),
            LowRankNewton(),
            ProximalGradient(),
            Conic(last_resort=True),
            CuttingPlanes(),
        )
    )

    def unsupported(self, problem: MetricProblem) -> str | None:
        """Needs one stage that fits."""
        reasons = [(stage.name, stage.unsupported(problem)) for stage in self.stages]
        if any(reason is None for _, reason in reasons):
            return None
        return "; ".join(f"{name}: {reason}" for name, reason in reasons)

    def run(self, problem: MetricProblem, monitor: Monitor) -> None:
        """Run the stages until the monitor says stop, from the one on that left a checkpoint."""
        names = [stage.name for stage in self.stages]
        first = names.index(monitor.resumed_from) if monitor.resumed_from in names else 0
        for stage in self.stages[first:]:
            if stage.unsupported(problem) is None:
                monitor.solver = stage.name
                stage.run(problem, monitor)
                if monitor.stopped:
                    return
