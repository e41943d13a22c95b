"""Constraints and terms of the user's own: the optimum of the whole statement, certified as far as it can be."""

import warnings

import cvxpy as cp
import numpy as np
import pytest
from catalogue import instance
from samples import some

import convexmetric as cm
from convexmetric.comparisons import PairDistances
from convexmetric.errors import CrossedBoundsError, InputError, SolverError, UnsupportedProblemError
from convexmetric.losses import BoxLoss
from convexmetric.regularizers import Zero, conic_calls, user_terms
from convexmetric.risks import SeparableRisk
from convexmetric.solvers import SOLVERS


def whole(problem, constraints=None, extra=None):
    """Optimal value of the textbook statement with the user's terms."""
    statement = problem.statement()
    objective = statement.problem.objective.expr + (0 if extra is None else extra(statement.metric))
    more = [] if constraints is None else constraints(statement.metric)
    stated = cp.Problem(cp.Minimize(objective), statement.problem.constraints + more)
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        return stated.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)


def distance(M):
    """Squared distance between two points that the user wants apart."""
    difference = np.arange(1.0, M.shape[0] + 1.0)
    return difference @ M @ difference if M.ndim == 2 else difference**2 @ M


TERMS = {
    "trace at most": (lambda M: [(cp.trace(M) if M.ndim == 2 else cp.sum(M)) <= 0.05], None),
    "a distance at least": (lambda M: distance(M) >= 1.0, None),
    "zero entries": (lambda M: [M[0, 1] == 0, M[0, 2] == 0] if M.ndim == 2 else [M[0] == 0], None),
    "entries in absolute value": (None, lambda M: 0.3 * cp.sum(cp.abs(M))),
    "both": (lambda M: [distance(M) <= 2.0], lambda M: cp.sum_squares(M)),
}


@pytest.mark.parametrize("terms", list(TERMS))
@pytest.mark.parametrize(
    "name",
    [
        "ranking from labels",
        "ranking from lists",
        "ranking, diagonal, squared norm",
        "relative, A, soft",
        "psd triplets, trace, G",
    ],
)
def test_the_optimum_is_that_of_the_whole_statement(name, terms):
    constraints, extra = TERMS[terms]
    problem = instance(name)
    solution = cm.solve(problem, tol=1e-6, constraints=constraints, extra_objective=extra)
    listed = None if constraints is None else lambda M: [*np.atleast_1d(constraints(M))]
    expected = whole(problem, listed, extra)
    assert solution.gap <= 1e-6
    assert solution.upper_bound == pytest.approx(expected, rel=2e-6)
    assert solution.lower_bound == pytest.approx(expected, rel=2e-6)
    assert solution.certificate.grade == "conic"
    assert solution.certificate.violation <= 1e-6
    assert "CLARABEL's word" in str(solution)
    again = cm.certify(
        problem, solution.certificate.M, solution.certificate.dual, constraints=constraints, extra_objective=extra
    )
    assert again.upper_bound == pytest.approx(solution.upper_bound, rel=1e-9)
    assert again.lower_bound == pytest.approx(solution.lower_bound, rel=1e-7)


def test_hard_margins_keep_their_constraints():
    problem = instance("relative, identity, hard")
    free = cm.solve(problem)
    largest = int(free.w.argmax())
    bound = 1.2 * free.w[largest]
    solution = cm.solve(problem, constraints=lambda w: [w[largest] >= bound], tol=1e-5)
    assert solution.upper_bound > 1.01 * free.upper_bound
    assert solution.upper_bound == pytest.approx(whole(problem, lambda w: [w[largest] >= bound]), rel=1e-5)


def wine(**options):
    data = cm.datasets.load("wine")
    X = cm.datasets.preprocess(data.X, ["zscore"])[::3, :5]
    return cm.RankingProblem.from_labels(X, data.y[::3], C=50.0, **options)


@pytest.mark.parametrize("measure", ["auc", "map"])
def test_zero_entries_off_the_diagonal_make_the_diagonal_problem(measure):
    off = np.triu_indices(5, 1)
    solution = cm.solve(wine(measure=measure), constraints=lambda M: [M[off] == 0])
    diagonal = cm.solve(wine(measure=measure, diagonal=True))
    assert solution.lower_bound <= diagonal.upper_bound
    assert diagonal.lower_bound <= solution.upper_bound * (1 + 1e-6)
    assert solution.certificate.violation <= 1e-8


def test_a_fixed_metric_is_evaluated():
    problem = wine()
    fixed = 0.1 * np.eye(5)
    solution = cm.solve(problem, constraints=lambda M: [fixed == M])
    np.testing.assert_allclose(solution.M, fixed, atol=1e-8)
    assert solution.upper_bound == pytest.approx(problem.value(fixed), rel=1e-6)
    assert solution.lower_bound == pytest.approx(problem.value(fixed), rel=1e-5)


