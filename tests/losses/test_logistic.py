"""The logistic loss: its conjugate, its derivatives, and no overflow."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from convexmetric.losses import Logistic

margins = st.floats(-1e3, 1e3)


@given(margins, st.floats(0.0, 1.0), st.floats(1e-3, 1e3))
def test_every_multiplier_bounds_it_from_below(s, share, C):
    loss = Logistic(C)
    u = np.array([share * C])
    assert loss.dual_value(u) - u[0] * s <= loss.value(np.array([s])) * (1 + 1e-12) + 1e-12 * C * abs(s)


@given(st.floats(-30.0, 30.0))
def test_its_own_multiplier_is_tight(s):
    loss, at = Logistic(0.5), np.array([s])
    u = loss.subgradient(at)
    assert loss.dual_value(u) - u[0] * s == pytest.approx(loss.value(at), rel=1e-9, abs=1e-12)


@given(st.floats(-20.0, 20.0))
def test_derivatives_are_those_of_the_value(s):
    loss, h = Logistic(0.7), 1e-4
    left, middle, right = (loss.value(np.array([s + step])) for step in (-h, 0.0, h))
    assert -loss.subgradient(np.array([s]))[0] == pytest.approx((right - left) / (2 * h), abs=1e-8)
    assert loss.curvature(np.array([s]))[0] == pytest.approx((right - 2 * middle + left) / h**2, abs=1e-5)


def test_extreme_margins():
    loss, s = Logistic(), np.array([-1e308, -800.0, 800.0, 1e308])
    np.testing.assert_array_equal(loss.values(s), [1e308, 800.0, 0.0, 0.0])
    np.testing.assert_array_equal(loss.subgradient(s), [1.0, 1.0, 0.0, 0.0])
    np.testing.assert_array_equal(loss.curvature(s), 0.0)
    np.testing.assert_array_equal(loss.dual_values(np.array([0.0, 1.0])), 0.0)
