r"""The squared Frobenius norm (paper 3; l2 variant of paper 1; paper 2 with A = I).

.. math:: \Omega(M) = \frac{\lambda}{2} \|M\|_F^2, \qquad \Omega^*_K(S) = \frac{1}{2 \lambda} \|[S]_+\|_F^2
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

from convexmetric.arrays import Array, norm_of
from convexmetric.cones import Cone
from convexmetric.described import Described
from convexmetric.programs.lazy import cvxpy as cp
from convexmetric.regularizers.base import NormWeights
from convexmetric.regularizers.weighted import WeightedRegularizer


@dataclass(frozen=True)
class SquaredFrobenius(WeightedRegularizer):
    """``reg / 2 * ||M||_F^2``."""

    def described(self, cone: Cone, points: Array | None) -> Described:
        """Table of the squared norm with its weight."""
        return self.weighed("squared frobenius")

    def value(self, M: Array, cone: Cone) -> float:
        """``reg / 2 * ||M||_F^2``."""
        root = sqrt(self.reg) * norm_of(M)
        return 0.5 * root * root

    def conjugate(self, S: Array, cone: Cone) -> tuple[float, Array]:
        """``||[S]_+||^2 / (2 reg)``, attained at ``[S]_+ / reg``."""
        M = cone.project(S) / self.reg
        return self.value(M, cone), M

    def bound(self, value: float, S: Array, G: Array | None, cone: Cone, hint: Array) -> float:
        """``theta v - ||[theta S - G]_+||^2 / (2 reg)``, at the best theta for ``G = 0``, else at theta = 1."""
        # Divide before squaring: the square or the weight alone may leave the range of floats.
        root = norm_of(cone.project(S if G is None else S - G)) / sqrt(self.reg)
        if G is None and root * root > value:
            return 0.5 * (value / root) * (value / root) if value > 0.0 else 0.0
        return value - 0.5 * root * root

    def expression(self, M: cp.Variable, cone: Cone) -> cp.Expression:
        """``reg / 2 * ||M||_F^2``."""
        return 0.5 * self.reg * cp.sum_squares(M)

    def text(self, M: str) -> str:
        """The formula in plain text."""
        return f"{self.reg / 2:.6g} ||{M}||_F^2"

    def weights(self) -> NormWeights:
        """Weight of the squared norm alone."""
        return NormWeights(squared=float(self.reg))
