"""The rule of a budget: a linear function of the metric that has a limit, or a price beyond it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import scipy.linalg as la

from convexmetric.arrays import Array
from convexmetric.certificates import kernel
from convexmetric.certificates.rules.base import Dual, Rule, below, in_blocks, largest, last, spectrum
from convexmetric.certificates.statement import Arrays, Table


class Budget(Rule):
    """Dual scaling and multiplier of a budget, backed off so that the checker's rounding accepts them.

    With ``A`` the matrix of the budget, multiples t A are subgradients, of t from zero to the price.
    """

    @property
    def A(self) -> Array:
        """Matrix of the budget, with its entries between blocks set to zero."""
        return in_blocks(self.cone, self.omega.A)

    @property
    def price(self) -> float:
        """Upper bound on the multiplier."""
        return np.inf if self.omega.most is None else below(self.omega.most)

    def multiplier(self, left: Array) -> float:
        """The least t with ``t A >= left``."""
        A = self.A
        if not spectrum(A).min() > 0.0:
            raise kernel.NotProven("the matrix of the budget is not positive definite")
        return max(0.0, float((left / A if left.ndim == 1 else la.eigh(left, A, eigvals_only=True)).max()))

    def scaling(self, dual: Dual) -> float:
        """Scaling that maximises ``scaling v - t limit``, approximately, t being the least multiplier."""

        def bound(scaling: float) -> float:
            t = self.multiplier(dual.at(scaling))
            return scaling * dual.v - t * float(self.omega.limit) if t <= self.price else -np.inf

        return largest(bound)

    def subgradient(self, dual: Dual, scaling: float) -> tuple[Table, Arrays]:
        """The least multiplier t with ``t A >= scaling S - G``, raised by the slack."""
        A, left = self.A, dual.at(scaling)
        t = self.multiplier(left) * (1.0 + self.backoff)
        t += self.slack(np.append(spectrum(left), t * spectrum(A)), dual.error) / float(spectrum(A).min())
        return {"multiplier": str(Fraction(min(t, self.price)))}, {}

    def most(self, dual: Dual) -> float:
        """The largest scaling whose multiplier is not above the price."""

        def holds(scaling: float) -> bool:
            return self.multiplier(dual.at(scaling)) <= self.price

        return 1.0 if holds(1.0) else (1.0 - 1e-12) * last(holds, 0.0, 1.0)
