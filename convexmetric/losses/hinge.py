r"""The hinge loss, soft and hard.

.. math:: \ell(s) = C \max(0, \mu - s), \qquad
   -\ell^*(-u) = \mu u \quad \text{for } 0 \le u \le C, \text{ else } -\infty

With ``C = inf`` the loss is the constraint ``s >= mu``, and every ``u >= 0`` is feasible.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

import numpy as np

from convexmetric.arguments import check_positive_number, shown
from convexmetric.arrays import Array
from convexmetric.described import Described
from convexmetric.errors import InputError
from convexmetric.losses.base import Loss, holding_factor
from convexmetric.losses.box import BoxLoss
from convexmetric.programs.lazy import cvxpy as cp


@dataclass(frozen=True)
class Hinge(Loss):
    """``C max(0, margin - s)`` for each comparison.

    Raises
    ------
    InputError
        If ``C`` or ``margin`` is not positive, or ``margin`` is infinite.
    """

    nonnegative = True

    C: float
    margin: float = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.C, Real) or not self.C > 0.0:
            raise InputError(f"C must be positive, got {shown(self.C)}")
        check_positive_number(self.margin, "margin")

    @property
    def hard(self) -> bool:
        """Whether the loss is a constraint."""
        return bool(np.isinf(self.C))

    def hinges(self, size: int) -> tuple[Array, Array]:
        """C and margin for every comparison."""
        return np.full(size, float(self.C)), np.full(size, float(self.margin))

    def described(self, signs: Array) -> Described:
        """C and the margin for every comparison; a hard one has the weight 1."""
        weights = np.full(len(signs), 1.0 if self.hard else self.C, dtype=np.float64)
        margins = np.full(len(signs), self.margin, dtype=np.float64)
        return Described({"loss": "hard" if self.hard else "hinge"}, {"weights": weights, "margins": margins})

    def box(self, size: int) -> BoxLoss | None:
        """Boxes ``[0, C]``; None for hard margins."""
        return None if self.hard else BoxLoss.hinge(*self.hinges(size))

    def values(self, s: Array) -> Array:
        """``C max(0, margin - s_t)``; infinite for a violated hard margin."""
        if self.hard:
            return np.where(s >= self.margin, 0.0, np.inf)
        return self.C * np.maximum(0.0, self.margin - s)

    def feasible_scale(self, s: Array) -> float:
        """``margin / min_t s_t`` where a margin is violated, if that minimum is positive."""
        return holding_factor(s, np.full(len(s), self.margin))

    def subgradient(self, s: Array) -> Array:
        """Multipliers ``u`` with ``-u`` a subgradient at ``s``."""
        return np.where(s < self.margin, self.C, 0.0)

    def clip(self, u: Array) -> Array:
        """Nearest feasible multipliers."""
        return np.clip(u, 0.0, self.C)

    def dual_values(self, u: Array) -> Array:
        """``margin * u``."""
        return self.margin * u

    def prox(self, v: Array, t: float | Array) -> Array:
        """``v``, raised towards the margin by at most ``t C``."""
        return v + np.clip(self.margin - v, 0.0, self.C * t)

    def statement(self, s: cp.Expression) -> tuple[cp.Expression | float, cp.Constraint]:
        """CVXPY: the sum of slacks, and the constraint ``s >= margin - xi`` whose multipliers are ``u``."""
        if self.hard:
            return 0.0, s >= self.margin
        xi = cp.Variable(s.shape, nonneg=True, name="xi")
        return self.C * cp.sum(xi), s >= self.margin - xi
