r"""The softmax loss of the items that were chosen among the candidates of every query.

.. math:: R(M) = C \sum_q c_q \Big( \ln \sum_{x \in P_q \cup N_q} e^{-d_{qx} / \tau}
   + \frac{1}{|P_q|} \sum_{i \in P_q} \frac{d_{qi}}{\tau} \Big)

Candidates are a query's positives, which were chosen, and its negatives; d are squared distances, or minus similarities
:math:`q^\top W x` (:class:`~convexmetric.cones.AllMatrices`), and :math:`\tau` is the temperature. A part is the
cross-entropy of the uniform distribution over the chosen under the probabilities
:math:`p_{qx} \propto e^{-d_{qx} / \tau}`: InfoNCE with every candidate in place of a batch (van den Oord, Li and
Vinyals 2018), the collapsing classes of Globerson and Roweis (2005), multinomial logit.

The slopes are these probabilities, and any probabilities p are a dual point: as

.. math:: \ln \sum_x e^{s_x} \ge \langle p, s \rangle + H(p), \qquad H(p) = -\sum_x p_x \ln p_x,

the tangent plane at any metric bounds a part by :math:`C c_q H(p)` minus a linear function of the metric. A pass takes
one exponential per candidate, and no memory beyond the distances.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Self

import numpy as np

from convexmetric.arguments import check_positive_number
from convexmetric.arrays import Array, real_array
from convexmetric.comparisons import Block, Rankings
from convexmetric.comparisons.rankings import BLOCK_BYTES
from convexmetric.comparisons.relevance import places_of
from convexmetric.described import Described, description
from convexmetric.errors import InputError
from convexmetric.numerics.compiling import compiled
from convexmetric.numerics.threads import over_rows
from convexmetric.programs.lazy import cvxpy as cp
from convexmetric.risks.base import Derivative, RiskStatement, tangent_dual
from convexmetric.risks.query import SmoothQueryRisk
from convexmetric.risks.separable import SeparableRisk, check_stated

#: Candidates of all queries up to which the statement is written out.
CANDIDATES_LIMIT = 20_000


class SoftmaxRisk(SmoothQueryRisk):
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
        return super().hints(dual)

    @property
    def unit(self) -> float:
        """C times the number of queries."""
        return self.C * self.parts

    @property
    def words(self) -> str:
        """Choices among candidates, in words."""
        return f"{type(self).__name__} of temperature {self.temperature:g}"

    @property
    def lipschitz(self) -> float:
        """Two sets of probabilities per query, divided by the temperature."""
        return 2.0 * float(self._most.sum()) / self.temperature

    @property
    def _most(self) -> Array:
        """Weight of every query."""
        return self.C * (np.ones(self.parts) if self.weights is None else self.weights)

    def _pair_loss(self, q: int) -> Callable[[Array], Array]:
        """Loss of a chosen item and one other candidate alone, ``ln(1 + exp(-s / tau))``."""
        share = float(self._most[q])
        return lambda s: share * np.logaddexp(0.0, -s / self.temperature)

    def listed(self) -> SeparableRisk:
        """Refuse: choices are not losses of pairs."""
        raise InputError("choices among candidates are no losses of pairs")

    def second_derivative(self, M: Array) -> Derivative:
        """``D^*(c / tau^2 (diag(p) - p p^T) D(.))``; every application takes one pass over changes of distances."""
        every, shares = np.arange(self.parts), self._most / self.temperature**2
        # If all fits one block, it is stored from one application to the next.
        kept = list(self._probabilities(M)) if 8.0 * self.distances <= 2.0 * BLOCK_BYTES else None

        def applied(change: Array) -> Array:
            S = self.cone.zeros()
            for here, along in zip(kept or self._probabilities(M), self._blocks(change, every), strict=True):
                over_rows(bend, len(along), along.values.size, here, along.values, along.first, shares[along.queries])
                S = S + along.adjoint(0, len(along))
            return S

        return applied

    def _probabilities(self, M: Array) -> Iterator[Array]:
        """Yield the probabilities of all candidates, block by block, in the layout of the distances."""
        for block in self._blocks(M, np.arange(self.parts)):
            self._softmax(block, np.full(len(block), self.temperature), chosen=False)
            yield block.values

    def statement(self, M: cp.Variable) -> RiskStatement:
        """Write the risk in CVXPY: one log-sum-exp per query.

        Raises
        ------
        InputError
            If there are too many candidates to write out.
        """
        check_stated(self.distances, CANDIDATES_LIMIT, "candidates")
        terms = []
        for q, share in enumerate(self._most):
            chosen, others = self.rankings.expressions(q, M)
            scores = -cp.hstack([chosen, others]) / self.temperature
            terms.append(share * (cp.log_sum_exp(scores) + cp.sum(chosen) / (self.temperature * chosen.size)))
        return RiskStatement(cp.sum(cp.hstack(terms)), [], lambda: tangent_dual(self, self.cone.project(M.value)))

    def _planes(self, M: Array, order: np.ndarray, write: bool = True) -> Iterator[tuple[Block, Array, Array]]:
        most = self._most
        for block in self._blocks(M, order):
            sums = self._softmax(block, most[block.queries])
            yield block, sums[:, 0], sums[:, 1]

    def _softmax(self, block: Block, shares: Array, chosen: bool = True) -> Array:
        """Overwrite distances by minus the derivatives; without ``chosen``, by those of the log-sum-exp alone.

        Returns the value and the dual value of every query.
        """
        sums = np.empty((len(block), 2))
        over_rows(_slopes, len(block), block.values.size, *block.flat, shares, self.temperature, chosen, sums)
        return sums


@compiled
def exponentials(d, first, last, chosen, tau):
    """Overwrite distances from first to last by ``exp(-(d - least) / tau)``; the chosen candidates come first.

    Returns their sum, the cross-entropy of the chosen and the entropy of the probabilities.
    """
    least, mean, total, tilted = d[first], 0.0, 0.0, 0.0
    for c in range(first, last):
        least = min(least, d[c])
    for c in range(first, last):
        x = (d[c] - least) / tau
        if c < first + chosen:
            mean += x / chosen
        d[c] = np.exp(-x)
        total += d[c]
        tilted += d[c] * x
    return total, np.log(total) + mean, np.log(total) + tilted / total


@compiled
def _slopes(begin, end, values, dense, first, lists, shares, tau, chosen, sums):
    """Overwrite the distances of every query by weights; write its value and its dual value, an entropy."""
    for row in range(begin, end):
        x_at, z_at = places_of(dense, first, lists, row)
        p, n = x_at.size, z_at.size
        d = np.empty(p + n)
        for i in range(p):
            d[i] = values[x_at[i]]
        for j in range(n):
            d[p + j] = values[z_at[j]]
        total, loss, entropy = exponentials(d, 0, p + n, p, tau)
        share = shares[row]
        sums[row, 0] = share * loss
        sums[row, 1] = share * entropy
        # Added to, not set: an item may stand in a list several times.
        values[first[row] : first[row + 1]] = 0.0
        scale, each = share / (tau * total), share / (tau * p) if chosen else 0.0
        for i in range(p):
            values[x_at[i]] += scale * d[i] - each
        for j in range(n):
            values[z_at[j]] += scale * d[p + j]


@compiled
def bend(begin, end, probabilities, changes, first, shares):
    """Overwrite changes of distances by weights whose adjoint is the second derivative."""
    for row in range(begin, end):
        mean = 0.0
        for at in range(first[row], first[row + 1]):
            mean += probabilities[at] * changes[at]
        for at in range(first[row], first[row + 1]):
            changes[at] = shares[row] * probabilities[at] * (changes[at] - mean)
