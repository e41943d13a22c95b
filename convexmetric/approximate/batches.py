r"""Base of descents over random batches, and draws of comparisons from rankings whose pairs are never written out.

A query is drawn with probability :math:`c_q p_q n_q / \sum_q c_q p_q n_q` for its :math:`p_q` positives and :math:`n_q`
negatives, then one of each uniformly: a comparison is drawn with probability proportional to its weight :math:`c_q`.
Negatives that are all items except :math:`e_0 < e_1 < \dots` are drawn by rank: the remaining item of rank k is k
plus the number of i with :math:`e_i - i \le k`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass

import numpy as np

from convexmetric.approximate.base import RandomisedSolver
from convexmetric.arrays import Array
from convexmetric.comparisons.rankings import Rankings
from convexmetric.measures.sorting import ascending
from convexmetric.numerics.compiling import compiled
from convexmetric.problem import MetricProblem
from convexmetric.risks import PairwiseRisk, SmoothedPairs
from convexmetric.solvers.runtime import Monitor, Steps, check_counts

#: Smoothing, in margins, of the hinges whose slopes give the lower bound.
BOUND_WIDTH = 0.01
#: Largest entry of an iterate at which the run continues: beyond it, squares of distances overflow.
OVERFLOW = 1e30


@dataclass(frozen=True)
class BatchSolver(RandomisedSolver):
    """An approximate solver whose steps use a batch of comparisons, and batches of pairs for the linear term.

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
        return self.batch_similar or self.batch, self.batch_dissimilar or self.batch

    def draws_in_epoch(self, risk: PairwiseRisk) -> int:
        """Number of comparisons, but at most ``epoch_draws`` or, if larger, the number of distances."""
        return min(int(risk.pairs.sum()), max(self.epoch_draws, int(risk.rankings.sizes.sum())))

    def _follow(
        self,
        risk: PairwiseRisk,
        monitor: Monitor,
        state: BatchState,
        iterates: Iterator[tuple[int, Array]],
        look: Callable[[Array, float], dict[str, float]],
    ) -> Steps:
        """Step through all epochs, or until the iterate overflows.

        ``look`` evaluates the gap at an iterate after so many passes: at powers of two in the first epoch, then after
        every epoch.
        """
        steps = -(-self.draws_in_epoch(risk) // self.batch)
        last = self.epochs * steps
        monitor.state = state.arrays
        if state.t == 0:
            yield look(state.iterate, 0.0)
        if state.t >= last:
            return
        for t, iterate in iterates:
            if not np.abs(iterate).max() < OVERFLOW:
                return
            due = t % steps == 0 or (t < steps and t & (t - 1) == 0)
            if due or monitor.out_of_time:
                yield look(iterate, t / steps)
            if due and t >= last:
                return


@dataclass
class BatchState:
    """State of a run: number of steps, seed of the draws, the last iterate and, if asked for, the mean of all."""

    t: int
    seed: int
    iterate: Array
    mean: Array

    @classmethod
    def left(cls, monitor: Monitor, name: str, iterate: tuple[int, ...], mean: tuple[int, ...]) -> BatchState | None:
        """State in a checkpoint, with arrays of these shapes; None if there is none."""
        left = monitor.left_by(name, {"iterate": iterate, "mean": mean, "numbers": (2,)})
        if not left:
            return None
        t, seed = map(int, left["numbers"])
        return cls(t, seed, left["iterate"], left["mean"])

    def arrays(self) -> dict[str, np.ndarray]:
        """Arrays for a checkpoint."""
        return {"numbers": np.array([self.t, self.seed]), "iterate": self.iterate, "mean": self.mean}


def offered(
    problem: MetricProblem, risk: PairwiseRisk, monitor: Monitor, M: Array, width: float, /, **details: float
) -> dict[str, float]:
    """Offer a metric, and the lower bound from its hinges smoothed over ``width``."""
    here = risk.smoothed(M, width)
    objective = here.exact + problem.penalty(M)
    monitor.primal(M, objective)
    monitor.proven(problem, here.point, M, lambda: SmoothedPairs(M, width))
    return {"objective": objective, **details}


class TripletSampler:
    """Draw triplets (query, positive, negative), independently and in proportion to their weights.

    Parameters
    ----------
    rankings : Rankings
    weights : (n_q,) array
        Weight of every comparison of a query; nonnegative, not all zero.
    """

    def __init__(self, rankings: Rankings, weights: Array) -> None:
        self.rankings, self.relevance = rankings, rankings.relevance
        self.n_positives = self.relevance.n_relevant.astype(np.int64)
        self.n_negatives = self.relevance.n_irrelevant.astype(np.int64)
        self.up_to = np.cumsum(weights * self.n_positives * self.n_negatives)

    @property
    def total(self) -> float:
        """The sum of all weights."""
        return float(self.up_to[-1])

    def sample(self, rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Draw triplets: rows of the queries, and corpus rows of their positives and of their negatives."""
        q = np.searchsorted(self.up_to, self.total * rng.random(size), side="right")
        q = np.minimum(q, np.searchsorted(self.up_to, self.total))
        relevance = self.relevance
        positives = relevance.relevant[relevance.relevant_start[q] + rng.integers(self.n_positives[q])]
        rank = rng.integers(self.n_negatives[q])
        if relevance.complement:
            itself = np.full(size, -1) if relevance.itself is None else relevance.itself[q]
            lists = relevance.relevant, relevance.relevant_start[q], relevance.relevant_stop[q]
            negatives = np.empty(size, dtype=np.int64)
            _left_items(*lists, itself, rank, negatives)
        else:
            negatives = relevance.irrelevant[relevance.irrelevant_start[q] + rank]
        return self.rankings.rows(q), positives, negatives


@compiled
def _left_items(relevant, start, stop, itself, rank, found):
    """Items of given ranks among those that are neither relevant nor the query itself."""
    for t in range(found.size):
        out = np.empty(stop[t] - start[t] + 1)
        for i in range(out.size - 1):
            out[i] = relevant[start[t] + i]
        # May be -1, or one of the relevant: then it does not count.
        out[out.size - 1] = itself[t]
        item, before = rank[t], -1.0
        for item_out in ascending(out)[1]:
            if item_out > item:
                break
            item += item_out > before
            before = item_out
        found[t] = item
