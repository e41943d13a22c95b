"""Solves that begin from an earlier one: the same certified optimum, fewer passes, and clear errors."""

import warnings
from dataclasses import replace
from functools import cache
from itertools import product

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import some

import convexmetric as cm
from convexmetric.errors import GapWarning, InputError

TOL = 1e-4


def labelled(n=90, d=4, seed=0):
    """Three overlapping classes."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    centres = np.random.default_rng(1).normal(size=(3, d))
    return rng.normal(size=(n, d)) + centres[y], y


def comparisons(n, y):
    """A few triplets of each point: one of its class before one of another."""
    rng = np.random.default_rng(2)
    rows = [(i, rng.choice(np.flatnonzero(y == y[i])), rng.choice(np.flatnonzero(y != y[i]))) for i in range(n)]
    return [row for row in rows * 2 if row[0] != row[1]]


def ranking(**options):
    def make(X, y, weight=1.0):
        return cm.RankingProblem.from_labels(X, y, C=30.0 * weight, **options)

    return make


def triplets(X, y, weight=1.0):
    return cm.TripletProblem.from_labels(X, y, n_same=3, n_other=10, reg=0.01 / weight)


def relative(X, y, weight=1.0):
    return cm.RelativeComparisonProblem(X, comparisons(len(X), y), C=0.1 * weight)


def pairs(**options):
    def make(X, y, weight=1.0):
        return cm.PairMarginProblem.from_labels(X, y, random_state=0, reg=0.05 / weight, **options)

    return make


#: Solver, how to make its problems from points, labels and a relative weight of the risk, and the features.
FAMILIES = {
    "cutting planes": (cm.solvers.CuttingPlanes(), ranking(measure="map"), 4),
    "diagonal cutting planes": (cm.solvers.CuttingPlanes(), ranking(measure="auc", diagonal=True), 4),
    "sampled cutting planes": (cm.solvers.SampledCuttingPlanes(least=8, pieces=16), ranking(measure="auc"), 4),
    "augmented Lagrangian": (cm.solvers.AugmentedLagrangian(), relative, 20),
    "dual ascent": (cm.solvers.DualAscent(), relative, 20),
    "dual Newton": (cm.solvers.DualNewton(), pairs(n_pairs=60), 30),
    "factored Lagrangian": (cm.solvers.FactoredLagrangian(), pairs(), 8),
    "semismooth Newton": (cm.solvers.SemismoothNewton(), triplets, 4),
    "smoothed Newton": (cm.solvers.SmoothedNewton(), ranking(measure="auc"), 4),
}


def solved(problem, solver, tol=TOL, **options):
    """A solution, which may end early: a family need not close the gap of every small problem."""
    with warnings.catch_warnings(action="ignore", category=GapWarning):
        return cm.solve(problem, tol, solver=solver, **options)


def agree(one, other):
    """Certified bounds of the same problem hold the same optimum, and are those of the points that prove them."""
    assert max(one.lower_bound, other.lower_bound) <= min(one.upper_bound, other.upper_bound)
    again = cm.certify(one.problem, one.certificate.M, one.certificate.dual)
    assert again.upper_bound == pytest.approx(one.upper_bound, rel=1e-10)
    assert again.lower_bound == pytest.approx(one.lower_bound, rel=1e-8)


def changed(make, X, y):
    """Pairs of problems: what is solved first, and what is solved from there."""
    half = len(X) // 2
    return {
        "another weight": (make(X, y, 1.0 / 3.0), make(X, y)),
        "more rows": (make(X[:-9], y[:-9]), make(X, y)),
        "other data": (make(X[:half], y[:half]), make(X[half:], y[half:])),
    }


@pytest.mark.parametrize(("name", "change"), some(product(FAMILIES, ["another weight", "more rows", "other data"]), 14))
def test_the_same_optimum_as_without_a_start(name, change):
    solver, make, d = FAMILIES[name]
    first, problem = changed(make, *labelled(d=d))[change]
    cold, warm = solved(problem, solver), solved(problem, solver, start=solved(first, solver))
    assert warm.problem is problem
    assert warm.status == cold.status
    agree(warm, cold)


@pytest.mark.parametrize("name", FAMILIES)
def test_from_the_optimum_it_takes_fewer_iterations(name):
    solver, make, d = FAMILIES[name]
    problem = make(*labelled(d=d))
    cold = solved(problem, solver)
    warm = solved(problem, solver, start=cold)
    assert warm.status == cold.status
    assert warm.iterations <= max(3, 2 * cold.iterations // 3)
    assert warm.upper_bound <= cold.upper_bound * (1.0 + TOL)
    agree(warm, cold)


@cache
def without_start(name):
    solver, make, d = FAMILIES[name]
    return solved(make(*labelled(45, d)), solver, 1e-3)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), size=st.floats(-12.0, 12.0), rank=st.integers(0, 4))
@pytest.mark.parametrize("name", ["cutting planes", "smoothed Newton", "semismooth Newton"])
def test_any_metric_is_a_start(name, seed, size, rank):
    """However wrong: the certificate is that of the problem, and the gap closes as without it."""
    solver, make, d = FAMILIES[name]
    cold = without_start(name)
    B = 10.0**size * np.random.default_rng(seed).normal(size=(rank, d))
    warm = solved(make(*labelled(45, d)), solver, 1e-3, start=B.T @ B)
    assert warm.status == cold.status
    agree(warm, cold)


def test_a_start_worse_than_zero_is_left_alone():
    problem = ranking(measure="map")(*labelled())
    cold, warm = cm.solve(problem, TOL), cm.solve(problem, TOL, start=-np.eye(4))
    assert [one.upper_bound for one in warm.history] == [one.upper_bound for one in cold.history]
    huge = cm.solve(problem, TOL, start=1e9 * np.eye(4))
    assert huge.iterations == cold.iterations


def test_corrupted_points_of_a_solution_prove_nothing_false():
    """Neither the bounds nor the dual point of what is given are believed."""
    problem = triplets(*labelled())
    cold = cm.solve(problem, TOL)
    certificate = cold.certificate
    forged = type(certificate)(**{**vars(certificate), "lower_bound": 1e9, "upper_bound": 1e9})
    twisted = replace(cold, certificate=forged)
    agree(cm.solve(problem, TOL, start=twisted), cold)


def test_more_queries_over_the_same_corpus():
    problem = ranking(measure="map")(*labelled())
    first = cm.solve(problem.with_queries(range(0, 90, 2)), TOL)
    cold, warm = (cm.solve(problem, TOL, solver="cutting-planes", start=start) for start in (None, first))
    assert warm.iterations < cold.iterations
    agree(warm, cold)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_metric_moves_to_the_span_of_other_points(kernel):
    """Where features outnumber points each data set has a basis of its own; between points it is the same metric."""
    X, y = labelled(18, 24)
    first, problem = (ranking(measure="auc", kernel=kernel)(X[rows], y[rows]) for rows in (slice(12), slice(18)))
    solution = cm.solve(first, TOL)
    M = problem.metric_from(first, solution.certificate.M)
    assert M.shape == problem.cone.shape != first.cone.shape
    images = [
        _embedded(one, X[:12]) @ one.components(metric).T
        for one, metric in ((first, solution.certificate.M), (problem, M))
    ]
    squared = [((image[:, None] - image) ** 2).sum(axis=2) for image in images]
    np.testing.assert_allclose(*squared, atol=1e-8 * squared[0].max())
    agree(cm.solve(problem, TOL, start=solution), cm.solve(problem, TOL))


def _embedded(problem, X):
    return X if problem.embedding is None else problem.embedding.transform(X)


def test_a_metric_on_the_features_is_a_start_of_a_spanned_problem():
    X, y = labelled(18, 24)
    problem = ranking(measure="auc", kernel="linear")(X, y)
    solution = cm.solve(problem, TOL)
    np.testing.assert_allclose(problem.nearest(solution.M), solution.certificate.M, atol=1e-10)


def test_constraints_that_the_start_breaks_leave_it_out():
    problem = ranking(measure="map")(*labelled())
    start = cm.solve(problem, 1e-3)
    small = problem.subject_to(lambda W: [cp.trace(W) <= 0.1 * start.M.trace()])
    agree(cm.solve(small, 1e-3, start=start), cm.solve(small, 1e-3))


def test_the_history_is_that_of_this_solve():
    problem = ranking(measure="map")(*labelled())
    first = cm.solve(problem, 1e-2)
    warm = cm.solve(problem, TOL, start=first)
    assert [one.iteration for one in warm.history] == list(range(1, warm.iterations + 1))
    assert warm.history[0].upper_bound <= first.upper_bound * (1.0 + 1e-12)


PROBLEM = ranking(measure="auc")(*labelled(30))
NAN = np.full((4, 4), np.nan)
BAD = {
    "shape": (np.eye(5), "start does not fit.*shape"),
    "weights": (np.ones(4), "start does not fit.*shape"),
    "nan": (NAN, "start does not fit.*finite"),
    "asymmetric": (np.triu(np.ones((4, 4))), "start does not fit.*symmetric"),
    "words": ("warm", "start does not fit"),
    "mapping": ({"M": np.eye(4)}, "start does not fit"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_starts_are_named(name):
    start, reason = BAD[name]
    with pytest.raises(InputError, match=rf"(?s){reason}.*pass a Solution"):
        cm.solve(PROBLEM, start=start)


def test_solutions_of_other_kinds_are_refused():
    X, y = labelled(30)
    weights = ranking(measure="auc", diagonal=True)(X, y)
    with pytest.raises(InputError, match=r"weights of features.*full matrix"):
        cm.solve(PROBLEM, start=cm.solve(weights, 1e-2))
    with pytest.raises(InputError, match=r"full matrix.*weights of features"):
        cm.solve(weights, start=cm.solve(PROBLEM, 1e-2))
    with pytest.raises(InputError, match="start does not fit"):
        cm.solve(PROBLEM, start=cm.solve(ranking(measure="auc")(*labelled(30, 5)), 1e-2))
    kernel = ranking(measure="auc", kernel="rbf")(X, y)
    with pytest.raises(InputError, match="another kernel"):
        cm.solve(PROBLEM, start=cm.solve(kernel, 1e-2))
