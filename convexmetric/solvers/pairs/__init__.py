"""Solvers of pairs with a norm or a trace."""

from convexmetric.solvers.pairs.dual_newton import DualNewton
from convexmetric.solvers.pairs.factored_lagrangian import FactoredLagrangian

__all__ = [
    "DualNewton",
    "FactoredLagrangian",
]
