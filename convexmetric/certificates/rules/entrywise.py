"""The rule of an entrywise 1-norm, over all entries or over those off the diagonal."""

from __future__ import annotations

import numpy as np

from convexmetric.arrays import Array
from convexmetric.certificates.rules.base import Rule


class Entrywise(Rule):
    """Subgradient of an entrywise 1-norm, backed off so that the checker's rounding accepts it."""

    def into_ball(self, Y: Array) -> Array:
        """Clip entries at the weight, and set those that do not count to zero."""
        return np.asarray(np.clip(Y, -self.weight, self.weight) * self.omega.counts)

    def radius(self) -> float:
        """Largest r such that ``r I`` is a subgradient; zero where the diagonal does not count."""
        return super().radius() if self.omega.counts.diagonal().all() else 0.0
