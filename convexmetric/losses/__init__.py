"""Losses of a comparison's margin, one object a file."""

from convexmetric.losses.base import Loss
from convexmetric.losses.box import BoxLoss
from convexmetric.losses.hinge import Hinge

__all__ = ["BoxLoss", "Hinge", "Loss"]
