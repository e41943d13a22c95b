r"""The log-determinant (Burg, Stein) divergence to a given metric (information-theoretic metric learning).

.. math:: \Omega(M) = \lambda \big( \langle M_0^{-1}, M \rangle - \log\det(M_0^{-1} M) - d \big), \qquad
   \Omega^*_K(S) = -\lambda \log\det(I - T / \lambda), \quad M = (M_0^{-1} - S / \lambda)^{-1}

with :math:`T = L^\top S L`, :math:`M_0 = L L^\top`; infinite unless :math:`T \prec \lambda I`. Omega is infinite on the
boundary of the cone, so that every optimum is positive definite, and zero at M_0 only.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from convexmetric.arguments import check_positive_number
from convexmetric.arrays import Array
from convexmetric.cones import Cone
from convexmetric.described import Described
from convexmetric.errors import InputError
from convexmetric.programs.lazy import cvxpy as cp
from convexmetric.regularizers.base import Regularizer, of_eigenvalues
from convexmetric.regularizers.trace import weight_text

#: Fraction of the largest eigenvalue up to which the smallest one may be rounding.
SINGULAR = 1e-13
NOT_DEFINITE = "prior must be positive definite (diagonal metrics: weights above zero), or no metric is near it"


class LogDet(Regularizer):
    """``reg * (<M0^-1, M> - log det(M0^-1 M) - d)``.

    Parameters
    ----------
    prior : array
        M0, a positive definite metric: ``cone.identity()`` for the Euclidean one.
    reg : float
        lambda, positive.

    Raises
    ------
    InputError
        If ``reg`` is not a positive finite number, or the prior is not positive definite.
    """

    smooth_conjugate: ClassVar[bool] = True
    #: It is the distance to its prior itself, so that rounding of it is small there.
    hides_risk: ClassVar[bool] = False

    prior: Array

    def __init__(self, prior: ArrayLike, reg: float = 1.0) -> None:
        check_positive_number(reg, "reg")
        self.reg, self.prior = float(reg), np.asarray(prior, dtype=np.float64)
        if not (np.isfinite(self.prior).all() and (self.prior.ndim == 2 or (self.prior > 0.0).all())):
            raise InputError(NOT_DEFINITE)
        try:
            # The factor of a vector of weights is their square roots.
            factor = np.linalg.cholesky(self.prior) if self.prior.ndim == 2 else np.sqrt(self.prior)
        except np.linalg.LinAlgError as error:
            raise InputError(NOT_DEFINITE) from error
        self.L: Array = np.asarray(factor, dtype=np.float64)
        self.inverse_L: Array = np.asarray(np.linalg.inv(factor) if factor.ndim == 2 else 1.0 / factor, np.float64)

    def described(self, cone: Cone, points: Array | None) -> Described:
        """Table of the divergence with its weight, and a root of the inverse of the prior.

        Raises
        ------
        InputError
            If the prior is so nearly singular that its inverse has no root in floats.
        """
        root: Any = _between(self.inverse_L, cone.identity())
        if root.ndim == 2:
            try:
                root = np.linalg.cholesky(root).T
            except np.linalg.LinAlgError as error:
                raise InputError("certificates do not know a prior that is nearly singular") from error
        return Described({"kind": "log det", "weight": self.reg}, {"prior_root": root})

    def value(self, M: Array, cone: Cone) -> float:
        """``reg * sum(e - 1 - log e)`` of the eigenvalues e of ``M0^-1 M``; infinite unless all are above rounding."""
        e = cone.spectrum(_between(self.inverse_L.T, M))
        definite = e[-1] > max(0.0, e[0]) * SINGULAR
        return self.reg * float(np.sum(e - 1.0 - np.log(e))) if definite else np.inf

    def size(self, M: Array, cone: Cone) -> float:
        """``reg * sum(e + 1 + abs(log e))``."""
        e = cone.spectrum(_between(self.inverse_L.T, M))
        return self.reg * float(np.sum(e + 1.0 + np.abs(np.log(e)))) if e[-1] > 0.0 else np.inf

    def gradient(self, M: Array, cone: Cone) -> Array:
        """``reg (M0^-1 - M^-1)``, where Omega is finite."""
        return self.reg * (_between(self.inverse_L, cone.identity()) - cone.inverse(M))

    def conjugate(self, S: Array, cone: Cone) -> tuple[float, Array]:
        """Attained at ``(M0^-1 - S / reg)^-1``, where that is positive definite."""
        left = cone.identity() - _between(self.L, S) / self.reg
        e = cone.spectrum(left)
        if not e[-1] > 0.0:
            return np.inf, cone.zeros()
        return -self.reg * float(np.log(e).sum()), _between(self.L.T, cone.inverse(left))

    def prox(self, V: Array, t: float, cone: Cone) -> Array:
        """Eigenvalues e of ``V - t reg M0^-1`` become ``(e + sqrt(e^2 + 4 t reg)) / 2``."""
        t *= self.reg
        return of_eigenvalues(
            V - t * _between(self.inverse_L, cone.identity()), lambda e: 0.5 * (e + np.sqrt(e * e + 4.0 * t))
        )

    def dual_gram(self, M: Array, rows: Array, cone: Cone) -> Array:
        """``<S_i, M S_j M> / reg`` for all rows, by a Cholesky factor of M."""
        root = np.linalg.cholesky(M) if M.ndim == 2 else np.sqrt(M)
        moved = (root.T @ rows @ root if M.ndim == 2 else root * rows * root).reshape(len(rows), -1)
        return moved @ moved.T / self.reg

    def expression(self, M: cp.Variable, cone: Cone) -> cp.Expression:
        """CVXPY expression in exponential cones and, for matrices, semidefinite ones."""
        linear = cp.sum(cp.multiply(_between(self.inverse_L, cone.identity()), M))
        log_det = cp.log_det(M) if M.ndim == 2 else cp.sum(cp.log(M))
        of_prior = 2.0 * float(np.log(np.diag(self.L) if self.L.ndim == 2 else self.L).sum())
        return self.reg * (linear - log_det + of_prior - cone.d)

    def latex(self, M: str) -> str:
        """The formula."""
        return rf"{weight_text(self.reg)}D_{{\ell d}}({M}, {M}_0)"

    def text(self, M: str) -> str:
        """The formula in plain text."""
        return f"{weight_text(self.reg)}D_ld({M}, {M}0)"


def _between(L: Array, S: Array) -> Array:
    """``L^T S L``, exactly symmetric; ``L S L`` entrywise for weights."""
    if S.ndim == 1:
        return L * S * L
    product = L.T @ S @ L
    return np.asarray(0.5 * (product + product.T))
