"""Cutting planes, for any risk that can be supported from below, and their masters."""

from convexmetric.solvers.cuts.conic_cutting_planes import ConicCuttingPlanes
from convexmetric.solvers.cuts.cutting_planes import CuttingPlanes

__all__ = [
    "ConicCuttingPlanes",
    "CuttingPlanes",
]
