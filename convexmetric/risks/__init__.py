"""Risks: the convex function of the metric that the data define, with cuts from below and dual points."""

from convexmetric.risks.base import CutDual, Cuts, Minorant, Risk, RiskStatement, Violation, tangent_dual
from convexmetric.risks.blocks import Blocks
from convexmetric.risks.forms import Form, ListedHinges, ListedPairs
from convexmetric.risks.images import ImagePass, ImageRisk, ListedImages
from convexmetric.risks.labelled_pairs import LabelledPairRisk, PairHinge
from convexmetric.risks.logistic_ranking import LogisticRankingRisk
from convexmetric.risks.pairwise import PairwiseRisk, Smoothed, SmoothedPairs
from convexmetric.risks.ranking import RankingRisk
from convexmetric.risks.ranking_record import Ranking
from convexmetric.risks.separable import SeparableRisk
from convexmetric.risks.smooth import SmoothRisk, SmoothSeparableRisk
from convexmetric.risks.softmax import SoftmaxRisk
from convexmetric.risks.sum import JoinedDual, SumRisk
from convexmetric.risks.worst import Worst

__all__ = [
    "Blocks",
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
