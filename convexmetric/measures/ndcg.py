r"""Normalised discounted cumulative gain at k, with the paper's discount or with the usual one.

.. math:: \mathrm{NDCG@}k(y) = \frac{1}{\sum_{t \le k} D(t)} \sum_{i : i + b_i \le k} D(i + b_i)

=============  ======================================  =====================================================
``ndcg``       :math:`D(1) = 1, D(t) = 1 / \log_2 t`   paper 1, after Järvelin and Kekäläinen (2002), base 2
``ndcg-log2``  :math:`D(t) = 1 / \log_2 (t + 1)`        Burges et al. (2005); trec_eval, BEIR, scikit-learn
=============  ======================================  =====================================================

The first discounts places 1 and 2 equally, the second does not; scores of the two are not comparable, and tables call
the first ``ndcg-paper``.

With p >= k relevant items the loss is 1 - NDCG@k. With p < k the perfect ranking scores less than 1: the loss is
1 - NDCG@p with ``short="cut"``, a departure from the paper, and NDCG@k(y*) - NDCG@k(y) with ``short="printed"``. Scores
of retrieval keep the k places and divide by :math:`\sum_{t \le \min(k, p)} D(t)`, what the perfect ranking collects.

With m relevant items in the first k places, the r = k - m nearest irrelevant items stand above the other relevant ones
(as for precision at k), and the order inside the head is settled by dynamic programming over
:math:`b_1 \le \dots \le b_m \le r`: prefix maxima of at most k (k + 1) / 2 numbers, shared by all m.

The discount need only satisfy :math:`D(1) \ge D(2) \ge \dots`. The divide and conquer of average precision would be
wrong here: D(1) = D(2) = 1 and the cut at k break the convexity it needs.
"""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import numpy as np

from convexmetric.arrays import Array
from convexmetric.measures.base import MeasureAtK, register
from convexmetric.measures.precision import push, pushed, relevant_in_head
from convexmetric.measures.rows import overwrite, query
from convexmetric.measures.sorting import nearest, place
from convexmetric.numerics.compiling import compiled


class NDCG(MeasureAtK):
    """NDCG at k (paper 1, section 4; dynamic programme after Chakrabarti et al., 2008).

    The oracle takes ``O(p log p + n + k p + k^2)`` a query.
    """

    name: ClassVar[str] = "ndcg"
    title: ClassVar[str] = "normalised discounted cumulative gain at k with the discount 1 / log2 t"
    shown: ClassVar[str] = "ndcg-paper"
    #: Place t is worth ``1 / log2(t + shift)``, and at most 1.
    _shift: ClassVar[int] = 0

    described = MeasureAtK._described

    def gains(self, i: np.ndarray, b: np.ndarray, p: Any, n: Any) -> Array:
        """``D(i + b) / sum_{t <= k} D(t)`` up to place k, with ``k <- min(k, p)`` or completed to a sum of 1."""
        k, totals = self._head(p), self._totals()
        gains = self._discounts_up_to(k, i, b) / totals[k - 1]
        return self._completed(gains, i, totals[np.minimum(k, p) - 1] / totals[k - 1])

    def plain_gains(self, i: np.ndarray, b: np.ndarray, p: Any, n: Any) -> Array:
        """``D(i + b) / sum_{t <= min(k, p)} D(t)`` up to place k: discounted gain over that of the perfect ranking."""
        return self._discounts_up_to(self.k, i, b) / self._totals()[np.minimum(self.k, p) - 1]

    def _totals(self) -> Array:
        """Sums of the first 1, ..., k discounts."""
        return np.cumsum(self.discounts(np.arange(1, self.k + 1)))

    def _discounts_up_to(self, last: Any, i: np.ndarray, b: np.ndarray) -> Array:
        place = np.asarray(i + b)
        return np.where(place <= last, self.discounts(place), 0.0)

    @classmethod
    def discounts(cls, place: np.ndarray) -> Array:
        """``D(t)`` of every place, from 1 on."""
        return np.asarray(1.0 / np.log2(np.maximum(place + cls._shift, 2.0)))


class NDCGLog2(NDCG):
    """NDCG at k as it is reported today, with the discount ``1 / log2(t + 1)`` (Burges et al., 2005).

    The oracle is that of :class:`NDCG`.
    """

    name: ClassVar[str] = "ndcg-log2"
    title: ClassVar[str] = "normalised discounted cumulative gain at k with the discount 1 / log2(t + 1)"
    shown: ClassVar[str] = "ndcg-log2"
    _shift: ClassVar[int] = 1

    described = MeasureAtK._described


@compiled
def every_ndcg(shift, begin, end, block, k, cut, losses, violations):
    """The most violated rankings of the block's rows from begin to end, with the discount ``1 / log2(t + shift)``."""
    for row in range(begin, end):
        places, z, order, x, v, b = query(block, row)
        losses[row] = worst_ndcg(x, z, k, cut, shift, v, b)
        violations[row] = overwrite(block[0], places, z, order, x, v, b, z.size, losses[row])


@compiled
def worst_ndcg(x, z, k, cut, shift, v, b):
    """Find the most violated ranking: number of relevant items in the head, and their order; returns the loss."""
    p, n = x.size, z.size
    k = min(k, p) if cut else k
    place(x, z, 0.0, v, b)
    order = nearest(z, min(k, n))
    natural = relevant_in_head(b, k)
    scale = 2.0 / (p * n)
    D, total, perfect = np.empty(k + 1), 0.0, 0.0
    D[0] = 0.0
    for t in range(1, k + 1):
        D[t] = 1.0 / np.log2(max(t + shift, 2.0))
        total += D[t]
        perfect += D[t] if t <= p else 0.0

    # value[m, c]: best of the first m relevant items with b_1 <= .. <= b_m <= c, relative to their natural places.
    most = min(k, n)
    value = np.empty((natural + 1, most + 1))
    choice = np.empty((natural + 1, most + 1), dtype=np.int64)
    value[:], choice[:] = -np.inf, 0
    value[0] = 0.0
    for m in range(1, natural + 1):
        price = 0.0
        best, best_c = -np.inf, 0
        for c in range(min(most, k - m) + 1):
            if c > b[m - 1]:
                price += z[order[c - 1]] - x[m - 1]
            if c >= b[m - 1]:
                here = value[m - 1, c] - D[m + c] / total - scale * price
                # Of equal choices the one with more irrelevant items above.
                if here >= best:
                    best, best_c = here, c
            value[m, c], choice[m, c] = best, best_c

    best_m, best_value, tail = natural, value[natural, min(most, k - natural)], 0.0
    for m in range(natural - 1, -1, -1):
        if k - m > n:
            break
        tail += pushed(x, z, order, m, k - m)
        here = value[m, k - m] - scale * tail
        if here > best_value:
            best_m, best_value = m, here
    push(x, z, order, best_m, k - best_m, v, b)
    score = 0.0
    c = min(most, k - best_m)
    for m in range(best_m, 0, -1):
        c = choice[m, c]
        for j in range(b[m - 1], c):
            v[order[j]] += 1
        b[m - 1] = c
        score += D[m + c]
    return perfect / total - score / total


register(compiled=partial(every_ndcg, 0))(NDCG)
register(compiled=partial(every_ndcg, 1))(NDCGLog2)
