r"""Average precision and expected reciprocal rank, measures in which every relevant item has a convex gain.

Average precision is the precision at the places of the relevant items, averaged:

.. math:: \mathrm{AP}(y) = \frac{1}{p} \sum_{i=1}^{p} \frac{i}{i + b_i}

Putting irrelevant item j (the j-th nearest) above the relevant items r, ..., p gains

.. math:: f_j(r) = \sum_{i \ge r} \Bigl[ \frac{i}{p \, (i + j - 1)(i + j)} - \frac{2}{p n} (z_j - x_i) \Bigr]

wherever the others are placed, and the largest best r grows with j: divide and conquer over j (Mohapatra, Rolinek,
Jawahar, Kolmogorov and Kumar, CVPR 2018, who also show that comparisons alone cannot do better).

Irrelevant items are taken in chunks from the nearest on. Once one of them is best placed below everything, so are all
that are further away, and these need no sorting.

Expected reciprocal rank models where a reader stops whom each relevant item satisfies with the same probability.

.. math:: \mathrm{ERR}(y) = \frac{1}{Z_p} \sum_{i=1}^{p} \frac{w_i}{i + b_i}, \qquad w_i = 2^{-i}, \quad
   Z_p = \sum_{i=1}^{p} \frac{w_i}{i}

A relevant item satisfies with probability 1/2, and the reader stops at the place :math:`i + b_i` of relevant item i
with probability :math:`2^{-i}`. Division by :math:`Z_p` gives the perfect ranking the score 1. Gains and oracle differ
from those of average precision only in the weights.
"""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import numpy as np

from convexmetric.arrays import Array
from convexmetric.measures.base import Measure, register
from convexmetric.measures.rows import overwrite, query
from convexmetric.measures.sorting import distribute, order_cells
from convexmetric.numerics.compiling import compiled


class AveragePrecision(Measure):
    """Average precision, whose mean over queries is MAP (paper 1, section 4; oracle after Mohapatra et al., 2018).

    The oracle takes ``O(p log p + n log n)`` a query at most, and sorts about twice the irrelevant items that end
    above a relevant one.
    """

    name: ClassVar[str] = "map"
    title: ClassVar[str] = "mean average precision"

    described = Measure._described

    def gains(self, i: np.ndarray, b: np.ndarray, p: Any, n: Any) -> Array:
        """``i / (p (i + b))``."""
        return i / (p * (i + b))


@compiled
def every_weighted(stopping, begin, end, block, k, cut, losses, violations):
    """The most violated rankings of the block's rows from begin to end; with ``stopping`` of the reciprocal rank."""
    for row in range(begin, end):
        places, z, order, x, v, b = query(block, row)
        weight, total = np.empty(x.size), 0.0
        for i in range(x.size):
            weight[i] = 0.5 ** (i + 1.0) if stopping else i + 1.0
            total += weight[i] / (i + 1.0)
        for i in range(x.size):
            weight[i] *= x.size / total
        losses[row] = worst_weighted(x, z, v, b, weight)
        violations[row] = overwrite(block[0], places, z, order, x, v, b, losses[row])


@compiled
def worst_weighted(x, z, v, b, weight):
    """Place irrelevant items by divide and conquer, for convex gains ``weight_i / (p (i + b))``; returns the loss.

    Gains are convex in b, so that every irrelevant item has a best place that does not depend on the others, and later
    items have no higher one. Only the cells of the items at which the others are divided are sorted.
    """
    p, n = x.size, z.size
    # The largest best r of an irrelevant item is p + 1 - v, and projected[r] is the number of these items.
    projected = np.empty(p + 2, dtype=np.int64)
    projected[:], v[:] = 0, 0
    scale = 2.0 / n
    items, start, cell = distribute(z)
    ordered, inverse = np.empty(start.size, dtype=np.bool_), np.empty(p + n)
    ordered[:] = False
    for place in range(p + n):
        inverse[place] = 1.0 / (place + 1.0)
    stack, depth = np.empty((64, 4), dtype=np.int64), 1
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = 0, n, 1, p + 1
    while depth:
        depth -= 1
        f, e, least, h = stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3]
        if least == h:
            projected[h] += e - f
            if h <= p:
                for at in range(f, e):
                    v[items[at]] = p + 1 - h
            continue
        c = (f + e) // 2
        own = np.int64(cell[items[c]])
        if not ordered[own]:
            order_cells(z, items, start, own, own + 1)
            ordered[own] = True
        j, distance = c + 1, z[items[c]]
        total, most, r = 0.0, 0.0, h
        for i in range(h - 1, least - 1, -1):
            # p f_j(i) - p f_j(h); the gain as one product, not as a difference of two that are nearly equal.
            total += weight[i - 1] * inverse[i + j - 2] * inverse[i + j - 1] - scale * (distance - x[i - 1])
            if total > most:
                most, r = total, i
        projected[r] += 1
        v[items[c]] = p + 1 - r
        if f < c:
            stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3] = f, c, least, r
            depth += 1
        if c + 1 < e:
            stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3] = c + 1, e, r, h
            depth += 1
    above, score = 0, 0.0
    for i in range(p):
        above += projected[i + 1]
        b[i] = above
        score += weight[i] / (i + 1.0 + above)
    return 1.0 - score / p


register(compiled=partial(every_weighted, False))(AveragePrecision)


@register(compiled=partial(every_weighted, True))
class ExpectedReciprocalRank(Measure):
    """Expected reciprocal rank (Chapelle, Metzler, Zhang and Grinspan, CIKM 2009), of one grade of relevance."""

    name: ClassVar[str] = "err"
    title: ClassVar[str] = "expected reciprocal rank"

    described = Measure._described

    def gains(self, i: np.ndarray, b: np.ndarray, p: Any, n: Any) -> Array:
        """``w_i / (Z_p (i + b))``."""
        ranks = np.arange(1.0, np.max(p) + 1.0)
        perfect = np.cumsum(0.5**ranks / ranks)
        return np.asarray(0.5**i / (i + b) / perfect[np.asarray(p) - 1])
