"""Solvers for losses of pairs with a Frobenius norm or a trace."""

from convexmetric.solvers.pair_losses.dual_newton import DualNewton
from convexmetric.solvers.pair_losses.factored_lagrangian import FactoredLagrangian

__all__ = ["DualNewton", "FactoredLagrangian"]
