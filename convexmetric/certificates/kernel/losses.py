"""Losses of a comparison, a class each (theorem 5), and their table by name."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from .balls import Array, Ball, entropy, exp, log, softplus
from .errors import require_proven, require_valid
from .files import Table, rational

__all__ = ["LOSSES", "Loss"]


class Loss:
    """A loss l(s) of a comparison with the margin mu, made from the table of its term; base class of all others.

    It has slopes a from ``low`` to ``high`` and v(a) such that ``l(s) >= v(a) - a s`` for all s. A loss that may be
    negative sets ``negative``, and one that is a ``constraint`` has the weight 1.
    """

    theorem, wanted, optional = "5", "loss weight margin sign", ""
    low, high, negative, constraint = 0.0, math.inf, False, False

    def __init__(self, table: Table) -> None:
        pass

    def value(self, s: Ball, mu: Ball) -> Ball:
        """l(s), or numbers above it."""
        raise NotImplementedError

    def line(self, a: Array, mu: Ball) -> Ball:
        """v(a), or numbers below it."""
        raise NotImplementedError


class Box(Loss):
    """The largest ``a (mu - s) - kappa a^2 / 2`` over lo <= a <= hi: v(a) = ``mu a - kappa a^2 / 2``."""

    wanted, optional = Loss.wanted + " curvature", "low high"

    def __init__(self, table: Table) -> None:
        lo, hi = (rational(table[end], end) if end in table else None for end in ("low", "high"))
        self._make(lo, hi, rational(table["curvature"], "curvature"))

    def _make(self, lo: Fraction | None, hi: Fraction | None, kappa: Fraction) -> None:
        require_valid(kappa >= 0 and (lo is None or hi is None or lo <= hi), "term: there is no such box")
        self.ends, self.kappa = (lo, hi), kappa
        # The floats between these are those of the box.
        self.low = -math.inf if lo is None else -below(-lo)
        self.high = math.inf if hi is None else below(hi)
        self.negative = not ((lo is None or lo <= 0) and (hi is None or hi >= 0))

    def value(self, s: Ball, mu: Ball) -> Ball:
        """``min over b of sigma(b) + (t - b)^2 / (2 kappa)`` at t = mu - s; it is above l(s) for any b."""
        t = mu - s
        if not self.kappa:
            return self.sigma(t)
        # The best b, but for rounding; on the side of an infinite end it is zero.
        b = t.mid - np.clip(t.mid, float(self.kappa) * self.low, float(self.kappa) * self.high)
        rest = t - b
        return self.sigma(Ball(b)) + rest * rest * Ball.of(1 / (2 * self.kappa))

    def sigma(self, t: Ball) -> Ball:
        """The largest a t over the box; not proven where it is infinite."""
        lo, hi = self.ends
        holds = (hi is not None or np.all(t.above() <= 0.0)) and (lo is not None or np.all(t.below() >= 0.0))
        require_proven(holds, "a hard margin is not proven to hold")
        ends = [end for end in self.ends if end is not None] or [Fraction(0)]
        one, other = times(t, ends[0]), times(t, ends[-1])
        return Ball(np.maximum(one.mid, other.mid), np.maximum(one.rad, other.rad))

    def line(self, a: Array, mu: Ball) -> Ball:
        return mu * a - Ball(a) * a * Ball.of(self.kappa / 2) if self.kappa else mu * a


class Hinge(Box):
    """``max(0, mu - s)``."""

    wanted, optional = Loss.wanted, ""
    box: tuple[Fraction | None, Fraction | None, Fraction] = (Fraction(0), Fraction(1), Fraction(0))

    def __init__(self, table: Table) -> None:
        self._make(*self.box)


class Absolute(Hinge):
    """``|mu - s|``."""

    box = (Fraction(-1), Fraction(1), Fraction(0))


class Hard(Hinge):
    """Zero where ``s >= mu``, else infinite."""

    box, constraint = (Fraction(0), None, Fraction(0)), True


class Squared(Hinge):
    """``(mu - s)^2``."""

    box = (None, None, Fraction(1, 2))

    def value(self, s: Ball, mu: Ball) -> Ball:
        return (mu - s) * (mu - s)


class Logistic(Loss):
    """``ln(1 + e^-s)``: v(a) = ``-a ln a - (1 - a) ln(1 - a)``."""

    high = 1.0

    def value(self, s: Ball, mu: Ball) -> Ball:
        return softplus(s)

    def line(self, a: Array, mu: Ball) -> Ball:
        return entropy(a)


class Exponential(Loss):
    """``e^(mu - s)``: v(a) = ``a (mu + 1 - ln a)``, and v(0) = 0."""

    def value(self, s: Ball, mu: Ball) -> Ball:
        t = mu - s
        return exp(Ball(np.maximum(t.mid, -690.0), t.rad))

    def line(self, a: Array, mu: Ball) -> Ball:
        return (mu + 1.0 - log(Ball(np.where(a > 0.0, a, 1.0)))) * a


class ItakuraSaito(Loss):
    """``r - ln r - 1`` with ``r = s / mu``, or r = 1 if s is on the right side of mu: v(a) = ``ln(1 + mu a)``."""

    def value(self, s: Ball, mu: Ball) -> Ball:
        r = s * np.sign(mu.mid) / abs(mu)
        r = Ball(np.where(mu.mid > 0.0, np.minimum(r.mid, 1.0), np.maximum(r.mid, 1.0)), r.rad)
        return r - log(r) - 1.0

    def line(self, a: Array, mu: Ball) -> Ball:
        require_proven(np.all(mu.mid != 0.0), "a margin is zero")
        return log(mu * a + 1.0)


class NegativeLog(Loss):
    """``-ln s``: v(a) = ``1 + ln a``."""

    negative = True

    def value(self, s: Ball, mu: Ball) -> Ball:
        return -log(s)

    def line(self, a: Array, mu: Ball) -> Ball:
        return log(Ball(a)) + 1.0


class NegativeRoot(Loss):
    """``-sqrt(s)``: v(a) = ``-1 / (4 a)``."""

    negative = True

    def value(self, s: Ball, mu: Ball) -> Ball:
        require_proven(np.all(s.below() >= 0.0), "a root of a number that is not proven to be nonnegative")
        return -s.sqrt()

    def line(self, a: Array, mu: Ball) -> Ball:
        return Ball(-0.25) / Ball(a)


def below(value: Fraction) -> float:
    """Largest float that is not above a rational."""
    near = float(Ball.of(value).mid)
    return near if Fraction(near) <= value else math.nextafter(near, -math.inf)


def times(t: Ball, factor: Fraction) -> Ball:
    """A product, which is exact for the factors 0, 1 and -1."""
    if abs(factor) == 1:
        return t if factor > 0 else -t
    return t * Ball.of(factor) if factor else Ball(np.zeros_like(t.mid))


#: Losses by name.
LOSSES: dict[str, type[Loss]] = {
    "hinge": Hinge, "absolute": Absolute, "squared": Squared, "logistic": Logistic, "hard": Hard, "box": Box,
    "exponential": Exponential, "itakura-saito": ItakuraSaito, "negative log": NegativeLog,
    "negative root": NegativeRoot,
}  # fmt: skip
