r"""A norm of the metric, or of its distance to a prior, beside another regularizer.

.. math:: \Omega(M) = \omega(M) + \lambda \|M - M_0\|
   = \max_{\|Y\|_* \le \lambda} \; \omega(M) + \langle Y, M \rangle - \langle Y, M_0 \rangle

with the dual norm: the Frobenius norm is its own, that of the trace norm is the largest eigenvalue in size, that of a
sum of sizes is the largest size. So any such Y is a linear term for a problem with omega alone, whose bounds less
:math:`\langle Y, M_0 \rangle` are bounds here. A conic solver finds a good one; the bound is made by omega from that Y,
brought into the ball of the dual norm, and trusts nobody.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from typing import Any, cast

import numpy as np

from convexmetric.arguments import check_positive_number
from convexmetric.arrays import Array, norm_of
from convexmetric.cones import Cone
from convexmetric.deadline import OutOfTime
from convexmetric.described import Described, description, symmetric
from convexmetric.errors import ConvexMetricError
from convexmetric.programs.lazy import cvxpy as cp
from convexmetric.regularizers.base import Grade, Regularizer
from convexmetric.regularizers.conic_calls import solve_conic
from convexmetric.regularizers.zero import Zero

__all__ = ["Distance", "NormTerm", "TraceDistance"]

#: By how much Y and the dual point are moved.
MOVES = (0.0, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6)
#: Larger numbers of a conic solver that ended early are none: their squares may be no floats.
MOST = 1e150


class NormTerm(Regularizer):
    """``rest(M) + reg * ||M - M0||``; what derives from it names the norm.

    Parameters
    ----------
    reg : float
        lambda, positive.
    prior : array, optional
        M0, of the shape of a metric; by default zero. ``towards`` makes it from ``"identity"``.
    rest : Regularizer, optional
        omega; by default none.

    Raises
    ------
    InputError
        If ``reg`` is not a positive finite number.
    """

    def __init__(self, reg: float, prior: Array | None = None, rest: Regularizer | None = None) -> None:
        check_positive_number(reg, "reg")
        self.reg, self.rest = float(reg), Zero() if rest is None else rest
        #: M0, or None for zero.
        self.centre = None if prior is None else np.asarray(prior, dtype=np.float64)
        self.prior = self.rest.prior if prior is None else self.centre

    @abstractmethod
    def norm(self, N: Array, cone: Cone) -> float:
        """``reg * ||N||``."""

    @abstractmethod
    def dual_norm(self, Y: Array, cone: Cone) -> float:
        """``||Y||_*``."""

    @abstractmethod
    def within(self, Y: Array, cone: Cone) -> Array:
        """A point of the ball of the dual norm, of the size ``reg``, near Y; Y itself if it is one."""

    @abstractmethod
    def inside(self, cone: Cone) -> Array:
        """A multiple of the identity in that ball; zero where the norm does not hold the diagonal."""

    @abstractmethod
    def norm_expression(self, N: cp.Expression, cone: Cone) -> cp.Expression:
        """CVXPY expression of :meth:`norm`."""

    @abstractmethod
    def norm_latex(self, M: str) -> str:
        """The formula of the norm."""

    @abstractmethod
    def norm_text(self, M: str) -> str:
        """The formula of the norm in plain text."""

    @abstractmethod
    def slopes(self, N: Array, cone: Cone) -> Array:
        """A subgradient of :meth:`norm`."""

    @property
    def grade(self) -> Grade:  # type: ignore[override]
        """Grade of the other regularizer."""
        return self.rest.grade

    def contents(self) -> tuple[Any, ...]:
        """What defines it, for fingerprints."""
        return self.reg, self.rest, self.centre

    def beside_rest(self, kind: dict[str, Any], cone: Cone, points: Array | None) -> Described:
        """A kind of the file format with weight and prior, as the first summand beside those of the other one."""
        prior = {} if self.centre is None else {"prior": True}
        own = Described(
            {**kind, "weight": self.reg, **prior}, {} if self.centre is None else {"prior": symmetric(self.centre)}
        )
        rest = description(self.rest, cone, points)
        each = [own, *(rest.summands or (() if isinstance(self.rest, Zero) else (rest,)))]
        if len(each) == 1:
            return own
        table = {"kind": "sum", "summands": [one.table for one in each]}
        named = {f"term{k}_{name}": array for k, one in enumerate(each) for name, array in one.arrays.items()}
        linear = {name: rest.arrays[name] for name in ("linear",) if name in rest.arrays}
        named = {name: array for name, array in named.items() if not name.endswith("_linear")}
        return Described(table, named | linear, tuple(each), rest.constant)

    def hints(self, value: float, S: Array, G: Array | None, cone: Cone, hint: Array) -> dict[str, Any]:
        """The Y that prove the most, one a norm, and what is beside the norms has to give with them."""
        found, moved = self._best(value, S, G, cone, hint)[1:]
        rest = self._chain(cone)[1].hints(value, S, moved, cone, hint)
        return rest | {"slopes": [*found, *rest.get("slopes", ())]} if found else rest

    def _away(self, M: Any) -> Any:
        """``M - M0``."""
        return M if self.centre is None else M - self.centre

    def value(self, M: Array, cone: Cone) -> float:
        """``rest(M) + reg * ||M - M0||``."""
        return self.rest.value(M, cone) + self.norm(self._away(M), cone)

    def size(self, M: Array, cone: Cone) -> float:
        """Size of the metric and of the prior."""
        prior = 0.0 if self.centre is None else self.norm(self.centre, cone)
        return self.rest.size(M, cone) + self.norm(M, cone) + prior

    def gradient(self, M: Array, cone: Cone) -> Array:
        """A subgradient: that of the other one and that of the norm."""
        return self.rest.gradient(M, cone) + self.slopes(self._away(M), cone)

    def bound(self, value: float, S: Array, G: Array | None, cone: Cone, hint: Array) -> float:
        """The best that the other one proves with a linear term Y more, less ``<Y, M0>``.

        Y and the dual point are moved together a little, to a multiple of I and to zero, where the other one is finite
        only up to a cone that rounding may leave.
        """
        return self._best(value, S, G, cone, hint)[0]

    def _chain(self, cone: Cone) -> tuple[list[NormTerm], Regularizer, Array]:
        """The norms that stand beside each other, what is beside them, and the sum of those that are linear here."""
        terms: list[NormTerm] = []
        base, linear = cast(Regularizer, self), cone.zeros()
        while isinstance(base, NormTerm):
            only = base.only_slope(cone)
            terms += [base] if only is None else []
            base, linear = base.rest, linear if only is None else linear + only
        return terms, base, linear

    def only_slope(self, cone: Cone) -> Array | None:
        """Y where the norm is linear on the cone; else None."""
        return None

    def _best(
        self, value: float, S: Array, G: Array | None, cone: Cone, hint: Array
    ) -> tuple[float, list[Array], Array]:
        """The best bound, the Y that prove it, one a norm, and the linear term with them."""
        terms, base, linear = self._chain(cone)
        G = linear if G is None else G + linear
        if not terms:
            return base.bound(value, S, G, cone, hint), [], G

        def proven(each: list[Array], t: float) -> tuple[float, list[Array], Array]:
            each = [(1.0 - t) * Y + t * term.inside(cone) for term, Y in zip(terms, each, strict=True)]
            paid = sum(
                cone.inner(Y, term.centre) for term, Y in zip(terms, each, strict=True) if term.centre is not None
            )
            moved = sum(each, G)
            return base.bound((1.0 - t) * value, (1.0 - t) * S, moved, cone, hint) - paid, each, moved

        every = (proven(each, t) for each in self.candidates(value, S, G, cone, hint) for t in MOVES)
        return max(every, key=lambda found: found[0])

    def candidates(self, value: float, S: Array, G: Array, cone: Cone, hint: Array) -> list[list[Array]]:
        """Points Y of the balls, one a norm, from which a bound may be made; G has what is linear."""
        terms = self._chain(cone)[0]
        greedy: list[Array] = []
        for term in terms:
            greedy.append(term.within(S - sum(greedy, G), cone))
        near = [self._subgradients(value, S, G, cone), [term.slopes(term._away(hint), cone) for term in terms]]
        found = [[cone.zeros() for _ in terms], greedy, *filter(None, near)]
        for each in found[2:]:
            # What a conic solver leaves of S - G - Y above zero is added; where Y is too large then, S is shrunk too.
            missing = cone.project(S - sum(each, G))
            for k, term in enumerate(terms):
                lifted = each[k] + missing
                lifted /= max(1.0, term.dual_norm(lifted, cone) / term.reg)
                found.append([*each[:k], term.within(lifted, cone), *each[k + 1 :]])
        return found

    def _subgradients(self, value: float, S: Array, G: Array, cone: Cone) -> list[Array]:
        """Y of every norm by CLARABEL, at the minimum of ``max(0, v - <S, M>) + <G, M> + Omega(M)``.

        If it fails or has no time, those that it had then or before, which may be none.
        """
        program, v, normal, linear, same = self._program(cone)
        v.value, normal.value, linear.value = value, S, G
        with suppress(ConvexMetricError, OutOfTime):
            solve_conic(program)
        if any(one.dual_value is None for one in same):
            return []
        found = [np.asarray(one.dual_value, dtype=np.float64) for one in same]
        if not np.abs(found).max() < MOST:
            return []
        symmetric = (Y if Y.ndim == 1 else 0.5 * (Y + Y.T) for Y in found)
        return [term.within(Y, cone) for term, Y in zip(self._chain(cone)[0], symmetric, strict=True)]

    @cached_property
    def _programs(self) -> dict[Cone, tuple[Any, ...]]:
        return {}

    def _program(self, cone: Cone) -> tuple[Any, ...]:
        if cone not in self._programs:
            v, S, G = cp.Parameter(), cp.Parameter(cone.shape), cp.Parameter(cone.shape)
            M, in_cone = cone.variable("M")
            terms, base, _ = self._chain(cone)
            apart = [cp.Variable(cone.shape) for _ in terms]
            same = [term._away(M) - U == 0 for term, U in zip(terms, apart, strict=True)]
            cost = cp.pos(v - cp.sum(cp.multiply(S, M))) + cp.sum(cp.multiply(G, M)) + base.expression(M, cone)
            cost = cost + sum(term.norm_expression(U, cone) for term, U in zip(terms, apart, strict=True))
            inside = [*in_cone, *base.constraints(M, cone), *same]
            self._programs[cone] = cp.Problem(cp.Minimize(cost), inside), v, S, G, same
        return self._programs[cone]

    def violation(self, M: Array, cone: Cone) -> float:
        """As the other one."""
        return self.rest.violation(M, cone)

    def missed(self, M: Array) -> float:
        """As the other one."""
        return self.rest.missed(M)

    def repair(self, M: Array, cone: Cone) -> Array:
        """As the other one."""
        return self.rest.repair(M, cone)

    def expression(self, M: cp.Variable, cone: Cone) -> cp.Expression:
        """``rest(M) + reg * ||M - M0||``."""
        return self.rest.expression(M, cone) + self.norm_expression(self._away(M), cone)

    def constraints(self, M: cp.Variable, cone: Cone) -> list[cp.Constraint]:
        """Constraints of the other regularizer."""
        return self.rest.constraints(M, cone)

    def latex(self, M: str) -> str:
        """The formula."""
        norm = self.norm_latex(M if self.centre is None else f"({M} - {M}_0)")
        return norm if isinstance(self.rest, Zero) else f"{self.rest.latex(M)} + {norm}"

    def text(self, M: str) -> str:
        """The formula in plain text."""
        norm = self.norm_text(M if self.centre is None else f"({M} - {M}0)")
        return norm if isinstance(self.rest, Zero) else f"{self.rest.text(M)} + {norm}"

    def quadratic(self, cone: Cone) -> None:
        """None: it is neither linear nor quadratic."""
        return None


class Distance(NormTerm):
    """``reg * ||M - M0||_F``, and perhaps another regularizer."""

    def described(self, cone: Cone, points: Array | None) -> Described:
        """The norm beside the other one."""
        return self.beside_rest({"kind": "frobenius"}, cone, points)

    def norm(self, N: Array, cone: Cone) -> float:
        """``reg * ||N||_F``."""
        return self.reg * norm_of(N)

    def slopes(self, N: Array, cone: Cone) -> Array:
        """``reg N / ||N||_F``; zero at zero."""
        size = norm_of(N)
        return self.reg / size * N if size > 0.0 else cone.zeros()

    def dual_norm(self, Y: Array, cone: Cone) -> float:
        """``||Y||_F``."""
        return norm_of(Y)

    def within(self, Y: Array, cone: Cone) -> Array:
        """Scaled down."""
        size = norm_of(Y)
        return Y if size <= self.reg else self.reg / size * Y

    def inside(self, cone: Cone) -> Array:
        """Point inside the ball of the norm ``reg``."""
        return self.reg / np.sqrt(cone.d) * cone.identity()

    def norm_expression(self, N: cp.Expression, cone: Cone) -> cp.Expression:
        """``reg * ||N||_F``."""
        return self.reg * cp.norm(N, "fro" if N.ndim == 2 else 2)

    def norm_latex(self, M: str) -> str:
        """The formula of the norm."""
        return rf"{self.reg:g} \|{M}\|_F"

    def norm_text(self, M: str) -> str:
        """The formula of the norm in plain text."""
        return f"{self.reg:g} ||{M}||_F"

    def change_coordinates(self, linear: Callable[[Array], Array]) -> Distance:
        """The same of metrics in other coordinates."""
        return (
            self
            if self.centre is None
            else Distance(self.reg, linear(self.centre), self.rest.change_coordinates(linear))
        )


class TraceDistance(NormTerm):
    """``reg`` times the sum of the sizes of the eigenvalues of ``M - M0``, and perhaps another regularizer.

    The metric differs from the prior in few directions; of diagonal metrics in few weights.
    """

    def described(self, cone: Cone, points: Array | None) -> Described:
        """The norm beside the other one."""
        return self.beside_rest({"kind": "trace norm"}, cone, points)

    def norm(self, N: Array, cone: Cone) -> float:
        """``reg * sum |eigenvalues of N|``."""
        return self.reg * float(np.abs(cone.spectrum(N)).sum())

    def slopes(self, N: Array, cone: Cone) -> Array:
        """``reg`` times the signs of the eigenvalues."""
        return self._mapped(N, lambda values: self.reg * np.sign(values))

    def dual_norm(self, Y: Array, cone: Cone) -> float:
        """The largest eigenvalue in size."""
        return float(np.abs(cone.spectrum(Y)).max())

    def within(self, Y: Array, cone: Cone) -> Array:
        """Eigenvalues clipped, where one is too large."""
        if self.dual_norm(Y, cone) <= self.reg:
            return Y
        return self._mapped(Y, lambda values: np.clip(values, -self.reg, self.reg))

    def _mapped(self, N: Array, of: Callable[[Array], Array]) -> Array:
        """The matrix with other eigenvalues."""
        if N.ndim == 1:
            return of(N)
        values, vectors = np.linalg.eigh(N)
        made = (vectors * of(values)) @ vectors.T
        return np.asarray(0.5 * (made + made.T))

    def inside(self, cone: Cone) -> Array:
        """``reg I``."""
        return self.reg * cone.identity()

    def norm_expression(self, N: cp.Expression, cone: Cone) -> cp.Expression:
        """``reg * ||N||_*``."""
        return self.reg * (cp.normNuc(N) if N.ndim == 2 else cp.norm1(N))

    def norm_latex(self, M: str) -> str:
        """The formula of the norm."""
        return rf"{self.reg:g} \|{M}\|_*"

    def norm_text(self, M: str) -> str:
        """The formula of the norm in plain text."""
        return f"{self.reg:g} ||{M}||_*"

    def change_coordinates(self, linear: Callable[[Array], Array]) -> TraceDistance:
        """The same of metrics in other coordinates."""
        return (
            self
            if self.centre is None
            else TraceDistance(self.reg, linear(self.centre), self.rest.change_coordinates(linear))
        )
