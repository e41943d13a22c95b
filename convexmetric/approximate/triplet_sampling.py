r"""Comparisons drawn from rankings whose pairs are never written out.

A query is drawn with probability :math:`c_q p_q n_q / \sum_q c_q p_q n_q` for its :math:`p_q` positives and :math:`n_q`
negatives, then one of each uniformly: a comparison is drawn with probability proportional to its weight :math:`c_q`.
Negatives that are all items but some :math:`e_0 < e_1 < \dots` are drawn by rank: the remaining item of rank k is k
plus the number of i with :math:`e_i - i \le k`.
"""

from __future__ import annotations

import numpy as np

from convexmetric.arrays import Array
from convexmetric.comparisons.rankings import Rankings
from convexmetric.numerics.compiling import compiled


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
        negatives = (
            self._left(q, rank) if relevance.complement else relevance.irrelevant[relevance.irrelevant_start[q] + rank]
        )
        return self.rankings.rows(q), positives, negatives

    def _left(self, q: np.ndarray, rank: np.ndarray) -> np.ndarray:
        """Items of given ranks among those that are neither positives nor the query itself."""
        relevance = self.relevance
        itself = np.full(len(q), -1) if relevance.itself is None else relevance.itself[q]
        found = np.empty(len(q), dtype=np.int64)
        _left_items(relevance.relevant, relevance.relevant_start[q], relevance.relevant_stop[q], itself, rank, found)
        return found


@compiled
def _left_items(relevant, start, stop, itself, rank, found):
    for t in range(found.size):
        positives = relevant[start[t] : stop[t]]
        out = np.empty(positives.size + 1, dtype=np.int64)
        out[: positives.size] = positives
        kept = positives.size
        if itself[t] >= 0 and not (positives == itself[t]).any():
            out[kept] = itself[t]
            kept += 1
        out = np.sort(out[:kept])
        low, high = 0, kept
        while low < high:
            middle = (low + high) // 2
            if out[middle] - middle <= rank[t]:
                low = middle + 1
            else:
                high = middle
        found[t] = rank[t] + low
