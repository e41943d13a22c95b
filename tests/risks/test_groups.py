"""Groups of cuts keep apart queries of different classes, and every division has the same sums of planes."""

import numpy as np
import pytest
from samples import random_metric

import convexmetric as cm
from convexmetric.comparisons import Relevance


def risk(y, relevance=None):
    X = np.random.default_rng(0).standard_normal((len(y), 4))
    relevance = Relevance.from_labels(y) if relevance is None else relevance
    return cm.RankingProblem(X, relevance, measure="map").risk


@pytest.mark.parametrize("count", [3, 7, 32])
def test_no_group_has_queries_of_two_classes(count):
    y = np.random.default_rng(1).permutation(np.repeat(["a", "b", "c"], [3, 20, 40]))
    groups = risk(y).groups(count)
    assert set(groups) == set(range(groups.max() + 1))
    assert 3 <= groups.max() + 1 <= count
    assert all(len(set(y[groups == g])) == 1 for g in range(groups.max() + 1))
    # A class of fewer queries than pieces has a group a query; the others are split evenly.
    for label in ("b", "c"):
        sizes = np.bincount(groups[y == label])
        assert np.ptp(sizes[sizes > 0]) <= 1


def test_more_classes_than_groups_are_grouped_class_by_class():
    y = np.random.default_rng(2).permutation(np.repeat(np.arange(10), 4))
    groups = risk(y).groups(4)
    assert np.bincount(groups).tolist() == [10] * 4
    assert (np.diff(groups[np.argsort(y, kind="stable")]) >= 0).all()
    assert risk(y).groups(1).tolist() == [0] * 40


def test_queries_with_lists_are_grouped_in_order():
    lists = [[1, 2], [0, 3], [0], [1, 4], [2]]
    given = Relevance.from_lists(lists, None, 5, 5, exclude_self=True)
    others = Relevance.from_lists(lists, [[3], [1], [4, 1], [0], [0, 1]], 5, 5)
    for relevance in (given, others):
        assert risk(np.zeros(5), relevance).groups(3).tolist() == [0, 0, 1, 1, 2]


def test_planes_of_scattered_groups_add_up_to_those_of_one():
    made = risk(np.random.default_rng(3).permutation(np.repeat([0, 1, 2], 7)))
    M = random_metric(np.random.default_rng(4), made.cone)
    several, one = made.separate(M, made.groups(9)), made.separate(M, made.groups(1))
    for name in ("values", "offsets", "normals", "weights"):
        np.testing.assert_allclose(getattr(several, name).sum(axis=0), getattr(one, name)[0], rtol=1e-12, atol=1e-12)
