"""Dual ascent: where it starts."""

import numpy as np
import pytest

import convexmetric as cm
from convexmetric.comparisons import Triplets
from convexmetric.cones import PSDCone
from convexmetric.losses import BoxLoss
from convexmetric.regularizers import LogDet
from convexmetric.risks import SeparableRisk


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("scale", [1.0, 3.0])
def test_starts_along_slopes_where_equal_multipliers_gain_nothing(scale, seed):
    rng = np.random.default_rng(seed)
    X, y = scale * rng.normal(size=(60, 4)), rng.integers(2, size=60)
    X[:, 0] += 2.0 * scale * y
    t = rng.permuted(np.tile(np.arange(60), (2_000, 1)), axis=1)[:, :3]
    t = t[(y[t[:, 0]] == y[t[:, 1]]) & (y[t[:, 0]] != y[t[:, 2]])]
    risk = SeparableRisk(Triplets(X, t, PSDCone(4)), BoxLoss.hinge(np.ones(len(t)), np.ones(len(t))))
    problem = cm.MetricProblem(risk, LogDet(np.eye(4)))
    # Equal multipliers ask the prior for margins that it has on average.
    assert risk.comparisons.forward(np.eye(4)).mean() > 1.0
    found = [cm.solve(problem, 1e-4, solver=solver) for solver in ("dual-ascent", "admm")]
    assert [solution.status for solution in found] == ["optimal", "optimal"]
    assert found[0].upper_bound == pytest.approx(found[1].upper_bound, rel=2e-4)
