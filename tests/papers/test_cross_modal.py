"""Cross-modal ranking: the lifted problem is the paper's in (U, V), and what the paper prints is checked."""

import warnings

import cvxpy as cp
import numpy as np
import pytest
from scipy.special import expit

import convexmetric as cm
from convexmetric.comparisons.label_graphs import neighbour_graph, sharing
from convexmetric.errors import InputError

ALPHA, BETA = 0.7, 0.05
NEIGHBORS = 3


def modalities(seed=0, m=16, n=13, dx=3, dy=2, classes=3):
    rng = np.random.default_rng(seed)
    labels_x, labels_y = np.arange(m) % classes, np.arange(n) % classes
    X = rng.standard_normal((m, dx)) + rng.standard_normal((classes, dx))[labels_x]
    Y = rng.standard_normal((n, dy)) + rng.standard_normal((classes, dy))[labels_y]
    return X, Y, labels_x, labels_y


def make(seed=0, **options):
    options = {"alpha": ALPHA, "beta": BETA, "n_clusters": 2, "n_neighbors": NEIGHBORS, "random_state": 0} | options
    return cm.CrossModalProblem(*modalities(seed), **options)


def triples(problem):
    """x_k, y_i, y_j of every triple."""
    chosen = problem.representatives
    for place, k in enumerate(chosen.queries):
        near, far = chosen.relevance.of(place)
        yield from ((problem.X[k], chosen.items[i], chosen.items[j]) for i in near for j in far)


def laplacian(w):
    """I - D^-1/2 W D^-1/2."""
    degrees = w.sum(axis=1)
    return np.eye(len(w)) - w / np.sqrt(np.outer(degrees, degrees))


def matrices(problem):
    """L'_x, L'_y and D_x^-1/2 W_xy D_y^-1/2 of equation 20."""
    k = NEIGHBORS
    Lx = laplacian(neighbour_graph(problem.X, problem.labels_x, k).toarray()) + np.eye(len(problem.X))
    Ly = laplacian(neighbour_graph(problem.Y, problem.labels_y, k).toarray()) + np.eye(len(problem.Y))
    w = sharing(problem.labels_x, problem.labels_y)
    return Lx, Ly, w / np.sqrt(np.outer(w.sum(axis=1), w.sum(axis=0)))


def printed_objective(problem, U, V, sign):
    """Equation 6 with equations 14, 15 and 20; sign = 1 for equation 8 as printed, -1 for what is meant."""
    total = 0.0
    for x, yi, yj in triples(problem):
        d_i, d_j = (np.sum((U.T @ x - V.T @ y) ** 2) for y in (yi, yj))
        total -= 0.5 * np.log(expit(sign * (d_i - d_j)))
    Lx, Ly, across = matrices(problem)
    T, S = U.T @ problem.X.T, V.T @ problem.Y.T
    graphs = 0.5 * np.trace(T @ Lx @ T.T) + 0.5 * np.trace(S @ Ly @ S.T) - np.trace(T @ across @ S.T)
    return total + 0.5 * problem.alpha * (np.sum(U**2) + np.sum(V**2)) + problem.beta * graphs


def printed_gradients(problem, U, V, sign):
    """Equations 24 and 25 (sign = 1), and with the sums over triples turned around (sign = -1)."""
    of_U, of_V = np.zeros_like(U), np.zeros_like(V)
    for x, yi, yj in triples(problem):
        d_i, d_j = (np.sum((U.T @ x - V.T @ y) ** 2) for y in (yi, yj))
        weight = sign / (1.0 + np.exp(sign * (d_i - d_j)))
        of_U += weight * np.outer(x, yi - yj) @ V
        of_V += weight * (np.outer(yi - yj, x) @ U + (np.outer(yj, yj) - np.outer(yi, yi)) @ V)
    Lx, Ly, across = matrices(problem)
    N = problem.X.T @ across @ problem.Y
    of_U += problem.alpha * U + problem.beta * (problem.X.T @ Lx @ problem.X @ U - N @ V)
    of_V += problem.alpha * V + problem.beta * (problem.Y.T @ Ly @ problem.Y @ V - N.T @ U)
    return of_U, of_V


def maps(problem, c=2, seed=1):
    rng = np.random.default_rng(seed)
    return 0.4 * rng.standard_normal((problem.X.shape[1], c)), 0.4 * rng.standard_normal((problem.Y.shape[1], c))


