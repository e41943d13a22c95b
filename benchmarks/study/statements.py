r"""Objectives of other packages' estimators, as their code defines them, stated by blocks and evaluated by plain NumPy.

M is a full metric, v = x_i - x_j, and d(v) = v^T M v. D(M, P) = tr(M P^-1) - log det(M P^-1) - d >= 0 is the
log-determinant divergence.

LMNN, of metric-learn and pyDML
    ``(1 - mu) sum d(i, j) + mu sum max(0, 1 + d(i, j) - d(i, l))``, j one of the k target neighbours of i, l all points
    of other classes.
ITML
    ``D(M, I) + gamma (sum_S h+(d / u) + sum_D h-(d / l))``, h(t) = t - ln t - 1 above t = 1 (+) or below (-), else 0.
SDML
    ``D(M, I) + lambda sum_{a != b} |M_ab| + eta sum_t r_t d(v_t)``, r = 1 for similar pairs and -1 for others.
MMC, and LSI of pyDML, of all pairs
    maximise ``sum_D sqrt(d)`` where ``sum_S d`` is at most a hundredth of what it is under the identity.
LSML
    ``D(M, I) + 1/T sum_t max(0, sqrt(d(a_t)) - sqrt(d(b_t)))^2``. With a = d(a_t) and b = d(b_t) a term is b phi(a / b)
    with the convex phi(r) = max(0, sqrt(r) - 1)^2: a perspective of a convex function, so that the sum is convex in M.
RCA
    ``D(M, C^-1)``, C the mean scatter of points around the mean of their chunk.
MCML
    ``sum_i sum_S(i) (d(i, j) + ln sum_{k != i} exp -d(i, k))``, S(i) the other points of i's class.
LDML
    ``sum_S ln(1 + exp(d - b)) + sum_D ln(1 + exp(b - d))`` over ordered pairs.
DML-eig
    maximise ``-ln mean_D exp(-d / mu)`` where ``<A, M> <= 1``, A the scatter of similar pairs.
Triplets
    mean of ``max(0, 1 + d(i, j) - d(i, l))`` and ``decay / 2 tr M``.
InfoNCE
    mean of ``d(i, j) + ln sum_c exp -d(i, c)`` over the listed candidates c of i, j among them, and ``decay / 2 tr M``.

SDML and LSML are given with the constant -d, which their code leaves out: without the pull of pairs 0 is the least.
DML-eig's mean is a sum in its code, and its function in units of mu: so M = 0 is worth 0. LDML's pairs of a point with
itself, which are constant, are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

import convexmetric as cm
from convexmetric.comparisons import PairDistances, Rankings, Relevance, Triplets
from convexmetric.cones import PSDCone
from convexmetric.described import Described
from convexmetric.losses import BoxLoss, Logistic, NegativeRoot
from convexmetric.regularizers import Budget, EntrywiseL1, LogDet, Trace, Zero
from convexmetric.risks import ChoiceRisk, PairwiseRisk, SeparableRisk, SoftmaxRisk
from convexmetric.risks.base import tangent_dual
from convexmetric.risks.dual_points import CutDual

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
        The metric that is judged in place of one: scaled so that it spends the budget, where there is one.
    inside : callable, optional
        The metric on the features of what DML-eig returns as such, its variable on whitened points.
    rules : path or tuple
        Rules of proof that the kernel does not have.
    maximum : bool
        Whether the method maximises minus the cost.
    metric : array, optional
        The optimum on the features where ``problem`` does not have it as its own.
    certificate : Certificate, optional
        A solution and a dual point of ``problem``, where they are not left to a solver.
    """

    cost: Callable[[Array], float]
    problem: cm.MetricProblem
    variable: Callable[[Array], Array] = lambda M: M
    on_features: Callable[[Array], Array] = lambda M: M
    feasible: Callable[[Array], Array] = lambda M: M
    inside: Callable[[Array], Array] | None = None
    rules: Any = ()
    maximum: bool = False
    metric: Array | None = None
    certificate: Any = None


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


