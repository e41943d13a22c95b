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

import hashlib
import json
import math
import re
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Ball", "CertificateError", "NotProven", "Problem", "Proof", "contents", "prove"]

Array = NDArray[Any]
Table = dict[str, Any]
Contents = tuple[Table, Mapping[str, Array]]

FORMAT, VERSION = "convexmetric-certificate", 2
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
        """Upper ends, as floats."""
        end = self.mid + self.rad
        return end + (np.abs(end) * (4.0 * U) + TINY)

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


def softplus(s: Array, rad: Any) -> Ball:
    """``ln(1 + e^-s)`` of floats s that are wrong by at most ``rad``; the slope is at most one."""
    size = np.minimum(np.abs(s), 690.0)
    # Beyond 690 the exponential is positive and below that of -690.
    value = log(exp(Ball(-size)) + 1.0) + Ball(np.maximum(-s, 0.0))
    return Ball(value.mid, up(value.rad + rad + np.where(np.abs(s) > 690.0, 1e-290, 0.0)))


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
        self.arrays, self.used = arrays, set[str]()

    def __contains__(self, name: str) -> bool:
        return name in self.arrays

    def __call__(self, name: str, *shape: int | None, integers: int | None = None) -> Array:
        """An array of a shape (None for any length); with ``integers = n`` of integers in [0, n)."""
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
    """Images of points under a factor of a metric, and a bound on the error of all distances computed from them.

    A float image z is within ``delta`` of the true one, and ``|z| <= R``. Then the true squared distance of two differs
    from that of the floats by at most ``2 delta (4 R + 2 delta)``, and rounding adds at most ``4 gamma_(r + 4) R^2``,
    be it evaluated from inner products or from differences.
    """

    def __init__(self, diagonal: bool, factor: Array, *sets: Array) -> None:
        if diagonal:
            active = np.flatnonzero(factor > 0.0)
            self.Z = [X[:, active] * np.sqrt(factor[active]) for X in sets]
            R = _longest(self.Z)
            # Each entry errs by less than 4 u relative, so that |z| <= |x| and the error follow from the float image.
            delta = up(4.0 * U * R)
        else:
            self.Z = [X @ factor.T for X in sets]
            R = _longest(self.Z)
            delta = up(gamma(factor.shape[1] + 2) * _longest(sets) * float(norms(factor)))
        self.norms = [np.einsum("ik,ik->i", Z, Z) for Z in self.Z]
        self.error = float(up(4.0 * gamma(self.Z[0].shape[1] + 4) * R * R + 2.0 * delta * (4.0 * R + 2.0 * delta)))

    def listed(self, i: Array, j: Array) -> Array:
        """Squared distances of pairs of the first set, each within ``error``."""
        V = self.Z[0][i] - self.Z[0][j]
        return np.einsum("ik,ik->i", V, V)

    def rows(self) -> Iterator[Array]:
        """Squared distances of every point of the last set to all of the first set, each within ``error``."""
        Z, Y = self.Z[0], self.Z[-1]
        step = max(1, BLOCK // len(Z))
        for some in (slice(at, at + step) for at in range(0, len(Y), step)):
            yield from (self.norms[0] + self.norms[-1][some][:, None]) - 2.0 * (Y[some] @ Z.T)


def _longest(sets: Sequence[Array]) -> float:
    """The largest norm of a row; not a number if one is not."""
    return float(np.max([norms(X, 1).max(initial=0.0) for X in sets]))


@dataclass
class Says:
    """A statement ``R(M) >= value - <S, M>`` for all metrics M."""

    value: Ball
    S: Ball


def laplacian(diagonal: bool, Q: Array, X: Array, W: Ball, balanced: bool) -> Ball:
    """``sum W_qx (q - x)(q - x)^T`` (its diagonal for diagonal metrics); rows of balanced weights sum to zero.

    The true weights are meant, of which ``W`` is a ball: if they are balanced, the term in ``q q^T`` is zero.
    """
    columns, cross = (W.T @ Ball(np.ones((len(Q), 1)))), W @ Ball(X)
    rows = Ball(np.zeros((len(Q), 1))) if balanced else W @ Ball(np.ones((len(X), 1)))
    if diagonal:
        S = (Ball(X) * columns * Ball(X)).sum(0) - (Ball(Q) * cross).sum(0) * 2.0
        return S if balanced else S + (Ball(Q) * rows * Ball(Q)).sum(0)
    half = Ball(Q.T) @ cross
    S = Ball(X.T) @ (Ball(X) * columns) - half - half.T
    return S if balanced else S + Ball(Q.T) @ (Ball(Q) * rows)


# Risks over lists -----------------------------------------------------------------------------------------------------

#: Measures, and whether they have a k; the largest k where that is not cut to the number of near items.
MEASURES = {"auc": False, "precision": True, "map": False, "mrr": False, "ndcg": True, "knn": True}
MAX_HEAD = 10**6


def gains(measure: str, k: int, cut: bool, p: int, i: Array, b: Array) -> Ball:
    """``g(i, b)``: what the i-th of p near items, i = 1..p, with b far ones above it adds to the score.

    Of a query with p < k near items the first p places count, or (not ``cut``) the first k. Then the score of the
    perfect ranking is less than 1, and what is missing is a gain of the first near item, wherever it stands.
    """
    i, b = np.broadcast_arrays(i, b)
    if measure == "map":
        return Ball(i) / (Ball(p) * Ball(i + b))
    first = np.where(i == 1.0, 1.0, 0.0)
    if measure == "mrr":
        return Ball(first) / Ball(1.0 + b)
    head = min(k, p) if cut else k
    inside = i + b <= head
    if measure == "precision":
        return Ball(inside + max(0, head - p) * first) / Ball(head)
    if measure == "knn":
        return Ball((inside & (i == head // 2 + 1)) + first * (head // 2 + 1 > p))
    # Discounts D(1) = D(2) = 1, D(t) = 1 / log2 t = ln 2 / ln t, over their sum up to the end of the head.
    D = log(Ball([2.0])) / log(Ball(np.maximum(np.arange(1.0, head + 1.0), 2.0)))
    D = D / D.sum()
    gain = D[np.minimum(i + b, head).astype(np.int64) - 1] * Ball(1.0 * inside)
    return gain + D[p:].sum() * Ball(first) if head > p else gain


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


class ListRisk:
    """Pairs of lists, and rankings: queries with near and far items.

    ``units`` is the weight of a pair of every query, c c_q or 2 C c_q / (n p f); of rankings the value of a ranking has
    the weight ``shares`` = C c_q / n.
    """

    def __init__(self, table: Table, arrays: Arrays, diagonal: bool, d: int) -> None:
        self.diagonal, self.loss, self.measure, self.k = diagonal, "hinge", "auc", 0
        self.X = arrays("points", None, d)
        self.near, far = self._lists("near", arrays), [] if "itself" in arrays else self._lists("far", arrays)
        if "itself" in arrays:
            for near, row in zip(self.near, arrays("itself", len(self.near), integers=len(self.X) + 1), strict=True):
                rest = np.ones(len(self.X) + 1, dtype=bool)
                rest[near] = rest[row] = rest[-1] = False
                far.append(np.flatnonzero(rest))
        self.far, count = far, len(self.near)
        self.own = "queries" in arrays
        self.Q = arrays("queries", count, d) if self.own else self.X[arrays("anchors", count, integers=len(self.X))]
        self.p, self.n = (np.array([len(items) for items in lists]) for lists in (self.near, self.far))
        demand(len(self.far) == count > 0 and min(self.p.min(), self.n.min()) > 0, "a query has no near or far item")
        own = arrays("query_weights", count) if "query_weights" in arrays else np.ones(count)
        demand((own >= 0.0).all(), "query_weights must not be negative")
        if table["kind"] == "rankings":
            keys(table, "risk", "kind measure C", "k short queries")
            self.measure, self.cut = table["measure"], "short" not in table
            known = isinstance(self.measure, str) and self.measure in MEASURES
            demand(known and MEASURES[self.measure] == ("k" in table), "risk: no such measure, or k where it has none")
            self.k = natural(table.get("k", 1), "k", 1)
            printed = self.cut or (table["short"] == "printed" and "k" in table and self.k <= MAX_HEAD)
            demand(printed, f"risk: short can only be 'printed', with a k of at most {MAX_HEAD}")
            share = positive(table["C"], "C") / natural(table.get("queries", count), "queries", count)
            self.shares, self.margin = Ball.of(share) * own, Ball(0.5)
            self.units = Ball.of([2 * share / size for size in (self.p * self.n).tolist()]) * own
        else:
            keys(table, "risk", "kind loss weight", "margin")
            self.loss, known = table["loss"], table["loss"] in ("hinge", "logistic")
            demand(known and ("margin" in table) == (self.loss == "hinge"), "risk: loss must be hinge or logistic")
            self.margin = Ball.of(rational(table.get("margin", "0"), "margin"))
            self.units = Ball.of(positive(table["weight"], "weight")) * own

    def _lists(self, name: str, arrays: Arrays) -> list[Array]:
        items, stops = arrays(name, None, integers=len(self.X)), arrays(f"{name}_stops", None, integers=2**40)
        demand(len(stops) and (np.diff(stops) > 0).all() and stops[-1] == len(items), f"the {name} lists are malformed")
        return np.split(items, stops[:-1])

    @property
    def ranked(self) -> bool:
        """Whether it is a maximum over rankings that is no sum over pairs."""
        return self.measure != "auc"

    def value(self, factor: Array) -> Ball:
        """R at a metric."""
        images, sizes, table = Images(self.diagonal, factor, self.X, self.Q), (0, 0), Ball(0.0)
        mids, rads = np.zeros((2, len(self.Q)))
        for q, row in enumerate(images.rows()):
            x, z = np.sort(row[self.near[q]]), np.sort(row[self.far[q]])
            if self.loss == "logistic":
                s = z[None, :] - x[:, None]
                total = softplus(s, up(2.0 * images.error + U * np.abs(s))).sum()
                mids[q], rads[q] = total.mid, total.rad
            elif self.ranked:
                if sizes != (sizes := (x.size, z.size)):
                    i, b = np.arange(1.0, x.size + 1.0)[:, None], np.arange(z.size + 1.0)
                    table = gains(self.measure, self.k, self.cut, x.size, i, b)
                mids[q], error = worst_ranking(table, x, z)
                rads[q] = error + 4.0 * images.error
            else:
                mids[q], error = sum_of_hinges(x, z, self.margin)
                rads[q] = error + x.size * z.size * 2.0 * images.error
        return (Ball(mids, up(rads)) * (self.shares if self.ranked else self.units)).sum()

    def dual(self, table: Table, arrays: Arrays) -> Says:
        """What the integers of the file say, all of them over ``2^bits``."""
        kind = "slopes" if self.loss == "logistic" else "rankings" if self.ranked else "sums"
        one = 2 ** natural(table.get("bits"), "dual: bits", most=41)
        demand(table["kind"] == kind, f"dual: kind must be {kind!r} for this risk")
        demand(int((self.p * self.n).max()) * one <= WHOLE, "dual: 2^bits times the pairs of a query exceed 2^53")
        W, (mids, rads) = np.zeros((len(self.Q), len(self.X))), np.zeros((2, len(self.Q)))
        for q, (r, c, worth) in enumerate(self._slopes(arrays, one) if kind == "slopes" else self._sums(arrays, one)):
            # Integers below 2^53, and so exact.
            W[q] = np.bincount(self.far[q], c, len(self.X)) - np.bincount(self.near[q], r, len(self.X))
            mids[q], rads[q] = worth.mid, worth.rad
        unit = self.units * (1.0 / one)
        rad = up((unit.rad + 2.0 * U * unit.mid) * np.abs(W).max(axis=1))
        W *= unit.mid[:, None]
        weight = self.shares if self.ranked else self.units if kind == "slopes" else self.units * self.margin
        S = laplacian(self.diagonal, self.Q, self.X, Ball(W, rad[:, None]), balanced=True)
        return Says((Ball(mids, rads) * weight).sum(), S)

    def _slopes(self, arrays: Arrays, one: int) -> Iterator[tuple[Array, Array, Ball]]:
        """Of every query the sums of the slopes of its near and far items, and what they are worth (theorem 5)."""
        slopes, stop = arrays("slopes", sum((self.p * self.n).tolist()), integers=one + 1), 0
        for p, n in zip(self.p.tolist(), self.n.tolist(), strict=True):
            start, stop = stop, stop + p * n
            own = slopes[start:stop].reshape(p, n)
            yield own.sum(axis=1), own.sum(axis=0), entropy(own / one).sum()

    def _sums(self, arrays: Arrays, one: int) -> Iterator[tuple[Array, Array, Ball]]:
        """The sums of the file, if slopes or rankings have them, and what these are worth (theorems 3 and 4)."""
        ends, stops = np.cumsum(self.p), np.cumsum(self.n)
        near = np.split(arrays("near_sums", int(ends[-1]), integers=WHOLE), ends[:-1])
        far = np.split(arrays("far_sums", int(stops[-1]), integers=WHOLE), stops[:-1])
        if self.ranked:
            steps = arrays("steps", None, int(ends[-1]), integers=int(self.n.max()) + 1)
            weights = arrays("weights", len(steps), None, integers=one + 1)
            groups = arrays("groups", len(near), integers=weights.shape[1])
            show((weights.sum(axis=0, dtype=np.float64) <= one).all(), "weights of rankings exceed one in sum")
        for q, (r, c) in enumerate(zip(near, far, strict=True)):
            # Then no sum of them overflows.
            fit, worth = bool((r <= len(c) * one).all() and (c <= len(r) * one).all()), Ball(float(r.sum()) / one)
            if fit and self.ranked:
                above = np.cumsum(steps[:, ends[q] - len(r) : ends[q]], axis=1)
                fit, worth = self._of_rankings(r, c, above, weights[:, groups[q]], one)
            show(fit and (self.ranked or sums_of_slopes(r, c, one)), f"the sums of query {q} are those of no slopes")
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
        return fit, ((Ball(1.0) - gain.sum(1)) * Ball(w / one)).sum()


# Risks of listed comparisons, and of all pairs ------------------------------------------------------------------------

#: Losses of one comparison s, and the box of their slopes a: ``l(s) >= v(a) - a s`` (theorem 5).
LOSSES = {
    "hinge": (0.0, 1.0), "absolute": (-1.0, 1.0), "squared": (-np.inf, np.inf), "logistic": (0.0, 1.0),
    "hard": (0.0, np.inf),
}  # fmt: skip


class Term:
    """A loss with its weight, its mu, and the sign of the squared distance in s."""

    def __init__(self, table: Table) -> None:
        keys(table, "term", "loss weight margin sign")
        self.loss, sign = table["loss"], table["sign"]
        known = isinstance(self.loss, str) and self.loss in LOSSES and not isinstance(sign, bool) and sign in (1, -1)
        demand(known, "term: there is no such loss, or sign is not 1 or -1")
        weight, mu = positive(table["weight"], "weight"), rational(table["margin"], "margin")
        demand(self.loss != "hard" or weight == 1, "term: a hard margin has the weight 1")
        self.weight, self.mu, self.sign = Ball.of(weight), Ball.of(mu), float(sign)

    def values(self, s: Array, error: float, mu: Ball) -> Ball:
        """``l(s)`` of floats s that are wrong by at most ``error``, without the weight."""
        if self.loss == "logistic":
            return softplus(s, error)
        t = mu - Ball(s, np.full(s.shape, error))
        if self.loss == "hard":
            show(np.all(t.above() <= 0.0), "a hard margin is not proven to hold")
            return Ball(np.zeros_like(s))
        if self.loss == "hinge":
            return Ball(np.maximum(t.mid, 0.0), t.rad)
        return Ball(np.abs(t.mid), t.rad) if self.loss == "absolute" else t * t

    def duals(self, a: Array, mu: Ball) -> Ball:
        """``v(a)`` of slopes in their box, without the weight."""
        low, high = LOSSES[self.loss]
        show((a >= low).all() and (a <= high).all(), "a slope is outside of its box")
        if self.loss == "logistic":
            return entropy(a)
        return mu * Ball(a) - Ball(a) * Ball(a) * 0.25 if self.loss == "squared" else mu * Ball(a)


class ListedRisk:
    """Listed comparisons, and all pairs of points with labels."""

    def __init__(self, table: Table, arrays: Arrays, diagonal: bool, d: int) -> None:
        keys(table, "risk", "kind terms")
        demand(
            isinstance(table["terms"], list) and 1 <= len(table["terms"]) <= 64, "risk: terms must be 1 to 64 losses"
        )
        self.terms = [Term(term) for term in table["terms"]]
        self.diagonal, self.X, self.k = diagonal, arrays("points", None, d), None
        n = len(self.X)
        if table["kind"] == "all pairs":
            demand(len(self.terms) == 2, "risk: all pairs have two terms, of equal and of different labels")
            codes = arrays("codes", n, integers=n)
            self.i, self.j = np.triu_indices(n, 1)
            self.kind = (codes[self.i] != codes[self.j]).astype(np.int8)
        else:
            name = "triplets" if "triplets" in arrays else "pairs"
            self.i, self.j, *k = arrays(name, None, 3 if name == "triplets" else 2, integers=n).T
            self.k = k[0] if k else None
            self.kind = arrays("terms", len(self.i), integers=len(self.terms))
        self.targets = arrays("targets", len(self.i)) if "targets" in arrays else None
        self.weights = arrays("comparison_weights", len(self.i)) if "comparison_weights" in arrays else None
        demand(self.weights is None or (self.weights >= 0.0).all(), "comparison_weights must not be negative")

    def _by_term(self) -> Iterator[tuple[Term, Array, Ball, Ball]]:
        """Terms with their comparisons, the mu and the weights of these, a block at a time."""
        step = max(1, BLOCK // max(16, self.X.shape[1]))
        for number, term in enumerate(self.terms):
            rows = np.flatnonzero(self.kind == number)
            for some in (rows[at : at + step] for at in range(0, len(rows), step)):
                mu = term.mu if self.targets is None else Ball(self.targets[some])
                weight = Ball(np.ones(len(some)) if self.weights is None else self.weights[some])
                yield term, some, mu, weight * term.weight

    def value(self, factor: Array) -> Ball:
        """R at a metric."""
        images, total = Images(self.diagonal, factor, self.X), Ball(0.0)
        for term, rows, mu, weight in self._by_term():
            s, error = images.listed(self.i[rows], self.j[rows]), images.error
            if self.k is not None:
                s = images.listed(self.i[rows], self.k[rows]) - s
                error = 2.0 * error + U * float(np.abs(s).max(initial=0.0))
            total = total + (term.values(term.sign * s, up(error), mu) * weight).sum()
        return total

    def dual(self, table: Table, arrays: Arrays) -> Says:
        """What slopes, each in its box, say."""
        demand(table["kind"] == "slopes" and "bits" not in table, "dual: kind must be 'slopes', without bits")
        slopes, total, n = arrays("slopes", len(self.i)), Ball(0.0), len(self.X)
        weights, worst = np.zeros(len(self.i)), np.zeros(())
        for term, rows, mu, weight in self._by_term():
            total = total + (term.duals(slopes[rows], mu) * weight).sum()
            u = Ball(slopes[rows]) * weight * term.sign
            weights[rows] = u.mid
            worst = np.maximum(worst, np.max(u.rad, initial=0.0))
        # An entry sums at most `most` weights, each wrong by at most `worst`.
        ends, signs = ([self.j], [1.0]) if self.k is None else ([self.j, self.k], [-1.0, 1.0])
        at = np.concatenate([self.i * n + end for end in ends])
        parts = np.concatenate([sign * weights for sign in signs])
        W, counts = (np.bincount(at, numbers, n * n).reshape(n, n) for numbers in (parts, np.ones(len(at))))
        size, most = float(np.bincount(at, np.abs(parts)).max(initial=0.0)), int(counts.max(initial=0.0))
        rad = np.where(counts > 0.0, up(most * worst + gamma(most) * size), 0.0)
        return Says(total, laplacian(self.diagonal, self.X, self.X, Ball(W, rad), balanced=self.k is not None))


# Regularizers and bounds ----------------------------------------------------------------------------------------------


class Regularizer:
    """``Omega``: its kind and weight; of a quadratic form L, whether it is convex by itself, and its nonzero rows."""

    def __init__(self, table: Table, arrays: Arrays, diagonal: bool, d: int, points: Array) -> None:
        self.kind, self.convex, self.diagonal = table.get("kind"), True, diagonal
        if self.kind in ("trace", "frobenius", "squared frobenius"):
            keys(table, "regularizer", "kind weight", "over_root_of")
            root = Ball(float(natural(table.get("over_root_of", 1), "over_root_of", 1))).sqrt()
            self.weight = Ball.of(positive(table["weight"], "weight")) / root
            return
        keys(table, "regularizer", "kind of")
        demand(self.kind == "quadratic form" and diagonal, "regularizer: unknown, or a quadratic form on full metrics")
        if table["of"] == "gram of A":
            # (A^T A) o (A^T A) is positive semidefinite by Schur's theorem.
            A = Ball(arrays("gram_of", None, d))
            self.L = (A.T @ A) * (A.T @ A)
            return
        demand(table["of"] in ("squared points", "matrix"), "regularizer: of 'gram of A', 'squared points' or 'matrix'")
        given = points if table["of"] == "squared points" else arrays("form", d, d)
        fits = given.shape == (d, d) and (given == given.T).all() and (given is points or (given >= 0.0).all())
        demand(fits, "regularizer: the matrix must be symmetric, without negative entries")
        self.L = Ball(given) * Ball(given) if given is points else Ball(given)
        self.convex, self.rows = False, np.flatnonzero(given.any(axis=0))

    def value(self, factor: Array) -> Ball:
        """``Omega`` at a metric."""
        B = Ball(factor)
        if self.kind == "trace":
            return (B if self.diagonal else B * B).sum() * self.weight
        if self.kind == "quadratic form":
            w = Ball(factor[:, None])
            return (w * (self.L @ w)).sum() * 0.5
        M = B if self.diagonal else B @ B.T
        return M.norm() * self.weight if self.kind == "frobenius" else (M * M).sum() * self.weight * 0.5


def semidefinite(K: Ball, what: str) -> None:
    """Stop unless a symmetric K is positive semidefinite: ``K - e I = C C^T + E`` with ``||E||_F <= e`` shows it.

    C may be anything, so that nothing is asked of the Cholesky factor that LAPACK finds.
    """
    d, rad = len(K.mid), float(norms(np.broadcast_to(K.rad, K.mid.shape)))
    e = 4.0 * (d + 8.0) * U * float(norms(K.mid)) + 1.0625 * rad
    shifted, C = K - Ball(e * np.eye(d)), np.full((d, d), np.nan)
    if math.isfinite(e):
        try:
            C = np.linalg.cholesky(0.5 * (shifted.mid + shifted.mid.T))
        except np.linalg.LinAlgError:
            show(False, f"{what} is not proven to be positive semidefinite")
    E = shifted - Ball(C) @ Ball(C.T)
    show(norms(np.abs(E.mid) + E.rad) <= e, f"{what} is not proven to be positive semidefinite")


class Problem:
    """The statement of a file, read and checked."""

    def __init__(self, document: Table, arrays: Arrays) -> None:
        table = self.table = document["problem"]
        keys(table, "problem", "cone features risk regularizer linear", "constant")
        known = table["cone"] in ("psd", "diagonal") and isinstance(table["linear"], bool)
        demand(known, "problem: cone must be 'psd' or 'diagonal', and linear true or false")
        self.diagonal, self.d = table["cone"] == "diagonal", natural(table["features"], "features", 1)
        self.constant = rational(table.get("constant", "0"), "constant")
        kind: Any = table["risk"].get("kind") if isinstance(table["risk"], dict) else None
        demand(isinstance(kind, str) and kind in RISKS, "risk: there is no such kind")
        demand(isinstance(table["regularizer"], dict), "regularizer must be a table")
        self.risk = RISKS[kind](table["risk"], arrays, self.diagonal, self.d)
        self.omega = Regularizer(table["regularizer"], arrays, self.diagonal, self.d, self.risk.X)
        self.G = np.zeros(self.d if self.diagonal else (self.d, self.d))
        if table["linear"]:
            self.G = arrays("linear", *self.G.shape)
            demand((self.G == self.G.T).all(), "linear must be a symmetric matrix")
        #: Arrays of the statement; what is asked for later proves.
        self.arrays = {name: arrays.arrays[name] for name in arrays.used}
        self.sha256 = statement_digest(table, self.arrays)

    def upper(self, arrays: Arrays) -> Fraction:
        """F at the metric of a file, without the constant."""
        if self.diagonal:
            factor = arrays("weights_of_metric", self.d)
            demand((factor >= 0.0).all(), "weights_of_metric must not be negative")
        else:
            factor = arrays("factor", None, self.d)
        B = Ball(factor)
        linear = B * Ball(self.G) if self.diagonal else B * (B @ Ball(self.G))
        return (self.risk.value(factor) + self.omega.value(factor) + linear.sum()).upper()

    def lower(self, says: Says, table: Table, arrays: Arrays, upper: Fraction | None) -> Fraction:
        """A lower bound on F from a dual point and the cap of a file, without the constant (theorems 6 and 7)."""
        omega = self.omega
        share = rational(table["share"], "dual: share")
        show(0 <= share <= 1, "the share is not between 0 and 1")
        value, A = share * says.value.lower(), says.S * Ball.of(share) - Ball(self.G)
        if omega.kind == "quadratic form":
            return value - self._conjugate(A, table, arrays, upper)
        weight = omega.weight.lower()
        if self.diagonal:
            P = np.maximum(A.above(), 0.0)
            size = exactly(P.max()) if omega.kind == "trace" else Ball(P).norm().upper()
        elif omega.kind == "trace":
            size = weight
            semidefinite(Ball(np.eye(self.d)) * omega.weight - A, "what the trace leaves of the dual matrix")
        else:
            F = Ball(arrays("cap", None, self.d))
            cap = F.T @ F + Ball(np.eye(self.d)) * Ball.of(rational(table["shift"], "dual: shift"))
            size = cap.norm().upper()
            semidefinite(cap - A, "the cap less the dual matrix")
        if omega.kind == "squared frobenius":
            return value - size * size / (2 * weight)
        show(size <= weight, "the dual point is not feasible: its cap exceeds the weight of the regularizer")
        return value

    def _conjugate(self, A: Ball, table: Table, arrays: Arrays, upper: Fraction | None) -> Fraction:
        """Above ``max_w <A, w> - 1/2 w^T L w``, from z with ``L z >= A`` entry by entry (theorem 7)."""
        omega, z = self.omega, Ball(arrays("z", self.d)[:, None])
        reach = omega.L @ z
        show(np.all(reach.below()[:, 0] >= A.above()), "z does not have L z >= S - G")
        most = (z * reach).sum().upper() / 2
        if omega.convex:
            return most
        lack, diagonal = rational(table["lack"], "dual: lack"), omega.L[omega.rows, omega.rows].below()
        show(
            lack >= 0 and not self.table["linear"] and upper is not None, "a form that may lack convexity: G, no upper"
        )
        semidefinite(omega.L + Ball(np.eye(self.d)) * Ball.of(lack), "the quadratic form with what it lacks")
        show((diagonal > 0.0).all(), "the quadratic form has a zero on its diagonal")
        least = exactly(diagonal.min(initial=1.0))
        return most + lack * (2 * max(upper or Fraction(0), Fraction(0)) / least + z[omega.rows].norm().upper() ** 2)


RISKS: dict[str, Callable[..., Any]] = {
    "pairs of lists": ListRisk, "rankings": ListRisk, "listed comparisons": ListedRisk, "all pairs": ListedRisk
}  # fmt: skip


# Verdicts -------------------------------------------------------------------------------------------------------------


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


def prove(document: Table, arrays: Mapping[str, Array]) -> Proof:
    """Prove the bounds of a certificate, and compare them with those that it claims."""
    keys(document["claimed"], "claimed", "lower upper")
    claimed = rational(document["claimed"]["lower"], "lower"), rational(document["claimed"]["upper"], "upper")
    given, table, lower, upper, reasons = Arrays(arrays), document["dual"], None, None, []
    with np.errstate(all="ignore"):
        problem = Problem(document, given)
        shift = not problem.diagonal and problem.omega.kind != "trace"
        keys(table, "dual", "kind share" + " shift" * shift + " lack" * (not problem.omega.convex), "bits")
        try:
            upper = problem.upper(given)
            if claimed[1] < rounded(upper + problem.constant, 1):
                reasons.append("the upper bound claimed is smaller than the one proven")
        except NotProven as error:
            reasons.append(f"upper bound: {error}")
        try:
            lower = problem.lower(problem.risk.dual(table, given), table, given, upper)
            if claimed[0] > rounded(lower + problem.constant, -1):
                reasons.append("the lower bound claimed is larger than the one proven")
        except NotProven as error:
            reasons.append(f"lower bound: {error}")
    unused = ", ".join(sorted(set(arrays) - given.used))
    demand(not unused or lower is None, f"arrays that nothing speaks of: {unused}")
    ends = [None if end is None else rounded(end + problem.constant, way) for end, way in ((lower, -1), (upper, 1))]
    return Proof(problem, ends[0], ends[1], claimed, "; ".join(reasons))


def main(path: str) -> int:
    """Print bounds and the hash of the statement; exit code 0 if the claims of the file are proven, else 1."""
    proof = prove(*contents(Path(path)))
    print(f"{proof.lower} <= optimum <= {proof.upper}\nstatement: {proof.problem.sha256}\n{proof.reason or 'accepted'}")
    return int(bool(proof.reason))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
