"""Newton's method on a factor, proximal gradient steps, descent on a factor: exact, certified, and what they refuse."""

import warnings
from collections import deque

import cvxpy as cp
import numpy as np
import pytest
from catalogue import conic, instance, names
from samples import some

import convexmetric as cm
from convexmetric.comparisons import Rankings, Relevance, Triplets
from convexmetric.cones import AllMatrices, NonnegativeDiagonal, PSDCone, Symmetric
from convexmetric.errors import GapWarning, InputError, UnsupportedProblemError
from convexmetric.losses import Logistic, SmoothLoss
from convexmetric.regularizers import Frobenius, SquaredDistance, SquaredFrobenius, Trace
from convexmetric.risks import CutDual, SmoothSeparableRisk, SoftmaxRisk
from convexmetric.solvers.numerics.factors import FactorObjective
from convexmetric.solvers.smooth import proximal_gradient
from convexmetric.solvers.smooth.low_rank_newton import inverse_product


def modalities(seed=0, n=60, dx=6, dy=4, classes=4, spread=1.5):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    X = rng.standard_normal((n, dx)) + spread * rng.standard_normal((classes, dx))[y]
    Y = rng.standard_normal((n, dy)) + spread * rng.standard_normal((classes, dy))[y]
    return X, Y, y


def cross_modal(alpha=1.0, beta=0.1, **options):
    X, Y, y = modalities(**options)
    return cm.CrossModalProblem(X, Y, y, y, alpha, beta, n_clusters=3, n_neighbors=5, random_state=0)


def triplets(regularizer, G=None, d=5, diagonal=False):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((40, d))
    rows = np.array([rng.choice(40, 3, replace=False) for _ in range(150)])
    cone = NonnegativeDiagonal(d) if diagonal else PSDCone(d)
    return cm.MetricProblem(SmoothSeparableRisk(Triplets(X, rows, cone), Logistic(1.0)), regularizer, G=G)


def solve(problem, solver, tol=1e-6, **limits):
    with warnings.catch_warnings(action="ignore", category=GapWarning):
        return cm.solve(problem, tol, solver=solver, **limits)


@pytest.mark.parametrize(
    ("alpha", "beta"), some([(0.1, 1e-3), (0.01, 0.0), (1.0, 0.1), (10.0, 0.0), (30.0, 1.0), (1e4, 1.0)], 2)
)
def test_newton_and_proximal_gradient_agree(alpha, beta):
    problem = cross_modal(alpha, beta)
    newton, proximal = (solve(problem, solver, tol=1e-8) for solver in ("low-rank-newton", "proximal-gradient"))
    assert newton.status == "optimal"
    assert proximal.gap <= 1e-6
    assert newton.lower_bound <= proximal.upper_bound
    assert proximal.lower_bound <= newton.upper_bound
    assert isinstance(newton.certificate.dual, CutDual)
    again = cm.certify(problem, newton.certificate.M, newton.certificate.dual)
    assert again.lower_bound == pytest.approx(newton.lower_bound, rel=1e-12)
    assert {turn.solver for turn in cm.solve(problem).turns} <= {"low-rank-newton", "proximal-gradient"}


@pytest.mark.parametrize("used", [3, 20])
def test_the_default_solves_problems_of_low_and_of_high_rank(used):
    rng = np.random.default_rng(0)
    X, rows = rng.normal(size=(200, 24)), np.array([rng.permutation(200)[:3] for _ in range(3000)])
    near, far = (((X[rows[:, 0], :used] - X[rows[:, other], :used]) ** 2).sum(axis=1) for other in (1, 2))
    rows = np.where((near > far)[:, None], rows[:, [0, 2, 1]], rows)
    problem = cm.ChoiceProblem(X, rows)
    solution = cm.solve(problem.with_reg(0.05 * problem.reg_max), tol=1e-8)
    assert solution.status == "optimal"
    assert {turn.solver for turn in solution.turns} <= {"low-rank-newton", "proximal-gradient", "cutting-planes"}
    assert solution.turns[-1].gap_after <= 1e-8 < solution.turns[0].gap_before


