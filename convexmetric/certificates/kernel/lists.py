"""Risks over lists: queries with positives and negatives, as pairs of them or as rankings (theorems 1 to 5)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from .balls import WHOLE, Array, Ball, U, cross_entropies, entropy, gamma, log, softplus, up
from .errors import require_proven, require_valid
from .files import Arrays, Table, altered, named, natural, positive, rational, rules
from .measures import AUC, MEASURES, Measure
from .metrics import Cone, Minorant
from .points import WEIGHTS, Images, added, blocks, laplacian, rows_at_once

#: The largest k, if k is not cut to the number of positives.
MAX_HEAD = 10**6


def gains(measure: Measure, k: int, cut: bool, p: int, f: int, i: Array, b: Array) -> Ball:
    """``g(i, b)`` of a query with p positives and f negatives.

    If p < k the first p places count, or (not ``cut``) the first k. In the latter case the score of the perfect ranking
    is less than 1, and the difference is a gain of the first positive, wherever it stands.
    """
    (i, b), h = np.broadcast_arrays(i, b), min(k, p) if cut else k
    found = measure.gains(i, b, p, f, h)
    if h <= p:
        return found
    perfect = measure.gains(np.arange(1.0, p + 1.0), np.zeros(p), p, f, h).sum()
    return found + (Ball(1.0) - perfect) * (i == 1.0)


def worst_ranking(gain: Ball, x: Array, z: Array) -> tuple[float, float]:
    r"""The largest ``Delta - 2/(p n) sum of inverted (z_j - x_i)`` over all rankings, and its error (theorem 2).

    ``gain`` is (p, n + 1), ``x`` and ``z`` are sorted distances. Its error: with distances wrong by e, the value of a
    ranking changes by at most 2/(p n) times p n pairs times 2 e; here e is the rounding u D of differences to the
    nearest positive, D the largest of these (the caller adds the error of distances). Sums of up to n differences err
    by :math:`\gamma_n n D`, products and differences with them by :math:`2 \gamma_5 n D`, times 2/(p n) and p items; p
    additions to totals of at most 1 + 4 D err by u (1 + 4 D) each, and gains by their radii. All of it is below
    :math:`8 (n + p + 16) u (1 + D)` plus p radii.
    """
    p, n, x, z = len(x), len(z), x - x[0], z - x[0]
    D = float(np.max([x[-1], np.abs(z).max()]))
    scale, above, best = 2.0 / (p * n), np.arange(n + 1.0), np.zeros(n + 1)
    sums = np.concatenate([[0.0], np.cumsum(z)]) * scale
    for i in range(p):
        best = np.minimum.accumulate(sums - above * (scale * x[i]) + gain.mid[i] + best)
    return 1.0 - float(best[n]), float(up(p * float(np.max(gain.rad)) + 8.0 * (n + p + 16) * U * (1.0 + D)))


def sum_of_hinges(x: Array, z: Array, margin: Ball) -> tuple[float, float]:
    """``sum_ij max(0, margin + x_i - z_j)`` of sorted z, and its error but for that of distances (theorem 1).

    An item on the wrong side because of rounding changes the sum only by rounding. The error: p n times that of the
    margin and of the rounding of ``x_i + margin``, and (n + p + 8) u times 2 p n D, D being the largest number in
    brackets.
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
    rows, c = np.arange(1, len(r) + 1, dtype=np.int64) * one, np.sort(c)
    below = np.searchsorted(c, rows)
    most = np.concatenate([[0], np.cumsum(c)])[below] + (len(c) - below) * rows
    own = np.cumsum(np.sort(r)[::-1])
    return bool(own[-1] == c.sum() and (own <= most).all())


@dataclass
class Rest(Sequence[Array]):
    """Complements of lists, made on access: all N rows except a query's positives and perhaps one more, ascending."""

    positives: list[Array]
    itself: Array
    N: int

    def __len__(self) -> int:
        return len(self.positives)

    def __getitem__(self, q: Any) -> Any:
        if isinstance(q, slice):
            return Rest(self.positives[q], self.itself[q], self.N)
        return np.delete(np.arange(self.N + 1), np.append(self.positives[q], [self.itself[q], self.N]))


