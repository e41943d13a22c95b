r"""Losses whose conjugate is a parabola on a box: weighted hinges, absolute and squared errors.

.. math:: \ell_t(s) = \max_{a_t \le u \le b_t} \; (\mu_t - s) u - \tfrac12 \kappa_t u^2, \qquad
   -\ell_t^*(-u) = \mu_t u - \tfrac12 \kappa_t u^2 \quad \text{for } a_t \le u \le b_t, \text{ else } -\infty

==================================  =========  ===================  ===================
loss                                mu         box                  kappa
==================================  =========  ===================  ===================
c max(0, mu - s)                    mu         [0, c]               0
s >= mu                             mu         [0, infinity)        0
c (mu - s)                          mu         [c, c]               0
c abs(y - s)                        y          [-c, c]              0
c (y - s)^2                         y          all numbers          1 / (2 c)
c max(0, mu - s)^2                  mu         [0, infinity)        1 / (2 c)
Huber: c (y - s)^2, then linear     y          [-b, b]              1 / (2 c)
==================================  =========  ===================  ===================
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from convexmetric.arrays import Array, real_array
from convexmetric.described import Described
from convexmetric.errors import InputError
from convexmetric.losses.base import Loss, holding_factor
from convexmetric.programs.lazy import cvxpy as cp


@dataclass(frozen=True, eq=False)
class BoxLoss(Loss):
    """A loss with parameters of its own for every comparison.

    Attributes
    ----------
    offset : (T,) array
        mu.
    low, high : (T,) array
        Ends of the box; infinite for a squared error or a constraint.
    curvature : (T,) array
        kappa; where it is zero and the box is not bounded, the loss is a constraint.
    """

    offset: Array
    low: Array
    high: Array
    curvature: Array

    @classmethod
    def hinge(cls, weights: Array, margins: Array, linear: np.ndarray | None = None) -> BoxLoss:
        """``c_t max(0, mu_t - s_t)``; ``c_t (mu_t - s_t)`` where ``linear``, for margins that are never reached.

        A weight of infinity makes a constraint, ``s_t >= mu_t``: of a distance, ``d <= q`` with the sign -1 and the
        margin -q. All of them may be infinite; beside finite ones they are left to a conic solver, for small problems.
        Lower and upper ones need room between them: ``d == q`` is for ``subject_to``.

        Raises
        ------
        InputError
            If a weight is negative or no number, or there are not as many weights as margins.
        """
        weights, margins = _checked(weights, margins, "hinge", "margins")
        if linear is not None and np.isinf(weights[linear]).any():
            raise InputError("weights must be finite where linear: only a hinge of infinite weight is a constraint")
        low = np.zeros_like(weights) if linear is None else np.where(linear, weights, 0.0)
        return cls(margins, low, weights, np.zeros_like(weights))

    @classmethod
    def absolute_error(cls, weights: Array, targets: Array) -> BoxLoss:
        """``c_t abs(y_t - s_t)``.

        Raises
        ------
        InputError
            If a weight is negative, infinite or no number, or there are not as many weights as targets.
        """
        weights, targets = _checked(weights, targets, "absolute_error", "targets")
        if np.isinf(weights).any():
            raise InputError(
                "weights of absolute errors must be finite: for s = y use subject_to, or two hinges of infinite "
                "weight, BoxLoss.hinge, with room between them"
            )
        return cls(targets, -weights, weights, np.zeros_like(weights))

    @classmethod
    def squared_error(cls, weights: Array, targets: Array) -> BoxLoss:
        """``c_t (y_t - s_t)^2``.

        Raises
        ------
        InputError
            If a weight is not positive or infinite, or there are not as many weights as targets.
        """
        weights, targets = _checked(weights, targets, "squared_error", "targets")
        if not (weights.all() and np.isfinite(weights).all()):
            raise InputError("weights of squared errors must be positive and finite: squared_error(weights, targets)")
        infinite = np.full_like(weights, np.inf)
        return cls(targets, -infinite, infinite, 0.5 / weights)

    @property
    def nonnegative(self) -> bool:
        """Whether 0 is in every box, as the multiplier 0 has the value 0."""
        return bool((self.low <= 0.0).all() and (self.high >= 0.0).all())

    @property
    def hard(self) -> bool:
        """Whether any loss is a constraint."""
        return bool(self._constraints.any())

    @property
    def _constraints(self) -> np.ndarray:
        """Masks of the lower and of the upper constraints: infinite ends of boxes without curvature."""
        return np.isinf([self.high, self.low]) & (self.curvature == 0.0)

    def feasible_scale(self, s: Array) -> float:
        """Factor of the margins, nearest to 1, at which all constraints hold; infinite if there is none."""
        above, below = self._constraints
        values, margins = (np.concatenate([x[above], -x[below]]) for x in (s, self.offset))
        return holding_factor(values, margins)

    def described(self, signs: Array) -> Described:
        """Squared or absolute errors, or hinges, each with its weight and its target or margin; else boxes.

        A linear loss counts as a hinge if that hinge is never zero: ``mu + d`` with a nonnegative mu. The weight of a
        box is ``1 / (2 kappa)``, or the size of the larger end where kappa is zero.
        """
        if (self.curvature > 0.0).all() and np.isinf(self.high).all() and np.isinf(self.low).all():
            return Described({"loss": "squared"}, {"weights": 0.5 / self.curvature, "margins": self.offset})
        never_off = (self.low == self.high) & (signs < 0.0) & (self.offset >= 0.0)
        if not self.curvature.any() and np.isfinite(self.high).all() and (self.high > 0.0).all():
            kinds = {"absolute": self.low == -self.high, "hinge": (self.low == 0.0) | never_off}
            for kind, holds in kinds.items():
                if holds.all():
                    return Described({"loss": kind}, {"weights": self.high, "margins": self.offset})
        ends = np.array([self.low, self.high])
        curved, sizes = self.curvature > 0.0, np.abs(np.where(np.isfinite(ends), ends, 0.0)).max(axis=0)
        weights = np.where(curved, 0.5 / np.where(curved, self.curvature, 1.0), np.where(sizes > 0.0, sizes, 1.0))
        low, high = ends / weights
        box = {"low": low, "high": high, "curvature": np.where(curved, 0.5, 0.0)}
        return Described({"loss": "box"}, {"weights": weights, "margins": self.offset, **box})

    def box(self, size: int) -> BoxLoss | None:
        """The loss itself; None with constraints."""
        return None if self.hard else self

    def hinges(self, size: int) -> tuple[Array, Array] | None:
        """``(high, offset)`` if every box is ``[0, C]``, C all finite or all infinite, and kappa is zero; else None."""
        hinges = (self.low == 0.0) & (self.high > 0.0) & (self.curvature == 0.0)
        one_kind = np.isinf(self.high).all() or not self.hard
        return (self.high, self.offset) if hinges.all() and one_kind else None

    def values(self, s: Array) -> Array:
        """``l_t(s_t)``, from the multiplier that attains it."""
        u, slope = self.subgradient(s), self.offset - s
        with np.errstate(over="ignore", invalid="ignore"):
            found = np.asarray(u * (slope - np.where(self.curvature > 0.0, 0.5 * self.curvature * u, 0.0)))
        # A constraint may hold with equality.
        found[np.isinf(u) & (slope == 0.0)] = 0.0
        return found

    def subgradient(self, s: Array) -> Array:
        """The maximiser: an end of the box where kappa is zero."""
        slope = self.offset - s
        free = self.curvature > 0.0
        u = np.where(slope > 0.0, self.high, self.low)
        u[free] = np.clip(slope[free] / self.curvature[free], self.low[free], self.high[free])
        return u

    def clip(self, u: Array) -> Array:
        """Nearest point of the box."""
        return np.clip(u, self.low, self.high)

    def prox(self, v: Array, t: float | Array) -> Array:
        """``v + t u`` with the multiplier u of the margin that it is."""
        return np.asarray(v + t * self.clip((self.offset - v) / (self.curvature + t)))

    def dual_values(self, u: Array) -> Array:
        """``mu u - kappa u^2 / 2``."""
        with np.errstate(over="ignore"):
            return np.asarray(u * (self.offset - 0.5 * self.curvature * u))

    def statement(self, s: cp.Expression) -> tuple[cp.Expression | float, cp.Constraint]:
        """CVXPY: hinges with slacks; else ``mu - s = sqrt(kappa) bend + rise - fall``.

        The cost is ``bend^2 / 2 + b rise - a fall``. ``bend`` exists where kappa is not zero, ``rise`` and ``fall``
        where their end of the box is finite. The equation is an inequality, ``<=``, if no box has negative multipliers.
        """
        if self.hinges(s.size) is not None and self.hard:
            return 0.0, s >= self.offset
        if self.hinges(s.size) is not None:
            xi = cp.Variable(s.shape, nonneg=True, name="xi")
            return self.high @ xi, s >= self.offset - xi
        cost, reached = 0.0, s
        if self.curvature.any():
            bend = cp.Variable(s.shape, name="bend")
            cost, reached = 0.5 * cp.sum_squares(bend), s + cp.multiply(np.sqrt(self.curvature), bend)
        for name, end, sign in (("rise", self.high, 1.0), ("fall", -self.low, -1.0)):
            finite = np.isfinite(end)
            if finite.any():
                past = cp.Variable(s.shape, nonneg=True, name=name)
                cost = cost + np.where(finite, end, 1.0) @ past
                reached = reached + cp.multiply(sign * finite, past)
        return cost, reached >= self.offset if (self.low >= 0.0).all() else self.offset - reached == 0


def _checked(weights: Array, values: Array, name: str, what: str) -> tuple[Array, Array]:
    """Check that weights are not negative and as many as margins or targets; return both as arrays."""
    weights, values = real_array(weights, "weights"), real_array(values, what)
    if not (weights >= 0.0).all():
        raise InputError(f"weights must not be negative: {name}(weights, {what}) takes the weights first")
    if weights.ndim != 1 or weights.shape != values.shape:
        raise InputError(f"weights and {what} must be vectors of one length, got {weights.shape} and {values.shape}")
    return weights, values