def descended(cost: Callable[[Array], float], slopes: Callable[[Array], Array], d: int) -> Array:
    """A metric of nearly the least cost, by L-BFGS on a full factor from the identity."""

    def at_factor(flat: Array) -> tuple[float, Array]:
        L = flat.reshape(d, d)
        M = L.T @ L
        return cost(M), (2.0 * L @ slopes(M)).ravel()

    found = minimize(
        at_factor,
        np.eye(d).ravel(),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 3000, "gtol": 1e-9, "ftol": 1e-14},
    )
    L = found.x.reshape(d, d)
    return L.T @ L


def spending(A: Array) -> Callable[[Array], Array]:
    """Scale metrics so that ``<A, M> = 1``."""
    return lambda M: M / max(float(np.sum(A * M)), np.finfo(float).tiny)


def mmc(X: Array, pairs: Array, r: Array) -> Statement:
    """Metric learning for clustering, from the identity."""
    V = X[pairs[:, 0]] - X[pairs[:, 1]]
    near, far = V[r == 1], V[r == -1]
    spent = 100.0 * near.T @ near / np.sum(near**2)

    def cost(M: Array) -> float:
        return -float(np.sqrt(squared(far, M)).sum())

    compared = PairDistances(X, pairs[r == -1], np.ones(len(far)), PSDCone(X.shape[1]))
    problem = cm.MetricProblem(SeparableRisk(compared, NegativeRoot()), Budget(spent))
    return Statement(cost, problem, feasible=spending(spent), maximum=True)


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

    def slopes(M: Array) -> Array:
        p, q = shares(M)
        return np.eye(d) - np.linalg.inv(M) + (A.T * p) @ A - (B.T * q) @ B

    best = descended(cost, slopes, d)
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


def all_pairs(y: Array) -> tuple[Array, Array]:
    """Every pair of points once, and 1 for those of one class, -1 for others."""
    pairs = np.column_stack(np.triu_indices(len(y), 1))
    return pairs, np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)


def mcml(X: Array, y: Array) -> Statement:
    """Maximally collapsing classes, with the sum of pyDML's code, by blocks on points that are whitened within classes.

    Nothing holds metrics back, so that a dual point is one only where no slope is negative. The tangent at the optimum,
    where some are zero but for rounding, is mixed with a little of one at a multiple of the identity.
    """
    n, d = X.shape
    same = y[:, None] == y
    near = same & ~np.eye(n, dtype=bool)
    counts = near.sum(axis=1)
    of_features = (X[:, None] - X).reshape(n * n, d)
    K = np.linalg.cholesky(np.cov(of_features[near.ravel()].T, bias=True) + 1e-12 * np.eye(d))
    back = np.linalg.inv(K)
    Z = (X - X.mean(axis=0)) @ back.T
    V = (Z[:, None] - Z).reshape(n * n, d)

    def softmax(V: Array, M: Array) -> tuple[float, Array]:
        t = squared(V, M).reshape(n, n)
        np.fill_diagonal(t, np.inf)
        least = t.min(axis=1)
        p = np.exp(least[:, None] - t)
        sums = p.sum(axis=1)
        return float(t[near].sum() + counts @ (np.log(sums) - least)), p / sums[:, None]

    def slopes(N: Array) -> Array:
        w = near - counts[:, None] * softmax(V, N)[1]
        return (V.T * w.ravel()) @ V

    relevance = Relevance.from_lists(
        [np.flatnonzero(row) for row in near], [np.flatnonzero(~row) for row in same], n, n
    )
    rankings = Rankings(Z, Z, relevance, PSDCone(d))
    problem = cm.MetricProblem(SoftmaxRisk(rankings, weights=counts.astype(float)), Zero())
    best = descended(lambda N: softmax(V, N)[0], slopes, d)
    # Far from the origin the nearest neighbour has all of the probability, and is nearer than the others on average.
    found = [t * np.eye(d) for t in 2.0 ** np.arange(12) if np.linalg.eigvalsh(slopes(t * np.eye(d)))[0] > 0.0]
    certificate = None
    if found:
        at_best, away = slopes(best), slopes(found[0])
        share = 2.0**-40
        while (
            share < 1.0 and np.linalg.eigvalsh((1.0 - share) * at_best + share * away)[0] <= 1e-12 * np.abs(away).max()
        ):
            share *= 2.0
        dual = CutDual(np.array([best, found[0]]), np.array([[1.0 - share], [share]]), np.zeros(n, dtype=np.int64))
        certificate = cm.certify(problem, best, dual)
    return Statement(
        lambda M: softmax(of_features, M)[0],
        problem,
        lambda M: K.T @ M @ K,
        lambda N: back.T @ N @ back,
        certificate=certificate,
    )


