"""Column generation against the conic reference: every kind of diagonal problem, any size, any C, any limit."""

import warnings
from time import perf_counter

import numpy as np
import pytest
import scipy.sparse as sp
from samples import clarabel, random_triplets

import convexmetric as cm
from convexmetric.comparisons import Triplets, triplets_from_labels
from convexmetric.cones import NonnegativeDiagonal, PSDCone
from convexmetric.errors import GapWarning, InputError, UnsupportedProblemError
from convexmetric.losses import Hinge
from convexmetric.problem import MetricProblem
from convexmetric.regularizers import QuadraticForm, SquaredFrobenius, Trace
from convexmetric.risks import SeparableRisk

RNG = np.random.default_rng(4)
N, D, T = 25, 8, 90
X = RNG.standard_normal((N, D)) * (RNG.random((N, D)) < 0.7)
TRIPLETS = random_triplets(RNG, N, T)
G = RNG.standard_normal(D)
MAP = RNG.standard_normal((D, 12))
FACTOR = RNG.random((D, 2))
FORM = FACTOR @ FACTOR.T + np.diag(np.arange(D) % 2.0) + 1e-3


def with_term(regularizer, points=X, C=0.7, margin=0.8):
    cone = NonnegativeDiagonal(D)
    return MetricProblem(SeparableRisk(Triplets(points, TRIPLETS, cone), Hinge(C, margin)), regularizer, G)


PROBLEMS = {
    "dense": lambda: cm.RelativeComparisonProblem(X, TRIPLETS, C=0.5),
    "sparse": lambda: cm.RelativeComparisonProblem(sp.csc_array(X), TRIPLETS, C=0.5),
    "A": lambda: cm.RelativeComparisonProblem(X, TRIPLETS, C=0.5, A=MAP),
    "rbf": lambda: cm.RelativeComparisonProblem(X, TRIPLETS, C=0.5, kernel="rbf"),
    "linear kernel": lambda: cm.RelativeComparisonProblem(X, TRIPLETS, C=0.5, kernel="linear"),
    "linear term": lambda: with_term(SquaredFrobenius(0.3)),
    "linear term, sparse": lambda: with_term(SquaredFrobenius(2.0), sp.csr_array(X)),
    "linear term, quadratic form": lambda: with_term(QuadraticForm(FORM)),
    "one triplet": lambda: cm.RelativeComparisonProblem(X, TRIPLETS[:1]),
    "one triplet that cannot hold": lambda: cm.RelativeComparisonProblem([[0.0], [2.0], [1.0]], [[0, 1, 2]]),
    "one feature": lambda: cm.RelativeComparisonProblem(X[:, :1], TRIPLETS),
    "identical points": lambda: cm.RelativeComparisonProblem(np.ones((N, 2)), TRIPLETS),
    "zeros, linear kernel": lambda: cm.RelativeComparisonProblem(np.zeros((N, 2)), TRIPLETS, kernel="linear"),
    "the same triplet many times": lambda: cm.RelativeComparisonProblem(X, TRIPLETS[:1].repeat(40, axis=0), C=0.1),
    "features apart": lambda: cm.RelativeComparisonProblem(X[:, :3] * [1e-3, 1.0, 1e3], TRIPLETS),
    "more features than triplets": lambda: cm.RelativeComparisonProblem(
        np.random.default_rng(1).random((N, 200)), TRIPLETS[:9], C=3.0
    ),
}


@pytest.mark.parametrize("rows", [1, 30, 4_000])
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_optimum_is_that_of_the_statement(name, rows):
    problem = PROBLEMS[name]()
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        solution = cm.solve(problem, solver=cm.solvers.ColumnGeneration(rows=rows))
    assert solution.status == "optimal"
    optimum = clarabel(problem)
    assert solution.lower_bound <= optimum + 1e-8 * (1.0 + abs(optimum))
    assert solution.upper_bound >= optimum - 1e-8 * (1.0 + abs(optimum))


@pytest.mark.parametrize("C", [1e-8, 1e-3, 1e3, 1e8])
@pytest.mark.parametrize("kernel", [None, "rbf"])
def test_any_weight_of_the_risk(C, kernel):
    problem = cm.RelativeComparisonProblem(X, TRIPLETS, C=C, kernel=kernel)
    ours = cm.solve(problem, solver=cm.solvers.ColumnGeneration(rows=50))
    reference = cm.solve(problem, solver=cm.solvers.InteriorPoint())
    assert ours.gap <= 1e-6
    assert ours.lower_bound <= reference.upper_bound
    assert reference.lower_bound <= ours.upper_bound


