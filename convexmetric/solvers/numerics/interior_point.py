r"""A primal-dual interior-point method for conic programs: Mehrotra's predictor and corrector, Nesterov-Todd scaling.

The Newton system at a point is reduced and factorised once for both right-hand sides. In scaled coordinates it is
``H dU = P^T da + rho`` with the scaled rows P and a matrix H that is diagonal unless L is a full matrix; it is reduced
to whichever is smaller, the rows (k x k) or the coordinates (q x q):

.. math::
   (P H^{-1} P^\top + D) \, da = r, \qquad (H + P^\top D^{-1} P) \, dU = r', \qquad
   D = \mathrm{diag}(s / a) + E \, \mathrm{diag}(\xi / \beta) E^\top

``min(k, q)^2 max(k, q)`` operations, and ``4 k d^3`` for scaling the rows of a matrix cone. In the second form rows of
large weight would swamp H near the optimum; they stay unknowns of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
from scipy.linalg import lapack

from convexmetric.arrays import Array
from convexmetric.certificates.certificate import Bounds, relative_gap
from convexmetric.cones.scaling import longest_step
from convexmetric.deadline import until_deadline
from convexmetric.losses.base import holding_factor
from convexmetric.numerics.compiling import compiled
from convexmetric.numerics.threads import blas_threads_for, over_rows
from convexmetric.solvers.numerics.qp import ConicQP, Iterate, cold_start

#: Share of the way to the boundary that a step may go, with a quadratic part; and with a linear objective, whose
#: vertices are sharp: steps that nearly touch them take a third more iterations.
BOUNDARY_SHARE, BOUNDARY_SHARE_LINEAR = 0.99, 0.95
#: Smallest share of the complementarity that the predictor is trusted to leave, before Mehrotra's third power.
LEAST_CENTRING = 1e-6
#: Steps in a row that improve neither bound after which it ends, and the relative change that counts as an improvement,
#: as a share of ``tol``.
STALLED_STEPS, LEAST_IMPROVEMENT = 8, 1e-3
#: Rows whose weight in the Newton matrix exceeds this many times the rest are kept as unknowns: near the optimum they
#: would swamp the rest.
HEAVY_ROW = 1e4
#: Relative additions to the diagonal that are tried, one after the other: multiples of the machine precision.
ADDED = (0.0, 1e-14, 1e-12, 1e-10)


@dataclass
class Outcome(Bounds):
    """Best points found, with their bounds, and the path ``(U, Z)`` taken, for warm starts."""

    U: Array
    a: Array
    upper_bound: float
    lower_bound: float
    iterations: int
    path: list[tuple[Array, Array]]


#: A run, which yields a function that returns the outcome so far, each iteration.
Run = Iterator[Callable[[], Outcome]]


def interior_point(
    qp: ConicQP,
    tol: float,
    *,
    start: Iterate | None = None,
    max_steps: int = 100,
    stop: Callable[[], bool] | None = None,
) -> Outcome:
    """Solve to relative gap ``tol`` of the program's own bounds, or as far as float64 carries.

    Parameters
    ----------
    qp : ConicQP
    tol : float
        Stop when upper and lower bound agree to this relative gap.
    start : Iterate, optional
        Interior point to start from; it need not satisfy the equations.
    max_steps : int
        Predictor-corrector steps after which it gives up.
    stop : callable, optional
        Called each iteration; returning True stops.

    Returns
    -------
    Outcome
        Best bounds and the points that prove them.
    """
    found: Callable[[], Outcome] | None = None
    for found in interior_points(qp, tol, start=start, max_steps=max_steps):  # noqa: B007
        if stop is not None and stop():
            break
    # Where numbers leave the range of floats there is no point, and bounds are infinite.
    return Outcome(qp.cone.zeros(), np.zeros(len(qp.b)), np.inf, -np.inf, 0, []) if found is None else found()


def interior_points(qp: ConicQP, tol: float, *, start: Iterate | None = None, max_steps: int = 100) -> Run:
    """Predictor-corrector steps, as of :func:`interior_point`, which yield how to get at their best points."""
    k, q = qp.A.shape
    threads = partial(blas_threads_for, float(min(k, q)) ** 2 * max(k, q))
    try:
        with threads():
            point = cold_start(qp) if start is None else start
    except la.LinAlgError:
        return
    units = qp.units
    best_U, best_a = point.U, qp.feasible_multipliers(point.a)
    upper, lower = np.inf, -np.inf
    path: list[tuple[Array, Array]] = []
    stalled = 0

    def found() -> Outcome:
        a, bounds = units.value / units.margin * best_a, (units.value * upper, units.value * lower)
        return Outcome(units.metric * best_U, a, *bounds, len(path) - 1, path)

    for _ in until_deadline(range(max_steps + 1)):
        U, margins = point.U, qp.times(point.U) - qp.b
        a = qp.feasible_multipliers(point.a)
        value, bound = qp.primal_value(U, margins), qp.dual_value(a, U)
        if qp.hard and value == np.inf:
            repaired = _scaled_to_feasibility(qp, U, margins)
            if repaired is not None:
                U, value = repaired, qp.primal_value(repaired, qp.times(repaired) - qp.b)
        least = LEAST_IMPROVEMENT * tol
        improved = value < upper - least * abs(value) or bound > lower + least * abs(bound)
        stalled = 0 if improved else stalled + 1
        if value < upper:
            upper, best_U = value, U
        if bound > lower:
            lower, best_a = bound, a
        gap = relative_gap(upper, lower)
        path.append((point.U * units.metric, point.Z * (units.value / units.metric)))
        yield found
        if gap <= tol or stalled >= STALLED_STEPS or not point.finite:
            break
        try:
            with threads():
                following = _step(qp, point, margins)
        except la.LinAlgError:
            break
        if not following.finite:
            break
        point = following


def _scaled_to_feasibility(qp: ConicQP, U: Array, margins: Array) -> Array | None:
    """Scale ``U`` until all hard rows hold; None where no factor is enough."""
    factor = holding_factor(margins + qp.b, qp.b)
    if factor == np.inf:
        return None
    scaled = U * factor * (1.0 + np.sign(factor - 1.0) * 1e-14)
    return scaled if (qp.times(scaled) - qp.b).min() >= 0.0 else None


def _step(qp: ConicQP, point: Iterate, margins: Array) -> Iterate:
    """One predictor-corrector step; ``margins`` are those at the point."""
    system = NewtonSystem(qp, point, margins)
    scaling, a, s, xi, beta = system.scaling, point.a, point.s, point.xi, point.beta
    total = float(scaling.v @ scaling.v + a @ s + xi @ beta)
    if not 0.0 < total < np.inf:
        raise la.LinAlgError("complementarity has left the range of floats")
    mu = total / qp.degree
    predicted = system.direction(scaling.centring(0.0), -a * s, -xi * beta)
    after = _products(system, predicted, *_lengths(system, predicted, 1.0))
    target = min(1.0, max(after / total, LEAST_CENTRING)) ** 3 * mu
    move = system.direction(
        scaling.centring(target, predicted.U, predicted.Z),
        target - a * s - predicted.a * predicted.s,
        target - xi * beta - predicted.xi * predicted.beta,
    )
    primal, dual = _lengths(system, move, BOUNDARY_SHARE if qp.curved else BOUNDARY_SHARE_LINEAR)
    if qp.curved:
        primal = dual = min(primal, dual)
    return Iterate(
        point.U + primal * scaling.primal_step(move.U),
        point.Z + dual * scaling.dual_step(move.Z),
        a + dual * move.a,
        s + primal * move.s,
        xi + primal * move.xi,
        beta + dual * move.beta,
    )


def _lengths(system: NewtonSystem, move: Iterate, share: float) -> tuple[float, float]:
    """Lengths of a primal and a dual step that go a share of the way to the boundary, one at most."""
    point, longest = system.point, system.scaling.longest
    primal = min(longest(move.U), longest_step(point.s, move.s), longest_step(point.xi, move.xi))
    dual = min(longest(move.Z), longest_step(point.a, move.a), longest_step(point.beta, move.beta))
    return min(1.0, share * primal), min(1.0, share * dual)


def _products(system: NewtonSystem, move: Iterate, primal: float, dual: float) -> float:
    """Sum of all complementarity products after steps of these lengths."""
    point, scaling = system.point, system.scaling
    return (
        float(scaling.v @ scaling.v)
        + primal * scaling.along(move.U)
        + dual * scaling.along(move.Z)
        + primal * dual * system.qp.cone.inner(move.U, move.Z)
        + float((point.a + dual * move.a) @ (point.s + primal * move.s))
        + float((point.xi + primal * move.xi) @ (point.beta + dual * move.beta))
    )


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

    def direction(self, centre: Array, rows: Array, slacks: Array) -> Iterate:
        """Solve for the right-hand sides of complementarity: for (U, Z), for (a, s) and for (xi, beta).

        Returns the change of an iterate, with that of U and Z in the frame of the scaling.
        """
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
        return Iterate(du, centre - du, da, (rows - s * da) / a, d_xi, d_beta)


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
    """

    def __init__(self, P: Any, H: Array, D: Array) -> None:
        self.H, self.D = H, D
        k, n = P.shape
        diagonal = H if H.ndim == 1 else np.diag(H)
        if k <= n and H.ndim == 1:
            kept = np.ones(k, dtype=bool)
        else:
            weight = _row_norms(P, 1.0 / diagonal) / D
            kept = weight > HEAVY_ROW
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
        """Factor of H plus the folded rows, or None if that is diagonal."""
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

    def solve(self, rho: Array, r: Array) -> tuple[Array, Array]:
        """Solve for ``(x, da)``."""
        da = np.empty(len(r))
        of_folded = r[self.folded] / self.D[self.folded]
        rho = rho + self.P_folded.T @ of_folded
        x = self._solve_base(rho)
        if self.kept.size:
            of_kept = cholesky_solve(self.schur, r[self.kept] - self.P_kept @ x)
            da[self.kept] = of_kept
            x = self._solve_base(rho + self.P_kept.T @ of_kept)
        da[self.folded] = of_folded - (self.P_folded @ x) / self.D[self.folded]
        return x, da


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


