"""Searches of regularizers that grow towards the boundary of the cone: log det and inverse trace."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import scipy.linalg as la

from convexmetric.arrays import Array
from convexmetric.certificates import kernel
from convexmetric.certificates.rules.base import SMALLEST, Dual, Rule, best, largest, last, of_matrix, spectrum
from convexmetric.certificates.statement import Arrays, Table
from convexmetric.described import symmetric

#: Shares of its diagonal by which a metric is reduced, tried in turn, until its inverse is proven to be above.
LESS = tuple(2.0**-k for k in range(48, 12, -4))


class LogDet(Rule):
    """Dual scaling and subgradient of a divergence, backed off so that the checker's rounding accepts them.

    The file holds a root of the inverse of the metric at which the subgradient is taken.
    """

    def inverse(self, A: Array) -> Array:
        """Inverse of the metric at which A is the gradient: inverse of the prior, minus ``A / weight``."""
        root = self.omega.prior_root
        return (root if self.cone.diagonal else root.T @ root) - A / self.weight

    def scaling(self, dual: Dual) -> float:
        """Scaling that maximises the concave bound, approximately: ``v = <S, M>`` at the metric M of that scaling."""

        def rising(scaling: float) -> bool:
            Q = self.inverse(dual.at(scaling))
            values, vectors = np.linalg.eigh(Q) if Q.ndim == 2 else (Q, None)
            if not values.min() > 0.0:
                return False
            along = dual.S if vectors is None else ((dual.S @ vectors) * vectors).sum(axis=0)
            return bool(dual.v >= float((along / values).sum()))

        return best(rising)

    def subgradient(self, dual: Dual, scaling: float) -> tuple[Table, Arrays]:
        """Triangle T with ``T^T T`` slightly below the inverse, for the file."""
        Q, d = self.inverse(dual.at(scaling)), self.cone.d
        if self.cone.diagonal:
            sizes = (np.abs(scaling * dual.S) + np.abs(dual.G) + 2.0 * dual.error / kernel.U) / self.weight
            less = (self.backoff + 32.0 * kernel.U) * (sizes + np.abs(Q))
            return {}, {"root": np.maximum(Q - less, np.finfo(float).tiny)}
        values = spectrum(Q)
        size = np.abs(values).sum() + np.square(self.omega.prior_root).sum()
        slack = of_matrix(np.full(d, size), dual.error / self.weight)
        slack += min(self.backoff, 0.5) * max(0.0, float(values.min()))
        try:
            return {}, {"root": np.ascontiguousarray(np.linalg.cholesky(Q - slack * np.eye(d)).T)}
        except np.linalg.LinAlgError:
            raise kernel.NotProven("the linear term less the dual matrix is not positive definite") from None


class InverseTrace(Rule):
    """Scaling and subgradient of an inverse trace, backed off so that the checker's rounding accepts them."""

    def left(self, dual: Dual, scaling: float) -> tuple[Array, Array]:
        """Eigenvalues and eigenvectors of ``(G - scaling S) / weight``, the upper bound of ``Y^T Y``."""
        return np.linalg.eigh(-symmetric(dual.at(scaling)) / self.weight)

    def steepest(self, values: Array, vectors: Array) -> tuple[float, Array]:
        """The largest ``<Y, C>`` with ``Y^T Y`` at most a matrix, and this Y."""
        root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
        left, sizes, right = np.linalg.svd(self.omega.C @ root, full_matrices=False)
        return float(sizes.sum()), left @ right @ root

    def scaling(self, dual: Dual) -> float:
        """Scaling that maximises ``scaling v + 2 weight <Y, C>``."""

        def bound(scaling: float) -> float:
            values, vectors = self.left(dual, scaling)
            if not values[0] >= 0.0:
                return -np.inf
            return scaling * dual.v + 2.0 * self.weight * self.steepest(values, vectors)[0]

        return largest(bound)

    def subgradient(self, dual: Dual, scaling: float) -> tuple[Table, Arrays]:
        """The Y of a matrix that is lowered by the slack."""
        values, vectors = self.left(dual, scaling)
        slack = 2.0 * of_matrix(values, scaling * dual.error / self.weight)
        if not values[0] >= slack:
            raise kernel.NotProven("the linear term less the dual matrix is not positive definite")
        return {}, {"slope": self.steepest(values - slack, vectors)[1]}

    def most(self, dual: Dual) -> float:
        """The largest scaling of a dual matrix below the linear term."""

        def holds(scaling: float) -> bool:
            return bool(self.left(dual, scaling)[0][0] >= 0.0)

        return 1.0 if holds(1.0) else (1.0 - 1e-12) * last(holds, 0.0, 1.0)

    @staticmethod
    def above(omega: Any, M: Array) -> tuple[Any, Arrays]:
        """``C M^-1 C^T``, raised until the kernel accepts it as an upper bound."""
        C, N, unit = omega.C, np.zeros((len(omega.C),) * 2), np.diag(M.diagonal())
        for less in LESS:
            with suppress(np.linalg.LinAlgError, kernel.NotProven):
                half = la.solve_triangular(np.linalg.cholesky(M - less * unit), C.T, lower=True)
                N = half.T @ half
                N = symmetric(N + less * np.diag(N.diagonal()) + SMALLEST * np.eye(len(N)))
                omega.value(None, kernel.Ball(M, of_matrix(spectrum(M))), (None, N))
                break
        return (None, N), {"above": N}
