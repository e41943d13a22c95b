"""Semismooth Newton: agreement with CLARABEL, hard cases, the interior point at the end, paths, checkpoints."""

import warnings

import numpy as np
import pytest
from catalogue import conic, names
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import random_triplets

import convexmetric as cm
from convexmetric.errors import GapWarning, InputError
from convexmetric.risks import SmoothedPairs

SQUARED = names("method", "triplets")


@pytest.mark.parametrize("name", SQUARED)
def test_the_optimum_is_clarabels(name):
    problem, optimum = conic(name)[:2]
    solution = cm.solve(problem, tol=1e-8, solver="semismooth-newton")
    assert solution.gap <= 1e-8
    assert solution.upper_bound == pytest.approx(optimum, rel=1e-7)


def noisy(d=12, n=120, count=3_000, seed=0, diagonal=False):
    """Random triplets of a hidden metric of rank two, one in ten turned: many comparisons end on the kink."""
    rng = np.random.default_rng(seed)
    X, B = rng.standard_normal((n, d)), rng.standard_normal((2, d))
    triplets = random_triplets(rng, n, count)
    i, j, k = triplets.T
    s = (((X[i] - X[k]) @ B.T) ** 2).sum(axis=1) - (((X[i] - X[j]) @ B.T) ** 2).sum(axis=1)
    turned = (s < 0) ^ (rng.random(count) < 0.1)
    triplets[turned] = triplets[turned][:, [0, 2, 1]]
    return cm.TripletProblem(X, triplets, diagonal=diagonal)


@pytest.mark.parametrize("ratio", [1e-1, 1e-3, 1e-5])
@pytest.mark.parametrize("diagonal", [False, True])
def test_small_regularizers_are_solved_too(ratio, diagonal):
    problem = noisy(diagonal=diagonal)
    solution = cm.solve(problem.with_reg(ratio * problem.reg_max), solver="semismooth-newton")
    assert solution.gap <= 1e-6
    again = cm.certify(solution.problem, solution.certificate.M, solution.certificate.dual)
    assert again.gap == pytest.approx(solution.gap, abs=1e-9)


@pytest.mark.parametrize("diagonal", [False, True])
def test_the_interior_point_at_the_end_reaches_high_accuracy(diagonal, monkeypatch):
    monkeypatch.setattr("convexmetric.solvers.pairwise.semismooth_newton.SHORT_STEPS", 1)
    monkeypatch.setattr("convexmetric.solvers.pairwise.semismooth_newton.FIRST_WIDTH", 0.3)
    problem = noisy(d=6, count=800, diagonal=diagonal)
    solution = cm.solve(problem.with_reg(1e-3 * problem.reg_max), tol=1e-10, solver="semismooth-newton")
    assert solution.gap <= 1e-10
    dual = solution.certificate.dual
    assert isinstance(dual, SmoothedPairs)
    assert dual.places is not None
    assert ((dual.slopes >= 0.0) & (dual.slopes <= 1.0)).all()


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 10**6), st.floats(-6, 6), st.floats(-4, 4), st.booleans())
def test_any_scale_of_points_and_weight(seed, weight, scale, diagonal):
    rng = np.random.default_rng(seed)
    X = 10.0**scale * rng.standard_normal((10, 3))
    problem = cm.TripletProblem(X, random_triplets(rng, 10, 25), reg=10.0**weight, diagonal=diagonal)
    with warnings.catch_warnings(action="ignore", category=GapWarning):
        solution = cm.solve(problem, tol=1e-6)
    assert abs(solution.gap) <= 1e-5


def test_identical_points_cost_the_margin():
    problem = cm.TripletProblem(np.ones((3, 2)), [[0, 1, 2]])
    solution = cm.solve(problem)
    assert solution.upper_bound == pytest.approx(1.0)
    assert solution.gap <= 1e-9


