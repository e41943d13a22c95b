r"""Precision at k, the fraction of relevant items in the first k places, and whether most of these are relevant.

.. math:: \mathrm{P@}k(y) = \frac{1}{k} \#\{i : i + b_i \le k\}

With p >= k relevant items the loss is 1 - P@k, however few irrelevant ones there are: with n < k at least k - n of the
first k places are relevant, and the loss is at most n / k. With p < k the perfect ranking has P@k = p / k: the loss is
1 - P@p with ``short="cut"``, a departure from the paper, and p / k - P@k with ``short="printed"``. Scores of retrieval
are P@k in every case.

With m relevant items in the first k places the best ranking pushes the r = k - m nearest irrelevant items above all but
the m nearest relevant ones and leaves everything else in its natural order:
:math:`b_i = \max(b^*_i, r [i > m])`, at the price

.. math:: \frac{2}{p n} \sum_{i > m} \sum_{j \le r} \max(0, z_j - x_i).

Only m >= k - n below the natural number can be better, and going from m to m - 1 adds one row and one column of pairs.

Binary k-nearest-neighbour prediction: is the majority of the first k places relevant?

.. math:: \mathrm{KNN}(y; k) = [\mathrm{P@}k(y) > 1/2] = [h + b_h \le k], \qquad
   h = \lfloor k / 2 \rfloor + 1

With p >= k relevant items the loss is 1 - KNN; with n <= k - h irrelevant ones no ranking loses the majority. With
p < k it is 1 - KNN(y; p) with ``short="cut"``, a departure from the paper, and KNN(y*; k) - KNN(y; k) with
``short="printed"``: where p < h no ranking has a majority, and the loss is zero. Scores of retrieval do not cut k.

Either the natural ranking is best, or the one with exactly h - 1 relevant items in the first k places.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from convexmetric.arrays import Array
from convexmetric.measures.base import MeasureAtK, register
from convexmetric.measures.rows import overwrite, query
from convexmetric.measures.sorting import nearest, place
from convexmetric.numerics.compiling import compiled


class PrecisionAtK(MeasureAtK):
    """Precision at k (paper 1, section 4; sweep over its k + 1 values after Joachims, 2005).

    The oracle takes ``O(p log p + n + k p)`` a query.
    """

    name: ClassVar[str] = "precision"
    title: ClassVar[str] = "precision at k"

    described = MeasureAtK._described

    def gains(self, i: np.ndarray, b: np.ndarray, p: Any, n: Any) -> Array:
        """``[i + b <= k] / k``, with ``k <- min(k, p)`` or completed to a sum of 1."""
        k = self._head(p)
        return self._completed((i + b <= k) / k, i, np.minimum(k, p) / k)

    def plain_gains(self, i: np.ndarray, b: np.ndarray, p: Any, n: Any) -> Array:
        """``[i + b <= k] / k``: relevant items among the first k places, over k, also where there are fewer items."""
        return np.asarray((i + b <= self.k) / self.k)


@compiled
def every_precision(begin, end, block, k, cut, losses, violations):
    """The most violated rankings of the block's rows from begin to end."""
    for row in range(begin, end):
        places, z, order, x, v, b = query(block, row)
        losses[row] = worst_precision(x, z, k, cut, v, b)
        violations[row] = overwrite(block[0], places, z, order, x, v, b, z.size, losses[row])


@compiled
def worst_precision(x, z, k, cut, v, b):
    """Find the most violated ranking: best number of relevant items in the first k places; returns the loss."""
    p, n = x.size, z.size
    k = min(k, p) if cut else k
    perfect = min(k, p) / k
    place(x, z, 0.0, v, b)
    order = nearest(z, min(k, n))
    natural = relevant_in_head(b, k)
    best, best_value, penalty = natural, perfect - natural / k, 0.0
    for m in range(natural - 1, max(0, k - n) - 1, -1):
        penalty += pushed(x, z, order, m, k - m)
        value = perfect - m / k - 2.0 / (p * n) * penalty
        if value > best_value:
            best, best_value = m, value
    push(x, z, order, best, k - best, v, b)
    return perfect - best / k


