"""A factor of low rank reaches the optimum that cutting planes reach, and its model is the objective's."""

import warnings

import numpy as np
import pytest
from samples import random_lists

import convexmetric as cm
from convexmetric.errors import GapWarning
from convexmetric.risks import PairwiseRisk
from convexmetric.solvers import SmoothedLowRank
from convexmetric.solvers.pairwise.smoothed_low_rank import _SmoothedObjective

NAME = SmoothedLowRank.name


def labels(C=30.0, features=8):
    data = cm.datasets.load("wine")
    X = cm.datasets.preprocess(data.X, ["zscore"])[::2, :features]
    return cm.RankingProblem.from_labels(X, data.y[::2], C=C)


def triplets(C=30.0):
    rng = np.random.default_rng(3)
    X, Q = rng.normal(size=(60, 5)), rng.normal(size=(20, 5))
    problem = cm.RankingProblem(X, *random_lists(rng, 20, 60), queries=Q, C=C)
    noise = rng.normal(size=(5, 5))
    return cm.MetricProblem(problem.risk, problem.regularizer, G=0.1 * (noise + noise.T) + 0.3 * np.eye(5))


@pytest.mark.parametrize("C", [0.5, 30.0, 1e3])
def test_it_agrees_with_cutting_planes(C):
    problem = labels(C)
    found = cm.solve(problem, solver=NAME)
    planes = cm.solve(problem, solver="cutting-planes")
    assert found.status == "optimal"
    assert found.lower_bound <= planes.upper_bound
    assert planes.lower_bound <= found.upper_bound
    again = cm.certify(problem, found.certificate.M, found.certificate.dual)
    assert again.lower_bound == pytest.approx(found.lower_bound, rel=1e-10)
    assert again.upper_bound == pytest.approx(found.upper_bound, rel=1e-10)


def test_lists_with_a_linear_term():
    problem = triplets()
    with warnings.catch_warnings(action="ignore", category=GapWarning):
        found = cm.solve(problem, solver=NAME)
    planes = cm.solve(problem, solver="cutting-planes")
    assert found.gap < 1e-2
    assert found.lower_bound <= planes.upper_bound
    assert planes.lower_bound <= found.upper_bound


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
def test_units_of_the_features_do_not_matter(scale):
    data = cm.datasets.load("wine")
    X = cm.datasets.preprocess(data.X, ["zscore"])[::2, :8]
    # tr M + C R(M) with M in units of 1 / scale^2 is that of unit features with C scale^2, divided by scale^2.
    found = cm.solve(cm.RankingProblem.from_labels(scale * X, data.y[::2], C=30.0 / scale**2), 1e-4, solver=NAME)
    assert found.status == "optimal"
    assert found.upper_bound * scale**2 == pytest.approx(cm.solve(labels(), 1e-4).upper_bound, rel=2e-4)


def test_where_no_metric_gains_anything_it_is_zero():
    solution = cm.solve(labels(1e-6), 1e-12, solver=NAME)
    assert solution.rank == 0
    assert solution.iterations == 1
    assert solution.lower_bound == pytest.approx(1e-6, rel=1e-12)


def test_gradient_and_second_derivative_are_those_of_the_objective(monkeypatch):
    problem = labels()
    risk = problem.risk.form(PairwiseRisk)
    # Every pair is in the sample, so that the second derivative is exact.
    for name in ("SAMPLE_PER_ENTRY", "MOST_PER_ENTRY"):
        monkeypatch.setattr(f"convexmetric.solvers.pairwise.smoothed_low_rank.{name}", 100_000)
    objective = _SmoothedObjective(problem, risk)
    rng = np.random.default_rng(0)
    C, E = 0.2 * rng.normal(size=(3, 8)), 0.2 * rng.normal(size=(3, 8))
    objective.at(C)
    here, step = objective.at(C), 1e-5
    assert len(here.smoothed.sample) == here.smoothed.kinks > 50
    ahead, behind = objective.at(C + step * E), objective.at(C - step * E)
    slope = (ahead.value - behind.value) / (2.0 * step)
    assert np.vdot(here.gradient, E) == pytest.approx(slope, rel=1e-5)
    # Piecewise quadratic: where no pair enters or leaves its kink between the points differences are exact.
    bend = (ahead.gradient - behind.gradient) / (2.0 * step)
    np.testing.assert_allclose(objective.hessian(here)(E), bend, atol=2e-3 * abs(bend).max())
    along = here.B.T @ here.B
    by_products = np.vdot(here.B, objective.second_along(here)(here.B))
    assert objective.curvature(here, 2.0 * along) == pytest.approx(2.0 * by_products, rel=1e-4)


def test_rows_are_added_only_where_the_objective_falls():
    problem = labels()
    objective = _SmoothedObjective(problem, problem.risk.form(PairwiseRisk))
    C = 0.1 * np.eye(8)[:2]
    objective.at(C)
    here = objective.at(C)
    there = objective.grown(here, 1e-3)
    assert len(there.C) > len(here.C)
    assert there.value < here.value
    settled = objective.descend(there, 1e-3, lambda: False)
    assert settled.value < there.value


def test_samples_are_solved_first_and_a_limit_cuts_them_short(monkeypatch):
    problem = labels()
    monkeypatch.setattr("convexmetric.solvers.pairwise.nearby.LEAST_QUERIES", 10)
    monkeypatch.setattr("convexmetric.solvers.pairwise.nearby.SAMPLES", (0.3, 0.6))
    assert cm.solve(problem, solver=NAME).status == "optimal"
    with pytest.warns(GapWarning):
        short = cm.solve(problem, 1e-9, solver=NAME, max_seconds=1e-6)
    assert np.isfinite([short.lower_bound, short.upper_bound]).all()


def test_checkpoints_go_on(tmp_path):
    problem, file = labels(), tmp_path / "state.npz"
    with pytest.warns(GapWarning):
        first = cm.solve(problem, 1e-9, solver=NAME, max_iter=2, checkpoint=file)
    again = cm.solve(problem, 1e-6, solver=NAME, checkpoint=file)
    assert again.status == "optimal"
    assert again.history[:2] == first.history
    widths = [progress.details["width"] for progress in again.history]
    assert widths[2] <= widths[1]


def test_what_it_refuses():
    data = cm.datasets.load("wine")
    diagonal = cm.RankingProblem.from_labels(data.X, data.y, diagonal=True)
    squared = cm.TripletProblem.from_labels(data.X, data.y, reg=0.1)
    rankings = cm.RankingProblem.from_labels(data.X, data.y, measure="map")
    for problem, why in ((diagonal, "diagonal"), (squared, "linear"), (rankings, "hinges")):
        assert why in SmoothedLowRank().unsupported(problem)
    falling = cm.MetricProblem(labels().risk, labels().regularizer, G=-2.0 * np.eye(8))
    assert "grow" in SmoothedLowRank().unsupported(falling)
