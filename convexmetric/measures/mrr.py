r"""Mean reciprocal rank: the inverse position of the first relevant item.

.. math:: \mathrm{MRR}(y) = \frac{1}{1 + b_1}

With b irrelevant items above everything, :math:`b_i = \max(b^*_i, b)`. The b-th one costs
:math:`\frac{2}{p n} \kappa_b`, :math:`\kappa_j = \sum_i \max(0, z_j - x_i)`, and gains :math:`1 / (b (b + 1))`;
because :math:`\kappa_b \, b (b + 1)` grows with b, the best b is the largest with
:math:`\frac{2}{p n} \kappa_b \, b (b + 1) \le 1`, found by selection without sorting the irrelevant items.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from convexmetric.arrays import Array
from convexmetric.measures.base import Measure, register
from convexmetric.measures.rows import overwrite, query
from convexmetric.measures.sorting import distribute, order_cells, place, take
from convexmetric.numerics.compiling import compiled


class ReciprocalRank(Measure):
    """Reciprocal rank of the first relevant item (paper 1, section 4; after Chakrabarti et al., 2008).

    The oracle takes ``O(p log p + n)`` a query on average, and sorts the items it pushes to the top.
    """

    name: ClassVar[str] = "mrr"
    title: ClassVar[str] = "mean reciprocal rank"

    described = Measure._described

    def gains(self, i: np.ndarray, b: np.ndarray, p: Any, n: Any) -> Array:
        """``1 / (1 + b)`` for the first relevant item, else 0."""
        return np.where(i == 1, 1.0 / (1.0 + b), 0.0)


@compiled
def every_mrr(begin, end, block, k, cut, losses, violations):
    """The most violated rankings of the block's rows from begin to end."""
    for row in range(begin, end):
        places, z, order, x, v, b = query(block, row)
        losses[row] = worst_mrr(x, z, v, b)
        violations[row] = overwrite(block[0], places, z, order, x, v, b, z.size, losses[row])


@compiled
def worst_mrr(x, z, v, b):
    """Find the most violated ranking: push the best number of irrelevant items above everything; returns the loss."""
    p, n = x.size, z.size
    place(x, z, 0.0, v, b)
    base, scale = x[0], 2.0 / (p * n)
    # Items that are above everything in the natural ranking cost nothing. The others are candidates, unless their own
    # price exceeds their gain with no irrelevant items above but those above the last relevant item nearer than they.
    top = b[0]
    sums, limits = np.empty(p + 1), np.empty(p + 1)
    sums[0], limits[0] = 0.0, -1.0
    for i in range(p):
        sums[i + 1] = sums[i] + (x[i] - base)
        limits[i + 1] = 1.0 / (scale * (b[i] + 1.0) * (b[i] + 2.0))
    candidates, count = np.empty(n, dtype=np.int32), 0
    for j in range(n):
        below = p - v[j]
        candidates[count] = j
        count += below * (z[j] - base) - sums[below] <= limits[below]
    values = take(z, candidates[:count])
    items, start, _, _ = distribute(values)
    # Cells before low are pushed to the top, those from high on are not.
    low, high = 0, start.size - 1
    while low < high:
        middle = (low + high) // 2
        # An empty cell is treated as the last full one before it.
        full = middle
        while full >= low and start[full] == start[full + 1]:
            full -= 1
        dearest = -1
        for c in range(start[max(full, low)], start[full + 1]):
            if dearest < 0 or values[items[c]] > values[dearest]:
                dearest = items[c]
        rank = top + start[middle + 1]
        if dearest < 0 or worth(values[dearest], p - v[candidates[dearest]], base, sums, scale, rank):
            low = middle + 1
        else:
            high = middle
    pushed = start[low]
    if low < start.size - 1:
        order_cells(values, items, start, low, low + 1)
        while pushed < start[low + 1]:
            j = items[pushed]
            if not worth(values[j], p - v[candidates[j]], base, sums, scale, top + pushed + 1):
                break
            pushed += 1
    for c in range(pushed):
        v[candidates[items[c]]] = p
    for i in range(p):
        b[i] = max(b[i], top + pushed)
    return 1.0 - 1.0 / (1.0 + b[0])


@compiled
def worth(distance, below, base, sums, scale, rank):
    """Whether placing the irrelevant item of this rank above everything gains more than it costs."""
    return scale * (below * (distance - base) - sums[below]) * rank * (rank + 1.0) <= 1.0


register(compiled=every_mrr)(ReciprocalRank)