@compiled
def relevant_in_head(b, k):
    """Number of relevant items in the first k places."""
    m = 0
    while m < b.size and m + 1 + b[m] <= k:
        m += 1
    return m


@compiled
def pushed(x, z, order, m, r):
    """Price ``sum max(0, z_j - x_i)`` of the pairs added by having m relevant and r irrelevant items in the head.

    Compared with m + 1 and r - 1: relevant item m + 1 with the first r irrelevant ones, and irrelevant item r
    with the relevant ones after m + 1.
    """
    total = 0.0
    for j in range(r):
        total += max(0.0, z[order[j]] - x[m])
    last = z[order[r - 1]]
    for i in range(m + 1, x.size):
        if not x[i] < last:
            break
        total += last - x[i]
    return total


@compiled
def push(x, z, order, m, r, v, b):
    """Put the r nearest irrelevant items above all relevant ones but the first m."""
    for i in range(m, x.size):
        if b[i] >= r:
            break
        # Irrelevant items b_i + 1 .. r were below relevant item i.
        for j in range(b[i], r):
            v[order[j]] += 1
        b[i] = r


register(compiled=every_precision)(PrecisionAtK)


class NearestNeighbours(MeasureAtK):
    """Binary k-nearest-neighbour prediction (paper 1, section 4).

    The oracle takes ``O(p log p + n + k p)`` a query.
    """

    name: ClassVar[str] = "knn"
    title: ClassVar[str] = "binary k-nearest-neighbour prediction"

    described = MeasureAtK._described

    def gains(self, i: np.ndarray, b: np.ndarray, p: Any, n: Any) -> Array:
        """1 for ``i = floor(k / 2) + 1`` when ``i + b <= k``, else 0; ``k <- min(k, p)`` or completed to a sum of 1."""
        k = self._head(p)
        return self._completed(self._majority(i, b, k), i, np.where(k // 2 + 1 <= p, 1.0, 0.0))

    def plain_gains(self, i: np.ndarray, b: np.ndarray, p: Any, n: Any) -> Array:
        """1 for ``i = floor(k / 2) + 1`` when ``i + b <= k``, else 0: are more than k / 2 of the first k relevant?"""
        return self._majority(i, b, self.k)

    @staticmethod
    def _majority(i: np.ndarray, b: np.ndarray, k: Any) -> Array:
        return ((i == k // 2 + 1) & (i + b <= k)).astype(np.float64)


@compiled
def every_knn(begin, end, block, k, cut, losses, violations):
    """The most violated rankings of the block's rows from begin to end."""
    for row in range(begin, end):
        places, z, order, x, v, b = query(block, row)
        losses[row] = worst_knn(x, z, k, cut, v, b)
        violations[row] = overwrite(block[0], places, z, order, x, v, b, z.size, losses[row])


@compiled
def worst_knn(x, z, k, cut, v, b):
    """Find the most violated ranking: lose the majority if that is cheap enough; returns the loss."""
    p, n = x.size, z.size
    k = min(k, p) if cut else k
    place(x, z, 0.0, v, b)
    natural, most = relevant_in_head(b, k), k // 2
    if natural <= most:
        # The natural ranking has no majority: loss 1, or 0 where p is too small for any ranking to have one.
        return 1.0 if p > most else 0.0
    if k - most > n:
        # There are too few irrelevant items for any ranking to lose the majority.
        return 0.0
    order = nearest(z, k - most)
    penalty = 0.0
    for m in range(natural - 1, most - 1, -1):
        penalty += pushed(x, z, order, m, k - m)
    if 2.0 / (p * n) * penalty >= 1.0:
        return 0.0
    push(x, z, order, most, k - most, v, b)
    return 1.0


register(compiled=every_knn)(NearestNeighbours)
