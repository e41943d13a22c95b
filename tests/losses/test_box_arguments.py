"""Losses per comparison refuse weights and targets that are exchanged or do not fit."""

import numpy as np
import pytest

from convexmetric.errors import InputError
from convexmetric.losses import BoxLoss

TARGETS = np.array([0.0, 1.0, 2.0])


@pytest.mark.parametrize("name", ["squared_error", "absolute_error", "hinge"])
def test_exchanged_arguments_are_told(name):
    with pytest.raises(InputError, match=rf"not be negative: {name}\(weights, .*\) takes the weights first"):
        getattr(BoxLoss, name)(TARGETS - 1.0, np.ones(3))
    with pytest.raises(InputError, match=r"weights and .* must be vectors of one length"):
        getattr(BoxLoss, name)(np.ones(2), TARGETS)
    with pytest.raises(InputError, match="must not be negative"):
        getattr(BoxLoss, name)(np.full(3, np.nan), TARGETS)


def test_squared_errors_need_positive_weights():
    for weights in (TARGETS, np.array([1.0, np.inf, 1.0])):
        with pytest.raises(InputError, match=r"positive and finite: squared_error\(weights, targets\)"):
            BoxLoss.squared_error(weights, np.ones(3))
    np.testing.assert_allclose(BoxLoss.squared_error([1.0, 2.0], [0.5, 3.0]).curvature, [0.5, 0.25])


def test_only_hinges_may_have_infinite_weights():
    infinite = np.full(3, np.inf)
    assert BoxLoss.hinge(infinite, TARGETS).hard
    with pytest.raises(InputError, match="for s = y use subject_to"):
        BoxLoss.absolute_error(infinite, TARGETS)
    with pytest.raises(InputError, match="finite where linear"):
        BoxLoss.hinge(infinite, TARGETS, np.array([True, False, False]))


def test_a_hard_margin_may_hold_with_equality():
    loss = BoxLoss.hinge(np.array([np.inf, np.inf, 2.0]), TARGETS)
    np.testing.assert_array_equal(loss.values(np.array([0.0, 3.0, 1.0])), [0.0, 0.0, 2.0])
    assert loss.values(TARGETS - 0.5)[0] == np.inf
    assert BoxLoss.hinge(np.full(3, np.inf), -TARGETS - 1.0).feasible_scale(-2.0 * (TARGETS + 1.0)) == 0.5
    assert BoxLoss.hinge(np.full(3, np.inf), TARGETS + 1.0).feasible_scale(np.array([-1.0, 1.0, 1.0])) == np.inf
