r"""Objectives of other packages' estimators, as their code defines them, stated by blocks and evaluated by plain NumPy.

M is a full metric, v = x_i - x_j, and d(v) = v^T M v. D(M, P) = tr(M P^-1) - log det(M P^-1) - d >= 0 is the
log-determinant divergence.

LMNN, of both packages
    ``(1 - mu) sum d(i, j) + mu sum max(0, 1 + d(i, j) - d(i, l))``, j one of the k target neighbours of i, l all points
    of other classes.
ITML
    ``D(M, I) + gamma (sum_S h+(d / u) + sum_D h-(d / l))``, h(t) = t - ln t - 1 above t = 1 (+) or below (-), else 0.
SDML
    ``D(M, I) + lambda sum_{a != b} |M_ab| + eta sum_t r_t d(v_t)``, r = 1 for similar pairs and -1 for others.
MMC
    maximise ``sum_D sqrt(d)`` where ``sum_S d`` is at most a hundredth of what it is under the identity.
LSML
    ``D(M, I) + 1/T sum_t max(0, sqrt(d(a_t)) - sqrt(d(b_t)))^2``. With a = d(a_t) and b = d(b_t) a term is b phi(a / b)
    with the convex phi(r) = max(0, sqrt(r) - 1)^2: a perspective of a convex function, so that the sum is convex in M.
RCA
    ``D(M, C^-1)``, C the mean scatter of points around the mean of their chunk.

SDML and LSML are given with the constant -d, which their code leaves out: without the pull of pairs 0 is the least.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

import convexmetric as cm
from convexmetric.comparisons import PairDistances, Rankings, Relevance
from convexmetric.cones import PSDCone
from convexmetric.losses import BoxLoss, NegativeRoot
from convexmetric.regularizers import Budget, EntrywiseL1, LogDet, Trace
from convexmetric.risks import PairwiseRisk, SeparableRisk

Array = np.ndarray


@dataclass(frozen=True)
class Statement:
    """What an estimator minimises.

    Attributes
    ----------
    cost : callable
        The objective at a metric on the features, by plain NumPy; negative for MMC, which maximises.
    problem : MetricProblem
        The same by blocks; for LSML a problem that is nowhere larger.
    variable, on_features : callable
        The variable of ``problem`` for a metric on the features, and back.
    feasible : callable
        The metric that is judged in place of one: MMC's scaled so that it spends its budget.
    maximum : bool
        Whether the method maximises minus the cost.
    metric : array, optional
        The optimum on the features where ``problem`` does not have it as its own.
    """

    cost: Callable[[Array], float]
    problem: cm.MetricProblem
    variable: Callable[[Array], Array] = lambda M: M
    on_features: Callable[[Array], Array] = lambda M: M
    feasible: Callable[[Array], Array] = lambda M: M
    maximum: bool = False
    metric: Array | None = None


def squared(V: Array, M: Array) -> Array:
    """Squared distances ``v^T M v`` of rows."""
    return np.maximum(np.einsum("ij,jk,ik->i", V, M, V), 0.0)


def divergence(M: Array, inverse: Array) -> float:
    """``D(M, P)`` with the inverse of P; infinite where M is singular."""
    sign, logdet = np.linalg.slogdet(M @ inverse)
    return float(np.sum(M * inverse) - logdet - len(M)) if sign > 0 else np.inf


def nothing(X: Array) -> SeparableRisk:
    """A risk that is zero, for objectives without a sum of losses: the hinge at margin 0 of a distance."""
    far = np.array([[0, int(np.argmax(((X - X[0]) ** 2).sum(axis=1)))]])
    compared = PairDistances(X, far, np.ones(1), PSDCone(X.shape[1]))
    return SeparableRisk(compared, BoxLoss.hinge(np.ones(1), np.zeros(1)))


def lmnn(X: Array, y: Array, targets: Array, push: float = 0.5) -> Statement:
    """Large margin nearest neighbours with given target neighbours, ``(n, k)``.

    With ``(1 - push) G = K K^T`` of the pairs of target neighbours the variable is K^T M K, whose trace is their pull.
    """
    n, k = targets.shape
    V = X[np.repeat(np.arange(n), k)] - X[targets.ravel()]
    K = np.linalg.cholesky((1.0 - push) * V.T @ V)
    others = [np.flatnonzero(y != label) for label in y]

    def cost(M: Array) -> float:
        total = (1.0 - push) * squared(V, M).sum()
        for i in range(n):
            near, far = squared(X[i] - X[targets[i]], M), squared(X[i] - X[others[i]], M)
            total += push * np.maximum(0.0, 1.0 + near[:, None] - far).sum()
        return float(total)

    Z = np.linalg.solve(K, (X - X.mean(axis=0)).T).T
    rankings = Rankings(Z, Z, Relevance.from_lists(list(targets), others, n, n), PSDCone(X.shape[1]))
    problem = cm.MetricProblem(PairwiseRisk(rankings, np.full(n, push), 1.0), Trace(1.0))
    back = np.linalg.inv(K)
    return Statement(cost, problem, lambda M: K.T @ M @ K, lambda M: back.T @ M @ back)


def itml(X: Array, pairs: Array, r: Array, bounds: list[float], gamma: float = 1.0) -> Statement:
    """Information-theoretic metric learning with slacks; ``bounds`` are u and l, for squared distances."""
    V, ends = X[pairs[:, 0]] - X[pairs[:, 1]], np.where(r == 1, *bounds)

    def cost(M: Array) -> float:
        t = squared(V, M) / ends
        missed = np.where(r == 1, t > 1.0, t < 1.0)
        return divergence(M, np.eye(len(M))) + gamma * float((t - np.log(t) - 1.0)[missed].sum())

    u, l = bounds  # noqa: E741 - the paper's letter
    return Statement(cost, cm.InformationTheoreticProblem(X, pairs, r, u=u, l=l, gamma=gamma))


def sdml(X: Array, pairs: Array, r: Array, balance: float = 0.5, sparsity: float = 0.01) -> Statement:
    """Sparse metric learning."""
    V, d = X[pairs[:, 0]] - X[pairs[:, 1]], X.shape[1]
    G = balance * (V.T * r) @ V
    off = 1.0 - np.eye(d)

    def cost(M: Array) -> float:
        return divergence(M, np.eye(d)) + sparsity * float(np.sum(np.abs(M) * off)) + float(np.sum(G * M))

    omega = EntrywiseL1(sparsity, LogDet(np.eye(d)), diagonal=False)
    return Statement(cost, cm.MetricProblem(nothing(X), omega, 0.5 * (G + G.T)))


def falls_forever(X: Array, pairs: Array, r: Array, balance: float, sparsity: float) -> bool:
    """Whether SDML's objective falls without end along some v v^T that is easy to find: then it has no optimum."""
    V, d = X[pairs[:, 0]] - X[pairs[:, 1]], X.shape[1]
    S = np.eye(d) + balance * (V.T * r) @ V
    tried = [*np.eye(d), *np.linalg.eigh(S)[1].T]
    return any(v @ S @ v + sparsity * (np.abs(v).sum() ** 2 - v @ v) < -1e-9 * np.abs(S).max() for v in tried)


