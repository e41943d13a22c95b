"""The squared distance to a prior: its bounds, and what becomes of the optimum as its weight grows."""

import warnings
from itertools import product

import cvxpy as cp
import numpy as np
import pytest
from samples import clarabel, consistent, random_triplets, some

import convexmetric as cm
from convexmetric.certificates import certificate as module
from convexmetric.certificates import checker
from convexmetric.comparisons import Triplets, triplets_from_labels
from convexmetric.cones import NonnegativeDiagonal, PSDCone
from convexmetric.errors import InputError
from convexmetric.losses import Hinge, Logistic
from convexmetric.regularizers import (
    Distance,
    EntrywiseL1,
    LogDet,
    SquaredDistance,
    SquaredFrobenius,
)
from convexmetric.risks import SeparableRisk, SmoothSeparableRisk

WINE = cm.datasets.load("wine")
X, Y = cm.datasets.preprocess(WINE.X, ["zscore"])[::6, :5], WINE.y[::6]
B = np.random.default_rng(5).standard_normal((3, 5))
#: Of rank three, so that the optimum is on the boundary of the cone.
SINGULAR = B.T @ B


def ranking(**options):
    return cm.RankingProblem.from_labels(X, Y, C=10.0, penalty="squared-frobenius", **options)


PROBLEMS = {
    "ranking, identity": lambda: ranking(measure="map", prior="identity"),
    "ranking, singular prior": lambda: ranking(measure="ndcg", prior=SINGULAR),
    "auc, diagonal": lambda: ranking(diagonal=True, prior="identity"),
    "triplets, identity": lambda: cm.TripletProblem.from_labels(X, Y, n_same=3, n_other=3, reg=0.1, prior="identity"),
    "triplets, pairs too": lambda: cm.TripletProblem.from_labels(
        X, Y, n_same=3, n_other=3, reg=0.1, intra=0.1, prior=SINGULAR
    ),
    "large margin, identity": lambda: cm.LargeMarginProblem(X, Y, n_neighbors=2, prior="identity", reg=0.1),
    "large margin, singular prior": lambda: cm.LargeMarginProblem(X, Y, n_neighbors=2, prior=SINGULAR),
    "large margin, diagonal": lambda: cm.LargeMarginProblem(X, Y, n_neighbors=2, diagonal=True, prior=np.arange(5.0)),
    "pairs, identity": lambda: cm.PairMarginProblem.from_labels(X, Y, reg=0.1, prior="identity"),
    "pairs, singular prior": lambda: cm.PairMarginProblem.from_labels(
        X, Y, n_pairs=60, balanced=True, random_state=0, prior=SINGULAR
    ),
    "triplets, diagonal": lambda: cm.TripletProblem.from_labels(
        X, Y, n_same=3, n_other=3, diagonal=True, prior=np.arange(5.0)
    ),
    "listed, hinge": lambda: listed(SeparableRisk, Hinge(0.2)),
    "listed, hard": lambda: listed(SeparableRisk, Hinge(np.inf)),
    "listed, logistic": lambda: listed(SmoothSeparableRisk, Logistic(0.2)),
}


def listed(risk, loss):
    triplets = consistent(X, random_triplets(np.random.default_rng(0), len(X), 12), np.arange(1.0, 6.0), 0.5)
    return cm.MetricProblem(risk(Triplets(X, triplets, PSDCone(5)), loss), SquaredDistance(0.3, SINGULAR))


@pytest.fixture(scope="module", params=some(PROBLEMS, 3))
def solved(request):
    problem = PROBLEMS[request.param]()
    return problem, cm.solve(problem, tol=1e-7)


@pytest.mark.parametrize("name", some(PROBLEMS, 4))
def test_contracts(name):
    cm.check_problem(PROBLEMS[name]())


def test_the_gap_closes_and_conic_solvers_agree(solved):
    problem, solution = solved
    assert solution.status == "optimal"
    if problem.risk.parts < 40 and not isinstance(problem, cm.RankingProblem | cm.TripletProblem):
        assert clarabel(problem) == pytest.approx(solution.upper_bound, rel=1e-6)
        statement = problem.statement().problem
        # With an exponential cone it would not end at 1e-10.
        statement.solve(solver=cp.SCS, eps_abs=1e-9, eps_rel=1e-9, max_iters=500_000)
        assert statement.status == cp.OPTIMAL
        assert statement.value == pytest.approx(solution.upper_bound, rel=1e-6)


