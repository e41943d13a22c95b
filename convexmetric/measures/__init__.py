"""Ranking measures: the score of a ranking and the most violated ranking; one file per oracle."""

from convexmetric.measures.auc import AUC
from convexmetric.measures.base import MEASURES, Measure, MeasureAtK, measure_named, rankings_of, register
from convexmetric.measures.map import AveragePrecision, ExpectedReciprocalRank
from convexmetric.measures.mrr import ReciprocalRank
from convexmetric.measures.ndcg import NDCG, NDCGLog2
from convexmetric.measures.oracle import most_violated_rankings
from convexmetric.measures.precision import NearestNeighbours, PrecisionAtK
from convexmetric.measures.ranks import irrelevant_above

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
