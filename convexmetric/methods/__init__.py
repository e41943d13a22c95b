"""The papers: one file each, with its problem, letters and statement, and nothing else."""

from convexmetric.methods.ranking import RankingProblem
from convexmetric.methods.relative_comparisons import RelativeComparisonProblem
from convexmetric.methods.triplets import VARIANTS, TripletProblem, Variant

__all__ = ["VARIANTS", "RankingProblem", "RelativeComparisonProblem", "TripletProblem", "Variant"]
