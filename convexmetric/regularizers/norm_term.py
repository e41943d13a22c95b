r"""A norm of the metric, or of its distance to a prior, added to another regularizer.

.. math:: \Omega(M) = \omega(M) + \lambda \|M - M_0\|
   = \max_{\|Y\|_* \le \lambda} \; \omega(M) + \langle Y, M \rangle - \langle Y, M_0 \rangle

with the dual norm: the Frobenius norm is its own dual, the dual of the trace norm is the spectral norm, and that of the
entrywise l1 norm is the largest absolute entry. Any Y in the dual ball is a linear term for a problem with omega alone,
and bounds of that problem minus :math:`\langle Y, M_0 \rangle` are bounds of this one. A norm has to define the
projection onto its dual ball. :mod:`convexmetric.regularizers.splitting` finds a good Y; the bound is valid for any.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from convexmetric.arguments import check_flag, check_positive_number
from convexmetric.arrays import Array, altered, norm_of
from convexmetric.cones import Cone
from convexmetric.deadline import seconds_left
from convexmetric.described import Described, description
from convexmetric.numerics.searches import last_true
from convexmetric.programs.lazy import cvxpy as cp
from convexmetric.regularizers.base import Grade, Regularizer, of_eigenvalues
from convexmetric.regularizers.splitting import Splitting
from convexmetric.regularizers.trace import Zero

#: Maximal number of splitting steps in the search for Y, and steps between two evaluations of its bound.
STEPS, LOOK_EVERY = 4_000, 50
#: Relative gap between the bound and the cost of a metric at which the search ends.
NEARLY = 1e-9
#: Evaluations in a row without a better bound after which the search ends as well.
IDLE = 16

#: A bound, the Y that prove it (one per norm), and the scaling theta of the dual point.
_Proven = tuple[float, list[Array], float]


class NormTerm(Regularizer):
    """``rest(M) + reg * ||M - M0||``; subclasses define the norm.

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
        #: Share and slopes that :meth:`holding` was given.
        self.held: tuple[float, list[Array]] | None = None
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
    def project_dual_ball(self, Y: Array, cone: Cone) -> Array:
        """Projection onto the ball ``||Y||_* <= reg`` of the dual norm, the subgradients of :meth:`norm` at zero."""

    @abstractmethod
    def dual_ball_identity(self, cone: Cone) -> Array:
        """A multiple of the identity in the dual ball; zero if the norm ignores the diagonal."""

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
        """Grade of ``rest``."""
        return self.rest.grade

    def contents(self) -> tuple[Any, ...]:
        """For fingerprints: weight, ``rest`` and M0 (not ``prior``, which may be that of ``rest``)."""
        return self.reg, self.rest, self.centre

    def beside_rest(self, kind: dict[str, Any], cone: Cone, points: Array | None) -> Described:
        """Describe a norm of the file format, with weight and prior, as the first summand before those of ``rest``."""
        prior = {} if self.centre is None else {"prior": True}
        arrays = {} if self.centre is None else {"prior": cone.element(self.centre, "prior")}
        own = Described({**kind, "weight": self.reg, **prior}, arrays)
        rest = description(self.rest, cone, points)
        each = [own, *(rest.summands or (() if isinstance(self.rest, Zero) else (rest,)))]
        if len(each) == 1:
            return own
        table = {"kind": "sum", "summands": [one.table for one in each]}
        arrays = {f"term{k}_{name}": array for k, one in enumerate(each) for name, array in one.arrays.items()}
        arrays = {name: array for name, array in arrays.items() if not name.endswith("_linear")}
        if "linear" in rest.arrays:
            arrays["linear"] = rest.arrays["linear"]
        return Described(table, arrays, tuple(each), rest.constant)

    def hints(self, value: float, S: Array, G: Array | None, cone: Cone, hint: Array) -> dict[str, Any]:
        """``slopes``, the Y of the best bound (one per norm), and hints of the regularizer under the norms.

        ``radii``: for every norm an r such that ``r I`` is a subgradient.
        """
        if self.alone(cone):
            return {}
        found, (terms, base, linear) = self._best(value, S, G, cone, hint)[1], self.chain(cone)
        moved = sum(found, linear if G is None else linear + G)
        rest = base.hints(value, S, moved, cone, hint)
        if not found:
            return rest
        radii, more = [float(np.max(term.dual_ball_identity(cone))) for term in terms], rest.get("slopes", [])
        own = {"slopes": [*found, *more], "radii": [*radii, *rest.get("radii", [np.inf] * len(more))]}
        return rest | own

    def _away(self, M: Any) -> Any:
        """``M - M0``."""
        return M if self.centre is None else M - self.centre

    def value(self, M: Array, cone: Cone) -> float:
        """``rest(M) + reg * ||M - M0||``."""
        return self.rest.value(M, cone) + self.norm(self._away(M), cone)

    def size(self, M: Array, cone: Cone) -> float:
        """Size of ``rest``, plus the norms of ``M`` and of the prior."""
        prior = 0.0 if self.centre is None else self.norm(self.centre, cone)
        return self.rest.size(M, cone) + self.norm(M, cone) + prior

    def gradient(self, M: Array, cone: Cone) -> Array:
        """Sum of subgradients of ``rest`` and of the norm."""
        return self.rest.gradient(M, cone) + self.slopes(self._away(M), cone)

    def bound(self, value: float, S: Array, G: Array | None, cone: Cone, hint: Array) -> float:
        """The best bound of ``rest`` with a linear term ``Y`` added to G, minus ``<Y, M0>``."""
        return self._shared(value, S, G, cone) if self.alone(cone) else self._best(value, S, G, cone, hint)[0]

    def alone(self, cone: Cone) -> bool:
        """Whether this norm is all that keeps matrices small, without a cone: then ``Y = theta S - G``."""
        return cone.free and isinstance(self.rest, Zero)

    def _shared(self, value: float, S: Array, G: Array | None, cone: Cone) -> float:
        """``theta v - <theta S - G, M0>`` at the best theta with ``theta S - G`` in the dual ball."""
        linear = cone.zeros() if G is None else G
        centre = cone.zeros() if self.centre is None else self.centre
        gain = value - cone.inner(S, centre)
        worst, best = (0.0, 1.0) if gain >= 0.0 else (1.0, 0.0)

        def inside(t: float) -> bool:
            theta = worst + t * (best - worst)
            return self.dual_norm(theta * S - linear, cone) <= self.reg

        if not (inside(1.0) or inside(0.0)):
            return -np.inf
        theta = best if inside(1.0) else worst + last_true(inside, 0.0, 1.0)[0] * (best - worst)
        return theta * gain + cone.inner(linear, centre)

    def has_prox(self, cone: Cone) -> bool:
        """Only where it is :meth:`alone`."""
        return self.alone(cone)

    def prox(self, V: Array, t: float, cone: Cone) -> Array:
        """``V`` minus t times the nearest subgradient to ``(V - M0) / t`` (Moreau)."""
        return V - t * self.project_dual_ball(self._away(V) / t, cone)

    def settled(
        self, value: float, S: Array, G: Array | None, cone: Cone, hint: Array
    ) -> tuple[float, list[Array]] | None:
        """Share and slopes of the best bound."""
        _, slopes, share = self._best(value, S, G, cone, hint)
        return (share, slopes) if slopes else None

    def holding(self, slopes: tuple[float, list[Array]]) -> NormTerm:
        """A copy with these slopes, one per norm of the chain."""
        return altered(self, held=slopes)

    def chain(self, cone: Cone) -> tuple[list[NormTerm], Regularizer, Array]:
        """The chain of ``rest`` with this norm in front, or with its Y added to the linear part if it is linear."""
        if self.alone(cone):
            return [], self, cone.zeros()
        terms, base, linear = self.rest.chain(cone)
        only = self.only_slope(cone)
        return ([self, *terms], base, linear) if only is None else (terms, base, linear + only)

    def only_slope(self, cone: Cone) -> Array | None:
        """The Y with ``norm(M) = <Y, M>`` on the cone, if there is one; else None."""
        return None

    def _best(self, value: float, S: Array, G: Array | None, cone: Cone, hint: Array) -> _Proven:
        """The best bound found, the Y that prove it (one per norm), and the scaling theta of S."""
        terms, base, linear = self.chain(cone)
        G = linear if G is None else G + linear
        if not terms:
            return base.bound(value, S, G, cone, hint), [], 1.0
        identities = [cone.zeros() if cone.free else term.dual_ball_identity(cone) for term in terms]
        room, paid = sum(identities, cone.zeros()), self._paid(terms, identities, cone)

        def proven(slopes: list[Array], share: float = 1.0) -> _Proven:
            """The better of two bounds: S shrunk with fixed slopes, or ``theta S`` and the slopes shrunk together.

            The second shrinks slopes towards multiples of I. If a conjugate is finite only on a set, rounding may lead
            out of that set, and this leads back by a short step.
            """
            total, cost = sum(slopes, cone.zeros()), self._paid(terms, slopes, cone)
            plain = base.bound(value, S, G + total, cone, hint) - cost
            value_moved, S_moved = share * value - cost + paid, share * S - total + room
            moved = base.bound(value_moved, S_moved, G + room, cone, hint) - paid
            return max(plain, moved), slopes, share

        if self.held is not None:
            return proven(self.held[1], self.held[0])
        greedy: list[Array] = []
        for term in terms:
            greedy.append(term.project_dual_ball(S - sum(greedy, G), cone))
        near = [term.slopes(term._away(hint), cone) for term in terms]
        starts = (greedy, near, [cone.zeros() for _ in terms])
        best = max((proven(start) for start in starts), key=lambda found: found[0])
        return self._searched(value, S, G, cone, hint, best, proven)

    @staticmethod
    def _paid(terms: list[NormTerm], slopes: list[Array], cone: Cone) -> float:
        """Sum of ``<Y, M0>`` over all norms."""
        pairs = zip(terms, slopes, strict=True)
        return sum(cone.inner(Y, term.centre) for term, Y in pairs if term.centre is not None)

    def _searched(
        self, value: float, S: Array, G: Array, cone: Cone, hint: Array, best: _Proven, proven: Callable[..., _Proven]
    ) -> _Proven:
        """Improve ``best`` by Y from splitting ``max(0, v - <S, M>) + <G, M> + Omega(M)``, from hint and best."""
        terms, base, _ = self.chain(cone)

        def prox(s: Array, t: Array) -> Array:
            return s + np.clip(value - s, 0.0, t)

        def cost(M: Array) -> float:
            data = max(0.0, value - cone.inner(S, M)) + cone.inner(G, M)
            return data + base.value(M, cone) + sum(term.norm(term._away(M), cone) for term in terms)

        known = [M for M in (hint, self.prior) if M is not None]
        upper = min(cost(M if cone.violation(M) == 0.0 else cone.project(M)) for M in known)
        # Once more from the middle if the best start brings no progress.
        for share, slopes in (best[2], best[1]), (0.5, [cone.zeros() for _ in terms]):
            try:
                splitting = Splitting(terms, base, cone, G, cone.coordinates(S)[None], prox)
                splitting.start(hint, np.array([share]), slopes, share * S - sum(slopes, G))
                splitting.run(1)
            except (NotImplementedError, np.linalg.LinAlgError):
                return best
            idle = 0
            for _ in range(0, STEPS, LOOK_EVERY):
                nothing = NEARLY * max(abs(upper), abs(best[0]))
                if not upper - best[0] > nothing or idle == IDLE or seconds_left() <= 0.0:
                    break
                splitting.run(LOOK_EVERY)
                if not np.isfinite(splitting.v).all():
                    break
                theta = float(np.clip(splitting.multipliers[0], 0.0, 1.0))
                upper, found = min(upper, cost(splitting.M)), proven(splitting.slopes, theta)
                idle = 0 if found[0] > best[0] + nothing else idle + 1
                best = max(best, found, key=lambda each: each[0])
        return best

    def violation(self, M: Array, cone: Cone) -> float:
        """Violation of the constraints of ``rest``."""
        return self.rest.violation(M, cone)

    def missed(self, M: Array, value: float, S: Array, G: Array | None, cone: Cone) -> float:
        """Estimate the gain of ``M`` from violating the constraints of ``rest``."""
        if self.grade == "float":
            return 0.0
        _, base, linear = self.chain(cone)
        _, slopes = self.held or self.settled(value, S, G, cone, M) or (1.0, [])
        return base.missed(M, value, S, sum(slopes, linear if G is None else G + linear), cone)

    def repair(self, M: Array, cone: Cone) -> Array:
        """A metric near ``M`` that satisfies the constraint of ``rest``."""
        return self.rest.repair(M, cone)

    def expression(self, M: cp.Variable, cone: Cone) -> cp.Expression:
        """``rest(M) + reg * ||M - M0||``."""
        return self.rest.expression(M, cone) + self.norm_expression(self._away(M), cone)

    def constraints(self, M: cp.Variable, cone: Cone) -> list[cp.Constraint]:
        """Constraints of ``rest``."""
        return self.rest.constraints(M, cone)

    def latex(self, M: str) -> str:
        """The formula."""
        norm = self.norm_latex(M if self.centre is None else f"({M} - {M}_0)")
        return norm if isinstance(self.rest, Zero) else f"{self.rest.latex(M)} + {norm}"

    def text(self, M: str) -> str:
        """The formula in plain text."""
        norm = self.norm_text(M if self.centre is None else f"({M} - {M}0)")
        return norm if isinstance(self.rest, Zero) else f"{self.rest.text(M)} + {norm}"


