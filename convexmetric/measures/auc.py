r"""Area under the ROC curve: the fraction of relevant-irrelevant pairs in the right order.

.. math:: \mathrm{AUC}(y) = 1 - \frac{1}{p n} \sum_{ij} Y_{ij}, \qquad
   \max_y \Delta(y) - \langle W, \delta\psi(q, y) \rangle
   = \frac{1}{p n} \sum_{ij} \max(0, \; 1 - 2 (z_j - x_i))

with distances x of the relevant and z of the irrelevant items. Inverting exactly the pairs with
:math:`z_j < x_i + 1/2` is a ranking (sort by x + 1/2 and z), so the worst ranking decomposes over pairs.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from convexmetric.arrays import Array
from convexmetric.measures.base import Measure, register
from convexmetric.measures.rows import overwrite, query
from convexmetric.measures.sorting import place
from convexmetric.numerics.compiling import compiled


class AUC(Measure):
    """Area under the ROC curve (paper 1, section 4; oracle after Joachims, 2005).

    The oracle sorts the relevant items and places each irrelevant one among them: ``O(p log p + n)`` a query.
    """

    name: ClassVar[str] = "auc"
    title: ClassVar[str] = "area under the ROC curve"
    pairwise: ClassVar[bool] = True

    described = Measure._described

    def gains(self, i: np.ndarray, b: np.ndarray, p: Any, n: Any) -> Array:
        """``(n - b) / (p n)``."""
        return (n - b) / (p * n)


@compiled
def every_auc(begin, end, block, k, cut, losses, violations):
    """The most violated rankings of the block's rows from begin to end."""
    for row in range(begin, end):
        places, z, order, x, v, b = query(block, row)
        losses[row] = worst_auc(x, z, v, b)
        violations[row] = overwrite(block[0], places, z, order, x, v, b, z.size, losses[row])


@compiled
def worst_auc(x, z, v, b):
    """Invert every pair with ``z_j < x_i + 1/2``; returns the loss."""
    place(x, z, 0.5, v, b)
    inverted = 0
    for i in range(x.size):
        inverted += b[i]
    return inverted / (x.size * z.size)


register(compiled=every_auc)(AUC)
