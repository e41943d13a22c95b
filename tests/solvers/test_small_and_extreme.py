"""Tiny, degenerate and badly scaled problems: the certified optimum, or a warning; never a silent error."""

import warnings

import numpy as np
import pytest
from samples import clarabel, random_triplets

import convexmetric as cm
from convexmetric.comparisons import PairDistances
from convexmetric.cones import NonnegativeDiagonal
from convexmetric.errors import GapWarning
from convexmetric.losses import BoxLoss
from convexmetric.regularizers import QuadraticForm
from convexmetric.risks import SeparableRisk

RNG = np.random.default_rng(9)
X = RNG.standard_normal((16, 3))
Y = np.repeat([0, 1], 8)
TRIPLETS = random_triplets(RNG, 16, 20)
ZERO_ROW = X * (np.arange(16) != 3)[:, None]
MAP = RNG.standard_normal((3, 5)) * [1, 1, 0, 1, 1]
MAP[:, 4] = MAP[:, 0]

PROBLEMS = {
    "one query": lambda: cm.RankingProblem(X, [[1, 2]], irrelevant=[[3, 4]], queries=X[:1], C=5.0),
    "one query, one pair": lambda: cm.RankingProblem(X, [[1]], irrelevant=[[4]], queries=X[:1], C=5.0),
    "the query in its own corpus": lambda: cm.RankingProblem(X, [[0]], irrelevant=[[4, 5]], queries=X[:1], C=5.0),
    "ranking, one feature": lambda: cm.RankingProblem.from_labels(X[:, :1], Y, C=5.0),
    "ranking, identical points": lambda: cm.RankingProblem.from_labels(np.ones((4, 2)), [0, 0, 1, 1]),
    "ranking, points twice": lambda: cm.RankingProblem.from_labels(np.repeat(X[:4], 2, axis=0), [0, 1] * 4, C=5.0),
    "ranking, a constant feature": lambda: cm.RankingProblem.from_labels(np.c_[X, np.ones(16)], Y, C=5.0),
    "ranking, a feature twice": lambda: cm.RankingProblem.from_labels(np.c_[X, X[:, :1]], Y, C=5.0),
    "ranking, more features than points": lambda: cm.RankingProblem.from_labels(
        np.random.default_rng(0).standard_normal((6, 9)), [0, 0, 0, 1, 1, 1], C=5.0
    ),
    "one triplet": lambda: cm.RelativeComparisonProblem(X, [[0, 1, 2]]),
    "one triplet that cannot hold": lambda: cm.RelativeComparisonProblem([[0.0], [2.0], [1.0]], [[0, 1, 2]]),
    "one triplet, hard": lambda: cm.RelativeComparisonProblem([[0.0], [1.0], [2.0]], [[0, 1, 2]], C=np.inf),
    "the same triplet many times": lambda: cm.RelativeComparisonProblem(X, [[0, 1, 2]] * 40, C=0.1),
    "relative, one feature": lambda: cm.RelativeComparisonProblem(X[:, :1], TRIPLETS),
    "relative, identical points": lambda: cm.RelativeComparisonProblem(np.ones((16, 2)), TRIPLETS),
    "relative, identical points, rbf": lambda: cm.RelativeComparisonProblem(np.ones((16, 2)), TRIPLETS, kernel="rbf"),
    "relative, zeros, linear": lambda: cm.RelativeComparisonProblem(np.zeros((16, 2)), TRIPLETS, kernel="linear"),
    "relative, a zero point, linear": lambda: cm.RelativeComparisonProblem(ZERO_ROW, TRIPLETS, kernel="linear"),
    "relative, zero and equal columns of A": lambda: cm.RelativeComparisonProblem(X, TRIPLETS, A=MAP),
    "relative, points twice": lambda: cm.RelativeComparisonProblem(np.repeat(X[:4], 4, axis=0), TRIPLETS),
    "relative, features apart": lambda: cm.RelativeComparisonProblem(X * [1e-3, 1.0, 1e3], TRIPLETS),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_tiny_and_degenerate_problems_are_solved(name):
    problem = PROBLEMS[name]()
    with warnings.catch_warnings(action="error", category=RuntimeWarning):
        solution = cm.solve(problem)
    assert solution.status == "optimal"
    optimum = clarabel(problem)
    assert solution.lower_bound <= optimum * (1 + 1e-6) + 1e-9
    assert solution.upper_bound >= optimum * (1 - 1e-6) - 1e-9
    assert np.isfinite(solution.M).all()
    assert 0 <= solution.rank <= problem.cone.d


def scaled(kind, scale, C):
    if kind == "ranking":
        return cm.RankingProblem.from_labels(scale * (X + 0.4 * Y[:, None]), Y, C=C)
    options = {"A": {"A": MAP[:, :2]}, "linear": {"kernel": "linear"}, "rbf": {"kernel": "rbf"}}.get(kind, {})
    return cm.RelativeComparisonProblem(scale * X, TRIPLETS, C=C, **options)


@pytest.mark.parametrize("kind", ["ranking", "I", "A", "linear", "rbf"])
@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1e3, 1e6])
@pytest.mark.parametrize("C", [1e-6, 1.0, 1e4, 1e8])
def test_bounds_hold_at_every_scale(kind, scale, C):
    problem = scaled(kind, scale, C)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", GapWarning)
        solution = cm.solve(problem, max_seconds=1.0)
    warned = any(issubclass(warning.category, GapWarning) for warning in caught)
    assert warned == (solution.status != "optimal") == (solution.gap > 1e-6)
    # W = 0 and any other metric are upper bounds; no lower bound may exceed them.
    rng = np.random.default_rng(0)
    assert solution.lower_bound <= problem.value(problem.cone.zeros()) * (1 + 1e-9)
    best = solution.certificate.M
    for factor in (0.5, 0.999, 1.001, 2.0):
        assert solution.lower_bound <= problem.value(factor * best) * (1 + 1e-9)
    for _ in range(5):
        wiggled = problem.cone.project(best * (1.0 + 0.01 * rng.standard_normal()))
        assert solution.lower_bound <= problem.value(wiggled) * (1 + 1e-9)


