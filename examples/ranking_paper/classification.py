"""Table 2 and Figure 2: errors of neighbours, and dimensions, on five UCI sets.

One task is one method on one split. For the four small sets: 80% of the points train, features are z-scored by them, C
and the number of neighbours are chosen by three-fold cross-validation among them. For IsoLet: principal components of
parts 1 to 4; 80% of these train, 20% choose C and k, part 5 tests.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.neighbors import NeighborhoodComponentsAnalysis

import convexmetric as cm

SMALL = ("balance-scale", "ionosphere", "wdbc", "wine")
#: Measure of each variant, and whether it looks at the first k places only.
VARIANTS = {
    "MLR-AUC": ("auc", False),
    "MLR-P@k": ("precision", True),
    "MLR-MAP": ("map", False),
    "MLR-MRR": ("mrr", False),
    "MLR-NDCG": ("ndcg", True),
}
METHODS = (*VARIANTS, "NCA", "Euclidean")
NEIGHBOURS = [1, 3, 5, 7, 9, 15, 21, 31]
SCORES = [f"accuracy@{neighbours}" for neighbours in NEIGHBOURS]
FOLDS = 3
COMPONENTS = 170


def run(
    data: str, split: int, method: str, C: list[float], k: list[int], tol: float, seconds: float | None = None
) -> dict[str, Any]:
    """One method on one split.

    A solve ends at the gap ``tol``, or after so many ``seconds``. ``rows`` are the pairs of C and k that were tried
    (k for measures of the first k places). Each has its test ``errors`` by number of neighbours, ``dimensions``,
    certified ``gaps`` and the ``seconds`` it took; ``chosen`` is the row, and the place of the number of neighbours,
    that validation prefers.
    """
    X, y, T, t, V, v = isolet_split(split) if data == "isolet" else small_split(data, split)
    rows: list[tuple[float | None, int | None]] = [(None, None)]
    gaps: list[float] = []
    taken: list[float] = []
    if method in VARIANTS:
        measure, at_k = VARIANTS[method]
        rows, metrics, held_out = [], [], []
        for places in k if at_k else [None]:
            problem = cm.RankingProblem.from_labels(X, y, measure=measure, k=places)
            solutions = [cm.solve(problem.with_C(value), tol=tol, max_seconds=seconds) for value in C]
            rows += [(value, places) for value in C]
            metrics += [solution.M for solution in solutions]
            gaps += [solution.gap for solution in solutions]
            taken += [solution.seconds for solution in solutions]
            if V is None:
                validation = cm.cross_validate(
                    X, y, C, measure, places, FOLDS, SCORES, random_state=split, tol=tol, share_cuts=False
                )
                held_out += [[1.0 - validation.mean(name)[c] for name in SCORES] for c in range(len(C))]
        if V is not None:
            held_out = [errors(M, X, y, V, v) for M in metrics]
    else:
        metrics = [static_metric(method, X, y)]
        held_out = [cross_validated(method, X, y, split) if V is None else errors(metrics[0], X, y, V, v)]
    # Of equally good ones the first: the smallest k and C, then the fewest neighbours.
    chosen = np.unravel_index(np.argmin(held_out), np.shape(held_out))
    return {
        "rows": rows,
        "errors": [errors(M, X, y, T, t) for M in metrics],
        "dimensions": [dimensions(M) for M in metrics],
        "gaps": gaps,
        "seconds": taken,
        "chosen": [int(at) for at in chosen],
    }


def small_split(data: str, split: int) -> tuple[Any, ...]:
    """Training and test points and labels of one random split, z-scored by the former."""
    known = cm.datasets.load(data)
    train, test = train_test_split(np.arange(len(known.y)), train_size=0.8, random_state=split, stratify=known.y)
    mean, deviation = known.X[train].mean(axis=0), known.X[train].std(axis=0)
    Z = (known.X - mean) / np.where(deviation > 0.0, deviation, 1.0)
    return Z[train], known.y[train], Z[test], known.y[test], None, None


def isolet_split(split: int) -> tuple[Any, ...]:
    """Training, test and validation points and labels, on the principal components of parts 1 to 4."""
    known = cm.datasets.load("isolet")
    first = known.extras["part"] < 5
    mean = known.X[first].mean(axis=0)
    axes = np.linalg.svd(known.X[first] - mean, full_matrices=False)[2][:COMPONENTS]
    Z, y = (known.X - mean) @ axes.T, known.y
    learn, choose = train_test_split(np.flatnonzero(first), train_size=4991, random_state=split, stratify=y[first])
    return Z[learn], y[learn], Z[~first], y[~first], Z[choose], y[choose]


def static_metric(method: str, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Metric of a method without C."""
    if method == "Euclidean":
        return np.eye(X.shape[1])
    L = NeighborhoodComponentsAnalysis(random_state=0).fit(X, y).components_
    return np.asarray(L.T @ L)


def cross_validated(method: str, X: np.ndarray, y: np.ndarray, split: int) -> list[float]:
    """Mean held-out error by number of neighbours."""
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=split).split(X, y)
    held_out = [errors(static_metric(method, X[a], y[a]), X[a], y[a], X[b], y[b]) for a, b in folds]
    return [float(mean) for mean in np.mean(held_out, axis=0)]


def errors(M: np.ndarray, X: np.ndarray, y: np.ndarray, T: np.ndarray, t: np.ndarray) -> list[float]:
    """Error of neighbours on points ``T``, by their number."""
    by_k = cm.knn_error(M, X, y, T, t, k=NEIGHBOURS)
    return [by_k[neighbours] for neighbours in NEIGHBOURS]


def dimensions(M: np.ndarray, share: float = 0.95) -> int:
    """Eigenvalues that hold 95% of the spectral mass; none of the zero metric."""
    values = np.maximum(np.linalg.eigvalsh(M)[::-1], 0.0)
    if values[0] <= 0.0:
        return 0
    return int(np.searchsorted(np.cumsum(values), share * values.sum()) + 1)
