"""What holds for every problem of every method; a new paper adds one instance to PROBLEMS."""

import warnings
from dataclasses import replace
from functools import partial
from itertools import pairwise

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from extensions import RIGHT, WRONG
from samples import clarabel

import convexmetric as cm
from convexmetric.comparisons import Triplets, triplets_from_labels
from convexmetric.cones import NonnegativeDiagonal, PSDCone
from convexmetric.errors import ContractError, DualError, InputError
from convexmetric.losses import Hinge, Logistic
from convexmetric.regularizers import SquaredDistance, SquaredFrobenius, Trace
from convexmetric.risks import CutDual, PairwiseRisk, SeparableRisk, SmoothedPairs, SmoothSeparableRisk


def points(n=30, d=None):
    data = cm.datasets.load("wine")
    rows = np.random.default_rng(1).choice(len(data.X), n, replace=False)
    return cm.datasets.preprocess(data.X, ["zscore"])[rows, :d], data.y[rows]


X, Y = points()
TRIPLETS = triplets_from_labels(Y, 60, 0)
RNG = np.random.default_rng(2)
FEW = X[:, :4]
LINEAR_TERM = np.diag([0.3, 0.2, 0.1, 0.0])


def triplet_problem(cone, regularizer, G=None):
    return cm.MetricProblem(SeparableRisk(Triplets(FEW, TRIPLETS, cone), Hinge(0.1)), regularizer, G)


PROBLEMS = {
    "ranking-labels": lambda: cm.RankingProblem.from_labels(FEW, Y, C=10.0),
    "ranking-many-pairs": lambda: cm.RankingProblem.from_labels(*points(60, 4), C=10.0),
    "ranking-every-ranking": lambda: cm.RankingProblem(
        FEW, [[1, 2], [0, 2, 5]], [[3, 4], [4, 6]], queries=RNG_FREE_QUERIES, C=5.0
    ),
    "ranking-matrix": lambda: cm.RankingProblem(FEW, sp.csr_array(Y[:6, None] == Y), queries=FEW[:6] + 0.1, C=3.0),
    "relative-identity": lambda: cm.RelativeComparisonProblem(X, TRIPLETS),
    "relative-sparse": lambda: cm.RelativeComparisonProblem(sp.csr_array(X), TRIPLETS, C=0.1),
    "relative-A": lambda: cm.RelativeComparisonProblem(X, TRIPLETS, A=MAP),
    "relative-rbf": lambda: cm.RelativeComparisonProblem(X, TRIPLETS, kernel="rbf"),
    "relative-linear-kernel": lambda: cm.RelativeComparisonProblem(X, TRIPLETS, C=0.01, kernel="linear"),
    "relative-hard": lambda: cm.RelativeComparisonProblem(X, TRIPLETS[:25], C=np.inf),
    "relative-hard-rbf": lambda: cm.RelativeComparisonProblem(X, TRIPLETS, C=np.inf, kernel="rbf"),
    "psd-triplets-frobenius": lambda: triplet_problem(PSDCone(4), SquaredFrobenius(0.5)),
    "psd-triplets-prior": lambda: triplet_problem(PSDCone(4), SquaredDistance(0.5, LINEAR_TERM)),
    "diagonal-triplets-prior": lambda: triplet_problem(NonnegativeDiagonal(4), SquaredDistance(0.5, np.arange(4.0))),
    "ranking-prior": lambda: cm.RankingProblem.from_labels(
        FEW, Y, C=10.0, regularizer="squared-frobenius", prior="identity"
    ),
    "psd-triplets-trace": lambda: triplet_problem(PSDCone(4), Trace(0.7)),
    "psd-triplets-linear-term": lambda: triplet_problem(PSDCone(4), SquaredFrobenius(0.5), LINEAR_TERM),
    "diagonal-triplets-trace": lambda: triplet_problem(NonnegativeDiagonal(4), Trace(0.7)),
}
RNG_FREE_QUERIES = FEW[:2] + 0.05


