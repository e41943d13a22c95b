"""The method of multipliers against the conic reference and against other solvers; where the default takes it."""

import warnings
from time import perf_counter

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import clarabel, random_triplets, some

import convexmetric as cm
from convexmetric.comparisons import Triplets
from convexmetric.cones import NonnegativeDiagonal, PSDCone
from convexmetric.errors import GapWarning, UnsupportedProblemError
from convexmetric.losses import BoxLoss, Hinge
from convexmetric.problem import MetricProblem
from convexmetric.regularizers import Frobenius, QuadraticForm, SquaredFrobenius, Trace
from convexmetric.risks import SeparableRisk
from convexmetric.solvers.explicit import augmented_lagrangian

RNG = np.random.default_rng(4)
N, D, T = 25, 8, 90
X = RNG.standard_normal((N, D)) * (RNG.random((N, D)) < 0.7)
TRIPLETS = random_triplets(RNG, N, T)
WEIGHTS = 0.5 * (1.0 + np.arange(T) % 3)
MAP = RNG.standard_normal((D, 12))
FACTOR = RNG.random((D, 2))
FORM = FACTOR @ FACTOR.T + np.diag(np.arange(D) % 2.0) + 1e-3


def with_term(points=X, C=0.7, margin=0.8, regularizer=None):
    risk = SeparableRisk(Triplets(points, TRIPLETS, NonnegativeDiagonal(D)), Hinge(C, margin))
    term = np.random.default_rng(1).standard_normal(D)
    return MetricProblem(risk, regularizer or SquaredFrobenius(0.3), G=term)


def with_trace(points=X, reg=0.3):
    risk = SeparableRisk(Triplets(points, TRIPLETS, NonnegativeDiagonal(points.shape[1])), Hinge(0.5))
    return MetricProblem(risk, Trace(reg))


PROBLEMS = {
    "dense": lambda: cm.RelativeComparisonProblem(X, TRIPLETS, C=0.5),
    "sparse": lambda: cm.RelativeComparisonProblem(sp.csc_array(X), TRIPLETS, C=0.5),
    "linear term": lambda: with_term(),
    "linear term, sparse": lambda: with_term(sp.csr_array(X), regularizer=SquaredFrobenius(2.0)),
    "linear term, quadratic form": lambda: with_term(regularizer=QuadraticForm(FORM)),
    "trace": lambda: with_trace(),
    "trace, sparse": lambda: with_trace(sp.csr_array(X), reg=3.0),
    "linear term, trace": lambda: with_term(regularizer=Trace(4.0)),
    "A": lambda: cm.RelativeComparisonProblem(X, TRIPLETS, C=0.5, A=MAP),
    "rbf": lambda: cm.RelativeComparisonProblem(X, TRIPLETS, C=0.5, kernel="rbf"),
    "linear kernel": lambda: cm.RelativeComparisonProblem(X, TRIPLETS, C=0.5, kernel="linear"),
    "zeros, linear kernel": lambda: cm.RelativeComparisonProblem(np.zeros((N, 2)), TRIPLETS, kernel="linear"),
    "one triplet": lambda: cm.RelativeComparisonProblem(X, TRIPLETS[:1]),
    "one triplet that cannot hold": lambda: cm.RelativeComparisonProblem([[0.0], [2.0], [1.0]], [[0, 1, 2]]),
    "one feature": lambda: cm.RelativeComparisonProblem(X[:, :1], TRIPLETS),
    "identical points": lambda: cm.RelativeComparisonProblem(np.ones((N, 2)), TRIPLETS),
    "the same triplet many times": lambda: cm.RelativeComparisonProblem(X, TRIPLETS[:1].repeat(40, axis=0), C=0.1),
    "features apart": lambda: cm.RelativeComparisonProblem(X[:, :3] * [1e-3, 1.0, 1e3], TRIPLETS),
    "more features than triplets": lambda: cm.RelativeComparisonProblem(
        np.random.default_rng(1).random((N, 200)), TRIPLETS[:9], C=3.0
    ),
}


def bag_of_words(n=200, d=3_000, count=2_000, seed=0):
    """Points of rare words, several in the same points, and triplets of four classes."""
    rng = np.random.default_rng(seed)
    share = np.sort(rng.random(d) ** 4)[::-1] * 0.5
    points = sp.csr_array((rng.random((n, d)) < share).astype(float))
    return points, cm.comparisons.triplets_from_labels(np.arange(n) % 4, count, random_state=seed)


