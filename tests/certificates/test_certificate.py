"""Certificates: made from metric and dual alone, with gaps that mean what they say."""

import numpy as np
import pytest
from catalogue import cases, conic, instance
from samples import random_element, random_metric

import convexmetric as cm
from convexmetric.certificates import relative_gap
from convexmetric.errors import InputError


@pytest.mark.parametrize(
    ("upper", "lower", "gap"),
    [
        (2.0, 1.0, 0.5),
        (1.0, 1.0, 0.0),
        (1.0, 0.0, 1.0),
        (0.0, 0.0, 0.0),
        (1.0, -1.0, 2.0),
        (-1.0, -2.0, 0.5),
        (1.0, -np.inf, np.inf),
        (np.inf, 1.0, np.inf),
        (np.inf, np.inf, np.inf),
        (np.nan, 1.0, np.inf),
        (1.0, np.nan, np.inf),
    ],
)
def test_relative_gap(upper, lower, gap):
    assert relative_gap(upper, lower) == gap


@pytest.mark.parametrize("name", cases("method"))
def test_a_perturbed_metric_is_seen_to_be_worse(name):
    problem, optimum = conic(name)[:2]
    solution = cm.solve(problem)
    best, dual = solution.certificate.M, solution.certificate.dual
    rng = np.random.default_rng(0)
    for size in (0.1, 1.0):
        step = random_element(rng, problem.cone)
        perturbed = best + size * max(np.abs(best).max(), 0.1) * step / np.abs(step).max()
        certificate = cm.certify(problem, perturbed, dual)
        assert certificate.upper_bound > solution.upper_bound
        assert certificate.lower_bound <= optimum * (1 + 1e-7)
        assert certificate.lower_bound == pytest.approx(solution.lower_bound, rel=1e-6)
        assert problem.cone.violation(certificate.M) <= 1e-12 * np.abs(certificate.M).max()


@pytest.mark.parametrize("name", cases("method"))
def test_a_metric_outside_the_cone_is_projected_and_never_flattered(name):
    problem, optimum = conic(name)[:2]
    rng = np.random.default_rng(1)
    dual = cm.solve(problem).certificate.dual
    for M in (-problem.cone.identity(), random_element(rng, problem.cone)):
        certificate = cm.certify(problem, M, dual)
        assert certificate.upper_bound >= optimum * (1 - 1e-7)
        expected = problem.risk.repair(problem.cone.project(M))
        np.testing.assert_allclose(certificate.M, expected, atol=1e-14)


def test_a_hard_margin_missed_by_little_is_met_by_scaling():
    problem = instance("relative, rbf, hard")
    solution = cm.solve(problem)
    short = cm.certify(problem, 0.999 * solution.w, solution.certificate.dual)
    assert problem.value(0.999 * solution.w) == np.inf
    assert short.upper_bound == pytest.approx(solution.upper_bound, rel=1e-9)
    hopeless = cm.certify(problem, np.zeros(problem.cone.d), solution.certificate.dual)
    assert hopeless.upper_bound == np.inf
    assert hopeless.gap == np.inf


def test_what_is_printed():
    certificate = cm.Certificate(2.0, 1.5, np.eye(2), None, rounding=1e-12)
    assert str(certificate) == "1.5 <= optimum <= 2   (relative gap 2.5e-01, grade float, rounding 1e-12)"
    assert certificate.grade == "float"
    assert "M=" not in repr(certificate)


def test_only_problems_are_certified():
    with pytest.raises(
        InputError, match="problem must be a MetricProblem, an Instance or the name of one, got ndarray"
    ):
        cm.certify(np.eye(2), np.eye(2), None)


def test_certifying_does_not_change_what_it_is_given():
    problem = instance("ranking from labels")
    rng = np.random.default_rng(2)
    M = random_metric(rng, problem.cone) - 0.1 * np.eye(3)
    dual = cm.solve(problem, solver="cutting-planes").certificate.dual
    kept = M.copy(), dual.weights.copy(), dual.witnesses.copy()
    cm.certify(problem, M, dual)
    for now, then in zip((M, dual.weights, dual.witnesses), kept, strict=True):
        np.testing.assert_array_equal(now, then)