def mmc(X: Array, pairs: Array, r: Array) -> Statement:
    """Metric learning for clustering, from the identity."""
    V = X[pairs[:, 0]] - X[pairs[:, 1]]
    near, far = V[r == 1], V[r == -1]
    spent = 100.0 * near.T @ near / np.sum(near**2)

    def cost(M: Array) -> float:
        return -float(np.sqrt(squared(far, M)).sum())

    compared = PairDistances(X, pairs[r == -1], np.ones(len(far)), PSDCone(X.shape[1]))
    problem = cm.MetricProblem(SeparableRisk(compared, NegativeRoot()), Budget(spent))
    return Statement(
        cost,
        problem,
        feasible=lambda M: M / max(float(np.sum(spent * M)), np.finfo(float).tiny),
        maximum=True,
    )


def lsml(X: Array, quadruplets: Array) -> Statement:
    r"""Least squared residuals, with all weights 1/T, solved by L-BFGS on a factor, and what is below it everywhere.

    A term is :math:`\max_{0 \le p < 1} p\, a - \frac{p}{1 - p} b`: fixed p give an objective that is linear but for
    D(M, I) and nowhere above. At the p that attain the maxima at the optimum both have the same least value.
    """
    A, B = (X[quadruplets[:, c]] - X[quadruplets[:, c + 1]] for c in (0, 2))
    T, d = len(A), X.shape[1]

    def shares(M: Array) -> tuple[Array, Array]:
        a, b = squared(A, M), squared(B, M)
        p = np.clip(1.0 - np.sqrt(b / np.where(a > b, a, 1.0)), 0.0, 1.0 - 1e-9) * (a > b)
        return p / T, p / (1.0 - p) / T

    def cost(M: Array) -> float:
        missed = np.maximum(np.sqrt(squared(A, M)) - np.sqrt(squared(B, M)), 0.0)
        return divergence(M, np.eye(d)) + float(np.sum(missed**2)) / T

    def at_factor(flat: Array) -> tuple[float, Array]:
        L = flat.reshape(d, d)
        M = L.T @ L
        p, q = shares(M)
        gradient = np.eye(d) - np.linalg.inv(M) + (A.T * p) @ A - (B.T * q) @ B
        return cost(M), (2.0 * L @ gradient).ravel()

    found = minimize(at_factor, np.eye(d).ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 3000, "gtol": 1e-9})
    L = found.x.reshape(d, d)
    best = L.T @ L
    p, q = shares(best)
    G = (A.T * p) @ A - (B.T * q) @ B
    below = cm.MetricProblem(nothing(X), LogDet(np.eye(d)), 0.5 * (G + G.T))
    return Statement(cost, below, metric=best)


def rca(X: Array, chunks: Array) -> Statement:
    """Relevant components: the inverse of the scatter in chunks, which is the optimum itself."""
    rows = [X[chunks == c] - X[chunks == c].mean(axis=0) for c in range(chunks.max() + 1)]
    C = np.vstack(rows).T @ np.vstack(rows) / sum(map(len, rows))
    problem = cm.MetricProblem(nothing(X), LogDet(np.linalg.inv(C)))
    return Statement(lambda M: divergence(M, C), problem)


def stated(method: str, X: Array, y: Array, parts: dict[str, Any], options: dict[str, Any]) -> Statement:
    """The objective of a method, from what its fit left in ``parts``."""
    if method in ("LMNN", "pyDML-LMNN"):
        return lmnn(X, y, parts["targets"], 1.0 - options.get("regularization", 0.5))
    if method == "ITML":
        return itml(X, parts["pairs"], parts["r"], parts["bounds"], options.get("gamma", 1.0))
    if method == "SDML":
        return sdml(X, parts["pairs"], parts["r"], options.get("balance_param", 0.5))
    if method == "MMC":
        return mmc(X, parts["pairs"], parts["r"])
    if method == "LSML":
        return lsml(X, parts["quadruplets"])
    return rca(X, parts["chunks"])
