r"""How subgradients of regularizers are found: a rule for each class of the kernel, which only evaluates them.

A dual point of the risk proves :math:`R(M) + \langle G, M \rangle \ge v - \langle S - G, M \rangle` of all metrics, and
where the risk is nonnegative so does each multiple :math:`\theta (v, S)`, :math:`0 \le \theta \le 1`. A rule finds in
floats by what to multiply a dual point and which subgradient shows that it is feasible then; both are backed off a
little, because the kernel counts its own rounding against them. What is found here is no part of a proof: a false
number is not accepted.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.linalg as la

from convexmetric.arrays import Array
from convexmetric.certificates import kernel
from convexmetric.certificates.kernel import regularizers as known
from convexmetric.certificates.statement import Arrays, Table
from convexmetric.described import symmetric
from convexmetric.numerics.searches import last_true
from convexmetric.regularizers.base import of_eigenvalues

#: Bisection steps for a best scaling, whose error enters the bound squared, and for a largest one (to the last bit).
HALVINGS, EXACT = 20, 52
#: Relative distance outside of its ball up to which a dual point is taken to be inside.
NEARLY = 1e-11
#: Slack for a matrix that is zero: the kernel needs a positive one.
SMALLEST = 1e-140


@dataclass(frozen=True)
class Dual:
    """A dual point: v, S, the linear term G with the subgradients of other summands, and by how much S may err."""

    v: float
    S: Array
    G: Array
    rad: Array

    @property
    def error(self) -> float:
        """Norm of the error of S."""
        return float(np.linalg.norm(self.rad))

    def at(self, scaling: float) -> Array:
        """``scaling S - G``, which must be below the subgradient in the order of the cone."""
        return scaling * self.S - self.G


@dataclass
class Rule:
    """Dual scaling and subgradient of a regularizer, backed off so that the checker's rounding accepts them.

    A subclass finds them where the regularizer is the last summand: :meth:`scaling` and :meth:`subgradient`. A norm
    whose subgradient is given has :meth:`into_ball` and perhaps :meth:`radius` instead.

    Attributes
    ----------
    omega : Zero of the kernel, or a class derived from it
        The regularizer as the kernel reads it.
    cone : kernel.Cone
    backoff : float
        Fraction of the best scaling that is given up for rounding; 1 leaves a scaling of zero.
    whole : bool
        Whether the risk may be negative, so that its dual point counts whole or not at all.
    hints : dict
        By :meth:`~convexmetric.regularizers.Regularizer.hints`.
    """

    omega: Any
    cone: kernel.Cone
    backoff: float
    whole: bool
    hints: dict[str, Any]

    @property
    def weight(self) -> float:
        """The weight as a float that is not above it."""
        return below(self.omega.weight.lower())

    # As the last summand ----------------------------------------------------------------------------------------------

    def found(self, dual: Dual) -> tuple[float, Table, Arrays]:
        """Scaling of a dual point, and parameters and arrays of a subgradient P with ``P >= scaling S - G``."""
        scaling = 1.0 if self.whole else self.scaling(dual) * (1.0 - self.backoff)
        return scaling, *self.subgradient(dual, scaling)

    def scaling(self, dual: Dual) -> float:
        """Scaling, at most 1, that gives the largest bound, approximately."""
        raise kernel.NotProven(f"a subgradient of {type(self.omega).__name__} must be given")

    def subgradient(self, dual: Dual, scaling: float) -> tuple[Table, Arrays]:
        """Parameters and arrays of the subgradient for a file. Default: empty, for a unique subgradient."""
        return {}, {}

    def most(self, dual: Dual) -> float:
        """Largest feasible scaling, at most 1, approximately and without backing off."""
        return 1.0

    # As a norm whose subgradient is given -----------------------------------------------------------------------------

    def nearest(self, Y: Array) -> Array:
        """Subgradient near Y: symmetric, zero between blocks, and in the ball of the dual norm."""
        return self.into_ball(in_blocks(self.cone, Y if Y.ndim == 1 else 0.5 * (Y + Y.T)))

    def into_ball(self, Y: Array) -> Array:
        """Move a symmetric matrix, or weights of a diagonal metric, into the ball of the dual norm."""
        raise kernel.NotProven(f"a subgradient of {type(self.omega).__name__} is found, and none must be given")

    def radius(self) -> float:
        """Largest r, or nearly, such that ``r I`` is a subgradient."""
        return (1.0 - 1e-12) * self.weight

    # Either -----------------------------------------------------------------------------------------------------------

    @staticmethod
    def above(omega: Any, M: Array) -> tuple[Any, Arrays]:
        """Proof of the value at a metric for the kernel's ``value``, and the arrays of it in a file."""
        return None, {}

    def slack(self, values: Any, rad: float) -> float:
        """Slack by which the kernel sees that a matrix with about these eigenvalues is semidefinite."""
        if self.cone.diagonal:
            return 8.0 * kernel.U * float(np.abs(values).max()) + 2.0 * rad + np.finfo(float).tiny
        return of_matrix(values, rad)