def test_terms_that_say_nothing_change_nothing():
    problem = wine()
    free = cm.solve(problem)
    solution = cm.solve(problem, constraints=lambda M: [cp.trace(M) <= 1e6, True], extra_objective=lambda M: 2.0)
    assert solution.lower_bound - 2.0 <= free.upper_bound
    assert free.lower_bound <= solution.upper_bound - 2.0 + 1e-9


def test_corrupted_duals_and_wrong_metrics_do_not_certify():
    problem = wine()

    def trace(M):
        return [cp.trace(M) <= 0.5]

    solution = cm.solve(problem, constraints=trace)
    dual = solution.certificate.dual
    M = solution.certificate.M
    optimum = solution.upper_bound
    for weights in (
        -dual.weights,
        100.0 * dual.weights,
        np.ones_like(dual.weights),
        np.full_like(dual.weights, np.nan),
    ):
        forged = cm.risks.CutDual(dual.witnesses, weights, dual.groups)
        assert cm.certify(problem, M, forged, constraints=trace).lower_bound <= optimum * (1 + 1e-6)
    wrong = cm.certify(problem, np.eye(5), dual, constraints=trace)
    assert wrong.violation == pytest.approx(4.5)
    assert "violates your constraints by 4.5e+00" in str(wrong)


@pytest.mark.parametrize("C", some([100.0, 1.0], 1))
@pytest.mark.parametrize("steps", some([["zscore"], []], 1))
def test_equalities_hold_on_data_of_any_scale(C, steps):
    data = cm.datasets.load("wine")
    X = cm.datasets.preprocess(data.X, steps)[::3]
    problem = cm.RankingProblem.from_labels(X, data.y[::3], C=C)
    solution = cm.solve(problem, tol=1e-3, constraints=lambda M: [cp.trace(M) == 1])
    assert solution.gap <= 1e-3
    assert solution.M.trace() == pytest.approx(1.0, abs=1e-7)
    assert solution.upper_bound >= cm.solve(problem, tol=1e-3).lower_bound


def test_a_failure_of_the_conic_solver_gives_advice_that_can_be_followed(monkeypatch):
    monkeypatch.setattr(conic_calls, "ATTEMPTS", ({"max_iter": 1},))
    with pytest.raises(
        SolverError, match=r"CLARABEL failed on what stands beside the risk .*; rescale X.* give equalities of your own"
    ):
        cm.solve(wine(), constraints=lambda M: [cp.trace(M) == 1])


@pytest.mark.parametrize("name", ["ranking from labels", "psd triplets, trace, G"])
def test_any_solver_that_fits_may_be_named(name):
    problem = instance(name).subject_to(lambda M: [cp.trace(M) <= 0.5], lambda M: 0.1 * cp.sum(cp.abs(M)))
    lower, upper, fit = [], [], []
    for solver in (
        *SOLVERS,
        cm.solvers.CuttingPlanes(groups=3),
        cm.solvers.Conic("clarabel"),
    ):
        if solver in ("mosek", "cvxopt", "sdpa"):
            continue
        try:
            solution = cm.solve(problem, tol=1e-4, solver=solver)
        except UnsupportedProblemError:
            continue
        assert solution.problem is problem
        assert solution.certificate.grade == "conic"
        assert solution.gap <= 1e-4
        lower.append(solution.lower_bound)
        upper.append(solution.upper_bound)
        fit.append(solver)
    assert {each for each in fit if isinstance(each, str)} == {
        "exact",
        "cutting-planes",
        "cutting-planes-plain",
        "clarabel",
        "scs",
    }
    assert max(lower) <= min(upper) * (1 + 1e-6)


def test_the_default_solves_listed_comparisons_at_once():
    assert cm.solve(instance("relative, A, soft"), constraints=lambda w: [cp.sum(w) <= 0.1]).iterations == 1


def test_hopeless_accuracy_ends():
    with pytest.warns(cm.errors.GapWarning):
        solution = cm.solve(wine(), tol=1e-14, constraints=lambda M: [cp.trace(M) <= 0.5], max_iter=200)
    assert solution.status == "stalled"
    assert solution.gap <= 1e-7


