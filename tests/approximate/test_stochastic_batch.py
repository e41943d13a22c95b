"""Stochastic batches: their mean is the subgradient, they approach the certified optimum, the printed ones do not."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from samples import random_metric

import convexmetric as cm
from convexmetric.approximate.batches import TripletSampler
from convexmetric.errors import GapWarning


def points(seed=0, n=24, d=3):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return rng.normal(size=(n, d)) + 0.7 * y[:, None], y


def labels(**options):
    X, y = points()
    return cm.TripletProblem.from_labels(
        X, y, n_same=3, n_other=4, **{"intra": 0.2, "inter": 0.1, "reg": 0.2} | options
    )


def graph(**options):
    X, _ = points(n=10)
    links = np.random.default_rng(1).random((10, 10)) < 0.4
    return cm.TripletProblem.from_graph(X, links, **{"intra": 0.2, "inter": 0.1, "reg": 0.2} | options)


def sparse(**options):
    X, y = points()
    return cm.TripletProblem.from_labels(
        sp.csr_array(np.where(X > 0.5, X, 0.0)), y, n_same=3, n_other=None, diagonal=True, intra=0.1, reg=0.5, **options
    )


PROBLEMS = {
    "labels": labels,
    "labels, diagonal": lambda: labels(diagonal=True),
    "graph": graph,
    "sparse": sparse,
    "every triplet": lambda: cm.TripletProblem.from_labels(*points(), n_same=None, n_other=None, reg=0.5),
}


def solve(problem, tol=1e-3, **settings):
    with warnings.catch_warnings(action="ignore", category=GapWarning):
        return cm.solve(problem, tol, solver=cm.approximate.StochasticBatch(**{"random_state": 0} | settings))


def listed(problem):
    """All comparisons as rows (query's row, near item, far item), with their weights."""
    risk, rankings = problem.risk, problem.risk.rankings
    rows, weights = [], []
    for q in range(len(rankings)):
        near, far = rankings.relevance.of(q)
        row = rankings.rows(np.array([q]))[0]
        rows += [(row, i, k) for i in near for k in far]
        weights += [risk.weights[q]] * (len(near) * len(far))
    return np.array(rows), np.array(weights)


@pytest.mark.integration
@pytest.mark.parametrize("name", list(PROBLEMS))
def test_draws_are_in_proportion_to_weights(name):
    problem = PROBLEMS[name]()
    weights = np.random.default_rng(0).uniform(0.5, 2.0, problem.risk.parts)
    problem.risk.weights = weights
    expected_rows, expected = listed(problem)
    draws = TripletSampler(problem.risk.rankings, weights)
    assert draws.total == pytest.approx(expected.sum())
    size = 200_000
    drawn = np.column_stack(draws.sample(np.random.default_rng(1), size))
    n = problem.risk.rankings.X.shape[0]
    key = [n * n, n, 1]
    counted = np.bincount(drawn @ key, minlength=n**3)
    mean = np.zeros(n**3)
    np.add.at(mean, expected_rows @ key, size * expected / expected.sum())
    assert not counted[mean == 0.0].any()
    scatter = (counted - mean)[mean > 0.0] / np.sqrt(mean[mean > 0.0])
    assert abs(scatter).max() < 6.0
    assert np.mean(scatter**2) == pytest.approx(1.0, abs=0.15)


@pytest.mark.integration
@pytest.mark.parametrize("name", list(PROBLEMS))
def test_the_mean_of_the_batches_is_the_subgradient(name):
    problem = PROBLEMS[name]()
    rng = np.random.default_rng(3)
    solver = cm.approximate.StochasticBatch(batch=20_000)
    draws = TripletSampler(problem.risk.rankings, problem.risk.weights)
    for metric in (problem.cone.zeros(), random_metric(rng, problem.cone, 0.3)):
        batches = np.array([solver.gradient(problem, problem.risk, draws, metric, rng) for _ in range(30)])
        G = problem.cone.zeros() if problem.G is None else problem.G
        full = G - problem.risk.smoothed(metric, 0.0).point.S
        error = batches.std(axis=0) / np.sqrt(len(batches)) + 1e-12
        assert (abs(batches.mean(axis=0) - full) / error).max() < 5.0


@pytest.mark.integration
@pytest.mark.parametrize("sizes", [(None, 3), (7, None), (1, 1), (2, 40)], ids=str)
@pytest.mark.parametrize("name", ["labels", "graph"])
def test_pairs_in_batches_of_their_own_have_the_same_mean(name, sizes):
    problem = PROBLEMS[name]()
    solver = cm.approximate.StochasticBatch(batch=9, batch_similar=sizes[0], batch_dissimilar=sizes[1])
    wanted = tuple(9 if size is None else size for size in sizes)
    assert solver.pairs == wanted
    rng = np.random.default_rng(4)
    draws = [problem.sampled_G(rng, *solver.pairs)[0] for _ in range(3_000)]
    error = np.std(draws, axis=0) / np.sqrt(len(draws))
    assert (abs(np.mean(draws, axis=0) - problem.G) / error).max() < 5.0
    risk, metric = problem.risk, random_metric(rng, problem.cone, 0.3)
    sampler = TripletSampler(risk.rankings, risk.weights)
    steps = [solver.gradient(problem, risk, sampler, metric, rng) for _ in range(3_000)]
    full = problem.G - risk.smoothed(metric, 0.0).point.S
    assert (abs(np.mean(steps, axis=0) - full) / (np.std(steps, axis=0) / np.sqrt(len(steps)))).max() < 5.0


def test_batches_of_one_size_draw_what_they_drew():
    problem = labels()
    runs = [
        solve(problem, batch=20, epochs=2, **sizes) for sizes in ({}, {"batch_similar": 20, "batch_dissimilar": 20})
    ]
    np.testing.assert_array_equal(*(run.certificate.M for run in runs))
    other = solve(problem, batch=20, epochs=2, batch_similar=5)
    assert abs(other.certificate.M - runs[0].certificate.M).max() > 0.0


def test_the_printed_sum_counts_every_pair_drawn():
    problem = labels()
    estimate, total = problem.sampled_G(np.random.default_rng(0), 6, 11)
    similar = cm.TripletProblem.from_labels(*points(), n_same=3, n_other=4, intra=0.2).sampled_G(
        np.random.default_rng(0), 6
    )[0]
    np.testing.assert_allclose(total, 6 * similar + 11 * (estimate - similar), atol=1e-12)


def test_a_printed_batch_is_what_the_procedure_adds_up():
    """One triplet and one pair of each kind: the six entries of C, and C1 - C2."""
    X, _ = points(n=3)
    problem = cm.TripletProblem(X, [(0, 1, 2)], intra=1.0, inter=1.0, reg=0.5)
    B = 7
    C, C1, C2 = np.zeros((3, 3, 3))
    for j, k in ((1, 1), (0, 2), (2, 0), (0, 1), (1, 0), (2, 2)):
        C[j, k] += B
    for matrix, other in ((C1, 1), (C2, 2)):
        matrix[0, 0] += B
        matrix[other, other] += B
        matrix[0, other] -= B
        matrix[other, 0] -= B
    draws = TripletSampler(problem.risk.rankings, problem.risk.weights)
    solver = cm.approximate.StochasticBatch(batch=B, as_printed=True)
    added = solver.gradient(problem, problem.risk, draws, problem.cone.zeros(), np.random.default_rng(0))
    np.testing.assert_allclose(added, X.T @ (C + C1 - C2) @ X, atol=1e-12)


@pytest.mark.integration
@pytest.mark.parametrize("name", list(PROBLEMS))
def test_it_approaches_the_certified_optimum(name):
    problem = PROBLEMS[name]()
    optimum = cm.solve(problem, 1e-8, solver="semismooth-newton")
    solution = solve(problem, 1e-6, batch=50, epochs=30)
    assert solution.lower_bound <= optimum.upper_bound
    assert solution.upper_bound >= optimum.lower_bound
    after = [(p.details["objective"] - optimum.lower_bound) / optimum.upper_bound for p in solution.history]
    assert after[-1] < 1e-2
    assert after[-1] < 0.1 * after[1]
    assert solution.gap < 3e-2
    again = cm.certify(problem, solution.certificate.M, solution.certificate.dual)
    assert again.lower_bound == pytest.approx(solution.lower_bound, rel=1e-9)


@pytest.mark.integration
@pytest.mark.parametrize("settings", [{"project": False}, {"average": True}])
def test_its_variants_approach_it_too(settings):
    problem = labels()
    optimum = cm.solve(problem, 1e-8, solver="semismooth-newton")
    solution = solve(problem, 1e-6, batch=50, epochs=30, **settings)
    assert solution.history[-1].details["objective"] <= 1.005 * optimum.upper_bound


@pytest.mark.integration
@pytest.mark.parametrize("name", ["labels", "labels, diagonal", "graph"])
def test_the_printed_procedure_does_not_descend(name):
    problem = PROBLEMS[name]()
    optimum = cm.solve(problem, 1e-8, solver="semismooth-newton").upper_bound
    corrected, printed = (solve(problem, 1e-6, batch=50, epochs=20, as_printed=kind) for kind in (False, True))
    assert printed.lower_bound <= optimum <= printed.upper_bound
    assert corrected.history[-1].details["objective"] < 1.025 * optimum
    assert printed.history[-1].details["objective"] > 1.035 * optimum


def test_a_seed_fixes_the_draws():
    first, again, other = (solve(labels(), batch=20, epochs=2, random_state=seed) for seed in (5, 5, 6))
    np.testing.assert_array_equal(first.certificate.M, again.certificate.M)
    assert abs(first.certificate.M - other.certificate.M).max() > 0.0
    assert [p.gap for p in first.history] == [p.gap for p in again.history]


def test_it_ends_when_told_to():
    assert solve(labels(), 1e-9, batch=10, epochs=3).history[-1].details["passes"] == 3.0
    problem = labels()
    with pytest.warns(GapWarning):
        assert cm.solve(problem, 1e-9, solver="stochastic-batch", max_iter=2).iterations == 2
    with pytest.warns(GapWarning):
        assert cm.solve(problem, 1e-9, solver="stochastic-batch", max_seconds=1e-9).status == "max_seconds"


def test_epochs_of_very_many_comparisons_are_shorter():
    X, y = points(n=300)
    problem = cm.TripletProblem.from_labels(X, y, n_same=None, n_other=None)
    solver = cm.approximate.StochasticBatch()
    assert problem.count > solver.epoch_draws
    assert solver.draws_in_epoch(problem.risk) == solver.epoch_draws
    assert solver.draws_in_epoch(labels().risk) == labels().count
