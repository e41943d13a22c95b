"""Checks of the data matrix."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import convexmetric as cm
from convexmetric.comparisons.points import OFFSET, as_points, rows_of, translated
from convexmetric.errors import InputError


@pytest.mark.parametrize(
    "X", [[[1, 2], [3, 4]], np.array([[1, 2], [3, 4]], order="F"), np.array([[1, 2], [3, 4]], np.float32)]
)
def test_numbers_of_any_kind_become_c_ordered_doubles(X):
    points = as_points(X)
    assert points.dtype == np.float64
    assert points.flags.c_contiguous
    np.testing.assert_array_equal(points, [[1.0, 2.0], [3.0, 4.0]])


def test_sparse_points_stay_sparse():
    points = as_points(sp.coo_matrix(np.eye(3, dtype=int)), sparse=True)
    assert isinstance(points, sp.csr_array)
    assert points.dtype == np.float64
    assert as_points(sp.csr_array((3, 2)), sparse=True).nnz == 0


def test_row_numbers_of_any_integer_type():
    np.testing.assert_array_equal(rows_of(np.array([0, 2], np.uint8), 3, "rows"), [0, 2])
    assert rows_of([], 3, "rows").dtype == np.int64
    with pytest.raises(InputError, match="rectangular"):
        rows_of([[1], [1, 2]], 3, "rows")


FLOATS = st.floats(-1e60, 1e60) | st.floats(1.0, 3.0).map(lambda x: 1e8 * x) | st.just(-7.25)


@given(X=arrays(np.float64, (4, 2), elements=FLOATS), Q=arrays(np.float64, (3, 2), elements=FLOATS))
def test_translation_is_exact_and_leaves_no_large_offset(X, Q):
    moved, queries = translated(X, Q)
    together, before = np.vstack([moved, queries]), np.vstack([X, Q])
    for column in range(2):
        shift = {Fraction(a) - Fraction(b) for a, b in zip(before[:, column], together[:, column], strict=True)}
        assert len(shift) == 1
        size = np.abs(together[:, column]).max()
        assert size <= (OFFSET + 0.5) * np.ptp(before[:, column]) * (1.0 + 1e-15)


def test_points_without_an_offset_stay_the_same_objects():
    X, sparse = np.array([[0.0, -1.0], [2.0, 3.0]]), sp.csr_array([[1e8, 1.0], [1e8, 0.0]])
    assert translated(X)[0] is X
    assert translated(sparse)[0] is sparse
    assert translated(X, sparse)[1] is sparse


def test_points_in_double_are_taken_as_they_are_and_others_copied_once():
    X, y = np.random.default_rng(0).standard_normal((40, 3)), np.arange(40) % 2
    assert np.shares_memory(cm.RankingProblem.from_labels(X, y).rankings.X, X)
    single = X.astype(np.float32)
    one, other = (cm.RankingProblem.from_labels(points, y) for points in (single, single.astype(np.float64)))
    assert one.rankings.X.dtype == np.float64
    np.testing.assert_array_equal(one.rankings.X, other.rankings.X)
    sparse = sp.csr_array(X)
    taken = cm.RankingProblem.from_labels(sparse, y, diagonal=True).rankings.X
    assert np.shares_memory(taken.data, sparse.data)
