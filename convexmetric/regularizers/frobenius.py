r"""The Frobenius (Hilbert-Schmidt) norm, not squared (paper 4).

.. math:: \Omega(M) = \lambda \|M\|_F, \qquad
   \Omega^*_K(S) = 0 \text{ if } \|[S]_+\|_F \le \lambda, \text{ else } \infty

A dual point S is made feasible by the largest :math:`\theta \le 1` with :math:`f(\theta) = \|[\theta S - G]_+\|_F \le
\lambda`. Without G that is closed form. With it f is convex, so that :math:`f(\tau \theta) \le (1 - \tau) f(0) + \tau
f(\theta)` for every :math:`0 \le \tau \le 1`: a few secant steps, and this inequality makes up for what they leave.
"""

from __future__ import annotations

from dataclasses import dataclass

import cvxpy as cp
import numpy as np

from convexmetric.cones import Cone
from convexmetric.cones.base import Array
from convexmetric.regularizers.base import Regularizer, checked_reg

__all__ = ["Frobenius"]

#: Secant steps for theta, and how near to the norm they need to come.
STEPS, NEAR = 8, 1e-10


@dataclass(frozen=True)
class Frobenius(Regularizer):
    """``reg * ||M||_F``."""

    reg: float = 1.0

    def __post_init__(self) -> None:
        checked_reg(self.reg)

    def value(self, M: Array, cone: Cone) -> float:
        """``reg * ||M||_F``."""
        return self.reg * float(np.linalg.norm(M))

    def bound(self, value: float, S: Array, G: Array | None, cone: Cone, hint: Array) -> float:
        """``theta v`` at a feasible theta; minus infinity if not even zero is found to be feasible."""
        norm = positive_norm(S if G is None else S - G, cone)
        if norm <= self.reg:
            return max(0.0, value) if G is None else value
        if G is None:
            return max(0.0, value * (self.reg / norm))
        least = positive_norm(-G, cone)
        if least > self.reg:
            return -np.inf
        theta, at, before, at_before = 1.0, norm, 0.0, least
        for _ in range(STEPS):
            if at <= self.reg * (1.0 + NEAR):
                break
            if at == at_before:
                break
            there = theta + (self.reg - at) * (theta - before) / (at - at_before)
            before, at_before, theta = theta, at, min(max(there, 0.0), 1.0)
            at = positive_norm(theta * S - G, cone)
        if at > self.reg:
            theta *= (self.reg - least) / (at - least)
        return max(0.0, theta * value)

    def expression(self, M: cp.Variable, cone: Cone) -> cp.Expression:
        """``reg * ||M||_F``."""
        return self.reg * cp.norm(M, "fro" if M.ndim == 2 else 2)

    def latex(self, M: str) -> str:
        """The formula."""
        return rf"{self.reg:g} \|{M}\|_F"

    def text(self, M: str) -> str:
        """The formula in plain text."""
        return f"{self.reg:g} ||{M}||_F"

    def quadratic(self, cone: Cone) -> None:
        """None: it is neither linear nor quadratic."""
        return None


def positive_norm(S: Array, cone: Cone) -> float:
    """``||[S]_+||_F``."""
    return float(np.linalg.norm(np.maximum(cone.spectrum(S), 0.0)))
