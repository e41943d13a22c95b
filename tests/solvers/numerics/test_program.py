"""Conic programs: values, multipliers, and units that change nothing but size."""

import numpy as np
import pytest
from programs import KINDS, SLACKS, penalty, program
from samples import random_metric

from convexmetric.errors import SolverError
from convexmetric.regularizers import Frobenius
from convexmetric.solvers.numerics.interior_point import interior_point
from convexmetric.solvers.numerics.qp import ConicQP, Units, times


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("slacks", SLACKS)
def test_values_are_those_of_the_statement(kind, slacks):
    qp = program(kind, slacks)
    rng, cone = np.random.default_rng(1), qp.cone
    U, a, x = random_metric(rng, cone), rng.standard_normal(len(qp.b)), cone.coordinates
    np.testing.assert_allclose(qp.times(U), qp.A @ x(U), atol=1e-12)
    np.testing.assert_allclose(x(qp.adjoint(a)), qp.A.T @ a, atol=1e-12)
    margins, feasible = qp.times(U) - qp.b, qp.feasible_multipliers(10.0 * a)
    linear = cone.inner(qp.c, U) + 0.5 * cone.inner(U, times(qp.L, U))
    assert qp.curved == bool(np.any(qp.L))
    assert (feasible >= 0.0).all()
    if qp.hard:
        assert qp.primal_value(U, np.abs(margins)) == pytest.approx(linear)
        assert qp.primal_value(U, -np.abs(margins)) == np.inf
        return
    worst = [max(0.0, float((-margins[qp.group == g]).max())) for g in range(qp.C.size)]
    np.testing.assert_array_equal(qp.slacks(margins), worst)
    assert qp.primal_value(U, margins) == pytest.approx(linear + qp.C @ worst)
    assert (qp.sums(feasible) <= qp.C * (1.0 + 1e-12)).all()
    assert qp.dual_value(feasible, U) <= qp.primal_value(U, margins)


def test_a_norm_is_no_quadratic_part():
    problem = penalty("psd, linear", Frobenius(1.0))
    with pytest.raises(SolverError, match="needs a linear or quadratic regularizer"):
        ConicQP(problem, np.ones((1, problem.cone.size)), np.ones(1), np.zeros(1, dtype=int), np.ones(1))


def test_products_with_a_quadratic_part():
    L, v = np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([1.0, -1.0])
    np.testing.assert_array_equal(times(L, v), [1.0, -2.0])
    np.testing.assert_array_equal(times(0.5, v), [0.5, -0.5])


@pytest.mark.parametrize("exponent", [-800, -300, 300, 800])
def test_units_of_a_program_change_nothing_but_its_size(exponent):
    rng, C = np.random.default_rng(0), np.full(6, 2.0)
    # <c, U> = tr U in the problem: rows and margins alike make the program that of another weight of the trace.
    problem = penalty("psd, linear")
    rows, margins = rng.standard_normal((6, problem.cone.size)), rng.random(6) + 0.5
    size = 2.0**exponent
    scaled = ConicQP(problem, rows / size, margins, np.arange(6), size * C)
    assert scaled.units != Units()
    plain = interior_point(ConicQP(problem, rows, margins, np.arange(6), C), 1e-8)
    outcome = interior_point(scaled, 1e-8)
    assert plain.gap <= 1e-8 >= outcome.gap
    assert outcome.upper_bound / size == pytest.approx(plain.upper_bound, rel=1e-7)
    assert (outcome.a <= size * C).all()
