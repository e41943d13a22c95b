"""Directions solve the linearised equations, in every reduction."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import KINDS, SLACKS, program

from convexmetric.solvers.numerics import interior_point
from convexmetric.solvers.numerics.interior_point import NewtonSystem, ReducedSystem
from convexmetric.solvers.numerics.qp import heavy_start, times


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("slacks", SLACKS)
@pytest.mark.parametrize("count", [2, 12])
def test_a_direction_solves_the_linearised_equations(kind, slacks, count):
    qp = program(kind, slacks, count)
    point, rng = heavy_start(qp), np.random.default_rng(0)
    a, s, xi, beta = point.a, point.s, point.xi, point.beta
    system = NewtonSystem(qp, point, qp.times(point.U) - qp.b)
    rows, shared = 0.1 * rng.standard_normal(len(a)), 0.1 * rng.standard_normal(len(xi))
    move = system.direction(system.scaling.centring(0.2), rows, shared)
    U, Z = point.U + system.scaling.primal_step(move.U), point.Z + system.scaling.dual_step(move.Z)
    np.testing.assert_allclose(Z, qp.c + times(qp.L, U) - qp.adjoint(a + move.a), atol=1e-9)
    np.testing.assert_allclose(a * move.s + s * move.a, rows, atol=1e-9)
    np.testing.assert_allclose(move.U + move.Z, system.scaling.centring(0.2), atol=1e-9)
    if qp.hard:
        np.testing.assert_allclose(qp.times(U) - qp.b, s + move.s, atol=1e-8)
        return
    np.testing.assert_allclose(qp.times(U) + (xi + move.xi)[qp.group] - qp.b, s + move.s, atol=1e-8)
    np.testing.assert_allclose(qp.C - qp.sums(a + move.a), beta + move.beta, atol=1e-9)
    np.testing.assert_allclose(xi * move.beta + beta * move.xi, shared, atol=1e-9)


@given(st.integers(1, 9), st.integers(1, 6), st.booleans(), st.sampled_from([0.0, 1.0, np.inf]), st.integers(0, 99))
@settings(max_examples=60, derandomize=True)
def test_every_reduction_solves_the_same_system(k, n, full, heavy, seed):
    rng = np.random.default_rng(seed)
    P, D, H = rng.standard_normal((k, n)), 0.1 + rng.random(k), 0.1 + rng.random(n)
    if full:
        root = rng.standard_normal((n, n))
        H = root @ root.T + np.eye(n)
    rho, r = rng.standard_normal(n), rng.standard_normal(k)
    # All rows heavy, some, none.
    with mock.patch.object(interior_point, "HEAVY_ROW", heavy):
        x, da = ReducedSystem(P, H, D).solve(rho, r)
    np.testing.assert_allclose((H if full else np.diag(H)) @ x - P.T @ da, rho, atol=1e-9)
    np.testing.assert_allclose(P @ x + D * da, r, atol=1e-9)