def of_values(N: Array, of: Callable[[Array], Array], cone: Cone) -> Array:
    """Apply an odd function to the eigenvalues of an element, or to singular values where there is no cone."""
    if not cone.free:
        return of_eigenvalues(N, of)
    left, values, right = np.linalg.svd(N, full_matrices=False)
    return cone.from_coordinates(cone.coordinates((left * of(values)) @ right))


class Distance(NormTerm):
    """``rest(M) + reg * ||M - M0||_F``."""

    def described(self, cone: Cone, points: Array | None) -> Described:
        """The Frobenius norm as a summand next to ``rest``."""
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

    def project_dual_ball(self, Y: Array, cone: Cone) -> Array:
        """Scale ``Y`` down to norm ``reg`` if it is longer."""
        size = norm_of(Y)
        return Y if size <= self.reg else self.reg / size * Y

    def dual_ball_identity(self, cone: Cone) -> Array:
        """``reg / sqrt(d) I``, of norm ``reg``."""
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


class TraceDistance(NormTerm):
    """``rest(M) + reg * ||M - M0||_*``, with the trace norm: the sum of the absolute eigenvalues.

    It favours metrics that differ from the prior by a matrix of low rank, or in few weights.
    """

    def described(self, cone: Cone, points: Array | None) -> Described:
        """The trace norm as a summand next to ``rest``."""
        return self.beside_rest({"kind": "trace norm"}, cone, points)

    def norm(self, N: Array, cone: Cone) -> float:
        """``reg * sum |eigenvalues of N|``."""
        return self.reg * float(np.abs(cone.spectrum(N)).sum())

    def slopes(self, N: Array, cone: Cone) -> Array:
        """``reg`` times the matrix sign of N."""
        return of_values(N, lambda values: self.reg * np.sign(values), cone)

    def dual_norm(self, Y: Array, cone: Cone) -> float:
        """Spectral norm: the largest absolute eigenvalue."""
        return float(np.abs(cone.spectrum(Y)).max())

    def project_dual_ball(self, Y: Array, cone: Cone) -> Array:
        """Clip the eigenvalues to ``[-reg, reg]``."""
        if self.dual_norm(Y, cone) <= self.reg:
            return Y
        return of_values(Y, lambda values: np.clip(values, -self.reg, self.reg), cone)

    def dual_ball_identity(self, cone: Cone) -> Array:
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


