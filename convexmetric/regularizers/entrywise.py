r"""Entrywise l1 norm of the metric, or of its off-diagonal part, added to another regularizer (sparse metrics).

.. math:: \Omega(M) = \omega(M) + \lambda \sum_{(i,j) \in P} |M_{ij} - M_{0,ij}|
   = \max_{|Y| \le \lambda \text{ on } P, \; Y = 0 \text{ elsewhere}} \; \omega(M) + \langle Y, M - M_0 \rangle

with :math:`M_0 = 0` unless there is a prior.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from convexmetric.arguments import check_flag
from convexmetric.arrays import Array
from convexmetric.cones import Cone
from convexmetric.described import Described, description
from convexmetric.programs.lazy import cvxpy as cp
from convexmetric.regularizers.base import Regularizer
from convexmetric.regularizers.norm_term import NormTerm


class EntrywiseL1(NormTerm):
    """``rest(M) + reg * sum |M_ij - M0_ij|``.

    Parameters
    ----------
    reg : float
        lambda, positive.
    rest : Regularizer, optional
        omega; by default none. Off the diagonal alone the norm keeps no metric from growing.
    diagonal : bool
        Whether the diagonal counts.
    prior : array, optional
        M0, of the shape of a metric; by default zero.

    Raises
    ------
    InputError
        If ``reg`` is not a positive finite number.
    """

    def __init__(
        self, reg: float, rest: Regularizer | None = None, *, diagonal: bool = True, prior: Array | None = None
    ) -> None:
        super().__init__(reg, prior, rest)
        check_flag(diagonal, "diagonal")
        self.diagonal = diagonal

    def contents(self) -> tuple[Any, ...]:
        """For fingerprints: the constructor's arguments."""
        return *super().contents(), self.diagonal

    def described(self, cone: Cone, points: Array | None) -> Described:
        """The norm as a summand beside ``rest``; for diagonal metrics a linear term or, with a prior, a trace norm."""
        if not cone.diagonal:
            return self.beside_rest({"kind": "entrywise", "diagonal": self.diagonal}, cone, points)
        if self.centre is not None:
            return self.beside_rest({"kind": "trace norm"}, cone, points)
        rest = description(self.rest, cone, points)
        return replace(rest, arrays=rest.arrays | {"linear": self._weights(cone) + rest.arrays.get("linear", 0.0)})

    def only_slope(self, cone: Cone) -> Array | None:
        """``lambda`` for every weight of a diagonal metric, where the norm is linear; None if there is a prior."""
        return self._weights(cone) if cone.diagonal and self.centre is None else None

    def _weights(self, cone: Cone) -> Array:
        """``lambda`` on P, zero elsewhere."""
        weights = np.full(cone.shape, self.reg)
        return weights if self.diagonal or cone.diagonal else weights - np.diag(weights.diagonal())

    def norm(self, N: Array, cone: Cone) -> float:
        """``reg * sum |N_ij|``."""
        return float(np.sum(self._weights(cone) * np.abs(N)))

    def slopes(self, N: Array, cone: Cone) -> Array:
        """``reg * sign(N)`` on P, zero elsewhere."""
        return self._weights(cone) * np.sign(N)

    def dual_norm(self, Y: Array, cone: Cone) -> float:
        """Largest absolute value of the entries on P."""
        return float(np.abs(np.where(self._weights(cone) > 0.0, Y, 0.0)).max())

    def project_dual_ball(self, Y: Array, cone: Cone) -> Array:
        """Clip the entries on P to ``[-reg, reg]``, and set the others to zero."""
        weights = self._weights(cone)
        return np.clip(Y, -weights, weights)

    def dual_ball_identity(self, cone: Cone) -> Array:
        """``reg I``, or zero where the diagonal does not count."""
        return self.reg * cone.identity() if self.diagonal or cone.diagonal else cone.zeros()

    def norm_expression(self, N: cp.Expression, cone: Cone) -> cp.Expression:
        """``reg * sum |N_ij|``."""
        return cp.sum(cp.multiply(self._weights(cone), cp.abs(N)))

    def norm_text(self, M: str) -> str:
        """The formula of the norm in plain text."""
        return f"{self.reg:g} ||{M}||_1" if self.diagonal else f"{self.reg:g} sum_(i != j) |{M}_ij|"
