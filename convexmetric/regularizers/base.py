r"""The contract of a regularizer.

A dual point gives a minorant :math:`R(M) \ge v - \langle S, M \rangle` of a *nonnegative* risk (for other risks see
:meth:`MetricProblem.bound <convexmetric.MetricProblem.bound>`). Because :math:`R \ge \theta R` for
:math:`0 \le \theta \le 1`, the minorant may be scaled by any such theta, and weak duality gives

.. math:: \min_{M \in K} R(M) + \langle G, M \rangle + \Omega(M) \; \ge \; \theta v - \Omega^*_K(\theta S - G)

A regularizer returns the best such bound it can prove.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import sqrt
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from convexmetric.arguments import check_positive_number
from convexmetric.arrays import Array, norm_of
from convexmetric.cones import Cone
from convexmetric.described import Described, description, unknown
from convexmetric.numerics.searches import concave_maximum
from convexmetric.programs.lazy import cvxpy as cp

if TYPE_CHECKING:
    from convexmetric.regularizers.norm_term import NormTerm

#: Basis of bounds: evaluation in float64 alone, or also the dual value that a conic solver reports.
Grade = Literal["float", "conic"]
#: Maximal number of scalings theta that are tried for the best bound, and the relative accuracy of that bound.
SHARES, NEARLY = 40, 1e-12


@dataclass(frozen=True)
class NormWeights:
    r"""Weights of the trace, of half the squared norm and of the norm.

    .. math:: \Omega(M) = a \, \mathrm{tr} M + \tfrac{\lambda}{2} \|M\|_F^2 + \nu \|M\|_F

    Attributes
    ----------
    trace, squared, norm : float
        a, lambda and nu.
    """

    trace: float = 0.0
    squared: float = 0.0
    norm: float = 0.0


class Regularizer(ABC):
    """A convex function ``Omega`` of the metric that makes the problem well posed; it may take the value infinity."""

    #: The minimiser of Omega, if it is given in advance and is not zero.
    prior: Array | None = None
    #: Whether rounding of Omega near its prior may hide the risk, as that of a norm of great weight does.
    hides_risk: ClassVar[bool] = True
    #: What :meth:`bound` rests on.
    grade: ClassVar[Grade] = "float"
    #: ``(A, prox)`` if ``Omega(M) = h(<A, M>)``: the proximal map of h at margins v with step lengths t.
    margin: tuple[Array, Callable[[Array, Array], Array]] | None = None

    def chain(self, cone: Cone) -> tuple[list[NormTerm], Regularizer, Array]:
        """The norms added to a regularizer, that regularizer, and the sum of the norms that are linear on the cone."""
        return [], self, cone.zeros()

    def described(self, cone: Cone, points: Array | None) -> Described:
        r"""Table and arrays for certificate files, of the form :math:`\langle A, M \rangle + \frac{\mu}{2} \|M\|_F^2`.

        A is :meth:`linear` and is added to the linear term, :math:`\mu > 0` is :meth:`quadratic`. A new regularizer of
        this form therefore needs no rule of its own in the kernel. The description is correct if these two methods
        are: ``check_problem`` tests them, and the writer of certificates compares the file with :meth:`value`. A
        subclass of a class that overrides this method has to override it, too.

        Parameters
        ----------
        cone : Cone
        points : array or None
            The array ``points`` of the file, to which the description may refer; None where it is compressed.

        Raises
        ------
        InputError
            If the regularizer is not of this form.
        """
        omega, linear, constant = self.split(cone)
        if omega is not self:
            # Describe the form that solvers work on.
            said = description(omega, cone, points)
            part = cone.zeros() if linear is None else linear
            arrays = said.arrays | {"linear": part + said.arrays.get("linear", 0.0)}
            return replace(said, arrays=arrays, constant=constant + said.constant)
        weight = self.quadratic(cone)
        if not isinstance(weight, Real) or not 0.0 < weight < float("inf"):
            raise unknown(self)
        linear = cone.from_coordinates(self.linear(cone))
        table = {"kind": "squared frobenius", "weight": float(weight)}
        return Described(table, {"linear": linear} if linear.any() else {})

    def hints(self, value: float, S: Array, G: Array | None, cone: Cone, hint: Array) -> dict[str, Any]:
        """Arrays for certificate files that help to prove the bound of a dual point; arguments as of :meth:`bound`.

        ``slopes`` is a list of matrices, subgradients of summands that the file states before others; ``radii`` has for
        each an r such that ``r I`` is a subgradient. ``arrays`` and ``parameters``, of numbers or text by their names
        in the file, and ``share``, a number (by default 1), prove the last summand for S times the share, in place of a
        search (:class:`~convexmetric.certificates.rules.Hinted`).
        """
        return {}

    @abstractmethod
    def value(self, M: Array, cone: Cone) -> float:
        """``Omega(M)``."""

    def size(self, M: Array, cone: Cone) -> float:
        """Sum of the sizes of the terms of :meth:`value`, to which its rounding is proportional."""
        return abs(self.value(M, cone))

    def conjugate(self, S: Array, cone: Cone) -> tuple[float, Array]:
        r"""``Omega*_K(S) = max over M in K of <S, M> - Omega(M)`` and a metric that attains it.

        Infinite, with an arbitrary metric, if there is no maximum. The default is for a sum of :meth:`weights`:

        .. math:: \Omega^*_K(S) = \frac{1}{2 \lambda} (\|P\|_F - \nu)_+^2, \quad P = [S - a I]_+, \qquad
           M = \frac{(\|P\|_F - \nu)_+}{\lambda \|P\|_F} P.

        :meth:`bound` is computed from it. A regularizer whose conjugate is easier to bound than to attain overrides
        :meth:`bound` instead.

        Raises
        ------
        NotImplementedError
            If the class has neither weights nor a conjugate of its own.
        """
        weights = self.weights()
        if weights is None:
            raise NotImplementedError(f"{type(self).__name__} must have a conjugate(S, cone), or its own bound")
        P = cone.shrink(S, weights.trace)
        size = norm_of(P)
        excess = max(0.0, size - weights.norm)
        if excess == 0.0 or weights.squared == 0.0:
            return (0.0 if excess == 0.0 else np.inf), cone.zeros()
        return 0.5 * excess / weights.squared * excess, excess / weights.squared / size * P

    def has_prox(self, cone: Cone) -> bool:
        """Whether :meth:`prox` is implemented, without evaluating it."""
        own = type(self).prox is not Regularizer.prox
        return own or self.weights() is not None or isinstance(self.quadratic(cone), float)

    def prox(self, V: Array, t: float, cone: Cone) -> Array:
        r"""``argmin over M in K of Omega(M) + ||M - V||^2 / (2 t)``.

        The default is for sums of a linear part A or a trace, a squared norm (weight lambda) and a norm (weight nu):

        .. math:: \frac{(1 - t \nu / \|P\|_F)_+}{1 + t \lambda} P, \quad P = [V - t A]_+

        Raises
        ------
        NotImplementedError
            If it is not such a sum, and the class has no proximal map of its own.
        """
        if not self.has_prox(cone):
            raise NotImplementedError(f"{type(self).__name__} must have a prox(V, t, cone) of its own")
        weights, quadratic = self.weights(), self.quadratic(cone)
        if weights is None:
            assert isinstance(quadratic, float), "has_prox has asked"
            return np.asarray(cone.project(V - t * cone.from_coordinates(self.linear(cone))) / (1.0 + t * quadratic))
        P = cone.shrink(V, t * weights.trace)
        size = norm_of(P)
        kept = max(0.0, size - t * weights.norm) / size if weights.norm and size > 0.0 else 1.0
        return np.asarray(kept / (1.0 + t * weights.squared) * P)

    @property
    def smooth_conjugate(self) -> bool:
        """Whether :meth:`conjugate` is differentiable, as for a strictly convex Omega: the metric is its derivative."""
        weights = self.weights()
        return weights is not None and weights.squared > 0.0

    def dual_gram(self, M: Array, rows: Array, cone: Cone) -> Array | None:
        """Gram matrix ``<S_i, H S_j>`` of ``rows``, H the conjugate's Hessian where M attains it; None if unknown.

        It is for Newton's method, and so only for self-concordant conjugates.
        """
        return None

    def bound(self, value: float, S: Array, G: Array | None, cone: Cone, hint: Array) -> float:
        """A proven lower bound ``max over theta of theta value - Omega*_K(theta S - G)``, minus infinity if none.

        ``hint`` is a metric near the optimum; it can make the bound tighter, never wrong. The default
        evaluates :meth:`conjugate`, once if theta = 1 is best, as it is near the optimum.
        """

        def at(theta: float) -> tuple[float, float]:
            dual, M = self.conjugate(theta * S if G is None else theta * S - G, cone)
            return theta * value - dual, value - cone.inner(S, M) if np.isfinite(dual) else -np.inf

        last = (1.0, *at(1.0))
        return last[1] if last[2] >= 0.0 else concave_maximum(at, (0.0, *at(0.0)), last, SHARES, NEARLY)[1]

    def settled(
        self, value: float, S: Array, G: Array | None, cone: Cone, hint: Array
    ) -> tuple[float, list[Array]] | None:
        """Share of S and slopes of norms of the best bound; None without norms. Arguments as of :meth:`bound`."""
        return None

    def holding(self, slopes: tuple[float, list[Array]]) -> Regularizer:
        """Return the same function with bounds from given :meth:`settled` slopes, without a search."""
        return self

    def max_dual_scaling(self, S: Array, G: Array, cone: Cone, near: float = 1e-11) -> float | None:
        """Largest theta in [0, 1] with ``Omega*_K(theta S - G)`` finite, to accuracy ``near``; None if there is none.

        The default, 1, is for regularizers that grow faster than every linear function.
        """
        return 1.0

    def sharpened(self, S: Array, G: Array | None, hint: Array) -> Array:
        """A metric that gives a better bound for S than ``hint``, if it is cheap to find; else ``hint``."""
        return hint

    @abstractmethod
    def expression(self, M: cp.Variable, cone: Cone) -> cp.Expression:
        """CVXPY expression of :meth:`value`."""

    def constraints(self, M: cp.Variable, cone: Cone) -> list[cp.Constraint]:
        """CVXPY constraints under which Omega is finite; empty if it is finite on all of the cone."""
        return []

    @property
    def base(self) -> Regularizer:
        """The regularizer without the terms and constraints that users added."""
        return self

    def added(self, M: cp.Expression) -> tuple[cp.Expression | None, list[cp.Constraint]]:
        """The term (or None) and the constraints that users added, in CVXPY, for the metric ``M`` on the features."""
        return None, []

    def added_latex(self, M: str) -> str:
        """LaTeX of the terms and constraints that users added, to be appended to a formula."""
        return ""

    def violation(self, M: Array, cone: Cone) -> float:
        """Amount by which ``M`` violates :meth:`constraints`."""
        return 0.0

    def missed(self, M: Array, value: float, S: Array, G: Array | None, cone: Cone) -> float:
        """Estimate the gain of ``M`` from violating :meth:`constraints` as little as conic solvers do.

        The other arguments are those of :meth:`bound`, whose multipliers price a violation.
        """
        return 0.0

    def repair(self, M: Array, cone: Cone) -> Array:
        """A metric near ``M`` that satisfies the regularizer's own constraint, if it has one."""
        return M

    def change(self, M: Array, other: Array, cone: Cone) -> float:
        """``|Omega(other) - Omega(M)|`` for a metric ``other`` that differs from ``M`` by rounding only."""
        return abs(self.value(other, cone) - self.value(M, cone))

    def with_user_terms(self, omega: Regularizer) -> Regularizer:
        """``omega`` with the constraints and terms that users added to this regularizer."""
        return omega

    @abstractmethod
    def latex(self, M: str) -> str:
        """The formula, for a metric called ``M``."""

    @abstractmethod
    def text(self, M: str) -> str:
        """The formula in plain text."""

    def weights(self) -> NormWeights | None:
        """Weights of trace, squared Frobenius norm and Frobenius norm, if Omega is a sum of these; else None."""
        return None

    def split(self, cone: Cone) -> tuple[Regularizer, Array | None, float]:
        """``(Omega_0, A, c)`` with ``Omega = Omega_0 + <A, .> + c``, for solvers; by default ``(self, None, 0)``."""
        return self, None, 0.0

    def gradient(self, M: Array, cone: Cone) -> Array:
        """A subgradient at ``M``, the gradient if there is one; by default of a linear plus a quadratic part."""
        quadratic, at = self.quadratic(cone), cone.coordinates(M)
        slope = quadratic @ at if isinstance(quadratic, np.ndarray) else (quadratic or 0.0) * at
        return cone.from_coordinates(self.linear(cone) + slope)

    def slope(self, M: Array, move: Array, cone: Cone) -> float:
        """Approximate directional derivative at ``M`` along ``move``."""
        return cone.inner(self.gradient(M, cone), move)

    def linear(self, cone: Cone) -> Array:
        """Linear part, in coordinates, if Omega is linear plus quadratic plus ``Omega(0)``; from :meth:`weights`."""
        weights = self.weights()
        trace = 0.0 if weights is None or cone.free else weights.trace
        return cone.coordinates(cone.zeros() if trace == 0.0 else trace * cone.identity())

    def quadratic(self, cone: Cone) -> float | Array | None:
        """Quadratic part: a multiple of the identity or a matrix in coordinates; None if it is not quadratic.

        By default from :meth:`weights`; a class with neither counts as not quadratic, and neither does a trace norm.
        """
        weights = self.weights()
        if weights is None or weights.norm > 0.0 or (cone.free and weights.trace > 0.0):
            return None
        return float(weights.squared)


