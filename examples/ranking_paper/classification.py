"""Table 2 and Figure 2: errors of neighbours, and dimensions, on five UCI sets.

One task is one method on one split. For the four small sets: 80% of the points train, features are z-scored by them; C,
k and the number of neighbours are chosen on three folds of them, which is a task of its own (``validate``). For IsoLet:
principal components of parts 1 to 4; 80% of these train, 20% choose, part 5 tests.

A method is a list of *settings*, and a function from points and labels to a metric for each. LMNN is solved exactly
(``LargeMarginProblem``); its settings are the numbers of target neighbours. So is MLCC, metric learning by collapsing
classes (``CollapsingClassesProblem``); its settings are the weights of a squared norm for each training point, the
smallest of which stands for none, as in its paper. "Logistic" is multi-class logistic regression: its coefficients B, a
row a class, make the metric B^T B, in which points are compared by their logits.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
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
METHODS = (*VARIANTS, "LMNN", "Logistic", "NCA", "MLCC", "Euclidean")
#: Methods that are solved to a certified gap.
CERTIFIED = (*VARIANTS, "LMNN", "MLCC")
NEIGHBOURS = [1, 3, 5, 7, 9, 15, 21, 31]
FOLDS = 3
COMPONENTS = 170


@dataclass
class Learned:
    """A metric for each setting, with the certified gaps and the seconds of the solves where there were any."""

    metrics: list[np.ndarray]
    gaps: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)


def run(
    data: str,
    split: int,
    method: str,
    C: list[float],
    k: list[int],
    tol: float | None,
    seconds: float | None = None,
) -> dict[str, Any]:
    """One method on one split.

    A solve ends at the gap ``tol``, or after so many ``seconds``. ``rows`` are the settings that were tried: pairs of C
    (of LMNN: target neighbours; of MLCC: weights) and k, for measures of the first k places. Each has its test
    ``errors`` by number of neighbours, ``dimensions``, certified ``gaps`` and the ``seconds`` it took; on IsoLet also
    its ``held_out`` errors, on the points for validation.
    """
    X, y, T, t, V, v = isolet_split(split) if data == "isolet" else small_split(data, split)
    rows = [(value, places) for places in k or [None] for value in C or [None]]
    learned = learn(method, X, y, C, k, tol, seconds)
    result = {
        "rows": rows,
        "errors": [errors(M, X, y, T, t) for M in learned.metrics],
        "dimensions": [dimensions(M) for M in learned.metrics],
        "gaps": learned.gaps,
        "seconds": learned.seconds,
    }
    if V is not None:
        result["held_out"] = [errors(M, X, y, V, v) for M in learned.metrics]
    return result


def together(results: list[dict[str, Any]]) -> dict[str, Any]:
    """One result of the rows of several on the same split; ``chosen`` is what errors held out prefer, if there are any.

    It holds the row, and the place of the number of neighbours.
    """
    every = {key: [row for result in results for row in result[key]] for key in results[0]}
    return every | {"chosen": best(every["held_out"])} if "held_out" in every else every


def validate(data: str, split: int, method: str, C: list[float], k: list[int], tol: float | None) -> dict[str, Any]:
    """The row, and the place of the number of neighbours, with the least mean error on three folds."""
    X, y, *_ = small_split(data, split)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=split).split(X, y)
    held_out = [
        [errors(M, X[a], y[a], X[b], y[b]) for M in learn(method, X[a], y[a], C, k, tol, None).metrics]
        for a, b in folds
    ]
    return {"chosen": best(np.mean(held_out, axis=0))}


def best(held_out: Any) -> list[int]:
    """Where the least error is; of equally good ones the first: the smallest k and C, then the fewest neighbours."""
    return [int(at) for at in np.unravel_index(np.argmin(held_out), np.shape(held_out))]


def learn(
    method: str,
    X: np.ndarray,
    y: np.ndarray,
    C: list[float],
    k: list[int],
    tol: float | None,
    seconds: float | None,
) -> Learned:
    """The metrics of a method, one a setting."""
    if method == "Euclidean":
        return Learned([np.eye(X.shape[1])])
    if method == "NCA":
        L = NeighborhoodComponentsAnalysis(random_state=0).fit(X, y).components_
        return Learned([L.T @ L])
    if method == "Logistic":
        return Learned([logistic_metric(X, y, value) for value in C])
    assert tol is not None
    if method == "LMNN":
        solutions = [
            cm.solve(cm.LargeMarginProblem(X, y, n_neighbors=int(targets)), tol=tol, max_seconds=seconds)
            for targets in C
        ]
    elif method == "MLCC":
        solutions = [
            cm.solve(cm.papers.CollapsingClassesProblem(X, y, reg=reg * len(y)), tol=tol, max_seconds=seconds)
            for reg in C
        ]
    else:
        measure, _ = VARIANTS[method]
        solutions = []
        for places in k or [None]:
            problem = cm.RankingProblem.from_labels(X, y, measure=measure, k=places)
            solutions += cm.solve_path(problem, C, tol=tol, max_seconds=seconds)
    return Learned([s.M for s in solutions], [s.gap for s in solutions], [s.seconds for s in solutions])


def logistic_metric(X: np.ndarray, y: np.ndarray, C: float) -> np.ndarray:
    """``B^T B`` of the coefficients of multi-class logistic regression: squared distances of logits."""
    B = LogisticRegression(C=C, max_iter=1000).fit(X, y).coef_
    return np.asarray(B.T @ B)


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


def errors(M: np.ndarray, X: np.ndarray, y: np.ndarray, T: np.ndarray, t: np.ndarray) -> list[float]:
    """Error of neighbours on points ``T``, by their number."""
    by_k = cm.evaluation.knn_error(M, X, y, T, t, k=NEIGHBOURS)
    return [by_k[neighbours] for neighbours in NEIGHBOURS]


def dimensions(M: np.ndarray, share: float = 0.95) -> int:
    """Eigenvalues that hold 95% of the spectral mass; none of the zero metric."""
    values = np.maximum(np.linalg.eigvalsh(M)[::-1], 0.0)
    if values[0] <= 0.0:
        return 0
    return int(np.searchsorted(np.cumsum(values), share * values.sum()) + 1)
