"""The rule of the sizes of entries, of all or of those off the diagonal."""

from __future__ import annotations

import numpy as np

from convexmetric.arrays import Array
from convexmetric.certificates.rules.base import Rule


class Entrywise(Rule):
    """Subgradient of sizes of entries, backed off so that the checker's rounding accepts it."""

    def into_ball(self, Y: Array) -> Array:
        """With entries cut off at the weight, and zero where they do not count."""
        return np.asarray(np.clip(Y, -self.weight, self.weight) * self.omega.counts)

    def radius(self) -> float:
        """None, where the diagonal does not count."""
        return super().radius() if self.omega.counts.diagonal().all() else 0.0
