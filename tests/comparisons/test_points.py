"""Checks of the data matrix."""

import numpy as np
import pytest
import scipy.sparse as sp

from convexmetric.comparisons.points import as_points, rows_of
from convexmetric.errors import InputError


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([1.0, 2.0], r"X must be two-dimensional .* got 1 dimension\(s\); use X.reshape\(-1, 1\)"),
        (np.zeros((2, 2, 2)), r"got 3 dimension\(s\)"),
        (np.zeros((0, 3)), r"X is empty: its shape is \(0, 3\)"),
        (np.zeros((3, 0)), r"X is empty: its shape is \(3, 0\)"),
        ([[1.0, np.nan]], "X contains NaN or infinite entries"),
        ([[1.0, -np.inf]], "X contains NaN or infinite entries"),
        ([[None, 1.0]], "X contains NaN"),
        ([["a", "b"]], "X must be an array of real numbers"),
        ([[1.0, 2.0], [3.0]], "X must be an array of real numbers"),
        ([[1.0, 2.0j]], "X must be an array of real numbers: it is complex"),
        ([[1e200, 0.0]], "X has entries beyond 1e[+]60"),
        (sp.eye_array(3), r"X is sparse, which this problem does not support; pass X.toarray\(\)"),
    ],
)
def test_malformed_points(X, message):
    with pytest.raises(InputError, match=message):
        as_points(X)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (sp.csr_array([[np.nan, 1.0]]), "X contains NaN"),
        (sp.csr_array([[1e99, 1.0]]), "X has entries beyond"),
        (sp.csr_array([[1.0j, 1.0]]), "X must hold real numbers"),
        (sp.csr_array((0, 3)), "X is empty"),
    ],
)
def test_malformed_sparse_points(X, message):
    with pytest.raises(InputError, match=message):
        as_points(X, sparse=True)


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
