"""Audits: how far anybody's metric is from optimal, and what is wrong with it."""

import re
from unittest.mock import patch

import cvxpy as cp
import numpy as np
import pytest
from catalogue import cases, conic, instance
from samples import as_given, random_metric
from sklearn.neighbors import NeighborhoodComponentsAnalysis

import convexmetric as cm
from convexmetric.audits.verdict import Reference, reference_of
from convexmetric.errors import InputError


@pytest.fixture(scope="module")
def wine():
    data = cm.datasets.load("wine")
    X = cm.datasets.preprocess(data.X, ["zscore"])
    problem = cm.RankingProblem.from_labels(X, data.y, measure="auc", C=100.0)
    return problem, cm.solve(problem)


@pytest.mark.parametrize("name", cases("method"))
def test_an_audit_agrees_with_the_true_distance(name):
    problem, optimum = conic(name)[:2]
    M = problem.risk.repair(random_metric(np.random.default_rng(0), problem.cone))
    given = as_given(problem, M)
    audit, M = cm.audit(problem, given), problem.from_features(given)
    assert audit.objective == problem.value(M) == pytest.approx(audit.projected_objective, rel=1e-12)
    assert audit.lower_bound == pytest.approx(optimum, rel=2e-6)
    assert audit.lower_bound <= optimum * (1 + 1e-7)
    assert audit.min_eigenvalue == problem.cone.smallest(M)
    assert audit.verdict in str(audit)
    if np.isfinite(audit.objective):
        assert audit.suboptimality == pytest.approx((audit.objective - optimum) / audit.objective, abs=2e-6)
        assert audit.feasible
        assert audit.risk + audit.penalty == pytest.approx(audit.objective, rel=1e-12)
        assert audit.scale.objective <= audit.objective * (1 + 1e-12)
        assert optimum * (1 - 1e-7) <= audit.scale.objective
        assert 0.0 <= audit.scale.share <= 1.0
    assert 0.0 <= audit.subspace.captured <= 1.0 + 1e-12


def test_the_optimum_is_found_to_be_optimal():
    problem = instance("ranking from labels")
    solution = cm.solve(problem)
    bound = Reference(solution.lower_bound, solution.upper_bound)
    for reference in (
        solution,
        solution.certificate,
        solution.lower_bound,
        np.float32(solution.lower_bound),
        bound,
        None,
    ):
        audit = cm.audit(problem, solution.M, reference=reference)
        assert abs(audit.suboptimality) <= 1e-6 + (1e-6 if isinstance(reference, np.float32) else 0.0)
        assert audit.feasible
    assert "suboptimality <=     " in str(audit)
    assert "NOT" not in str(audit)
    audit = cm.audit(problem, solution, reference=solution)
    assert audit.verdict == "Optimal."
    assert audit.scale.best == pytest.approx(1.0, rel=1e-2)
    assert audit.subspace.rank == audit.subspace.reference_rank == solution.rank
    assert audit.subspace.angles.max() <= 1e-6
    assert audit.subspace.captured == pytest.approx(1.0, abs=1e-5)
    assert audit.worst == ()


@pytest.mark.parametrize("name", cases(without=("hard", "barrier")))
def test_three_times_the_optimum_is_wrong_in_scale_alone(name):
    problem = instance(name)
    solution = cm.solve(problem)
    if problem.cone.trace(solution.certificate.M) < 1e-3:
        pytest.skip("the optimum is zero, of which every multiple is the same")
    audit = cm.audit(problem, 3.0 * as_given(problem, solution.certificate.M), reference=solution)
    assert audit.suboptimality > 1e-4
    assert audit.scale.share >= 1.0 - 1e-4 / audit.suboptimality
    assert problem.value(audit.scale.best * audit.M) == pytest.approx(solution.upper_bound, rel=3e-6)
    if problem.cone.free:
        assert audit.subspace is None
    else:
        assert audit.subspace.angles.max() <= 1e-5
    assert "is scale: multiply by 0." in audit.verdict


