"""Metric learning to rank under a kernel, against the same problem on explicit features."""

import numpy as np
import pytest

import convexmetric as cm
from convexmetric.errors import InputError

MEASURES = [("auc", None), ("map", None), ("mrr", None), ("precision", 2)]
REGULARIZERS = ("trace", "squared-frobenius")


def points(n=12, d=2, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return rng.normal(size=(n, d)) + 0.7 * y[:, None], y


def quadratic(X, Y):
    """``(1 + <x, y>)^2``."""
    return (1.0 + X @ Y.T) ** 2


def quadratic_features(X):
    """Points whose inner products are :func:`quadratic`."""
    a, b = X.T
    root = np.sqrt(2.0)
    return np.column_stack([np.ones(len(X)), root * a, root * b, a * a, b * b, root * a * b])


def agree(one, other, tol):
    """Whether intervals of proven bounds meet, and are no wider than asked for."""
    assert max(one.gap, other.gap) <= tol
    assert max(one.lower_bound, other.lower_bound) <= min(one.upper_bound, other.upper_bound) * (1.0 + 1e-9)


@pytest.mark.parametrize("regularizer", REGULARIZERS)
@pytest.mark.parametrize(("measure", "k"), MEASURES)
def test_the_linear_kernel_is_the_linear_problem(measure, k, regularizer):
    X, y = points(d=3)
    options = {"measure": measure, "k": k, "C": 20.0, "penalty": regularizer}
    linear = cm.RankingProblem.from_labels(X, y, **options)
    kernel = cm.RankingProblem.from_labels(X, y, **options, kernel="linear")
    assert kernel.embedding is None
    M = kernel.cone.project(np.random.default_rng(1).normal(size=(3, 3)))
    assert linear.objective(kernel.full_matrix(M)) == pytest.approx(kernel.value(M), rel=1e-12)
    assert kernel.objective(kernel.full_matrix(M)) == pytest.approx(kernel.value(M), rel=1e-12)
    one, other = cm.solve(linear, tol=1e-5), cm.solve(kernel, tol=1e-5)
    agree(one, other, 1e-5)
    assert linear.objective(other.M) == pytest.approx(other.upper_bound, rel=1e-9)


@pytest.mark.parametrize("regularizer", REGULARIZERS)
@pytest.mark.parametrize("n", [4, 12])
def test_the_optimum_on_explicit_features_is_in_the_span(n, regularizer):
    """With 4 points the span has 3 dimensions, and the Hilbert space of the kernel 6."""
    X, _ = points(n)
    y = np.arange(n) % 2
    options = {"measure": "map", "C": 5.0, "penalty": regularizer}
    explicit = cm.RankingProblem.from_labels(quadratic_features(X), y, **options)
    kernel = cm.RankingProblem.from_labels(X, y, **options, kernel=quadratic)
    assert kernel.cone.d == min(n - 1, 5)
    one, other = cm.solve(explicit, tol=1e-5), cm.solve(kernel, tol=1e-5)
    agree(one, other, 1e-5)
    images = kernel.embedding.transform(X) @ other.components.T
    distances = np.square(images[:, None] - images).sum(axis=2)
    assert np.trace(other.M) == pytest.approx(np.trace(one.M), rel=0.05)
    z = kernel.span.coordinates @ other.components.T
    assert distances == pytest.approx(np.square(z[:, None] - z).sum(axis=2), abs=1e-9)


def test_queries_of_their_own_are_in_the_span():
    X, _ = points(10)
    Q = np.random.default_rng(3).normal(size=(3, 2))
    relevant = [[0, 1], [2, 3, 4], [9]]
    explicit = cm.RankingProblem(quadratic_features(X), relevant, queries=quadratic_features(Q), measure="mrr", C=3.0)
    kernel = cm.RankingProblem(X, relevant, queries=Q, measure="mrr", C=3.0, kernel=quadratic)
    agree(cm.solve(explicit, tol=1e-5), cm.solve(kernel, tol=1e-5), 1e-5)
    everything = np.concatenate([X, Q])
    given = cm.RankingProblem(X, relevant, queries=Q, measure="mrr", C=3.0, kernel=quadratic(everything, everything))
    agree(cm.solve(given, tol=1e-5), cm.solve(kernel, tol=1e-5), 1e-5)
    some = kernel.with_queries([0, 2]).with_C(7.0)
    agree(cm.solve(some, tol=1e-5), cm.solve(explicit.with_queries([0, 2]).with_C(7.0), tol=1e-5), 1e-5)
    with pytest.raises(InputError, match="queries have 1 features, but X has 2"):
        cm.RankingProblem(X, relevant, queries=Q[:, :1], kernel="rbf")


def test_the_estimator_takes_new_points_to_the_span():
    X, y = points(30)
    mlr = cm.MLR(kernel=quadratic, C=30.0).fit(X, y)
    explicit = cm.MLR(C=30.0).fit(quadratic_features(X), y)
    T, t = points(20, seed=5)
    assert mlr.transform(T).shape == (20, len(mlr.components_))
    assert mlr.score(T, t) == pytest.approx(explicit.score(quadratic_features(T), t), abs=0.02)
    assert cm.MLR(kernel="rbf").fit(X, y).gap_ <= 1e-4


def test_a_metric_under_a_kernel_is_proven(tmp_path):
    X, y = points(9)
    problem = cm.RankingProblem.from_labels(X, y, measure="map", C=10.0, kernel="rbf")
    solution = cm.solve(problem, tol=1e-4)
    verdict = cm.write_certificate(tmp_path / "c.npz", problem, solution=solution)
    assert verdict.accepted
    assert float(verdict.lower) <= solution.upper_bound
    assert solution.lower_bound <= float(verdict.upper)
    assert "coordinates of the points' span under the kernel" in str(problem)
