"""Risks: convex functions of the metric defined by the data, with cuts from below and dual points."""

from convexmetric.risks.base import (
    Blocks,
    Cuts,
    Form,
    Minorant,
    Risk,
    RiskStatement,
    SmoothRisk,
    Violation,
    tangent_dual,
)
from convexmetric.risks.choice import ChoiceRisk
from convexmetric.risks.dual_points import CutDual, JoinedDual, SmoothedPairs
from convexmetric.risks.images import ImagePass, ImageRisk, ListedImages
from convexmetric.risks.labelled_pairs import LabelledPairRisk, PairHinge
from convexmetric.risks.logistic_ranking import LogisticRankingRisk
from convexmetric.risks.pairwise import PairwiseRisk, Smoothed
from convexmetric.risks.ranking import RankingRisk
from convexmetric.risks.ranking_record import Ranking
from convexmetric.risks.separable import ListedHinges, ListedPairs, SeparableRisk, SmoothSeparableRisk
from convexmetric.risks.softmax import SoftmaxRisk
from convexmetric.risks.sum import SumRisk
from convexmetric.risks.worst import Worst

__all__ = [
    "Blocks",
    "ChoiceRisk",
    "CutDual",
    "Cuts",
    "Form",
    "ImagePass",
    "ImageRisk",
    "JoinedDual",
    "LabelledPairRisk",
    "ListedHinges",
    "ListedImages",
    "ListedPairs",
    "LogisticRankingRisk",
    "Minorant",
    "PairHinge",
    "PairwiseRisk",
    "Ranking",
    "RankingRisk",
    "Risk",
    "RiskStatement",
    "SeparableRisk",
    "SmoothRisk",
    "SmoothSeparableRisk",
    "Smoothed",
    "SmoothedPairs",
    "SoftmaxRisk",
    "SumRisk",
    "Violation",
    "Worst",
    "tangent_dual",
]