def listed_ranking(measure, regularizer, diagonal):
    """Four queries, up to six items each, some of them in no list."""
    relevant, irrelevant = [[1, 2], [0, 2, 5], [7], [8, 9]], [[3, 4, 10], [4, 6, 11], [12, 13, 14, 15, 16], [17, 18]]
    k = 2 if measure in ("precision", "ndcg", "ndcg-log2", "knn") else None
    return cm.RankingProblem(FEW, relevant, irrelevant, FEW[20:24], measure, 30.0, k, regularizer, diagonal)


PROBLEMS |= {
    f"ranking-{measure}-{regularizer}-{'diagonal' if diagonal else 'full'}": partial(
        listed_ranking, measure, regularizer, diagonal
    )
    for measure in ("auc", "precision", "map", "mrr", "err", "ndcg", "ndcg-log2", "knn")
    for regularizer in ("trace", "squared-frobenius")
    for diagonal in (False, True)
}
PROBLEMS |= {
    "triplets-list": lambda: cm.TripletProblem(FEW, TRIPLETS, reg=0.05, intra=0.2),
    "triplets-labels": lambda: cm.TripletProblem.from_labels(FEW, Y, None, None, reg=0.02, inter=0.02, diagonal=True),
    "triplets-neighbours": lambda: cm.TripletProblem.from_labels(FEW, Y, 3, 4, reg=1e-3),
    "triplets-graph": lambda: cm.TripletProblem.from_graph(
        sp.csr_array(X), Y[:, None] == Y, reg=0.01, intra=0.1, projection=cm.features.make_projection("pca", X, 3)
    ),
    "triplets-trace": lambda: cm.TripletProblem.from_labels(FEW, Y, 2, 2, reg=0.1, regularizer="trace"),
}
PROBLEMS |= {
    "large-margin": lambda: cm.LargeMarginProblem(FEW, Y, 2),
    "large-margin-diagonal": lambda: cm.LargeMarginProblem(FEW, Y, 3, push=0.8, diagonal=True),
    "large-margin-prior": lambda: cm.LargeMarginProblem(FEW, Y, 2, prior="identity", reg=0.1),
}
PROBLEMS |= {
    "cross-modal": lambda: two_modalities(2, 0.05),
    "cross-modal-all-objects": lambda: two_modalities(None, 0.05),
    "cross-modal-no-graphs": lambda: two_modalities(1, 0.0),
    "psd-logistic-trace": lambda: logistic_problem(PSDCone(4), Trace(0.3)),
    "psd-logistic-linear-term": lambda: logistic_problem(PSDCone(4), Trace(0.3), LINEAR_TERM),
    "psd-logistic-frobenius": lambda: logistic_problem(PSDCone(4), SquaredFrobenius(0.5), LINEAR_TERM),
    "diagonal-logistic-trace": lambda: logistic_problem(NonnegativeDiagonal(4), Trace(0.3)),
}


def two_modalities(n_clusters, beta):
    """The first two features of some wines, to retrieve others by two more."""
    return cm.CrossModalProblem(FEW[:9, :2], FEW[9:18, 2:], Y[:9], Y[9:18], 1.0, beta, n_clusters, 3, 0)


def logistic_problem(cone, regularizer, G=None):
    comparisons = Triplets(FEW, TRIPLETS, cone)
    return cm.MetricProblem(SmoothSeparableRisk(comparisons, Logistic(0.1)), regularizer, G)


def margin_pairs(listed, norm, kernel, margin):
    """Of 14 points, scaled as the paper has them: no difference is longer than 1."""
    rows = FEW[:14] / np.sqrt(((FEW[:14, None] - FEW[:14]) ** 2).sum(axis=2).max())
    options = {"reg": 0.1, "margin": margin, "norm": norm, "kernel": kernel}
    return cm.PairMarginProblem.from_labels(rows, Y[:14], 40 if listed else None, random_state=0, **options)


def similarity(loss, norm):
    rows = FEW / np.sqrt(((FEW[:, None] - FEW) ** 2).sum(axis=2).max())
    pairs = TRIPLETS[:, :2]
    y = np.clip(((rows[pairs[:, 0]] - rows[pairs[:, 1]])[:, :2] ** 2).sum(axis=1) + 0.1, 0.0, 1.0)
    return cm.SimilarityRegressionProblem(rows, pairs, y, 0.1, loss, norm=norm)


