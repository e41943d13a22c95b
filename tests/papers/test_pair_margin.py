"""Paper 4 against its formulas written out: losses in loops, distances by kernels, optima by CVXPY alone."""

import warnings

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from samples import random_metric
from scipy.optimize import check_grad, minimize
from scipy.special import expit

import convexmetric as cm
from convexmetric.features import KERNELS

NORMS = ("frobenius", "trace")
MARGINS = (1.0, 0.4, (0.5, 1.5), (2.0, 0.3))


def points(seed=0, n=12, d=3):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % 3)
    return rng.normal(size=(n, d)) + 0.8 * y[:, None], y


def listed(seed=0, m=20, **options):
    X, y = points(seed)
    rng = np.random.default_rng(seed + 1)
    pairs = np.array([rng.choice(len(X), 2, replace=False) for _ in range(m)])
    pairs = np.concatenate([pairs, pairs[:4], pairs[4:6, ::-1]])
    r = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)
    r[0] = -r[0]
    return X, pairs, r, cm.PairMarginProblem(X, pairs, r, **{"reg": 0.7} | options)


def h(gamma, t):
    """The hinge of section 3.2."""
    return 1.0 - t / gamma if t <= gamma else 0.0


def norm_of(M, norm):
    values = np.linalg.eigvalsh(M)
    return np.sqrt((values**2).sum()) if norm == "frobenius" else values.sum()


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("margin", MARGINS)
def test_the_objective_of_a_list_is_lambda_in_a_loop(norm, margin):
    X, pairs, r, problem = listed(margin=margin, penalty=norm)
    gammas = margin if isinstance(margin, tuple) else (margin, margin)
    for scale in (1e-3, 0.1, 3.0):
        M = random_metric(np.random.default_rng(5), problem.cone, scale)
        total = 0.0
        for (i, j), sign in zip(pairs, r, strict=True):
            square = (X[i] - X[j]) @ M @ (X[i] - X[j])
            total += h(gammas[0] if sign > 0 else gammas[1], sign * (1.0 - square))
        expected = total / len(pairs) + 0.7 / np.sqrt(len(pairs)) * norm_of(M, norm)
        assert problem.objective(M) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("margin", MARGINS)
@pytest.mark.parametrize("balanced", [True, False])
def test_the_objective_of_all_pairs_is_a_mean_over_them(norm, margin, balanced):
    X, y = points()
    problem = cm.PairMarginProblem.from_labels(
        X, y, n_pairs=None, balanced=balanced, reg=0.7, margin=margin, penalty=norm
    )
    gammas = margin if isinstance(margin, tuple) else (margin, margin)
    M = random_metric(np.random.default_rng(5), problem.cone, 0.2)
    losses = {1: [], -1: []}
    for i in range(12):
        for j in range(i + 1, 12):
            sign = 1 if y[i] == y[j] else -1
            square = (X[i] - X[j]) @ M @ (X[i] - X[j])
            losses[sign].append(h(gammas[0] if sign > 0 else gammas[1], sign * (1.0 - square)))
    mean = 0.5 * np.mean(losses[1]) + 0.5 * np.mean(losses[-1]) if balanced else np.mean(losses[1] + losses[-1])
    assert problem.n_similar == len(losses[1])
    # All pairs of n points count as n.
    assert problem.objective(M) == pytest.approx(mean + 0.7 / np.sqrt(12) * norm_of(M, norm), rel=1e-12)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "unit-rbf", "callable", "matrix"])
@pytest.mark.parametrize("pairs", ["listed", "all"])
def test_distances_under_a_kernel_are_those_of_the_hilbert_space(kernel, pairs):
    """For M the identity of the span: k(x, x) - 2 k(x, x') + k(x', x'), pair by pair."""
    X, y = points()
    function = KERNELS.get(kernel, KERNELS["rbf"])
    given = {"callable": function, "matrix": function(X, X)}.get(kernel, kernel)
    K = function(X, X)
    squares = np.diag(K)[:, None] + np.diag(K) - 2.0 * K
    if pairs == "listed":
        _, rows, r, problem = listed(kernel=given, margin=(0.3, 0.6))
        mean = np.mean([h(0.3 if s > 0 else 0.6, s * (1.0 - squares[i, j])) for (i, j), s in zip(rows, r, strict=True)])
        m = len(rows)
    else:
        problem = cm.PairMarginProblem.from_labels(X, y, reg=0.7, kernel=given, margin=(0.3, 0.6))
        upper = np.triu_indices(12, 1)
        same = (y[:, None] == y)[upper]
        similar = [h(0.3, 1.0 - s) for s in squares[upper][same]]
        others = [h(0.6, s - 1.0) for s in squares[upper][~same]]
        mean, m = 0.5 * np.mean(similar) + 0.5 * np.mean(others), 12
    M = problem.cone.identity()
    assert problem.objective(M) == pytest.approx(mean + 0.7 / np.sqrt(m) * np.sqrt(problem.cone.d), rel=1e-9)