@pytest.mark.parametrize("form", ["problem", "program"])
def test_small_rankings_and_triplets_against_both_conic_solvers(form):
    options = {"C": 5.0, "penalty": "squared-frobenius", "prior": SINGULAR}
    for problem in (
        cm.RankingProblem(X, [[1, 2], [0, 3]], irrelevant=[[4, 9], [6]], queries=X[:2] + 0.1, measure="mrr", **options),
        cm.TripletProblem(X, random_triplets(np.random.default_rng(1), len(X), 9), reg=0.2, prior=SINGULAR),
    ):
        solution = cm.solve(problem, tol=1e-8)
        stated = problem.statement().problem if form == "problem" else problem.to_cvxpy()
        for solver, tight in ((cp.CLARABEL, {}), (cp.SCS, {"eps_abs": 1e-9, "eps_rel": 1e-9, "max_iters": 200_000})):
            stated.solve(solver=solver, **tight)
            assert stated.value == pytest.approx(solution.upper_bound, rel=1e-6)


def test_files_prove_the_bounds(solved, tmp_path):
    problem, solution = solved
    written = cm.write_certificate(tmp_path / "c.npz", problem, solution=solution)
    assert float(written.lower) <= solution.upper_bound * (1 + 1e-12)
    assert float(written.upper) - float(written.lower) <= 2e-7 * float(written.upper)
    assert checker.verify(tmp_path / "c.npz").upper == written.upper


def test_it_is_a_norm_a_linear_term_and_a_constant(solved):
    problem, solution = solved
    omega, cone = problem.regularizer, problem.cone
    if problem.risk.hard:
        pytest.skip("random metrics violate hard margins")
    M0 = omega.prior
    G = -omega.reg * M0 if problem.G is None else problem.G - omega.reg * M0
    plain = cm.MetricProblem(
        problem.risk, SquaredFrobenius(omega.reg), G=G, constant=0.5 * omega.reg * cone.inner(M0, M0)
    )
    M = solution.certificate.M
    assert plain.value(M) == pytest.approx(problem.value(M), rel=1e-10)
    dual = solution.certificate.dual
    assert plain.dual_bound(dual, M) == pytest.approx(problem.dual_bound(dual, M), rel=1e-6)


@pytest.mark.parametrize("reg", [1e6, 1e12, 1e15])
def test_with_a_large_weight_the_prior_itself_is_returned(reg):
    problem = cm.TripletProblem.from_labels(X, Y, n_same=3, n_other=3, reg=1.0, prior=SINGULAR).with_reg(reg)
    solution = cm.solve(problem)
    assert solution.status == "optimal"
    assert pytest.approx(SINGULAR, abs=1e-13) == solution.M
    assert solution.upper_bound == pytest.approx(problem.risk.value(SINGULAR), rel=1e-9)
    euclidean = cm.solve(cm.TripletProblem.from_labels(X, Y, n_same=3, n_other=3, reg=reg, prior="identity"))
    assert np.array_equal(euclidean.M, np.eye(5))


def test_with_nothing_to_learn_from_the_prior_is_returned():
    solution = cm.solve(ranking(prior="identity").with_C(1e-9))
    assert solution.status == "optimal"
    assert np.array_equal(solution.M, np.eye(5))


def test_the_optimum_moves__to_the_prior_as_the_weight_grows():
    away = []
    for reg in (1e-3, 1e-1, 1e1, 1e3):
        problem = cm.TripletProblem.from_labels(X, Y, n_same=3, n_other=3, reg=reg, prior="identity")
        away.append(np.linalg.norm(cm.solve(problem, tol=1e-8).M - np.eye(5)))
    assert away == sorted(away, reverse=True)
    assert away[-1] < 1e-2 < away[0]


