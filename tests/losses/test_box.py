"""Losses on boxes against their formulas, conjugates by search, and CVXPY."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from convexmetric.losses import BoxLoss, Hinge

T = 6


def losses(rng):
    """Every kind with its formula."""
    c, y = rng.uniform(0.1, 3.0, T), rng.normal(size=T)
    linear = rng.random(T) < 0.5
    return {
        "hinge": (BoxLoss.hinge(c, y), lambda s: c * np.maximum(0.0, y - s)),
        "partly linear": (
            BoxLoss.hinge(c, y, linear),
            lambda s: np.where(linear, c * (y - s), c * np.maximum(0.0, y - s)),
        ),
        "absolute": (BoxLoss.absolute_error(c, y), lambda s: c * np.abs(y - s)),
        "squared": (BoxLoss.squared_error(c, y), lambda s: c * (y - s) ** 2),
        "squared hinge": (
            BoxLoss(y, np.zeros(T), np.full(T, np.inf), 0.5 / c),
            lambda s: c * np.maximum(0.0, y - s) ** 2,
        ),
        "Huber": (
            BoxLoss(y, -np.ones(T), np.ones(T), 0.5 / c),
            lambda s: np.where(2.0 * c * np.abs(y - s) <= 1.0, c * (y - s) ** 2, np.abs(y - s) - 0.25 / c),
        ),
        "of every kind": (
            BoxLoss(y, np.where(linear, -1.0, -np.inf), np.where(linear, 2.0, 3.0), np.where(linear, 0.0, 0.5 / c)),
            lambda s: np.where(
                linear,
                np.maximum(2.0 * (y - s), s - y),
                np.where(2.0 * c * (y - s) <= 3.0, c * (y - s) ** 2, 3.0 * (y - s) - 2.25 / c),
            ),
        ),
    }


KINDS = list(losses(np.random.default_rng(0)))
seeds = st.integers(0, 10**6)


@given(seeds, st.sampled_from(KINDS))
def test_values_are_the_formulas(seed, kind):
    rng = np.random.default_rng(seed)
    loss, formula = losses(rng)[kind]
    s = 3.0 * rng.normal(size=T)
    np.testing.assert_allclose(loss.values(s), formula(s), rtol=1e-10, atol=1e-12)
    assert loss.value(s) == pytest.approx(formula(s).sum(), rel=1e-10)
    np.testing.assert_array_equal(loss.box(T).values(s), loss.values(s))


@given(seeds, st.sampled_from(KINDS))
def test_every_multiplier_is_a_supporting_line(seed, kind):
    rng = np.random.default_rng(seed)
    loss, formula = losses(rng)[kind]
    u = loss.clip(5.0 * rng.normal(size=T))
    for _ in range(10):
        s = 3.0 * rng.normal(size=T)
        assert (formula(s) >= loss.dual_values(u) - u * s - 1e-10).all()
        tangent = loss.subgradient(s)
        np.testing.assert_allclose(loss.dual_values(tangent) - tangent * s, formula(s), rtol=1e-9, atol=1e-10)
        np.testing.assert_array_equal(loss.clip(tangent), tangent)


@given(seeds, st.sampled_from(KINDS))
def test_dual_values_are_minus_the_conjugate(seed, kind):
    """-l*(-u) = min over s of l(s) + u s, which lies at the kink or where the parabola is flat: inside a fine grid."""
    rng = np.random.default_rng(seed)
    loss, formula = losses(rng)[kind]
    u = np.clip(loss.clip(rng.normal(size=T)), -3.0, 3.0)
    grid = np.linspace(-60.0, 60.0, 60_001)[:, None]
    np.testing.assert_allclose((formula(grid) + u * grid).min(axis=0), loss.dual_values(u), atol=1e-2)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_the_statement_is_the_loss_and_its_multipliers_are_u(kind, seed):
    rng = np.random.default_rng(seed)
    loss, formula = losses(rng)[kind]
    s = cp.Variable(T)
    target = 2.0 * rng.normal(size=T)
    expression, constraint = loss.statement(s)
    problem = cp.Problem(cp.Minimize(expression + 0.5 * cp.sum_squares(s - target)), [constraint])
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    assert expression.value == pytest.approx(formula(s.value).sum(), rel=1e-6, abs=1e-7)
    # Stationary: s - target = u, with -u a subgradient of the loss at s.
    np.testing.assert_allclose(constraint.dual_value, s.value - target, atol=1e-5)


def test_hinges_of_one_weight_are_the_hinge():
    rng = np.random.default_rng(0)
    hinge, s = Hinge(1.5, margin=0.8), rng.normal(size=T)
    box = hinge.box(T)
    np.testing.assert_allclose(box.values(s), hinge.values(s))
    np.testing.assert_allclose(box.dual_values(box.subgradient(s)), hinge.dual_values(hinge.subgradient(s)))


def test_huge_distances_cost_infinitely_much_at_most():
    loss = BoxLoss.squared_error(np.ones(1), np.ones(1))
    for s in (1e160, 1e250, -1e250):
        assert loss.values(np.array([s]))[0] == np.inf
        assert loss.dual_values(loss.subgradient(np.array([s])))[0] == -np.inf