@pytest.mark.parametrize("options", [{}, {"n_clusters": None}, {"beta": 0.0}])
def test_the_lifted_objective_is_the_papers(options):
    problem = make(**options)
    U, V = maps(problem)
    W = np.vstack([U, V]) @ np.vstack([U, V]).T
    assert problem.objective(W) == pytest.approx(printed_objective(problem, U, V, -1), rel=1e-12)


@pytest.mark.parametrize("sign", [1, -1])
def test_gradients_by_differences(sign):
    """Equations 24 and 25 are right for equation 8 as printed; corrected, the sums over triples change sign."""
    problem = make()
    U, V = maps(problem)
    gradients = printed_gradients(problem, U, V, sign)
    h = 1e-5
    for gradient, maps_ in zip(gradients, (U, V), strict=True):
        for place in np.ndindex(maps_.shape):
            kept = maps_[place]
            maps_[place] = kept + h
            up = printed_objective(problem, U, V, sign)
            maps_[place] = kept - h
            down = printed_objective(problem, U, V, sign)
            maps_[place] = kept
            assert gradient[place] == pytest.approx((up - down) / (2 * h), rel=1e-6, abs=1e-6)


def test_the_gradient_on_the_factor_is_the_corrected_one():
    problem = make()
    U, V = maps(problem)
    B = problem.join(U, V)
    _, point = problem.risk.tangent(B.T @ B)
    gradient = 2.0 * B @ (problem.regularizer.reg * np.eye(problem.cone.d) + problem.G - point.S)
    of_U, of_V = printed_gradients(problem, U, V, -1)
    np.testing.assert_allclose(gradient, problem.join(of_U, of_V), atol=1e-10)


def test_matrix_forms_count_objects_without_neighbours_which_the_sums_do_not():
    """A class with one member: I - D^-1/2 W D^-1/2 has a one where equation 17's sum has nothing."""
    X, Y, labels_x, labels_y = modalities()
    labels_x = np.where(np.arange(len(X)) == 0, 7, labels_x)
    labels_y = np.where(np.arange(len(Y)) == 0, 7, labels_y)
    problem = cm.CrossModalProblem(X, Y, labels_x, labels_y, ALPHA, BETA, n_clusters=2, n_neighbors=3)
    U, V = maps(problem)
    w = neighbour_graph(X, problem.labels_x, 3).toarray()
    degrees = w.sum(axis=1)
    assert degrees[0] == 0.0
    T, S = X @ U, Y @ V
    total = 0.0
    for points, graph in ((T, w), (S, neighbour_graph(Y, problem.labels_y, 3).toarray())):
        d = graph.sum(axis=1)
        total += 0.25 * sum(
            np.sum((points[i] / np.sqrt(d[i]) - points[j] / np.sqrt(d[j])) ** 2) for i, j in np.argwhere(graph)
        )
    across = sharing(problem.labels_x, problem.labels_y)
    dx, dy = across.sum(axis=1), across.sum(axis=0)
    total += 0.5 * sum(np.sum((T[i] / np.sqrt(dx[i]) - S[j] / np.sqrt(dy[j])) ** 2) for i, j in np.argwhere(across))
    B = problem.join(U, V)
    assert np.sum((B @ problem.B) * B) == pytest.approx(total, rel=1e-12)


def test_graphs_are_sums_of_squares():
    B = make().B
    np.testing.assert_array_equal(B, B.T)
    assert np.linalg.eigvalsh(B)[0] >= -1e-12 * np.linalg.eigvalsh(B)[-1]


def test_distances_are_those_of_the_maps():
    problem = make()
    U, V = maps(problem)
    B = problem.join(U, V)
    X, Y, _, _ = modalities(5)
    expected = ((X @ U)[:, None] - (Y @ V)[None]) ** 2
    np.testing.assert_allclose(problem.distances(B.T @ B, X, Y), expected.sum(axis=2), atol=1e-12)


def test_factors_of_the_optimum_and_the_verdict():
    problem = make()
    solution = cm.solve(problem, 1e-8)
    whole = problem.factors(solution)
    assert whole.solved_globally
    assert whole.objective == pytest.approx(solution.upper_bound, rel=1e-9)
    assert "solved globally" in str(whole)
    assert whole.U.shape[1] == len(problem.cone.factor(solution.M))
    more = problem.factors(solution.certificate, 5)
    assert more.U.shape == (3, 5)
    assert more.objective == pytest.approx(solution.upper_bound, rel=1e-9)
    fewer = problem.factors(solution, 1)
    assert solution.rank > 1
    assert not fewer.solved_globally
    assert fewer.objective > solution.upper_bound
    assert "not settled" in str(fewer)
    values, vectors = np.linalg.eigh(solution.M)
    nearest = values[-1] * np.outer(vectors[:, -1], vectors[:, -1])
    zero = make(alpha=1e4)
    assert zero.factors(cm.solve(zero)).U.shape == (3, 1)
    B = problem.join(fewer.U, fewer.V)
    np.testing.assert_allclose(B.T @ B, nearest, atol=1e-9)


