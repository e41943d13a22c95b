"""Risks of listed comparisons, and of all pairs of points with labels (theorem 5)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from operator import add
from typing import Any, Self

import numpy as np

from .balls import BLOCK, WHOLE, Array, Ball, cross_entropies, log
from .errors import require_proven, require_valid
from .files import Arrays, Table, altered, entry, natural, positive, rational, rules
from .losses import LOSSES, Loss
from .metrics import Cone, Minorant
from .points import Images, SparseRows, binned, blocks, joined, points_of, rows_at_once, weighted


class Listed:
    """Comparisons of pairs, ``d_ij``, or of triplets, ``d_ik - d_ij``, by their rows."""

    def __init__(self, rows: Array) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, some: Any) -> Listed:
        return Listed(self.rows[some])

    def values(self, images: Images) -> Ball:
        """Squared distances, or their differences."""
        i, j, *k = self.rows.T
        return images.listed(i, k[0]) - images.listed(i, j) if k else images.listed(i, j)

    def pairs(self, u: Ball) -> tuple[Array, Array, Ball]:
        """Pairs of points of weighted comparisons, and the weight of each."""
        i, *ends = self.rows.T
        return np.tile(i, len(ends)), np.concatenate(ends), joined([-u, u] if len(ends) == 2 else [u])


class Combined:
    """Linear combinations of squared distances of listed pairs, each a row of a sparse matrix."""

    def __init__(self, rows: Array, matrix: SparseRows, some: Array) -> None:
        self.rows, self.matrix, self.some = rows, matrix, some

    def __len__(self) -> int:
        return len(self.some)

    def __getitem__(self, some: Any) -> Combined:
        return Combined(self.rows, self.matrix, self.some[some])

    def values(self, images: Images) -> Ball:
        """Weighted sums of squared distances."""
        places, columns, values = self.matrix.entries(self.some)
        used, at = np.unique(columns, return_inverse=True)
        return binned(images.listed(*self.rows[used].T)[at] * values, places, len(self))

    def pairs(self, u: Ball) -> tuple[Array, Array, Ball]:
        """Pairs of points of weighted comparisons, and the weight of each."""
        places, columns, values = self.matrix.entries(self.some)
        used, at = np.unique(columns, return_inverse=True)
        return *self.rows[used].T, binned(u[places] * values, at, len(used))


class ListedRisk:
    """Risk of listed comparisons."""

    wanted, optional, dual_keys, name = "kind terms", "", "kind", "pairs"
    compared: Listed | Combined

    def __init__(self, table: Table, arrays: Arrays, cone: Cone) -> None:
        terms = table["terms"]
        require_valid(isinstance(terms, list) and 1 <= len(terms) <= 64, "risk: terms must be 1 to 64 losses")
        self.losses = [self.loss(term) for term in terms]
        self.cone, (self.Q, self.X) = cone, points_of(arrays, cone)
        self.nonnegative = not any(loss.negative for loss in self.losses)
        self.signs = [int(term["sign"]) for term in terms]
        self.weights = Ball.of([positive(term["weight"], "weight") for term in terms])
        self.margins = Ball.of([rational(term["margin"], "margin") for term in terms])
        self._list(arrays, len(terms))
        self.targets = Ball(arrays("targets", len(self))) if "targets" in arrays else None
        self.factors = Ball(arrays("comparison_weights", len(self))) if "comparison_weights" in arrays else None
        fits = self.factors is None or (self.factors.mid >= 0.0).all()
        require_valid(fits, "comparison_weights must not be negative")

    def loss(self, term: Any) -> Loss:
        """Read the loss of a term."""
        kind = entry(rules("LOSSES", LOSSES), term, "term", "loss")
        require_valid(not isinstance(term["sign"], bool) and term["sign"] in (1, -1), "term: sign is not 1 or -1")
        one = positive(term["weight"], "weight") == 1
        require_valid(one or not kind.constraint, "term: a hard margin has the weight 1")
        return kind(term)

    def _list(self, arrays: Arrays, terms: int) -> None:
        """Read the comparisons, and the term that each of them belongs to."""
        name = "triplets" if "triplets" in arrays else "pairs"
        rows = arrays(name, None, 3 if name == "triplets" else 2, integers=max(len(self.Q), len(self.X)))
        fits = (rows[:, 0] < len(self.Q)).all() and (rows[:, 1:] < len(self.X)).all()
        require_valid(fits, f"{name} name queries or points that are not there")
        self.compared, self.name = Listed(rows), name
        if name == "pairs" and "matrix_indptr" in arrays:
            matrix = SparseRows(arrays, "matrix", len(rows))
            self.compared, self.name = Combined(rows, matrix, np.arange(len(matrix))), "combinations of pairs"
        self.kind = arrays("terms", len(self), integers=terms)

    def __len__(self) -> int:
        return len(self.compared)

    def part(self, rows: slice) -> Self:
        """Risk of some of the comparisons; risks of disjoint rows add up."""
        found = {name: vars(self).get(name) for name in ("compared", "kind", "targets", "factors")}
        return altered(self, **{name: of if of is None else of[rows] for name, of in found.items()})

    def blocks(self) -> Iterator[tuple[slice, Self]]:
        """Yield the comparisons a block at a time, with their rows."""
        yield from ((rows, self.part(rows)) for rows in blocks(len(self), BLOCK))

    def _by_term(self) -> Iterator[tuple[int, Loss, Array, Ball, Ball]]:
        """Yield terms with the rows of comparisons that have them, some at a time, and their weights and margins."""
        step = rows_at_once(self.X.shape[1], BLOCK)
        for term in np.flatnonzero(np.bincount(self.kind)):
            every, loss = np.flatnonzero(self.kind == term), self.losses[term]
            for rows in (every[some] for some in blocks(len(every), step)):
                weight, margin = (of[np.full(len(rows), term)] for of in (self.weights, self.margins))
                weight = weight if self.factors is None else weight * self.factors[rows]
                yield self.signs[term], loss, rows, weight, margin if self.targets is None else self.targets[rows]

    def times(self, factors: Ball) -> Self:
        """Risk with the weights of all comparisons multiplied by factors."""
        return altered(self, factors=factors if self.factors is None else self.factors * factors)

    def value(self, factor: Array) -> Ball:
        """Value of R at a metric."""
        images = Images(self.cone, factor, self.X, self.Q)
        return reduce(add, (of._each(images).sum() for _, of in self.blocks()))

    def each(self, factor: Array) -> Ball:
        """Values of all comparisons at a metric."""
        return self._each(Images(self.cone, factor, self.X, self.Q))

    def _each(self, images: Images) -> Ball:
        mids, rads = np.zeros((2, len(self)))
        for sign, loss, rows, weight, margin in self._by_term():
            s = self.compared[rows].values(images)
            found = loss.value(s if sign == 1 else -s, margin)
            weighed = Ball(found.mid, found.rad) * weight
            mids[rows], rads[rows] = weighed.mid, weighed.rad
        return Ball(mids, rads)

    def dual(self, table: Table, arrays: Arrays) -> Minorant:
        """Minorant of slopes, which must be in their boxes (theorem 5)."""
        require_valid(table["kind"] == "slopes", "dual: kind must be 'slopes' for this risk")
        slopes = arrays("slopes", len(self))
        return reduce(add, (of._minorant(slopes[rows]) for rows, of in self.blocks()))

    def _minorant(self, slopes: Array) -> Minorant:
        total, (mids, rads) = Ball(0.0), np.zeros((2, len(self)))
        for sign, loss, rows, weight, margin in self._by_term():
            a = slopes[rows]
            require_proven((a >= loss.low).all() and (a <= loss.high).all(), "a slope is outside of its box")
            total = total + (loss.line(a, margin) * weight).sum()
            u = Ball(sign * a) * weight
            mids[rows], rads[rows] = u.mid, u.rad
        return Minorant(total, weighted(self.cone, self.Q, self.X, *self.compared.pairs(Ball(mids, rads))))


class AllPairs(ListedRisk):
    """Risk of all pairs of points with labels, which are listed a block at a time."""

    def _list(self, arrays: Arrays, terms: int) -> None:
        """Read the labels: pairs of equal ones have the first term, others the second."""
        require_valid(not self.cone.free, "all pairs are of distances")
        require_valid(terms == 2, "risk: all pairs have two terms, of equal and of different labels")
        n = len(self.X)
        self.codes, self.rows = arrays("codes", n, integers=n), slice(0, n * (n - 1) // 2)

    def __len__(self) -> int:
        return self.rows.stop - self.rows.start

    def part(self, rows: slice) -> Self:
        """Risk of some of the pairs."""
        own = slice(self.rows.start + rows.start, self.rows.start + rows.stop)
        return altered(super().part(rows), rows=own)

    def blocks(self) -> Iterator[tuple[slice, Self]]:
        """Yield the pairs a block at a time, listed."""
        first = np.arange(len(self.X))
        starts = first * (2 * len(self.X) - first - 1) // 2
        for rows, some in super().blocks():
            t = np.arange(some.rows.start, some.rows.stop)
            i = np.searchsorted(starts, t, side="right") - 1
            j = t - starts[i] + i + 1
            kind = (self.codes[i] != self.codes[j]).astype(np.int8)
            yield rows, altered(some, compared=Listed(np.column_stack([i, j])), kind=kind)


class ListedChoices(ListedRisk):
    """Softmax of the chosen one of k listed pairs per trial, the chosen first (theorem 9); rows are trials."""

    wanted, dual_keys, nonnegative = "kind weight temperature candidates chosen", "kind bits", True

    def __init__(self, table: Table, arrays: Arrays, cone: Cone) -> None:
        require_valid(not cone.free, "listed choices are of distances")
        self.cone, (self.Q, self.X) = cone, points_of(arrays, cone)
        self.chosen = natural(table["chosen"], "chosen", 1)
        self.k = natural(table["candidates"], "candidates", self.chosen + 1)
        self.weight, self.temperature = (Ball.of(positive(table[name], name)) for name in ("weight", "temperature"))
        self.items = arrays("pairs", None, 2, integers=len(self.X))
        require_valid(len(self.items) > 0 and len(self.items) % self.k == 0, "pairs must be whole trials")

    def __len__(self) -> int:
        return len(self.items) // self.k

    def part(self, rows: slice) -> Self:
        """Risk of some of the trials."""
        return altered(self, items=self.items[rows.start * self.k : rows.stop * self.k])

    def value(self, factor: Array) -> Ball:
        """Value of R at a metric."""
        images, total = Images(self.cone, factor, self.X, self.Q), Ball(0.0)
        for trials in blocks(len(self), rows_at_once(self.X.shape[1], BLOCK // self.k)):
            d = images.listed(*self.part(trials).items.T)
            each = Ball(d.mid.reshape(-1, self.k), d.rad.reshape(-1, self.k))
            total = total + cross_entropies(each, self.chosen, self.temperature).sum()
        return total * self.weight

    def dual(self, table: Table, arrays: Arrays) -> Minorant:
        """Minorant of probabilities, integers over ``2^bits`` that add up to one in every trial."""
        one = 2 ** natural(table["bits"], "dual: bits", most=41)
        require_valid(table["kind"] == "probabilities", "dual: kind must be 'probabilities' for this risk")
        require_valid(one * self.chosen <= WHOLE, "dual: 2^bits times the chosen exceed 2^53")
        found = arrays("probabilities", len(self.items), integers=one + 1).reshape(-1, self.k)
        # In floats, which do not wrap, and are exact if the sums are right.
        fit = (found.sum(axis=1, dtype=np.float64) == one).all()
        require_proven(fit, "the probabilities of a trial do not add up to one")
        share = Ball(found[found > 0] / one)
        lifted = found * self.chosen
        lifted[:, : self.chosen] -= one
        u = Ball(lifted.ravel()) * (self.weight / self.temperature / (float(one) * self.chosen))
        i, j = self.items.T
        return Minorant(-(share * log(share)).sum() * self.weight, weighted(self.cone, self.Q, self.X, i, j, u))
