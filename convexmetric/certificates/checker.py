r"""A checker of certificates: proves bounds on the optimal value of a metric-learning problem in exact arithmetic.

It uses nothing but NumPy and the standard library and trusts nothing but itself and the file's statement of the
problem; it runs alone, ``python checker.py FILE``. The numbers of a certificate are *hints*: whatever they are, the
bounds computed from them here are true, and corrupted numbers can only make them worse.

The problem
-----------
.. math:: \min_{M \in K} \; F(M) = R(M) + \langle G, M \rangle + \Omega(M)

over the PSD matrices, or over the nonnegative diagonal ones, :math:`M = \mathrm{diag}(w)`. Every array of the file is
data as it stands: each float is the real number it represents (kernel coordinates, centroids and the linear term G
included). Parameters are rationals. With squared distances :math:`d_{ab} = (a - b)^\top M (a - b)` the risk R is

- of ``pairs of lists``: :math:`\sum_q c_q \sum_{i \in N_q, j \in F_q} \ell(d_{qj} - d_{qi})`, with a near and a far
  list for every query and the loss *hinge*, :math:`\max(0, \mu - s)`, or *logistic*, :math:`\ln(1 + e^{-s})`;
- of ``rankings``: :math:`\frac{C}{n_q} \sum_q \max_y \Delta_q(y) - \frac{2}{p n} \sum (d_{qj} - d_{qi})`, the inner sum
  over the pairs of a near item i that y puts below a far item j, p and n the lengths of the lists, and :math:`\Delta =
  1 - \sum_i g(i, b_i)` with the gains g of a measure (``gains``) and b_i far items above the i-th near one; with
  *short = printed* k is kept where a query has fewer near items. For AUC
  the maximum is :math:`\frac{2}{p n} \sum_{ij} \max(0, \tfrac12 - (d_{qj} - d_{qi}))`: order far items by distance and
  near ones by distance plus 1/2, and exactly the pairs with a positive hinge are inverted;
- of ``listed comparisons``: :math:`\sum_t c_t \ell_t(s_t)` with :math:`s_t = \pm d_{ij}` or :math:`\pm (d_{ik} -
  d_{ij})` and for each a loss of the table ``LOSSES``;
- of ``all pairs``: the same over all pairs of points, one loss for those of equal labels and one for the others.

:math:`\Omega` is :math:`\lambda \mathrm{tr} M`, :math:`\lambda \|M\|_F` (where :math:`\lambda` may be divided by the
root of an integer), :math:`\frac{\lambda}{2} \|M\|_F^2`, or :math:`\frac12 w^\top L w`.

The two bounds
--------------
*Upper*: F at :math:`M = B^\top B` for the factor B of the file, or at its weights :math:`w \ge 0`; a member of the cone
whatever the floats are.

*Lower*: slopes a in their box say :math:`\ell(s) \ge v(a) - a s` for all s, rankings say that a maximum is at least its
value at any one of them, and nonnegative weights of sum at most one combine such statements. Together
:math:`R(M) \ge v - \langle S, M \rangle`, S a weighted graph Laplacian of the points, and for every
:math:`0 \le \theta \le 1`

.. math:: F(M) \ge \theta v - \Omega_K^*(\theta S - G)

because R is nonnegative (so that :math:`R \ge \theta R`). What is proved of :math:`\Omega_K^*` stands at
``lower_bound``. Slopes and rankings are found in plain float arithmetic, for any will do; what they say is
evaluated in balls.

Arithmetic
----------
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

import argparse
import contextlib
import functools
import hashlib
import io
import json
import math
import re
import stat
import struct
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Context, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

__all__ = ["Ball", "CertificateError", "Verdict", "verify"]

Array = NDArray[Any]

FORMAT, VERSION = "convexmetric-certificate", 1
#: Unit roundoff, the safety factor of radii, and what is added to them and to norms because of underflow.
U, GROW, TINY, FLOOR = 2.0**-53, 1.0 + 2.0**-20, 2.0**-900, 2.0**-480
#: Default limit on the bytes of a file, packed or unpacked; of its arrays also if every number took eight.
MAX_BYTES = 2**30
#: Limits on the bytes of its description, and on the number of its members.
MAX_JSON, MAX_MEMBERS = 2**20, 64
#: Limits on a side of an array (lists, comparisons, points), and on the numbers of an array and of any matrix that is
#: made of points, features and queries.
MAX_LENGTH, MAX_NUMBERS = 2**24, 2**26
#: Limit on the pairs of one query where they are written out: slopes, logistic losses, gains of rankings.
MAX_TABLE = 2**24
#: Default limit on the operations of a proof, each about a nanosecond of one core.
MAX_WORK = 2e12
#: What is counted for a multiplication in a matrix product, a place in a table of rankings, a logistic loss, a query,
#: a row of a table of rankings, and the place of one near item.
MULTIPLY, RANKING, LOGISTIC, QUERY, ROW, PLACE = 0.1, 8.0, 2e3, 1e5, 3e4, 2e3
#: Numbers held in a block.
BLOCK = 2**21


def printable(text: str) -> str:
    """Text of a file without what a terminal would obey, or could not print: in ASCII, the rest escaped."""
    return re.sub("[^ -~]", lambda found: ascii(found[0])[1:-1], text)


class CertificateError(Exception):
    """The file is no certificate: damaged, malformed, too large, or not what its hashes say."""

    def __init__(self, message: str) -> None:
        super().__init__(printable(message)[:500])


class NotProven(Exception):  # noqa: N818 - not an error of the file
    """The numbers of the file prove no bound; the message says which step fails."""


# Balls ----------------------------------------------------------------------------------------------------------------


def up(radius: Any) -> Any:
    """An upper bound on what was computed as a float with nonnegative terms only."""
    return radius * GROW + TINY


def gamma(k: int) -> float:
    """The relative error of a sum of k terms, each with a few operations counted in k."""
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
        """A ball around balls, floats, arrays of floats, or fractions (a number or a list of them)."""
        if isinstance(value, Ball):
            return value
        if isinstance(value, list):
            parts = [cls.of(part) for part in value]
            return cls([part.mid for part in parts], [part.rad for part in parts])
        if not isinstance(value, Fraction):
            return cls(value)
        mid = float(value)
        return cls(mid, 0.0 if Fraction(mid) == value else up(abs(mid) * U))

    def __add__(self, other: Any) -> Ball:
        other = Ball.of(other)
        mid = self.mid + other.mid
        return Ball(mid, up(self.rad + other.rad + U * np.abs(mid)))

    def __neg__(self) -> Ball:
        return Ball(-self.mid, self.rad)

    def __sub__(self, other: Any) -> Ball:
        return self + (-Ball.of(other))

    def __mul__(self, other: Any) -> Ball:
        other = Ball.of(other)
        mid = self.mid * other.mid
        rad = np.abs(self.mid) * other.rad + self.rad * (np.abs(other.mid) + other.rad) + U * np.abs(mid)
        return Ball(mid, up(rad))

    __radd__, __rmul__ = __add__, __mul__

    def __truediv__(self, other: Any) -> Ball:
        """Division by balls of positive numbers: ``|a/b - A/B| <= (rA + |A/B| rB) / (B - rB)``, and rounding.

        The float quotient errs by at most ``u |A/B|``, or by 2^-1075 where it is subnormal, so that ``|A/B|`` is below
        ``GROW`` times it plus ``TINY``. A product that underflows errs by 2^-1075, which a small divisor magnifies
        beyond what :func:`up` makes good for: 2^-1070 is added before the division. The difference ``B - rB`` is exact
        where it is subnormal, and so is not rounded up.
        """
        other = Ball.of(other)
        least = (other.mid - other.rad) * (1.0 - 4.0 * U)
        if not np.all(least > 0.0):
            raise NotProven("a divisor is not proven to be positive")
        mid = self.mid / other.mid
        top = self.rad + (np.abs(mid) * GROW + TINY) * other.rad + 2.0**-1070
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
        error = np.outer(own, columns + its) + np.outer(rows, its) + U * (np.abs(mid) + np.abs(rest))
        error += gamma(terms + 2) * (np.outer(norms(A1, 1), norms(B - B1, 0)) + np.outer(norms(A - A1, 1), columns))
        return Ball(mid, up(error))

    @property
    def T(self) -> Ball:
        """The transposed matrix."""
        return Ball(self.mid.T, np.broadcast_to(self.rad, self.mid.shape).T)

    def __getitem__(self, at: Any) -> Ball:
        return Ball(self.mid[at], np.broadcast_to(self.rad, self.mid.shape)[at])

    def sum(self, axis: int | None = None) -> Ball:
        """Sums along an axis or of everything."""
        count = self.mid.size if axis is None else self.mid.shape[axis]
        rad = np.sum(np.broadcast_to(self.rad, self.mid.shape), axis=axis)
        return Ball(np.sum(self.mid, axis=axis), up(gamma(count) * np.sum(np.abs(self.mid), axis=axis) + rad))

    def positive_part(self) -> Ball:
        """``max(0, x)``."""
        return Ball(np.maximum(self.mid, 0.0), self.rad)

    def sqrt(self) -> Ball:
        """Root of nonnegative numbers: ``|sqrt x - sqrt m| <= r / sqrt m``, and at most ``sqrt r`` near zero."""
        root = np.sqrt(np.maximum(self.mid, 0.0))
        near = np.sqrt(np.maximum(self.rad, 0.0)) * GROW * 2.0
        with np.errstate(divide="ignore", invalid="ignore"):
            rad = np.where(root > 0.0, np.minimum(self.rad / root, near), near)
        return Ball(root, up(rad + U * root))

    def norm(self) -> Ball:
        """Euclidean norm of everything."""
        return (self * self).sum().sqrt()

    def above(self) -> Any:
        """Upper ends, as floats."""
        end = self.mid + self.rad
        return end + (np.abs(end) * (4.0 * U) + TINY)

    def below(self) -> Any:
        """Lower ends, as floats."""
        end = self.mid - self.rad
        return end - (np.abs(end) * (4.0 * U) + TINY)

    def upper(self) -> Fraction:
        """Upper end of one number, exactly."""
        return self._end(1)

    def lower(self) -> Fraction:
        """Lower end of one number, exactly."""
        return self._end(-1)

    def _end(self, sign: int) -> Fraction:
        mid, rad = float(self.mid), float(self.rad)
        if not (math.isfinite(mid) and math.isfinite(rad)):
            raise NotProven("a number overflowed or is not a number")
        return Fraction(mid) + sign * Fraction(rad)


def leading(A: Array, B: Array) -> tuple[Array, Array]:
    """Leading digits of the rows of A and the columns of B, whose product is exact in floats.

    With ``2 b + log2 k <= 53`` a row is rounded to multiples of 2^-b times a power of two above its largest entry;
    likewise a column. Products are multiples of one unit, and so are their sums, which are at most ``k 2^(2 b)`` units:
    no order of adding up needs rounding. Adding and subtracting 1.5 2^52 units does the rounding, and the difference
    to the entry is a float again. Where exponents are extreme these are zeros: nothing is gained then.
    """
    if not A.size or not B.size:
        return np.zeros_like(A), np.zeros_like(B)
    digits = (53 - math.ceil(math.log2(A.shape[1]))) // 2
    rows = np.frexp(np.max(np.abs(A), axis=1, keepdims=True))[1] - digits
    columns = np.frexp(np.max(np.abs(B), axis=0, keepdims=True))[1] - digits
    if max(np.abs(rows).max(), np.abs(columns).max()) > 400 or not (np.isfinite(A).all() and np.isfinite(B).all()):
        return np.zeros_like(A), np.zeros_like(B)
    shifts = np.ldexp(1.5, rows + 52), np.ldexp(1.5, columns + 52)
    return (A + shifts[0]) - shifts[0], (B + shifts[1]) - shifts[1]


def _log_of_two() -> Ball:
    """``ln 2 = sum_k 1 / (k 2^k)``, whose rest after 80 terms is below 2^-80."""
    part = sum((Fraction(1, k * 2**k) for k in range(1, 81)), Fraction(0))
    mid = float(part)
    return Ball(mid, up(float(abs(part - Fraction(mid))) + 2.0**-80))


LOG_2 = _log_of_two()


def exp(x: Ball) -> Ball:
    """``e^x`` for x of at most 700 in size, where the radius is at most 1/2.

    ``x = k ln 2 + r`` with an integer k; ``e^r`` by 18 terms of its series, the rest of which is at most
    ``|r|^19 e^|r| / 19!`` (below 1e-19 for ``|r| <= 1/2``, which is checked); the factor 2^k is exact.
    """
    if not np.all(np.abs(x.mid) <= 700.0) or not np.all(x.rad <= 0.5):
        raise NotProven("an exponent is out of range")
    k = np.rint(x.mid / 0.6931471805599453)
    r = Ball(x.mid) - Ball(k) * LOG_2
    if not np.all(np.abs(r.mid) + r.rad <= 0.5):
        raise NotProven("the reduction of an exponent failed")
    total = Ball(np.ones_like(r.mid))
    for term in range(18, 0, -1):
        total = Ball(1.0) + total * r / float(term)
    # e^(m + e) - e^m is at most 2 |e| e^m for |e| <= 1.
    rad = up(total.rad + 1e-18 + 2.0 * x.rad * (total.mid + total.rad + 1e-18))
    scale = np.ldexp(1.0, k.astype(np.int64))
    return Ball(total.mid * scale, up(rad * scale))


def log(x: Ball) -> Ball:
    """``ln x`` for ``x >= 1e-300``: with any guess y, ``|ln x - y| <= e / (1 - e)`` where ``|x e^-y - 1| <= e < 1``."""
    if not (np.all(x.mid >= 1e-300) and np.all(np.isfinite(x.mid))):
        raise NotProven("a logarithm of a number that is not positive")
    guess = np.clip(np.nan_to_num(np.log(x.mid)), -700.0, 700.0)
    error = x * exp(Ball(-guess)) - 1.0
    off = np.maximum(error.above(), -error.below())
    if not np.all(off <= 0.5):
        raise NotProven("a logarithm could not be confirmed")
    return Ball(guess, up(off / (1.0 - off)))


def softplus(s: Array, rad: Any) -> Ball:
    """``ln(1 + e^-s)`` of floats s that are wrong by at most ``rad``; the slope is at most one."""
    size = np.minimum(np.abs(s), 690.0)
    # Beyond 690 the exponential is positive and below that of -690.
    value = log(exp(Ball(-size)) + 1.0) + Ball(np.maximum(-s, 0.0))
    return Ball(value.mid, up(value.rad + rad + np.where(np.abs(s) > 690.0, 1e-290, 0.0)))


def entropy(p: Array) -> Ball:
    """``-p ln p - (1 - p) ln(1 - p)`` of floats in [0, 1]; of p outside [1e-300, 1 - 2^-54] zero, which is below it."""
    inside = (p >= 1e-300) & (p < 1.0)
    q = np.where(inside, p, 0.5)
    rest = Ball(1.0) - Ball(q)
    value = -(Ball(q) * log(Ball(q)) + rest * log(rest))
    return Ball(np.where(inside, value.mid, 0.0), np.where(inside, value.rad, 0.0))


# The machine ----------------------------------------------------------------------------------------------------------


@functools.cache
def arithmetic() -> None:
    """Test what is assumed of this machine, see the top.

    Raises
    ------
    CertificateError
        If NumPy does not round to nearest, flushes subnormal numbers to zero, or if products of leading digits are not
        exact here.
    """
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 200)) * 10.0 ** rng.integers(-9, 10, (2, 200))
    # Python rounds quotients of integers to nearest, and so fractions.
    x, y = list(map(Fraction, a.tolist())), list(map(Fraction, b.tolist()))
    for found, exact in (
        (a + b, [float(p + q) for p, q in zip(x, y, strict=True)]),
        (a - b, [float(p - q) for p, q in zip(x, y, strict=True)]),
        (a * b, [float(p * q) for p, q in zip(x, y, strict=True)]),
        (a / b, [float(p / q) for p, q in zip(x, y, strict=True)]),
    ):
        if found.tolist() != exact:
            raise CertificateError("this machine does not round to nearest, and proves nothing here")
    roots, half = np.sqrt(np.abs(a)), Fraction(1, 2)
    for root, square in zip(roots.tolist(), x, strict=True):
        ends = [Fraction(root) + half * (Fraction(math.nextafter(root, to)) - Fraction(root)) for to in (0.0, math.inf)]
        if not ends[0] ** 2 <= abs(square) <= ends[1] ** 2:
            raise CertificateError("this machine does not round roots to nearest, and proves nothing here")
    tiny = np.ldexp(np.arange(1.0, 34.0), -1074)
    if not ((tiny * 1.0 == tiny) & (tiny > 0.0) & (np.ldexp(tiny, 60) * 2.0**-60 == tiny)).all():
        raise CertificateError("this machine flushes subnormal numbers to zero, and proves nothing here")
    for rows, terms, columns in ((1, 300, 1), (37, 1000, 41), (200, 70, 3)):
        largest = 2 ** ((53 - math.ceil(math.log2(terms))) // 2)
        A, B = (rng.integers(-largest, largest + 1, shape) for shape in ((rows, terms), (terms, columns)))
        A[0], B[:, 0] = largest, largest
        P, Q = A.astype(np.float64), B.astype(np.float64)
        if not (
            np.array_equal(P @ Q, A @ B) and np.array_equal(P @ P.T, A @ A.T) and np.array_equal(Q.T @ P.T, (A @ B).T)
        ):
            raise CertificateError(
                "products of leading digits are not exact on this machine, which proves nothing here"
            )


# Files ----------------------------------------------------------------------------------------------------------------

DTYPES = ("<f8", "<i8", "<i4", "|u1")
_RATIONAL = re.compile(r"-?[0-9]{1,400}(/[0-9]{1,400})?")
_NAME = re.compile(rb"([a-z][a-z_]{0,40})\.npy")
#: All of an npy file up to its numbers. Version 1 has two bytes of length after the magic, version 2 has four.
_HEADER = re.compile(
    rb"\x93NUMPY(?:\x01\x00..|\x02\x00....)"
    rb"\{'descr': '([!-&(-~]{1,9})', 'fortran_order': (True|False), "
    rb"'shape': \((?:([0-9]{1,10}),(?: ([0-9]{1,10})(?:, ([0-9]{1,10}))?)?)?\),? \} *\n",
    re.DOTALL,
)
#: Ends of ZIP archives, entries of their directories, and what stands before a member.
_END, _ENTRY, _LOCAL = struct.Struct("<4s4H2LH"), struct.Struct("<4s6H3L5H2L"), struct.Struct("<4s22xHH")
STORED, DEFLATED = 0, 8
#: Flags of a member that change nothing here: levels of compression, sizes that follow the data, names in UTF-8.
_HARMLESS = 0b1000_0000_1110


def digest(array: Array) -> str:
    """SHA-256 over type, shape and bytes (C order) of an array."""
    found = hashlib.sha256(f"{array.dtype.str} {array.shape};".encode())
    found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()


def statement_digest(problem: dict[str, Any], arrays: Mapping[str, Array]) -> str:
    """SHA-256 of a statement: its table as canonical JSON and the hashes of its arrays, a line each, by name."""
    lines = [json.dumps(problem, sort_keys=True, separators=(",", ":"))]
    lines += [f"{name} {digest(arrays[name])}" for name in sorted(arrays)]
    return hashlib.sha256("\n".join(lines).encode("ascii")).hexdigest()


def rational(text: Any, what: str) -> Fraction:
    """A rational written ``"p/q"`` or ``"p"``."""
    if not isinstance(text, str) or not _RATIONAL.fullmatch(text):
        raise CertificateError(f"{what} must be a rational, written as text 'p/q'")
    try:
        value = Fraction(text)
    except ZeroDivisionError as error:
        raise CertificateError(f"{what} has a denominator of zero") from error
    if abs(value) > 10**300:
        raise CertificateError(f"{what} is beyond 1e300")
    return value


@contextlib.contextmanager
def refusals(what: str) -> Iterator[None]:
    """Whatever goes wrong with a forged file, memory and recursion included, is a refusal that says what it was."""
    try:
        yield
    except CertificateError:
        raise
    except OSError as error:
        raise CertificateError(f"cannot read {what}: {error.strerror or type(error).__name__}") from error
    except Exception as error:
        raise CertificateError(f"{what} cannot be evaluated: {type(error).__name__}: {error}") from error


def read(path: Path, max_bytes: int = MAX_BYTES) -> tuple[dict[str, Any], dict[str, Array]]:
    """The description and the arrays of a file; nothing is unpacked or allocated before its size is checked."""
    with refusals(str(path)):
        if not stat.S_ISREG(path.stat().st_mode):
            raise CertificateError(f"{path} is not a file")
        with path.open("rb") as file:
            return _read(file, max_bytes)


def _read(file: BinaryIO, max_bytes: int) -> tuple[dict[str, Any], dict[str, Array]]:
    members = _members(file, max_bytes)
    if b"certificate.json" not in members:
        raise CertificateError("the file has no certificate.json")
    text = _unpacked(file, members.pop(b"certificate.json"), MAX_JSON)
    document = json.loads(
        text.decode("utf-8"),
        parse_constant=_refused,
        parse_float=_refused,
        parse_int=_integer,
        object_pairs_hook=_once,
    )
    keys(document, "certificate.json", "format version title problem dual claimed sha256")
    if document["format"] != FORMAT or document["version"] != VERSION or document["version"] is True:
        raise CertificateError(f"the file is not a {FORMAT} of version {VERSION}")
    found = {name: _NAME.fullmatch(name) for name in members}
    if not all(found.values()):
        raise CertificateError("the file has a member that is no array")
    names = {name: match[1].decode("ascii") for name, match in found.items() if match}
    hashes = document["sha256"]
    if not isinstance(hashes, dict) or set(hashes) != set(names.values()):
        raise CertificateError("sha256 must name the arrays of the file, all of them")
    arrays, left = {}, max_bytes - len(text)
    for member, name in names.items():
        data = _unpacked(file, members[member], left)
        left -= len(data)
        arrays[name] = array = _array(data, name)
        if digest(array) != hashes[name]:
            raise CertificateError(f"the array {name} has another sha256 than certificate.json says")
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise CertificateError(f"the array {name} has NaN or infinite entries")
    # Integers are widened when they are used.
    if 8 * sum(array.size for array in arrays.values()) > max_bytes:
        raise CertificateError(f"the arrays take more than {max_bytes} bytes, 8 a number")
    return document, arrays


def _members(file: BinaryIO, max_bytes: int) -> dict[bytes, tuple[Any, ...]]:
    """The directory of a ZIP archive, which must end with it: without a comment, split parts or 64-bit sizes."""
    size = file.seek(0, io.SEEK_END)
    if size > max_bytes:
        raise CertificateError(f"the file is larger than {max_bytes} bytes")
    end = _part(file, size - _END.size, _END.size)
    mark, part, first, here, count, length, start, comment = _END.unpack(end)
    if mark != b"PK\5\6" or part or first or comment or here != count:
        raise CertificateError("the file is damaged or no certificate: it does not end like a ZIP archive")
    if count > MAX_MEMBERS or length > MAX_MEMBERS * 2**10:
        raise CertificateError(f"the file has more than {MAX_MEMBERS} members, or names that are too long")
    directory, members, at = _part(file, start, length), {}, 0
    for _ in range(count):
        entry = _ENTRY.unpack_from(directory, at)
        name_length, extra, remark = entry[10:13]
        name = directory[at + _ENTRY.size : at + _ENTRY.size + name_length]
        if entry[0] != b"PK\1\2" or entry[3] & ~_HARMLESS or entry[4] not in (STORED, DEFLATED) or name in members:
            raise CertificateError(
                f"the member {name!r} is damaged, there twice, encrypted, or compressed in another way than deflate"
            )
        members[name] = entry
        at += _ENTRY.size + name_length + extra + remark
    if sum(entry[9] for entry in members.values()) > max_bytes:
        raise CertificateError(f"the file unpacks to more than {max_bytes} bytes")
    return members


def _part(file: BinaryIO, start: int, length: int) -> bytes:
    """So many bytes from a place on."""
    if start >= 0:
        file.seek(start)
        data = file.read(length)
        if len(data) == length:
            return data
    raise CertificateError("the file is damaged or no certificate: it ends too early")


def _unpacked(file: BinaryIO, entry: tuple[Any, ...], limit: int) -> bytearray:
    """The bytes of a member, at most as many as the directory says, however many there are to come."""
    method, check, packed, size, start = entry[4], *entry[7:10], entry[16]
    if size > limit:
        raise CertificateError(f"the file has no certificate.json of at most {MAX_JSON} bytes, or unpacks to too many")
    mark, name, extra = _LOCAL.unpack(_part(file, start, _LOCAL.size))
    if mark != b"PK\3\4":
        raise CertificateError("the file is damaged: a member is not where the archive says")
    file.seek(name + extra, io.SEEK_CUR)
    data, inflate = bytearray(), zlib.decompressobj(-zlib.MAX_WBITS) if method == DEFLATED else None
    while packed > 0 and len(data) <= size:
        chunk = file.read(min(packed, 2**16))
        if not chunk:
            raise CertificateError("the file is damaged: a member ends too early")
        packed -= len(chunk)
        while chunk and len(data) <= size:
            # A limit of zero would mean none; here it is at least one.
            data += chunk if inflate is None else inflate.decompress(chunk, size + 1 - len(data))
            chunk = b"" if inflate is None else inflate.unconsumed_tail
    ended = inflate is None or (inflate.eof and not inflate.unused_data)
    if len(data) != size or packed or not ended or zlib.crc32(data) != check:
        raise CertificateError("the file is damaged: a member has not the size or the sum that the archive says")
    return data


def _array(data: bytearray, name: str) -> Array:
    """An array of one of :data:`DTYPES` whose header fits the size of its member."""
    header = _HEADER.match(data, 0, 2**11)
    if header is None:
        raise CertificateError(f"the array {name} has no header of the npy format, of at most three dimensions")
    kind = header[1].decode("ascii")
    if kind not in DTYPES:
        raise CertificateError(f"the array {name} has the type {kind}; allowed are {', '.join(DTYPES)}")
    lengths = int.from_bytes(data[8:10] if data[6] == 1 else data[8:12], "little")
    shape = tuple(int(side) for side in header.groups()[2:] if side is not None)
    count = math.prod(shape)
    if max(shape, default=0) > MAX_LENGTH or count > MAX_NUMBERS:
        raise CertificateError(f"the array {name} has a side above {MAX_LENGTH} or more than {MAX_NUMBERS} numbers")
    dtype, start = np.dtype(kind), header.end()
    if start != lengths + (10 if data[6] == 1 else 12) or start + count * dtype.itemsize != len(data):
        raise CertificateError(f"the array {name} has not the size that its header says")
    array = np.require(np.frombuffer(data, dtype, count, start), requirements="A")
    array.flags.writeable = False
    return array.reshape(shape[::-1]).T if header[2] == b"True" else array.reshape(shape)


def _refused(text: str) -> Any:
    raise CertificateError(f"certificate.json has the number {text[:40]}: numbers are integers or rationals as text")


def _integer(text: str) -> int:
    return int(text) if len(text) <= 20 else _refused(text)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) != len(pairs):
        raise CertificateError("certificate.json has a key twice")
    return table


def keys(table: Any, what: str, required: str, optional: str = "") -> None:
    """Raise a :class:`CertificateError` unless a table has these keys and no others."""
    if not isinstance(table, dict):
        raise CertificateError(f"{what} must be a table")
    wanted, allowed = set(required.split()), set(optional.split())
    if not wanted <= set(table) or not set(table) <= wanted | allowed:
        wrong = sorted((wanted - set(table)) | (set(table) - wanted - allowed))
        raise CertificateError(f"{what}: keys are missing or unknown: {', '.join(map(repr, wrong))[:200]}")


def natural(value: Any, what: str, least: int = 0) -> int:
    """An integer of the description, at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value < 2**40:
        raise CertificateError(f"{what} must be an integer of at least {least}")
    return value