PROBLEMS |= {
    f"pairs-{'listed' if listed else 'all'}-{norm}-{kernel or 'features'}-{margin}": partial(
        margin_pairs, listed, norm, kernel, margin
    )
    for listed in (True, False)
    for norm in ("frobenius", "trace")
    for kernel in (None, "unit-rbf")
    for margin in (1.0, (0.5, 1.5))
}
PROBLEMS["pairs-prior"] = lambda: cm.PairMarginProblem.from_labels(FEW, Y, reg=0.1, prior="identity")
PROBLEMS |= {
    f"similarity-{loss}-{norm}": partial(similarity, loss, norm)
    for loss in ("squared", "absolute", "weighted")
    for norm in ("frobenius", "trace")
}
MAP = RNG.normal(size=(13, 6))


@pytest.mark.parametrize("name", list(PROBLEMS))
def test_every_block_keeps_its_contract(name):
    cm.check_problem(PROBLEMS[name]())


@pytest.mark.parametrize("name", list(RIGHT))
def test_blocks_of_a_users_own_that_are_right_pass_and_are_solved(name):
    problem = RIGHT[name]()
    for random_state in range(3):
        cm.check_problem(problem, random_state)
    solution = cm.solve(problem, tol=1e-7)
    assert solution.status == "optimal"
    assert solution.upper_bound == pytest.approx(clarabel(problem), rel=1e-6)


@pytest.mark.parametrize("name", list(WRONG))
def test_wrong_blocks_are_named_with_the_rule_they_break(name):
    make, message = WRONG[name]
    for random_state in range(3):
        with pytest.raises(ContractError) as caught:
            cm.check_problem(make(), random_state)
        assert str(caught.value).startswith(message)


def test_only_problems_are_checked():
    with pytest.raises(InputError, match="problem must be a MetricProblem, got ndarray"):
        cm.check_problem(X)


@pytest.fixture(scope="module", params=list(PROBLEMS))
def solved(request):
    problem = PROBLEMS[request.param]()
    return problem, cm.solve(problem, tol=1e-7)


def random_metric(problem, rng):
    scale = 10.0 ** rng.uniform(-3, 1)
    if isinstance(problem.cone, PSDCone):
        B = rng.normal(size=(problem.cone.d, rng.integers(1, problem.cone.d + 1)))
        return scale * B @ B.T
    return scale * rng.exponential(size=problem.cone.d)


def test_the_default_solver_certifies(solved):
    problem, solution = solved
    assert solution.status == "optimal"
    assert solution.gap <= 1e-7
    assert problem.cone.violation(solution.certificate.M) <= 1e-12 * abs(solution.M).max()
    assert problem.value(solution.certificate.M) == pytest.approx(solution.upper_bound, rel=1e-9)


def test_the_certificate_is_made_again_from_metric_and_dual(solved):
    problem, solution = solved
    again = cm.certify(problem, solution.certificate.M, solution.certificate.dual)
    assert again.upper_bound == pytest.approx(solution.upper_bound, rel=1e-12)
    assert again.lower_bound == pytest.approx(solution.lower_bound, rel=1e-12)


@pytest.mark.parametrize("backend", ["CLARABEL", "SCS"])
def test_the_compiled_statement_has_the_same_optimum(solved, backend):
    problem, solution = solved
    statement = problem.statement().problem
    tight = {
        "CLARABEL": {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10},
        "SCS": {"eps_abs": 1e-10, "eps_rel": 1e-10, "max_iters": 500_000},
    }[backend]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        statement.solve(solver=backend, **tight)
    assert statement.value == pytest.approx(solution.upper_bound, rel=1e-6)
    assert statement.value == pytest.approx(solution.lower_bound, rel=1e-6)


def test_the_objective_is_the_statements_value_at_any_metric(solved):
    problem, _ = solved
    rng = np.random.default_rng(3)
    statement = problem.statement()
    at = cp.Parameter(problem.cone.shape, symmetric=len(problem.cone.shape) == 2)
    pinned = cp.Problem(statement.problem.objective, [*statement.problem.constraints, statement.metric == at])
    for _ in range(3):
        M = problem.risk.repair(random_metric(problem, rng))
        expected = problem.value(M)
        if not np.isfinite(expected):
            continue
        at.value = M
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            pinned.solve(solver="SCS", eps_abs=1e-9, eps_rel=1e-9, max_iters=200_000)
        assert pinned.value == pytest.approx(expected, rel=1e-5, abs=1e-6)


