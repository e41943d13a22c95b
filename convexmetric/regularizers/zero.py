r"""No regularizer at all: the data, or a linear term, keep the metric simple.

.. math:: \Omega(M) = 0, \qquad \Omega^*_K(S) = 0 \text{ if } \lambda_{\max}(S) \le 0, \text{ else } \infty

With a positive definite linear term G it is a trace in other coordinates. Without one a dual point proves something
only if no eigenvalue of S is positive, and shrinking it does not change their signs.
"""

from __future__ import annotations

from dataclasses import dataclass

from convexmetric.arrays import Array
from convexmetric.cones import Cone
from convexmetric.described import Described
from convexmetric.programs.lazy import cvxpy as cp
from convexmetric.regularizers.base import NormWeights, Regularizer
from convexmetric.regularizers.trace import best_share, max_dual_scaling


@dataclass(frozen=True)
class Zero(Regularizer):
    """``Omega(M) = 0``."""

    def described(self, cone: Cone, points: Array | None) -> Described:
        """Table of the zero regularizer."""
        return Described({"kind": "zero"})

    def value(self, M: Array, cone: Cone) -> float:
        """Zero."""
        return 0.0

    def bound(self, value: float, S: Array, G: Array | None, cone: Cone, hint: Array) -> float:
        """``theta v`` at the best theta in [0, 1] with ``lambda_max(theta S - G) <= 0``."""
        return best_share(0.0, value, S, cone.zeros() if G is None else G, cone)

    def max_dual_scaling(self, S: Array, G: Array, cone: Cone, near: float = 0.0) -> float | None:
        """Largest theta in [0, 1] with ``lambda_max(theta S - G) <= 0``, less rounding; None if there is none."""
        return max_dual_scaling(0.0, S, G, cone)

    def expression(self, M: cp.Variable, cone: Cone) -> cp.Expression:
        """Zero."""
        return cp.Constant(0.0)

    def text(self, M: str) -> str:
        """The formula in plain text."""
        return "0"

    def weights(self) -> NormWeights:
        """All weights zero."""
        return NormWeights()