class EntrywiseL1(NormTerm):
    """``rest(M) + reg * sum |M_ij - M0_ij|`` over entries P, all or those off the diagonal: for sparse metrics.

    Parameters
    ----------
    reg : float
        lambda, positive.
    rest : Regularizer, optional
        omega; by default none. Without the diagonal, the norm alone does not keep metrics from growing.
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
        """The norm as a summand next to ``rest``; for diagonal metrics a linear term or, with a prior, a trace norm."""
        if not cone.diagonal:
            return self.beside_rest({"kind": "entrywise", "diagonal": self.diagonal}, cone, points)
        if self.centre is not None:
            return self.beside_rest({"kind": "trace norm"}, cone, points)
        rest = description(self.rest, cone, points)
        return replace(rest, arrays=rest.arrays | {"linear": self._weights(cone) + rest.arrays.get("linear", 0.0)})

    def only_slope(self, cone: Cone) -> Array | None:
        """``lambda`` for every weight of a diagonal metric, on which the norm is linear; None if there is a prior."""
        return self._weights(cone) if cone.diagonal and self.centre is None else None

    def _weights(self, cone: Cone) -> Array:
        """``lambda`` on P, zero elsewhere."""
        weights = np.full(cone.shape, self.reg)
        return weights if self.diagonal or cone.diagonal else weights * (1.0 - cone.identity())

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
        """``reg I``, or zero if the diagonal does not count."""
        return self.reg * cone.identity() if self.diagonal or cone.diagonal else cone.zeros()

    def norm_expression(self, N: cp.Expression, cone: Cone) -> cp.Expression:
        """``reg * sum |N_ij|``."""
        return cp.sum(cp.multiply(self._weights(cone), cp.abs(N)))

    def norm_latex(self, M: str) -> str:
        """The formula of the norm."""
        return rf"{self.reg:g} \|{M}\|_1" if self.diagonal else rf"{self.reg:g} \sum_{{i \ne j}} |{M}_{{ij}}|"

    def norm_text(self, M: str) -> str:
        """The formula of the norm in plain text."""
        return f"{self.reg:g} ||{M}||_1" if self.diagonal else f"{self.reg:g} sum_(i != j) |{M}_ij|"
