"""Graphs of labels against the double sums that define them."""

import numpy as np
import pytest
import scipy.sparse as sp

from convexmetric.comparisons import label_graphs
from convexmetric.comparisons.label_graphs import as_indicators, cross_product, neighbour_graph, sharing, smoothness


def objects(seed=0, n=17, d=3, labels=4, several=False):
    rng = np.random.default_rng(seed)
    kinds = rng.integers(labels, size=n)
    indicators = np.eye(labels)[kinds]
    if several:
        indicators = np.maximum(indicators, rng.random((n, labels)) < 0.2)
    return rng.standard_normal((n, d)), sp.csr_array(indicators)


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("k", [1, 3, 100])
def test_neighbours_share_a_label_and_are_nearest(monkeypatch, several, k):
    X, labels = objects(several=several)
    monkeypatch.setattr(label_graphs, "BLOCK", 60)
    graph = neighbour_graph(X, labels, k).toarray()
    dense = labels.toarray()
    expected = np.zeros_like(graph)
    for i in range(len(X)):
        others = [j for j in range(len(X)) if j != i and dense[i] @ dense[j] > 0]
        for j in sorted(others, key=lambda j: ((X[i] - X[j]) ** 2).sum())[:k]:
            expected[i, j] = expected[j, i] = 1.0
    np.testing.assert_array_equal(graph, expected)


def test_smoothness_is_the_sum_over_links():
    X, labels = objects(1)
    graph = neighbour_graph(X, labels, 2)
    # An object without a link appears in no term.
    lonely = graph.toarray()
    lonely[3] = lonely[:, 3] = 0.0
    for W in (graph, sp.csr_array(lonely)):
        w = W.toarray()
        degrees = w.sum(axis=1)
        expected = np.zeros((3, 3))
        for i, j in np.argwhere(w):
            difference = X[i] / np.sqrt(degrees[i]) - X[j] / np.sqrt(degrees[j])
            expected += 0.5 * np.outer(difference, difference)
        np.testing.assert_allclose(smoothness(X, W), expected, atol=1e-12)


@pytest.mark.parametrize("several", [False, True])
def test_cross_product_is_the_sum_over_shared_labels(monkeypatch, several):
    X, labels_x = objects(2, 11, 3, several=several)
    Y, labels_y = objects(3, 8, 2, several=several)
    # Nothing in Y has the last label, so that some objects of X share none.
    labels_y = sp.csr_array(np.where(np.arange(4) == 3, 0.0, labels_y.toarray()))
    monkeypatch.setattr(label_graphs, "BLOCK", 20)
    w = sharing(labels_x, labels_y)
    np.testing.assert_array_equal(w, (labels_x.toarray() @ labels_y.toarray().T) > 0)
    XX, N, YY = cross_product(X, Y, labels_x, labels_y)
    of_x, of_y = w.sum(axis=1), w.sum(axis=0)
    expected = np.zeros((5, 5))
    for i, j in np.argwhere(w):
        z = np.concatenate([X[i] / np.sqrt(of_x[i]), -Y[j] / np.sqrt(of_y[j])])
        expected += np.outer(z, z)
    np.testing.assert_allclose(np.block([[XX, -N], [-N.T, YY]]), expected, atol=1e-12)


def test_labels_of_any_kind_name_the_same_things():
    x, y = as_indicators(["b", "a", "c"], ["a", "a", "d"])
    np.testing.assert_array_equal(sharing(x, y), [[0, 0, 0], [1, 1, 0], [0, 0, 0]])
    same_x, same_y = as_indicators(x.toarray(), y)
    assert (same_x != x).nnz == 0
    assert (same_y != y).nnz == 0
