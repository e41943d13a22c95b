"""Approximate descents of the papers, one per file: misprints corrected, or kept with ``as_printed=True``.

All have the same settings and history: ``epochs`` are passes over the comparisons after which a run ends, ``max_iter``
counts evaluations of the certified gap, every entry of the history has the number of ``passes`` made and the
``objective`` of the current metric, and a run resumed from a checkpoint takes the same steps.
"""

from convexmetric.approximate.base import ApproximateSolver, RandomisedSolver
from convexmetric.approximate.factored_descent import FactoredDescent
from convexmetric.approximate.low_rank_descent import LowRankDescent
from convexmetric.approximate.projected_subgradient import ProjectedSubgradient
from convexmetric.approximate.stochastic_batch import StochasticBatch
from convexmetric.approximate.stochastic_factors import StochasticFactors
from convexmetric.approximate.stochastic_low_rank import StochasticLowRank

#: Solvers by their names.
DESCENTS = {
    kind.name: kind
    for kind in (
        LowRankDescent, FactoredDescent, ProjectedSubgradient, StochasticBatch, StochasticFactors, StochasticLowRank,
    )
}  # fmt: skip

__all__ = [
    "DESCENTS",
    "ApproximateSolver",
    "FactoredDescent",
    "LowRankDescent",
    "ProjectedSubgradient",
    "RandomisedSolver",
    "StochasticBatch",
    "StochasticFactors",
    "StochasticLowRank",
]
