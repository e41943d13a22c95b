"""Dual bounds: below the optimum for any dual point, equal to it at an optimal one."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import random_element, random_metric

from convexmetric.cones import NonnegativeDiagonal, PSDCone
from convexmetric.regularizers import QuadraticForm, SquaredFrobenius, Trace, Zero

seeds = st.integers(0, 10**6)
CONES = [PSDCone, NonnegativeDiagonal]
OPTIONS = {"solver": cp.CLARABEL, "tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}


def quadratic_form(rng, d):
    A = rng.standard_normal((int(rng.integers(1, 2 * d)), d))
    return QuadraticForm((A.T @ A) ** 2)


def least(regularizer, cone, value, S, G):
    """``min over M in K of max(0, value - <S, M>) + <G, M> + Omega(M)``: the hardest R a dual point allows."""
    M, in_cone = cone.variable("M")
    linear = 0.0 if G is None else cp.sum(cp.multiply(G, M))
    risk = cp.pos(value - cp.sum(cp.multiply(S, M)))
    problem = cp.Problem(cp.Minimize(risk + linear + regularizer.expression(M, cone)), in_cone)
    problem.solve(**OPTIONS)
    return float(problem.value)


@given(seeds, st.sampled_from(CONES), st.sampled_from(["trace", "squared", "form"]), st.booleans())
@settings(max_examples=60)
def test_bound_is_valid_for_any_dual_point(seed, kind, name, linear):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 5))
    cone = NonnegativeDiagonal(d) if name == "form" else kind(d)
    reg = float(rng.uniform(0.2, 3.0))
    regularizer = {"trace": Trace(reg), "squared": SquaredFrobenius(reg)}.get(name) or quadratic_form(rng, d)
    value, S = float(rng.exponential(2.0)), rng.uniform(0.1, 5.0) * random_element(rng, cone)
    # A linear term in the cone keeps the problem bounded below.
    G = rng.uniform(0.1, 2.0) * random_metric(rng, cone) if linear else None
    hint = random_metric(rng, cone, float(rng.uniform(0, 2)))
    bound = regularizer.bound(value, S, G, cone, hint)
    assert bound <= least(regularizer, cone, value, S, G) + 1e-7 * (1.0 + value)


@given(seeds, st.sampled_from(CONES))
@settings(max_examples=50)
def test_linear_term_outside_the_cone(seed, kind):
    rng = np.random.default_rng(seed)
    cone = kind(3)
    value, S, G = rng.choice([2.0, -2.0]), random_element(rng, cone), 0.4 * random_element(rng, cone)
    squared = SquaredFrobenius(0.5)
    assert squared.bound(value, S, G, cone, cone.zeros()) <= least(squared, cone, value, S, G) + 1e-7
    # A trace that -G outweighs has an optimum only where the data hold against it, as S may tell.
    heavy = Trace(cone.largest(-G) * 0.99) if cone.largest(-G) > 0 else None
    if heavy is not None:
        bound = heavy.bound(value, S, G, cone, cone.zeros())
        assert bound == (value if cone.largest(S - G) <= heavy.reg else -np.inf)
        assert bound <= least(heavy, cone, value, S, G) + 1e-7
    light = Trace(max(cone.largest(-G), 0.0) * 1.01 + 0.1)
    assert light.bound(value, S, G, cone, cone.zeros()) <= least(light, cone, value, S, G) + 1e-7


@pytest.mark.parametrize("kind", CONES)
@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_bound_is_tight_at_an_optimal_dual_point(kind, linear, seed):
    # At the minimiser M of R + <G, M> + Omega with R = max_t b_t - <A_t, M>, read the multipliers off CVXPY.
    rng = np.random.default_rng(seed)
    cone = kind(3)
    G = 0.3 * random_metric(rng, cone) if linear else None
    rows, offsets = [random_element(rng, cone) for _ in range(6)], rng.uniform(0.5, 2.0, 6)
    regularizers = [Trace(0.7), SquaredFrobenius(0.9)]
    if kind is NonnegativeDiagonal:
        regularizers.append(quadratic_form(rng, 3))
    for regularizer in regularizers:
        M, in_cone = cone.variable("M")
        xi = cp.Variable(nonneg=True)
        cuts = [xi >= b - cp.sum(cp.multiply(A, M)) for A, b in zip(rows, offsets, strict=True)]
        term = 0.0 if G is None else cp.sum(cp.multiply(G, M))
        problem = cp.Problem(cp.Minimize(4.0 * xi + term + regularizer.expression(M, cone)), cuts + in_cone)
        problem.solve(**OPTIONS)
        u = np.array([float(cut.dual_value) for cut in cuts])
        bound = regularizer.bound(
            float(u @ offsets),
            sum(w * A for w, A in zip(u, rows, strict=True)),
            G,
            cone,
            cone.project(np.asarray(M.value)),
        )
        # Shrinking an almost feasible trace dual loses its slack; rounding may gain none.
        assert bound == pytest.approx(problem.value, rel=2e-6, abs=2e-6)


@given(seeds, st.sampled_from(CONES))
def test_value_expression_and_parts_agree(seed, kind):
    rng = np.random.default_rng(seed)
    d = 3
    cone, M = kind(d), random_metric(rng, kind(d))
    regularizers = [Trace(1.7), SquaredFrobenius(0.3)]
    if kind is NonnegativeDiagonal:
        regularizers.append(quadratic_form(rng, d))
    for regularizer in regularizers:
        variable, _ = cone.variable("M")
        variable.value = M
        value = regularizer.value(M, cone)
        assert regularizer.expression(variable, cone).value == pytest.approx(value, rel=1e-9, abs=1e-12)
        u, Q = cone.coordinates(M), regularizer.quadratic(cone)
        quadratic = u @ Q @ u if isinstance(Q, np.ndarray) else Q * (u @ u)
        assert regularizer.linear(cone) @ u + 0.5 * quadratic == pytest.approx(value, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("cone", [PSDCone(2), NonnegativeDiagonal(2)], ids=repr)
def test_a_negative_value_is_not_raised_to_zero_where_the_risk_must_hold_the_linear_term(cone):
    # max(0, 2 tr M - 2) - tr M / 2 is least where tr M = 1: -1/2. At zero the linear term would fall without end.
    G, S = -0.5 * cone.identity(), -2.0 * cone.identity()
    for regularizer in (Zero(), Trace(0.25)):
        bound = regularizer.bound(-2.0, S, G, cone, cone.zeros())
        assert bound == -2.0
        assert bound <= least(regularizer, cone, -2.0, S, G) < -0.2
    assert Trace(0.5).bound(-2.0, S, G, cone, cone.zeros()) == 0.0


def test_conjugates_in_closed_form():
    cone = PSDCone(2)
    S = np.diag([3.0, -5.0])
    # Optimal theta = value reg / ||S_+||^2 = 1 * 2 / 9.
    assert SquaredFrobenius(2.0).bound(1.0, S, None, cone, cone.zeros()) == pytest.approx(2.0 / 18.0)
    assert SquaredFrobenius(2.0).bound(90.0, S, None, cone, cone.zeros()) == pytest.approx(90.0 - 9.0 / 4.0)
    assert Trace(1.5).bound(4.0, S, None, cone, cone.zeros()) == pytest.approx(2.0)
    assert Trace(3.0).bound(4.0, S, None, cone, cone.zeros()) == 4.0
    # theta S - G <= 1 with G = diag(2, 0): theta <= 1.
    assert Trace(1.0).bound(4.0, S, np.diag([2.0, 0.0]), cone, cone.zeros()) == 4.0
    assert Trace(1.0).bound(4.0, 2 * S, np.diag([2.0, 0.0]), cone, cone.zeros()) == pytest.approx(2.0)


@pytest.mark.parametrize("kind", CONES)
@pytest.mark.parametrize("linear", [False, True])
def test_corners_of_scale_never_give_nonsense(kind, linear):
    cone = kind(2)
    G = 0.1 * cone.identity() if linear else None
    regularizers = [Trace(1.0), SquaredFrobenius(1.0)]
    if kind is NonnegativeDiagonal:
        regularizers.append(QuadraticForm(np.array([[1.0, 0.5], [0.5, 1.0]])))
    for regularizer in regularizers:
        for value in (-1e300, -1.0, 0.0, 1e-300, 1.0, 1e300):
            for size in (0.0, 1e-300, 1e-8, 1.0, 1e8, 1e140):
                for sign in (-1.0, 1.0):
                    S = sign * size * cone.identity()
                    bound = regularizer.bound(value, S, G, cone, cone.zeros())
                    assert not np.isnan(bound)
                    # M = 0 costs max(0, value), so that no bound may exceed it.
                    assert bound <= max(0.0, value)
                    if size == 0.0 and value > 0.0 and not linear:
                        assert bound == value


def test_quadratic_form_with_features_of_no_weight():
    # Row and column of L are zero: w_1 is free, so that S_1 > 0 proves nothing and S_1 <= 0 costs nothing.
    form, cone = QuadraticForm(np.diag([1.0, 0.0])), NonnegativeDiagonal(2)
    assert form.bound(1.0, np.array([1.0, 1.0]), None, cone, np.array([1.0, 3.0])) == -np.inf
    assert form.bound(1.0, np.array([1.0, -1.0]), None, cone, np.array([1.0, 0.0])) == pytest.approx(0.5)


def test_a_better_hint_gives_a_better_bound():
    rng = np.random.default_rng(0)
    form, cone = quadratic_form(rng, 4), NonnegativeDiagonal(4)
    w = rng.random(4)
    S = form.L @ w  # then w itself is feasible and optimal
    exact = form.bound(500.0, S, None, cone, w)
    assert exact == pytest.approx(500.0 - 0.5 * w @ form.L @ w)
    for other in (np.zeros(4), 0.5 * w, 2 * w, rng.random(4)):
        assert form.bound(500.0, S, None, cone, other) <= exact + 1e-12


@pytest.mark.parametrize("L", [np.zeros((2, 2)), np.ones((3, 3)), [[1e-30]], 1e200 * np.ones((2, 2))])
def test_singular_forms_are_fine(L):
    assert QuadraticForm(L).value(np.zeros(len(L)), NonnegativeDiagonal(len(L))) == 0.0


def test_formulas_for_readers():
    assert Trace(1.0).text("W") == "tr(W)"
    assert Trace(0.5).text("W") == "0.5 tr(W)"
    assert SquaredFrobenius(1.0).text("w") == "0.5 ||w||_F^2"
    assert SquaredFrobenius(1.0).latex("M") == r"\tfrac12 \|M\|_F^2"
    assert SquaredFrobenius(3.0).latex("M") == r"\frac{3}{2} \|M\|_F^2"
    assert QuadraticForm(np.eye(2)).text("w") == "1/2 w^T L w"
    assert "L w" in QuadraticForm(np.eye(2)).latex("w")
    assert r"\mathrm{tr} M" in Trace(2.0).latex("M")
