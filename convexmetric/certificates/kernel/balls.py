r"""Arithmetic of numbers with radii, which are upper bounds on their rounding errors.

A ``Ball`` is a float array with a radius: the true numbers are within it. Assumed of the machine: IEEE 754 double
precision, rounding to nearest, for ``+ - * / sqrt`` of NumPy; matrix products and sums that add up the k products of an
entry in some order, fused or not (no algorithm of Strassen's kind), so that they err by at most
:math:`\gamma_k = k u / (1 - k u)`, :math:`u = 2^{-53}`, times the sum of absolute products, which the inequality of
Cauchy and Schwarz bounds by a product of norms. Radii are computed with nonnegative terms only and fewer than 2^30
operations behind each; they err by less than 2^-22 relative and are multiplied by ``GROW`` = 1 + 2^-20, and
``TINY`` is added for underflow. Overflow makes a bound infinite or NaN, which proves nothing. Functions of the C
library (exp, log) and of LAPACK are not trusted. The last steps are taken with fractions.
"""

from __future__ import annotations

import contextlib
import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import require_proven

Array = NDArray[Any]

#: Unit roundoff, the safety factor of radii, and the number added to them and to norms because of underflow.
U, GROW, TINY, FLOOR = 2.0**-53, 1.0 + 2.0**-20, 2.0**-900, 2.0**-480
#: Integers up to this are exact floats; most numbers in a block.
WHOLE, BLOCK = 2**53, 2**21
#: Terms of the series of the exponential, and a bound on its remainder for arguments of at most 3/8 in size.
TERMS, REST = 14, 4e-19


def up(radius: Any) -> Any:
    """Upper bound on a number that was computed in floats with nonnegative terms only."""
    return radius * GROW + TINY


def gamma(k: Any) -> Any:
    """Relative error bound of a sum of k terms, each with a few operations counted in k."""
    return k * U / (1.0 - k * U) * GROW


def norms(A: Array, axis: int | None = None) -> Any:
    """Upper bounds on Euclidean norms, along an axis or of everything."""
    return np.sqrt(np.sum(A * A, axis=axis)) * GROW + FLOOR