class Bounded(Rule):
    """Regularizer that grows no faster than a norm: dual points in a ball are feasible; larger ones prove more."""

    @abstractmethod
    def size(self, values: Array) -> float:
        """Norm of a matrix, from its eigenvalues or diagonal, that must be at most the weight."""

    @abstractmethod
    def fits(self, dual: Dual, scaling: float, values: Array, weight: float) -> bool:
        """Whether the kernel will accept ``scaling S - G``, of these eigenvalues, as in the ball of a weight."""

    def scaling(self, dual: Dual) -> float:
        """Largest feasible scaling, approximately, less the kernel's rounding."""
        linear, weight = dual.G.any(), self.weight * (1.0 - self.backoff)
        if (dual.v <= 0.0 and not linear) or self.backoff == 1.0:
            return 0.0
        own = None if linear else spectrum(dual.S)

        def holds(scaling: float) -> bool:
            values = scaling * own if own is not None else spectrum(dual.at(scaling))
            return self.fits(dual, scaling, values, weight)

        if holds(1.0):
            return 1.0
        low, high = 0.0, 1.0
        if own is not None:
            size = self.size(own)
            high = min(1.0, weight / size) if size > weight else 1.0
            low = high * (1.0 - 1e-9) if holds(high * (1.0 - 1e-9)) else 0.0
        return last(holds, low, high)

    def start(self, dual: Dual) -> float:
        """Scaling of S, approximately the best, with the given subgradients unscaled."""
        scale = np.abs(dual.S).max() + np.abs(dual.G).max()

        def excess(scaling: float) -> float:
            return max(0.0, self.size(spectrum(dual.at(scaling))) - self.weight)

        if excess(1.0) <= NEARLY * scale:
            return 1.0
        steep = abs(dual.v) / (NEARLY * scale)
        return largest(lambda scaling: scaling * dual.v - steep * excess(scaling))


# Rounding and spectra -------------------------------------------------------------------------------------------------


def in_blocks(cone: kernel.Cone, A: Array) -> Array:
    """The matrix with its entries between different blocks set to zero."""
    return A if cone.blocks is None else np.where(cone.blocks[:, None] == cone.blocks, A, 0.0)


def of_matrix(values: Any, rad: float = 0.0) -> float:
    """Slack for a full matrix with these eigenvalues."""
    return 10.0 * (len(values) + 8.0) * kernel.U * float(np.linalg.norm(values)) + 1.25 * rad


def below(weight: Fraction) -> float:
    """Largest float that is not above ``weight``."""
    near = float(weight)
    return near if Fraction(near) <= weight else float(np.nextafter(near, 0.0))


def spectrum(A: Array) -> Any:
    """Eigenvalues of a matrix, or the entries of a diagonal."""
    return A if A.ndim == 1 else np.linalg.eigvalsh(0.5 * (A + A.T))


def positive_part(A: Array) -> Array:
    """Projection onto the positive semidefinite cone, or of a diagonal onto nonnegative entries."""
    return of_eigenvalues(symmetric(A), lambda e: np.maximum(e, 0.0))


# Searches over one number ---------------------------------------------------------------------------------------------


def last(holds: Callable[[float], bool], low: float, high: float, halvings: int = EXACT) -> float:
    """Largest number, to rounding, at which ``holds`` is true, given that it is at ``low`` and not at ``high``."""
    return last_true(holds, low, high, halvings, 1e-16)[0]


