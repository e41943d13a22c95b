"""Risks of listed comparisons, and of all pairs of points with labels (theorem 5)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from .balls import BLOCK, WHOLE, Array, Ball, cross_entropies, gamma, log, up
from .errors import require_proven, require_valid
from .files import Arrays, Table, altered, entry, natural, positive, rational, rules
from .losses import LOSSES, Loss
from .metrics import Cone, Images, Minorant, laplacian


class ListedRisk:
    """Risk of listed comparisons."""

    wanted, optional, dual_keys = "kind terms", "", "kind"

    def __init__(self, table: Table, arrays: Arrays, cone: Cone) -> None:
        require_valid(not cone.free, "listed comparisons are of distances")
        terms = table["terms"]
        require_valid(isinstance(terms, list) and 1 <= len(terms) <= 64, "risk: terms must be 1 to 64 losses")
        self.losses = [self.loss(term) for term in terms]
        self.cone, self.X = cone, arrays("points", None, cone.d)
        self.nonnegative = not any(loss.negative for loss in self.losses)
        self.items, self.kind = self.listed(arrays, len(self.X), len(terms))
        self.triplets = self.items.shape[1] == 3
        self.signs = np.array([float(term["sign"]) for term in terms])[self.kind]
        weights = arrays("comparison_weights", len(self)) if "comparison_weights" in arrays else np.ones(len(self))
        require_valid((weights >= 0.0).all(), "comparison_weights must not be negative")
        self.weights = Ball.of([positive(term["weight"], "weight") for term in terms])[self.kind] * weights
        self.mu = Ball.of([rational(term["margin"], "margin") for term in terms])[self.kind]
        if "targets" in arrays:
            self.mu = Ball(arrays("targets", len(self)))

    def loss(self, term: Any) -> Loss:
        """Read the loss of a term."""
        kind = entry(rules("LOSSES", LOSSES), term, "term", "loss")
        require_valid(not isinstance(term["sign"], bool) and term["sign"] in (1, -1), "term: sign is not 1 or -1")
        one = positive(term["weight"], "weight") == 1
        require_valid(one or not kind.constraint, "term: a hard margin has the weight 1")
        return kind(term)

    def listed(self, arrays: Arrays, n: int, terms: int) -> tuple[Array, Array]:
        """Read the comparisons of n points, and the term that each of them belongs to."""
        name = "triplets" if "triplets" in arrays else "pairs"
        items = arrays(name, None, 3 if name == "triplets" else 2, integers=n)
        return items, arrays("terms", len(items), integers=terms)

    def __len__(self) -> int:
        return len(self.items)

    def part(self, rows: slice) -> Self:
        """Risk of some of the comparisons; risks of disjoint rows add up."""
        own = {name: vars(self)[name][rows] for name in ("items", "kind", "signs", "weights", "mu")}
        return altered(self, **own)

    def _by_loss(self) -> Iterator[tuple[Loss, Array]]:
        """Yield losses with the rows of comparisons that have them, a block at a time."""
        step = max(1, BLOCK // max(16, self.X.shape[1]))
        for number, loss in enumerate(self.losses):
            rows = np.flatnonzero(self.kind == number)
            yield from ((loss, rows[at : at + step]) for at in range(0, len(rows), step))

    def times(self, factors: Ball) -> Self:
        """Risk with the weights of all comparisons multiplied by factors."""
        return altered(self, weights=self.weights * factors)

    def value(self, factor: Array) -> Ball:
        """Value of R at a metric."""
        return self.each(factor).sum()

    def each(self, factor: Array) -> Ball:
        """Values of all comparisons at a metric."""
        images, (mids, rads) = Images(self.cone, factor, self.X), np.zeros((2, len(self)))
        for loss, rows in self._by_loss():
            i, j, *k = self.items[rows].T
            s = images.listed(i, k[0]) - images.listed(i, j) if k else images.listed(i, j)
            found = loss.value(s * self.signs[rows], self.mu[rows])
            mids[rows], rads[rows] = found.mid, found.rad
        return Ball(mids, rads) * self.weights

    def dual(self, table: Table, arrays: Arrays) -> Minorant:
        """Minorant of slopes, which must be in their boxes (theorem 5)."""
        require_valid(table["kind"] == "slopes", "dual: kind must be 'slopes' for this risk")
        slopes, total = arrays("slopes", len(self)), Ball(0.0)
        for loss, rows in self._by_loss():
            a = slopes[rows]
            require_proven((a >= loss.low).all() and (a <= loss.high).all(), "a slope is outside of its box")
            total = total + (loss.line(a, self.mu[rows]) * self.weights[rows]).sum()
        return Minorant(total, self._matrix(Ball(slopes) * self.weights * self.signs))

    def _matrix(self, u: Ball) -> Ball:
        """``sum u_t D_t``."""
        n = len(self.X)
        # An entry of W sums at most `most` weights, each wrong by at most the largest radius.
        (i, *ends), signs = self.items.T, [-1.0, 1.0] if self.triplets else [1.0]
        at = np.concatenate([i * n + end for end in ends])
        parts = np.concatenate([sign * u.mid for sign in signs])
        W, counts = (np.bincount(at, numbers, n * n).reshape(n, n) for numbers in (parts, np.ones(len(at))))
        size, most = float(np.bincount(at, np.abs(parts)).max(initial=0.0)), int(counts.max(initial=0.0))
        rad = np.where(counts > 0.0, up(most * u.rad.max(initial=0.0) + gamma(most) * size), 0.0)
        return laplacian(self.cone, self.X, self.X, Ball(W, rad))


class AllPairs(ListedRisk):
    """Risk of all pairs of points with labels."""

    def listed(self, arrays: Arrays, n: int, terms: int) -> tuple[Array, Array]:
        """Pair up the n points: pairs of equal labels have the first term, others the second."""
        require_valid(terms == 2, "risk: all pairs have two terms, of equal and of different labels")
        codes, items = arrays("codes", n, integers=n), np.column_stack(np.triu_indices(n, 1))
        return items, (codes[items[:, 0]] != codes[items[:, 1]]).astype(np.int8)


class ListedChoices(ListedRisk):
    """Softmax of the chosen one of k listed pairs per trial, the chosen first (theorem 9); rows are trials."""

    wanted, dual_keys, nonnegative, triplets = "kind weight temperature candidates chosen", "kind bits", True, False

    def __init__(self, table: Table, arrays: Arrays, cone: Cone) -> None:
        require_valid(not cone.free, "listed comparisons are of distances")
        self.cone, self.X = cone, arrays("points", None, cone.d)
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
        images, total = Images(self.cone, factor, self.X), Ball(0.0)
        step = max(1, BLOCK // (max(16, self.X.shape[1]) * self.k)) * self.k
        for some in (self.items[at : at + step] for at in range(0, len(self.items), step)):
            d = images.listed(*some.T)
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
        return Minorant(-(share * log(share)).sum() * self.weight, self._matrix(u))