def test_few_weights_of_many_are_found_without_a_matrix_of_all():
    rng, n, d = np.random.default_rng(0), 300, 20_000
    y = np.arange(n) % 4
    words = sp.random_array((n, d), density=0.002, rng=rng, data_sampler=lambda size: np.ones(size)).tolil()
    for i in range(n):
        words[i, 20 * y[i] + rng.permutation(20)[:5]] = 1.0
    triplets = cm.comparisons.triplets_from_labels(y, 3_000, random_state=0)
    risk = SeparableRisk(Triplets(words.tocsr(), triplets, NonnegativeDiagonal(d)), Hinge(1.0 / len(triplets)))
    reg = 0.1 * risk.comparisons.adjoint(np.full(len(triplets), 1.0 / len(triplets))).max()
    solution = cm.solve(MetricProblem(risk, Trace(reg)), tol=1e-4, max_memory=2e8)
    assert (solution.status, solution.solver) == ("optimal", "augmented-lagrangian")
    assert 0 < np.count_nonzero(solution.w > 1e-6 * solution.w.max()) < 1_000
    # No weight gains from being positive.
    assert risk.minorant(solution.certificate.dual).S.max() <= reg * (1.0 + 1e-2)


def crowd(count=20_000, n=300, d=60):
    """Several times as many triplets as a working set holds, and a metric to be found in them."""
    rng = np.random.default_rng(0)
    points = sp.random_array((n, d), density=0.2, rng=rng, data_sampler=lambda size: np.ones(size)).tocsr()
    labels = (points[:, [0]].toarray() + points[:, [1]].toarray()).ravel().astype(int)
    return points, cm.comparisons.triplets_from_labels(labels, count, random_state=0)


@pytest.mark.parametrize("rows", [1, 20, 4_000])
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_optimum_is_that_of_the_statement(name, rows, monkeypatch):
    monkeypatch.setattr(augmented_lagrangian, "WORKING_SET", rows)
    problem = PROBLEMS[name]()
    with warnings.catch_warnings(action="error", category=RuntimeWarning):
        # A set of 20 is hundreds of times smaller than any in use: rounding of some processors takes the last digit.
        solution = cm.solve(problem, tol=1e-5 if rows == 20 else 1e-6, solver="augmented-lagrangian")
    assert solution.status == "optimal"
    optimum = clarabel(problem)
    assert solution.lower_bound <= optimum + 1e-8 * (1.0 + abs(optimum))
    assert solution.upper_bound >= optimum - 1e-8 * (1.0 + abs(optimum))


@pytest.mark.parametrize("C", [1e-8, 1e-3, 1e3, 1e8])
@pytest.mark.parametrize("kernel", [None, "rbf"])
def test_any_weight_of_the_risk(C, kernel):
    problem = cm.RelativeComparisonProblem(X, TRIPLETS, C=C, kernel=kernel)
    ours = cm.solve(problem, solver="augmented-lagrangian", tol=1e-5)
    reference = cm.solve(problem, solver="interior-point")
    assert ours.gap <= 1e-5
    assert ours.lower_bound <= reference.upper_bound
    assert reference.lower_bound <= ours.upper_bound


@given(
    seed=st.integers(0, 10_000),
    n=st.integers(3, 30),
    d=st.integers(1, 40),
    count=st.integers(1, 60),
    C=st.floats(1e-3, 1e2),
    reg=st.floats(1e-2, 1e2),
)
@settings(max_examples=30, deadline=None)
def test_random_problems_end_at_the_optimum_of_the_interior_point(seed, n, d, count, C, reg):
    rng = np.random.default_rng(seed)
    points = sp.csr_array(rng.integers(-2, 3, (n, d)) * (rng.random((n, d)) < 0.5), dtype=float)
    cone = NonnegativeDiagonal(d)
    risk = SeparableRisk(Triplets(points, random_triplets(rng, n, count), cone), Hinge(C))
    problem = MetricProblem(risk, SquaredFrobenius(reg), G=rng.standard_normal(d))
    ours = cm.solve(problem, solver="augmented-lagrangian", tol=1e-5, atol=1e-9)
    reference = cm.solve(problem, solver="interior-point", tol=1e-9, atol=1e-9)
    assert ours.status == "optimal"
    assert ours.lower_bound <= reference.upper_bound
    assert reference.lower_bound <= ours.upper_bound


def test_every_comparison_may_have_a_weight_and_a_margin_of_its_own():
    loss = BoxLoss.hinge(WEIGHTS, 0.5 + WEIGHTS)
    problem = MetricProblem(SeparableRisk(Triplets(X, TRIPLETS, NonnegativeDiagonal(D)), loss), SquaredFrobenius(1.0))
    with warnings.catch_warnings(action="error", category=RuntimeWarning):
        ours = cm.solve(problem, solver="augmented-lagrangian")
    assert ours.status == "optimal"
    reference = cm.solve(problem, solver="interior-point")
    assert ours.upper_bound == pytest.approx(reference.upper_bound, rel=3e-6)


