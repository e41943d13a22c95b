"""Solvers, one algorithm a file; each takes any problem with the structure it needs and knows no paper."""

from convexmetric.solvers.approximate import (
    ApproximateSolver,
    FactoredDescent,
    LowRankDescent,
    ProjectedSubgradient,
    RandomisedSolver,
    StochasticBatch,
    StochasticFactors,
    StochasticTriplets,
)
from convexmetric.solvers.base import Monitor, Solver
from convexmetric.solvers.column_generation import ColumnGeneration
from convexmetric.solvers.conic import CONIC_SOLVERS, Conic
from convexmetric.solvers.conic_cutting_planes import ConicCuttingPlanes
from convexmetric.solvers.cutting_planes import CuttingPlanes
from convexmetric.solvers.dual_ascent import DualAscent
from convexmetric.solvers.dual_newton import DualNewton
from convexmetric.solvers.exact import Exact
from convexmetric.solvers.factored_lagrangian import FactoredLagrangian
from convexmetric.solvers.interior_point import InteriorPoint
from convexmetric.solvers.low_rank_newton import LowRankNewton
from convexmetric.solvers.path import solve_path
from convexmetric.solvers.proximal_gradient import ProximalGradient
from convexmetric.solvers.screening import Screened, screen
from convexmetric.solvers.semismooth_newton import SemismoothNewton
from convexmetric.solvers.smoothed_newton import SmoothedNewton
from convexmetric.solvers.solve import SOLVERS, solve

__all__ = [
    "CONIC_SOLVERS",
    "SOLVERS",
    "ApproximateSolver",
    "ColumnGeneration",
    "Conic",
    "ConicCuttingPlanes",
    "CuttingPlanes",
    "DualAscent",
    "DualNewton",
    "Exact",
    "FactoredDescent",
    "FactoredLagrangian",
    "InteriorPoint",
    "LowRankDescent",
    "LowRankNewton",
    "Monitor",
    "ProjectedSubgradient",
    "ProximalGradient",
    "RandomisedSolver",
    "Screened",
    "SemismoothNewton",
    "SmoothedNewton",
    "Solver",
    "StochasticBatch",
    "StochasticFactors",
    "StochasticTriplets",
    "screen",
    "solve",
    "solve_path",
]
