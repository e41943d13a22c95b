"""Comparisons of distances as linear operators on the metric: ``s = D(M)`` and its adjoint."""

from convexmetric.comparisons.base import Comparisons, StackedComparisons
from convexmetric.comparisons.linear import Linear, Quadruplets
from convexmetric.comparisons.pair_distances import PairDistances
from convexmetric.comparisons.rankings import Block, Rankings
from convexmetric.comparisons.relevance import Relevance
from convexmetric.comparisons.sampling import triplets_from_labels
from convexmetric.comparisons.similarity_triplets import SimilarityTriplets
from convexmetric.comparisons.triplets import Triplets

__all__ = [
    "Block",
    "Comparisons",
    "Linear",
    "PairDistances",
    "Quadruplets",
    "Rankings",
    "Relevance",
    "SimilarityTriplets",
    "StackedComparisons",
    "Triplets",
    "triplets_from_labels",
]