def test_the_reference_is_compared_part_by_part(wine):
    problem, solution = wine
    M = problem.cone.identity()
    audit = cm.audit(problem, M, reference=solution, worst=5)
    here, there = problem.risk.part_values(M), problem.risk.part_values(solution.certificate.M)
    assert [part.part for part in audit.worst] == list(np.argsort(there - here, kind="stable")[:5])
    for part in audit.worst:
        assert part.kind == "query"
        assert (part.loss, part.reference_loss) == (here[part.part], there[part.part])
        query, near, far = part.rows
        relevant, irrelevant = problem.rankings.relevance.of(query)
        assert query == part.part
        assert near in relevant
        assert far in irrelevant
        assert part.comparison == f"{query} nearer to {near} than to {far}"
        assert part.comparison in str(audit)
    assert len(cm.audit(problem, M, reference=solution).worst) == 10
    assert cm.audit(problem, M, reference=solution, worst=0).worst == ()
    # Without a reference metric the largest losses.
    alone = cm.audit(problem, M, reference=solution.lower_bound, worst=3)
    assert [part.part for part in alone.worst] == list(np.argsort(-here, kind="stable")[:3])
    assert alone.subspace is None
    assert all(part.reference_loss == 0.0 for part in alone.worst)


def test_a_metric_without_two_of_its_directions_lacks_them(wine):
    problem, solution = wine
    values, vectors = np.linalg.eigh(solution.M)
    M = (vectors[:, -1:] * values[-1:]) @ vectors[:, -1:].T
    audit = cm.audit(problem, M, reference=solution)
    assert audit.subspace.rank == 1
    assert audit.subspace.angles == pytest.approx([0.0], abs=1e-4)
    assert audit.subspace.captured == pytest.approx(values[-1] / values.sum())
    assert f"holds {100 * audit.subspace.captured:.3g}% of the trace of the reference" in audit.verdict


def test_a_metric_outside_the_cone_is_compared_by_its_projection():
    problem, optimum = conic("ranking from labels")[:2]
    statement = problem.statement()
    # Without the cone there are better objectives than the optimum; they are no feat.
    loose = [c for c in statement.problem.constraints if not isinstance(c, cp.constraints.PSD)]
    assert len(loose) == len(statement.problem.constraints) - 1
    cp.Problem(statement.problem.objective, loose).solve(solver=cp.CLARABEL)
    M = np.asarray(statement.metric.value)
    audit = cm.audit(problem, M)
    assert not audit.feasible
    assert audit.min_eigenvalue < -0.01
    assert audit.objective == problem.value(M) < 0.99 * optimum
    assert audit.projected_objective == pytest.approx(problem.value(problem.cone.project(M)), rel=1e-13)
    assert audit.projected_objective > optimum
    assert 0.0 < audit.suboptimality < 1.0
    np.testing.assert_array_equal(audit.M, problem.cone.project(M))
    assert "NOT feasible" in str(audit)
    assert "objective, projected" in str(audit)
    assert audit.verdict.startswith("Not positive semidefinite; its projection costs 1.")


def test_an_eigenvalue_negative_by_rounding_is_feasible():
    problem = instance("ranking from labels")
    assert cm.audit(problem, np.diag([1.0, 1.0, -1e-12]), reference=0.1).feasible
    assert not cm.audit(problem, np.diag([1.0, 1.0, -1e-6]), reference=0.1).feasible
    assert cm.audit(problem, np.zeros((3, 3)), reference=0.1).feasible


def test_a_violated_hard_margin_is_infinitely_far():
    problem = instance("relative, identity, hard")
    audit = cm.audit(problem, np.zeros(problem.cone.d))
    assert audit.objective == np.inf
    assert audit.suboptimality == np.inf
    assert not audit.feasible
    assert not audit.hard_margins
    assert "Violates hard margins, and so does every multiple of it" in audit.verdict
    assert all(part.kind == "triplet" and part.loss == np.inf for part in audit.worst)


