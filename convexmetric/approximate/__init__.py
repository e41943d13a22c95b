"""Approximate descents in the style of the papers, one a file: corrected by default, ``as_printed=True`` for history.

All of them speak one language: ``epochs`` are passes over the comparisons after which a run ends, ``max_iter`` counts
looks at the certified gap, every entry of the history says how many ``passes`` were made and what the ``objective`` of
the metric at that moment is, and a checkpoint goes on with the same steps.
"""

from convexmetric.approximate.base import ApproximateSolver, RandomisedSolver
from convexmetric.approximate.factored_descent import FactoredDescent
from convexmetric.approximate.low_rank_descent import LowRankDescent
from convexmetric.approximate.projected_subgradient import ProjectedSubgradient
from convexmetric.approximate.stochastic_batch import StochasticBatch
from convexmetric.approximate.stochastic_factors import StochasticFactors
from convexmetric.approximate.stochastic_low_rank import StochasticLowRank
from convexmetric.approximate.stochastic_triplets import StochasticTriplets

__all__ = [
    "ApproximateSolver",
    "FactoredDescent",
    "LowRankDescent",
    "ProjectedSubgradient",
    "RandomisedSolver",
    "StochasticBatch",
    "StochasticFactors",
    "StochasticLowRank",
    "StochasticTriplets",
]