def cholesky(matrix: Array) -> Array:
    """Factorise; the lower factor is in the lower triangle. The diagonal is enlarged by a few roundings if necessary.

    Raises
    ------
    scipy.linalg.LinAlgError
        If the matrix is not positive definite even so. Its diagonal is changed in any case.
    """
    diagonal = np.diag_indices_from(matrix)
    original = matrix[diagonal].copy()
    for added in ADDED:
        matrix[diagonal] = original * (1.0 + added)
        factor, info = lapack.dpotrf(matrix, lower=1, clean=0)
        if info == 0:
            return factor
    raise la.LinAlgError("the Newton system is numerically singular")


def cholesky_solve(factor: Array, right: Array) -> Array:
    """Solve with the factor that :func:`cholesky` made."""
    return lapack.dpotrs(factor, right, lower=1)[0]


def sparse_gram(P: sp.csr_array) -> Array:
    """The lower triangle of ``P P^T`` as a dense matrix; zeros above the diagonal."""
    columns = sp.csc_array(P)
    columns.sort_indices()
    gram = np.zeros((P.shape[0], P.shape[0]))
    work = int((np.diff(columns.indptr).astype(np.int64) ** 2).sum())
    arguments = P.indptr, P.indices, P.data, columns.indptr, columns.indices, columns.data, gram
    over_rows(_accumulate, P.shape[0], work, *arguments)
    return gram


@compiled
def _accumulate(begin, end, indptr, indices, data, column_start, rows, values, gram):
    for i in range(begin, end):
        for entry in range(indptr[i], indptr[i + 1]):
            f = indices[entry]
            value = data[entry]
            for other in range(column_start[f], column_start[f + 1]):
                t = rows[other]
                if t > i:
                    break
                gram[i, t] += value * values[other]