@pytest.mark.parametrize("kind", ["ranking", "I", "linear"])
def test_scaling_the_data_scales_the_weights_of_an_equivalent_problem(kind):
    # With x -> t x: tr W / t^2 for ranking, so C -> C / t^2; for w the quadratic form scales by t^-4, and for a linear
    # kernel, whose features are the kernel's rows, by nothing but t^-4 as well.
    t = 10.0
    power = 2 if kind == "ranking" else 4
    plain = cm.solve(scaled(kind, 1.0, 3.0), tol=1e-8)
    other = cm.solve(scaled(kind, t, 3.0 / t**power), tol=1e-8)
    assert other.upper_bound * t**power == pytest.approx(plain.upper_bound, rel=1e-6)


@pytest.mark.parametrize("solver", ["interior-point", "augmented-lagrangian"])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_margins_of_zero_leave_the_scale_to_the_linear_term(solver, scale):
    """A fit of weights by least squares: the risk is zero, and nothing but G says how large they are."""
    A, target = np.abs(RNG.standard_normal((20, 5))), np.array([0.0, 2.0, 0.0, 0.5, 1.0])
    zero = PairDistances(np.eye(5), [[0, 1]], np.ones(1), NonnegativeDiagonal(5))
    risk = SeparableRisk(zero, BoxLoss.hinge(np.ones(1), np.zeros(1)))
    solution = cm.solve(cm.MetricProblem(risk, QuadraticForm(A.T @ A), -scale * A.T @ (A @ target)), solver=solver)
    assert solution.status == "optimal"
    optimum = -0.5 * scale**2 * np.square(A @ target).sum()
    assert solution.upper_bound == pytest.approx(optimum, rel=2e-6)
    assert solution.lower_bound <= optimum * (1.0 - 1e-9)
