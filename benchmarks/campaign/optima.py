"""Exact optima of problems in one unknown, which judge the checker where no hints are at hand.

A statement is read and evaluated by the second checker (``tests/certificates/second_checker.py``), which shares nothing
with the checker but the text of ``docs/certificate-format.md``. Where all differences of points are multiples of one
vector v, a metric matters to R by ``s = v^T M v`` only: the optimum is that of a convex function of one nonnegative
number, made of lines, parabolas, logistic losses, logarithms and roots. So it is with regularizers of which the least
value at ``v^T M v = s`` has a formula: all of one feature.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import second_checker as second
from second_checker import ZERO, Matrix

__all__ = ["INFINITE", "NEGATIVE", "Ends", "Statement", "Unreadable", "slope_of", "worst_places"]

#: A number between two fractions, or infinite ones.
Ends = tuple[Any, Any]
Vector = list[Fraction]
HALF = Fraction(1, 2)
#: Losses that may be negative.
NEGATIVE = ("negative log", "negative root")
INFINITE = float("inf")
#: Digits of slopes, the error that leaves for each of size one, and how many rankings are listed.
DIGITS, SLACK, MOST = 60, Fraction(1, 2**120), 3000


class Unreadable(Exception):  # noqa: N818 - of the judge, not of the file
    """The judge has no answer for this statement: it is none, or too large."""


#: Risks that are taken apart.
READ = ("pairs of lists", "rankings", "listed comparisons", "all pairs")


@dataclass(frozen=True)
class Comparison:
    """``weight * loss(s)`` of ``s = sum of sign * d(a, b)``, a and b rows."""

    loss: second.Loss
    weight: Fraction
    mu: Fraction
    distances: tuple[tuple[int, int, int], ...]


@dataclass(frozen=True)
class Query:
    """``weight * max_y Delta(y) - 2/(p n) sum of d_far - d_near over inverted pairs``."""

    weight: Fraction
    gains: list[list[Fraction]]
    anchor: int
    near: list[int]
    far: list[int]


class Statement(second.Statement):
    """The problem of a file, taken apart.

    Raises
    ------
    Unreadable
        If it is no statement, or too large for exact arithmetic.
    """

    def __init__(self, document: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        if sum(a.size for a in arrays.values()) > second.MOST:
            raise Unreadable("too large")
        try:
            super().__init__(document["problem"], second.File(arrays))
        except (
            second.Refused, KeyError, IndexError, TypeError, ValueError, AttributeError, ArithmeticError
        ) as error:  # fmt: skip
            raise Unreadable(f"{type(error).__name__}: {error}") from error
        blocks = list(range(self.d)) if self.diagonal else self.space.blocks
        #: Features whose entries of M are not zero with one another.
        self.groups = [[i for i in range(self.d) if blocks[i] == block] for block in sorted(set(blocks))]
        self.arrays, self.slack, self.nonnegative = arrays, ZERO, not self.risk.negative
        parts = self.omega.parts if isinstance(self.omega, second.Several) else [self.omega]
        #: The terms of Omega.
        self.terms = [term for term in parts if term.kind != "zero"]
        if any(term.kind == "inverse trace" for term in self.terms):
            raise Unreadable("an inverse trace")
        self.rows: Matrix = []
        self.parts: list[Comparison | Query] = []
        #: Rows of every query, of its relevant and of its other items.
        self.lists: list[tuple[int, list[int], list[int]]] = []
        tables = document["problem"]["risk"].get("summands", [document["problem"]["risk"]])
        if any(own["kind"] not in READ for own in tables):
            raise Unreadable("a softmax, or worst parts")
        for risk in self.risk.risks if isinstance(self.risk, second.Sum) else [self.risk]:
            (self._of_lists if isinstance(risk, second.Lists) else self._of_listed)(risk)

    def _of_lists(self, risk: second.Lists) -> None:
        start, own = len(self.rows), len(self.rows) + len(risk.X)
        self.rows = self.rows + risk.X + risk.Q
        for q, lists in enumerate(zip(risk.near, risk.far, strict=True)):
            near, far = ([start + item for item in items] for items in lists)
            anchor = own + q
            self.lists.append((anchor, near, far))
            if risk.ranked:
                g = [[risk.gains[q](i, b) for b in range(len(far) + 1)] for i in range(1, len(near) + 1)]
                self.slack += risk.shares[q] * len(near) * max(one.high - one.low for row in g for one in row)
                self.parts.append(Query(risk.shares[q], [[one.low for one in row] for row in g], anchor, near, far))
                continue
            for i in near:
                for j in far:
                    self.parts.append(Comparison(risk.loss, risk.units[q], risk.mu, ((1, anchor, j), (-1, anchor, i))))

    def _of_listed(self, risk: second.Listed) -> None:
        start = len(self.rows)
        self.rows = self.rows + risk.X
        for row, loss, sign, mu, weight in zip(risk.rows, risk.losses, risk.signs, risk.mu, risk.weights, strict=True):
            i, j, *k = (start + item for item in row)
            distances = ((sign, i, k[0]), (-sign, i, j)) if k else ((sign, i, j),)
            self.parts.append(Comparison(loss, weight, mu, distances))

    # At a metric

    def objective(self, factor: np.ndarray) -> Ends:
        """F at the metric of a factor, or of weights: ``(low, high)``."""
        given = [[Fraction(entry) for entry in row] for row in np.atleast_2d(factor).tolist()]
        M = self.space.square(self.space.filled(given[0]) if self.diagonal else given)
        n, blocks = range(self.d), self.space.blocks
        if not self.diagonal and any(M[i][j] and blocks[i] != blocks[j] for i in n for j in n):
            return INFINITE, INFINITE
        try:
            found = sum((self._at(term, M) for term in self.terms), self.risk.value(M))
        except second.Unproven:
            return INFINITE, INFINITE
        linear = self.constant + (ZERO if self.G is None else second.inner(self.G, M))
        return found.low + linear, found.high + linear

    def _at(self, term: Any, M: Matrix) -> second.Interval:
        """A term of Omega, without the proof that files hold of it."""
        if term.kind == "log det":
            det, H = _determinant(M), self.space.square(term.T0)
            second.shown(det > 0, "an infinite divergence")
            linear = second.exactly(second.inner(H, M) - self.d)
            return (linear - second.logarithm(det * _determinant(H))).times(term.weight)
        if term.kind == "trace norm" and not self.diagonal:
            if "prior" not in term.said:
                return second.exactly(sum((M[i][i] for i in range(self.d)), ZERO)).times(term.weight)
            X = second.plus(M, term.prior, -second.ONE)
            square = second.inner(X, X)
            # The sum of sizes of eigenvalues is between the root of the sum of their squares, and that times root d.
            return second.Interval(second.root(square).low, second.root(self.d * square).high).times(term.weight)
        found: second.Interval = term.value(M, M)
        return found

    # In one unknown

    def optimum(self) -> Ends:
        """The optimal value, if R depends on one number only: ``(low, high)``, infinite if there is none.

        Raises
        ------
        Unreadable
            If it depends on more.
        """
        low, high = self.of_one_number()
        slack, constant = self.slack, self.constant
        return low.minimum()[0] - slack + constant, high.minimum()[1] + slack + constant

    def of_one_number(self) -> tuple[Function, Function]:
        """F as a function of s, but for the constant, from below and from above."""
        v, along = self.line()
        R = Function(self, along)
        return self._with_omega(R, v, 0), self._with_omega(R, v, 1)

    def line(self) -> tuple[list[Fraction], list[Fraction]]:
        """v and t with ``row_i - row_0 = t_i v``."""
        first = self.rows[0]
        differences = [[x - y for x, y in zip(row, first, strict=True)] for row in self.rows]
        v = next((row for row in differences if any(row)), [Fraction(1)] * self.d)
        at = next(i for i, entry in enumerate(v) if entry)
        along = [row[at] / v[at] for row in differences]
        if any(t * b != a for t, row in zip(along, differences, strict=True) for a, b in zip(row, v, strict=True)):
            raise Unreadable("points are on no line")
        return v, along

    def _with_omega(self, R: Function, v: Vector, end: int) -> Function:
        """R and the least ``Omega(M) + <G, M>`` with ``v^T M v = s``; weights that are roots at one of their ends."""
        if self.d > 1 and (self.G is not None or len(self.terms) > 1):
            raise Unreadable("several terms of several features")
        made = R.copied()
        if self.G is not None:
            made.line += self.G[0][0] / (v[0] * v[0])
        for term in self.terms:
            weight = getattr(term, "weight", second.NOTHING)
            own = (weight.low, weight.high)[end]
            if self.d == 1:
                self._of_one_feature(made, term, own, v[0] * v[0])
            else:
                self._of_several(made, term, own, v, end)
        return made

    def _of_one_feature(self, made: Function, term: Any, weight: Fraction, a: Fraction) -> None:
        """A term of the metric ``m = s / a``."""
        if term.kind == "quadratic form":
            made.square += HALF * term.L[0][0] / (a * a)
        elif term.kind == "squared frobenius":
            made.add_loss("squared", HALF * weight, term.prior[0][0], 1 / a)
        elif term.kind == "log det":
            made.add_log_det(weight, self.space.square(term.T0)[0][0] / a)
        elif term.kind == "budget":
            made.add_budget(term, term.A[0][0] / a)
        elif term.kind == "spectral bound":
            made.most = min(made.most, term.U[0][0] * a)
        elif term.kind != "entrywise" or term.said["diagonal"]:
            made.add_loss("absolute", weight, term.prior[0][0], 1 / a)

    def _of_several(self, made: Function, term: Any, weight: Fraction, v: Vector, end: int) -> None:
        """A term of several features: s over the largest ``<v v^T, M>`` of a metric of size one."""
        kind, parts = term.kind, [[v[i] for i in group] for group in self.groups]
        if kind in ("quadratic form", "spectral bound", "row norms") or "prior" in term.said:
            raise Unreadable("a prior, a form, a bound or rows, of several features")
        if kind == "log det":
            if len(parts) > 1:
                raise Unreadable("a log det of several blocks")
            made.add_log_det(weight, 1 / _inner_of_inverse(self.space.square(term.T0), v))
        elif kind == "budget":
            blocks = [[[term.A[i][j] for j in group] for i in group] for group in self.groups]
            made.add_budget(term, 1 / max(map(_inner_of_inverse, blocks, parts)))
        elif kind == "entrywise":
            made.line += weight / max(entry * entry for entry in v) if term.said["diagonal"] else ZERO
        else:
            sizes = [sum((entry * entry for entry in part), ZERO) for part in parts]
            square = sum((size * size for size in sizes), ZERO)
            if kind in ("trace", "trace norm"):
                made.line += weight / max(sizes)
            elif kind == "frobenius":
                root = second.root(square)
                made.line += weight / (root.high, root.low)[end]
            else:
                made.square += HALF * weight / square


@dataclass(frozen=True)
class Smooth:
    """A loss of ``rise * s`` that bends everywhere, or wherever it is positive, times a weight.

    ``ever`` is its slope at infinity. ``steep``: at zero its slope is minus infinity. ``falls``: it ends in minus a
    logarithm or a root.
    """

    loss: str
    weight: Fraction
    mu: Fraction
    rise: Fraction

    @property
    def ever(self) -> Fraction:
        if self.loss == "itakura-saito" and self.mu < 0:
            return self.weight * self.rise / self.mu
        return self.weight * max(-self.rise, ZERO) if self.loss == "logistic" else ZERO

    @property
    def falls(self) -> bool:
        return self.loss in NEGATIVE or (self.loss == "itakura-saito" and self.mu < 0)

    @property
    def steep(self) -> bool:
        return self.loss in NEGATIVE or (self.loss == "itakura-saito" and self.mu > 0)

    def value(self, s: Fraction) -> Ends:
        low, high = loss_at(self.loss, self.mu, self.rise * s)
        return (low, high) if high == INFINITE else (self.weight * low, self.weight * high)

    def slope(self, s: Fraction) -> Fraction:
        """Of a positive s where it is steep."""
        return -self.weight * self.rise * slope_of(self.loss, self.mu, self.rise * s)

    def error(self, s: Fraction) -> Fraction:
        """Of the slope."""
        if self.loss == "negative root":
            return abs(self.slope(s)) * SLACK
        return abs(self.weight * self.rise) * SLACK if self.loss == "logistic" else ZERO


def slope_of(loss: second.Loss, mu: Fraction, s: Fraction) -> Fraction:
    """A slope a of a loss at s, with ``l(s) = v(a) - a s`` or nearly so."""
    if isinstance(loss, second.Box):
        t = mu - s
        return loss.into(t / loss.kappa if loss.kappa else t * 10**30)
    if loss == "exponential":
        return second.exponential(min(mu - s, ZERO)).low
    if loss == "squared":
        return 2 * (mu - s)
    if loss == "logistic":
        return _share(s)
    if loss == "negative log":
        return 1 / s
    if loss == "negative root":
        return 1 / (2 * second.root(s).low)
    if loss == "itakura-saito":
        r = min(s / mu, Fraction(1)) if mu > 0 else max(s / mu, Fraction(1))
        return (1 / r - 1) / mu
    return ZERO if loss == "hard" else Fraction(int(s < mu) - int(loss == "absolute" and s > mu))


class Function:
    """A convex function of ``s >= 0``: constant, line, parabola, kinks, bounds on s, and smooth losses."""

    def __init__(self, statement: Statement, along: Vector) -> None:
        self.constant = self.line = self.square = self.slack = ZERO
        self.kinks: dict[Fraction, Fraction] = {}
        self.least: Any = ZERO
        self.most: Any = INFINITE
        self.smooth: list[Smooth] = []
        for part in statement.parts:
            if isinstance(part, Query):
                self._ranking(part, along)
            else:
                rise = sum((sign * (along[a] - along[b]) ** 2 for sign, a, b in part.distances), ZERO)
                self.add_loss(part.loss, part.weight, part.mu, rise)

    def copied(self) -> Function:
        """One to which more is added."""
        made = copy.copy(self)
        made.kinks, made.smooth = dict(self.kinks), list(self.smooth)
        return made

    def _hinge(self, weight: Fraction, mu: Fraction, rise: Fraction) -> None:
        """``weight max(0, mu - rise s)``."""
        if mu > 0 or (mu == 0 and rise < 0):
            self.constant += weight * mu
            self.line -= weight * rise
            if rise > 0:
                self._kink(mu / rise, weight * rise)
        elif rise < 0:
            self._kink(mu / rise, -weight * rise)

    def _kink(self, at: Fraction, jump: Fraction) -> None:
        self.kinks[at] = self.kinks.get(at, ZERO) + jump

    def _box(self, box: second.Box, weight: Fraction, mu: Fraction, rise: Fraction) -> None:
        """Of a parabola without ends, or of two lines, each of which may be infinite."""
        if box.kappa and (box.lo is not None or box.hi is not None):
            raise Unreadable("a box with ends and a curvature")
        if box.kappa:
            self.add_loss("squared", weight / (2 * box.kappa), mu, rise)
            return
        if box.hi is None:
            self.add_loss("hard", weight, mu, rise)
        if box.lo is None:
            self.add_loss("hard", weight, -mu, -rise)
        lo, hi = (next((end for end in ends if end is not None), ZERO) for ends in ((box.lo, box.hi), (box.hi, box.lo)))
        self.constant += weight * lo * mu
        self.line -= weight * lo * rise
        self._hinge(weight * (hi - lo), mu, rise)

    def add_loss(self, loss: second.Loss, weight: Fraction, mu: Fraction, rise: Fraction) -> None:
        """``weight l(rise s)``."""
        if isinstance(loss, second.Box):
            self._box(loss, weight, mu, rise)
        elif loss in ("hinge", "absolute"):
            self._hinge(weight, mu, rise)
            if loss == "absolute":
                self._hinge(weight, -mu, -rise)
        elif loss == "squared":
            self.constant += weight * mu * mu
            self.line -= 2 * weight * mu * rise
            self.square += weight * rise * rise
        elif loss == "hard":
            if rise > 0:
                self.least = max(self.least, mu / rise)
            elif rise < 0:
                self.most = min(self.most, mu / rise)
            elif mu > 0:
                self.most = Fraction(-1)
        elif loss in ("logistic", *NEGATIVE) or (loss == "itakura-saito" and mu):
            self._bent(Smooth(loss, weight, mu, rise))
        else:
            raise Unreadable(f"no such loss: {loss}, of the margin {mu}")

    def _bent(self, part: Smooth) -> None:
        if not part.weight:
            if part.steep:
                raise Unreadable("nothing times what may be infinite")
            return
        if part.steep and part.rise <= 0 and (part.rise or part.loss != "negative root"):
            # Roots of negative numbers, and logarithms and divergences of these and of zero.
            self.most = min(self.most, ZERO if part.loss == "negative root" else Fraction(-1))
        elif part.rise and not (part.loss == "itakura-saito" and part.mu < 0 < part.rise):
            self.smooth.append(part)
        elif part.loss == "logistic":
            low, high = part.value(ZERO)
            self.constant, self.slack = self.constant + low, self.slack + high - low

    def add_log_det(self, weight: Fraction, rise: Fraction) -> None:
        """``weight (r - ln r - 1)`` of ``r = rise s``."""
        self.line += weight * rise
        self.constant -= weight
        self._bent(Smooth("negative log", weight, ZERO, rise))

    def add_budget(self, term: Any, rise: Fraction) -> None:
        """What ``rise s`` is above the limit."""
        if "weight" in term.said:
            self._hinge(term.weight.low, -term.limit, -rise)
        elif rise > 0:
            self.most = min(self.most, term.limit / rise)

    def _ranking(self, query: Query, along: list[Fraction]) -> None:
        """The largest of the lines of all rankings: its envelope."""
        x = sorted((along[query.anchor] - along[i]) ** 2 for i in query.near)
        z = sorted((along[query.anchor] - along[j]) ** 2 for j in query.far)
        p, n = len(x), len(z)
        if math.comb(p + n, p) > MOST:
            raise Unreadable("too many rankings")
        sums = [ZERO]
        for entry in z:
            sums.append(sums[-1] + entry)
        scale, best = Fraction(2, p * n), {}
        for b in combinations_with_replacement(range(n + 1), p):
            slope = -scale * sum((sums[above] - above * x[i] for i, above in enumerate(b)), ZERO)
            value = 1 - sum((query.gains[i][above] for i, above in enumerate(b)), ZERO)
            if slope not in best or best[slope] < value:
                best[slope] = value
        lines = sorted(best.items())
        # At s = 0 the highest line, of these the steepest; then always the one that is met first.
        slope, value = max(lines, key=lambda line: (line[1], line[0]))
        self.constant += query.weight * value
        self.line += query.weight * slope
        while steeper := [(a, b) for a, b in lines if a > slope]:
            at, following, above = min(((value - b) / (a - slope), -a, b) for a, b in steeper)
            self._kink(at, query.weight * (-following - slope))
            slope, value = -following, above

    def slopes(self, s: Fraction) -> Ends:
        """Left and right derivative."""
        slope = self.line + 2 * self.square * s + sum((part.slope(s) for part in self.smooth), ZERO)
        left = slope + sum((jump for at, jump in self.kinks.items() if at < s), ZERO)
        return left, left + self.kinks.get(s, ZERO)

    def lowest(self) -> Fraction | None:
        """A number at which, or near which, it is least; None if there is none."""
        return self._bracket()[0] if self.smooth else self._turning()

    def minimum(self) -> Ends:
        """The least value."""
        if self.least > self.most:
            return INFINITE, INFINITE
        if self.smooth:
            return self._bent_minimum()
        at = self._turning()
        if at is None:
            return -INFINITE, -INFINITE
        value = self.constant + self._pieces(at)
        return value, value + self.slack

    def _pieces(self, s: Fraction) -> Fraction:
        bends = sum((jump * (s - at) for at, jump in self.kinks.items() if s > at), ZERO)
        return self.line * s + self.square * s * s + bends

    def _turning(self) -> Fraction | None:
        """Where lines, parabola and kinks are least between the bounds; None if they fall for ever."""
        start, slope, square = self.least, self.line, self.square
        slope += 2 * square * start + sum((jump for at, jump in self.kinks.items() if at <= start), ZERO)
        for at in sorted(at for at in self.kinks if at > start):
            end = min(at, self.most)
            if slope >= 0:
                return start
            if square and slope + 2 * square * (end - start) >= 0:
                return start - slope / (2 * square)
            if end == self.most:
                return end
            slope += 2 * square * (end - start) + self.kinks[at]
            start = end
        if slope >= 0:
            return start
        rest = start - slope / (2 * square) if square else INFINITE
        rest = min(rest, self.most)
        return None if rest == INFINITE else rest

    def _bent_minimum(self) -> Ends:
        """By a bracket: F is at least its tangent at the left end, taken to the right one."""
        ever = self.line + sum(self.kinks.values(), ZERO) + sum((part.ever for part in self.smooth), ZERO)
        if self.most == INFINITE and not self.square and ever <= 0:
            if ever < 0 or any(part.falls for part in self.smooth):
                return -INFINITE, -INFINITE
            raise Unreadable("the optimum is at infinity")

        def value(s: Fraction) -> Ends:
            low = high = self.constant + self._pieces(s)
            for part in self.smooth:
                ends = part.value(s)
                if ends[0] == INFINITE:
                    return INFINITE, INFINITE
                low, high = low + ends[0], high + ends[1]
            return low, high + self.slack

        left, right = self._bracket()
        low = value(left)
        if left == right == 0:
            return low
        fall = min(self.slopes(left)[1], ZERO)
        return low[0] + fall * (right - left) - 4 * self._error(left) * right, min(low[1], value(right)[1])

    def _error(self, s: Fraction) -> Fraction:
        """Of a derivative."""
        return sum((part.error(s) for part in self.smooth), ZERO)

    def _bracket(self) -> Ends:
        """Two numbers between which the function is least, up to the error of derivatives."""

        def rising(s: Fraction) -> bool:
            return bool(self.slopes(s)[1] >= self._error(s))

        unit, left = self._unit(), self.least
        if left == self.most:
            return left, left
        if left == 0 and any(part.steep for part in self.smooth):
            right = left = min(unit, self.most)
            while rising(left):
                left, right = left / 4, left
                if left < unit / 10**200:
                    raise Unreadable("the optimum is near zero")
            if left < right or left == self.most:
                return self._bisected(left, right, rising)
        elif rising(left):
            return left, left
        right = left + unit
        while right < self.most and not rising(right):
            left, right = right, left + (right - left) * 4
            if right > unit * 10**200:
                raise Unreadable("the optimum is far away")
        return self._bisected(left, min(right, self.most), rising)

    def _unit(self) -> Fraction:
        """A number of the size at which smooth losses bend."""
        return 1 / max(abs(part.rise) / max(abs(part.mu), Fraction(1, 10**9)) if part.loss == "itakura-saito"
                       else abs(part.rise) for part in self.smooth)  # fmt: skip

    @staticmethod
    def _bisected(left: Fraction, right: Fraction, rising: Callable[[Fraction], bool]) -> tuple[Fraction, Fraction]:
        """A bracket of relative width 2^-50 or so, its ends short fractions."""
        for _ in range(70):
            if right - left <= right / 2**50:
                break
            middle = _short((left + right) / 2)
            if not left < middle < right:
                break
            left, right = (left, middle) if rising(middle) else (middle, right)
        return left, right


def _short(value: Fraction) -> Fraction:
    """A fraction near a positive one with some 60 bits: a power of two times an integer."""
    shift = 60 - (value.numerator.bit_length() - value.denominator.bit_length())
    return Fraction(round(value * 2**shift), 2**shift) if shift >= 0 else Fraction(round(value / 2**-shift) * 2**-shift)


def _eliminated(A: Matrix, v: Vector) -> tuple[Vector, Vector]:
    """Pivots of a symmetric matrix, up to the first that is not positive, and what v becomes by elimination."""
    A, v, pivots = [list(row) for row in A], list(v), []
    for k in range(len(A)):
        pivots.append(A[k][k])
        if pivots[-1] <= 0:
            break
        for i in range(k + 1, len(A)):
            share = A[i][k] / A[k][k]
            A[i] = [a - share * b for a, b in zip(A[i], A[k], strict=True)]
            v[i] -= share * v[k]
    return pivots, v


def _determinant(A: Matrix) -> Fraction:
    """Of a positive definite matrix; zero of another."""
    pivots, _ = _eliminated(A, [ZERO] * len(A))
    return math.prod(pivots) if pivots[-1] > 0 else ZERO


def _inner_of_inverse(A: Matrix, v: Vector) -> Fraction:
    """``v^T A^-1 v``."""
    pivots, v = _eliminated(A, v)
    if pivots[-1] <= 0:
        raise Unreadable("a matrix that is not positive definite")
    return sum((entry * entry / pivot for entry, pivot in zip(v, pivots, strict=True)), ZERO)


def worst_places(gains: list[list[Fraction]], x: Sequence[Fraction], z: Sequence[Fraction]) -> list[int]:
    """The numbers of far items above the near ones in the worst ranking, by trying all that do not decrease."""
    p, n = len(x), len(z)

    def cost(b: tuple[int, ...]) -> Fraction:
        price = sum((z[j] - x[i] for i in range(p) for j in range(b[i])), ZERO)
        return sum((gains[i][b[i]] for i in range(p)), ZERO) + Fraction(2, p * n) * price

    return list(min(combinations_with_replacement(range(n + 1), p), key=cost))


def loss_at(loss: second.Loss, mu: Fraction, s: Fraction) -> Ends:
    """The loss of one comparison, which may be infinite."""
    try:
        found = second.loss_of(loss, s, mu)
    except second.Unproven:
        return INFINITE, INFINITE
    return found.low, found.high


def _share(t: Fraction) -> Fraction:
    """``1 / (1 + e^t)``, but for :data:`SLACK`."""
    if abs(t) > 1000:
        return Fraction(int(t < 0))
    with localcontext() as context:
        context.prec = DIGITS
        return Fraction(1 / (1 + (Decimal(t.numerator) / Decimal(t.denominator)).exp()))
