"""Listed comparisons of hinges that are on their kink, where the second derivative is."""

from __future__ import annotations

from copy import copy
from functools import cached_property
from typing import Any

import numba
import numpy as np
import scipy.sparse as sp

from convexmetric.cones.base import Array
from convexmetric.risks import PairwiseRisk
from convexmetric.threads import over_rows

__all__ = ["Kinks"]


class Kinks:
    """Comparisons by query, near and far row, with a weight in the second derivative.

    Where a metric has no more coordinates than features, as diagonal metrics have, comparisons are rows in coordinates.
    Elsewhere margins come from images of the points, and sums from one weighted Laplacian between queries and items.

    Parameters
    ----------
    risk : PairwiseRisk
    sample : (N, 3) int array
        Query, near and far row.
    curvature : (N,) array
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
        """``<D_t, M>``: distances to the far less those to the near item."""
        if self.in_coordinates:
            return np.asarray(self.rows @ self.cone.coordinates(M))
        images = self.cone.times(self.X, M)
        norms = np.einsum("ij,ij->i", images, self.X)
        margins, count = np.empty(len(self.sample)), len(self.sample)
        over_rows(_margins, count, count * self.X.shape[1], self.Q, self.anchors, self.sample, norms, images, margins)
        return margins

    def adjoint(self, u: Array) -> Array:
        """``sum_t u_t D_t``."""
        if self.in_coordinates:
            return self.cone.from_coordinates(np.asarray(self.rows.T @ u))
        places, columns, starts = self._pattern
        weights = np.bincount(places[0], u, columns.size) - np.bincount(places[1], u, columns.size)
        images = sp.csr_array((weights, columns, starts), shape=(self.Q.shape[0], self.X.shape[0])) @ self.X
        weighted = 0.5 * np.bincount(columns, weights, self.X.shape[0])[:, None] * self.X
        half = self.X.T @ (weighted - images) if self.Q is self.X else self.X.T @ weighted - self.Q.T @ images
        return half + half.T

    @cached_property
    def _pattern(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Where the Laplacian has entries: places of far and near items among them, columns, and starts of rows.

        Every product of conjugate gradients has the same ones.
        """
        shape = self.Q.shape[0], self.X.shape[0]
        keys = self.anchors * shape[1] + self.sample[:, :0:-1].T
        entries, places = np.unique(keys, return_inverse=True)
        starts = np.searchsorted(entries, np.arange(shape[0] + 1) * shape[1])
        return places.reshape(keys.shape), entries % shape[1], starts

    @cached_property
    def rows(self) -> Any:
        """All ``D_t`` in coordinates of the cone, ``(N, cone.size)``; sparse if the points are."""
        near, far = self.differences()
        return self.cone.outer_rows(far) - self.cone.outer_rows(near)

    def differences(self) -> tuple[Any, Any]:
        """Queries less near and less far items."""
        queries = self.Q[self.anchors]
        return queries - self.X[self.sample[:, 1]], queries - self.X[self.sample[:, 2]]

    def turned(self, basis: Array) -> Kinks:
        """The same comparisons of points in another orthonormal basis, for matrix metrics."""
        turned = copy(self)
        turned.X = self.X @ basis
        turned.Q = turned.X if self.Q is self.X else self.Q @ basis
        turned._pattern = self._pattern
        # Rows that were made are in the old basis.
        vars(turned).pop("rows", None)
        return turned


@numba.njit(cache=True, nogil=True)
def _margins(begin, end, Q, anchors, sample, norms, images, margins):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """``<D_t, M>`` from ``M x`` and ``x^T M x`` of all items."""
    for t in range(begin, end):
        near, far = sample[t, 1], sample[t, 2]
        q = Q[anchors[t]]
        dot = 0.0
        for f in range(q.size):
            dot += q[f] * (images[far, f] - images[near, f])
        margins[t] = norms[far] - norms[near] - 2.0 * dot
