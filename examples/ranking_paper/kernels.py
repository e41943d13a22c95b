"""Metric learning to rank under a Gaussian kernel, beside the linear one: MLR-MAP on the small UCI sets.

The kernel is ``exp(-gamma / d ||x - x'||^2)``. A quarter of the training part chooses gamma and C by MAP, where the
rest is the corpus; then all of it is learned from.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import train_test_split

import convexmetric as cm
from convexmetric.comparisons import Relevance

from .classification import small_split

METHODS = ("linear", "gaussian")
#: Of the kernel, times the number of features.
WIDTHS = (0.3, 1.0, 3.0)
WEIGHTS = (10.0, 100.0, 1000.0)
NEIGHBOURS = 5
SECONDS = 60.0


def run(data: str, split: int, method: str, tol: float) -> dict[str, Any]:
    """Choose on held-out points, learn from all, and score on the test part."""
    X, y, T, t, *_ = small_split(data, split)
    kernels: dict[float, Any] = {0.0: None}
    if method == "gaussian":
        kernels = {gamma: partial(rbf_kernel, gamma=gamma / X.shape[1]) for gamma in WIDTHS}
    learn, choose = train_test_split(np.arange(len(y)), test_size=0.25, random_state=split, stratify=y)
    held_out = {}
    for gamma, kernel in kernels.items():
        problem = cm.RankingProblem.from_labels(X[learn], y[learn], measure="map", kernel=kernel)
        for C, solution in zip(WEIGHTS, cm.solve_path(problem, WEIGHTS, tol=tol, max_seconds=SECONDS), strict=True):
            held_out[gamma, C] = scores(solution, X[learn], y[learn], X[choose], y[choose])["map"]
    gamma, C = max(held_out, key=lambda key: held_out[key])
    problem = cm.RankingProblem.from_labels(X, y, measure="map", C=C, kernel=kernels[gamma])
    solution = cm.solve(problem, tol=tol, max_seconds=2.0 * SECONDS)
    found = scores(solution, X, y, T, t)
    return found | {"gamma": gamma, "C": C, "gap": solution.gap, "seconds": solution.seconds, "rank": solution.rank}


def scores(solution: cm.Solution, X: np.ndarray, y: np.ndarray, T: np.ndarray, t: np.ndarray) -> dict[str, float]:
    """MAP of new points that rank the known ones, and the error of their neighbours."""
    operator = cm.evaluation.SimilarityOperator.of(solution)
    # A metric of rank zero has no coordinates; one that is zero everywhere says the same.
    corpus, queries = (np.pad(operator.transform(points), ((0, 0), (0, 1))) for points in (X, T))
    weights = np.ones(corpus.shape[1])
    ranked = cm.evaluation.retrieval_scores(weights, corpus, Relevance.between(t, y), queries=queries)
    return {
        "map": float(ranked["map"]),
        "error": float(cm.evaluation.knn_error(weights, corpus, y, queries, t, k=NEIGHBOURS)),
    }
