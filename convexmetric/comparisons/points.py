"""Checks of the data matrix, shared by all comparisons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from convexmetric.arrays import Array, real_array
from convexmetric.comparisons.passes import elsewhere, numpy_array
from convexmetric.cones.base import Cone
from convexmetric.errors import InputError

#: Largest absolute value of an entry: sums of squared distances, and the squares of these, stay finite.
LARGEST = 1e60
#: The largest absolute entry must exceed this, unless all are zero: squares of squared distances do not underflow.
SMALLEST = 1e-60
#: An offset is subtracted if it is at least this many times the range of its column; >= 1, so that this is exact.
OFFSET = 16.0


@dataclass(frozen=True)
class Checked:
    """Points that :func:`as_points` returned; functions that take a user's points skip the checks of these."""

    points: Any
    #: The points as given, if their memory decides where passes run (:mod:`convexmetric.comparisons.passes`).
    given: Any = None


def as_points(X: Any, name: str = "X", *, sparse: bool = False) -> Any:
    """``X`` as float64 points in rows: a C-ordered array, or CSR if ``sparse`` allows it.

    Points in that form are not copied. All others are copied once. float32 is converted because bounds are proven for
    the given numbers, whose squared distances lose half of their digits in single precision (float64 represents every
    float32, so that the problem is the same). Fortran order is converted because compiled code reads points row by row.
    Heuristic computations, such as products inside conjugate gradients, make their own single precision copies.

    Raises
    ------
    InputError
        If ``X`` is not two-dimensional, is empty, is not real, has NaN, infinite or absurdly large entries, or
        absurdly small ones only, or is sparse where only dense points are supported.
    """
    checked, X = (True, X.points) if isinstance(X, Checked) else (False, X)
    if sp.issparse(X) and not sparse:
        raise InputError(f"{name} is sparse, which this problem does not support; pass {name}.toarray()")
    if checked:
        return X
    X = numpy_array(X) if elsewhere(X) else X
    if sp.issparse(X):
        if np.iscomplexobj(X):
            raise InputError(f"{name} must hold real numbers, got complex ones")
        points: Any = sp.csr_array(X, dtype=np.float64)
        values = points.data
    else:
        points = values = np.ascontiguousarray(real_array(X, name))
    if points.ndim != 2:
        raise InputError(
            f"{name} must be two-dimensional (points in rows), got {points.ndim} dimension(s); "
            f"use {name}.reshape(-1, 1) for a single feature"
        )
    if points.shape[0] == 0 or points.shape[1] == 0:
        raise InputError(f"{name} is empty: its shape is {points.shape}")
    # NaN is the largest and the smallest of all entries.
    largest = np.maximum(values.max(), -values.min()) if values.size else 0.0
    if not np.isfinite(largest):
        raise InputError(f"{name} contains NaN or infinite entries; remove or impute them first")
    if largest > LARGEST:
        raise InputError(f"{name} has entries beyond {LARGEST:g}, whose squared distances overflow; rescale it")
    if 0.0 < largest < SMALLEST:
        raise InputError(f"{name} has no entry beyond {SMALLEST:g}, so that squared distances underflow; rescale it")
    return points


def points_on(X: Any, cone: Cone, *, sparse: bool) -> Any:
    """``X`` as points without a large common offset that metrics of the cone act on.

    Raises
    ------
    InputError
        If :func:`as_points` refuses it, or its number of features is not that of the cone.
    """
    (points,) = translated(as_points(X, sparse=sparse))
    check_width(points, cone.d, "X has", "the metric acts on")
    return points


def check_width(points: Any, features: int, has: str, other: str) -> None:
    """Raise an :class:`~convexmetric.errors.InputError` unless points and their counterpart have as many features.

    ``has`` and ``other`` are words of the message: ``"queries have"``, ``"X has"``.
    """
    if points.shape[1] != features:
        raise InputError(f"{has} {points.shape[1]} features, but {other} {features}")


def as_rows(X: Any) -> Array:
    """Convert checked points to a dense matrix; for statements of few points."""
    return np.asarray(X.toarray() if sp.issparse(X) else X)


def translated(*sets: Any) -> tuple[Any, ...]:
    """Points without a large common offset: the same vector is subtracted from all sets, exactly.

    Squared distances do not change under translation, but their rounding errors do: they are evaluated from inner
    products, whose size is that of the offset. The middle c of a column is subtracted if it is :data:`OFFSET` times the
    range or more. Its entries are then within a factor of two of c, and the difference of two such floats is a float
    (Sterbenz 1974), so that the problem stays the same. Smaller offsets cost little, and stay, so that translation adds
    no rounding that would distinguish points at equal distances. Sparse points are not changed.

    Parameters
    ----------
    sets : (n_k, d) arrays or sparse matrices
        Points in rows, as :func:`as_points` returns them.

    Returns
    -------
    tuple
        The sets; the same objects if nothing was subtracted.
    """
    if not all(isinstance(points, np.ndarray) for points in sets):
        return sets
    low = np.min([points.min(axis=0) for points in sets], axis=0)
    high = np.max([points.max(axis=0) for points in sets], axis=0)
    shift = large_offset(low, high)
    if not shift.any():
        return sets
    return tuple(points - shift for points in sets)


