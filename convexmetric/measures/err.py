r"""Expected reciprocal rank: where a reader stops who is satisfied by every relevant item with the same chance.

.. math:: \mathrm{ERR}(y) = \frac{1}{Z_p} \sum_{i=1}^{p} \frac{w_i}{i + b_i}, \qquad w_i = 2^{-i}, \quad
   Z_p = \sum_{i=1}^{p} \frac{w_i}{i}

A relevant item satisfies with probability 1/2, and the reader stops at the place :math:`i + b_i` of relevant item i
with probability :math:`2^{-i}`. Divided by :math:`Z_p` the perfect ranking scores 1. Gains are those of average
precision but for their weights, and so is the oracle.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from convexmetric.arrays import Array
from convexmetric.described import Described
from convexmetric.measures.base import Measure
from convexmetric.measures.map import worst_weighted
from convexmetric.measures.registry import register
from convexmetric.measures.rows import overwrite, query
from convexmetric.numerics.compiling import compiled


@compiled
def every_err(begin, end, block, k, cut, losses, violations):
    """The most violated rankings of the block's rows from begin to end."""
    for row in range(begin, end):
        x, z, order, sorted_x, v, b = query(block, row)
        p = sorted_x.size
        weight, perfect, stopping = np.empty(p), 0.0, 1.0
        for i in range(p):
            stopping *= 0.5
            weight[i] = stopping
            perfect += stopping / (i + 1.0)
        for i in range(p):
            weight[i] *= p / perfect
        losses[row] = worst_weighted(sorted_x, z, v, b, weight)
        violations[row] = overwrite(block, row, x, z, order, sorted_x, v, b, losses[row])


@register(compiled=every_err)
class ExpectedReciprocalRank(Measure):
    """Expected reciprocal rank (Chapelle, Metzler, Zhang and Grinspan, CIKM 2009), of one grade of relevance."""

    name: ClassVar[str] = "err"
    title: ClassVar[str] = "expected reciprocal rank"

    def described(self) -> Described:
        """Name of the measure."""
        return Described({"measure": self.name})

    def gains(self, i: np.ndarray, b: np.ndarray, p: Any, n: Any) -> Array:
        """``w_i / (Z_p (i + b))``."""
        ranks = np.arange(1.0, np.max(p) + 1.0)
        perfect = np.cumsum(0.5**ranks / ranks)
        return np.asarray(0.5**i / (i + b) / perfect[np.asarray(p) - 1])
