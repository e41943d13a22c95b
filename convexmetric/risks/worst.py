r"""The mean of the worst parts of a risk: a conditional value at risk over queries, choices or comparisons.

.. math:: \mathrm{Worst}(R, s)(M) = n \, \max \Big\{ \sum_q w_q R_q(M) :
   0 \le w_q \le \frac{1}{\max(1, s n)}, \; \sum_q w_q = 1 \Big\},
   \qquad R = \sum_{q=1}^n R_q

With s = 1 it is R itself; with s = 0 it is n times the largest part. In between it is the value of R if all parts cost
as much as the worst share s of them on average (Rockafellar and Uryasev 2000). The maximum is attained by giving the
worst parts the cap and one part the rest, and equals :math:`\min_t n \, (t + \mathrm{cap} \sum_q (R_q - t)_+)`.

It has a single part. The worst weights at any metric combine the planes of the parts into a supporting plane, so that
its dual points are metrics with weights (:class:`~convexmetric.risks.CutDual`). A pass over all parts finds the
weights, and a second one over the worst alone makes the plane.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from convexmetric.arguments import is_real, shown
from convexmetric.arrays import Array
from convexmetric.described import Described, description
from convexmetric.errors import DualError, InputError
from convexmetric.programs.lazy import cvxpy as cp
from convexmetric.risks.base import Cuts, Minorant, Risk, RiskStatement, Violation, checked_multipliers
from convexmetric.risks.dual_points import CutDual, JoinedDual
from convexmetric.risks.labelled_pairs import LabelledPairRisk
from convexmetric.risks.sum import added

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

    parts: ClassVar[int] = 1

    def __init__(self, risk: Risk, share: float) -> None:
        if risk.hard:
            raise InputError(f"parts of {risk.words} may be infinite: they have no mean of the worst")
        if not is_real(share) or not 0.0 <= share <= 1.0:
            raise InputError(f"share must be a number from 0 to 1, got {shown(share)}")
        self.risk, self.share, self.cone = risk, float(share), risk.cone

    @property
    def most(self) -> float:
        """Largest weight of a part in the whole, n times the cap."""
        return self.risk.parts / max(1.0, self.share * self.risk.parts)

    def weights(self, values: Array) -> Array:
        """``n w`` for given values of the parts: the largest weight for the largest, and the rest of n for one part."""
        w, order, full = np.zeros(len(values)), np.argsort(-values, kind="stable"), int(len(values) / self.most)
        w[order[:full]] = self.most
        # Exactly one part has the rest, despite rounding.
        w[order[full : full + 1]] = max(0.0, len(values) - full * self.most)
        return w

    def described(self) -> Described:
        """Description of the risk, with the share."""
        own = description(self.risk)
        if own.summands or isinstance(self.risk, LabelledPairRisk) or not self.risk.nonnegative:
            raise InputError(
                "certificates know the worst parts of a nonnegative risk, no sum of risks and no all pairs"
            )
        return Described({"kind": "worst", "share": self.share, "of": own.table}, own.arrays)

    def hints(self, dual: Any) -> Described:
        """Hints of the risk for the witnesses at which every part has weight, and the weight of every part."""
        if not isinstance(dual, CutDual):
            raise InputError("certificates know worst parts by metrics (CutDual): solve by cutting planes")
        dual, n = dual.clipped(), self.risk.parts
        found = [self.weights(self.risk.part_values(M)) / n for M in dual.witnesses]
        each = dual.weights[:, dual.groups] * np.reshape(found, (-1, n))
        total = each.sum(axis=0)
        said = self.risk.hints(CutDual(dual.witnesses, each / np.where(total > 0.0, total, 1.0), np.arange(n)))
        return replace(said, arrays=said.arrays | {"parts_weights": total})

    @property
    def nonnegative(self) -> bool:
        """Whether the parts are nonnegative."""
        return self.risk.nonnegative

    @property
    def unit(self) -> float:
        """The same as of the risk."""
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

    def lipschitz_near(self, M: Array, error: float) -> float | None:
        """The constant of the risk, times the largest weight of a part: any of them may be among the worst."""
        near = self.risk.lipschitz_near(M, error)
        return None if near is None else self.most * near

    @property
    def lipschitz(self) -> float:
        """The constant of the risk, times the largest weight of a part."""
        return self.most * self.risk.lipschitz

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
        return float(self.weights(values) @ values)

    def worst_comparisons(self, parts: np.ndarray, M: Array, other: Array | None = None) -> list[Violation]:
        """The worst comparison of the worst part, at the largest weight of a part."""
        worst = np.full(len(parts), self.risk.part_values(M).argmax())
        found, most = self.risk.worst_comparisons(worst, M, other), self.most
        return [Violation(one.rows, most * one.loss, most * one.other) for one in found]

    def separate(self, M: Array, groups: np.ndarray) -> Cuts:
        """The plane of the worst parts: of all those with the cap, and of the one with the rest."""
        w = self.weights(self.risk.part_values(M))
        kind = np.where(w == self.most, 0, np.where(w > 0.0, 1, 2))
        cuts = self.risk._cuts_of(np.flatnonzero(w), M, kind)
        factors = np.array([self.most, w[kind == 1].sum(), 0.0])[: len(cuts.values)]

        def made(of: Array) -> Array:
            found = np.zeros((int(groups[0]) + 1, *of.shape[1:]))
            found[-1] = factors @ of
            return found

        return Cuts(made(cuts.values), made(cuts.offsets), made(cuts.normals), made(cuts.weights))

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
            w = np.array([float(constraint.dual_value) for constraint in above])
            return JoinedDual((w, *(one.dual() for one in stated)))

        constraints = [constraint for one in stated for constraint in one.constraints]
        return RiskStatement(n * t + self.most * cp.sum(excess), [*above, *constraints], dual)

    def minorant(self, dual: Any) -> Minorant | None:
        """Minorant of weighted cuts; or of the weights ``n w`` of all parts with a dual point of the parts so weighted.

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
        w = np.clip(w, 0.0, self.most)
        w *= n / max(w.sum(), float(n))
        # The amount missing from n is distributed in proportion to what each weight lacks of the largest.
        left = self.most - w
        w = np.clip(w + left * ((n - w.sum()) / max(left.sum(), np.finfo(float).tiny)), 0.0, self.most)
        kept = [(self.risk.subset(np.array([q]), w[q]), dual.duals[q + 1]) for q in np.flatnonzero(w)]
        found = [said for part, own in kept if part is not None and (said := part.minorant(own)) is not None]
        return added(found) if len(found) == len(kept) else None
