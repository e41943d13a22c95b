"""Large margin nearest neighbours: the paper's statement in its own coordinates against what is solved."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import convexmetric as cm
from convexmetric.audits import read_certificate, read_metric, write_solution
from convexmetric.errors import InputError


def points(n=24, d=3, classes=3, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    return rng.standard_normal((n, d)) + 0.8 * y[:, None] * rng.standard_normal(d), y


def by_hand(X, y, k):
    """Target neighbours, and triplets with every point of another label, from all distances."""
    D = ((X[:, None] - X) ** 2).sum(axis=2)
    targets = []
    for i in range(len(X)):
        same = [j for j in np.argsort(D[i], kind="stable") if j != i and y[j] == y[i]]
        targets += [(i, j) for j in same[:k]]
    triplets = [(i, j, other) for i, j in targets for other in np.flatnonzero(y != y[i])]
    return np.array(targets), np.array(triplets)


def objective_by_hand(X, y, k, push, M):
    def d(i, j):
        return np.einsum("td,de,te->t", X[i] - X[j], M, X[i] - X[j])

    targets, triplets = by_hand(X, y, k)
    i, j, other = triplets.T
    hinges = np.maximum(0.0, 1.0 + d(i, j) - d(i, other))
    return (1.0 - push) * d(*targets.T).sum() + push * hinges.sum()


def the_papers_program(X, y, k, push, diagonal, more=lambda M: []):
    """The semidefinite program of the paper on the features as given, and perhaps more constraints."""
    d = X.shape[1]
    targets, (i, j, other) = by_hand(X, y, k)[0], by_hand(X, y, k)[1].T
    w = cp.Variable(d) if diagonal else None
    M = cp.diag(w) if diagonal else cp.Variable((d, d), symmetric=True)

    def distances(i, j):
        V = X[i] - X[j]
        return cp.sum(cp.multiply(V @ M, V), axis=1)

    xi = cp.Variable(len(i), nonneg=True)
    constraints = [distances(i, other) - distances(i, j) >= 1.0 - xi, w >= 0 if diagonal else M >> 0]
    constraints += more(w if diagonal else M)
    problem = cp.Problem(cp.Minimize((1.0 - push) * cp.sum(distances(*targets.T)) + push * cp.sum(xi)), constraints)
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    return problem.value, np.diag(w.value) if diagonal else M.value


@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize(("k", "push"), [(1, 0.5), (3, 0.5), (3, 0.9)])
def test_the_optimum_is_that_of_the_papers_program(k, push, diagonal):
    X, y = points()
    problem = cm.LargeMarginProblem(X, y, n_neighbors=k, push=push, diagonal=diagonal)
    solution = cm.solve(problem, tol=1e-8)
    value, M = the_papers_program(X, y, k, push, diagonal)
    assert solution.lower_bound <= value * (1.0 + 1e-7)
    assert solution.upper_bound == pytest.approx(value, rel=1e-6)
    assert cm.audit(problem, np.diag(M) if diagonal else M, reference=solution).suboptimality <= 1e-6
    assert objective_by_hand(X, y, k, push, solution.M) == pytest.approx(solution.upper_bound, rel=1e-9)


def test_targets_and_triplets_are_those_of_the_paper():
    X, y = points(n=25)
    targets, triplets = by_hand(X, y, 4)
    problem = cm.LargeMarginProblem(X, y, n_neighbors=4)
    assert {tuple(pair) for pair in problem.targets} == {tuple(pair) for pair in targets}
    assert problem.count == len(triplets)
    assert f"{len(targets)} pairs" in str(problem)
    assert f"{len(triplets)} triplets" in str(problem)
    assert f"{len(triplets)}" in problem._repr_latex_()


@given(st.integers(0, 2**31), st.floats(1e-3, 1e3), st.booleans())
def test_objectives_agree_in_both_coordinates(seed, scale, diagonal):
    rng = np.random.default_rng(seed)
    X, y = points(n=12, d=4, seed=seed)
    X = X * scale ** np.linspace(-1.0, 1.0, 4)
    problem = cm.LargeMarginProblem(X, y, n_neighbors=2, push=0.3, diagonal=diagonal)
    B = rng.standard_normal((int(rng.integers(1, 5)), 4)) / X.std(axis=0)
    M = np.diag((B * B).sum(axis=0)) if diagonal else B.T @ B
    variable = problem.from_features(np.diag(M) if diagonal else M)
    assert problem.objective(problem.full_matrix(variable)) == pytest.approx(problem.value(variable), rel=1e-9)
    assert problem.value(variable) == pytest.approx(objective_by_hand(X, y, 2, 0.3, M), rel=1e-9)
    np.testing.assert_allclose(problem.full_matrix(variable), M, rtol=1e-8, atol=1e-9 * np.abs(M).max())
    if diagonal:
        np.testing.assert_allclose(problem.weights(variable), np.diag(M), rtol=1e-9)


def test_weights_are_those_of_the_features():
    X, y = points()
    solution = cm.solve(cm.LargeMarginProblem(X, y, diagonal=True))
    np.testing.assert_allclose(np.diag(solution.w), solution.M, atol=1e-12 * solution.w.max())


def test_the_optimum_does_not_depend_on_the_axes():
    X, y = points()
    # The metric of a rotated set is the rotated metric; target neighbours stay.
    Q = np.linalg.qr(np.random.default_rng(1).standard_normal((3, 3)))[0]
    one, other = (cm.solve(cm.LargeMarginProblem(Z, y), tol=1e-7) for Z in (X, X @ Q.T))
    assert one.upper_bound == pytest.approx(other.upper_bound, rel=2e-7)
    np.testing.assert_allclose(Q.T @ other.M @ Q, one.M, atol=2e-3 * np.abs(one.M).max())


@pytest.mark.parametrize("diagonal", [False, True])
def test_what_never_varies_is_left_out(diagonal):
    X, y = points()
    wider = np.column_stack([X[:, 0], np.full(len(X), 1e3 / 3.0), X[:, 1:]])
    problem = cm.LargeMarginProblem(wider, y, diagonal=diagonal)
    assert "1 that never vary left out" in str(problem)
    solution, narrow = cm.solve(problem), cm.solve(cm.LargeMarginProblem(X, y, diagonal=diagonal))
    assert max(solution.lower_bound, narrow.lower_bound) <= min(solution.upper_bound, narrow.upper_bound)
    assert np.abs(solution.M[1]).max() <= 1e-12 * np.abs(solution.M).max()


def test_directions_in_which_only_other_points_differ_are_refused():
    X, y = points()
    with pytest.raises(InputError, match="agree in 1 of 4 directions"):
        cm.LargeMarginProblem(np.column_stack([X, y]), y)
    with pytest.raises(InputError, match="agree in 1 of 4 features"):
        cm.LargeMarginProblem(np.column_stack([X, y]), y, diagonal=True)
    few, labels = points(n=8, d=20, classes=2)
    with pytest.raises(InputError, match="principal components"):
        cm.LargeMarginProblem(few, labels, n_neighbors=2)


@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize("ridge", [0.05, 2.0])
def test_a_ridge_pulls_by_the_mean_squared_distance_of_two_points(ridge, diagonal):
    X, y = points(n=10, d=3 if diagonal else 11, classes=2)
    if diagonal:
        X = np.column_stack([X, y])
    weights = np.linspace(0.5, 1.5, len(X))
    problem = cm.LargeMarginProblem(X, y, n_neighbors=2, diagonal=diagonal, weights=weights, ridge=ridge)
    solution = cm.solve(problem, tol=1e-7)
    assert solution.gap <= 1e-7

    def value(M):
        targets, (i, j, other) = by_hand(X, y, 2)[0], by_hand(X, y, 2)[1].T
        D = np.einsum("ijd,de,ije->ij", X[:, None] - X, np.diag(M) if diagonal else M, X[:, None] - X)
        pull = weights[targets[:, 0]] @ (D[tuple(targets.T)] + ridge * D.mean())
        return 0.5 * pull + 0.5 * weights[i] @ np.maximum(0.0, 1.0 + D[i, j] - D[i, other])

    M = solution.w if diagonal else solution.M
    assert value(M) == pytest.approx(solution.upper_bound, rel=1e-9)
    program = problem.to_cvxpy()
    program.solve(solver=cp.SCS, eps=1e-8)
    assert solution.upper_bound == pytest.approx(program.value, rel=1e-5)


@pytest.mark.parametrize("ridge", [-1.0, np.nan, np.inf, "much", True])
def test_a_ridge_is_a_finite_number_that_is_not_negative(ridge):
    with pytest.raises(InputError, match="ridge must be"):
        cm.LargeMarginProblem(*points(), ridge=ridge)


def test_the_same_point_again_and_again_is_refused():
    for diagonal in (False, True):
        with pytest.raises(InputError, match="again and again"):
            cm.LargeMarginProblem(np.ones((6, 2)), [0, 0, 0, 1, 1, 1], diagonal=diagonal)


@pytest.mark.parametrize("diagonal", [False, True])
def test_audits_and_files_speak_of_the_features(tmp_path, diagonal):
    X, y = points()
    problem = cm.LargeMarginProblem(np.column_stack([X, np.full(len(X), 7.0)]), y, diagonal=diagonal)
    solution = cm.solve(problem)
    given = solution.w if diagonal else solution.M
    assert cm.audit(problem, given, reference=solution).suboptimality <= 1.1e-6
    file = write_solution(tmp_path / "metric.npz", solution)
    np.testing.assert_array_equal(read_metric(file), given)
    certificate = read_certificate(file, problem)
    assert certificate.upper_bound == pytest.approx(solution.upper_bound, rel=1e-10)
    assert certificate.lower_bound == pytest.approx(solution.lower_bound, rel=1e-12)
    # The metric of another tool beside a dual point is one on the features.
    with np.load(file) as arrays:
        np.savez(tmp_path / "theirs.npz", **{name: arrays[name] for name in arrays if name != "variable"})
    theirs = read_certificate(tmp_path / "theirs.npz", problem)
    assert theirs.upper_bound == pytest.approx(solution.upper_bound, rel=1e-9)


@pytest.mark.parametrize("diagonal", [False, True])
def test_constraints_of_the_users_own_are_on_the_features(diagonal):
    X, y = points()

    def ignoring_one(M):
        return [M[1] <= 0.01] if diagonal else [M[1, 1] <= 0.01, M[0, 2] == 0.0]

    solution = cm.solve(cm.LargeMarginProblem(X, y, diagonal=diagonal), constraints=ignoring_one)
    value, _ = the_papers_program(X, y, 3, 0.5, diagonal, ignoring_one)
    assert solution.upper_bound == pytest.approx(value, rel=2e-6)
    assert solution.M[1, 1] <= 0.01 + 1e-6
    assert value > 1.001 * the_papers_program(X, y, 3, 0.5, diagonal)[0]