@dataclass(frozen=True)
class WeightedRegularizer(Regularizer):
    """``reg`` times a function without parameters.

    Raises
    ------
    InputError
        If ``reg`` is not a positive finite number.
    """

    reg: float = 1.0
    #: ``(lambda, m)`` if the weight is ``lambda / sqrt(m)``, which certificates state in this form.
    ratio: tuple[float, int] | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_positive_number(self.reg, "reg")

    @classmethod
    def over_root(cls, reg: float, m: float) -> Self:
        """Make a regularizer of weight ``reg / sqrt(m)``, which certificates state by reg and m if m is an integer."""
        made = cls(float(reg / sqrt(m)))
        if float(m).is_integer():
            object.__setattr__(made, "ratio", (reg, int(m)))
        return made

    def weighed(self, kind: str) -> Described:
        """Return the table of the regularizer ``kind`` of the file format, with its weight."""
        if self.ratio is None:
            return Described({"kind": kind, "weight": float(self.reg)})
        reg, m = self.ratio
        return Described({"kind": kind, "weight": float(reg), "over_root_of": int(m)})


def of_eigenvalues(N: Array, of: Callable[[Array], Array]) -> Array:
    """Apply ``of`` to the eigenvalues of a symmetric matrix, or to the entries of a vector of weights."""
    if N.ndim == 1:
        return of(N)
    values, vectors = np.linalg.eigh(N)
    made = (vectors * of(values)) @ vectors.T
    return np.asarray(0.5 * (made + made.T))
