"""Cones: the projection is the nearest point, coordinates are isometric, operators are adjoint."""

import numpy as np
import pytest
import scipy.linalg as la
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from samples import random_element, random_metric, two_blocks

from convexmetric.cones import BlockDiagonal, NonnegativeDiagonal, PSDCone, shared_points
from convexmetric.errors import InputError

CONES = [PSDCone, NonnegativeDiagonal, two_blocks]
shapes = st.tuples(st.sampled_from(CONES), st.integers(1, 7), st.integers(0, 2**32 - 1))
scales = st.sampled_from([1e-150, 1e-9, 1e-3, 1.0, 1e4, 1e12, 1e150])


def matrix_of(cone, M):
    return np.diag(M) if isinstance(cone, NonnegativeDiagonal) else M


def within(cone, M):
    """Without the entries between blocks."""
    return la.block_diag(*cone.blocks(M)) if isinstance(cone, BlockDiagonal) else M


@given(shapes, scales)
def test_projection_is_the_nearest_point_of_the_cone(shape, scale):
    kind, d, seed = shape
    cone, rng = kind(d), np.random.default_rng(seed)
    S = scale * random_element(rng, cone)
    P = cone.project(S)
    size = np.abs(S).max()
    assert cone.smallest(P) >= -1e-13 * size
    # The variational inequality <S - P, M - P> <= 0 for every M of the cone says that P is nearest.
    R, unit = (S - P) / size, P / size
    assert abs(cone.inner(R, unit)) <= 1e-12 * d
    for _ in range(5):
        M = random_metric(rng, cone)
        assert cone.inner(R, M - unit) <= 1e-12 * d * max(1.0, np.abs(M).max())
    np.testing.assert_allclose(cone.project(P), P, rtol=0, atol=1e-13 * size * d)


@given(shapes)
def test_projection_keeps_the_cone_and_sends_its_polar_to_zero(shape):
    kind, d, seed = shape
    cone, rng = kind(d), np.random.default_rng(seed)
    M = random_metric(rng, cone)
    np.testing.assert_allclose(cone.project(M), M, atol=1e-12 * max(np.abs(M).max(), 1e-300))
    # Rounding may leave eigenvalues of the order of machine precision.
    assert np.abs(cone.project(-M)).max() <= 1e-13 * max(np.abs(M).max(), 1e-300)