class Ball:
    """Real numbers known up to a radius: ``|x - mid| <= rad`` entry by entry; ``rad`` broadcasts to ``mid``."""

    __array_ufunc__ = None
    __slots__ = ("mid", "rad")

    def __init__(self, mid: Any, rad: Any = 0.0) -> None:
        self.mid = np.asarray(mid, dtype=np.float64)
        self.rad = np.asarray(rad, dtype=np.float64)

    @classmethod
    def of(cls, value: Any) -> Ball:
        """Convert balls, floats, arrays of floats, or fractions (a number or a list of them) to a ball."""
        if isinstance(value, Ball):
            return value
        if isinstance(value, list):
            parts = [cls.of(part) for part in value]
            return cls([part.mid for part in parts], [part.rad for part in parts])
        if not isinstance(value, Fraction):
            return cls(value)
        require_proven(abs(value) < 2**1023, "a rational is beyond floats")
        mid = float(value)
        return cls(mid, 0.0 if Fraction(mid) == value else up(abs(mid) * U))

    def __add__(self, other: Any) -> Ball:
        other = Ball.of(other)
        mid = self.mid + other.mid
        return Ball(mid, up(self.rad + other.rad + U * np.abs(mid)))

    def __neg__(self) -> Ball:
        return Ball(-self.mid, self.rad)

    def __abs__(self) -> Ball:
        return Ball(np.abs(self.mid), self.rad)

    def __sub__(self, other: Any) -> Ball:
        return self + (-Ball.of(other))

    def __mul__(self, other: Any) -> Ball:
        other = Ball.of(other)
        mid = self.mid * other.mid
        rad = np.abs(self.mid) * other.rad + self.rad * (np.abs(other.mid) + other.rad) + U * np.abs(mid)
        return Ball(mid, up(rad))

    __radd__, __rmul__ = __add__, __mul__

    def __rsub__(self, other: Any) -> Ball:
        return -self + other

    def __truediv__(self, other: Any) -> Ball:
        """Division by balls of positive numbers: ``|a/b - A/B| <= (rA + |A/B| rB) / (B - rB)``, and rounding.

        The float quotient errs by at most ``u |A/B|``, or by 2^-1075 where it is subnormal; as ``rB / (B - rB)`` is
        below 2^53, :func:`up` makes good for both. Not so for a product that underflows: it errs by 2^-1075, and the
        divisor may be small, so that 2^-1070 is added before. The difference ``B - rB`` has the right sign, and is
        exact where it is subnormal.
        """
        other = Ball.of(other)
        least = other.mid - other.rad
        require_proven(np.all(least > 0.0), "a divisor is not proven to be positive")
        mid = self.mid / other.mid
        top = self.rad + np.abs(mid) * other.rad + 2.0**-1070
        return Ball(mid, up(top / least + U * np.abs(mid)))

    def __matmul__(self, other: Any) -> Ball:
        """Matrix product: ``|a_i . b_j|`` and all errors by norms of rows and columns.

        The product of the leading digits is exact (:func:`leading`), so that only the rest errs like a sum. Rows are
        taken a block at a time.
        """
        other = Ball.of(other)
        A, B, terms = self.mid, other.mid, self.mid.shape[1]
        step = max(256, 2 * BLOCK // max(terms, 1))
        if len(A) > step:
            parts = [self[at : at + step] @ other for at in range(0, len(A), step)]
            return Ball(np.concatenate([part.mid for part in parts]), np.concatenate([part.rad for part in parts]))
        A1, B1 = leading(A, B)
        exact, rest = A1 @ B1, A1 @ (B - B1) + (A - A1) @ B
        mid = exact + rest
        rows, columns = norms(A, 1), norms(B, 0)
        own = norms(np.broadcast_to(self.rad, A.shape), 1) if self.rad.any() else np.zeros(len(rows))
        its = norms(np.broadcast_to(other.rad, B.shape), 0) if other.rad.any() else np.zeros(len(columns))
        error = np.outer(own, columns + its) + np.outer(rows, its) + U * np.abs(mid)
        # One operation more than those of its k terms is the addition in the rest.
        error += gamma(terms + 1) * (np.outer(norms(A1, 1), norms(B - B1, 0)) + np.outer(norms(A - A1, 1), columns))
        return Ball(mid, up(error))

    @property
    def T(self) -> Ball:
        """The transposed matrix."""
        return Ball(self.mid.T, np.broadcast_to(self.rad, self.mid.shape).T)

    def __getitem__(self, at: Any) -> Ball:
        return Ball(self.mid[at], np.broadcast_to(self.rad, self.mid.shape)[at])

    def sum(self, axis: int | None = None) -> Ball:
        """Sums along an axis or of all entries."""
        count = self.mid.size if axis is None else self.mid.shape[axis]
        rad = np.sum(np.broadcast_to(self.rad, self.mid.shape), axis=axis)
        return Ball(np.sum(self.mid, axis=axis), up(gamma(count) * np.sum(np.abs(self.mid), axis=axis) + rad))

    def sqrt(self) -> Ball:
        """Root of nonnegative numbers: ``|sqrt x - sqrt m| <= r / sqrt m``, and at most ``sqrt r`` near zero."""
        root = np.sqrt(np.maximum(self.mid, 0.0))
        near = np.sqrt(self.rad)
        with np.errstate(divide="ignore", invalid="ignore"):
            rad = np.where(root > 0.0, np.minimum(self.rad / root, near), near)
        return Ball(root, up(rad + U * root))

    def norm(self) -> Ball:
        """Euclidean norm of all entries."""
        return (self * self).sum().sqrt()

    def above(self) -> Any:
        """Upper ends, as floats; exact where the radius is zero."""
        end = self.mid + self.rad
        return end + np.abs(end) * (4.0 * U) * (self.rad > 0.0)

    def below(self) -> Any:
        """Lower ends, as floats."""
        return -(-self).above()

    def upper(self) -> Fraction:
        """Upper end of a single number, as an exact rational."""
        return exactly(self.mid) + exactly(self.rad)

    def lower(self) -> Fraction:
        """Lower end of a single number, as an exact rational."""
        return exactly(self.mid) - exactly(self.rad)


def exactly(value: Any) -> Fraction:
    """Convert a float to the rational that it is."""
    require_proven(math.isfinite(value), "a number overflowed or is not a number")
    return Fraction(float(value))


def leading(A: Array, B: Array) -> tuple[Array, Array]:
    """Leading digits of the rows of A and the columns of B, whose product is exact in floats.

    With ``2 b + log2 k <= 53`` a row is rounded to multiples of 2^-b times a power of two above its largest entry;
    likewise a column. Products are multiples of one unit, and so are their sums, which are at most ``k 2^(2 b)`` units:
    no order of adding up needs rounding. Adding and subtracting 1.5 2^52 units does the rounding, and the difference
    to the entry is a float again. (Products that underflow err by less than ``TINY`` in sum; where a row or column
    overflows or is not finite, the products and their radii are not finite either.)
    """
    if not B.size:
        return np.zeros_like(A), np.zeros_like(B)
    digits = (53 - math.ceil(math.log2(A.shape[1]))) // 2
    rows = np.frexp(np.max(np.abs(A), axis=1, keepdims=True))[1] - digits
    columns = np.frexp(np.max(np.abs(B), axis=0))[1] - digits
    shifts = np.ldexp(1.5, rows + 52), np.ldexp(1.5, columns + 52)
    return (A + shifts[0]) - shifts[0], (B + shifts[1]) - shifts[1]


def exp(x: Ball) -> Ball:
    """``e^x = (e^(x / 2^h))^(2^h)`` for x of at most 700 in size, known to 1/2, with ``|x| / 2^h <= 1/4``.

    With the radius ``|r| <= 3/8``. The rest of the series after ``|r|^14 / 14!`` is at most ``|r|^15 / 15!`` times
    ``1 / (1 - |r| / 16)``, which is below 3.2e-19.
    """
    size = float(np.max(np.abs(x.mid), initial=0.0))
    require_proven(size <= 700.0 and np.all(x.rad <= 0.5), "an exponent is out of range")
    halvings = max(2, math.frexp(size)[1] + 2)
    r, total = x * 2.0**-halvings, Ball(np.ones_like(x.mid))
    for term in range(TERMS, 0, -1):
        total = Ball(1.0) + total * r / float(term)
    total = Ball(total.mid, up(total.rad + REST))
    for _ in range(halvings):
        total = total * total
    return total


def log(x: Ball) -> Ball:
    """``ln x`` for ``x >= 1e-300``: with any guess y, ``|ln x - y| <= e / (1 - e)`` where ``|x e^-y - 1| <= e < 1``."""
    guess = np.log(np.maximum(x.mid, 1e-300))
    error = x * exp(Ball(-guess)) - 1.0
    off = np.maximum(error.above(), -error.below())
    require_proven(np.all(off <= 0.5), "a number that needs a logarithm is not proven to be positive")
    return Ball(guess, up(off / (1.0 - off)))


def softplus(s: Ball) -> Ball:
    """``ln(1 + e^-s)``, whose slope is at most 1 in absolute value."""
    size = np.minimum(np.abs(s.mid), 690.0)
    # Beyond 690 the exponential is below the radius of the sum.
    value = log(exp(Ball(-size)) + 1.0) + Ball(np.maximum(-s.mid, 0.0))
    return Ball(value.mid, up(value.rad + s.rad))


def entropy(p: Array) -> Ball:
    """``-p ln p - (1 - p) ln(1 - p)`` of floats in [0, 1]; of p outside [1e-300, 1 - 2^-54] zero, which is below it."""
    inside = (p >= 1e-300) & (p < 1.0)
    q = Ball(np.where(inside, p, 0.5))
    rest = Ball(1.0) - q
    value = -(q * log(q) + rest * log(rest))
    return Ball(np.where(inside, value.mid, 0.0), np.where(inside, value.rad, 0.0))


def cross_entropies(d: Ball, chosen: int, tau: Ball) -> Ball:
    """``ln sum exp(-d / tau) + mean of the first ones' d / tau`` of every row, the first ``chosen`` being chosen.

    With m the least of a row it is ``ln sum exp((m - d) / tau)`` and the mean of ``(d - m) / tau``. Beyond 690 the
    exponential is below the radius of the sum.
    """
    x = (d - d.mid.min(axis=1, keepdims=True)) / tau
    small = exp(-Ball(np.minimum(x.mid, 690.0), x.rad))
    return log(small.sum(1)) + x[:, :chosen].sum(1) / float(chosen)


def rounded(value: Fraction, away: int, digits: int = 17) -> Fraction:
    """Return the next number with the given number of decimal digits above (``away = 1``) or below (``-1``)."""
    scale = Fraction(10) ** (len(str(abs(value.numerator))) - len(str(value.denominator)) - digits)
    scale = scale * 10 if abs(value) >= scale * 10**digits else scale
    return (math.ceil(value / scale) if away > 0 else math.floor(value / scale)) * scale


def semidefinite(K: Ball, what: str) -> None:
    """Stop unless a symmetric K is positive semidefinite: ``K - e I = C C^T + E`` with ``||E||_F <= e`` shows it.

    Or K is exactly zero; or D K D is shown to be semidefinite, D diagonal with powers of two, large where K is known
    well: a small part of K is not lost to the errors of a large one.
    """
    d, rad = len(K.mid), np.broadcast_to(K.rad, K.mid.shape).diagonal()
    own = rad + 4.0 * (d + 8.0) * U * np.abs(K.mid.diagonal()) + FLOOR
    scale = np.ldexp(1.0, np.clip(np.nan_to_num(np.log2(own.max() / own) // 2.0), 0, 100).astype(np.int64))
    holds = not (K.mid.any() or K.rad.any()) or factored(K) or factored(K * np.outer(scale, scale))
    require_proven(holds, f"{what} is not proven to be positive semidefinite")


def factored(K: Ball) -> bool:
    """Whether a Cholesky factor C, computed in floats and not trusted, shows that K is positive semidefinite."""
    d, rad = len(K.mid), float(norms(np.broadcast_to(K.rad, K.mid.shape)))
    e = 4.0 * (d + 8.0) * U * float(norms(K.mid)) + 1.0625 * rad
    shifted, C = K - Ball(e * np.eye(d)), np.full((d, d), np.nan)
    with contextlib.suppress(np.linalg.LinAlgError):
        C = np.linalg.cholesky(shifted.mid)
    E = shifted - Ball(C) @ Ball(C.T)
    return bool(norms(np.abs(E.mid) + E.rad) <= e)
