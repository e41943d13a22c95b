"""The papers: one file each, with its problem, letters and statement, and nothing else."""

from convexmetric.papers.choices import ChoiceProblem
from convexmetric.papers.collapsing_classes import CollapsingClassesProblem
from convexmetric.papers.cross_modal import CrossModalProblem, Factors, factor_analysis
from convexmetric.papers.information_theoretic import InformationTheoreticProblem
from convexmetric.papers.large_margin import LargeMarginProblem
from convexmetric.papers.pair_margin import PairMarginProblem, SimilarityRegressionProblem, balanced_pairs
from convexmetric.papers.ranking import RankingProblem
from convexmetric.papers.relative_comparisons import RelativeComparisonProblem
from convexmetric.papers.triplets import VARIANTS, TripletProblem, Variant

__all__ = [
    "VARIANTS",
    "ChoiceProblem",
    "CollapsingClassesProblem",
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
