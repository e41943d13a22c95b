"""Exact objectives, and exact optima of problems in one unknown, by fractions: what judges the checker.

This code shares nothing with the checker but the text of ``docs/certificate-format.md``. A statement is read from the
description and the arrays of a file; every float is the rational it represents. Where a number is irrational (roots,
logarithms, discounts of NDCG) it is enclosed, so that all results are intervals ``(low, high)`` of fractions.

Where all differences of points are multiples of one vector v, a metric matters to R by ``s = v^T M v`` only: the
optimum is that of a convex function of one nonnegative number, made of lines, parabolas and logistic losses.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

__all__ = ["Statement", "Unreadable"]

Interval = tuple[Any, Any]
Coefficients = tuple[Fraction, Fraction]
ZERO, HALF = Fraction(0), Fraction(1, 2)
INFINITE = float("inf")
#: Digits of enclosed numbers, the error that leaves for each of size one, and how many rankings are listed.
DIGITS, SLACK, MOST = 60, Fraction(1, 10**50), 3000


class Unreadable(Exception):  # noqa: N818 - of the judge, not of the file
    """The judge has no answer for this statement: it is none, or too large."""


@dataclass(frozen=True)
class Comparison:
    """``weight * loss(s)`` of ``s = sum of sign * d(a, b)``, a and b rows."""

    loss: str
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


class Statement:
    """The problem of a file.

    Raises
    ------
    Unreadable
        If it is no statement, or too large for exact arithmetic.
    """

    def __init__(self, document: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        try:
            self._read(document["problem"], arrays)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError, ZeroDivisionError, OverflowError) as error:
            raise Unreadable(f"{type(error).__name__}: {error}") from error

    def _read(self, table: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        self.diagonal, self.d = table["cone"] == "diagonal", int(table["features"])
        self.arrays, self.slack = arrays, ZERO
        self.constant = Fraction(table.get("constant", "0"))
        if any(a.dtype.kind == "f" and not np.isfinite(a).all() for a in arrays.values()):
            raise Unreadable("numbers that are none")
        if sum(a.size for a in arrays.values()) > 20000:
            raise Unreadable("too large")
        self.rows: list[list[Fraction]] = []
        self.parts: list[Comparison | Query] = []
        if table["risk"]["kind"] == "sum":
            for number, risk in enumerate(table["risk"]["summands"]):
                start = f"summand{number}_"
                own = {name[len(start) :]: array for name, array in arrays.items() if name.startswith(start)}
                self._summand(risk, {"points": arrays.get("points")} | own)
        else:
            self._risk(table["risk"], arrays)
        self.regularizer = _norm(table["regularizer"])
        self.G = _fractions(arrays["linear"]) if table["linear"] else None

    def _risk(self, risk: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        corpus = _fractions(arrays["points"])
        self.rows, self.own = corpus, 0
        if risk["kind"] in ("rankings", "pairs of lists"):
            if "queries" in arrays:
                self.own = len(corpus)
                self.rows = corpus + _fractions(arrays["queries"])
            self._lists(risk)
        else:
            self._listed(risk)

    def _summand(self, risk: dict[str, Any], arrays: dict[str, Any]) -> None:
        """A risk with rows of its own, after those of the risks before it."""
        part = copy.copy(self)
        part.arrays, part.parts, part.slack = arrays, [], ZERO
        part._risk(risk, arrays)
        by = len(self.rows)
        for one in part.parts:
            if isinstance(one, Query):
                near, far = ([row + by for row in rows] for rows in (one.near, one.far))
                self.parts.append(replace(one, anchor=one.anchor + by, near=near, far=far))
            else:
                moved = tuple((sign, a + by, b + by) for sign, a, b in one.distances)
                self.parts.append(replace(one, distances=moved))
        self.rows, self.slack = self.rows + part.rows, self.slack + part.slack

    def _lists(self, risk: dict[str, Any]) -> None:
        arrays, n = self.arrays, self.own or len(self.rows)
        near, last = (arrays[f"near{part}"].tolist() for part in ("", "_stops"))
        count, first = len(last), [0, *last[:-1]]
        anchors = list(range(count)) if self.own else arrays["anchors"].tolist()
        weights = arrays["query_weights"].tolist() if "query_weights" in arrays else [1] * count
        self.lists: list[tuple[int, list[int], list[int]]] = []
        for q in range(count):
            relevant = near[first[q] : last[q]]
            if "itself" in arrays:
                taken = {*relevant, int(arrays["itself"][q])}
                others = [j for j in range(n) if j not in taken]
            else:
                stops = [0, *arrays["far_stops"].tolist()]
                others = arrays["far"][stops[q] : stops[q + 1]].tolist()
            if not relevant or not others:
                raise Unreadable("an empty list")
            anchor = self.own + anchors[q]
            self.lists.append((anchor, relevant, others))
            if risk["kind"] == "rankings":
                gains, slack = _gains(risk["measure"], risk.get("k", 0), len(relevant), len(others))
                weight = Fraction(risk["C"]) / risk.get("queries", count) * Fraction(weights[q])
                self.slack += weight * slack
                self.parts.append(Query(weight, gains, anchor, relevant, others))
                continue
            mu = Fraction(risk["margin"]) if risk["loss"] == "hinge" else ZERO
            weight = Fraction(risk["weight"]) * Fraction(weights[q])
            for i in relevant:
                for j in others:
                    signs = ((1, anchor, j), (-1, anchor, i))
                    self.parts.append(Comparison(risk["loss"], weight, mu, signs))

    def _listed(self, risk: dict[str, Any]) -> None:
        arrays, n = self.arrays, len(self.rows)
        if risk["kind"] == "all pairs":
            codes = arrays["codes"].tolist()
            rows = [(i, j) for i in range(n) for j in range(i + 1, n)]
            kinds = [int(codes[i] != codes[j]) for i, j in rows]
        else:
            rows = arrays["triplets" if "triplets" in arrays else "pairs"].tolist()
            kinds = arrays["terms"].tolist()
        for at, (row, kind) in enumerate(zip(rows, kinds, strict=True)):
            term = risk["terms"][kind]
            sign = term["sign"]
            mu = Fraction(float(arrays["targets"][at])) if "targets" in arrays else Fraction(term["margin"])
            weight = Fraction(term["weight"])
            if "comparison_weights" in arrays:
                weight *= Fraction(float(arrays["comparison_weights"][at]))
            i, j, *k = row
            distances = ((sign, i, k[0]), (-sign, i, j)) if k else ((sign, i, j),)
            self.parts.append(Comparison(term["loss"], weight, mu, distances))

    # At a metric

    def objective(self, factor: np.ndarray) -> Interval:
        """F at the metric of a factor, or of weights: ``(low, high)``."""
        if self.diagonal:
            w = _fractions(factor)
            M = [[w[i] if i == j else ZERO for j in range(self.d)] for i in range(self.d)]
        else:
            B = _fractions(factor)
            M = [[sum((row[i] * row[j] for row in B), ZERO) for j in range(self.d)] for i in range(self.d)]
        known: dict[tuple[int, int], Fraction] = {}

        def distance(a: int, b: int) -> Fraction:
            if (a, b) not in known:
                v = [x - y for x, y in zip(self.rows[a], self.rows[b], strict=True)]
                known[a, b] = sum((v[i] * v[j] * M[i][j] for i in range(self.d) for j in range(self.d)), ZERO)
            return known[a, b]

        low, high = (end + self.constant for end in self._risk_at(distance))
        entries = [M[i][i] for i in range(self.d)] if self.diagonal else [entry for row in M for entry in row]
        ends = self._regularizer_at(M, entries)
        linear = ZERO
        if self.G is not None:
            flat = self.G if self.diagonal else [entry for row in self.G for entry in row]
            linear = sum((g * m for g, m in zip(flat, entries, strict=True)), ZERO)
        return low + ends[0] + linear, high + ends[1] + linear

    def _risk_at(self, distance: Callable[[int, int], Fraction]) -> Interval:
        low = high = ZERO
        for part in self.parts:
            if isinstance(part, Query):
                x = sorted(distance(part.anchor, i) for i in part.near)
                z = sorted(distance(part.anchor, j) for j in part.far)
                worst = part.weight * _worst(part.gains, x, z)
                low, high = low + worst, high + worst
                continue
            s = sum((sign * distance(a, b) for sign, a, b in part.distances), ZERO)
            ends = _loss(part.loss, part.mu, s)
            if ends[1] == INFINITE:
                return INFINITE, INFINITE
            low, high = low + part.weight * ends[0], high + part.weight * ends[1]
        return low - self.slack, high + self.slack

    def _regularizer_at(self, M: list[list[Fraction]], entries: list[Fraction]) -> Interval:
        kind = self.regularizer["kind"]
        if kind == "entrywise":
            free = not self.regularizer["diagonal"]
            sizes = sum((abs(M[i][j]) for i in range(self.d) for j in range(self.d) if i != j or not free), ZERO)
            rest = copy.copy(self)
            rest.regularizer = _norm(self.regularizer["rest"])
            low, high = rest._regularizer_at(M, entries)
            sizes *= Fraction(self.regularizer["weight"])
            return low + sizes, high + sizes
        if kind == "quadratic form":
            L, w = self._form(), [M[i][i] for i in range(self.d)]
            value = HALF * sum((w[i] * L[i][j] * w[j] for i in range(self.d) for j in range(self.d)), ZERO)
            return value, value
        low, high = self._weight()
        if kind == "trace":
            trace = sum((M[i][i] for i in range(self.d)), ZERO)
            return low * trace, high * trace
        square = sum((entry * entry for entry in entries), ZERO)
        if kind == "squared frobenius":
            return HALF * low * square, HALF * high * square
        ends = _root(square)
        return low * ends[0], high * ends[1]

    def _weight(self) -> Interval:
        weight = Fraction(self.regularizer["weight"])
        if "over_root_of" not in self.regularizer:
            return weight, weight
        low, high = _root(Fraction(self.regularizer["over_root_of"]))
        return weight / high, weight / low

    def _form(self) -> list[list[Fraction]]:
        of = self.regularizer["of"]
        if of == "matrix":
            return _fractions(self.arrays["form"])
        if of == "squared points":
            return [[entry * entry for entry in row] for row in self.rows[: self.own or len(self.rows)]]
        A, d = _fractions(self.arrays["gram_of"]), self.d
        return [[sum((row[i] * row[j] for row in A), ZERO) ** 2 for j in range(d)] for i in range(d)]

    # In one unknown

    def optimum(self) -> Interval:
        """The optimal value, if R depends on one number only: ``(low, high)``, infinite if there is none.

        Raises
        ------
        Unreadable
            If it depends on more.
        """
        R, low, high = self.of_one_number()
        slack, constant = self.slack, self.constant
        return R.minimum(*low)[0] - slack + constant, R.minimum(*high)[1] + slack + constant

    def of_one_number(self) -> tuple[Function, Coefficients, Coefficients]:
        """R as a function of s, and what the rest adds to it: (linear, square) coefficients, below and above."""
        v, along = self.line()
        low, high = self._rest(v)
        return Function(self, along), low, high

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

    def _rest(self, v: list[Fraction]) -> tuple[Coefficients, Coefficients]:
        """The least ``Omega(M) + <G, M>`` with ``v^T M v = s``."""
        kind, a = self.regularizer["kind"], [entry * entry for entry in v]
        linear = ZERO
        if kind == "entrywise":
            raise Unreadable("sizes of entries")
        if self.G is not None:
            if self.d > 1:
                raise Unreadable("a linear term of several features")
            linear = (self.G[0] if self.diagonal else self.G[0][0]) / a[0]
        if kind == "quadratic form":
            if self.d > 1:
                raise Unreadable("a quadratic form of several features")
            square = HALF * self._form()[0][0] / (a[0] * a[0])
            return (linear, square), (linear, square)
        low, high = self._weight()
        # The largest <v v^T, M> of a metric of size one.
        if not self.diagonal:
            size = (sum(a, ZERO),) * 2
        elif kind == "trace":
            size = (max(a),) * 2
        else:
            size = _root(sum((entry * entry for entry in a), ZERO))
        if kind == "squared frobenius":
            return (linear, HALF * low / size[1] ** 2), (linear, HALF * high / size[0] ** 2)
        return (linear + low / size[1], ZERO), (linear + high / size[0], ZERO)


class Function:
    """A convex function of ``s >= 0``: constant, line, parabola, kinks, bounds on s, and logistic losses."""

    def __init__(self, statement: Statement, along: list[Fraction]) -> None:
        self.constant = self.line = self.square = ZERO
        self.kinks: dict[Fraction, Fraction] = {}
        self.least: Any = ZERO
        self.most: Any = INFINITE
        self.logistic: list[tuple[Fraction, Fraction]] = []
        for part in statement.parts:
            if isinstance(part, Query):
                self._ranking(part, along)
            else:
                rise = sum((sign * (along[a] - along[b]) ** 2 for sign, a, b in part.distances), ZERO)
                self._comparison(part.loss, part.weight, part.mu, rise)

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

    def _comparison(self, loss: str, weight: Fraction, mu: Fraction, rise: Fraction) -> None:
        if loss in ("hinge", "absolute"):
            self._hinge(weight, mu, rise)
            if loss == "absolute":
                self._hinge(weight, -mu, -rise)
        elif loss == "squared":
            self.constant += weight * mu * mu
            self.line -= 2 * weight * mu * rise
            self.square += weight * rise * rise
        elif loss == "logistic":
            self.logistic.append((weight, rise))
        elif loss == "hard":
            if rise > 0:
                self.least = max(self.least, mu / rise)
            elif rise < 0:
                self.most = min(self.most, mu / rise)
            elif mu > 0:
                self.most = Fraction(-1)
        else:
            raise Unreadable(f"no such loss: {loss}")

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

    def slopes(self, s: Fraction, line: Fraction, square: Fraction) -> Interval:
        """Left and right derivative after ``line s + square s^2`` is added."""
        slope = self.line + line + 2 * (self.square + square) * s
        slope -= sum((weight * rise * _share(rise * s) for weight, rise in self.logistic), ZERO)
        left = slope + sum((jump for at, jump in self.kinks.items() if at < s), ZERO)
        return left, left + self.kinks.get(s, ZERO)

    def lowest(self, line: Fraction, square: Fraction) -> Fraction | None:
        """A number at which, or near which, the function is least after ``line s + square s^2`` is added."""
        if any(rise for _, rise in self.logistic):
            return self._bracket(self.line + line, self.square + square)[0]
        return self._turning(self.line + line, self.square + square)

    def minimum(self, line: Fraction, square: Fraction) -> Interval:
        """The least value after ``line s + square s^2`` is added."""
        line, square = self.line + line, self.square + square
        if self.least > self.most:
            return INFINITE, INFINITE
        if any(rise for _, rise in self.logistic):
            return self._with_logistic(line, square)
        constant = self.constant
        slack = ZERO
        if self.logistic:
            low, high = _loss("logistic", ZERO, ZERO)
            total = sum((weight for weight, _ in self.logistic), ZERO)
            constant, slack = constant + total * low, total * (high - low)
        at = self._turning(line, square)
        if at is None:
            return -INFINITE, -INFINITE
        value = constant + self._pieces(at, line, square)
        return value, value + slack

    def _pieces(self, s: Fraction, line: Fraction, square: Fraction) -> Fraction:
        bends = sum((jump * (s - at) for at, jump in self.kinks.items() if s > at), ZERO)
        return line * s + square * s * s + bends

    def _turning(self, line: Fraction, square: Fraction) -> Fraction | None:
        """Where lines, parabola and kinks are least between the bounds; None if they fall for ever."""
        start, slope = self.least, line
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

    def _with_logistic(self, line: Fraction, square: Fraction) -> Interval:
        """By a bracket: F is at least its tangent at the left end, taken to the right one."""
        ever = line + sum(self.kinks.values(), ZERO) - sum((w * min(rise, ZERO) for w, rise in self.logistic), ZERO)
        if self.most == INFINITE and not square and ever <= 0:
            if ever < 0:
                return -INFINITE, -INFINITE
            raise Unreadable("the optimum is at infinity")

        def value(s: Fraction) -> Interval:
            low = high = self.constant + self._pieces(s, line, square)
            for weight, rise in self.logistic:
                ends = _loss("logistic", ZERO, rise * s)
                low, high = low + weight * ends[0], high + weight * ends[1]
            return low, high

        left, right = self._bracket(line, square)
        low, error = value(left), 4 * self._error() * right
        fall = min(self.slopes(left, line - self.line, square - self.square)[1], ZERO)
        return low[0] + fall * (right - left) - error, min(low[1], value(right)[1])

    def _error(self) -> Fraction:
        """Of a derivative."""
        return sum((abs(weight * rise) for weight, rise in self.logistic), ZERO) * SLACK

    def _bracket(self, line: Fraction, square: Fraction) -> Interval:
        """Two numbers between which the function is least, up to the error of derivatives."""

        def rising(s: Fraction) -> bool:
            return self.slopes(s, line - self.line, square - self.square)[1] >= self._error()

        left = self.least
        if rising(left):
            return left, left
        unit = 1 / max(abs(rise) for _, rise in self.logistic)
        right = left + unit
        while right < self.most and not rising(right):
            left, right = right, left + (right - left) * 4
            if right > unit * 10**200:
                raise Unreadable("the optimum is far away")
        return self._bisected(left, min(right, self.most), rising)

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


def _norm(table: dict[str, Any]) -> dict[str, Any]:
    """Zero as a trace."""
    return {"kind": "trace", "weight": "0"} if table["kind"] == "zero" else table


def _fractions(array: np.ndarray) -> list[Any]:
    def of(value: Any) -> Any:
        return [of(entry) for entry in value] if isinstance(value, list) else Fraction(value)

    return of(array.tolist())


def _gains(measure: str, k: int, p: int, n: int) -> tuple[list[list[Fraction]], Fraction]:
    """``g(i, b)``, i = 1..p, b = 0..n, and the error of a score."""
    places, head = [[(i, b) for b in range(n + 1)] for i in range(1, p + 1)], min(k, p)
    if measure in ("ndcg", "ndcg-log2"):
        discounts, slack = _discounts(head, int(measure == "ndcg-log2")), p * SLACK
        total = sum(discounts)
        return [
            [discounts[i + b - 1] / total if i + b <= len(discounts) else ZERO for i, b in row] for row in places
        ], slack
    rules: dict[str, Callable[[int, int], Fraction]] = {
        "auc": lambda i, b: Fraction(n - b, p * n),
        "map": lambda i, b: Fraction(i, p * (i + b)),
        "mrr": lambda i, b: Fraction(int(i == 1), 1 + b),
        "err": lambda i, b: Fraction(1, 2**i * (i + b)) / sum(Fraction(1, 2**t * t) for t in range(1, p + 1)),
        "precision": lambda i, b: Fraction(int(i + b <= head), head),
        "knn": lambda i, b: Fraction(int(i == head // 2 + 1 and i + b <= head)),
    }
    return [[rules[measure](i, b) for i, b in row] for row in places], ZERO


def _discounts(head: int, shift: int) -> list[Fraction]:
    with localcontext() as context:
        context.prec = DIGITS
        return [Fraction(Decimal(2).ln() / Decimal(max(t + shift, 2)).ln()) for t in range(1, head + 1)]


def _worst(gains: list[list[Fraction]], x: Sequence[Fraction], z: Sequence[Fraction]) -> Fraction:
    """``max_b 1 - sum_i g(i, b_i) - 2/(p n) sum_i sum_(j <= b_i) (z_j - x_i)`` over b that do not decrease."""
    p, n = len(x), len(z)
    sums = [ZERO]
    for entry in z:
        sums.append(sums[-1] + entry)
    scale, best = Fraction(2, p * n), [ZERO] * (n + 1)
    for i in range(p):
        least: Any = None
        for b in range(n + 1):
            cost = best[b] + gains[i][b] + scale * (sums[b] - b * x[i])
            least = cost if least is None else min(least, cost)
            best[b] = least
    return 1 - best[n]


def worst_places(gains: list[list[Fraction]], x: Sequence[Fraction], z: Sequence[Fraction]) -> list[int]:
    """The b of :func:`_worst`, by trying all that do not decrease."""
    p, n = len(x), len(z)

    def cost(b: tuple[int, ...]) -> Fraction:
        price = sum((z[j] - x[i] for i in range(p) for j in range(b[i])), ZERO)
        return sum((gains[i][b[i]] for i in range(p)), ZERO) + Fraction(2, p * n) * price

    return list(min(combinations_with_replacement(range(n + 1), p), key=cost))


def _loss(loss: str, mu: Fraction, s: Fraction) -> Interval:
    """The loss of one comparison."""
    if loss == "logistic":
        return _softplus(s)
    if loss == "hard":
        value: Any = ZERO if s >= mu else INFINITE
    elif loss == "hinge":
        value = max(ZERO, mu - s)
    elif loss == "absolute":
        value = abs(mu - s)
    else:
        value = (mu - s) ** 2
    return value, value


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


def _softplus(s: Fraction) -> Interval:
    """``ln(1 + e^-s) = max(0, -s) + ln(1 + e^-|s|)``; beyond 1000 the rest is below 1e-400."""
    base = max(ZERO, -s)
    if abs(s) > 1000:
        return base, base + SLACK
    with localcontext() as context:
        context.prec = DIGITS
        rest = Fraction((1 + (-abs(_decimal(s))).exp()).ln())
    return base + rest - SLACK, base + rest + SLACK


def _share(t: Fraction) -> Fraction:
    """``1 / (1 + e^t)``, but for :data:`SLACK`."""
    if abs(t) > 1000:
        return Fraction(int(t < 0))
    with localcontext() as context:
        context.prec = DIGITS
        return Fraction(1 / (1 + _decimal(t).exp()))


def _root(value: Fraction) -> Interval:
    """Bounds on the root of a nonnegative number, of some 60 digits."""
    if value < 0:
        raise Unreadable("the root of a negative number")
    if value == 0:
        return ZERO, ZERO
    shift = 400 - (value.numerator.bit_length() - value.denominator.bit_length()) // 2
    scale = Fraction(2) ** shift
    whole = math.isqrt(math.floor(value * scale * scale))
    return Fraction(whole) / scale, Fraction(whole + 1) / scale
