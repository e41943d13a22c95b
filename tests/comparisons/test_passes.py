"""Passes in other array libraries: they are those in NumPy, and what is certified is certified in NumPy."""

import numpy as np
import pytest
import scipy.sparse as sp
from samples import random_lists, random_metric

import convexmetric as cm
from convexmetric.comparisons import Rankings, Relevance, passes
from convexmetric.comparisons.passes import Passes, in_numpy, numpy_array
from convexmetric.comparisons.rankings import passes_of, sides_of
from convexmetric.cones import PSDCone
from convexmetric.risks import PairwiseRisk
from convexmetric.risks.logistic_ranking import LogisticRankingRisk

pytest.importorskip("array_api_compat")


@pytest.fixture(autouse=True)
def _no_host(monkeypatch):
    """Points in the host's memory count as on an accelerator."""
    monkeypatch.setattr(passes, "HOST", None)


def in_torch(X, dtype="float64", device="cpu"):
    torch = pytest.importorskip("torch")
    return torch.asarray(X, dtype=getattr(torch, dtype), device=device)


def in_jax(X, dtype="float64"):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    return jax.numpy.asarray(X, dtype=dtype)


def in_strict(X, dtype="float64"):
    strict = pytest.importorskip("array_api_strict")
    return strict.asarray(X, dtype=getattr(strict, dtype))


def on_gpu(X, dtype="float64"):
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no GPU is at hand")
    return in_torch(X, dtype, "cuda")


LIBRARIES = [in_torch, in_jax, in_strict, pytest.param(on_gpu, marks=pytest.mark.gpu)]


def points(seed=0, n=90, d=7):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, n)
    return rng.normal(size=(n, d)) + 0.7 * rng.normal(size=(4, d))[y], y


def close(a, b):
    """Equal but for the last digits, on the scale of the whole array."""
    assert np.shape(a) == np.shape(b)
    assert np.abs(np.asarray(a) - np.asarray(b)).max() <= 1e-12 * np.abs(b).max()


@pytest.mark.parametrize("library", [np.asarray, *LIBRARIES])
@pytest.mark.parametrize("seed", range(3))
def test_hinges_and_adjoint_are_sums_over_all_pairs(library, seed):
    rng = np.random.default_rng(seed)
    X, Q = rng.normal(size=(12, 4)), rng.normal(size=(5, 4))
    M, rows = random_metric(rng, PSDCone(4)), np.array([4, 0, 2])
    sides = rng.integers(-2, 3, (3, 12)).astype(np.int16)
    made = Passes(library(X), library(Q))
    T, sums, counts = made.hinges(made.distances(made.images(M), rows), sides, 0.5)
    S = made.adjoint(T, rows)
    weights, wanted = np.zeros((3, 12)), np.zeros((4, 4))
    for a, q in enumerate(Q[rows]):
        total, active = 0.0, 0
        for i in np.flatnonzero(sides[a] > 0):
            for j in np.flatnonzero(sides[a] < 0):
                near, far = q - X[i], q - X[j]
                hinge, often = 0.5 - (far @ M @ far - near @ M @ near), sides[a, i] * -sides[a, j]
                if hinge > 0.0:
                    total, active = total + often * hinge, active + often
                    weights[a, [i, j]] += [-often, often]
                    wanted += often * (np.outer(far, far) - np.outer(near, near))
        assert sums[a] == pytest.approx(total, rel=1e-12)
        assert counts[a] == active
    assert np.array_equal(numpy_array(T), weights)
    close(S, wanted)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("measure", ["auc", "map", "mrr", "precision"])
def test_planes_of_rankings_are_those_in_numpy(library, measure):
    X, y = points()
    given = cm.RankingProblem.from_labels(library(X), y, measure=measure, C=3.0)
    plain = cm.RankingProblem.from_labels(X, y, measure=measure, C=3.0)
    assert passes_of(given.rankings) is not None
    assert passes_of(plain.rankings) is None
    for seed in range(3):
        M, groups = random_metric(np.random.default_rng(seed), PSDCone(7)), np.arange(len(X)) % 5
        ours, theirs = given.risk.separate(M, groups), plain.risk.separate(M, groups)
        for name in ("values", "offsets", "normals", "weights"):
            close(getattr(ours, name), getattr(theirs, name))
        assert given.risk.value(M) == pytest.approx(plain.risk.value(M), rel=1e-12)


