"""Coordinates and growth of a factor."""

import numpy as np
import pytest

from convexmetric.risks import Minorant
from convexmetric.solvers.numerics.factors import FactorObjective, FactorPoint


class OneHinge(FactorObjective[FactorPoint]):
    """``max(0, a - 20 m)`` beside m, of a metric m, with a a little above 1."""

    def at(self, C):
        m, a = float((C * C).sum()), 1.0 + 1e-14
        slope = 20.0 * (20.0 * m < a)
        S = np.array([[slope]])
        return FactorPoint(C, C, max(0.0, a - 20.0 * m), Minorant(0.0, S, 0.0), S)

    def second_along(self, here):
        return np.zeros_like

    def curvature(self, here, change):
        return 0.0


def test_growth_is_no_step_that_gains_rounding_alone():
    # The first step tried is m = 1, where the objective is 1, as it is at zero but for rounding.
    objective = OneHinge(np.eye(1))
    grown = objective.grown(objective.at(np.empty((0, 1))), 1e-4)
    assert grown.value == 0.25


class Parabola(OneHinge):
    """``||M - A||^2 / 2``, whose S is A - M."""

    def __init__(self, A):
        super().__init__(np.eye(len(A)))
        self.A = A

    def at(self, C):
        S = self.A - C.T @ C
        return FactorPoint(C, C, 0.5 * float(np.vdot(S, S)), Minorant(0.0, S, 0.0), S)

    def curvature(self, here, change):
        return float(np.vdot(change, change))


def test_growth_takes_away_what_a_dual_point_has_too_much():
    """The curvature is 1 everywhere, so that one step takes away all of it."""
    objective = Parabola(np.diag([5.0, 3.0, 1.5, 0.5]))
    grown = objective.grown(objective.at(np.array([[1.0, 0.0, 0.0, 0.0]])), 1e-4)
    np.testing.assert_allclose(grown.C.T @ grown.C, np.diag([4.0, 2.0, 0.5, 0.0]), atol=1e-12)
    np.testing.assert_allclose(np.linalg.eigvalsh(grown.S)[-1], 1.0)


@pytest.mark.parametrize("tilt", [0.0, 1.0])
def test_coordinates_make_the_penalty_a_squared_norm(tilt):
    """Whether it is a multiple of the identity or not."""
    rng = np.random.default_rng(4)
    G, A, C = rng.standard_normal((5, 5)), rng.standard_normal((5, 5)), rng.standard_normal((3, 5))
    H, S = 3.0 * np.eye(5) + tilt * G @ G.T, A + A.T
    objective = OneHinge(H)
    B = objective.of_points(C)
    np.testing.assert_allclose(np.vdot(C, C), np.vdot(B.T @ B, H))
    np.testing.assert_allclose(np.vdot(C.T @ C, objective.whitened(S)), np.vdot(B.T @ B, S))
    np.testing.assert_allclose(np.vdot(objective.whitened_rows(A[:3]), C), np.vdot(A[:3], B))
