"""Linear combinations of squared distances against their definition, CVXPY, and the classes that they contain."""

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from samples import random_element, random_metric

import convexmetric as cm
from convexmetric.comparisons import Linear, PairDistances, Quadruplets, StackedComparisons, Triplets
from convexmetric.cones import BlockDiagonal, NonnegativeDiagonal, PSDCone
from convexmetric.errors import InputError
from convexmetric.losses import BoxLoss, Hinge
from convexmetric.regularizers import SquaredFrobenius, Trace
from convexmetric.risks import SeparableRisk

CONES = {
    "full": PSDCone(3), "blocks": BlockDiagonal([2, 1]), "diagonal": NonnegativeDiagonal(3),
    "sparse": NonnegativeDiagonal(3),
}  # fmt: skip
#: A row without a pair, one with all, and a coefficient that is given twice.
MATRIX = sp.coo_array(
    ([1.0, 2.0, -0.5, 0.25, -1.0, 3.0, 0.5, 1.0, -2.0], ([0, 0, 1, 3, 3, 3, 3, 3, 4], [0, 1, 4, 0, 1, 2, 3, 4, 2])),
    shape=(5, 5),
)


def made(kind, seed=0):
    rng = np.random.default_rng(seed)
    X, pairs = rng.standard_normal((7, 3)) * (rng.random((7, 3)) < 0.7), [[0, 1], [1, 0], [2, 6], [3, 4], [0, 1]]
    return rng, Linear(sp.csr_array(X) if kind == "sparse" else X, pairs, MATRIX, CONES[kind])


@pytest.mark.parametrize("kind", CONES)
def test_the_operator_is_its_definition(kind):
    rng, linear = made(kind)
    M, cone = random_metric(rng, linear.cone), linear.cone
    X, full = sp.csr_array(linear.X).toarray(), np.diag(M) if M.ndim == 1 else M
    distances = [(X[i] - X[j]) @ full @ (X[i] - X[j]) for i, j in linear.pairs.pairs]
    expected = MATRIX.toarray() @ distances
    np.testing.assert_allclose(linear.forward(M), expected, atol=1e-12)
    np.testing.assert_allclose(linear.rows @ cone.coordinates(M), expected, atol=1e-12)
    block = linear.block(np.array([3, 0]), slice(None))
    np.testing.assert_allclose(block @ cone.coordinates(M), expected[[3, 0]], atol=1e-12)
    variable, _ = cone.variable("M")
    variable.value = M
    np.testing.assert_allclose(linear.expression(variable).value, expected, atol=1e-12)
    M, u = random_element(rng, cone), rng.standard_normal(5)
    assert cone.inner(linear.adjoint(u), M) == pytest.approx(u @ linear.forward(M), rel=1e-12)


def test_what_else_is_asked_of_comparisons():
    _, linear = made("full")
    assert len(linear) == 5
    assert linear.distances_each == 5.75
    np.testing.assert_array_equal(linear.places[[0, 2]][:, :6], [[0, 1, 1, 0, -1, -1], [-1] * 6])
    assert linear.places.shape == (5, 10)
    stacked = StackedComparisons([linear, Triplets(linear.X, [[0, 1, 2]], linear.cone)])
    assert stacked.distances_each == 5.75
    assert SeparableRisk(linear, Hinge(1.0)).part_kind == "comparison"


def test_pairs_triplets_and_quadruplets_are_combinations():
    rng, linear = made("full")
    X, cone, M = linear.X, linear.cone, random_metric(rng, linear.cone)
    pairs = PairDistances(X, [[0, 1], [2, 3]], [1.0, -1.0], cone)
    alike = [
        (pairs, Linear(X, pairs.pairs, np.diag(pairs.signs), cone)),
        (Triplets(X, [[0, 1, 2]], cone), Linear(X, [[0, 1], [0, 2]], [[-1.0, 1.0]], cone)),
        (Quadruplets(X, [[0, 1, 2, 3]], cone), Linear(X, [[0, 1], [2, 3]], [[-1.0, 1.0]], cone)),
    ]
    for one, other in alike:
        np.testing.assert_allclose(one.forward(M), other.forward(M), rtol=1e-13)


@pytest.mark.parametrize("kind", CONES)
@pytest.mark.parametrize("loss", ["hinge", "absolute", "hard"])
def test_bounds_are_those_of_cvxpy_and_are_proven(kind, loss, tmp_path):
    """Absolute errors of combinations, hinges, and a margin that holds; as images of points, too, where these do."""
    _, linear = made(kind, 3)
    weights, goals = np.array([0.5, 0.7, 0.2, 0.4, 0.6]), np.array([0.8, -1.0, 0.0, 0.3, -2.0])
    losses = {
        "hinge": BoxLoss.hinge(weights, goals),
        "absolute": BoxLoss.absolute_error(weights, goals),
        "hard": Hinge(np.inf, 0.5),
    }
    rows = [0, 3] if loss == "hard" else range(5)
    linear = Linear(linear.X, linear.pairs.pairs, MATRIX.toarray()[rows], linear.cone)
    regularizer = Trace(0.3) if loss == "absolute" else SquaredFrobenius(0.4)
    problem = cm.MetricProblem(SeparableRisk(linear, losses[loss]), regularizer)
    solution = cm.solve(problem, tol=1e-7)
    M, constraints = linear.cone.variable("M")
    X = sp.csr_array(linear.X).toarray()
    V = [X[i] - X[j] for i, j in linear.pairs.pairs]
    distances = cp.hstack([cp.sum(cp.multiply(v * v if M.ndim == 1 else np.outer(v, v), M)) for v in V])
    s = MATRIX.toarray()[rows] @ distances
    trace = cp.sum(M) if M.ndim == 1 else cp.trace(M)
    cost = {
        "hinge": lambda: weights @ cp.pos(goals - s) + 0.2 * cp.sum_squares(M),
        "absolute": lambda: weights @ cp.abs(goals - s) + 0.3 * trace,
        "hard": lambda: 0.2 * cp.sum_squares(M),
    }[loss]()
    constraints += [s >= 0.5] * (loss == "hard")
    reference = cp.Problem(cp.Minimize(cost), constraints).solve(solver="CLARABEL", tol_gap_rel=1e-10)
    assert solution.upper_bound == pytest.approx(reference, rel=1e-5, abs=1e-9)
    written = cm.write_certificate(tmp_path / "c.npz", problem, solution=solution)
    assert written.sizes["combinations of pairs"] == len(rows)
    verdict = cm.verify(tmp_path / "c.npz")
    assert verdict.accepted
    assert float(verdict.lower) <= reference + 1e-6 * abs(reference)
    assert float(verdict.upper) >= reference - 1e-6 * abs(reference)


@pytest.mark.parametrize(
    ("pairs", "matrix", "message"),
    [
        ([[0, 1], [1, 1]], np.ones((1, 2)), "two different points"),
        ([[0, 1], [1, 7]], np.ones((1, 2)), "points to row 7"),
        ([[0, 1], [1, 2]], np.ones((1, 3)), "a column for each of the 2 pairs"),
        ([[0, 1], [1, 2]], np.ones((0, 2)), "a row for each comparison"),
        ([[0, 1], [1, 2]], [[1.0, np.nan]], "NaN or infinite"),
    ],
)
def test_what_does_not_fit_is_named(pairs, matrix, message):
    with pytest.raises(InputError, match=message):
        Linear(np.ones((7, 3)), pairs, matrix, CONES["full"])
