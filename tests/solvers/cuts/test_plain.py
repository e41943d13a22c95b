"""The plain driver: the optimum that the accelerated one finds, by one cut a pass."""

import numpy as np
import pytest

import convexmetric as cm
from convexmetric.solvers.cuts.cutting_planes import CuttingPlanes
from convexmetric.solvers.cuts.plain import cutting_planes

WINE = cm.datasets.load("wine")
X = cm.datasets.preprocess(WINE.X, ["zscore"])


@pytest.mark.parametrize("measure", ["map", "auc", "ndcg"])
@pytest.mark.parametrize("diagonal", [False, True])
def test_its_bounds_are_those_of_the_accelerated_driver(measure, diagonal):
    problem = cm.RankingProblem.from_labels(X[::2, :5], WINE.y[::2], measure=measure, C=5.0, diagonal=diagonal)
    M, lower, upper = cutting_planes(problem, tol=1e-4)
    fast = cm.solve(problem, solver=CuttingPlanes(), tol=1e-6)
    # Intervals of the same optimum meet, and each is as narrow as was asked for.
    assert lower <= fast.upper_bound
    assert fast.lower_bound <= upper
    assert upper - lower <= 1e-4 * upper
    assert upper == pytest.approx(problem.objective(M), rel=1e-12)


def test_a_pass_adds_one_plane_and_bounds_close_from_both_sides():
    problem = cm.RankingProblem.from_labels(X[::2, :5], WINE.y[::2], measure="map", C=5.0)
    found = [cutting_planes(problem, tol=1e-6, passes=passes) for passes in (1, 3, 9)]
    lowers, uppers = np.array([bounds for _, *bounds in found]).T
    assert (np.diff(lowers) >= 0.0).all()
    assert (np.diff(uppers) <= 0.0).all()
    assert lowers[0] < lowers[-1] <= uppers[-1] < uppers[0]
