"""The function solve: known optima, limits, interrupts, choice of solver, extreme data."""

import warnings

import cvxpy as cp
import numpy as np
import pytest

import convexmetric as cm
from convexmetric.errors import GapWarning, SolverNotInstalledError


@pytest.fixture(scope="module")
def wine():
    data = cm.datasets.load("wine")
    return cm.datasets.preprocess(data.X, ["zscore"]), data.y


@pytest.fixture(scope="module")
def ranking(wine):
    return cm.RankingProblem.from_labels(*wine, measure="auc", C=100.0)


@pytest.mark.parametrize(("C", "optimum"), [(1.0, 0.234358), (100.0, 4.42612), (1e4, 361.1707)])
def test_ranking_on_wine_reaches_the_known_optimum(wine, C, optimum):
    solution = cm.solve(cm.RankingProblem.from_labels(*wine, measure="auc", C=C))
    assert solution.status == "optimal"
    assert solution.gap <= 1e-6
    assert solution.iterations <= 60
    assert solution.lower_bound * (1 - 1e-5) <= optimum <= solution.upper_bound * (1 + 1e-5)
    assert np.linalg.eigvalsh(solution.M)[0] >= -1e-12 * np.linalg.norm(solution.M)


def test_the_printed_algorithm_is_far_behind_after_as_many_passes(ranking):
    default = cm.solve(ranking)
    with pytest.warns(GapWarning, match="above tol"):
        plain = cm.solve(ranking, solver=cm.solvers.CuttingPlanes.plain(), max_iter=default.iterations)
    assert plain.status == "max_iter"
    assert plain.gap > 1e4 * default.gap
    assert plain.lower_bound <= default.upper_bound
    assert plain.upper_bound >= default.lower_bound


def test_limits_return_the_best_certified_solution(ranking):
    with pytest.warns(GapWarning):
        few = cm.solve(ranking, max_iter=5)
    assert few.status == "max_iter"
    assert few.iterations == len(few.history) == 5
    assert 0.0 < few.lower_bound < few.upper_bound < np.inf
    with pytest.warns(GapWarning):
        short = cm.solve(ranking, max_seconds=0.02)
    assert short.status == "max_seconds"
    assert np.isfinite(short.gap)


def test_a_callback_sees_every_pass_and_can_stop(ranking):
    seen = []

    def stop_at_three(progress):
        seen.append(progress)
        return progress.iteration == 3

    with pytest.warns(GapWarning):
        solution = cm.solve(ranking, callback=stop_at_three)
    assert solution.status == "interrupted"
    assert seen == solution.history
    assert len(seen) == 3


def test_ctrl_c_keeps_the_best_certified_solution(ranking):
    def interrupt(progress):
        if progress.iteration == 10:
            raise KeyboardInterrupt

    with pytest.warns(GapWarning):
        solution = cm.solve(ranking, callback=interrupt)
    assert solution.status == "interrupted"
    assert solution.iterations == 10
    # The upper bound has its rounding, of which up to 1e-10 is bounded without a pass over the data.
    assert solution.upper_bound == pytest.approx(solution.history[-1].upper_bound, rel=2e-10)
    assert solution.lower_bound == pytest.approx(solution.history[-1].lower_bound, rel=1e-9)


def test_the_progress_bar_goes_to_standard_error(ranking, capsys):
    with warnings.catch_warnings(action="ignore", category=GapWarning):
        cm.solve(ranking, max_iter=3, progress=True)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "gap" in captured.err


@pytest.mark.parametrize("backend", ["mosek", "cvxopt", "sdpa"])
def test_a_solver_that_is_not_installed_is_named_with_its_install_line(monkeypatch, backend):
    monkeypatch.setattr(cp, "installed_solvers", lambda: ["CLARABEL", "SCS"])
    with pytest.raises(SolverNotInstalledError, match=rf"pip install 'convexmetric\[{backend}\]'"):
        cm.solvers.Conic(backend)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("C", [1e-6, 1.0, 1e8])
def test_no_wrong_optimum_is_returned_silently(wine, scale, C):
    X, y = wine[0][::9] * scale, wine[1][::9]
    problem = cm.RankingProblem.from_labels(X, y, C=C)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", GapWarning)
        solution = cm.solve(problem, max_seconds=0.7)
    warned = any(issubclass(warning.category, GapWarning) for warning in caught)
    assert warned == (solution.gap > 1e-6) == (solution.status != "optimal")
    # Distances scale with the square of the data, and the objective with it: W -> W / scale^2.
    assert solution.upper_bound <= C * (1 + 1e-12)
    assert solution.lower_bound >= 0.0


@pytest.mark.parametrize(
    "X",
    [np.zeros((6, 2)), np.ones((6, 1)), np.repeat(np.eye(3), 2, axis=0), np.arange(6.0)[:, None]],
    ids=["zeros", "ones", "duplicates", "line"],
)
def test_degenerate_points_are_solved(X):
    y = np.array([0, 0, 1, 1, 2, 2])
    ranking = cm.solve(cm.RankingProblem.from_labels(X, y, C=2.0))
    relative = cm.solve(cm.RelativeComparisonProblem(X, [[0, 1, 2], [2, 3, 5], [4, 5, 0]], C=2.0))
    for solution in (ranking, relative):
        assert solution.status == "optimal"
        reference = solution.problem.to_cvxpy()
        reference.solve(solver="CLARABEL")
        assert reference.value == pytest.approx(solution.upper_bound, rel=1e-5, abs=1e-6)


def test_solution_knows_full_matrix_and_weights(wine):
    X, _ = wine
    A = np.random.default_rng(0).normal(size=(13, 4))
    triplets = [[0, 1, 70], [60, 61, 140], [150, 151, 3]]
    solution = cm.solve(cm.RelativeComparisonProblem(X, triplets, A=A))
    np.testing.assert_allclose(solution.M, A @ np.diag(solution.w) @ A.T)
    differences = X[[0, 60, 150]] - X[[70, 140, 3]]
    far = np.einsum("ij,jk,ik->i", differences, solution.M, differences)
    near = np.einsum("ij,jk,ik->i", X[[0, 60, 150]] - X[[1, 61, 151]], solution.M, X[[0, 60, 150]] - X[[1, 61, 151]])
    slack = np.maximum(0.0, 1.0 - (far - near))
    expected = 0.5 * np.linalg.norm(solution.M) ** 2 + slack.sum()
    assert expected == pytest.approx(solution.upper_bound, rel=1e-9)
    with pytest.raises(AttributeError, match=r"use \.M"):
        _ = cm.solve(cm.RankingProblem.from_labels(X[::9], wine[1][::9])).w
