"""Blocks that no paper here needs: every regularizer with every loss keeps its contract, is solved by the default to a
certified gap, and both conic solvers find the same optimum."""

import warnings

import cvxpy as cp
import numpy as np
import pytest

import convexmetric as cm
from convexmetric.comparisons import PairDistances, Triplets, triplets_from_labels
from convexmetric.cones import BlockDiagonal, NonnegativeDiagonal, PSDCone
from convexmetric.errors import InputError
from convexmetric.losses import Hinge, ItakuraSaito, Logistic, NegativeLog, NegativeRoot
from convexmetric.regularizers import (
    Budget,
    Distance,
    EntrywiseL1,
    LogDet,
    SquaredDistance,
    SquaredFrobenius,
    Trace,
    TraceDistance,
    Zero,
)
from convexmetric.risks import SeparableRisk, SmoothSeparableRisk

WINE = cm.datasets.load("wine")
X, Y = cm.datasets.preprocess(WINE.X, ["zscore"])[::6, :5], WINE.y[::6]
TRIPLETS = triplets_from_labels(Y, 60, 0)
RNG = np.random.default_rng(0)
PAIRS = np.column_stack(np.triu_indices(len(X), 1))[RNG.permutation(len(X) * (len(X) - 1) // 2)[:120]]
SIMILAR = Y[PAIRS[:, 0]] == Y[PAIRS[:, 1]]
SIGNS = np.where(SIMILAR, -1.0, 1.0)
V = X[PAIRS[:, 0]] - X[PAIRS[:, 1]]
FAR = PAIRS[~SIMILAR], np.ones((~SIMILAR).sum())

CONES = {"full": PSDCone(5), "diagonal": NonnegativeDiagonal(5), "blocks": BlockDiagonal([2, 3])}


def entropic(cone):
    d = (V**2).sum(axis=1)
    bounds = np.where(SIMILAR, np.quantile(d, 0.05), np.quantile(d, 0.95))
    return SeparableRisk(PairDistances(X, PAIRS, SIGNS, cone), ItakuraSaito(0.3, bounds, SIGNS))


RISKS = {
    "hinge": lambda cone: SeparableRisk(Triplets(X, TRIPLETS, cone), Hinge(0.1)),
    "logistic": lambda cone: SmoothSeparableRisk(Triplets(X, TRIPLETS, cone), Logistic(0.1)),
    "itakura-saito": entropic,
    "log": lambda cone: SeparableRisk(PairDistances(X, *FAR, cone), NegativeLog(0.1)),
    "root": lambda cone: SeparableRisk(PairDistances(X, *FAR, cone), NegativeRoot(0.01)),
}


def scatter(cone):
    return cone.outer_sum(V[SIMILAR], np.full(SIMILAR.sum(), 1.0 / SIMILAR.sum()))


REGULARIZERS = {
    "nothing but G": lambda cone: (Zero(), scatter(cone)),
    "l1": lambda cone: (EntrywiseL1(0.2), None),
    "l1 off the diagonal": lambda cone: (EntrywiseL1(0.2, SquaredFrobenius(0.3), diagonal=False), None),
    "l1 and log det": lambda cone: (EntrywiseL1(0.2, LogDet(cone.identity()), diagonal=False), None),
    "log det": lambda cone: (LogDet(cone.identity(), 0.7), None),
    "log det to a metric": lambda cone: (LogDet(scatter(cone), 0.7), None),
    "budget": lambda cone: (Budget(scatter(cone)), None),
    "penalised budget": lambda cone: (Budget(scatter(cone), 1.0, 20.0), None),
    "prior": lambda cone: (SquaredDistance(0.5, scatter(cone)), None),
    "distance": lambda cone: (Distance(0.5, scatter(cone)), None),
    "trace distance": lambda cone: (TraceDistance(0.3, cone.identity()), None),
    "l1 distance": lambda cone: (EntrywiseL1(0.2, prior=scatter(cone)), None),
}
CASES = [(risk, omega, "full") for risk in ("hinge", "itakura-saito") for omega in REGULARIZERS]
CASES += [("hinge", omega, cone) for omega in REGULARIZERS for cone in ("diagonal", "blocks")]
CASES += [(risk, omega, "full") for risk in ("logistic", "log", "root") for omega in ("nothing but G", "l1", "log det")]
CASES += [(risk, "budget", cone) for risk in ("log", "root") for cone in CONES]


def problem_of(risk, omega, cone):
    cone = CONES[cone]
    regularizer, G = REGULARIZERS[omega](cone)
    return cm.MetricProblem(RISKS[risk](cone), regularizer, G)


@pytest.fixture(scope="module", params=CASES, ids=lambda case: ", ".join(case))
def problem(request):
    return problem_of(*request.param)


@pytest.fixture(scope="module")
def solution(problem):
    return cm.solve(problem)


def test_it_keeps_its_contract(problem):
    cm.check_problem(problem)


def test_the_default_closes_the_gap(problem, solution):
    assert solution.status == "optimal"
    again = cm.certify(problem, solution.certificate.M, solution.certificate.dual)
    assert again.lower_bound == pytest.approx(solution.lower_bound, rel=1e-9)


def test_both_conic_solvers_find_the_same_optimum(problem, solution):
    stated = problem.statement().problem
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        exact = stated.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
        other = stated.solve(solver=cp.SCS, eps_abs=1e-8, eps_rel=1e-8, max_iters=100_000)
    assert exact == pytest.approx(solution.upper_bound, rel=1e-6)
    # SCS ends at its limit where there are exponential cones.
    assert other == pytest.approx(solution.upper_bound, rel=1e-4)


@pytest.mark.parametrize(
    "solver", [cm.solvers.CuttingPlanes(), cm.solvers.DualAscent()], ids=lambda solver: solver.name
)
def test_other_solvers_end_between_its_bounds(problem, solution, solver):
    if solver.unsupported(problem) is not None:
        pytest.skip("not for this one")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cm.errors.GapWarning)
        other = cm.solve(problem, tol=1e-5, solver=solver, max_seconds=20.0)
    size = 1e-12 * abs(solution.upper_bound)
    assert other.lower_bound <= solution.upper_bound + size
    assert other.upper_bound >= solution.lower_bound - size
    assert other.gap <= 1e-4


def test_a_log_det_problem_with_nothing_to_learn_is_at_its_prior():
    cone = PSDCone(5)
    risk = SeparableRisk(Triplets(X, TRIPLETS, cone), Hinge(1e-8))
    solution = cm.solve(cm.MetricProblem(risk, LogDet(scatter(cone))))
    assert pytest.approx(scatter(cone), abs=1e-6) == solution.M


def test_sparse_metrics_become_diagonal_as_the_weight_grows():
    risk = RISKS["hinge"](CONES["full"])
    off = ~np.eye(5, dtype=bool)
    sizes = []
    for reg in (0.01, 0.1, 10.0):
        omega = EntrywiseL1(reg, SquaredFrobenius(0.3), diagonal=False)
        sizes.append(np.abs(cm.solve(cm.MetricProblem(risk, omega), tol=1e-8).M[off]).sum())
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < 1e-5 < sizes[0]


def test_an_exact_penalty_has_the_optimum_of_its_constraint():
    hard, soft = (problem_of("itakura-saito", name, "full") for name in ("budget", "penalised budget"))
    assert cm.solve(hard, tol=1e-8).upper_bound == pytest.approx(cm.solve(soft, tol=1e-8).upper_bound, rel=1e-7)


@pytest.mark.parametrize("seed", [0, 1, 4, 5, 6])
def test_where_only_the_risk_holds_a_linear_term_the_default_closes_the_gap(seed):
    # Dual points are on the border of what is feasible, where rounding decides whether they prove anything.
    cone, rng = CONES["full"], np.random.default_rng(seed)
    near = SeparableRisk(PairDistances(X, PAIRS[SIMILAR], -np.ones(SIMILAR.sum()), cone), Hinge(0.01))
    far = SeparableRisk(PairDistances(X, *FAR, cone), Hinge(0.01, 5.0))
    # The linear term takes away most of what similar pairs cost in some directions.
    held, turned = 0.01 * SIMILAR.sum() * scatter(cone), np.linalg.qr(rng.normal(size=(5, 5)))[0]
    root = np.linalg.cholesky(held)
    G = -root @ turned @ np.diag([0.9, 0.5, 0.1, -0.2, -1.0]) @ turned.T @ root.T
    problem = cm.MetricProblem(near + far, Zero(), G)
    solution = cm.solve(problem)
    stated = problem.statement().problem.solve(solver=cp.CLARABEL)
    assert solution.status == "optimal"
    assert solution.upper_bound == pytest.approx(stated, rel=1e-5)


def test_no_regularizer_and_a_linear_term_are_a_trace():
    risk = RISKS["hinge"](CONES["full"])
    nothing = cm.solve(cm.MetricProblem(risk, Zero(), 0.7 * np.eye(5), 3.0), tol=1e-8)
    trace = cm.solve(cm.MetricProblem(risk, Trace(0.7)), tol=1e-8)
    assert nothing.upper_bound == pytest.approx(trace.upper_bound + 3.0, rel=1e-7)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LogDet(np.diag([1.0, 0.0])), "prior must be positive definite"),
        (lambda: LogDet(np.array([1.0, -1.0])), "prior must be positive definite"),
        (lambda: Budget(np.zeros((2, 2))), "A must be positive definite"),
        (lambda: Budget(np.eye(2), weight=-1.0), "weight must be positive"),
        (lambda: ItakuraSaito(1.0, np.array([0.0]), np.ones(1)), "bounds of distances must be positive"),
        (lambda: ItakuraSaito(1.0, np.ones(1), np.zeros(1)), "signs must be 1"),
        (lambda: ItakuraSaito(1.0, np.ones(2), np.ones(1)), "vectors of one length"),
        (lambda: NegativeLog(0.0), "C must be"),
    ],
)
def test_what_they_refuse(make, message):
    with pytest.raises(InputError, match=message):
        make()
