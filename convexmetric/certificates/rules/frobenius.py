"""The rules of a Frobenius norm and of half its square, perhaps of the difference to a prior."""

from __future__ import annotations

from typing import Any

import numpy as np

from convexmetric.arrays import Array
from convexmetric.certificates import kernel
from convexmetric.certificates.rules.base import Bounded, Dual, Rule, best, in_blocks, positive_part, spectrum
from convexmetric.certificates.statement import Arrays, Table


class Euclidean(Rule):
    """Base of the rules of a Frobenius norm and its square: the smallest subgradient above ``scaling S - G``."""

    @property
    def prior(self) -> Any:
        """The prior, or zero if there is none."""
        return 0.0 if self.omega.prior is None else in_blocks(self.cone, self.omega.prior)

    def subgradient(self, dual: Dual, scaling: float) -> tuple[Table, Arrays]:
        """Smallest subgradient above ``scaling S - G``, raised by the slack: a positive part, less the prior."""
        A = dual.at(scaling)
        free = self.prior + A / self.weight
        slack = self.slack(spectrum(A), scaling * dual.error) / self.weight
        slack += 0.0 if self.omega.prior is None else self.slack(spectrum(free), 0.0)
        # The slack is added before the negative part is cut off, so that eigenvalues far below zero still become zero.
        raised = free + slack * (1.0 if self.cone.diagonal else np.eye(self.cone.d))
        return {}, {"slope": self.weight * (positive_part(raised) - self.prior)}


class Frobenius(Euclidean, Bounded):
    """Dual scaling and subgradient of a norm, backed off so that the checker's rounding accepts them."""

    def size(self, values: Array) -> float:
        """Frobenius norm of the positive part."""
        return float(np.linalg.norm(np.maximum(values, 0.0)))

    def fits(self, dual: Dual, scaling: float, values: Array, weight: float) -> bool:
        """Whether the norm of the subgradient is at most the weight."""
        size = np.linalg.norm(np.maximum(values + self.slack(values, scaling * dual.error), 0.0))
        return bool(size * (1.0 + 4.0 * kernel.U * (len(values) ** 2 + 16.0)) <= weight)

    def into_ball(self, Y: Array) -> Array:
        """Scale Y down if its norm is above the weight."""
        most, size = self.weight * (1.0 - 8.0 * kernel.U * (Y.size + 16.0)), float(np.linalg.norm(Y))
        return Y if size <= most else most / size * Y

    def radius(self) -> float:
        """Largest r, or nearly, such that ``r I`` is a subgradient: the weight over the root of d."""
        return super().radius() / np.sqrt(self.cone.d)


class SquaredFrobenius(Euclidean):
    """Dual scaling and subgradient of a squared norm, backed off so that the checker's rounding accepts them."""

    def scaling(self, dual: Dual) -> float:
        """Scaling that maximises the concave bound, approximately: ``v = <S, M>`` at the metric M of that scaling."""
        square = float(np.sum(np.square(positive_part(dual.S))))
        if square and not dual.G.any() and self.omega.prior is None:
            return min(1.0, max(0.0, dual.v) * self.weight / square)

        def rising(scaling: float) -> bool:
            M = positive_part(self.prior + dual.at(scaling) / self.weight)
            return bool(dual.v >= float((dual.S * M).sum()))

        return best(rising)
