r"""The Itakura-Saito divergence by which a distance misses its bound (the slack of information-theoretic learning).

.. math:: \ell(s) = \gamma \, h(r) \text{ if } \sigma (r - 1) < 0, \text{ else } 0, \qquad
   r = \sigma s / t, \quad h(r) = r - \ln r - 1

A margin is a signed distance, :math:`s = \sigma d`. With :math:`\sigma = 1` the distance should be at least t, and the
loss is infinite unless it is positive; with :math:`\sigma = -1` it should be at most t. It is the loss of a slack,
:math:`\min_{\xi} \gamma \, h(\xi / t)` over :math:`\sigma \xi \le \sigma d`, so that

.. math:: -\ell^*(-u) = \gamma \ln(1 + \sigma u t / \gamma) \quad \text{for } u \ge 0, \; \sigma u t > -\gamma
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from convexmetric.arguments import check_positive_number
from convexmetric.arrays import Array, real_array
from convexmetric.described import Described
from convexmetric.errors import InputError
from convexmetric.losses.base import Loss
from convexmetric.programs.lazy import cvxpy as cp

#: Relative distance by which multipliers of upper bounds stay below gamma / t.
INSIDE = 1e-12


@dataclass(frozen=True, eq=False)
class ItakuraSaito(Loss):
    """``gamma h(sigma s / t)`` for each comparison whose distance is on the wrong side of t.

    Attributes
    ----------
    gamma : float
    bounds : (T,) array
        t, positive.
    signs : (T,) array
        sigma: +1 where distances should be at least t, -1 where at most.

    Raises
    ------
    InputError
        If a bound or gamma is not positive, or a sign is neither 1 nor -1.
    """

    barrier: ClassVar[bool] = True
    #: Since ``h(r) >= h(1) = 0``.
    nonnegative = True

    gamma: float
    bounds: Array
    signs: Array

    def __post_init__(self) -> None:
        check_positive_number(self.gamma, "gamma")
        bounds, signs = real_array(self.bounds, "bounds"), real_array(self.signs, "signs")
        if bounds.ndim != 1 or bounds.shape != signs.shape:
            raise InputError(f"bounds and signs must be vectors of one length, got {bounds.shape} and {signs.shape}")
        if not ((bounds > 0.0) & np.isfinite(bounds)).all():
            raise InputError("bounds of distances must be positive and finite")
        if not (np.abs(signs) == 1.0).all():
            raise InputError("signs must be 1, for a distance to be large, or -1, for one to be small")

    def described(self, signs: Array) -> Described:
        """Bounds with their signs as margins, all with the weight gamma."""
        margins = self.signs * self.bounds
        return Described({"loss": "itakura-saito"}, {"weights": np.full(margins.shape, self.gamma), "margins": margins})

    @property
    def hard(self) -> bool:
        """Whether a distance must be positive."""
        return bool((self.signs > 0.0).any())

    def _wrong(self, s: Array) -> tuple[np.ndarray, Array]:
        """Mask of the distances on the wrong side of t, and their ratios r; 1 elsewhere and where r is not positive."""
        ratio = self.signs * s / self.bounds
        wrong = self.signs * (ratio - 1.0) < 0.0
        return wrong, np.where(wrong & (ratio > 0.0), ratio, 1.0)

    def values(self, s: Array) -> Array:
        """``gamma h(r_t)`` on the wrong side."""
        wrong, r = self._wrong(s)
        return np.where(wrong & (self.signs * s <= 0.0), np.inf, self.gamma * (r - 1.0 - np.log(r)))

    def subgradient(self, s: Array) -> Array:
        """``sigma gamma / t (1 / r - 1)``: nonnegative."""
        return np.asarray(self.signs * self.gamma / self.bounds * (1.0 / self._wrong(s)[1] - 1.0))

    def clip(self, u: Array) -> Array:
        """Nearest multipliers with a finite conjugate."""
        return np.clip(u, *self.dual_box(u.size))

    def dual_values(self, u: Array) -> Array:
        """``gamma log(1 + sigma u t / gamma)``."""
        return np.asarray(self.gamma * np.log1p(self.signs * u * self.bounds / self.gamma))

    def dual_box(self, size: int) -> tuple[Array, Array]:
        """``[0, inf)`` for lower bounds of distances; from 0 to just below ``gamma / t`` for upper bounds."""
        return np.zeros(size), np.where(self.signs > 0.0, np.inf, (1.0 - INSIDE) * self.gamma / self.bounds)

    def dual_slopes(self, u: Array) -> Array:
        """``sigma t / (1 + sigma u t / gamma)``."""
        return np.asarray(self.signs * self.bounds / (1.0 + self.signs * u * self.bounds / self.gamma))

    def prox(self, v: Array, t: float | Array) -> Array:
        """The distance d with ``t gamma (1 / d - 1 / bound) = d - sigma v`` where v is on the wrong side, else v."""
        weight = t * self.gamma
        half = 0.5 * (self.signs * v - weight / self.bounds)
        root = np.sqrt(half * half + weight)
        d = np.where(half > 0.0, half + root, weight / (root + np.abs(half)))
        return np.where(self.signs * (self.signs * v - self.bounds) < 0.0, self.signs * d, v)

    def statement(self, s: cp.Expression) -> tuple[cp.Expression | float, cp.Constraint]:
        """CVXPY: the divergence of slacks xi from their bounds, and the constraint ``s >= sigma xi``."""
        xi = cp.Variable(s.shape, name="xi")
        ratio = cp.multiply(1.0 / self.bounds, xi)
        return self.gamma * cp.sum(ratio - cp.log(ratio) - 1.0), s >= cp.multiply(self.signs, xi)
