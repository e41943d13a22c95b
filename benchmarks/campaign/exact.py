"""Exact objectives, and exact optima of problems in one unknown, by fractions: what judges the checker.

This code shares nothing with the checker but the text of ``docs/certificate-format.md``. A statement is read from the
description and the arrays of a file; every float is the rational it represents. Where a number is irrational (roots,
logarithms, discounts of NDCG) it is enclosed, so that all results are intervals ``(low, high)`` of fractions.

Where all differences of points are multiples of one vector v, a metric matters to R by ``s = v^T M v`` only: the
optimum is that of a convex function of one nonnegative number, made of lines, parabolas, logistic losses, logarithms
and roots. So it is with regularizers of which the least value at ``v^T M v = s`` has a formula: all of one feature.
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
ZERO, HALF = Fraction(0), Fraction(1, 2)
Vector, Matrix = list[Fraction], list[list[Fraction]]
#: Losses that may be negative.
NEGATIVE = ("negative log", "negative root")
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
        blocks = arrays["blocks"].tolist() if table["cone"] == "block-diagonal" else [0] * self.d
        blocks = list(range(self.d)) if self.diagonal else blocks
        #: Features whose entries of M are not zero with one another.
        self.groups = [[i for i in range(self.d) if blocks[i] == block] for block in sorted(set(blocks))]
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
        self.omega = _omega(table["regularizer"], arrays)
        self.G = _fractions(arrays["linear"]) if table["linear"] else None
        #: Whether R is never negative.
        self.nonnegative = not any(getattr(part, "loss", "") in NEGATIVE for part in self.parts)

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
        together = {(i, j) for group in self.groups for i in group for j in group}
        if any(M[i][j] and (i, j) not in together for i in range(self.d) for j in range(self.d)):
            return INFINITE, INFINITE
        known: dict[tuple[int, int], Fraction] = {}

        def distance(a: int, b: int) -> Fraction:
            if (a, b) not in known:
                v = [x - y for x, y in zip(self.rows[a], self.rows[b], strict=True)]
                known[a, b] = sum((v[i] * v[j] * M[i][j] for i in range(self.d) for j in range(self.d)), ZERO)
            return known[a, b]

        intervals = [self._risk_at(distance), *(self._term_at(term, M) for term in self.omega)]
        # Fractions beyond floats cannot be added to an infinite one.
        if any(INFINITE in ends for ends in intervals):
            return INFINITE, INFINITE
        low, high = (sum(ends, self.constant) for ends in zip(*intervals, strict=True))
        linear = ZERO if self.G is None else _inner(self._matrix(self.G), M)
        return low + linear, high + linear

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

    def _matrix(self, given: Any) -> Matrix:
        """Of weights the diagonal matrix."""
        if not self.diagonal:
            return list(given)
        return [[given[i] if i == j else ZERO for j in range(self.d)] for i in range(self.d)]

    def _term_at(self, term: Term, M: Matrix) -> Interval:
        """A term of Omega at a metric."""
        kind, (low, high), d = term.table["kind"], term.weight(), range(self.d)
        if kind == "quadratic form":
            L, w = self._form(term), [M[i][i] for i in d]
            value = HALF * sum((w[i] * L[i][j] * w[j] for i in d for j in d), ZERO)
            return value, value
        if kind == "budget":
            over = _inner(self._matrix(term.array("spent")), M) - Fraction(term.table["limit"])
            value = low * max(over, ZERO) if "weight" in term.table else INFINITE if over > 0 else ZERO
            return value, value
        if kind == "log det":
            H, det = self._inverse_prior(term), _determinant(M)
            if det <= 0:
                return INFINITE, INFINITE
            ends, linear = _ln(det * _determinant(H)), _inner(H, M) - self.d
            return low * max(linear - ends[1], ZERO), high * (linear - ends[0])
        X = M
        if "prior" in term.table:
            M0 = self._matrix(term.array("prior"))
            X = [[M[i][j] - M0[i][j] for j in d] for i in d]
        if kind == "trace" or (kind == "trace norm" and X is M):
            ends = (sum((M[i][i] for i in d), ZERO),) * 2
        elif kind == "entrywise":
            ends = (sum((abs(X[i][j]) for i in d for j in d if i != j or term.table["diagonal"]), ZERO),) * 2
        elif kind == "squared frobenius":
            ends = (HALF * _inner(X, X),) * 2
        elif kind == "frobenius":
            ends = _root(_inner(X, X))
        elif self.diagonal or self.d == 1:
            ends = (sum((abs(X[i][i]) for i in d), ZERO),) * 2
        else:
            # The sum of sizes of eigenvalues is between the root of the sum of their squares, and that times root d.
            ends = _root(_inner(X, X))[0], _root(self.d * _inner(X, X))[1]
        return low * ends[0], high * ends[1]

    def _inverse_prior(self, term: Term) -> Matrix:
        """H of a log det."""
        T = term.array("prior_root")
        return self._matrix(T) if self.diagonal else _product([list(column) for column in zip(*T, strict=True)], T)

    def _form(self, term: Term) -> Matrix:
        of = term.table["of"]
        if of == "matrix":
            return list(term.array("form"))
        if of == "squared points":
            return [[entry * entry for entry in row] for row in self.rows[: self.own or len(self.rows)]]
        A, d = term.array("gram_of"), self.d
        return [[sum((row[i] * row[j] for row in A), ZERO) ** 2 for j in range(d)] for i in range(d)]

    # In one unknown

    def optimum(self) -> Interval:
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
        if self.d > 1 and (self.G is not None or len(self.omega) > 1):
            raise Unreadable("several terms of several features")
        made = R.copied()
        if self.G is not None:
            made.line += (self.G[0] if self.diagonal else self.G[0][0]) / (v[0] * v[0])
        for term in self.omega:
            weight = term.weight()[end]
            if self.d == 1:
                self._of_one_feature(made, term, weight, v[0] * v[0])
            else:
                self._of_several(made, term, weight, v, end)
        return made

    def _of_one_feature(self, made: Function, term: Term, weight: Fraction, a: Fraction) -> None:
        """A term of the metric ``m = s / a``."""
        kind, table = term.table["kind"], term.table
        m0 = self._matrix(term.array("prior"))[0][0] if "prior" in table else ZERO
        if kind == "quadratic form":
            made.square += HALF * self._form(term)[0][0] / (a * a)
        elif kind == "squared frobenius":
            made.add_loss("squared", HALF * weight, m0, 1 / a)
        elif kind == "log det":
            made.add_log_det(weight, self._inverse_prior(term)[0][0] / a)
        elif kind == "budget":
            made.add_budget(term, self._matrix(term.array("spent"))[0][0] / a)
        elif kind != "entrywise" or table["diagonal"]:
            made.add_loss("absolute", weight, m0, 1 / a)

    def _of_several(self, made: Function, term: Term, weight: Fraction, v: Vector, end: int) -> None:
        """A term of several features: s over the largest ``<v v^T, M>`` of a metric of size one."""
        kind, table = term.table["kind"], term.table
        parts = [[v[i] for i in group] for group in self.groups]
        if "prior" in table or kind == "quadratic form":
            raise Unreadable("a prior, or a quadratic form, of several features")
        if kind == "log det":
            if len(parts) > 1:
                raise Unreadable("a log det of several blocks")
            made.add_log_det(weight, 1 / _inner_of_inverse(self._inverse_prior(term), v))
        elif kind == "budget":
            A = self._matrix(term.array("spent"))
            blocks = [[[A[i][j] for j in group] for i in group] for group in self.groups]
            made.add_budget(term, 1 / max(map(_inner_of_inverse, blocks, parts)))
        elif kind == "entrywise":
            made.line += weight / max(entry * entry for entry in v) if table["diagonal"] else ZERO
        else:
            sizes = [sum((entry * entry for entry in part), ZERO) for part in parts]
            if kind in ("trace", "trace norm"):
                made.line += weight / max(sizes)
            else:
                square = sum((size * size for size in sizes), ZERO)
                if kind == "frobenius":
                    made.line += weight / _root(square)[1 - end]
                else:
                    made.square += HALF * weight / square


@dataclass(frozen=True)
class Term:
    """A regularizer that is no sum, and its arrays."""

    table: dict[str, Any]
    arrays: dict[str, np.ndarray]

    def array(self, name: str) -> Any:
        return _fractions(self.arrays[name])

    def weight(self) -> Interval:
        """Its weight, between two numbers; zero where it has none."""
        weight = Fraction(self.table.get("weight", "0"))
        if "over_root_of" not in self.table:
            return weight, weight
        low, high = _root(Fraction(self.table["over_root_of"]))
        return weight / high, weight / low


def _omega(table: dict[str, Any], arrays: dict[str, np.ndarray]) -> list[Term]:
    """The terms of a regularizer."""
    if table["kind"] != "sum":
        return [] if table["kind"] == "zero" else [Term(table, arrays)]
    found = []
    for number, one in enumerate(table["summands"]):
        start = f"term{number}_"
        own = {name[len(start) :]: array for name, array in arrays.items() if name.startswith(start)}
        found += _omega(one, own)
    return found


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

    def value(self, s: Fraction) -> Interval:
        low, high = _loss(self.loss, self.mu, self.rise * s)
        return (low, high) if high == INFINITE else (self.weight * low, self.weight * high)

    def slope(self, s: Fraction) -> Fraction:
        """Of a positive s where it is steep."""
        return -self.weight * self.rise * slope_of(self.loss, self.mu, self.rise * s)

    def error(self, s: Fraction) -> Fraction:
        """Of the slope."""
        if self.loss == "negative root":
            return abs(self.slope(s)) * SLACK
        return abs(self.weight * self.rise) * SLACK if self.loss == "logistic" else ZERO


def slope_of(loss: str, mu: Fraction, s: Fraction) -> Fraction:
    """A slope a of a loss at s, with ``l(s) = v(a) - a s`` or nearly so."""
    if loss == "squared":
        return 2 * (mu - s)
    if loss == "logistic":
        return _share(s)
    if loss == "negative log":
        return 1 / s
    if loss == "negative root":
        return 1 / (2 * _root(s)[0])
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

    def add_loss(self, loss: str, weight: Fraction, mu: Fraction, rise: Fraction) -> None:
        """``weight l(rise s)``."""
        if loss in ("hinge", "absolute"):
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

    def add_budget(self, term: Term, rise: Fraction) -> None:
        """What ``rise s`` is above the limit."""
        limit = Fraction(term.table["limit"])
        if "weight" in term.table:
            self._hinge(term.weight()[0], -limit, -rise)
        elif rise > 0:
            self.most = min(self.most, limit / rise)

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

    def slopes(self, s: Fraction) -> Interval:
        """Left and right derivative."""
        slope = self.line + 2 * self.square * s + sum((part.slope(s) for part in self.smooth), ZERO)
        left = slope + sum((jump for at, jump in self.kinks.items() if at < s), ZERO)
        return left, left + self.kinks.get(s, ZERO)

    def lowest(self) -> Fraction | None:
        """A number at which, or near which, it is least; None if there is none."""
        return self._bracket()[0] if self.smooth else self._turning()

    def minimum(self) -> Interval:
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

    def _bent_minimum(self) -> Interval:
        """By a bracket: F is at least its tangent at the left end, taken to the right one."""
        ever = self.line + sum(self.kinks.values(), ZERO) + sum((part.ever for part in self.smooth), ZERO)
        if self.most == INFINITE and not self.square and ever <= 0:
            if ever < 0 or any(part.falls for part in self.smooth):
                return -INFINITE, -INFINITE
            raise Unreadable("the optimum is at infinity")

        def value(s: Fraction) -> Interval:
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

    def _bracket(self) -> Interval:
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


def _inner(A: Matrix, B: Matrix) -> Fraction:
    return sum((a * b for row, other in zip(A, B, strict=True) for a, b in zip(row, other, strict=True)), ZERO)


def _product(A: Matrix, B: Matrix) -> Matrix:
    return [[sum((a * b for a, b in zip(row, column, strict=True)), ZERO) for column in zip(*B)] for row in A]


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
    if loss == "negative log":
        low, high = _ln(s) if s > 0 else (-INFINITE, -INFINITE)
        return -high, -low
    if loss == "negative root":
        low, high = _root(s) if s >= 0 else (-INFINITE, -INFINITE)
        return -high, -low
    if loss == "itakura-saito":
        r = min(s / mu, Fraction(1)) if mu > 0 else max(s / mu, Fraction(1))
        low, high = _ln(r) if r > 0 else (-INFINITE, -INFINITE)
        return (INFINITE, INFINITE) if r <= 0 else (max(r - high - 1, ZERO), r - low - 1)
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


def _ln(value: Fraction) -> Interval:
    """The logarithm of a positive number."""
    if value == 1:
        return ZERO, ZERO
    with localcontext() as context:
        context.prec = DIGITS
        found = Fraction(_decimal(value).ln())
    return found - SLACK, found + SLACK


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
