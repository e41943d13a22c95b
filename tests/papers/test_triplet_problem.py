"""Paper 3's problem: its terms, its ways in, its variants."""

import numpy as np
import pytest
import scipy.sparse as sp

import convexmetric as cm
from convexmetric.comparisons import Triplets
from convexmetric.cones import NonnegativeDiagonal
from convexmetric.errors import InputError
from convexmetric.losses import BoxLoss
from convexmetric.risks import SeparableRisk

RNG = np.random.default_rng(0)
X = RNG.standard_normal((16, 5))
Y = np.arange(16) % 3
A = (RNG.random((16, 16)) < 0.2).astype(int)


def distance(M, i, j):
    v = X[i] - X[j]
    return float(v @ (np.diag(M) if M.ndim == 1 else M) @ v)


@pytest.mark.parametrize("diagonal", [False, True])
def test_the_objective_is_equation_5(diagonal):
    problem = cm.TripletProblem.from_graph(X, A, reg=0.3, margin=0.7, intra=0.4, inter=0.2, diagonal=diagonal)
    B = RNG.standard_normal((5, 5))
    M = np.abs(B[0]) if diagonal else B @ B.T
    pairs = [(i, j) for i in range(16) for j in range(16) if i != j]
    S1 = [(i, j) for i, j in pairs if A[i, j]]
    S2 = [(i, j) for i, j in pairs if not A[i, j]]
    S = [(i, j, k) for i, j in S1 for m, k in S2 if m == i]
    expected = (
        0.15 * np.sum(M**2)
        + np.mean([max(0.0, distance(M, i, j) - distance(M, i, k) + 0.7) for i, j, k in S])
        + 0.4 * np.mean([distance(M, i, j) for i, j in S1])
        - 0.2 * np.mean([distance(M, i, k) for i, k in S2])
    )
    assert problem.count == len(S)
    assert problem.objective(M) == pytest.approx(expected, rel=1e-10)


def test_neighbours_are_near_in_the_coordinates_given():
    problem = cm.TripletProblem.from_labels(X, Y, n_same=1, n_other=1, near=X[:, 2:3])
    triplets = []
    for i in range(16):
        order = sorted(set(range(16)) - {i}, key=lambda j: abs(X[i, 2] - X[j, 2]))
        triplets.append([i, *(next(j for j in order if (Y[j] == Y[i]) == same) for same in (True, False))])
    M = np.diag(np.arange(5.0))
    assert problem.risk.value(M) == pytest.approx(cm.TripletProblem(X, triplets).risk.value(M), rel=1e-12)


def test_a_list_a_graph_and_labels_meet():
    same = (Y[:, None] == Y).astype(int)
    listed = np.array(
        [(i, j, k) for i in range(16) for j in range(16) for k in range(16) if i != j and same[i, j] and not same[i, k]]
    )
    pairs = np.argwhere(same & ~np.eye(16, dtype=bool))
    others = np.argwhere(~same.astype(bool))
    options = {"reg": 0.05, "intra": 0.3, "inter": 0.1}
    problems = [
        cm.TripletProblem(X, RNG.permutation(listed), similar=pairs, dissimilar=others, **options),
        cm.TripletProblem.from_graph(X, same, **options),
        cm.TripletProblem.from_labels(X, Y, n_same=None, n_other=None, **options),
        cm.TripletProblem.from_labels(X, Y, n_same=50, n_other=50, **options),
    ]
    M = np.diag(np.arange(5.0))
    values = [problem.objective(M) for problem in problems]
    np.testing.assert_allclose(values, values[0], rtol=1e-10)
    assert [problem.count for problem in problems] == [len(listed)] * 4


def test_multipliers_of_a_list_are_in_the_order_of_its_triplets():
    listed = np.array([[3, 4, 5], [0, 1, 2], [3, 4, 1], [0, 1, 2]])
    problem = cm.TripletProblem(X, listed)
    np.testing.assert_array_equal(problem.triplets, [[0, 1, 2], [0, 1, 2], [3, 4, 1], [3, 4, 5]])
    np.testing.assert_array_equal(problem.risk.listed().comparisons.triplets, problem.triplets)


