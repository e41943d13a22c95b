r"""Risks that are a sum of losses of single comparisons, :math:`R(M) = \sum_t \ell(\langle D_t, M \rangle)`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from convexmetric.arrays import Array
from convexmetric.comparisons import Comparisons, PairDistances
from convexmetric.comparisons.points import row_width
from convexmetric.described import Described, description
from convexmetric.errors import InputError
from convexmetric.losses import BoxLoss, Loss, SmoothLoss
from convexmetric.programs.lazy import cvxpy as cp
from convexmetric.risks import base
from convexmetric.risks.images import ImageRisk, ListedImages
from convexmetric.risks.rounding import error_of_lifted, lift

#: Most distinct losses whose weights, margins and signs are parameters in certificate files; of more they are data.
MOST_TERMS = 32
#: Losses that a file may have.
ALLOWED_TERMS = 64
#: Multiple of the Euclidean metric at which multipliers of losses that are unbounded below are small.
FAR_OUT = 1e6


@dataclass(frozen=True)
class ListedHinges:
    r""":math:`\sum_t C_t \max(0, \mu_t - s_t)` of listed comparisons, :math:`s = D(M)`.

    Attributes
    ----------
    comparisons : Comparisons
    weights : (T,) array
        C; all infinite if margins are hard constraints.
    margins : (T,) array
        mu.
    """

    form_words: ClassVar[str] = "a sum of hinges of listed comparisons"

    comparisons: Comparisons
    weights: Array
    margins: Array

    @cached_property
    def hard(self) -> bool:
        """Whether margins are hard constraints."""
        return bool(np.isinf(self.weights).any())

    @cached_property
    def size(self) -> float:
        """Largest absolute margin, 1 where all are zero; widths of smoothing are relative to it."""
        return float(np.abs(self.margins).max()) or 1.0

    @cached_property
    def loss(self) -> BoxLoss:
        """Soft hinges as a loss."""
        return BoxLoss.hinge(self.weights, self.margins)


@dataclass(frozen=True)
class ListedPairs:
    """Losses of listed pairs whose conjugates are parabolas on boxes.

    Attributes
    ----------
    pairs : PairDistances
    loss : BoxLoss
    """

    form_words: ClassVar[str] = "a sum of hinges, absolute or squared errors of listed pairs"

    pairs: PairDistances
    loss: BoxLoss


class SeparableRisk(base.Risk):
    """One loss for every comparison; its dual point is one multiplier per comparison.

    Parameters
    ----------
    comparisons : Comparisons
        The operator ``s = D(M)``.
    loss : Loss
        Applied to every ``s_t``.
    """

    form_words: ClassVar[str] = "a sum of losses of listed comparisons"

    def __init__(self, comparisons: Comparisons, loss: Loss) -> None:
        self.comparisons = comparisons
        self.loss = loss
        self.cone = comparisons.cone

    def as_form(self, kind: type) -> object:
        """Convert to hinges if the loss is one, or to boxed losses of pairs, also as a function of images."""
        comparisons = self.comparisons
        if kind is ListedHinges:
            hinges = self.loss.hinges(self.parts)
            return None if hinges is None else ListedHinges(comparisons, *hinges)
        if kind is ListedPairs:
            box = self.loss.box(self.parts)
            return None if box is None or not isinstance(comparisons, PairDistances) else ListedPairs(comparisons, box)
        if kind is ImageRisk:
            box = self.loss.box(self.parts)
            return None if box is None or comparisons.pair_sums() is None else ListedImages(comparisons, box)
        return self

    def described(self) -> Described:
        """Comparisons, with one term, or one for each different weight, margin, sign and further entry of the loss.

        Raises
        ------
        InputError
            If there are more terms than a file may have.
        """
        arrays, signs, said = description(self.comparisons).arrays, self.comparisons.signs_of_each(), self._losses()
        each = {"sign": signs, **said.arrays}
        columns = {"weight": each.pop("weights"), "margin": each.pop("margins"), **each}
        distinct, kind = np.unique(np.column_stack(list(columns.values())), axis=0, return_inverse=True)
        if len(distinct) > MOST_TERMS:
            arrays |= {"comparison_weights": columns["weight"], "targets": columns["margin"]}
            columns |= {"weight": np.ones(len(signs)), "margin": np.zeros(len(signs))}
            distinct, kind = np.unique(np.column_stack(list(columns.values())), axis=0, return_inverse=True)
        if len(distinct) > ALLOWED_TERMS:
            raise InputError(f"certificates have at most {ALLOWED_TERMS} losses that differ beyond weight and margin")
        terms = []
        for row in distinct.tolist():
            numbers = {name: number for name, number in zip(columns, row, strict=True) if np.isfinite(number)}
            terms.append({**said.table, **numbers, "sign": int(numbers["sign"])})
        arrays["terms"] = kind.ravel().astype(np.uint8)
        return Described({"kind": "listed comparisons", "terms": terms}, arrays)

    def _losses(self) -> Described:
        """Name of the loss; weight and margin of every comparison."""
        return description(self.loss, self.comparisons.signs_of_each())

    def hints(self, dual: Any) -> Described:
        """One slope per comparison: multiplier over weight."""
        if isinstance(dual, np.ndarray):
            u = self.loss.clip(np.asarray(dual, dtype=np.float64))
        else:
            clipped, u = dual.clipped(), np.zeros(self.parts)
            for witness, weight in zip(clipped.witnesses, clipped.weights, strict=True):
                u += weight[clipped.groups] * self.loss.subgradient(self.comparisons.forward(witness))
        return Described({"kind": "slopes"}, {"slopes": u / self._losses().arrays["weights"]})

    def blocks(self) -> base.Blocks:
        """Comparisons and loss, as the blocks with contracts."""
        return base.Blocks(comparisons=self.comparisons, loss=self.loss)

    @property
    def nonnegative(self) -> bool:
        """Whether the loss is nonnegative, at least at distances under metrics of the cone."""
        return self.loss.nonnegative or self._never_off

    @property
    def hard(self) -> bool:
        """Whether the loss is hard: infinite at some margin."""
        return self.loss.hard

    @property
    def barrier(self) -> bool:
        """Whether the loss is a barrier."""
        return self.loss.barrier

    @property
    def _never_off(self) -> bool:
        """Whether every loss whose box excludes zero is the nonnegative ``c (mu + d)``, with ``mu >= 0``."""
        loss, comparisons = self.loss, self.comparisons
        if not isinstance(loss, BoxLoss) or not isinstance(comparisons, PairDistances) or loss.curvature.any():
            return False
        linear = (loss.low == loss.high) & (loss.high >= 0.0) & (comparisons.signs < 0.0) & (loss.offset >= 0.0)
        return bool((linear | ((loss.low <= 0.0) & (loss.high >= 0.0))).all())

    def floor(self) -> base.Minorant | None:
        """Zero, or the minorant of multipliers as near zero as boxes allow; for barriers, of those at large margins."""
        loss, box = self.loss, self.loss.box(self.parts)
        if self.nonnegative or (box is None and not loss.barrier):
            return super().floor()
        far = np.zeros(self.parts)
        if box is None:
            far = loss.subgradient(self.comparisons.forward(FAR_OUT * self.cone.identity()))
        u = loss.clip(far)
        return base.Minorant(loss.dual_value(u), self.comparisons.adjoint(u))

    @property
    def points(self) -> tuple[Any, ...]:
        """The points that are compared, as point sets."""
        return self.comparisons.points

    @property
    def words(self) -> str:
        """Comparisons and loss, in words."""
        return f"{type(self).__name__} of {type(self.comparisons).__name__} with the loss {type(self.loss).__name__}"

    def lipschitz_near(self, M: Array, error: float) -> float | None:
        """Sum of multipliers, twice for triplets, each the largest over margins within reach of ``error``."""
        s = self.comparisons.forward(M)
        distances = self.comparisons.distances_each
        ends = (np.abs(self.loss.subgradient(s + side * distances * error)) for side in (-1.0, 1.0))
        return distances * float(np.maximum(*ends).sum())

    @property
    def lipschitz(self) -> float:
        """Sum of the largest multipliers of boxed losses, twice for triplets."""
        box = self.loss.box(self.parts)
        if box is None or box.curvature.any():
            return np.inf
        return self.comparisons.distances_each * float(np.maximum(np.abs(box.low), np.abs(box.high)).sum())

    @property
    def parts(self) -> int:
        """Number of comparisons."""
        return len(self.comparisons)

    @property
    def pass_memory(self) -> float:
        """Memory of the rows of diagonal metrics, three times in set-up; of full metrics, of images of the points."""
        count = float(self.parts)
        if self.cone.diagonal:
            return 8.0 * count * (3.0 * row_width(self.points, self.cone) + 10.0)
        of_points = self.comparisons.pair_sums() is not None
        images = 3.0 * sum(X.shape[0] for X in self.points) if of_points else 2.0 * count
        return 8.0 * (self.cone.d * images + 25.0 * count)

    @property
    def stated_rows(self) -> float:
        """Number of all comparisons."""
        return float(self.parts)

    def value(self, M: Array) -> float:
        """``sum_t l(s_t)``."""
        return self.loss.value(self.comparisons.forward(M))

    @property
    def part_kind(self) -> str:
        """Name of a part: a pair, a triplet, a quadruplet or a comparison."""
        return {2: "pair", 3: "triplet", 4: "quadruplet"}.get(self.comparisons.places.shape[1], "comparison")

    def part_values(self, M: Array) -> Array:
        """``l(s_t)``."""
        return self.loss.values(self.comparisons.forward(M))

    def worst_comparisons(self, parts: np.ndarray, M: Array, other: Array | None = None) -> list[base.Violation]:
        """Find the violation of each part, which is a single comparison."""
        here = self.part_values(M)[parts]
        there = np.zeros_like(here) if other is None else self.part_values(other)[parts]
        rows = self.comparisons.places[parts]
        return [
            base.Violation(tuple(map(int, row)), float(loss), float(before))
            for row, loss, before in zip(rows, here, there, strict=True)
        ]

    def separate(self, M: Array, groups: np.ndarray) -> base.Cuts:
        """For each group the plane ``sum_t -l*(-u_t) - u_t D_t(M')`` with ``-u`` a subgradient.

        The offset comes from the conjugate, not from ``l(s) + u s``, which is equal but suffers from cancellation: a
        plane made at a metric of any size must be valid.
        """
        s = self.comparisons.forward(M)
        u = self.loss.subgradient(s)
        n_groups = int(groups.max()) + 1
        values = base.group_sums(self.loss.values(s), groups, n_groups)
        offsets = base.group_sums(self.loss.dual_values(u), groups, n_groups)
        weights = self.comparisons.distances_each * base.group_sums(np.abs(u), groups, n_groups)
        return base.Cuts(values, offsets, base.group_adjoints(self.comparisons, u, groups, n_groups), weights)

    def statement(self, M: cp.Variable) -> base.RiskStatement:
        """Write the risk in CVXPY, with one slack (none for a hard margin) and one constraint per comparison."""
        expression, margins = self.loss.statement(self.comparisons.expression(M))
        return base.RiskStatement(expression, [margins], lambda: np.asarray(margins.dual_value))

    def repair(self, M: Array) -> Array:
        """Return ``M`` if all hard margins hold, rounding included; else scale it until they do, if any factor does."""
        if not self.hard or self._holds(M):
            return M
        scale = self.loss.feasible_scale(self.comparisons.forward(M) - self._slack(M))
        # Rounding may leave the smallest margin short: step on, further each time, until it holds in float64.
        up, step = scale > 1.0, 4.0 * np.finfo(float).eps
        while np.isfinite(scale) and np.isfinite(scale * M).all():
            # The test above: a repaired metric that is repaired again is returned unchanged.
            if self._holds(scale * M):
                return scale * M
            if scale == 0.0:
                break
            scale = scale * (1.0 + step) if up else scale / (1.0 + step)
            step *= 2.0
        return M

    def _holds(self, M: Array) -> bool:
        """Whether the loss stays finite when margins are lowered by their possible rounding error."""
        return bool(np.isfinite(self.loss.value(self.comparisons.forward(M) - self._slack(M))))

    def _slack(self, M: Array) -> float:
        """Bound on the rounding error of a margin."""
        if not self.points:
            return 0.0
        return self.comparisons.distances_each * error_of_lifted(self.points, M, lift(self.cone, M), self.cone)

    def minorant(self, dual: Any) -> base.Minorant | None:
        """Minorant of multipliers ``(T,)`` clipped into their box, or of weighted cuts."""
        if not isinstance(dual, np.ndarray):
            return super().minorant(dual)
        multipliers = base.checked_multipliers(dual, self.parts, "one a comparison")
        if not np.isfinite(multipliers).all():
            return None
        u = self.loss.clip(multipliers)
        values, weight = self.loss.dual_values(u), self.comparisons.distances_each * float(np.abs(u).sum())
        return base.Minorant(float(values.sum()), self.comparisons.adjoint(u), weight, float(np.abs(values).sum()))


def check_stated(count: float, limit: int, what: str) -> None:
    """Refuse to write out a statement of more than ``limit`` terms.

    Raises
    ------
    InputError
        If there are more.
    """
    if count > limit:
        raise InputError(f"the statement cannot be written out at this size: {count:.0f} {what}; keep it to {limit}")


class SmoothSeparableRisk(SeparableRisk, base.SmoothRisk):
    """A smooth loss of every listed comparison.

    Parameters
    ----------
    comparisons : Comparisons
        The operator ``s = D(M)``.
    loss : SmoothLoss
        Applied to every ``s_t``.
    """

    loss: SmoothLoss

    described = SeparableRisk.described

    def tangent(self, M: Array) -> tuple[float, base.Minorant]:
        """``R(M)`` and the tangent plane, by one forward and one adjoint product."""
        s = self.comparisons.forward(M)
        u = self.loss.subgradient(s)
        return self.loss.value(s), base.Minorant(self.loss.dual_value(u), self.comparisons.adjoint(u))

    def second_derivative(self, M: Array) -> base.Derivative:
        """``D^*(l''(s) D(.))``."""
        w = self.loss.curvature(self.comparisons.forward(M))
        return lambda change: self.comparisons.adjoint(w * self.comparisons.forward(change))