@dataclass(frozen=True)
class ShiftedLogistic(Logistic):
    """``C log(1 + exp(mu - s))`` for each comparison, mu the threshold times its sign.

    Attributes
    ----------
    threshold : float
    signs : tuple of float
        Of the comparisons.
    """

    threshold: float = 0.0
    signs: tuple[float, ...] = ()

    @property
    def margins(self) -> Array:
        """mu of every comparison."""
        return self.threshold * np.array(self.signs)

    def described(self, signs: Array) -> Described:
        """C and mu of every comparison, by the rule in ``rules.py``."""
        return Described(
            {"loss": "shifted logistic"}, {"weights": np.full(len(signs), self.C), "margins": self.threshold * signs}
        )

    def values(self, s: Array) -> Array:
        """``C log(1 + exp(mu - s))``."""
        return super().values(s - self.margins)

    def subgradient(self, s: Array) -> Array:
        """``C / (1 + exp(s - mu))``."""
        return super().subgradient(s - self.margins)

    def curvature(self, s: Array) -> Array:
        """``C p (1 - p)``, p the share of the subgradient."""
        return super().curvature(s - self.margins)

    def dual_values(self, u: Array) -> Array:
        """``C H(u / C) + u mu``."""
        return super().dual_values(u) + u * self.margins

    def dual_slopes(self, u: Array) -> Array:
        """``log((C - u) / u) + mu``."""
        return super().dual_slopes(u) + self.margins

    def statement(self, s: Any) -> Any:
        """CVXPY: the logistic loss of ``s - mu``."""
        return super().statement(s - self.margins)


def ldml(X: Array, y: Array, threshold: float = 1e-3) -> Statement:
    """Logistic discriminant metric learning, by blocks on points that are whitened within classes.

    Nothing holds metrics back, as in :func:`mcml`: shares of dissimilar pairs are lowered until no slope is negative.
    """
    pairs, r = all_pairs(y)
    V, d = X[pairs[:, 0]] - X[pairs[:, 1]], X.shape[1]
    K = np.linalg.cholesky(V[r == 1].T @ V[r == 1] / np.sum(r == 1) + 1e-12 * np.eye(d))
    back = np.linalg.inv(K)
    W = V @ back.T

    def at(V: Array, M: Array) -> float:
        return 2.0 * float(np.logaddexp(0.0, r * (squared(V, M) - threshold)).sum())

    def shares(N: Array) -> Array:
        return 2.0 * expit(r * (squared(W, N) - threshold))

    best = descended(lambda N: at(W, N), lambda N: (W.T * (r * shares(N))) @ W, d)
    u = shares(best)
    for share in 2.0 ** np.arange(-40.0, 0.0):
        lowered = np.where(r == 1, u, (1.0 - share) * u)
        w = np.linalg.eigvalsh((W.T * (r * lowered)) @ W)
        if w[0] >= 1e-12 * w[-1]:
            break
    signs = -r.astype(float)
    compared = PairDistances((X - X.mean(axis=0)) @ back.T, pairs, signs, PSDCone(d))
    problem = cm.MetricProblem(SeparableRisk(compared, ShiftedLogistic(2.0, threshold, tuple(signs))), Zero())
    return Statement(
        lambda M: at(V, M),
        problem,
        lambda M: K.T @ M @ K,
        lambda N: back.T @ N @ back,
        rules=Path(__file__).with_name("rules.py"),
        certificate=cm.certify(problem, best, lowered),
    )


