"""Risks: the convex function of the metric that the data define, with cuts from below and dual points."""

from convexmetric.risks.base import CutDual, Cuts, DualPoint, Risk, RiskStatement
from convexmetric.risks.images import ImagePass, ImageRisk, ListedImages
from convexmetric.risks.labelled_pairs import LabelledPairRisk, PairHinge
from convexmetric.risks.pairwise import PairwiseRisk, Smoothed, SmoothedPairs
from convexmetric.risks.ranking import RankingRisk
from convexmetric.risks.separable import SeparableRisk

__all__ = [
    "CutDual",
    "Cuts",
    "DualPoint",
    "ImagePass",
    "ImageRisk",
    "LabelledPairRisk",
    "ListedImages",
    "PairHinge",
    "PairwiseRisk",
    "RankingRisk",
    "Risk",
    "RiskStatement",
    "SeparableRisk",
    "Smoothed",
    "SmoothedPairs",
]