class Arrays:
    """The arrays of a file, each to be asked for once, with its shape and kind of numbers checked.

    They also keep account of the operations that the proof may still take.
    """

    def __init__(self, arrays: Mapping[str, Array], max_work: float = MAX_WORK) -> None:
        self.arrays, self.used = arrays, set[str]()
        self.max_work, self.work = max_work, 0.0

    def spend(self, operations: float) -> None:
        """Refuse what takes too many operations, before it is done."""
        self.work += operations
        if not self.work <= self.max_work:
            raise CertificateError(f"the proof takes more than {self.max_work:.3g} operations (--max-work)")

    def __contains__(self, name: str) -> bool:
        return name in self.arrays

    def __call__(self, name: str, *shape: int | None, integers: int | None = None) -> Array:
        """An array of a shape (None for any length); with ``integers = n`` of integers in [0, n)."""
        if name not in self.arrays:
            raise CertificateError(f"the array {name} is missing")
        self.used.add(name)
        array = self.arrays[name]
        fits = array.ndim == len(shape) and all(w in (None, g) for w, g in zip(shape, array.shape, strict=True))
        if not fits or (integers is None) != (array.dtype.kind == "f"):
            raise CertificateError(f"the array {name} has a wrong shape or type: {array.shape}, {array.dtype}")
        if integers is None:
            return np.ascontiguousarray(array)
        if array.size and (int(array.min()) < 0 or int(array.max()) >= integers):
            raise CertificateError(f"the array {name} has entries outside of [0, {integers})")
        return np.ascontiguousarray(array.astype(np.int64))

    def points(self, name: str, d: int) -> Array:
        """Points in rows, dense or compressed by rows."""
        if name in self:
            return self(name, None, d)
        first = self(f"{name}_indptr", None, integers=2**40)
        data = self(f"{name}_data", None)
        columns = self(f"{name}_indices", len(data), integers=d)
        if len(first) < 2 or first[0] != 0 or first[-1] != len(data) or (np.diff(first) < 0).any():
            raise CertificateError(f"{name} has malformed rows")
        held(len(first) - 1, d)
        dense = np.zeros((len(first) - 1, d))
        rows = np.repeat(np.arange(len(first) - 1), np.diff(first))
        at = rows * d + columns
        if len(np.unique(at)) != len(at):
            raise CertificateError(f"{name} has an entry twice")
        dense[rows, columns] = data
        return dense


