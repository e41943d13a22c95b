"""Table 4 in its sizes, on synthetic matchings: the paper's data are private.

SVM-MAP (Yue et al. 2007) ranks by ``<w, q - x>``, which is a linear score of x, and minimises ``1/2 ||w||^2`` plus the
same slacks. With w = u - v and u, v >= 0 it is metric learning to rank with weights of features and a squared norm:

    ||u||^2 + ||v||^2 = ||w||^2 at the optimum,   sum_k u_k (x_k - low_k) + v_k (high_k - x_k) = <w, x> + constant,

squared distances from the query zero to a point with the coordinates sqrt(x_k - low_k) and sqrt(high_k - x_k). So the
same solver solves it, with the same certificate.
"""

from __future__ import annotations

import time
from functools import lru_cache
from typing import Any

import numpy as np

import convexmetric as cm

from .synthetic import TEST, TRAINING, Matchings, synthetic_matchings

VARIANTS = {"MLR-AUC": "auc", "MLR-MAP": "map", "MLR-MRR": "mrr", "SVM-MAP": "map"}
#: Accuracy threshold of Algorithm 1 in the paper's experiments.
EPSILON = 0.01


@lru_cache(maxsize=1)
def intervals(share: float = 1.0, sample: int = 0) -> tuple[Matchings, Matchings]:
    """Training and test interval, with a share of the users, matchings and queries; ``sample`` is another service."""

    def sized(sizes: dict[str, Any]) -> dict[str, Any]:
        return {name: round(share * size) if name.startswith("n_") else size for name, size in sizes.items()}

    return (
        synthetic_matchings(**sized(TRAINING), random_state=2 * sample, planted_state=sample),
        synthetic_matchings(**sized(TEST), random_state=2 * sample + 1, planted_state=sample),
    )


def linear_problem(data: Matchings, C: float) -> cm.RankingProblem:
    """SVM-MAP of the matchings; its weights are u, then v."""
    low, high = data.X.min(axis=0), data.X.max(axis=0)
    points = np.sqrt(np.hstack([data.X - low, high - data.X]))
    origin = np.zeros((len(data.queries), points.shape[1]))
    relevant, irrelevant = data.lists()
    settings = {"measure": "map", "C": C, "penalty": "squared-frobenius", "diagonal": True}
    return cm.RankingProblem(points, relevant, irrelevant=irrelevant, queries=origin, **settings)


def problem_of(method: str, data: Matchings, C: float) -> cm.RankingProblem:
    """What a method solves."""
    if method == "SVM-MAP":
        return linear_problem(data, C)
    relevant, irrelevant = data.lists()
    settings = {"queries": data.X[data.queries], "measure": VARIANTS[method], "C": C}
    return cm.RankingProblem(data.X, relevant, irrelevant=irrelevant, **settings)


def scores(method: str, metric: np.ndarray, test: Matchings) -> list[float]:
    """AUC, MAP and MRR on the test interval."""
    X, queries = test.X, test.X[test.queries]
    if method == "SVM-MAP":
        # One coordinate whose square is the score, less its least value.
        score = X @ (metric[: X.shape[1]] - metric[X.shape[1] :])
        X, queries, metric = np.sqrt(score - score.min())[:, None], np.zeros((len(queries), 1)), np.ones(1)
    found = cm.evaluation.retrieval_scores(metric, X, *test.lists(), queries=queries)
    return [float(found[name]) for name in ("auc", "map", "mrr")]


def run(
    method: str,
    solver: str,
    C: float,
    tol: float,
    max_seconds: float,
    share: float = 1.0,
    sample: int = 0,
) -> dict[str, Any]:
    """Learn with one measure and score on the test interval.

    The paper stops once the mean violation exceeds the master's slack by at most epsilon. Its master bounds the optimum
    from below, so this is an objective within ``C epsilon`` of a lower bound: ``solver`` is ``"printed"``, Algorithm 1
    up to there; or ``"ours"``, which continues to the gap ``tol``.
    """
    train, test = intervals(share, sample)
    if method not in VARIANTS:
        return {"scores": scores(method, np.eye(train.X.shape[1]) if method == "Euclidean" else test.planted, test)}
    problem = problem_of(method, train, C)
    # Compiling is not part of the method.
    cm.solve(problem.with_queries(np.arange(50)), tol=0.5)
    start, at_stop = time.process_time(), {}

    def watch(progress: cm.solution.Progress) -> None:
        if not at_stop and progress.upper_bound - progress.lower_bound <= C * EPSILON:
            cpu = time.process_time() - start
            at_stop.update(passes=progress.iteration, seconds=progress.seconds, cpu=cpu, cuts=progress.details["cuts"])

    chosen = cm.solvers.CuttingPlanes.plain(EPSILON) if solver == "printed" else cm.solvers.CuttingPlanes()
    solution = cm.solve(problem, tol=tol, solver=chosen, max_seconds=max_seconds, callback=watch)
    return {
        "scores": scores(method, solution.certificate.M, test),
        "stop": at_stop,
        "gap": solution.gap,
        "passes": solution.iterations,
        "seconds": solution.seconds,
        "cpu": time.process_time() - start,
        "cuts": solution.history[-1].details["cuts"],
    }
