"""Scale and range."""

import numpy as np
import pytest
from catalogue import cases, instance, names
from samples import random_metric

import convexmetric as cm
from convexmetric.audits.scale_and_range import _along, best_scale, compare_ranges

SOFT = cases(without=("hard", "barrier", "user terms", "user blocks"))


@pytest.mark.parametrize("name", SOFT)
@pytest.mark.parametrize("seed", [0, 1])
def test_the_best_scale_is_the_minimum_of_the_ray(name, seed):
    problem = instance(name)
    M = random_metric(np.random.default_rng(seed), problem.cone, 10.0 ** (2 * seed - 1))
    scale = best_scale(problem, M)
    t, value = scale.best, scale.objective
    assert value == problem.value(t * M)
    # The tangents on both sides leave nothing below.
    assert value - scale.lower_bound <= 1e-14 * abs(value)
    grid = np.r_[0.0, t * np.geomspace(1e-2, 1e2, 25), np.geomspace(1e-4, 1e4, 17)]
    assert all(problem.value(s * M) >= value * (1.0 - 1e-14) for s in grid)


@pytest.mark.parametrize("name", cases("logistic"))
def test_the_derivative_along_the_ray_vanishes_at_the_best_scale(name):
    problem = instance(name)
    M = random_metric(np.random.default_rng(2), problem.cone)
    scale = best_scale(problem, M)
    step = 1e-6
    difference = (problem.value((1.0 + step) * M) - problem.value((1.0 - step) * M)) / (2.0 * step)
    assert _along(problem, M, 1.0)[1] == pytest.approx(difference, rel=1e-5, abs=1e-6 * abs(problem.value(M)))
    if scale.best > 0.0:
        value, slope = _along(problem, M, scale.best)
        assert abs(scale.best * slope) <= 1e-6 * abs(value)


@pytest.mark.parametrize("name", names("hard"))
def test_the_best_scale_meets_hard_margins_where_a_multiple_can(name):
    problem = instance(name)
    w = cm.solve(problem).w
    scale = best_scale(problem, 0.3 * w)
    assert np.isfinite(scale.objective)
    assert problem.value((1.0 - 1e-9) * scale.best * 0.3 * w) == np.inf
    assert scale.share == 1.0
    assert best_scale(problem, np.zeros_like(w)).objective == np.inf


def test_a_ray_of_zero_metrics_has_one_value():
    problem = instance("ranking from labels")
    scale = best_scale(problem, problem.cone.zeros())
    assert scale.objective == problem.value(problem.cone.zeros())
    assert scale.share == 0.0


def test_gradients_of_regularizers_are_derivatives():
    rng = np.random.default_rng(0)
    for name in names(without=("hard", "barrier", "user terms", "user blocks")):
        problem = instance(name)
        # Not the identity itself, to which the norm of a distance has a kink.
        M = 1.3 * problem.cone.identity() + 0.1 * random_metric(rng, problem.cone)
        direction = random_metric(rng, problem.cone)
        omega = problem.regularizer
        slope = problem.cone.inner(omega.gradient(M, problem.cone), direction)
        step = 1e-6
        ends = (omega.value(M + s * direction, problem.cone) for s in (step, -step))
        assert slope == pytest.approx((next(ends) - next(ends)) / (2 * step), rel=1e-6)


@pytest.mark.parametrize("name", ["psd triplets, trace", "diagonal triplets, trace", "cross-modal, all objects"])
def test_ranges_of_multiples_are_the_same_and_of_complements_at_right_angles(name):
    problem = instance(name)
    d = problem.cone.d
    rng = np.random.default_rng(7)
    basis = np.linalg.qr(rng.standard_normal((d, d)))[0]
    if len(problem.cone.shape) == 1:
        one, other = np.arange(d) < 1.0, np.arange(d) >= 1.0
        one, other = one.astype(float), other.astype(float)
    else:
        one, other = basis[:, :1] @ basis[:, :1].T, basis[:, 1:] @ basis[:, 1:].T
    same = compare_ranges(problem, one, 4.0 * one)
    assert (same.rank, same.reference_rank) == (1, 1)
    assert same.angles == pytest.approx([0.0], abs=1e-5)
    assert same.captured == pytest.approx(1.0)
    apart = compare_ranges(problem, one, other)
    assert apart.reference_rank == d - 1
    assert apart.angles == pytest.approx([90.0])
    assert apart.captured == pytest.approx(0.0, abs=1e-12)
    whole = compare_ranges(problem, one + other, one)
    assert whole.captured == pytest.approx(1.0)
