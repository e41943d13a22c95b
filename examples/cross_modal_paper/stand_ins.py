"""What stands for the training items in BPRHML: centroids of k-means, or all of them."""

from __future__ import annotations

from typing import Any

import numpy as np

import convexmetric as cm

from .learners import distances_of
from .media import TASKS, load

__all__ = ["STAND_INS", "run"]

#: Clusters of relevant items, by the names in tables.
STAND_INS: dict[str, int | None] = {
    "k-means, 1": 1,
    "k-means, 5": 5,
    "k-means, 20": 20,
    "all": None,
}


def run(
    task: str,
    stand_in: str,
    objects: int | None,
    draw: int,
    preprocessing: str,
    setting: dict[str, Any],
    tol: float,
    limit: float,
) -> dict[str, Any]:
    """MAP on test queries, learned from so many training pairs (None: all of them) drawn at random.

    The chosen weights are for five clusters and all training pairs. With more triples both grow in proportion; alpha
    shrinks with the number of pairs, as the sums of the risk and of the graphs do.
    """
    name, first_queries = TASKS[task]
    media = load(name)
    rows = media.train
    if objects is not None:
        rows = np.sort(np.random.default_rng(draw).choice(rows, objects, replace=False))
    train, test = media.split(rows, media.test, preprocessing)
    if not first_queries:
        train, test = train.turned(), test.turned()
    alpha, beta = setting["alpha"], setting["beta"]

    def stated(clusters: int | None) -> cm.CrossModalProblem:
        return cm.CrossModalProblem(
            train.X,
            train.Y,
            train.labels_x,
            train.labels_y,
            alpha,
            beta,
            n_clusters=clusters,
            n_neighbors=50,
            random_state=draw,
        )

    five, problem = stated(5), stated(STAND_INS[stand_in])
    share = problem.count / five.count
    weighted = problem.with_weights(alpha * share * len(rows) / len(media.train), beta * share)
    solution = cm.solve(weighted, tol, max_seconds=limit)
    found = problem.factors(solution, setting["c"] or None)
    curve = cm.evaluation.retrieval_curve(distances_of(found, setting["distance"])(test), test.relevant())
    return {
        "map": curve.mean_average_precision,
        "size": float(problem.representatives.relevance.n_relevant.mean()),
        "gap": solution.gap,
        "seconds": solution.seconds,
    }
