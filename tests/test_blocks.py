"""What is known of the optima of blocks that no paper here needs; their contracts are tried on ``catalogue.py``."""

import cvxpy as cp
import numpy as np
import pytest

import convexmetric as cm
from convexmetric.comparisons import PairDistances, Triplets, triplets_from_labels
from convexmetric.cones import NonnegativeDiagonal, PSDCone
from convexmetric.errors import InputError
from convexmetric.losses import BoxLoss, Hinge, ItakuraSaito, NegativeLog, NegativeRoot
from convexmetric.regularizers import (
    Budget,
    EntrywiseL1,
    LogDet,
    SquaredFrobenius,
    Trace,
    Zero,
)
from convexmetric.risks import SeparableRisk

WINE = cm.datasets.load("wine")
X, Y = cm.datasets.preprocess(WINE.X, ["zscore"])[::6, :5], WINE.y[::6]
TRIPLETS = triplets_from_labels(Y, 60, random_state=0)
RNG = np.random.default_rng(0)
PAIRS = np.column_stack(np.triu_indices(len(X), 1))[RNG.permutation(len(X) * (len(X) - 1) // 2)[:120]]
SIMILAR = Y[PAIRS[:, 0]] == Y[PAIRS[:, 1]]
SIGNS = np.where(SIMILAR, -1.0, 1.0)
V = X[PAIRS[:, 0]] - X[PAIRS[:, 1]]
FAR = PAIRS[~SIMILAR], np.ones((~SIMILAR).sum())

CONE = PSDCone(5)
HINGE = SeparableRisk(Triplets(X, TRIPLETS, CONE), Hinge(0.1))
SCATTER = CONE.outer_sum(V[SIMILAR], np.full(SIMILAR.sum(), 1.0 / SIMILAR.sum()))


def test_a_log_det_problem_with_nothing_to_learn_is_at_its_prior():
    risk = SeparableRisk(Triplets(X, TRIPLETS, CONE), Hinge(1e-8))
    solution = cm.solve(cm.MetricProblem(risk, LogDet(SCATTER)))
    assert pytest.approx(SCATTER, abs=1e-6) == solution.M


def test_sparse_metrics_become_diagonal_as_the_weight_grows():
    off = ~np.eye(5, dtype=bool)
    sizes = []
    for reg in (0.01, 0.1, 10.0):
        omega = EntrywiseL1(reg, SquaredFrobenius(0.3), diagonal=False)
        sizes.append(np.abs(cm.solve(cm.MetricProblem(HINGE, omega), tol=1e-8).M[off]).sum())
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < 1e-5 < sizes[0]


def test_an_exact_penalty_has_the_optimum_of_its_constraint():
    lengths = (V**2).sum(axis=1)
    bounds = np.where(SIMILAR, np.quantile(lengths, 0.05), np.quantile(lengths, 0.95))
    risk = SeparableRisk(PairDistances(X, PAIRS, SIGNS, CONE), ItakuraSaito(0.3, bounds, SIGNS))
    hard, soft = (cm.MetricProblem(risk, Budget(SCATTER, **price)) for price in ({}, {"limit": 1.0, "weight": 20.0}))
    assert cm.solve(hard, tol=1e-8).upper_bound == pytest.approx(cm.solve(soft, tol=1e-8).upper_bound, rel=1e-7)


@pytest.mark.parametrize("seed", [0, 1, 4, 5, 6])
def test_where_only_the_risk_holds_a_linear_term_the_default_closes_the_gap(seed):
    # Dual points are on the border of what is feasible, where rounding decides whether they prove anything.
    rng = np.random.default_rng(seed)
    near = SeparableRisk(PairDistances(X, PAIRS[SIMILAR], -np.ones(SIMILAR.sum()), CONE), Hinge(0.01))
    far = SeparableRisk(PairDistances(X, *FAR, CONE), Hinge(0.01, 5.0))
    # The linear term takes away most of what similar pairs cost in some directions.
    held, turned = 0.01 * SIMILAR.sum() * SCATTER, np.linalg.qr(rng.normal(size=(5, 5)))[0]
    root = np.linalg.cholesky(held)
    G = -root @ turned @ np.diag([0.9, 0.5, 0.1, -0.2, -1.0]) @ turned.T @ root.T
    problem = cm.MetricProblem(near + far, Zero(), G=G)
    solution = cm.solve(problem)
    stated = problem.statement().problem.solve(solver=cp.CLARABEL)
    assert solution.status == "optimal"
    assert solution.upper_bound == pytest.approx(stated, rel=1e-5)


def test_no_regularizer_and_a_linear_term_are_a_trace():
    nothing = cm.solve(cm.MetricProblem(HINGE, Zero(), G=0.7 * np.eye(5), constant=3.0), tol=1e-8)
    trace = cm.solve(cm.MetricProblem(HINGE, Trace(0.7)), tol=1e-8)
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


ITEMS = np.random.default_rng(5).standard_normal((12, 2))
EDGES = np.column_stack(np.triu_indices(12, 1))[::2]
LENGTHS = ((ITEMS[EDGES[:, 0]] - ITEMS[EDGES[:, 1]]) ** 2).sum(axis=1)
REG = 0.2


def _gram_distances():
    K = cp.Variable((12, 12), PSD=True)
    return K, cp.hstack([K[i, i] + K[j, j] - 2.0 * K[i, j] for i, j in EDGES])


def _within(signs, bounds, mixed=False):
    """``signs * d >= bounds`` of the distances d of a Gram matrix; mixed: the lower bounds as hinges of weight 0.1."""
    count = len(signs) // len(EDGES)
    compared = PairDistances(np.eye(12), np.tile(EDGES, (count, 1)), signs, PSDCone(12))
    weights = np.full(len(signs), np.inf)
    weights[(signs > 0.0) & mixed] = 0.1
    return SeparableRisk(compared, BoxLoss.hinge(weights, bounds))


@pytest.mark.parametrize("mixed", [False, True])
def test_hinges_of_infinite_weight_are_constraints_with_margins_of_their_own(mixed, tmp_path):
    signs = np.repeat([1.0, -1.0], len(EDGES))
    risk = _within(signs, np.concatenate([0.9 * LENGTHS, -1.1 * LENGTHS]), mixed)
    problem = cm.MetricProblem(risk, Trace(REG))
    cm.check_problem(problem)
    solution = cm.solve(problem)
    K, d = _gram_distances()
    lower = 0.9 * LENGTHS - d
    cost, held = (0.1 * cp.sum(cp.pos(lower)), []) if mixed else (0.0, [lower <= 0.0])
    optimum = cp.Problem(cp.Minimize(REG * cp.trace(K) + cost), [*held, d <= 1.1 * LENGTHS]).solve(cp.CLARABEL)
    assert solution.status == "optimal"
    assert solution.upper_bound == pytest.approx(optimum, rel=1e-5)
    cm.write_certificate(tmp_path / "intervals.npz", solution)
    assert cm.verify(tmp_path / "intervals.npz").accepted


def test_distances_at_most_their_own_bounds_while_the_variance_is_the_largest():
    # Maximum variance unfolding on a basis of centred Gram matrices, edges at most as long as given.
    centred = np.linalg.qr(np.eye(12) - 1.0 / 12.0)[0][:, :11]
    compared = PairDistances(centred, EDGES, -np.ones(len(EDGES)), PSDCone(11))
    risk = SeparableRisk(compared, BoxLoss.hinge(np.full(len(EDGES), np.inf), -LENGTHS))
    solution = cm.solve(cm.MetricProblem(risk, Zero(), G=-np.eye(11)))
    K, d = _gram_distances()
    largest = cp.Problem(cp.Maximize(cp.trace(K)), [d <= LENGTHS, cp.sum(K) == 0.0]).solve(cp.CLARABEL)
    assert solution.status == "optimal"
    assert -solution.upper_bound == pytest.approx(largest, rel=1e-5)


@pytest.mark.parametrize("C", [1.0 / 1_500, np.inf])
def test_many_triplets_of_items_without_features_take_a_second(C):
    rng = np.random.default_rng(0)
    places, triplets = rng.standard_normal((80, 2)), np.array([rng.choice(80, 3, replace=False) for _ in range(1_500)])
    near, far = (((places[triplets[:, 0]] - places[triplets[:, k]]) ** 2).sum(axis=1) for k in (1, 2))
    triplets[near > far] = triplets[near > far][:, [0, 2, 1]]
    risk = SeparableRisk(Triplets(np.eye(80), triplets, PSDCone(80)), Hinge(C))
    solution = cm.solve(cm.MetricProblem(risk, Trace(5e-4)), tol=1e-4)
    assert solution.status == "optimal"
    assert solution.turns[-1].solver == "admm"
    assert sum(turn.seconds for turn in solution.turns) < 5.0


def test_a_solution_says_that_zero_is_optimal():
    nothing, something = (cm.solve(cm.MetricProblem(HINGE, Trace(reg))) for reg in (1e3, 0.1))
    assert "the metric zero is optimal" in str(nothing)
    assert "the metric zero is optimal" in nothing._repr_html_()
    assert "the metric zero is optimal" not in str(something)


@pytest.mark.parametrize("cone", [PSDCone(5), NonnegativeDiagonal(5)])
def test_scales_of_features_do_not_matter_under_a_budget(cone):
    # Xing et al. (2002): dissimilar pairs far apart, while the mean square of the similar ones is at most 1.
    ends = []
    for scales in (np.ones(5), np.logspace(-2.0, 2.0, 5)):
        similar = cone.outer_sum(V[SIMILAR] * scales, np.full(SIMILAR.sum(), 1.0 / SIMILAR.sum()))
        risk = SeparableRisk(PairDistances(X * scales, *FAR, cone), NegativeRoot(1.0 / len(FAR[0])))
        solution = cm.solve(cm.MetricProblem(risk, Budget(similar)), tol=1e-5, solver="admm", max_iter=40)
        assert solution.status == "optimal"
        ends.append((solution.lower_bound, solution.upper_bound))
    assert max(ends)[0] <= min(ends, key=lambda pair: pair[1])[1] + 1e-9
