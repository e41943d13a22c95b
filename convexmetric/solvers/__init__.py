"""Solvers, one algorithm a file; each takes any problem with the structure it needs and knows no paper."""

from convexmetric.solvers.base import Monitor, Solver
from convexmetric.solvers.column_generation import ColumnGeneration
from convexmetric.solvers.conic import CONIC_SOLVERS, Conic
from convexmetric.solvers.conic_cutting_planes import ConicCuttingPlanes
from convexmetric.solvers.cutting_planes import CuttingPlanes
from convexmetric.solvers.dual_ascent import DualAscent
from convexmetric.solvers.dual_newton import DualNewton
from convexmetric.solvers.exact import Exact
from convexmetric.solvers.factored_descent import FactoredDescent
from convexmetric.solvers.factored_lagrangian import FactoredLagrangian
from convexmetric.solvers.interior_point import InteriorPoint
from convexmetric.solvers.low_rank_descent import LowRankDescent
from convexmetric.solvers.low_rank_newton import LowRankNewton
from convexmetric.solvers.path import solve_path
from convexmetric.solvers.projected_subgradient import ProjectedSubgradient
from convexmetric.solvers.proximal_gradient import ProximalGradient
from convexmetric.solvers.screening import Screened, screen
from convexmetric.solvers.semismooth_newton import SemismoothNewton
from convexmetric.solvers.smoothed_newton import SmoothedNewton
from convexmetric.solvers.solve import SOLVERS, solve
from convexmetric.solvers.stochastic_batch import StochasticBatch
from convexmetric.solvers.stochastic_factors import StochasticFactors

__all__ = [
    "CONIC_SOLVERS",
    "SOLVERS",
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
    "Screened",
    "SemismoothNewton",
    "SmoothedNewton",
    "Solver",
    "StochasticBatch",
    "StochasticFactors",
    "screen",
    "solve",
    "solve_path",
]
