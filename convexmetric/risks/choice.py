r"""The softmax loss of choices among listed candidates: odd one out, triplets by probability, pairs of any kind.

.. math:: R(M) = C \sum_t \Big( \ln \sum_{c=1}^{k} e^{-s_{tc} / \tau} + \frac{1}{m} \sum_{c=1}^{m} \frac{s_{tc}}{\tau}
   \Big)

A trial t has k candidates, of which the first m were chosen; :math:`s = D(M)` are their distances. Naming the odd one
of three objects chooses one of three pairs, that of the other two. Slopes and dual points are those of
:class:`~convexmetric.risks.SoftmaxRisk`, whose candidates are items of a query.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from convexmetric.arguments import check_count, check_positive_number
from convexmetric.arrays import Array
from convexmetric.comparisons import Comparisons, PairDistances
from convexmetric.described import Described, description
from convexmetric.errors import InputError
from convexmetric.programs.lazy import cvxpy as cp
from convexmetric.risks import base
from convexmetric.risks.separable import check_stated
from convexmetric.risks.softmax import CANDIDATES_LIMIT


class ChoiceRisk(base.SmoothRisk):
    """Cross-entropy of the chosen candidates of every trial, summed.

    Parameters
    ----------
    comparisons : Comparisons
        Distances of the candidates, ``candidates`` of them per trial, the chosen ones first:
        :class:`~convexmetric.comparisons.PairDistances` with signs of 1.
    candidates, chosen : int
        k and m, ``1 <= m < k``.
    C : float
        Weight of every trial.
    temperature : float
        tau, in units of squared distances.

    Raises
    ------
    InputError
        If a number is out of range, or the comparisons are not whole trials.
    """

    #: The logarithm of the sum is at least the mean of any of the exponents.
    nonnegative: ClassVar[bool] = True
    part_kind: ClassVar[str] = "trial"

    def __init__(
        self, comparisons: Comparisons, candidates: int, chosen: int = 1, C: float = 1.0, temperature: float = 1.0
    ) -> None:
        check_positive_number(C, "C")
        check_positive_number(temperature, "temperature")
        check_count(chosen, "chosen")
        if not isinstance(candidates, int) or candidates <= chosen or len(comparisons) % candidates:
            raise InputError(
                f"candidates must be more than the {chosen} chosen, and divide the {len(comparisons)} comparisons, got "
                f"{candidates!r}"
            )
        self.comparisons, self.cone = comparisons, comparisons.cone
        self.candidates, self.chosen = candidates, chosen
        self.C, self.temperature = float(C), float(temperature)

    def described(self) -> Described:
        """Description of the pairs, with numbers, weight and temperature."""
        if not isinstance(self.comparisons, PairDistances) or not (self.comparisons.signs_of_each() == 1.0).all():
            raise InputError("certificates know choices among pairs of points, with signs of 1")
        table = {"kind": "listed choices", "weight": self.C, "temperature": self.temperature}
        table |= {"candidates": self.candidates, "chosen": self.chosen}
        return Described(table, description(self.comparisons).arrays)

    def hints(self, dual: Any) -> Described:
        """Probabilities of all candidates: the weighted mean of those at the witnesses."""
        checked = self.checked_cuts(dual)
        if checked is None:
            raise InputError("the dual point has NaN or infinite entries and proves nothing")
        total = np.zeros((self.parts, self.candidates))
        for witness, weights in zip(checked.witnesses, checked.weights, strict=True):
            total += weights[checked.groups][:, None] * self._probabilities(witness)[0]
        return Described({"kind": "probabilities"}, {"probabilities": total})

    @property
    def unit(self) -> float:
        """C times the number of trials."""
        return self.C * self.parts

    @property
    def points(self) -> tuple[Any, ...]:
        """Points of the comparisons."""
        return self.comparisons.points

    @property
    def distances(self) -> float:
        """Number of all candidates."""
        return float(len(self.comparisons))

    @property
    def parts(self) -> int:
        """Number of trials."""
        return len(self.comparisons) // self.candidates

    @property
    def lipschitz(self) -> float:
        """Two sets of probabilities per trial, divided by the temperature."""
        return 2.0 * self.C * self.parts / self.temperature

    def _probabilities(self, M: Array) -> tuple[Array, Array, Array]:
        """Probabilities ``(T, k)`` at M, the losses of all trials, and the entropies of their probabilities."""
        x = self._by_columns(M)
        x -= x.min(axis=1, keepdims=True)
        x /= self.temperature
        p = np.exp(-x)
        totals = p.sum(axis=1)
        p /= totals[:, None]
        logs = np.log(totals)
        return p, logs + x[:, : self.chosen].mean(axis=1), logs + np.sum(p * x, axis=1)

    def _by_columns(self, M: Array) -> Array:
        """Distances ``(T, k)``, column by column in memory: sums over few candidates are slow otherwise."""
        return np.array(self.comparisons.forward(M).reshape(-1, self.candidates), order="F")

    def _weights(self, p: Array) -> Array:
        """Minus the derivatives by the distances, from the probabilities, which are overwritten."""
        p[:, : self.chosen] -= 1.0 / self.chosen
        p *= self.C / self.temperature
        return p.ravel()

    def value(self, M: Array) -> float:
        """``R(M)`` in one pass over all candidates."""
        return self.C * float(self._probabilities(M)[1].sum())

    def part_values(self, M: Array) -> Array:
        """The loss of every trial."""
        return self.C * self._probabilities(M)[1]

    def worst_comparisons(self, parts: np.ndarray, M: Array, other: Array | None = None) -> list[base.Violation]:
        """The pair of points that was chosen in each of some trials, with the loss of the trial."""
        here = self.part_values(M)
        there = np.zeros(self.parts) if other is None else self.part_values(other)
        rows = self.comparisons.places[:: self.candidates]
        return [base.Violation(tuple(rows[t].tolist()), float(here[t]), float(there[t])) for t in parts]

    def tangent(self, M: Array) -> tuple[float, base.Minorant]:
        """One forward and one adjoint product."""
        p, losses, entropies = self._probabilities(M)
        u = self._weights(p)
        S = self.comparisons.adjoint(u)
        return self.C * float(losses.sum()), base.Minorant(self.C * float(entropies.sum()), S, float(np.abs(u).sum()))

    def second_derivative(self, M: Array) -> base.Derivative:
        """``D^*(C / tau^2 (diag(p) - p p^T) D(.))``."""
        p = self._probabilities(M)[0]

        def applied(change: Array) -> Array:
            along = self._by_columns(change)
            along -= np.sum(p * along, axis=1, keepdims=True)
            along *= self.C / self.temperature**2 * p
            return self.comparisons.adjoint(along.ravel())

        return applied

    def separate(self, M: Array, groups: np.ndarray) -> base.Cuts:
        """The tangent planes of all trials, added up by group."""
        p, losses, entropies = self._probabilities(M)
        n_groups = int(groups.max()) + 1
        u = self._weights(p)
        of_each = np.repeat(groups, self.candidates)
        normals = base.group_adjoints(self.comparisons, u, of_each, n_groups)
        values, offsets = (self.C * base.group_sums(each, groups, n_groups) for each in (losses, entropies))
        return base.Cuts(values, offsets, normals, base.group_sums(np.abs(u), of_each, n_groups))

    def subset(self, parts: np.ndarray, factor: float = 1.0) -> Self | None:
        """The sum over some trials, times a factor; None unless candidates are listed pairs."""
        if not isinstance(self.comparisons, PairDistances):
            return None
        rows = (np.asarray(parts)[:, None] * self.candidates + np.arange(self.candidates)).ravel()
        some = PairDistances(self.comparisons.X, self.comparisons.pairs[rows], np.ones(len(rows)), self.cone)
        return type(self)(some, self.candidates, self.chosen, factor * self.C, self.temperature)

    def statement(self, M: cp.Variable) -> base.RiskStatement:
        """Write the risk in CVXPY: one log-sum-exp per trial.

        Raises
        ------
        InputError
            If there are too many candidates to write out.
        """
        check_stated(self.distances, CANDIDATES_LIMIT, "candidates")
        s = cp.reshape(self.comparisons.expression(M), (self.parts, self.candidates), order="C") / self.temperature
        loss = cp.sum(cp.log_sum_exp(-s, axis=1)) + cp.sum(s[:, : self.chosen]) / self.chosen
        return base.RiskStatement(self.C * loss, [], lambda: base.tangent_dual(self, self.cone.project(M.value)))
