r"""The contract of a regularizer.

With a dual point that says :math:`R(M) \ge v - \langle S, M \rangle` of a *nonnegative* risk (problems see to that, see
:meth:`MetricProblem.bound <convexmetric.MetricProblem.bound>`), weak duality gives for every
:math:`0 \le \theta \le 1` (:math:`R \ge \theta R`, so that a dual point may be shrunk towards zero)

.. math:: \min_{M \in K} R(M) + \langle G, M \rangle + \Omega(M) \; \ge \; \theta v - \Omega^*_K(\theta S - G)

and a regularizer returns the best such bound it can prove.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from convexmetric.arrays import Array, norm_of
from convexmetric.cones import Cone
from convexmetric.described import Described, description
from convexmetric.errors import InputError
from convexmetric.numerics.searches import concave_maximum
from convexmetric.programs.lazy import cvxpy as cp

if TYPE_CHECKING:
    from convexmetric.regularizers.norm_term import NormTerm

#: What bounds rest on: our own evaluation in float64, or also a conic solver's word.
Grade = Literal["float", "conic"]
#: Shares of a dual point that are tried for the best bound, and how near to the best one needs to be.
SHARES, NEARLY = 40, 1e-12


@dataclass(frozen=True)
class NormWeights:
    r"""Weights a, lambda and nu of :math:`\Omega(M) = a \, \mathrm{tr} M + \tfrac{\lambda}{2} \|M\|_F^2 + \nu \|M\|_F`.

    Attributes
    ----------
    trace, squared, norm : float
        a, lambda and nu.
    """

    trace: float = 0.0
    squared: float = 0.0
    norm: float = 0.0


class Regularizer(ABC):
    """A convex function ``Omega`` of the metric that makes the problem well posed; it may be infinite somewhere."""

    #: The metric at which it is least, where that is another than zero and known before.
    prior: Array | None = None
    #: What :meth:`bound` rests on.
    grade: ClassVar[Grade] = "float"
    #: Where it is ``h(<A, M>)``: A, and the proximal map of h at margins v with step lengths t.
    margin: tuple[Array, Callable[[Array, Array], Array]] | None = None
    #: Of norms: ``S - G`` of a dual point, and slopes, one a norm, and a share of S with which its bound is good.
    kept: tuple[Array, list[Array], float] | None = None

    def chain(self, cone: Cone) -> tuple[list[NormTerm], Regularizer, Array]:
        """The norms that stand before another one, that one, and the sum of those that are linear on the cone."""
        return [], self, cone.zeros()

    def described(self, cone: Cone, points: Array | None) -> Described:
        r"""How it stands in certificate files: as :math:`\langle A, M \rangle + \frac{\mu}{2} \|M\|_F^2`.

        A is :meth:`linear` and joins the linear term, :math:`\mu > 0` is :meth:`quadratic`. So a new regularizer of
        this form is proven without a rule of its own. The description is as true as these two methods:
        ``check_problem`` tries them, and the writer of certificates compares what a file states with :meth:`value`. A
        class derived from one that describes itself otherwise has to describe itself, too.

        Parameters
        ----------
        cone : Cone
        points : array or None
            The array ``points`` of the file, to which the description may refer; None where it is compressed.

        Raises
        ------
        InputError
            If it is not of this form.
        """
        omega, linear, constant = self.split(cone)
        if omega is not self:
            # As solvers see it.
            said = description(omega, cone, points)
            part = cone.zeros() if linear is None else linear
            arrays = said.arrays | {"linear": part + said.arrays.get("linear", 0.0)}
            return replace(said, arrays=arrays, constant=constant + said.constant)
        weight = self.quadratic(cone)
        if not isinstance(weight, Real) or not 0.0 < weight < float("inf"):
            raise InputError(f"certificates do not know a {type(self).__name__}")
        linear = cone.from_coordinates(self.linear(cone))
        table = {"kind": "squared frobenius", "weight": float(weight)}
        return Described(table, {"linear": linear} if linear.any() else {})

    def hints(self, value: float, S: Array, G: Array | None, cone: Cone, hint: Array) -> dict[str, Any]:
        """What helps to prove what a dual point says, for certificate files; given what :meth:`bound` is.

        ``slopes``, a list of matrices: subgradients of norms that the file states as summands before others.
        """
        return {}

    @abstractmethod
    def value(self, M: Array, cone: Cone) -> float:
        """``Omega(M)``."""

    def size(self, M: Array, cone: Cone) -> float:
        """The size of the numbers that :meth:`value` is made of, of which rounding is a share: more if they cancel."""
        return abs(self.value(M, cone))

    def conjugate(self, S: Array, cone: Cone) -> tuple[float, Array]:
        r"""``Omega*_K(S) = max over M in K of <S, M> - Omega(M)`` and a metric that attains it.

        Infinite, with a metric that does not matter, where there is no maximum. From :meth:`weights`, where it is

        .. math:: \Omega^*_K(S) = \frac{1}{2 \lambda} (\|P\|_F - \nu)_+^2, \quad P = [S - a I]_+, \qquad
           M = \frac{(\|P\|_F - \nu)_+}{\lambda \|P\|_F} P.

        It proves :meth:`bound`; a regularizer with a conjugate that is easier to bound than to attain proves that by
        itself.

        Raises
        ------
        NotImplementedError
            If it has neither weights nor a conjugate of its own.
        """
        weights = self.weights()
        if weights is None:
            raise NotImplementedError(f"{type(self).__name__} must have a conjugate(S, cone), or its own bound")
        P = cone.project(S - weights.trace * cone.identity())
        size = norm_of(P)
        excess = max(0.0, size - weights.norm)
        if excess == 0.0 or weights.squared == 0.0:
            return (0.0 if excess == 0.0 else np.inf), cone.zeros()
        return 0.5 * excess / weights.squared * excess, excess / weights.squared / size * P

    def has_prox(self, cone: Cone) -> bool:
        """Whether it has a :meth:`prox`, which takes no work to say."""
        own, weights = type(self).prox is not Regularizer.prox, self.weights()
        return own or bool(weights and weights.norm) or isinstance(self.quadratic(cone), float)

    def prox(self, V: Array, t: float, cone: Cone) -> Array:
        r"""``argmin over M in K of Omega(M) + ||M - V||^2 / (2 t)``.

        From the linear part, the weight of the squared norm and that of the norm, where it is a sum of these:

        .. math:: \frac{(1 - t \nu / \|P\|_F)_+}{1 + t \lambda} P, \quad P = [V - t A]_+

        Raises
        ------
        NotImplementedError
            If it is not, and has no such map of its own.
        """
        if not self.has_prox(cone):
            raise NotImplementedError(f"{type(self).__name__} must have a prox(V, t, cone) of its own")
        weights = self.weights() or NormWeights()
        quadratic = weights.squared if weights.norm else self.quadratic(cone)
        assert isinstance(quadratic, float), "has_prox has asked"
        P = cone.project(V - t * cone.from_coordinates(self.linear(cone)))
        size = norm_of(P)
        kept = max(0.0, size - t * weights.norm) / size if weights.norm and size > 0.0 else 1.0
        return np.asarray(kept / (1.0 + t * quadratic) * P)

    @property
    def smooth_conjugate(self) -> bool:
        """Whether :meth:`conjugate` has a derivative, the metric that attains it: where Omega is strictly convex."""
        weights = self.weights()
        return weights is not None and weights.squared > 0.0

    def dual_gram(self, M: Array, rows: Array, cone: Cone) -> Array | None:
        """Products of elements, in a stack, under the conjugate's second derivative where M attains it; None if none.

        For Newton's method, so of a conjugate that is self-concordant.
        """
        return None

    def bound(self, value: float, S: Array, G: Array | None, cone: Cone, hint: Array) -> float:
        """A proven lower bound ``max over theta of theta value - Omega*_K(theta S - G)``, minus infinity if none.

        ``hint`` is a metric near the optimum; it can make the bound tighter, never wrong. From :meth:`conjugate`,
        which is asked once where theta = 1 is best, as it is near the optimum.
        """

        def at(theta: float) -> tuple[float, float]:
            dual, M = self.conjugate(theta * S if G is None else theta * S - G, cone)
            return theta * value - dual, value - cone.inner(S, M) if np.isfinite(dual) else -np.inf

        last = (1.0, *at(1.0))
        return last[1] if last[2] >= 0.0 else concave_maximum(at, (0.0, *at(0.0)), last, SHARES, NEARLY)[1]

    def max_dual_scaling(self, S: Array, G: Array, cone: Cone, near: float = 1e-11) -> float | None:
        """The largest theta in [0, 1], less ``near`` of it, at which ``Omega*_K(theta S - G)`` is finite; None if none.

        One, unless a regularizer grows no faster than a linear function.
        """
        return 1.0

    def sharpened(self, S: Array, G: Array | None, hint: Array) -> Array:
        """A hint that suits S better than ``hint``, where a little work finds one."""
        return hint

    @abstractmethod
    def expression(self, M: cp.Variable, cone: Cone) -> cp.Expression:
        """CVXPY expression of :meth:`value`."""

    def constraints(self, M: cp.Variable, cone: Cone) -> list[cp.Constraint]:
        """Where it is finite, in CVXPY; empty if that is everywhere on the cone."""
        return []

    @property
    def base(self) -> Regularizer:
        """Itself, without what users added."""
        return self

    def added(self, M: cp.Expression) -> tuple[cp.Expression | None, list[cp.Constraint]]:
        """The term and the constraints that users added, of the metric as users have it."""
        return None, []

    def added_latex(self, M: str) -> str:
        """What users added, as a formula that follows others."""
        return ""

    def violation(self, M: Array, cone: Cone) -> float:
        """By how much ``M`` violates :meth:`constraints`."""
        return 0.0

    def missed(self, M: Array) -> float:
        """What ``M`` gains, about, by violating :meth:`constraints` as little as conic solvers do."""
        return 0.0

    def repair(self, M: Array, cone: Cone) -> Array:
        """A metric near ``M`` that keeps constraints of its own, where there are any."""
        return M

    def change(self, M: Array, other: Array, cone: Cone) -> float:
        """``|Omega(M') - Omega(M)|`` of a metric so near that it counts as one where ``Omega`` is finite."""
        return abs(self.value(other, cone) - self.value(M, cone))

    def with_user_terms(self, omega: Regularizer) -> Regularizer:
        """``omega``, under the constraints and with the terms that users added to this one."""
        return omega

    def change_coordinates(self, linear: Callable[[Array], Array]) -> Regularizer:
        """The same for metrics in other coordinates, to which ``linear`` takes what it is made of: a prior."""
        return self

    @abstractmethod
    def latex(self, M: str) -> str:
        """The formula, for a metric called ``M``."""

    @abstractmethod
    def text(self, M: str) -> str:
        """The formula in plain text."""

    def weights(self) -> NormWeights | None:
        """Weights of trace, squared Frobenius norm and Frobenius norm, where it is a sum of these; else None."""
        return None

    def split(self, cone: Cone) -> tuple[Regularizer, Array | None, float]:
        """The same function as ``Omega_0(M) + <A, M> + c``: itself, None and 0, unless solvers know Omega_0 better."""
        return self, None, 0.0

    def gradient(self, M: Array, cone: Cone) -> Array:
        """A subgradient at ``M``, the gradient where there is one; from the linear and the quadratic part."""
        quadratic, at = self.quadratic(cone), cone.coordinates(M)
        slope = quadratic @ at if isinstance(quadratic, np.ndarray) else (quadratic or 0.0) * at
        return cone.from_coordinates(self.linear(cone) + slope)

    def slope(self, M: Array, move: Array, cone: Cone) -> float:
        """Slope along ``move`` at ``M``, about."""
        return cone.inner(self.gradient(M, cone), move)

    def linear(self, cone: Cone) -> Array:
        """Linear part, in coordinates, of one that is linear plus quadratic plus ``Omega(0)``; from :meth:`weights`."""
        weights = self.weights()
        trace = 0.0 if weights is None else weights.trace
        return cone.coordinates(cone.zeros() if trace == 0.0 else trace * cone.identity())

    def quadratic(self, cone: Cone) -> float | Array | None:
        """Quadratic part: a multiple of the identity or a matrix in coordinates; None if it is not quadratic.

        From :meth:`weights`; whoever gives neither says that it is not.
        """
        weights = self.weights()
        return None if weights is None or weights.norm > 0.0 else float(weights.squared)


def of_eigenvalues(N: Array, of: Callable[[Array], Array]) -> Array:
    """The matrix with a function of its eigenvalues in their place; of weights the function of these."""
    if N.ndim == 1:
        return of(N)
    values, vectors = np.linalg.eigh(N)
    made = (vectors * of(values)) @ vectors.T
    return np.asarray(0.5 * (made + made.T))
