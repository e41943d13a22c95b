"""The interior-point method: both bounds meet in every form of the program, and it ends where numbers do."""

import numpy as np
import pytest
from programs import KINDS, SLACKS, penalty, program

from convexmetric.solvers.numerics.interior_point import interior_point
from convexmetric.solvers.numerics.qp import ConicQP, heavy_start


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("slacks", SLACKS)
def test_both_bounds_meet(kind, slacks):
    qp = program(kind, slacks)
    outcome = interior_point(qp, 1e-9)
    assert outcome.gap <= 1e-9
    assert qp.cone.smallest(outcome.U) > 0.0
    assert qp.primal_value(outcome.U, qp.times(outcome.U) - qp.b) == pytest.approx(outcome.upper_bound)
    assert qp.dual_value(outcome.a, outcome.U) == pytest.approx(outcome.lower_bound)
    assert len(outcome.path) == outcome.iterations + 1
    again = interior_point(qp, 1e-9, start=heavy_start(qp))
    assert again.upper_bound == pytest.approx(outcome.upper_bound, rel=1e-8)


def test_limits_are_kept():
    qp = program("psd, linear", "shared")
    assert interior_point(qp, 0.0, max_steps=3).iterations == 3
    assert interior_point(qp, 0.0, stop=iter([False, False, True]).__next__).iterations == 2


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_numbers_that_are_no_floats_end_it():
    problem = penalty("psd, linear")
    k, q = 4, problem.cone.size
    rows = np.full((k, q), 1e300) * np.array([[1.0], [1e10], [np.inf], [1.0]])
    with np.errstate(all="ignore"):
        outcome = interior_point(ConicQP(problem, rows, np.ones(k), np.arange(k), np.ones(k)), 1e-6)
    assert outcome.lower_bound == -np.inf
    assert np.isfinite(outcome.U).all()
