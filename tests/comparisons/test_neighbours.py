"""Sets of triplets whose positives and negatives combine freely, against lists by brute force."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from convexmetric.comparisons.neighbours import as_adjacency, grouped_triplets, linked_triplets, nearest_by_label
from convexmetric.errors import InputError


def triplets_of(relevance, anchors=None):
    listed = []
    for q in range(len(relevance)):
        relevant, first, last, irrelevant, start, stop = relevance.lists(np.array([q]))
        i = q if anchors is None else anchors[q]
        near, far = relevant[first[0] : last[0]], irrelevant[start[0] : stop[0]]
        listed += [(int(i), int(j), int(k)) for j in near for k in far]
    return sorted(listed)


@given(st.integers(0, 10**6), st.integers(1, 40))
def test_a_list_is_the_same_triplets_in_order(seed, count):
    rng = np.random.default_rng(seed)
    triplets = np.array([rng.choice(6, 3, replace=False) for _ in range(count)])
    relevance, anchors, order = grouped_triplets(triplets)
    relevance.check(6)
    assert triplets_of(relevance, anchors) == sorted(map(tuple, triplets.tolist()))
    assert [tuple(row) for row in triplets[order].tolist()] == triplets_of(relevance, anchors)


@pytest.mark.parametrize("n_same", [1, 3, 50, None])
@pytest.mark.parametrize("n_other", [1, 4, None])
@pytest.mark.parametrize("sparse", [False, True])
def test_neighbours_are_the_nearest_of_each_kind(n_same, n_other, sparse):
    # Integer points: many equal distances, of which the smaller number comes first.
    X = np.random.default_rng(0).integers(0, 3, (17, 2)).astype(float)
    y = np.arange(17) % 3
    relevance = nearest_by_label(sp.csr_array(X) if sparse else X, y, n_same, n_other)
    for q in range(17):
        d = ((X - X[q]) ** 2).sum(axis=1)
        order = sorted(set(range(17)) - {q}, key=lambda i: (d[i], i))
        near = [i for i in order if y[i] == y[q]][:n_same]
        far = [i for i in order if y[i] != y[q]][:n_other]
        got = relevance.of(q)
        assert got[0].tolist() == sorted(near)
        assert got[1].tolist() == sorted(far)


def test_a_graph_gives_all_triplets_of_a_link_and_no_link():
    rng = np.random.default_rng(1)
    A = (rng.random((8, 8)) < 0.25).astype(int)
    A[3] = 0
    A[5] = 1
    graph = as_adjacency(A, 8)
    relevance, anchors = linked_triplets(graph)
    expected = [
        (i, j, k)
        for i in range(8)
        for j in range(8)
        for k in range(8)
        if i not in (j, k) and A[i, j] and not A[i, k] and j != k
    ]
    assert triplets_of(relevance, anchors) == sorted(expected)
    assert 3 not in anchors
    assert 5 not in anchors


def test_a_complete_graph_has_no_triplet():
    with pytest.raises(InputError, match="to all others or to none: no triplet"):
        linked_triplets(as_adjacency(np.ones((4, 4)), 4))
