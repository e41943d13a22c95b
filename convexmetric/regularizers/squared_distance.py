r"""The squared Frobenius distance to a given metric, the prior.

.. math:: \Omega(M) = \frac{\lambda}{2} \|M - M_0\|_F^2, \qquad
   \Omega^*_K(S) = \langle S, N \rangle - \frac{\lambda}{2} \|N - M_0\|_F^2, \quad N = [M_0 + S / \lambda]_+

It is :math:`\frac{\lambda}{2} \|M\|_F^2 - \langle \lambda M_0, M \rangle + \frac{\lambda}{2} \|M_0\|_F^2`, and solvers
work on that (``split``): a squared norm, a linear term and a constant. Values and bounds are computed
from the difference, because the three terms cancel if lambda is large: the optimum then tends to the prior.
"""

from __future__ import annotations

from math import sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from convexmetric.arguments import check_positive_number, not_one_of
from convexmetric.arrays import Array, norm_of
from convexmetric.cones import Cone
from convexmetric.described import Described, symmetric
from convexmetric.errors import InputError
from convexmetric.programs.lazy import cvxpy as cp
from convexmetric.regularizers.base import Regularizer
from convexmetric.regularizers.frobenius import Frobenius, SquaredFrobenius
from convexmetric.regularizers.norm_term import Distance, TraceDistance
from convexmetric.regularizers.trace import Trace

#: Relative distance of a prior to the cone that counts as rounding.
OFF_CONE = 1e-9


def towards(norm: Regularizer, prior: ArrayLike | str, cone: Cone) -> Regularizer:
    """Replace a norm of the metric by that of its distance to a prior: ``"identity"``, or a metric of the cone.

    The squared norm becomes a :class:`SquaredDistance`, the Frobenius norm a :class:`Distance`, and a trace, the sum of
    the eigenvalues, a :class:`TraceDistance`.

    Raises
    ------
    InputError
        If the regularizer is none of these, or the prior is not a metric: of the wrong shape, not finite, not
        symmetric, or with a negative eigenvalue or weight.
    """
    kinds: dict[type, type] = {SquaredFrobenius: SquaredDistance, Frobenius: Distance, Trace: TraceDistance}
    if type(norm) not in kinds:
        raise InputError("prior is for norms and traces: pass penalty='squared-frobenius', or leave prior out")
    assert isinstance(norm, SquaredFrobenius | Frobenius | Trace)
    made: Regularizer = kinds[type(norm)](norm.reg, _metric(prior, cone))
    return made


def _metric(prior: ArrayLike | str, cone: Cone) -> Array:
    if isinstance(prior, str):
        if prior != "identity":
            raise InputError(f"{not_one_of('prior', ('identity',), prior)}; or pass the metric itself")
        return cone.identity()
    metric = cone.element(prior, "prior")
    if cone.violation(metric) > OFF_CONE * norm_of(metric):
        what = "a negative weight" if cone.diagonal else "a negative eigenvalue"
        raise InputError(f"prior is no metric: it has {what}, {cone.smallest(metric):g}")
    return metric


class SquaredDistance(Regularizer):
    """``reg / 2 * ||M - M0||_F^2``.

    Parameters
    ----------
    reg : float
        lambda, positive.
    prior : array
        M0, of the shape of a metric. :func:`towards` makes it from ``"identity"``.

    Raises
    ------
    InputError
        If ``reg`` is not a positive finite number.
    """

    smooth_conjugate: ClassVar[bool] = True

    prior: Array

    def __init__(self, reg: float, prior: Array) -> None:
        check_positive_number(reg, "reg")
        self.reg, self.prior = float(reg), np.asarray(prior, dtype=np.float64)

    def contents(self) -> tuple[Any, ...]:
        """For fingerprints: the constructor's arguments."""
        return self.reg, self.prior

    def described(self, cone: Cone, points: Array | None) -> Described:
        """Table of the squared norm with weight and prior."""
        table = {"kind": "squared frobenius", "weight": self.reg, "prior": True}
        return Described(table, {"prior": self.prior if cone.free else symmetric(self.prior)})

    def value(self, M: Array, cone: Cone) -> float:
        """``reg / 2 * ||M - M0||_F^2``."""
        root = sqrt(self.reg) * norm_of(M - self.prior)
        return 0.5 * root * root

    def conjugate(self, S: Array, cone: Cone) -> tuple[float, Array]:
        """Attained at ``[M0 + S / reg]_+``.

        If ``reg M0`` is larger than S, rounding of that metric may cost more than S gains. The value is then that of
        the dual problem: ``<Y, M0> + ||Y||^2 / (2 reg)`` with ``Y = S + Z`` is no less than the maximum for any Z of
        the dual cone, and equal to it at ``Z = reg [-(M0 + S / reg)]_+``; at Z = 0 without a cone.
        """
        W = self.prior + S / self.reg
        if norm_of(S) > self.reg * norm_of(self.prior):
            N = cone.project(W)
            return cone.inner(S, N) - self.value(N, cone), N
        if cone.free:
            Y, N = S, W
        else:
            # Both parts from one decomposition.
            at = cone.projection(W)
            Y, N = S + self.reg * at.negative, at.positive
        root = norm_of(Y) / sqrt(self.reg)
        return cone.inner(Y, self.prior) + 0.5 * root * root, N

    def split(self, cone: Cone) -> tuple[Regularizer, Array, float]:
        """A squared norm, ``-reg M0``, and ``reg / 2 ||M0||^2``."""
        return SquaredFrobenius(self.reg), -self.reg * self.prior, self.value(cone.zeros(), cone)

    def linear(self, cone: Cone) -> Array:
        """``-reg M0``."""
        return -self.reg * cone.coordinates(self.prior)

    def quadratic(self, cone: Cone) -> float:
        """``reg``."""
        return self.reg

    def expression(self, M: cp.Variable, cone: Cone) -> cp.Expression:
        """``reg / 2 * ||M - M0||_F^2``."""
        return 0.5 * self.reg * cp.sum_squares(M - self.prior)

    def latex(self, M: str) -> str:
        """The formula."""
        return SquaredFrobenius(self.reg).latex(f"{M} - {'I' if self._euclidean else f'{M}_0'}")

    def text(self, M: str) -> str:
        """The formula in plain text."""
        return SquaredFrobenius(self.reg).text(f"{M} - {'I' if self._euclidean else f'{M}0'}")

    @property
    def _euclidean(self) -> bool:
        prior = self.prior
        return np.array_equal(prior, np.eye(len(prior)) if prior.ndim == 2 else np.ones(len(prior)))
