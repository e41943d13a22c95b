"""Over lists of the pairs that can have a slope a risk is what it is over all pairs."""

import numpy as np
import pytest
import scipy.linalg as la

import convexmetric as cm
from convexmetric.risks import PairwiseRisk
from convexmetric.solvers import Monitor
from convexmetric.solvers.pairwise import nearby
from convexmetric.solvers.pairwise.nearby import LEEWAY, NearbyPairs, _candidates, _padded, samples_of, unit_of


def clusters(diagonal=False, n=400, d=5, classes=8, k=3):
    rng = np.random.default_rng(0)
    y = np.arange(n) % classes
    X = 3.0 * rng.standard_normal((classes, d))[y] + rng.standard_normal((n, d))
    return cm.LargeMarginProblem(X, y, n_neighbors=k, diagonal=diagonal)


def metric(problem, seed=0):
    """A metric under which points of two classes are some margins apart, and some are nearer."""
    L = np.eye(problem.cone.d) + 0.3 * np.random.default_rng(seed).standard_normal((problem.cone.d, problem.cone.d))
    M = problem.from_features(np.diag(L @ L.T) if problem.cone.diagonal else L @ L.T)
    distances = [problem.risk.rankings.of(q, M) for q in range(0, problem.risk.parts, 10)]
    apart = np.mean([z.min() - x.max() for _, _, x, z in distances])
    return 4.0 * M / apart


@pytest.mark.parametrize("diagonal", [False, True])
def test_nearby_metrics_have_the_value_and_slopes_of_all_pairs(diagonal):
    problem = clusters(diagonal)
    risk, M = problem.risk, metric(problem)
    pairs = NearbyPairs(risk)
    pairs.smoothed(M, 0.2)
    for change, width in ((0.0, 0.2), (0.02, 0.2), (-0.03, 0.1), (0.099, 0.0)):
        there, everywhere = pairs.smoothed((1.0 + change) * M, width), risk.smoothed((1.0 + change) * M, width)
        assert there.value == pytest.approx(everywhere.value, rel=1e-12)
        assert there.exact == pytest.approx(everywhere.exact, rel=1e-12)
        assert there.kinks == everywhere.kinks
        assert everywhere.exact > 0.0
        np.testing.assert_allclose(there.point.S, everywhere.point.S, atol=1e-11 * np.abs(everywhere.point.S).max())
    # One pass over all pairs: that which made the lists.
    whole = len(risk.rankings) * risk.rankings.sizes[0]
    assert whole < pairs.distances < 2 * whole


@pytest.mark.parametrize("diagonal", [False, True])
def test_no_pair_that_is_left_out_has_a_slope_anywhere_in_the_neighbourhood(diagonal):
    problem = clusters(diagonal, n=160)
    risk, M = problem.risk, metric(problem)
    leeway = LEEWAY * _padded(risk, M)
    near = _candidates(risk, M - leeway, M + leeway, risk.margin + 0.1)
    rng = np.random.default_rng(1)
    for trial in range(20):
        if diagonal:
            there = M + rng.choice([-1.0, 1.0], M.shape) * leeway
        else:
            root = la.sqrtm(leeway).real
            Q = np.linalg.qr(rng.standard_normal(M.shape))[0]
            there = M + root @ (Q * rng.choice([-1.0, 1.0], len(Q))) @ Q.T @ root
        for q in range(risk.parts):
            wanted, unwanted, x, z = risk.rankings.of(q, there)
            met = unwanted[z < x.max() + risk.margin + 0.1 - 1e-9]
            assert np.isin(met, near.of(q)[1]).all(), trial
            assert set(near.of(q)[0]) == set(wanted)
    assert near.n_irrelevant.mean() < 0.5 * risk.rankings.relevance.n_irrelevant.mean()


def test_a_metric_that_moved_on_and_a_wider_smoothing_are_not_over_the_lists():
    problem = clusters()
    risk, M = problem.risk, metric(problem)
    pairs = NearbyPairs(risk)
    for there, width in ((M, 0.1), (M, 0.1), (metric(problem, 1), 0.1), (1.01 * metric(problem, 1), 0.4)):
        assert pairs.smoothed(there, width).exact == pytest.approx(risk.value(there), rel=1e-12)


def test_many_near_items_are_not_listed():
    data = cm.datasets.load("wine")
    risk = cm.RankingProblem.from_labels(data.X, data.y, measure="auc").risk.form(PairwiseRisk)
    pairs = NearbyPairs(risk)
    M = 1e-4 * np.eye(13)
    for _ in range(3):
        pairs.smoothed(M, 0.1)
    assert pairs.distances == 3 * risk.rankings.sizes.sum()


def test_samples_are_in_the_units_of_all_queries(monkeypatch):
    monkeypatch.setattr(nearby, "SAMPLES", (0.1, 0.5, 1.0))
    monkeypatch.setattr(nearby, "LEAST_QUERIES", 200)
    problem, monitor = clusters(n=800), Monitor(1e-6)
    samples = list(samples_of(problem, problem.risk, monitor))
    assert [part.parts for _, part, _ in samples] == [400, 800]
    assert [inner.tol for _, _, inner in samples] == [0.02, 0.01]
    M = np.zeros((5, 5))
    assert samples[1][1].value(M) == pytest.approx(problem.risk.value(M), rel=1e-12)
    assert samples[0][1].value(M) == pytest.approx(problem.risk.value(M), rel=1e-2)


def test_at_the_unit_two_points_are_a_margin_apart_on_average():
    risk = clusters().risk
    X = risk.rankings.X
    squares = ((X[:, None] - X) ** 2).sum(axis=2)
    assert unit_of(risk) * squares.mean() == pytest.approx(risk.margin, rel=1e-10)
