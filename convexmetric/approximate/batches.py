"""Base of descents over random batches: batch sizes, epochs, and when to evaluate the certified gap."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from convexmetric.approximate.base import RandomisedSolver
from convexmetric.arrays import Array
from convexmetric.problem import MetricProblem
from convexmetric.risks import PairwiseRisk, SmoothedPairs
from convexmetric.solvers.runtime import Monitor, check_counts

#: Smoothing, in margins, of the hinges whose slopes give the lower bound.
BOUND_WIDTH = 0.01


@dataclass(frozen=True)
class BatchSolver(RandomisedSolver):
    """An approximate solver whose steps see a batch of comparisons, and batches of pairs for the linear term.

    Parameters
    ----------
    batch : int
        B, comparisons drawn for a step.
    batch_similar, batch_dissimilar : int or None
        B_1 and B_2, pairs of each kind drawn for the linear term; None for as many as comparisons.
    epoch_draws : int
        Most draws in an epoch, unless there are even more distances (of a query and an item).
    """

    _: KW_ONLY
    batch: int = 1000
    batch_similar: int | None = None
    batch_dissimilar: int | None = None
    epochs: int = 10
    epoch_draws: int = 1_000_000

    def __post_init__(self) -> None:
        super().__post_init__()
        given = [name for name in ("batch_similar", "batch_dissimilar") if getattr(self, name) is not None]
        check_counts(self, "batch", "epoch_draws", *given)

    @property
    def pairs(self) -> tuple[int, int]:
        """Similar and dissimilar pairs drawn for a step: (B_1, B_2)."""
        similar, dissimilar = self.batch_similar, self.batch_dissimilar
        return self.batch if similar is None else similar, self.batch if dissimilar is None else dissimilar

    def draws_in_epoch(self, risk: PairwiseRisk) -> int:
        """Number of comparisons, but at most ``epoch_draws`` or, if larger, the number of distances."""
        return min(int(risk.pairs.sum()), max(self.epoch_draws, int(risk.rankings.sizes.sum())))

    def steps_in_epoch(self, risk: PairwiseRisk) -> int:
        """Number of batches in an epoch, rounded up."""
        return -(-self.draws_in_epoch(risk) // self.batch)


def offered(
    problem: MetricProblem, risk: PairwiseRisk, monitor: Monitor, M: Array, width: float, /, **details: float
) -> bool:
    """Offer a metric, and the lower bound from its hinges smoothed over ``width``; True if the solve must stop."""
    here = risk.smoothed(M, width)
    objective = here.exact + problem.penalty(M)
    monitor.primal(M, objective)
    bound = problem.bound(here.point.value, here.point.S, M)
    monitor.dual(bound, lambda: SmoothedPairs(M, width), here.point)
    return monitor.iterate(objective=objective, **details)


def is_due(t: int, steps: int) -> bool:
    """Whether to evaluate the gap after step t: at powers of two in the first epoch, then after every epoch."""
    return t % steps == 0 or (t < steps and t & (t - 1) == 0)