def test_a_multiple_that_meets_the_hard_margins_is_named():
    problem = instance("relative, identity, hard")
    solution = cm.solve(problem)
    audit = cm.audit(problem, 0.5 * solution.w, reference=solution)
    assert audit.suboptimality == np.inf
    assert audit.scale.best == pytest.approx(2.0, rel=1e-3)
    assert audit.scale.objective == pytest.approx(solution.upper_bound, rel=1e-3)
    assert audit.scale.share == 1.0
    assert "Violates hard margins; 2 times it meets them and " in audit.verdict


def test_the_reference_s_own_gap_is_told(wine):
    problem, solution = wine
    loose = cm.certify(problem, 1.2 * solution.M, solution.certificate.dual)
    audit = cm.audit(problem, 1.1 * solution.M, reference=loose)
    assert audit.reference_gap == loose.gap > 1e-4
    assert " to " in audit.verdict.split(" times the optimum")[0]


@pytest.mark.parametrize("ratio", [1.00016, 1.05, 1.9, 2.0, 2.5, 31.2, 3120.0])
def test_all_ratios_have_one_wording(wine, ratio):
    problem, _ = wine
    M = problem.cone.identity()
    value = problem.value(M)
    words = cm.audit(problem, M, reference=Reference(value / ratio, value / ratio, M)).verdict
    times, above = re.match(r"Costs ([\d.]+) times the optimum \(([\d.,]+)% above it\);", words).groups()
    assert float(times) == pytest.approx(ratio, rel=4e-3)
    assert float(times) - 1.0 == pytest.approx(ratio - 1.0, rel=0.05)
    assert float(above.replace(",", "")) == pytest.approx(100.0 * (ratio - 1.0), rel=0.05)
    assert cm.audit(problem, M, reference=value / ratio).verdict.startswith(
        f"Costs at most {times} times the optimum ("
    )


def test_the_range_of_a_ratio_is_certified(wine):
    problem, _ = wine
    M = problem.cone.identity()
    value = problem.value(M)
    audit = cm.audit(problem, M, reference=Reference(value / 2.0, value / 1.25, M))
    assert audit.verdict.startswith("Costs 1.25 to 2.00 times the optimum (25% to 100% above it);")
    # The reference may cost more than the metric: then the metric may be the optimum.
    audit = cm.audit(problem, M, reference=Reference(value / 2.0, value * 1.25, M))
    assert audit.verdict.startswith("Costs 1.00 to 2.00 times the optimum (0% to 100% above it);")
    # No ratio means anything beside an optimum that may be zero.
    audit = cm.audit(problem, M, reference=Reference(0.0, value, M))
    assert audit.verdict.startswith(f"Costs at most {value:.3g} more than the optimum;")


@pytest.mark.parametrize("name", ["triplets, labels", "ranking from labels", "relative, identity, soft"])
def test_parts_are_called_what_the_risk_calls_them(name):
    problem = instance(name)
    kinds = {"triplets, labels": "anchor", "ranking from labels": "query", "relative, identity, soft": "triplet"}
    assert problem.risk.part_kind == kinds[name]
    # At the metric zero every comparison costs its margin.
    worst = cm.audit(problem, problem.cone.zeros(), reference=1e-9).worst
    assert worst
    assert {part.name for part in worst} == {f"{kinds[name]} {part.part}" for part in worst}


