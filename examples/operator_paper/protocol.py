"""Sections 6.1, 6.3 and 6.5: learn an operator from one task, judge it on others."""

from __future__ import annotations

from typing import Any

import numpy as np

import convexmetric as cm

from .experiments import CHOICE, EXPERIMENTS, load
from .learners import INPUT, LEARNERS

__all__ = ["SPECTRUM", "run"]

#: Eigenvalues of figure 3, and points of a curve of figure 5.
SPECTRUM, POINTS = 15, 200


def run(
    experiment: str,
    learner: str,
    pairs: int | None,
    seed: int,
    digits: list[str],
    images: int | None,
    draws: int,
    tol: float,
    seconds: float,
    steps: int,
    sample: int = 0,
) -> dict[str, Any]:
    """One learner on one experiment.

    Parameters
    ----------
    experiment, learner : str
        Of EXPERIMENTS and LEARNERS, or INPUT.
    pairs : int or None
        How many balanced pairs are drawn to learn from; None for all.
    seed : int
        Of these draws, and of the descent.
    digits : list of str
        Experiments of table 4 whose digits an operator of one of them is judged on.
    images : int or None
        Of each category at most.
    draws : int
        Choices of one example a category.
    tol, seconds, steps
        See :meth:`Learner.solve`.
    sample : int
        Of printed characters, see :func:`load`.

    Returns
    -------
    dict
        ``train`` and ``tests`` by name, each with ``categories``, ``examples`` and what :func:`judged` finds. Of a
        learner also ``fit`` (see :func:`fit_of`), and in experiments of table 4 ``choice``: risks on those digits.
    """
    of = EXPERIMENTS[experiment]
    X, y = load(of.train, images, sample)
    found: dict[str, Any] = {"train": sizes(y), "tests": {}}
    operator: cm.evaluation.SimilarityOperator | None = None
    if learner != INPUT:
        way = LEARNERS[learner]
        problem = way.problem(X, y, pairs, seed)
        solution = way.solve(problem, tol, seconds, steps, seed)
        operator = cm.evaluation.SimilarityOperator.of(solution)
        found["fit"] = fit_of(solution, operator)
        found["train"]["risk"] = cm.evaluation.empirical_risk_from_labels(operator, X, y)
        if experiment in CHOICE:
            judge = {other: load(EXPERIMENTS[other].tests[0], images, sample) for other in digits}
            found["choice"] = {
                other: cm.evaluation.empirical_risk_from_labels(operator, X, y) for other, (X, y) in judge.items()
            }
    for name in of.tests:
        X, y = load(name, images, sample)
        found["tests"][name] = sizes(y) | judged(operator, X, y, draws)
    return found


def sizes(y: np.ndarray) -> dict[str, Any]:
    """How many images there are, of how many categories."""
    return {"categories": len(np.unique(y)), "examples": len(y)}


def fit_of(solution: cm.Solution, operator: cm.evaluation.SimilarityOperator) -> dict[str, Any]:
    """Bounds of Lambda, and what T*T looks like.

    Singular values above 2% of the largest are counted of T*T (``sparsity``) and of T (``sparsity_T``); ``spectrum``
    are those of T*T in units of the largest.
    """
    values = operator.singular_values[:SPECTRUM]
    return {
        "objective": solution.upper_bound,
        "gap": solution.gap,
        "rank": solution.rank,
        "sparsity": operator.essential_rank(0.02),
        "sparsity_T": operator.essential_rank(0.02**2),
        "spectrum": list(values / values[:1]),
        "seconds": solution.seconds,
    }


def judged(
    operator: cm.evaluation.SimilarityOperator | None, X: np.ndarray, y: np.ndarray, draws: int
) -> dict[str, Any]:
    """Balanced risk, area under the ROC curve with some of its points, and error from a single example a category.

    Without an operator of the images scaled to unit length, whose risk means nothing. The same examples are drawn for
    every operator.
    """
    points = cm.datasets.preprocess(X, ["unit"]) if operator is None else operator.transform(X)
    curve = cm.evaluation.roc_curve(None, points, y, n_points=POINTS)
    found = {
        "area": curve.area,
        "curve": [list(curve.false_positive_rate), list(curve.true_positive_rate)],
        "error": cm.evaluation.single_prototype_error(None, points, y, n_draws=draws, random_state=0),
    }
    if operator is not None:
        found["risk"] = cm.evaluation.empirical_risk_from_labels(None, points, y)
    return found
