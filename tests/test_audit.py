"""Audits: how far anybody's metric is from optimal."""

import cvxpy as cp
import numpy as np
import pytest
from samples import METHODS, instance, instance_with_optimum, random_metric

import convexmetric as cm
from convexmetric.errors import InputError


@pytest.mark.parametrize("name", sorted(METHODS))
def test_an_audit_agrees_with_the_true_distance(name):
    problem, optimum = instance_with_optimum(name)
    M = problem.risk.repair(random_metric(np.random.default_rng(0), problem.cone))
    given = problem.full_matrix(M) if problem.in_other_coordinates else M
    audit, M = cm.audit(problem, given), problem.from_features(given)
    assert audit.objective == audit.projected_objective == problem.objective(M)
    assert audit.lower_bound == pytest.approx(optimum, rel=2e-6)
    assert audit.lower_bound <= optimum * (1 + 1e-7)
    if np.isfinite(audit.objective):
        assert audit.suboptimality == pytest.approx((audit.objective - optimum) / audit.objective, abs=2e-6)
        assert audit.feasible
    assert audit.min_eigenvalue == problem.cone.smallest(M)


def test_the_optimum_is_found_to_be_optimal():
    problem = instance("ranking from labels")
    solution = cm.solve(problem)
    for reference in (solution, solution.certificate, solution.lower_bound, np.float32(solution.lower_bound), None):
        audit = cm.audit(problem, solution.M, reference)
        assert abs(audit.suboptimality) <= 1e-6 + (1e-6 if isinstance(reference, np.float32) else 0.0)
        assert audit.feasible
    assert "suboptimality     <= " in str(audit)
    assert "NOT" not in str(audit)


def test_a_metric_outside_the_cone_is_compared_by_its_projection():
    problem, optimum = instance_with_optimum("ranking from labels")
    statement = problem.statement()
    # Without the cone there are better objectives than the optimum; they are no feat.
    loose = [c for c in statement.problem.constraints if not isinstance(c, cp.constraints.PSD)]
    assert len(loose) == len(statement.problem.constraints) - 1
    cp.Problem(statement.problem.objective, loose).solve(solver=cp.CLARABEL)
    M = np.asarray(statement.metric.value)
    audit = cm.audit(problem, M)
    assert not audit.feasible
    assert audit.min_eigenvalue < -0.01
    assert audit.objective == problem.objective(M) < 0.99 * optimum
    assert audit.projected_objective == problem.objective(problem.cone.project(M)) > optimum
    assert 0.0 < audit.suboptimality < 1.0
    assert "NOT feasible" in str(audit)
    assert "projected objective" in str(audit)


def test_an_eigenvalue_negative_by_rounding_is_feasible():
    problem = instance("ranking from labels")
    assert cm.audit(problem, np.diag([1.0, 1.0, -1e-12]), 0.1).feasible
    assert not cm.audit(problem, np.diag([1.0, 1.0, -1e-6]), 0.1).feasible
    assert cm.audit(problem, np.zeros((3, 3)), 0.1).feasible


def test_a_violated_hard_margin_is_infinitely_far():
    problem = instance("relative, identity, hard")
    audit = cm.audit(problem, np.zeros(problem.cone.d))
    assert audit.objective == np.inf
    assert audit.suboptimality == np.inf
    assert not audit.feasible


def test_weights_may_come_as_a_diagonal_matrix():
    for problem in (
        instance("relative, identity, soft"),
        cm.RelativeComparisonProblem([[0.0], [1.0], [3.0]], [[0, 1, 2]]),
    ):
        solution = cm.solve(problem)
        np.testing.assert_array_equal(solution.M, np.diag(solution.w))
        assert cm.audit(problem, solution.M, solution) == cm.audit(problem, solution.w, solution)


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        (np.nan, "reference must give a finite lower bound, got nan"),
        (-np.inf, "reference must give a finite lower bound"),
        ("optimum", "reference must be a Solution, a Certificate or a lower bound, got str"),
        ([1.0, 2.0], "reference must be a Solution"),
        (cm.Certificate(1.0, -np.inf, np.eye(3), None), "finite lower bound"),
    ],
)
def test_references_that_prove_nothing(reference, message):
    with pytest.raises(InputError, match=message):
        cm.audit(instance("ranking from labels"), np.eye(3), reference)
    with pytest.raises(InputError, match="problem must be a MetricProblem"):
        cm.audit("wine", np.eye(3))
