"""Solvers of listed comparisons."""

from convexmetric.solvers.listed.column_generation import ColumnGeneration
from convexmetric.solvers.listed.dual_ascent import DualAscent
from convexmetric.solvers.listed.interior_point import InteriorPoint

__all__ = [
    "ColumnGeneration",
    "DualAscent",
    "InteriorPoint",
]
