"""Methods that learn from pairs that are similar, or not."""

from __future__ import annotations

import math

import cvxpy as cp
import numpy as np

import convexmetric as cm
from convexmetric.comparisons import PairDistances
from convexmetric.cones import Cone, NonnegativeDiagonal, PSDCone
from convexmetric.losses import BoxLoss, Hinge, ItakuraSaito, NegativeRoot
from convexmetric.regularizers import Budget, EntrywiseL1, LogDet, SquaredFrobenius, Trace
from convexmetric.risks import SeparableRisk
from foreign.data import differences, pairs, points
from foreign.method import method


def distances(V: np.ndarray, M: cp.Expression) -> cp.Expression:
    """Squared distances ``v^T M v`` of the rows of V, in CVXPY."""
    return cp.sum(cp.multiply(V @ M, V), axis=1)


# 1: MMC ---------------------------------------------------------------------------------------------------------------


@method(1, "MMC", "Xing, Ng, Jordan and Russell, NIPS 2002", "NegativeRoot + Budget", as_printed=lambda value: -value)
def mmc():
    """Maximise sum_D sqrt(d) over M >= 0 with sum_S d <= 1."""
    X, y = points()
    similar, dissimilar = pairs(y, 150)
    V = differences(X, similar)
    far = PairDistances(X, dissimilar, np.ones(len(dissimilar)), PSDCone(X.shape[1]))
    return cm.MetricProblem(SeparableRisk(far, NegativeRoot()), Budget(V.T @ V))


@mmc.in_cvxpy
def _mmc_in_cvxpy():
    X, y = points()
    similar, dissimilar = pairs(y, 150)
    M = cp.Variable((X.shape[1],) * 2, PSD=True)
    spent, far = cp.sum(distances(differences(X, similar), M)), distances(differences(X, dissimilar), M)
    return cp.Problem(cp.Maximize(cp.sum(cp.sqrt(far))), [spent <= 1])


def least_of_scalings(value: float) -> float:
    """Minimum over t > 0 of t - ln(sqrt(t) h), at t = 1/2, for the largest sum of distances h = -value."""
    return 0.5 + 0.5 * math.log(2.0) - math.log(-value)


@method(1, "MMC, diagonal", "the same", "NegativeRoot + Budget", as_printed=least_of_scalings)
def mmc_diagonal():
    """Minimise sum_S d - ln sum_D sqrt(d) over w >= 0: the direction is that of the problem above."""
    X, y = points()
    similar, dissimilar = pairs(y, 150)
    far = PairDistances(X, dissimilar, np.ones(len(dissimilar)), NonnegativeDiagonal(X.shape[1]))
    return cm.MetricProblem(SeparableRisk(far, NegativeRoot()), Budget((differences(X, similar) ** 2).sum(axis=0)))


@mmc_diagonal.in_cvxpy
def _mmc_diagonal_in_cvxpy():
    X, y = points()
    similar, dissimilar = pairs(y, 150)
    w = cp.Variable(X.shape[1], nonneg=True)
    near, far = differences(X, similar) ** 2 @ w, differences(X, dissimilar) ** 2 @ w
    return cp.Problem(cp.Minimize(cp.sum(near) - cp.log(cp.sum(cp.sqrt(far)))))


# 2: ITML --------------------------------------------------------------------------------------------------------------


@method(2, "ITML with slacks", "Davis, Kulis, Jain, Sra and Dhillon, ICML 2007", "ItakuraSaito + LogDet")
def itml():
    """Minimise D_ld(M, I) + D_ld(xi, xi_0) over M >= 0 and xi, with d <= xi on S and d >= xi on D."""
    X, y = points()
    similar, dissimilar = pairs(y, 150)
    signs = np.repeat([-1.0, 1.0], [len(similar), len(dissimilar)])
    compared = PairDistances(X, np.vstack([similar, dissimilar]), signs, PSDCone(X.shape[1]))
    loss = ItakuraSaito(1.0, np.where(signs < 0.0, 10.0, 40.0), signs)
    return cm.MetricProblem(SeparableRisk(compared, loss), LogDet(np.eye(X.shape[1])))


@itml.in_cvxpy
def _itml_in_cvxpy():
    X, y = points()
    similar, dissimilar = pairs(y, 150)
    d = X.shape[1]
    M, near, far = cp.Variable((d, d), PSD=True), cp.Variable(len(similar)), cp.Variable(len(dissimilar))
    slacks = cp.sum(near / 10 - cp.log(near / 10) - 1) + cp.sum(far / 40 - cp.log(far / 40) - 1)
    hold = [distances(differences(X, similar), M) <= near, distances(differences(X, dissimilar), M) >= far]
    return cp.Problem(cp.Minimize(cp.trace(M) - cp.log_det(M) - d + slacks), hold)


# 3: DML-eig -----------------------------------------------------------------------------------------------------------


