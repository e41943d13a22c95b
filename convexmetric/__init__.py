"""Exact metric learning: convex statements, certified optima.

Begin here, with rows and their labels: a distance between rows, kept only where held-out rows favour it over the
Euclidean one.

>>> import convexmetric as cm
>>> wine = cm.datasets.load("wine")  # or cm.datasets.read_csv("table.csv", label="species")
>>> X = cm.datasets.preprocess(wine.X, ["zscore"])
>>> metric = cm.NeighborMetric().fit(X, wine.y)
>>> metric.transform(X).shape, metric.predict(X[:2]).tolist()  # metric.plot(X, wine.y) draws rows before and after
((178, 13), [0, 0])

For other aims: ``MLR`` to rank or to cluster, ``OperatorMarginMetric`` for a threshold between same and different,
``ChoiceMetric`` for judgements of people, ``RetrievalAdapter`` for queries with judged documents; all follow
scikit-learn. To state a problem, solve it and prove its optimum:

>>> solution = cm.solve(cm.RankingProblem.from_labels(X, wine.y, measure="auc", C=1.0))
>>> bool(solution.gap <= 1e-6)
True

``held_out`` judges a metric on unseen rows, ``audit`` one from anywhere against the optimum, ``write_certificate`` and
``verify`` prove bounds in exact arithmetic.
"""

import typing as _typing
from importlib import import_module as _import_module

# Imported first: it records when the import began.
import convexmetric.deadline as _deadline  # noqa: F401
from convexmetric import datasets, errors, evaluation, solvers
from convexmetric.audits import audit
from convexmetric.certificates import Certificate, certify, certify_program, verify, write_certificate
from convexmetric.checks import check_problem
from convexmetric.papers import (
    ChoiceProblem,
    CrossModalProblem,
    InformationTheoreticProblem,
    LargeMarginProblem,
    PairMarginProblem,
    RankingProblem,
    RelativeComparisonProblem,
    SimilarityRegressionProblem,
    TripletProblem,
)
from convexmetric.problem import MetricProblem
from convexmetric.selection import cross_validate, held_out, solve_path
from convexmetric.solution import Solution
from convexmetric.solvers import explain, solve

__version__ = "0.3.0"

if _typing.TYPE_CHECKING:
    from convexmetric import estimators
    from convexmetric import plotting as plotting
    from convexmetric.bench import load_problem
    from convexmetric.estimators import (
        LMNN,
        MLR,
        ChoiceMetric,
        CrossModalMetric,
        LargeMargin,
        NeighborMetric,
        OperatorMarginMetric,
        RandomProjectionMetric,
        RelativeComparisonMetric,
        WeightSearch,
    )
    from convexmetric.retrieval import RetrievalAdapter

__all__ = [
    "LMNN",
    "MLR",
    "Certificate",
    "ChoiceMetric",
    "ChoiceProblem",
    "CrossModalMetric",
    "CrossModalProblem",
    "InformationTheoreticProblem",
    "LargeMargin",
    "LargeMarginProblem",
    "MetricProblem",
    "NeighborMetric",
    "OperatorMarginMetric",
    "PairMarginProblem",
    "RandomProjectionMetric",
    "RankingProblem",
    "RelativeComparisonMetric",
    "RelativeComparisonProblem",
    "RetrievalAdapter",
    "SimilarityRegressionProblem",
    "Solution",
    "TripletProblem",
    "WeightSearch",
    "audit",
    "certify",
    "certify_program",
    "check_problem",
    "cross_validate",
    "datasets",
    "errors",
    "estimators",
    "evaluation",
    "explain",
    "held_out",
    "load_problem",
    "solve",
    "solve_path",
    "solvers",
    "verify",
    "write_certificate",
]

if not _typing.TYPE_CHECKING:
    from convexmetric.arguments import OTHER_METHODS as _OTHER_METHODS
    from convexmetric.doors import ROOMS as _ROOMS
    from convexmetric.doors import Door as _Door

    # Estimators are loaded on first use: scikit-learn takes longer to import than all else. So are pictures, for
    # Matplotlib, and the optional subpackages, which a copy of the package may lack.
    _BESIDE = {"RetrievalAdapter": "retrieval", "load_problem": "bench"}

    def __getattr__(name: str) -> _typing.Any:
        if name in _ROOMS:
            return _Door(name).open()
        if name == "plotting":
            return _import_module("convexmetric.plotting")
        if name not in __all__:
            instead = _OTHER_METHODS.get(name.lower())
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}" + (f". {instead}" if instead else ""))
        if name in _BESIDE:
            return getattr(_Door(_BESIDE[name]).open(), name)
        module = _import_module("convexmetric.estimators")
        return module if name == "estimators" else getattr(module, name)

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__, *_ROOMS, "plotting"})
