"""The rule of a trace, and of no regularizer at all, which is a trace of weight zero."""

from __future__ import annotations

import numpy as np

from convexmetric.arrays import Array
from convexmetric.certificates import kernel
from convexmetric.certificates.rules.base import Bounded, Dual


class Trace(Bounded):
    """Dual scaling of a trace, backed off so that the checker's rounding accepts it: ``scaling S - G <= weight I``."""

    def size(self, values: Array) -> float:
        """The largest eigenvalue."""
        return float(values.max())

    def fits(self, dual: Dual, scaling: float, values: Array, weight: float) -> bool:
        """Whether the largest eigenvalue is below the weight with slack, or the kernel accepts the matrix."""
        if values.max() + self.slack(weight - values, scaling * dual.error) <= weight:
            return True
        if self.cone.diagonal:
            return False
        # The kernel may accept more than norms of errors tell: a small block of the matrix may be known well.
        least = weight * np.eye(self.cone.d)
        sizes = least + np.abs(scaling * dual.S) + np.abs(dual.G)
        try:
            kernel.semidefinite(kernel.Ball(least - dual.at(scaling), scaling * dual.rad + 4.0 * kernel.U * sizes), "")
        except kernel.NotProven:
            return False
        return True
