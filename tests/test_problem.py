"""What problems promise whatever their blocks are: bounds of risks that may be negative, constants, named errors."""

import warnings
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from catalogue import cases, instance
from samples import random_cut_dual, random_metric

import convexmetric as cm
from convexmetric.audits import read_certificate, read_metric, write_solution
from convexmetric.comparisons import PairDistances, Triplets, triplets_from_labels
from convexmetric.cones import NonnegativeDiagonal, PSDCone
from convexmetric.errors import ContractError, CrossedBoundsError, GapWarning, InputError
from convexmetric.losses import BoxLoss, Hinge, NegativeRoot
from convexmetric.losses.base import Loss
from convexmetric.problem import MetricProblem, as_problem
from convexmetric.regularizers import QuadraticForm, SquaredFrobenius, Trace, Zero
from convexmetric.risks import SeparableRisk, tangent_dual

RNG = np.random.default_rng(0)
Y = np.repeat([0, 1, 2], 8)
X = RNG.standard_normal((24, 3))
TRIPLETS = triplets_from_labels(Y, 40, random_state=0)


def with_loss(loss, regularizer, cone=None, **rest):
    return cm.MetricProblem(SeparableRisk(Triplets(X, TRIPLETS, cone or PSDCone(3)), loss), regularizer, **rest)


def linear_hinges(regularizer, cone=None, **rest):
    """Losses ``1 - s``, as negative as margins are large."""
    return with_loss(BoxLoss.hinge(np.ones(40), np.ones(40), np.ones(40, dtype=bool)), regularizer, cone, **rest)


@pytest.mark.parametrize("regularizer", [SquaredFrobenius(5e-3), SquaredFrobenius(1e-3)], ids=str)
@pytest.mark.parametrize("cone", [PSDCone(3), NonnegativeDiagonal(3)], ids=repr)
def test_a_negative_optimum_is_found(regularizer, cone):
    problem = linear_hinges(regularizer, cone)
    # In closed form: 40 - <S, M> + reg / 2 ||M||^2 is least at [S]_+ / reg.
    S = cone.project(problem.risk.comparisons.adjoint(np.ones(40)))
    optimum = 40.0 - 0.5 * cone.inner(S, S) / regularizer.reg
    assert optimum < 0.0
    solution = cm.solve(problem)
    assert solution.status == "optimal"
    assert solution.lower_bound <= optimum * (1.0 - 1e-14)
    assert solution.upper_bound >= optimum * (1.0 + 1e-14)
    # Multipliers of all ones are the only ones there are: the bound is the optimum.
    assert problem.dual_bound(np.zeros(40)) == pytest.approx(optimum, rel=1e-12)


def test_no_bound_shrinks_a_risk_that_may_be_negative():
    problem = linear_hinges(Trace(1e-9), G=np.eye(3))
    S = problem.risk.comparisons.adjoint(np.ones(40))
    assert np.linalg.eigvalsh(S)[-1] > 1.0
    # More of M along the top eigenvector is always better.
    assert problem.dual_bound(np.ones(40)) == -np.inf
    assert cm.certify(problem, np.eye(3), np.ones(40)).gap == np.inf


@dataclass(frozen=True)
class Slope(Loss):
    """``-s`` where s is below one, else -1: negative, and it does not say so."""

    def values(self, s):
        return np.maximum(-s, -1.0)

    def subgradient(self, s):
        return (s < 1.0).astype(float)

    def clip(self, u):
        return np.clip(u, 0.0, 1.0)

    def dual_values(self, u):
        return u - 1.0

    def statement(self, s):
        import cvxpy as cp

        xi = cp.Variable(s.shape)
        return cp.sum(xi) + 0.0 * cp.sum(cp.pos(xi + 1.0)), xi >= cp.maximum(-s, -1.0)


@pytest.mark.parametrize("unit", [1.0, 1e-30, 1e-41])
def test_a_floor_that_swamps_a_dual_point_makes_no_bound_false(unit):
    """Least at metrics of ``unit^-2``: the floor of the risk is steeper there by many orders of magnitude."""
    cone = NonnegativeDiagonal(1)
    pairs = PairDistances(unit * np.array([[0.0], [1.0], [3.0]]), [[0, 1], [0, 2]], np.ones(2), cone)
    problem = MetricProblem(SeparableRisk(pairs, NegativeRoot(1.0)), Trace(unit**2))
    metrics = unit**-2 * 10.0 ** np.linspace(-80.0, 4.0, 43)[:, None]
    least = min(map(problem.value, metrics))
    for M in metrics:
        point = problem.risk.minorant(tangent_dual(problem.risk, M))
        for hint in (M, metrics[0], metrics[-5]):
            assert problem.bound(point.value, point.S, hint) <= least + 1e-12 * abs(least)