def test_weights_may_come_as_a_diagonal_matrix():
    for problem in (
        instance("relative, identity, soft"),
        cm.RelativeComparisonProblem([[0.0], [1.0], [3.0]], [[0, 1, 2]]),
    ):
        solution = cm.solve(problem)
        np.testing.assert_array_equal(solution.M, np.diag(solution.w))
        assert str(cm.audit(problem, solution.M, reference=solution)) == str(
            cm.audit(problem, solution.w, reference=solution)
        )


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        (np.nan, "reference must give a finite lower bound, got nan"),
        (-np.inf, "reference must give a finite lower bound"),
        ("optimum", "there is no problem named 'optimum'"),
        ([1.0, 2.0], "reference must be a Solution"),
        (cm.Certificate(1.0, -np.inf, np.eye(3), None), "finite lower bound"),
        (Reference(-np.inf), "finite lower bound"),
        (cm.Certificate(1.0, 0.5, np.eye(3), None, "conic"), "reference was solved with constraints or terms"),
        (cm.Certificate(1.0, 0.5, np.eye(4), None), r"reference must belong to this problem: .* shape \(4, 4\)"),
    ],
)
def test_references_that_prove_nothing(reference, message):
    with pytest.raises(InputError, match=message):
        cm.audit(instance("ranking from labels"), np.eye(3), reference=reference)
    with pytest.raises(InputError, match="problem must be a MetricProblem"):
        cm.audit(np.eye(3), np.eye(3))


@pytest.mark.parametrize("worst", [-1, 2.5, "ten", True, None])
def test_the_number_of_parts_must_be_one(worst):
    with pytest.raises(InputError, match="worst must be a number of parts"):
        cm.audit(instance("ranking from labels"), np.eye(3), reference=0.1, worst=worst)


def test_a_solve_is_a_reference():
    problem, optimum = conic("ranking from labels")[:2]
    reference = reference_of(problem, None)
    assert reference.lower_bound <= optimum <= reference.upper_bound * (1 + 1e-7)
    assert reference.gap <= 1e-6
    assert problem.value(reference.M) == pytest.approx(reference.upper_bound, rel=1e-10)


def test_the_best_iterate_of_a_callable_is_judged(wine):
    problem, solved = wine

    def solver(given):
        assert given is problem
        M = np.eye(given.cone.d)
        for factor in (1.0, 0.0, 3.0):
            M[:] = solved.M if factor == 0.0 else factor * np.eye(len(M))
            yield M

    expected = cm.audit(problem, solved, reference=solved)
    for given in (solver, lambda p: [np.eye(p.cone.d), solved.M], lambda _: solved.M, lambda _: solved):
        assert cm.audit(problem, given, reference=solved).suboptimality == expected.suboptimality


class OthersMetric:
    """An estimator as metric-learn has them: ``fit``, ``components_`` and nothing else of ours."""

    def fit(self, X, y):
        self.components_ = np.array([[1.0, 0.5, 0.0, 0.0], [0.0, 0.0, 2.0, 0.1]])
        return self


def test_estimators_are_audited_by_their_components():
    iris = cm.datasets.load("iris")
    problem = cm.RankingProblem.from_labels(iris.X, iris.y, measure="auc", C=10.0)
    solution = cm.solve(problem, tol=1e-4)
    nca = NeighborhoodComponentsAnalysis(max_iter=5, random_state=0)
    for estimator in (OthersMetric(), nca, cm.LargeMargin(tol=1e-3), cm.LargeMargin(diagonal=True, tol=1e-3)):
        with pytest.raises(InputError, match=f"M: this {type(estimator).__name__} has no components_"):
            cm.audit(problem, estimator, reference=solution)
        L = estimator.fit(iris.X, iris.y).components_
        assert cm.audit(problem, estimator, reference=solution).objective == pytest.approx(
            problem.value(L.T @ L), rel=1e-12
        )
    searched = cm.WeightSearch(cm.MLR(tol=1e-2), values=[1.0], cv=2).fit(iris.X, iris.y)
    of_its_own = cm.audit(searched.estimator_.solution_.problem, searched, reference=searched)
    assert of_its_own.suboptimality == pytest.approx(searched.estimator_.gap_, rel=1e-6)
    with pytest.raises(InputError, match="reference: this NeighborhoodComponentsAnalysis has no solution_"):
        cm.audit(problem, solution, reference=nca)


