r"""Estimates of the rounding errors of a risk and of its dual points, from the magnitudes that occur.

A sum of n floats errs by about :math:`\epsilon_n = (4 + 2 \sqrt n) u` times the sum of their sizes, with
:math:`u = 2^{-53}`, as errors of single operations are nearly independent. Squared distances are evaluated from inner
products, whose terms have sizes of up to :math:`E(M) = \max_x |x|^\top |M| |x|` over all points x, so that a distance
errs by about

.. math:: e(M) = 4 E(M) \, \epsilon_{2 d}.

With T the coefficients of squared distances in :math:`S = \sum_{qx} T_{qx} (q - x)(q - x)^\top`, w the sum of their
sizes and :math:`r_j` the largest size of coordinate j, entry (j, k) of S errs by about
:math:`4 \epsilon_n w \, r_j r_k`, and a symmetric matrix of such errors with random signs is below the diagonal one of

.. math:: \delta_j = 4 \epsilon_n w \, r_j^2 (1 + 2 \sqrt d)

in the order of the cone (below :math:`4 \epsilon_n w \, r_j^2` for diagonal metrics). These are estimates, not proofs:
proofs come from :mod:`convexmetric.certificates.checker`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
import scipy.sparse as sp

from convexmetric.arrays import Array
from convexmetric.cones import Cone

#: Unit roundoff.
U = 2.0**-53
#: Rows of points whose forms are in memory at a time.
BLOCK = 4_096


@dataclass(frozen=True)
class BoundingBox:
    """Bounding boxes in place of points in other processes: every point counts as a corner of its box.

    Attributes
    ----------
    reaches : (sets, d) array
        The largest size of every coordinate in a set of points.
    count : int
        Number of points in all sets.
    """

    reaches: Array
    count: int

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of a matrix with all points as rows."""
        return self.count, self.reaches.shape[1]


def sum_error(n: int) -> float:
    """Relative error of a sum of n terms, in units of the sum of their absolute values."""
    return (4.0 + 2.0 * sqrt(n)) * U


def reach(points: tuple[Any, ...]) -> Array:
    """``r_j``: the largest absolute value of every coordinate."""
    sets = (X.reaches if isinstance(X, BoundingBox) else X for X in points)
    return np.max([abs(X).max(axis=0).toarray().ravel() if sp.issparse(X) else np.abs(X).max(axis=0) for X in sets], 0)


def largest_form(points: tuple[Any, ...], M: Array) -> float:
    """``max_x |x|^T |M| |x|``, for weights of a diagonal metric too."""
    size, largest = np.abs(M), 0.0
    with np.errstate(over="ignore"):
        for X in (X.reaches if isinstance(X, BoundingBox) else X for X in points):
            for first in range(0, X.shape[0], BLOCK):
                V = abs(X[first : first + BLOCK])
                if size.ndim == 1:
                    forms = (V * V if isinstance(V, np.ndarray) else V.multiply(V)) @ size
                elif isinstance(V, np.ndarray):
                    forms = np.einsum("ij,ij->i", V @ size, V)
                else:
                    forms = np.asarray(V.multiply(V @ size).sum(axis=1)).ravel()
                largest = max(largest, float(np.max(forms, initial=0.0)))
    return largest


def error_of_distances(points: tuple[Any, ...], M: Array) -> float:
    """``e(M)``: error of a squared distance between two of the points."""
    return 4.0 * largest_form(points, M) * sum_error(2 * M.shape[0])


def error_of_lifted(points: tuple[Any, ...], M: Array, lifted: Array, cone: Cone) -> float:
    """Error ``e`` of squared distances under a metric that is itself wrong by ``lifted``, see :func:`lift`.

    Without a cone it is that of similarities, and ``points`` are items and queries.
    """
    if cone.free:
        X, Q = points[0], points[-1]
        return float(np.max(np.abs(Q) @ (np.abs(M) @ reach((X,))))) * sum_error(sum(M.shape))
    return error_of_distances(points, M) + 4.0 * largest_form(points, lifted)


def error_of_sums(points: tuple[Any, ...], weight: float, cone: Cone) -> Array:
    """``delta``, ``(d,)``: the error of S is below ``diag(delta)`` in the order of the cone."""
    count = sum(X.shape[0] for X in points)
    spread = 1.0 if cone.diagonal else 1.0 + 2.0 * sqrt(cone.d)
    with np.errstate(over="ignore"):
        return np.asarray(4.0 * sum_error(count) * weight * spread * reach(points) ** 2)


def error_of_products(points: tuple[Any, ...], weight: float) -> float:
    """Norm of the error of ``sum t_qx q x^T``, w being the sum of the sizes of t; ``points`` are items and queries.

    Zero without points, as of a risk that names none.
    """
    if not points:
        return 0.0
    count = sum(X.shape[0] for X in points)
    sizes = [float(np.linalg.norm(reach((X,)))) for X in (points[0], points[-1])]
    return sum_error(count) * weight * sizes[0] * sizes[1]


def lift(cone: Cone, M: Array) -> Array:
    """``(d,)``, nonnegative: with it added to its diagonal the metric is in the cone despite rounding.

    With ``D_jj = max(M_jj, max_k M_jk^2 / M_kk)`` entries of ``D^(-1/2) M D^(-1/2)`` are at most one, and its smallest
    eigenvalue is known up to ``epsilon_d`` whatever the scales of the coordinates are.
    """
    if cone.free:
        return np.zeros(cone.d)
    if cone.diagonal:
        return np.maximum(-M, 0.0)
    diagonal = np.maximum(M.diagonal(), 0.0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        D = np.maximum(diagonal, np.nan_to_num(M * M / diagonal, nan=0.0).max(axis=1))
        roots = np.sqrt(D)
        scaled = np.where(D[:, None] * D > 0.0, M / roots / roots[:, None], 0.0)
    if not np.isfinite(scaled).all():
        return np.full(cone.d, np.inf)
    return (max(0.0, -float(np.linalg.eigvalsh(scaled)[0])) + sum_error(cone.d)) * D