def test_a_loss_that_says_nothing_is_not_taken_for_nonnegative():
    problem = with_loss(Slope(), SquaredFrobenius(0.5))
    assert problem.risk.floor() is None
    solution = cm.solve(problem)
    assert solution.status == "optimal"
    assert solution.upper_bound < 0.0
    assert problem.to_cvxpy().solve() == pytest.approx(solution.upper_bound, rel=1e-5)
    # Half of a dual point says nothing here: it is not what half of the risk is worth.
    half = cm.risks.CutDual(solution.certificate.M[None], np.full((1, 1), 0.5), np.zeros(40, dtype=int))
    whole = cm.risks.CutDual(solution.certificate.M[None], np.ones((1, 1)), np.zeros(40, dtype=int))
    assert problem.dual_bound(half) == pytest.approx(problem.dual_bound(whole), rel=1e-12)
    assert problem.dual_bound(half) <= solution.upper_bound
    nothing = cm.risks.CutDual(solution.certificate.M[None], np.zeros((1, 1)), np.zeros(40, dtype=int))
    assert problem.dual_bound(nothing) == -np.inf


def test_the_warning_says_what_a_risk_does_not_say():
    problem = with_loss(Slope(), Trace(1e-9), G=np.eye(3))
    with pytest.warns(GapWarning, match="loss Slope does not say that it is nonnegative"):
        solution = cm.solve(problem, max_iter=5)
    assert solution.status != "optimal"


@pytest.mark.parametrize("constant", [-3.0, 1e3])
@pytest.mark.parametrize(
    "name", ["ranking from labels", "triplets, labels", "relative, rbf, soft", "psd logistic, trace"]
)
def test_a_constant_moves_the_optimum_and_nothing_else(name, constant):
    plain = instance(name)
    moved = cm.MetricProblem(plain.risk, plain.regularizer, G=plain.G, constant=constant)
    M = random_metric(RNG, plain.cone)
    assert moved.objective(M) == pytest.approx(plain.objective(M) + constant)
    before = cm.solve(plain, tol=1e-7)
    after = cm.solve(moved, tol=1e-7)
    assert after.status == "optimal"
    assert after.history[-1].lower_bound == pytest.approx(after.lower_bound, rel=1e-7)
    scale = abs(constant) + before.upper_bound
    assert after.upper_bound == pytest.approx(before.upper_bound + constant, abs=1e-6 * scale)
    assert after.lower_bound == pytest.approx(before.lower_bound + constant, abs=1e-6 * scale)
    assert moved.fingerprint() != plain.fingerprint()


def test_a_problem_of_blocks_says_what_it_is_made_of():
    text = str(linear_hinges(Trace(0.5), G=np.eye(3), constant=-2.0))
    assert text.startswith("Minimise R(M) + <G, M> + 0.5 tr(M) - 2\n")
    assert "M  in PSDCone(3)" in text
    assert "R  SeparableRisk of Triplets with the loss BoxLoss, 40 parts" in text


@pytest.mark.parametrize("constant", [np.nan, np.inf, "1", True, None])
def test_a_constant_is_a_finite_number(constant):
    listed = instance("psd triplets, trace")
    with pytest.raises(InputError, match="constant must be a finite number"):
        cm.MetricProblem(listed.risk, listed.regularizer, constant=constant)


def test_constants_are_in_the_statement_and_with_terms_of_ones_own():
    listed = instance("psd triplets, trace")
    moved = cm.MetricProblem(listed.risk, listed.regularizer, constant=5.0)
    solution = cm.solve(moved)
    assert moved.to_cvxpy().solve(solver="CLARABEL") == pytest.approx(solution.upper_bound, rel=1e-6)
    bounded = cm.solve(moved, tol=1e-5, extra_objective=lambda M: 0.0)
    assert bounded.upper_bound == pytest.approx(solution.upper_bound, rel=1e-4)
    assert bounded.status == "optimal"


