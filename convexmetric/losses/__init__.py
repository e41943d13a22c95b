"""Losses of a comparison's margin, one object a file."""

from convexmetric.losses.base import Loss, SmoothLoss
from convexmetric.losses.box import BoxLoss
from convexmetric.losses.hinge import Hinge
from convexmetric.losses.logistic import Logistic

__all__ = ["BoxLoss", "Hinge", "Logistic", "Loss", "SmoothLoss"]
