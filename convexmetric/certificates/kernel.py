r"""The kernel of proofs: evaluates the two bounds of a certificate, and searches for nothing.

.. math:: \min_{M \in K} \; F(M) = R(M) + \langle G, M \rangle + \Omega(M)

*Upper bound*: F at the metric of the file. *Lower bound*: its dual point says :math:`R(M) \ge v - \langle S, M
\rangle`; R is nonnegative, so that a share :math:`0 \le \theta \le 1` of this is true, too; and a *cap* P with
:math:`P \succeq \theta S - G` leaves :math:`F(M) \ge \theta v - \langle P, M \rangle + \Omega(M)`.
The statement, what is to be shown of a file, and the theorems with their proofs are in ``docs/certificate-format.md``.

It imports NumPy and the standard library only, and runs alone: ``python kernel.py FILE ...``, for files that are not
made to exhaust the machine; ``checker.py`` reads those of strangers.

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
import copy
import hashlib
import json
import math
import re
import sys
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

__all__ = ["Ball", "CertificateError", "NotProven", "Problem", "Proof", "contents", "prove"]

Array = NDArray[Any]
Table = dict[str, Any]
Contents = tuple[Table, Mapping[str, Array]]

FORMAT, VERSION = "convexmetric-certificate", 2
#: The largest number of risks of a sum, and what the arrays of each begin with.
MAX_SUMMANDS, SUMMAND = 16, "summand{}_"
#: Arrays of dual points, of which every part of a certificate has those of its rows.
OF_ROWS = ("near_sums", "far_sums", "steps", "weights", "groups", "slopes")
#: Unit roundoff, the safety factor of radii, and what is added to them and to norms because of underflow.
U, GROW, TINY, FLOOR = 2.0**-53, 1.0 + 2.0**-20, 2.0**-900, 2.0**-480
#: Integers up to this are floats; numbers held in a block.
WHOLE, BLOCK = 2**53, 2**21


class CertificateError(Exception):
    """The file is no certificate: damaged, malformed, too large, or not what its hashes say."""

    def __init__(self, message: str) -> None:
        super().__init__(re.sub("[^ -~]", lambda found: ascii(found[0])[1:-1], message)[:500])


class NotProven(Exception):  # noqa: N818 - not an error of the file
    """The numbers of the file prove no bound; the message says which step fails."""


def demand(holds: Any, message: str) -> None:
    """Refuse a file that is no certificate."""
    if not holds:
        raise CertificateError(message)


def show(holds: Any, message: str) -> None:
    """Stop a proof that fails."""
    if not holds:
        raise NotProven(message)


# Arithmetic -----------------------------------------------------------------------------------------------------------


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

    def __truediv__(self, other: Any) -> Ball:
        """Division by balls of positive numbers: ``|a/b - A/B| <= (rA + |A/B| rB) / (B - rB)``, and rounding.

        The float quotient errs by at most ``u |A/B|``, or by 2^-1075 where it is subnormal, so that ``|A/B|`` is below
        ``GROW`` times it plus ``TINY``. A product that underflows errs by 2^-1075, which a small divisor magnifies
        beyond what :func:`up` makes good for: 2^-1070 is added before the division. The difference ``B - rB`` is exact
        where it is subnormal, and so is not rounded up.
        """
        other = Ball.of(other)
        least = (other.mid - other.rad) * (1.0 - 4.0 * U)
        show(np.all(least > 0.0), "a divisor is not proven to be positive")
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
        """Upper ends, as floats; exact where the radius is zero."""
        end = self.mid + self.rad
        return end + (np.abs(end) * (4.0 * U) + TINY) * (self.rad > 0.0)

    def below(self) -> Any:
        """Lower ends, as floats."""
        return -(-self).above()

    def upper(self) -> Fraction:
        """Upper end of one number, exactly."""
        return exactly(self.mid) + exactly(self.rad)

    def lower(self) -> Fraction:
        """Lower end of one number, exactly."""
        return exactly(self.mid) - exactly(self.rad)


def exactly(value: Any) -> Fraction:
    """A float as the rational that it is."""
    show(math.isfinite(value), "a number overflowed or is not a number")
    return Fraction(float(value))


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


def exp(x: Ball) -> Ball:
    """``e^x = (e^(x / 2^h))^(2^h)`` for x of at most 700 in size, known to 1/2, with ``|x| / 2^h <= 1/4``.

    The series has 14 terms, the rest of which is at most ``2 |r|^15 / 15!``, below 2e-20 for ``|r| <= 3/8``.
    """
    size = float(np.max(np.abs(x.mid), initial=0.0))
    show(size <= 700.0 and np.all(x.rad <= 0.5), "an exponent is out of range")
    halvings = max(2, math.frexp(size)[1] + 2)
    r, total = x * 2.0**-halvings, Ball(np.ones_like(x.mid))
    for term in range(14, 0, -1):
        total = Ball(1.0) + total * r / float(term)
    total = Ball(total.mid, up(total.rad + 2e-20))
    for _ in range(halvings):
        total = total * total
    return total


def log(x: Ball) -> Ball:
    """``ln x`` for ``x >= 1e-300``: with any guess y, ``|ln x - y| <= e / (1 - e)`` where ``|x e^-y - 1| <= e < 1``."""
    show(np.all(x.mid >= 1e-300) and np.all(np.isfinite(x.mid)), "a logarithm of a number that is not positive")
    guess = np.clip(np.nan_to_num(np.log(x.mid)), -700.0, 700.0)
    error = x * exp(Ball(-guess)) - 1.0
    off = np.maximum(error.above(), -error.below())
    show(np.all(off <= 0.5), "a logarithm could not be confirmed")
    return Ball(guess, up(off / (1.0 - off)))


def softplus(s: Ball) -> Ball:
    """``ln(1 + e^-s)``, of which the slope is at most one."""
    size = np.minimum(np.abs(s.mid), 690.0)
    # Beyond 690 the exponential is positive and below that of -690.
    value = log(exp(Ball(-size)) + 1.0) + Ball(np.maximum(-s.mid, 0.0))
    return Ball(value.mid, up(value.rad + s.rad + np.where(np.abs(s.mid) > 690.0, 1e-290, 0.0)))


def entropy(p: Array) -> Ball:
    """``-p ln p - (1 - p) ln(1 - p)`` of floats in [0, 1]; of p outside [1e-300, 1 - 2^-54] zero, which is below it."""
    inside = (p >= 1e-300) & (p < 1.0)
    q = Ball(np.where(inside, p, 0.5))
    rest = Ball(1.0) - q
    value = -(q * log(q) + rest * log(rest))
    return Ball(np.where(inside, value.mid, 0.0), np.where(inside, value.rad, 0.0))


def rounded(value: Fraction, away: int, digits: int = 17) -> Fraction:
    """The next number of so many decimal digits above (``away = 1``) or below (``-1``)."""
    if value == 0:
        return value
    scale = Fraction(10) ** (len(str(abs(value.numerator))) - len(str(value.denominator)) - digits)
    scale = scale * 10 if abs(value) >= scale * 10**digits else scale
    return (math.ceil(value / scale) if away > 0 else math.floor(value / scale)) * scale


# Files ----------------------------------------------------------------------------------------------------------------


def contents(path: Path) -> Contents:
    """Description and arrays of a file that one trusts not to be made to exhaust the machine."""
    with zipfile.ZipFile(path) as archive:
        document, arrays = json.loads(archive.read("certificate.json")), {}
        names = [name for name in archive.namelist() if name != "certificate.json"]
        for name in names:
            with archive.open(name) as member:
                arrays[name.removesuffix(".npy")] = np.lib.format.read_array(member, allow_pickle=False)
    demand(len(arrays) == len(names), "the file has an array twice")
    return checked(document, arrays)


def checked(document: Any, arrays: Mapping[str, Array]) -> Contents:
    """The same, if it is of this format and version and has the hashes that it says."""
    keys(document, "certificate.json", "format version title problem dual claimed sha256")
    how = ": write it anew from its problem and solution (write_certificate)" if document["version"] == 1 else ""
    known = document["format"] == FORMAT and document["version"] == VERSION
    demand(known, f"the file is not a {FORMAT} of version {VERSION}{how}")
    hashes = document["sha256"]
    named = isinstance(hashes, dict) and set(hashes) == set(arrays)
    demand(named, "sha256 must name the arrays of the file, all of them")
    for name, array in arrays.items():
        demand(digest(array) == hashes[name], f"the array {name} has another sha256 than certificate.json says")
    return document, arrays


def digest(array: Array) -> str:
    """SHA-256 over type, shape and bytes (C order) of an array."""
    found = hashlib.sha256(f"{array.dtype.str} {array.shape};".encode())
    found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()


def statement_digest(problem: Table, arrays: Mapping[str, Array]) -> str:
    """SHA-256 of a statement: its table as canonical JSON and the hashes of its arrays, a line each, by name."""
    lines = [json.dumps(problem, sort_keys=True, separators=(",", ":"))]
    lines += [f"{name} {digest(arrays[name])}" for name in sorted(arrays)]
    return hashlib.sha256("\n".join(lines).encode("ascii")).hexdigest()


def rational(text: Any, what: str) -> Fraction:
    """A rational written ``"p/q"`` or ``"p"``."""
    written = isinstance(text, str) and re.fullmatch(r"-?[0-9]{1,400}(/0*[1-9][0-9]{0,399})?", text)
    demand(written, f"{what} must be a rational, written as text 'p/q', with a denominator that is not zero")
    demand(abs(value := Fraction(text)) <= 10**300, f"{what} is beyond 1e300")
    return value


def positive(text: Any, what: str) -> Fraction:
    """A rational between 1e-200 and 1e200."""
    value = rational(text, what)
    demand(Fraction(1, 10**200) < value < 10**200, f"{what} must be positive, and between 1e-200 and 1e200")
    return value


def natural(value: Any, what: str, least: int = 0, most: int = 2**40) -> int:
    """An integer of the description, at least ``least`` and below ``most``."""
    known = isinstance(value, int) and not isinstance(value, bool) and least <= value < most
    demand(known, f"{what} must be an integer of at least {least} and below {most}")
    return int(value)


def keys(table: Any, what: str, required: str, optional: str = "") -> None:
    """Refuse unless a table has these keys and no others."""
    demand(isinstance(table, dict), f"{what} must be a table")
    wanted, allowed = set(required.split()), set(optional.split())
    wrong = sorted((wanted - set(table)) | (set(table) - wanted - allowed))
    demand(not wrong, f"{what}: keys are missing or unknown: {', '.join(map(repr, wrong))[:200]}")


class Arrays:
    """The arrays of a file, each to be asked for with its shape and kind of numbers."""

    def __init__(self, arrays: Mapping[str, Array]) -> None:
        self.arrays, self.used, self.prefix = arrays, set[str](), ""

    def of(self, number: int) -> Arrays:
        """Those of a risk of a sum, by names without their beginning."""
        made = copy.copy(self)
        made.prefix = SUMMAND.format(number)
        return made

    def _named(self, name: str) -> str:
        """A name in the file: of points those that all risks of a sum share, where one has none of its own."""
        own = self.prefix + name
        return name if name == "points" and own not in self.arrays else own

    def __contains__(self, name: str) -> bool:
        return self._named(name) in self.arrays

    def __call__(self, name: str, *shape: int | None, integers: int | None = None) -> Array:
        """An array of a shape (None for any length); with ``integers = n`` of integers in [0, n)."""
        name = self._named(name)
        demand(name in self.arrays, f"the array {name} is missing")
        self.used.add(name)
        array = self.arrays[name]
        fits = array.ndim == len(shape) and all(w in (None, g) for w, g in zip(shape, array.shape, strict=True))
        fits = fits and array.dtype.str in (("<f8",) if integers is None else ("<i8", "<i4", "|u1"))
        demand(fits, f"the array {name} has a wrong shape or type: {array.shape}, {array.dtype}")
        if integers is None:
            demand(np.isfinite(array).all(), f"the array {name} has NaN or infinite entries")
            return np.ascontiguousarray(array)
        inside = not array.size or (int(array.min()) >= 0 and int(array.max()) < integers)
        demand(inside, f"the array {name} has entries outside of [0, {integers})")
        return np.ascontiguousarray(array.astype(np.int64))


# Distances, and matrices of dual points -------------------------------------------------------------------------------


class Images:
    """Points, and perhaps queries, under a factor of a metric, and squared distances between them."""

    def __init__(self, diagonal: bool, factor: Array, *sets: Array) -> None:
        if diagonal:
            active = np.flatnonzero(factor > 0.0)
            self.sets = [Ball(X[:, active]) * Ball(factor[active]).sqrt() for X in sets]
        else:
            self.sets = [Ball(X) @ Ball(factor.T) for X in sets]

    def listed(self, i: Array, j: Array) -> Ball:
        """Squared distances of listed pairs of points."""
        V = self.sets[0][i] - self.sets[0][j]
        return (V * V).sum(1)

    def rows(self) -> Iterator[tuple[Array, float]]:
        """Squared distances of every query to all points, each row with its largest error."""
        (Z, Y), T = self.sets, self.sets[0].T
        norms, step = (Z * Z).sum(1), max(1, BLOCK // len(Z.mid))
        for some in (Y[at : at + step] for at in range(0, len(Y.mid), step)):
            D = norms + (some * some).sum(1)[:, None] - (some @ T) * 2.0
            yield from zip(D.mid, D.rad.max(axis=1).tolist(), strict=True)


@dataclass
class Says:
    """A statement ``R(M) >= value - <S, M>`` for all metrics M; those of summands add up."""

    value: Ball
    S: Ball

    def __add__(self, other: Says) -> Says:
        return Says(self.value + other.value, self.S + other.S)


def laplacian(diagonal: bool, Q: Array, X: Array, W: Ball) -> Ball:
    """``sum W_qx (q - x)(q - x)^T``, its diagonal for diagonal metrics."""

    def product(A: Ball, B: Ball) -> Ball:
        return (A * B).sum(0) if diagonal else A.T @ B

    ends = [(Ball(X), W.T @ Ball(np.ones((len(Q), 1)))), (Ball(Q), W @ Ball(np.ones((len(X), 1))))]
    cross = product(Ball(Q), W @ Ball(X))
    return product(ends[0][0], ends[0][0] * ends[0][1]) + product(ends[1][0], ends[1][0] * ends[1][1]) - cross - cross.T


# Risks over lists -----------------------------------------------------------------------------------------------------


def discounted(i: Array, b: Array, p: int, h: int, shift: float = 0.0) -> Ball:
    """Discounts ``D(t) = 1 / log2(t + shift) = ln 2 / ln(t + shift)``, and at most 1, over their sum up to h."""
    D = log(Ball([2.0])) / log(Ball(np.maximum(np.arange(1.0, h + 1.0) + shift, 2.0)))
    return (D / D.sum())[np.minimum(i + b, h).astype(np.int64) - 1] * (1.0 * (i + b <= h))


def halves(i: Array) -> Ball:
    """``2^-i``: exact, but that those below 2^-1074 are zero."""
    return Ball(np.ldexp(1.0, -i.astype(np.int64)), TINY)


def reciprocal_ranks(i: Array, b: Array, p: int, h: int) -> Ball:
    """Expected reciprocal rank: ``2^-i / (i + b)``, over the sum of these in the perfect ranking."""
    ranks = np.arange(1.0, p + 1.0)
    return halves(i) / Ball(i + b) / (halves(ranks) / Ball(ranks)).sum()


#: Measures: whether they have a k, and g(i, b), what the i-th of p near items, i = 1..p, with b far ones above it adds
#: to the score; h places count. AUC is a sum of hinges (theorem 1).
MEASURES: dict[str, tuple[bool, Any]] = {
    "auc": (False, None),
    "map": (False, lambda i, b, p, h: Ball(i) / Ball(p * (i + b))),
    "mrr": (False, lambda i, b, p, h: Ball(1.0 * (i == 1.0)) / Ball(1.0 + b)),
    "err": (False, reciprocal_ranks),
    "precision": (True, lambda i, b, p, h: Ball(1.0 * (i + b <= h)) / Ball(float(h))),
    "knn": (True, lambda i, b, p, h: Ball(1.0 * ((i + b <= h) & (i == h // 2 + 1)))),
    "ndcg": (True, discounted),
    "ndcg-log2": (True, lambda i, b, p, h: discounted(i, b, p, h, 1.0)),
}
#: The largest k where that is not cut to the number of near items.
MAX_HEAD = 10**6


def gains(measure: str, k: int, cut: bool, p: int, i: Array, b: Array) -> Ball:
    """``g(i, b)`` of a query with p near items.

    If p < k the first p places count, or (not ``cut``) the first k. Then the score of the perfect ranking is less than
    1, and what is missing is a gain of the first near item, wherever it stands.
    """
    (i, b), gain, h = np.broadcast_arrays(i, b), MEASURES[measure][1], min(k, p) if cut else k
    found: Ball = gain(i, b, p, h)
    if h <= p:
        return found
    perfect = gain(np.arange(1.0, p + 1.0), np.zeros(p), p, h).sum()
    return found + (Ball(1.0) - perfect) * (1.0 * (i == 1.0))


def worst_ranking(gain: Ball, x: Array, z: Array) -> tuple[float, float]:
    r"""The largest ``Delta - 2/(p n) sum of inverted (z_j - x_i)`` over all rankings, and its error (theorem 2).

    ``gain`` is (p, n + 1), ``x`` and ``z`` are sorted distances. Its error: with distances wrong by e, the value of a
    ranking changes by at most 2/(p n) times p n pairs times 2 e; here e is the rounding u D of differences to the
    nearest near item, D the largest of these (the caller adds the error of distances). Sums of up to n differences err
    by :math:`\gamma_n n D`, products and differences with them by :math:`2 \gamma_5 n D`, times 2/(p n) and p items; p
    additions to totals of at most 1 + 4 D err by u (1 + 4 D) each, and gains by their radii. All of it is below
    :math:`8 (n + p + 16) u (1 + D)` plus p radii.
    """
    p, n, x, z = len(x), len(z), x - x[0], z - x[0]
    D = float(np.max([np.abs(x).max(), np.abs(z).max()]))
    scale, above, best = 2.0 / (p * n), np.arange(n + 1.0), np.zeros(n + 1)
    sums = np.concatenate([[0.0], np.cumsum(z)]) * scale
    for i in range(p):
        best = np.minimum.accumulate(sums - above * (scale * x[i]) + gain.mid[i] + best)
    return 1.0 - float(best[n]), float(up(p * float(np.max(gain.rad)) + 8.0 * (n + p + 16) * U * (1.0 + D)))


def sum_of_hinges(x: Array, z: Array, margin: Ball) -> tuple[float, float]:
    """``sum_ij max(0, margin + x_i - z_j)`` of sorted z, and its error but for that of distances (theorem 1).

    An item on the wrong side because of rounding changes nothing but by rounding. The error: p n times that of the
    margin and the rounding of ``x_i + margin``, and, D being the largest number in brackets, (n + p + 8) u relative of
    2 p n D.
    """
    ends = x + float(margin.mid)
    below, high, rest = np.searchsorted(z, ends), ends - z[0], z - z[0]
    sums, D = np.concatenate([[0.0], np.cumsum(rest)]), float(np.max([np.abs(high).max(), rest[-1]]))
    each = float(margin.rad) + U * float(np.abs(ends).max()) + 2.0 * gamma(z.size + x.size + 8) * D
    return float(np.sum(below * high - sums[below])), x.size * z.size * each


def majorised(part: Array, whole: Array) -> bool:
    """Whether ``part`` is majorised by ``whole``, integers in descending order: equal sums, no larger partial sums."""
    own, most = np.cumsum(np.sort(part)[::-1]), np.cumsum(whole)
    return bool(own[-1] == most[-1] and (own <= most).all())


def sums_of_slopes(r: Array, c: Array, one: int) -> bool:
    """Whether r and c are sums of rows and of columns of slopes between 0 and ``one`` (theorem 3)."""
    rows, c = np.arange(1, len(r) + 1) * one, np.sort(c)
    below = np.searchsorted(c, rows)
    most = np.concatenate([[0], np.cumsum(c)])[below] + (len(c) - below) * rows
    own = np.cumsum(np.sort(r)[::-1])
    return bool(own[-1] == c.sum() and (own <= most).all())


@dataclass
class Rest(Sequence[Array]):
    """Of every query all N rows but the near ones and perhaps one more, in ascending order; made when asked for."""

    near: list[Array]
    itself: Array
    N: int

    def __len__(self) -> int:
        return len(self.near)

    def __getitem__(self, q: Any) -> Any:
        if isinstance(q, slice):
            return Rest(self.near[q], self.itself[q], self.N)
        return np.delete(np.arange(self.N + 1), np.append(self.near[q], [self.itself[q], self.N]))


class ListRisk:
    """Pairs of lists, and rankings: queries with near and far items.

    ``units`` is the weight of a pair of every query, c c_q or 2 C c_q / (n p f), and ``shares`` that of what a query is
    worth: of rankings C c_q / n, else the same.
    """

    #: Keys of its dual points.
    dual_keys = "kind bits"

    def __init__(self, table: Table, arrays: Arrays, diagonal: bool, d: int) -> None:
        self.diagonal, self.loss, self.measure, self.k = diagonal, "hinge", "auc", 1
        self.X, self.margin = arrays("points", None, d), Ball(0.5)
        self.near, N = self._lists("near", arrays), len(self.X)
        count = len(self.near)
        if "itself" in arrays:
            self.far: Rest | list[Array] = Rest(self.near, arrays("itself", count, integers=N + 1), N)
        else:
            self.far = self._lists("far", arrays)
        own = "queries" in arrays
        self.Q = arrays("queries", count, d) if own else self.X[arrays("anchors", count, integers=N)]
        self.p, self.n = (np.array([len(items) for items in lists]) for lists in (self.near, self.far))
        demand(len(self.far) == count > 0 and min(self.p.min(), self.n.min()) > 0, "a query has no near or far item")
        weights = arrays("query_weights", count) if "query_weights" in arrays else np.ones(count)
        demand((weights >= 0.0).all(), "query_weights must not be negative")
        if table["kind"] == "rankings":
            keys(table, "risk", "kind measure C", "k short queries")
            self.measure, self.cut = table["measure"], "short" not in table
            known = isinstance(self.measure, str) and self.measure in MEASURES
            known = known and MEASURES[self.measure][0] == ("k" in table)
            demand(known, "risk: there is no such measure, or a k where it has none, or none where it has one")
            self.k = natural(table.get("k", 1), "k", 1)
            printed = self.cut or (table["short"] == "printed" and "k" in table and self.k <= MAX_HEAD)
            demand(printed, f"risk: short can only be 'printed', with a k of at most {MAX_HEAD}")
            share = positive(table["C"], "C") / natural(table.get("queries", count), "queries", count)
            self.units = Ball.of([2 * share / size for size in (self.p * self.n).tolist()]) * weights
            self.shares = Ball.of(share) * weights if self.ranked else self.units
        else:
            keys(table, "risk", "kind loss weight", "margin")
            self.loss, known = table["loss"], table["loss"] in ("hinge", "logistic")
            demand(known and ("margin" in table) == (self.loss == "hinge"), "risk: loss must be hinge or logistic")
            self.margin = Ball.of(rational(table.get("margin", "0"), "margin"))
            self.shares = self.units = Ball.of(positive(table["weight"], "weight")) * weights

    def _lists(self, name: str, arrays: Arrays) -> list[Array]:
        items, stops = arrays(name, None, integers=len(self.X)), arrays(f"{name}_stops", None, integers=2**40)
        demand(len(stops) and (np.diff(stops) > 0).all() and stops[-1] == len(items), f"the {name} lists are malformed")
        return np.split(items, stops[:-1])

    def __len__(self) -> int:
        return len(self.near)

    def part(self, rows: slice) -> Self:
        """Some of the queries, whose risks add up."""
        made = copy.copy(self)
        made.near, made.far, made.Q = self.near[rows], self.far[rows], self.Q[rows]
        made.p, made.n, made.units, made.shares = self.p[rows], self.n[rows], self.units[rows], self.shares[rows]
        return made

    @property
    def ranked(self) -> bool:
        """Whether it is a maximum over rankings that is no sum over pairs."""
        return self.measure != "auc"

    def value(self, factor: Array) -> Ball:
        """R at a metric."""
        mids, rads, table = np.zeros(len(self)), np.zeros(len(self)), Ball(np.zeros((0, 0)))
        for q, (row, error) in enumerate(Images(self.diagonal, factor, self.X, self.Q).rows()):
            x, z = np.sort(row[self.near[q]]), np.sort(row[self.far[q]])
            p, n = x.size, z.size
            if self.loss == "logistic":
                total = softplus(Ball(z, error) - Ball(x[:, None], error)).sum()
                mids[q], rads[q] = total.mid, total.rad
            elif self.ranked:
                if table.mid.shape != (p, n + 1):
                    i, b = np.arange(1.0, p + 1.0)[:, None], np.arange(n + 1.0)
                    table = gains(self.measure, self.k, self.cut, p, i, b)
                mids[q], rads[q] = worst_ranking(table, x, z)
                rads[q] += 4.0 * error
            else:
                mids[q], rads[q] = sum_of_hinges(x, z, self.margin)
                rads[q] += p * n * 2.0 * error
        return (Ball(mids, up(rads)) * self.shares).sum()

    def dual(self, table: Table, arrays: Arrays) -> Says:
        """What the integers of the file say, all of them over ``2^bits``."""
        kind = "slopes" if self.loss == "logistic" else "rankings" if self.ranked else "sums"
        one = 2 ** natural(table["bits"], "dual: bits", most=41)
        demand(table["kind"] == kind, f"dual: kind must be {kind!r} for this risk")
        demand(int((self.p * self.n).max()) * one <= WHOLE, "dual: 2^bits times the pairs of a query exceed 2^53")
        W, (mids, rads) = np.zeros((len(self), len(self.X))), np.zeros((2, len(self)))
        for q, (r, c, worth) in enumerate(self._slopes(arrays, one) if kind == "slopes" else self._sums(arrays, one)):
            # Integers below 2^53, and so exact.
            W[q] = np.bincount(self.far[q], c, len(self.X)) - np.bincount(self.near[q], r, len(self.X))
            mids[q], rads[q] = worth.mid, worth.rad
        unit = self.units * (1.0 / one)
        rad = up((unit.rad + 2.0 * U * unit.mid) * np.abs(W).max(axis=1))
        W *= unit.mid[:, None]
        S = laplacian(self.diagonal, self.Q, self.X, Ball(W, rad[:, None]))
        return Says((Ball(mids, rads) * self.shares).sum(), S)

    def _slopes(self, arrays: Arrays, one: int) -> Iterator[tuple[Array, Array, Ball]]:
        """Of every query the sums of the slopes of its near and far items, and what they are worth (theorem 5)."""
        sizes = (self.p * self.n).tolist()
        slopes = np.split(arrays("slopes", sum(sizes), integers=one + 1), np.cumsum(sizes[:-1]).astype(int))
        for p, own in zip(self.p, slopes, strict=True):
            a = own.reshape(p, -1)
            yield a.sum(axis=1), a.sum(axis=0), entropy(a / one).sum()

    def _sums(self, arrays: Arrays, one: int) -> Iterator[tuple[Array, Array, Ball]]:
        """The sums of the file, if slopes or rankings have them, and what these are worth (theorems 3 and 4)."""
        ends, stops = np.cumsum(self.p), np.cumsum(self.n)
        near = np.split(arrays("near_sums", int(ends[-1]), integers=WHOLE), ends[:-1])
        far = np.split(arrays("far_sums", int(stops[-1]), integers=WHOLE), stops[:-1])
        if self.ranked:
            steps = arrays("steps", None, int(ends[-1]), integers=int(self.n.max()) + 1)
            weights = arrays("weights", len(steps), None, integers=one + 1)
            groups = arrays("groups", len(self), integers=weights.shape[1])
            show((weights.sum(axis=0, dtype=np.float64) <= one).all(), "weights of rankings exceed one in sum")
        for q, (r, c) in enumerate(zip(near, far, strict=True)):
            # Then no sum of them overflows.
            fit = bool((r <= len(c) * one).all() and (c <= len(r) * one).all())
            if fit and self.ranked:
                above = np.cumsum(steps[:, ends[q] - len(r) : ends[q]], axis=1)
                fit, worth = self._of_rankings(r, c, above, weights[:, groups[q]], one)
            elif fit:
                fit, worth = sums_of_slopes(r, c, one), self.margin * (float(r.sum()) / one)
            show(fit, f"the sums of query {q} are those of no slopes")
            yield r, c, worth

    def _of_rankings(self, r: Array, c: Array, above: Array, weights: Array, one: int) -> tuple[bool, Ball]:
        """Whether weighted rankings have these sums, and what they are worth (theorem 4)."""
        p, n, kept = len(r), len(c), weights > 0
        above, w = above[kept], weights[kept]
        if (above[:, -1:] > n).any():
            return False, Ball(0.0)
        # How many near items, weighted, have each number of far items above them.
        counts = np.bincount(above.ravel(), np.repeat(w, p), n + 1).astype(np.int64)
        fit = majorised(r, (w @ above)[::-1]) and majorised(c, np.cumsum(counts[:0:-1])[::-1])
        gain = gains(self.measure, self.k, self.cut, p, np.arange(1.0, p + 1.0), above.astype(np.float64))
        return fit, ((Ball(1.0) - gain.sum(1)) * (w / one)).sum()


# Risks of listed comparisons, and of all pairs ------------------------------------------------------------------------


def hinge(s: Ball, mu: Ball) -> Ball:
    """``max(0, mu - s)``."""
    t = mu - s
    return Ball(np.maximum(t.mid, 0.0), t.rad)


def hard(s: Ball, mu: Ball) -> Ball:
    """Zero, if ``s >= mu``."""
    show(np.all((mu - s).above() <= 0.0), "a hard margin is not proven to hold")
    return Ball(np.zeros_like(s.mid))


#: Losses of a comparison s: the box of their slopes a, l(s), and v(a) with ``l(s) >= v(a) - a s`` (theorem 5).
LOSSES: dict[str, tuple[float, float, Any, Any]] = {
    "hinge": (0.0, 1.0, hinge, lambda a, mu: mu * a),
    "absolute": (-1.0, 1.0, lambda s, mu: abs(mu - s), lambda a, mu: mu * a),
    "squared": (-np.inf, np.inf, lambda s, mu: (mu - s) * (mu - s), lambda a, mu: mu * a - Ball(a) * a * 0.25),
    "logistic": (0.0, 1.0, lambda s, mu: softplus(s), lambda a, mu: entropy(a)),
    "hard": (0.0, np.inf, hard, lambda a, mu: mu * a),
}


class ListedRisk:
    """Listed comparisons, and all pairs of points with labels."""

    dual_keys = "kind"

    def __init__(self, table: Table, arrays: Arrays, diagonal: bool, d: int) -> None:
        keys(table, "risk", "kind terms")
        terms = table["terms"]
        demand(isinstance(terms, list) and 1 <= len(terms) <= 64, "risk: terms must be 1 to 64 losses")
        for term in terms:
            keys(term, "term", "loss weight margin sign")
            known = isinstance(term["loss"], str) and term["loss"] in LOSSES
            known = known and not isinstance(term["sign"], bool) and term["sign"] in (1, -1)
            demand(known, "term: there is no such loss, or sign is not 1 or -1")
            one = positive(term["weight"], "weight") == 1
            demand(one or term["loss"] != "hard", "term: a hard margin has the weight 1")
        self.diagonal, self.X, self.losses = diagonal, arrays("points", None, d), [term["loss"] for term in terms]
        n = len(self.X)
        if table["kind"] == "all pairs":
            demand(len(terms) == 2, "risk: all pairs have two terms, of equal and of different labels")
            codes, self.items = arrays("codes", n, integers=n), np.column_stack(np.triu_indices(n, 1))
            self.kind = (codes[self.items[:, 0]] != codes[self.items[:, 1]]).astype(np.int8)
        else:
            name = "triplets" if "triplets" in arrays else "pairs"
            self.items = arrays(name, None, 3 if name == "triplets" else 2, integers=n)
            self.kind = arrays("terms", len(self.items), integers=len(terms))
        self.triplets = self.items.shape[1] == 3
        self.signs = np.array([float(term["sign"]) for term in terms])[self.kind]
        weights = arrays("comparison_weights", len(self)) if "comparison_weights" in arrays else np.ones(len(self))
        demand((weights >= 0.0).all(), "comparison_weights must not be negative")
        self.weights = Ball.of([positive(term["weight"], "weight") for term in terms])[self.kind] * weights
        self.mu = Ball.of([rational(term["margin"], "margin") for term in terms])[self.kind]
        if "targets" in arrays:
            self.mu = Ball(arrays("targets", len(self)))

    def __len__(self) -> int:
        return len(self.items)

    def part(self, rows: slice) -> Self:
        """Some of the comparisons, whose risks add up."""
        made = copy.copy(self)
        made.items, made.kind, made.signs = self.items[rows], self.kind[rows], self.signs[rows]
        made.weights, made.mu = self.weights[rows], self.mu[rows]
        return made

    def _by_loss(self) -> Iterator[tuple[Any, Array]]:
        """What losses are, and rows of comparisons that have them, a block at a time."""
        step = max(1, BLOCK // max(16, self.X.shape[1]))
        for number, loss in enumerate(self.losses):
            rows = np.flatnonzero(self.kind == number)
            yield from ((LOSSES[loss], rows[at : at + step]) for at in range(0, len(rows), step))

    def value(self, factor: Array) -> Ball:
        """R at a metric."""
        images, total = Images(self.diagonal, factor, self.X), Ball(0.0)
        for (_, _, loss, _), rows in self._by_loss():
            i, j, *k = self.items[rows].T
            s = images.listed(i, k[0]) - images.listed(i, j) if k else images.listed(i, j)
            total = total + (loss(s * self.signs[rows], self.mu[rows]) * self.weights[rows]).sum()
        return total

    def dual(self, table: Table, arrays: Arrays) -> Says:
        """What slopes, each in its box, say."""
        demand(table["kind"] == "slopes", "dual: kind must be 'slopes' for this risk")
        slopes, total, n = arrays("slopes", len(self)), Ball(0.0), len(self.X)
        for (low, high, _, worth), rows in self._by_loss():
            a = slopes[rows]
            show((a >= low).all() and (a <= high).all(), "a slope is outside of its box")
            total = total + (worth(a, self.mu[rows]) * self.weights[rows]).sum()
        u = Ball(slopes) * self.weights * self.signs
        # An entry of W sums at most `most` weights, each wrong by at most the largest radius.
        (i, *ends), signs = self.items.T, [-1.0, 1.0] if self.triplets else [1.0]
        at = np.concatenate([i * n + end for end in ends])
        parts = np.concatenate([sign * u.mid for sign in signs])
        W, counts = (np.bincount(at, numbers, n * n).reshape(n, n) for numbers in (parts, np.ones(len(at))))
        size, most = float(np.bincount(at, np.abs(parts)).max(initial=0.0)), int(counts.max(initial=0.0))
        rad = np.where(counts > 0.0, up(most * u.rad.max(initial=0.0) + gamma(most) * size), 0.0)
        return Says(total, laplacian(self.diagonal, self.X, self.X, Ball(W, rad)))


SUMMANDS: dict[str, Any] = {
    "pairs of lists": ListRisk, "rankings": ListRisk, "listed comparisons": ListedRisk, "all pairs": ListedRisk
}  # fmt: skip


class SumRisk:
    """A sum of risks, each with arrays of its own: its rows are those of the first, then those of the second."""

    dual_keys = "kind summands"

    def __init__(self, table: Table, arrays: Arrays, diagonal: bool, d: int) -> None:
        keys(table, "risk", "kind summands")
        tables = table["summands"]
        fits = isinstance(tables, list) and 1 <= len(tables) <= MAX_SUMMANDS
        demand(fits, f"risk: summands must be 1 to {MAX_SUMMANDS} risks")
        self.risks = [
            entry(SUMMANDS, one, "summand")(one, arrays.of(number), diagonal, d) for number, one in enumerate(tables)
        ]
        self.X, self.shape = None, (d,) if diagonal else (d, d)

    def __len__(self) -> int:
        return sum(map(len, self.risks))

    def of_each(self, rows: slice) -> list[slice]:
        """The rows of every risk that are among some of the whole."""
        ends = np.cumsum([len(risk) for risk in self.risks]).tolist()
        return [
            slice(*(min(max(row - end + len(risk), 0), len(risk)) for row in (rows.start, rows.stop)))
            for risk, end in zip(self.risks, ends, strict=True)
        ]

    def part(self, rows: slice) -> Self:
        """Some of the rows, of one risk or of several."""
        made = copy.copy(self)
        made.risks = [risk.part(own) for risk, own in zip(self.risks, self.of_each(rows), strict=True)]
        return made

    def value(self, factor: Array) -> Ball:
        """R at a metric."""
        return reduce(add, (risk.value(factor) for risk in self.risks if len(risk)), Ball(0.0))

    def dual(self, table: Table, arrays: Arrays) -> Says:
        """What the dual points of all risks that have rows say; all of them are read, whether they hold or not."""
        tables, said, failed = table["summands"], Says(Ball(0.0), Ball(np.zeros(self.shape))), None
        fits = table["kind"] == "sum" and isinstance(tables, list) and len(tables) == len(self.risks)
        demand(fits, "dual: kind must be 'sum' for this risk, with as many summands")
        for number, (risk, own) in enumerate(zip(self.risks, tables, strict=True)):
            keys(own, "dual: a summand", risk.dual_keys)
            try:
                said = said + risk.dual(own, arrays.of(number)) if len(risk) else said
            except NotProven as error:
                failed = failed or error
        if failed is not None:
            raise failed
        return said


RISKS: dict[str, Any] = SUMMANDS | {"sum": SumRisk}


# Regularizers ---------------------------------------------------------------------------------------------------------


class Norm:
    """A weight times the trace, the Frobenius norm, or half of its square; or zero, a trace of no weight.

    Every regularizer has ``value``, Omega at a factor of a metric, or at weights; ``given``, what a file proves its
    share by, with the keys ``parameters``; and ``bound``, below ``v - <A, M> + Omega(M)`` for all metrics M of
    ``Omega(M) <= most`` (theorems 6 and 7).
    """

    def __init__(self, table: Table, arrays: Arrays, diagonal: bool, d: int, points: Array) -> None:
        self.weight, self.kind = Ball(0.0), "trace"
        if table["kind"] == "zero":
            keys(table, "regularizer", "kind")
        else:
            keys(table, "regularizer", "kind weight", "over_root_of")
            root = Ball(float(natural(table.get("over_root_of", 1), "over_root_of", 1))).sqrt()
            self.weight, self.kind = Ball.of(positive(table["weight"], "weight")) / root, table["kind"]
        self.diagonal, self.d, self.parameters = diagonal, d, "" if diagonal or self.kind == "trace" else "shift"

    def value(self, B: Ball) -> Ball:
        if self.kind == "trace":
            return (B if self.diagonal else B * B).sum() * self.weight
        M = B if self.diagonal else B @ B.T
        return M.norm() * self.weight if self.kind == "frobenius" else (M * M).sum() * self.weight * 0.5

    def given(self, table: Table, arrays: Arrays) -> Ball | None:
        if not self.parameters:
            return None
        F, shift = Ball(arrays("cap", None, self.d)), Ball.of(rational(table["shift"], "dual: shift"))
        return F.T @ F + Ball(np.eye(self.d)) * shift

    def bound(self, v: Fraction, A: Ball, given: Ball | None, most: Fraction | None) -> Fraction:
        weight = self.weight.lower()
        if self.diagonal:
            P = Ball(np.maximum(A.above(), 0.0))
            size = exactly(P.mid.max()) if self.kind == "trace" else P.norm().upper()
        else:
            P = Ball(np.eye(self.d)) * self.weight if given is None else given
            size = weight if given is None else P.norm().upper()
            semidefinite(P - A if self.weight.mid else -A, "the cap less the dual matrix")
        if self.kind == "squared frobenius":
            return v - size * size / (2 * weight)
        show(size <= weight, "the dual point is not feasible: its cap exceeds the weight of the regularizer")
        return v


class QuadraticForm:
    """Half a quadratic form L of diagonal metrics: whether it is convex by itself, and its nonzero rows."""

    def __init__(self, table: Table, arrays: Arrays, diagonal: bool, d: int, points: Array) -> None:
        keys(table, "regularizer", "kind of")
        demand(diagonal, "regularizer: a quadratic form on full metrics")
        self.convex = table["of"] == "gram of A"
        self.d, self.parameters = d, "" if self.convex else "lack"
        if self.convex:
            # (A^T A) o (A^T A) is positive semidefinite by Schur's theorem.
            A = Ball(arrays("gram_of", None, d))
            self.L = (A.T @ A) * (A.T @ A)
            return
        known = table["of"] == "matrix" or (table["of"] == "squared points" and points is not None)
        demand(known, "regularizer: of 'gram of A', 'matrix' or, where the risk is no sum, 'squared points'")
        given = points if table["of"] == "squared points" else arrays("form", d, d)
        fits = given.shape == (d, d) and (given == given.T).all() and (given is points or (given >= 0.0).all())
        demand(fits, "regularizer: the matrix must be symmetric, without negative entries")
        self.L = Ball(given) * given if given is points else Ball(given)
        self.rows = np.flatnonzero(given.any(axis=0))

    def value(self, B: Ball) -> Ball:
        w = B[:, None]
        return (w * (self.L @ w)).sum() * 0.5

    def given(self, table: Table, arrays: Arrays) -> tuple[Ball, Fraction]:
        return Ball(arrays("z", self.d)[:, None]), Fraction(0) if self.convex else rational(table["lack"], "dual: lack")

    def bound(self, v: Fraction, A: Ball, given: tuple[Ball, Fraction], most: Fraction | None) -> Fraction:
        z, lack = given
        reach = self.L @ z
        show(np.all(reach.below()[:, 0] >= A.above()), "z does not have L z >= S - G")
        left = v - (z * reach).sum().upper() / 2
        if self.convex:
            return left
        show(lack >= 0 and most is not None, "a form that may lack convexity wants an upper bound, and no G")
        semidefinite(self.L + Ball(np.eye(self.d)) * Ball.of(lack), "the quadratic form with what it lacks")
        diagonal = self.L[self.rows, self.rows].below()
        show((diagonal > 0.0).all(), "the quadratic form has a zero on its diagonal")
        least = exactly(diagonal.min(initial=1.0))
        return left - lack * (2 * (most or 0) / least + z[self.rows].norm().upper() ** 2)


NORMS: dict[str, Any] = dict.fromkeys(("zero", "trace", "frobenius", "squared frobenius"), Norm)


class Entrywise:
    """A weight times the sum of the sizes of all entries, or of those off the diagonal, beside a norm (theorem 9)."""

    def __init__(self, table: Table, arrays: Arrays, diagonal: bool, d: int, points: Array) -> None:
        keys(table, "regularizer", "kind weight diagonal rest")
        demand(not diagonal and isinstance(table["diagonal"], bool), "regularizer: entries are those of full metrics")
        self.weight, self.counts = positive(table["weight"], "weight"), np.ones((d, d))
        if not table["diagonal"]:
            self.counts -= np.eye(d)
        self.rest = entry(NORMS, table["rest"], "rest")(table["rest"], arrays, diagonal, d, points)
        self.d, self.parameters = d, self.rest.parameters

    def value(self, B: Ball) -> Ball:
        sizes: Ball = (abs(B.T @ B) * self.counts).sum() * Ball.of(self.weight) + self.rest.value(B)
        return sizes

    def given(self, table: Table, arrays: Arrays) -> tuple[Array, Any]:
        return arrays("subgradient", self.d, self.d), self.rest.given(table, arrays)

    def bound(self, v: Fraction, A: Ball, given: tuple[Array, Any], most: Fraction | None) -> Fraction:
        Y, more = given
        fits = (Y == Y.T).all() and not Y[self.counts == 0.0].any() and exactly(np.abs(Y).max()) <= self.weight
        show(fits, "the matrix of entries is not symmetric, exceeds their weight, or is not zero where they are free")
        found: Fraction = self.rest.bound(v, A - Ball(Y) if Y.any() else A, more, most)
        return found


REGULARIZERS: dict[str, Any] = NORMS | {"quadratic form": QuadraticForm, "entrywise": Entrywise}


def semidefinite(K: Ball, what: str) -> None:
    """Stop unless a symmetric K is positive semidefinite: ``K - e I = C C^T + E`` with ``||E||_F <= e`` shows it.

    Or K is exactly zero.

    C may be anything, so that nothing is asked of the Cholesky factor that LAPACK finds.
    """
    if not (K.mid.any() or K.rad.any()):
        return
    d, rad = len(K.mid), float(norms(np.broadcast_to(K.rad, K.mid.shape)))
    e = 4.0 * (d + 8.0) * U * float(norms(K.mid)) + 1.0625 * rad
    shifted, C = K - Ball(e * np.eye(d)), np.full((d, d), np.nan)
    if math.isfinite(e):
        with contextlib.suppress(np.linalg.LinAlgError):
            C = np.linalg.cholesky(0.5 * (shifted.mid + shifted.mid.T))
    E = shifted - Ball(C) @ Ball(C.T)
    show(norms(np.abs(E.mid) + E.rad) <= e, f"{what} is not proven to be positive semidefinite")


# Problems and proofs --------------------------------------------------------------------------------------------------


class Problem:
    """The statement of a file, read and checked."""

    def __init__(self, document: Table, arrays: Arrays) -> None:
        table = self.table = document["problem"]
        keys(table, "problem", "cone features risk regularizer linear", "constant")
        known = table["cone"] in ("psd", "diagonal") and isinstance(table["linear"], bool)
        demand(known, "problem: cone must be 'psd' or 'diagonal', and linear true or false")
        self.diagonal, self.d = table["cone"] == "diagonal", natural(table["features"], "features", 1)
        self.constant = rational(table.get("constant", "0"), "constant")
        self.risk = entry(RISKS, table["risk"], "risk")(table["risk"], arrays, self.diagonal, self.d)
        omega = entry(REGULARIZERS, table["regularizer"], "regularizer")
        self.omega = omega(table["regularizer"], arrays, self.diagonal, self.d, self.risk.X)
        self.G = np.zeros(self.d if self.diagonal else (self.d, self.d))
        if table["linear"]:
            self.G = arrays("linear", *self.G.shape)
            demand((self.G == self.G.T).all(), "linear must be a symmetric matrix")
        #: Arrays of the statement; what is asked for later proves.
        self.arrays = {name: arrays.arrays[name] for name in arrays.used}
        self.sha256 = statement_digest(table, self.arrays)

    def factor(self, arrays: Arrays) -> Array:
        """Of the metric of a file; on the diagonal its weights."""
        if not self.diagonal:
            return arrays("factor", None, self.d)
        weights = arrays("weights_of_metric", self.d)
        demand((weights >= 0.0).all(), "weights_of_metric must not be negative")
        return weights

    def upper(self, risk: Ball, factor: Array) -> Fraction:
        """F, but for the constant, at the metric of a file, where the risk is known."""
        B = Ball(factor)
        linear = B * Ball(self.G) if self.diagonal else B * (B @ Ball(self.G))
        return (risk + self.omega.value(B) + linear.sum()).upper()

    def given(self, table: Table, arrays: Arrays) -> tuple[Fraction, Any]:
        """The share of the dual point that counts, and what the regularizer's part is proven by."""
        return rational(table["share"], "dual: share"), self.omega.given(table, arrays)

    def lower(self, says: Says, given: tuple[Fraction, Any], upper: Fraction | None) -> Fraction:
        """A lower bound on F, but for the constant, by what was :meth:`given` (theorem 6)."""
        share, more = given
        show(0 <= share <= 1, "the share is not between 0 and 1")
        # Without G the regularizer is at most F, the risk being nonnegative.
        most = None if self.table["linear"] or upper is None else max(upper, Fraction(0))
        A = says.S * Ball.of(share) - Ball(self.G) if share else -Ball(self.G)
        return self.omega.bound(share * says.value.lower(), A, more, most)


