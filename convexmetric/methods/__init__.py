"""The papers: one file each, with its problem, letters and statement, and nothing else."""

from convexmetric.methods.ranking import RankingProblem
from convexmetric.methods.relative_comparisons import RelativeComparisonProblem

__all__ = ["RankingProblem", "RelativeComparisonProblem"]
