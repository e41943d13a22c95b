"""Ranking measures: the score of a ranking and the most violated ranking, one measure a file."""

from convexmetric.measures.auc import AUC
from convexmetric.measures.base import Measure, MeasureAtK, rankings_of
from convexmetric.measures.err import ExpectedReciprocalRank
from convexmetric.measures.knn import NearestNeighbours
from convexmetric.measures.map import AveragePrecision
from convexmetric.measures.mrr import ReciprocalRank
from convexmetric.measures.ndcg import NDCG, NDCGLog2
from convexmetric.measures.oracle import most_violated_rankings
from convexmetric.measures.precision import PrecisionAtK
from convexmetric.measures.ranks import irrelevant_above
from convexmetric.measures.registry import MEASURES, measure_named, register

__all__ = [
    "AUC",
    "MEASURES",
    "NDCG",
    "AveragePrecision",
    "ExpectedReciprocalRank",
    "Measure",
    "MeasureAtK",
    "NDCGLog2",
    "NearestNeighbours",
    "PrecisionAtK",
    "ReciprocalRank",
    "irrelevant_above",
    "measure_named",
    "most_violated_rankings",
    "rankings_of",
    "register",
]