def entry(known: dict[str, Any], table: Any, what: str) -> Any:
    """The class of a kind of block."""
    kind = table.get("kind") if isinstance(table, dict) else None
    demand(isinstance(kind, str) and kind in known, f"{what}: there is no such kind")
    return known[str(kind)]


@dataclass(frozen=True)
class Proof:
    """What is proven of a statement: bounds on its optimal value, rounded outward to 17 digits, None where nothing is.

    ``reason`` says what was not proven, of the bounds and of the claims; it is empty if the claims are accepted.
    """

    problem: Problem
    lower: Fraction | None
    upper: Fraction | None
    claimed: tuple[Fraction, Fraction]
    reason: str


def prove(files: Iterable[Contents]) -> Proof:
    """Prove the bounds of a certificate, in one file or in parts (theorem 8), and compare them with its claims."""
    reasons: dict[str, str] = {}

    def attempt(end: str, step: Callable[..., Any], *given: Any) -> Any:
        try:
            return step(*given)
        except NotProven as error:
            reasons.setdefault(end, f"{end} bound: {error}")

    problem, common, parts = None, "", []
    with np.errstate(all="ignore"):
        for document, arrays in files:
            of, table, claims = Arrays(arrays), document["dual"], document["claimed"]
            problem = Problem(document, of)
            keys(table, "dual", f"{problem.risk.dual_keys} share {problem.omega.parameters}", "rows")
            keys(claims, "claimed", "lower upper")
            given, factor = problem.given(table, of), problem.factor(of)
            claimed = rational(claims["lower"], "lower"), rational(claims["upper"], "upper")
            before, common = common, shared(document, arrays)
            demand(before in ("", common), "these are no parts of one certificate: they differ in more than their rows")
            rows = some_rows(table, len(problem.risk))
            risk = problem.risk.part(slice(*rows))
            parts.append((rows, attempt("upper", risk.value, factor), attempt("lower", risk.dual, table, of)))
            unused = ", ".join(sorted(set(arrays) - of.used))
            demand(not unused, f"arrays that nothing speaks of: {unused}")
        assert problem is not None, "there is no file"
        # In the order of their rows, so that the order of files does not matter.
        ranges, costs, said = zip(*sorted(parts, key=lambda part: part[0]), strict=True)
        wrong = misfits(ranges, len(problem.risk))
        reasons = {"upper": wrong, "lower": wrong} if wrong else reasons
        upper = None if "upper" in reasons else attempt("upper", problem.upper, reduce(add, costs), factor)
        lower = None if "lower" in reasons else attempt("lower", problem.lower, reduce(add, said), given, upper)
    low = None if lower is None else rounded(lower + problem.constant, -1)
    high = None if upper is None else rounded(upper + problem.constant, 1)
    if low is not None and claimed[0] > low:
        reasons["lower"] = "the lower bound claimed is larger than the one proven"
    if high is not None and claimed[1] < high:
        reasons["upper"] = "the upper bound claimed is smaller than the one proven"
    return Proof(problem, low, high, claimed, wrong or "; ".join(reasons.values()))


