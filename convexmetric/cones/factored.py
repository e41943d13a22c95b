"""Quadratic forms of a low-rank metric ``M = B^T B`` from its factor, without any ``(d, d)`` matrix.

Comparisons and risks on these cones take the factor B in place of the metric. Inner products are computed from
the images ``B v`` of points, and sums of outer products are returned multiplied by B from the left.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from convexmetric.arrays import Array
from convexmetric.cones.psd import PSDCone


class Images(PSDCone):
    """A cone whose methods take a factor B in place of ``B^T B``; sums of outer products are multiplied by B."""

    def __init__(self, B: Array) -> None:
        self.d = B.shape[1]
        self.B = B

    def zeros(self) -> Array:
        """Zeros of the factor's shape."""
        return np.zeros_like(self.B)

    def quadratic_forms(self, V: Any, M: Array) -> Array:
        """``||B v||^2`` for every row ``v``."""
        images = V @ M.T
        return np.einsum("ij,ij->i", images, images)

    def thin_factor(self, M: Array) -> Array | None:
        """None, as M is a factor already."""
        return None

    def times(self, V: Any, M: Array) -> Array:
        """``V B^T B``."""
        return np.asarray((V @ M.T) @ M)

    def gram(self, A: Any, M: Array, B: Any) -> Array:
        """Inner products of the images of the rows of ``A`` and of ``B`` under the factor M."""
        images = A @ M.T
        return np.asarray(images @ (images if B is A else B @ M.T).T)

    def outer_sum(self, V: Any, u: Array) -> Array:
        """``B V^T diag(u) V``."""
        return np.asarray((V.T @ ((V @ self.B.T) * u[:, None])).T)

    def cross(self, A: Any, T: Any, B: Any) -> Array:
        """``B (A^T T B + B^T T^T A) / 2``."""
        first = B.T @ (T.T @ (A @ self.B.T))
        second = A.T @ (T @ (B @ self.B.T))
        return np.asarray(0.5 * (first + second).T)


class TangentImages(Images):
    """A cone whose methods take E in place of ``B^T E + E^T B``, the derivative of ``B^T B`` along E."""

    def quadratic_forms(self, V: Any, M: Array) -> Array:
        """``2 <B v, E v>`` for every row ``v``."""
        return 2.0 * np.einsum("ij,ij->i", V @ self.B.T, V @ M.T)

    def times(self, V: Any, M: Array) -> Array:
        """``V (B^T E + E^T B)``."""
        return np.asarray((V @ self.B.T) @ M + (V @ M.T) @ self.B)

    def gram(self, A: Any, M: Array, B: Any) -> Array:
        """``<B a, E b> + <E a, B b>`` for all rows; one product of images side by side."""
        both = np.concatenate([self.B, M])
        turned = np.concatenate([M, self.B])
        return np.asarray((A @ both.T) @ (B @ turned.T).T)
