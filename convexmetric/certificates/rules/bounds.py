"""Searches of traces, budgets and spectral bounds, which keep a metric small."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import scipy.linalg as la

from convexmetric.arrays import Array
from convexmetric.certificates import kernel
from convexmetric.certificates.rules import base
from convexmetric.certificates.statement import Arrays, Table
from convexmetric.described import symmetric


class Trace(base.Bounded):
    """Dual scaling of a trace, backed off so that the checker's rounding accepts it: ``scaling S - G <= weight I``."""

    def size(self, values: Array) -> float:
        """The largest eigenvalue."""
        return float(values.max())

    def fits(self, dual: base.Dual, scaling: float, values: Array, weight: float) -> bool:
        """Whether the largest eigenvalue is below the weight with slack, or the kernel accepts the matrix."""
        if values.max() + self.slack(weight - values, scaling * dual.error) <= weight:
            return True
        if self.cone.diagonal:
            return False
        # The kernel may accept more than norms of errors suggest: a small block of the matrix may be known well.
        least = weight * np.eye(self.cone.d)
        sizes = least + np.abs(scaling * dual.S) + np.abs(dual.G)
        try:
            kernel.semidefinite(kernel.Ball(least - dual.at(scaling), scaling * dual.rad + 4.0 * kernel.U * sizes), "")
        except kernel.NotProven:
            return False
        return True


class Budget(base.Rule):
    """Dual scaling and multiplier of a budget, backed off so that the checker's rounding accepts them.

    With ``A`` the matrix of the budget, multiples t A are subgradients, of t from zero to the price.
    """

    @property
    def A(self) -> Array:
        """Matrix of the budget, with its entries between blocks set to zero."""
        return base.in_blocks(self.cone, self.omega.A)

    @property
    def price(self) -> float:
        """Upper bound on the multiplier."""
        return np.inf if self.omega.most is None else base.below(self.omega.most)

    def multiplier(self, left: Array) -> float:
        """The least t with ``t A >= left``."""
        A = self.A
        if not base.spectrum(A).min() > 0.0:
            raise kernel.NotProven("the matrix of the budget is not positive definite")
        return max(0.0, float((left / A if left.ndim == 1 else la.eigh(left, A, eigvals_only=True)).max()))

    def scaling(self, dual: base.Dual) -> float:
        """Scaling that maximises ``scaling v - t limit``, approximately, t being the least multiplier."""

        def bound(scaling: float) -> float:
            t = self.multiplier(dual.at(scaling))
            return scaling * dual.v - t * float(self.omega.limit) if t <= self.price else -np.inf

        return base.largest(bound)

    def subgradient(self, dual: base.Dual, scaling: float) -> tuple[Table, Arrays]:
        """The least multiplier t with ``t A >= scaling S - G``, raised by the slack."""
        A, left = self.A, dual.at(scaling)
        t = self.multiplier(left) * (1.0 + self.backoff)
        own = base.spectrum(A)
        t += self.slack(np.append(base.spectrum(left), t * own), dual.error) / float(own.min())
        return {"multiplier": str(Fraction(min(t, self.price)))}, {}

    def most(self, dual: base.Dual) -> float:
        """The largest scaling whose multiplier is not above the price."""

        def holds(scaling: float) -> bool:
            return self.multiplier(dual.at(scaling)) <= self.price

        return 1.0 if holds(1.0) else (1.0 - 1e-12) * base.last(holds, 0.0, 1.0)


class SpectralBound(base.Rule):
    """Scaling and subgradient of a bound ``M <= U``, backed off so that the checker's rounding accepts them."""

    def smallest(self, A: Array) -> Array:
        """The matrix N of least ``<N, U>`` that is positive semidefinite and above A."""
        values, vectors = np.linalg.eigh(self.omega.upper)
        if not values[0] > 0.0:
            raise kernel.NotProven("the bound on the metric is not positive definite")
        root, inverse = ((vectors * values**power) @ vectors.T for power in (0.5, -0.5))
        return symmetric(inverse @ base.positive_part(root @ A @ root) @ inverse)

    def scaling(self, dual: base.Dual) -> float:
        """Scaling that maximises ``scaling v - <N, U>``."""

        def bound(scaling: float) -> float:
            return scaling * dual.v - float((self.smallest(dual.at(scaling)) * self.omega.upper).sum())

        return base.largest(bound)

    def subgradient(self, dual: base.Dual, scaling: float) -> tuple[Table, Arrays]:
        """A root of the N of ``scaling S - G``, which is raised by the slack."""
        A = dual.at(scaling)
        slack = self.slack(base.spectrum(A), scaling * dual.error) + base.of_matrix(base.spectrum(self.smallest(A)))
        return {}, self.stored(self.smallest(A + slack * np.eye(len(A))))

    def into_ball(self, Y: Array) -> Array:
        """Cut off negative eigenvalues."""
        return base.positive_part(Y)

    def radius(self) -> float:
        """Zero: no subgradient is free, as ``<P, U>`` is paid for it."""
        return 0.0

    def stored(self, Y: Array) -> Arrays:
        """A root of the subgradient."""
        values, vectors = np.linalg.eigh(Y)
        kept = values > 0.0
        return {"root_of_slope": np.ascontiguousarray((vectors[:, kept] * np.sqrt(values[kept])).T)}
