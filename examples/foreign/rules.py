"""Rules of proof for the two measures of ``lists.py``: their gains in interval arithmetic, from exact numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from convexmetric.certificates.kernel import Ball, Measure, exp, log


class RankBiasedPrecision(Measure):
    """``0.8^(i + b - 1) 0.2 / (1 - 0.8^p)``, with 0.8 for 4/5."""

    def gains(self, i, b, p, f, h):
        power = exp(log(Ball.of(Fraction(4, 5))) * (i + b - 1.0))
        return power * Ball.of(Fraction(1, 5) / (1 - Fraction(4, 5) ** p))


class PartialAUC(Measure):
    """``max(0, h - b) / (p h)`` with h = 0.3 f rounded up."""

    def gains(self, i, b, p, f, h):
        places = -(-3 * f // 10)
        return Ball(np.maximum(places - b, 0.0)) / Ball(float(p * places))


MEASURES = {"rbp": RankBiasedPrecision, "pauc": PartialAUC}
