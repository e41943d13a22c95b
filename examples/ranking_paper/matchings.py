"""Table 4 in its sizes, on synthetic matchings: the paper's data are private."""

from __future__ import annotations

import time
from functools import lru_cache
from typing import Any

import numpy as np

import convexmetric as cm
from convexmetric.datasets.matchings import TEST, TRAINING, Matchings, synthetic_matchings

VARIANTS = {"MLR-AUC": "auc", "MLR-MAP": "map", "MLR-MRR": "mrr"}
#: Accuracy threshold of Algorithm 1 in the paper's experiments.
EPSILON = 0.01


@lru_cache
def intervals() -> tuple[Matchings, Matchings]:
    """Training and test interval."""
    return synthetic_matchings(**TRAINING), synthetic_matchings(**TEST, random_state=1)


def run(method: str, solver: str, C: float, tol: float, max_seconds: float) -> dict[str, Any]:
    """Learn with one measure and score on the test interval.

    The paper stops once the mean violation exceeds the master's slack by at most epsilon. Its master bounds the optimum
    from below, so this is an objective within ``C epsilon`` of a lower bound.
    """
    train, test = intervals()
    if method in VARIANTS:
        problem = cm.RankingProblem(
            train.X, *train.lists(), queries=train.X[train.queries], measure=VARIANTS[method], C=C
        )
        # Compiling is not part of the method.
        cm.solve(problem.with_queries(np.arange(50)), tol=0.5)
        start, at_stop = time.process_time(), {}

        def watch(progress: cm.Progress) -> bool:
            if not at_stop and progress.upper_bound - progress.lower_bound <= C * EPSILON:
                cpu = time.process_time() - start
                at_stop.update(
                    passes=progress.iteration, seconds=progress.seconds, cpu=cpu, cuts=progress.details["cuts"]
                )
            return bool(at_stop) and solver == "printed"

        chosen = cm.CuttingPlanes.plain() if solver == "printed" else cm.CuttingPlanes()
        solution = cm.solve(problem, tol=tol, solver=chosen, max_seconds=max_seconds, callback=watch)
        M, learned = (
            solution.M,
            {
                "stop": at_stop,
                "gap": solution.gap,
                "passes": solution.iterations,
                "seconds": solution.seconds,
                "cpu": time.process_time() - start,
                "cuts": solution.history[-1].details["cuts"],
            },
        )
    else:
        M, learned = np.eye(train.X.shape[1]) if method == "Euclidean" else test.planted, {}
    scores = cm.retrieval_scores(M, test.X, *test.lists(), queries=test.X[test.queries])
    return {"scores": [scores["auc"], scores["map"], scores["mrr"]], **learned}
