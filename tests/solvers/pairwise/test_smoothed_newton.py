"""The direct way to the optimum of AUC agrees with cutting planes, and its dual points cannot be forged."""

import warnings

import numpy as np
import pytest
from samples import random_lists, random_metric

import convexmetric as cm
from convexmetric.cones import NonnegativeDiagonal
from convexmetric.errors import DualError, GapWarning
from convexmetric.risks import PairwiseRisk, SmoothedPairs
from convexmetric.solvers import SmoothedNewton
from convexmetric.solvers.pairwise.smoothed_newton import LEAST_SAMPLE


def labels(diagonal=False, C=30.0):
    data = cm.datasets.load("wine")
    X = cm.datasets.preprocess(data.X, ["zscore"])[::3, :6]
    return cm.RankingProblem.from_labels(X, data.y[::3], C=C, diagonal=diagonal)


def lists(diagonal=False, seed=0, C=60.0):
    rng = np.random.default_rng(seed)
    X, Q = rng.normal(size=(40, 4)), rng.normal(size=(15, 4))
    return cm.RankingProblem(X, *random_lists(rng, 15, 40), queries=Q, C=C, diagonal=diagonal)


PROBLEMS = {
    "labels": labels,
    "labels, diagonal": lambda: labels(True),
    "labels, large C": lambda: labels(C=1e4),
    "labels, small C": lambda: labels(C=0.5),
    "lists": lists,
    "lists, diagonal": lambda: lists(True),
    "lists, large C": lambda: lists(seed=1, C=1e3),
}


@pytest.mark.parametrize(("scale", "C"), [(1e-6, 1.0), (1e-6, 1e8), (1.0, 1e-6), (1.0, 1e-2)])
def test_where_no_metric_gains_anything_one_pass_proves_it(scale, C):
    data = cm.datasets.load("wine")
    problem = cm.RankingProblem.from_labels(scale * cm.datasets.preprocess(data.X, ["zscore"]), data.y, C=C)
    solution = cm.solve(problem, tol=1e-12, solver="smoothed-newton")
    assert solution.iterations == 1
    assert solution.rank == 0
    assert solution.lower_bound == pytest.approx(C, rel=1e-12)


@pytest.mark.parametrize("name", list(PROBLEMS))
def test_both_ways_agree(name):
    problem = PROBLEMS[name]()
    with warnings.catch_warnings(action="ignore", category=GapWarning):
        direct = cm.solve(problem, solver=SmoothedNewton())
    planes = cm.solve(problem, solver="cutting-planes")
    # With a handful of pairs in all there are too few on the kink for a second derivative.
    assert direct.gap <= (1e-2 if "lists" in name else 1e-6)
    assert direct.lower_bound <= planes.upper_bound
    assert planes.lower_bound <= direct.upper_bound
    # Where the direct way stops early cuts go on from its metric.
    both = cm.solve(problem, solver=cm.solvers.Exact((SmoothedNewton(), cm.solvers.CuttingPlanes())))
    assert both.status == "optimal"
    assert both.lower_bound <= planes.upper_bound
    assert planes.lower_bound <= both.upper_bound


@pytest.mark.parametrize(
    ("data", "C", "optimum"),
    [("wine", 1.0, 0.234358), ("wine", 100.0, 4.42612), ("wine", 1e4, 361.1707), ("breast-cancer", 1.0, 0.299183)],
)
def test_known_optima_are_reached_without_cuts(data, C, optimum):
    dataset = cm.datasets.load(data)
    problem = cm.RankingProblem.from_labels(cm.datasets.preprocess(dataset.X, ["zscore"]), dataset.y, C=C)
    solution = cm.solve(problem, solver="smoothed-newton")
    assert solution.gap <= 1e-6
    assert solution.upper_bound == pytest.approx(optimum, rel=3e-6)
    again = cm.certify(problem, solution.certificate.M, solution.certificate.dual)
    assert again.lower_bound == pytest.approx(solution.lower_bound, rel=1e-10)