def dml_eig(X: Array, near: Array, far: Array, mu: float = 1e-4) -> Statement:
    """Eigenvalue optimization, with the pairs of pyDML's code: the softened least distance of whitened points.

    Minus the logarithm of a sum is a choice of its first summand, but for a linear term.
    """
    V, U = (X[pairs[:, 0]] - X[pairs[:, 1]] for pairs in (near, far))
    A = V.T @ V
    w, Q = np.linalg.eigh(A)
    root, back = (Q * np.sqrt(w)) @ Q.T, (Q / np.sqrt(w)) @ Q.T

    def cost(M: Array) -> float:
        s = -squared(U, M) / mu
        return float(np.log(np.mean(np.exp(s - s.max()))) + s.max())

    Z, d = X @ back / np.sqrt(mu), X.shape[1]
    W = Z[far[:, 0]] - Z[far[:, 1]]

    def scaled(N: Array) -> float:
        return cost(back @ N @ back / np.trace(N))

    def slopes(N: Array) -> Array:
        s = -squared(W, N) / np.trace(N)
        p = np.exp(s - s.max())
        G = -(W.T * (p / p.sum())) @ W / np.trace(N)
        return G - np.sum(G * N) / np.trace(N) * np.eye(d)

    best = descended(scaled, slopes, d)
    best /= np.trace(best)
    risk = ChoiceRisk(PairDistances(Z, far, np.ones(len(far)), PSDCone(d)), len(far))
    problem = cm.MetricProblem(risk, Budget(np.eye(d)), -np.outer(W[0], W[0]), constant=-np.log(len(far)))
    return Statement(
        cost,
        problem,
        lambda M: root @ M @ root,
        lambda M: back @ M @ back,
        feasible=spending(A),
        inside=lambda M: back @ M @ back,
        maximum=True,
        certificate=cm.certify(problem, best, tangent_dual(risk, best)),
    )


def triplets(X: Array, listed: Array, decay: float) -> Statement:
    """The triplet margin loss of PyTorch on squared distances, with its weight decay."""
    near, far = (X[listed[:, 0]] - X[listed[:, c]] for c in (1, 2))

    def cost(M: Array) -> float:
        missed = np.maximum(0.0, 1.0 + squared(near, M) - squared(far, M))
        return float(missed.mean() + 0.5 * decay * np.trace(M))

    compared = Triplets(X, listed, PSDCone(X.shape[1]))
    loss = BoxLoss.hinge(np.full(len(listed), 1.0 / len(listed)), np.ones(len(listed)))
    return Statement(cost, cm.MetricProblem(SeparableRisk(compared, loss), Trace(0.5 * decay)))


def infonce(X: Array, listed: Array, decay: float) -> Statement:
    """Cross-entropy of the first of listed candidates, after the anchor in each row, with weight decay."""
    T, c = listed.shape[0], listed.shape[1] - 1
    pairs = np.column_stack([np.repeat(listed[:, 0], c), listed[:, 1:].ravel()])
    V = X[pairs[:, 0]] - X[pairs[:, 1]]

    def cost(M: Array) -> float:
        d = squared(V, M).reshape(T, c)
        least = d.min(axis=1)
        logs = np.log(np.exp(least[:, None] - d).sum(axis=1)) - least
        return float((d[:, 0] + logs).mean() + 0.5 * decay * np.trace(M))

    compared = PairDistances(X, pairs, np.ones(len(pairs)), PSDCone(X.shape[1]))
    return Statement(cost, cm.MetricProblem(ChoiceRisk(compared, c, C=1.0 / T), Trace(0.5 * decay)))


def stated(method: str, X: Array, y: Array, parts: dict[str, Any], options: dict[str, Any]) -> Statement:
    """The objective of a method, from what its fit left in ``parts``."""
    made: dict[str, Callable[[], Statement]] = {
        "LMNN": lambda: lmnn(X, y, parts["targets"], 1.0 - options.get("regularization", 0.5)),
        "ITML": lambda: itml(X, parts["pairs"], parts["r"], parts["bounds"], options.get("gamma", 1.0)),
        "SDML": lambda: sdml(X, parts["pairs"], parts["r"], options.get("balance_param", 0.5)),
        "MMC": lambda: mmc(X, parts["pairs"], parts["r"]),
        "LSML": lambda: lsml(X, parts["quadruplets"]),
        "RCA": lambda: rca(X, parts["chunks"]),
        "LSI": lambda: mmc(X, *all_pairs(y)),
        "MCML": lambda: mcml(X, y),
        "LDML": lambda: ldml(X, y),
        "DML_eig": lambda: dml_eig(X, parts["near"], parts["far"]),
        "triplet": lambda: triplets(X, parts["listed"], options["weight_decay"]),
        "InfoNCE": lambda: infonce(X, parts["listed"], options["weight_decay"]),
    }
    return made[method.removeprefix("pyDML-").removeprefix("torch-").partition("-")[0]]()