@pytest.mark.parametrize("C", some([0.01, 1.0, 100.0], 1))
def test_many_rare_features_give_the_optimum_of_another_solver(C):
    problem = cm.RelativeComparisonProblem(*bag_of_words(), C=C)
    ours = cm.solve(problem, solver="augmented-lagrangian", tol=1e-5)
    other = cm.solve(problem, solver="dual-ascent", tol=1e-4)
    assert ours.gap <= 1e-5
    assert ours.lower_bound <= other.upper_bound
    assert other.lower_bound <= ours.upper_bound
    for progress in ours.history:
        assert progress.lower_bound <= ours.upper_bound * (1 + 1e-12)
        assert progress.upper_bound >= ours.lower_bound * (1 - 1e-12)


def test_a_sample_of_the_kink_is_enough_for_a_step(monkeypatch):
    monkeypatch.setattr(augmented_lagrangian, "SAMPLE", 1_000)
    problem = cm.RelativeComparisonProblem(*bag_of_words())
    solution = cm.solve(problem, solver="augmented-lagrangian", tol=1e-3)
    assert solution.gap <= 1e-3


def test_features_of_the_same_points_have_equal_weights():
    points, triplets = bag_of_words(d=400)
    twice = sp.csr_array(sp.hstack([points, points]))
    w = cm.solve(cm.RelativeComparisonProblem(twice, triplets), solver="augmented-lagrangian", tol=1e-5).w
    np.testing.assert_allclose(w[:400], w[400:], atol=1e-3 * w.max())


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_of_many_comparisons_most_steps_see_a_few(C):
    problem = cm.RelativeComparisonProblem(*crowd(), C=C)
    solution = cm.solve(problem, solver="augmented-lagrangian")
    assert solution.status == "optimal"
    sizes = [progress.details["rows"] for progress in solution.history if "rows" in progress.details]
    assert sizes
    assert max(sizes) <= 0.25 * 20_000
    for progress in solution.history:
        assert progress.lower_bound <= solution.upper_bound * (1 + 1e-12)
        assert progress.upper_bound >= solution.lower_bound * (1 - 1e-12)


@pytest.mark.parametrize(("made", "kept"), [(lambda: crowd(count=2_000), True), (lambda: bag_of_words(d=400), False)])
def test_a_sample_that_the_other_comparisons_contradict_is_left(made, kept, monkeypatch):
    monkeypatch.setattr(augmented_lagrangian, "WORKING_SET", 200)
    solution = cm.solve(cm.RelativeComparisonProblem(*made()), solver="augmented-lagrangian", tol=1e-3)
    assert solution.gap <= 1e-3
    assert ("width" not in solution.history[0].details) == kept


def test_the_same_call_gives_the_same_bounds():
    problem = cm.RelativeComparisonProblem(*crowd())
    first, second = (cm.solve(problem) for _ in range(2))
    assert first.solver == "augmented-lagrangian"
    assert first.upper_bound == pytest.approx(second.upper_bound, rel=1e-12)
    assert first.iterations == second.iterations


def test_it_goes_on_from_what_other_solvers_left():
    problem = cm.RelativeComparisonProblem(*bag_of_words())
    stages = (cm.solvers.DualAscent(max_steps=40), cm.solvers.AugmentedLagrangian())
    solution = cm.solve(problem, solver=cm.solvers.Exact(stages=stages), tol=1e-4)
    assert solution.solver == "augmented-lagrangian"
    assert solution.gap <= 1e-4


def test_time_limits_are_kept():
    problem = cm.RelativeComparisonProblem(*bag_of_words(), C=100.0)
    start = perf_counter()
    with pytest.warns(GapWarning):
        solution = cm.solve(problem, tol=1e-12, solver="augmented-lagrangian", max_seconds=0.1)
    assert perf_counter() - start < 2.0
    assert solution.status == "max_seconds"


def test_an_impossible_tolerance_ends_in_a_warning_and_true_bounds():
    with pytest.warns(GapWarning):
        solution = cm.solve(PROBLEMS["dense"](), tol=1e-16, solver="augmented-lagrangian")
    assert solution.gap <= 1e-8
    assert solution.lower_bound <= solution.upper_bound * (1 + 1e-14)


@pytest.mark.parametrize(
    ("problem", "reason"),
    [
        (cm.RelativeComparisonProblem(X, TRIPLETS[:3], C=np.inf), "hard constraints"),
        (
            MetricProblem(SeparableRisk(Triplets(X, TRIPLETS, PSDCone(D)), Hinge(1.0)), SquaredFrobenius(1.0)),
            "not diagonal",
        ),
        (with_term(regularizer=Frobenius(1.0)), "neither linear nor quadratic"),
        (cm.load_problem("relative-wine-1000"), None),
        (cm.load_problem("ranking-auc-wine-c1"), "not"),
    ],
)
def test_what_it_cannot_solve_is_refused_with_a_reason(problem, reason):
    solver = cm.solvers.AugmentedLagrangian()
    if reason is None:
        assert solver.unsupported(problem) is None
        return
    with pytest.raises(UnsupportedProblemError, match=reason):
        cm.solve(problem, solver=solver)
