r"""The contract of a loss: a convex function of a comparison's margin.

With its conjugate :math:`\ell^*(v) = \sup_s v s - \ell(s)`, every multiplier u bounds it from below,
:math:`\ell(s) \ge -\ell^*(-u) - u s`. Multipliers are nonnegative where the loss does not increase.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import inf
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from convexmetric.arrays import Array
from convexmetric.programs.lazy import cvxpy as cp

if TYPE_CHECKING:
    from convexmetric.losses.box import BoxLoss


class Loss(ABC):
    """A loss applied to every margin ``s_t`` and summed."""

    #: Whether the loss or its slope grows without bound towards the end of its domain: a barrier, not a step.
    barrier: ClassVar[bool] = False
    #: Whether it has two derivatives: a :class:`SmoothLoss`.
    differentiable: ClassVar[bool] = False

    @property
    def nonnegative(self) -> bool:
        """Whether the loss is nowhere negative; bounds rely on that only if this is True."""
        return False

    @property
    def hard(self) -> bool:
        """Whether the loss is infinite somewhere: a constraint, or a barrier."""
        return self.barrier

    def box(self, size: int) -> BoxLoss | None:
        """The loss as a :class:`BoxLoss` of ``size`` comparisons; None if its conjugate is not a parabola on a box."""
        return None

    def hinges(self, size: int) -> tuple[Array, Array] | None:
        """Weights C and margins mu of ``size`` comparisons, where the loss is ``C_t max(0, mu_t - s_t)``; else None.

        Infinite weights are constraints ``s_t >= mu_t``.
        """
        return None

    @abstractmethod
    def values(self, s: Array) -> Array:
        """``l(s_t)`` for every comparison; infinite where a constraint fails."""

    def value(self, s: Array) -> float:
        """``sum_t l(s_t)``."""
        return float(self.values(s).sum())

    def feasible_scale(self, s: Array) -> float:
        """Factor of the margins, nearest to 1, at which all constraints hold; infinite if none is known."""
        return inf

    @abstractmethod
    def subgradient(self, s: Array) -> Array:
        """Multipliers ``u`` with ``-u_t`` a subgradient of ``l`` at ``s_t``."""

    @abstractmethod
    def clip(self, u: Array) -> Array:
        """Nearest multipliers with a finite conjugate."""

    @abstractmethod
    def dual_values(self, u: Array) -> Array:
        """``-l*(-u_t)`` of clipped multipliers: ``l(s) >= -l*(-u) - u s`` for every margin s."""

    def dual_value(self, u: Array) -> float:
        """``sum_t -l*(-u_t)`` of clipped multipliers."""
        return float(self.dual_values(u).sum())

    def dual_box(self, size: int) -> tuple[Array, Array] | None:
        """Ends of the intervals of multipliers on which :meth:`dual_slopes` are defined; None if they are not.

        By default from :meth:`box`.
        """
        box = self.box(size)
        return None if box is None else (box.low, box.high)

    def dual_slopes(self, u: Array) -> Array:
        """Derivative of :meth:`dual_values`: the margin s of least ``l(s) + u s``; by default from :meth:`box`."""
        box = self.box(u.size)
        assert box is not None, "dual_box says that there are none"
        return box.offset - box.curvature * u

    def prox(self, v: Array, t: float | Array) -> Array:
        """``argmin over s of l(s) + (s - v)^2 / (2 t)`` for every margin; by default from :meth:`box`.

        Raises
        ------
        NotImplementedError
            If the loss has neither a box nor a proximal map of its own.
        """
        box = self.box(v.size)
        if box is None:
            raise NotImplementedError(f"{type(self).__name__} must have a prox(v, t) of its own")
        return box.prox(v, t)

    @abstractmethod
    def statement(self, s: cp.Expression) -> tuple[cp.Expression | float, cp.Constraint]:
        """CVXPY: the sum in terms of slacks, and the one constraint whose multipliers are ``u``."""


def holding_factor(s: Array, margins: Array) -> float:
    """Factor nearest to 1 at which ``factor * s >= margins``; infinite if there is none."""
    with np.errstate(all="ignore"):
        ends = margins / s
    least, most = np.max(ends, where=s > 0.0, initial=0.0), np.min(ends, where=s < 0.0, initial=inf)
    return inf if least > most or (margins[s == 0.0] > 0.0).any() else float(np.clip(1.0, least, most))


class SmoothLoss(Loss):
    """A loss with two derivatives."""

    differentiable: ClassVar[bool] = True

    @abstractmethod
    def curvature(self, s: Array) -> Array:
        """Second derivative at every margin."""
