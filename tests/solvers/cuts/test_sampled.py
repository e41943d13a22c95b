"""Cutting planes on a sample of the queries: the same optimum, valid bounds, few passes over all queries."""

from itertools import pairwise

import numpy as np
import pytest
from samples import some

import convexmetric as cm
from convexmetric.comparisons import Rankings, Relevance
from convexmetric.cones import NonnegativeDiagonal, PSDCone
from convexmetric.errors import GapWarning
from convexmetric.regularizers import SquaredFrobenius
from convexmetric.risks import PairwiseRisk
from convexmetric.solvers import Monitor
from convexmetric.solvers.cuts import sampled
from convexmetric.solvers.runtime import drive

SAMPLED = cm.solvers.SampledCuttingPlanes(least=60)


def labelled(n=400, d=4, classes=4, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    centres = rng.normal(size=(classes, d))
    return rng.normal(size=(n, d)) + centres[y], y


def listed_pairs(cone, reg):
    """A few positives and negatives each of 300 queries, of different weight."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, cone.d))
    lists = [rng.permutation(300)[:9] for _ in range(300)]
    near, far = zip(*[(rows[:3], rows[3:]) for rows in lists], strict=True)
    rankings = Rankings(X, X, Relevance.from_lists(list(near), list(far), 300, 300), cone)
    return cm.MetricProblem(PairwiseRisk(rankings, rng.uniform(0.5, 2.0, 300) / 300.0, 1.0), SquaredFrobenius(reg))


PROBLEMS = {
    "auc": cm.RankingProblem.from_labels(*labelled(), measure="auc", C=10.0),
    "map": cm.RankingProblem.from_labels(*labelled(), measure="map", C=10.0),
    "knn": cm.RankingProblem.from_labels(*labelled(), measure="knn", k=3, C=10.0),
    "diagonal": cm.RankingProblem.from_labels(*labelled(), measure="mrr", C=10.0, diagonal=True),
    "squared": cm.RankingProblem.from_labels(*labelled(), measure="auc", C=10.0, penalty="squared-frobenius"),
    "linear term": cm.MetricProblem(
        cm.RankingProblem.from_labels(*labelled(), measure="auc", C=10.0).risk,
        SquaredFrobenius(0.1),
        G=np.diag([1.0, 2.0, 0.5, 1.0]),
    ),
    "lists": listed_pairs(PSDCone(5), 0.05),
    "diagonal lists": listed_pairs(NonnegativeDiagonal(5), 0.05),
    "subspace": cm.RankingProblem.from_labels(*labelled(d=50), measure="auc", C=10.0),
}


@pytest.mark.parametrize("name", some(PROBLEMS, 2))
def test_the_same_optimum_as_without_samples(name):
    problem = PROBLEMS[name]
    sampled = cm.solve(problem, 1e-3, solver=cm.solvers.Exact(stages=(SAMPLED, cm.solvers.CuttingPlanes())))
    plain = cm.solve(problem, 1e-3, solver="cutting-planes")
    assert sampled.status == plain.status == "optimal"
    assert max(sampled.lower_bound, plain.lower_bound) <= min(sampled.upper_bound, plain.upper_bound)


@pytest.mark.parametrize("name", ["auc", "map", "squared", "diagonal lists"])
def test_what_it_leaves_is_certified_from_the_metric_and_the_dual_point_alone(name):
    problem = PROBLEMS[name]
    solution = cm.solve(problem, 0.02, solver=SAMPLED)
    again = cm.certify(problem, solution.M, solution.certificate.dual)
    assert again.upper_bound == pytest.approx(solution.upper_bound, rel=1e-9)
    assert again.lower_bound == pytest.approx(solution.lower_bound, rel=1e-7)
    assert len(solution.history) < len(cm.solve(problem, 0.02, solver="cutting-planes").history)


def test_a_sample_that_is_too_small_is_doubled_until_it_would_be_most_queries(monkeypatch):
    monkeypatch.setattr("convexmetric.solvers.cuts.sampled.PATIENCE", 1)
    monkeypatch.setattr("convexmetric.solvers.cuts.sampled.SLOW", 0.05)
    solver = cm.solvers.SampledCuttingPlanes(least=7)
    with pytest.warns(GapWarning):
        solution = cm.solve(PROBLEMS["map"], 1e-9, solver=solver)
    sizes = [progress.details["sample"] for progress in solution.history]
    assert sizes[0] < 15
    assert all(b == a or abs(b - 2 * a) <= 7 for a, b in pairwise(sizes))
    assert 2 * sizes[-1] > 0.3 * 400
    bounds = [progress.lower_bound for progress in solution.history]
    assert bounds == sorted(bounds)


def test_bounds_hold_whatever_time_there_is():
    problem = PROBLEMS["auc"]
    best = cm.solve(problem, 1e-5)
    for seconds in (1e-9, 0.02, 0.2):
        with pytest.warns(GapWarning):
            cut = cm.solve(problem, 1e-12, solver=SAMPLED, max_seconds=seconds)
        assert cut.lower_bound <= best.upper_bound
        assert cut.upper_bound >= best.lower_bound


def test_it_goes_on_from_a_metric_that_is_known():
    problem = PROBLEMS["auc"]
    known = cm.solve(problem, 1e-5, solver="cutting-planes")
    monitor = Monitor(1e-2, problem=problem)
    monitor.primal(known.M, problem.value(known.M))
    drive(SAMPLED.prepare(problem)(monitor), monitor)
    assert monitor.gap <= 1e-2
    unknown = cm.solve(problem, 1e-2, solver=SAMPLED).history
    assert len(monitor.history) <= len(unknown)
    assert monitor.history[-1].details["sampled_passes"] < unknown[-1].details["sampled_passes"]
    assert np.array_equal(monitor.M, known.M)


@pytest.mark.parametrize("name", ["auc", "squared"])
def test_cuts_of_the_sample_take_the_place_of_passes_over_all(name, monkeypatch):
    with_cuts = cm.solve(PROBLEMS[name], 1e-2, solver=SAMPLED)
    monkeypatch.setattr(sampled, "PRICE", 0.0)
    without = cm.solve(PROBLEMS[name], 1e-2, solver=SAMPLED)
    assert len(with_cuts.history) < len(without.history)
    assert with_cuts.lower_bound <= without.upper_bound
    assert without.lower_bound <= with_cuts.upper_bound


def test_an_optimum_of_zero():
    X, y = labelled()
    problem = cm.RankingProblem.from_labels(X, y, measure="auc", C=1e-6)
    solution = cm.solve(problem, solver=SAMPLED)
    assert solution.status == "optimal"
    assert len(solution.history) < 6


@pytest.mark.parametrize(
    ("problem", "reason"),
    [
        (cm.RankingProblem.from_labels(*labelled(60), measure="auc"), "too few queries for a sample of 60"),
        (PROBLEMS["auc"].subject_to(lambda M: [M[0, 0] <= 1.0]), "neither linear nor quadratic"),
        (cm.load_problem("relative-digits-2000"), "not a sum over the queries of rankings"),
    ],
)
def test_what_it_cannot_do_is_said(problem, reason):
    assert reason in SAMPLED.unsupported(problem)


@pytest.mark.parametrize("name", ["auc", "map", "lists", "diagonal lists"])
def test_risks_of_subsets_add_up(name):
    risk = PROBLEMS[name].risk
    rng = np.random.default_rng(3)
    M = risk.cone.project(
        0.3 * risk.cone.identity() + 0.1 * risk.cone.from_coordinates(rng.normal(size=risk.cone.size))
    )
    cut = rng.permutation(risk.parts)
    subsets = [risk.subset(parts, 2.0) for parts in np.split(cut, [50, 51, 170])]
    assert [part.parts for part in subsets] == [50, 1, 119, risk.parts - 170]
    assert sum(part.value(M) for part in subsets) == pytest.approx(2.0 * risk.value(M), rel=1e-12)
    np.testing.assert_allclose(
        np.concatenate([part.part_values(M) for part in subsets]),
        2.0 * risk.part_values(M)[cut],
        rtol=1e-12,
        atol=1e-15,
    )
    one = [part.separate(M, np.zeros(part.parts, dtype=np.int64)) for part in subsets]
    whole = risk.separate(M, np.zeros(risk.parts, dtype=np.int64))
    np.testing.assert_allclose(sum(cuts.normals for cuts in one), 2.0 * whole.normals, rtol=1e-10, atol=1e-13)
    assert sum(cuts.offsets[0] for cuts in one) == pytest.approx(2.0 * whole.offsets[0], rel=1e-12)


def test_the_default_takes_it_where_passes_are_long_and_masters_short():
    def names(rows, features):
        rng = np.random.default_rng(0)
        problem = cm.RankingProblem.from_labels(rng.normal(size=(rows, features)), np.arange(rows) % 3, measure="map")
        return [step.name for step in cm.explain(problem, measure=False).steps]

    assert names(2_500, 4) == ["sampled-cutting-planes", "cutting-planes"]
    assert names(2_400, 4) == ["cutting-planes"]
    assert names(5_100, 110) == ["cutting-planes"]


def test_queries_that_are_fewer_than_the_pieces_are_refused():
    few = cm.RankingProblem.from_labels(*labelled(n=40), measure="auc", C=10.0)
    with pytest.raises(cm.errors.UnsupportedProblemError, match="too few queries"):
        cm.solve(few, solver=cm.solvers.SampledCuttingPlanes(least=4))