def test_the_zero_metric_is_certified_at_once():
    solution = solve(cross_modal(1e6, 0.0), "low-rank-newton")
    assert solution.iterations == 1
    assert solution.gap <= 1e-13
    assert solution.rank == 0


@pytest.mark.parametrize("seed", range(6))
def test_newton_reaches_the_optimum_from_any_start(seed):
    """The optimum is global: a start of low or full rank, near or far, makes no difference."""
    problem = cross_modal(0.3, 0.01)
    optimum = solve(problem, "low-rank-newton", tol=1e-9)
    rng = np.random.default_rng(seed)
    B = 10.0 ** rng.uniform(-2, 1) * rng.standard_normal((1 + seed, problem.cone.d))
    from convexmetric.solvers.runtime import Monitor, drive

    monitor = Monitor(1e-8, max_iter=300)
    monitor.primal(B.T @ B, problem.value(B.T @ B))
    drive(cm.solvers.LowRankNewton().prepare(problem)(monitor), monitor)
    assert monitor.gap <= 1e-8
    assert monitor.upper_bound == pytest.approx(optimum.upper_bound, rel=1e-8)


def test_products_are_those_of_the_matrix_that_bfgs_updates():
    rng = np.random.default_rng(2)
    A = rng.standard_normal((6, 6))
    pairs = [(s, (A @ A.T + np.eye(6)) @ s) for s in rng.standard_normal((3, 6))]
    H = np.eye(6) * (pairs[-1][0] @ pairs[-1][1]) / (pairs[-1][1] @ pairs[-1][1])
    for s, y in pairs:
        V = np.eye(6) - np.outer(y, s) / (s @ y)
        H = V.T @ H @ V + np.outer(s, s) / (s @ y)
    g = rng.standard_normal(6)
    product = inverse_product(deque((s.reshape(2, 3), y.reshape(2, 3), s @ y) for s, y in pairs), g.reshape(2, 3))
    np.testing.assert_allclose(product.ravel(), H @ g)


def test_a_small_growth_reaches_it_as_well(monkeypatch):
    monkeypatch.setattr(FactorObjective, "grow", 1)
    problem = cross_modal(0.1, 0.0)
    one = solve(problem, "low-rank-newton", tol=1e-8)
    assert one.status == "optimal"
    assert one.upper_bound == pytest.approx(solve(problem, "proximal-gradient", tol=1e-7).upper_bound, rel=1e-7)


@pytest.mark.parametrize(
    ("make", "newton"),
    [
        (lambda: triplets(Trace(2.0)), True),
        (lambda: triplets(Trace(1.0), -0.9 * np.eye(5)), True),
        (lambda: triplets(Trace(1.0), np.diag([-1.0, 1.0, 1.0, 1.0, 1.0])), False),
        (lambda: triplets(SquaredFrobenius(0.5)), False),
        (lambda: triplets(SquaredFrobenius(0.5), 0.3 * np.eye(5)), False),
        (lambda: triplets(Trace(2.0), diagonal=True), False),
    ],
)
def test_any_smooth_loss_of_listed_comparisons(make, newton):
    problem = make()
    proximal = solve(problem, "proximal-gradient")
    assert proximal.status == "optimal"
    assert (cm.solvers.LowRankNewton().unsupported(problem) is None) == newton
    if newton:
        exact = solve(problem, "low-rank-newton", tol=1e-9)
        assert exact.status == "optimal"
        assert proximal.lower_bound <= exact.upper_bound <= proximal.upper_bound * (1 + 1e-9)


@pytest.mark.parametrize("name", names("logistic", without="ranking"))
def test_they_agree_with_cvxpy(name):
    problem, optimum = conic(name)[:2]
    for solver in (cm.solvers.LowRankNewton(), cm.solvers.ProximalGradient()):
        if solver.unsupported(problem) is None:
            solution = solve(problem, solver, tol=1e-7)
            assert solution.upper_bound == pytest.approx(optimum, rel=1e-6)
            assert solution.lower_bound == pytest.approx(optimum, rel=1e-6)