@pytest.mark.parametrize("offset", [1e6, 1e8])
@pytest.mark.parametrize("make", [cm.RankingProblem.from_labels, cm.TripletProblem.from_labels, cm.LargeMarginProblem])
def test_offsets_do_not_move_bounds(make, offset):
    # Multiples of 2^-20, so that the translated points are floats and the problem is the same one.
    points = np.round(X * 2.0**20) / 2.0**20
    near, far = cm.solve(make(points, Y)), cm.solve(make(points + offset, Y))
    assert far.status == near.status == "optimal"
    assert near.lower_bound <= far.upper_bound
    assert far.lower_bound <= near.upper_bound


def test_a_translated_ranking_is_proven_to_be_bounded(tmp_path):
    """The lower bound of points with a large offset is below the proven optimum of the same points without."""
    problem = cm.RankingProblem.from_labels(X + 1e6, Y, C=50.0)
    solution = cm.solve(problem)
    exact = cm.RankingProblem.from_labels((X + 1e6) - 1e6, Y, C=50.0)
    verdict = cm.write_certificate(tmp_path / "twin.npz", exact, solution=cm.solve(exact, tol=1e-8))
    assert Fraction(solution.lower_bound) <= verdict.upper
    assert Fraction(solution.upper_bound) >= verdict.lower
    assert solution.status == "optimal"


class Generous(Hinge):
    """A hinge whose dual values are too good."""

    def dual_values(self, u):
        return 2.0 * super().dual_values(u)


def test_crossed_bounds_are_an_error_that_names_causes():
    with pytest.raises(CrossedBoundsError, match=r"is above the upper bound .*check_problem tells which"):
        cm.solve(with_loss(Generous(1.0), SquaredFrobenius(0.1)), solver="cutting-planes")


class Broken(Hinge):
    """A hinge that forgets to be a number."""

    def values(self, s):
        return np.full_like(s, np.nan)

    def subgradient(self, s):
        return np.full_like(s, np.nan)


class Empty(SquaredFrobenius):
    def value(self, M, cone):
        return np.nan


def test_blocks_that_return_no_number_are_named():
    with pytest.raises(ContractError, match="Triplets with the loss Broken returned NaN at the metric zero"):
        cm.solve(with_loss(Broken(1.0), SquaredFrobenius(0.1)), solver="cutting-planes")
    with pytest.raises(ContractError, match="Empty returned NaN at the metric zero"):
        cm.solve(with_loss(Hinge(1.0), Empty(0.1)), solver="cutting-planes")


def test_an_optimum_of_zero_needs_atol():
    """Weights of which only a sum is penalised, and that can keep all margins at no cost."""
    points = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    problem = cm.MetricProblem(
        SeparableRisk(Triplets(points, [[0, 1, 2]], NonnegativeDiagonal(2)), Hinge(1.0)),
        QuadraticForm(np.array([[0.0, 0.0], [0.0, 1.0]])),
    )
    with pytest.warns(GapWarning, match="the optimum may be zero, which has no relative gap: give atol"):
        without = cm.solve(problem, max_iter=50)
    assert without.status != "optimal"
    for solver in (None, "cutting-planes"):
        solution = cm.solve(problem, solver=solver, atol=1e-8, max_iter=50)
        assert solution.status == "optimal"
        assert solution.lower_bound == 0.0
        assert solution.upper_bound <= solution.atol == 1e-8


@pytest.mark.parametrize("atol", [-1.0, np.nan, np.inf, "0", None, True])
def test_atol_is_a_nonnegative_number(atol):
    with pytest.raises(InputError, match="atol must be an absolute gap"):
        cm.solve(instance("psd triplets, trace"), atol=atol)


def test_an_optimum_of_zero_at_the_metric_zero_is_found():
    """Distances that should all be equal: they are where they are all zero."""
    problem = with_loss(BoxLoss.absolute_error(np.ones(40), np.zeros(40)), Trace(1.0))
    solution = cm.solve(problem, solver="cutting-planes")
    assert solution.status == "optimal"
    assert (solution.lower_bound, solution.upper_bound) == (0.0, 0.0)


