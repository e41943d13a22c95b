r"""The logistic loss, smooth everywhere (paper 5).

.. math:: \ell(s) = C \ln(1 + e^{-s}), \qquad
   -\ell^*(-u) = C \, H(u / C) \quad \text{for } 0 \le u \le C, \text{ else } -\infty

with the binary entropy :math:`H(p) = -p \ln p - (1 - p) \ln(1 - p)`. The multiplier that belongs to a margin is
:math:`u = C / (1 + e^s)`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from convexmetric.arguments import check_positive_number
from convexmetric.arrays import Array
from convexmetric.described import Described
from convexmetric.losses.base import SmoothLoss
from convexmetric.programs.lazy import cvxpy as cp

#: Fraction of C by which multipliers keep away from 0 and C.
INSIDE = 1e-14


@dataclass(frozen=True)
class Logistic(SmoothLoss):
    """``C log(1 + exp(-s))`` for each comparison.

    Raises
    ------
    InputError
        If ``C`` is not a positive finite number.
    """

    nonnegative = True

    C: float = 1.0

    def __post_init__(self) -> None:
        check_positive_number(self.C, "C")

    def described(self, signs: Array) -> Described:
        """C for every comparison."""
        weights = np.full(len(signs), self.C, dtype=np.float64)
        return Described({"loss": "logistic"}, {"weights": weights, "margins": np.zeros(len(signs))})

    def values(self, s: Array) -> Array:
        """``C log(1 + exp(-s_t))``, without overflow."""
        return np.asarray(self.C * np.logaddexp(0.0, -s))

    def subgradient(self, s: Array) -> Array:
        """Multipliers ``C / (1 + exp(s))``: minus the derivative."""
        return np.asarray(self.C * scipy.special.expit(-s))

    def curvature(self, s: Array) -> Array:
        """Second derivative, ``C p (1 - p)`` with ``p = 1 / (1 + exp(s))``."""
        return np.asarray(self.C * scipy.special.expit(s) * scipy.special.expit(-s))

    def clip(self, u: Array) -> Array:
        """Nearest feasible multipliers."""
        return np.clip(u, 0.0, self.C)

    def dual_values(self, u: Array) -> Array:
        """``C H(u / C)``."""
        p = u / self.C
        return np.asarray(self.C * (scipy.special.entr(p) + scipy.special.entr(1.0 - p)))

    def dual_box(self, size: int) -> tuple[Array, Array]:
        """``[0, C]`` without its ends, at which slopes are infinite."""
        return np.full(size, INSIDE * self.C), np.full(size, (1.0 - INSIDE) * self.C)

    def dual_slopes(self, u: Array) -> Array:
        """``log((C - u) / u)``."""
        return np.asarray(np.log(self.C - u) - np.log(u))

    def statement(self, s: cp.Expression) -> tuple[cp.Expression | float, cp.Constraint]:
        """CVXPY: the sum over margins ``t``, exponential cones, and the constraint ``s >= t``."""
        t = cp.Variable(s.shape, name="t")
        return self.C * cp.sum(cp.logistic(-t)), s >= t
