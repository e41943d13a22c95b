"""The master of metrics near a prior: its quadratic program, its bounds, and what it is good for."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import some

import convexmetric as cm
from convexmetric.comparisons import Rankings, Relevance
from convexmetric.cones import AllMatrices, Symmetric
from convexmetric.errors import UnsupportedProblemError
from convexmetric.measures import AUC, AveragePrecision
from convexmetric.regularizers import SquaredDistance, SquaredFrobenius, Zero
from convexmetric.risks import RankingRisk
from convexmetric.solvers.cuts import CuttingPlanes, cutting_planes, dual_masters, master
from convexmetric.solvers.cuts.conic_master import ConicMaster
from convexmetric.solvers.cuts.dual_masters import DualMaster, near_a_prior, simplex_qp


def ranked(d=50, n=60, queries=12, measure="map", C=100.0, prior="identity", seed=0):
    rng = np.random.default_rng(seed)
    X, Q = rng.normal(size=(n, d)) / np.sqrt(d), rng.normal(size=(queries, d)) / np.sqrt(d)
    relevant = [rng.choice(n, 5, replace=False) for _ in range(queries)]
    return cm.RankingProblem(
        X, relevant, irrelevant=None, queries=Q, measure=measure, C=C, penalty="squared-frobenius", prior=prior
    )


@given(st.integers(0, 2**20), st.integers(1, 12), st.integers(1, 4), st.sampled_from([1e-6, 1.0, 1e6]))
def test_the_quadratic_program_over_simplices(seed, k, n_groups, scale):
    rng = np.random.default_rng(seed)
    group = rng.integers(n_groups, size=k)
    root = rng.normal(size=(k, rng.integers(1, k + 1)))
    H, c, C = scale * root @ root.T, scale * rng.normal(size=k), rng.uniform(0.1, 2.0, n_groups)
    x = simplex_qp(H, c, group, C)
    assert x.min() >= 0.0
    assert (np.bincount(group, x, n_groups) <= C * (1.0 + 1e-14)).all()
    # Optimal if no feasible point is better by the slope, which the best vertex of each simplex tells.
    slope = c - H @ x
    best = np.zeros(n_groups)
    np.maximum.at(best, group, slope)
    assert best @ C - slope @ x <= 1e-7 * scale * (1.0 + np.abs(c).sum() / scale)


@pytest.mark.parametrize("seed", range(4))
def test_the_master_is_that_of_a_conic_solver(monkeypatch, seed):
    monkeypatch.setattr(master, "SUBSPACE_FROM", 2)
    rng = np.random.default_rng(seed)
    d, k, n_groups = 6, 9, 3
    root = rng.normal(size=(d, d))
    problem = ranked(d, queries=3).without_constant()
    problem.regularizer, problem.G = SquaredFrobenius(0.7), -(root @ root.T)
    normals = rng.normal(size=(k, d, d))
    normals = (normals + normals.transpose(0, 2, 1)).reshape(k, -1)
    offsets, group, C = rng.normal(size=k), np.arange(k) % n_groups, np.ones(n_groups)
    ours = DualMaster(problem).solve(normals, offsets, group, C, 1e-9, lambda: False)
    conic = ConicMaster(problem).solve(normals, offsets, group, C, 1e-9, lambda: False)
    assert ours.upper_bound == pytest.approx(conic.upper_bound, rel=1e-6, abs=1e-6)
    assert ours.upper_bound - 1e-8 * abs(ours.upper_bound) <= conic.upper_bound + 1e-6 * abs(conic.upper_bound)
    assert ours.upper_bound - ours.lower_bound <= 1e-8 * max(1.0, abs(ours.upper_bound)) + max(0.0, -ours.lower_bound)
    np.testing.assert_allclose(ours.M, conic.M, atol=1e-4)
    assert np.linalg.eigvalsh(ours.M)[0] >= -1e-12


def test_cuts_in_hand_twice_have_the_weight_of_one():
    problem = ranked().without_constant()
    M = 1.1 * np.eye(50)
    groups = np.arange(12) % 4
    cuts = problem.risk.separate(M, groups)
    rows = master.master_rows(problem.cone, cuts.normals)
    one = DualMaster(problem)
    once = one.solve(rows, cuts.offsets, np.arange(4), np.ones(4), 1e-10, lambda: False)
    twice = one.solve(
        np.vstack([rows, rows]), np.tile(cuts.offsets, 2), np.tile(np.arange(4), 2), np.ones(4), 1e-10, lambda: False
    )
    assert np.bincount(np.tile(np.arange(4), 2), twice.a).max() <= 1.0 + 1e-12
    assert twice.lower_bound == pytest.approx(once.lower_bound, rel=1e-8)


@pytest.mark.parametrize("measure", ["map", "ndcg-log2", "auc"])
@pytest.mark.parametrize("C", some([1.0, 100.0, 1e3], 1))
def test_rankings_near_the_identity_are_solved(measure, C):
    problem = ranked(measure=measure, C=C)
    assert near_a_prior(problem.without_constant())
    solution = cm.solve(problem, 1e-3, solver="cutting-planes", max_iter=150)
    assert solution.status == "optimal"
    assert solution.gap <= 1e-3


def test_it_agrees_with_a_conic_master(monkeypatch):
    monkeypatch.setattr(master, "SUBSPACE_FROM", 8)
    problem = ranked(d=8, queries=6, C=300.0)
    ours = cm.solve(problem, 1e-4, solver="cutting-planes")
    monkeypatch.setattr(cutting_planes, "_master", lambda problem, again=False: ConicMaster(problem))
    other = cm.solve(problem, 1e-3, solver=CuttingPlanes(groups=6), max_iter=40)
    assert ours.gap <= 1e-4
    assert other.gap <= 1e-3
    assert max(ours.lower_bound, other.lower_bound) <= min(ours.upper_bound, other.upper_bound)


def test_it_is_for_metrics_near_a_prior_of_high_rank():
    assert not near_a_prior(ranked(d=20).without_constant())
    low = np.zeros((50, 50))
    low[0, 0] = 1.0
    assert not near_a_prior(ranked(prior=low).without_constant())
    without = cm.RankingProblem.from_labels(np.random.default_rng(0).normal(size=(40, 50)), np.arange(40) % 2)
    assert not near_a_prior(without)


def test_far_from_the_prior_another_master_takes_over(monkeypatch):
    # Random judgements of few features: the metric that ranks as they say is far from the identity.
    monkeypatch.setattr(master, "SUBSPACE_FROM", 8)
    problem = ranked(d=8, queries=12, C=1e6)
    handed = []
    solve = DualMaster.solve

    def watched(self, *given):
        outcome = solve(self, *given)
        handed.append(self.successor is not None)
        return outcome

    monkeypatch.setattr(DualMaster, "solve", watched)
    monkeypatch.setattr(dual_masters, "STEPS", 3)
    solution = cm.solve(problem, 1e-4, solver="cutting-planes")
    assert any(handed)
    # Once it has, it stays so.
    assert handed == sorted(handed)
    assert solution.gap <= 1e-4
    monkeypatch.setattr(cutting_planes, "near_a_prior", lambda problem: False)
    assert solution.upper_bound >= cm.solve(problem, 1e-4, solver="cutting-planes").lower_bound * (1.0 - 1e-9)


@pytest.mark.parametrize("space", [AllMatrices(5), AllMatrices(3, 8), Symmetric(5)])
@pytest.mark.parametrize("linear", [False, True])
def test_without_a_cone_the_first_program_is_exact(space, linear):
    rng = np.random.default_rng(0)
    d, k = space.shape
    rankings = Rankings(
        rng.normal(size=(20, k)),
        rng.normal(size=(6, d)),
        Relevance.from_lists([[0, 1]] * 6, [[2, 3, 4]] * 6, 6, 20),
        space,
    )
    problem = cm.MetricProblem(RankingRisk(rankings, AUC(), 3.0), SquaredFrobenius(0.7))
    problem.G = -space.identity() if linear else None
    cuts = [problem.risk.separate(space.from_coordinates(rng.normal(size=space.size)), np.arange(6)) for _ in range(3)]
    normals = np.vstack([space.from_coordinates(cut.normals).reshape(6, -1) for cut in cuts])
    offsets, group, C = np.concatenate([cut.offsets for cut in cuts]), np.tile(np.arange(6), 3), np.ones(6)
    start = DualMaster(problem).start()
    np.testing.assert_allclose(start, space.identity() / 0.7 if linear else space.zeros(), atol=1e-15)
    ours = DualMaster(problem).solve(normals, offsets, group, C, 1e-9, lambda: False)
    W, xi = space.variable("W")[0], cp.Variable(6, nonneg=True)
    planes = [offsets[t] - cp.sum(cp.multiply(normals[t].reshape(d, k), W)) <= xi[group[t]] for t in range(18)]
    cost = cp.sum(xi) + 0.35 * cp.sum_squares(W) - (cp.sum(cp.multiply(np.eye(d, k), W)) if linear else 0.0)
    optimum = cp.Problem(cp.Minimize(cost), planes).solve(solver="CLARABEL")
    assert ours.upper_bound == pytest.approx(optimum, rel=1e-6, abs=1e-8)
    assert ours.lower_bound == pytest.approx(optimum, rel=1e-6, abs=1e-8)
    np.testing.assert_allclose(ours.M, W.value, atol=1e-5)
    assert ours.iterations <= 3


@pytest.mark.parametrize("measure", [AUC(), AveragePrecision()])
def test_rankings_by_similarities_near_a_matrix_are_solved(measure):
    rng, space = np.random.default_rng(1), AllMatrices(4, 6)
    lists = [rng.permutation(15)[:6] for _ in range(10)]
    relevance = Relevance.from_lists([one[:2] for one in lists], [one[2:] for one in lists], 10, 15)
    rankings = Rankings(rng.normal(size=(15, 6)), rng.normal(size=(10, 4)), relevance, space)
    problem = cm.MetricProblem(RankingRisk(rankings, measure, 3.0), SquaredDistance(0.5, space.identity()))
    solution = cm.solve(problem, tol=1e-6, solver="cutting-planes")
    assert solution.status == "optimal"
    with pytest.raises(UnsupportedProblemError, match="only a linear penalty holds them"):
        cm.solve(cm.MetricProblem(problem.risk, Zero()), solver="cutting-planes")
