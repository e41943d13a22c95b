r"""Representatives: centroids of clusters of a query's relevant items, and of its irrelevant classes.

Queries that have the same labels share their representatives. Relevant to a query are items that share a label with
it. They are divided into clusters by k-means; the others by their labels, a cluster for every label that the query does
not have.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from convexmetric.arguments import as_generator
from convexmetric.arrays import Array
from convexmetric.comparisons import Relevance
from convexmetric.comparisons.label_graphs import sharing
from convexmetric.comparisons.relevance import compressed
from convexmetric.errors import InputError
from convexmetric.numerics.threads import openmp_threads_for

#: Number of random starts of k-means, of which the best is taken.
STARTS = 10


@dataclass(frozen=True)
class Representatives:
    """Representatives that queries rank, with their relevance.

    Attributes
    ----------
    items : (n, d) array
    queries : (m',) int array
        Queries that have a relevant and an irrelevant item; the others rank nothing.
    relevance : Relevance
        Which representatives are relevant and irrelevant to each of these queries.
    """

    items: Array
    queries: np.ndarray
    relevance: Relevance


def all_items(Y: Array, labels_x: sp.csr_array, labels_y: sp.csr_array) -> Representatives:
    """Take every item as its own representative."""
    sets, of = _distinct(labels_x)
    relevant = sharing(sets, labels_y)
    positives = [np.flatnonzero(row) for row in relevant]
    negatives = [np.flatnonzero(~row) for row in relevant]
    return _gathered(Y, positives, negatives, of)


def representatives(
    Y: Array,
    labels_x: sp.csr_array,
    labels_y: sp.csr_array,
    n_clusters: int,
    *,
    random_state: int | np.random.Generator | None = None,
) -> Representatives:
    """Cluster relevant items and irrelevant classes; centroids are ranked (equations 9 to 12 of paper 5).

    Parameters
    ----------
    Y : (n, d) array
        Items.
    labels_x, labels_y : (m, L) and (n, L) sparse 0/1 matrices
        Labels of queries and items.
    n_clusters : int
        Clusters of relevant items; with no more items than that, each represents itself.
    random_state : int, numpy.random.Generator or None
        Seed or generator for k-means.

    Raises
    ------
    InputError
        If no query has both a relevant and an irrelevant item.
    """
    rng = as_generator(random_state)
    sets, of = _distinct(labels_x)
    members = [np.flatnonzero(column) for column in labels_y.toarray().T]
    found = _Items(Y)
    positives, negatives = [], []
    for labels in sets:
        wanted = np.flatnonzero(sharing(labels.reshape(1, -1), labels_y)[0])
        others = np.flatnonzero(labels.toarray().ravel() == 0.0)
        positives.append(found.clusters(wanted, n_clusters, rng))
        classes = [np.setdiff1d(members[label], wanted, assume_unique=True) for label in others]
        negatives.append(np.array([found.centroid(rows) for rows in classes if rows.size], dtype=np.int64))
    return _gathered(np.array(found.vectors), positives, negatives, of)


def _distinct(labels: sp.csr_array) -> tuple[sp.csr_array, np.ndarray]:
    """Find the distinct sets of labels (rows), and the number of each query's set."""
    rows, of = np.unique(labels.toarray().astype(bool), axis=0, return_inverse=True)
    return sp.csr_array(rows.astype(np.float64)), of.ravel()


@dataclass
class _Items:
    """Representatives collected so far; a set of items that occurs again is not added again."""

    Y: Array
    vectors: list[Array] = field(default_factory=list)
    known: dict[bytes, int] = field(default_factory=dict)

    def add(self, vector: Array) -> int:
        self.vectors.append(vector)
        return len(self.vectors) - 1

    def centroid(self, rows: np.ndarray) -> int:
        key = rows.tobytes()
        if key not in self.known:
            self.known[key] = self.add(self.Y[rows].mean(axis=0))
        return self.known[key]

    def clusters(self, rows: np.ndarray, n_clusters: int, rng: np.random.Generator) -> np.ndarray:
        if rows.size <= n_clusters:
            return np.array([self.centroid(rows[i : i + 1]) for i in range(rows.size)], dtype=np.int64)
        return np.array([self.add(vector) for vector in _k_means(self.Y[rows], n_clusters, rng)])


def _k_means(points: Array, n_clusters: int, rng: np.random.Generator) -> Array:
    """Centroids of k-means, ``(k, d)``; fewer than ``n_clusters`` where there are fewer distinct points."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    distinct = min(n_clusters, len(np.unique(points, axis=0)))
    model = KMeans(distinct, n_init=STARTS, random_state=int(rng.integers(2**31)))
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning), openmp_threads_for(points.size):
        return np.asarray(model.fit(points).cluster_centers_, dtype=np.float64)


def _gathered(
    items: Array, positives: list[np.ndarray], negatives: list[np.ndarray], of: np.ndarray
) -> Representatives:
    """Turn the lists of each set of labels into relevance of the queries that have these labels."""
    ranked = np.array([n.size > 0 and f.size > 0 for n, f in zip(positives, negatives, strict=True)])
    queries = np.flatnonzero(ranked[of])
    if not queries.size:
        raise InputError(
            "labels: no object of X has both a relevant and an irrelevant object of Y, so nothing is ranked; "
            "give labels that some pairs share and others do not"
        )
    return Representatives(items, queries, Relevance(*_lists(positives, of[queries]), *_lists(negatives, of[queries])))


def _lists(of_sets: list[np.ndarray], of: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Concatenate lists of sets; returns the storage, and start and stop of each query's list in it."""
    storage, start, stop = compressed(np.concatenate(of_sets), np.array([rows.size for rows in of_sets]))
    return storage, start[of], stop[of]
