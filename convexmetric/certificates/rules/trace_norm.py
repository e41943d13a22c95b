"""The rule of a trace norm of the difference to a prior."""

from __future__ import annotations

from typing import Any

import numpy as np

from convexmetric.arrays import Array
from convexmetric.certificates import kernel
from convexmetric.certificates.rules.base import Rule, of_matrix, positive_part, spectrum
from convexmetric.certificates.statement import Arrays
from convexmetric.described import symmetric
from convexmetric.regularizers.base import of_eigenvalues

#: Slack for a matrix that is zero: the kernel needs a positive one.
SMALLEST = 1e-140


class TraceNorm(Rule):
    """Subgradient of a trace norm, backed off so that the checker's rounding accepts it."""

    def into_ball(self, Y: Array) -> Array:
        """Clip eigenvalues at the weight."""
        d = self.cone.d
        most = self.weight * (1.0 - (0.0 if self.cone.diagonal else 40.0 * kernel.U * (d + 8.0) * np.sqrt(d)))
        return (
            Y if np.abs(spectrum(Y)).max() <= most else of_eigenvalues(symmetric(Y), lambda e: np.clip(e, -most, most))
        )

    @staticmethod
    def above(omega: Any, M: Array) -> tuple[Any, Arrays]:
        """Matrix above both zero and the difference to the prior: its positive part, raised by the slack.

        Of all matrices, which have no order, two factors of it.
        """
        if omega.cone.free:
            left, values, right = np.linalg.svd(M if omega.prior is None else M - omega.prior, full_matrices=False)
            factors = left * np.sqrt(values), right.T * np.sqrt(values)
            return factors, {"left": factors[0], "right": factors[1]}
        if M.ndim == 1:
            return None, {}
        X = M if omega.prior is None else M - omega.prior
        slack = 4.0 * (of_matrix(spectrum(X)) + of_matrix(spectrum(M))) + SMALLEST
        N = positive_part(X) + slack * np.eye(len(M))
        return (None, N), {"above": N}
