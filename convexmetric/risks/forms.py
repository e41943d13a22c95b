r"""Forms in which a solver may ask a risk for its data, and the reason where there are none.

:meth:`Risk.form <convexmetric.risks.Risk.form>` gives one of these, or the risk as one of another class.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Protocol

import numpy as np

from convexmetric.comparisons import Comparisons, PairDistances
from convexmetric.cones.base import Array
from convexmetric.losses import BoxLoss

__all__ = ["Form", "ListedHinges", "ListedPairs", "Reason"]


class Reason(str):
    """Why something does not fit: a clause such as "its metrics are diagonal"."""

    __slots__ = ()


class Form(Protocol):
    """What a solver may ask a risk for."""

    #: What a risk is that can be written in this form.
    form_words: ClassVar[str]


@dataclass(frozen=True)
class ListedHinges:
    r""":math:`\sum_t C_t \max(0, \mu_t - s_t)` of listed comparisons, :math:`s = D(M)`.

    Attributes
    ----------
    comparisons : Comparisons
    weights : (T,) array
        C; all infinite where margins are hard constraints.
    margins : (T,) array
        mu.
    """

    form_words: ClassVar[str] = "a sum of hinges of listed comparisons"

    comparisons: Comparisons
    weights: Array
    margins: Array

    @cached_property
    def hard(self) -> bool:
        """Whether margins are constraints."""
        return bool(np.isinf(self.weights).any())

    @cached_property
    def size(self) -> float:
        """Of margins, the largest: what widths of smoothing are relative to."""
        return float(np.abs(self.margins).max())

    def values(self, s: Array) -> Array:
        """What every soft hinge costs."""
        return self.weights * np.maximum(0.0, self.margins - s)

    def value(self, s: Array) -> float:
        """What they cost together."""
        return float(self.values(s).sum())

    def multipliers(self, s: Array) -> Array:
        """Minus a subgradient of every soft hinge."""
        return np.where(s < self.margins, self.weights, 0.0)

    def smoothed_multipliers(self, s: Array, width: float) -> Array:
        """``C clip(1/2 + (mu - s) / width, 0, 1)``: minus the slopes of hinges smoothed over a width."""
        return self.weights * np.clip(0.5 + (self.margins - s) / width, 0.0, 1.0)

    def clip(self, u: Array) -> Array:
        """Nearest multipliers in ``[0, C]``."""
        return np.clip(u, 0.0, self.weights)

    def dual_value(self, u: Array) -> float:
        """``sum_t mu_t u_t``: what clipped multipliers are worth."""
        return float((self.margins * u).sum())


@dataclass(frozen=True)
class ListedPairs:
    """Losses of listed pairs whose conjugates are parabolas on boxes.

    Attributes
    ----------
    pairs : PairDistances
    loss : BoxLoss
    """

    form_words: ClassVar[str] = "a sum of hinges, absolute or squared errors of listed pairs"

    pairs: PairDistances
    loss: BoxLoss
