"""Parts of a point, and the derivative of the projection against differences and against itself."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from samples import random_element, two_blocks

from convexmetric.cones import NonnegativeDiagonal, PSDCone

kinds, seeds = st.sampled_from([PSDCone, NonnegativeDiagonal, two_blocks]), st.integers(0, 2**32 - 1)


class Listed:
    """Differences of outer products, written out."""

    def __init__(self, cone, near, far):
        self.cone, self.near, self.far = cone, near, far

    @property
    def rows(self):
        return self.cone.outer_rows(self.far) - self.cone.outer_rows(self.near)

    def differences(self):
        return self.near, self.far

    def margins(self, M):
        return self.cone.quadratic_forms(self.far, M) - self.cone.quadratic_forms(self.near, M)

    def adjoint(self, u):
        return self.cone.outer_sum(self.far, u) - self.cone.outer_sum(self.near, u)

    def turned(self, basis):
        return Listed(self.cone, self.near @ basis, self.far @ basis)


@given(kinds, st.integers(1, 7), seeds)
def test_parts_are_projections_and_scale(kind, d, seed):
    cone = kind(d)
    W = random_element(np.random.default_rng(seed), cone)
    projection = cone.projection(W)
    np.testing.assert_allclose(projection.W, W, atol=1e-12)
    np.testing.assert_allclose(projection.positive, cone.project(W), atol=1e-12)
    np.testing.assert_allclose(projection.negative, cone.project(-W), atol=1e-12)
    np.testing.assert_allclose(projection.scaled(3.0).W, 3.0 * projection.positive - projection.negative, atol=1e-12)
    sizes = np.linalg.norm(projection.negative), np.linalg.norm(projection.positive)
    assert projection.imbalance == (pytest.approx(sizes[0] / sizes[1], rel=1e-12) if sizes[1] else np.inf)


@given(kinds, st.integers(1, 6), seeds)
def test_the_derivative_is_that_of_the_projection(kind, d, seed):
    cone, rng = kind(d), np.random.default_rng(seed)
    W, V = random_element(rng, cone), random_element(rng, cone)
    projection, h = cone.projection(W), 1e-6
    if np.abs(cone.spectrum(W)).min() < 1e-2:
        return
    there, before = cone.project(W + h * V), cone.project(W - h * V)
    derivative = projection.out(projection.into(V))
    np.testing.assert_allclose(derivative, (there - before) / (2.0 * h), atol=1e-5)
    v = rng.standard_normal(projection.size)
    assert projection.into(V) @ v == pytest.approx(cone.inner(V, projection.out(v)), rel=1e-9, abs=1e-9)
    # The root of the derivative, twice, in its own coordinates.
    np.testing.assert_allclose(projection.into(projection.out(v)), projection.omega * v, atol=1e-9)


@given(kinds, st.integers(1, 6), seeds, st.booleans())
def test_rows_and_products_are_one_matrix(kind, d, seed, sparse):
    cone, rng = kind(d), np.random.default_rng(seed)
    near, far = rng.standard_normal((2, 5, d))
    if sparse and kind is NonnegativeDiagonal:
        near, far = sp.csr_array(near), sp.csr_array(far)
    projection, listed = cone.projection(random_element(rng, cone)), Listed(cone, near, far)
    rows = projection.rows(listed)
    rows = rows.toarray() if sp.issparse(rows) else rows
    assert rows.shape == (5, projection.size)
    v, u = rng.standard_normal(projection.size), rng.standard_normal(5)
    forward, transposed = projection.products(listed)
    np.testing.assert_allclose(rows @ v, listed.margins(projection.out(v)), atol=1e-10)
    np.testing.assert_allclose(forward(v), rows @ v, atol=1e-10)
    np.testing.assert_allclose(transposed(u), rows.T @ u, atol=1e-10)
    np.testing.assert_allclose(projection.into(listed.adjoint(u)), rows.T @ u, atol=1e-10)
