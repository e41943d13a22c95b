"""Rules of proof for the two measures of ``lists.py``: their gains in interval arithmetic, from exact numbers."""

from __future__ import annotations

import numpy as np

from convexmetric.certificates.kernel import Ball, Measure, exp, log


class RankBiasedPrecision(Measure):
    """``0.8^(i + b - 1) 0.2 / (1 - 0.8^p)``, with 0.8 for 4/5."""

    def gains(self, i, b, p, f, h):
        def power(n):
            return exp(log(Ball(4.0) / 5.0) * n)

        return power(i + b - 1.0) * Ball(1.0) / Ball(5.0) / (-power(np.float64(p)) + 1.0)


class PartialAUC(Measure):
    """``max(0, h - b) / (p h)`` with h = 0.3 f rounded up."""

    def gains(self, i, b, p, f, h):
        places = float(-(-3 * f // 10))
        return Ball(np.maximum(places - b, 0.0)) / Ball(p * places)


MEASURES = {"rbp": RankBiasedPrecision, "pauc": PartialAUC}
