"""Work that a solve does once: calls are counted."""

from collections import Counter

import numpy as np
import pytest
from samples import random_triplets

import convexmetric as cm
from convexmetric.certificates import certificate
from convexmetric.comparisons import Triplets, points
from convexmetric.cones import PSDCone
from convexmetric.risks import PairwiseRisk, RankingRisk
from convexmetric.solvers import CuttingPlanes
from convexmetric.solvers.numerics import interior_point
from convexmetric.solvers.numerics.qp import ConicQP
from convexmetric.solvers.pairwise.kinks import Kinks
from convexmetric.solvers.routes import ROUTES, Candidates


@pytest.fixture
def counted(monkeypatch):
    """Counts the calls of methods and functions."""
    calls = Counter()

    def count(owner, name):
        plain = getattr(owner, name)

        def counting(*arguments, **options):
            calls[name] += 1
            return plain(*arguments, **options)

        monkeypatch.setattr(owner, name, counting)

    return calls, count


def wine():
    data = cm.datasets.load("wine")
    return cm.datasets.preprocess(data.X, ["zscore"]), data.y


def test_points_are_converted_where_the_newton_system_needs_coordinates(counted):
    calls, count = counted
    problem = cm.RankingProblem.from_labels(*wine(), measure="map", C=100.0)
    for owner, name in (
        (PSDCone, "coordinates"),
        (PSDCone, "from_coordinates"),
        (interior_point, "_step"),
        (RankingRisk, "separate"),
        (RankingRisk, "value"),
    ):
        count(owner, name)
    solution = cm.solve(problem, solver="cutting-planes")
    assert solution.gap <= 1e-6
    steps, passes = calls["_step"], calls["separate"]
    assert steps > 50
    # The rows and two right-hand sides of a step; two solutions.
    assert calls["coordinates"] <= 3 * steps + 6 * passes
    assert calls["from_coordinates"] <= 2 * steps + 5 * passes
    # The bound of the end is certified by one pass; none asks whether margins are hard.
    assert calls["value"] <= 1


def test_masters_do_not_ask_for_the_points_of_every_step(monkeypatch):
    asked = Counter()

    steps = interior_point.interior_points

    def watched(qp, tol, **options):
        for found in steps(qp, tol, **options):
            asked["steps"] += 1
            yield lambda found=found: asked.update(points=1) or found()

    monkeypatch.setattr(interior_point, "interior_points", watched)
    problem = cm.RankingProblem.from_labels(*wine(), C=1.0)
    cm.solve(problem, solver="cutting-planes")
    assert asked["steps"] > 10
    # Those of the last step are the outcome.
    assert asked["points"] < 0.5 * asked["steps"]


def test_what_a_watcher_sees_is_the_outcome():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 3))
    problem = cm.RelativeComparisonProblem(X, random_triplets(rng, 20, 30))
    rows = problem.risk.comparisons.rows
    qp = ConicQP(problem, rows, np.ones(30), np.arange(30), np.ones(30))
    outcome = interior_point.interior_point(qp, 1e-8)
    seen = [found() for found in interior_point.interior_points(qp, 1e-8)]
    assert [best.iterations for best in seen] == list(range(outcome.iterations + 1))
    np.testing.assert_array_equal(seen[-1].U, outcome.U)
    np.testing.assert_array_equal(seen[-1].a, outcome.a)
    assert (seen[-1].upper_bound, seen[-1].lower_bound) == (outcome.upper_bound, outcome.lower_bound)


@pytest.mark.parametrize("C", [1.0, np.inf])
def test_whether_margins_are_hard_is_said_and_not_tried(C, monkeypatch):
    rng = np.random.default_rng(0)
    X, M = rng.standard_normal((20, 3)), np.array([1.0, 2.0, 3.0])
    triplets = random_triplets(rng, 20, 15)
    i, j, k = triplets.T
    turned = (((X[i] - X[k]) ** 2 - (X[i] - X[j]) ** 2) @ M) < 0.0
    triplets[turned] = triplets[turned][:, [0, 2, 1]]
    problem = cm.RelativeComparisonProblem(X, triplets, C=C)
    risk = problem.risk
    assert risk.hard == np.isinf(C) == (risk.value(problem.cone.zeros()) == np.inf)
    monkeypatch.setattr(type(risk), "value", lambda *_: pytest.fail("a pass over the data"))
    assert (CuttingPlanes().unsupported(problem) is None) == np.isfinite(C)


def pair_margin(X, y):
    return cm.PairMarginProblem.from_labels(X, y, n_pairs=50, random_state=0)


@pytest.mark.parametrize(
    "make",
    [
        cm.RankingProblem.from_labels,
        lambda X, y: cm.RankingProblem.from_labels(X, y).with_queries(np.arange(9)),
        cm.TripletProblem.from_labels,
        lambda X, y: cm.RelativeComparisonProblem(X, [[0, 1, 100]]),
        pair_margin,
        cm.PairMarginProblem.from_labels,
    ],
)
def test_points_are_looked_at_once(make, counted):
    calls, count = counted
    count(points, "real_array")
    make(*wine())
    assert calls["real_array"] == 1


