"""Scalings: both points become one, steps are those of the equations, and the system has their metric."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import random_element, random_metric, two_blocks

from convexmetric.cones import NonnegativeDiagonal, PSDCone
from convexmetric.cones.scaling import longest_step
from convexmetric.errors import SolverError

kinds, seeds = st.sampled_from([PSDCone, NonnegativeDiagonal, two_blocks]), st.integers(0, 2**32 - 1)


def interior(rng, cone):
    return random_metric(rng, cone) + 0.1 * cone.identity()


def made(kind, d, seed, L=0.0):
    cone, rng = kind(d), np.random.default_rng(seed)
    U, Z = interior(rng, cone), interior(rng, cone)
    return cone, rng, U, Z, cone.scaling(U, Z, L)


@given(kinds, st.integers(1, 6), seeds)
def test_both_points_become_the_same_diagonal_matrix(kind, d, seed):
    cone, _, U, Z, scaling = made(kind, d, seed)
    v = scaling.v if kind is NonnegativeDiagonal else np.diag(scaling.v)
    np.testing.assert_allclose(scaling.dual(Z), v, atol=1e-9)
    np.testing.assert_allclose(scaling.primal_step(v), U, atol=1e-9)
    np.testing.assert_allclose(scaling.dual_step(v), Z, atol=1e-9)
    assert scaling.v @ scaling.v == pytest.approx(cone.inner(U, Z), rel=1e-9)


@given(kinds, st.integers(1, 6), seeds, st.sampled_from([0.0, 2.5, "matrix"]))
def test_rows_and_curvature_are_those_of_the_system(kind, d, seed, L):
    rng = np.random.default_rng(seed + 1)
    if L == "matrix":
        root = rng.standard_normal((d, d))
        kind, L = NonnegativeDiagonal, root @ root.T
    cone, _, _, _, scaling = made(kind, d, seed, L)
    # <S, G V G^T> in coordinates, and <dU, (I + G^T L G) dU> of the direction V.
    S, direction = random_element(rng, cone), random_element(rng, cone)
    x = scaling.into(direction)
    np.testing.assert_allclose(scaling.out(x), direction, atol=1e-8)
    step = scaling.primal_step(direction)
    assert scaling.rows(S.reshape(1, -1))[0] @ x == pytest.approx(cone.inner(S, step), rel=1e-8, abs=1e-8)
    bent = L @ step if isinstance(L, np.ndarray) else L * step
    expected = cone.inner(direction, direction) + cone.inner(step, bent)
    H = scaling.H if scaling.H.ndim == 2 else np.diag(scaling.H)
    assert x @ H @ x == pytest.approx(expected, rel=1e-8, abs=1e-8)
    V = rng.standard_normal((3, d))
    outer = np.array([cone.outer_sum(row[None], np.ones(1)) for row in V]).reshape(3, -1)
    np.testing.assert_allclose(scaling.outer_rows(V), scaling.rows(outer), atol=1e-9)


@given(kinds, st.integers(1, 6), seeds)
def test_the_longest_step_ends_on_the_boundary(kind, d, seed):
    cone, rng, U, Z, scaling = made(kind, d, seed)
    V = random_element(rng, cone)
    for point, step in ((U, scaling.primal_step(V)), (Z, scaling.dual_step(V))):
        longest = scaling.longest(V)
        if longest == np.inf:
            assert cone.smallest(point + 1e3 * step) >= 0.0
        else:
            size = 1.0 + np.abs(point).max() + longest * np.abs(step).max()
            assert abs(cone.smallest(point + longest * step)) <= 1e-8 * size
    assert scaling.longest(V * 0.0) == np.inf
    products = cone.inner(U, scaling.dual_step(V)), cone.inner(Z, scaling.primal_step(V))
    assert products == pytest.approx([scaling.along(V)] * 2, rel=1e-8, abs=1e-8)


@given(kinds, st.integers(1, 5), seeds)
def test_a_centring_direction_brings_the_products_to_the_target(kind, d, seed):
    cone, rng, _, _, scaling = made(kind, d, seed)
    target, full = 0.3, cone.full
    v = np.diag(scaling.v)
    du, dz = 0.1 * random_element(rng, cone), 0.1 * random_element(rng, cone)
    for pair in ((), (du, dz)):
        R = full(scaling.centring(target, *pair))
        # V o R, the second-order term of the pair, and V^2 make target I.
        symmetric = 0.5 * (v @ R + R @ v) + v @ v
        if pair:
            product = full(du) @ full(dz)
            symmetric += 0.5 * (product + product.T)
        np.testing.assert_allclose(symmetric, target * np.eye(d), atol=1e-9)


def test_matrices_have_no_full_quadratic_form():
    with pytest.raises(SolverError, match="supported on diagonal metrics only"):
        PSDCone(2).scaling(np.eye(2), np.eye(2), np.eye(2))


def test_the_longest_step_of_a_vector():
    assert longest_step(np.array([1.0, 2.0, 3.0]), np.array([-2.0, 0.0, 5.0])) == 0.5
    assert longest_step(np.array([1.0]), np.array([1.0])) == np.inf
    assert longest_step(np.zeros(0), np.zeros(0)) == np.inf
