r"""Binary k-nearest-neighbour prediction: is the majority of the first k places relevant?

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
from convexmetric.described import Described
from convexmetric.measures.base import MeasureAtK
from convexmetric.measures.precision import push, pushed, relevant_in_head
from convexmetric.measures.registry import register
from convexmetric.measures.rows import overwrite, query
from convexmetric.measures.sorting import nearest, place
from convexmetric.numerics.compiling import compiled


class NearestNeighbours(MeasureAtK):
    """Binary k-nearest-neighbour prediction (paper 1, section 4).

    The oracle takes ``O(p log p + n + k p)`` a query.
    """

    name: ClassVar[str] = "knn"
    title: ClassVar[str] = "binary k-nearest-neighbour prediction"

    def described(self) -> Described:
        """Name and k, and ``short`` where it is not the default."""
        return self._described()

    def gains(self, i: np.ndarray, b: np.ndarray, p: Any, n: Any) -> Array:
        """1 for ``i = floor(k / 2) + 1`` when ``i + b <= k``, else 0; ``k <- min(k, p)`` or completed to a sum of 1."""
        k = self._head(p)
        return self._completed(
            ((i == k // 2 + 1) & (i + b <= k)).astype(np.float64), i, np.where(k // 2 + 1 <= p, 1.0, 0.0)
        )

    def plain_gains(self, i: np.ndarray, b: np.ndarray, p: Any, n: Any) -> Array:
        """1 for ``i = floor(k / 2) + 1`` when ``i + b <= k``, else 0: are more than k / 2 of the first k relevant?"""
        return ((i == self.k // 2 + 1) & (i + b <= self.k)).astype(np.float64)


@compiled
def every_knn(begin, end, block, k, cut, losses, violations):
    """The most violated rankings of the block's rows from begin to end."""
    for row in range(begin, end):
        x, z, order, sorted_x, v, b = query(block, row)
        losses[row] = worst_knn(sorted_x, z, k, cut, v, b)
        violations[row] = overwrite(block, row, x, z, order, sorted_x, v, b, losses[row])


@compiled
def worst_knn(x, z, k, cut, v, b):
    """Find the most violated ranking: lose the majority if that is cheap enough; returns the loss."""
    p, n = x.size, z.size
    if cut:
        k = min(k, p)
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
