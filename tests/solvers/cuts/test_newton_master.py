"""Masters of log-determinants: the optimum does not depend on the coordinates, and so on the condition of the prior."""

import numpy as np
import pytest

import convexmetric as cm
from convexmetric.cones import NonnegativeDiagonal, PSDCone
from convexmetric.regularizers import LogDet, Zero
from convexmetric.solvers.cuts.conic_master import ConicMaster
from convexmetric.solvers.cuts.dual_masters import NewtonMaster, has_newton_master

WINE = cm.datasets.load("wine")
X, Y = cm.datasets.preprocess(WINE.X, ["zscore"])[::12, :4], WINE.y[::12]


def problem(prior, X=X, diagonal=False, G=None):
    """All triplets of the labels, near a prior."""
    risk = cm.TripletProblem.from_labels(X, Y, n_same=None, n_other=None, diagonal=diagonal).risk
    return cm.MetricProblem(risk, LogDet(prior, 1.0), G=G)


def turned(condition):
    """A prior with this condition, and its root."""
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((4, 4)))[0]
    L = Q * np.geomspace(condition**-0.25, condition**0.25, 4)
    prior = L @ L.T
    return 0.5 * (prior + prior.T), L


@pytest.mark.parametrize("condition", [1e8, 1e12])
def test_a_prior_is_the_identity_in_coordinates_of_its_own(condition):
    """``M = L N L^T``: distances are those of the points ``X L`` under N, and the divergence is that of N to I."""
    prior, L = turned(condition)
    solution = cm.solve(problem(prior))
    moved = cm.solve(problem(np.eye(4), X @ L))
    assert solution.solver == moved.solver == "cutting-planes"
    assert max(solution.gap, moved.gap) <= 1e-6
    # Rounding of the prior's own entries, seen from its smallest eigenvalue, moves the optimum of the first.
    room = 1e-15 * condition * abs(moved.upper_bound)
    assert max(solution.lower_bound, moved.lower_bound) <= min(solution.upper_bound, moved.upper_bound) + room


@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize("linear", [False, True])
def test_both_masters_have_the_same_optimum(diagonal, linear):
    cone = NonnegativeDiagonal(4) if diagonal else PSDCone(4)
    G = cone.outer_sum(X[:3], np.array([0.3, -0.2, 0.1])) if linear else None
    made = problem(2.0 * cone.identity(), diagonal=diagonal, G=G)
    assert has_newton_master(made)
    groups = np.arange(made.risk.parts) % 3
    cuts = [made.risk.separate(t * cone.identity(), groups) for t in (0.0, 0.1, 1.0, 10.0)]
    given = (
        np.vstack([cut.normals for cut in cuts]),
        np.concatenate([cut.offsets for cut in cuts]),
        np.tile(np.arange(3), 4),
        np.ones(3),
        1e-10,
        lambda: False,
    )
    newton, conic = NewtonMaster(made).solve(*given), ConicMaster(made).solve(*given)
    assert newton.gap <= 1e-10
    assert newton.lower_bound == pytest.approx(conic.upper_bound, rel=1e-7)
    np.testing.assert_allclose(newton.M, conic.M, atol=1e-4 * np.abs(conic.M).max())
    # What a group's multipliers add up to at most, and the metric that they are the slope at.
    assert newton.a.min() >= 0.0
    assert np.bincount(given[2], newton.a).max() <= 1.0 + 1e-12
    slope = made.regularizer.gradient(newton.M, cone) + (0.0 if G is None else G) - newton.sums.S
    np.testing.assert_allclose(slope, 0.0, atol=1e-6 * np.abs(newton.sums.S).max())


def test_the_gram_is_the_derivative_of_the_metric_that_attains_the_conjugate():
    cone, omega = PSDCone(4), LogDet(turned(10.0)[0], 0.7)
    rng = np.random.default_rng(1)
    rows = np.array([cone.outer_sum(rng.standard_normal((2, 4)), np.array([1.0, -1.0])) for _ in range(3)])
    S, h = -0.1 * cone.identity(), 1e-5
    M = omega.conjugate(S, cone)[1]
    for row, products in zip(rows, omega.dual_gram(M, rows, cone), strict=True):
        ahead, behind = (omega.conjugate(S + t * row, cone)[1] for t in (h, -h))
        change = (ahead - behind) / (2.0 * h)
        np.testing.assert_allclose(np.tensordot(rows, change, axes=2), products, rtol=1e-6, atol=1e-8)


def test_others_have_conic_masters():
    cone = PSDCone(4)
    heavy = problem(cone.identity(), G=-2.0 * cone.identity())
    assert not has_newton_master(heavy)
    assert not has_newton_master(cm.MetricProblem(heavy.risk, Zero()))
