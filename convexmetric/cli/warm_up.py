"""What ``convexmetric warm-up`` solves: small problems that between them compile the usual loops."""

from __future__ import annotations

import warnings

import numpy as np

from convexmetric.datasets import load, preprocess
from convexmetric.estimators import ChoiceMetric, LargeMargin, NeighborMetric, OperatorMarginMetric
from convexmetric.measures import MEASURES
from convexmetric.measures.map import every_weighted
from convexmetric.papers import RankingProblem
from convexmetric.solvers import solve

#: Gap at which a solve has compiled all that it needs.
TOL = 1e-2


def compile_loops() -> str | None:
    """Compile the usual loops; returns the folder of one of them, as of all of its module; None if none is kept."""
    wine = load("wine")
    X, y = preprocess(wine.X, ["zscore"]), np.asarray(wine.y)
    trials = np.add.outer(np.arange(50), np.arange(3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for measure in MEASURES:
            solve(RankingProblem.from_labels(X, y, measure=measure), TOL)
        for estimator in (NeighborMetric(), LargeMargin(), OperatorMarginMetric()):
            estimator.fit(X, y)
        ChoiceMetric().fit(X, trials)
    return every_weighted.dispatcher.stats.cache_path
