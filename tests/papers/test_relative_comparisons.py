"""Relative comparisons: kernels, maps A, and contradictory hard margins."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel

import convexmetric as cm
from convexmetric.errors import InfeasibleError, InputError


@pytest.mark.parametrize(("name", "function"), [("linear", linear_kernel), ("rbf", rbf_kernel)])
def test_kernels_by_name_are_those_of_scikit_learn(name, function):
    rng = np.random.default_rng(1)
    X, triplets = rng.standard_normal((8, 3)), [[0, 1, 2], [3, 4, 5]]
    by_name = cm.RelativeComparisonProblem(X, triplets, kernel=name)
    np.testing.assert_allclose(by_name.K, function(X), rtol=1e-12)
    w = rng.random(8)
    by_function = cm.RelativeComparisonProblem(X, triplets, kernel=function)
    assert by_name.objective(w) == pytest.approx(by_function.objective(w), rel=1e-12)


def test_the_metric_of_a_map_has_the_norm_and_distances_of_the_paper():
    rng = np.random.default_rng(2)
    X, A = rng.standard_normal((9, 4)), rng.standard_normal((4, 6))
    triplets = [(0, 1, 2), (3, 4, 5), (6, 7, 8)]
    problem = cm.RelativeComparisonProblem(X, triplets, A=A)
    w = rng.random(6)
    M = problem.full_matrix(w)
    np.testing.assert_allclose(M, A @ np.diag(w) @ A.T)
    assert problem.penalty(w) == pytest.approx(0.5 * np.linalg.norm(M) ** 2)
    margins = [(X[i] - X[k]) @ M @ (X[i] - X[k]) - (X[i] - X[j]) @ M @ (X[i] - X[j]) for i, j, k in triplets]
    np.testing.assert_allclose(problem.triplets.forward(w), margins, atol=1e-12)


def test_with_a_map_a_matrix_is_refused_for_it_could_mean_two_things():
    X = np.random.default_rng(3).standard_normal((6, 3))
    problem = cm.RelativeComparisonProblem(X, [[0, 1, 2], [3, 4, 5]], A=np.diag([1.0, 2.0, 3.0]))
    solution = cm.solve(problem)
    assert problem.objective(solution.w) == pytest.approx(solution.upper_bound, rel=1e-10)
    for judge in (
        problem.objective,
        lambda M: cm.audit(problem, M, reference=0.1),
        lambda M: cm.certify(problem, M, solution.certificate.dual),
    ):
        with pytest.raises(InputError, match=r"with A, pass the 3 weights w \(Solution\.w\), not a matrix"):
            judge(solution.M)


def test_infeasible_hard_margins_name_triplets():
    with pytest.raises(InfeasibleError, match=r"these 2 triplets together: triplets\[1\] = \(0, 1, 2\); triplets\[2\]"):
        cm.RelativeComparisonProblem(np.eye(4), [[3, 0, 1], [0, 1, 2], [0, 2, 1]], C=np.inf)
    with pytest.raises(InfeasibleError, match=r"this triplet: triplets\[0\] = \(0, 1, 2\)\. Drop"):
        cm.RelativeComparisonProblem(np.ones((3, 2)), [[0, 1, 2]], C=np.inf)


def test_a_long_contradiction_is_cut_short_in_the_message():
    n = 12
    ring = [[i, (i + 1) % n, (i - 1) % n] for i in range(n)]  # d(i, i+1) < d(i, i-1), all the way round
    with pytest.raises(InfeasibleError, match=r"these 12 triplets together: .*; and 6 more"):
        cm.RelativeComparisonProblem(np.random.default_rng(0).standard_normal((n, 60)), ring, C=np.inf)


@pytest.mark.parametrize("m", [3, 4, 6])
def test_components_are_a_factor_of_the_metric_on_the_features(m):
    rng = np.random.default_rng(0)
    X, A = rng.standard_normal((10, 4)), rng.standard_normal((4, m))
    problem = cm.RelativeComparisonProblem(X, [[0, 1, 2], [3, 4, 5]], A=A)
    w = rng.random(m) * np.array([1.0, 0.0, *np.ones(m - 2)])
    factor = problem.components(w)
    np.testing.assert_allclose(factor.T @ factor, (A * w) @ A.T, atol=1e-12)