def duals(problem, solution, rng):
    """Corruptions of an optimal dual point that have the right shape."""
    dual = solution.certificate.dual
    factors = [0.0, 0.5, 0.999, 1.001, 2.0, 1e3, 1e6, -1.0, -1e6]
    if isinstance(dual, CutDual):
        W = dual.weights
        changed = [factor * W for factor in factors]
        changed += [W + s * rng.normal(size=W.shape) for s in (1e-9, 1e-3, 1.0)]
        changed += [rng.permutation(W), rng.permuted(W, axis=1), rng.exponential(size=W.shape)]
        for weights in changed:
            yield CutDual(dual.witnesses, weights, dual.groups)
        yield CutDual(dual.witnesses * 1e3, W, dual.groups)
        yield CutDual(-dual.witnesses, W, dual.groups)
        yield CutDual(dual.witnesses, W, rng.permutation(dual.groups))
    elif isinstance(dual, SmoothedPairs):
        yield from (replace(dual, M=factor * dual.M) for factor in factors)
        yield from (replace(dual, width=factor * dual.width) for factor in (1e-12, 0.5, 2.0, 1e6, 1e300))
        yield from (replace(dual, M=random_metric(problem, rng)) for _ in range(5))
        pairs = (problem.risk if isinstance(problem.risk, PairwiseRisk) else problem.risk.pairs).pairs
        places = np.column_stack([np.arange(pairs.size), np.zeros((pairs.size, 2), dtype=int)])
        for slopes in (np.zeros(pairs.size), np.full(pairs.size, 1e6), -np.ones(pairs.size), rng.random(pairs.size)):
            yield SmoothedPairs(dual.M, dual.width, places, slopes)
            yield SmoothedPairs(random_metric(problem, rng), 0.0, places, slopes)
    else:
        yield from (factor * dual for factor in factors)
        yield from (dual + s * rng.normal(size=dual.shape) for s in (1e-9, 1e-3, 1.0, 1e3))
        yield rng.permutation(dual)
        yield rng.exponential(size=dual.shape)


def test_corrupted_duals_prove_nothing_false(solved):
    problem, solution = solved
    rng = np.random.default_rng(4)
    for dual in duals(problem, solution, rng):
        hint = [None, solution.certificate.M, random_metric(problem, rng)][rng.integers(3)]
        assert problem.dual_bound(dual, hint) <= solution.upper_bound * (1 + 1e-12)
        # A poor metric keeps its distance from the optimum whatever the dual claims.
        M = problem.risk.repair(random_metric(problem, rng))
        certificate = cm.certify(problem, M, dual)
        if np.isfinite(certificate.upper_bound):
            true_gap = (certificate.upper_bound - solution.upper_bound) / max(abs(certificate.upper_bound), 1e-300)
            assert certificate.gap >= true_gap - 1e-9


@pytest.mark.parametrize("poison", [np.nan, np.inf, -np.inf])
def test_duals_that_are_not_numbers_prove_nothing(solved, poison):
    problem, solution = solved
    dual = solution.certificate.dual
    if isinstance(dual, CutDual):
        weights = dual.weights.copy()
        weights[0, 0] = poison
        witnesses = dual.witnesses.copy()
        witnesses.flat[0] = poison
        poisoned = [
            CutDual(dual.witnesses, weights, dual.groups),
            CutDual(witnesses, dual.weights, dual.groups),
        ]
    elif isinstance(dual, SmoothedPairs):
        M = dual.M.copy()
        M.flat[0] = poison
        places, slopes = np.zeros((1, 3), dtype=int), np.array([poison])
        poisoned = [SmoothedPairs(M, 1.0), SmoothedPairs(dual.M, poison), SmoothedPairs(dual.M, 1.0, places, slopes)]
    else:
        poisoned = [np.where(np.arange(dual.size) == 0, poison, dual)]
    for point in poisoned:
        certificate = cm.certify(problem, solution.certificate.M, point)
        assert certificate.lower_bound == -np.inf
        assert certificate.gap == np.inf


