"""Scores on held-out points: rankings, curves of retrieval, pairs that are similar or not."""

from convexmetric.evaluation.distances import listed_squared_distances, squared_distances, verdicts
from convexmetric.evaluation.operators import SimilarityOperator
from convexmetric.evaluation.pairs import (
    RocCurve,
    empirical_risk,
    empirical_risk_from_labels,
    roc_area,
    roc_curve,
    single_prototype_error,
    verifier_errors,
)
from convexmetric.evaluation.rankings import (
    RetrievalCurve,
    RetrievalScores,
    knn_error,
    knn_right,
    mean_scores,
    query_scores,
    retrieval_curve,
    retrieval_scores,
)

__all__ = [
    "RetrievalCurve",
    "RetrievalScores",
    "RocCurve",
    "SimilarityOperator",
    "empirical_risk",
    "empirical_risk_from_labels",
    "knn_error",
    "knn_right",
    "listed_squared_distances",
    "mean_scores",
    "query_scores",
    "retrieval_curve",
    "retrieval_scores",
    "roc_area",
    "roc_curve",
    "single_prototype_error",
    "squared_distances",
    "verdicts",
    "verifier_errors",
]
