"""Exact metric learning: convex statements, certified optima.

>>> import convexmetric as cm
>>> data = cm.datasets.load("wine")
>>> X = cm.datasets.preprocess(data.X, ["zscore"])
>>> solution = cm.solve(cm.RankingProblem.from_labels(X, data.y, measure="auc", C=1.0))
>>> bool(solution.gap <= 1e-6)
True
"""

from convexmetric import datasets, errors
from convexmetric.audit import Audit, audit
from convexmetric.certificate import Certificate, certify
from convexmetric.evaluation import RetrievalScores, knn_error, retrieval_scores
from convexmetric.instances import Instance, list_problems, load_instance, load_problem
from convexmetric.kernels import KernelSpan
from convexmetric.methods import (
    VARIANTS,
    PairMarginProblem,
    RankingProblem,
    RelativeComparisonProblem,
    SimilarityRegressionProblem,
    TripletProblem,
    Variant,
    balanced_pairs,
)
from convexmetric.problem import MetricProblem
from convexmetric.projections import Projection, make_projection
from convexmetric.risks import CutDual, SmoothedPairs
from convexmetric.solution import Progress, Solution
from convexmetric.solvers import (
    ColumnGeneration,
    Conic,
    ConicCuttingPlanes,
    CuttingPlanes,
    DualAscent,
    DualNewton,
    Exact,
    InteriorPoint,
    LowRankDescent,
    ProjectedSubgradient,
    Screened,
    SemismoothNewton,
    SmoothedNewton,
    StochasticBatch,
    StochasticFactors,
    screen,
    solve,
    solve_path,
)
from convexmetric.validation import Validation, cross_validate, cross_validate_queries

__version__ = "0.1.0"

__all__ = [
    "VARIANTS",
    "Audit",
    "Certificate",
    "ColumnGeneration",
    "Conic",
    "ConicCuttingPlanes",
    "CutDual",
    "CuttingPlanes",
    "DualAscent",
    "DualNewton",
    "Exact",
    "Instance",
    "InteriorPoint",
    "KernelSpan",
    "LowRankDescent",
    "MetricProblem",
    "PairMarginProblem",
    "Progress",
    "ProjectedSubgradient",
    "Projection",
    "RankingProblem",
    "RelativeComparisonProblem",
    "RetrievalScores",
    "Screened",
    "SemismoothNewton",
    "SimilarityRegressionProblem",
    "SmoothedNewton",
    "SmoothedPairs",
    "Solution",
    "StochasticBatch",
    "StochasticFactors",
    "TripletProblem",
    "Validation",
    "Variant",
    "audit",
    "balanced_pairs",
    "certify",
    "cross_validate",
    "cross_validate_queries",
    "datasets",
    "errors",
    "knn_error",
    "list_problems",
    "load_instance",
    "load_problem",
    "make_projection",
    "retrieval_scores",
    "screen",
    "solve",
    "solve_path",
]
