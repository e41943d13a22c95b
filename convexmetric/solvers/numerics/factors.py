r"""Objectives of a factor, :math:`M = B^\top B`, and descent on them by trust-region Newton steps.

.. math:: \min_{M \succeq 0} R(M) + \langle H, M \rangle, \qquad H = \lambda I + G \succ 0

In coordinates that make H the identity, :math:`H = K K^\top` and :math:`C = B K`, a factor has the objective
:math:`F(C) = R + \|C\|_F^2` with gradient :math:`2 C (I - \tilde S)`, :math:`\tilde S = K^{-1} S K^{-\top}`,
:math:`S = -\nabla R`. It is not convex, but three facts make it safe and fast:

- whatever C is, the tangent plane there, shrunk by :math:`\theta = 1 / \max(1, \lambda_{\max}(\tilde S))`, is a dual
  point: one eigendecomposition bounds the convex problem and shows whether any metric, of any rank, is better;
- if :math:`\lambda_{\max} > 1` at a stationary point, a row along its eigenvector descends: the rank grows only where
  it has to. Rows that shrink to nothing are left out;
- with the rank of the optimum the Hessian is positive definite but for rotations of the rows, and Newton's method
  converges quadratically. Its systems are solved by conjugate gradients in a trust region (Steihaug), from products
  with the factor: passes over the data, no matrix of the size of the Hessian.

The trust region leaves saddle points by itself; the certificate decides about everything else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

import numpy as np
import scipy.linalg as la

from convexmetric.arrays import Array
from convexmetric.numerics.conjugate_gradients import at_boundary, new_radius, steihaug
from convexmetric.numerics.searches import SUFFICIENT, shortened
from convexmetric.risks import Minorant

#: Rounding error of an objective, as a share of it: some multiples of the machine precision.
ROUNDING = 1e-14
#: Conjugate gradient steps for a Newton step at most.
CG_STEPS = 200
#: Rows are added along eigenvectors of S whose eigenvalues exceed one by more than this share of the tolerance.
NEW_ROW_SHARE = 0.1
#: Conjugate gradients end at this fraction of the gradient at most; the fraction shrinks with the gradient.
CG_ACCURACY = 0.1
#: New rows are shortened until they descend, down to this fraction of the length from Newton's method.
SHORTEST_GROWTH = 0.25**19


@dataclass(frozen=True)
class FactorPoint:
    """A factor, and the risk with its tangent plane there, from one pass over the data.

    Attributes
    ----------
    C, B : arrays
        The factor in whitened coordinates, and in those of the points.
    risk : float
        The risk, or its smoothed value.
    point : Minorant
        Tangent plane of the risk.
    S : array
        ``K^-1 S K^-T``: S of the tangent plane, in whitened coordinates.
    """

    C: Array
    B: Array
    risk: float
    point: Minorant
    S: Array

    @property
    def value(self) -> float:
        """The objective."""
        return self.risk + float(np.vdot(self.C, self.C))

    @property
    def gradient(self) -> Array:
        """Gradient of the objective."""
        return 2.0 * (self.C - self.C @ self.S)


#: A linear map of factors.
Map = Callable[[Array], Array]
Point = TypeVar("Point", bound=FactorPoint)


class FactorObjective(ABC, Generic[Point]):
    """The objective in coordinates that make the penalty a squared norm.

    Parameters
    ----------
    H : (d, d) array
        The linear penalty.

    Raises
    ------
    numpy.linalg.LinAlgError
        Unless H is positive definite.
    """

    #: Rows added at a time at most.
    grow: ClassVar[int] = 8
    #: Steps of a descent at most.
    newton_steps: ClassVar[int] = 40
    #: Rows of the factor are left out below this share of its squared size, a metric's trace.
    negligible_row: ClassVar[float] = 1e-12
    #: Conjugate gradients end at a share of the gradient that shrinks with it, but not below this.
    least_cg_accuracy: ClassVar[float] = 1e-8

    def __init__(self, H: Array) -> None:
        self.K = np.linalg.cholesky(H)
        identity = np.eye(len(self.K))
        self._inverse = la.solve_triangular(self.K, identity, lower=True, check_finite=False)
        first = self._inverse[0, 0]
        #: The number that takes the place of the inverse where H is a multiple of the identity, as a trace is.
        self._scale = first if np.array_equal(self._inverse, first * identity) else None
        #: Products with a Hessian so far.
        self.products = 0

    def of_points(self, C: Array) -> Array:
        """Rows in the coordinates of the points, ``C K^-1``."""
        return C @ self._inverse if self._scale is None else C * self._scale

    def whitened_rows(self, E: Array) -> Array:
        """Slopes by the rows of ``C K^-1`` as slopes by those of C, ``E K^-T``."""
        return E @ self._inverse.T if self._scale is None else E * self._scale

    def whitened(self, S: Array) -> Array:
        """A symmetric dual matrix in whitened coordinates, ``K^-1 S K^-T``."""
        return self.whitened_rows(self.whitened_rows(S).T)

    @abstractmethod
    def at(self, C: Array) -> Point:
        """Evaluate a factor by one pass over the data."""

    def tried(self, C: Array) -> Point:
        """Evaluate a factor after a step that may be too long: values may be infinite or NaN, without warnings."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self.at(C)

    @abstractmethod
    def second_along(self, here: Point) -> Map:
        """Map from E, ``(r, d)``, to B times the second derivative of the risk along ``B^T E + E^T B``."""

    @abstractmethod
    def curvature(self, here: Point, change: Array) -> float:
        """Second derivative of the risk along a matrix: ``D^2 R(M)[change, change]``."""

    def factor(self, M: Array) -> Array:
        """Factor of a metric in whitened coordinates, small eigenvalues left out."""
        values, vectors = la.eigh(self.K.T @ M @ self.K)
        kept = values > self.negligible_row * values.sum()
        return np.asarray(np.sqrt(values[kept])[:, None] * vectors[:, kept].T)

    def hessian(self, here: Point, scales: Array | float = 1.0) -> Map:
        """Second derivative of the objective, as a map of factors whose rows are divided by their scales."""
        second = self.second_along(here)

        def applied(E: Array) -> Array:
            self.products += 1
            E = scales * E
            return 2.0 * scales * (E - E @ here.S + self.whitened_rows(second(self.of_points(E))))

        return applied

    def scales(self, here: Point) -> Array | float:
        """Factors of the rows, ``(r, 1)``: steps are those of an objective of rows divided by them; by default 1."""
        return 1.0

    def descend(self, here: Point, accuracy: float, stop: Callable[[], bool]) -> Point:
        """Take Newton steps until one promises less than a share ``accuracy`` of the objective."""
        scales = self.scales(here)
        radius = max(1.0, float(np.linalg.norm(here.C / scales)))
        for _ in range(self.newton_steps):
            # The residual asked for shrinks with the gradient: superlinear convergence.
            share = max(self.least_cg_accuracy, float(np.sqrt(np.linalg.norm(here.gradient))))
            share = min(CG_ACCURACY, share)
            step, promised = steihaug(self.hessian(here, scales), scales * here.gradient, radius, CG_STEPS, share)
            there = self.tried(here.C + scales * step)
            length = float(np.linalg.norm(step))
            inside = not at_boundary(length, radius)
            # Near the optimum actual and promised decrease are less than the rounding of the objective.
            rounding = ROUNDING * abs(here.value)
            if not promised + rounding > 0.0:
                break
            kept = (here.value - there.value + rounding) / (promised + rounding)
            radius = new_radius(radius, length, kept)
            if kept > 0.0:
                here = there
            settled = inside and kept > 0.0 and promised <= accuracy * abs(here.value)
            if settled or length <= ROUNDING * np.linalg.norm(here.C / scales) or stop():
                break
        return here

    def grown(self, here: Point, tol: float) -> Point:
        """Add rows along the eigenvectors of S with the largest eigenvalues above 1: a step along what S has above I.

        It has the length of a Newton step. S has less above I then, so that the plane there proves a better bound.
        Negligible rows are left out where there are new ones.
        """
        values, vectors = la.eigh(here.S)
        above = np.flatnonzero(values > 1.0 + NEW_ROW_SHARE * tol)[::-1][: self.grow]
        if not len(above):
            return here
        excess = values[above] - 1.0
        rows = np.sqrt(excess / excess[0])[:, None] * vectors[:, above].T
        V = self.of_points(rows)
        curvature = self.curvature(here, V.T @ V)
        slope, old = float(excess @ excess / excess[0]), self._kept(here.C)
        longest = slope / curvature if curvature > 0.0 else 1.0
        for share in shortened(0.25, SHORTEST_GROWTH * longest, longest):
            there = self.tried(np.concatenate([old, np.sqrt(share) * rows]))
            if here.value - there.value > SUFFICIENT * share * slope:
                return there
        return here

    def reduced(self, here: Point) -> Point:
        """The factor without negligible rows."""
        C = self._kept(here.C)
        return here if len(C) == len(here.C) else self.at(C)

    def _kept(self, C: Array) -> Array:
        """The factor with orthogonal rows, negligible ones left out."""
        _, sizes, rows = np.linalg.svd(C, full_matrices=False)
        kept = sizes**2 > self.negligible_row * (sizes**2).sum()
        return np.asarray(sizes[kept, None] * rows[kept])
