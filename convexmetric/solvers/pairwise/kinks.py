r"""Comparisons on the *kink*, in the curved part of their smoothed hinge, and their Newton systems.

They are the only ones with a second derivative. With the derivative :math:`\Pi` of the projection on the cone
(:mod:`convexmetric.cones.projection`) and a row of H for each of them a system

.. math:: (\mathrm{diag}(D) + \tfrac{1}{\sigma} \Pi^{1/2} H^\top \mathrm{diag}(\kappa) H \Pi^{1/2}) \, v = b

lives in the coordinates where :math:`\Pi` is not zero. It is solved by the smaller of two factorisations, kinks or
coordinates, or by conjugate gradients, whose products cost no more than a pass over the data.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from convexmetric.arrays import Array
from convexmetric.cones.projection import Projection
from convexmetric.numerics.compiling import compiled, compiled_in_any_order
from convexmetric.numerics.conjugate_gradients import conjugate_gradients
from convexmetric.numerics.threads import over_rows
from convexmetric.risks import PairwiseRisk
from convexmetric.risks.base import group_sums

#: Multiplications up to which a system is factorised, without conjugate gradients.
DIRECT_WORK = 1e9
#: Multiplications up to which it is factorised where conjugate gradients do not reach their accuracy.
FALLBACK_WORK = 4e11
#: Conjugate gradient steps for a system at most.
CG_STEPS = 80
#: Relative residual, in the norm of the preconditioner, at which conjugate gradients end.
CG_ACCURACY = 1e-2


class Kinks:
    """Listed comparisons (query, positive, negative) on the kink, with their weights in the second derivative.

    Where a metric has no more coordinates than features, as diagonal metrics have, comparisons are rows in coordinates.
    Elsewhere margins come from images of the points, and sums from one weighted Laplacian between queries and items.

    Parameters
    ----------
    risk : PairwiseRisk
    sample : (N, 3) int array
        Query, positive and negative row.
    curvature : (N,) array
        Weights in the second derivative, ``E -> sum_t curvature_t <D_t, E> D_t``.
    """

    def __init__(self, risk: PairwiseRisk, sample: np.ndarray, curvature: Array) -> None:
        self.Q, self.X = risk.rankings.Q, risk.rankings.X
        self.sample, self.curvature = sample, curvature
        self.cone = risk.cone
        self.weights = risk.weights[sample[:, 0]]
        self.anchors = risk.rankings.rows(sample[:, 0])
        self.in_coordinates = self.cone.size <= self.cone.d

    def __len__(self) -> int:
        return len(self.sample)

    def margins(self, M: Array) -> Array:
        """``<D_t, M>``: distance to the negative less distance to the positive."""
        if self.in_coordinates:
            return np.asarray(self.rows @ self.cone.coordinates(M))
        images = self.cone.times(self.X, M)
        norms = np.einsum("ij,ij->i", images, self.X)
        margins, count = np.empty(len(self.sample)), len(self.sample)
        over_rows(_margins, count, count * self.X.shape[1], self.Q, self.anchors, self.sample, norms, images, margins)
        return margins

    def second_along(self, B: Array) -> Callable[[Array], Array]:
        """Map from E, ``(r, d)``, to ``B sum_t curvature_t <D_t, B^T E + E^T B> D_t``, for matrix metrics.

        It is made from images of the points, in single precision, which is enough for products of conjugate gradients.
        """
        X, factor = self.X.astype(np.float32), B.astype(np.float32)
        Q = X if self.Q is self.X else self.Q.astype(np.float32)
        Z = X @ factor.T
        Y = Z if Q is X else Q @ factor.T
        count = len(self.sample)

        def applied(E: Array) -> Array:
            change = E.astype(np.float32)
            H = X @ change.T
            G = H if Q is X else Q @ change.T
            margins = np.empty(count)
            over_rows(_changes, count, 4 * count * len(B), Y, Z, G, H, self.anchors, self.sample, margins)
            weights, sums = self._laplacian(self.curvature * margins, np.float32)
            items = sums[:, None] * Z - weights.T @ Y
            queries = weights @ Z
            out = X.T @ (items - queries) if Q is X else X.T @ items - Q.T @ queries
            return np.asarray(out.T, dtype=np.float64)

        return applied

    def adjoint(self, u: Array) -> Array:
        """``sum_t u_t D_t``."""
        if self.in_coordinates:
            return self.cone.from_coordinates(np.asarray(self.rows.T @ u))
        weights, sums = self._laplacian(u)
        images = weights @ self.X
        weighted = 0.5 * sums[:, None] * self.X
        half = self.X.T @ (weighted - images) if self.Q is self.X else self.X.T @ weighted - self.Q.T @ images
        return half + half.T

    def _laplacian(self, u: Array, precision: type = np.float64) -> tuple[Any, Array]:
        """Weights of (query, item) pairs whose outer products add up to ``sum_t u_t D_t``, and their sums by item."""
        places, columns, starts = self._pattern
        weights = group_sums(u, places[0], columns.size) - group_sums(u, places[1], columns.size)
        shape = self.Q.shape[0], self.X.shape[0]
        sums: Array = group_sums(weights, columns, shape[1]).astype(precision)
        return sp.csr_array((weights.astype(precision), columns, starts), shape=shape), sums

    @cached_property
    def _pattern(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Sparsity of the Laplacian: entries of the negatives and positives, columns, and starts of rows.

        All products of conjugate gradients share it.
        """
        shape = self.Q.shape[0], self.X.shape[0]
        keys = self.anchors * shape[1] + self.sample[:, :0:-1].T
        entries, places = np.unique(keys, return_inverse=True)
        starts = np.searchsorted(entries, np.arange(shape[0] + 1) * shape[1])
        return places.reshape(keys.shape), entries % shape[1], starts

    @cached_property
    def rows(self) -> Any:
        """All ``D_t`` in coordinates of the cone, ``(N, cone.size)``; sparse if the points are."""
        positives, negatives = self.differences()
        return self.cone.outer_rows(negatives) - self.cone.outer_rows(positives)

    def differences(self) -> tuple[Any, Any]:
        """Differences ``q - x_positive`` and ``q - x_negative``, a row for each comparison."""
        queries = self.Q[self.anchors]
        return queries - self.X[self.sample[:, 1]], queries - self.X[self.sample[:, 2]]

    def turned(self, basis: Array) -> Kinks:
        """Copy with the points in another orthonormal basis, for matrix metrics."""
        turned = copy(self)
        turned.X = self.X @ basis
        turned.Q = turned.X if self.Q is self.X else self.Q @ basis
        turned._pattern = self._pattern
        # Cached rows are in the old basis.
        vars(turned).pop("rows", None)
        return turned