@pytest.mark.parametrize(
    "solver", [cm.solvers.LowRankNewton(), cm.solvers.ProximalGradient(), cm.approximate.FactoredDescent(3)]
)
def test_they_stop_when_told(solver, monkeypatch):
    monkeypatch.setattr(proximal_gradient, "LOOK_EVERY", 1)
    problem = cross_modal(0.1, 0.0)
    assert solve(problem, solver, tol=1e-12, max_iter=2).status == "max_iter"
    assert solve(problem, solver, tol=1e-12, max_seconds=1e-9).status == "max_seconds"
    with pytest.warns(GapWarning):
        cm.solve(problem, 1e-12, solver=solver, max_iter=1)


def test_checkpoints_go_on(tmp_path):
    problem = cross_modal(0.1, 0.0)
    first = solve(problem, "low-rank-newton", tol=1e-10, max_iter=2, checkpoint=tmp_path / "state.npz")
    again = solve(problem, "low-rank-newton", tol=1e-8, checkpoint=tmp_path / "state.npz")
    assert again.status == "optimal"
    assert again.history[: len(first.history)] == first.history


def test_descent_reaches_the_optimum_once_there_are_rows_enough():
    problem = cross_modal(0.5, 0.01)
    optimum = solve(problem, "low-rank-newton", tol=1e-9)
    distances = []
    for c in range(1, optimum.rank + 2):
        found = solve(problem, cm.approximate.FactoredDescent(c, accuracy=1e-13), tol=1e-12)
        assert found.lower_bound <= optimum.upper_bound
        assert found.upper_bound >= optimum.lower_bound
        assert np.linalg.matrix_rank(found.M, tol=1e-9 * abs(found.M).max()) <= c
        distances.append(found.upper_bound / optimum.lower_bound - 1.0)
    assert optimum.rank > 1
    assert distances[0] > 1e-3
    assert distances[-2] < 1e-6
    assert distances[-1] < 1e-6


