"""The blocks of a risk that have contracts of their own."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from convexmetric.comparisons import Comparisons
from convexmetric.losses import Loss
from convexmetric.measures import Measure


@dataclass(frozen=True)
class Blocks:
    """The blocks of a risk, whose rules ``check_problem`` tries.

    Attributes
    ----------
    comparisons : Comparisons or None
        Listed comparisons, with one part and one multiplier each.
    loss : Loss or None
        Loss of every comparison.
    measure : Measure or None
        Measure of every ranking.
    lengths : (n, 2) array, optional
        Numbers of relevant and of irrelevant items in the rankings.
    """

    comparisons: Comparisons | None = None
    loss: Loss | None = None
    measure: Measure | None = None
    lengths: np.ndarray = field(default_factory=lambda: np.empty((0, 2), dtype=np.int64))
