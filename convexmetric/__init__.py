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

# Imported first: it records when the import began.
import convexmetric.deadline as _deadline  # noqa: F401
from convexmetric.imports import uncollected as _uncollected
from convexmetric.imports import without as _without

# SciPy copies all names of NumPy, and would load what takes a seventh of the time of this import.
with _uncollected(), _without("numpy", "f2py", "testing"):
    from convexmetric import errors, solvers
    from convexmetric.certificates import Certificate, certify
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
    from convexmetric.solution import Solution
    from convexmetric.solvers import explain, solve

__version__ = "0.3.0"

if _typing.TYPE_CHECKING:
    from convexmetric import datasets, estimators, evaluation
    from convexmetric import plotting as plotting
    from convexmetric.audits import audit
    from convexmetric.bench import load_problem
    from convexmetric.certificates import certify_program, verify, write_certificate
    from convexmetric.checks import check_problem
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
    from convexmetric.selection import cross_validate, held_out, solve_path

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

    # Loaded on first use is what a solve does not need: scikit-learn and Matplotlib take longer to import than all
    # else, and a copy of the package may lack the optional subpackages.
    _PARTS = (*_ROOMS, "audits", "checks", "datasets", "estimators", "evaluation", "plotting", "selection")
    _WHERE = {
        "RetrievalAdapter": "retrieval",
        "audit": "audits",
        "certify_program": "certificates",
        "check_problem": "checks",
        "cross_validate": "selection",
        "held_out": "selection",
        "load_problem": "bench",
        "solve_path": "selection",
        "verify": "certificates",
        "write_certificate": "certificates",
    }

    def __getattr__(name: str) -> _typing.Any:
        if name in _PARTS:
            return _Door(name).open()
        if name not in __all__:
            instead = _OTHER_METHODS.get(name.lower())
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}" + (f". {instead}" if instead else ""))
        return getattr(_Door(_WHERE.get(name, "estimators")).open(), name)

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__, *_PARTS})
