"""Descent on U and V from several starts with several c, compared with the certified optimum of the lifted problem."""

from __future__ import annotations

import warnings
from typing import Any

import convexmetric as cm

from . import printed
from .media import TASKS, load

__all__ = ["run_descent", "run_optimum"]

#: Steps between two points of a curve.
LOOK_EVERY = 10


def _problem(task: str) -> cm.CrossModalProblem:
    """The paper's weights on z-scored features."""
    name, first_queries = TASKS[task]
    media = load(name)
    part = media.split(media.train, media.test, "zscore")[0]
    part = part if first_queries else part.turned()
    alpha, beta = printed.WEIGHTS[task]
    return cm.CrossModalProblem(
        part.X, part.Y, part.labels_x, part.labels_y, alpha, beta, n_clusters=5, n_neighbors=50, random_state=0
    )


def run_optimum(task: str, tol: float) -> dict[str, Any]:
    """Certified bounds, for every c, and the objective at the best factors of W* with few columns."""
    problem = _problem(task)
    solution = cm.solve(problem, tol)
    return {
        "lower": solution.lower_bound,
        "upper": solution.upper_bound,
        "rank": solution.rank,
        "seconds": solution.seconds,
        "zero": problem.value(problem.cone.zeros()),
        "truncated": [problem.factors(solution, c).objective for c in range(1, 11)],
    }


def run_descent(task: str, c: int, start: int, max_steps: int) -> dict[str, Any]:
    """One descent with a line search; start 0 is the paper's, by cross-modal factor analysis, the others are random."""
    descent = cm.approximate.FactoredDescent(
        c,
        start="random" if start else "own",
        random_state=start,
        epochs=max_steps,
        look_every=LOOK_EVERY,
        accuracy=1e-11,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cm.errors.GapWarning)
        solution = cm.solve(_problem(task), 1e-9, solver=descent)
    return {
        "objective": solution.upper_bound,
        "steps": [int(p.details["steps"]) for p in solution.history],
        "objectives": [p.details["objective"] for p in solution.history],
        "seconds": solution.seconds,
    }
