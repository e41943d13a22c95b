r"""The readable oracle: one dynamic programme for every measure, in O(p n).

With items sorted by distance the most violated ranking minimises

.. math:: \sum_{i=1}^{p} c_i(b_i), \qquad c_i(b) = g(i, b) + \frac{2}{p n} \sum_{j \le b} (z_j - x_i)

over :math:`0 \le b_1 \le \dots \le b_p \le n`, and the best of the first i with :math:`b_i \le b` follows from the best
of the first i - 1 by a running minimum over b. It is what the fast oracles are tested against.
"""

from __future__ import annotations

import numpy as np

from convexmetric.cones.base import Array
from convexmetric.measures.base import Measure

__all__ = ["most_violated"]


def most_violated(measure: Measure, x: Array, z: Array) -> tuple[np.ndarray, float, float]:
    """Most violated ranking of one query.

    Parameters
    ----------
    measure : Measure
        Gives the gains ``g(i, b)``.
    x, z : (p,) and (n,) arrays
        Distances of the relevant and of the irrelevant items, in any order.

    Returns
    -------
    b : (p,) int array
        Irrelevant items above each relevant one, in the order of their distances.
    loss, violation : float
        ``Delta`` and ``Delta - <W, dpsi>``.
    """
    x, z = np.sort(x), np.sort(z)
    p, n = x.size, z.size
    above = np.arange(n + 1)
    sums = np.concatenate([[0.0], np.cumsum(z - x[0])])
    best = np.zeros(n + 1)
    choices = np.empty((p, n + 1), dtype=np.int64)
    for i in range(p):
        cost = measure.gains(np.full(n + 1, i + 1), above, p, n) + 2.0 / (p * n) * (sums - above * (x[i] - x[0]))
        best = best + cost
        least = np.minimum.accumulate(best)
        # Where the running minimum was reached last.
        choices[i] = np.maximum.accumulate(np.where(best == least, above, 0))
        best = least
    b = np.empty(p, dtype=np.int64)
    limit = n
    for i in range(p - 1, -1, -1):
        limit = b[i] = choices[i, limit]
    return b, 1.0 - float(measure.gains(np.arange(1, p + 1), b, p, n).sum()), 1.0 - float(best[n])