@pytest.mark.parametrize("name", cases())
def test_the_objective_of_the_metric_that_users_have_is_the_upper_bound(name):
    problem = instance(name)
    solution = cm.solve(problem, tol=1e-4)
    given = [solution.M, *([solution.w] if problem.cone.diagonal else [])]
    for metric in given:
        if name in ("relative, A, soft", "relative, A, hard") and metric.ndim == 2:
            with pytest.raises(InputError, match=r"with A, pass the .* weights w \(Solution.w\)"):
                problem.objective(metric)
            continue
        value = problem.objective(metric)
        if np.isinf(value):
            # A margin that is met with nothing to spare is violated by rounding.
            assert np.isfinite(problem.objective((1.0 + 1e-12) * metric))
        else:
            assert value == pytest.approx(solution.upper_bound, rel=1e-7)


def test_a_metric_off_the_span_is_refused_with_its_part_on_it():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((6, 9)), np.arange(6) % 2
    problem = cm.RankingProblem.from_labels(X, y, kernel="linear")
    with pytest.raises(InputError, match=r"pass problem.full_matrix\(problem.nearest\(W\)\)"):
        problem.objective(np.eye(9))
    part = problem.full_matrix(problem.nearest(np.eye(9)))
    assert problem.objective(part) == pytest.approx(problem.value(problem.nearest(np.eye(9))), rel=1e-10)
    # As many coordinates as features: they are others all the same.
    X, y = rng.standard_normal((12, 3)), np.arange(12) % 2
    problem, plain = (cm.RankingProblem.from_labels(X, y, C=5.0, kernel=kernel) for kernel in ("linear", None))
    assert problem.cone.d == plain.cone.d == 3
    M = np.diag([1.0, 2.0, 3.0])
    assert problem.objective(M) == pytest.approx(plain.objective(M), rel=1e-10)
    assert problem.value(M) != pytest.approx(plain.value(M), rel=1e-3)


def test_a_metric_off_the_projection_is_refused():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((12, 4)), np.arange(12) % 2
    for diagonal in (False, True):
        projection = cm.features.make_projection("gaussian", X, 2, random_state=rng)
        problem = cm.TripletProblem.from_labels(X, y, n_same=1, n_other=1, projection=projection, diagonal=diagonal)
        with pytest.raises(InputError, match=r"must have the form L.T @ R @ L .* pass R"):
            problem.objective(np.eye(4))
        R = np.diag([1.0, 2.0])
        assert problem.objective(projection.L.T @ R @ projection.L) == pytest.approx(problem.objective(R), rel=1e-10)
    skew = projection.L.T @ np.array([[1.0, 0.5], [0.5, 1.0]]) @ projection.L
    with pytest.raises(InputError, match="weights if it is diagonal"):
        problem.objective(skew)


@pytest.mark.parametrize("name", cases())
def test_problems_say_in_a_line_what_they_are(name):
    problem = instance(name)
    text = repr(problem)
    assert text.startswith(f"<{type(problem).__name__}: {problem.risk.parts} ")
    assert repr(problem.cone) in text
    assert " at 0x" not in text
    assert "\n" not in text


def test_solutions_and_audits_are_concise_in_notebooks():
    problem = instance("ranking from labels")
    solution = cm.solve(problem)
    assert repr(solution) == (
        f"<Solution: optimal by {solution.solver}, objective {solution.upper_bound:.6g}, "
        f"certified gap {solution.gap:.1e}>"
    )
    html = solution._repr_html_()
    assert f"{solution.lower_bound:.10g}" in html
    assert "certified optimum &gt;=" in html
    audit = cm.audit(problem, 2.0 * solution.M, reference=solution, worst=2)
    assert repr(audit) == f"<Audit: {audit.verdict}>"
    html = audit._repr_html_()
    assert audit.verdict in html
    assert all(part.comparison in html for part in audit.worst)


def test_numbers_in_statements_have_six_digits():
    text = SquaredFrobenius(2.0 * 4.99877074913881).text("R")
    assert text == "4.99877 ||R||_F^2"
    assert SquaredFrobenius(1e-3).text("R") == "0.0005 ||R||_F^2"


def test_a_gap_below_zero_is_shown_as_zero():
    certificate = cm.Certificate(1.0 - 1e-15, 1.0, np.eye(2), None, "conic")
    assert certificate.gap < 0.0
    assert "relative gap 0.0e+00" in str(certificate)


