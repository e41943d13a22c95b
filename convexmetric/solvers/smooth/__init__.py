"""Solvers of smooth risks."""

from convexmetric.solvers.smooth.low_rank_newton import LowRankNewton
from convexmetric.solvers.smooth.proximal_gradient import ProximalGradient

__all__ = ["LowRankNewton", "ProximalGradient"]
