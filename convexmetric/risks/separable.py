r"""Risks that are a sum of losses of single comparisons, :math:`R(M) = \sum_t \ell(\langle D_t, M \rangle)`."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np

from convexmetric.comparisons import Triplets
from convexmetric.cones.base import Array
from convexmetric.errors import DualError
from convexmetric.losses import Hinge
from convexmetric.risks.base import Cuts, DualPoint, Risk, RiskStatement, group_sums

__all__ = ["SeparableRisk"]


class SeparableRisk(Risk):
    """One loss for every comparison; its dual point is one multiplier per comparison.

    Parameters
    ----------
    comparisons : Triplets
        The operator ``s = D(M)``.
    loss : Hinge
        Applied to every ``s_t``.
    """

    def __init__(self, comparisons: Triplets, loss: Hinge) -> None:
        self.comparisons = comparisons
        self.loss = loss
        self.cone = comparisons.cone

    @property
    def parts(self) -> int:
        """Number of comparisons."""
        return len(self.comparisons)

    def value(self, M: Array) -> float:
        """``sum_t l(s_t)``."""
        return self.loss.value(self.comparisons.forward(M))

    def separate(self, M: Array, groups: np.ndarray) -> Cuts:
        """For each group the plane ``sum_t l(s_t) - u_t (D_t(M') - s_t)`` with ``-u`` a subgradient."""
        s = self.comparisons.forward(M)
        u = self.loss.subgradient(s)
        n_groups = int(groups.max()) + 1
        offsets = group_sums(u * self.loss.margin, groups, n_groups)
        values = offsets - group_sums(u * s, groups, n_groups)
        normals = np.empty((n_groups, self.cone.size))
        for g in range(n_groups):
            normals[g] = self.cone.coordinates(self.comparisons.adjoint(np.where(groups == g, u, 0.0)))
        return Cuts(values, offsets, normals)

    def statement(self, M: cp.Variable) -> RiskStatement:
        """One slack and one constraint a comparison (no slack for a hard margin)."""
        expression, margins = self.loss.statement(self.comparisons.expression(M))
        return RiskStatement(expression, [margins], lambda: np.asarray(margins.dual_value))

    def repair(self, M: Array) -> Array:
        """Scale the metric up until the smallest margin holds; distances are linear in it."""
        if not self.loss.hard:
            return M
        smallest = float(self.comparisons.forward(M).min())
        if smallest <= 0.0:
            return M
        scale = self.loss.margin / smallest
        # Rounding may leave the smallest margin an ulp short: step up until it holds in float64.
        while self.comparisons.forward(scale * M).min() < self.loss.margin:
            scale *= 1.0 + 4.0 * np.finfo(float).eps
        return scale * M

    def dual_point(self, dual: Any) -> DualPoint | None:
        """Multipliers ``(T,)`` clipped into their box, or weighted cuts."""
        if not isinstance(dual, np.ndarray):
            return super().dual_point(dual)
        if dual.shape != (self.parts,):
            raise DualError(f"multipliers must have shape ({self.parts},), one a comparison, got {dual.shape}")
        if not np.isfinite(dual).all():
            return None
        u = self.loss.clip(dual.astype(np.float64))
        return DualPoint(self.loss.dual_value(u), self.comparisons.adjoint(u))