def test_a_metric_is_asked_for_where_there_are_no_components():
    class Full:
        def get_mahalanobis_matrix(self):
            return np.diag([1.0, 2.0, 3.0])

    problem = instance("ranking from labels")
    assert cm.audit(problem, Full(), reference=0.1) == cm.audit(problem, np.diag([1.0, 2.0, 3.0]), reference=0.1)


LMNN = "large-margin-wine"


def test_an_instance_is_problem_and_reference():
    known = cm.bench.load_instance(LMNN)
    problem, M = known.problem(), np.eye(13)
    lower, upper = known.proven
    # A proven bound is a rational, which a float next to it does not exceed.
    assert lower <= known.exact_lower <= known.exact_upper <= upper
    assert np.nextafter(lower, np.inf) > known.exact_lower
    expected = cm.audit(problem, M, reference=Reference(lower, upper, grade="rigorous"))
    with patch("convexmetric.audits.verdict.solve", side_effect=AssertionError("nothing is solved")):
        for found in (
            cm.audit(LMNN, M),
            cm.audit(known, M),
            cm.audit(problem, M, reference=LMNN),
            cm.audit(known, M, reference=LMNN),
            cm.audit(M=M, reference=known),
        ):
            assert found == expected
    assert (expected.lower_bound, expected.grade) == (lower, "rigorous")
    assert cm.audit(known, M, reference=1.0).grade == "given"
    assert cm.audit("ranking-auc-wine-c1", M, reference=cm.solve("ranking-auc-wine-c1")).grade == "float"


def test_bounds_of_another_problem_are_refused():
    wine = cm.bench.load_instance("ranking-auc-wine-c1")
    same = wine.problem().with_C(1.0)
    assert cm.audit(same, np.eye(13), reference=wine).lower_bound == wine.proven[0]
    # One bit of the data, one weight, and another measure of the same shape and number of parts.
    moved = cm.datasets.preprocess(cm.datasets.load("wine").X, ["zscore"])
    y = cm.datasets.load("wine").y
    assert cm.audit(cm.RankingProblem.from_labels(moved, y, measure="auc", C=1.0), np.eye(13), reference=wine)
    moved[5, 3] = np.nextafter(moved[5, 3], 9.0)
    others = [
        cm.RankingProblem.from_labels(moved, y, measure="auc", C=1.0),
        wine.problem().with_C(1.0 + 1e-15),
        wine.problem().subject_to(lambda W: [cp.trace(W) <= 1e9]),
        "ranking-map-wine-c1",
        LMNN,
    ]
    for other in others:
        with pytest.raises(InputError, match=r"reference 'ranking-auc-wine-c1' is about another problem than "):
            cm.audit(other, np.eye(13), reference=wine)


def test_what_is_missing_is_named():
    with pytest.raises(InputError, match="M is missing"):
        cm.audit(LMNN)
    with pytest.raises(InputError, match="problem is missing: pass one, or an instance"):
        cm.audit(M=np.eye(13), reference=1.0)


def test_a_solution_of_another_problem_is_audited_on_the_features():
    iris = cm.datasets.load("iris")
    problem = cm.RankingProblem.from_labels(iris.X, iris.y, measure="auc", C=10.0)
    other = cm.solve(cm.LargeMarginProblem(iris.X, iris.y), tol=1e-3)
    audited = cm.audit(problem, other, reference=0.0)
    assert audited.objective == pytest.approx(problem.value(other.M), rel=1e-9)
    assert audited.objective != pytest.approx(problem.value(other.certificate.M), rel=0.1)
    weights = cm.LargeMarginProblem(iris.X, iris.y, diagonal=True)
    with pytest.raises(InputError, match="M is of another problem: it is a full matrix"):
        cm.audit(weights, other, reference=0.0)