def test_a_path_has_the_optima_of_its_problems():
    problem = noisy(d=6, count=800)
    regs = problem.reg_max * np.array([0.01, 0.5, 0.5**3, 0.5**5])
    path = cm.solve_path(problem, reg=regs)
    cold = [cm.solve(problem.with_reg(reg)) for reg in regs]
    for warm, reference in zip(path, cold, strict=True):
        assert warm.gap <= 1e-6
        assert warm.problem.reg == reference.problem.reg
        assert warm.lower_bound <= reference.upper_bound
        assert reference.lower_bound <= warm.upper_bound
    fine = problem.reg_max * 0.9 ** np.arange(1, 30)
    steps = sum(len(s.history) for s in cm.solve_path(problem, reg=fine))
    alone = (cm.solve(problem.with_reg(reg), solver="semismooth-newton") for reg in fine)
    assert steps < 0.8 * sum(len(solution.history) for solution in alone)


def test_paths_over_reg_for_other_solvers_and_bad_arguments():
    problem = cm.TripletProblem.from_labels(np.eye(6) + 0.1, [0, 0, 1, 1, 2, 2], n_same=1, n_other=2, penalty="trace")
    path = cm.solve_path(problem, reg=[0.1, 0.2])
    assert [solution.problem.reg for solution in path] == [0.1, 0.2]
    for arguments in ({}, {"C": [1.0], "reg": [1.0]}):
        with pytest.raises(InputError, match="give either C"):
            cm.solve_path(problem, **arguments)
    with pytest.raises(InputError, match="reg is empty"):
        cm.solve_path(problem, reg=[])
    with pytest.raises(InputError, match="reg must be positive"):
        cm.solve_path(problem, reg=[-1.0])
    with pytest.raises(InputError, match="has no weight C"):
        cm.solve_path(problem, C=[1.0])


def test_limits_are_kept():
    problem = noisy()
    problem = problem.with_reg(1e-4 * problem.reg_max)
    with pytest.warns(GapWarning):
        solution = cm.solve(problem, max_iter=5)
    assert solution.status == "max_iter"
    assert np.isfinite(solution.gap)
    with pytest.warns(GapWarning):
        solution = cm.solve(problem, max_seconds=1e-3)
    assert solution.status == "max_seconds"


def test_a_checkpoint_is_taken_up_where_it_was_left(tmp_path):
    problem = noisy()
    problem = problem.with_reg(1e-3 * problem.reg_max)
    whole = cm.solve(problem, solver="semismooth-newton")
    file = tmp_path / "state.npz"
    with pytest.warns(GapWarning):
        cm.solve(problem, solver="semismooth-newton", max_iter=len(whole.history) - 4, checkpoint=file)
    solution = cm.solve(problem, solver="semismooth-newton", checkpoint=file)
    assert solution.gap <= 1e-6
    assert len(solution.history) < 2 * len(whole.history) - 8
    arrays = dict(np.load(file))
    arrays["solver.sigma"] = np.array(-1.0)
    arrays["solver"] = np.frombuffer(b"semismooth-newton", dtype=np.uint8)
    np.savez(file, **arrays)
    with pytest.raises(InputError, match="state of semismooth-newton is damaged"):
        cm.solve(problem, tol=1e-12, checkpoint=file)


def test_what_it_is_not_for():
    X, y = np.eye(8), np.arange(8) % 2
    for problem in (cm.RankingProblem.from_labels(X, y), cm.TripletProblem.from_labels(X, y, penalty="trace")):
        with pytest.raises(cm.errors.UnsupportedProblemError):
            cm.solve(problem, solver="semismooth-newton")


def test_margins_that_the_prior_keeps_end_a_path_without_an_error():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 10)
    X = 0.01 * rng.normal(size=(30, 2)) + 10.0 * np.eye(3)[y][:, :2]
    problem = cm.TripletProblem.from_labels(X, y, n_same=3, n_other=3, prior=np.eye(2))
    with warnings.catch_warnings(action="ignore"):
        solutions = cm.solve_path(problem, reg=[1.0, 1e-2], tol=1e-2)
    assert all(solution.upper_bound <= 1e-12 and solution.lower_bound <= solution.upper_bound for solution in solutions)
