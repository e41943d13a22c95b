"""Several metrics that share a part: one problem over a block-diagonal cone, against CVXPY with a variable a metric."""

import warnings

import cvxpy as cp
import numpy as np
import pytest

import convexmetric as cm
from convexmetric.comparisons import PairDistances, Rankings, Relevance, Triplets, triplets_from_labels
from convexmetric.cones import BlockDiagonal, shared_points
from convexmetric.losses import Hinge
from convexmetric.measures import AveragePrecision
from convexmetric.regularizers import SquaredFrobenius, Trace
from convexmetric.risks import RankingRisk, SeparableRisk

WINE = cm.datasets.load("wine")
X, Y = cm.datasets.preprocess(WINE.X, ["zscore"])[::3, :4], WINE.y[::3]
TASK = np.arange(len(X)) % 2
CONE = BlockDiagonal([4, 4, 4])
POINTS = shared_points(X, TASK)


def triplets():
    """Of both tasks, each among its own points."""
    rows = [np.flatnonzero(t == TASK) for t in (0, 1)]
    return np.vstack([own[triplets_from_labels(Y[own], 60, random_state=t)] for t, own in enumerate(rows)])


@pytest.fixture(scope="module")
def problem():
    risk = SeparableRisk(Triplets(POINTS, triplets(), CONE), Hinge(0.1))
    return cm.MetricProblem(risk, SquaredFrobenius(0.2))


def test_it_is_the_problem_with_a_metric_for_each_task(problem):
    solution = cm.solve(problem)
    assert solution.gap <= 1e-6
    shared, *own = [cp.Variable((4, 4), PSD=True) for _ in range(3)]
    cost = 0.1 * sum(cp.sum_squares(M) for M in (shared, *own))
    for i, j, k in triplets():
        M = shared + own[TASK[i]]
        near, far = X[i] - X[j], X[i] - X[k]
        cost += 0.1 * cp.pos(1.0 - cp.sum(cp.multiply(np.outer(far, far) - np.outer(near, near), M)))
    optimum = cp.Problem(cp.Minimize(cost)).solve(solver=cp.CLARABEL)
    assert solution.upper_bound == pytest.approx(optimum, rel=1e-5)
    np.testing.assert_allclose(CONE.blocks(solution.M)[0], shared.value, atol=1e-3)


def test_contracts_hold_and_the_statement_is_the_problem(problem):
    cm.check_problem(problem)
    conic = problem.statement().problem.solve(solver=cp.CLARABEL)
    assert conic == pytest.approx(cm.solve(problem).upper_bound, rel=1e-5)


def test_rankings_have_blocks_too():
    relevance = Relevance.from_labels(Y)
    same = TASK[:, None] == TASK
    lists = [[items[same[q, items]] for items in relevance.of(q)] for q in range(len(X))]
    relevance = Relevance.from_lists([near for near, _ in lists], [far for _, far in lists], len(X), len(X))
    risk = RankingRisk(Rankings(POINTS, POINTS, relevance, CONE), AveragePrecision(), 5.0)
    problem = cm.MetricProblem(risk, SquaredFrobenius(1.0))
    cm.check_problem(problem)
    solution = cm.solve(problem, tol=1e-5)
    assert solution.gap <= 1e-5
    between = solution.M.copy()
    for block in range(3):
        between[4 * block : 4 * block + 4, 4 * block : 4 * block + 4] = 0.0
    assert not between.any()


SOLVERS = ["dual-ascent", "interior-point", "cutting-planes", "cutting-planes-plain", "subgradient", "scs"]


@pytest.mark.parametrize("solver", SOLVERS)
def test_all_solvers_that_take_it_agree(problem, solver):
    best = cm.solve(problem)
    with warnings.catch_warnings(action="ignore", category=cm.errors.GapWarning):
        other = cm.solve(problem, solver=solver, tol=1e-4, max_seconds=20.0)
    assert other.lower_bound <= best.upper_bound
    assert best.lower_bound <= other.upper_bound
    assert other.gap <= (1e-1 if solver == "subgradient" else 1e-4)


def test_solvers_of_low_rank_factors_refuse():
    distances = PairDistances(POINTS, triplets()[:, :2], np.ones(120), CONE)
    trace = cm.MetricProblem(SeparableRisk(distances, Hinge(0.1)), Trace(0.2))
    cm.check_problem(trace)
    with pytest.raises(cm.errors.UnsupportedProblemError, match="zeros that stay zeros"):
        cm.solve(trace, solver="factored-lagrangian")


def test_metrics_that_share_a_part_are_proven(problem, tmp_path):
    solution = cm.solve(problem)
    verdict = cm.write_certificate(tmp_path / "c.npz", problem, solution=solution)
    assert "block-diagonal" in verdict.problem
    assert float(verdict.upper) == pytest.approx(solution.upper_bound, rel=1e-9)
    assert float(verdict.lower) == pytest.approx(solution.lower_bound, rel=1e-8)
