r"""The structured risk of rankings, one part per query (paper 1).

.. math:: R(W) = \frac{C}{n_q} \sum_q w_q \max_y \; \Delta(y^*_q, y) - \langle W, \delta\psi_{po}(q, y^*_q, y) \rangle

with weights :math:`w_q` that are 1 in the paper; of mean 1 they make a weighted mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, Self

import numpy as np

from convexmetric.arrays import Array
from convexmetric.comparisons import Block, Rankings
from convexmetric.described import Described, description
from convexmetric.errors import DualError, InputError
from convexmetric.measures import Measure, most_violated_rankings, rankings_of
from convexmetric.measures.base import COMPILED
from convexmetric.programs.lazy import cvxpy as cp
from convexmetric.risks.base import Blocks, Minorant, RiskStatement, checked_multipliers, real_part
from convexmetric.risks.dual_points import SmoothedPairs
from convexmetric.risks.pairwise import PairwiseRisk
from convexmetric.risks.query import QueryRisk
from convexmetric.risks.ranking_record import Ranking, order_of
from convexmetric.risks.separable import SeparableRisk

#: Largest number of constraints, and of items per query, for which every ranking is written out.
ENUMERATION_LIMIT = 20_000
ITEMS_LIMIT = 7


class RankingRisk(QueryRisk):
    """Mean over queries of the worst ranking's loss and violation, times C.

    Parameters
    ----------
    rankings : Rankings
        Queries, corpus and relevance.
    measure : Measure
        Loss of a ranking, with its separation oracle.
    C : float
        Weight of the mean.
    weights : (n_q,) array, optional
        Positive weights of the queries in the mean; 1 each by default.
    """

    def __init__(self, rankings: Rankings, measure: Measure, C: float, weights: Array | None = None) -> None:
        self.rankings = rankings
        self.measure = measure
        self.C = C
        self.weights = weights
        self.cone = rankings.cone

    def subset(self, parts: np.ndarray, factor: float = 1.0) -> Self:
        """The sum over some of the queries, times a factor."""
        weights = None if self.weights is None else self.weights[parts]
        return type(self)(self.rankings.subset(parts), self.measure, factor * self.C * len(parts) / self.parts, weights)

    def as_form(self, kind: type) -> object:
        """Hinges over pairs, if the measure decomposes into them."""
        return self.pairs if kind is PairwiseRisk and self.measure.pairwise else self

    def described(self) -> Described:
        """Description of the rankings, with measure, C and weights."""
        table = {"kind": "rankings", "measure": "", "C": float(self.C)} | description(self.measure).table
        weights = {} if self.weights is None else {"query_weights": self.weights}
        return Described(table, {**description(self.rankings).arrays, **weights})

    def hints(self, dual: Any) -> Described:
        """Witnesses (metrics); for pairwise measures also slopes of pairs."""
        if isinstance(dual, np.ndarray) and not self.measure.pairwise:
            raise InputError(
                "multipliers of rankings that are written out are not stored in certificates: solve with cutting planes"
            )
        return super().hints(dual)

    @property
    def _most(self) -> Array:
        return 0.5 * self.pairs.weights

    def _pair_loss(self, q: int) -> Callable[[Array], Array]:
        """The term of an inverted pair in ``-<W, dpsi>``, as the loss of a ranking is not a sum over pairs."""
        weight = 2.0 * float(self._share[q]) / float(self.rankings.pairs[q])
        return lambda s: np.asarray(weight * np.maximum(0.0, -s))

    def blocks(self) -> Blocks:
        """The measure, as the block with a contract."""
        relevance = self.rankings.relevance
        return Blocks(measure=self.measure, lengths=np.column_stack([relevance.n_relevant, relevance.n_irrelevant]))

    @property
    def unit(self) -> float:
        """C, the weight of the slack that all queries share in Algorithm 1."""
        return self.C

    @property
    def words(self) -> str:
        """Rankings, with the measure, in words."""
        return f"{type(self).__name__} with the measure {type(self.measure).__name__}"

    def lipschitz_near(self, M: Array, error: float) -> float:
        """Sum of absolute coefficients of the worst rankings, irrelevant items being nearer by twice the error."""
        if self._in_pairs:
            return self.pairs.lipschitz_near(M, error)
        total = 0.0
        for block in self._blocks(M, np.arange(self.parts)):
            block.bring_nearer(2.0 * error)
            self._worst(block)
            total += float(np.abs(block.values).sum())
        return self.C / self.parts * total

    @property
    def lipschitz(self) -> float:
        """``4 C sum_q w_q / n_q``: with all pairs inverted the coefficients ``2 / (p n)`` of a query add up to 4."""
        return self.pairs.lipschitz if self._in_pairs else 4.0 * float(self._share.sum())

    @property
    def _in_pairs(self) -> bool:
        """Whether passes run over pairs: only for measures of the package, whose ``pairwise`` need not be checked."""
        return self.measure.pairwise and type(self.measure) in COMPILED

    def _worst(self, block: Block) -> tuple[Array, Array]:
        """Losses and violations of every query's worst ranking, whose coefficients replace the block's distances.

        All are multiplied by the weight of the query.
        """
        losses, violations = most_violated_rankings(self.measure, block)
        if self.weights is None:
            return losses, violations
        own = self.weights[block.queries]
        block.scale(own)
        return own * losses, own * violations

    @property
    def _share(self) -> Array:
        """Weight of the slack of every query, ``C w_q / n_q``."""
        return self.C / self.parts * (np.ones(self.parts) if self.weights is None else self.weights)

    @property
    def _factor(self) -> float:  # type: ignore[override]
        return 1.0 if self._in_pairs else self.C / self.parts

    def value(self, M: Array) -> float:
        """One pass of the separation oracle over all queries; at zero over one query for each (p, n)."""
        if self._in_pairs:
            return self.pairs.value(M)
        return super().value(M) if np.any(M) else self._value_at_zero()

    def _value_at_zero(self) -> float:
        """``R(0)``: distances are zero, so that the worst loss of a query depends only on its p and n."""
        relevance = self.rankings.relevance
        numbers = np.column_stack([relevance.n_relevant, relevance.n_irrelevant])
        _, first, group = np.unique(numbers, axis=0, return_index=True, return_inverse=True)
        shares, order = np.bincount(group.ravel(), self._share), np.argsort(first)
        # One query for each (p, n), at a weight of 1.
        some = type(self)(self.rankings.subset(first[order]), self.measure, float(len(first)))
        return float(shares[order] @ some.part_values(self.cone.zeros()))

    def _planes(self, M: Array, order: np.ndarray, write: bool = True) -> Iterator[tuple[Block, Array, Array]]:
        if self._in_pairs:
            yield from self.pairs._planes(M, order, write)
            return
        for block in self._blocks(M, order):
            losses, violations = self._worst(block)
            yield block, violations, losses

    def own_duals(self, M: Array) -> list[Any]:
        """Tangent plane and others made from the metric alone; for pairwise measures also slopes of smoothed hinges."""
        return self.pairs.own_duals(M) if self.measure.pairwise else super().own_duals(M)

    def worst(self, M: Array, queries: np.ndarray) -> list[Ranking]:
        """The most violated ranking of each of some queries at ``M``."""
        found = []
        for block in self.rankings.blocks(M, queries):
            losses, _ = most_violated_rankings(self.measure, block)
            for row, (q, loss) in enumerate(zip(block.queries.tolist(), losses.tolist(), strict=True)):
                order, relevant = order_of(*block.of(row))
                found.append(Ranking(q, tuple(order.tolist()), tuple(relevant.tolist()), loss))
        return found

    def every_ranking(self, q: int) -> list[Ranking]:
        """All rankings of a query but the perfect one, one for each set of inverted pairs, by brute force.

        Raises
        ------
        InputError
            If there are too many items.
        """
        positives, negatives = self.rankings.relevance.of(q)
        if len(positives) + len(negatives) > ITEMS_LIMIT:
            raise InputError(
                f"query {q} ranks {len(positives) + len(negatives)} items, of which there are too many "
                f"rankings to list (at most {ITEMS_LIMIT} items)"
            )
        scale = 2.0 / (len(positives) * len(negatives))
        found = []
        for Y, relevant in rankings_of(len(positives), len(negatives)):
            if Y.any():
                order, _ = order_of(positives, negatives, -scale * Y.sum(axis=1), scale * Y.sum(axis=0))
                loss = 1.0 - self.measure.score(relevant)
                found.append(Ranking(q, tuple(order.tolist()), tuple(relevant.tolist()), loss))
        return found

    def normal(self, batch: list[Ranking], weights: Array) -> Array:
        """Weighted sum of ``dpsi(q, y*, y)`` over rankings of different queries, an element of the cone's space."""
        T = np.zeros((len(batch), self.rankings.X.shape[0]))
        for row, ranking, weight in zip(T, batch, weights, strict=True):
            row[list(ranking.order)] = weight * ranking.coefficients
        return self.rankings.adjoint(T, np.array([ranking.query for ranking in batch]))

    def statement(self, M: cp.Variable) -> RiskStatement:
        """Write the risk in CVXPY: a hinge per pair, or, if not pairwise, a slack per query, a constraint per ranking.

        Raises
        ------
        InputError
            If there are too many rankings or pairs to write out.
        """
        if not self.measure.pairwise and self.count() <= ENUMERATION_LIMIT:
            return self._every_ranking(M)
        written = self.listed().statement(M)
        return RiskStatement(written.expression, written.constraints, lambda: 0.5 * written.dual())

    def listed(self) -> SeparableRisk:
        """Convert the risk of a pairwise measure to hinges of listed pairs.

        Raises
        ------
        InputError
            If there are too many pairs, or the measure is not pairwise.
        """
        if not self.measure.pairwise:
            raise InputError(
                f"the statement of measure {self.measure.name!r} cannot be written out at this size; keep it to "
                f"{ITEMS_LIMIT} items a query, or state it for some rankings: to_cvxpy(rankings=...)"
            )
        return self.pairs.listed()

    def _every_ranking(self, M: cp.Variable) -> RiskStatement:
        xi = cp.Variable(self.parts, nonneg=True, name="xi")
        constraints = []
        for q in range(self.parts):
            x, z = self.rankings.expressions(q, M)
            Y, losses = self._patterns(x.size, z.size)
            margins = 2.0 / (x.size * z.size) * (Y.sum(axis=1) @ z - Y.sum(axis=2) @ x)
            constraints.append(margins >= losses - xi[q])

        def dual() -> Array:
            return np.concatenate([np.asarray(constraint.dual_value).ravel() for constraint in constraints])

        return RiskStatement(self._share @ xi, constraints, dual)

    @property
    def stated_rows(self) -> float | None:
        """Number of all pairs, if the measure decomposes into pairs."""
        return self.pairs.stated_rows if self.measure.pairwise else None

    @cached_property
    def pairs(self) -> PairwiseRisk:
        """Convert the risk of a pairwise measure to hinges over pairs, without listing them.

        ``C w_q / (n_q p n) max(0, 1 - 2 (z_j - x_i))`` is twice that weight times ``max(0, 1/2 - (z_j - x_i))``.
        """
        relevance = self.rankings.relevance
        weights = 2.0 * self.C / self.parts / (relevance.n_relevant * relevance.n_irrelevant).astype(np.float64)
        if self.weights is not None:
            weights = self.weights * weights
        return PairwiseRisk(self.rankings, weights, 0.5)

    def minorant(self, dual: Any) -> Minorant | None:
        """Minorant of weighted cuts, or of the multipliers of the statement: one per pair, else per listed ranking.

        Rankings are ordered by query; their multipliers sum to at most ``C w_q / n_q`` per query. Pairs are ordered by
        query, then by relevant and by irrelevant point in ascending order, and the multiplier of a pair is at most
        ``C w_q / (n_q p n)``, the weight of its hinge ``max(0, 1 - 2 (z_j - x_i))``.
        """
        if isinstance(dual, SmoothedPairs):
            if not self.measure.pairwise:
                raise DualError(f"SmoothedPairs is for pairwise measures; {self.measure.name!r} needs a CutDual")
            return self.pairs.minorant(dual)
        if isinstance(dual, np.ndarray) and self.measure.pairwise:
            return self.pairs.minorant(2.0 * real_part(dual, "multipliers"))
        if isinstance(dual, np.ndarray) and self.count() <= ENUMERATION_LIMIT:
            return self._enumerated_minorant(dual)
        return super().minorant(dual)

    def _enumerated_minorant(self, dual: np.ndarray) -> Minorant | None:
        """Minorant ``sum a Delta``, ``sum a dpsi`` of multipliers of the rankings that :meth:`statement` writes out."""
        multipliers = checked_multipliers(dual, self.count(), "one a ranking written out")
        if not np.isfinite(multipliers).all():
            return None
        share, pairs, value, first = self._share, [], 0.0, 0
        for q in range(self.parts):
            p, n = (len(rows) for rows in self.rankings.relevance.of(q))
            Y, losses = self._patterns(p, n)
            a = np.maximum(multipliers[first : first + len(losses)], 0.0)
            a *= min(1.0, share[q] / max(a.sum(), np.finfo(float).tiny))
            first += len(losses)
            value += float(a @ losses)
            pairs.append(2.0 / (p * n) * np.tensordot(a, Y, axes=1))
        T = self._of_pairs(pairs)
        return Minorant(value, self.rankings.adjoint(T, np.arange(self.parts)), float(np.abs(T).sum()))

    def _patterns(self, p: int, n: int) -> tuple[Array, Array]:
        """Inverted pairs ``(K, p, n)`` and losses ``(K,)`` of every ranking."""
        rankings = rankings_of(p, n)
        inverted = np.array([Y for Y, _ in rankings], dtype=np.float64)
        # Many rankings have their relevant items at the same places, and nothing else matters.
        places = {relevant.tobytes(): relevant for _, relevant in rankings}
        losses = {key: 1.0 - self.measure.score(relevant) for key, relevant in places.items()}
        return inverted, np.array([losses[relevant.tobytes()] for _, relevant in rankings])

    def count(self) -> int:
        """Number of rankings to write out; the limit plus one when a query has too many items."""
        p, n = self.rankings.relevance.n_relevant, self.rankings.relevance.n_irrelevant
        if (p + n).max() > ITEMS_LIMIT:
            return ENUMERATION_LIMIT + 1
        return sum(len(rankings_of(int(i), int(j))) for i, j in zip(p, n, strict=True))
