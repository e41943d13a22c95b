"""Cuts that keep factors of their normals are the same cuts, and solves with them have the same optimum."""

import numpy as np
import pytest
from samples import random_metric

import convexmetric as cm
from convexmetric.errors import GapWarning
from convexmetric.solvers.cuts import master
from convexmetric.solvers.cuts import pool as module
from convexmetric.solvers.cuts.cutting_planes import _of_low_rank
from convexmetric.solvers.cuts.master import MatrixRows
from convexmetric.solvers.cuts.pool import Pool


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    y = np.tile([0, 1, 2], 14)
    X = rng.standard_normal((42, 20))
    X[:, :3] += 2.0 * np.eye(3)[y]

    def make(measure="map", C=20.0):
        return cm.RankingProblem.from_labels(X, y, measure=measure, C=C)

    return make


@pytest.fixture
def small(monkeypatch):
    """Work in a subspace, with factors, also where they are larger than normals."""
    monkeypatch.setattr(master, "SUBSPACE_FROM", 5)
    monkeypatch.setattr(module, "FACTORED_SHARE", 100.0)


@pytest.mark.parametrize("measure", ["map", "auc", "ndcg"])
def test_factors_have_the_normals_of_the_cuts(problem, small, measure):
    rng, made = np.random.default_rng(1), problem(measure)
    cone = made.cone
    pool, other = Pool.smallest(made, 5), Pool.empty(made, 5)
    assert pool.rows is not None
    assert other.rows is None

    def compare():
        normals, a = MatrixRows(other.normals, cone), rng.random(pool.count)
        np.testing.assert_allclose(pool.normals.combined(a), normals.combined(a), atol=1e-11)
        for columns in (3, 6, 20):
            V = np.linalg.qr(rng.standard_normal((cone.d, columns)))[0]
            np.testing.assert_allclose(pool.normals.restricted(V), normals.restricted(V), atol=1e-11)

    for _ in range(3):
        metric = random_metric(rng, cone)
        factors, cuts = pool.separate(metric), other.separate(metric)
        for name in ("values", "offsets", "weights"):
            np.testing.assert_allclose(getattr(factors, name), getattr(cuts, name), rtol=1e-12)
        np.testing.assert_allclose(pool.total(factors), other.total(cuts), atol=1e-11)
        pool.add(metric, factors)
        other.add(metric, cuts)
        compare()
    pool.age = other.age = rng.integers(0, 3, pool.count)
    pool.drop(2)
    other.drop(2)
    assert 0 < pool.count < 15
    compare()
    for each in (pool, other):
        each.scale(problem(measure, 60.0), 3.0)
    compare()


@pytest.mark.parametrize("regularizer", [None, cm.regularizers.SquaredFrobenius(0.3)])
def test_solves_with_factors_have_the_same_optimum(problem, small, monkeypatch, regularizer):
    made = problem()
    if regularizer is not None:
        made = cm.MetricProblem(made.risk, regularizer)
    assert Pool.smallest(made, 32).rows is not None
    factored = cm.solve(made, tol=1e-6, solver="cutting-planes")
    monkeypatch.setattr(module, "FACTORED_SHARE", 0.0)
    whole = cm.solve(made, tol=1e-6, solver="cutting-planes")
    for one, another in ((factored, whole), (whole, factored)):
        assert one.gap <= 1e-6
        assert one.lower_bound <= another.upper_bound


def test_a_path_and_a_checkpoint_go_on_with_factors(problem, small, tmp_path):
    weights = [1.0, 5.0, 20.0]
    found = cm.solve_path(problem(), C=weights, solver=cm.solvers.CuttingPlanes(), tol=1e-5)
    for weight, solution in zip(weights, found, strict=True):
        alone = cm.solve(problem(C=weight), tol=1e-5)
        assert max(solution.lower_bound, alone.lower_bound) <= min(solution.upper_bound, alone.upper_bound)
    path = tmp_path / "state.npz"
    made = problem()
    with pytest.warns(GapWarning):
        cm.solve(made, tol=1e-9, solver="cutting-planes", max_iter=8, checkpoint=path)
    resumed = cm.solve(made, tol=1e-6, solver="cutting-planes", checkpoint=path)
    assert resumed.gap <= 1e-6


def test_factors_are_kept_where_they_are_smaller():
    rng = np.random.default_rng(0)

    def pool(n, d):
        return Pool.smallest(cm.RankingProblem.from_labels(rng.standard_normal((n, d)), np.arange(n) % 4, C=1.0), 32)

    assert pool(200, 60).rows is not None
    assert pool(3000, 60).rows is None
    assert pool(200, 40).rows is None


def test_metrics_lose_the_smallest_eigenvalues_up_to_a_share_of_all():
    Q, values = np.linalg.qr(np.random.default_rng(5).standard_normal((6, 6)))[0], [4.0, 3.0, 2.0, 0.6, 0.3, 0.1]
    for share, kept in ((0.0, 6), (0.039, 5), (0.041, 4), (0.2, 3), (0.95, 1)):
        trimmed = _of_low_rank(cm.cones.PSDCone(6), (Q * values) @ Q.T, share)
        np.testing.assert_allclose(trimmed, (Q[:, :kept] * values[:kept]) @ Q[:, :kept].T, atol=1e-12)
    assert not _of_low_rank(cm.cones.PSDCone(6), np.zeros((6, 6)), 0.1).any()
