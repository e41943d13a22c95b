"""The papers: one file each, with its problem, letters and statement, and nothing else."""

from convexmetric.methods.cross_modal import CrossModalProblem, Factors, factor_analysis
from convexmetric.methods.information_theoretic import InformationTheoreticProblem
from convexmetric.methods.large_margin import LargeMarginProblem
from convexmetric.methods.pair_margin import PairMarginProblem, SimilarityRegressionProblem, balanced_pairs
from convexmetric.methods.ranking import RankingProblem
from convexmetric.methods.relative_comparisons import RelativeComparisonProblem
from convexmetric.methods.triplets import VARIANTS, TripletProblem, Variant

__all__ = [
    "VARIANTS",
    "CrossModalProblem",
    "Factors",
    "InformationTheoreticProblem",
    "LargeMarginProblem",
    "PairMarginProblem",
    "RankingProblem",
    "RelativeComparisonProblem",
    "SimilarityRegressionProblem",
    "TripletProblem",
    "Variant",
    "balanced_pairs",
    "factor_analysis",
]
