"""Cutting planes, for any risk that can be supported from below, and their masters."""

from convexmetric.solvers.cuts.cutting_planes import CuttingPlanes
from convexmetric.solvers.cuts.sampled import SampledCuttingPlanes

__all__ = ["CuttingPlanes", "SampledCuttingPlanes"]
