r"""The softmax loss of the items that were chosen among the candidates of every query.

.. math:: R(M) = C \sum_q c_q \Big( \ln \sum_{x \in P_q \cup N_q} e^{-d_{qx} / \tau}
   + \frac{1}{|P_q|} \sum_{i \in P_q} \frac{d_{qi}}{\tau} \Big)

Candidates are a query's positives, which were chosen, and its negatives; d are squared distances, or minus similarities
:math:`q^\top W x` (:class:`~convexmetric.cones.AllMatrices`), and :math:`\tau` is the temperature. A part is the
cross-entropy of the chosen, all alike, under the probabilities :math:`p_{qx} \propto e^{-d_{qx} / \tau}`: InfoNCE with
every candidate in place of a batch (van den Oord, Li and Vinyals 2018), the collapsing classes of Globerson and Roweis
(2005), multinomial logit.

The slopes are these probabilities, and any probabilities p are a dual point: as

.. math:: \ln \sum_x e^{s_x} \ge \langle p, s \rangle + H(p), \qquad H(p) = -\sum_x p_x \ln p_x,

the tangent plane at any metric proves :math:`C c_q H(p)` of a part, less what is linear in the metric. A pass takes one
exponential a candidate, and no memory beyond the distances.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from convexmetric.arguments import check_positive_number
from convexmetric.arrays import Array, real_array
from convexmetric.comparisons import Block, Rankings
from convexmetric.comparisons.rankings import BLOCK_BYTES
from convexmetric.comparisons.relevance import lists_of, place
from convexmetric.described import Described, description
from convexmetric.errors import InputError
from convexmetric.numerics.compiling import compiled
from convexmetric.numerics.threads import blas_threads_for, over_rows
from convexmetric.programs.lazy import cvxpy as cp
from convexmetric.risks.base import Cuts, Minorant, RiskStatement, Violation, tangent_dual
from convexmetric.risks.certificate_duals import witnesses
from convexmetric.risks.query import QueryRisk
from convexmetric.risks.smooth import Derivative, SmoothRisk

#: Candidates of all queries up to which the statement is written out.
CANDIDATES_LIMIT = 20_000


class SoftmaxRisk(QueryRisk, SmoothRisk):
    """Cross-entropy of every query's chosen items under the softmax of its candidates, weighted and summed.

    Parameters
    ----------
    rankings : Rankings
        Queries with their positives (the chosen) and negatives (the other candidates).
    C : float
        Weight of every query.
    temperature : float
        tau, in units of squared distances or of similarities.
    weights : (n_q,) array, optional
        Further weights c of the queries, nonnegative; 1 by default.

    Raises
    ------
    InputError
        If C or the temperature is not positive, or the weights are malformed or negative.
    """

    def __init__(
        self, rankings: Rankings, C: float = 1.0, temperature: float = 1.0, weights: Array | None = None
    ) -> None:
        check_positive_number(C, "C")
        check_positive_number(temperature, "temperature")
        if weights is not None:
            weights = real_array(weights, "weights")
            if weights.shape != (len(rankings),) or not (weights >= 0.0).all():
                raise InputError(f"weights must be {len(rankings)} nonnegative numbers, one a query")
        self.rankings, self.cone = rankings, rankings.cone
        self.C, self.temperature, self.weights = float(C), float(temperature), weights

    def subset(self, parts: np.ndarray, factor: float = 1.0) -> Self:
        """The sum over some of the queries, times a factor."""
        weights = None if self.weights is None else self.weights[parts]
        return type(self)(self.rankings.subset(parts), factor * self.C, self.temperature, weights)

    def described(self) -> Described:
        """Description of the rankings, with weight and temperature."""
        table = {"kind": "choices", "weight": self.C, "temperature": self.temperature}
        weights = {} if self.weights is None else {"query_weights": self.weights}
        return Described(table, {**description(self.rankings).arrays, **weights})

    def hints(self, dual: Any) -> Described:
        """Witnesses: metrics whose probabilities are the dual point."""
        if isinstance(dual, np.ndarray):
            raise InputError("certificates know dual points of choices as metrics (CutDual), not as multipliers")
        return witnesses(dual, self.rankings, self._shares)

    @property
    def unit(self) -> float:
        """C times the number of queries."""
        return self.C * self.parts

    @property
    def words(self) -> str:
        """Choices among candidates, in words."""
        return f"{type(self).__name__} of temperature {self.temperature:g}"

    def lipschitz_near(self, M: Array, error: float) -> float:
        """:attr:`lipschitz`, which does not depend on the metric."""
        return self.lipschitz

    @property
    def lipschitz(self) -> float:
        """Two sets of probabilities a query, over the temperature."""
        return 2.0 * float(self._shares.sum()) / self.temperature

    @property
    def _shares(self) -> Array:
        """Weight of every query."""
        return self.C * (np.ones(self.parts) if self.weights is None else self.weights)

    def value(self, M: Array) -> float:
        """One pass over all queries."""
        return sum(float(sums[:, 0].sum()) for _, sums in self._passes(M))

    def part_values(self, M: Array) -> Array:
        """The loss of every query."""
        values = np.empty(self.parts)
        for block, sums in self._passes(M):
            values[block.queries] = sums[:, 0]
        return values

    def worst_comparisons(self, parts: np.ndarray, M: Array, other: Array | None = None) -> list[Violation]:
        """The pair of a chosen item and another of each query that costs most, alone: ``ln(1 + exp(-s / tau))``."""
        tau, shares = self.temperature, self._shares

        def lost(q: int) -> Violation:
            return Violation(
                *self.rankings.worst_pair(q, M, other, lambda s: shares[q] * np.logaddexp(0.0, -np.asarray(s) / tau))
            )

        return [lost(int(q)) for q in parts]

    def tangent(self, M: Array) -> tuple[float, Minorant]:
        """One pass over all queries and one adjoint product."""
        totals, S, weight = np.zeros(2), self.cone.zeros(), 0.0
        for block, sums in self._passes(M):
            totals += sums.sum(axis=0)
            S = S + block.adjoint(0, len(block))
            weight += float(np.abs(block.values).sum())
        return float(totals[0]), Minorant(float(totals[1]), S, weight)

    def second_derivative(self, M: Array) -> Derivative:
        """``D^*(c / tau^2 (diag(p) - p p^T) D(.))``; every application takes one pass over changes of distances."""
        rankings, every, shares = self.rankings, np.arange(self.parts), self._shares / self.temperature**2
        # What fits one block is kept from one application to the next.
        kept = list(self._probabilities(M)) if 8.0 * self.distances <= BLOCK_BYTES else None

        def applied(change: Array) -> Array:
            S = self.cone.zeros()
            with blas_threads_for(self._work):
                for here, along in zip(kept or self._probabilities(M), rankings.blocks(change, every), strict=True):
                    first, dense = along.layout
                    arguments = here, along.values.reshape(-1), dense, first, along.lists, shares[along.queries]
                    over_rows(_bend, len(along), along.values.size, *arguments)
                    S = S + along.adjoint(0, len(along))
            return S

        return applied

    def _probabilities(self, M: Array) -> Iterator[Array]:
        """Yield the probabilities of all candidates, block by block, in the layout of the distances."""
        plain = type(self)(self.rankings, 1.0, self.temperature)
        for block, _ in plain._passes(M, chosen=False):
            yield self.temperature * block.values.reshape(-1)

    def separate(self, M: Array, groups: np.ndarray) -> Cuts:
        """The tangent planes of every query's part, added up by group."""
        n_groups = int(groups.max()) + 1
        values, offsets, weights = np.zeros((3, n_groups))
        normals = np.zeros((n_groups, *self.cone.shape))
        for block, sums in self._passes(M, np.argsort(groups, kind="stable")):
            for g, start, stop in block.runs(groups):
                values[g] += sums[start:stop, 0].sum()
                offsets[g] += sums[start:stop, 1].sum()
                normals[g] += block.adjoint(start, stop)
                weights[g] += float(np.abs(block.part(start, stop)).sum())
        return Cuts(values, offsets, self.cone.coordinates(normals), weights)

    def statement(self, M: cp.Variable) -> RiskStatement:
        """Write the risk in CVXPY: a log-sum-exp a query.

        Raises
        ------
        InputError
            If there are too many candidates to write out.
        """
        if self.distances > CANDIDATES_LIMIT:
            raise InputError(
                f"the statement cannot be written out at this size: {self.distances:.0f} candidates; keep it to "
                f"{CANDIDATES_LIMIT}"
            )
        terms = []
        for q, share in enumerate(self._shares):
            chosen, others = self.rankings.expressions(q, M)
            scores = -cp.hstack([chosen, others]) / self.temperature
            terms.append(share * (cp.log_sum_exp(scores) + cp.sum(chosen) / (self.temperature * chosen.size)))
        return RiskStatement(cp.sum(cp.hstack(terms)), [], lambda: tangent_dual(self, self.cone.project(M.value)))

    @property
    def _work(self) -> float:
        rankings = self.rankings
        return float(len(rankings)) * self.cone.d * (rankings.X.shape[0] if rankings.dense else 1)

    def _passes(self, M: Array, order: np.ndarray | None = None, chosen: bool = True) -> Iterator[tuple[Block, Array]]:
        """Yield blocks whose distances are overwritten by weights, with value and dual value of every query.

        The weights are minus the derivatives; without ``chosen`` those of the log-sum-exp alone.
        """
        rankings, shares = self.rankings, self._shares
        with blas_threads_for(self._work):
            for block in rankings.blocks(M, np.arange(len(rankings)) if order is None else order):
                sums = np.empty((len(block), 2))
                first, dense = block.layout
                arguments = block.values.reshape(-1), dense, first, block.lists, shares[block.queries]
                over_rows(_slopes, len(block), block.values.size, *arguments, self.temperature, chosen, sums)
                yield block, sums