def crowd(count=5_000, n=300, d=60):
    """More triplets than a first working set holds, and a metric to be found in them."""
    rng = np.random.default_rng(0)
    points = sp.random_array((n, d), density=0.2, rng=rng, data_sampler=lambda size: np.ones(size)).tocsr()
    labels = (points[:, [0]].toarray() + points[:, [1]].toarray()).ravel().astype(int)
    return points, triplets_from_labels(labels, count, random_state=0)


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_bounds_hold_in_every_step_of_a_large_problem(C):
    problem = cm.RelativeComparisonProblem(*crowd(), C=C)
    solution = cm.solve(problem, tol=1e-7, solver=cm.solvers.ColumnGeneration(rows=500))
    assert solution.gap <= 1e-7
    for progress in solution.history:
        assert progress.lower_bound <= solution.upper_bound * (1 + 1e-12)
        assert progress.upper_bound >= solution.lower_bound * (1 - 1e-12)
    phases = [set(progress.details) for progress in solution.history]
    assert phases[0] == {"width"}
    assert phases[-1] == {"rows", "columns"}
    assert solution.history[-1].details["rows"] < 5_000


def test_sparse_and_dense_points_have_the_same_optimum():
    points, triplets = crowd()
    values = [
        cm.solve(cm.RelativeComparisonProblem(form, triplets), solver=cm.solvers.ColumnGeneration()).upper_bound
        for form in (points, points.toarray())
    ]
    assert values[0] == pytest.approx(values[1], rel=2e-6)


def test_the_same_call_gives_the_same_bounds():
    problem = cm.RelativeComparisonProblem(*crowd())
    first, second = (cm.solve(problem, solver=cm.solvers.ColumnGeneration()) for _ in range(2))
    assert first.upper_bound == pytest.approx(second.upper_bound, rel=1e-12)
    assert first.iterations == second.iterations


@pytest.mark.parametrize("limit", [1e-3, 0.1])
def test_time_limits_are_kept(limit):
    problem = cm.RelativeComparisonProblem(*crowd(20_000), C=100.0)
    start = perf_counter()
    with pytest.warns(GapWarning):
        solution = cm.solve(problem, tol=1e-12, solver=cm.solvers.ColumnGeneration(), max_seconds=limit)
    assert perf_counter() - start < limit + 2.0
    assert solution.status == "max_seconds"
    assert np.isfinite(solution.upper_bound)
    assert solution.lower_bound <= solution.upper_bound


def test_an_impossible_tolerance_ends_in_a_warning_and_true_bounds():
    problem = cm.RelativeComparisonProblem(X, TRIPLETS, C=0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GapWarning)
        solution = cm.solve(problem, tol=1e-16, solver=cm.solvers.ColumnGeneration(rows=40))
    assert solution.gap <= 1e-8
    assert solution.lower_bound <= solution.upper_bound * (1 + 1e-14)


def test_it_goes_on_from_what_other_solvers_left():
    problem = cm.RelativeComparisonProblem(X, TRIPLETS, C=50.0)
    stages = (cm.solvers.DualAscent(max_steps=5), cm.solvers.ColumnGeneration())
    solution = cm.solve(problem, solver=cm.solvers.Exact(stages=stages))
    assert solution.solver == "column-generation"
    assert solution.gap <= 1e-6
    assert not any("width" in progress.details for progress in solution.history)


def test_it_is_the_default_for_many_triplets_of_few_features(monkeypatch):
    monkeypatch.setattr("convexmetric.solvers.routes.FEW_COMPARISONS", 100)
    solution = cm.solve(cm.RelativeComparisonProblem(*crowd()))
    assert solution.solver == "column-generation"
    assert solution.gap <= 1e-6


@pytest.mark.parametrize(
    ("problem", "reason"),
    [
        (lambda: cm.RelativeComparisonProblem(X, TRIPLETS[:3], C=np.inf), "hard constraints"),
        (lambda: cm.RankingProblem.from_labels(X, np.arange(N) % 2), "not diagonal"),
        (
            lambda: MetricProblem(SeparableRisk(Triplets(X, TRIPLETS, PSDCone(D)), Hinge(1.0)), SquaredFrobenius(1.0)),
            "not diagonal",
        ),
        (lambda: with_term(Trace(1.0)), "not quadratic"),
    ],
)
def test_problems_of_other_kinds_are_refused(problem, reason):
    with pytest.raises(UnsupportedProblemError, match=reason):
        cm.solve(problem(), solver="column-generation")


def test_settings_are_checked():
    with pytest.raises(InputError):
        cm.solvers.ColumnGeneration(rows=0)