@pytest.mark.parametrize("backend", ["CLARABEL", "SCS"])
@pytest.mark.parametrize("options", [{"n_clusters": 1}, {"n_clusters": None}])
def test_it_agrees_with_cvxpy(backend, options):
    X, Y, labels_x, labels_y = modalities(0, 6, 6)
    problem = cm.CrossModalProblem(X, Y, labels_x, labels_y, 1.0, BETA, n_neighbors=3, **options)
    tight = {
        "CLARABEL": {"tol_gap_abs": 1e-9, "tol_gap_rel": 1e-9, "tol_feas": 1e-9},
        "SCS": {"eps_abs": 1e-9, "eps_rel": 1e-9, "max_iters": 200_000},
    }[backend]
    statement = problem.statement().problem
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        statement.solve(solver=getattr(cp, backend), **tight)
    solution = cm.solve(problem, 1e-8)
    assert statement.value == pytest.approx(solution.upper_bound, rel=1e-6)
    assert statement.value == pytest.approx(solution.lower_bound, rel=1e-6)


def test_other_weights_share_everything_else():
    problem = make()
    other = problem.with_weights(2.0, 0.0)
    assert other.risk is problem.risk
    assert other.G is None
    again = make(alpha=2.0, beta=0.0)
    assert other.fingerprint() == again.fingerprint()
    assert other.fingerprint() != problem.fingerprint()


def test_relevance_matrices():
    X, Y, labels_x, labels_y = modalities()
    relevance = labels_x[:, None] == labels_y
    problem = cm.CrossModalProblem.from_relevance(X, Y, relevance, ALPHA, 0.0, n_clusters=None)
    by_label = make(n_clusters=None, beta=0.0)
    U, V = maps(problem)
    W = np.vstack([U, V]) @ np.vstack([U, V]).T
    assert problem.objective(W) == pytest.approx(by_label.objective(W), rel=1e-12)
    represented = cm.CrossModalProblem.from_relevance(X, Y, relevance, ALPHA, BETA, n_clusters=2, random_state=0)
    assert represented.representatives.relevance.n_irrelevant.tolist() == (~relevance).sum(axis=1).tolist()
    with pytest.raises(InputError, match="relevance must be a 0/1 matrix"):
        cm.CrossModalProblem.from_relevance(X, Y, labels_x, ALPHA, BETA)


def test_factor_analysis_maximises_the_trace_and_no_more():
    """Equation 22 holds for square orthogonal maps only: below, the singular vectors need not minimise equation 21."""
    rng = np.random.default_rng(3)
    X, Y = rng.standard_normal((30, 4)), rng.standard_normal((30, 3))
    X[:, 0] *= 20.0
    U, V = cm.papers.factor_analysis(X, Y, 2)
    np.testing.assert_allclose(U.T @ U, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(V.T @ V, np.eye(2), atol=1e-12)
    trace = np.trace(U.T @ X.T @ Y @ V)
    better = False
    for _ in range(2000):
        u, v = (np.linalg.qr(rng.standard_normal((d, 2)))[0] for d in (4, 3))
        assert np.trace(u.T @ X.T @ Y @ v) <= trace + 1e-9
        better |= np.sum((X @ u - Y @ v) ** 2) < np.sum((X @ U - Y @ V) ** 2)
    assert better
    wide, _ = cm.papers.factor_analysis(X, Y, 6)
    assert wide.shape == (4, 6)
    assert not wide[:, 3:].any()


def test_the_papers_start():
    problem = make()
    B = problem.initial_factor(2)
    U, V = problem.split(B)
    _, _, across = matrices(problem)
    left, _, right = np.linalg.svd(problem.X.T @ across @ problem.Y)
    np.testing.assert_allclose(np.abs(U.T @ left[:, :2]), np.eye(2), atol=1e-9)
    np.testing.assert_allclose(np.abs(V.T @ right[:2].T), np.eye(2), atol=1e-9)


def test_it_says_what_it_is():
    text = str(make())
    assert "16 of 16 objects of X" in text
    assert "+ 0.05 <B, W>" in text
    assert "<B, W>" not in str(make(beta=0.0))
    assert r"W \succeq 0" in make()._repr_latex_()
