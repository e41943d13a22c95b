r"""Canonical forms in which a solver may ask a risk for its data.

:meth:`Risk.form <convexmetric.risks.Risk.form>` gives one of these, or a risk of a class to which others convert.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Protocol

import numpy as np

from convexmetric.arrays import Array
from convexmetric.comparisons import Comparisons
from convexmetric.losses import BoxLoss


class Form(Protocol):
    """Base class of the forms in which a solver may ask a risk for its data."""

    #: Description, for messages, of risks that can be written in this form.
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
        """Whether margins are hard constraints."""
        return bool(np.isinf(self.weights).any())

    @cached_property
    def size(self) -> float:
        """Largest absolute margin; widths of smoothing are relative to it."""
        return float(np.abs(self.margins).max())

    @cached_property
    def loss(self) -> BoxLoss:
        """Soft hinges as a loss."""
        return BoxLoss.hinge(self.weights, self.margins)

    def smoothed_multipliers(self, s: Array, width: float) -> Array:
        """``C clip(1/2 + (mu - s) / width, 0, 1)``: minus the slopes of hinges smoothed over a width."""
        return self.weights * np.clip(0.5 + (self.margins - s) / width, 0.0, 1.0)
