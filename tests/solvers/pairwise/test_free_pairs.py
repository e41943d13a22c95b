"""The interior point over free pairs closes the gap from a metric near the optimum, and its dual points are proofs."""

import numpy as np
import pytest
from samples import random_lists

import convexmetric as cm
from convexmetric.risks import PairwiseRisk, SmoothedPairs
from convexmetric.solvers.pairwise.free_pairs import MOST_FREE, finish
from convexmetric.solvers.runtime import Monitor, drive


def lists(diagonal, C=30.0):
    rng = np.random.default_rng(3)
    X, Q = rng.normal(size=(60, 5)), rng.normal(size=(20, 5))
    return cm.RankingProblem(X, *random_lists(rng, 20, 60), queries=Q, C=C, diagonal=diagonal)


PROBLEMS = {
    "trace": lambda: lists(diagonal=False),
    "weights": lambda: lists(diagonal=True),
    "more features than the rank": lambda: cm.LargeMarginProblem(
        np.random.default_rng(0).normal(size=(70, 50)) * np.linspace(3.0, 1.0, 50), np.arange(70) % 2
    ),
    "squared norm": lambda: cm.TripletProblem.from_labels(
        cm.datasets.load("iris").X, cm.datasets.load("iris").y, n_same=3, n_other=3, reg=0.05
    ),
}


def finished(problem, tol, rough, width):
    M = cm.solve(problem, rough).certificate.M
    monitor = Monitor(tol, None, None)
    drive(finish(problem, problem.risk.form(PairwiseRisk), monitor, M, width), monitor)
    return monitor


@pytest.mark.parametrize("name", PROBLEMS)
def test_it_closes_the_gap(name):
    problem = PROBLEMS[name]()
    monitor = finished(problem, 1e-8, 1e-3, 0.05 * problem.risk.form(PairwiseRisk).margin)
    assert monitor.gap <= 1e-8
    dual = monitor.dual_point
    assert isinstance(dual, SmoothedPairs)
    assert ((dual.slopes >= 0.0) & (dual.slopes <= 1.0)).all()
    again = cm.certify(problem, monitor.M, dual)
    assert again.lower_bound == pytest.approx(monitor.lower_bound, rel=1e-9)
    assert again.upper_bound == pytest.approx(monitor.upper_bound, rel=1e-9)


def test_bounds_hold_wherever_it_starts():
    problem = lists(diagonal=False)
    optimum = cm.solve(problem, 1e-8)
    for seed in range(5):
        root = np.random.default_rng(seed).normal(size=(5, 5))
        monitor = Monitor(1e-8, None, None)
        drive(finish(problem, problem.risk.form(PairwiseRisk), monitor, root @ root.T, 0.1), monitor)
        assert monitor.lower_bound <= optimum.upper_bound * (1.0 + 1e-12)
        assert monitor.upper_bound >= optimum.lower_bound * (1.0 - 1e-12)


def test_it_leaves_many_pairs_alone():
    wine = cm.datasets.load("wine")
    problem = cm.RankingProblem.from_labels(wine.X, wine.y)
    risk, monitor = problem.risk.form(PairwiseRisk), Monitor(1e-8, None, None)
    assert risk.pairs.sum() > MOST_FREE
    drive(finish(problem, risk, monitor, problem.cone.zeros(), 10.0 * risk.margin), monitor)
    assert monitor.M is None


def test_it_yields_after_each_step_and_ends_before_long_ones():
    problem = lists(diagonal=False)
    risk, M = problem.risk.form(PairwiseRisk), cm.solve(problem, 1e-3).certificate.M
    runs = []
    for most in (np.inf, 1.0):
        monitor = Monitor(1e-8, None, None)
        drive(finish(problem, risk, monitor, M, 0.05 * risk.margin, most), monitor)
        runs.append(monitor)
    assert len(runs[0].history) > 5
    assert runs[0].M is not None
    assert not runs[1].history
