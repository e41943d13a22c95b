"""Methods that learn from triplets "i is closer to j than to k", or from comparisons of two pairs."""

from __future__ import annotations

from dataclasses import dataclass

import cvxpy as cp
import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import NearestNeighbors

import convexmetric as cm
from convexmetric.comparisons import Rankings, Relevance, Triplets
from convexmetric.cones import AllMatrices, BlockDiagonal, NonnegativeDiagonal, PSDCone, shared_points
from convexmetric.described import Described
from convexmetric.losses import BoxLoss, Hinge, SmoothLoss
from convexmetric.regularizers import LogDet, SquaredDistance, SquaredFrobenius, Trace
from convexmetric.risks import PairwiseRisk, SeparableRisk, SmoothSeparableRisk
from foreign.data import differences, pairs, points, triplets
from foreign.method import method


def margins(X: np.ndarray, listed: np.ndarray, M: cp.Expression) -> cp.Expression:
    """``d_M(i, k) - d_M(i, j)`` of triplets, in CVXPY."""
    near, far = differences(X, listed[:, :2]), differences(X, listed[:, ::2])
    return cp.sum(cp.multiply(far @ M, far) - cp.multiply(near @ M, near), axis=1)


# 4: BoostMetric -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Exponential(SmoothLoss):
    """C e^-s, with -l*(-u) = u - u ln(u / C)."""

    C: float
    nonnegative = True

    def values(self, s):
        return self.C * np.exp(-s)

    def subgradient(self, s):
        return self.C * np.exp(-s)

    def curvature(self, s):
        return self.C * np.exp(-s)

    def clip(self, u):
        return np.maximum(u, 0.0)

    def dual_values(self, u):
        return u - u * np.log(np.where(u > 0.0, u, 1.0) / self.C)

    def statement(self, s):
        xi = cp.Variable(s.shape)
        return self.C * cp.sum(cp.exp(-xi)), s >= xi

    def described(self, signs):
        return Described({"loss": "exponential"}, {"weights": np.full(len(signs), self.C), "margins": 0.0 * signs})


@method(
    4, "BoostMetric", "Shen, Kim, Wang and van den Hengel, JMLR 2012", "own SmoothLoss + Trace", blocks=(Exponential,)
)
def boost_metric():
    """Minimise 1/T sum_t e^-s_t + lambda tr M over M >= 0, by the loss of boosting."""
    X, y = points()
    listed = triplets(y, 300)
    loss = Exponential(1.0 / len(listed))
    return cm.MetricProblem(SmoothSeparableRisk(Triplets(X, listed, PSDCone(X.shape[1])), loss), Trace(0.1))


@boost_metric.in_cvxpy
def _boost_metric_in_cvxpy():
    X, y = points()
    listed = triplets(y, 300)
    M = cp.Variable((X.shape[1],) * 2, PSD=True)
    return cp.Problem(cp.Minimize(cp.sum(cp.exp(-margins(X, listed, M))) / len(listed) + 0.1 * cp.trace(M)))


# 8: multi-task LMNN ---------------------------------------------------------------------------------------------------


