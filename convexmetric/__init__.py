"""Exact metric learning: convex statements, certified optima.

>>> import convexmetric as cm
>>> data = cm.datasets.load("wine")
>>> X = cm.datasets.preprocess(data.X, ["zscore"])
>>> solution = cm.solve(cm.RankingProblem.from_labels(X, data.y, measure="auc", C=1.0))
>>> bool(solution.gap <= 1e-6)
True
"""

import typing as _typing
from importlib import import_module as _import_module

# First: it notes when the process began.
import convexmetric.deadline as _deadline  # noqa: F401
from convexmetric import datasets, errors, export, shards
from convexmetric.audit import Audit, AuditTrail, Reference, audit, audit_iterates, trace
from convexmetric.benchmark import Instance, Run, benchmark, list_problems, load_instance, load_problem, read_runs
from convexmetric.certificates import (
    Certificate,
    CertificateError,
    Verdict,
    certify,
    check_problem,
    verify,
    write_certificate,
)
from convexmetric.evaluation import (
    RetrievalCurve,
    RetrievalScores,
    RocCurve,
    RunScores,
    balanced_error,
    empirical_risk,
    empirical_risk_from_labels,
    knn_error,
    rank_corpus,
    retrieval_curve,
    retrieval_scores,
    roc_area,
    roc_curve,
    score_run,
    single_prototype_error,
    verifier_errors,
)
from convexmetric.features import KernelSpan, Projection, make_projection
from convexmetric.methods import (
    VARIANTS,
    CrossModalProblem,
    Factors,
    InformationTheoreticProblem,
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
from convexmetric.model_selection import Validation, cross_validate, cross_validate_queries
from convexmetric.problem import MetricProblem
from convexmetric.risks import CutDual, SmoothedPairs
from convexmetric.similarity import (
    HyperbolicPCA,
    OperatorChoice,
    PairSample,
    RiskBound,
    SimilarityOperator,
    affine_risk_bound,
    affine_risk_bound_from_labels,
    choose_operator,
    concatenate_tasks,
    hyperbolic_pca,
    hyperbolic_pca_from_labels,
    independent_pairs,
    risk_bound,
    transfer_bound,
)
from convexmetric.solution import Progress, Solution
from convexmetric.solvers import (
    AugmentedLagrangian,
    ColumnGeneration,
    Conic,
    CuttingPlanes,
    DualAscent,
    DualNewton,
    Exact,
    Explanation,
    FactoredDescent,
    FactoredLagrangian,
    InteriorPoint,
    LowRankDescent,
    LowRankNewton,
    ProjectedSubgradient,
    ProximalGradient,
    SampledCuttingPlanes,
    SemismoothNewton,
    SmoothedLowRank,
    SmoothedNewton,
    StochasticBatch,
    StochasticFactors,
    StochasticLowRank,
    StochasticTriplets,
    explain,
    solve,
    solve_path,
)
from convexmetric.version import __version__ as __version__

if _typing.TYPE_CHECKING:
    from convexmetric import estimators as estimators
    from convexmetric.estimators import (
        LMNN,
        MLR,
        AdapterPath,
        CrossModalMetric,
        HeldOut,
        HeldOutQueries,
        LargeMargin,
        LearnedDistance,
        NeighborMetric,
        OperatorMarginMetric,
        PairedScores,
        RandomProjectionMetric,
        RelativeComparisonMetric,
        RetrievalAdapter,
        WeightPath,
        WeightSearch,
        held_out,
    )

__all__ = [
    "LMNN",
    "MLR",
    "VARIANTS",
    "AdapterPath",
    "Audit",
    "AuditTrail",
    "AugmentedLagrangian",
    "Certificate",
    "CertificateError",
    "ColumnGeneration",
    "Conic",
    "CrossModalMetric",
    "CrossModalProblem",
    "CutDual",
    "CuttingPlanes",
    "DualAscent",
    "DualNewton",
    "Exact",
    "Explanation",
    "FactoredDescent",
    "FactoredLagrangian",
    "Factors",
    "HeldOut",
    "HeldOutQueries",
    "HyperbolicPCA",
    "InformationTheoreticProblem",
    "Instance",
    "InteriorPoint",
    "KernelSpan",
    "LargeMargin",
    "LargeMarginProblem",
    "LearnedDistance",
    "LowRankDescent",
    "LowRankNewton",
    "MetricProblem",
    "NeighborMetric",
    "OperatorChoice",
    "OperatorMarginMetric",
    "PairMarginProblem",
    "PairSample",
    "PairedScores",
    "Progress",
    "ProjectedSubgradient",
    "Projection",
    "ProximalGradient",
    "RandomProjectionMetric",
    "RankingProblem",
    "Reference",
    "RelativeComparisonMetric",
    "RelativeComparisonProblem",
    "RetrievalAdapter",
    "RetrievalCurve",
    "RetrievalScores",
    "RiskBound",
    "RocCurve",
    "Run",
    "RunScores",
    "SampledCuttingPlanes",
    "SemismoothNewton",
    "SimilarityOperator",
    "SimilarityRegressionProblem",
    "SmoothedLowRank",
    "SmoothedNewton",
    "SmoothedPairs",
    "Solution",
    "StochasticBatch",
    "StochasticFactors",
    "StochasticLowRank",
    "StochasticTriplets",
    "TripletProblem",
    "Validation",
    "Variant",
    "Verdict",
    "WeightPath",
    "WeightSearch",
    "affine_risk_bound",
    "affine_risk_bound_from_labels",
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
    "explain",
    "export",
    "factor_analysis",
    "held_out",
    "hyperbolic_pca",
    "hyperbolic_pca_from_labels",
    "independent_pairs",
    "knn_error",
    "list_problems",
    "load_instance",
    "load_problem",
    "make_projection",
    "rank_corpus",
    "read_runs",
    "retrieval_curve",
    "retrieval_scores",
    "risk_bound",
    "roc_area",
    "roc_curve",
    "score_run",
    "shards",
    "single_prototype_error",
    "solve",
    "solve_path",
    "trace",
    "transfer_bound",
    "verifier_errors",
    "verify",
    "write_certificate",
]

if not _typing.TYPE_CHECKING:
    from convexmetric.arguments import OTHER_METHODS as _OTHER_METHODS

    # Estimators are loaded when they are first asked for: scikit-learn takes longer to import than all else.
    def __getattr__(name: str) -> _typing.Any:
        if name != "estimators" and name not in __all__:
            instead = _OTHER_METHODS.get(name.lower())
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}" + (f". {instead}" if instead else ""))
        module = _import_module("convexmetric.estimators")
        return module if name == "estimators" else getattr(module, name)

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__, "estimators"})
