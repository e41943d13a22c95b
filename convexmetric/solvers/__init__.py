"""Solvers, one algorithm a file; each takes any problem with the structure it needs and knows no paper."""

from convexmetric.approximate import (
    ApproximateSolver,
    FactoredDescent,
    LowRankDescent,
    ProjectedSubgradient,
    RandomisedSolver,
    StochasticBatch,
    StochasticFactors,
    StochasticLowRank,
    StochasticTriplets,
)
from convexmetric.solvers.conic import CONIC_SOLVERS, Conic
from convexmetric.solvers.cuts import CuttingPlanes, SampledCuttingPlanes
from convexmetric.solvers.exact import Exact
from convexmetric.solvers.explaining import Explanation, Step, explain
from convexmetric.solvers.explicit import AugmentedLagrangian, DualAscent, InteriorPoint
from convexmetric.solvers.pair_losses import DualNewton, FactoredLagrangian
from convexmetric.solvers.pairwise import SemismoothNewton, SmoothedLowRank, SmoothedNewton
from convexmetric.solvers.path import solve_path
from convexmetric.solvers.runtime import Monitor, Solver
from convexmetric.solvers.smooth import LowRankNewton, ProximalGradient
from convexmetric.solvers.solving import SOLVERS, solve

__all__ = [
    "CONIC_SOLVERS",
    "SOLVERS",
    "ApproximateSolver",
    "AugmentedLagrangian",
    "Conic",
    "CuttingPlanes",
    "DualAscent",
    "DualNewton",
    "Exact",
    "Explanation",
    "FactoredDescent",
    "FactoredLagrangian",
    "InteriorPoint",
    "LowRankDescent",
    "LowRankNewton",
    "Monitor",
    "ProjectedSubgradient",
    "ProximalGradient",
    "RandomisedSolver",
    "SampledCuttingPlanes",
    "SemismoothNewton",
    "SmoothedLowRank",
    "SmoothedNewton",
    "Solver",
    "Step",
    "StochasticBatch",
    "StochasticFactors",
    "StochasticLowRank",
    "StochasticTriplets",
    "explain",
    "solve",
    "solve_path",
]