class ListRisk:
    """Pairs of lists, and rankings: queries with positives and negatives.

    ``units`` is the weight of a pair for every query, c c_q or 2 C c_q / (n p f), and ``shares`` that of a query's
    value: C c_q / n for rankings, else the same.
    """

    wanted, optional = "kind loss weight", "margin"
    #: Keys of the tables of dual points, and whether the risk is nonnegative.
    dual_keys, nonnegative = "kind bits", True
    #: For rankings a measure, its k, and whether k is cut to the number of positives; pairs are those of AUC.
    measure: Measure = AUC()
    k: int
    cut: bool

    def __init__(self, table: Table, arrays: Arrays, cone: Cone) -> None:
        self.cone, self.loss = cone, "hinge"
        self.X, self.margin = arrays("points", None, cone.shape[-1]), Ball(0.5)
        self.positives, N = self._lists("near", arrays), len(self.X)
        count = len(self.positives)
        if "itself" in arrays:
            self.negatives: Rest | list[Array] = Rest(self.positives, arrays("itself", count, integers=N + 1), N)
        else:
            self.negatives = self._lists("far", arrays)
        own = "queries" in arrays
        require_valid(own or cone.shape[-1] == cone.d, "points are queries, and have other features")
        self.Q = arrays("queries", count, cone.d) if own else self.X[arrays("anchors", count, integers=N)]
        # Products of the two are beyond 2^31, and the integers that NumPy makes of Python's are short on some machines.
        self.p, self.n = (
            np.array([len(items) for items in lists], dtype=np.int64) for lists in (self.positives, self.negatives)
        )
        fits = len(self.negatives) == count and min(self.p.min(), self.n.min()) > 0
        require_valid(fits, "a query has no positives or negatives")
        weights = arrays("query_weights", count) if "query_weights" in arrays else np.ones(count)
        require_valid((weights >= 0.0).all(), "query_weights must not be negative")
        self._weigh(table, weights)

    def _weigh(self, table: Table, weights: Array) -> None:
        """Read the loss, and the weights of all queries."""
        self.loss, known = table["loss"], table["loss"] in ("hinge", "logistic")
        require_valid(known and ("margin" in table) == (self.loss == "hinge"), "risk: loss must be hinge or logistic")
        self.margin = Ball.of(rational(table.get("margin", "0"), "margin"))
        self.shares = self.units = Ball.of(positive(table["weight"], "weight")) * weights

    def _lists(self, name: str, arrays: Arrays) -> list[Array]:
        items, stops = arrays(name, None, integers=len(self.X)), arrays(f"{name}_stops", None, integers=2**40)
        require_valid(len(stops) and stops[-1] == len(items), f"the {name} lists are malformed")
        return np.split(items, stops[:-1])

    def __len__(self) -> int:
        return len(self.positives)

    def part(self, rows: slice) -> Self:
        """Risk of some of the queries; risks of disjoint rows add up."""
        of_rows = ("positives", "negatives", "Q", "p", "n", "units", "shares")
        return altered(self, **{name: vars(self)[name][rows] for name in of_rows})

    @property
    def ranked(self) -> bool:
        """Whether the risk is a maximum over rankings that does not decompose into pairs."""
        return type(self.measure) is not AUC

    def times(self, factors: Ball) -> Self:
        """Risk with the queries' weights multiplied by factors."""
        return altered(self, units=self.units * factors, shares=self.shares * factors)

    def value(self, factor: Array) -> Ball:
        """Value of R at a metric."""
        return self.each(factor).sum()

    def each(self, factor: Array) -> Ball:
        """Values of all queries at a metric."""
        mids, rads, table = np.zeros(len(self)), np.zeros(len(self)), Ball(np.zeros((0, 0)))
        for q, (row, error) in enumerate(Images(self.cone, factor, self.X, self.Q).rows()):
            x, z = np.sort(row[self.positives[q]]), np.sort(row[self.negatives[q]])
            p, n = x.size, z.size
            if self.loss == "logistic":
                total = softplus(Ball(z, error) - Ball(x[:, None], error)).sum()
                mids[q], rads[q] = total.mid, total.rad
            elif self.ranked:
                if table.mid.shape != (p, n + 1):
                    i, b = np.arange(1.0, p + 1.0)[:, None], np.arange(n + 1.0)
                    table = gains(self.measure, self.k, self.cut, p, n, i, b)
                mids[q], rads[q] = worst_ranking(table, x, z)
                rads[q] += 4.0 * error
            else:
                mids[q], rads[q] = sum_of_hinges(x, z, self.margin)
                rads[q] += p * n * 2.0 * error
        return Ball(mids, up(rads)) * self.shares

    def dual(self, table: Table, arrays: Arrays) -> Minorant:
        """Minorant of the integers of the file, all of them over ``2^bits``."""
        kind = "slopes" if self.loss == "logistic" else "rankings" if self.ranked else "sums"
        one = 2 ** natural(table["bits"], "dual: bits", most=41)
        require_valid(table["kind"] == kind, f"dual: kind must be {kind!r} for this risk")
        pairs = int((self.p * self.n).max())
        require_valid(pairs * one <= WHOLE, "dual: 2^bits times the pairs of a query exceed 2^53")
        says = self._slopes(arrays, one) if kind == "slopes" else self._sums(arrays, one)
        return self._minorant(((-r, c, worth) for r, c, worth in says), self.units * (1.0 / one))

    def _minorant(self, says: Iterator[tuple[Array, Array, Ball]], unit: Ball) -> Minorant:
        """Minorant of queries: integers of positives and of negatives that count units, and the worth of each."""
        worths: list[Ball] = []

        def parts() -> Iterator[Ball]:
            n = len(self.X)
            for rows in blocks(len(self), rows_at_once(n, WEIGHTS)):
                W = np.zeros((rows.stop - rows.start, n))
                for q, own in enumerate(W, rows.start):
                    near, far, worth = next(says)
                    # Integers below 2^53, and so exact.
                    own += np.bincount(self.negatives[q], far, n) + np.bincount(self.positives[q], near, n)
                    worths.append(worth)
                rad = up((unit[rows].rad + U * unit[rows].mid) * np.abs(W).max(axis=1))
                W *= unit[rows].mid[:, None]
                yield laplacian(self.cone, self.Q[rows], self.X, Ball(W, rad[:, None]))

        S = added(self.cone, parts())
        return Minorant((Ball.of(worths) * self.shares).sum(), S)

    def _slopes(self, arrays: Arrays, one: int) -> Iterator[tuple[Array, Array, Ball]]:
        """Yield for every query the sums of slopes of positives and of negatives, and their dual value (theorem 5)."""
        sizes = (self.p * self.n).tolist()
        slopes = np.split(arrays("slopes", sum(sizes), integers=one + 1), np.cumsum(sizes[:-1]).astype(int))
        for p, own in zip(self.p, slopes, strict=True):
            a = own.reshape(p, -1)
            yield a.sum(axis=1), a.sum(axis=0), entropy(a / one).sum()

    def _sums(self, arrays: Arrays, one: int) -> Iterator[tuple[Array, Array, Ball]]:
        """Yield the sums of the file, proven to be those of slopes or rankings, and their dual values."""
        ends, stops = np.cumsum(self.p), np.cumsum(self.n)
        positives = np.split(arrays("near_sums", int(ends[-1]), integers=WHOLE), ends[:-1])
        negatives = np.split(arrays("far_sums", int(stops[-1]), integers=WHOLE), stops[:-1])
        if self.ranked:
            steps = arrays("steps", None, int(ends[-1]), integers=int(self.n.max()) + 1)
            weights = arrays("weights", len(steps), None, integers=one + 1)
            groups = arrays("groups", len(self), integers=weights.shape[1])
            fit = (weights.sum(axis=0, dtype=np.float64) <= one).all()
            require_proven(fit, "weights of rankings exceed one in sum")
        for q, (r, c) in enumerate(zip(positives, negatives, strict=True)):
            # This keeps sums of c from overflowing; sums of r do not overflow, as the largest is compared first.
            fit = bool((c <= len(r) * one).all())
            if fit and self.ranked:
                above = np.cumsum(steps[:, ends[q] - len(r) : ends[q]], axis=1)
                fit, worth = self._of_rankings(r, c, above, weights[:, groups[q]], one)
            elif fit:
                fit, worth = sums_of_slopes(r, c, one), self.margin * (float(r.sum()) / one)
            require_proven(fit, f"the sums of query {q} are those of no slopes")
            yield r, c, worth

    def _of_rankings(self, r: Array, c: Array, above: Array, weights: Array, one: int) -> tuple[bool, Ball]:
        """Whether weighted rankings have these sums, and the dual value (theorem 4)."""
        p, n, kept = len(r), len(c), weights > 0
        above, w = above[kept], weights[kept]
        if (above[:, -1:] > n).any():
            return False, Ball(0.0)
        # Weighted number of positives for each number of negatives above them.
        counts = np.bincount(above.ravel(), np.repeat(w, p), n + 1).astype(np.int64)
        fit = majorised(r, (w @ above)[::-1]) and majorised(c, np.cumsum(counts[:0:-1])[::-1])
        gain = gains(self.measure, self.k, self.cut, p, n, np.arange(1.0, p + 1.0), above.astype(np.float64))
        return fit, ((Ball(1.0) - gain.sum(1)) * (w / one)).sum()


