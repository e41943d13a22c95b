"""Solvers of listed comparisons."""

from convexmetric.solvers.explicit.admm import ADMM
from convexmetric.solvers.explicit.augmented_lagrangian import AugmentedLagrangian
from convexmetric.solvers.explicit.dual_ascent import DualAscent
from convexmetric.solvers.explicit.interior_point import InteriorPoint

__all__ = ["ADMM", "AugmentedLagrangian", "DualAscent", "InteriorPoint"]