def best(rising: Callable[[float], bool]) -> float:
    """Maximiser on [0, 1] of a concave function, by bisection on whether it rises at a number."""
    return 1.0 if rising(1.0) else last(rising, 0.0, 1.0, HALVINGS)


def largest(of: Callable[[float], float]) -> float:
    """Maximiser on [0, 1] of a concave function, by golden-section search."""
    low, high, part = 0.0, 1.0, 0.5 * (np.sqrt(5.0) - 1.0)
    for _ in range(60):
        first, second = high - part * (high - low), low + part * (high - low)
        low, high = (first, high) if of(second) > of(first) else (low, second)
    return max((0.0, low, high, 1.0), key=of)


# A rule for each regularizer ------------------------------------------------------------------------------------------


class Trace(Bounded):
    """Dual scaling of a trace, backed off so that the checker's rounding accepts it: ``scaling S - G <= weight I``."""

    def size(self, values: Array) -> float:
        """The largest eigenvalue."""
        return float(values.max())

    def fits(self, dual: Dual, scaling: float, values: Array, weight: float) -> bool:
        """Whether the largest eigenvalue is below the weight with slack, or the kernel accepts the matrix."""
        if values.max() + self.slack(weight - values, scaling * dual.error) <= weight:
            return True
        if self.cone.diagonal:
            return False
        # The kernel may accept more than norms of errors tell: a small block of the matrix may be known well.
        least = weight * np.eye(self.cone.d)
        sizes = least + np.abs(scaling * dual.S) + np.abs(dual.G)
        try:
            kernel.semidefinite(kernel.Ball(least - dual.at(scaling), scaling * dual.rad + 4.0 * kernel.U * sizes), "")
        except kernel.NotProven:
            return False
        return True


class Euclidean(Rule):
    """Base of the rules of a Frobenius norm and its square: the smallest subgradient above ``scaling S - G``."""

    @property
    def prior(self) -> Any:
        """The prior, or zero if there is none."""
        return 0.0 if self.omega.prior is None else in_blocks(self.cone, self.omega.prior)

    def subgradient(self, dual: Dual, scaling: float) -> tuple[Table, Arrays]:
        """Smallest subgradient above ``scaling S - G``, raised by the slack: a positive part, less the prior."""
        A = dual.at(scaling)
        free = self.prior + A / self.weight
        slack = self.slack(spectrum(A), scaling * dual.error) / self.weight
        slack += 0.0 if self.omega.prior is None else self.slack(spectrum(free), 0.0)
        # The slack is added before the negative part is cut off, so that eigenvalues far below zero still become zero.
        raised = free + slack * (1.0 if self.cone.diagonal else np.eye(self.cone.d))
        return {}, {"slope": self.weight * (positive_part(raised) - self.prior)}


class Frobenius(Euclidean, Bounded):
    """Dual scaling and subgradient of a norm, backed off so that the checker's rounding accepts them."""

    def size(self, values: Array) -> float:
        """Frobenius norm of the positive part."""
        return float(np.linalg.norm(np.maximum(values, 0.0)))

    def fits(self, dual: Dual, scaling: float, values: Array, weight: float) -> bool:
        """Whether the norm of the subgradient is at most the weight."""
        size = np.linalg.norm(np.maximum(values + self.slack(values, scaling * dual.error), 0.0))
        return bool(size * (1.0 + 4.0 * kernel.U * (len(values) ** 2 + 16.0)) <= weight)

    def into_ball(self, Y: Array) -> Array:
        """Scale Y down if its norm is above the weight."""
        most, size = self.weight * (1.0 - 8.0 * kernel.U * (Y.size + 16.0)), float(np.linalg.norm(Y))
        return Y if size <= most else most / size * Y

    def radius(self) -> float:
        """Largest r, or nearly, such that ``r I`` is a subgradient: the weight over the root of d."""
        return super().radius() / np.sqrt(self.cone.d)


