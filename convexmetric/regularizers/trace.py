r"""The trace, which favours metrics of low rank (paper 1), and no regularizer at all.

.. math:: \Omega(M) = \lambda \, \mathrm{tr} M, \qquad
   \Omega^*_K(S) = 0 \text{ if } \lambda_{\max}(S) \le \lambda, \text{ else } \infty

Without a regularizer, :math:`\lambda = 0`, the data or a linear term keep the metric simple. A positive definite linear
term G is a trace in other coordinates. Without G a dual point proves a bound only if no eigenvalue of S is positive,
and shrinking it does not change their signs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from convexmetric.arrays import Array
from convexmetric.cones import Cone
from convexmetric.described import Described
from convexmetric.numerics.searches import last_true
from convexmetric.programs.lazy import cvxpy as cp
from convexmetric.regularizers.base import NormWeights, Regularizer, WeightedRegularizer


@dataclass(frozen=True)
class Trace(WeightedRegularizer):
    """``reg * tr M``; on diagonal metrics the sum of the weights."""

    def described(self, cone: Cone, points: Array | None) -> Described:
        """Table of the trace, or of the trace norm, with its weight."""
        return self.weighed("trace norm" if cone.free else "trace")

    def value(self, M: Array, cone: Cone) -> float:
        """``reg * tr M``."""
        return self.reg * cone.trace(M)

    def gradient(self, M: Array, cone: Cone) -> Array:
        """``reg * I``; of a trace norm ``reg * U V^T`` of the singular vectors whose values are not zero."""
        if not cone.free:
            return super().gradient(M, cone)
        left, values, right = np.linalg.svd(M, full_matrices=False)
        return np.asarray(self.reg * (left * (values > 1e-14 * values[0])) @ right)

    def bound(self, value: float, S: Array, G: Array | None, cone: Cone, hint: Array) -> float:
        """``theta v`` at the best theta with ``lambda_max(theta S - G) <= reg``; in closed form for ``G = 0``."""
        if G is None:
            top = cone.largest(S)
            theta = 1.0 if top <= self.reg else self.reg / top
            return max(0.0, theta * value)
        return best_share(self.reg, value, S, G, cone)

    def max_dual_scaling(self, S: Array, G: Array, cone: Cone, near: float = 0.0) -> float | None:
        """The largest theta in [0, 1] with ``lambda_max(theta S - G) <= reg``, less rounding; None if there is none."""
        return max_dual_scaling(self.reg, S, G, cone)

    def expression(self, M: cp.Variable, cone: Cone) -> cp.Expression:
        """``reg * tr M``."""
        trace = cone.trace_expression(M)
        return trace if self.reg == 1.0 else self.reg * trace

    def latex(self, M: str) -> str:
        """The formula."""
        return rf"{weight_text(self.reg)} \mathrm{{tr}} {M}"

    def text(self, M: str) -> str:
        """The formula in plain text."""
        return f"{weight_text(self.reg)}tr({M})"

    def weights(self) -> NormWeights:
        """Weight of the trace alone."""
        return NormWeights(trace=float(self.reg))


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

    def latex(self, M: str) -> str:
        """The formula."""
        return "0"

    def text(self, M: str) -> str:
        """The formula in plain text."""
        return "0"

    def weights(self) -> NormWeights:
        """All weights zero."""
        return NormWeights()


def max_dual_scaling(reg: float, S: Array, G: Array, cone: Cone) -> float | None:
    """The largest theta in [0, 1] with ``lambda_max(theta S - G) <= reg``, less rounding; None if there is none.

    lambda_max is convex along theta, so that the feasible theta form an interval. If it contains 0 and ``reg I + G`` is
    positive definite, its other end is a generalised eigenvalue; steps down from there allow for rounding, until the
    inequality holds as evaluated. Otherwise it is found by bisection.
    """
    if cone.largest(S - G) <= reg:
        return 1.0
    if cone.largest(-G) > reg:
        return None
    top = cone.largest_ratio(S, reg * cone.identity() + G)
    if np.isfinite(top):
        theta = min(1.0, 1.0 / max(top, np.finfo(float).tiny))
        for shrink in (0.0, 1e-15, 1e-14, 1e-13, 1e-12):
            theta *= 1.0 - shrink
            if cone.largest(theta * S - G) <= reg:
                return theta
    return last_true(lambda share: cone.largest(share * S - G) <= reg, 0.0, 1.0)[0]


def best_share(reg: float, value: float, S: Array, G: Array, cone: Cone) -> float:
    """``theta v`` at the best theta in [0, 1] with ``lambda_max(theta S - G) <= reg``; minus infinity without one."""
    theta = max_dual_scaling(reg, S, G, cone)
    if theta is None:
        return -np.inf
    # For a negative v the least theta is best. That is 0 only where -G does not outweigh the trace.
    return 0.0 if theta * value < 0.0 and cone.largest(-G) <= reg else theta * value


def weight_text(reg: float) -> str:
    """The weight before a term; empty if it is 1."""
    return "" if reg == 1 else f"{reg:g} "
