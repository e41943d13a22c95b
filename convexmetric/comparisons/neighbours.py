"""Triplets whose positives and negatives combine freely: from a list, from labels, from a graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from convexmetric.arguments import check_count
from convexmetric.comparisons.points import translated
from convexmetric.comparisons.relevance import Relevance, against_all_others, as_labels, compressed
from convexmetric.deadline import until_deadline
from convexmetric.errors import InputError

#: Largest number of distances in memory at a time.
BLOCK = 2**22
#: Size of the first sample of items; the distances to its nearest items bound those to the nearest of all.
SOME = 1000


def grouped_triplets(
    triplets: np.ndarray, weights: np.ndarray | None = None
) -> tuple[Relevance, np.ndarray, np.ndarray]:
    """Group a list of triplets into queries with one positive, some negatives and one weight each.

    Returns
    -------
    relevance : Relevance
    anchors : (Q,) int array
        The point that serves as each query.
    order : (T,) int array
        The triplets in the order of queries, then negatives.
    """
    i, j, k = triplets.T
    own = np.ones(len(triplets)) if weights is None else weights
    order = np.lexsort((k, own, j, i))
    i, j, k, own = i[order], j[order], k[order], own[order]
    start = np.flatnonzero(np.r_[True, (i[1:] != i[:-1]) | (j[1:] != j[:-1]) | (own[1:] != own[:-1])])
    stop = np.r_[start[1:], len(triplets)]
    queries = np.arange(start.size)
    relevance = Relevance(j[start].astype(np.int32), queries, queries + 1, k.astype(np.int32), start, stop)
    return relevance, i[start], order


def nearest_by_label(X: Any, y: Any, n_same: int | None, n_other: int | None) -> Relevance:
    """Find for every point its nearest points of the same label and of other labels; ``None`` selects all of them.

    Euclidean distances; of points at the same distance those of the smaller number come first. A class with fewer other
    members gives all of them.

    Raises
    ------
    InputError
        If the labels are malformed (see :meth:`Relevance.from_labels`) or a number is not positive.
    """
    for value, name in ((n_same, "n_same"), (n_other, "n_other")):
        if value is not None:
            check_count(value, name, " or None for all")
    every = Relevance.from_labels(as_labels(y, X.shape[0]))
    if n_same is None and n_other is None:
        return every
    (X,) = translated(X)
    norms = np.asarray(X.multiply(X).sum(axis=1)).ravel() if sp.issparse(X) else np.einsum("ij,ij->i", X, X)
    positives: list[np.ndarray] = []
    negatives: list[np.ndarray] = []
    for rows in until_deadline(np.array_split(np.arange(len(every)), -(-len(every) * len(every) // BLOCK))):
        product = X[rows] @ X.T
        distances = norms - 2.0 * (product.toarray() if sp.issparse(product) else product)
        relevant, start, stop, irrelevant, begin, end = every.lists(rows)
        for row, d in enumerate(distances):
            positives.append(_nearest(d, relevant[start[row] : stop[row]], n_same))
            negatives.append(_nearest(d, irrelevant[begin[row] : end[row]], n_other))
    near = every.relevant, every.relevant_start, every.relevant_stop
    far = every.irrelevant, every.irrelevant_start, every.irrelevant_stop
    if n_same is not None:
        near = compressed(np.concatenate(positives), np.array(list(map(len, positives))))
    if n_other is not None:
        far = compressed(np.concatenate(negatives), np.array(list(map(len, negatives))))
    return Relevance(*near, *far)


def _nearest(distances: np.ndarray, items: np.ndarray, number: int | None) -> np.ndarray:
    if number is None:
        return items[:0]
    # After a first selection few items remain: a partition of all of them would take most of the time.
    for some in (number + SOME, len(items)):
        if number < len(items):
            values = distances[items]
            items = items[values <= np.partition(values[:some], number - 1)[number - 1]]
    items = np.sort(items)
    return items[np.argsort(distances[items], kind="stable")[:number]]


def as_adjacency(adjacency: Any, n: int) -> sp.csr_array:
    """``adjacency`` as a CSR array of ones without self-links.

    Raises
    ------
    InputError
        If it is not a square 0/1 matrix of that size, or has no link.
    """
    try:
        graph = sp.csr_array(adjacency, copy=True)
    except (TypeError, ValueError) as error:
        raise InputError("adjacency must be a square matrix of 0 and 1") from error
    if graph.shape != (n, n):
        hint = ""
        if graph.shape[1] == 2:
            hint = f"; of links (i, j) in rows make scipy.sparse.csr_array((ones, links.T), shape=({n}, {n}))"
        raise InputError(f"adjacency must have shape ({n}, {n}), one row and column a point, got {graph.shape}{hint}")
    graph.sum_duplicates()
    graph.eliminate_zeros()
    other = graph.data[~np.isin(graph.data, (0, 1))]
    if other.size:
        raise InputError(f"adjacency must hold only 0 and 1, got {other[0]}; pass adjacency != 0 if that means a link")
    graph = sp.csr_array(graph, dtype=np.float64)
    graph.setdiag(0.0)
    graph.eliminate_zeros()
    graph.sort_indices()
    if graph.nnz == 0:
        raise InputError("adjacency has no link between two different points; at least one is needed")
    return graph


def linked_triplets(graph: sp.csr_array) -> tuple[Relevance, np.ndarray]:
    """All triplets (i, j, k) with a link from i to j and none from i to k, as lists with their points i.

    Raises
    ------
    InputError
        If every point is linked to all others.
    """
    n = graph.shape[0]
    degrees = np.diff(graph.indptr)
    anchors = np.flatnonzero((degrees > 0) & (degrees < n - 1))
    if anchors.size == 0:
        raise InputError(
            "adjacency links every point to all others or to none: no triplet (i, j, k) has a link from i to j and "
            "none from i to k"
        )
    ends = graph.indptr.astype(np.int64)
    positives = graph.indices.astype(np.int32), ends[anchors], ends[anchors + 1]
    return against_all_others(positives, anchors, n), anchors