def shared(document: Table, arrays: Mapping[str, Array]) -> Any:
    """What the parts of a certificate have in common: all but the rows, and the dual point of these."""
    dual = {key: value for key, value in document["dual"].items() if key not in ("rows", "bits")}
    hashes = {name: digest(array) for name, array in arrays.items() if not of_rows(name)}
    return json.dumps([document["problem"], document["claimed"], dual, hashes], sort_keys=True)


def of_rows(name: str) -> bool:
    """Whether an array is that of a dual point, of a risk or of one of a sum."""
    return re.sub(f"^{SUMMAND.format('[0-9]+')}", "", name) in OF_ROWS


def some_rows(table: Table, count: int) -> tuple[int, int]:
    """The first row of a file, and the one after its last; all rows where there is no word of it."""
    rows = table.get("rows", [0, count])
    demand(isinstance(rows, list) and len(rows) == 2, "dual: rows must be a list of two integers")
    if "rows" in table:
        natural(rows[1], "dual: the end of rows", natural(rows[0], "dual: the first row", 0, count) + 1, count + 1)
    return rows[0], rows[1]


def misfits(rows: Iterable[tuple[int, int]], count: int) -> str:
    """Which rows are not in exactly one part, of parts in order; empty if all are."""
    at, said = 0, []
    for first, end in [*rows, (count, count)]:
        if first != at:
            where = "no part" if first > at else "more than one part"
            said.append(f"the rows {min(at, first)} to {(first if first > at else min(at, end)) - 1} are in {where}")
        at = max(at, end)
    return "; ".join(said)


def main(*paths: str) -> int:
    """Print bounds and the hash of the statement; exit code 0 if the claims of the files are proven, else 1."""
    proof = prove(contents(Path(path)) for path in paths)
    print(f"{proof.lower} <= optimum <= {proof.upper}\nstatement: {proof.problem.sha256}\n{proof.reason or 'accepted'}")
    return int(bool(proof.reason))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
