"""Rule of proof for LDML's loss, whose threshold the kernel's logistic loss does not have."""

from __future__ import annotations

from convexmetric.certificates.kernel import Ball, Loss
from convexmetric.certificates.kernel.balls import entropy, softplus


class ShiftedLogistic(Loss):
    """``ln(1 + e^(mu - s))``: v(a) = ``a mu - a ln a - (1 - a) ln(1 - a)``, 0 <= a <= 1."""

    high = 1.0

    def value(self, s: Ball, mu: Ball) -> Ball:
        return softplus(s - mu)

    def line(self, a, mu: Ball) -> Ball:
        return entropy(a) + mu * a


LOSSES = {"shifted logistic": ShiftedLogistic}
