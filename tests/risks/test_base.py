"""What a risk of one's own need not say."""

import numpy as np
import pytest

import convexmetric as cm
from convexmetric.cones import AllMatrices, PSDCone, Symmetric
from convexmetric.errors import ContractError
from convexmetric.losses import Hinge, NegativeLog
from convexmetric.regularizers import SquaredFrobenius
from convexmetric.risks import Cuts, Risk

SIDE = 3


class OneHinge(Risk):
    """``max(0, 1 - sum of W)``: with ``||W||^2 / 2`` the optimum is 1 / 18, at the matrix of 1 / 9."""

    parts, part_kind, nonnegative = 1, "one", True

    def __init__(self, cone):
        self.cone = cone

    def value(self, M):
        return float(max(0.0, 1.0 - M.sum()))

    def part_values(self, M):
        return np.array([self.value(M)])

    def worst_comparisons(self, parts, M, other=None):
        return []

    def separate(self, M, groups):
        a = float(M.sum() < 1.0)
        normal = self.cone.coordinates(a * np.ones(M.shape))
        return Cuts(np.array([self.value(M)]), np.array([a]), normal[None], self.weights())

    def weights(self):
        return None

    def statement(self, M):
        raise cm.errors.InputError("it is not written out")


class WithPoints(OneHinge):
    points = (np.ones((1, SIDE)), np.ones((1, SIDE)))


class WithSlopes(WithPoints):
    lipschitz = 1.0


class WithWeights(WithSlopes):
    def weights(self):
        return np.ones(1)


@pytest.mark.parametrize("cone", [PSDCone, Symmetric, AllMatrices])
@pytest.mark.parametrize("risk", [OneHinge, WithPoints, WithSlopes, WithWeights])
def test_points_slopes_and_weights_are_optional(cone, risk):
    problem = cm.MetricProblem(risk(cone(SIDE)), SquaredFrobenius(1.0))
    cm.check_problem(problem)
    solution = cm.solve(problem, max_seconds=5.0)
    assert solution.status == "optimal"
    assert solution.lower_bound <= 1.0 / 18.0 <= solution.upper_bound


def test_points_that_do_not_fit_are_found_before_a_solve():
    class Narrow(OneHinge):
        points = (np.ones((1, 2)),)

    with pytest.raises(ContractError, match="risk Narrow: points, lipschitz and weights of cuts"):
        cm.check_problem(cm.MetricProblem(Narrow(PSDCone(SIDE)), SquaredFrobenius(1.0)))


def test_a_loss_that_is_a_barrier_is_hard():
    assert NegativeLog().hard
    assert not Hinge(1.0).hard
