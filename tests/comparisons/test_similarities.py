"""Similarities: triplets and rankings against sums of outer products of queries and items."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from samples import random_element, random_lists

from convexmetric.comparisons import Rankings, Relevance, SimilarityTriplets, rankings
from convexmetric.cones import AllMatrices, Symmetric
from convexmetric.errors import InputError

SPACES = [AllMatrices(3), AllMatrices(2, 4), Symmetric(3)]
spaces = st.tuples(st.sampled_from(SPACES), st.integers(0, 10**6))


def points(space, rng, queries=5, items=8):
    return [rng.standard_normal((count, d)) for count, d in zip((queries, items), space.shape, strict=True)]


@given(spaces)
def test_triplets_are_differences_of_similarities(case):
    space, seed = case
    rng = np.random.default_rng(seed)
    Q, X = points(space, rng)
    j = rng.integers(0, 8, 12)
    rows = np.column_stack([rng.integers(0, 5, 12), j, (j + rng.integers(1, 8, 12)) % 8])
    triplets, W, u = SimilarityTriplets(Q, X, rows, space), random_element(rng, space), rng.standard_normal(12)
    expected = np.array([Q[i] @ W @ X[j] - Q[i] @ W @ X[k] for i, j, k in rows])
    assert len(triplets) == 12
    np.testing.assert_array_equal(triplets.places, rows)
    np.testing.assert_allclose(triplets.forward(W), expected, atol=1e-10)
    np.testing.assert_allclose(triplets.rows @ space.coordinates(W), expected, atol=1e-10)
    S = triplets.adjoint(u)
    assert S.shape == space.shape
    assert space.inner(S, W) == pytest.approx(u @ expected, rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(space.coordinates(S), u @ triplets.rows, atol=1e-10)
    variable, _ = space.variable("W")
    variable.value = W
    np.testing.assert_allclose(triplets.expression(variable).value, expected, atol=1e-10)


def test_points_are_one_set_where_queries_are_the_items():
    X = np.random.default_rng(0).standard_normal((5, 3))
    assert len(SimilarityTriplets(X, X, [[0, 1, 2]], AllMatrices(3)).points) == 1
    assert len(SimilarityTriplets(X.copy(), X, [[0, 1, 2]], AllMatrices(3)).points) == 2


@given(spaces, st.booleans())
def test_distances_of_rankings_are_minus_similarities(case, dense):
    space, seed = case
    rng = np.random.default_rng(seed)
    Q, X = points(space, rng)
    compared = Rankings(X, Q, Relevance.from_lists(*random_lists(rng, 5, 8), 5, 8), space)
    compared.dense = dense
    W, queries = random_element(rng, space), rng.permutation(5)[:4]
    (block,) = compared.blocks(W, queries)
    expected, S = -Q @ W @ X.T, np.zeros(space.shape)
    weights = rng.standard_normal(block.values.size)
    for row, q in enumerate(queries):
        at = slice(block.first[row], block.first[row + 1])
        items = np.arange(8) if dense else block.items[at]
        np.testing.assert_allclose(block.values[at], expected[q, items], atol=1e-10)
        for weight, item in zip(weights[at], items, strict=True):
            S -= weight * np.outer(Q[q], X[item])
    # Rows need not sum to zero.
    block.values[:] = weights
    S = 0.5 * (S + S.T) if isinstance(space, Symmetric) else S
    np.testing.assert_allclose(block.adjoint(0, 4), S, atol=1e-10)
    variable, _ = space.variable("W")
    variable.value = W
    for q in range(5):
        chosen, others = compared.expressions(q, variable)
        near, far = compared.relevance.of(q)
        np.testing.assert_allclose(chosen.value - others.value[0], expected[q, near] - expected[q, far[0]], atol=1e-9)


def test_blocks_of_similarities_change_nothing(monkeypatch):
    rng, space = np.random.default_rng(0), AllMatrices(2, 4)
    Q, X = points(space, rng)
    compared = Rankings(X, Q, Relevance.from_lists(*random_lists(rng, 5, 8), 5, 8), space)
    W = random_element(rng, space)
    (whole,) = compared.blocks(W, np.arange(5))
    expected = whole.values.copy()
    monkeypatch.setattr(rankings, "BLOCK_BYTES", 100)
    parts = [block.values.copy() for block in compared.blocks(W, np.arange(5))]
    assert len(parts) > 1
    np.testing.assert_allclose(np.concatenate(parts), expected, rtol=1e-13)


def test_rankings_of_other_features_are_refused():
    X, Q = np.ones((4, 3)), np.ones((2, 2))
    relevance = Relevance.from_lists([[0], [1]], [[2], [3]], 2, 4)
    Rankings(X, Q, relevance, AllMatrices(2, 3))
    with pytest.raises(InputError, match=r"queries have 2 features and X 3, but the matrices are of shape \(3, 3\)"):
        Rankings(X, Q, relevance, AllMatrices(3))
    with pytest.raises(InputError, match=r"sparse|dense"):
        Rankings(sp.csr_array(X), Q, relevance, AllMatrices(2, 3))