@compiled
def _margins(begin, end, Q, anchors, sample, norms, images, margins):
    """``<D_t, M>`` from ``M x`` and ``x^T M x`` of all items."""
    for t in range(begin, end):
        positives, negatives = sample[t, 1], sample[t, 2]
        q = Q[anchors[t]]
        dot = 0.0
        for f in range(q.size):
            dot += q[f] * (images[negatives, f] - images[positives, f])
        margins[t] = norms[negatives] - norms[positives] - 2.0 * dot


@compiled_in_any_order
def _changes(begin, end, Y, Z, G, H, anchors, sample, margins):
    """``<D_t, B^T E + E^T B>`` from images ``B q, B x`` (Y, Z) and ``E q, E x`` (G, H)."""
    for t in range(begin, end):
        q, positives, negatives = anchors[t], sample[t, 1], sample[t, 2]
        dot = np.float32(0.0)
        for k in range(Z.shape[1]):
            y, g = Y[q, k], G[q, k]
            dot += (y - Z[negatives, k]) * (g - H[negatives, k]) - (y - Z[positives, k]) * (g - H[positives, k])
        margins[t] = 2.0 * dot


class Factorised:
    """A system factorised on its smaller side."""

    def __init__(self, projection: Projection, kinks: Kinks, diagonal: Array, sigma: float) -> None:
        self.root = np.sqrt(diagonal)
        scale = np.sqrt(kinks.curvature / sigma)
        self.rows = projection.rows(kinks)
        if sp.issparse(self.rows):
            self.rows = sp.diags_array(scale) @ self.rows @ sp.diags_array(1.0 / self.root)
        else:
            self.rows *= scale[:, None]
            self.rows /= self.root
        self.by_kinks = len(kinks) < projection.size
        gram = self.rows @ self.rows.T if self.by_kinks else self.rows.T @ self.rows
        gram = gram.toarray() if sp.issparse(gram) else gram
        gram[np.diag_indices_from(gram)] += 1.0
        self.factor = la.cho_factor(gram, lower=True, overwrite_a=True, check_finite=False)

    def solve(self, b: Array) -> Array:
        """Solve for v, with one right-hand side."""
        b = b / self.root
        if self.by_kinks:
            b = b - self.rows.T @ la.cho_solve(self.factor, self.rows @ b, check_finite=False)
        else:
            b = la.cho_solve(self.factor, b, check_finite=False)
        return np.asarray(b / self.root)


def solve_newton(projection: Projection, kinks: Kinks, diagonal: Array, b: Array, sigma: float) -> Array:
    """Solve for v, by factorisation where that is cheap, else by conjugate gradients."""
    if projection.size == 0 or len(kinks) == 0:
        return b / diagonal
    small, large = sorted((len(kinks), projection.size))
    work = float(small) ** 2 * large + small**3 / 3.0
    if work <= DIRECT_WORK:
        return Factorised(projection, kinks, diagonal, sigma).solve(b)
    forward, transposed = projection.products(kinks)
    v, accurate = conjugate_gradients(
        lambda x: diagonal * x + transposed(kinks.curvature * forward(x)) / sigma, b, diagonal, CG_ACCURACY, CG_STEPS
    )
    return v if accurate or work > FALLBACK_WORK else Factorised(projection, kinks, diagonal, sigma).solve(b)