def tasks() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Digits 0 to 4 and 5 to 9 as two tasks: points, tasks, pairs of target neighbours, and triplets."""
    X, y = points("digits", ("pca:6", "zscore"))
    X, y = X[:200], y[:200]
    task, targets, rows = (y >= 5).astype(int), [], []
    for i in range(len(X)):
        d = ((X - X[i]) ** 2).sum(axis=1)
        near = [j for j in np.argsort(d) if y[j] == y[i] and j != i][:1]
        others = [k for k in np.argsort(d) if y[k] != y[i] and task[k] == task[i]][:3]
        targets += [(i, j) for j in near]
        rows += [(i, j, k) for j in near for k in others]
    return X, task, np.array(targets), np.array(rows)


@method(8, "mt-LMNN", "Parameswaran and Weinberger, NIPS 2010", "shared_points + BlockDiagonal + SquaredDistance + G")
def mt_lmnn():
    """Minimise gamma/2 (||M_0 - I||^2 + sum_t ||M_t||^2) + sum d_t(i, j) + sum max(0, 1 - s) over M_0, M_t >= 0.

    Distances of task t are those under M_0 + M_t.
    """
    X, task, targets, rows = tasks()
    d = X.shape[1]
    cone, Z = BlockDiagonal([d, d, d]), shared_points(X, task)
    pulled = differences(Z, targets)
    G = cone.element(sum(cone.outer(v) for v in pulled))
    prior = np.diag(np.repeat([1.0, 0.0, 0.0], d))
    return cm.MetricProblem(SeparableRisk(Triplets(Z, rows, cone), Hinge(1.0)), SquaredDistance(10.0, prior), G)


@mt_lmnn.in_cvxpy
def _mt_lmnn_in_cvxpy():
    X, task, targets, rows = tasks()
    shared, *own = (cp.Variable((X.shape[1],) * 2, PSD=True) for _ in range(3))
    cost = 5.0 * (cp.sum_squares(shared - np.eye(X.shape[1])) + sum(cp.sum_squares(one) for one in own))
    for t, one in enumerate(own):
        V, here = differences(X, targets[task[targets[:, 0]] == t]), rows[task[rows[:, 0]] == t]
        cost += cp.sum(cp.multiply(V @ (shared + one), V)) + cp.sum(cp.pos(1 - margins(X, here, shared + one)))
    return cp.Problem(cp.Minimize(cost))


# 9: SCML --------------------------------------------------------------------------------------------------------------


def bases() -> np.ndarray:
    """Directions of linear discriminants around 300 points of breast cancer, each from the 50 nearest of a class."""
    X, y = points("breast-cancer")
    found = []
    for i in np.random.default_rng(0).choice(len(X), 300, replace=False):
        near = [
            of[NearestNeighbors(n_neighbors=50).fit(X[of]).kneighbors(X[[i]])[1][0]]
            for of in (np.flatnonzero(y == 0), np.flatnonzero(y == 1))
        ]
        rows = np.concatenate(near)
        w = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.1).fit(X[rows], y[rows]).coef_[0]
        found.append(w / np.linalg.norm(w))
    return np.array(found)


@method(9, "SCML", "Shi, Bellet and Sha, AAAI 2014", "NonnegativeDiagonal on X B' + Trace", slow=True)
def scml():
    """Minimise 1/T sum_t max(0, 1 - s_t) + beta sum_i w_i over w >= 0, with M = sum_i w_i b_i b_i^T."""
    X, y = points("breast-cancer")
    compared = Triplets(X @ bases().T, triplets(y, 500), NonnegativeDiagonal(300))
    return cm.MetricProblem(SeparableRisk(compared, Hinge(1.0 / len(compared))), Trace(0.01))


@scml.in_cvxpy
def _scml_in_cvxpy():
    X, y = points("breast-cancer")
    B, listed, w = bases(), triplets(y, 500), cp.Variable(300, nonneg=True)
    Z = X @ B.T
    s = (differences(Z, listed[:, ::2]) ** 2 - differences(Z, listed[:, :2]) ** 2) @ w
    return cp.Problem(cp.Minimize(cp.sum(cp.pos(1 - s)) / len(listed) + 0.01 * cp.sum(w)))


# 11: OASIS ------------------------------------------------------------------------------------------------------------


def similarity_risk(X: np.ndarray, listed: np.ndarray) -> PairwiseRisk:
    """1/T sum_t max(0, 1 - q^T W (x - x')): every triplet is a query with one item on each side."""
    relevance = Relevance.from_lists(list(listed[:, 1:2]), list(listed[:, 2:]), len(listed), len(X))
    rankings = Rankings(X, X, relevance, AllMatrices(X.shape[1]), anchors=listed[:, 0])
    return PairwiseRisk(rankings, np.full(len(listed), 1.0 / len(listed)), 1.0)


def similarity_risk_in_cvxpy(X: np.ndarray, listed: np.ndarray, W: cp.Expression) -> cp.Expression:
    """The same in CVXPY."""
    s = cp.sum(cp.multiply(X[listed[:, 0]] @ W, differences(X, listed[:, 1:])), axis=1)
    return cp.sum(cp.pos(1 - s)) / len(listed)


@method(
    11,
    "OASIS",
    "Chechik, Sharma, Shalit and Bengio, JMLR 2010",
    "AllMatrices + PairwiseRisk",
    blocks=(similarity_risk,),
)
def oasis():
    """Minimise lambda/2 ||W||^2 + 1/T sum_t max(0, 1 - q^T W (x - x')) over all matrices W."""
    X, y = points()
    return cm.MetricProblem(similarity_risk(X, triplets(y, 300)), SquaredFrobenius(0.1))


@oasis.in_cvxpy
def _oasis_in_cvxpy():
    X, y = points()
    W = cp.Variable((X.shape[1],) * 2)
    return cp.Problem(cp.Minimize(0.05 * cp.sum_squares(W) + similarity_risk_in_cvxpy(X, triplets(y, 300), W)))


@method(
    11, "OASIS, nuclear norm", "the same, of low rank", "AllMatrices + PairwiseRisk + Trace", blocks=(similarity_risk,)
)
def oasis_low_rank():
    """Minimise lambda ||W||_* + 1/T sum_t max(0, 1 - q^T W (x - x')) over all matrices W, whose trace norm is Trace."""
    X, y = points()
    return cm.MetricProblem(similarity_risk(X, triplets(y, 300)), Trace(0.1))


@oasis_low_rank.in_cvxpy
def _oasis_low_rank_in_cvxpy():
    X, y = points()
    W = cp.Variable((X.shape[1],) * 2)
    return cp.Problem(cp.Minimize(0.1 * cp.normNuc(W) + similarity_risk_in_cvxpy(X, triplets(y, 300), W)))


# 12: a graph Laplacian ------------------------------------------------------------------------------------------------


@method(12, "graph Laplacian", "M a Laplacian of the features", "NonnegativeDiagonal on differences of features")
def laplacian():
    """Minimise 1/T sum_t max(0, 1 - s_t) + lambda tr M over M = sum_ij w_ij (e_i - e_j)(e_i - e_j)^T, w >= 0."""
    X, y = points()
    i, j = np.triu_indices(X.shape[1], 1)
    compared = Triplets(X[:, i] - X[:, j], triplets(y, 300), NonnegativeDiagonal(len(i)))
    return cm.MetricProblem(SeparableRisk(compared, Hinge(1.0 / len(compared))), Trace(2 * 0.01))


@laplacian.in_cvxpy
def _laplacian_in_cvxpy():
    X, y = points()
    listed, d = triplets(y, 300), X.shape[1]
    M = cp.Variable((d, d), symmetric=True)
    laplacian = [cp.sum(M, axis=1) == 0, M[np.triu_indices(d, 1)] <= 0]
    return cp.Problem(
        cp.Minimize(cp.sum(cp.pos(1 - margins(X, listed, M))) / len(listed) + 0.01 * cp.trace(M)), laplacian
    )


# 15: LSML -------------------------------------------------------------------------------------------------------------


def two_pairs() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points of wine, and as many pairs that should be near as pairs that should be farther."""
    X, y = points()
    return X, *pairs(y, 200)


@method(15, "LSML", "Liu, Guo, Boxley and Zhou, ICDM 2012", "Triplets of differences + BoxLoss + LogDet")
def lsml():
    """Minimise D_ld(M, I) + 1/T sum_t max(0, 1 + d(i, j) - d(k, l))^2 over M >= 0, for squared distances d.

    A pair of pairs is a triplet of the origin and two differences.
    """
    X, near, far = two_pairs()
    T, d = len(near), X.shape[1]
    V = np.vstack([np.zeros((1, d)), differences(X, near), differences(X, far)])
    compared = Triplets(
        V, np.column_stack([np.zeros(T, int), np.arange(1, T + 1), np.arange(T + 1, 2 * T + 1)]), PSDCone(d)
    )
    loss = BoxLoss(offset=np.ones(T), low=np.zeros(T), high=np.full(T, np.inf), curvature=np.full(T, T / 2.0))
    return cm.MetricProblem(SeparableRisk(compared, loss), LogDet(np.eye(d)))


@lsml.in_cvxpy
def _lsml_in_cvxpy():
    X, near, far = two_pairs()
    V, W, d = differences(X, near), differences(X, far), X.shape[1]
    M = cp.Variable((d, d), PSD=True)
    missed = cp.pos(1 + cp.sum(cp.multiply(V @ M, V) - cp.multiply(W @ M, W), axis=1))
    return cp.Problem(cp.Minimize(cp.trace(M) - cp.log_det(M) - d + cp.sum_squares(missed) / len(V)))