def test_duals_of_the_wrong_shape_are_refused(solved):
    problem, solution = solved
    dual = solution.certificate.dual
    if isinstance(dual, CutDual):
        wrong = [
            CutDual(dual.witnesses[:-1], dual.weights, dual.groups),
            CutDual(dual.witnesses, dual.weights[:, :-1], dual.groups),
            CutDual(dual.witnesses, dual.weights, dual.groups[:-1]),
            CutDual(dual.witnesses, dual.weights, dual.groups - 1),
        ]
    elif isinstance(dual, SmoothedPairs):
        wrong = [SmoothedPairs(dual.M[:-1], 1.0), SmoothedPairs(dual.M[0], 1.0), SmoothedPairs(np.eye(9), 1.0)]
        for places in ([[0, 0]], [[-1, 0, 0]], [[0, 10**6, 0]], [[0, 0, 10**6]], [[10**6, 0, 0]], [[0, 0, 0]] * 2):
            wrong.append(SmoothedPairs(dual.M, 1.0, np.array(places), np.ones(len(places))))
        wrong.append(SmoothedPairs(dual.M, 1.0, np.zeros((1, 3)), np.ones(1)))
        wrong.append(SmoothedPairs(dual.M, 1.0, np.array([[1, 0, 0], [0, 0, 0]]), np.ones(2)))
        wrong.append(SmoothedPairs(dual.M, 1.0, np.zeros((1, 3), dtype=int), np.ones(2)))
    else:
        wrong = [dual[:-1], dual[:, None], np.append(dual, 0.0)]
    for point in [*wrong, "optimal", None]:
        with pytest.raises(DualError):
            problem.dual_bound(point)


def test_weak_duality_on_random_pairs(solved):
    problem, solution = solved
    rng = np.random.default_rng(5)
    for _ in range(5):
        witnesses = np.array([random_metric(problem, rng) for _ in range(3)])
        groups = rng.integers(0, 4, problem.risk.parts)
        groups[0] = 3
        cuts = CutDual(witnesses, rng.exponential(size=(3, 4)), groups)
        bounds = [-np.inf]
        if np.isfinite(problem.risk.value(problem.cone.zeros())):
            bounds.append(problem.dual_bound(cuts, hint=random_metric(problem, rng)))
        if isinstance(solution.certificate.dual, np.ndarray):
            u = rng.exponential(size=solution.certificate.dual.size)
            bounds.append(problem.dual_bound(u, hint=random_metric(problem, rng)))
        assert max(bounds) <= problem.value(random_metric(problem, rng))
        assert max(bounds) <= solution.upper_bound * (1 + 1e-12)


@pytest.mark.parametrize(
    "solver",
    [
        cm.solvers.CuttingPlanes(),
        cm.solvers.CuttingPlanes(groups=1),
        cm.solvers.CuttingPlanes(groups=8, stabilisation=0.0, drop_after=1),
        cm.solvers.AugmentedLagrangian(),
        cm.solvers.SemismoothNewton(),
        cm.solvers.LowRankNewton(),
        cm.solvers.ProximalGradient(),
        cm.solvers.InteriorPoint(),
        cm.solvers.DualAscent(),
        cm.solvers.DualNewton(),
        cm.solvers.FactoredLagrangian(),
        cm.solvers.Conic("clarabel"),
    ],
    ids=lambda solver: f"{solver.name}-{getattr(solver, 'groups', '')}",
)
def test_every_solver_ends_between_the_bounds(solved, solver):
    problem, solution = solved
    if solver.unsupported(problem) is not None:
        with pytest.raises(cm.errors.UnsupportedProblemError):
            cm.solve(problem, solver=solver)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cm.errors.GapWarning)
        other = cm.solve(problem, tol=1e-6, solver=solver, max_iter=400, max_seconds=20.0)
    assert other.lower_bound <= solution.upper_bound * (1.0 + 1e-13)
    assert other.upper_bound >= solution.lower_bound * (1.0 - 1e-13)
    if not isinstance(solver, cm.solvers.DualAscent):
        assert other.gap <= 1e-4
    for before, after in pairwise(other.history):
        assert after.upper_bound <= before.upper_bound
        assert after.lower_bound >= before.lower_bound
        assert after.iteration == before.iteration + 1
