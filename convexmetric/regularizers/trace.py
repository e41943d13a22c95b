r"""The trace, which favours metrics of low rank (paper 1).

.. math:: \Omega(M) = \lambda \, \mathrm{tr} M, \qquad
   \Omega^*_K(S) = 0 \text{ if } \lambda_{\max}(S) \le \lambda, \text{ else } \infty
"""

from __future__ import annotations

from dataclasses import dataclass

import cvxpy as cp
import numpy as np
from scipy.optimize import brentq

from convexmetric.cones import Cone
from convexmetric.cones.base import Array
from convexmetric.regularizers.base import Regularizer, checked_reg

__all__ = ["Trace"]


@dataclass(frozen=True)
class Trace(Regularizer):
    """``reg * tr M``; on diagonal metrics the sum of the weights."""

    reg: float = 1.0

    def __post_init__(self) -> None:
        checked_reg(self.reg)

    def value(self, M: Array, cone: Cone) -> float:
        """``reg * tr M``."""
        return self.reg * cone.trace(M)

    def bound(self, value: float, S: Array, G: Array | None, cone: Cone, hint: Array) -> float:
        """Shrink S until ``lambda_max(theta S - G) <= reg``; that is closed form for ``G = 0``."""
        if G is None:
            top = cone.largest(S)
            theta = 1.0 if top <= self.reg else self.reg / top
            return max(0.0, theta * value)
        share = self.largest_share(S, G, cone)
        return -np.inf if share is None else max(0.0, share * value)

    def largest_share(self, S: Array, G: Array, cone: Cone) -> float | None:
        """The largest theta in [0, 1] with ``lambda_max(theta S - G) <= reg``, or one hardly smaller; None if none.

        lambda_max is convex along theta, so that the feasible ones form an interval, which contains 0, and a chord from
        there makes up for what the root lacks.
        """
        least = cone.largest(-G)
        if least > self.reg:
            return None

        def excess(theta: float) -> float:
            return cone.largest(theta * S - G) - self.reg

        if excess(1.0) <= 0.0:
            return 1.0
        theta = float(brentq(excess, 0.0, 1.0, xtol=1e-14, rtol=1e-14)) if least < self.reg else 0.0
        above = excess(theta)
        return theta if above <= 0.0 else theta * (self.reg - least) / (above + self.reg - least)

    def expression(self, M: cp.Variable, cone: Cone) -> cp.Expression:
        """``reg * tr M``."""
        return self.reg * cone.trace_expression(M)

    def latex(self, M: str) -> str:
        """The formula."""
        return rf"{_factor(self.reg)} \mathrm{{tr}} {M}"

    def text(self, M: str) -> str:
        """The formula in plain text."""
        return f"{_factor(self.reg)}tr({M})"

    def linear(self, cone: Cone) -> Array:
        """``reg`` times the identity."""
        return self.reg * cone.coordinates(cone.identity())


def _factor(reg: float) -> str:
    return "" if reg == 1 else f"{reg:g} "