@pytest.mark.parametrize("name", list(PROBLEMS))
@pytest.mark.parametrize("dense", [True, False])
def test_the_smoothed_risk_is_that_of_all_pairs(name, dense):
    problem = PROBLEMS[name]()
    rankings = problem.rankings
    rankings.dense = dense
    rng = np.random.default_rng(3)
    for scale, width in ((0.1, 1.0), (1.0, 0.3), (5.0, 1e-3)):
        M = random_metric(rng, problem.cone, scale)
        here = problem.risk.pairs.smoothed(M, width / 2, stride=1.0, most=10**4)
        value = exact = total = kinks = 0.0
        gradient = problem.cone.zeros()
        full = np.diag(M) if isinstance(problem.cone, NonnegativeDiagonal) else M
        listed = []
        for q, point in enumerate(rankings.Q):
            relevant, irrelevant = rankings.relevance.of(q)
            weight = problem.C / len(rankings) / (len(relevant) * len(irrelevant))
            # Every pair by itself: relevant items in rows, irrelevant ones in columns.
            near, far = point - rankings.X[relevant], point - rankings.X[irrelevant]
            t = 1.0 - 2.0 * (((far @ full) * far).sum(axis=1) - ((near @ full) * near).sum(axis=1)[:, None])
            slope = np.clip(0.5 + t / width, 0.0, 1.0)
            curved = np.where(slope > 0, (t + width / 2) ** 2 / (2 * width), 0.0)
            value += weight * np.where(slope == 1, t, curved).sum()
            exact += weight * np.maximum(0.0, t).sum()
            total += weight * slope.sum()
            vectors = np.concatenate([np.tile(far, (len(near), 1)), np.repeat(near, len(far), axis=0)])
            gradient = gradient + 2 * weight * problem.cone.outer_sum(vectors, np.r_[slope.ravel(), -slope.ravel()])
            rows, columns = np.nonzero((slope > 0.0) & (slope < 1.0))
            kinks += len(rows)
            listed.append(np.column_stack([np.full(len(rows), q), relevant[rows], irrelevant[columns]]))
        assert here.value == pytest.approx(value, rel=1e-7, abs=1e-9)
        assert here.exact == pytest.approx(exact, rel=1e-10, abs=1e-12)
        assert here.exact == pytest.approx(problem.risk.value(M), rel=1e-10, abs=1e-12)
        assert here.point.value == pytest.approx(total, rel=1e-9)
        np.testing.assert_allclose(here.point.S, gradient, rtol=1e-6, atol=1e-8 * abs(gradient).max())
        # Both in the same order, whatever theirs: triples of indices, each pair once.
        found, expected = (rows[np.lexsort(rows.T)] for rows in (here.sample, np.concatenate(listed)))
        np.testing.assert_array_equal(found, expected)
        assert here.kinks == kinks


def test_the_sample_stands_for_all_pairs_on_the_kink():
    problem = labels()
    M = 0.3 * np.eye(6)
    whole = problem.risk.pairs.smoothed(M, 0.5, stride=1.0, most=10**5)
    thin = problem.risk.pairs.smoothed(M, 0.5, stride=5.0, most=10**5, seed=1)
    capped = problem.risk.pairs.smoothed(M, 0.5, stride=1.0, most=20, seed=2)
    assert len(thin.sample) == pytest.approx(len(whole.sample) / 5, rel=0.1)
    assert np.bincount(capped.sample[:, 0]).max() <= 20
    for other in (thin, capped):
        assert other.curvature.sum() == pytest.approx(whole.curvature.sum(), rel=0.1)


def test_smoothed_slopes_prove_a_bound_at_any_metric_and_width():
    problem = labels()
    optimum = cm.solve(problem, solver="cutting-planes").upper_bound
    rng = np.random.default_rng(4)
    for _ in range(40):
        M = rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(-3, 2) * random_metric(rng, problem.cone)
        dual = SmoothedPairs(M, 10.0 ** rng.uniform(-6, 3))
        assert problem.dual_bound(dual) <= optimum
    for bad in (
        SmoothedPairs(np.full((6, 6), np.nan), 1.0),
        SmoothedPairs(np.eye(6), 0.0),
        SmoothedPairs(np.eye(6), -1.0),
        SmoothedPairs(np.eye(6), np.nan),
    ):
        assert problem.dual_bound(bad) == -np.inf
    with pytest.raises(DualError, match=r"M must have shape \(6, 6\), got \(3, 3\)"):
        problem.dual_bound(SmoothedPairs(np.eye(3), 1.0))
    other = cm.RankingProblem.from_labels(problem.rankings.X, np.arange(60) % 2, measure="map")
    with pytest.raises(DualError, match="SmoothedPairs is for pairwise measures"):
        other.dual_bound(SmoothedPairs(np.eye(6), 1.0))


def test_limits_and_what_it_is_not_for():
    with pytest.warns(GapWarning):
        solution = cm.solve(labels(), solver="smoothed-newton", max_iter=4)
    assert solution.status == "max_iter"
    assert solution.lower_bound <= solution.upper_bound
    for problem in (
        cm.RankingProblem.from_labels(np.eye(8), np.arange(8) % 2, measure="map"),
        cm.RankingProblem.from_labels(np.eye(8), np.arange(8) % 2, penalty="squared-frobenius"),
        cm.RankingProblem.from_labels(np.eye(80), np.arange(80) % 2),
    ):
        with pytest.raises(cm.errors.UnsupportedProblemError):
            cm.solve(problem, solver="smoothed-newton")


def test_no_pass_lists_many_more_pairs_than_are_sampled(monkeypatch):
    passes, smoothed = [], PairwiseRisk.smoothed

    def watched(*arguments, **more):
        passes.append(smoothed(*arguments, **more))
        return passes[-1]

    monkeypatch.setattr(PairwiseRisk, "smoothed", watched)
    cm.solve(labels(), solver=SmoothedNewton(), tol=1e-3)
    assert max(here.kinks for here in passes) > 4 * LEAST_SAMPLE
    assert max(len(here.sample) for here in passes) < 2 * LEAST_SAMPLE