class SquaredFrobenius(Euclidean):
    """Dual scaling and subgradient of a squared norm, backed off so that the checker's rounding accepts them."""

    def scaling(self, dual: Dual) -> float:
        """Scaling that maximises the concave bound, approximately: ``v = <S, M>`` at the metric M of that scaling."""
        square = float(np.sum(np.square(positive_part(dual.S))))
        if square and not dual.G.any() and self.omega.prior is None:
            return min(1.0, max(0.0, dual.v) * self.weight / square)

        def rising(scaling: float) -> bool:
            M = positive_part(self.prior + dual.at(scaling) / self.weight)
            return bool(dual.v >= float((dual.S * M).sum()))

        return best(rising)


class TraceNorm(Rule):
    """Subgradient of a trace norm, backed off so that the checker's rounding accepts it."""

    def into_ball(self, Y: Array) -> Array:
        """Clip eigenvalues at the weight."""
        d = self.cone.d
        most = self.weight * (1.0 - (0.0 if self.cone.diagonal else 40.0 * kernel.U * (d + 8.0) * np.sqrt(d)))
        return (
            Y if np.abs(spectrum(Y)).max() <= most else of_eigenvalues(symmetric(Y), lambda e: np.clip(e, -most, most))
        )

    @staticmethod
    def above(omega: Any, M: Array) -> tuple[Any, Arrays]:
        """Matrix above both zero and the difference to the prior: its positive part, raised by the slack.

        Of all matrices, which have no order, two factors of it.
        """
        X = M if omega.prior is None else M - omega.prior
        if omega.cone.free:
            left, values, right = np.linalg.svd(X, full_matrices=False)
            factors = left * np.sqrt(values), right.T * np.sqrt(values)
            return factors, {"left": factors[0], "right": factors[1]}
        if M.ndim == 1:
            return None, {}
        slack = 4.0 * (of_matrix(spectrum(X)) + of_matrix(spectrum(M))) + SMALLEST
        N = positive_part(X) + slack * np.eye(len(M))
        return (None, N), {"above": N}


class Entrywise(Rule):
    """Subgradient of an entrywise 1-norm, backed off so that the checker's rounding accepts it."""

    def into_ball(self, Y: Array) -> Array:
        """Clip entries at the weight, and set those that do not count to zero."""
        return np.asarray(np.clip(Y, -self.weight, self.weight) * self.omega.counts)

    def radius(self) -> float:
        """Largest r such that ``r I`` is a subgradient; zero where the diagonal does not count."""
        return super().radius() if self.omega.counts.diagonal().all() else 0.0


class LogDet(Rule):
    """Dual scaling and subgradient of a divergence, backed off so that the checker's rounding accepts them.

    The file holds a root of the inverse of the metric at which the subgradient is taken.
    """

    def inverse(self, A: Array) -> Array:
        """Inverse of the metric at which A is the gradient: inverse of the prior, less ``A / weight``."""
        root = self.omega.prior_root
        return (root if self.cone.diagonal else root.T @ root) - A / self.weight

    def scaling(self, dual: Dual) -> float:
        """Scaling that maximises the concave bound, approximately: ``v = <S, M>`` at the metric M of that scaling."""

        def rising(scaling: float) -> bool:
            Q = self.inverse(dual.at(scaling))
            values, vectors = np.linalg.eigh(Q) if Q.ndim == 2 else (Q, None)
            if not values.min() > 0.0:
                return False
            along = dual.S if vectors is None else ((dual.S @ vectors) * vectors).sum(axis=0)
            return bool(dual.v >= float((along / values).sum()))

        return best(rising)

    def subgradient(self, dual: Dual, scaling: float) -> tuple[Table, Arrays]:
        """Triangle T with ``T^T T`` slightly below the inverse, for the file."""
        Q, d = self.inverse(dual.at(scaling)), self.cone.d
        if self.cone.diagonal:
            sizes = (np.abs(scaling * dual.S) + np.abs(dual.G) + 2.0 * dual.error / kernel.U) / self.weight
            less = (self.backoff + 32.0 * kernel.U) * (sizes + np.abs(Q))
            return {}, {"root": np.maximum(Q - less, np.finfo(float).tiny)}
        values = spectrum(Q)
        size = np.abs(values).sum() + np.square(self.omega.prior_root).sum()
        slack = of_matrix(np.full(d, size), dual.error / self.weight)
        slack += min(self.backoff, 0.5) * max(0.0, float(values.min()))
        try:
            return {}, {"root": np.ascontiguousarray(np.linalg.cholesky(Q - slack * np.eye(d)).T)}
        except np.linalg.LinAlgError:
            raise kernel.NotProven("the linear term less the dual matrix is not positive definite") from None


