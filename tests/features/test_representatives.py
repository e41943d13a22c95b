"""Representatives: centroids of what they stand for, and nothing in both lists."""

import numpy as np
import pytest
import scipy.sparse as sp

from convexmetric.errors import InputError
from convexmetric.features import all_items, representatives


def one_hot(codes, size):
    return sp.csr_array(np.eye(size)[codes])


def in_order(points):
    """Rows by their first number."""
    return points[np.argsort(points[:, 0])]


def items(rng, labels_y):
    return rng.standard_normal((labels_y.shape[0], 2))


def test_relevant_clusters_and_irrelevant_classes_of_single_labels():
    rng = np.random.default_rng(0)
    labels_y = one_hot(np.repeat([0, 1, 2], [9, 2, 5]), 4)
    Y = items(rng, labels_y)
    found = representatives(Y, one_hot([2, 0, 1, 0, 3], 4), labels_y, 3, random_state=0)
    # The last label has nothing relevant.
    assert found.queries.tolist() == [0, 1, 2, 3]
    means = np.array([Y[:9].mean(axis=0), Y[9:11].mean(axis=0), Y[11:].mean(axis=0)])
    for place, label in enumerate([2, 0, 1, 0]):
        near, far = found.relevance.of(place)
        assert len(near) == min(3, [9, 2, 5][label])
        np.testing.assert_allclose(in_order(found.items[far]), in_order(np.delete(means, label, 0)))
    # Two items stand for themselves.
    np.testing.assert_allclose(in_order(found.items[found.relevance.of(2)[0]]), in_order(Y[9:11]))
    # Centroids of a partition: some weights on them give the mean of the class.
    near = found.items[found.relevance.of(1)[0]]
    distances = ((Y[:9, None] - near[None]) ** 2).sum(axis=2)
    nearest = distances.argmin(axis=1)
    np.testing.assert_allclose([Y[:9][nearest == k].mean(axis=0) for k in range(3)], near, atol=1e-12)


def test_classes_lose_what_is_relevant():
    """Items with several labels: a class of irrelevant ones has no relevant member."""
    rng = np.random.default_rng(1)
    labels_y = sp.csr_array(np.array([[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 1, 1], [0, 0, 1]], dtype=float))
    Y = items(rng, labels_y)
    found = representatives(Y, one_hot([0, 1], 3), labels_y, 5)
    near, far = found.relevance.of(0)
    np.testing.assert_allclose(in_order(found.items[near]), in_order(Y[:2]))
    np.testing.assert_allclose(
        in_order(found.items[far]), in_order(np.array([Y[2:4].mean(axis=0), Y[3:].mean(axis=0)]))
    )
    near, far = found.relevance.of(1)
    np.testing.assert_allclose(in_order(found.items[near]), in_order(Y[1:4]))
    np.testing.assert_allclose(in_order(found.items[far]), in_order(Y[[0, 4]]))


def test_without_representatives_everything_stands_for_itself():
    labels_y = one_hot([0, 1, 0, 2], 3)
    Y = items(np.random.default_rng(3), labels_y)
    found = all_items(Y, one_hot([0, 2, 0], 3), labels_y)
    assert found.items is Y
    assert [tuple(map(list, found.relevance.of(q))) for q in range(3)] == [
        ([0, 2], [1, 3]),
        ([3], [0, 1, 2]),
        ([0, 2], [1, 3]),
    ]


def test_repeated_items_make_fewer_clusters():
    labels_y = one_hot([0] * 6 + [1], 2)
    Y = np.repeat([[0.0, 1.0], [2.0, 3.0], [9.0, 9.0]], [4, 2, 1], axis=0)
    found = representatives(Y, one_hot([0], 2), labels_y, 4)
    np.testing.assert_allclose(in_order(found.items[found.relevance.of(0)[0]]), Y[[0, 4]])


def test_a_seed_fixes_the_clusters():
    labels_y = one_hot(np.arange(60) % 2, 2)
    Y = items(np.random.default_rng(4), labels_y)
    first, again = (representatives(Y, labels_y, labels_y, 4, random_state=7).items for _ in range(2))
    np.testing.assert_array_equal(first, again)


def test_something_must_be_ranked():
    with pytest.raises(InputError, match="both a relevant and an irrelevant object"):
        representatives(np.eye(3), one_hot([0, 0], 2), one_hot([0, 0, 0], 2), 2)
    with pytest.raises(InputError, match="both a relevant and an irrelevant object"):
        all_items(np.eye(2), one_hot([0, 0], 2), one_hot([1, 1], 2))
