r"""Objects that share labels: the pairs that do, and the sums of squared differences over their graph.

Labels are 0/1 indicators, ``(objects, labels)``, so that an object may have several; two objects are of the same kind
when they share one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from convexmetric.arrays import Array
from convexmetric.comparisons.points import zero_one
from convexmetric.comparisons.relevance import as_labels
from convexmetric.errors import InputError

#: Numbers in memory at a time.
BLOCK = 2**22


def as_indicators(labels_x: Any, labels_y: Any) -> tuple[sp.csr_array, sp.csr_array]:
    """Labels of two sets of objects as 0/1 indicators of the same labels.

    Parameters
    ----------
    labels_x, labels_y : (m,) and (n,) arrays, or (m, L) and (n, L) 0/1 matrices
        One label per object; or indicators of the L labels of each object, dense or sparse.

    Raises
    ------
    InputError
        If they are malformed, one is a list of labels and the other a matrix, or an object has no label.
    """
    matrices = [sp.issparse(labels) or np.ndim(labels) == 2 for labels in (labels_x, labels_y)]
    if matrices[0] != matrices[1]:
        raise InputError("labels_x and labels_y must both be lists of labels, or both be 0/1 matrices")
    if not matrices[0]:
        x, y = (_labels(labels, name) for labels, name in ((labels_x, "labels_x"), (labels_y, "labels_y")))
        if (x.dtype.kind in "US") != (y.dtype.kind in "US"):
            raise InputError("labels_x and labels_y must be of the same type, such as both text")
        known = np.unique(np.concatenate([x, y]))
        return _one_hot(np.searchsorted(known, x), known.size), _one_hot(np.searchsorted(known, y), known.size)
    x, y = _indicators(labels_x, "labels_x"), _indicators(labels_y, "labels_y")
    if x.shape[1] != y.shape[1]:
        raise InputError(
            f"labels_x and labels_y must have a column for every label: they have {x.shape[1]} and {y.shape[1]}"
        )
    return x, y


def _labels(labels: Any, name: str) -> np.ndarray:
    try:
        return as_labels(labels)
    except InputError as error:
        raise InputError(str(error).replace("y ", f"{name} ", 1)) from error


def _one_hot(codes: np.ndarray, size: int) -> sp.csr_array:
    return sp.csr_array((np.ones(codes.size), (np.arange(codes.size), codes)), shape=(codes.size, size))


def _indicators(labels: Any, name: str) -> sp.csr_array:
    matrix = zero_one(labels, name).astype(np.float64)
    without = np.flatnonzero(np.diff(matrix.indptr) == 0)
    if without.size:
        raise InputError(f"{name}: object {without[0]} has no label; leave it out")
    return matrix


def sharing(left: sp.csr_array, right: sp.csr_array) -> np.ndarray:
    """Whether objects share a label, ``(len(left), len(right))`` booleans."""
    return np.asarray((left @ right.T).toarray() > 0.0)


def neighbour_graph(X: Array, labels: sp.csr_array, k: int) -> sp.csr_array:
    """Objects linked when one is among the k nearest ones of the other that share a label with it.

    Euclidean distances; of objects at the same distance those of the smaller number come first. No self-links.
    """
    norms = np.einsum("ij,ij->i", X, X)
    links = []
    for rows in _pieces(len(X), len(X)):
        distances = norms - 2.0 * (X[rows] @ X.T)
        same = sharing(labels[rows], labels)
        same[np.arange(rows.size), rows] = False
        for row, d, others in zip(rows, distances, same, strict=True):
            candidates = np.flatnonzero(others)
            nearest = candidates[np.argsort(d[candidates], kind="stable")[:k]]
            links.append(np.column_stack([np.full(nearest.size, row), nearest]))
    i, j = np.concatenate(links).T
    graph = sp.csr_array((np.ones(i.size), (i, j)), shape=(len(X), len(X)))
    return (graph + graph.T).sign()


def smoothness(X: Array, graph: sp.csr_array) -> Array:
    r"""``X^T L X`` of a symmetric graph.

    It is half the sum of :math:`w_{ij} (x_i/\sqrt{d_i} - x_j/\sqrt{d_j})(\cdot)^\top` over ordered pairs. ``L`` is the
    normalised Laplacian, ``I - D^-1/2 W D^-1/2``, with zeros for objects without a link, which no term of the sum has.
    """
    degrees = np.asarray(graph.sum(axis=1)).ravel()
    linked, scaled = degrees > 0.0, _over_roots(X, degrees)
    product = X[linked].T @ X[linked] - scaled.T @ (graph @ scaled)
    return 0.5 * (product + product.T)


def cross_product(X: Array, Y: Array, labels_x: sp.csr_array, labels_y: sp.csr_array) -> tuple[Array, Array, Array]:
    r"""Blocks of :math:`\sum_{ij} w_{ij} (x_i/\sqrt{d_i} - y_j/\sqrt{d_j})(\cdot)^\top`, w = 1 for a shared label.

    Returns
    -------
    XX, XY, YY : arrays
        Sums of ``x x^T`` and of ``y y^T`` over objects that share a label with any of the others, and
        :math:`X^\top D_x^{-1/2} W D_y^{-1/2} Y`.
    """
    pieces = list(_pieces(len(X), len(Y)))
    of_x, of_y = np.empty(len(X)), np.zeros(len(Y))
    for rows in pieces:
        shared = sharing(labels_x[rows], labels_y)
        of_x[rows] = shared.sum(axis=1)
        of_y += shared.sum(axis=0)
    scaled_x, scaled_y = _over_roots(X, of_x), _over_roots(Y, of_y)
    XY = np.zeros((X.shape[1], Y.shape[1]))
    for rows in pieces:
        XY += scaled_x[rows].T @ (sharing(labels_x[rows], labels_y).astype(np.float64) @ scaled_y)
    X, Y = X[of_x > 0.0], Y[of_y > 0.0]
    return X.T @ X, XY, Y.T @ Y


def _over_roots(X: Array, degrees: Array) -> Array:
    """Points divided by the roots of their degrees; zero for points without a link."""
    return np.asarray(X * np.divide(1.0, np.sqrt(degrees), where=degrees > 0.0, out=np.zeros_like(degrees))[:, None])


def _pieces(rows: int, width: int) -> list[np.ndarray]:
    """Slices of rows in pieces of bounded memory."""
    return np.array_split(np.arange(rows), -(-rows * width // BLOCK))
