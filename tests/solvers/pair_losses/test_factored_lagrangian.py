"""The factored Lagrangian on listed triplets: bounds beside those of other solvers, and when the default takes it."""

import numpy as np
import pytest
from samples import random_triplets

import convexmetric as cm
from convexmetric.comparisons import Triplets
from convexmetric.cones import NonnegativeDiagonal, PSDCone
from convexmetric.deadline import OutOfTime
from convexmetric.losses import BoxLoss, Hinge
from convexmetric.problem import MetricProblem
from convexmetric.regularizers import Frobenius, SquaredFrobenius, Trace
from convexmetric.risks import SeparableRisk, SmoothSeparableRisk


def triplets(regularizer, loss=None, n=20, d=5, count=300, cone=PSDCone, scale=1.0):
    """Triplets of points, most of which hold under a metric of rank two."""
    rng = np.random.default_rng(7)
    X, listed = scale * rng.normal(size=(n, d)), random_triplets(rng, n, count)
    images = X[:, :2] + 0.2 * scale * rng.normal(size=(n, 2))
    near, far = (((images[listed[:, 0]] - images[listed[:, column]]) ** 2).sum(axis=1) for column in (1, 2))
    listed[near > far] = listed[near > far][:, [0, 2, 1]]
    return MetricProblem(SeparableRisk(Triplets(X, listed, cone(d)), loss or Hinge(1.0 / count)), regularizer)


CASES = {
    "trace": (Trace(0.01), None),
    "squared norm": (SquaredFrobenius(0.02), None),
    "norm": (Frobenius(0.02), None),
    "weak trace": (Trace(1e-4), None),
    "weights and margins": (Trace(0.01), BoxLoss.hinge(np.linspace(0.0, 0.01, 300), np.linspace(-0.2, 2.0, 300))),
    "absolute errors": (Trace(0.01), BoxLoss.absolute_error(np.full(300, 0.003), np.linspace(-1.0, 2.0, 300))),
    "squared errors": (Trace(0.01), BoxLoss.squared_error(np.full(300, 0.003), np.linspace(-1.0, 2.0, 300))),
}


@pytest.mark.parametrize("name", CASES)
def test_bounds_agree_with_those_of_cutting_planes(name):
    problem = triplets(*CASES[name])
    mine, other = (cm.solve(problem, solver=solver) for solver in ("factored-lagrangian", "cutting-planes"))
    assert (mine.solver, mine.status) == ("factored-lagrangian", "optimal")
    assert max(mine.lower_bound, other.lower_bound) <= min(mine.upper_bound, other.upper_bound)


def test_zero_is_proven_where_the_trace_outweighs_the_triplets():
    solution = cm.solve(triplets(Trace(1e3)), solver="factored-lagrangian")
    assert solution.status == "optimal"
    assert not solution.M.any()


def test_a_start_and_repeated_triplets_change_no_bound():
    problem = triplets(Trace(0.01))
    listed = problem.risk.comparisons
    twice = Triplets(listed.X, np.repeat(listed.triplets, 2, axis=0), problem.cone)
    doubled = MetricProblem(SeparableRisk(twice, Hinge(1.0 / len(twice))), Trace(0.01))
    solution = cm.solve(problem, solver="factored-lagrangian")
    again = cm.solve(doubled, solver="factored-lagrangian", start=solution.M)
    assert max(solution.lower_bound, again.lower_bound) <= min(solution.upper_bound, again.upper_bound)


def test_it_says_what_it_lacks():
    solver = cm.solvers.FactoredLagrangian()
    assert solver.unsupported(triplets(Trace(0.01), cone=NonnegativeDiagonal)) == "its metrics are diagonal"
    risk = triplets(Trace(0.01)).risk
    smooth = SmoothSeparableRisk(risk.comparisons, cm.losses.Logistic(0.1))
    assert "errors of pairs or triplets" in solver.unsupported(MetricProblem(smooth, Trace(0.01)))


def labelled(n=1_200, classes=6, **settings):
    """All pairs of points about some centres, in coordinates of which half are noise."""
    rng = np.random.default_rng(3)
    y = rng.integers(classes, size=n)
    centres = np.hstack([rng.normal(size=(classes, 3)), np.zeros((classes, 3))])
    return cm.PairMarginProblem.from_labels(centres[y] + 0.5 * rng.normal(size=(n, 6)), y, **settings)


SETTINGS = {
    "norm": {},
    "trace": {"penalty": "trace", "reg": 0.001},
    "similar pairs that cost nothing when near": {"margin": (0.5, 1.0)},
    "unbalanced": {"balanced": False},
    "strong": {"reg": 1.0},
    "so strong that zero is best": {"reg": 1e3},
}


@pytest.mark.parametrize("name", SETTINGS)
def test_passes_over_all_pairs_correct_rounds_on_a_sample(name, monkeypatch):
    problem = labelled(**SETTINGS[name])
    sampled = cm.solve(problem, 1e-3, solver="factored-lagrangian")
    assert (sampled.solver, sampled.status) == ("factored-lagrangian", "optimal")
    assert "block" in sampled.history[0].details
    again = cm.certify(problem, sampled.M, sampled.certificate.dual)
    assert again.lower_bound == pytest.approx(sampled.lower_bound, rel=1e-9)
    monkeypatch.setattr("convexmetric.solvers.pair_losses.factored_lagrangian.SAMPLED_FROM", 10_000)
    whole = cm.solve(problem, 1e-3)
    assert max(sampled.lower_bound, whole.lower_bound) <= min(sampled.upper_bound, whole.upper_bound)


def test_what_a_sample_led_to_is_proven_in_exact_arithmetic(tmp_path):
    problem = labelled(n=1_000)
    solution = cm.solve(problem, 1e-2)
    assert "block" in solution.history[-1].details
    proven = cm.write_certificate(tmp_path / "pairs.npz", solution)
    assert cm.verify(tmp_path / "pairs.npz").accepted
    assert float(proven.lower) == pytest.approx(solution.lower_bound, rel=1e-6)
    assert float(proven.upper) == pytest.approx(solution.upper_bound, rel=1e-6)


def test_a_squared_norm_beside_a_sample():
    problem = labelled()
    problem = MetricProblem(problem.risk, SquaredFrobenius(1e-3))
    solution = cm.solve(problem, 1e-3, solver="factored-lagrangian")
    other = cm.solve(problem, 1e-2, solver="cutting-planes")
    assert solution.status == "optimal"
    assert max(solution.lower_bound, other.lower_bound) <= min(solution.upper_bound, other.upper_bound)


def test_rounds_on_all_pairs_go_on_where_a_sample_ends():
    problem = labelled(n=1_000)
    solution = cm.solve(problem, 1e-6)
    assert (solution.solver, solution.status) == ("factored-lagrangian", "optimal")
    assert "block" in solution.history[0].details
    assert "block" not in solution.history[-1].details


def test_out_of_time_in_the_first_pass_the_metric_of_the_sample_is_returned(monkeypatch):
    problem = labelled()
    kept = type(problem.risk).separate

    def too_slow(risk, M, groups):
        if len(risk.X) == 1_200:
            raise OutOfTime
        return kept(risk, M, groups)

    monkeypatch.setattr(type(problem.risk), "separate", too_slow)
    with pytest.warns(cm.errors.GapWarning):
        solution = cm.solve(problem, 1e-3, max_seconds=30.0, solver="factored-lagrangian")
    monkeypatch.undo()
    best = cm.solve(problem, 1e-3)
    assert best.upper_bound <= solution.upper_bound * (1.0 + 1e-3) <= 1.1 * best.upper_bound
