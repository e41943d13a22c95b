r"""The logistic loss over all pairs of a positive and a negative of every query, without ever listing the pairs.

.. math:: R(M) = C \sum_q \sum_{i \in N_q, \, j \in F_q} \ln(1 + e^{-s_{qij}}), \qquad s_{qij} = d_{qj} - d_{qi}

Everything factors through the distances of a query to its items: with p positives and n negatives, :math:`e^{-s}` is a
product of two of p + n exponentials, and slopes :math:`u = C / (1 + e^s)` are only needed as sums over positives and
over negatives. A pass takes p n multiplications and divisions per query, and no memory beyond the distances. The second
derivative :math:`D^*(w \circ D(\cdot))`, :math:`w = C e^s / (1 + e^s)^2`, is applied likewise to changes of distances.

Multipliers are in their box at every metric, and contribute :math:`C H(u / C)` with the binary entropy H: the tangent
plane at any metric is a dual point (:class:`~convexmetric.risks.SmoothRisk`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Self

import numpy as np

from convexmetric.arrays import Array, altered
from convexmetric.comparisons import Block, Rankings, Relevance
from convexmetric.comparisons.rankings import BLOCK_BYTES
from convexmetric.comparisons.relevance import places_of
from convexmetric.cones.factored import Images, TangentImages
from convexmetric.described import Described, description
from convexmetric.losses import Logistic
from convexmetric.measures.sorting import take
from convexmetric.numerics.compiling import compiled
from convexmetric.numerics.threads import blas_threads_for, over_rows
from convexmetric.risks.base import Derivative, Minorant
from convexmetric.risks.pairwise import listed_pairs
from convexmetric.risks.query import SmoothQueryRisk
from convexmetric.risks.separable import SmoothSeparableRisk

#: Spread of distances up to which exponentials of them neither overflow nor vanish.
SPREAD = 600.0
#: Size at which a product of factors 1 + f is replaced by its logarithm.
LARGE_PRODUCT = 1e100


class LogisticRankingRisk(SmoothQueryRisk):
    """``C log(1 + exp(d_qi - d_qj))`` summed over all pairs of a positive i and a negative j of every query.

    Parameters
    ----------
    rankings : Rankings
        Queries with their positives ("relevant") and negatives ("irrelevant").
    C : float
        Weight of every term.
    """

    def __init__(self, rankings: Rankings, C: float) -> None:
        self.rankings = rankings
        self.C, self.loss = C, Logistic(C)
        self.cone = rankings.cone

    def subset(self, parts: np.ndarray, factor: float = 1.0) -> Self:
        """The sum over some of the queries, times a factor."""
        return type(self)(self.rankings.subset(parts), factor * self.loss.C)

    def described(self) -> Described:
        """Description of the rankings, with the loss."""
        said = description(self.loss, np.ones(1))
        table = {"kind": "pairs of lists", **said.table, "weight": float(said.arrays["weights"][0])}
        return Described(table, description(self.rankings).arrays)

    @property
    def _most(self) -> Array:
        return np.full(self.parts, float(self.loss.C))

    def _pair_loss(self, q: int) -> Callable[[Array], Array]:
        return self.loss.values

    def lipschitz_near(self, M: Array, error: float) -> float:
        """``2 R(M)``: no slope exceeds its loss, ``f / (1 + f) <= ln(1 + f)``, and a pair has two distances."""
        return 2.0 * self.value(M)

    @property
    def lipschitz(self) -> float:
        """Twice the weights of all pairs: no slope exceeds its weight."""
        return 2.0 * float(self.loss.C) * float(self.pairs.sum())

    @property
    def pairs(self) -> np.ndarray:
        """Number of pairs of every query."""
        return self.rankings.pairs

    def exchanged(self) -> LogisticRankingRisk:
        """Exchange positives and negatives, which changes the sign of every s."""
        lists = self.rankings.relevance.lists(np.arange(self.parts))
        return altered(self, rankings=altered(self.rankings, relevance=Relevance(*lists[3:], *lists[:3])))

    def second_derivative(self, M: Array) -> Derivative:
        """The second derivative at ``M``; every application takes one pass over distances and their changes."""
        return self._second(self.rankings, M, self.rankings)

    def second_along(self, B: Array) -> Derivative:
        """The second derivative along a factor, from the images ``B x`` and ``E x`` of queries and items."""
        images, tangents = (altered(self.rankings, cone=cone) for cone in (Images(B), TangentImages(B)))
        return self._second(images, B, tangents)

    def _second(self, rankings: Rankings, M: Array, tangents: Rankings) -> Derivative:
        """Second derivative with distances from ``rankings`` and their changes from ``tangents``."""
        every = np.arange(len(rankings))
        work = float(len(rankings)) * self.cone.d * (rankings.X.shape[0] if rankings.dense else 1)
        # If all fits one block, distances, or better the weights, are stored from one application to the next.
        kept = list(rankings.blocks(M, every)) if len(list(rankings.cuts(every))) == 1 else None
        stop = np.cumsum(self.pairs)
        C, weights = float(self.loss.C), np.empty(0)
        if kept is not None and 8 * stop[-1] <= 2 * BLOCK_BYTES:
            weights = np.empty(int(stop[-1]))
            arguments = *kept[0].flat, C, stop - self.pairs, weights
            over_rows(_weights, len(kept[0]), weights.size, *arguments)

        def applied(change: Array) -> Array:
            S = tangents.cone.zeros()
            with blas_threads_for(work):
                changes = tangents.blocks(change, every)
                for here, along in zip(kept or rankings.blocks(M, every), changes, strict=True):
                    arguments = here.values, *along.flat, C, (stop - self.pairs)[here.queries], weights
                    over_rows(_bend, len(here), int(self.pairs[here.queries].sum()), *arguments)
                    S = S + along.adjoint(0, len(along))
            return S

        return applied

    def minorant(self, dual: Any) -> Minorant | None:
        """Minorant of one multiplier per pair in the order of :meth:`listed` (few pairs only), or of weighted cuts."""
        return self.listed().minorant(dual) if isinstance(dual, np.ndarray) else super().minorant(dual)

    def listed(self) -> SmoothSeparableRisk:
        """Return the risk with all pairs as listed comparisons (query, positive, negative).

        Raises
        ------
        InputError
            If there are too many pairs to write out.
        """
        return SmoothSeparableRisk(listed_pairs(self.rankings), self.loss)

    def _planes(self, M: Array, order: np.ndarray, write: bool = True) -> Iterator[tuple[Block, Array, Array]]:
        for block in self._blocks(M, order):
            sums = np.empty((len(block), 2))
            arguments = *block.flat, float(self.loss.C), sums
            over_rows(_slopes, len(block), int(self.pairs[block.queries].sum()), *arguments)
            yield block, sums[:, 0], sums[:, 1]


@compiled
def _slopes(begin, end, values, dense, first, lists, C, sums):
    """Overwrite the distances of every query by the weights of its slopes; add up its value and its dual value."""
    for row in range(begin, end):
        x_at, z_at = places_of(dense, first, lists, row)
        x, z = take(values, x_at), take(values, z_at)
        # Added to, not set: an item may occur in a list several times.
        values[first[row] : first[row + 1]] = 0.0
        a, b, split = _factors(x, z)
        logarithm, product, violated, entropy = 0.0, 0.0, 0.0, 0.0
        negatives = np.empty(z.size)
        negatives[:] = 0.0
        for i in range(x.size):
            positives = 0.0
            for j in range(z.size):
                s = z[j] - x[i]
                e = a[i] * b[j] if split else np.exp(-abs(s))
                # f = exp(-|s|), which is at most one and never overflows.
                f = 1.0 / e if split and s < 0.0 else e
                r = 1.0 / (1.0 + f)
                u = r if s < 0.0 else f * r
                positives += u
                negatives[j] += u
                entropy += abs(s) * f * r
                if s < 0.0:
                    violated -= s
                # log prod(1 + f) = sum log(1 + f), from the product minus one, so that small f are not lost.
                product += f * (1.0 + product)
                if product > LARGE_PRODUCT:
                    logarithm += np.log1p(product)
                    product = 0.0
            values[x_at[i]] -= C * positives
        logarithm += np.log1p(product)
        for j in range(z.size):
            values[z_at[j]] += C * negatives[j]
        # log(1 + exp(-s)) = log(1 + f) + max(0, -s), and the entropy of its slope is log(1 + f) + |s| f / (1 + f).
        sums[row, 0] = C * (logarithm + violated)
        sums[row, 1] = C * (logarithm + entropy)


@compiled
def _weights(begin, end, values, dense, first, lists, C, start, weights):
    """Write the second derivatives of the loss, pair by pair, from ``start[row]`` on for every query."""
    for row in range(begin, end):
        x_at, z_at = places_of(dense, first, lists, row)
        x, z = take(values, x_at), take(values, z_at)
        a, b, split = _factors(x, z)
        place = start[row]
        for i in range(x.size):
            for j in range(z.size):
                weights[place] = C * _curvature(z[j] - x[i], a[i], b[j], split)
                place += 1


@compiled
def _bend(begin, end, values, changes, dense, first, lists, C, start, weights):
    """Overwrite the changes of distances by weights whose adjoint is the second derivative.

    Second derivatives come from ``weights``, or, if that is empty, from the distances.
    """
    known = weights.size > 0
    for row in range(begin, end):
        x_at, z_at = places_of(dense, first, lists, row)
        x, z, dx, dz = take(values, x_at), take(values, z_at), take(changes, x_at), take(changes, z_at)
        changes[first[row] : first[row + 1]] = 0.0
        a, b, split = (x, z, False) if known else _factors(x, z)
        negatives, place = np.empty(dz.size), start[row]
        negatives[:] = 0.0
        for i in range(dx.size):
            positives = 0.0
            for j in range(dz.size):
                weight = weights[place + j] if known else C * _curvature(z[j] - x[i], a[i], b[j], split)
                bent = weight * (dz[j] - dx[i])
                positives += bent
                negatives[j] += bent
            place += dz.size
            changes[x_at[i]] -= positives
        for j in range(dz.size):
            changes[z_at[j]] += negatives[j]


@compiled
def _curvature(s, a, b, split):
    """Second derivative ``f / (1 + f)^2``, the same for f and 1 / f, of which the smaller one is used."""
    f = a * b if split else np.exp(-abs(s))
    if split and s < 0.0:
        f = 1.0 / f
    r = 1.0 / (1.0 + f)
    return f * r * r


@compiled
def _factors(x, z):
    """``exp(x - m)`` and ``exp(m - z)``, m the middle of all distances, unless they could overflow; and whether not."""
    low, high = x[0], x[0]
    for each in (x, z):
        for value in each:
            low, high = min(low, value), max(high, value)
    middle = 0.5 * low + 0.5 * high
    return (np.exp(x - middle), np.exp(middle - z), True) if high - low < SPREAD else (x, z, False)
