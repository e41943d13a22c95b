"""Exact metric learning: convex statements, certified optima.

>>> import convexmetric as cm
>>> data = cm.datasets.load("wine")
>>> X = cm.datasets.preprocess(data.X, ["zscore"])
>>> solution = cm.solve(cm.RankingProblem.from_labels(X, data.y, measure="auc", C=1.0))
>>> bool(solution.gap <= 1e-6)
True
"""

from convexmetric import datasets, errors
from convexmetric.audit import Audit, Reference, audit
from convexmetric.benchmarking import benchmark
from convexmetric.certificate import Certificate, certify
from convexmetric.checker import CertificateError, Verdict, verify
from convexmetric.contracts import check_problem
from convexmetric.estimators import (
    MLR,
    CrossModalMetric,
    LearnedDistance,
    OperatorMarginMetric,
    RandomProjectionMetric,
    RelativeComparisonMetric,
)
from convexmetric.evaluation import RetrievalScores, knn_error, retrieval_scores
from convexmetric.hyperbolic_pca import HyperbolicPCA, hyperbolic_pca, hyperbolic_pca_from_labels
from convexmetric.instances import Instance, list_problems, load_instance, load_problem
from convexmetric.kernels import KernelSpan
from convexmetric.methods import (
    VARIANTS,
    CrossModalProblem,
    Factors,
    LargeMarginProblem,
    PairMarginProblem,
    RankingProblem,
    RelativeComparisonProblem,
    SimilarityRegressionProblem,
    TripletProblem,
    Variant,
    balanced_pairs,
    factor_analysis,
)
from convexmetric.operators import SimilarityOperator
from convexmetric.problem import MetricProblem
from convexmetric.projections import Projection, make_projection
from convexmetric.proofs import write_certificate
from convexmetric.retrieval import RetrievalCurve, retrieval_curve
from convexmetric.risk_bounds import RiskBound, affine_risk_bound, independent_pairs, risk_bound, transfer_bound
from convexmetric.risks import CutDual, SmoothedPairs
from convexmetric.runs import Run, read_runs
from convexmetric.solution import Progress, Solution
from convexmetric.solvers import (
    ColumnGeneration,
    Conic,
    ConicCuttingPlanes,
    CuttingPlanes,
    DualAscent,
    DualNewton,
    Exact,
    FactoredDescent,
    FactoredLagrangian,
    InteriorPoint,
    LowRankDescent,
    LowRankNewton,
    ProjectedSubgradient,
    ProximalGradient,
    Screened,
    SemismoothNewton,
    SmoothedNewton,
    StochasticBatch,
    StochasticFactors,
    StochasticTriplets,
    screen,
    solve,
    solve_path,
)
from convexmetric.trails import AuditTrail, audit_iterates, trace
from convexmetric.transfer import OperatorChoice, PairSample, choose_operator, concatenate_tasks
from convexmetric.validation import Validation, cross_validate, cross_validate_queries
from convexmetric.verification import (
    RocCurve,
    balanced_error,
    empirical_risk,
    empirical_risk_from_labels,
    roc_area,
    roc_curve,
    single_prototype_error,
    verifier_errors,
)
from convexmetric.version import __version__ as __version__

__all__ = [
    "MLR",
    "VARIANTS",
    "Audit",
    "AuditTrail",
    "Certificate",
    "CertificateError",
    "ColumnGeneration",
    "Conic",
    "ConicCuttingPlanes",
    "CrossModalMetric",
    "CrossModalProblem",
    "CutDual",
    "CuttingPlanes",
    "DualAscent",
    "DualNewton",
    "Exact",
    "FactoredDescent",
    "FactoredLagrangian",
    "Factors",
    "HyperbolicPCA",
    "Instance",
    "InteriorPoint",
    "KernelSpan",
    "LargeMarginProblem",
    "LearnedDistance",
    "LowRankDescent",
    "LowRankNewton",
    "MetricProblem",
    "OperatorChoice",
    "OperatorMarginMetric",
    "PairMarginProblem",
    "PairSample",
    "Progress",
    "ProjectedSubgradient",
    "Projection",
    "ProximalGradient",
    "RandomProjectionMetric",
    "RankingProblem",
    "Reference",
    "RelativeComparisonMetric",
    "RelativeComparisonProblem",
    "RetrievalCurve",
    "RetrievalScores",
    "RiskBound",
    "RocCurve",
    "Run",
    "Screened",
    "SemismoothNewton",
    "SimilarityOperator",
    "SimilarityRegressionProblem",
    "SmoothedNewton",
    "SmoothedPairs",
    "Solution",
    "StochasticBatch",
    "StochasticFactors",
    "StochasticTriplets",
    "TripletProblem",
    "Validation",
    "Variant",
    "Verdict",
    "affine_risk_bound",
    "audit",
    "audit_iterates",
    "balanced_error",
    "balanced_pairs",
    "benchmark",
    "certify",
    "check_problem",
    "choose_operator",
    "concatenate_tasks",
    "cross_validate",
    "cross_validate_queries",
    "datasets",
    "empirical_risk",
    "empirical_risk_from_labels",
    "errors",
    "factor_analysis",
    "hyperbolic_pca",
    "hyperbolic_pca_from_labels",
    "independent_pairs",
    "knn_error",
    "list_problems",
    "load_instance",
    "load_problem",
    "make_projection",
    "read_runs",
    "retrieval_curve",
    "retrieval_scores",
    "risk_bound",
    "roc_area",
    "roc_curve",
    "screen",
    "single_prototype_error",
    "solve",
    "solve_path",
    "trace",
    "transfer_bound",
    "verifier_errors",
    "verify",
    "write_certificate",
]