@given(shapes)
def test_coordinates_are_isometric_and_invert(shape):
    kind, d, seed = shape
    cone, rng = kind(d), np.random.default_rng(seed)
    A, B = random_element(rng, cone), random_element(rng, cone)
    u, v = cone.coordinates(A), cone.coordinates(B)
    assert u.shape == (cone.size,)
    assert u @ v == pytest.approx(cone.inner(A, B), rel=1e-12, abs=1e-12)
    assert cone.inner(A, B) == pytest.approx(np.trace(matrix_of(cone, A) @ matrix_of(cone, B)), rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(cone.from_coordinates(u), A, rtol=1e-15)
    stack = np.array([A, B])
    np.testing.assert_array_equal(cone.coordinates(stack), [u, v])
    np.testing.assert_array_equal(cone.from_coordinates(np.array([u, v]))[1], cone.from_coordinates(v))


@given(shapes)
def test_spectrum_is_that_of_the_full_matrix(shape):
    kind, d, seed = shape
    cone, rng = kind(d), np.random.default_rng(seed)
    S = random_element(rng, cone)
    eigenvalues = np.linalg.eigvals(matrix_of(cone, S)).real
    np.testing.assert_allclose(cone.spectrum(S), np.sort(eigenvalues)[::-1], rtol=1e-9, atol=1e-9)
    assert cone.smallest(S) == pytest.approx(eigenvalues.min(), abs=1e-9)
    assert cone.largest(S) == pytest.approx(eigenvalues.max(), abs=1e-9)
    assert cone.trace(S) == pytest.approx(eigenvalues.sum(), abs=1e-9)
    assert cone.violation(S) == max(0.0, -cone.smallest(S))
    assert cone.trace(cone.identity()) == d
    assert not cone.zeros().any()


@given(shapes, st.sampled_from(["dense", "csr", "csc", "coo"]))
def test_quadratic_forms_and_outer_sums_are_adjoint(shape, form):
    kind, d, seed = shape
    cone, rng = kind(d), np.random.default_rng(seed)
    dense = rng.standard_normal((6, d)) * (rng.random((6, d)) < 0.7)
    V = dense if form == "dense" else sp.csr_array(sp.coo_array(dense).asformat(form))
    M, u = random_element(rng, cone), rng.standard_normal(6)
    forms = cone.quadratic_forms(V, M)
    full = matrix_of(cone, M)
    np.testing.assert_allclose(forms, [v @ full @ v for v in dense], rtol=1e-10, atol=1e-10)
    assert isinstance(cone.outer_sum(V, u), np.ndarray)
    assert cone.inner(cone.outer_sum(V, u), M) == pytest.approx(u @ forms, rel=1e-10, abs=1e-10)
    expected = sum(weight * np.outer(v, v) for weight, v in zip(u, dense, strict=True))
    expected = np.diag(expected) if isinstance(cone, NonnegativeDiagonal) else within(cone, expected)
    np.testing.assert_allclose(cone.outer_sum(V, u), expected, atol=1e-10)


@given(shapes, st.booleans(), st.booleans())
def test_gram_and_cross_are_adjoint(shape, sparse_a, sparse_b):
    kind, d, seed = shape
    cone, rng = kind(d), np.random.default_rng(seed)
    A, B = rng.standard_normal((4, d)), rng.standard_normal((5, d))
    left = sp.csr_array(A) if sparse_a else A
    right = sp.csr_array(B) if sparse_b else B
    M, T = random_element(rng, cone), rng.standard_normal((4, 5))
    gram = cone.gram(left, M, right)
    np.testing.assert_allclose(gram, A @ matrix_of(cone, M) @ B.T, atol=1e-10)
    cross = cone.cross(left, T, right)
    assert cross.shape == cone.shape
    assert cone.inner(cross, M) == pytest.approx(np.vdot(T, gram), rel=1e-10, abs=1e-10)
    if not isinstance(cone, NonnegativeDiagonal):
        np.testing.assert_array_equal(cross, cross.T)


@given(shapes, st.booleans())
def test_outer_rows_are_outer_products_in_coordinates(shape, sparse):
    kind, d, seed = shape
    cone, V = kind(d), np.random.default_rng(seed).standard_normal((4, d))
    given = sp.csr_array(V) if sparse and kind is NonnegativeDiagonal else V
    rows = cone.outer_rows(given)
    assert rows.shape == (4, cone.size)
    expected = [cone.coordinates(cone.outer_sum(v[None], np.ones(1))) for v in V]
    np.testing.assert_allclose(rows.toarray() if sp.issparse(rows) else rows, expected, atol=1e-12)


@given(shapes)
def test_the_inverse_and_the_relative_size_are_those_of_the_full_matrices(shape):
    kind, d, seed = shape
    cone, rng = kind(d), np.random.default_rng(seed)
    Z, R = random_metric(rng, cone) + 0.1 * cone.identity(), random_element(rng, cone)
    full = matrix_of(cone, Z)
    np.testing.assert_array_equal(cone.full(Z), full)
    np.testing.assert_allclose(matrix_of(cone, cone.inverse(Z)) @ full, np.eye(d), atol=1e-9)
    eigenvalues = np.linalg.eigvals(np.linalg.solve(full, matrix_of(cone, R)))
    assert cone.relative_norm(R, Z) == pytest.approx(np.abs(eigenvalues).max(), rel=1e-8, abs=1e-8)


def test_nothing_is_small_beside_a_matrix_on_the_boundary():
    assert PSDCone(2).relative_norm(np.eye(2), np.diag([1.0, 0.0])) == np.inf


@given(shapes, st.sampled_from([1e-6, 1.0, 1e3]))
def test_a_centred_pair_solves_its_equations(shape, mu):
    kind, d, seed = shape
    cone, rng = kind(d), np.random.default_rng(seed)
    S = random_element(rng, cone)
    curvature = 0.5 + rng.random(d) if kind is NonnegativeDiagonal else 0.7
    U, Z = cone.centred_pair(S, curvature, mu)
    np.testing.assert_allclose(curvature * U - Z, S, atol=1e-9 * (1.0 + mu + np.abs(S).max()))
    np.testing.assert_allclose(matrix_of(cone, U) @ matrix_of(cone, Z), mu * np.eye(d), rtol=1e-6, atol=1e-6 * mu)
    assert cone.smallest(U) > 0.0


def test_matrices_have_cones_on_subspaces():
    assert PSDCone(5).on_subspace(2) == PSDCone(2)
    assert NonnegativeDiagonal(5).on_subspace(2) is None


@pytest.mark.parametrize("kind", CONES)
def test_statement_expressions_evaluate_to_the_same_numbers(kind):
    cone, rng = kind(4), np.random.default_rng(3)
    M, constraints = cone.variable("M")
    M.value = random_metric(rng, cone)
    V = rng.standard_normal((5, 4))
    np.testing.assert_allclose(
        cone.quadratic_form_expressions(V, M).value, cone.quadratic_forms(V, M.value), atol=1e-12
    )
    assert cone.trace_expression(M).value == pytest.approx(cone.trace(M.value))
    assert constraints[0].violation().max() <= 1e-12
    M.value = -cone.identity()
    assert np.max(constraints[0].violation()) >= 1.0


def test_blocks_are_cones_of_their_own():
    cone = BlockDiagonal([2, 1])
    assert cone == BlockDiagonal((2, 1))
    assert cone != BlockDiagonal([1, 2])
    assert (cone.d, cone.size, repr(cone)) == (3, 4, "BlockDiagonal([2, 1])")
    assert hash(cone) == hash(BlockDiagonal([2, 1]))
    assert cone.on_subspace(1) is None
    between = np.eye(3)
    between[0, 2] = between[2, 0] = 1e-5
    with pytest.raises(
        InputError, match=r"A must be zero between blocks of \[2, 1\] features, but entry \(0, 2\) is not"
    ):
        cone.element(between, "A")
    for sizes in ([], [2, 0]):
        with pytest.raises(InputError, match="sizes must be numbers of features"):
            BlockDiagonal(sizes)


@pytest.mark.parametrize("sparse", [False, True])
def test_shared_points_have_distances_by_the_sum_of_two_metrics(sparse):
    rng = np.random.default_rng(0)
    X, task = rng.standard_normal((6, 3)), np.array([0, 2, 1, 2, 0, 1])
    points = shared_points(sp.csr_array(X) if sparse else X, task, 4)
    assert points.shape == (6, 15)
    assert sp.issparse(points) == sparse
    cone = BlockDiagonal([3] * 5)
    M = random_metric(rng, cone)
    common, *own = cone.blocks(M)
    for i, j in ((0, 4), (1, 3), (2, 5)):
        v, difference = (points.toarray() if sparse else points)[[i]] - points[[j]], X[i] - X[j]
        expected = difference @ (common + own[task[i]]) @ difference
        assert cone.quadratic_forms(np.asarray(v), M)[0] == pytest.approx(expected)


def test_diagonal_metrics_are_vectors():
    assert NonnegativeDiagonal(2).diagonal
    assert not PSDCone(2).diagonal


def test_cones_compare_by_kind_and_dimension():
    assert PSDCone(3) == PSDCone(3)
    assert hash(PSDCone(3)) == hash(PSDCone(3))
    assert PSDCone(3) != PSDCone(4)
    assert PSDCone(3) != NonnegativeDiagonal(3)
    assert repr(NonnegativeDiagonal(2)) == "NonnegativeDiagonal(2)"


@pytest.mark.parametrize("kind", [PSDCone, NonnegativeDiagonal])
def test_a_metric_needs_a_feature(kind):
    with pytest.raises(InputError, match="at least one feature"):
        kind(0)


@pytest.mark.parametrize(
    ("kind", "M", "message"),
    [
        (PSDCone, np.eye(2), r"M must have shape \(3, 3\), got \(2, 2\)"),
        (PSDCone, np.ones(3), r"M must have shape \(3, 3\)"),
        (PSDCone, np.diag([1.0, np.nan, 1.0]), "M contains NaN"),
        (PSDCone, np.diag([1.0, np.inf, 1.0]), "M contains NaN or infinite"),
        (PSDCone, np.eye(3) + 1e-6 * np.triu(np.ones((3, 3)), 1), r"M must be symmetric; pass \(M \+ M.T\) / 2"),
        (PSDCone, np.triu(np.ones((3, 3))), r"M must be symmetric; if this is a factor L, .* pass L.T @ L"),
        (PSDCone, np.ones((2, 3)), r"M must have shape \(3, 3\), got \(2, 3\); if this is a factor L, .* L.T @ L"),
        (PSDCone, [[1, 2], [3]], "M must be a rectangular array of real numbers"),
        (PSDCone, "metric", "M must be a rectangular array of real numbers"),
        (PSDCone, 1j * np.eye(3), "M must hold real numbers, got complex ones"),
        (PSDCone, sp.eye_array(3), "M must be a rectangular array of real numbers"),
        (NonnegativeDiagonal, np.ones(2), r"M must have shape \(3,\)"),
        (NonnegativeDiagonal, np.ones((3, 3)), "vector of 3 weights or a diagonal matrix"),
        (NonnegativeDiagonal, [1.0, np.nan, 0.0], "M contains NaN"),
        (NonnegativeDiagonal, [[1, 2], [3]], "M must be a rectangular array of real numbers"),
    ],
)
def test_elements_that_are_none(kind, M, message):
    with pytest.raises(InputError, match=message):
        kind(3).element(M, "M")


def test_elements_are_taken_generously_where_nothing_is_lost():
    almost = np.eye(3) + 1e-12 * np.triu(np.ones((3, 3)))
    np.testing.assert_array_equal(PSDCone(3).element(almost), PSDCone(3).element(almost).T)
    huge = np.full((2, 2), 1.7e308)
    np.testing.assert_array_equal(PSDCone(2).element(huge), huge)
    np.testing.assert_array_equal(NonnegativeDiagonal(2).element(np.diag([1, 2])), [1.0, 2.0])
    np.testing.assert_array_equal(NonnegativeDiagonal(1).element([[4]]), [4.0])
    # A metric may lie outside the cone: that is for others to judge.
    np.testing.assert_array_equal(NonnegativeDiagonal(2).element([-1, 2]), [-1.0, 2.0])
