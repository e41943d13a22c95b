"""The Frobenius norm that is not squared: its value, its bound against CVXPY and against a fine search."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from samples import random_element, random_metric

from convexmetric.cones import NonnegativeDiagonal, PSDCone
from convexmetric.regularizers import Frobenius

CONES = [PSDCone, NonnegativeDiagonal]
seeds = st.integers(0, 10**6)


def positive_norm(S):
    values = np.linalg.eigvalsh(S) if S.ndim == 2 else S
    return np.sqrt((np.maximum(values, 0.0) ** 2).sum())


@given(seeds, st.sampled_from(CONES))
def test_value_and_expression(seed, kind):
    rng = np.random.default_rng(seed)
    cone = kind(3)
    M, norm = random_metric(rng, cone), Frobenius(0.7)
    variable, _ = cone.variable("M")
    variable.value = M
    assert norm.value(M, cone) == pytest.approx(0.7 * np.sqrt((M**2).sum()), rel=1e-12)
    assert norm.expression(variable, cone).value == pytest.approx(norm.value(M, cone), rel=1e-9, abs=1e-12)
    assert norm.quadratic(cone) is None


@given(seeds, st.sampled_from(CONES), st.booleans())
@example(33486, PSDCone, True)  # the feasible shares do not reach down to 0
@example(483, PSDCone, True)  # nor here, where the largest one is met but for rounding
@settings(max_examples=60)
def test_the_bound_is_that_of_the_largest_feasible_share(seed, kind, linear):
    rng = np.random.default_rng(seed)
    cone = kind(3)
    reg, value = float(rng.uniform(0.2, 3.0)), float(rng.exponential(2.0))
    S = float(rng.uniform(0.1, 8.0)) * random_element(rng, cone)
    G = 0.3 * random_element(rng, cone) if linear else None
    shares = np.linspace(0.0, 1.0, 4_001)
    feasible = [theta for theta in shares if positive_norm(theta * S - (0.0 if G is None else G)) <= reg]
    bound = Frobenius(reg).bound(value, S, G, cone, cone.zeros())
    if not feasible:
        assert bound == -np.inf or bound <= value * 1e-3
        return
    assert value * (max(feasible) - 1e-9) <= bound <= value * (max(feasible) + 1.0 / 4_000)


@given(seeds, st.sampled_from(CONES), st.booleans())
@settings(max_examples=40)
def test_the_bound_is_valid(seed, kind, linear):
    rng = np.random.default_rng(seed)
    cone = kind(int(rng.integers(1, 5)))
    norm, value = Frobenius(float(rng.uniform(0.2, 3.0))), float(rng.exponential(2.0))
    S = float(rng.uniform(0.1, 5.0)) * random_element(rng, cone)
    G = float(rng.uniform(0.1, 2.0)) * random_metric(rng, cone) if linear else None
    M, in_cone = cone.variable("M")
    term = 0.0 if G is None else cp.sum(cp.multiply(G, M))
    hardest = cp.pos(value - cp.sum(cp.multiply(S, M))) + term + norm.expression(M, cone)
    problem = cp.Problem(cp.Minimize(hardest), in_cone)
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    bound = norm.bound(value, S, G, cone, cone.zeros())
    assert bound <= problem.value + 1e-7 * (1.0 + value)
    if G is None:
        assert bound == pytest.approx(problem.value, rel=1e-5, abs=1e-6)


def test_closed_forms():
    cone = PSDCone(2)
    S = np.diag([3.0, 4.0])
    assert Frobenius(1.0).bound(10.0, S, None, cone, cone.zeros()) == pytest.approx(2.0)
    assert Frobenius(6.0).bound(10.0, S, None, cone, cone.zeros()) == 10.0
    assert Frobenius(1.0).bound(10.0, -S, None, cone, cone.zeros()) == 10.0
    # Nothing of theta S - G is positive until theta = 1/2, and then it grows by 4 a unit.
    G = np.diag([0.0, 2.0])
    assert Frobenius(1.0).bound(10.0, np.diag([0.0, 4.0]), G, cone, cone.zeros()) == pytest.approx(7.5)
    # A linear term outside the cone that the norm cannot hold: the problem is not bounded below.
    assert Frobenius(1.0).bound(10.0, S, -G, cone, cone.zeros()) == -np.inf


@pytest.mark.parametrize("kind", CONES)
@pytest.mark.parametrize("linear", [False, True])
def test_corners_of_scale_never_give_nonsense(kind, linear):
    cone = kind(2)
    G = 0.1 * cone.identity() if linear else None
    for value in (-1e300, -1.0, 0.0, 1e-300, 1.0, 1e300):
        for size in (0.0, 1e-300, 1e-8, 1.0, 1e8, 1e140):
            for sign in (-1.0, 1.0):
                bound = Frobenius(1.0).bound(value, sign * size * cone.identity(), G, cone, cone.zeros())
                assert not np.isnan(bound)
                assert bound <= max(0.0, value)


def test_formulas_for_readers():
    assert Frobenius(0.5).text("A") == "0.5 ||A||_F"
    assert Frobenius(0.5).latex("A") == r"0.5 \|A\|_F"
