"""Scale, range and the residuals of the optimality conditions."""

import numpy as np
import pytest
from catalogue import cases, instance, names
from samples import random_metric

import convexmetric as cm
from convexmetric.audits import best_scale, compare_ranges, optimality_conditions
from convexmetric.audits.optimality import _gradient

SOFT = cases(without=("hard", "barrier", "user terms", "user blocks", "unproven"))


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
    assert scale.slope == pytest.approx(difference, rel=1e-5, abs=1e-6 * abs(problem.value(M)))
    if scale.best > 0.0:
        there = optimality_conditions(problem, scale.best * M)
        assert abs(there.along) <= 1e-6


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


@pytest.mark.parametrize("name", cases("logistic"))
def test_residuals_vanish_at_the_optimum_of_a_differentiable_risk(name):
    problem = instance(name)
    solution = cm.solve(problem, tol=1e-11)
    conditions = optimality_conditions(problem, solution.certificate.M)
    assert conditions.differentiable
    assert abs(conditions.along) <= 1e-4
    assert conditions.inside <= 1e-4
    assert conditions.across <= 1e-3
    assert not conditions.outside < -1e-3


@pytest.mark.parametrize("name", ["psd logistic, trace, G", "psd logistic, squared Frobenius, G",
                                  "diagonal logistic, squared norm", "cross-modal, relevance"])  # fmt: skip
def test_residuals_are_derivatives(name):
    problem = instance(name)
    cone = problem.cone
    rng = np.random.default_rng(5)
    M = random_metric(rng, cone)
    M = cone.project(M - 0.5 * cone.largest(M) * (cone.identity() if M.ndim == 2 else np.median(M) > M))
    conditions = optimality_conditions(problem, M)
    value, step = problem.value(M), 1e-6
    assert conditions.along == pytest.approx((problem.value((1 + step) * M) - value) / step / value, rel=1e-3)
    if conditions.missing:
        v = conditions.direction
        assert np.abs(v @ np.atleast_2d(M if M.ndim == 2 else np.diag(M))).max() <= 1e-8
        added = np.outer(v, v) if M.ndim == 2 else v**2
        h = step * cone.trace(M)
        assert conditions.outside == pytest.approx((problem.value(M + h * added) - value) / step / value, rel=1e-3)


def test_gradients_of_regularizers_are_derivatives():
    rng = np.random.default_rng(0)
    for name in names(without=("hard", "barrier", "user terms", "user blocks", "unproven")):
        problem = instance(name)
        M = problem.cone.identity() + 0.1 * random_metric(rng, problem.cone)
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
    assert np.isnan(whole.lacking) or whole.lacking == pytest.approx(0.0, abs=1e-9)


def test_what_first_order_promises_is_at_least_what_there_is():
    problem = instance("psd logistic, trace")
    solution = cm.solve(problem, tol=1e-9)
    M = random_metric(np.random.default_rng(1), problem.cone)
    promised = problem.cone.inner(_gradient(problem, M), M - solution.certificate.M)
    assert promised >= problem.value(M) - solution.upper_bound