def naive(squares, r, weights, gammas, norm, reg, d, m):
    """The paper's problem in CVXPY: squares(A) are the distances, hinges as they stand."""
    A = cp.Variable((d, d), PSD=True)
    t = cp.multiply(r, 1.0 - squares(A))
    gamma = np.where(r > 0, *gammas)
    hinges = cp.pos(1.0 - cp.multiply(1.0 / gamma, t))
    omega = cp.norm(A, "fro") if norm == "frobenius" else cp.trace(A)
    return cp.Problem(cp.Minimize(weights @ hinges + reg / np.sqrt(m) * omega))


OPTIONS = {
    "CLARABEL": {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10},
    "SCS": {"eps_abs": 1e-11, "eps_rel": 1e-11, "max_iters": 500_000, "scale": 10.0},
}


@pytest.mark.parametrize("backend", list(OPTIONS))
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("margin", [(1.0, 1.0), (0.5, 1.5)])
@pytest.mark.parametrize("kernel", [None, "unit-rbf"])
@pytest.mark.parametrize("pairs", ["listed", "all"])
def test_the_certified_optimum_is_that_of_the_papers_problem(backend, norm, margin, kernel, pairs):
    X, y = points(2, 9)
    options = {"reg": 0.3, "margin": margin, "penalty": norm, "kernel": kernel}
    rows = np.column_stack(np.triu_indices(9, 1))
    if pairs == "listed":
        rows = np.concatenate([rows[::3], rows[:4]])
        r = np.where(y[rows[:, 0]] == y[rows[:, 1]], 1.0, -1.0)
        problem = cm.PairMarginProblem(X, rows, r, **options)
        weights, m = np.full(len(rows), 1.0 / len(rows)), len(rows)
    else:
        r = np.where(y[rows[:, 0]] == y[rows[:, 1]], 1.0, -1.0)
        problem = cm.PairMarginProblem.from_labels(X, y, **options)
        weights, m = np.where(r > 0, 0.5 / (r > 0).sum(), 0.5 / (r < 0).sum()), 9
    i, j = rows.T
    if kernel is None:
        V = X[i] - X[j]
    else:
        # Coordinates by a Cholesky factor of the kernel matrix: rows whose inner products are the kernel's.
        V = np.linalg.cholesky(KERNELS[kernel](X, X))
        V = V[i] - V[j]
    statement = naive(lambda A: cp.sum(cp.multiply(V @ A, V), axis=1), r, weights, margin, norm, 0.3, V.shape[1], m)
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        statement.solve(solver=backend, **OPTIONS[backend])
    solution = cm.solve(problem, 1e-7)
    assert solution.status == "optimal"
    assert statement.value == pytest.approx(solution.upper_bound, rel=1e-6)
    assert statement.value == pytest.approx(solution.lower_bound, rel=1e-6)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("pairs", ["listed", "sparse", "all"])
def test_weights_of_features_are_those_of_the_papers_problem_with_a_diagonal_operator(pairs, norm, tmp_path):
    X, y = points(3, 12, 4)
    X = X / 2.0
    options = {"reg": 0.1, "margin": (0.5, 1.5), "penalty": norm, "diagonal": True}
    rows = np.column_stack(np.triu_indices(12, 1))[:: 1 if pairs == "all" else 2]
    r = np.where(y[rows[:, 0]] == y[rows[:, 1]], 1.0, -1.0)
    if pairs == "all":
        problem = cm.PairMarginProblem.from_labels(X, y, **options)
        weights, m = np.where(r > 0, 0.5 / (r > 0).sum(), 0.5 / (r < 0).sum()), 12
    else:
        problem = cm.PairMarginProblem(sp.csr_array(X) if pairs == "sparse" else X, rows, r, **options)
        weights, m = np.full(len(rows), 1.0 / len(rows)), len(rows)
    w = cp.Variable(4, nonneg=True)
    margins = cp.multiply(r, 1.0 - np.square(X[rows[:, 0]] - X[rows[:, 1]]) @ w)
    losses = cp.pos(1.0 - cp.multiply(margins, 1.0 / np.where(r > 0, 0.5, 1.5)))
    plain = cp.Problem(
        cp.Minimize(weights @ losses + 0.1 / np.sqrt(m) * (cp.norm(w) if norm == "frobenius" else cp.sum(w)))
    )
    optimum = plain.solve(solver="CLARABEL")
    solution = cm.solve(problem)
    assert solution.status == "optimal"
    assert solution.w.shape == (4,)
    assert solution.lower_bound <= optimum * (1.0 + 1e-7)
    assert solution.upper_bound == pytest.approx(optimum, rel=2e-6)
    assert problem.to_cvxpy().solve(solver="CLARABEL") == pytest.approx(optimum, rel=1e-6)
    assert "A diagonal and nonnegative" in str(problem)
    assert r"\mathrm{diag}(\mathbb{R}^d_+)" in problem.latex()
    cm.write_certificate(tmp_path / "c.npz", solution)
    assert cm.verify(tmp_path / "c.npz").accepted