@pytest.mark.parametrize("library", LIBRARIES)
def test_lists_of_queries_of_their_own(library):
    rng = np.random.default_rng(5)
    X, Q = rng.normal(size=(20, 4)), rng.normal(size=(6, 4))
    relevance = Relevance.from_lists(*random_lists(rng, 6, 20), 6, 20)
    weights, M = rng.random(6), random_metric(rng, PSDCone(4))
    risks = [PairwiseRisk(Rankings(x, Q, relevance, PSDCone(4)), weights, 0.7) for x in (library(X), X)]
    ours, theirs = (risk.separate(M, np.array([0, 1, 0, 1, 2, 2])) for risk in risks)
    close(ours.offsets, theirs.offsets)
    close(ours.normals, theirs.normals)
    some = [risk.subset(np.array([4, 1])).part_values(M) for risk in risks]
    close(*some)
    listed = [risk.listing(relevance).value(M) for risk in risks]
    assert listed[0] == listed[1]


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("solver", ["cutting-planes", None])
def test_a_solve_ends_with_bounds_that_numpy_certifies(library, solver):
    X, y = points(1)
    given = cm.RankingProblem.from_labels(library(X), y, C=2.0)
    plain = cm.RankingProblem.from_labels(X, y, C=2.0)
    found = cm.solve(given, tol=1e-3, solver=solver)
    assert found.gap <= 1e-3
    anew = cm.certify(plain, found.M, found.certificate.dual)
    assert anew.lower_bound == pytest.approx(found.lower_bound, rel=1e-12)
    assert anew.upper_bound == pytest.approx(found.upper_bound, rel=1e-12)
    same = cm.certify(given, found.M, found.certificate.dual)
    assert (same.lower_bound, same.upper_bound) == (anew.lower_bound, anew.upper_bound)


@pytest.mark.parametrize("library", LIBRARIES)
def test_triplets_of_labels(library):
    X, y = points(2, 40, 5)
    given = cm.TripletProblem.from_labels(library(X), y, n_same=None, n_other=None)
    plain = cm.TripletProblem.from_labels(X, y, n_same=None, n_other=None)
    assert passes_of(given.rankings) is not None
    M = random_metric(np.random.default_rng(0), PSDCone(5))
    assert given.objective(M) == pytest.approx(plain.objective(M), rel=1e-12)


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_metric_found_in_single_precision_is_certified_in_numpy(library):
    """Subgradient steps with passes in single precision: a hint, whose bounds are those of float64."""
    X, y = points(3)
    problem = cm.RankingProblem.from_labels(X, y, C=20.0)
    rankings, cone = problem.rankings, problem.cone
    single = Passes(*[library(rankings.X, "float32")] * 2)
    every, sides = np.arange(len(X)), sides_of(rankings, np.arange(len(X)))
    weights = problem.ranking_risk.pairs.weights
    M = cone.zeros()
    for step in range(1, 60):
        T, _, _ = single.hinges(single.distances(single.images(M), every), sides, 0.5)
        S = single.adjoint(T * single.array(weights)[:, None], every)
        M = cone.project(M + 0.002 / np.sqrt(step) * (S.astype(np.float64) - np.eye(7)))
    certificate = cm.certify(problem, M, problem.risk.own_duals(M)[1])
    best = cm.solve(problem, tol=1e-6)
    assert certificate.lower_bound <= best.upper_bound
    assert best.lower_bound <= certificate.upper_bound < problem.objective(cone.zeros())


def test_points_in_single_precision_have_passes_in_double():
    X, y = points()
    X = X.astype(np.float32)
    given = cm.RankingProblem.from_labels(in_torch(X, "float32"), y)
    plain = cm.RankingProblem.from_labels(X, y)
    M = random_metric(np.random.default_rng(0), PSDCone(7))
    assert passes_of(given.rankings) is not None
    assert given.risk.value(M) == pytest.approx(plain.risk.value(M), rel=1e-12)


def test_passes_are_numpys_inside_the_context_and_under_other_metrics():
    X, y = points()
    problem = cm.RankingProblem.from_labels(in_torch(X), y)
    with in_numpy():
        assert passes_of(problem.rankings) is None
    assert passes_of(problem.rankings) is not None
    assert passes_of(cm.RankingProblem.from_labels(in_torch(X), y, diagonal=True).rankings) is None
    assert isinstance(problem.rankings.X, np.ndarray)
    T = sp.csr_array(([1.0, -1.0], ([0, 0], [1, 2])), shape=(1, len(X)))
    close(problem.rankings.adjoint(T, np.array([3])), problem.rankings.adjoint(T.toarray(), np.array([3])))


@pytest.mark.parametrize("library", LIBRARIES[:-1])
def test_points_in_the_memory_of_the_host_have_passes_in_numpy(library, monkeypatch):
    monkeypatch.setattr(passes, "HOST", 1)
    X, y = points()
    assert passes_of(cm.RankingProblem.from_labels(library(X), y).rankings) is None


@pytest.mark.parametrize("library", LIBRARIES)
def test_second_derivatives_of_logistic_losses(library):
    """Their passes are under factors of metrics, and in NumPy; those over the metric are where the points are."""
    X, y = points(4, 40, 5)
    relevance = Relevance.from_labels(y)
    risks = [LogisticRankingRisk(Rankings(x, x, relevance, PSDCone(5)), 0.3) for x in (library(X), X)]
    rng = np.random.default_rng(0)
    M, B, E = random_metric(rng, PSDCone(5)), rng.normal(size=(3, 5)), rng.normal(size=(3, 5))
    ours, theirs = (risk.tangent(M)[1].S for risk in risks)
    close(ours, theirs)
    close(*[risk.second_derivative(M)(np.eye(5)) for risk in risks])
    close(*[risk.second_along(B)(E) for risk in risks])
