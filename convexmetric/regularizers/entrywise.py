r"""The sum of the sizes of all entries, or of those off the diagonal, beside another regularizer (sparse metrics).

.. math:: \Omega(M) = \omega(M) + \lambda \sum_{(i,j) \in P} |M_{ij}|
   = \max_{|Y| \le \lambda \text{ on } P, \; Y = 0 \text{ elsewhere}} \; \omega(M) + \langle Y, M \rangle

So any such Y is a linear term for a problem with omega alone, whose bounds are bounds here. A conic solver finds a good
one; the bound is made by omega from that Y, clipped, and trusts nobody.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from typing import Any

import numpy as np

from convexmetric.arguments import check_flag, check_positive_number
from convexmetric.cones import Cone
from convexmetric.cones.base import Array
from convexmetric.cones.described import Described, description
from convexmetric.errors import SolverError
from convexmetric.lazy import cvxpy as cp
from convexmetric.regularizers.base import Grade, Regularizer
from convexmetric.regularizers.user_terms import solve_conic
from convexmetric.regularizers.zero import Zero

__all__ = ["EntrywiseL1"]


#: By how much Y and the dual point are moved.
MOVES = (0.0, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6)


class EntrywiseL1(Regularizer):
    """``rest(M) + reg * sum |M_ij|``.

    Parameters
    ----------
    reg : float
        lambda, positive.
    rest : Regularizer, optional
        omega; by default none. Off the diagonal alone the norm keeps no metric from growing.
    diagonal : bool
        Whether the diagonal counts.

    Raises
    ------
    InputError
        If ``reg`` is not a positive finite number.
    """

    def __init__(self, reg: float, rest: Regularizer | None = None, diagonal: bool = True) -> None:
        check_positive_number(reg, "reg")
        check_flag(diagonal, "diagonal")
        self.reg, self.rest, self.diagonal = float(reg), Zero() if rest is None else rest, diagonal
        self.prior = self.rest.prior

    @property
    def grade(self) -> Grade:  # type: ignore[override]
        """That of the other one."""
        return self.rest.grade

    def contents(self) -> tuple[Any, ...]:
        """What defines it, for fingerprints."""
        return self.reg, self.rest, self.diagonal

    def described(self, cone: Cone, points: Array | None) -> Described:
        """Its weight, and the other one; of diagonal metrics a linear term, as no weight is negative."""
        rest = description(self.rest, cone, points)
        if cone.diagonal:
            return Described(rest.table, rest.arrays | {"linear": self._weights(cone) + rest.arrays.get("linear", 0.0)})
        table = {"kind": "entrywise", "weight": self.reg, "diagonal": self.diagonal, "rest": rest.table}
        return Described(table, rest.arrays)

    def hints(self, value: float, S: Array, G: Array | None, cone: Cone, hint: Array) -> dict[str, np.ndarray]:
        """The Y that proves the most, and what the other one has to give beside it."""
        G, weights = cone.zeros() if G is None else G, self._weights(cone)
        if cone.diagonal:
            return self.rest.hints(value, S, G + weights, cone, hint)
        found = [np.clip(Y, -weights, weights) for Y in (cone.zeros(), S - G, *self._subgradients(value, S, G, cone))]
        centre = self.reg * cone.identity() if self.diagonal else cone.zeros()

        def worth(Y: Array) -> float:
            moved = ((1.0 - t, (1.0 - t) * Y + t * centre) for t in MOVES)
            return max(self.rest.bound(share * value, share * S, G + own, cone, hint) for share, own in moved)

        Y = max(found, key=worth)
        return self.rest.hints(value, S, G + Y, cone, hint) | {"subgradient": Y}

    def _weights(self, cone: Cone) -> Array:
        """Lambda on P, else zero."""
        weights = np.full(cone.shape, self.reg)
        return weights if self.diagonal or cone.diagonal else weights - np.diag(weights.diagonal())

    def value(self, M: Array, cone: Cone) -> float:
        """``rest(M) + reg * sum |M_ij|``."""
        return self.rest.value(M, cone) + float(np.sum(self._weights(cone) * np.abs(M)))

    def gradient(self, M: Array, cone: Cone) -> Array:
        """A subgradient: that of the other one and the signs."""
        return self.rest.gradient(M, cone) + self._weights(cone) * np.sign(M)

    def bound(self, value: float, S: Array, G: Array | None, cone: Cone, hint: Array) -> float:
        """The best that the other one proves with a linear term Y more.

        Y and the dual point are moved together a little, to lambda I and to zero, where the other one is finite only
        up to a cone that rounding may leave.
        """
        G = cone.zeros() if G is None else G
        weights = self._weights(cone)
        centre = self.reg * cone.identity() if self.diagonal or cone.diagonal else cone.zeros()
        found = [np.clip(Y, -weights, weights) for Y in (cone.zeros(), S - G, *self._subgradients(value, S, G, cone))]
        return max(
            self.rest.bound((1.0 - t) * value, (1.0 - t) * S, G + (1.0 - t) * Y + t * centre, cone, hint)
            for Y in found
            for t in MOVES
        )

    def _subgradients(self, value: float, S: Array, G: Array, cone: Cone) -> list[Array]:
        """Y by CLARABEL, at the minimum of ``max(0, v - <S, M>) + <G, M> + Omega(M)``; none if it fails."""
        program, v, normal, linear, same = self._program(cone)
        v.value, normal.value, linear.value = value, S, G
        with suppress(SolverError):
            solve_conic(program)
        if same.dual_value is None:
            return []
        Y = np.asarray(same.dual_value, dtype=np.float64)
        return [Y if Y.ndim == 1 else 0.5 * (Y + Y.T)]

    @cached_property
    def _programs(self) -> dict[Cone, tuple[Any, ...]]:
        return {}

    def _program(self, cone: Cone) -> tuple[Any, ...]:
        if cone not in self._programs:
            v, S, G = cp.Parameter(), cp.Parameter(cone.shape), cp.Parameter(cone.shape)
            M, in_cone = cone.variable("M")
            U = cp.Variable(cone.shape)
            same = M - U == 0
            cost = cp.pos(v - cp.sum(cp.multiply(S, M))) + cp.sum(cp.multiply(G, M)) + self.rest.expression(M, cone)
            inside = [*in_cone, *self.rest.constraints(M, cone), same]
            cost = cost + cp.sum(cp.multiply(self._weights(cone), cp.abs(U)))
            self._programs[cone] = cp.Problem(cp.Minimize(cost), inside), v, S, G, same
        return self._programs[cone]

    def repair(self, M: Array, cone: Cone) -> Array:
        """As the other one."""
        return self.rest.repair(M, cone)

    def expression(self, M: cp.Variable, cone: Cone) -> cp.Expression:
        """``rest(M) + reg * sum |M_ij|``."""
        return self.rest.expression(M, cone) + cp.sum(cp.multiply(self._weights(cone), cp.abs(M)))

    def constraints(self, M: cp.Variable, cone: Cone) -> list[cp.Constraint]:
        """Those of the other one."""
        return self.rest.constraints(M, cone)

    def latex(self, M: str) -> str:
        """The formula."""
        norm = rf"{self.reg:g} \|{M}\|_1" if self.diagonal else rf"{self.reg:g} \sum_{{i \ne j}} |{M}_{{ij}}|"
        return norm if isinstance(self.rest, Zero) else f"{self.rest.latex(M)} + {norm}"

    def text(self, M: str) -> str:
        """The formula in plain text."""
        norm = f"{self.reg:g} ||{M}||_1" if self.diagonal else f"{self.reg:g} sum_(i != j) |{M}_ij|"
        return norm if isinstance(self.rest, Zero) else f"{self.rest.text(M)} + {norm}"

    def quadratic(self, cone: Cone) -> None:
        """None: it is neither linear nor quadratic."""
        return None
