"""Thirty-three convex programs, made from seeds or from the data that come with scikit-learn."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass

import cvxpy as cp
import numpy as np
from sklearn import datasets

__all__ = ["PROGRAMS", "Program"]


@dataclass(frozen=True)
class Program:
    """A kind of convex program and how large it is in the table.

    Attributes
    ----------
    build : callable
        Takes a random generator and a size; returns the ``cvxpy.Problem``.
    size, small : int
        Size in the table and in the tests: points, assets, nodes, matrix order; each builder says which.
    """

    build: Callable[[np.random.Generator, int], cp.Problem]
    size: int
    small: int

    def problem(self, small: bool = False, seed: int | None = None) -> cp.Problem:
        """The program; the same one at every call, as the default of the seed is made from the builder's name."""
        seed = zlib.crc32(self.build.__name__.encode()) if seed is None else seed
        return self.build(np.random.default_rng(seed), self.small if small else self.size)


def standardized(loaded, rows: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Some rows of a data set, columns of mean 0 and deviation 1 (constant ones left out), and the targets."""
    chosen = rng.permutation(len(loaded.data))[:rows]
    X = loaded.data[chosen]
    X = X[:, X.std(axis=0) > 0.0]
    return (X - X.mean(axis=0)) / X.std(axis=0), loaded.target[chosen]


def diabetes(rng: np.random.Generator, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Ten standardized features and the standardized progression of the disease."""
    X, y = standardized(datasets.load_diabetes(scaled=False), rows, rng)
    return X, (y - y.mean()) / y.std()


def cancer(rng: np.random.Generator, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Thirty standardized features of tumours, and their class as -1 or 1."""
    X, y = standardized(datasets.load_breast_cancer(), rows, rng)
    return X, 2.0 * y - 1.0


def wine(rng: np.random.Generator, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Thirteen standardized features of wines, and their cultivar."""
    return standardized(datasets.load_wine(), rows, rng)


def graph(rng: np.random.Generator, nodes: int, degree: float) -> list[tuple[int, int]]:
    """Edges ``i < j`` of a random graph with a given mean degree, a path through all nodes included."""
    wanted = rng.random((nodes, nodes)) < degree / nodes
    return [(i, j) for i in range(nodes) for j in range(i + 1, nodes) if wanted[i, j] or j == i + 1]


# Semidefinite programs.


def max_cut(rng, nodes):
    """Relaxation of the largest cut of a graph with random weights."""
    W = np.zeros((nodes, nodes))
    for i, j in graph(rng, nodes, 6.0):
        W[i, j] = W[j, i] = rng.integers(1, 10)
    X = cp.Variable((nodes, nodes), PSD=True)
    return cp.Problem(cp.Maximize(cp.trace((np.diag(W.sum(axis=1)) - W) @ X) / 4), [cp.diag(X) == 1])


def theta_number(rng, nodes):
    """Lovász's bound on the independent sets of a graph."""
    X = cp.Variable((nodes, nodes), PSD=True)
    edges = [X[i, j] == 0 for i, j in graph(rng, nodes, 4.0)]
    return cp.Problem(cp.Maximize(cp.sum(X)), [cp.trace(X) == 1, *edges])


def truss(rng, columns):
    """Lightest truss on a grid of two rows, held at the left, whose compliance under a load is at most 1."""
    places = np.array([(x, y) for x in range(columns) for y in range(2)], dtype=float)
    free = {node: 2 * (node - 2) for node in range(2, len(places))}
    bars = []
    for i in range(len(places)):
        for j in range(i + 1, len(places)):
            across = places[j] - places[i]
            if j >= 2 and abs(across[0]) <= 1.0:
                direction = np.zeros(2 * len(free))
                for node, sign in ((i, -1.0), (j, 1.0)):
                    if node in free:
                        direction[free[node] : free[node] + 2] = sign * across
                # Stiffness of a bar for its volume: its direction, of norm 1, divided by its length.
                bars.append(direction / (across @ across))
    B = np.array(bars)
    load = np.zeros(B.shape[1])
    load[-1] = -1.0
    load[:-1] = 0.05 * rng.normal(size=len(load) - 1)
    volume = cp.Variable(len(B), nonneg=True)
    stiffness = B.T @ cp.diag(volume) @ B
    # By Schur complements: the compliance f' K^-1 f is at most 1.
    compliant = cp.bmat([[np.ones((1, 1)), load[None]], [load[:, None], stiffness]])
    return cp.Problem(cp.Minimize(cp.sum(volume)), [compliant >> 0])


def h_infinity(rng, states):
    """Squared H-infinity norm of a stable linear system, by the bounded real lemma."""
    A = rng.normal(size=(states, states)) / np.sqrt(states)
    A -= (np.linalg.eigvals(A).real.max() + 0.3) * np.eye(states)
    B, C = rng.normal(size=(states, 2)), rng.normal(size=(2, states))
    P, level = cp.Variable((states, states), PSD=True), cp.Variable()
    dissipation = cp.bmat([[A.T @ P + P @ A + C.T @ C, P @ B], [B.T @ P, -level * np.eye(2)]])
    # Without the limit P is bounded as well where the level is, but only by some 5e5, too much to compute with.
    return cp.Problem(cp.Minimize(level), [dissipation << 0, cp.trace(P) <= 1e3])


def nearest_correlation(rng, order):
    """Correlation matrix nearest to a symmetric matrix with ones on its diagonal."""
    noisy = np.corrcoef(rng.normal(size=(order, 2 * order))) + 0.4 * rng.normal(size=(order, order))
    noisy = (noisy + noisy.T) / 2
    np.fill_diagonal(noisy, 1.0)
    X = cp.Variable((order, order), PSD=True)
    return cp.Problem(cp.Minimize(cp.sum_squares(X - noisy)), [cp.diag(X) == 1])


def matrix_completion(rng, rows):
    """Matrix of smallest nuclear norm with given entries, half of a matrix of rank 2."""
    columns = max(3, 2 * rows // 3)
    low_rank = rng.normal(size=(rows, 2)) @ rng.normal(size=(2, columns))
    i, j = np.nonzero(rng.random((rows, columns)) < 0.5)
    X = cp.Variable((rows, columns))
    return cp.Problem(cp.Minimize(cp.normNuc(X)), [X[i, j] == low_rank[i, j]])


def largest_eigenvalues(rng, order):
    """Smallest sum of the three largest eigenvalues of ``A_0 + sum x_i A_i``, with ``|x_i| <= 1``."""
    matrices = rng.normal(size=(6, order, order))
    matrices += matrices.transpose(0, 2, 1)
    x = cp.Variable(5, bounds=[-1.0, 1.0])
    total = matrices[0] + sum(x[i] * matrices[i + 1] for i in range(5))
    return cp.Problem(cp.Minimize(cp.lambda_sum_largest(total, 3)))


def smallest_ellipsoid(rng, points):
    """Ellipsoid of smallest volume around points in three dimensions."""
    P = rng.normal(size=(points, 3)) * [1.0, 2.0, 0.5]
    A, b = cp.Variable((3, 3), PSD=True), cp.Variable(3)
    return cp.Problem(cp.Minimize(-cp.log_det(A)), [cp.norm(A @ p + b) <= 1 for p in P])


def geometric_mean_metric(rng, points):
    """``tr(M S) + tr(M^-1 D)`` for the scatter of similar pairs S and of dissimilar pairs D (as in GMML)."""
    X, y = wine(rng, points)
    S, D = (pair_scatter(X, y, same) for same in (True, False))
    M = cp.Variable(S.shape, PSD=True)
    return cp.Problem(cp.Minimize(cp.trace(M @ S) + cp.matrix_frac(np.linalg.cholesky(D), M)))


def pair_scatter(X: np.ndarray, y: np.ndarray, same: bool) -> np.ndarray:
    """Mean of ``(x_i - x_j)(x_i - x_j)'`` over pairs of one class, or of two classes."""
    i, j = np.nonzero(np.triu((y[:, None] == y) == same, 1))
    between = X[i] - X[j]
    return between.T @ between / len(i)


def clustering_metric(rng, pairs):
    """Metric with similar pairs near and the sum of distances of dissimilar pairs largest (as in MMC)."""
    X, y = wine(rng, 60)
    i, j = np.nonzero(np.triu(y[:, None] != y, 1))
    chosen = rng.permutation(len(i))[:pairs]
    apart = X[i[chosen]] - X[j[chosen]]
    M = cp.Variable((X.shape[1], X.shape[1]), PSD=True)
    distances = cp.sum(cp.multiply(apart @ M, apart), axis=1)
    return cp.Problem(cp.Maximize(cp.sum(cp.sqrt(distances))), [cp.trace(M @ pair_scatter(X, y, True)) <= 1])


# Portfolios.


def market(rng: np.random.Generator, assets: int) -> tuple[np.ndarray, np.ndarray]:
    """Expected returns of assets, and a root F of their covariance F F' by factors and own risks."""
    factors = max(2, assets // 10)
    F = np.hstack([0.1 * rng.normal(size=(assets, factors)), np.diag(rng.uniform(0.02, 0.2, assets))])
    return rng.uniform(-0.02, 0.15, assets), F


def markowitz(rng, assets):
    """Return less risk, with at most a tenth in one asset (a third of few assets)."""
    returns, F = market(rng, assets)
    w = cp.Variable(assets, nonneg=True)
    limits = [cp.sum(w) == 1, w <= max(0.1, 3.0 / assets)]
    return cp.Problem(cp.Maximize(returns @ w - 5.0 * cp.sum_squares(F.T @ w)), limits)


def transaction_costs(rng, assets):
    """Return less risk and the market impact of trades, which grows like their size to the power 3/2."""
    returns, F = market(rng, assets)
    held = rng.dirichlet(np.ones(assets))
    trade = cp.Variable(assets)
    w = held + trade
    impact = 0.3 * cp.sum(cp.power(cp.abs(trade), 1.5, approx=False))
    return cp.Problem(cp.Maximize(returns @ w - 5.0 * cp.sum_squares(F.T @ w) - impact), [cp.sum(trade) == 0, w >= 0])


def conditional_value_at_risk(rng, scenarios):
    """Smallest mean of the worst tenth of scenarios, with a required return."""
    returns, F = market(rng, 20)
    samples = returns + rng.normal(size=(scenarios, F.shape[1])) @ F.T
    w, quantile = cp.Variable(20, nonneg=True), cp.Variable()
    tail = quantile + cp.sum(cp.pos(-samples @ w - quantile)) / (0.1 * scenarios)
    return cp.Problem(cp.Minimize(tail), [cp.sum(w) == 1, returns @ w >= returns.mean()])


# Regression and classification.


def lasso(rng, rows):
    """Least squares with a penalty on the sum of absolute weights."""
    X, y = diabetes(rng, rows)
    w = cp.Variable(X.shape[1])
    return cp.Problem(cp.Minimize(cp.sum_squares(X @ w - y) / (2 * rows) + 0.05 * cp.norm1(w)))


def ridge(rng, rows):
    """Least squares with a penalty on the squared norm of the weights."""
    X, y = diabetes(rng, rows)
    w = cp.Variable(X.shape[1])
    return cp.Problem(cp.Minimize(cp.sum_squares(X @ w - y) + 10.0 * cp.sum_squares(w)))


def elastic_net(rng, rows):
    """Least squares with both penalties, on features and their squares."""
    X, y = diabetes(rng, rows)
    X = np.hstack([X, X**2 - 1.0])
    w = cp.Variable(X.shape[1])
    penalty = 0.03 * cp.norm1(w) + 0.01 * cp.sum_squares(w)
    return cp.Problem(cp.Minimize(cp.sum_squares(X @ w - y) / (2 * rows) + penalty))


def huber_regression(rng, rows):
    """Regression by Huber's loss; a tenth of the targets are spoiled."""
    X, y = diabetes(rng, rows)
    y[: rows // 10] += 10.0
    w, intercept = cp.Variable(X.shape[1]), cp.Variable()
    return cp.Problem(cp.Minimize(cp.sum(cp.huber(X @ w + intercept - y, 1.0))))


def quantile_regression(rng, rows):
    """The upper decile of the progression of the disease, by the tilted absolute loss."""
    X, y = diabetes(rng, rows)
    w, intercept = cp.Variable(X.shape[1]), cp.Variable()
    above, below = cp.Variable(rows, nonneg=True), cp.Variable(rows, nonneg=True)
    loss = 0.9 * cp.sum(above) + 0.1 * cp.sum(below)
    return cp.Problem(cp.Minimize(loss), [X @ w + intercept + above - below == y])


def absolute_regression(rng, rows):
    """Regression by the sum of absolute residuals."""
    X, y = diabetes(rng, rows)
    w, intercept = cp.Variable(X.shape[1]), cp.Variable()
    return cp.Problem(cp.Minimize(cp.norm1(X @ w + intercept - y)))


def norm_regression(rng, rows):
    """Regression by the p-norm of the residuals, p = 2.5, with power cones."""
    X, y = diabetes(rng, rows)
    w, intercept = cp.Variable(X.shape[1]), cp.Variable()
    return cp.Problem(cp.Minimize(cp.pnorm(X @ w + intercept - y, 2.5, approx=False)))


def logistic_regression(rng, rows):
    """Classes of tumours by the logistic loss with a squared norm."""
    X, y = cancer(rng, rows)
    w, intercept = cp.Variable(X.shape[1]), cp.Variable()
    loss = cp.sum(cp.logistic(-cp.multiply(y, X @ w + intercept)))
    return cp.Problem(cp.Minimize(loss + 0.5 * cp.sum_squares(w)))


def support_vectors(rng, rows):
    """Classes of tumours by the hinge with a squared norm."""
    X, y = cancer(rng, rows)
    w, intercept = cp.Variable(X.shape[1]), cp.Variable()
    loss = cp.sum(cp.pos(1 - cp.multiply(y, X @ w + intercept)))
    return cp.Problem(cp.Minimize(loss + 0.5 * cp.sum_squares(w)))


def isotonic_regression(rng, points):
    """Nondecreasing sequence nearest to a noisy one."""
    noisy = np.sqrt(np.arange(points)) + rng.normal(size=points)
    x = cp.Variable(points)
    return cp.Problem(cp.Minimize(cp.sum_squares(x - noisy)), [cp.diff(x) >= 0])


def total_variation(rng, points):
    """A noisy signal with jumps, denoised by a penalty on the sum of absolute differences."""
    noisy = np.repeat(rng.normal(size=5), -(-points // 5))[:points] + 0.3 * rng.normal(size=points)
    x = cp.Variable(points)
    return cp.Problem(cp.Minimize(0.5 * cp.sum_squares(x - noisy) + 0.8 * cp.norm1(cp.diff(x))))


# Means, entropies, designs.


def geometric_mean(rng, items):
    """Allocation of a budget of two resources whose geometric mean of utilities is largest."""
    A = rng.uniform(0.1, 1.0, (items, items)) + 3.0 * np.eye(items)
    x = cp.Variable(items, nonneg=True)
    spent = rng.uniform(0.5, 2.0, (2, items)) @ x
    return cp.Problem(cp.Maximize(cp.geo_mean(A @ x)), [spent <= items])


def geometric_program(rng, monomials):
    """Geometric program in logarithms: one posynomial is least, three have limits."""
    exponents, weights = rng.normal(size=(4, monomials, 6)), rng.normal(size=(4, monomials))
    x = cp.Variable(6, bounds=[-2.0, 2.0])
    least, *limited = (cp.log_sum_exp(exponents[i] @ x + weights[i]) for i in range(4))
    # The centre of the box keeps all limits.
    limits = np.log(np.exp(weights[1:]).sum(axis=1)) + 0.1
    return cp.Problem(cp.Minimize(least), [posynomial <= limit for posynomial, limit in zip(limited, limits)])


def divergence_projection(rng, outcomes):
    """Distribution of given moments that is nearest to another in relative entropy."""
    prior = rng.dirichlet(np.ones(outcomes))
    features = rng.normal(size=(4, outcomes))
    moments = features @ rng.dirichlet(np.ones(outcomes))
    p = cp.Variable(outcomes)
    return cp.Problem(cp.Minimize(cp.sum(cp.rel_entr(p, prior))), [cp.sum(p) == 1, features @ p == moments])


def maximum_entropy(rng, outcomes):
    """Distribution of largest entropy on a grid with bounds on its moments."""
    grid = np.linspace(-1.0, 1.0, outcomes)
    p = cp.Variable(outcomes)
    moments = np.array([grid, grid**2, 3 * grid**3 - 2 * grid, (grid < 0.0).astype(float)]) @ p
    negative = rng.uniform(0.25, 0.35)
    bounds = [moments >= [-0.1, 0.5, -0.3, negative], moments <= [0.1, 0.6, -0.2, negative + 0.1]]
    return cp.Problem(cp.Maximize(cp.sum(cp.entr(p))), [cp.sum(p) == 1, *bounds])


def d_optimal(rng, candidates):
    """Design of experiments with the largest determinant of the information matrix."""
    V = rng.normal(size=(candidates, 5))
    shares = cp.Variable(candidates, nonneg=True)
    return cp.Problem(cp.Maximize(cp.log_det(V.T @ cp.diag(shares) @ V)), [cp.sum(shares) == 1])


def a_optimal(rng, candidates):
    """Design of experiments with the smallest sum of variances."""
    V = rng.normal(size=(candidates, 5))
    shares = cp.Variable(candidates, nonneg=True)
    return cp.Problem(cp.Minimize(cp.tr_inv(V.T @ cp.diag(shares) @ V)), [cp.sum(shares) == 1])


# Geometry and networks.


def chebyshev_centre(rng, faces):
    """Largest ball in a polyhedron of ten dimensions."""
    A = np.vstack([rng.normal(size=(faces, 10)), np.eye(10), -np.eye(10)])
    b = np.concatenate([rng.uniform(0.5, 2.0, faces), np.full(20, 3.0)])
    centre, radius = cp.Variable(10), cp.Variable()
    return cp.Problem(cp.Maximize(radius), [A @ centre + np.linalg.norm(A, axis=1) * radius <= b])


def enclosing_ball(rng, points):
    """Smallest ball around points in five dimensions."""
    P = rng.normal(size=(points, 5))
    centre = cp.Variable(5)
    return cp.Problem(cp.Minimize(cp.max(cp.norm(P - np.ones((points, 1)) @ cp.reshape(centre, (1, 5), "C"), axis=1))))


def network_flow(rng, nodes):
    """Cheapest flow of two units from the first node to the last, with capacities."""
    arcs = [arc for i, j in graph(rng, nodes, 5.0) for arc in ((i, j), (j, i))]
    balance = np.zeros((nodes, len(arcs)))
    for column, (i, j) in enumerate(arcs):
        balance[i, column], balance[j, column] = 1.0, -1.0
    capacity = np.array([2.5 if abs(i - j) == 1 else rng.uniform(0.2, 1.0) for i, j in arcs])
    sent = np.zeros(nodes)
    sent[0] = 2.0
    flow = cp.Variable(len(arcs), bounds=[0.0, capacity])
    # What leaves the last node follows from the other equations.
    conserved = [balance[:-1] @ flow == sent[:-1]]
    return cp.Problem(cp.Minimize(rng.uniform(1.0, 10.0, len(arcs)) @ flow), conserved)


#: By the name in the table.
PROGRAMS: dict[str, Program] = {
    "max-cut relaxation": Program(max_cut, 30, 6),
    "Lovász theta": Program(theta_number, 20, 6),
    "truss": Program(truss, 6, 3),
    "H-infinity norm": Program(h_infinity, 8, 3),
    "nearest correlation": Program(nearest_correlation, 20, 5),
    "matrix completion": Program(matrix_completion, 15, 5),
    "largest eigenvalues": Program(largest_eigenvalues, 15, 5),
    "smallest ellipsoid": Program(smallest_ellipsoid, 40, 8),
    "metric as in GMML": Program(geometric_mean_metric, 178, 40),
    "metric as in MMC": Program(clustering_metric, 100, 10),
    "Markowitz with limits": Program(markowitz, 100, 10),
    "transaction costs": Program(transaction_costs, 50, 6),
    "CVaR portfolio": Program(conditional_value_at_risk, 200, 30),
    "LASSO": Program(lasso, 442, 30),
    "ridge": Program(ridge, 442, 30),
    "elastic net": Program(elastic_net, 442, 40),
    "Huber regression": Program(huber_regression, 200, 30),
    "quantile regression": Program(quantile_regression, 200, 30),
    "l1 regression": Program(absolute_regression, 200, 30),
    "p-norm regression": Program(norm_regression, 100, 30),
    "logistic regression": Program(logistic_regression, 150, 20),
    "support vectors": Program(support_vectors, 200, 20),
    "isotonic regression": Program(isotonic_regression, 200, 20),
    "total variation": Program(total_variation, 200, 20),
    "geometric mean": Program(geometric_mean, 20, 5),
    "geometric program": Program(geometric_program, 12, 4),
    "KL projection": Program(divergence_projection, 60, 12),
    "maximum entropy": Program(maximum_entropy, 80, 20),
    "D-optimal design": Program(d_optimal, 40, 12),
    "A-optimal design": Program(a_optimal, 40, 12),
    "Chebyshev centre": Program(chebyshev_centre, 60, 20),
    "enclosing ball": Program(enclosing_ball, 60, 10),
    "network flow": Program(network_flow, 40, 8),
}