@method(3, "DML-eig", "Ying and Li, JMLR 2012", "hard Hinge + Trace", as_printed=lambda value: 1.0 / value)
def dml_eig():
    """Maximise min_D d over M >= 0 with sum_S d <= 1.

    By scaling it is one over the least sum_S d with all d >= 1 on D. With K K^T the scatter of the similar pairs, and
    for points K^-1 x, that sum is the trace of K^T M K.
    """
    X, y = points()
    similar, dissimilar = pairs(y, 150)
    V = differences(X, similar)
    whitened = np.linalg.solve(np.linalg.cholesky(V.T @ V), X.T).T
    far = PairDistances(whitened, dissimilar, np.ones(len(dissimilar)), PSDCone(X.shape[1]))
    return cm.MetricProblem(SeparableRisk(far, Hinge(np.inf)), Trace())


@dml_eig.in_cvxpy
def _dml_eig_in_cvxpy():
    X, y = points()
    similar, dissimilar = pairs(y, 150)
    M, least = cp.Variable((X.shape[1],) * 2, PSD=True), cp.Variable()
    spent, far = cp.sum(distances(differences(X, similar), M)), distances(differences(X, dissimilar), M)
    return cp.Problem(cp.Maximize(least), [far >= least, spent <= 1])


# 5: SDML --------------------------------------------------------------------------------------------------------------


def no_risk(X: np.ndarray, cone: Cone) -> SeparableRisk:
    """A risk that is zero: a hinge at margin 0 of a distance, for problems that have no sum of losses."""
    return SeparableRisk(PairDistances(X, [[0, 1]], np.ones(1), cone), BoxLoss.hinge(np.ones(1), np.zeros(1)))


@method(5, "SDML", "Qi, Tang, Zha, Chua and Zhang, ICML 2009", "LogDet + EntrywiseL1 + G", blocks=(no_risk,))
def sdml():
    """Minimise tr M - ln det M + lambda sum_{i != j} |M_ij| + eta (sum_S d - sum_D d) over M >= 0."""
    X, y = points()
    similar, dissimilar = (differences(X, of) for of in pairs(y, 150))
    cone = PSDCone(X.shape[1])
    omega = EntrywiseL1(0.1, LogDet(cone.identity()), diagonal=False)
    G = 0.001 * (similar.T @ similar - dissimilar.T @ dissimilar)
    return cm.MetricProblem(no_risk(X, cone), omega, G, constant=cone.d)


@sdml.in_cvxpy
def _sdml_in_cvxpy():
    X, y = points()
    similar, dissimilar = pairs(y, 150)
    M = cp.Variable((X.shape[1],) * 2, PSD=True)
    pull = cp.sum(distances(differences(X, similar), M)) - cp.sum(distances(differences(X, dissimilar), M))
    off = cp.sum(cp.abs(cp.multiply(1 - np.eye(M.shape[0]), M)))
    return cp.Problem(cp.Minimize(cp.trace(M) - cp.log_det(M) + 0.1 * off + 0.001 * pull))


# 16: regression of distances ------------------------------------------------------------------------------------------


def targets() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Points of wine, pairs, signs of their distances, and the distances that they should have: 5 and 20."""
    X, y = points()
    similar, dissimilar = pairs(y, 150)
    listed = np.vstack([similar, dissimilar])
    return X, listed, np.ones(len(listed)), np.repeat([5.0, 20.0], [len(similar), len(dissimilar)])


@method(16, "pinball regression", "Koenker and Bassett, Econometrica 1978", "BoxLoss + SquaredFrobenius")
def pinball():
    """Minimise 1/T sum_t max(q (y_t - d_t), (q - 1)(y_t - d_t)) + lambda/2 ||M||^2 over M >= 0, with q = 0.9."""
    X, listed, signs, y = targets()
    share = np.ones(len(y)) / len(y)
    loss = BoxLoss(offset=y, low=-0.1 * share, high=0.9 * share, curvature=np.zeros(len(y)))
    return cm.MetricProblem(
        SeparableRisk(PairDistances(X, listed, signs, PSDCone(X.shape[1])), loss), SquaredFrobenius(1.0)
    )


@pinball.in_cvxpy
def _pinball_in_cvxpy():
    X, listed, _, y = targets()
    M = cp.Variable((X.shape[1],) * 2, PSD=True)
    left = y - distances(differences(X, listed), M)
    return cp.Problem(cp.Minimize(cp.sum(cp.maximum(0.9 * left, -0.1 * left)) / len(y) + 0.5 * cp.sum_squares(M)))


@method(16, "Huber regression", "Huber, Ann. Math. Stat. 1964", "BoxLoss + SquaredFrobenius")
def huber():
    """Minimise 1/T sum_t h(y_t - d_t) + lambda/2 ||M||^2 over M >= 0; h(r) = r^2/2 up to |r| = 2, then linear."""
    X, listed, signs, y = targets()
    T = float(len(y))
    loss = BoxLoss(offset=y, low=np.full(len(y), -2.0 / T), high=np.full(len(y), 2.0 / T), curvature=np.full(len(y), T))
    return cm.MetricProblem(
        SeparableRisk(PairDistances(X, listed, signs, PSDCone(X.shape[1])), loss), SquaredFrobenius(1.0)
    )


@huber.in_cvxpy
def _huber_in_cvxpy():
    X, listed, _, y = targets()
    M = cp.Variable((X.shape[1],) * 2, PSD=True)
    left = y - distances(differences(X, listed), M)
    return cp.Problem(cp.Minimize(cp.sum(cp.huber(left, 2.0)) / (2 * len(y)) + 0.5 * cp.sum_squares(M)))
