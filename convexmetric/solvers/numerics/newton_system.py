r"""The Newton system of a conic program at an interior point, reduced and factorised once for all right-hand sides.

In scaled coordinates it is ``H dU = P^T da + rho`` with the scaled rows P and a matrix H that is diagonal unless L is a
full matrix; it is reduced to whichever is smaller, the rows (k x k) or the coordinates (q x q):

.. math::
   (P H^{-1} P^\top + D) \, da = r, \qquad (H + P^\top D^{-1} P) \, dU = r', \qquad
   D = \mathrm{diag}(s / a) + E \, \mathrm{diag}(\xi / \beta) E^\top

``min(k, q)^2 max(k, q)`` operations, and ``4 k d^3`` for scaling the rows of a matrix cone. In the second form rows of
large weight would swamp H near the optimum; they stay unknowns of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from convexmetric.arrays import Array
from convexmetric.solvers.numerics.cholesky import cholesky, cholesky_solve
from convexmetric.solvers.numerics.qp import ConicQP, Iterate
from convexmetric.solvers.numerics.sparse_gram import sparse_gram

#: Rows whose weight in the Newton matrix exceeds this many times the rest are kept as unknowns: near the optimum they
#: would swamp the rest.
HEAVY_ROW = 1e4
#: Relative residual of the Newton system above which its solution is refined once.
REFINEMENT_RESIDUAL = 1e-13


@dataclass
class Direction:
    """A change of an iterate; those of U and Z in the frame of the scaling."""

    U: Array
    Z: Array
    a: Array
    s: Array
    xi: Array
    beta: Array


class NewtonSystem:
    """The equations of a program and of complementarity, linearised at a point.

    Parameters
    ----------
    qp : ConicQP
    point : Iterate
        Strictly interior.
    margins : (k,) array
        ``A U - b`` at the point.
    """

    def __init__(self, qp: ConicQP, point: Iterate, margins: Array) -> None:
        self.qp, self.point = qp, point
        self.scaling = scaling = qp.cone.scaling(point.U, point.Z, qp.L)
        a, s, xi, beta, group = point.a, point.s, point.xi, point.beta, qp.group
        self.r_z = scaling.dual(point.Z - (qp.gradient(point.U) - qp.adjoint(a)))
        self.r_s, self.r_beta = s - margins, np.zeros(0)
        if not qp.hard:
            self.r_s = self.r_s - xi[group]
            self.r_beta = beta - (qp.C - qp.sums(a))
        P, H, D = scaling.rows(qp.elements), scaling.H, s / a
        # A slack for every row is eliminated with it; those that rows share are unknowns.
        self.own_slack = not qp.hard and qp.C.size == len(a)
        if self.own_slack:
            D = D + (xi / beta)[group]
        elif not qp.hard:
            P = _with_slacks(P, group, xi.size)
            H = np.concatenate([H, beta / xi]) if H.ndim == 1 else la.block_diag(H, np.diag(beta / xi))
        self.reduced = ReducedSystem(P, H, D)

    def direction(self, centre: Array, rows: Array, slacks: Array) -> Direction:
        """The solution for the right-hand sides of complementarity: of (U, Z), of (a, s) and of (xi, beta)."""
        qp, scaling, point = self.qp, self.scaling, self.point
        a, s, xi, beta = point.a, point.s, point.xi, point.beta
        rho = scaling.into(centre + self.r_z)
        r = self.r_s + rows / a
        d_xi = d_beta = np.zeros(0)
        if qp.hard:
            x, da = self.reduced.solve(rho, r)
        elif self.own_slack:
            x, da = self.reduced.solve(rho, r - ((slacks + xi * self.r_beta) / beta)[qp.group])
            d_beta = -qp.sums(da) - self.r_beta
            d_xi = (slacks - xi * d_beta) / beta
        else:
            x, da = self.reduced.solve(np.concatenate([rho, slacks / xi + self.r_beta]), r)
            d_xi = x[qp.cone.size :]
            d_beta = -qp.sums(da) - self.r_beta
        du = scaling.out(x[: qp.cone.size])
        return Direction(du, centre - du, da, (rows - s * da) / a, d_xi, d_beta)


class ReducedSystem:
    """The reduced Newton system at one iterate, factorised once and solved for several right-hand sides.

    Unknowns are the scaled coordinates and, unless every row has a slack of its own, the slacks x = (dU, dxi):
    ``H x - P^T da = rho`` and ``P x + D da = r`` with D diagonal. Rows of small weight 1/D are folded into H;
    rows of large weight, which would swamp it, are kept as unknowns. When there are fewer rows than coordinates all are
    kept and H stays diagonal.

    Parameters
    ----------
    P : (k, n) array or sparse matrix
    H : (n,) or (n, n) array
    D : (k,) array
    heavy_row : float
        Weight, in units of H, above which a row is kept.
    """

    def __init__(self, P: Any, H: Array, D: Array, heavy_row: float = HEAVY_ROW) -> None:
        self.P, self.H, self.D = P, H, D
        k, n = P.shape
        diagonal = H if H.ndim == 1 else np.diag(H)
        if k <= n and H.ndim == 1:
            kept = np.ones(k, dtype=bool)
        else:
            weight = _row_norms(P, 1.0 / diagonal) / D
            kept = weight > heavy_row
            if kept.sum() > n:
                kept = weight > np.partition(weight, -n)[-n]
        self.kept, self.folded = np.flatnonzero(kept), np.flatnonzero(~kept)
        self.P_kept, self.P_folded = P[self.kept], P[self.folded]
        self.base = self._base()
        if self.kept.size:
            schur = self._schur()
            schur[np.diag_indices_from(schur)] += D[self.kept]
            self.schur = cholesky(schur)

    def _base(self) -> Any:
        """Factor of H plus the folded rows, or None while that is diagonal."""
        if self.H.ndim == 1 and not self.folded.size:
            return None
        matrix = _gram(scaled_rows(self.P_folded, 1.0 / np.sqrt(self.D[self.folded])).T)
        if self.H.ndim == 2:
            matrix += self.H
        else:
            matrix[np.diag_indices_from(matrix)] += self.H
        return cholesky(matrix)

    def _schur(self) -> Array:
        """The kept rows' ``P base^-1 P^T``."""
        if self.base is None:
            return _gram(scaled_rows(self.P_kept.T, 1.0 / np.sqrt(self.H)).T)
        right = self.P_kept.T if isinstance(self.P_kept, np.ndarray) else self.P_kept.T.toarray()
        half = la.solve_triangular(self.base, right, lower=True, check_finite=False)
        return half.T @ half

    def _solve_base(self, x: Array) -> Array:
        return x / self.H if self.base is None else cholesky_solve(self.base, x)

    def _once(self, rho: Array, r: Array) -> tuple[Array, Array]:
        da = np.empty(len(r))
        of_folded = r[self.folded] / self.D[self.folded]
        rho = rho + self.P_folded.T @ of_folded if self.folded.size else rho
        x = self._solve_base(rho)
        if self.kept.size:
            of_kept = cholesky_solve(self.schur, r[self.kept] - self.P_kept @ x)
            da[self.kept] = of_kept
            x = self._solve_base(rho + self.P_kept.T @ of_kept)
        if self.folded.size:
            da[self.folded] = of_folded - (self.P_folded @ x) / self.D[self.folded]
        return x, da

    def solve(self, rho: Array, r: Array) -> tuple[Array, Array]:
        """``(x, da)``, with a round of iterative refinement where the residual asks for it."""
        x, da = self._once(rho, r)
        Hx = self.H @ x if self.H.ndim == 2 else self.H * x
        left, right = rho - (Hx - self.P.T @ da), r - (self.P @ x + self.D * da)
        allowed = REFINEMENT_RESIDUAL
        if np.abs(left).max() <= allowed * np.abs(rho).max() and np.abs(right).max() <= allowed * np.abs(r).max():
            return x, da
        fix_x, fix_a = self._once(left, right)
        return x + fix_x, da + fix_a


def scaled_rows(P: Any, factors: Array) -> Any:
    """Multiply every row by its factor."""
    return P * factors[:, None] if isinstance(P, np.ndarray) else sp.csr_array(P.multiply(factors[:, None]))


def _gram(P: Any) -> Array:
    """``P P^T``; of a sparse P only the lower triangle, which is all that a factorisation reads."""
    return P @ P.T if isinstance(P, np.ndarray) else sparse_gram(sp.csr_array(P))


def _row_norms(P: Any, weights: Array) -> Array:
    """``sum_f P_tf^2 weights_f`` for every row."""
    squares = P * P if isinstance(P, np.ndarray) else P.multiply(P)
    return np.asarray(squares @ weights).ravel()


def _with_slacks(P: Any, group: np.ndarray, n_groups: int) -> Any:
    """``[P, E]``: the rows with one more column for each group's slack."""
    if sp.issparse(P):
        E = sp.csr_array((np.ones(len(group)), (np.arange(len(group)), group)), shape=(len(group), n_groups))
        return sp.hstack([P, E], format="csr")
    extended = np.zeros((len(group), P.shape[1] + n_groups))
    extended[:, : P.shape[1]] = P
    extended[np.arange(len(group)), P.shape[1] + group] = 1.0
    return extended
