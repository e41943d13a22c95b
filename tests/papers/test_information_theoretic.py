"""Information-theoretic metric learning: against the paper's own algorithm, its program and both conic solvers."""

import cvxpy as cp
import numpy as np
import pytest

import convexmetric as cm

WINE = cm.datasets.load("wine")
X, Y = cm.datasets.preprocess(WINE.X, ["zscore"])[:, :5], WINE.y


def bregman(X, pairs, r, u, l, gamma, A0, sweeps):  # noqa: E741
    """Algorithm 1 of the paper: projections on one constraint after the other, with the step of its gamma."""
    A, xi, multipliers = A0.copy(), np.where(r == 1, u, l), np.zeros(len(r))
    for _ in range(sweeps):
        for t, (i, j) in enumerate(pairs):
            v, delta = X[i] - X[j], r[t]
            p = v @ A @ v
            alpha = min(multipliers[t], gamma / (gamma + 1.0) * delta * (1.0 / p - 1.0 / xi[t]))
            xi[t] = 1.0 / (1.0 / xi[t] + delta * alpha / gamma)
            multipliers[t] -= alpha
            A = A + delta * alpha / (1.0 - delta * alpha * p) * np.outer(A @ v, A @ v)
    return A


def test_the_papers_algorithm_comes_to_the_same_metric():
    problem = cm.InformationTheoreticProblem.from_labels(X, Y, 40, gamma=0.5, random_state=1)
    solution = cm.solve(problem, tol=1e-9)
    r = np.where(problem.signs < 0.0, 1, -1)
    A = bregman(X - X.mean(axis=0), problem.comparisons.pairs, r, problem.u, problem.l, 0.5, np.eye(5), 3000)
    assert problem.value(A) == pytest.approx(solution.upper_bound, rel=1e-7)
    assert pytest.approx(solution.M, abs=1e-3) == A


@pytest.mark.parametrize("diagonal", [False, True])
def test_contract_gap_and_both_conic_solvers(diagonal):
    prior = np.linspace(0.5, 1.5, 5)
    problem = cm.InformationTheoreticProblem.from_labels(
        X, Y, 60, gamma=2.0, prior=prior if diagonal else np.diag(prior), diagonal=diagonal, random_state=0
    )
    cm.check_problem(problem)
    solution = cm.solve(problem)
    assert (solution.status, solution.solver in ("dual-ascent", "admm")) == ("optimal", True)
    for stated in (problem.statement().problem, problem.to_cvxpy()):
        assert stated.solve(solver=cp.CLARABEL) == pytest.approx(solution.upper_bound, rel=1e-6)
    assert problem.statement().problem.solve(solver=cp.SCS, eps_abs=1e-8, eps_rel=1e-8, max_iters=100_000) == (
        pytest.approx(solution.upper_bound, rel=1e-5)
    )


def test_full_size():
    problem = cm.InformationTheoreticProblem.from_labels(WINE.X / WINE.X.std(axis=0), Y, 1000, random_state=0)
    solution = cm.solve(problem)
    assert solution.status == "optimal"
    assert solution.rank == 13


def test_words():
    problem = cm.InformationTheoreticProblem.from_labels(X, Y, 40, random_state=1)
    assert "D_ld(A, A0) + gamma D_ld(xi, xi0)" in str(problem)
    assert r"D_{\ell d}(A, A_0)" in problem.latex()