def test_a_prior_of_zero_is_none():
    cone = PSDCone(5)
    rng = np.random.default_rng(3)
    for _ in range(20):
        S, v = cone.from_coordinates(rng.standard_normal(cone.size)), rng.standard_normal()
        zero, plain = SquaredDistance(0.7, cone.zeros()), SquaredFrobenius(0.7)
        assert zero.value(S, cone) == plain.value(S, cone)
        assert zero.bound(v, S, None, cone, S) == pytest.approx(plain.bound(v, S, None, cone, S), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("cone", [PSDCone(4), NonnegativeDiagonal(4)], ids=repr)
def test_the_conjugate_and_the_best_share_are_those_of_a_conic_solver(cone):
    rng = np.random.default_rng(4)
    prior = cone.project(cone.from_coordinates(rng.standard_normal(cone.size)))
    omega = SquaredDistance(0.6, prior)
    for _ in range(5):
        S, G = (cone.from_coordinates(rng.standard_normal(cone.size)) for _ in range(2))
        v = rng.exponential() * 3.0
        M, inside = cone.variable("M")
        least = cp.pos(v - cp.sum(cp.multiply(S, M))) + cp.sum(cp.multiply(G, M)) + omega.expression(M, cone)
        exact = cp.Problem(cp.Minimize(least), inside).solve(solver=cp.CLARABEL)
        assert omega.bound(v, S, G, cone, prior) == pytest.approx(exact, rel=1e-6, abs=1e-6)
        most, N = omega.conjugate(S, cone)
        assert most == pytest.approx(cone.inner(S, N) - omega.value(N, cone))
        cp.Problem(cp.Minimize(omega.expression(M, cone) - cp.sum(cp.multiply(S, M))), inside).solve(cp.CLARABEL)
        assert M.value == pytest.approx(N, abs=1e-3)


MARGINS = {
    "large margin": lambda reg: cm.LargeMarginProblem(X, Y, n_neighbors=2, prior=SINGULAR, reg=reg),
    "large margin, diagonal": lambda reg: cm.LargeMarginProblem(
        X, Y, n_neighbors=2, diagonal=True, prior=np.arange(5.0), reg=reg
    ),
    "pairs": lambda reg: cm.PairMarginProblem.from_labels(X, Y, reg=reg, prior=SINGULAR),
}


@pytest.mark.parametrize("kind", MARGINS)
def test_margins_are_left_to_the_prior_as_its_weight_grows(kind):
    made = [MARGINS[kind](reg) for reg in (1e-3, 1e-1, 1e1, 1e3, 1e9)]
    away = [np.linalg.norm(cm.solve(problem, tol=1e-8).certificate.M - problem.prior) for problem in made]
    assert away == sorted(away, reverse=True)
    assert away[-1] < 1e-6 < 1e-1 < away[0]
    for problem in made[1:]:
        assert made[0].with_reg(problem.reg).fingerprint() == problem.fingerprint()


def test_the_paper_s_objective_and_the_distance_to_the_prior_add_up():
    weights = np.linspace(0.0, 2.0, len(X))
    options = {"n_neighbors": 2, "push": 0.3, "weights": weights, "ridge": 0.2}
    plain, near = (
        cm.LargeMarginProblem(X, Y, **options),
        cm.LargeMarginProblem(X, Y, **options, prior=SINGULAR, reg=0.7),
    )
    M = np.random.default_rng(2).standard_normal((5, 5))
    M = M @ M.T
    N = 2.0 * weights.sum()
    expected = plain.objective(M) + 0.35 * N * ((M - SINGULAR) ** 2).sum()
    assert near.objective(M) == pytest.approx(expected, rel=1e-9)


def test_large_margins_near_a_prior_need_no_pull_in_every_direction():
    alike = np.column_stack([X, Y])
    with pytest.raises(InputError, match="agree in 1 of 6 directions"):
        cm.LargeMarginProblem(alike, Y, n_neighbors=2)
    # Target neighbours agree in the last feature, which tells the labels apart.
    solution = cm.solve(cm.LargeMarginProblem(alike, Y, n_neighbors=2, prior="identity", reg=0.1), tol=1e-6)
    assert solution.gap <= 1e-6
    assert solution.M[5, 5] > 1.0
    few = cm.solve(
        cm.LargeMarginProblem(
            np.hstack([X[:12], X[:12] ** 2, X[:12] ** 3]), [0, 1, 2] * 4, n_neighbors=2, prior="identity"
        )
    )
    assert few.gap <= 1e-6


def test_the_squared_distance_of_pairs_has_the_metrics_of_the_distance():
    problem = cm.PairMarginProblem.from_labels(X, Y, reg=0.3, prior=SINGULAR)
    solution = cm.solve(problem, tol=1e-9)
    size = np.linalg.norm(solution.M - SINGULAR)
    weight = 0.3 / np.sqrt(len(X))
    other = cm.MetricProblem(problem.risk, Distance(weight * size, SINGULAR))
    assert other.value(solution.M) == pytest.approx(clarabel(other), rel=1e-6)
    assert problem.value(solution.M) == pytest.approx(problem.risk.value(solution.M) + weight / 2 * size**2, rel=1e-12)


@pytest.mark.parametrize("kernel", [None, "linear", "rbf"])
def test_pairs_of_more_features_than_points_have_a_prior(kernel):
    wide = np.random.default_rng(0).standard_normal((6, 9))
    prior = np.diag(np.arange(9.0)) if kernel is None else "identity"
    problem = cm.PairMarginProblem(
        wide, [[0, 1], [1, 2], [3, 4], [0, 4]], [1, -1, 1, -1], reg=0.3, kernel=kernel, prior=prior
    )
    cm.check_problem(problem)
    assert problem.cone.d == (9 if kernel is None else 4)
    solution, program = cm.solve(problem, tol=1e-7), problem.to_cvxpy()
    assert program.solve(solver=cp.CLARABEL) == pytest.approx(solution.upper_bound, rel=1e-5)


def test_words_formula_and_fingerprint():
    problem = ranking(prior="identity")
    assert "0.5 ||W - I||_F^2" in str(problem)
    assert "W0        the identity, known before" in str(problem)
    assert r"\|W - I\|_F^2" in problem.latex()
    other = ranking(prior=SINGULAR)
    assert "||W - W0||_F^2" in str(other)
    assert r"\|W - W_0\|" in other.latex()
    assert len({each.fingerprint() for each in (problem, other, ranking())}) == 3


def test_under_a_kernel_it_is_on_the_span():
    problem = ranking(kernel="rbf", prior="identity")
    with warnings.catch_warnings(action="error"):
        solution = cm.solve(problem, tol=1e-5)
    assert solution.gap <= 1e-5
    wide = cm.RankingProblem.from_labels(
        np.random.default_rng(0).standard_normal((6, 9)), [0, 0, 0, 1, 1, 1], C=3.0, kernel="linear", prior="identity",
        penalty="squared-frobenius",
    )  # fmt: skip
    cm.check_problem(wide)


def test_estimators_take_it():
    assert cm.MLR(C=1e-9, penalty="squared-frobenius", prior="identity").fit(X, Y).get_mahalanobis_matrix() == (
        pytest.approx(np.eye(5))
    )
    for made in (
        cm.LargeMargin(reg=1e9, prior="identity"),
        cm.OperatorMarginMetric(reg=1e9, prior="identity"),
    ):
        assert made.fit(X, Y).get_mahalanobis_matrix() == pytest.approx(np.eye(5))


OTHER_NORMS = {
    "ranking, trace": lambda **given: cm.RankingProblem.from_labels(X, Y, **given),
    "ranking, trace, diagonal": lambda **given: cm.RankingProblem.from_labels(X, Y, diagonal=True, **given),
    "triplets, trace": lambda **given: cm.TripletProblem.from_labels(X, Y, penalty="trace", **given),
}


@pytest.mark.parametrize(("kind", "prior"), some(product(OTHER_NORMS, ["identity", "metric"]), 1))
def test_other_norms_have_priors_too(kind, prior):
    metric = np.array([2.0, 1.0, 0.5, 0.0, 1.0])
    given = prior if prior == "identity" else metric if "diagonal" in kind else np.diag(metric)
    weight = {"reg": 0.01} if "triplets" in kind else {"C": 10.0}
    problem = OTHER_NORMS[kind](prior=given, **weight)
    cm.check_problem(problem)
    solution = cm.solve(problem, tol=1e-5)
    assert solution.gap <= 1e-5
    if "triplets" in kind:
        optimum = problem.statement().problem.solve(solver=cp.CLARABEL)
        assert solution.upper_bound == pytest.approx(optimum, rel=1e-4)


@pytest.mark.parametrize("prior", ["identity", np.array([2.0, 1.0, 0.5, 0.0, 1.0])], ids=["identity", "weights"])
def test_relative_comparisons_have_a_prior(prior):
    T = triplets_from_labels(Y, 60, random_state=0)
    problem = cm.RelativeComparisonProblem(X, T, C=0.1, prior=prior)
    cm.check_problem(problem)
    assert "||w - w0||^2" in str(problem)
    assert "w_0" in problem.latex()
    solution = cm.solve(problem)
    assert solution.gap <= 1e-6
    optimum = problem.statement().problem.solve(solver=cp.CLARABEL)
    assert solution.upper_bound == pytest.approx(optimum, rel=1e-5)
    near = cm.solve(problem.with_C(1e-9))
    np.testing.assert_allclose(near.w, np.ones(5) if isinstance(prior, str) else prior, atol=1e-6)


@pytest.mark.parametrize("kind", OTHER_NORMS)
def test_a_far_too_large_weight_returns_the_prior_of_any_norm(kind):
    # A norm that is not squared holds the metric where it is from some weight on.
    weight = {"reg": 1e3} if "triplets" in kind else {"C": 1e-6}
    solution = cm.solve(OTHER_NORMS[kind](prior="identity", **weight), tol=1e-6)
    assert solution.gap <= 1e-6
    np.testing.assert_allclose(solution.M, np.eye(5), atol=1e-12)


@pytest.mark.parametrize(
    "omega",
    [lambda M0: EntrywiseL1(0.1, LogDet(M0), prior=M0), lambda M0: LogDet(M0, 3.0)],
    ids=["sizes", "divergence"],
)
@pytest.mark.parametrize("cone", [PSDCone(3), NonnegativeDiagonal(3)], ids=["full", "diagonal"])
def test_bounds_do_not_cross_where_the_optimum_is_zero(omega, cone):
    """At the prior a divergence is a difference of rounded numbers."""
    X = np.array([[0.0, 0.0, 0.0], [0.1, 0.0, 0.2], [1.0, 1.0, 1.0]])
    risk = SeparableRisk(Triplets(X, np.array([[0, 1, 2]]), cone), Hinge(0.5))
    solution = cm.solve(cm.MetricProblem(risk, omega(cone.identity())), atol=1e-9)
    assert abs(solution.upper_bound) <= 1e-9
    assert solution.lower_bound <= 0.0 <= solution.upper_bound


@pytest.mark.parametrize("reg", [1e-30, 1.0, 1e8, 1e16, 1e44])
@pytest.mark.parametrize("kind", ["identity", "singular", "diagonal"])
def test_a_dual_point_proves_no_more_than_a_metric_costs_however_strong_the_prior(reg, kind):
    """Weak duality on random slopes: the metric of the projection misses the prior by rounding, times the weight."""
    rng = np.random.default_rng(0)
    cone = NonnegativeDiagonal(12) if kind == "diagonal" else PSDCone(12)
    root = rng.standard_normal((7 if kind == "singular" else 12, 12))
    prior = np.abs(root[0]) if kind == "diagonal" else root.T @ root
    omega = SquaredDistance(reg, prior)
    for size in (1e-6, 1.0, 1e6):
        S = size * (root[1] if kind == "diagonal" else root[:7].T @ root[:7] - root[3:].T @ root[3:])
        conjugate, N = omega.conjugate(S, cone)
        lower = cone.inner(S, prior) - omega.value(prior, cone)
        rounding = 1e-14 * (abs(cone.inner(S, N)) + np.linalg.norm(S) * np.linalg.norm(prior) + omega.value(N, cone))
        assert conjugate >= max(lower, -omega.value(cone.zeros(), cone)) - rounding
        # And it is attained, but for what rounding of N costs.
        cost = reg * (1e-14 * np.linalg.norm(prior)) ** 2
        assert conjugate <= cone.inner(S, N) - omega.value(N, cone) + rounding + cost


def test_bounds_that_rounding_crosses_move_apart(monkeypatch):
    """Neither of two bounds that cross can be trusted to the estimate of rounding."""
    problem = PROBLEMS["triplets, identity"]()
    solution = cm.solve(problem, tol=1e-6)
    M, dual, optimum = solution.M, solution.certificate.dual, solution.lower_bound
    plain = module._lower_bound
    above = solution.upper_bound + 1e-3

    def wrong(problem, point, hint):
        return above, 2e-3 + plain(problem, point, hint)[1]

    monkeypatch.setattr(module, "_lower_bound", wrong)
    made = cm.certify(problem, M, dual)
    assert made.lower_bound <= optimum - 2e-3
    assert made.upper_bound >= above + 2e-3
    assert made.rounding >= made.upper_bound - made.lower_bound
