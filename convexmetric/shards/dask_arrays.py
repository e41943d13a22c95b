"""Folders of shards from Dask arrays, chunk by chunk: no process holds all data, and the driver none.

Dask makes arrays of many sources: ``dask.array.from_zarr(url)``, ``dask.array.from_array(numpy.memmap(...))``,
``dask.dataframe.read_parquet(path)[columns].to_dask_array(lengths=True)``. Chunks are tasks of the current
scheduler: that of a cluster if there is a client, else local threads.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from convexmetric.arguments import check_positive_number
from convexmetric.arrays import Array
from convexmetric.comparisons import Relevance
from convexmetric.comparisons.points import as_points, large_offset
from convexmetric.comparisons.relevance import as_labels
from convexmetric.cones import Cone, NonnegativeDiagonal, PSDCone
from convexmetric.described import description
from convexmetric.errors import InputError, SolverNotInstalledError
from convexmetric.files import written
from convexmetric.measures import measure_named
from convexmetric.shards.folder import Piece, StoredArray
from convexmetric.shards.risk import CACHE_BYTES, SHARDS, ShardedRisk
from convexmetric.shards.writing import Written, finish, new_folder, piece_name, write_arrays


def write_labels(
    X: Any,
    y: Any,
    *,
    folder: str | os.PathLike[str],
    measure: str = "auc",
    C: float = 1.0,
    k: int | None = None,
    short: str = "cut",
    diagonal: bool = False,
    shards: int = SHARDS,
    cache: int = CACHE_BYTES,
) -> ShardedRisk:
    """Write the risk of ranking labelled points that are a Dask array.

    Every point is a query; relevant to it are the others of its label, as in
    :meth:`RankingProblem.from_labels <convexmetric.RankingProblem.from_labels>`. The risk is that of this problem, and
    a worker reads all points to evaluate some of its queries. If the points of a chunk are to rank only one
    another, pass the risks of chunks to :func:`write_pieces`.

    Parameters
    ----------
    X : (n, d) dask.array.Array
        Points in rows.
    y : (n,) array or dask.array.Array
        Labels.
    folder : path
        Empty or new, on a file system that all workers share.
    measure, C, k, short, diagonal
        As for :class:`~convexmetric.RankingProblem`.
    shards, cache
        As for :class:`ShardedRisk`.

    Returns
    -------
    ShardedRisk
        ``C/n sum_q xi_q``.

    Raises
    ------
    InputError
        If an argument is malformed, labels make no query, or the folder holds shards already or cannot be written.
    SolverNotInstalledError
        If Dask is not installed.
    """
    check_positive_number(C, "C")
    learned = measure_named(measure, k, short=short)
    blocks, lengths, d = _blocks(X)
    n = sum(lengths)
    cone: Cone = NonnegativeDiagonal(d) if diagonal else PSDCone(d)
    labels = as_labels(np.asarray(y), n)
    path = new_folder(folder)
    relevance = Relevance.from_labels(labels)
    ranges = _computed(_range, enumerate(blocks))
    low, high = np.min([low for low, _ in ranges], axis=0), np.max([high for _, high in ranges], axis=0)
    shift = large_offset(low, high)
    # Chunks fill the file of the points once their common offset is known.
    file = path / piece_name(0) / "points.npy"
    with written(file):
        file.parent.mkdir(exist_ok=True)
        np.lib.format.open_memmap(file, "w+", np.float64, (n, d)).flush()
    starts = (np.cumsum(lengths) - lengths).tolist()
    reaches = _computed(_fill, ((file, start, block, shift) for start, block in zip(starts, blocks, strict=True)))
    arrays = {"points": None, "anchors": np.arange(n), **description(relevance).arrays}
    piece = Piece(piece_name(0), n, n, C / n, write_arrays(path, 0, arrays))
    risk = {"kind": "rankings", **description(learned).table}
    return finish(path, [Written(piece, risk, description(cone).table, np.max(reaches, axis=0))], shards, cache)


def _blocks(X: Any) -> tuple[list[Any], list[int], int]:
    """Split X into chunks of rows: delayed arrays, their lengths, and the number of features."""
    if not hasattr(X, "to_delayed") or getattr(X, "ndim", 0) != 2:
        raise InputError(
            "X must be a two-dimensional dask.array.Array; of points in memory write a problem's risk: "
            "cm.shards.write(problem.risk, folder)"
        )
    X = X.rechunk({1: -1})
    if any(np.isnan(length) for length in X.chunks[0]):
        X = X.compute_chunk_sizes()
    if X.shape[0] == 0 or X.shape[1] == 0:
        raise InputError(f"X is empty: its shape is {X.shape}")
    return list(X.to_delayed().ravel()), [int(length) for length in X.chunks[0]], int(X.shape[1])


def _computed(task: Any, rows: Iterable[tuple[Any, ...]]) -> list[Any]:
    """Compute a function by Dask for every row of arguments, which include a chunk."""
    try:
        import dask
    except ImportError as error:
        raise SolverNotInstalledError("X as a Dask array: pip install 'convexmetric[dask]'") from error
    delayed = dask.delayed(task, pure=False)
    return list(dask.compute(*[delayed(*row) for row in rows]))


def _range(number: int, block: Any) -> tuple[Array, Array]:
    """Least and largest entry of every column of a chunk."""
    try:
        points = as_points(block)
    except InputError as error:
        raise InputError(f"chunk {number} of X: {error}") from error
    return points.min(axis=0), points.max(axis=0)


def _fill(file: Path, start: int, block: Any, shift: Array) -> Array:
    """Write a chunk into its rows of a file; returns the largest absolute value of every column."""
    stored, points = StoredArray(file), as_points(block) - shift
    stored.fill(start, points)
    return np.asarray(np.abs(points).max(axis=0))