def far_pairs(scale, kind):
    """Far pairs drawn apart by a term of their own alone, under constraints that bind; the optimum in the unit of X."""
    data = cm.datasets.load("wine")
    X, y = scale * cm.datasets.preprocess(data.X, ["zscore"])[:, :4], data.y
    rng = np.random.default_rng(0)
    pairs = np.array([rng.choice(len(X), 2, replace=False) for _ in range(200)])
    V, near, cone = X[pairs[:, 0]] - X[pairs[:, 1]], y[pairs[:, 0]] == y[pairs[:, 1]], cm.cones.PSDCone(4)
    nothing = SeparableRisk(PairDistances(X, pairs[:1], np.ones(1), cone), BoxLoss.hinge([1.0], [0.0]))
    A, D, B = V[near].T @ V[near], V[~near], cp.Variable((4, 4), PSD=True)

    def far(M):
        return -cp.sum(cp.sqrt(cp.sum(cp.multiply(D @ M, D), axis=1)))

    constraints, term, unit, shift = {
        "budget": (lambda M: [cp.sum(cp.multiply(A, M)) <= 1], far, 1.0, 0.0),
        "equality": (lambda M: [cp.sum(cp.multiply(A, M)) == 1], far, 1.0, 0.0),
        "volume": (
            lambda M: [cp.sum(cp.multiply(A, M)) <= 1],
            lambda M: -cp.log_det(M),
            1.0,
            -8.0 * float(np.log(scale)),
        ),
        "largest eigenvalue": (lambda M: [np.eye(4) >> M, cp.trace(M) <= 2], far, 1.0 / scale, 0.0),
        "norms": (lambda M: [cp.norm(M, "fro") <= 1, cp.SOC(cp.Constant(0.6), M[0])], far, 1.0 / scale, 0.0),
        "variables of their own": (lambda M: [cp.trace(B) <= 1, B >> M], far, 1.0 / scale, 0.0),
    }[kind]
    solution = cm.solve(cm.MetricProblem(nothing, Zero()).subject_to(constraints, term))
    return solution, (unit * solution.lower_bound + shift, unit * solution.upper_bound + shift)


@pytest.mark.parametrize(
    "kind", ["budget", "equality", "volume", "largest eigenvalue", "norms", "variables of their own"]
)
@pytest.mark.filterwarnings("ignore::convexmetric.errors.GapWarning")
def test_bounds_neither_cross_nor_exclude_those_of_the_same_problem_in_other_units(kind):
    """A metric that violates constraints by 1e-8 is worth less than what its objective says."""
    found = [far_pairs(scale, kind) for scale in (0.125, 1.0, 8.0)]
    lower, upper = zip(*(bounds for _, bounds in found), strict=True)
    assert max(lower) <= min(upper)
    assert found[1][0].status == "optimal"
    assert all("gap 0.0e+00" not in str(solution) for solution, _ in found)


def test_bounds_that_cross_by_more_than_noise_are_an_error(monkeypatch):
    exact = user_terms.solve_conic
    problem = wine()
    solution = cm.solve(problem, constraints=lambda M: [cp.trace(M) <= 0.5])
    for more, crossed in ((1e-8, False), (1e-3, True)):
        gap = solution.gap + more
        monkeypatch.setattr(user_terms, "solve_conic", lambda program, gap=gap: exact(program) * (1.0 + gap))
        M, dual = solution.certificate.M, solution.certificate.dual
        if crossed:
            with pytest.raises(CrossedBoundsError, match="is above the upper bound"):
                cm.certify(problem, M, dual, constraints=lambda M: [cp.trace(M) <= 0.5])
        else:
            assert 0.0 <= cm.certify(problem, M, dual, constraints=lambda M: [cp.trace(M) <= 0.5]).gap <= 1e-6


def test_a_verdict_on_a_metric_under_constraints():
    problem = wine().subject_to(lambda M: [cp.trace(M) <= 0.5])
    solution = cm.solve(problem)
    assert cm.audit(problem, solution, reference=solution).suboptimality <= 1e-6
    assert not cm.audit(problem, np.eye(5), reference=solution).feasible
    with pytest.raises(InputError, match="without the constraints or terms of this problem"):
        cm.audit(problem, solution, reference=cm.solve(wine()))


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ({"constraints": 3}, "constraints must be a function of the metric's CVXPY variable, got int"),
        ({"constraints": lambda M: 3}, "constraints must return a list of CVXPY constraints, got int"),
        ({"constraints": lambda M: [3]}, "constraints must return CVXPY constraints; item 0 is int"),
        ({"constraints": lambda M: [False]}, "no metric satisfies it"),
        ({"constraints": lambda M: [M[7, 7] == 0]}, "constraints failed on the metric's CVXPY variable"),
        ({"constraints": lambda M: [cp.sum_squares(M) >= 1]}, "constraint 0 is not convex by CVXPY's rules"),
        ({"constraints": lambda M: [cp.trace(M) <= -1]}, "no metric satisfies them all"),
        ({"extra_objective": lambda M: M}, "extra_objective must return a scalar CVXPY expression"),
        ({"extra_objective": lambda M: "large"}, "extra_objective must return a scalar CVXPY expression, got str"),
        ({"extra_objective": lambda M: -cp.sum_squares(M)}, "extra_objective is not convex by CVXPY's rules"),
        ({"extra_objective": lambda M: -2.0 * cp.trace(M)}, "where the penalty is least: bound the metric"),
        ({"extra_objective": lambda M: -200.0 * cp.trace(M)}, "objective falls without end: at 1e.100 times"),
        ({"constraints": lambda M: [cp.trace(M) <= cp.Parameter(name="most")]}, "the CVXPY parameter most"),
    ],
)
def test_malformed_terms(terms, message):
    with pytest.raises(InputError, match=message):
        cm.solve(wine(), **terms)
