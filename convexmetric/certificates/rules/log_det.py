"""The rule of the log-determinant divergence to a prior."""

from __future__ import annotations

import numpy as np

from convexmetric.arrays import Array
from convexmetric.certificates import kernel
from convexmetric.certificates.rules.base import Dual, Rule, best, of_matrix, spectrum
from convexmetric.certificates.statement import Arrays, Table


class LogDet(Rule):
    """Dual scaling and subgradient of a divergence, backed off so that the checker's rounding accepts them.

    The file holds a root of the inverse of the metric at which the subgradient is taken.
    """

    def inverse(self, A: Array) -> Array:
        """Inverse of the metric at which A is the gradient: inverse of the prior, less ``A / weight``."""
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
