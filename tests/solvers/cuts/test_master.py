"""Masters solved in a subspace have the value of the whole one."""

import numpy as np
import pytest
from samples import random_metric

import convexmetric as cm
from convexmetric.regularizers import SquaredFrobenius, Trace
from convexmetric.solvers.cuts import master as module
from convexmetric.solvers.cuts.master import Master, master_rows


def cuts(problem, rng, count, groups):
    """Supporting planes at random metrics, as a master takes them."""
    made = [problem.risk.separate(random_metric(rng, problem.cone), groups) for _ in range(count)]
    return np.concatenate([c.normals for c in made]), np.concatenate([c.offsets for c in made])


@pytest.mark.parametrize("regularizer", [Trace(1.0), SquaredFrobenius(0.3)])
@pytest.mark.parametrize("linear", [False, True])
def test_the_subspace_ends_at_the_same_value(monkeypatch, regularizer, linear):
    rng = np.random.default_rng(0)
    d, y = 20, np.repeat([0, 1, 2], 10)
    X = rng.standard_normal((30, d))
    X[:, :3] += 2.0 * np.eye(3)[y]
    ranking = cm.RankingProblem.from_labels(X, y, C=20.0).risk
    problem = cm.MetricProblem(ranking, regularizer, G=0.1 * random_metric(rng, ranking.cone) if linear else None)
    groups = np.arange(30) % 4
    normals, offsets = cuts(problem, rng, 6, groups)
    group, C = np.tile(np.arange(4), 6), np.ones(4)

    def solved():
        master = Master(problem)
        assert (master.subspace is not None) == (d >= module.SUBSPACE_FROM)
        return master.solve(master_rows(problem.cone, normals), offsets, group, C, 1e-7, lambda: False)

    whole = solved()
    monkeypatch.setattr(module, "SUBSPACE_FROM", 5)
    monkeypatch.setattr(module, "FIRST", 2)
    monkeypatch.setattr(module, "JOINING", 2)
    monkeypatch.setattr(module, "ROUNDS", 40)
    reduced = solved()
    assert whole.gap <= 1e-7
    assert reduced.gap <= 1e-6
    assert reduced.upper_bound == pytest.approx(whole.upper_bound, rel=1e-6)
    assert problem.cone.violation(reduced.M) <= 1e-12
    S = problem.cone.from_coordinates(normals.T @ reduced.a)
    assert problem.bound(float(offsets @ reduced.a), S, reduced.M) == pytest.approx(reduced.lower_bound, rel=1e-9)


def test_both_ways_solve_the_same_problem(monkeypatch):
    digits = cm.datasets.load("digits")
    rows = np.arange(0, 1797, 12)
    problem = cm.RankingProblem.from_labels(digits.X[rows] / 16.0, digits.y[rows], C=5.0)
    monkeypatch.setattr(module, "SUBSPACE_FROM", 1000)
    whole = cm.solve(problem, tol=1e-3, solver="cutting-planes")
    monkeypatch.setattr(module, "SUBSPACE_FROM", 5)
    reduced = cm.solve(problem, tol=1e-3, solver="cutting-planes")
    for one, other in ((whole, reduced), (reduced, whole)):
        assert one.lower_bound <= other.upper_bound
        assert one.gap <= 1e-3