# Distances ------------------------------------------------------------------------------------------------------------


class Images:
    """Images of points under a factor of a metric, and a bound on the error of all distances computed from them.

    A float image z is within ``delta`` of the true one, and ``|z| <= R``. Then the true squared distance of two differs
    from that of the floats by at most ``2 delta (4 R + 2 delta)``, and rounding adds at most ``4 gamma_(r + 4) R^2``,
    be it evaluated from inner products or from differences.
    """

    def __init__(self, diagonal: bool, factor: Array, *sets: Array) -> None:
        if diagonal:
            active = np.flatnonzero(factor > 0.0)
            roots = np.sqrt(factor[active])
            self.Z = [X[:, active] * roots for X in sets]
            self.R = _longest(self.Z)
            # Each entry errs by less than 4 u relative, so that |z| <= |x| and the error follow from the float image.
            delta = up(4.0 * U * self.R)
        else:
            self.Z = [X @ factor.T for X in sets]
            self.R = _longest(self.Z)
            delta = up(gamma(factor.shape[1] + 2) * _longest(sets) * float(norms(factor)))
        self.norms = [np.einsum("ik,ik->i", Z, Z) for Z in self.Z]
        r = self.Z[0].shape[1]
        self.error = float(up(4.0 * gamma(r + 4) * self.R * self.R + 2.0 * delta * (4.0 * self.R + 2.0 * delta)))

    def listed(self, i: Array, j: Array) -> Array:
        """Squared distances of pairs of the first set."""
        d = np.empty(len(i))
        step = max(1, BLOCK // max(1, self.Z[0].shape[1]))
        for at in range(0, len(i), step):
            V = self.Z[0][i[at : at + step]] - self.Z[0][j[at : at + step]]
            d[at : at + step] = np.einsum("ik,ik->i", V, V)
        return d


def _longest(sets: Sequence[Array]) -> float:
    """The largest norm of a row; not a number if one is not."""
    return float(np.max([norms(X, 1).max(initial=0.0) for X in sets]))


class Lists:
    """Queries with their near and far items. Queries may be rows of the corpus (``anchors`` says which), or points."""

    def __init__(self, arrays: Arrays, d: int) -> None:
        self.X = arrays.points("points", d)
        own = "queries" in arrays or "queries_indptr" in arrays
        self.Q = arrays.points("queries", d) if own else self.X
        self.own = own
        n = len(self.X)
        if n < 1 or len(self.Q) < 1:
            raise CertificateError("there are no points")
        self.near, self.first, self.last = self._slices(arrays, "near", n)
        self.others = "itself" in arrays
        self.count = len(self.first)
        if self.others:
            # Far are all items that are not near, but for the query's own row (n stands for none).
            self.itself = arrays("itself", self.count, integers=n + 1)
        else:
            self.far, self.start, self.stop = self._slices(arrays, "far", n)
            if len(self.start) != self.count:
                raise CertificateError("near and far lists differ in number")
        if "anchors" in arrays:
            self.anchors = arrays("anchors", self.count, integers=len(self.Q))
        else:
            self.anchors = np.arange(self.count)
            if self.count != len(self.Q):
                raise CertificateError("there must be one pair of lists a query")
        self.p = self.last - self.first
        if self.others:
            arrays.spend((4.0 * n + QUERY) * self.count + 4.0 * float(self.p.sum()))
            self.n = np.array([self.of(q)[1].size for q in range(self.count)], dtype=np.int64)
        else:
            self.n = self.stop - self.start
        #: Items and pairs of all queries, and the most pairs of one; sides are at most 2^24, so that int64 holds them.
        self.items, pairs = float((self.p + self.n).sum()), self.p * self.n
        self.pairs, self.most = float(pairs.sum(dtype=np.float64)), int(pairs.max(initial=0))
        if self.count < 1 or self.p.min() < 1 or self.n.min() < 1:
            raise CertificateError("a query has no near or no far item")

    @staticmethod
    def _slices(arrays: Arrays, name: str, n: int) -> tuple[Array, Array, Array]:
        items = arrays(name, None, integers=n)
        first = arrays(f"{name}_start", None, integers=len(items) + 1)
        last = arrays(f"{name}_stop", len(first), integers=len(items) + 1)
        if (last < first).any():
            raise CertificateError(f"the {name} lists are malformed")
        return items, first, last

    def of(self, q: int) -> tuple[Array, Array]:
        """Near and far items of a query."""
        near = self.near[self.first[q] : self.last[q]]
        if not self.others:
            return near, self.far[self.start[q] : self.stop[q]]
        mask = np.ones(len(self.X), dtype=bool)
        mask[near] = False
        if self.itself[q] < len(mask):
            mask[self.itself[q]] = False
        return near, np.flatnonzero(mask)

    @property
    def sizes(self) -> dict[str, int]:
        """What there is of everything."""
        queries = {"queries": self.count, "points of queries": len(self.Q)} if self.own else {"queries": self.count}
        return {"points": len(self.X), **queries, "pairs": sum(map(int, (self.p * self.n).tolist()))}

    @property
    def whole(self) -> bool:
        """Whether distances to all items cost less than those that are wanted, one query at a time."""
        return 20 * int(self.items) >= len(self.X) * self.count

    def operations(self, rank: int, d: int) -> float:
        """About what images of a factor and all distances take, and lists of all queries."""
        n, own = len(self.X), len(self.Q) if self.own else 0
        held(n + own, rank)
        distances = float(n) * self.count * (MULTIPLY * rank + 8.0) if self.whole else self.items * (rank + 8.0)
        lists = 4.0 * n * self.count if self.others else 0.0
        return MULTIPLY * (n + own) * d * rank + distances + lists + 20.0 * self.items + QUERY * self.count

    def images(self, diagonal: bool, factor: Array) -> Images:
        """Images of corpus and queries."""
        return Images(diagonal, factor, self.X, self.Q) if self.own else Images(diagonal, factor, self.X)

    def distances(self, images: Images, wanted: Array | None = None) -> Iterator[tuple[int, Array, Array]]:
        """Every query, and float distances to its near and far items; each within ``images.error``."""
        Z, z_norms = images.Z[0], images.norms[0]
        Y, y_norms = images.Z[-1], images.norms[-1]
        queries = np.arange(self.count) if wanted is None else wanted
        whole, step = self.whole, max(1, BLOCK // len(Z)) if self.whole else 1
        for at in range(0, len(queries), step):
            rows = queries[at : at + step]
            block = Y[self.anchors[rows]] @ Z.T if whole else None
            for q, row in zip(rows, range(len(rows)), strict=True):
                near, far = self.of(q)
                y, square = Y[self.anchors[q]], y_norms[self.anchors[q]]
                if block is None:
                    yield q, *((z_norms[a] + square) - 2.0 * (Z[a] @ y) for a in (near, far))
                else:
                    d = (z_norms + square) - 2.0 * block[row]
                    yield q, d[near], d[far]


# Dual weights and the Laplacian ---------------------------------------------------------------------------------------


def laplacian(diagonal: bool, Q: Array, X: Array, W: Ball, balanced: bool) -> Ball:
    """``sum W_qx (q - x)(q - x)^T`` (its diagonal for diagonal metrics); rows of balanced weights sum to zero.

    The true weights are meant, of which ``W`` is a ball: if they are balanced, the term in ``q q^T`` is zero.
    """
    columns = (W.T @ Ball(np.ones((len(Q), 1))))[:, 0]
    rows = None if balanced else (W @ Ball(np.ones((len(X), 1))))[:, 0]
    if diagonal:
        step = max(64, BLOCK // max(len(X), len(Q)))
        blocks = [slice(at, at + step) for at in range(0, X.shape[1], step)]
        parts = [_diagonal(Q[:, some], X[:, some], W, columns, rows) for some in blocks]
        return Ball(np.concatenate([part.mid for part in parts]), np.concatenate([part.rad for part in parts]))
    cross = W @ Ball(X)
    half = Ball(Q.T) @ cross
    S = Ball(X.T) @ (Ball(X) * columns[:, None]) - half - half.T
    return S if rows is None else S + Ball(Q.T) @ (Ball(Q) * rows[:, None])


def _diagonal(Q: Array, X: Array, W: Ball, columns: Ball, rows: Ball | None) -> Ball:
    """Some features of the diagonal."""
    S = ((Ball(X) * columns[:, None]) * Ball(X)).sum(0) - (Ball(Q) * (W @ Ball(X))).sum(0) * 2.0
    return S if rows is None else S + ((Ball(Q) * rows[:, None]) * Ball(Q)).sum(0)


@dataclass
class Says:
    """A statement ``R(M) >= value - <S, M>`` for all metrics M."""

    value: Ball
    S: Ball


# Rankings -------------------------------------------------------------------------------------------------------------

MEASURES = {
    "auc": False,
    "precision": True,
    "map": False,
    "mrr": False,
    "ndcg": True,
    "ndcg-log2": True,
    "knn": True,
}
"""Measures, and whether they have a k."""


MAX_HEAD = 10**6
"""Largest k of a measure that keeps k places where there are fewer near items."""


def gains(measure: str, k: int, p: int, n: int, cut: bool = True) -> Ball:
    """``g(i, b)`` for i = 1..p and b = 0..n: what the i-th near item with b far ones above it adds to the score.

    Of a query with p < k near items the first p places count, or (not ``cut``) the first k. Then the score of the
    perfect ranking is less than 1, and what is missing is a gain of the first near item, wherever it stands.
    """
    i, b = np.arange(1.0, p + 1.0)[:, None], np.arange(n + 1.0)[None, :]
    if measure == "map":
        return Ball(i) / (Ball(p) * Ball(i + b))
    if measure == "mrr":
        return Ball(np.where(i == 1.0, 1.0, 0.0)) / Ball(1.0 + b)
    head = min(k, p) if cut else k
    first = np.where(i == 1.0, 1.0, 0.0)
    if measure == "precision":
        return Ball(np.where(i + b <= head, 1.0, 0.0) + max(0, head - p) * first) / Ball(float(head))
    if measure == "knn":
        missing = first if head // 2 + 1 > p else 0.0
        return Ball(np.where((i == head // 2 + 1) & (i + b <= head), 1.0, 0.0) + missing)
    # Discounts ln 2 / ln t of the place t, or ln 2 / ln(t + 1), and at most 1, over their sum up to the head's end.
    at = np.maximum(np.arange(1.0, head + 1.0) + (measure == "ndcg-log2"), 2.0)
    D = LOG_2 / log(Ball(at))
    D = Ball(np.where(at == 2.0, 1.0, D.mid), np.where(at == 2.0, 0.0, D.rad))
    D = D / D.sum()
    place = (i + b).astype(np.int64) - 1
    inside, place = place < head, np.minimum(place, head - 1)
    D = Ball(D.mid, np.broadcast_to(D.rad, D.mid.shape))
    gain = Ball(np.where(inside, D.mid[place], 0.0), np.where(inside, D.rad[place], 0.0))
    return gain + Ball(D.mid[p:], D.rad[p:]).sum() * Ball(first) if head > p else gain


def worst_rankings(
    gain: Ball, x: Array, z: Array, choose: bool, n: int | None = None
) -> tuple[Array, Array, Array | None]:
    r"""The largest ``Delta - 2/(p n) sum of inverted (z_j - x_i)`` of queries with p near and n far items each.

    Minimises :math:`\sum_i c_i(b_i)`, :math:`c_i(b) = g(i, b) + \frac{2}{pn} \sum_{j \le b} (z_j - x_i)`, over
    :math:`b_1 \le \dots \le b_p` by running minima. For given distances the items of a kind stand by distance in an
    optimal ranking, so that the programme is exact but for rounding. Its error: with distances wrong by e, the value of
    a ranking changes by at most 2/(p n) times p n pairs times 2 e; here e is the rounding u D of differences to the
    nearest near item, D the largest of these (the caller adds the error of distances). Sums of up to n differences err
    by :math:`\gamma_n n D`, products and differences with them by :math:`2 \gamma_5 n D`, times 2/(p n) and p items; p
    additions to totals of at most 1 + 4 D err by u (1 + 4 D) each, and gains by their radii. All of it is below
    :math:`8 (n + p + 16) u (1 + D)` plus p radii.

    Parameters
    ----------
    gain : Ball
        (p, n + 1).
    x, z : (m, p) and (m, n) arrays
        Sorted distances.
    choose : bool
        Whether the rankings are wanted.
    n : int, optional
        The length of the far lists, if ``z`` holds only the nearest ones: then the best ranking with the others below.

    Returns
    -------
    values, errors : (m,) arrays
    b : (m, p) int array or None
    """
    (m, p), total = x.shape, n or z.shape[1]
    n = z.shape[1]
    low = x[:, :1]
    x, z = x - low, z - low
    D = np.maximum(np.abs(x).max(axis=1), np.abs(z).max(axis=1))
    above, scale = np.arange(n + 1.0), 2.0 / (p * total)
    sums = np.zeros((m, n + 1))
    np.cumsum(z, axis=1, out=sums[:, 1:])
    sums *= scale
    best, cost = np.zeros((m, n + 1)), np.empty((m, n + 1))
    steps = np.zeros((p, m, n + 1), dtype=bool) if choose else None
    for i in range(p):
        np.multiply(above, scale * x[:, i : i + 1], out=cost)
        np.subtract(sums, cost, out=cost)
        cost += gain.mid[i]
        cost += best
        np.minimum.accumulate(cost, axis=1, out=best)
        if steps is not None:
            np.less(cost[:, 1:], best[:, :-1], out=steps[i, :, 1:])
    values = 1.0 - best[:, n]
    errors = up(p * float(np.max(gain.rad)) + 8.0 * (n + p + 16) * U * (1.0 + D))
    if steps is None:
        return values, errors, None
    # Back to where the running minimum was reached first: of equal rankings the one with the fewest inversions.
    b = np.zeros((m, p), dtype=np.int64)
    steps[:, :, 0] = True
    for row in range(m):
        limit = n
        for i in range(p - 1, -1, -1):
            limit -= int(steps[i, row, limit::-1].argmax())
            b[row, i] = limit
    return values, errors, b


def chosen_rankings(gain: Ball, x: Array, z: Array, spend: Callable[[float], None]) -> Array:
    """Rankings near the worst ones, from the nearest far items only where the others stay below everything."""
    (m, p), n = x.shape, z.shape[1]
    b, rows, size = np.zeros(x.shape, dtype=np.int64), np.arange(m), 64
    while rows.size:
        size = 4 * size if n > 1024 and 4 * size < n else n
        step = max(1, 8 * BLOCK // (p * (size + 1)))
        for some in (rows[at : at + step] for at in range(0, len(rows), step)):
            spend(p * (ROW + (RANKING * size + PLACE) * len(some)))
            found = worst_rankings(Ball(gain.mid[:, : size + 1]), x[some], z[some, :size], True, n)[2]
            assert found is not None
            b[some] = found
        rows = rows[(b[rows, -1] == size) & (size < n)]
    return b


# Risks ----------------------------------------------------------------------------------------------------------------


class Witnesses:
    """Metrics at which slopes or rankings are taken, with weights for the groups of queries.

    Weights are made nonnegative and, with fractions, of sum at most one a group.
    """

    def __init__(self, table: Any, arrays: Arrays, diagonal: bool, d: int, parts: int) -> None:
        keys(table, "dual", "kind")
        metrics = arrays("witnesses", None, d) if diagonal else arrays("witnesses", None, d, d)
        self.spend, self.widths = arrays.spend, arrays("widths", len(metrics))
        weights = np.maximum(arrays("weights", len(metrics), None), 0.0)
        self.groups = arrays("groups", parts, integers=weights.shape[1])
        # A float sum of T weights errs by T u relative and a product by u, so that once is enough.
        spare = (1.0 - (len(weights) + 8.0) * 2.0**-52) if weights.size else 1.0
        arrays.spend(2e4 * weights.size)
        for g in range(weights.shape[1]):
            while sum(map(Fraction, weights[:, g].tolist()), Fraction(0)) > 1:
                weights[:, g] *= spare / max(1.0, float(weights[:, g].sum()))
        self.weights = weights
        self.factors = [_factor(diagonal, metric) for metric in metrics]
        self.places, self.slopes = np.empty((0, 3), dtype=np.int64), np.empty(0)
        if "exceptions" in arrays:
            if len(metrics) != 1:
                raise CertificateError("exceptions belong to a single witness")
            self.places = arrays("exceptions", None, 3, integers=2**40)
            self.slopes = np.clip(arrays("exception_slopes", len(self.places)), 0.0, 1.0)
            order = np.argsort(self.places[:, 0], kind="stable")
            self.places, self.slopes = self.places[order], self.slopes[order]

    def __iter__(self) -> Iterator[tuple[Array, float, Array, Array]]:
        """Factor, width, weight of every query, and the queries whose weight is positive."""
        for factor, width, weight in zip(self.factors, self.widths, self.weights, strict=True):
            own = weight[self.groups]
            yield factor, float(width), own, np.flatnonzero(own > 0.0)


def _factor(diagonal: bool, metric: Array) -> Array:
    """Some metric near the one given: of a witness any will do."""
    if diagonal:
        return np.maximum(metric, 0.0)
    try:
        values, vectors = np.linalg.eigh(0.5 * (metric + metric.T))
    except np.linalg.LinAlgError as error:
        raise NotProven("the eigenvalues of a witness were not found") from error
    kept = values > 1e-16 * max(float(values[-1]), 0.0)
    return np.ascontiguousarray((vectors[:, kept] * np.sqrt(values[kept])).T)


class ListRisk:
    """Pairs of lists, and rankings.

    ``units`` is the weight of a pair of every query, c w_q or 2 C w_q / (n_q p n); of rankings the value of one has
    the weight w_q times ``share`` = C / n_q. ``own`` are the weights w_q, None where all are 1.
    """

    def __init__(self, table: dict[str, Any], arrays: Arrays, diagonal: bool, d: int) -> None:
        self.diagonal, self.lists = diagonal, Lists(arrays, d)
        lists, self.loss, self.measure, self.k, self.cut = self.lists, "hinge", "auc", 0, True
        self.own = Ball(arrays("query_weights", lists.count)) if "query_weights" in arrays else None
        if self.own is not None and (self.own.mid < 0.0).any():
            raise CertificateError("query_weights must not be negative")
        if table["kind"] == "rankings":
            keys(table, "risk", "kind measure C", "k short")
            if not isinstance(table["measure"], str) or table["measure"] not in MEASURES:
                raise CertificateError("risk: there is no such measure")
            if MEASURES[table["measure"]] != ("k" in table):
                raise CertificateError("risk: k is missing or not wanted with this measure")
            self.measure = table["measure"]
            self.k = natural(table["k"], "k", 1) if "k" in table else 0
            self.cut = "short" not in table
            if not self.cut and (table["short"] != "printed" or not 1 <= self.k <= MAX_HEAD):
                raise CertificateError(f"risk: short can only be 'printed', with a k of at most {MAX_HEAD}")
            share = _positive(table["C"], "C") / lists.count
            self.share, self.margin = Ball.of(share), Ball(0.5)
            pairs, at = np.unique(lists.p * lists.n, return_inverse=True)
            self.units = self._weighed(Ball.of([Ball.of(2 * share / size) for size in pairs.tolist()])[at])
        else:
            keys(table, "risk", "kind loss weight", "margin")
            self.loss = table["loss"]
            if self.loss not in ("hinge", "logistic") or ("margin" in table) != (self.loss == "hinge"):
                raise CertificateError("risk: loss must be hinge (with a margin) or logistic (without)")
            weight = _positive(table["weight"], "weight")
            self.margin = Ball.of(rational(table["margin"], "margin") if "margin" in table else Fraction(0))
            self.units = (Ball(np.ones(lists.count)) if self.own is None else self.own) * Ball.of(weight)

    def _weighed(self, numbers: Ball) -> Ball:
        """Numbers of the queries, each times the weight of its query."""
        return numbers if self.own is None else numbers * self.own

    @property
    def sizes(self) -> dict[str, int]:
        """What there is of everything."""
        return self.lists.sizes

    def operations(self, arrays: Arrays, rank: int, d: int) -> float:
        """About what both bounds take; rankings of the lower one are counted when they are chosen."""
        lists, found = self.lists, arrays.arrays
        n, own = len(lists.X), len(lists.Q)
        held(own, n)
        logistic, ranked = self.loss == "logistic", not self._paired
        smooth = (
            int(np.count_nonzero(found["widths"] > 0.0)) + len(found.get("exceptions", ())) if "widths" in found else 0
        )
        if (logistic or ranked or smooth) and lists.most > MAX_TABLE:
            raise CertificateError(f"a query has {lists.most} pairs; at most {MAX_TABLE} are written out")
        upper = lists.operations(rank, d) + lists.pairs * (LOGISTIC if logistic else RANKING if ranked else 0.0)
        if ranked:
            # Every row of a table is a step, for as many queries of equal lengths as fit in a block.
            sizes, repeats = np.unique(np.column_stack([lists.p, lists.n]), axis=0, return_counts=True)
            blocks = 1.0 + repeats * (sizes[:, 0] + 8.0 * sizes[:, 1]) / BLOCK
            upper += ROW * float((blocks * sizes[:, 0]).sum())
        slopes = lists.pairs * (LOGISTIC if logistic else 20.0 if smooth and not ranked else 0.0)
        lists_of_one = lists.operations(1 if self.diagonal else d, d) + 8.0 * n * lists.count + slopes
        eigen = 0.0 if self.diagonal else 100.0 * MULTIPLY * float(d) ** 3
        lower = len(found.get("witnesses", ())) * (lists_of_one + eigen) + 100.0 * len(found.get("exceptions", ()))
        return upper + lower + _laplacian_operations(own, n, d, self.diagonal)

    def value(self, factor: Array) -> Ball:
        """R at a metric."""
        images = self.lists.images(self.diagonal, factor)
        if self.loss == "hinge" and self.measure == "auc":
            return self._hinges(images)
        count = self.lists.count
        mids, rads = np.zeros(count), np.zeros(count)
        if self.loss == "logistic":
            for q, x, z in self.lists.distances(images):
                s = z[None, :] - x[:, None]
                total = softplus(s, up(2.0 * images.error + U * np.abs(s))).sum()
                mids[q], rads[q] = total.mid, total.rad
            return (Ball(mids, rads) * self.units).sum()
        for rows, gain, x, z in self._sorted(images, np.arange(count)):
            values, errors, _ = worst_rankings(gain, np.sort(x, axis=1), np.sort(z, axis=1), False)
            mids[rows], rads[rows] = values, up(errors + 4.0 * images.error)
        return self._weighed(Ball(mids, rads)).sum() * self.share

    def _hinges(self, images: Images) -> Ball:
        """Sums of ``max(0, margin + x_i - z_j)`` by sorting: with m_i far items nearer than ``x_i + margin``,

        ``sum_i m_i (x_i + margin - z_0) - sum_(j <= m_i) (z_j - z_0)``. An item on the wrong side because of rounding
        changes nothing but by rounding. The error: p n times that of distances and margin and the rounding of
        ``x_i + margin``, and, D being the largest number in brackets, (n + p + 8) u relative of 2 p n D.
        """
        margin, rho = float(self.margin.mid), float(self.margin.rad)
        mids, rads = np.zeros(self.lists.count), np.zeros(self.lists.count)
        for q, x, z in self.lists.distances(images):
            z = np.sort(z)
            top = x + margin
            below = np.searchsorted(z, top)
            low = z[0]
            sums = np.concatenate([[0.0], np.cumsum(z - low)])
            high = top - low
            mids[q] = np.sum(below * high - sums[below])
            D = float(np.max([np.abs(high).max(), z[-1] - low]))
            each = 2.0 * images.error + rho + U * float(np.abs(top).max())
            rads[q] = x.size * z.size * (each + 2.0 * gamma(z.size + x.size + 8) * D)
        return (Ball(mids, up(rads)) * self.units).sum()

    def _sorted(self, images: Images, queries: Array) -> Iterator[tuple[Array, Ball, Array, Array]]:
        """Queries of equal lengths of lists together, with their gains and distances of near and far items."""
        lists, gain, before = self.lists, Ball(0.0), (0, 0)
        waiting: list[tuple[int, Array, Array]] = []
        for q, x, z in lists.distances(images, queries[np.lexsort((lists.n[queries], lists.p[queries]))]):
            sizes = x.size, z.size
            if waiting and (sizes != before or len(waiting) * (x.size + 8 * z.size) >= BLOCK):
                rows, near, far = zip(*waiting, strict=True)
                yield np.array(rows), gain, np.array(near), np.array(far)
                waiting = []
            if sizes != before:
                gain, before = gains(self.measure, self.k, *sizes, self.cut), sizes
            waiting.append((q, x, z))
        if waiting:
            rows, near, far = zip(*waiting, strict=True)
            yield np.array(rows), gain, np.array(near), np.array(far)

    def _rankings_at(
        self, images: Images, queries: Array, spend: Callable[[float], None]
    ) -> Iterator[tuple[Array, Array, Array, Array, Ball]]:
        """Queries, the order of their near and of their far items, and far items above each near one."""
        for rows, gain, x, z in self._sorted(images, queries):
            near, far = np.argsort(x, axis=1, kind="stable"), np.argsort(z, axis=1, kind="stable")
            x, z = np.take_along_axis(x, near, 1), np.take_along_axis(z, far, 1)
            yield rows, near, far, chosen_rankings(gain, x, z, spend), gain

    def dual(self, table: Any, arrays: Arrays, d: int) -> Says:
        """What slopes, or rankings at witnesses, say. A row of weights has the query's unit as a factor."""
        lists = self.lists
        n, own = len(lists.X), len(lists.Q)
        witnesses = Witnesses(table, arrays, self.diagonal, d, lists.count)
        W, row_error = np.zeros((own, n)), np.zeros(own)
        values, errors = np.zeros(lists.count), np.zeros(lists.count)
        unit, unit_error = self.units.mid, self.units.rad
        for factor, width, weights, queries in witnesses:
            images = lists.images(self.diagonal, factor)
            for q, sums, value, error, terms in self._statements(images, width, queries, witnesses):
                a, anchor = weights[q], lists.anchors[q]
                items = np.concatenate(lists.of(q))
                W[anchor] += np.bincount(items, sums, n) * (a * unit[q])
                # Behind an entry are sums of at most `terms` slopes, the addition of these sums where an item stands
                # in the lists more than once, at most `terms` times, two products, and the unit's error; then the
                # addition to the weights of before.
                size = a * float(np.bincount(items, np.abs(sums), n).max())
                row_error[anchor] += size * (gamma(2 * terms + 8) * unit[q] + unit_error[q])
                row_error[anchor] += U * float(np.abs(W[anchor]).max())
                values[q] += a * value
                errors[q] += a * error + U * (abs(a * value) + abs(values[q]))
        if self.loss == "logistic":
            total = Ball(values, up(errors)) * self.units
        else:
            said = Ball(values, up(errors))
            total = said * (self.units * self.margin) if self._paired else self._weighed(said) * self.share
        S = laplacian(self.diagonal, lists.Q, lists.X, Ball(W, up(row_error)[:, None]), balanced=True)
        return Says(total.sum(), S)

    @property
    def _paired(self) -> bool:
        return self.measure == "auc"

    def _statements(
        self, images: Images, width: float, queries: Array, witnesses: Witnesses
    ) -> Iterator[tuple[int, Array, float, float, int]]:
        """Query, coefficients of near and far items, value and its error, and how many numbers a coefficient sums."""
        if not self._paired:
            for rows, near, far, b, gain in self._rankings_at(images, queries, witnesses.spend):
                p, n = near.shape[1], far.shape[1]
                index = np.arange(p)
                radii = np.broadcast_to(gain.rad, gain.mid.shape)
                for q, order, other, above in zip(rows, near, far, b, strict=True):
                    sums = np.empty(p + n)
                    sums[order] = -above
                    # Far item j is above the near items with b_i > j.
                    sums[p + other] = p - np.searchsorted(above, np.arange(n), side="right")
                    score = Ball(gain.mid[index, above], radii[index, above]).sum()
                    loss = Ball(1.0) - score
                    yield int(q), sums, float(loss.mid), float(loss.rad), 1
            return
        margin = float(self.margin.mid)
        begin = np.searchsorted(witnesses.places[:, 0], np.arange(self.lists.count + 1))
        for q, x, z in self.lists.distances(images, queries):
            own = slice(begin[q], begin[q + 1])
            near, far = witnesses.places[own, 1], witnesses.places[own, 2]
            if near.size and (near.max() >= x.size or far.max() >= z.size):
                raise CertificateError("an exception names a place outside of its list")
            terms = x.size + z.size
            if self.loss == "hinge" and width <= 0.0 and not near.size:
                # Slopes 0 and 1: their sums are integers, from sorted lists.
                top = x + margin
                order = np.sort(top)
                sums = np.concatenate([-np.searchsorted(np.sort(z), top), x.size - np.searchsorted(order, z, "right")])
                sums = sums.astype(np.float64)
                yield q, sums, -float(sums[: x.size].sum()), 0.0, 1
                continue
            if self.loss == "logistic":
                with np.errstate(over="ignore"):
                    slopes = np.clip(1.0 / (1.0 + np.exp(z[None, :] - x[:, None])), 0.0, 1.0)
            else:
                t = (x + margin)[:, None] - z[None, :]
                slopes = np.clip(0.5 + t / width, 0.0, 1.0) if width > 0.0 else (t > 0.0).astype(np.float64)
            slopes[near, far] = witnesses.slopes[own]
            by_near = slopes.sum(axis=1)
            sums = np.concatenate([-by_near, slopes.sum(axis=0)])
            if self.loss == "logistic":
                value = entropy(slopes).sum()
                yield q, sums, float(value.mid), float(value.rad), terms
            else:
                total = float(by_near.sum())
                yield q, sums, total, gamma(terms) * total, terms


LOSSES = {
    "hinge": (0.0, 1.0),
    "absolute": (-1.0, 1.0),
    "squared": (-np.inf, np.inf),
    "logistic": (0.0, 1.0),
    "hard": (0.0, np.inf),
}
r"""Losses of one comparison s and the box of their slopes a, :math:`\ell(s) \ge v(a) - a s`:

hinge, :math:`\max(0, \mu - s)`; absolute, :math:`|\mu - s|`; all with :math:`v = \mu a`; squared,
:math:`(\mu - s)^2`, :math:`v = \mu a - a^2 / 4`; logistic, :math:`\ln(1 + e^{-s})`, v the binary entropy of a; hard,
the constraint :math:`s \ge \mu`, :math:`v = \mu a`.
"""


@dataclass
class Term:
    """A loss with its weight, its mu, and the sign of the squared distance in s."""

    loss: str
    weight: Ball
    mu: Ball
    sign: float

    @classmethod
    def of(cls, table: Any) -> Term:
        """Read one."""
        keys(table, "term", "loss weight margin sign")
        known = isinstance(table["loss"], str) and table["loss"] in LOSSES
        if not known or isinstance(table["sign"], bool) or table["sign"] not in (1, -1):
            raise CertificateError("term: there is no such loss, or sign is not 1 or -1")
        weight, mu = _positive(table["weight"], "weight"), rational(table["margin"], "margin")
        if table["loss"] == "hard" and weight != 1:
            raise CertificateError("term: a hard margin has the weight 1")
        return cls(table["loss"], Ball.of(weight), Ball.of(mu), float(table["sign"]))

    def values(self, s: Array, error: float, mu: Ball) -> Ball:
        """``l(s)`` of floats s that are wrong by at most ``error``, without the weight."""
        if self.loss == "logistic":
            return softplus(s, error)
        t = mu - Ball(s, np.full(s.shape, error))
        if self.loss == "hard":
            if np.all(t.above() <= 0.0):
                return Ball(np.zeros_like(s))
            raise NotProven("a hard margin is not proven to hold")
        if self.loss == "hinge":
            return t.positive_part()
        if self.loss == "absolute":
            return Ball(np.abs(t.mid), t.rad)
        return t * t

    def duals(self, a: Array, mu: Ball) -> Ball:
        """``v(a)`` of slopes in their box, without the weight."""
        if self.loss == "logistic":
            return entropy(a)
        v = mu * Ball(a)
        return v - Ball(a) * Ball(a) * 0.25 if self.loss == "squared" else v

    def clipped(self, a: Array) -> Array:
        """Slopes in their box."""
        return np.clip(a, *LOSSES[self.loss])


class ListedRisk:
    """Listed comparisons, and all pairs of points with labels."""

    def __init__(self, table: dict[str, Any], arrays: Arrays, diagonal: bool, d: int) -> None:
        self.diagonal = diagonal
        self.X = arrays.points("points", d)
        keys(table, "risk", "kind terms")
        if not isinstance(table["terms"], list) or not 1 <= len(table["terms"]) <= 64:
            raise CertificateError("risk: terms must be a list of at most 64 losses")
        self.terms = [Term.of(term) for term in table["terms"]]
        n = len(self.X)
        held(n, n)
        self.codes = None
        if table["kind"] == "all pairs":
            if len(self.terms) != 2:
                raise CertificateError("risk: all pairs have two terms, of equal and of different labels")
            self.codes = arrays("codes", n, integers=n)
            if n * (n - 1) // 2 > MAX_LENGTH:
                raise CertificateError(f"there are more than {MAX_LENGTH} pairs of points")
            self.i, self.j = np.triu_indices(n, 1)
            self.k = None
            self.kind = (self.codes[self.i] != self.codes[self.j]).astype(np.int8)
        else:
            name = "triplets" if "triplets" in arrays else "pairs"
            rows = arrays(name, None, 3 if name == "triplets" else 2, integers=n)
            self.i, self.j = rows[:, 0], rows[:, 1]
            self.k = rows[:, 2] if name == "triplets" else None
            self.kind = arrays("terms", len(rows), integers=len(self.terms))
        self.targets = arrays("targets", len(self.i)) if "targets" in arrays else None
        self.weights = arrays("comparison_weights", len(self.i)) if "comparison_weights" in arrays else None
        if self.weights is not None and (self.weights < 0.0).any():
            raise CertificateError("comparison_weights must not be negative")

    @property
    def sizes(self) -> dict[str, int]:
        """What there is of everything."""
        return {"points": len(self.X), "pairs" if self.k is None else "triplets": len(self.i)}

    def operations(self, arrays: Arrays, rank: int, d: int) -> float:
        """About what both bounds take."""
        n, rank = len(self.X), max(rank, 1)
        held(n, rank)
        logistic = LOGISTIC if any(term.loss == "logistic" for term in self.terms) else 0.0
        each = 8.0 * rank + 200.0 + 2.0 * logistic + len(self.terms)
        distances = MULTIPLY * n * d * rank + len(self.i) * each
        return distances + 30.0 * float(n) * n + _laplacian_operations(n, n, d, self.diagonal)

    def _by_term(self) -> Iterator[tuple[Term, Array]]:
        """Terms with their comparisons, a block at a time."""
        for number, term in enumerate(self.terms):
            rows = np.flatnonzero(self.kind == number)
            step = BLOCK // 16 if term.loss == "logistic" else BLOCK
            for at in range(0, len(rows), step):
                yield term, rows[at : at + step]

    def _mu(self, term: Term, rows: Array) -> Ball:
        return term.mu if self.targets is None else Ball(self.targets[rows])

    def _weighted(self, term: Term, rows: Array, values: Ball) -> Ball:
        return (values if self.weights is None else values * Ball(self.weights[rows])).sum() * term.weight

    def value(self, factor: Array) -> Ball:
        """R at a metric."""
        images = Images(self.diagonal, factor, self.X)
        total = Ball(0.0)
        for term, rows in self._by_term():
            s = images.listed(self.i[rows], self.j[rows])
            error = images.error
            if self.k is not None:
                s = images.listed(self.i[rows], self.k[rows]) - s
                error = 2.0 * error + U * float(np.abs(s).max(initial=0.0))
            values = term.values(term.sign * s, up(error), self._mu(term, rows))
            total = total + self._weighted(term, rows, values)
        return total

    def dual(self, table: Any, arrays: Arrays, d: int) -> Says:
        """What the slopes say, each in its box."""
        keys(table, "dual", "kind")
        slopes, total = arrays("slopes", len(self.i)), Ball(0.0)
        weights = np.zeros(len(self.i))
        worst = np.zeros(())
        for term, rows in self._by_term():
            a = term.clipped(slopes[rows])
            total = total + self._weighted(term, rows, term.duals(a, self._mu(term, rows)))
            u = Ball(a) * (term.weight * term.sign)
            if self.weights is not None:
                u = u * Ball(self.weights[rows])
            weights[rows] = u.mid
            worst = np.maximum(worst, np.max(u.rad, initial=0.0))
        n = len(self.X)
        # An entry sums at most `most` weights, each wrong by at most `worst`.
        ends, signs = [self.j], [1.0]
        if self.k is not None:
            ends, signs = [self.j, self.k], [-1.0, 1.0]
        at = np.concatenate([self.i * n + end for end in ends])
        parts = np.concatenate([sign * weights for sign in signs])
        W, counts = (np.bincount(at, numbers, n * n).reshape(n, n) for numbers in (parts, np.ones(len(at))))
        size = float(np.bincount(at, np.abs(parts)).max(initial=0.0))
        most = int(counts.max(initial=0.0))
        rad = np.where(counts > 0.0, up(most * worst + gamma(most) * size), 0.0)
        return Says(total, laplacian(self.diagonal, self.X, self.X, Ball(W, rad), balanced=self.k is not None))


def held(rows: int, columns: int) -> None:
    """Refuse a matrix that is too large to be held."""
    if rows * columns > MAX_NUMBERS:
        raise CertificateError(f"a matrix of {rows} rows and {columns} columns has more than {MAX_NUMBERS} numbers")


def _laplacian_operations(queries: int, points: int, d: int, diagonal: bool) -> float:
    both = 0.0 if diagonal else float(queries + points) * d * d
    return 3.0 * MULTIPLY * (float(queries) * points * d + both) + 20.0 * float(queries) * points


def _positive(text: Any, what: str) -> Fraction:
    value = rational(text, what)
    if value <= 0 or not Fraction(1, 10**200) < value < 10**200:
        raise CertificateError(f"{what} must be positive, and between 1e-200 and 1e200")
    return value


# Regularizers ---------------------------------------------------------------------------------------------------------


def top(diagonal: bool, A: Ball) -> Fraction:
    """An upper bound on the largest eigenvalue (or entry): ``t + ||t I - A - F F^T||_F`` for any t and F."""
    if diagonal:
        return _number(A.above().max())
    values, vectors = _eigen(A)
    t = float(values[-1])
    F = vectors * np.sqrt(np.maximum(t - values, 0.0))
    rest = Ball(t * np.eye(len(values))) - A - Ball(F) @ Ball(F.T)
    return _number(t) + rest.norm().upper()


def norm_of_positive_part(diagonal: bool, A: Ball) -> Fraction:
    """An upper bound on ``||[A]_+||_F``, the distance of A from the negative cone: ``||A + F F^T||_F`` for any F."""
    if diagonal:
        return Ball(np.maximum(A.above(), 0.0)).norm().upper()
    values, vectors = _eigen(A)
    F = vectors * np.sqrt(np.maximum(-values, 0.0))
    return (A + Ball(F) @ Ball(F.T)).norm().upper()


def _eigen(A: Ball) -> tuple[Array, Array]:
    """Eigenvalues and eigenvectors in floats, a hint."""
    try:
        if np.isfinite(A.mid).all():
            return np.linalg.eigh(0.5 * (A.mid + A.mid.T))
    except np.linalg.LinAlgError:
        pass
    raise NotProven("the eigenvalues of the dual matrix were not found")


def _number(value: Any) -> Fraction:
    if not math.isfinite(value):
        raise NotProven("a number overflowed or is not a number")
    return Fraction(float(value))


@dataclass
class Regularizer:
    """``Omega``: its name and weight.

    Of a quadratic form also the matrix, whether that is known to be positive semidefinite, and its nonzero rows.
    """

    name: str
    weight: Ball
    L: Ball | None = None
    convex: bool = True
    rows: Array | None = None

    @classmethod
    def of(cls, table: Any, arrays: Arrays, diagonal: bool, d: int, points: Array) -> Regularizer:
        """Read one."""
        if not isinstance(table, dict) or table.get("kind") not in (*NORMS, "quadratic form"):
            raise CertificateError("regularizer: there is no such kind")
        if table["kind"] != "quadratic form":
            keys(table, "regularizer", "kind weight", "over_root_of")
            weight = Ball.of(_positive(table["weight"], "weight"))
            if "over_root_of" in table:
                weight = weight / Ball(float(natural(table["over_root_of"], "over_root_of", 1))).sqrt()
            return cls(table["kind"], weight)
        keys(table, "regularizer", "kind of")
        if not diagonal:
            raise CertificateError("regularizer: quadratic forms are for diagonal metrics")
        if table["of"] == "gram of A":
            # (A^T A) o (A^T A) is positive semidefinite by Schur's theorem, with nonnegative entries.
            A = arrays("gram_of", None, d)
            gram = Ball(A.T) @ Ball(A)
            return cls("quadratic form", Ball(1.0), gram * gram)
        if table["of"] not in ("squared points", "matrix"):
            raise CertificateError("regularizer: a quadratic form is of 'gram of A', 'squared points' or 'matrix'")
        given = points if table["of"] == "squared points" else arrays("form", d, d)
        if given.shape != (d, d) or (given != given.T).any() or (table["of"] == "matrix" and (given < 0.0).any()):
            raise CertificateError("regularizer: the matrix must be symmetric, without negative entries")
        L = Ball(given) * Ball(given) if table["of"] == "squared points" else Ball(given)
        return cls("quadratic form", Ball(1.0), L, convex=False, rows=np.flatnonzero(given.any(axis=0)))

    def value(self, diagonal: bool, factor: Array) -> Ball:
        """``Omega`` at a metric."""
        if self.name == "trace":
            return (Ball(factor).sum() if diagonal else (Ball(factor) * Ball(factor)).sum()) * self.weight
        if self.L is not None:
            w = Ball(factor[:, None])
            return (w * (self.L @ w)).sum() * 0.5
        M = Ball(factor) if diagonal else Ball(factor) @ Ball(factor.T)
        return M.norm() * self.weight if self.name == "frobenius" else (M * M).sum() * self.weight * 0.5


NORMS = ("trace", "frobenius", "squared frobenius")


def lower_bound(
    regularizer: Regularizer, diagonal: bool, says: Says, G: Array | None, upper: Fraction, hint: Array
) -> Fraction:
    r"""A lower bound on F from ``R(M) >= v - <S, M>``.

    Trace and norm: :math:`f(\theta) = \lambda_{\max}(\theta S - G)`, or :math:`\|[\theta S - G]_+\|_F`, at most
    :math:`\lambda` proves :math:`\theta v`. f is convex, so that :math:`f(\tau \theta) \le (1 - \tau) f(0) + \tau
    f(\theta)` makes up for what rounding left; and :math:`f(0) \le \lambda` proves 0. Squared norm:
    :math:`\theta v - \|[\theta S - G]_+\|^2 / (2 \lambda)`. Quadratic form: :func:`_quadratic`.
    """
    v, S = says.value.lower(), says.S
    if regularizer.L is not None:
        return _quadratic(regularizer, v, S, G, upper, hint)
    weight = regularizer.weight
    if regularizer.name == "squared frobenius":
        P = norm_of_positive_part(diagonal, S if G is None else S - Ball(G)) ** 2 / weight.lower()
        if G is not None:
            return v - P / 2
        share = _ratio(v, P)
        return max(share * v - share * share * P / 2, Fraction(0))
    f = top if regularizer.name == "trace" else norm_of_positive_part
    least = weight.lower()
    theta = 1.0
    if G is not None:
        theta = _share(regularizer.name, diagonal, S.mid, G, float(weight.mid))
    reached = f(diagonal, S * theta if G is None else S * theta - Ball(G))
    start = Fraction(0) if G is None else f(diagonal, Ball(-G))
    share = Fraction(theta)
    if reached > least:
        if start > least:
            raise NotProven("the dual point is not feasible, and neither is zero")
        share *= (least - start) / (reached - start)
    return max(share * v, Fraction(0)) if start <= least else share * v


def _ratio(v: Fraction, square: Fraction) -> Fraction:
    """About the best share of a dual point worth ``share v - share^2 square / 2``: ``v / square`` in [0, 1]."""
    return Fraction(1) if v >= square else Fraction(float(v / square)) if v > 0 else Fraction(0)


def _share(name: str, diagonal: bool, S: Array, G: Array, weight: float) -> float:
    """About the largest feasible theta, by bisection; a hint."""

    def fits(theta: float) -> bool:
        A = theta * S - G
        values = A if diagonal else np.linalg.eigvalsh(0.5 * (A + A.T))
        size = values.max() if name == "trace" else np.sqrt(np.sum(np.maximum(values, 0.0) ** 2))
        return bool(size <= weight)

    try:
        if not np.isfinite(S).all() or fits(1.0):
            return 1.0
        low, high = 0.0, 1.0
        for _ in range(52):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if fits(middle) else (low, middle)
    except np.linalg.LinAlgError:
        return 0.0
    return low


def _quadratic(regularizer: Regularizer, v: Fraction, S: Ball, G: Array | None, upper: Fraction, z: Array) -> Fraction:
    r"""From z with :math:`L z \ge S - G` entry by entry: for :math:`w \ge 0`

    .. math:: \theta v - \theta \langle S - G, w \rangle + \tfrac12 w^\top L w
       \ge \theta v - \tfrac12 \theta^2 z^\top L z + \tfrac12 (w - \theta z)^\top L (w - \theta z).

    If L is only known to have no eigenvalue below :math:`-\epsilon` (floats of a kernel matrix), the last term is at
    least :math:`-\frac{\epsilon}{2} (\|w\| + \|z\|)^2`, and a w that does better than the upper bound has, as L has
    no negative entry and R is nonnegative, :math:`L_{ii} w_i^2 \le w^\top L w \le 2 \cdot` upper (without G).
    """
    L = regularizer.L
    assert L is not None
    target = (S if G is None else S - Ball(G)).above()
    sums = L.sum(1).below()
    if not np.isfinite(target).all():
        raise NotProven("the dual matrix overflowed")
    for _ in range(60):
        reach = (L @ Ball(z[:, None]))[:, 0].below()
        missing = target - reach
        short = ~(missing <= 0.0)
        if not short.any():
            break
        if (sums[short] <= 0.0).any():
            raise NotProven("no z has L z >= S")
        z = z + (1.0 + 2.0**-40) * float((missing[short] / sums[short]).max())
    else:
        raise NotProven("no z with L z >= S was found")
    Z = Ball(z[:, None])
    square = max((Z * (L @ Z)).sum().upper(), Fraction(0))
    share = _ratio(v, square) if G is None else Fraction(1)
    bound = share * v - share * share * square / 2
    if regularizer.convex:
        return max(bound, Fraction(0)) if G is None else bound
    if G is not None:
        raise NotProven("a quadratic form that is not proven convex goes without a linear term")
    epsilon = max(top(False, -L), Fraction(0))
    smallest = L.mid.diagonal() - np.broadcast_to(L.rad, L.mid.shape).diagonal()
    rows = regularizer.rows
    assert rows is not None
    if (smallest[rows] <= 0.0).any():
        raise NotProven("the quadratic form has a zero on its diagonal")
    # Rows of zeros do not matter for L; the others bound the weights.
    size = Fraction(float(smallest[rows].min() * (1.0 - 4.0 * U))) if rows.size else Fraction(1)
    longest = 2 * (2 * upper / size) + 2 * Ball(z).norm().upper() ** 2
    return max(bound - epsilon * longest / 2, Fraction(0))


# Verdicts -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Verdict:
    """What was proven about the problem of a file.

    Attributes
    ----------
    accepted : bool
        Whether the bounds that the file claims are proven.
    lower, upper : Fraction or None
        Proven bounds on the optimal value; None where nothing is proven.
    claimed : (Fraction, Fraction)
        What the file claims.
    reason : str
        Why it is not accepted; empty if it is.
    title, problem : str
        The file's title, and the problem in words, with all its parameters.
    seconds : float
    description : dict
        The problem as the file describes it.
    sizes : dict
        Numbers of features, points, queries, pairs or triplets.
    sha256 : str
        Hash of the statement: of its description and all its arrays.
    """

    accepted: bool
    lower: Fraction | None
    upper: Fraction | None
    claimed: tuple[Fraction, Fraction]
    reason: str
    title: str
    problem: str
    seconds: float
    description: dict[str, Any] = field(repr=False, compare=False, default_factory=dict)
    sizes: dict[str, int] = field(repr=False, compare=False, default_factory=dict)
    sha256: str = ""

    def __str__(self) -> str:
        return (
            f"title:     {self.title!a}\n"
            f"problem:   {self.problem}\n"
            f"sizes:     {', '.join(f'{count} {name}' for name, count in self.sizes.items())}\n"
            f"statement: sha256 {self.sha256}\n"
            f"proven:    {decimal(self.lower, -1)} <= optimum <= {decimal(self.upper, 1)}\n"
            f"claimed:   {decimal(self.claimed[0], -1)} <= optimum <= {decimal(self.claimed[1], 1)}\n"
            f"{'accepted' if self.accepted else f'NOT accepted: {self.reason}'} ({self.seconds:.2f} s)"
        )


def rounded(value: Fraction, away: int, digits: int = 17) -> Fraction:
    """The next number of so many decimal digits above (``away = 1``) or below (``-1``)."""
    if value == 0:
        return value
    size = abs(value)
    exponent = len(str(size.numerator)) - len(str(size.denominator)) - digits
    scale = Fraction(10) ** exponent
    return (math.ceil(value / scale) if away > 0 else math.floor(value / scale)) * scale


def decimal(value: Fraction | None, away: int) -> str:
    """A bound in decimals, rounded outward: the text is a bound too."""
    if value is None:
        return "nothing"
    # A fraction of at most 18 decimal digits, so that the division is exact.
    value = rounded(value, away)
    return f"{Context(prec=40).divide(Decimal(value.numerator), Decimal(value.denominator)):g}"


class Problem:
    """The problem of a file, read and checked."""

    def __init__(self, document: dict[str, Any], arrays: Arrays) -> None:
        table = document["problem"]
        keys(table, "problem", "cone features risk regularizer linear", "constant")
        if table["cone"] not in ("psd", "diagonal") or not isinstance(table["linear"], bool):
            raise CertificateError("problem: cone must be 'psd' or 'diagonal', and linear true or false")
        self.diagonal = table["cone"] == "diagonal"
        self.d = natural(table["features"], "features", 1)
        if not self.diagonal:
            held(self.d, self.d)
        self.constant = rational(table.get("constant", "0"), "constant")
        kind = table["risk"].get("kind") if isinstance(table["risk"], dict) else None
        if not isinstance(kind, str) or kind not in RISKS:
            raise CertificateError("risk: there is no such kind")
        self.risk = RISKS[kind](table["risk"], arrays, self.diagonal, self.d)
        points = self.risk.lists.X if isinstance(self.risk, ListRisk) else self.risk.X
        self.regularizer = Regularizer.of(table["regularizer"], arrays, self.diagonal, self.d, points)
        self.G = None
        if table["linear"]:
            self.G = arrays("linear", self.d) if self.diagonal else arrays("linear", self.d, self.d)
            if not self.diagonal and (self.G != self.G.T).any():
                raise CertificateError("linear must be a symmetric matrix")
        #: Arrays of the statement; what is asked for later are hints.
        self.arrays = {name: arrays.arrays[name] for name in arrays.used}
        self.sha256 = statement_digest(table, self.arrays)
        self.sizes = {"features": self.d, **self.risk.sizes}
        self.words = (
            f"minimise {_words(table['risk'])} + {_words(table['regularizer'])} over "
            f"{'nonnegative diagonal' if self.diagonal else 'positive semidefinite'} metrics, with "
            f"{'a' if table['linear'] else 'no'} linear term and the constant {self.constant}"
        )

    def operations(self, arrays: Arrays, rank: int) -> float:
        """About what both bounds take."""
        d = self.d
        held(rank, d if self.diagonal else max(d, rank))
        eigen = 0.0 if self.diagonal else (600.0 if self.G is not None else 100.0) * float(d) ** 3
        form = 1e3 * float(d) * d if self.regularizer.L is not None else 0.0
        eigen += 0.0 if self.regularizer.L is None or self.regularizer.convex else 100.0 * float(d) ** 3
        product = 0.0 if self.diagonal else 10.0 * float(rank) * (rank + d) * d
        return self.risk.operations(arrays, rank, d) + MULTIPLY * (eigen + product) + form

    def upper(self, factor: Array) -> Fraction:
        """F at the metric of a factor, without the constant."""
        value = self.risk.value(factor) + self.regularizer.value(self.diagonal, factor)
        if self.G is not None:
            product = Ball(factor) * Ball(self.G) if self.diagonal else Ball(factor) * (Ball(factor) @ Ball(self.G))
            value = value + product.sum()
        return value.upper()


def _words(table: dict[str, Any]) -> str:
    """A risk or regularizer with all its parameters; its texts have been checked to be names and rationals."""
    said = [f"{key} {table[key]}" for key in sorted(table) if key not in ("kind", "terms")]
    said += [
        f"{term['loss']} of weight {term['weight']}, margin {term['margin']}, sign {term['sign']}"
        for term in table.get("terms", ())
    ]
    return f"{table['kind']} ({'; '.join(said)})"


RISKS: dict[str, Callable[..., Any]] = {
    "pairs of lists": ListRisk,
    "rankings": ListRisk,
    "listed comparisons": ListedRisk,
    "all pairs": ListedRisk,
}


def prove(
    document: dict[str, Any], arrays: Mapping[str, Array], max_work: float = MAX_WORK
) -> tuple[Problem, Fraction | None, Fraction | None, str]:
    """The problem, its proven bounds, rounded outward to 17 digits, and what went wrong."""
    arithmetic()
    given = Arrays(arrays, max_work)
    lower = upper = None
    reason = ""
    with np.errstate(all="ignore"):
        problem = Problem(document, given)
        d = problem.d
        if problem.diagonal:
            factor = given("weights_of_metric", d)
            if (factor < 0.0).any():
                raise CertificateError("weights_of_metric must not be negative")
        else:
            factor = given("factor", None, d)
        hint = factor
        if problem.regularizer.L is not None and "hint" in given:
            hint = given("hint", d)
        table = document["dual"]
        kind = "witnesses" if isinstance(problem.risk, ListRisk) else "slopes"
        if not isinstance(table, dict) or table.get("kind") != kind:
            raise CertificateError(f"dual: kind must be {kind!r} for this risk")
        given.spend(problem.operations(given, 1 if problem.diagonal else len(factor)))
        try:
            upper = problem.upper(factor)
        except NotProven as error:
            reason = f"upper bound: {error}"
        try:
            says = problem.risk.dual(table, given, d)
            if upper is not None or problem.regularizer.convex:
                lower = lower_bound(problem.regularizer, problem.diagonal, says, problem.G, upper or Fraction(0), hint)
        except NotProven as error:
            reason = f"{reason}; lower bound: {error}".lstrip("; ")
    unused = set(given.arrays) - given.used
    if unused:
        raise CertificateError(f"arrays that nothing speaks of: {', '.join(sorted(unused))}")
    ends = [None if end is None else rounded(end + problem.constant, way) for end, way in ((lower, -1), (upper, 1))]
    return problem, ends[0], ends[1], reason


def verify(path: Any, max_bytes: int = MAX_BYTES, max_work: float = MAX_WORK) -> Verdict:
    """Prove bounds from a certificate file and compare them with those it claims.

    Parameters
    ----------
    path : path
        A file as ``docs/certificate-format.md`` describes it.
    max_bytes : int
        No file is read that is larger, packed or unpacked.
    max_work : float
        No proof is done that takes more operations, each about a nanosecond of one core.

    Returns
    -------
    Verdict
        The bounds that were proved, and whether they are those that the file claims.

    Raises
    ------
    CertificateError
        If the file is damaged, malformed, too large, or its arrays have other hashes than it says; or if this machine
        does not compute as the proof assumes.
    """
    return judge(*read(Path(path), max_bytes), max_work)


def judge(document: dict[str, Any], arrays: Mapping[str, Array], max_work: float = MAX_WORK) -> Verdict:
    """:func:`verify` of the contents of a file, as :func:`read` returns them."""
    start = time.perf_counter()
    with refusals("the problem"):
        keys(document["claimed"], "claimed", "lower upper")
        claimed = tuple(rational(document["claimed"][end], end) for end in ("lower", "upper"))
        title = document["title"]
        if not isinstance(title, str) or len(title) > 500 or not title.isprintable():
            raise CertificateError("title must be a line of at most 500 letters")
        problem, lower, upper, reason = prove(document, arrays, max_work)
    if lower is not None and upper is not None and not reason:
        if claimed[0] > lower:
            reason = "the lower bound claimed is larger than the one proven"
        elif claimed[1] < upper:
            reason = "the upper bound claimed is smaller than the one proven"
    return Verdict(
        not reason, lower, upper, (claimed[0], claimed[1]), reason, title, problem.words,
        time.perf_counter() - start, document["problem"], problem.sizes, problem.sha256,
    )  # fmt: skip


def main(arguments: list[str] | None = None) -> int:
    """Exit code 0: proven; 1: not proven; 2: refused."""
    parser = argparse.ArgumentParser(description="Prove the bounds of a certificate file in exact arithmetic.")
    parser.add_argument("file", type=Path)
    parser.add_argument("--max-bytes", type=int, default=MAX_BYTES)
    parser.add_argument("--max-work", type=float, default=MAX_WORK)
    said = parser.parse_args(arguments)
    try:
        verdict = verify(said.file, said.max_bytes, said.max_work)
        with refusals("the verdict"):
            print(verdict, flush=True)
    except CertificateError as error:
        print(f"refused: {error}", file=sys.stderr)
        return 2
    return 0 if verdict.accepted else 1


if __name__ == "__main__":
    sys.exit(main())
