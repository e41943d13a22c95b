"""Solvers, one algorithm per file; each takes any problem with the structure it needs, from whatever paper."""

from convexmetric.solvers.conic import CONIC_SOLVERS, Conic
from convexmetric.solvers.cuts import CuttingPlanes, SampledCuttingPlanes
from convexmetric.solvers.exact import Exact, Explanation, Step, explain
from convexmetric.solvers.explicit import ADMM, AugmentedLagrangian, DualAscent, InteriorPoint
from convexmetric.solvers.pair_losses import DualNewton, FactoredLagrangian
from convexmetric.solvers.pairwise import SemismoothNewton, SmoothedLowRank, SmoothedNewton
from convexmetric.solvers.runtime import Monitor, Solver
from convexmetric.solvers.smooth import LowRankNewton, ProximalGradient
from convexmetric.solvers.solving import SOLVERS, solve

__all__ = [
    "ADMM",
    "CONIC_SOLVERS",
    "SOLVERS",
    "AugmentedLagrangian",
    "Conic",
    "CuttingPlanes",
    "DualAscent",
    "DualNewton",
    "Exact",
    "Explanation",
    "FactoredLagrangian",
    "InteriorPoint",
    "LowRankNewton",
    "Monitor",
    "ProximalGradient",
    "SampledCuttingPlanes",
    "SemismoothNewton",
    "SmoothedLowRank",
    "SmoothedNewton",
    "Solver",
    "Step",
    "explain",
    "solve",
]
