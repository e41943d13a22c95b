"""All matrices and all symmetric ones: proximal maps, dual norms, coordinates, and what asks for a cone."""

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from samples import random_element

from convexmetric.cones import AllMatrices, PSDCone, Symmetric
from convexmetric.errors import UnsupportedProblemError
from convexmetric.regularizers import Trace

SPACES = [AllMatrices(3), AllMatrices(2, 5), AllMatrices(4, 1), Symmetric(3), Symmetric(1)]
spaces = st.tuples(st.sampled_from(SPACES), st.integers(0, 2**32 - 1))


def made(case):
    space, seed = case
    rng = np.random.default_rng(seed)
    return space, rng, random_element(rng, space)


@given(spaces, st.sampled_from([0.0, 0.3, 1.0, 100.0]))
def test_shrinking_is_the_proximal_map_of_the_trace_norm(case, t):
    space, rng, V = made(case)
    P = space.shrink(V, t)
    if isinstance(space, Symmetric):
        np.testing.assert_allclose(P, P.T, atol=1e-13)
    # (V - P) / t is a subgradient at P: in the ball of the dual norm, and tight.
    assert np.linalg.norm(V - P, 2) <= t * (1 + 1e-12) + 1e-12
    assert space.inner(V - P, P) == pytest.approx(t * space.trace(P), rel=1e-9, abs=1e-9)
    least = t * space.trace(P) + 0.5 * np.sum((P - V) ** 2)
    for size in (1e-3, 0.1, 1.0):
        M = P + size * random_element(rng, space)
        assert t * space.trace(M) + 0.5 * np.sum((M - V) ** 2) >= least - 1e-9


@given(spaces)
def test_the_largest_singular_value_is_dual_to_the_trace_norm(case):
    space, rng, S = made(case)
    values = np.linalg.svd(S, compute_uv=False)
    assert space.largest(S) == pytest.approx(values[0], rel=1e-12)
    assert space.trace(S) == pytest.approx(values.sum(), rel=1e-12)
    np.testing.assert_allclose(space.spectrum(S), values, rtol=1e-12, atol=1e-14)
    bottom = space.bottom(S)
    assert np.linalg.norm(bottom, "nuc") == pytest.approx(1.0, rel=1e-12)
    assert space.inner(S, bottom) == pytest.approx(-values[0], rel=1e-9)
    for _ in range(5):
        M = random_element(rng, space)
        assert abs(space.inner(S, M)) <= space.largest(S) * space.trace(M) * (1 + 1e-12)
    # Its subgradients are of that norm, and tight.
    slope = Trace(0.7).gradient(S, space)
    assert np.linalg.norm(slope, 2) <= 0.7 * (1 + 1e-12)
    assert space.inner(slope, S) == pytest.approx(0.7 * space.trace(S), rel=1e-9)
    assert not Trace(0.7).gradient(space.zeros(), space).any()


@given(spaces)
def test_coordinates_are_isometric_and_invert(case):
    space, rng, A = made(case)
    B = random_element(rng, space)
    u, v = space.coordinates(A), space.coordinates(B)
    assert u.shape == (space.size,)
    assert u @ v == pytest.approx(np.vdot(A, B), rel=1e-11, abs=1e-11)
    assert space.inner(A, B) == pytest.approx(np.vdot(A, B), rel=1e-11, abs=1e-11)
    np.testing.assert_allclose(space.from_coordinates(u), A, rtol=1e-15)
    np.testing.assert_array_equal(space.coordinates(np.array([A, B])), [u, v])
    np.testing.assert_array_equal(space.from_coordinates(np.array([u, v]))[1], space.from_coordinates(v))


@given(spaces)
def test_everything_is_in_the_space(case):
    space, _, S = made(case)
    np.testing.assert_array_equal(space.project(S), S)
    assert space.smallest(S) == space.violation(S) == 0.0
    assert np.isnan(space.largest_ratio(S, S))
    assert space.full(S) is S
    assert space.identity().shape == space.zeros().shape == space.shape
    np.testing.assert_array_equal(space.identity(), np.eye(*space.shape))


@given(spaces, st.booleans(), st.sampled_from([(4, 6), (6, 4)]))
def test_gram_and_cross_are_adjoint(case, sparse, sizes):
    space, rng, M = made(case)
    A, B = (rng.standard_normal((n, d)) for n, d in zip(sizes, space.shape, strict=True))
    T = rng.standard_normal(sizes)
    gram = space.gram(A, M, B)
    np.testing.assert_allclose(gram, A @ M @ B.T, atol=1e-10)
    assert gram.flags["C_CONTIGUOUS"]
    cross = space.cross(A, sp.csr_array(T) if sparse else T, B)
    assert cross.shape == space.shape
    assert space.inner(cross, M) == pytest.approx(np.vdot(T, gram), rel=1e-9, abs=1e-9)
    if isinstance(space, Symmetric):
        np.testing.assert_array_equal(cross, cross.T)
    np.testing.assert_allclose(space.times(B, M), B @ M.T, atol=1e-12)


@pytest.mark.parametrize("space", SPACES)
def test_statements(space):
    M = random_element(np.random.default_rng(0), space)
    variable, constraints = space.variable("W")
    assert constraints == []
    variable.value = M
    assert space.trace_expression(variable).value == pytest.approx(space.trace(M), rel=1e-9)
    norm = cp.Problem(cp.Minimize(space.trace_expression(variable)), [variable == M])
    assert norm.solve(solver="CLARABEL") == pytest.approx(space.trace(M), rel=1e-5)


def test_what_they_are():
    assert AllMatrices(2, 3) == AllMatrices(2, 3) != AllMatrices(3, 2)
    assert AllMatrices(3) != Symmetric(3) != PSDCone(3)
    assert len({AllMatrices(3), AllMatrices(3, 3), Symmetric(3)}) == 2
    assert repr(AllMatrices(2, 3)) == "AllMatrices(2, 3)"
    assert (AllMatrices(2, 3).size, Symmetric(3).size) == (6, 6)
    assert AllMatrices(2, 3).described().table == {"cone": "matrices", "features": 2, "features_of_items": 3}
    assert Symmetric(3).described().table == {"cone": "symmetric", "features": 3}


@pytest.mark.parametrize("space", SPACES)
def test_what_asks_for_a_cone(space):
    M, V = space.identity(), np.ones((1, space.d))
    asked = [
        lambda: space.quadratic_forms(V, M), lambda: space.outer_sum(V, np.ones(1)), lambda: space.outer_rows(V),
        lambda: space.outer(V[0]), lambda: space.relative_norm(M, M), lambda: space.inverse(M),
        lambda: space.centred_pair(M, 1.0, 1.0), lambda: space.scaling(M, M), lambda: space.projection(M),
        lambda: space.quadratic_form_expressions(V, space.variable("M")[0]),
    ]  # fmt: skip
    for ask in asked:
        with pytest.raises(UnsupportedProblemError, match="not restricted to a cone"):
            ask()
