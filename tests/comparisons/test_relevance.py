"""Relevance from labels, lists and 0/1 matrices is the same, and malformed input is named."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from samples import as_matrix, random_lists

from convexmetric.comparisons import Relevance
from convexmetric.errors import InputError


def listed(relevance):
    return [tuple(map(tuple, relevance.of(q))) for q in range(len(relevance))]


@given(st.lists(st.sampled_from("abc"), min_size=4, max_size=12))
def test_labels_say_who_is_relevant(y):
    counts = [y.count(label) for label in set(y)]
    if len(counts) < 2 or min(counts) < 2:
        with pytest.raises(InputError, match=r"one class only|single member"):
            Relevance.from_labels(y)
        return
    expected = [
        (
            tuple(x for x in range(len(y)) if x != q and y[x] == y[q]),
            tuple(x for x in range(len(y)) if y[x] != y[q]),
        )
        for q in range(len(y))
    ]
    relevance = Relevance.from_labels(y)
    assert listed(relevance) == expected
    np.testing.assert_array_equal(relevance.n_relevant, [len(p) for p, _ in expected])
    np.testing.assert_array_equal(relevance.n_irrelevant, [len(n) for _, n in expected])


@given(st.integers(0, 10**6))
def test_lists_and_matrices_agree(seed):
    rng = np.random.default_rng(seed)
    relevant, irrelevant = random_lists(rng, 3, 9)
    expected = listed(Relevance.from_lists(relevant, irrelevant, 3, 9))
    assert expected == [(tuple(sorted(p)), tuple(sorted(n))) for p, n in zip(relevant, irrelevant, strict=True)]
    dense = as_matrix(relevant, 9), as_matrix(irrelevant, 9)
    forms = [np.asarray, np.asarray, sp.csr_matrix, sp.csc_array, sp.coo_array, sp.lil_array]
    kinds = [int, bool, float, int, bool, int]
    for form, kind in zip(forms, kinds, strict=True):
        given_as = [form(matrix.astype(kind)) for matrix in dense]
        assert listed(Relevance.from_lists(*given_as, 3, 9)) == expected


@given(st.integers(0, 10**6), st.booleans())
def test_irrelevant_by_default_is_the_rest(seed, exclude_self):
    rng = np.random.default_rng(seed)
    relevant, _ = random_lists(rng, 3, 9)
    relevance = Relevance.from_lists(relevant, None, 3, 9, exclude_self=exclude_self)
    for q, rows in enumerate(relevant):
        rest = set(range(9)) - set(rows) - ({q} if exclude_self else set())
        assert set(relevance.of(q)[1]) == rest


def test_a_sparse_matrix_is_not_changed():
    matrix = sp.csr_array((np.array([1.0, 0.0, 1.0]), np.array([3, 1, 0]), np.array([0, 2, 3])), shape=(2, 4))
    before = matrix.data.copy(), matrix.indices.copy(), matrix.indptr.copy()
    Relevance.from_lists(matrix, None, 2, 4)
    for now, then in zip((matrix.data, matrix.indices, matrix.indptr), before, strict=True):
        np.testing.assert_array_equal(now, then)
