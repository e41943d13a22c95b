"""Losses of a comparison's margin, one per file."""

from convexmetric.losses.base import Loss, SmoothLoss
from convexmetric.losses.box import BoxLoss
from convexmetric.losses.hinge import Hinge
from convexmetric.losses.itakura_saito import ItakuraSaito
from convexmetric.losses.logistic import Logistic
from convexmetric.losses.negative_log import NegativeLog, NegativeRoot

__all__ = ["BoxLoss", "Hinge", "ItakuraSaito", "Logistic", "Loss", "NegativeLog", "NegativeRoot", "SmoothLoss"]