@compiled
def _slopes(begin, end, values, dense, first, lists, shares, tau, chosen, sums):
    """Overwrite the distances of every query by weights; write its value and its dual value, an entropy."""
    for row in range(begin, end):
        positives, near_at, negatives, far_at = lists_of(first, dense, lists, row)
        p, n = positives.size, negatives.size
        d = np.empty(p + n)
        for i in range(p):
            d[i] = values[place(positives, near_at, dense, i)]
        for j in range(n):
            d[p + j] = values[place(negatives, far_at, dense, j)]
        least, mean = d.min(), 0.0
        for i in range(p):
            mean += d[i] - least
        mean /= p * tau
        total, tilted = 0.0, 0.0
        for t in range(p + n):
            s = (d[t] - least) / tau
            d[t] = np.exp(-s)
            total += d[t]
            tilted += d[t] * s
        share = shares[row]
        sums[row, 0] = share * (np.log(total) + mean)
        sums[row, 1] = share * (np.log(total) + tilted / total)
        for at in range(first[row], first[row + 1]):
            values[at] = 0.0
        # Added to, not set: an item may stand in a list several times.
        scale, each = share / (tau * total), share / (tau * p) if chosen else 0.0
        for i in range(p):
            values[place(positives, near_at, dense, i)] += scale * d[i] - each
        for j in range(n):
            values[place(negatives, far_at, dense, j)] += scale * d[p + j]


@compiled
def _bend(begin, end, probabilities, changes, dense, first, lists, shares):
    """Overwrite changes of distances by weights whose adjoint is the second derivative."""
    for row in range(begin, end):
        mean = 0.0
        for at in range(first[row], first[row + 1]):
            mean += probabilities[at] * changes[at]
        for at in range(first[row], first[row + 1]):
            changes[at] = shares[row] * probabilities[at] * (changes[at] - mean)
