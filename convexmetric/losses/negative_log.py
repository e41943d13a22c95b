r"""Minus the logarithm, and minus the root: losses that reward every distance, infinite outside a half line.

.. math:: \ell(s) = -C \ln s, \quad -\ell^*(-u) = C + C \ln(u / C) \quad \text{for } u > 0, \qquad
   \ell(s) = -C \sqrt{s}, \quad -\ell^*(-u) = -\frac{C^2}{4 u} \quad \text{for } u > 0

Both take negative values, so that minorants are not scaled down. The root is finite at zero, its slope is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from convexmetric.arguments import check_positive_number
from convexmetric.arrays import Array
from convexmetric.described import Described
from convexmetric.losses.base import Loss
from convexmetric.programs.lazy import cvxpy as cp

#: Smallest multiplier, in units of C: that of the logarithm at a margin of 1e100.
LEAST = 1e-100
#: Most Newton steps of a proximal map; about six reach rounding.
PROX_STEPS = 60


@dataclass(frozen=True)
class _Reward(Loss):
    """A decreasing function of positive margins.

    Raises
    ------
    InputError
        If ``C`` is not a positive finite number.
    """

    #: The losses, or their slopes, are infinite at zero, and all are for negative margins.
    barrier: ClassVar[bool] = True

    C: float = 1.0

    def __post_init__(self) -> None:
        check_positive_number(self.C, "C")

    def weighed(self, loss: str, size: int) -> Described:
        """Return the table of a loss in the file format, with the weight C for every comparison."""
        return Described({"loss": loss}, {"weights": np.full(size, float(self.C)), "margins": np.zeros(size)})

    def clip(self, u: Array) -> Array:
        """Nearest positive multipliers."""
        return np.maximum(u, LEAST * self.C)

    def dual_box(self, size: int) -> tuple[Array, Array]:
        """All positive numbers."""
        return np.full(size, LEAST * self.C), np.full(size, np.inf)


class NegativeLog(_Reward):
    """``-C log s`` for each comparison."""

    def described(self, signs: Array) -> Described:
        """C for every comparison."""
        return self.weighed("negative log", len(signs))

    def values(self, s: Array) -> Array:
        """``-C log s_t``; infinite unless s_t is positive."""
        return np.where(s > 0.0, -self.C * np.log(np.where(s > 0.0, s, 1.0)), np.inf)

    def subgradient(self, s: Array) -> Array:
        """Multipliers ``C / s``."""
        return np.asarray(self.C / np.where(s > 0.0, s, 1.0))

    def dual_values(self, u: Array) -> Array:
        """``C + C log(u / C)``."""
        return np.asarray(self.C + self.C * np.log(self.clip(u) / self.C))

    def dual_slopes(self, u: Array) -> Array:
        """``C / u``."""
        return np.asarray(self.C / self.clip(u))

    def prox(self, v: Array, t: float | Array) -> Array:
        """``(v + sqrt(v^2 + 4 t C)) / 2``."""
        root = np.sqrt(v * v + 4.0 * t * self.C)
        # Adds numbers of one sign only, without cancellation.
        return np.where(v > 0.0, 0.5 * (v + root), 2.0 * t * self.C / (root + np.abs(v)))

    def statement(self, s: cp.Expression) -> tuple[cp.Expression | float, cp.Constraint]:
        """CVXPY: minus the logarithms of margins t, exponential cones, and the constraint ``s >= t``."""
        t = cp.Variable(s.shape, name="t")
        return -self.C * cp.sum(cp.log(t)), s >= t


class NegativeRoot(_Reward):
    """``-C sqrt(s)`` for each comparison."""

    def described(self, signs: Array) -> Described:
        """C for every comparison."""
        return self.weighed("negative root", len(signs))

    def values(self, s: Array) -> Array:
        """``-C sqrt(s_t)``; infinite for negative margins."""
        return np.where(s >= 0.0, -self.C * np.sqrt(np.maximum(s, 0.0)), np.inf)

    def subgradient(self, s: Array) -> Array:
        """Multipliers ``C / (2 sqrt(s))``; at zero those of the margin ``LEAST``."""
        return np.asarray(0.5 * self.C / np.sqrt(np.maximum(s, LEAST)))

    def dual_values(self, u: Array) -> Array:
        """``-C^2 / (4 u)``."""
        return np.asarray(-0.25 * self.C * (self.C / self.clip(u)))

    def dual_slopes(self, u: Array) -> Array:
        """``C^2 / (4 u^2)``."""
        return np.asarray((0.5 * self.C / u) ** 2)

    def prox(self, v: Array, t: float | Array) -> Array:
        """``r^2`` with ``r^3 - v r = t C / 2``, by Newton's method from above."""
        a = 0.5 * t * self.C
        r = np.sqrt(np.maximum(v, 0.0)) + np.cbrt(a)
        for _ in range(PROX_STEPS):
            before = r
            r = (2.0 * r**3 + a) / (3.0 * r * r - v)
            if (np.abs(r - before) <= 1e-15 * r).all():
                break
        return np.asarray(r * r)

    def statement(self, s: cp.Expression) -> tuple[cp.Expression | float, cp.Constraint]:
        """CVXPY: minus the roots of margins t, second-order cones, and the constraint ``s >= t``."""
        t = cp.Variable(s.shape, name="t")
        return -self.C * cp.sum(cp.sqrt(t)), s >= t