def large_offset(low: Array, high: Array) -> Array:
    """Offset that :func:`translated` subtracts from points between ``low`` and ``high``; zero where small."""
    middle = 0.5 * (low + high)
    return np.where((middle != 0.0) & (np.abs(middle) >= OFFSET * (high - low)), middle, 0.0)


def described_points(X: Any, name: str = "points") -> dict[str, np.ndarray]:
    """Points as arrays of certificate files: one matrix, or the three arrays of a CSR matrix."""
    if not sp.issparse(X):
        return {name: X}
    rows = sp.csr_array(X, copy=True)
    rows.sum_duplicates()
    return {
        f"{name}_data": rows.data,
        f"{name}_indices": rows.indices.astype(np.int64),
        f"{name}_indptr": rows.indptr.astype(np.int64),
    }


def row_width(points: tuple[Any, ...], cone: Cone) -> float:
    """Numbers per point that a comparison takes in coordinates; an entry of a sparse row counts as one and a half.

    A triplet's row has the entries of three points.
    """
    coordinates = float(cone.size)
    sparse = [one for one in points if sp.issparse(one)]
    if not sparse or not cone.diagonal:
        return coordinates
    return 1.5 * min(coordinates, 3.0 * max(one.nnz / one.shape[0] for one in sparse))


def check_features(Q: Any, X: Any, cone: Cone) -> None:
    """Raise an :class:`~convexmetric.errors.InputError` unless queries and items fit each other and the cone."""
    if not cone.free:
        check_width(Q, X.shape[1], "queries have", "X has")
    elif (Q.shape[1], X.shape[1]) != cone.shape:
        sizes = f"queries have {Q.shape[1]} features and X {X.shape[1]}"
        raise InputError(f"{sizes}, but the matrices are of shape {cone.shape}")


def listed_rows(indices: Any, n: int, name: str, what: str, letters: str, count: str = "T") -> np.ndarray:
    """Check ``indices``, a list of pairs or triplets of points, and return them as integers in ``[0, n)``.

    Parameters
    ----------
    indices : (T, k) int array
    n : int
        Number of points.
    name, what : str
        The argument in error messages, and what it lists: ``"pair"``.
    letters, count : str
        Letters of the columns, such as ``"ij"``, and of the number of rows.

    Raises
    ------
    InputError
        If they are malformed or empty, or point outside the ``n`` rows.
    """
    columns = f"({', '.join(letters)})"
    wanted = f"{name} must have shape ({count}, {len(letters)}) with rows {columns}"
    try:
        array = np.asarray(indices)
    except ValueError as error:
        raise InputError(f"{wanted}, got rows of different lengths") from error
    if array.ndim != 2 or array.shape[1] != len(letters):
        raise InputError(f"{wanted}, got {array.shape}")
    if not len(array):
        raise InputError(f"{name} is empty: at least one {what} {columns} is needed")
    return rows_of(array, n, name)


def zero_one(matrix: Any, name: str) -> sp.csr_array:
    """A matrix of 0 and 1, dense or sparse, as a CSR array of its ones.

    Raises
    ------
    InputError
        If it holds anything else.
    """
    message = f"{name} as a matrix must hold only 0 and 1"
    try:
        ones = sp.csr_array(matrix, copy=True)
        ones.sum_duplicates()
        ones.eliminate_zeros()
    except (TypeError, ValueError) as error:
        raise InputError(message) from error
    if not (ones.data == 1).all():
        raise InputError(message)
    return ones


def rows_of(indices: Any, n: int, name: str) -> np.ndarray:
    """Check ``indices`` and return them as integers in ``[0, n)``.

    Raises
    ------
    InputError
        If they are not integers or point outside the ``n`` rows.
    """
    try:
        array = np.asarray(indices)
    except ValueError as error:
        raise InputError(f"{name} must be a rectangular array of row numbers") from error
    if array.size == 0:
        array = array.astype(np.int64)
    if not np.issubdtype(array.dtype, np.integer):
        raise InputError(f"{name} must hold integer row numbers, got dtype {array.dtype}")
    if array.size and array.min() < 0:
        raise InputError(f"{name} points to row {array.min()}, but rows are numbered from 0")
    if array.size and array.max() >= n:
        raise InputError(f"{name} points to row {array.max()}, but there are {n} rows (0 to {n - 1})")
    return array.astype(np.int64)
