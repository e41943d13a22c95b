"""Rankings: distances and adjoint against explicit sums of outer products."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import random_element, random_lists

from convexmetric.comparisons import Rankings, Relevance, rankings
from convexmetric.cones import NonnegativeDiagonal, PSDCone
from convexmetric.errors import InputError

CONES = [PSDCone, NonnegativeDiagonal]
cases = st.tuples(
    st.sampled_from(CONES), st.integers(1, 5), st.integers(8, 12), st.integers(1, 6), st.integers(0, 10**6)
)


def build(case):
    kind, d, n, n_queries, seed = case
    rng = np.random.default_rng(seed)
    X, Q = rng.standard_normal((n, d)), rng.standard_normal((n_queries, d))
    relevance = Relevance.from_lists(*random_lists(rng, n_queries, n), n_queries, n)
    return Rankings(X, Q, relevance, kind(d)), X, Q, rng


def full(cone, M):
    return np.diag(M) if isinstance(cone, NonnegativeDiagonal) else M


@given(cases)
def test_distances_up_to_a_constant_of_the_query(case):
    compared, X, Q, rng = build(case)
    M = random_element(rng, compared.cone)
    F = full(compared.cone, M)
    queries = rng.permutation(len(Q))[: rng.integers(1, len(Q) + 1)]
    expected = np.array([[(Q[q] - x) @ F @ (Q[q] - x) - Q[q] @ F @ Q[q] for x in X] for q in queries])
    (block,) = compared.blocks(M, queries)
    assert block.items is None
    np.testing.assert_allclose(block.values.reshape(expected.shape), expected, atol=1e-9)
    compared.dense = False
    (block,) = compared.blocks(M, queries)
    for row, q in enumerate(queries):
        items = np.concatenate(listed_as(compared.relevance, q))
        at = slice(block.first[row], block.first[row + 1])
        np.testing.assert_array_equal(block.items[at], items)
        np.testing.assert_allclose(block.values[at], expected[row, items], atol=1e-9)


def listed_as(relevance, q):
    return (
        relevance.relevant[relevance.relevant_start[q] : relevance.relevant_stop[q]],
        relevance.irrelevant[relevance.irrelevant_start[q] : relevance.irrelevant_stop[q]],
    )


@pytest.mark.parametrize("share", [0.0, 0.1, 1.0])
def test_few_weights_and_many_have_the_products_of_all_with_the_items(share):
    compared, X, _, rng = build((PSDCone, 5, 12, 6, 7))
    (block,) = compared.blocks(random_element(rng, compared.cone), np.arange(6))
    T = rng.standard_normal((6, 12)) * (rng.random((6, 12)) < share)
    block.values[:] = T.ravel()
    np.testing.assert_allclose(block.products(), T @ X, atol=1e-14)


@given(cases)
def test_irrelevant_items_are_brought_nearer_and_no_others(case):
    compared, _, Q, rng = build(case)
    M, queries = random_element(rng, compared.cone), rng.permutation(len(Q))
    for dense in (True, False):
        compared.dense = dense
        (block,) = compared.blocks(M, queries)
        before = block.values.copy()
        block.bring_nearer(0.5)
        for row, q in enumerate(queries):
            near, far = listed_as(compared.relevance, q)
            at = slice(block.first[row], block.first[row + 1])
            expected = np.isin(np.arange(len(compared.X)) if dense else np.concatenate([near, far]), far)
            np.testing.assert_allclose(before[at] - block.values[at], 0.5 * expected, atol=1e-12)


@given(cases)
def test_adjoint_is_the_sum_of_outer_products(case):
    compared, X, Q, rng = build(case)
    T = rng.standard_normal((len(Q), len(X)))
    T -= T.mean(axis=1, keepdims=True)
    queries = np.arange(len(Q))
    S = sum(T[q, x] * np.outer(Q[q] - X[x], Q[q] - X[x]) for q in queries for x in range(len(X)))
    expected = np.diag(S) if isinstance(compared.cone, NonnegativeDiagonal) else S
    np.testing.assert_allclose(compared.adjoint(T, queries), expected, atol=1e-9)
    M = random_element(rng, compared.cone)
    inner = compared.cone.inner(compared.adjoint(T, queries), M)
    (block,) = compared.blocks(M, queries)
    assert inner == pytest.approx(np.vdot(T, block.values), rel=1e-9, abs=1e-9)
    block.values[:] = T.ravel()
    np.testing.assert_allclose(block.adjoint(0, len(Q)), expected, atol=1e-9)
    compared.dense = False
    (block,) = compared.blocks(M, queries)
    for row in range(len(Q)):
        at = slice(block.first[row], block.first[row + 1])
        block.values[at] -= block.values[at].mean()
    D = np.zeros((len(Q), len(X)))
    for row in range(len(Q)):
        at = slice(block.first[row], block.first[row + 1])
        D[row, block.items[at]] = block.values[at]
    half = len(Q) // 2
    parts = [block.adjoint(0, half) if half else 0.0, block.adjoint(half, len(Q))]
    np.testing.assert_allclose(parts[0] + parts[1], compared.adjoint(D, queries), atol=1e-9)


def test_blocks_cover_the_queries_in_order_within_the_memory_limit(monkeypatch):
    compared, X, _, _ = build((PSDCone, 3, 10, 5, 0))
    monkeypatch.setattr(rankings, "BLOCK_BYTES", 2 * 8 * len(X))
    order = np.array([4, 2, 0, 1, 3])
    blocks = list(compared.cuts(order))
    assert [len(block) for block in blocks] == [2, 2, 1]
    np.testing.assert_array_equal(np.concatenate(blocks), order)
    monkeypatch.setattr(rankings, "BLOCK_BYTES", 1)
    assert [len(block) for block in compared.cuts(order)] == [1] * 5
    compared.dense = False
    monkeypatch.setattr(rankings, "BLOCK_BYTES", 8 * int(compared.sizes.max()))
    pieces = list(compared.cuts(order))
    np.testing.assert_array_equal(np.concatenate(pieces), order)
    assert all(compared.sizes[piece].sum() <= 2 * compared.sizes.max() for piece in pieces)


def test_corpus_as_queries_is_held_once():
    X = np.eye(4)
    relevance = Relevance.from_labels([0, 0, 1, 1])
    compared = Rankings(X, X, relevance, PSDCone(4))
    assert compared.Q is compared.X


def raw(relevant, irrelevant):
    starts = [np.concatenate([[0], np.cumsum([len(rows) for rows in lists])]) for lists in (relevant, irrelevant)]
    flat = [np.array([row for rows in lists for row in rows], dtype=np.int64) for lists in (relevant, irrelevant)]
    return Relevance(flat[0], starts[0][:-1], starts[0][1:], flat[1], starts[1][:-1], starts[1][1:])


@pytest.mark.parametrize(
    ("Q", "relevance", "message"),
    [
        (np.ones((1, 3)), raw([[0]], [[1]]), "queries have 3 features, but X has 2"),
        (np.ones((2, 2)), raw([[0]], [[1]]), "there are 2 queries but relevance for 1"),
        # Compiled code reads these rows without looking: they must be checked here.
        (np.ones((1, 2)), raw([[9]], [[1]]), "relevant points to row 9, but there are 4 rows"),
        (np.ones((1, 2)), raw([[0]], [[-2]]), "irrelevant points to row -2"),
        (np.ones((2, 2)), raw([[0], []], [[1], [2]]), "query 1 has no relevant point"),
    ],
)
def test_relevance_that_does_not_fit(Q, relevance, message):
    with pytest.raises(InputError, match=message):
        Rankings(np.ones((4, 2)), Q, relevance, PSDCone(2))
