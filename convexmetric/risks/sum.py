r"""A sum of risks of any kinds: several kinds of data about one metric, such as triplets, pairs and rankings.

.. math:: R(M) = \sum_k R_k(M), \qquad R_k(M) \ge v_k - \langle S_k, M \rangle \; \Rightarrow \;
   R(M) \ge \sum_k v_k - \Big\langle \sum_k S_k, M \Big\rangle

Its parts are those of the first risk, then those of the second, and so on; a cut may have parts of several. A dual
point is weighted cuts of the whole, or one dual point of each risk, of any kind
(:class:`~convexmetric.risks.JoinedDual`). Where all are hinges, or boxed losses, of listed comparisons, so is the sum.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from convexmetric.arrays import Array
from convexmetric.comparisons import StackedComparisons
from convexmetric.described import Described, description
from convexmetric.errors import DualError, InputError
from convexmetric.losses import BoxLoss
from convexmetric.programs.lazy import cvxpy as cp
from convexmetric.risks.base import Cuts, Minorant, Risk, RiskStatement, Violation
from convexmetric.risks.dual_points import JoinedDual
from convexmetric.risks.separable import ListedHinges, SeparableRisk

#: Largest number of rounds of repairs; if all scale up, two rounds suffice, up to the last bits.
ROUNDS = 10


class SumRisk(Risk):
    """``R_1(M) + R_2(M) + ...``; also written ``first + second``.

    Parameters
    ----------
    *risks : Risk
        On one cone; sums among them are split into their summands.

    Raises
    ------
    InputError
        If there is none, or their metrics differ.
    """

    def __init__(self, *risks: Risk) -> None:
        self.risks: list[Risk] = [
            one for risk in risks for one in (risk.risks if isinstance(risk, SumRisk) else [risk])
        ]
        if not self.risks:
            raise InputError("a sum needs at least one risk")
        self.cone = self.risks[0].cone
        for risk in self.risks[1:]:
            if risk.cone != self.cone:
                raise InputError(f"risks of one sum must have one kind of metric, got {self.cone!r} and {risk.cone!r}")
        self.ends = np.cumsum([0, *(risk.parts for risk in self.risks)])

    def described(self) -> Described:
        """Describe every summand."""
        return Described({"kind": "sum"}, summands=tuple(description(risk) for risk in self.risks))

    def hints(self, dual: Any) -> Described:
        """Hints of every summand, from its own dual point, its multipliers, or the weighted cuts of its parts."""
        if isinstance(dual, JoinedDual):
            duals = list(dual.duals)
        elif isinstance(dual, np.ndarray):
            duals = [dual[begin:end] for begin, end in pairwise(self.ends)]
        else:
            duals = [replace(dual, groups=dual.groups[begin:end]) for begin, end in pairwise(self.ends)]
        return Described(summands=tuple(risk.hints(one) for risk, one in zip(self.risks, duals, strict=True)))

    def as_form(self, kind: type) -> object:
        """Convert to hinges, or boxed losses, of all comparisons, if every summand converts."""
        if kind is ListedHinges:
            hinges = [risk.form(ListedHinges) for risk in self.risks]
            if len({one.hard for one in hinges}) > 1:
                return None
            stacked = StackedComparisons([one.comparisons for one in hinges])
            weights, margins = ([getattr(one, name) for one in hinges] for name in ("weights", "margins"))
            return ListedHinges(stacked, np.concatenate(weights), np.concatenate(margins))
        return self._separable() if kind is SeparableRisk else self

    def _separable(self) -> SeparableRisk | None:
        risks = [risk.form(SeparableRisk) for risk in self.risks]
        boxes = [box for risk in risks if (box := risk.loss.box(risk.parts)) is not None]
        if len(boxes) < len(self.risks):
            return None
        ends = ([getattr(box, name) for box in boxes] for name in ("offset", "low", "high", "curvature"))
        stacked = StackedComparisons([risk.comparisons for risk in risks])
        return SeparableRisk(stacked, BoxLoss(*map(np.concatenate, ends)))

    @property
    def nonnegative(self) -> bool:
        """Whether all summands are nonnegative."""
        return all(risk.nonnegative for risk in self.risks)

    @property
    def hard(self) -> bool:
        """Whether any summand is hard."""
        return any(risk.hard for risk in self.risks)

    @property
    def barrier(self) -> bool:
        """Whether there are hard summands, and each is a barrier."""
        return self.hard and all(risk.barrier for risk in self.risks if risk.hard)

    def floor(self) -> Minorant | None:
        """The sum of the floors, or None if one is unknown."""
        floors = [floor for risk in self.risks if (floor := risk.floor()) is not None]
        return added(floors) if len(floors) == len(self.risks) else None

    @property
    def points(self) -> tuple[Any, ...]:
        """Points of every summand."""
        return tuple(points for risk in self.risks for points in risk.points)

    @property
    def words(self) -> str:
        """The summands in words."""
        return " + ".join(risk.words for risk in self.risks)

    def lipschitz_near(self, M: Array, error: float) -> float | None:
        """Sum of the constants of the summands, or None if one is unknown."""
        found = [risk.lipschitz_near(M, error) if risk.points else None for risk in self.risks]
        return None if None in found else float(sum(one for one in found if one is not None))

    @property
    def lipschitz(self) -> float:
        """Sum of the constants of the summands."""
        return float(sum(risk.lipschitz for risk in self.risks))

    @property
    def parts(self) -> int:
        """Number of parts of all summands."""
        return int(self.ends[-1])

    @property
    def part_kind(self) -> str:
        """Kind of part of all summands if it is the same."""
        kinds = {risk.part_kind for risk in self.risks}
        return kinds.pop() if len(kinds) == 1 else "part"

    @property
    def distances(self) -> float:
        """Sum of the numbers of distances of the summands."""
        return sum(risk.distances for risk in self.risks)

    @property
    def pass_memory(self) -> float:
        """Sum of the memory of the passes of the summands."""
        return sum(risk.pass_memory for risk in self.risks)

    @property
    def stated_rows(self) -> float | None:
        """Sum of the numbers of stated comparisons, or None if one is unknown."""
        rows = [rows for risk in self.risks if (rows := risk.stated_rows) is not None]
        return sum(rows) if len(rows) == len(self.risks) else None

    def value(self, M: Array) -> float:
        """``R(M)``: the sum of the values of the summands."""
        return float(sum(risk.value(M) for risk in self.risks))

    def part_values(self, M: Array) -> Array:
        """Values of the parts of the first summand, then of the second, and so on."""
        return np.concatenate([risk.part_values(M) for risk in self.risks])

    def _of_each(self, parts: np.ndarray) -> list[tuple[int, np.ndarray]]:
        """Split ``parts`` into runs that belong to one summand: its number, and its own numbers of the parts."""
        owner = np.searchsorted(self.ends, parts, side="right") - 1
        cuts = np.flatnonzero(np.diff(owner)) + 1
        return [
            (int(owner[at[0]]), parts[at] - self.ends[owner[at[0]]]) for at in np.split(np.arange(parts.size), cuts)
        ]

    def subset(self, parts: np.ndarray, factor: float = 1.0) -> SumRisk | None:
        """The sum of some parts, or None if a summand cannot be split into parts."""
        some = [self.risks[k].subset(own, factor) for k, own in self._of_each(np.asarray(parts))]
        risks = [risk for risk in some if risk is not None]
        return SumRisk(*risks) if len(risks) == len(some) else None

    def worst_comparisons(self, parts: np.ndarray, M: Array, other: Array | None = None) -> list[Violation]:
        """Find for each of some parts its worst comparison, by its own risk."""
        return [
            found
            for k, own in self._of_each(np.asarray(parts))
            for found in self.risks[k].worst_comparisons(own, M, other)
        ]

    def separate(self, M: Array, groups: np.ndarray) -> Cuts:
        """Sums of the cuts of all risks by group."""
        count = int(groups.max()) + 1
        made = Cuts(np.zeros(count), np.zeros(count), np.zeros((count, self.cone.size)), np.zeros(count))
        for risk, (begin, end) in zip(self.risks, pairwise(self.ends), strict=True):
            cuts = risk.separate(M, groups[begin:end])
            here = len(cuts.values)
            made.values[:here] += cuts.values
            made.offsets[:here] += cuts.offsets
            made.normals[:here] += cuts.normals
            made.weights[:here] += cuts.weights
        return made

    def statement(self, M: cp.Variable) -> RiskStatement:
        """Write all summands in CVXPY, with a dual point of each."""
        stated = [risk.statement(M) for risk in self.risks]
        constraints = [constraint for one in stated for constraint in one.constraints]
        expression = sum(one.expression for one in stated)
        return RiskStatement(expression, constraints, lambda: JoinedDual(tuple(one.dual() for one in stated)))

    def own_duals(self, M: Array) -> list[Any]:
        """The tangent plane, and the first own dual point of each risk."""
        return [*super().own_duals(M), JoinedDual(tuple(risk.own_duals(M)[0] for risk in self.risks))]

    def repair(self, M: Array) -> Array:
        """Repair by each summand in turn until nothing changes; return ``M`` itself if one repair undoes another."""
        found = M
        for _ in range(ROUNDS):
            before = found
            for risk in self.risks:
                found = risk.repair(found)
            if found is before:
                return found
        return M

    def minorant(self, dual: Any) -> Minorant | None:
        """Sum of the minorants of all summands; multipliers are split among them. Or the minorant of weighted cuts.

        Raises
        ------
        DualError
            If there is not one dual point for each risk, or multipliers do not fit.
        """
        if isinstance(dual, np.ndarray):
            if self.stated_rows != self.parts:
                raise DualError("a sum takes multipliers only where all of its risks are of listed comparisons")
            if dual.shape != (self.parts,):
                raise DualError(f"multipliers must have shape ({self.parts},), one a comparison, got {dual.shape}")
            dual = JoinedDual(tuple(dual[begin:end] for begin, end in pairwise(self.ends)))
        if not isinstance(dual, JoinedDual):
            return super().minorant(dual)
        if len(dual.duals) != len(self.risks):
            raise DualError(f"the sum has {len(self.risks)} risks, got {len(dual.duals)} dual points")
        said = [risk.minorant(one) for risk, one in zip(self.risks, dual.duals, strict=True)]
        found = [point for point in said if point is not None]
        return added(found) if len(found) == len(said) else None


def added(points: list[Minorant]) -> Minorant:
    """Sum of minorants."""
    weights = [point.weight for point in points if point.weight is not None]
    return Minorant(
        float(sum(point.value for point in points)),
        np.sum([point.S for point in points], axis=0),
        sum(weights) if len(weights) == len(points) else None,
        float(sum(abs(point.value) if point.size is None else point.size for point in points)),
    )
