"""Search of quadratic forms of diagonal metrics."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from convexmetric.certificates import kernel
from convexmetric.certificates.rules.base import Dual, Rule, of_matrix, spectrum
from convexmetric.certificates.statement import Arrays, Table


class QuadraticForm(Rule):
    """Dual scaling and subgradient ``L z`` of a form, backed off so that the checker's rounding accepts them."""

    def found(self, dual: Dual) -> tuple[float, Table, Arrays]:
        """The z of the hints, raised until ``L z >= S - G`` in exact arithmetic, at the best scaling."""
        L, hint, target = self.omega.L.mid, self.hints["hint"], dual.at(1.0)
        target = target + (self.backoff + 64.0 * kernel.U) * (np.abs(L) @ np.abs(hint) + np.abs(target))
        z, sums = hint.copy(), L.sum(axis=1)
        for _ in range(60):
            missing = target - L @ z
            short = missing > 0.0
            if not short.any() or (sums[short] <= 0.0).any():
                break
            z = z + (1.0 + 2.0**-40) * float((missing[short] / sums[short]).max())
        square, scaling, v = float(z @ (L @ z)), 1.0, dual.v
        if not dual.G.any():
            scaling = 0.0 if v <= 0.0 or self.backoff == 1.0 else min(1.0, v / square) if square > 0.0 else 1.0
        return scaling, {} if self.omega.convex else {"lack": str(Fraction(self.lack()))}, {"z": scaling * z}

    def lack(self) -> float:
        """What must be added to the diagonal until the kernel accepts the form as positive semidefinite."""
        L = self.omega.L
        try:
            kernel.semidefinite(L, "the quadratic form")
        except kernel.NotProven:
            values = spectrum(L.mid)
            return max(0.0, -float(values[0])) + of_matrix(values, float(np.linalg.norm(L.rad)))
        return 0.0