class Rankings(ListRisk):
    """Risk of rankings with a measure: lists with a table that names it."""

    wanted, optional = "kind measure C", "k short queries"

    def _weigh(self, table: Table, weights: Array) -> None:
        self.measure = named(rules("MEASURES", MEASURES), table["measure"], "risk: the measure")()
        self.cut, count = "short" not in table, len(self)
        fits = self.measure.needs_k == ("k" in table)
        require_valid(fits, "risk: a k where the measure has none, or none where it has one")
        self.k = natural(table.get("k", 1), "k", 1)
        printed = self.cut or (table["short"] == "printed" and "k" in table and self.k <= MAX_HEAD)
        require_valid(printed, f"risk: short can only be 'printed', with a k of at most {MAX_HEAD}")
        share = positive(table["C"], "C") / natural(table.get("queries", count), "queries", count)
        self.units = Ball.of([2 * share / size for size in (self.p * self.n).tolist()]) * weights
        self.shares = Ball.of(share) * weights if self.ranked else self.units


class Choices(ListRisk):
    """Softmax of the chosen candidates, the positives, among all, positives and negatives (theorem 9)."""

    wanted, optional = "kind weight temperature", ""

    def _weigh(self, table: Table, weights: Array) -> None:
        self.temperature = Ball.of(positive(table["temperature"], "temperature"))
        self.shares = self.units = Ball.of(positive(table["weight"], "weight")) * weights

    def each(self, factor: Array) -> Ball:
        """Values of all queries."""
        found = []
        for q, (row, error) in enumerate(Images(self.cone, factor, self.X, self.Q).rows()):
            d = np.concatenate([row[self.positives[q]], row[self.negatives[q]]])
            found.append(cross_entropies(Ball(d[None], error), int(self.p[q]), self.temperature)[0])
        return Ball.of(found) * self.shares

    def dual(self, table: Table, arrays: Arrays) -> Minorant:
        """Minorant of the probabilities of the file, integers over ``2^bits``: entropies, and differences to means."""
        one = 2 ** natural(table["bits"], "dual: bits", most=41)
        require_valid(table["kind"] == "probabilities", "dual: kind must be 'probabilities' for this risk")
        require_valid(one * (int(self.p.max()) + 1) <= WHOLE, "dual: 2^bits times the chosen of a query exceed 2^53")
        sizes = (self.p + self.n).tolist()
        each = np.split(arrays("probabilities", sum(sizes), integers=one + 1), np.cumsum(sizes[:-1]).astype(int))
        units = self.units / self.temperature / Ball(self.p * float(one))
        return self._minorant(self._probabilities(each, one), units)

    def _probabilities(self, each: list[Array], one: int) -> Iterator[tuple[Array, Array, Ball]]:
        """Yield differences to means, as multiples of ``1 / (p 2^bits)``, and entropies."""
        for q, (p, own) in enumerate(zip(self.p.tolist(), each, strict=True)):
            # In floats, which do not wrap, and are exact if the sum is right.
            require_proven(own.sum(dtype=np.float64) == one, f"the probabilities of query {q} do not add up to one")
            share = Ball(own[own > 0] / one)
            yield own[:p] * p - one, own[p:] * p, -(share * log(share)).sum()
