"""Triplets: forward and adjoint against the definition, sparse against dense, errors."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from samples import random_element, random_triplets

from convexmetric.comparisons import Triplets
from convexmetric.comparisons.diagonal_triplets import CHUNK
from convexmetric.cones import NonnegativeDiagonal, PSDCone
from convexmetric.errors import InputError

CONES = [PSDCone, NonnegativeDiagonal]
cases = st.tuples(
    st.sampled_from(CONES), st.integers(1, 5), st.integers(3, 9), st.integers(1, 15), st.integers(0, 10**6)
)


@pytest.fixture(params=[0, 2**20], ids=["not written out", "written out"], autouse=True)
def written_out(request, monkeypatch):
    """Every test with both forms of the operator under diagonal metrics."""
    monkeypatch.setattr("convexmetric.comparisons.triplets.WRITTEN_OUT", request.param)


def build(case, form="dense"):
    kind, d, n, T, seed = case
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.7)
    triplets = random_triplets(rng, n, T)
    triplets[T // 2 :] = triplets[: T - T // 2]  # repeated comparisons share pairs
    given_as = {"dense": X, "csr": sp.csr_array(X), "csc": sp.csc_matrix(X), "coo": sp.coo_array(X)}[form]
    return Triplets(given_as, triplets, kind(d)), X, triplets, rng


def full(cone, M):
    return np.diag(M) if isinstance(cone, NonnegativeDiagonal) else M


@given(cases, st.sampled_from(["dense", "csr", "csc", "coo"]))
def test_forward_is_the_difference_of_squared_distances(case, form):
    comparisons, X, triplets, rng = build(case, form)
    M = random_element(rng, comparisons.cone)
    F = full(comparisons.cone, M)
    expected = [(X[i] - X[k]) @ F @ (X[i] - X[k]) - (X[i] - X[j]) @ F @ (X[i] - X[j]) for i, j, k in triplets]
    np.testing.assert_allclose(comparisons.forward(M), expected, atol=1e-9)
    np.testing.assert_allclose(comparisons.rows @ comparisons.cone.coordinates(M), expected, atol=1e-9)
    assert len(comparisons) == len(triplets)


@given(cases, st.sampled_from(["dense", "csr"]))
def test_adjoint_identity(case, form):
    comparisons, _, triplets, rng = build(case, form)
    M, u = random_element(rng, comparisons.cone), rng.standard_normal(len(triplets))
    adjoint = comparisons.adjoint(u)
    assert adjoint.shape == comparisons.cone.shape
    assert comparisons.cone.inner(adjoint, M) == pytest.approx(u @ comparisons.forward(M), rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(comparisons.cone.coordinates(adjoint), comparisons.rows.T @ u, atol=1e-9)


@given(cases, st.sampled_from(["dense", "csr"]))
def test_a_block_holds_some_rows_in_some_coordinates(case, form):
    comparisons, _, triplets, rng = build(case, form)
    rows = rng.permutation(len(triplets))[: rng.integers(len(triplets) + 1)]
    columns = np.flatnonzero(rng.random(comparisons.cone.size) < 0.6)
    block, whole = comparisons.block(rows, columns), comparisons.rows
    as_arrays = [part.toarray() if sp.issparse(part) else part for part in (block, whole)]
    np.testing.assert_allclose(as_arrays[0], as_arrays[1][rows][:, columns], atol=1e-12)


@pytest.mark.parametrize("form", ["dense", "csr"])
def test_many_triplets_have_the_sums_of_their_rows(form):
    """Enough of them for several threads, some with multiplier zero, and a point with no entries."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((40, 7)) * (rng.random((40, 7)) < 0.4)
    X[5] = 0.0
    triplets = random_triplets(rng, 40, 200)[rng.integers(200, size=3 * CHUNK)]
    comparisons = Triplets(X if form == "dense" else sp.csr_array(X), triplets, NonnegativeDiagonal(7))
    w = rng.random(7) * (np.arange(7) != 2)
    u = rng.standard_normal(len(triplets)) * (rng.random(len(triplets)) < 0.5)
    np.testing.assert_allclose(comparisons.forward(w), comparisons.rows @ w, atol=1e-12)
    np.testing.assert_allclose(comparisons.adjoint(u), comparisons.rows.T @ u, atol=1e-9)


def test_dense_points_far_from_the_origin_lose_no_digits():
    rng = np.random.default_rng(3)
    X = rng.integers(-8, 8, (9, 3)).astype(float)
    triplets, w = random_triplets(rng, 9, 20), rng.random(3)
    near, far = (Triplets(points, triplets, NonnegativeDiagonal(3)).forward(w) for points in (X, X + 2.0**40))
    np.testing.assert_array_equal(near, far)


@given(cases)
def test_adjoint_is_a_graph_laplacian_between_two_copies_of_the_data(case):
    comparisons, X, triplets, rng = build(case)
    u = rng.standard_normal(len(triplets))
    n = len(X)
    W = np.zeros((n, n))
    for weight, (i, j, k) in zip(u, triplets, strict=True):
        for a, b, sign in ((i, k, 1.0), (i, j, -1.0)):
            W[a, b] += sign * weight
            W[b, a] += sign * weight
    S = X.T @ (np.diag(W.sum(axis=1)) - W) @ X
    expected = np.diag(S) if isinstance(comparisons.cone, NonnegativeDiagonal) else S
    np.testing.assert_allclose(comparisons.adjoint(u), expected, atol=1e-9)


@pytest.mark.parametrize("kind", CONES)
@pytest.mark.parametrize("form", ["dense", "csr"])
def test_expression_has_the_values_of_forward(kind, form):
    comparisons, _, _, rng = build((kind, 4, 8, 10, 5), form)
    variable, _ = comparisons.cone.variable("M")
    variable.value = random_element(rng, comparisons.cone)
    np.testing.assert_allclose(comparisons.expression(variable).value, comparisons.forward(variable.value), atol=1e-12)


def test_sparse_entries_listed_twice_are_added():
    X = sp.coo_array(([1.0, 2.0, 5.0], ([0, 0, 1], [0, 0, 1])), shape=(3, 2))
    twice = sp.csr_array((X.data, [0, 0, 1], [0, 2, 3, 3]), shape=(3, 2))
    triplets = [[0, 1, 2], [2, 0, 1]]
    for kind in CONES:
        dense = Triplets(X.toarray(), triplets, kind(2))
        np.testing.assert_allclose(
            Triplets(twice, triplets, kind(2)).forward(dense.cone.identity()), dense.forward(dense.cone.identity())
        )
    assert twice.nnz == 3  # the caller's matrix is left alone


def test_many_points_do_not_overflow_the_pair_numbers():
    n = 100_000
    X = sp.csr_array(([1.0, 2.0], ([n - 1, n - 2], [0, 0])), shape=(n, 1))
    comparisons = Triplets(X, [[n - 1, 0, n - 2], [0, n - 1, n - 2]], NonnegativeDiagonal(1))
    np.testing.assert_array_equal(comparisons.forward(np.ones(1)), [0.0, 3.0])


def test_points_and_metric_must_have_the_same_features():
    with pytest.raises(InputError, match="X has 4 features, but the metric acts on 3"):
        Triplets(np.eye(4), [[0, 1, 2]], PSDCone(3))
