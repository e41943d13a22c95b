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
from convexmetric.methods import (
    VARIANTS,
    CrossModalProblem,
    Factors,
    RankingProblem,
    RelativeComparisonProblem,
    TripletProblem,
    Variant,
    factor_analysis,
)
from convexmetric.problem import MetricProblem
from convexmetric.projections import Projection, make_projection
from convexmetric.retrieval import RetrievalCurve, retrieval_curve
from convexmetric.risks import CutDual, SmoothedPairs
from convexmetric.solution import Progress, Solution
from convexmetric.solvers import (
    ColumnGeneration,
    Conic,
    ConicCuttingPlanes,
    CuttingPlanes,
    DualAscent,
    Exact,
    FactoredDescent,
    InteriorPoint,
    LowRankDescent,
    LowRankNewton,
    ProjectedSubgradient,
    ProximalGradient,
    Screened,
    SemismoothNewton,
    SmoothedNewton,
    StochasticBatch,
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
    "CrossModalProblem",
    "CutDual",
    "CuttingPlanes",
    "DualAscent",
    "Exact",
    "FactoredDescent",
    "Factors",
    "Instance",
    "InteriorPoint",
    "LowRankDescent",
    "LowRankNewton",
    "MetricProblem",
    "Progress",
    "ProjectedSubgradient",
    "Projection",
    "ProximalGradient",
    "RankingProblem",
    "RelativeComparisonProblem",
    "RetrievalCurve",
    "RetrievalScores",
    "Screened",
    "SemismoothNewton",
    "SmoothedNewton",
    "SmoothedPairs",
    "Solution",
    "StochasticBatch",
    "TripletProblem",
    "Validation",
    "Variant",
    "audit",
    "certify",
    "cross_validate",
    "cross_validate_queries",
    "datasets",
    "errors",
    "factor_analysis",
    "knn_error",
    "list_problems",
    "load_instance",
    "load_problem",
    "make_projection",
    "retrieval_curve",
    "retrieval_scores",
    "screen",
    "solve",
    "solve_path",
]