class Budget(Rule):
    """Dual scaling and multiplier of a budget, backed off so that the checker's rounding accepts them.

    With ``A`` the matrix of the budget, multiples t A are subgradients, of t from zero to the price.
    """

    @property
    def A(self) -> Array:
        """Matrix of the budget, with its entries between blocks set to zero."""
        return in_blocks(self.cone, self.omega.A)

    @property
    def price(self) -> float:
        """Upper bound on the multiplier."""
        return np.inf if self.omega.most is None else below(self.omega.most)

    def multiplier(self, left: Array) -> float:
        """The least t with ``t A >= left``."""
        A = self.A
        if not spectrum(A).min() > 0.0:
            raise kernel.NotProven("the matrix of the budget is not positive definite")
        return max(0.0, float((left / A if left.ndim == 1 else la.eigh(left, A, eigvals_only=True)).max()))

    def scaling(self, dual: Dual) -> float:
        """Scaling that maximises ``scaling v - t limit``, approximately, t being the least multiplier."""

        def bound(scaling: float) -> float:
            t = self.multiplier(dual.at(scaling))
            return scaling * dual.v - t * float(self.omega.limit) if t <= self.price else -np.inf

        return largest(bound)

    def subgradient(self, dual: Dual, scaling: float) -> tuple[Table, Arrays]:
        """The least multiplier t with ``t A >= scaling S - G``, raised by the slack."""
        A, left = self.A, dual.at(scaling)
        t = self.multiplier(left) * (1.0 + self.backoff)
        t += self.slack(np.append(spectrum(left), t * spectrum(A)), dual.error) / float(spectrum(A).min())
        return {"multiplier": str(Fraction(min(t, self.price)))}, {}

    def most(self, dual: Dual) -> float:
        """The largest scaling whose multiplier is not above the price."""

        def holds(scaling: float) -> bool:
            return self.multiplier(dual.at(scaling)) <= self.price

        return 1.0 if holds(1.0) else (1.0 - 1e-12) * last(holds, 0.0, 1.0)


class QuadraticForm(Rule):
    """Dual scaling and subgradient ``L z`` of a form, backed off so that the checker's rounding accepts them."""

    def found(self, dual: Dual) -> tuple[float, Table, Arrays]:
        """The z of the hints, raised until ``L z >= S - G`` in exact arithmetic, at the best scaling."""
        L, hint, target = self.omega.L.mid, self.hints["hint"], dual.at(1.0)
        target = target + (self.backoff + 64.0 * kernel.U) * (np.abs(L) @ np.abs(hint) + np.abs(target))
        z, sums = hint.copy(), L.sum(axis=1)
        for _ in range(60):
            missing = target - L @ z
            short = missing > 0.0
            if not short.any() or (sums[short] <= 0.0).any():
                break
            z = z + (1.0 + 2.0**-40) * float((missing[short] / sums[short]).max())
        square, scaling, v = float(z @ (L @ z)), 1.0, dual.v
        if not dual.G.any():
            scaling = 0.0 if v <= 0.0 or self.backoff == 1.0 else min(1.0, v / square) if square > 0.0 else 1.0
        table: Table = {}
        if not self.omega.convex:
            values = np.linalg.eigvalsh(0.5 * (L + L.T))
            lack = max(0.0, -float(values[0])) + of_matrix(values, float(np.linalg.norm(self.omega.L.rad)))
            table["lack"] = str(Fraction(lack))
        return scaling, table, {"z": scaling * z}


#: Rules by the classes of the kernel; a sum has those of its summands.
RULES: dict[type, type[Rule]] = {
    known.Zero: Trace,
    known.Trace: Trace,
    known.Frobenius: Frobenius,
    known.SquaredFrobenius: SquaredFrobenius,
    known.TraceNorm: TraceNorm,
    known.Entrywise: Entrywise,
    known.LogDet: LogDet,
    known.Budget: Budget,
    known.QuadraticForm: QuadraticForm,
}