@pytest.mark.parametrize("kind", ["span", "projection"])
def test_files_of_as_many_coordinates_as_features_are_of_the_features(kind, tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((12, 3)), np.arange(12) % 2
    if kind == "span":
        problem = cm.RankingProblem.from_labels(X, y, C=5.0, kernel="linear")
    else:
        problem = cm.TripletProblem.from_labels(
            X, y, n_same=1, n_other=1, projection=cm.features.make_projection("gaussian", X, 3, random_state=rng)
        )
    solution = cm.solve(problem)
    assert problem.objective(solution.M) == pytest.approx(solution.upper_bound, rel=1e-7)
    path = write_solution(tmp_path / "metric.npz", solution)
    np.testing.assert_array_equal(read_metric(path), solution.M)
    assert cm.audit(problem, read_metric(path), reference=solution).suboptimality <= 2e-6
    assert read_certificate(path, problem).gap == pytest.approx(solution.gap, abs=1e-9)
    with warnings.catch_warnings(action="ignore", category=GapWarning):
        again = cm.solve(problem, start=solution, max_iter=1)
    assert again.upper_bound <= solution.upper_bound * (1.0 + 1e-7)


def test_a_name_stands_for_its_problem_wherever_one_is_taken(tmp_path):
    name, M = "relative-wine-1000", np.ones(13)
    known = cm.bench.load_instance(name)
    problem = known.problem()
    assert as_problem(problem) is problem
    assert as_problem(name).fingerprint() == as_problem(known).fingerprint() == problem.fingerprint()
    solution = cm.solve(name, tol=1e-4)
    assert cm.solve(known, tol=1e-4).upper_bound == solution.upper_bound <= known.upper_bound * (1.0 + 1e-4)
    dual = solution.certificate.dual
    assert cm.certify(name, M, dual).lower_bound == cm.certify(problem, M, dual).lower_bound
    assert cm.explain(known, measure=False).chosen == cm.explain(problem, measure=False).chosen
    path = tmp_path / "proof.npz"
    proven = cm.write_certificate(path, name, solution=solution)
    assert proven.lower <= known.exact_upper
    verdict, deviation = cm.certificates.verify_instance(path, known)
    assert (verdict.lower, deviation) == (proven.lower, 0.0)
    write_solution(tmp_path / "solution.npz", solution)
    assert read_certificate(tmp_path / "solution.npz", name).lower_bound == solution.lower_bound
    path = cm.solve_path("ranking-auc-wine-c1", C=[1.0], tol=1e-3)
    assert path[0].lower_bound <= cm.bench.load_instance("ranking-auc-wine-c1").exact_upper


@pytest.mark.parametrize("given", [None, np.eye(3), cm.MLR(), MetricProblem, {"problem": 1}])
def test_nothing_else_is_a_problem(given):
    with pytest.raises(InputError, match="problem must be a MetricProblem, an Instance or the name of one, got"):
        as_problem(given)


def test_the_name_of_no_instance_gets_the_close_ones():
    with pytest.raises(
        InputError, match="there is no problem named 'relative-wine-100'; did you mean 'relative-wine-1000'"
    ):
        cm.solve("relative-wine-100")


@pytest.mark.parametrize(
    "name",
    ["hinge, l1, full", "hinge, distance, full", "hinge, l1 and log det, blocks", "psd triplets under terms", "zero"],
)
def test_a_bound_is_that_of_its_dual_point_whatever_was_asked_before(name):
    """Bounds and certificates of two dual points, in both orders, on a problem each."""

    def made():
        problem = instance("psd logistic, trace" if name == "zero" else name)
        return cm.MetricProblem(problem.risk, Zero()) if name == "zero" else problem

    rng, problem = np.random.default_rng(0), made()
    solution = cm.solve(problem, tol=1e-3)
    M, dual = solution.certificate.M, solution.certificate.dual
    points = [(M, dual), (1.1 * M, 0.9 * dual if isinstance(dual, np.ndarray) else random_cut_dual(rng, problem))]
    found = []
    for order in (points, points[::-1]):
        asked = made()
        each = [(asked.dual_bound(u, hint=N), cm.certify(asked, N, u).upper_bound) for N, u in order]
        found.append(each if order is points else each[::-1])
    assert found[0] == found[1]
    assert problem.dual_bound(dual, hint=M) == found[0][0][0]
