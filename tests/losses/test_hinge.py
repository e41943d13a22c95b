"""The hinge: conjugate and subgradient against their definitions, the statement in CVXPY."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from convexmetric.losses import Hinge

positive = st.floats(1e-6, 1e6)
margins = st.floats(-1e6, 1e6)


@given(positive, positive, margins, margins)
def test_subgradient_and_conjugate_bound_the_loss(C, margin, s, other):
    loss = Hinge(C, margin)
    at, there = np.array([s]), np.array([other])
    u = loss.subgradient(at)
    scale = 1e-12 * C * (abs(s) + abs(other) + margin)
    assert loss.value(at) == pytest.approx(C * max(0.0, margin - s))
    # -u is a subgradient, and (u, s) attains Fenchel's inequality.
    assert loss.value(there) >= loss.value(at) - u[0] * (other - s) - scale
    assert loss.dual_value(u) - u[0] * s == pytest.approx(loss.value(at), abs=scale)
    for share in (0.0, 0.3, 1.0):
        v = loss.clip(share * np.array([C]))
        assert loss.value(there) >= loss.dual_value(v) - v[0] * other - scale


def test_clip_is_the_nearest_point_of_the_box():
    np.testing.assert_array_equal(Hinge(2.0).clip(np.array([-1.0, 0.5, 2.0, 9.0])), [0.0, 0.5, 2.0, 2.0])
    np.testing.assert_array_equal(Hinge(np.inf).clip(np.array([-1.0, 0.5, 1e300])), [0.0, 0.5, 1e300])


def test_hard_margin_is_a_constraint():
    loss = Hinge(np.inf, 0.5)
    assert loss.hard
    assert not Hinge(1e300).hard
    assert loss.value(np.array([0.5, 7.0])) == 0.0
    assert loss.value(np.array([0.5, np.nextafter(0.5, 0)])) == np.inf
    np.testing.assert_array_equal(loss.values(np.array([0.5, 0.4])), [0.0, np.inf])
    assert loss.feasible_scale(np.array([0.25, 3.0])) == 2.0
    assert loss.feasible_scale(np.array([0.0, 3.0])) == np.inf
    assert loss.feasible_scale(np.array([-1.0, 3.0])) == np.inf
    assert loss.dual_value(np.array([2.0, 4.0])) == 3.0


@pytest.mark.parametrize("C", [0.5, 30.0])
def test_statement_has_the_loss_as_its_optimum_and_u_as_multipliers(C):
    loss, s = Hinge(C, 0.7), np.array([-1.0, 0.2, 0.69, 2.0])
    variable = cp.Variable(4)
    expression, constraint = loss.statement(variable)
    # Held at s with a price v, the multipliers of s >= margin - xi are the loss's u.
    problem = cp.Problem(cp.Minimize(expression), [constraint, variable == s])
    assert problem.solve(solver=cp.CLARABEL) == pytest.approx(loss.value(s), abs=1e-6)
    np.testing.assert_allclose(constraint.dual_value, loss.subgradient(s), atol=1e-5 * C)