def test_weights_of_features_keep_more_features_than_points_and_a_prior():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8, 30))
    pairs, r = cm.papers.balanced_pairs(np.arange(8) % 2, 12, random_state=0)
    problem = cm.PairMarginProblem(X, pairs, r, reg=0.3, prior=np.linspace(0.0, 0.1, 30), diagonal=True)
    assert problem.cone.shape == (30,)
    assert problem.span is None
    # The prior is its optimum as lambda grows.
    np.testing.assert_allclose(cm.solve(problem.with_reg(1e6)).w, np.linspace(0.0, 0.1, 30), atol=1e-4)


@pytest.mark.parametrize("loss", ["squared", "absolute", "weighted", "printed"])
@pytest.mark.parametrize("norm", NORMS)
def test_similarity_regression(loss, norm):
    X, _ = points()
    rng = np.random.default_rng(3)
    pairs = np.array([rng.choice(12, 2, replace=False) for _ in range(15)])
    y = rng.random(15)
    kind = {"loss": "weighted", "as_printed": True} if loss == "printed" else {"loss": loss}
    problem = cm.SimilarityRegressionProblem(X, pairs, y, reg=0.2, y0=0.3, penalty=norm, **kind)
    single = {
        "squared": lambda y, t: (y - t) ** 2,
        "absolute": lambda y, t: abs(y - t),
        "weighted": lambda y, t: (y - t) ** 2 / (y + 0.3) ** 2,
        "printed": lambda y, t: (y - t) ** 2 / (y - 0.3) ** 2,
    }[loss]
    V = X[pairs[:, 0]] - X[pairs[:, 1]]
    M = random_metric(rng, problem.cone, 0.2)
    mean = np.mean([single(value, v @ M @ v) for value, v in zip(y, V, strict=True)])
    assert problem.objective(M) == pytest.approx(mean + 0.2 / np.sqrt(15) * norm_of(M, norm), rel=1e-12)
    A = cp.Variable((3, 3), PSD=True)
    t = cp.sum(cp.multiply(V @ A, V), axis=1)
    weights = {"weighted": (y + 0.3) ** -2.0, "printed": (y - 0.3) ** -2.0}.get(loss, np.ones(15))
    fit = cp.sum(cp.abs(y - t)) if loss == "absolute" else weights @ cp.square(y - t)
    omega = cp.norm(A, "fro") if norm == "frobenius" else cp.trace(A)
    statement = cp.Problem(cp.Minimize(fit / 15 + 0.2 / np.sqrt(15) * omega))
    statement.solve(solver=cp.CLARABEL, **OPTIONS["CLARABEL"])
    solution = cm.solve(problem, 1e-6)
    assert statement.value == pytest.approx(solution.upper_bound, rel=2e-6)
    assert ("- 0.3" in str(problem)) == (loss == "printed")


@pytest.mark.parametrize("balanced", [True, False])
def test_draws_follow_the_oracle(balanced):
    """Every pair of different points by its probability: half for each kind, uniform within; or uniform over all."""
    y = np.array([0, 0, 0, 0, 1, 1, 2])
    size = 200_000
    pairs, r = cm.papers.balanced_pairs(y, size, random_state=0, balanced=balanced)
    i, j = pairs.T
    assert (i != j).all()
    np.testing.assert_array_equal(r, np.where(y[i] == y[j], 1.0, -1.0))
    same = y[:, None] == y
    np.fill_diagonal(same, False)
    other = y[:, None] != y
    expected = 0.5 * same / same.sum() + 0.5 * other / other.sum() if balanced else (same | other) / 42.0
    counts = np.zeros((7, 7))
    np.add.at(counts, (i, j), 1.0)
    assert not counts[expected == 0.0].any()
    mean = size * expected[expected > 0.0]
    scatter = (counts[expected > 0.0] - mean) / np.sqrt(mean)
    assert abs(scatter).max() < 5.0
    assert np.mean(scatter**2) == pytest.approx(1.0, abs=0.6)


