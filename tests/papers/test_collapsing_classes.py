"""Collapsing classes: the divergence, the paper's case without a regularizer, and classes that collapse."""

import numpy as np
import pytest

import convexmetric as cm
from convexmetric.errors import InputError

RNG = np.random.default_rng(0)
Y = np.array([0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 2])
X = RNG.standard_normal((12, 3)) + 0.5 * Y[:, None]


def divergence(M):
    total = 0.0
    for i in range(12):
        p = np.exp([-(X[i] - X[j]) @ M @ (X[i] - X[j]) if j != i else -np.inf for j in range(12)])
        p /= p.sum()
        same = (np.arange(12) != i) & (Y[i] == Y)
        total += np.mean(np.log(1.0 / (same.sum() * p[same])))
    return total


def test_the_objective_is_the_divergence():
    B = RNG.standard_normal((3, 3))
    M = B @ B.T
    assert cm.papers.CollapsingClassesProblem(X, Y).objective(M) == pytest.approx(divergence(M), rel=1e-12)
    problem = cm.papers.CollapsingClassesProblem(X, Y, reg=0.3)
    assert problem.objective(M) == pytest.approx(divergence(M) + 0.15 * np.sum(M**2), rel=1e-12)
    problem = problem.with_reg(0.0)
    assert problem.objective(M) == pytest.approx(divergence(M), rel=1e-12)
    cm.check_problem(problem)
    assert "||" not in str(problem).replace("p0(.|i) || p(", "")


def test_the_problem_as_it_was_published_is_solved_where_the_data_hold_the_metric():
    iris = cm.datasets.load("iris")
    solution = cm.solve(cm.papers.CollapsingClassesProblem(iris.X, iris.y), tol=1e-6)
    assert solution.gap <= 1e-6
    step = 1e-3 * np.eye(4)
    least = solution.problem.value(solution.M)
    assert least <= solution.problem.value(solution.M + step)
    assert least <= solution.problem.value(0.99 * solution.M)


def test_classes_that_collapse_leave_an_infimum_of_zero():
    points = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    problem = cm.papers.CollapsingClassesProblem(points, [0, 0, 1, 1])
    values = [problem.value(np.diag([t, 0.0])) for t in (1.0, 10.0, 30.0)]
    assert values[0] > values[1] > values[2] > 0.0
    assert values[2] < 1e-9
    held = cm.solve(problem.with_reg(0.1), tol=1e-6)
    assert held.gap <= 1e-6
    assert held.upper_bound > 0.1


def test_labels_are_one_a_point():
    with pytest.raises(InputError, match="y must have one label a point: X has 12 rows, y has 11"):
        cm.papers.CollapsingClassesProblem(X, Y[1:])
