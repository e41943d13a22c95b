"""Descent on a factor: its gradient, its bound, and what it finds beside the exact solvers."""

import warnings

import numpy as np
import pytest

import convexmetric as cm
from convexmetric.approximate.low_rank_descent import _Descent
from convexmetric.comparisons import Rankings
from convexmetric.errors import GapWarning
from convexmetric.risks import PairwiseRisk
from convexmetric.solvers import Monitor


def labelled(reg=0.02, seed=0, sparse=False, **options):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(45, 7))
    y = (X[:, 0] + 0.5 * X[:, 1] > 0).astype(int)
    if sparse:
        X = X * (rng.random(X.shape) < 0.15) + 0.3 * np.eye(45, 7)
    n_same, n_other = options.pop("n", (None, None))
    return cm.TripletProblem.from_labels(X, y, n_same=n_same, n_other=n_other, reg=reg, penalty="trace", **options)


def graph():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 6))
    near = np.abs(X[:, None, 0] - X[None, :, 0]) < 0.2
    return cm.TripletProblem.from_graph(X, near & ~np.eye(40, dtype=bool), reg=0.05, penalty="trace", intra=0.1)


def two_sided():
    """Queries that are not the corpus, with short lists."""
    rng = np.random.default_rng(2)
    problem = labelled(n=(2, 2))
    relevance = problem.rankings.relevance
    rankings = Rankings(problem.rankings.X, rng.normal(size=(45, 7)), relevance, problem.cone)
    risk = PairwiseRisk(rankings, problem.risk.weights, 1.0)
    return cm.MetricProblem(risk, cm.regularizers.Trace(0.01))


PROBLEMS = {
    "labels": labelled,
    "neighbours": lambda: labelled(n=(3, 4)),
    "sparse": lambda: labelled(sparse=True),
    "pair terms": lambda: labelled(intra=0.2, inter=0.01),
    "graph": graph,
    "queries": two_sided,
}


@pytest.mark.parametrize("name", list(PROBLEMS))
def test_value_and_gradient_are_those_of_the_metric(name):
    problem, width = PROBLEMS[name](), 0.7
    descent = _Descent(problem, problem.risk, Monitor(1e-6), cm.approximate.LowRankDescent(), problem.regularizer.reg)
    rng = np.random.default_rng(3)
    B = 0.4 * rng.normal(size=(3, problem.cone.d))
    value, gradient = descent.value(B, width)
    assert value == pytest.approx(problem.risk.smoothed(B.T @ B, width).value + problem.penalty(B.T @ B))
    for _ in range(5):
        move = 1e-6 * rng.normal(size=B.shape)
        change = descent.value(B + move, width)[0] - descent.value(B - move, width)[0]
        assert change == pytest.approx(2.0 * float(np.vdot(gradient, move)), rel=1e-4, abs=1e-13)


@pytest.mark.parametrize("name", list(PROBLEMS))
def test_enough_rows_come_near_the_optimum_of_the_convex_problem(name):
    problem = PROBLEMS[name]()
    exact = cm.solve(problem, tol=1e-5)
    with warnings.catch_warnings(action="ignore", category=GapWarning):
        found = cm.solve(
            problem, solver=cm.approximate.LowRankDescent(problem.cone.d, random_state=0, widths=8, steps=300)
        )
    assert found.lower_bound <= exact.upper_bound + 1e-9
    assert found.upper_bound >= exact.lower_bound - 1e-9
    assert found.upper_bound == pytest.approx(exact.upper_bound, rel=1e-3)
    assert found.gap < 0.05
    assert cm.certify(problem, found.certificate.M, found.certificate.dual).lower_bound <= exact.upper_bound + 1e-9


def test_too_few_rows_are_told_by_the_gap():
    problem = labelled(reg=1e-3)
    with pytest.warns(GapWarning):
        found = cm.solve(problem, tol=1e-3, solver=cm.approximate.LowRankDescent(1, random_state=0))
    assert found.status == "stalled"
    assert found.rank == 1
    least = min(progress.details["objective"] for progress in found.history)
    assert found.upper_bound == pytest.approx(least, rel=1e-12)


def test_the_same_seed_is_the_same_descent():
    with warnings.catch_warnings(action="ignore", category=GapWarning):
        first, again = (
            cm.solve(labelled(), tol=1e-9, solver=cm.approximate.LowRankDescent(4, random_state=5), max_iter=2)
            for _ in range(2)
        )
    np.testing.assert_array_equal(first.certificate.M, again.certificate.M)