def test_starts_of_descent():
    problem = cross_modal()
    B = problem.initial_factor(2)
    own, given = (solve(problem, cm.approximate.FactoredDescent(2, start=start, epochs=1)) for start in ("own", B))
    np.testing.assert_array_equal(own.certificate.M, given.certificate.M)
    first, again, other = (
        solve(problem, cm.approximate.FactoredDescent(2, start="random", random_state=seed)).certificate.M
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert abs(first - other).max() > 0.0
    # Where no paper says where to start, it is random as well.
    assert solve(triplets(Trace(2.0)), cm.approximate.FactoredDescent(5, random_state=0)).gap < 1e-3


def test_constant_steps_descend_or_end():
    problem = cross_modal()
    optimum = solve(problem, "low-rank-newton").upper_bound
    small = solve(problem, cm.approximate.FactoredDescent(4, step=1e-3, epochs=4000))
    assert small.upper_bound == pytest.approx(optimum, rel=1e-4)
    values = [p.details["objective"] for p in small.history]
    assert values == sorted(values, reverse=True)
    large = solve(problem, cm.approximate.FactoredDescent(4, step=10.0))
    assert large.status == "stalled"
    assert large.gap > 0.1


def test_the_printed_sign_pushes_relevant_objects_away():
    problem = cross_modal()
    optimum = solve(problem, "low-rank-newton").upper_bound
    for step in (None, 1e-3):
        printed = solve(problem, cm.approximate.FactoredDescent(3, step=step, as_printed=True))
        right = solve(problem, cm.approximate.FactoredDescent(3, step=step))
        assert right.history[-1].details["objective"] < 1.01 * optimum
        assert printed.history[-1].details["objective"] > 1.2 * optimum
        # The objective that is descended has its sign turned: positives and negatives exchanged.
        assert printed.lower_bound <= optimum


def test_what_they_refuse():
    X, _, y = modalities()
    hinge = cm.TripletProblem.from_labels(X, y, n_same=2, n_other=2, penalty="trace")
    for solver in ("low-rank-newton", "proximal-gradient", "factored-descent"):
        with pytest.raises(UnsupportedProblemError, match="its risk is not smooth"):
            cm.solve(hinge, solver=solver)
    with pytest.raises(UnsupportedProblemError, match="diagonal"):
        cm.solve(triplets(Trace(1.0), diagonal=True), solver="low-rank-newton")
    with pytest.raises(UnsupportedProblemError, match="as_printed"):
        cm.solve(triplets(Trace(1.0)), solver=cm.approximate.FactoredDescent(as_printed=True))
    with pytest.raises(UnsupportedProblemError, match="not a trace"):
        cm.solve(triplets(SquaredFrobenius(1.0)), solver="factored-descent")
    with pytest.raises(InputError, match="start must be a finite array"):
        cm.solve(
            instance("cross-modal, representatives"), solver=cm.approximate.FactoredDescent(2, start=np.ones((3, 4)))
        )


class Exponential(SmoothLoss):
    """``exp(-s)``, which overflows at margins that a step too far makes."""

    nonnegative = True

    def values(self, s):
        return np.exp(-s)

    subgradient = curvature = values

    def clip(self, u):
        return np.maximum(u, 0.0)

    def dual_values(self, u):
        return u - u * np.log(np.where(u > 0.0, u, 1.0))

    def statement(self, s):
        raise NotImplementedError


@pytest.mark.parametrize("seed", [1, 3, 4, 8])
def test_steps_that_overflow_are_refused_without_a_warning(seed):
    rng = np.random.default_rng(seed)
    X, cone = 100.0 * rng.standard_normal((20, 4)), PSDCone(4)
    rows = np.array([rng.choice(20, 3, replace=False) for _ in range(40)])
    problem = cm.MetricProblem(SmoothSeparableRisk(Triplets(X, rows, cone), Exponential()), Trace(1.0))
    with warnings.catch_warnings(action="error", category=RuntimeWarning):
        solution = cm.solve(problem, 1e-6, solver="low-rank-newton", max_iter=100)
    assert solution.status == "optimal"


@pytest.mark.parametrize("space", [AllMatrices(3), AllMatrices(2, 5), Symmetric(3)])
@pytest.mark.parametrize(
    "regularizer", [Trace(0.15), Frobenius(0.2), SquaredFrobenius(0.1), "near the identity", "with a linear term"]
)
def test_proximal_steps_over_matrices_without_a_cone_agree_with_cvxpy(space, regularizer):
    rng, d, k = np.random.default_rng(0), *space.shape
    X, Q = rng.standard_normal((12, k)), rng.standard_normal((6, d))
    order = np.array([rng.permutation(12)[:5] for _ in range(6)])
    rankings = Rankings(X, Q, Relevance.from_lists(list(order[:, :2]), list(order[:, 2:]), 6, 12), space)
    G = 0.05 * space.identity() if regularizer == "with a linear term" else None
    known = {"near the identity": SquaredDistance(0.1, space.identity()), "with a linear term": Trace(0.15)}
    omega = known.get(regularizer, regularizer) if isinstance(regularizer, str) else regularizer
    problem = cm.MetricProblem(SoftmaxRisk(rankings, 0.3, 0.7), omega, G=G)
    W, constraints = space.variable("W")
    cost = 0.0 if G is None else cp.sum(cp.multiply(G, W))
    for q, row in enumerate(order):
        s = X[row] @ W.T @ Q[q] / 0.7
        cost += 0.3 * (cp.log_sum_exp(s) - cp.sum(s[:2]) / 2)
    norms = {
        Trace: lambda: 0.15 * cp.normNuc(W), Frobenius: lambda: 0.2 * cp.norm(W, "fro"),
        SquaredFrobenius: lambda: 0.05 * cp.sum_squares(W),
        SquaredDistance: lambda: 0.05 * cp.sum_squares(W - np.eye(d, k)),
    }  # fmt: skip
    optimum = cp.Problem(cp.Minimize(cost + norms[type(omega)]()), constraints).solve(solver="CLARABEL")
    solution = solve(problem, "proximal-gradient", tol=1e-7)
    assert solution.status == "optimal"
    assert solution.upper_bound == pytest.approx(optimum, rel=1e-6)
    assert solution.lower_bound == pytest.approx(optimum, rel=1e-6)
    np.testing.assert_allclose(solution.certificate.M, W.value, atol=0.02)
