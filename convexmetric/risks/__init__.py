"""Risks: the convex function of the metric that the data define, with cuts from below and dual points."""

from convexmetric.risks.base import CutDual, Cuts, DualPoint, Risk, RiskStatement, Violation, tangent_dual
from convexmetric.risks.blocks import Blocks
from convexmetric.risks.images import ImagePass, ImageRisk, ListedImages
from convexmetric.risks.labelled_pairs import LabelledPairRisk, PairHinge
from convexmetric.risks.logistic_ranking import LogisticRankingRisk
from convexmetric.risks.pairwise import PairwiseRisk, Smoothed, SmoothedPairs
from convexmetric.risks.ranking import RankingRisk
from convexmetric.risks.separable import SeparableRisk, boxed_pairs
from convexmetric.risks.smooth import SmoothRisk, SmoothSeparableRisk

__all__ = [
    "Blocks",
    "CutDual",
    "Cuts",
    "DualPoint",
    "ImagePass",
    "ImageRisk",
    "LabelledPairRisk",
    "ListedImages",
    "LogisticRankingRisk",
    "PairHinge",
    "PairwiseRisk",
    "RankingRisk",
    "Risk",
    "RiskStatement",
    "SeparableRisk",
    "SmoothRisk",
    "SmoothSeparableRisk",
    "Smoothed",
    "SmoothedPairs",
    "Violation",
    "boxed_pairs",
    "tangent_dual",
]