@pytest.mark.parametrize("share", [0.0, 0.2])
def test_above_reg_max_every_triplet_violates_its_margin(share):
    problem = cm.TripletProblem.from_labels(X + Y[:, None], Y, n_same=3, n_other=3, intra=share)
    M = cm.solve(problem.with_reg(1.01 * problem.reg_max), tol=1e-9, solver="semismooth-newton").certificate.M
    assert problem.risk.largest_margin(M) < problem.margin
    S = problem.risk.smoothed(problem.cone.zeros(), 1e-3).point.S
    at = problem.cone.project(S if problem.G is None else S - problem.G) / (1.01 * problem.reg_max)
    np.testing.assert_allclose(M, at, atol=1e-7 * abs(at).max())
    below = cm.solve(problem.with_reg(0.9 * problem.reg_max), tol=1e-9, solver="semismooth-newton").certificate.M
    assert problem.risk.largest_margin(below) > problem.margin * (1 - 1e-6)


def test_a_projected_metric_measures_the_original_points():
    points = sp.csr_array(np.where(np.abs(X) > 0.6, X, 0.0))
    problem = cm.TripletProblem.from_labels(
        points,
        Y,
        n_same=2,
        n_other=2,
        reg=1e-3,
        projection=cm.features.make_projection("gaussian", points, 3, random_state=0),
    )
    solution = cm.solve(problem)
    V, R = problem.rankings.X, solution.certificate.M
    difference = points.toarray()[2] - points.toarray()[9]
    expected = (V[2] - V[9]) @ R @ (V[2] - V[9])
    assert np.sum((solution.components @ difference) ** 2) == pytest.approx(expected, rel=1e-9)
    assert difference @ solution.M @ difference == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("letter", list(cm.papers.VARIANTS))
def test_every_variant_by_name(letter):
    variant = cm.papers.VARIANTS[letter]
    problem = variant.problem(cm.TripletProblem.from_graph, sp.csr_array(X), A, reg=0.1, r=4, random_state=0)
    assert isinstance(problem.cone, NonnegativeDiagonal) == (letter in "ABCD")
    assert problem.intra == float(letter in "BDGIL")
    assert problem.inter == float(letter in "CDHI")
    assert cm.solve(problem, tol=1e-5).gap <= 1e-5
    assert ("tr(R)" in str(problem)) == (letter == "E")
    assert len(cm.papers.VARIANTS) == 11


def test_sampled_pair_terms_are_right_on_average():
    problem = cm.TripletProblem.from_labels(X, Y, n_same=3, n_other=3, intra=0.5, inter=0.2)
    rng = np.random.default_rng(1)
    mean = np.mean([problem.sampled_G(rng, 50)[0] for _ in range(400)], axis=0)
    np.testing.assert_allclose(mean, problem.G, atol=0.1)


def test_sparse_points_need_a_diagonal_metric_or_a_projection():
    with pytest.raises(InputError, match=r"X is sparse: pass diagonal=True, a projection, or X\.toarray"):
        cm.TripletProblem.from_labels(sp.csr_array(X), Y)


@pytest.mark.parametrize("penalty", ["trace", "squared-frobenius"])
def test_listed_triplets_go_to_the_same_solvers_as_blocks(penalty):
    rng = np.random.default_rng(4)
    X, triplets = rng.normal(size=(30, 5)), np.array([rng.choice(30, 3, replace=False) for _ in range(80)])
    problem = cm.TripletProblem(X, triplets, reg=0.1, penalty=penalty)
    count = problem.count
    listed = SeparableRisk(
        Triplets(X, problem.triplets, problem.cone), BoxLoss.hinge(np.full(count, 1 / count), np.ones(count))
    )
    blocks = cm.MetricProblem(listed, problem.regularizer)
    names = {step.name for step in cm.explain(blocks, False).steps}
    assert names <= {step.name for step in cm.explain(problem, False).steps}
    value = cm.solve(problem, 1e-8).upper_bound
    for name in names - {"cutting-planes"}:
        solution = cm.solve(problem, 1e-6, solver=name)
        assert solution.status == "optimal"
        assert solution.upper_bound == pytest.approx(value, rel=2e-6)
    lists = cm.TripletProblem.from_labels(X, np.arange(30) % 3, n_same=4, n_other=5)
    assert "factored-lagrangian" not in {step.name for step in cm.explain(lists, False).steps}
