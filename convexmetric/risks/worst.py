r"""The mean of the worst parts of a risk: a conditional value at risk over queries, choices or comparisons.

.. math:: \mathrm{Worst}(R, s)(M) = n \, \max \Big\{ \sum_q w_q R_q(M) :
   0 \le w_q \le \frac{1}{\max(1, s n)}, \; \sum_q w_q = 1 \Big\},
   \qquad R = \sum_{q=1}^n R_q

With s = 1 it is R itself; with s = 0 it is n times the largest part. In between it is what R would be if all parts cost
as much as the worst share s of them on average (Rockafellar and Uryasev 2000). The maximum is attained by giving the
worst parts the cap and one part the rest, and also is :math:`\min_t n \, (t + \mathrm{cap} \sum_q (R_q - t)_+)`.

It is one part. The weights that are worst at a metric, whatever it is, make a supporting plane of the planes of the
parts, so that its dual points are metrics with weights (:class:`~convexmetric.risks.CutDual`). A pass over all parts
finds the weights, and a second one over the worst alone makes the plane.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from convexmetric.arguments import is_real
from convexmetric.arrays import Array
from convexmetric.described import Described, description
from convexmetric.errors import DualError, InputError
from convexmetric.programs.lazy import cvxpy as cp
from convexmetric.risks.base import CutDual, Cuts, Minorant, Risk, RiskStatement, Violation, checked_multipliers
from convexmetric.risks.sum import JoinedDual, added

#: Parts up to which the statement is written out.
PARTS_LIMIT = 500


class Worst(Risk):
    """The risk if all parts cost as much as the worst share of them does on average.

    Parameters
    ----------
    risk : Risk
        Of any number of parts, none of them hard.
    share : float
        s, between 0 (the worst part alone) and 1 (all parts).

    Raises
    ------
    InputError
        If parts of the risk are constraints, or the share is not between 0 and 1.
    """

    def __init__(self, risk: Risk, share: float) -> None:
        if risk.hard:
            raise InputError(f"parts of {risk.words} may be infinite: they have no mean of the worst")
        if not is_real(share) or not 0.0 <= share <= 1.0:
            raise InputError(f"share must be a number from 0 to 1, got {share!r}")
        self.risk, self.share, self.cone = risk, float(share), risk.cone

    @property
    def cap(self) -> float:
        """Largest weight of a part."""
        return 1.0 / max(1.0, self.share * self.risk.parts)

    def weights(self, values: Array) -> Array:
        """The weights that are worst for given values of the parts: the cap for the largest, the rest for one."""
        w, full = np.zeros(self.risk.parts), int(max(1.0, self.share * self.risk.parts))
        order = np.argsort(-values, kind="stable")
        w[order[:full]] = self.cap
        w[order[full : full + 1]] = max(0.0, 1.0 - full * self.cap)
        return w

    def described(self) -> Described:
        """Description of the risk, with the share."""
        if not self.risk.nonnegative:
            raise InputError("certificates know the worst parts of nonnegative risks only")
        own = description(self.risk)
        if own.summands:
            raise InputError("certificates do not know the worst parts of a sum of risks")
        return Described({"kind": "worst", "share": self.share, "of": own.table}, own.arrays)

    def hints(self, dual: Any) -> Described:
        """Hints of the risk for the witnesses at which every part has weight, and the weight of every part."""
        if not isinstance(dual, CutDual):
            raise InputError(
                "certificates know dual points of worst parts as metrics (CutDual): solve by cutting planes"
            )
        dual = dual.clipped()
        of_each = dual.weights[:, dual.groups[0]]
        each = np.array(
            [a * self.weights(self.risk.part_values(M)) for a, M in zip(of_each, dual.witnesses, strict=True)]
        )
        total = each.reshape(-1, self.risk.parts).sum(axis=0)
        inside = each / np.where(total > 0.0, total, 1.0)
        said = self.risk.hints(CutDual(dual.witnesses, inside, np.arange(self.risk.parts)))
        return replace(said, arrays=said.arrays | {"parts_weights": total})

    @property
    def nonnegative(self) -> bool:
        """Whether the parts are nonnegative."""
        return self.risk.nonnegative

    @property
    def unit(self) -> float:
        """That of the risk."""
        return self.risk.unit

    @property
    def points(self) -> tuple[Any, ...]:
        """Points of the risk."""
        return self.risk.points

    @property
    def words(self) -> str:
        """The risk and the share, in words."""
        return f"{type(self).__name__} share {self.share:g} of {self.risk.words}"

    @property
    def distances(self) -> float:
        """Number of distances of the risk."""
        return self.risk.distances

    @property
    def pass_memory(self) -> float:
        """Memory of a pass over the risk."""
        return self.risk.pass_memory

    @property
    def _most(self) -> float:
        """Largest weight of a part in the whole: n times the cap."""
        return self.risk.parts * self.cap

    def lipschitz_near(self, M: Array, error: float) -> float | None:
        """That of the risk, times the largest weight of a part: any of them may be among the worst."""
        near = self.risk.lipschitz_near(M, error)
        return None if near is None else self._most * near

    @property
    def lipschitz(self) -> float:
        """That of the risk, times the largest weight of a part."""
        return self._most * self.risk.lipschitz

    @property
    def parts(self) -> int:
        """One."""
        return 1

    @property
    def part_kind(self) -> str:
        """Name of the part: the worst query, triplet or pair, of which there may be several."""
        return f"worst {self.risk.part_kind}"

    def part_values(self, M: Array) -> Array:
        """The value."""
        return np.array([self.value(M)])

    def value(self, M: Array) -> float:
        """One pass over all parts."""
        values = self.risk.part_values(M)
        return float(self.risk.parts * (self.weights(values) @ values))

    def worst_comparisons(self, parts: np.ndarray, M: Array, other: Array | None = None) -> list[Violation]:
        """The worst comparison of the worst part, at the largest weight of a part."""
        worst = np.full(len(parts), self.risk.part_values(M).argmax())
        found, most = self.risk.worst_comparisons(worst, M, other), self._most
        return [Violation(one.rows, most * one.loss, most * one.other) for one in found]

    def separate(self, M: Array, groups: np.ndarray) -> Cuts:
        """The plane of the worst parts: of those that have the cap together, and of the one that has the rest."""
        w = self.weights(self.risk.part_values(M))
        kind = np.where(w == self.cap, 0, np.where(w > 0.0, 1, 2))
        cuts = self.risk._cuts_of(np.flatnonzero(w), M, kind)
        factors = (self.risk.parts * np.array([self.cap, w[kind == 1].sum(), 0.0]))[: len(cuts.values)]

        def made(of: Array) -> Array:
            found = np.zeros((int(groups[0]) + 1, *of.shape[1:]))
            found[-1] = factors @ of
            return found

        weights = None if cuts.weights is None else made(cuts.weights)
        return Cuts(made(cuts.values), made(cuts.offsets), made(cuts.normals), weights)

    def statement(self, M: cp.Variable) -> RiskStatement:
        """Write every part in CVXPY, and the excess of each over a variable t.

        Raises
        ------
        InputError
            If there are too many parts to write out, or they cannot be written one by one.
        """
        n = self.risk.parts
        each = [self.risk.subset(np.array([q])) for q in range(n)] if n <= PARTS_LIMIT else [None]
        stated = [one.statement(M) for one in each if one is not None]
        if len(stated) < n:
            raise InputError(f"worst parts are written out one by one, and up to {PARTS_LIMIT}: there are {n}")
        t, excess = cp.Variable(name="t"), cp.Variable(n, nonneg=True, name="excess")
        above = [excess[q] >= one.expression - t for q, one in enumerate(stated)]

        def dual() -> JoinedDual:
            w = np.array([float(constraint.dual_value) for constraint in above]) / n
            return JoinedDual((w, *(one.dual() for one in stated)))

        constraints = [constraint for one in stated for constraint in one.constraints]
        return RiskStatement(n * (t + self.cap * cp.sum(excess)), [*above, *constraints], dual)

    def minorant(self, dual: Any) -> Minorant | None:
        """Minorant of weighted cuts; or of the weights of all parts with a dual point of each, of its own scale.

        A dual point of a part is one of n times its weight times that part.

        Raises
        ------
        DualError
            If there is not one dual point for each part, or the weights do not fit.
        """
        if not isinstance(dual, JoinedDual):
            return super().minorant(dual)
        n = self.risk.parts
        if len(dual.duals) != n + 1 or not isinstance(dual.duals[0], np.ndarray):
            raise DualError(f"worst parts take {n} weights, and a dual point of each of as many parts")
        w = checked_multipliers(dual.duals[0], n, "one a part")
        if not np.isfinite(w).all():
            return None
        w = np.clip(w, 0.0, self.cap)
        w /= max(1.0, w.sum())
        # What is missing of a sum of one goes to all in proportion to what the cap leaves them.
        left = self.cap - w
        w = np.minimum(w + left * ((1.0 - w.sum()) / max(left.sum(), np.finfo(float).tiny)), self.cap)
        said = [
            None if (part := self.risk.subset(np.array([q]), n * w[q])) is None else part.minorant(dual.duals[q + 1])
            for q in np.flatnonzero(w)
        ]
        found = [one for one in said if one is not None]
        return added(found) if len(found) == len(said) else None