@pytest.mark.parametrize("own_queries", [False, True])
def test_the_pattern_of_a_laplacian_is_made_once(own_queries, counted):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12, 3))
    queries = rng.standard_normal((12, 3)) if own_queries else None
    rankings = cm.RankingProblem(X, np.roll(np.eye(12), 1, axis=1), queries=queries).rankings
    assert (rankings.Q is rankings.X) != own_queries
    sample = np.array([[0, 1, 3], [0, 1, 4], [0, 2, 3], [1, 4, 8], [2, 7, 9], [2, 1, 9], [0, 1, 3]])
    kinks = Kinks(PairwiseRisk(rankings, np.ones(12), 1.0), sample, np.ones(len(sample)))
    calls, count = counted
    count(np, "unique")
    for _ in range(4):
        u = rng.standard_normal(len(sample))
        expected = np.zeros((3, 3))
        for weight, (q, near, far) in zip(u, sample, strict=True):
            a = rankings.Q[q]
            expected += weight * np.outer(a - rankings.X[far], a - rankings.X[far])
            expected -= weight * np.outer(a - rankings.X[near], a - rankings.X[near])
        np.testing.assert_allclose(kinks.adjoint(u), expected, rtol=0.0, atol=1e-12)
    assert calls["unique"] == 1


def test_a_solver_is_prepared_once(monkeypatch):
    prepared = []
    for solver in {type(route.solver) for route in ROUTES}:

        def counted(self, problem, prepare=solver.prepare):
            prepared.append(self.name)
            return prepare(self, problem)

        monkeypatch.setattr(solver, "prepare", counted)
    solution = cm.solve(cm.load_problem("ranking-map-wine-c100"), tol=1e-2)
    assert solution.status == "optimal"
    names = [route.solver.name for route in ROUTES]
    # The last resort is not prepared where there is another.
    assert sorted(prepared) == sorted(names[:-1])
    assert [turn.solver for turn in solution.turns] == ["cutting-planes"]
    found = Candidates(cm.load_problem("relative-wine-1000"), ROUTES)
    prepared.clear()
    assert next(iter(found)).run is next(iter(found)).run is not None
    assert prepared == ["augmented-lagrangian"]
    assert [candidate.route for candidate in found] == [candidate.route for candidate in found] == list(ROUTES)
    assert prepared == names[:-1]


def test_one_inner_plane_serves_a_solve_by_interior_points(counted):
    calls, count = counted
    problem = cm.load_problem("blocks-linear-held-iris")
    count(type(problem), "inner_plane")
    solution = cm.solve(problem, solver="interior-point")
    assert solution.status == "optimal"
    assert solution.iterations > 10
    # One for the solve, and those of its certificate.
    assert 1 <= calls["inner_plane"] <= 5


def test_dual_ascent_on_listed_triplets_looks_early_and_sorts_no_multipliers(counted):
    calls, count = counted
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 5))
    triplets = random_triplets(rng, 60, 400)
    near, far = (((X[triplets[:, 0]] - X[triplets[:, k]])[:, :2] ** 2).sum(axis=1) for k in (1, 2))
    triplets[near > far] = triplets[near > far][:, [0, 2, 1]]
    problem = cm.TripletProblem(X, triplets, reg=1.0)
    best = cm.solve(problem, 1e-6)
    # Multipliers of a list that are bounded by the risk of its lists must be sorted, query by query.
    count(PairwiseRisk, "minorant")
    count(Triplets, "adjoint")
    coarse = cm.solve(problem, 0.1, solver="dual-ascent")
    assert coarse.status == "optimal"
    assert coarse.lower_bound <= best.upper_bound <= coarse.upper_bound * (1.0 + 1e-9)
    assert calls["minorant"] == 0
    # Three for the start and its look, one a step, two for the look after five steps.
    assert 3 < calls["adjoint"] <= 12
    fine = cm.solve(problem, 1e-4, solver="dual-ascent")
    assert fine.status == "optimal"
    assert calls["adjoint"] > 40


@pytest.mark.parametrize("measure", ["auc", "map"])
def test_a_certificate_asks_for_slopes_only_where_rounding_counts(counted, monkeypatch, measure):
    calls, count = counted
    problem = cm.RankingProblem.from_labels(*wine(), measure=measure, C=100.0)
    solution = cm.solve(problem, 1e-3)
    count(RankingRisk, "lipschitz_near")
    quick = cm.certify(problem, solution.M, solution.certificate.dual)
    assert calls["lipschitz_near"] == 0
    monkeypatch.setattr(certificate, "NEGLIGIBLE", 0.0)
    thorough = cm.certify(problem, solution.M, solution.certificate.dual)
    assert calls["lipschitz_near"] == 1
    assert quick.lower_bound == thorough.lower_bound
    assert 0.0 <= quick.upper_bound - thorough.upper_bound <= 1e-10 * quick.upper_bound