def test_a_seed_fixes_the_pairs():
    X, y = points()
    first, again, other = (cm.PairMarginProblem.from_labels(X, y, n_pairs=30, random_state=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.pairs, again.pairs)
    assert first.fingerprint() == again.fingerprint() != other.fingerprint()


def test_repeated_pairs_weigh_as_often_as_they_come():
    X, pairs, r, _ = listed()
    once = cm.PairMarginProblem(X, pairs, r, reg=0.7)
    twice = cm.PairMarginProblem(X, np.concatenate([pairs, pairs[:, ::-1]]), np.concatenate([r, r]), reg=0.7 * 2**0.5)
    assert cm.solve(twice, 1e-8).upper_bound == pytest.approx(cm.solve(once, 1e-8).upper_bound, rel=1e-7)


@pytest.mark.parametrize("norm", NORMS)
def test_more_features_than_points_are_a_span(norm):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8, 30))
    pairs, r = cm.papers.balanced_pairs(np.arange(8) % 2, 12, random_state=0)
    problem = cm.PairMarginProblem(X, pairs, r, reg=0.3, penalty=norm)
    sparse = cm.PairMarginProblem(sp.csr_array(X), pairs, r, reg=0.3, penalty=norm)
    solution = cm.solve(problem, 1e-8)
    assert problem.cone.d < 8
    assert problem.embedding is None
    assert solution.M.shape == (30, 30)
    V = X[pairs[:, 0]] - X[pairs[:, 1]]
    forms = np.einsum("tk,kl,tl->t", V, solution.M, V)
    mean = np.mean([h(1.0, sign * (1.0 - s)) for sign, s in zip(r, forms, strict=True)])
    # The span is that of all differences of components: nothing is lost, and norms are those on all features.
    assert mean + 0.3 / np.sqrt(12) * norm_of(solution.M, norm) == pytest.approx(solution.upper_bound, rel=1e-9)
    np.testing.assert_allclose(solution.components.T @ solution.components, solution.M, atol=1e-12)
    assert cm.solve(sparse, 1e-8).upper_bound == pytest.approx(solution.upper_bound, rel=1e-7)


def test_components_act_on_new_points_through_the_embedding():
    X, y = points()
    problem = cm.PairMarginProblem.from_labels(X, y, reg=0.2, kernel="unit-rbf")
    solution = cm.solve(problem, 1e-4)
    images = problem.embedding.transform(X) @ solution.components.T
    squares = ((images[:, None] - images) ** 2).sum(axis=2)
    expected = problem.cone.quadratic_forms(
        problem.span.coordinates[:, None].repeat(12, 1).reshape(144, -1) - np.tile(problem.span.coordinates, (12, 1)),
        solution.certificate.M,
    )
    np.testing.assert_allclose(squares.ravel(), expected, atol=1e-8 * expected.max())


def test_another_reg_shares_the_data():
    _, _, _, problem = listed()
    other = problem.with_reg(1.4)
    assert other.risk is problem.risk
    M = np.eye(3)
    assert other.penalty(M) == pytest.approx(2.0 * problem.penalty(M))
    assert problem.reg == 0.7


def test_descent_on_as_many_vectors_as_pairs_ends_at_the_certified_optimum():
    """Theorem 14, with hinges rounded off; one vector would be enough, but some starts end at local minima."""
    rng = np.random.default_rng(3)
    X, labels = rng.standard_normal((14, 4)), np.arange(14) % 3
    pairs, r = cm.papers.balanced_pairs(labels, 20, random_state=0)
    problem = cm.PairMarginProblem(X, pairs, r, reg=0.05)
    optimum = cm.solve(problem, 1e-8)
    D = X[pairs[:, 0]] - X[pairs[:, 1]]

    def smoothed(v, d, width):
        V = v.reshape(d, -1)
        a, products = D @ V.T, V @ V.T
        u, norm = 1.0 - r * (1.0 - (a**2).sum(axis=1)), np.linalg.norm(products)
        weight = problem.reg / np.sqrt(len(r))
        slope = (2.0 / len(r) * expit(u / width) * r)[:, None] * a
        gradient = slope.T @ D + 2.0 * weight * products @ V / norm
        return width * np.logaddexp(0.0, u / width).mean() + weight * norm, gradient.ravel()

    def above(d, seed):
        v = 0.3 * np.random.default_rng(seed).standard_normal(4 * d)
        assert check_grad(lambda v: smoothed(v, d, 0.1)[0], lambda v: smoothed(v, d, 0.1)[1], v) < 1e-5
        for width in (1e-1, 1e-2, 1e-3):
            v = minimize(smoothed, v, (d, width), jac=True, method="L-BFGS-B", options={"ftol": 1e-12}).x
        V = v.reshape(d, 4)
        return problem.objective(V.T @ V) / optimum.lower_bound - 1.0

    assert all(-1e-9 <= above(len(pairs), seed) < 2e-3 for seed in range(5))
    ends = [above(1, seed) for seed in range(10)]
    assert optimum.rank == 1
    assert min(ends) < 2e-3
    assert max(ends) > 0.5
