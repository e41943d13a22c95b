r"""The contract of a search: how a subgradient of a regularizer is found, which the kernel only evaluates.

A dual point of the risk proves :math:`R(M) + \langle G, M \rangle \ge v - \langle S - G, M \rangle` for all metrics;
if the risk is nonnegative, so does each multiple :math:`\theta (v, S)`, :math:`0 \le \theta \le 1`. A rule finds in
floats a factor for a dual point and a subgradient that shows the multiple feasible. Both are backed off a little,
because the kernel's own rounding counts against them. Proofs do not depend on this: wrong numbers are not accepted.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from convexmetric.arrays import Array
from convexmetric.certificates import kernel
from convexmetric.certificates.statement import Arrays, Table, plain
from convexmetric.described import symmetric
from convexmetric.numerics.searches import last_true
from convexmetric.regularizers.base import of_eigenvalues

#: Bisection steps for a best scaling, whose error enters the bound squared, and for a largest one (to the last bit).
HALVINGS, EXACT = 20, 52
#: Relative distance outside of its ball up to which a dual point counts as inside.
NEARLY = 1e-11
#: Slack for a matrix that is zero: the kernel needs a positive one.
SMALLEST = 1e-140


@dataclass(frozen=True)
class Dual:
    """A dual point: v, S, the linear term G with the subgradients of other summands, and the possible error of S."""

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

    A subclass whose regularizer is the last summand finds them by :meth:`scaling` and :meth:`subgradient`. One whose
    subgradient is given has :meth:`into_ball` and perhaps :meth:`radius` instead.

    Attributes
    ----------
    omega : kernel.Regularizer
        As the kernel reads it.
    cone : kernel.Cone
    backoff : float
        Fraction of the best scaling that is given up for rounding; 1 leaves a scaling of zero.
    whole : bool
        Whether the risk may be negative, so that its dual point is used whole or not at all.
    hints : dict
        From :meth:`~convexmetric.regularizers.Regularizer.hints`.
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
        """Scaling, at most 1, with approximately the largest bound."""
        raise kernel.NotProven(f"a subgradient of {type(self.omega).__name__} must be given, by hints")

    def subgradient(self, dual: Dual, scaling: float) -> tuple[Table, Arrays]:
        """Parameters and arrays of the subgradient for a file. Default: empty, for a unique subgradient."""
        return {}, {}

    def most(self, dual: Dual) -> float:
        """Largest feasible scaling, at most 1, approximately and without backing off."""
        return 1.0

    # As a summand whose subgradient is given --------------------------------------------------------------------------

    def nearest(self, Y: Array) -> Array:
        """Subgradient near Y: symmetric, zero between blocks, and in the ball of the dual norm."""
        return self.into_ball(in_blocks(self.cone, Y if Y.ndim == 1 else 0.5 * (Y + Y.T)))

    def given(self, Y: Array) -> Array:
        """The subgradient of the hints in the form that is used."""
        return self.nearest(Y)

    def into_ball(self, Y: Array) -> Array:
        """Move a symmetric matrix, or weights of a diagonal metric, into the ball of the dual norm."""
        raise kernel.NotProven(f"a subgradient of {type(self.omega).__name__} is found, and none must be given")

    def radius(self) -> float:
        """Largest r, or nearly, such that ``r I`` is a subgradient."""
        return (1.0 - 1e-12) * self.weight

    def slope(self, Y: Array) -> Array:
        """The matrix P of a subgradient by :meth:`nearest`."""
        return Y

    def stored(self, Y: Array) -> Arrays:
        """Arrays of a subgradient by :meth:`nearest` for a file."""
        return {"slope": Y}

    # Either -----------------------------------------------------------------------------------------------------------

    @staticmethod
    def above(omega: Any, M: Array) -> tuple[Any, Arrays]:
        """Proof of the value at a metric for the kernel's ``value``, and its arrays in a file."""
        return None, {}

    def slack(self, values: Any, rad: float) -> float:
        """Slack with which the kernel accepts a matrix with about these eigenvalues as semidefinite."""
        if self.cone.diagonal:
            return 8.0 * kernel.U * float(np.abs(values).max()) + 2.0 * rad + np.finfo(float).tiny
        return of_matrix(values, rad)


class Hinted(Rule):
    """Rule that uses the regularizer's own hints: for classes without a search, and if the hints have ``arrays``.

    ``arrays`` and ``parameters`` are those of a file, for S times ``share`` (1 if not given).
    """

    def found(self, dual: Dual) -> tuple[float, Table, Arrays]:
        """The share of the hints, backed off, with their parameters and arrays."""
        given = {"arrays", "parameters"} & set(self.hints)
        if not given:
            super().scaling(dual)
        scaling = 1.0 if self.whole else float(self.hints.get("share", 1.0)) * (1.0 - self.backoff)
        numbers = self.hints.get("parameters", {})
        table = {key: str(Fraction(one)) if isinstance(one, float) else one for key, one in numbers.items()}
        return scaling, table, {name: plain(array) for name, array in self.hints.get("arrays", {}).items()}

    def given(self, Y: Array) -> Array:
        """The subgradient, backed off towards zero."""
        return (1.0 - self.backoff) * self.nearest(Y)

    def into_ball(self, Y: Array) -> Array:
        """The subgradient itself: nothing is known about the ball except that it is convex."""
        return Y

    def radius(self) -> float:
        """Infinite, so that the radius of the hints counts; without one, zero is used."""
        return np.inf


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
