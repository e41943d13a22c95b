"""Solvers of listed comparisons."""

from convexmetric.solvers.listed.augmented_lagrangian import AugmentedLagrangian
from convexmetric.solvers.listed.column_generation import ColumnGeneration
from convexmetric.solvers.listed.dual_ascent import DualAscent
from convexmetric.solvers.listed.interior_point import InteriorPoint

__all__ = [
    "AugmentedLagrangian",
    "ColumnGeneration",
    "DualAscent",
    "InteriorPoint",
]
