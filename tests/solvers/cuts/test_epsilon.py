"""The accuracy threshold of Algorithm 1 (paper 1): what it promises, and that no more is claimed."""

import warnings
from itertools import product

import numpy as np
import pytest
from samples import some

import convexmetric as cm
from convexmetric.errors import InputError
from convexmetric.solvers.cuts.master import Master
from convexmetric.solvers.cuts.pool import Pool


def ranking(C, measure="map"):
    rng = np.random.default_rng(2)
    y = np.arange(36) % 3
    return cm.RankingProblem.from_labels(rng.normal(size=(36, 4)) + 0.8 * y[:, None], y, measure=measure, C=C)


def printed(problem, epsilon, passes=400):
    """Algorithm 1 line by line: the metric at which the mean violation is at most xi + epsilon."""
    pool, metric, xi = Pool.empty(problem, 1), problem.cone.zeros(), 0.0
    master = Master(problem)
    for _ in range(passes):
        cuts = problem.risk.separate(metric, pool.groups)
        if cuts.values.sum() / problem.C <= xi + epsilon:
            return metric
        pool.add(metric, cuts)
        outcome = master.solve(pool.normals, pool.offsets, pool.group, np.ones(1), 1e-10, lambda: False)
        metric = outcome.M
        xi = (outcome.upper_bound - problem.penalty(metric)) / problem.C
    raise AssertionError("no end")


@pytest.mark.parametrize(
    ("measure", "C", "epsilon"), some(product(["auc", "map", "mrr"], [1.0, 100.0], [0.1, 0.01]), 5)
)
def test_the_gap_is_at_most_C_epsilon_as_that_of_the_printed_rule(measure, C, epsilon):
    problem = ranking(C, measure)
    with warnings.catch_warnings(action="error"):
        solution = cm.solve(problem, tol=1e-9, solver=cm.solvers.CuttingPlanes.plain(epsilon))
    assert solution.status == "optimal"
    assert solution.atol == pytest.approx(C * epsilon)
    assert solution.upper_bound - solution.lower_bound <= C * epsilon
    exact = cm.solve(problem, tol=1e-7)
    assert solution.lower_bound <= exact.upper_bound
    assert exact.lower_bound <= solution.upper_bound <= exact.upper_bound + C * epsilon
    metric = printed(problem, epsilon)
    assert problem.value(metric) <= exact.upper_bound + C * epsilon + 1e-7 * C


def test_it_stops_before_a_gap_is_closed_and_says_which():
    problem = ranking(100.0)
    rough = cm.solve(problem, tol=1e-6, solver=cm.solvers.CuttingPlanes(epsilon=0.05))
    fine = cm.solve(problem, tol=1e-6, solver=cm.solvers.CuttingPlanes())
    assert rough.iterations < fine.iterations
    assert rough.gap > 1e-6 >= fine.gap
    assert (rough.atol, fine.atol) == (5.0, 0.0)
    path = cm.solve_path(problem, [1.0, 10.0], tol=1e-6, solver=cm.solvers.CuttingPlanes(epsilon=0.05))
    assert [solution.atol for solution in path] == pytest.approx([0.05, 0.5])
    assert all(s.upper_bound - s.lower_bound <= s.atol for s in path)


def test_a_limit_before_the_threshold_is_no_success():
    problem = ranking(100.0)
    with pytest.warns(cm.errors.GapWarning, match="max_iter"):
        solution = cm.solve(problem, tol=1e-6, solver=cm.solvers.CuttingPlanes.plain(1e-4), max_iter=3)
    assert solution.status == "max_iter"
    assert solution.upper_bound - solution.lower_bound > 100.0 * 1e-4


def test_a_larger_atol_of_the_solve_stays():
    problem = ranking(10.0)
    assert cm.solve(problem, solver=cm.solvers.CuttingPlanes(epsilon=0.01), atol=1.0).atol == 1.0


@pytest.mark.parametrize("wrong", [0.0, -0.1, float("nan"), float("inf"), True, "0.01"])
def test_a_threshold_is_a_positive_number(wrong):
    with pytest.raises(InputError, match="epsilon must be a positive finite number"):
        cm.solvers.CuttingPlanes(epsilon=wrong)
