"""Tuples of points, by value or by index, as points and row numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array

from convexmetric.comparisons.points import rows_of
from convexmetric.errors import InputError


def name_of(size: int) -> str:
    """Name of tuples by their size."""
    return {2: "pairs", 3: "triplets"}.get(size, "trials")


def dimensions(X: Any) -> int:
    """Number of dimensions of an array, a frame, a sparse matrix or nested lists."""
    found = getattr(X, "ndim", None)
    if isinstance(found, int):
        return found
    try:
        return int(np.asarray(X).ndim)
    except ValueError as error:
        raise InputError("the input must be a rectangular array, got rows of different lengths") from error


def points_and_rows(tuples: Any, size: int, preprocessor: Any) -> tuple[Any, np.ndarray]:
    """Return the distinct points of tuples, and the rows of these in every tuple.

    Points with equal features are merged, as are equal indices; but the points within a tuple stay distinct, so that
    different objects with the same features can be compared.

    Parameters
    ----------
    tuples : (n, size, d) array, or (n, size) array of indices
    size : int
        2 for pairs, 3 for triplets, more for trials with an anchor.
    preprocessor : array, sparse matrix, callable or None
        Points that indices refer to.

    Returns
    -------
    points : (m, d) array or sparse matrix
    rows : (n, size) int array

    Raises
    ------
    InputError
        If the tuples are malformed, or indices come without a preprocessor.
    """
    name = name_of(size)
    wanted = f"{name} must have shape (n, {size}, features), or (n, {size}) with a preprocessor"
    if sp.issparse(tuples):
        raise InputError(f"{wanted}; got a sparse matrix: give sparse points as preprocessor, and indices into it")
    ndim = dimensions(tuples)
    if ndim == 2 and preprocessor is None:
        raise InputError(f"{wanted}; got two dimensions, and there is no preprocessor to take them for indices")
    if ndim not in (2, 3):
        raise InputError(f"{wanted}, got {ndim} dimension(s). Reshape your data")
    given = np.asarray(tuples)
    if given.shape[1] != size:
        hint = "" if ndim == 3 else "; with a preprocessor points are given by index, one-dimensional"
        raise InputError(f"{wanted}, got {given.shape}{hint}")
    if given.shape[0] == 0:
        raise InputError(f"{name} is empty: at least one is needed")
    if ndim == 2:
        distinct, rows = np.unique(given, return_inverse=True)
        rows = rows.reshape(given.shape)
        return _apart(look_up(distinct, preprocessor), rows)
    values = check_array(given, allow_nd=True, dtype=np.float64, input_name=name)
    distinct, rows = np.unique(values.reshape(-1, values.shape[2]), axis=0, return_inverse=True)
    return _apart(distinct, rows.reshape(values.shape[:2]))


def look_up(indices: Any, preprocessor: Any) -> Any:
    """Look up points by index: rows of an array, or the result of a callable.

    Raises
    ------
    InputError
        If indices are not row numbers, or a callable does not return one point for each index.
    """
    if callable(preprocessor):
        made = preprocessor(indices)
        points = made if sp.issparse(made) else np.asarray(made)
        if points.ndim != 2 or points.shape[0] != len(indices):
            raise InputError(
                f"preprocessor must give one point an index: ({len(indices)}, d) for {len(indices)} indices, "
                f"got shape {points.shape}"
            )
        return points
    if sp.issparse(preprocessor):
        table = sp.csr_array(preprocessor)
    else:
        table = np.asarray(preprocessor)
        if table.ndim != 2:
            raise InputError(f"preprocessor must be an (n, d) array of points or a callable, got shape {table.shape}")
    return table[rows_of(indices, table.shape[0], "indices")]


def _apart(points: Any, rows: np.ndarray) -> tuple[Any, np.ndarray]:
    """Duplicate points that occur twice within a tuple, so that its places refer to different rows."""
    extra: list[np.ndarray] = []
    rows = rows.copy()
    count = points.shape[0]
    for place in range(1, rows.shape[1]):
        repeats = np.flatnonzero((rows[:, :place] == rows[:, place : place + 1]).any(axis=1))
        extra.append(rows[repeats, place].copy())
        rows[repeats, place] = count + np.arange(repeats.size)
        count += repeats.size
    copies = np.concatenate(extra)
    if not copies.size:
        return points, rows
    stack = sp.vstack if sp.issparse(points) else np.vstack
    return stack([points, points[copies]]), rows
