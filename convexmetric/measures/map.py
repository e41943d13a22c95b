r"""Average precision and expected reciprocal rank, measures in which every relevant item has a convex gain.

Average precision is the precision at the places of the relevant items, averaged:

.. math:: \mathrm{AP}(y) = \frac{1}{p} \sum_{i=1}^{p} \frac{i}{i + b_i}

Putting irrelevant item j (the j-th nearest) above the relevant items r, ..., p gains

.. math:: f_j(r) = \sum_{i \ge r} \Bigl[ \frac{i}{p \, (i + j - 1)(i + j)} - \frac{2}{p n} (z_j - x_i) \Bigr]

wherever the others are placed, and the largest best r grows with j: divide and conquer over j (Mohapatra, Rolinek,
Jawahar, Kolmogorov and Kumar, CVPR 2018, who also show that comparisons alone cannot do better).

Once one of them is best placed below everything, so are all that are further away: these are left out at first sight.
The others are dealt out into cells by distance and divided between cells, and only cells within which the best place
changes, p at most, are sorted.

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
from convexmetric.comparisons.relevance import places_of
from convexmetric.measures.base import Measure, register
from convexmetric.measures.rows import overwrite
from convexmetric.measures.sorting import ascending, distribute, order_cells, take
from convexmetric.numerics.compiling import compiled

#: Size, to within a factor of two, of the sample of irrelevant items by which those out of reach are found.
SAMPLE = 64


class AveragePrecision(Measure):
    """Average precision, whose mean over queries is MAP (paper 1, section 4; oracle after Mohapatra et al., 2018).

    The oracle takes ``O(p log n + n)`` a query if distances are spread evenly, and ``O(n log n)`` at most.
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
    values, dense, first, lists = block
    for row in range(begin, end):
        near, far = places_of(dense, first, lists, row)
        order, x = ascending(take(values, near))
        weight, total = np.empty(x.size), 0.0
        for i in range(x.size):
            weight[i] = 0.5 ** (i + 1.0) if stopping else i + 1.0
            total += weight[i] / (i + 1.0)
        for i in range(x.size):
            weight[i] *= x.size / total
        places, z = within_reach(values, far, x, weight)
        values[first[row] : first[row + 1]] = 0.0
        v, b = np.empty(z.size, dtype=np.int64), np.empty(x.size, dtype=np.int64)
        losses[row] = worst_weighted(x, z, far.size, v, b, weight)
        violations[row] = overwrite(values, (near, places), z, order, x, v, b, far.size, losses[row])


@compiled
def within_reach(values, far, x, weight):
    """Places and distances of irrelevant items, without those that stand below everything for being too far.

    If one of them, at some rank and distance, is best placed below everything, so are all of a higher rank that are no
    nearer. A sample tells about where that is so.
    """
    n, k = far.size, 0
    step = 1 + n // SAMPLE
    sample = np.empty((n + step - 1) // step)
    for s in range(sample.size):
        sample[s] = values[far[step * s]]
    _, sample = ascending(sample)
    while k < sample.size and rises(x, weight, step * k + 1, sample[k], n):
        k += 1
    limit = sample[k + 1] if k + 1 < sample.size else np.inf
    places, z, met = np.empty(n, dtype=np.int32), np.empty(n), 0
    for bound in (limit, np.inf):
        met = 0
        for j in range(n):
            # Read once: what was just stored is not read back without delay.
            value = values[far[j]]
            places[met], z[met] = far[j], value
            met += value < bound
        if met == n or not rises(x, weight, met + 1, bound, n):
            break
    return places[:met], z[:met]


@compiled
def rises(x, weight, j, distance, n):
    """Whether the j-th nearest of n irrelevant items, at a distance, gains by a place above some relevant item."""
    total = 0.0
    for i in range(x.size, 0, -1):
        total += weight[i - 1] / ((i + j - 1.0) * (i + j)) - 2.0 / n * (distance - x[i - 1])
        if total > 0.0:
            return True
    return False


@compiled
def worst_weighted(x, z, n, v, b, weight):
    """Place irrelevant items by divide and conquer, for convex gains ``weight_i / (p (i + b))``; returns the loss.

    Gains are convex in b, so that every irrelevant item has a best place that does not depend on the others, and later
    items have no higher one. They are divided between cells, where an item of that rank and distance, were there one,
    would have its place, and only cells within which places change are sorted. ``z`` are the nearest of n items.
    """
    p = x.size
    # The largest best r of an irrelevant item is p + 1 - v, and projected[r] is the number of these items.
    projected = np.empty(p + 2, dtype=np.int64)
    projected[:], v[:] = 0, 0
    scale = 2.0 / n
    items, start, cell, (low, width) = distribute(z)
    inverse = np.empty(p + z.size)
    for place in range(p + z.size):
        inverse[place] = 1.0 / (place + 1.0)
    stack, depth = np.empty((128, 4), dtype=np.int64), 1
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = 0, z.size, 1, p + 1
    while depth:
        depth -= 1
        f, e, least, h = stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3]
        if least == h or f == e:
            projected[h] += e - f
            continue
        c = (f + e) // 2
        own, last = np.int64(cell[items[c]]), np.int64(cell[items[c]])
        single, y, w = h - least == 1, x[least - 1], weight[least - 1]
        if single:
            # Above or below one relevant item: that is bisected by cells, and counted item by item in the last one.
            own, last = np.int64(cell[items[f]]), np.int64(cell[items[e - 1]])
        while own < last:
            c = (own + last + 1) // 2
            j = least + start[c]
            rising = w * inverse[j - 2] * inverse[j - 1] > scale * (low + c * width - y)
            own, last = (c, last) if rising else (own, c - 1)
        begin, end, item = max(f, np.int64(start[own])), min(e, np.int64(start[own + 1])), 0
        if end - begin == start[own + 1] - start[own] and (single or end - begin == e - f):
            order_cells(z, items, start, own, own + 1)
        if single:
            above = begin - f
            for at in range(begin, end):
                above += w * inverse[least + at - 1] * inverse[least + at] > scale * (z[items[at]] - y)
            projected[least] += above
            projected[h] += e - f - above
            continue
        if begin > f:
            c, distance = begin, low + own * width
        elif end < e:
            c, distance = end, low + (own + 1) * width
        else:
            distance, item = z[items[c]], 1
        j, total, most, r = c + item, 0.0, 0.0, h
        for i in range(h - 1, least - 1, -1):
            # p f_j(i) - p f_j(h); the gain as one product, not as a difference of two that are nearly equal.
            total += weight[i - 1] * inverse[i + j - 2] * inverse[i + j - 1] - scale * (distance - x[i - 1])
            if total > most:
                most, r = total, i
        projected[r] += item
        stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3] = f, c, least, r
        depth += 1
        stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3] = c + item, e, r, h
        depth += 1
    above, score = 0, 0.0
    for i in range(p):
        for at in range(above, above + projected[i + 1]):
            v[items[at]] = p - i
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
