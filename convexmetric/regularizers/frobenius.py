r"""The Frobenius (Hilbert-Schmidt) norm (paper 4), and its square (paper 3; l2 variant of paper 1; paper 2 with A = I).

.. math:: \Omega(M) = \lambda \|M\|_F, \qquad
   \Omega^*_K(S) = 0 \text{ if } \|[S]_+\|_F \le \lambda, \text{ else } \infty

.. math:: \Omega(M) = \frac{\lambda}{2} \|M\|_F^2, \qquad \Omega^*_K(S) = \frac{1}{2 \lambda} \|[S]_+\|_F^2

A dual point S is made feasible for the norm by the largest :math:`\theta \le 1` with :math:`f(\theta) =
\|[\theta S - G]_+\|_F \le \lambda`. Without G it has a closed form. With G, f is convex, so that :math:`f(\tau \theta)
\le (1 - \tau) f(0) + \tau f(\theta)` for every :math:`0 \le \tau \le 1`: Newton's method descends to the root from
above, and this inequality turns its last iterate into a feasible theta.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from convexmetric.arrays import Array, norm_of
from convexmetric.cones import Cone
from convexmetric.described import Described
from convexmetric.programs.lazy import cvxpy as cp
from convexmetric.regularizers.base import NormWeights, WeightedRegularizer

#: Maximal number of Newton steps for theta, and their relative accuracy for ``f(theta) = reg``.
STEPS, NEAR = 20, 1e-11


@dataclass(frozen=True)
class Frobenius(WeightedRegularizer):
    """``reg * ||M||_F``."""

    def described(self, cone: Cone, points: Array | None) -> Described:
        """Table of the Frobenius norm with its weight."""
        return self.weighed("frobenius")

    def value(self, M: Array, cone: Cone) -> float:
        """``reg * ||M||_F``."""
        return self.reg * norm_of(M)

    def gradient(self, M: Array, cone: Cone) -> Array:
        """``reg M / ||M||_F``; zero at zero."""
        norm = norm_of(M)
        return self.reg / norm * M if norm > 0.0 else cone.zeros()

    def bound(self, value: float, S: Array, G: Array | None, cone: Cone, hint: Array) -> float:
        """``theta v`` at a feasible theta; minus infinity if none is found."""
        if G is None:
            norm = norm_of(np.maximum(cone.spectrum(S), 0.0))
            return max(0.0, value) * min(1.0, self.reg / norm) if norm > 0.0 else max(0.0, value)
        theta = self.max_dual_scaling(S, G, cone)
        return -np.inf if theta is None else theta * value

    def max_dual_scaling(self, S: Array, G: Array, cone: Cone, near: float = NEAR) -> float | None:
        """Largest theta in [0, 1] with ``||[theta S - G]_+|| <= reg``, to accuracy ``near``; None if none is found."""
        theta = 1.0
        for _ in range(STEPS):
            positive = cone.project(theta * S - G)
            norm = norm_of(positive)
            slope = cone.inner(positive, S)
            if norm <= self.reg * (1.0 + near) or slope <= 0.0:
                break
            theta = max(0.0, theta - (norm - self.reg) * norm / slope)
        if norm <= self.reg:
            return theta
        least = norm_of(cone.project(-G))
        if least <= self.reg:
            return theta * (self.reg - least) / (norm - least)
        # theta = 0 is infeasible; steps down whose length doubles may still find a feasible theta.
        if slope <= 0.0:
            return None
        step = max(norm - self.reg, np.finfo(float).eps * norm) * norm / slope
        for doublings in range(1, STEPS + 1):
            shorter = theta - 2.0**doublings * step
            if shorter < 0.0:
                break
            if norm_of(cone.project(shorter * S - G)) <= self.reg:
                return shorter
        return None

    def expression(self, M: cp.Variable, cone: Cone) -> cp.Expression:
        """``reg * ||M||_F``."""
        return self.reg * cp.norm(M, "fro" if M.ndim == 2 else 2)

    def latex(self, M: str) -> str:
        """The formula."""
        return rf"{self.reg:g} \|{M}\|_F"

    def text(self, M: str) -> str:
        """The formula in plain text."""
        return f"{self.reg:g} ||{M}||_F"

    def weights(self) -> NormWeights:
        """Weight of the norm alone."""
        return NormWeights(norm=float(self.reg))


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

    def latex(self, M: str) -> str:
        """The formula."""
        half = r"\tfrac12" if self.reg == 1 else rf"\frac{{{self.reg:g}}}{{2}}"
        return rf"{half} \|{M}\|_F^2"

    def text(self, M: str) -> str:
        """The formula in plain text."""
        return f"{self.reg / 2:.6g} ||{M}||_F^2"

    def weights(self) -> NormWeights:
        """Weight of the squared norm alone."""
        return NormWeights(squared=float(self.reg))
